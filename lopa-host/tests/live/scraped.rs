//! `/metrics`, as Prometheus' own parser reads it; and the dashboard, which must name metrics that exist.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lopa_host::live::{Live, Node, State};
use lopa_host::network::LineHealth;
use lopa_host::run::Options;
use serde_json::Value;

use super::client::get;
use super::{live, prepared, report};

/// Prints every sample as a line of JSON: its family, its name, its labels and its value.
const PARSE: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps([family.name, family.type, sample.name, sample.labels, sample.value]))
";

/// Python with the parser: `tests/run.sh` installs it.
fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../openmetrics/bin/python");
    if own.is_file() { own } else { "python3".into() }
}

/// Everything that `/metrics` has.
fn text(live: &Live) -> String {
    let (head, body) = get(live.url(), "/metrics");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    body
}

/// A live view in which everything has a value.
fn full() -> (Live, String) {
    let prepared = prepared(&[("iterations = 60", "iterations = 40\nmetrics = \"all\"")]);
    let live = live(&prepared, "a \"quoted\\name\"\n.toml");
    let options = Options { watch: Some(live.feed()), ..Options::default() };
    prepared.run(options, |_| ()).unwrap();
    report(&live, 40, &[State::Learning, State::Done, State::Dead, State::Diverged]);
    let mut nodes: Vec<Node> = (0..4).map(|_| Node::new(State::Learning, 40)).collect();
    for node in &mut nodes {
        (node.boots, node.neighbours) = (Some(3), Some([1, 2, 0]));
        node.counters = Some(lopa_core::wire::Counters { repaired: 5, ..Default::default() });
        node.values = [Some(0.5), Some(f64::NAN), Some(1.0), Some(1e-30), None];
    }
    nodes[2].state = State::Dead;
    let lines = [LineHealth { from: 0, to: 1, frames: 100, spoiled: 3 }];
    live.feed().nodes(nodes, lines, []);
    let mut body = text(&live);
    while !body.contains("lopa_link_spoiled_total{from=\"0\",to=\"1\"} 3\n")
        || !body.contains("lopa_outer_loss ")
    {
        std::thread::yield_now();
        body = text(&live);
    }
    (live, body)
}

#[test]
#[ignore = "needs Python with prometheus_client: tests/run.sh installs it"]
fn metrics_are_openmetrics() {
    let (live, body) = full();
    let mut child = Command::new(python())
        .args(["-c", PARSE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{body}");
    let samples: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(&line.replace("NaN", "null")).unwrap())
        .collect();
    let find = |name: &str, labels: &Value| {
        let found = samples.iter().find(|sample| sample[2] == name && sample[3] == *labels);
        found.unwrap_or_else(|| panic!("{name} {labels} is missing: {body}"))[4].clone()
    };
    let node = |node: u32| serde_json::json!({ "node": node.to_string() });
    assert_eq!(find("lopa_round", &serde_json::json!({})), 40.0);
    assert_eq!(find("lopa_node_alive", &node(2)), 0.0);
    assert_eq!(find("lopa_node_alive", &node(1)), 1.0);
    assert_eq!(find("lopa_node_repaired_total", &node(3)), 5.0);
    let dead = serde_json::json!({ "node": "2", "lopa_node_state": "dead" });
    assert_eq!(find("lopa_node_state", &dead), 1.0);
    let info = samples.iter().find(|sample| sample[2] == "lopa_run_info").unwrap();
    assert_eq!(info[3]["title"], "a \"quoted\\name\"\n.toml");
    let families: BTreeSet<&str> = samples.iter().filter_map(|sample| sample[0].as_str()).collect();
    assert!(families.len() > 50, "{families:?}");
    drop(live);
}

#[test]
fn the_dashboard_shows_metrics_that_exist() {
    let (live, body) = full();
    drop(live);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("live/grafana.json");
    let dashboard: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let mut names = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let text = target["expr"].as_str().unwrap();
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            names.extend(words.filter(|word| word.starts_with("lopa_")).map(str::to_owned));
        }
    }
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let there = body
            .lines()
            .any(|line| line.strip_prefix(&name).is_some_and(|rest| rest.starts_with([' ', '{'])));
        // A label may have the name of its family.
        assert!(there, "{name} is not in /metrics");
    }
}
