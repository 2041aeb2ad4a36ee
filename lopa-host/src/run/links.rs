//! The table `links` as what a simulated network over links is told.

use lopa_core::blob::Wiring;
use lopa_core::exchange::Timing;
use lopa_core::node::Scheme;
use lopa_core::wire::{Seal, message_len};

use super::RunError;
use crate::algorithms::WINDOW;
use crate::config::LinksTable;
use crate::network::{Faults, LINKS, Linking};

/// Refuses nodes with more neighbours than can be simulated over links.
pub(super) fn check(degrees: &[usize]) -> Result<(), RunError> {
    match degrees.iter().position(|degree| *degree > LINKS) {
        Some(node) => Err(RunError::Input(format!(
            "links: node {node} has {} neighbours, but at most {LINKS} can be simulated over links: \
             choose another topology, or leave out the table [links]",
            degrees[node]
        ))),
        None => Ok(()),
    }
}

/// How a file wants nodes to be linked.
pub(crate) fn linking(
    table: &LinksTable,
    scheme: Scheme,
    degrees: &[usize],
    seal: Seal,
) -> Linking {
    let vectors = if scheme == Scheme::GradientTracking { 2 } else { 1 };
    let frame = message_len(table.chunk as usize * vectors) + seal.overhead();
    // How many nodes share a line, each with a window full of frames.
    let share = match table.wiring {
        Wiring::Direct => 2,
        Wiring::Routed => 1 + degrees.iter().max().copied().unwrap_or(0),
        Wiring::Bus => degrees.len(),
    };
    let patience = table.compute.saturating_add(table.delay.saturating_mul(2));
    Linking {
        wiring: table.wiring,
        baud: table.baud,
        compute: [table.compute, table.compute],
        chunk: table.chunk,
        timing: Timing::uart(table.baud, frame, (share * WINDOW) as u32, patience),
        seal,
        faults: Faults {
            drop: table.drop,
            corrupt: table.corrupt,
            duplicate: table.duplicate,
            reorder: table.reorder,
            delay: table.delay,
            cut: Vec::new(),
        },
        seed: table.seed,
        clocks: Vec::new(),
    }
}
