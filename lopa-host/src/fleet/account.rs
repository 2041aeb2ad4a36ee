//! The result of a fleet, as it stands in `summary.json`.

use std::collections::BTreeMap;

use lopa_core::blob::Wiring;
use lopa_core::wire::Counters;
use serde::Serialize;

/// Where the rows of `metrics.csv` come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The last row from the states read back; the rows before from the simulation, whose final bits are the fleet's.
    SimulationOfTheSameBits,
    /// The last row from the states read back; the first from where every node starts; none in between.
    StatesReadBack,
}

/// The result of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    /// The board.
    pub board: String,
    /// How boards are wired.
    pub wiring: Wiring,
    /// Seconds from the first boot to the last round.
    pub seconds: f64,
    /// What was done to it.
    pub accidents: Vec<String>,
    /// Frames lost or damaged by the host on purpose.
    pub spoiled: u64,
    /// Nodes that are off at the end.
    pub off: Vec<u32>,
    /// Whether every node ended with the bits of the simulation; nothing where accidents make it learn others.
    pub same_bits: Option<bool>,
    /// Nodes whose bits are not the simulation's.
    pub other_bits: Vec<u32>,
    /// Where `metrics.csv` comes from.
    pub metrics: Basis,
    /// What the links of every node did.
    pub counters: BTreeMap<u32, Counters>,
}

impl Account {
    /// A sentence or two for people.
    #[must_use]
    pub fn note(&self) -> String {
        let Self { board, seconds, off, accidents, .. } = self;
        let mut text = format!("A fleet of {board} boards ran for {seconds:.1} seconds. ");
        text += &match self.same_bits {
            Some(true) => "Every node ended with the bits of the simulation, so the metrics of the simulation hold for \
                           every round of the fleet."
                .to_owned(),
            Some(false) => format!(
                "The bits of nodes {:?} differ from the simulation: only the last row of metrics is the fleet's.",
                self.other_bits
            ),
            None => format!(
                "Its bits differ from the simulation, as expected after {}: only the last row of metrics is the fleet's.",
                accidents.join(", ")
            ),
        };
        if !off.is_empty() {
            text += &format!(" Off at the end: {off:?}.");
        }
        text
    }
}
