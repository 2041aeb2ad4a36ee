//! What is known, as JSON: all of it, or what is new.

use std::collections::BTreeMap;

use serde::Serialize;

use super::about::{About, Shape};
use super::counters::COUNTERS;
use super::hub::{Current, Fresh};
use super::state::{Node, Phase, State};
use crate::record::{Column, Scale};

/// More elements than these have no range.
const MOST_RANGES: usize = 2_048;

#[derive(Serialize)]
struct Whole<'a> {
    id: &'a str,
    about: &'a About,
    #[serde(flatten)]
    step: Step<'a>,
}

/// What is new; the parts that are not are left out.
#[derive(Serialize)]
struct Step<'a> {
    round: u64,
    phase: Phase,
    #[serde(skip_serializing_if = "str::is_empty")]
    words: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<Named<'a>>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rows: &'a [Vec<Option<f64>>],
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Nodes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Links>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Shared>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    title: &'a str,
    logarithmic: bool,
}

/// All nodes, by what is known of them: shorter than node by node.
#[derive(Serialize)]
struct Nodes<'a> {
    state: Vec<State>,
    round: Vec<u64>,
    /// Why some do not learn.
    why: BTreeMap<usize, &'a str>,
    values: BTreeMap<&'a str, Vec<Option<f64>>>,
    neighbours: Vec<Option<[u8; 3]>>,
    boots: Vec<Option<u32>>,
    counters: BTreeMap<&'static str, Vec<Option<u64>>>,
}

/// All links, in the order in which they are listed.
#[derive(Serialize)]
struct Links {
    /// The fraction of frames that were lost or damaged; of what the nodes at both ends had to send again, if more is not known.
    lost: Vec<Option<f64>>,
    /// Whether it is that of both ends' nodes, on all their links.
    estimated: bool,
}

/// x, over the nodes of which it is known.
#[derive(Serialize)]
struct Shared {
    nodes: usize,
    mean: Vec<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    low: Vec<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    high: Vec<f32>,
}

/// Everything.
pub(super) fn whole(id: &str, about: &About, current: &Current) -> String {
    let rows = current.rows.len();
    let fresh = Fresh { rows, columns: true, nodes: true, x: true };
    text(&Whole { id, about, step: made(about, current, fresh) })
}

/// What is new.
pub(super) fn step(about: &About, current: &Current, fresh: Fresh) -> String {
    text(&made(about, current, fresh))
}

fn text(value: &impl Serialize) -> String {
    // All keys are texts, so this cannot fail; numbers that are not finite are null.
    serde_json::to_string(value).unwrap_or_default()
}

fn made<'a>(about: &'a About, current: &'a Current, fresh: Fresh) -> Step<'a> {
    let named = |column: &'a Column| Named {
        name: &column.name,
        title: &column.title,
        logarithmic: column.scale == Scale::Logarithmic,
    };
    let listed = fresh.nodes && !current.nodes.is_empty();
    Step {
        round: current.round,
        phase: current.phase,
        words: &current.words,
        columns: fresh.columns.then(|| current.columns.iter().map(named).collect()),
        rows: &current.rows[current.rows.len() - fresh.rows.min(current.rows.len())..],
        nodes: listed.then(|| Nodes::of(about, &current.nodes)),
        links: listed.then(|| Links::of(about, current)),
        shared: about.shared.as_ref().filter(|_| fresh.x).and_then(|s| Shared::of(s, current)),
    }
}

impl<'a> Nodes<'a> {
    fn of(about: &'a About, nodes: &'a [Node]) -> Self {
        let mut values = BTreeMap::new();
        for (place, [name, _]) in about.values.iter().enumerate() {
            let own: Vec<Option<f64>> =
                nodes.iter().map(|node| node.values.get(place).copied().flatten()).collect();
            if own.iter().any(Option::is_some) {
                values.insert(name.as_str(), own);
            }
        }
        let counted = nodes.iter().any(|node| node.counters.is_some());
        let counters = COUNTERS.iter().filter(|_| counted).map(|(name, _, of)| {
            (*name, nodes.iter().map(|node| node.counters.as_ref().map(of)).collect())
        });
        let why = nodes.iter().enumerate().filter(|(_, node)| !node.why.is_empty());
        Self {
            state: nodes.iter().map(|node| node.state).collect(),
            round: nodes.iter().map(|node| node.round).collect(),
            why: why.map(|(number, node)| (number, node.why.as_str())).collect(),
            values,
            neighbours: nodes.iter().map(|node| node.neighbours).collect(),
            boots: nodes.iter().map(|node| node.boots).collect(),
            counters: counters.collect(),
        }
    }
}

impl Links {
    fn of(about: &About, current: &Current) -> Self {
        let mut lines: BTreeMap<[u32; 2], [u64; 2]> = BTreeMap::new();
        for line in &current.lines {
            let ends = [line.from.min(line.to), line.from.max(line.to)];
            let sum = lines.entry(ends).or_default();
            *sum = [sum[0] + line.frames, sum[1] + line.spoiled];
        }
        let estimated = lines.is_empty();
        let lost = |link: &[u32; 2]| {
            let [frames, lost] = if estimated {
                let ends = link.map(|end| current.nodes.get(end as usize)?.counters);
                let known = ends.iter().flatten();
                known.fold([0; 2], |sum, own| [sum[0] + own.sent, sum[1] + own.repaired])
            } else {
                lines.get(link).copied().unwrap_or_default()
            };
            (frames > 0).then(|| (lost as f64 / frames as f64).min(1.0))
        };
        Self { lost: about.links.iter().map(lost).collect(), estimated }
    }
}

impl Shared {
    fn of(shape: &Shape, current: &Current) -> Option<Self> {
        let (elements, nodes) = (shape.elements, current.xs);
        if elements == 0 || nodes == 0 {
            return None;
        }
        let mut sums = vec![0.0_f64; elements];
        let ranged = elements <= MOST_RANGES && shape.stride == 0;
        let ends = if ranged { elements } else { 0 };
        let (mut low, mut high) = (vec![f32::INFINITY; ends], vec![f32::NEG_INFINITY; ends]);
        for x in current.x.chunks_exact(elements) {
            sums.iter_mut().zip(x).for_each(|(sum, &a)| *sum += f64::from(a));
            low.iter_mut().zip(x).for_each(|(low, &a)| *low = low.min(a + shape.base));
            high.iter_mut().zip(x).for_each(|(high, &a)| *high = high.max(a + shape.base));
        }
        let base = f64::from(shape.base);
        let mean = sums.iter().map(|sum| (base + sum / nodes as f64) as f32).collect();
        Some(Self { nodes, mean, low, high })
    }
}
