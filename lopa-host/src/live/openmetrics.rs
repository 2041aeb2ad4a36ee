//! What is known, as OpenMetrics text: for Prometheus, and for whatever reads the same.

use std::fmt::Write as _;

use super::about::About;
use super::counters::COUNTERS;
use super::hub::Current;
use super::state::{Node, Phase, State};
use crate::metrics::{Meter, Metric};

/// The kind of this text.
pub(super) const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A text that grows by families of samples.
#[derive(Debug, Default)]
struct Text(String);

/// A number as OpenMetrics writes it.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "+Inf".into(),
        f64::NEG_INFINITY => "-Inf".into(),
        _ => value.to_string(),
    }
}

/// A text as the value of a label.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl Text {
    /// A family: what follows is its samples. A family without any is left out.
    fn family(&mut self, name: &str, kind: &str, about: &str, samples: &[(String, String)]) {
        if samples.is_empty() {
            return;
        }
        let about = about.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {about}.");
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        for (labels, value) in samples {
            let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            let _ = writeln!(self.0, "{name}{suffix}{labels} {value}");
        }
    }

    fn one(&mut self, name: &str, kind: &str, about: &str, value: Option<f64>) {
        let sample = value.map(|value| (String::new(), number(value)));
        self.family(name, kind, about, sample.as_slice());
    }

    /// A family with a sample per node, as far as it has a value.
    fn each(
        &mut self,
        (name, kind, about): (&str, &str, &str),
        nodes: &[Node],
        value: impl Fn(&Node) -> Option<f64>,
    ) {
        let sample = |(node, own): (usize, &Node)| Some((labelled(node), number(value(own)?)));
        let samples: Vec<_> = nodes.iter().enumerate().filter_map(sample).collect();
        self.family(name, kind, about, &samples);
    }
}

fn labelled(node: usize) -> String {
    format!("node=\"{node}\"")
}

/// Everything; and how many follow the page, and were dropped.
pub(super) fn text(about: &About, current: &Current, streams: usize, dropped: u64) -> String {
    let mut text = Text::default();
    let labels = [
        ("title", about.title.as_str()),
        ("algorithm", &about.algorithm),
        ("problem", &about.problem),
        ("topology", &about.topology),
        ("version", about.version),
    ];
    let labels = labels.map(|(name, value)| format!("{name}={}", quoted(value))).join(",");
    text.family("lopa_run", "info", "What learns", &[(labels, "1".into())]);
    let phase = |phase: Phase| {
        let on = u8::from(phase == current.phase).to_string();
        (format!("lopa_run_state=\"{}\"", phase.word()), on)
    };
    text.family("lopa_run_state", "stateset", "How far it is", &Phase::ALL.map(phase));
    text.one("lopa_nodes", "gauge", "Nodes of the network", Some(f64::from(about.nodes)));
    text.one("lopa_rounds", "gauge", "Rounds to do", Some(about.rounds as f64));
    text.one("lopa_round", "gauge", "Rounds completed", Some(current.round as f64));
    for (column, value) in current.columns.iter().zip(&current.last).skip(1) {
        let metric = Metric::named(&column.name);
        let about = metric.map_or(column.title.as_str(), |metric| metric.about());
        // From the counts of gradients on, they only grow.
        let grows = metric.is_none_or(|metric| metric >= Metric::InnerGradients);
        let kind = if grows { "counter" } else { "gauge" };
        text.one(&format!("lopa_{}", column.name), kind, about, *value);
    }
    nodes(&mut text, &current.nodes);
    let line = |of: fn(&crate::network::LineHealth) -> u64| {
        let sample = move |line: &crate::network::LineHealth| {
            (format!("from=\"{}\",to=\"{}\"", line.from, line.to), of(line).to_string())
        };
        current.lines.iter().map(sample).collect::<Vec<_>>()
    };
    let frames = line(|line| line.frames);
    text.family("lopa_link_frames", "counter", "Frames sent from one node to another", &frames);
    let spoiled = line(|line| line.spoiled);
    let about = "Frames lost or damaged between two nodes";
    text.family("lopa_link_spoiled", "counter", about, &spoiled);
    text.one("lopa_live_streams", "gauge", "Browsers that follow", Some(streams as f64));
    let about = "Browsers dropped because they were too slow";
    text.one("lopa_live_dropped", "counter", about, Some(dropped as f64));
    text.0 + "# EOF\n"
}

fn nodes(text: &mut Text, nodes: &[Node]) {
    // Nothing is claimed about nodes on other machines.
    let here = |node: &Node| node.state != State::Elsewhere;
    let alive = |node: &Node| here(node).then(|| f64::from(u8::from(node.state != State::Dead)));
    text.each(("lopa_node_alive", "gauge", "Whether a node is on and replies"), nodes, alive);
    let states = nodes.iter().enumerate().flat_map(|(node, own)| {
        State::ALL.map(|state| {
            let labels = format!("{},lopa_node_state=\"{}\"", labelled(node), state.word());
            (labels, u8::from(state == own.state).to_string())
        })
    });
    let states: Vec<_> = states.collect();
    text.family("lopa_node_state", "stateset", "What a node is doing", &states);
    let round = |node: &Node| here(node).then_some(node.round as f64);
    text.each(("lopa_node_round", "gauge", "Rounds that a node completed"), nodes, round);
    for (place, metric) in Meter::NODE.into_iter().enumerate() {
        let name = format!("lopa_node_{}", metric.name());
        let about = format!("Of one node: {}", metric.about());
        let value = |node: &Node| node.values.get(place).copied().flatten();
        text.each((&name, "gauge", &about), nodes, value);
    }
    let standing = |(place, word): (usize, &str)| {
        let sample = |(node, own): (usize, &Node)| {
            let labels = format!("{},standing=\"{word}\"", labelled(node));
            Some((labels, own.neighbours?[place].to_string()))
        };
        nodes.iter().enumerate().filter_map(sample).collect::<Vec<_>>()
    };
    let standings = ["met", "dead", "refused"].into_iter().enumerate().flat_map(standing);
    let standings: Vec<_> = standings.collect();
    text.family("lopa_node_neighbours", "gauge", "Neighbours of a node", &standings);
    let boots = |node: &Node| node.boots.map(f64::from);
    text.each(("lopa_node_boots", "counter", "How often a board booted"), nodes, boots);
    for (name, about, of) in COUNTERS {
        let name = format!("lopa_node_{name}");
        let about = format!("Since the node booted: {about}");
        let value = |node: &Node| node.counters.as_ref().map(|own| of(own) as f64);
        text.each((&name, "counter", &about), nodes, value);
    }
}
