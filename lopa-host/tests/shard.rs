//! `lopa shard`: blobs that make the same nodes, budgets that hold, and networks that do not fit.

use std::fs;

use crate::common::{lopa, said};
use lopa_core::blob::{Blob, BlobNode, BuiltNode};
use lopa_core::codec::{CodedNeighbour, Share};
use lopa_core::node::Neighbour;
use lopa_core::problems::AnyProblem;
use lopa_core::samples::Features;
use lopa_host::chips::{ChipError, Form, Limits, Loaded, VALUES, blobs};
use lopa_host::config::Experiment;
use lopa_host::run::{Options, Prepared};

fn file(problem: &str, algorithm: &str, more: &str, x0: &str) -> String {
    format!(
        "network = {{ nodes = 5, topology = \"ring\" }}\n\
         problem = {problem}\n\
         algorithm = {{ name = \"{algorithm}\", alpha = 0.05, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5, \
         batch = 8 }}\n\
         run = {{ iterations = 30, seed = 3, x0 = {x0}, checkpoint_every = 7 }}\n\
         {more}\n"
    )
}

fn good() -> String {
    file("{ kind = \"logistic\" }", "lopa-gt", "", "-3.0")
}

fn prepared(text: &str) -> Prepared {
    Prepared::new(Experiment::parse(text).unwrap()).unwrap()
}

/// Five vectors of a node as bits.
type Bits = [Vec<u32>; 5];

fn bits(vectors: [&[f32]; 5]) -> Bits {
    vectors.map(|vector| vector.iter().map(|a| a.to_bits()).collect())
}

/// Runs nodes built from blobs in one process, for the rounds in their blobs.
fn run(blobs: &[Blob<'_>]) -> Vec<Bits> {
    let mut memories: Vec<Vec<f32>> = blobs.iter().map(|blob| vec![9.0; blob.floats()]).collect();
    let mut nodes: Vec<_> =
        blobs.iter().zip(&mut memories).map(|(blob, memory)| blob.build(memory).unwrap()).collect();
    for _ in 0..blobs[0].plan().rounds {
        nodes.iter_mut().for_each(|(node, scratch)| node.compute(scratch).unwrap());
        let floats = |node: &BlobNode<'_, '_>| (node.state().x.to_vec(), node.state().y.to_vec());
        let vectors: Vec<_> = nodes.iter().map(|(node, _)| floats(node)).collect();
        let changes = |node: &BlobNode<'_, '_>| {
            let (mut x, mut y) = (vec![0; node.state().x.len()], vec![0; node.state().y.len()]);
            if let BuiltNode::Coded(node) = node {
                node.changes(&mut x, &mut y);
            }
            (x, y)
        };
        let changes: Vec<_> = nodes.iter().map(|(node, _)| changes(node)).collect();
        for ((node, _), blob) in nodes.iter_mut().zip(blobs) {
            match node {
                BuiltNode::Floats(node) => node.mix_with(blob.peers().map(|peer| {
                    let (x, y) = &vectors[peer.node as usize];
                    Neighbour { weight: peer.weight, x, y }
                })),
                BuiltNode::Coded(node) => node.mix_with(blob.peers().map(|peer| {
                    let (x, y) = &changes[peer.node as usize];
                    CodedNeighbour { share: Share::of(peer.weight).unwrap(), x, y }
                })),
            }
            .unwrap();
        }
    }
    let state = |node: &BlobNode<'_, '_>| {
        let s = node.state();
        bits([s.x, s.theta, s.v, s.z, s.y])
    };
    nodes.iter().map(|(node, _)| state(node)).collect()
}

#[test]
fn nodes_from_blobs_end_with_the_bits_of_a_run() {
    let ridge = "data = { source = \"csv\", file = \"samples.csv\" }";
    let rows: String = (0..150)
        .map(|i| {
            let (a, b) =
                (f64::from(i * 37 % 101) / 50.0 - 1.0, f64::from(i * 53 % 89) / 44.0 - 1.0);
            format!("{},{a},{b},1\n", 2.0 * a - b + 0.3)
        })
        .collect();
    let layer = "data = { source = \"synthetic\", features = 5, relevant = 2 }";
    for (problem, algorithm, more, x0) in [
        ("{ kind = \"logistic\" }", "lopa-gt", "", "-3.0"),
        ("{ kind = \"logistic\" }", "lopa-gt", "links = { bits = 4 }", "-3.0"),
        ("{ kind = \"logistic\" }", "lopa-lg", "links = { bits = 8, unit = -20 }", "-3.0"),
        ("{ kind = \"ridge\" }", "lopa-lg", ridge, "-1.0"),
        ("{ kind = \"shared-layer\", hidden = 3, mu = 0.1 }", "lopa-gt", layer, "{ random = 0.3 }"),
        ("{ kind = \"meta-logistic\", nu = 2.0 }", "lopa-gt", "", "0.0"),
        ("{ kind = \"meta-squared\", nu = 2.0 }", "lopa-lg", ridge, "0.0"),
        (
            "{ kind = \"quadratic\", outer = 6, inner = 3, heterogeneity = 0.5 }",
            "lopa-gt",
            "",
            "0.5",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("samples.csv"), &rows).unwrap();
        fs::write(dir.path().join("net.toml"), file(problem, algorithm, more, x0)).unwrap();
        let output = lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]);
        assert!(output.status.success(), "{problem}: {}", said(&output));
        let output = lopa(dir.path(), &["run", "net.toml", "--out", "results"]);
        assert!(output.status.success(), "{problem}: {}", said(&output));

        let text = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        let read = |node: usize, name: &str| -> Vec<f32> {
            serde_json::from_value(state["nodes"][node][name].clone()).unwrap()
        };
        let loaded: Vec<Loaded> = (0..5)
            .map(|i| {
                Loaded::new(&fs::read(dir.path().join(format!("blobs/node-{i}.blob"))).unwrap())
            })
            .collect();
        let blobs: Vec<Blob<'_>> = loaded.iter().map(|loaded| loaded.blob().unwrap()).collect();
        for (node, ended) in run(&blobs).into_iter().enumerate() {
            let vectors = ["x", "theta", "v", "z", "y"].map(|name| read(node, name));
            assert_eq!(ended, bits(vectors.each_ref().map(|v| &v[..])), "{problem}: node {node}");
        }
    }
}

/// A file of whole numbers from 0 to 250, as sensors deliver them, with a class and a number to predict.
fn readings(features: u32) -> String {
    let names: Vec<String> = (0..features).map(|feature| format!("sensor {feature}")).collect();
    let mut text = format!("{},state,load\n", names.join(","));
    for row in 0..160_u32 {
        let numbers: Vec<u32> = (0..features)
            .map(|feature| if feature == 3 { 7 } else { (row * (37 + 12 * feature) + 5) % 251 })
            .collect();
        let state = if numbers[0] + numbers[1] > 250 { "busy" } else { "idle" };
        let load = f64::from(numbers[0]) * 1.7 - f64::from(numbers[2]) + 900.0;
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        text += &format!("{},{state},{load}\n", numbers.join(","));
    }
    text
}

#[test]
fn raw_bytes_in_blobs_end_with_the_bits_of_a_run_and_take_a_quarter_of_the_flash() {
    const FEATURES: u32 = 60;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("readings.csv"), readings(FEATURES)).unwrap();
    for (problem, label, ignore) in [
        ("logistic", "state", "load"),
        ("ridge", "load", "state"),
        ("meta-squared", "load", "state"),
    ] {
        let nu = if problem == "meta-squared" { ", nu = 20.0" } else { "" };
        let data = format!(
            "data = {{ file = \"readings.csv\", label = \"{label}\", ignore = [\"{ignore}\"] }}"
        );
        let text = file(&format!("{{ kind = \"{problem}\"{nu} }}"), "lopa-gt", &data, "-1.0")
            .replace("beta = 0.05, lambda = 0.05", "beta = 0.005, lambda = 0.005");
        fs::write(dir.path().join("net.toml"), text).unwrap();
        for arguments in [["shard", "blobs"], ["run", "results"]] {
            let [command, out] = arguments;
            let output = lopa(dir.path(), &[command, "net.toml", "--out", out]);
            assert!(output.status.success(), "{problem}: {}", said(&output));
        }
        let state = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        let loaded: Vec<Loaded> = (0..5)
            .map(|node| dir.path().join(format!("blobs/node-{node}.blob")))
            .map(|path| Loaded::new(&fs::read(path).unwrap()))
            .collect();
        let blobs: Vec<Blob<'_>> = loaded.iter().map(|loaded| loaded.blob().unwrap()).collect();
        for (node, ended) in run(&blobs).into_iter().enumerate() {
            let vectors = ["x", "theta", "v", "z", "y"].map(|name| -> Vec<f32> {
                serde_json::from_value(state["nodes"][node][name].clone()).unwrap()
            });
            assert_eq!(ended, bits(vectors.each_ref().map(|v| &v[..])), "{problem}: node {node}");
        }
        // Raw bytes, and an intercept that is 1.
        let [train, validation] = blobs[1].problem().samples().unwrap();
        assert!(matches!(train.features(), Features::U8(_)), "{problem}");
        let mut last = vec![0.0; train.width()];
        last[FEATURES as usize] = 1.0;
        assert_eq!(train.row(0).dot(&last), 1.0);
        // Beside the samples there are the head, neighbours and scales.
        let rows = train.len() + validation.len();
        let floats = 4 * rows * train.width();
        let flash = blobs[1].len() - 4 * rows * usize::from(label == "load");
        assert!(flash < floats / 4 + 1100, "{problem}: {flash} bytes, {floats} as floats");
        let budget = fs::read_to_string(dir.path().join("blobs/budget.csv")).unwrap();
        let row = format!("1,2,{},", blobs[1].len());
        assert!(budget.lines().any(|line| line.starts_with(&row)), "{budget}");
    }
}

#[test]
fn blobs_and_budgets_are_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), good()).unwrap();
    let output = lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]);
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    for what in ["blobs", "flash, bytes", "RAM, bytes", "round, seconds", "checkpoint, bytes"] {
        assert!(printed.contains(what), "{printed}");
    }
    let bytes = fs::read(dir.path().join("blobs/node-3.blob")).unwrap();
    let loaded = Loaded::new(&bytes);
    let blob = loaded.blob().unwrap();
    assert_eq!((blob.node(), blob.checkpoint_every(), blob.plan().rounds), (3, 7, 30));
    let peers: Vec<_> = blob.peers().map(|peer| (peer.node, peer.link)).collect();
    assert_eq!(peers, [(2, 1), (4, 2)]);
    assert!(matches!(blob.problem(), AnyProblem::Logistic(_)));
    let csv = fs::read_to_string(dir.path().join("blobs/budget.csv")).unwrap();
    assert_eq!(csv.lines().count(), 6);
    let row: Vec<&str> = csv.lines().nth(4).unwrap().split(',').collect();
    assert_eq!((row[0], row[1], row[2]), ("3", "2", &*bytes.len().to_string()));
    // Only blobs, the budget and the list of them are written.
    assert_eq!(fs::read_dir(dir.path().join("blobs")).unwrap().count(), 7);
}

#[test]
fn each_row_of_the_report_names_the_node_that_needs_most_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = String::from("a,b,site,state\n");
    for row in 0..90_u32 {
        // The second node has most of the samples, and all have checkpoints of the same size.
        let site = if row % 6 < 4 { "south" } else { ["north", "west"][row as usize % 2] };
        let state = if row * 37 % 61 > 30 { "busy" } else { "idle" };
        rows += &format!("{},{},{site},{state}\n", row * 37 % 61, row * 53 % 71);
    }
    fs::write(dir.path().join("rows.csv"), rows).unwrap();
    let data = "data = { file = \"rows.csv\", node = \"site\" }";
    let text = file("{ kind = \"logistic\" }", "lopa-gt", data, "-3.0");
    let text = text.replace("nodes = 5", "nodes = 3").replace("batch = 8", "batch = 2");
    fs::write(dir.path().join("net.toml"), text).unwrap();
    let output = lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]);
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    for (row, node) in [("flash, bytes", 1), ("checkpoint, bytes", 0)] {
        let line = printed.lines().find(|line| line.starts_with(row)).unwrap();
        assert!(line.ends_with(&format!("(node {node})")), "{printed}");
    }
}

#[test]
fn blobs_that_do_not_fit_are_refused_and_earlier_ones_kept() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), good()).unwrap();
    assert!(lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]).status.success());
    let before = fs::read(dir.path().join("blobs/node-0.blob")).unwrap();
    let star = good().replace("\"ring\"", "\"star\"").replace("nodes = 5", "nodes = 6");
    fs::write(dir.path().join("star.toml"), &star).unwrap();
    let routed = format!("{star}links = {{ wiring = \"routed\" }}\n");
    fs::write(dir.path().join("routed.toml"), routed).unwrap();
    let flash = (before.len() - 1).to_string();
    for (arguments, what) in [
        (
            &["net.toml", "--flash", &flash][..],
            format!("node 0 needs {} bytes of flash, but there are only {flash}", before.len()),
        ),
        (&["net.toml", "--ram", "100"], "bytes of RAM, but there are only 100".to_string()),
        (
            &["star.toml"],
            "node 0 has 5 neighbours, but a board has only 4 lines: set wiring = \"routed\""
                .to_string(),
        ),
        (&["missing.toml"], "cannot read missing.toml".to_string()),
        (&["net.toml", "--flash", "many"], "invalid value 'many'".to_string()),
    ] {
        let output = lopa(dir.path(), &[&["shard"], arguments, &["--out", "blobs"]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(&what), "{arguments:?}: {}", said(&output));
        assert_eq!(fs::read(dir.path().join("blobs/node-0.blob")).unwrap(), before);
    }
    assert!(lopa(dir.path(), &["shard", "routed.toml", "--out", "routed"]).status.success());
    let loaded = Loaded::new(&fs::read(dir.path().join("routed/node-0.blob")).unwrap());
    let blob = loaded.blob().unwrap();
    assert_eq!(blob.peers().len(), 5);
    assert!(blob.peers().all(|peer| peer.link == 0));
    let loaded = Loaded::new(&before[..before.len() - 4]);
    assert!(loaded.blob().unwrap_err().to_string().contains("there are"));
}

#[test]
fn blobs_of_a_larger_network_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("large.toml"), good()).unwrap();
    let small = good().replace("nodes = 5", "nodes = 3");
    fs::write(dir.path().join("small.toml"), small).unwrap();
    assert!(lopa(dir.path(), &["shard", "large.toml", "--out", "blobs"]).status.success());
    for other in ["node-x.blob", "node-7.blob.old", "notes.txt"] {
        fs::write(dir.path().join("blobs").join(other), "somebody's").unwrap();
    }
    assert!(lopa(dir.path(), &["shard", "small.toml", "--out", "blobs"]).status.success());
    let names = fs::read_dir(dir.path().join("blobs")).unwrap();
    let mut names: Vec<_> = names.map(|a| a.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let blobs = ["node-0.blob", "node-1.blob", "node-2.blob", "node-7.blob.old", "node-x.blob"];
    assert_eq!(names, [&["budget.csv", "lopa.lock"][..], &blobs, &["notes.txt"]].concat());
    // GT sends x and y: a chunk must fit the room of a board.
    let loaded = Loaded::new(&fs::read(dir.path().join("blobs/node-0.blob")).unwrap());
    assert_eq!(loaded.blob().unwrap().plan().chunk, 32);
}

/// Compares the bytes in the budget with those that nodes send over simulated lines.
#[test]
fn the_bytes_of_the_budget_are_the_bytes_on_the_wire() {
    for (wiring, algorithm) in
        [("direct", "lopa-gt"), ("direct", "lopa-lg"), ("routed", "lopa-gt"), ("bus", "lopa-lg")]
    {
        let problem = "{ kind = \"quadratic\", outer = 700, inner = 4, heterogeneity = 0.5 }";
        let links = format!("links = {{ wiring = \"{wiring}\", baud = 115200 }}");
        let prepared = prepared(&file(problem, algorithm, &links, "0.5"));
        let blobs = blobs(&prepared, Limits::default(), Form::default()).unwrap();
        let told: u64 = blobs.iter().map(|blob| blob.budget.sent).sum();
        let outcome = prepared.run(Options::default(), |_| ()).unwrap();
        let bytes = outcome.record.values("bytes").unwrap().last().copied().flatten().unwrap();
        let ratio = bytes / 30.0 / told as f64;
        // Greetings, and acknowledgements without data to travel with, are not in the budget.
        assert!((0.97..1.1).contains(&ratio), "{wiring} {algorithm}: {ratio}");
    }
}

#[test]
fn seconds_follow_the_baud_rate_and_the_wiring() {
    let seconds = |links: &str| {
        let text = file(
            "{ kind = \"quadratic\", outer = 100, inner = 4, heterogeneity = 0.5 }",
            "lopa-gt",
            links,
            "0.5",
        );
        let blobs = blobs(&prepared(&text), Limits::default(), Form::default()).unwrap();
        blobs[0].budget.seconds
    };
    let slow = seconds("links = { baud = 9600, compute = 0 }");
    let fast = seconds("links = { baud = 96000, compute = 0 }");
    assert!((slow / fast - 10.0).abs() < 1e-9);
    // 100 elements of x and y, four bytes each, ten bits per byte, and a little more.
    assert!((0.0834..0.092).contains(&fast), "{fast}");
    assert!((seconds("links = { baud = 96000, compute = 5000 }") - fast - 0.005).abs() < 1e-9);
    let routed = seconds("links = { baud = 96000, compute = 0, wiring = \"routed\" }");
    assert!((1.9..2.1).contains(&(routed / fast)), "{routed}");
    let bus = seconds("links = { baud = 96000, compute = 0, wiring = \"bus\" }");
    assert!((4.9..5.1).contains(&(bus / fast)), "{bus}");
}

#[test]
fn nodes_of_different_networks_refuse_each_other() {
    let identity = |text: &str| {
        let blobs = blobs(&prepared(text), Limits::default(), Form::default()).unwrap();
        Loaded::new(&blobs[1].bytes).blob().unwrap().identity()
    };
    let one = identity(&good());
    assert_eq!(one.difference(&identity(&good())), None);
    for other in [
        good().replace("x0 = -3.0", "x0 = -3.5"),
        good().replace("\"ring\"", "\"path\""),
        good().replace("seed = 3", "seed = 4"),
    ] {
        assert!(one.difference(&identity(&other)).is_some(), "{other}");
    }
    let few = Limits { flash: Some(10), ram: None };
    let error = blobs(&prepared(&good()), few, Form::default()).unwrap_err();
    assert!(matches!(error, ChipError::Room { node: 0, name: "flash", room: 10, .. }), "{error}");
}

#[test]
fn few_bits_send_less_and_need_more_memory_as_the_readme_says() {
    let readme = include_str!("../README.md");
    for (bits, name) in
        [(None, "floats"), (Some(8), "8 bits"), (Some(4), "4 bits"), (Some(3), "3 bits")]
    {
        let bits = bits.map_or(String::new(), |bits| format!("bits = {bits}, "));
        let prepared = prepared(&format!(
            "network = {{ nodes = 4, topology = \"ring\" }}\nproblem = {{ kind = \"logistic\" }}\n\
             data = {{ features = 784, relevant = 6, samples = 40 }}\nrun = {{ iterations = 2000 }}\n\
             algorithm = {{ name = \"lopa-gt\", alpha = 0.1, beta = 0.1, lambda = 0.1, gamma = 0.4, tau = 0.5 }}\n\
             links = {{ {bits}baud = 115200 }}"
        ));
        let form = Form { values: Some(VALUES), ..Form::default() };
        let budget = blobs(&prepared, Limits::default(), form).unwrap()[0].budget;
        let thousands = |number: usize| format!("{},{:03}", number / 1000, number % 1000);
        let [sent, ram, checkpoint] =
            [budget.sent as usize, budget.ram, budget.checkpoint].map(thousands);
        let row = format!("| {name} | {sent} | {:.3} | {ram} | {checkpoint} |", budget.seconds);
        assert!(readme.contains(&row), "{row}");
    }
}
