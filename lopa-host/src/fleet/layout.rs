//! A network laid out on emulated boards: wiring, blobs, and the board that has room for them.

use lopa_core::blob::Wiring;
use lopa_core::exchange::Timing;

use crate::chips::{
    Board, ChipError, EMULATED, EMULATED_LARGE, Form, LINES, Limits, VALUES, blobs,
};
use crate::run::Prepared;

/// Rounds between checkpoints, where the file names none: a board that loses its power goes on from the last.
const CHECKPOINT_EVERY: u32 = 25;

/// A network on emulated boards.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// How they are wired.
    pub wiring: Wiring,
    /// The board that has room for every node.
    pub board: Board,
    /// A blob each.
    pub blobs: Vec<Vec<u8>>,
}

impl Layout {
    /// Lays a network out. If `wiring` is `None`, boards have lines of their own unless the file says otherwise or a node has
    /// more neighbours than a board has lines; then the host is their router.
    ///
    /// # Errors
    /// Names the first node that fits no board.
    pub fn new(
        prepared: &Prepared,
        wiring: Option<Wiring>,
        timing: Timing,
    ) -> Result<Self, ChipError> {
        let many = prepared.weights().degrees().iter().any(|degree| *degree > LINES);
        let said =
            prepared.experiment().links.as_ref().map_or(Wiring::Direct, |table| table.wiring);
        let wiring = match (wiring, said) {
            (Some(wiring), _) => wiring,
            (None, Wiring::Direct) if many => Wiring::Routed,
            (None, said) => said,
        };
        let form = Form {
            wiring: Some(wiring),
            values: Some(VALUES),
            timing: Some(timing),
            checkpoint_every: Some(CHECKPOINT_EVERY),
        };
        let blobs = blobs(prepared, Limits::default(), form)?;
        let fits = |board: &Board| blobs.iter().try_for_each(|blob| board.takes(blob));
        let board = if fits(&EMULATED).is_ok() { EMULATED } else { EMULATED_LARGE };
        fits(&board)?;
        let blobs = blobs.into_iter().map(|blob| blob.bytes).collect();
        Ok(Self { wiring, board, blobs })
    }
}
