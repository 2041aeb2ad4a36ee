//! The one loop over rounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::RunError;
use super::awake::awake;
use crate::algorithms::Algorithm;

/// Where a run is, between two rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Progress {
    /// Rounds completed.
    pub(crate) round: u64,
    /// Seconds that the rounds of this run took.
    pub(crate) seconds: f64,
    /// Whether no round follows: all are done, or it was stopped.
    pub(crate) ends: bool,
}

/// Runs a network until it has completed `rounds` rounds, or until `stop` is true after a round. `observe` sees it where
/// it starts and after every round; `single_level` says what kind of method it is. Tells whether all rounds were completed.
///
/// # Errors
/// Names the node that diverged, or the worker that is gone; passes on what `observe` fails with.
pub(crate) fn drive<P, A: Algorithm<P> + ?Sized>(
    network: &mut A,
    rounds: u64,
    stop: Option<&AtomicBool>,
    single_level: bool,
    mut observe: impl FnMut(&mut A, Progress) -> Result<(), RunError> + Send,
) -> Result<bool, RunError> {
    awake(|| {
        let first = network.round();
        let mut seconds = 0.0;
        for round in first..=rounds {
            if round > first {
                let began = Instant::now();
                let moved = network.step();
                seconds += began.elapsed().as_secs_f64();
                moved.map_err(|error| RunError::of_step(error, single_level))?;
            }
            let asked = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            let stopped = asked && first < round && round < rounds;
            observe(network, Progress { round, seconds, ends: stopped || round == rounds })?;
            if stopped {
                return Ok(false);
            }
        }
        Ok(true)
    })
}
