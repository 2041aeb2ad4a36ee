//! What a fleet should end with: the same network in-process, and what is measured of either.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use lopa_core::problems::AnyProblem;
use lopa_core::wire::Counters;

use super::client::Reading;
use crate::algorithms::{NodeView, Sent};
use crate::config::Experiment;
use crate::metrics::Totals;
use crate::network::{SimulatedNode, Traffic};
use crate::record::Record;
use crate::run::{Options, Prepared, RunError};

/// A simulated run: what nodes should end with, and what was measured on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Every bit of x, θ, v, z, y of every node after the last round.
    pub bits: Vec<Vec<u32>>,
    record: Record,
    nodes: Record,
}

impl Reference {
    /// Simulates the network in-process, calling `tick` with the rounds done; nothing if it was stopped.
    ///
    /// # Errors
    /// Names the node that diverged.
    pub fn run(
        prepared: &Prepared,
        stop: &AtomicBool,
        tick: impl FnMut(u64) + Send,
    ) -> Result<Option<Self>, RunError> {
        let alone = prepared.with(Experiment::run_in_process)?;
        let options = Options { stop: Some(stop), ..Options::default() };
        let outcome = alone.run(options, tick)?;
        if !outcome.finished {
            return Ok(None);
        }
        let own = |node: &NodeView<'_, _>| {
            let [v, z, y] = [node.v, node.z, node.y].map(Option::unwrap_or_default);
            let all = [node.x, node.theta, v, z, y].into_iter().flatten();
            all.map(|a| a.to_bits()).collect()
        };
        let bits = outcome.nodes().iter().map(own).collect();
        Ok(Some(Self { bits, record: outcome.record, nodes: outcome.node_record }))
    }

    /// The nodes whose bits are not the simulation's; those that were not read count.
    #[must_use]
    pub fn others(&self, readings: &BTreeMap<u32, Reading>) -> Vec<u32> {
        let same = |node: u32, bits: &Vec<u32>| {
            readings.get(&node).is_some_and(|reading| reading.bits() == *bits)
        };
        let numbered = (0_u32..).zip(&self.bits);
        numbered.filter(|(node, bits)| !same(*node, bits)).map(|(node, _)| node).collect()
    }
}

/// A fleet's states as nodes, and what is measured of them.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The nodes that were read.
    pub nodes: Vec<SimulatedNode<AnyProblem<'a>>>,
    /// What was measured.
    pub record: Record,
    /// What was measured of single nodes.
    pub node_record: Record,
}

impl<'a> Measured<'a> {
    /// The nodes, for reading.
    #[must_use]
    pub fn views(&self) -> Vec<NodeView<'_, AnyProblem<'a>>> {
        self.nodes.iter().map(NodeView::from).collect()
    }
}

/// Measures what was read of a fleet. With a `reference` of the same bits its rows are those of the fleet, for every round
/// on the way was the same too; but seconds and traffic are never the simulation's, so only the last row has them,
/// and none has simulated seconds.
///
/// # Errors
/// Refuses states that no node could have.
pub fn measure<'a>(
    prepared: &'a Prepared,
    readings: &BTreeMap<u32, Reading>,
    reference: &Reference,
    same: bool,
    seconds: f64,
) -> Result<Measured<'a>, RunError> {
    let samples = prepared.material().samples()?;
    let simulation = prepared.simulation(&samples)?;
    let mut nodes = Vec::new();
    for (number, mut node) in (0_u32..).zip(simulation.into_nodes()) {
        if let Some(reading) = readings.get(&number) {
            restore(&mut node, reading).map_err(|why| {
                RunError::Input(format!("node {number} reported an invalid state: {why}"))
            })?;
            nodes.push(node);
        }
    }
    // Only nodes that were read are measured: others may be off.
    let kept = (0_u32..).zip(samples).filter(|(node, _)| readings.contains_key(node));
    let meter = prepared.meter(kept.map(|(_, samples)| samples).collect())?;
    let sent = |of: fn(&Counters) -> u64| readings.values().map(|r| of(&r.counters)).sum::<u64>();
    let traffic = Traffic { bytes: sent(|c| c.sent_bytes), frames: Some(sent(|c| c.sent)) };
    let views: Vec<_> = nodes.iter().map(NodeView::from).collect();
    let totals = Totals {
        sent: Sent::of(nodes.first()),
        traffic: Some(traffic),
        seconds,
        ..Totals::default()
    };
    let last = meter.measure(&views, totals);
    // All start alike: the first row is every fleet's.
    let rows = reference.record.rows();
    let before = if same { rows.len().saturating_sub(1) } else { rows.len().min(1) };
    let mut record = Record::new(reference.record.columns().to_vec());
    let not_its_own = |name: &str| matches!(name, "seconds" | "bytes" | "frames" | "fleet_seconds");
    for row in &rows[..before] {
        let columns = record.columns().iter().zip(row);
        let row = columns.map(|(column, value)| value.filter(|_| !not_its_own(&column.name)));
        let row = row.collect();
        record.push(row);
    }
    record.push(last);
    let mut node_record = Record::new(reference.nodes.columns().to_vec());
    if prepared.experiment().run.per_node {
        let all = &reference.nodes.rows();
        let kept = if same { all.len() } else { reference.bits.len().min(all.len()) };
        all[..kept].iter().for_each(|row| node_record.push(row.clone()));
        if !same {
            meter.measure_nodes(&views).into_iter().for_each(|row| node_record.push(row));
        }
    }
    Ok(Measured { nodes, record, node_record })
}

/// Puts a fresh node where another was read to be: by a checkpoint, so that everything is checked.
fn restore(node: &mut SimulatedNode<AnyProblem<'_>>, reading: &Reading) -> Result<(), String> {
    /// Words of a checkpoint before the vectors: see [`lopa_core::checkpoint`].
    const HEAD: usize = 22;
    let fresh = node.checkpoint().map_err(|error| error.to_string())?;
    let mut words: Vec<u32> = fresh.take(HEAD).collect();
    words.truncate(7);
    let halves = |number: u64| [number as u32, (number >> 32) as u32];
    words.extend(halves(reading.epoch));
    // The epoch's mark is not read: what is measured does not depend on it.
    words.push(0);
    words.extend([reading.status.round].into_iter().chain(reading.evaluations).flat_map(halves));
    let mut lengths = Vec::new();
    let tracking = node.scheme() == lopa_core::node::Scheme::GradientTracking;
    let [vectors @ .., y] = &reading.variables;
    for vector in vectors.iter().chain(tracking.then_some(y)) {
        lengths.push(vector.len());
        words.extend(vector.iter().map(|a| a.to_bits()));
    }
    let state = node.state();
    let (n, p) = (state.x.len(), state.theta.len());
    let wanted = [n, p, p, n, n];
    if lengths[..] != wanted[..lengths.len()] {
        return Err(format!("its vectors have {lengths:?} elements, not {wanted:?}"));
    }
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    node.restore(&bytes).map_err(|error| error.to_string())
}
