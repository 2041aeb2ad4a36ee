//! A run of an emulated fleet, with accidents on request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lopa_core::exchange::Timing;
use lopa_core::wire::Status;

use super::accident::{Accident, AccidentError, Until};
use super::emulated::{Emulated, FleetError};

/// How often the status of boards is requested: seldom enough to leave them time to learn,
const LOOK: Duration = Duration::from_millis(500);
/// but often while an accident is due in a certain round.
const LOOK_SHARP: Duration = Duration::from_millis(30);
/// A fleet that makes no progress for this long, or for three times its silence, is stuck.
const STUCK: Duration = Duration::from_secs(300);

/// Times that suit emulated boards on a busy machine, where a node may stand still for long: no neighbour is given up
/// before `silence`. On lines that lose frames, those are sent again sooner.
#[must_use]
pub fn patient(silence: Duration, lossy: bool) -> Timing {
    let silence = u64::try_from(silence.as_micros()).unwrap_or(u64::MAX).max(16);
    Timing {
        retry: if lossy { 50_000 } else { 200_000 },
        retry_most: 1_000_000,
        delay: 1_000,
        silence,
        patience: silence.saturating_mul(4),
        probe: 500_000,
    }
}

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The fleet failed.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// A node diverged.
    #[error("node {node} diverged in round {round}")]
    Diverged {
        /// The node.
        node: u32,
        /// In this round.
        round: u64,
    },
    /// Nothing moves any more.
    #[error("the fleet is stuck after round {round}{}", if *refused { ": nodes refuse each other" } else { "" })]
    Stuck {
        /// The rounds completed by the slowest node that is on.
        round: u64,
        /// Neighbours refused by some node.
        refused: bool,
    },
    /// The fleet finished before it could happen.
    #[error(
        "\"{0}\" came too late, after the fleet had finished: name an earlier round, or run more rounds"
    )]
    TooLate(Accident),
    /// It was interrupted.
    #[error("stopped after round {round}; the boards are off, nothing was written")]
    Stopped {
        /// The rounds completed by the slowest node that is on.
        round: u64,
    },
}

/// Whether an accident has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ahead,
    Since(Instant),
    Over,
}

/// A run from boot to the last round.
#[derive(Debug)]
pub struct Course {
    accidents: Vec<(Accident, Stage)>,
    rounds: u64,
    stuck: Duration,
}

impl Course {
    /// A run of `rounds` rounds with these accidents. `links` are the pairs of neighbours.
    ///
    /// # Errors
    /// Names an accident of a node, line or round that does not exist, or a restart without a kill.
    pub fn new(
        accidents: &[Accident],
        nodes: u32,
        links: &[(u32, u32)],
        rounds: u64,
        silence: Duration,
    ) -> Result<Self, AccidentError> {
        for accident in accidents {
            let wrong = |why: String| AccidentError(format!("\"{accident}\": {why}"));
            let (last, round) = (rounds.saturating_sub(1), accident.round());
            if round == 0 || round > last {
                return Err(wrong(format!("the round must be 1 to {last}")));
            }
            let known = |node: u32| {
                if node < nodes {
                    return Ok(());
                }
                Err(wrong(format!("the last node is {}", nodes.saturating_sub(1))))
            };
            match *accident {
                Accident::Kill { node, .. } => known(node)?,
                Accident::Restart { node, round } => {
                    known(node)?;
                    let earlier = |kill: &Accident| matches!(kill, Accident::Kill { node: n, round: r } if *n == node && *r <= round);
                    if !accidents.iter().any(earlier) {
                        return Err(wrong(format!(
                            "node {node} is not killed by then: add --kill"
                        )));
                    }
                }
                Accident::Cut { a, b, until, .. } => {
                    if !links.contains(&(a, b)) && !links.contains(&(b, a)) {
                        return Err(wrong(format!("there is no line between {a} and {b}")));
                    }
                    if let Until::Round(end) = until
                        && !(round < end && end <= last)
                    {
                        return Err(wrong(format!(
                            "it must be repaired after round {round} and by round {last}"
                        )));
                    }
                }
            }
        }
        let accidents = accidents.iter().map(|accident| (*accident, Stage::Ahead)).collect();
        Ok(Self { accidents, rounds, stuck: STUCK.max(silence.saturating_mul(3)) })
    }

    /// Switches all boards on, and waits until all that are on at the end have completed all rounds. `tick` receives them
    /// and their statuses, `None` for those that are off.
    ///
    /// # Errors
    /// Says what went wrong. Once `stop` is true, it ends.
    pub fn run(
        &mut self,
        fleet: &mut Emulated,
        stop: &AtomicBool,
        mut tick: impl FnMut(&mut Emulated, &[Option<Status>]),
    ) -> Result<(), CourseError> {
        fleet.start_all()?;
        let mut known: Vec<Option<Status>> = vec![None; fleet.len()];
        let (mut last, mut moved) = (Vec::new(), Instant::now());
        loop {
            for (known, fresh) in known.iter_mut().zip(fleet.statuses()?) {
                *known = fresh.or(*known);
            }
            for (node, status) in (0_u32..).zip(&known) {
                if let Some(Status { diverged: true, round, .. }) = status {
                    return Err(CourseError::Diverged { node, round: *round });
                }
            }
            tick(fleet, &known);
            let on = |node: &usize| fleet.is_on(*node as u32);
            let rounds: Vec<u64> = (0..known.len())
                .filter(on)
                .map(|node| known[node].map_or(0, |status| status.round))
                .collect();
            let slowest = rounds.iter().min().copied().unwrap_or(0);
            if stop.load(Ordering::Relaxed) {
                return Err(CourseError::Stopped { round: slowest });
            }
            let quiet = !self.happen(fleet, &mut known)?;
            // A cut for good is over once it is made.
            let over = |(accident, stage): &(Accident, Stage)| {
                let for_good = matches!(accident, Accident::Cut { until: Until::Never, .. });
                *stage == Stage::Over || (for_good && *stage != Stage::Ahead)
            };
            if quiet && slowest >= self.rounds && self.accidents.iter().all(over) {
                return Ok(());
            }
            if rounds != last {
                (last, moved) = (rounds, Instant::now());
            } else if moved.elapsed() > self.stuck {
                let refused = known.iter().flatten().any(|status| status.refused > 0);
                return Err(CourseError::Stuck { round: slowest, refused });
            }
            let waits = self.accidents.iter().any(|(_, stage)| *stage != Stage::Over);
            std::thread::sleep(if waits { LOOK_SHARP } else { LOOK });
        }
    }

    /// Makes accidents happen that are due. Returns whether there were any.
    fn happen(
        &mut self,
        fleet: &mut Emulated,
        known: &mut [Option<Status>],
    ) -> Result<bool, CourseError> {
        let mut any = false;
        for (accident, stage) in &mut self.accidents {
            let of = |node: u32| known[node as usize].map_or(0, |status| status.round);
            let most = known.iter().flatten().map(|status| status.round).max().unwrap_or(0);
            let next = match (*accident, *stage) {
                (Accident::Kill { node, round }, Stage::Ahead) if of(node) >= round => {
                    if of(node) >= self.rounds {
                        return Err(CourseError::TooLate(*accident));
                    }
                    fleet.kill(node);
                    known[node as usize] = None;
                    Stage::Over
                }
                (Accident::Restart { node, round }, Stage::Ahead)
                    if most >= round && !fleet.is_on(node) =>
                {
                    fleet.start(node)?;
                    known[node as usize] = None;
                    Stage::Over
                }
                (Accident::Cut { a, b, round, .. }, Stage::Ahead) if of(a).max(of(b)) >= round => {
                    if of(a).min(of(b)) >= self.rounds {
                        return Err(CourseError::TooLate(*accident));
                    }
                    fleet.cut(a, b, true);
                    Stage::Since(Instant::now())
                }
                (Accident::Cut { a, b, until, .. }, Stage::Since(start)) => {
                    let repaired = match until {
                        Until::Never => false,
                        Until::Round(end) => most >= end,
                        Until::Time(time) => start.elapsed() >= time,
                    };
                    if !repaired {
                        continue;
                    }
                    fleet.cut(a, b, false);
                    Stage::Over
                }
                _ => continue,
            };
            (*stage, any) = (next, true);
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: [(u32, u32); 3] = [(0, 1), (1, 2), (2, 3)];

    fn course(accidents: &[Accident]) -> Result<Course, AccidentError> {
        Course::new(accidents, 4, &LINKS, 100, Duration::from_secs(10))
    }

    #[test]
    fn accidents_that_cannot_happen_are_refused() {
        for (accident, what) in [
            (Accident::kill("4@5"), "the last node is 3"),
            (Accident::kill("1@0"), "the round must be 1 to 99"),
            (Accident::kill("1@100"), "the round must be 1 to 99"),
            (Accident::restart("1@50"), "node 1 is not killed by then"),
            (Accident::cut("0-2@5"), "there is no line between 0 and 2"),
            (Accident::cut("0-1@5..5"), "it must be repaired after round 5 and by round 99"),
            (Accident::cut("0-1@5..100"), "it must be repaired after round 5 and by round 99"),
        ] {
            let error = course(&[accident.unwrap()]).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let known = ["1@99", "2@1"].map(|text| Accident::kill(text).unwrap());
        course(&known).unwrap();
        let cuts = ["0-1@50", "1-0@50..80", "2-3@5+2.5"].map(|text| Accident::cut(text).unwrap());
        course(&cuts).unwrap();
        course(&[known[0], Accident::restart("1@99").unwrap()]).unwrap();
    }
}
