//! A run of an emulated fleet, with the accidents that are asked for.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lopa_core::exchange::Timing;
use lopa_core::wire::Status;

use super::emulated::{Emulated, FleetError};

/// How often boards are asked where they are: so seldom that they have time to learn,
const LOOK: Duration = Duration::from_millis(500);
/// but often while something is to happen in a certain round.
const LOOK_SHARP: Duration = Duration::from_millis(30);
/// A fleet that does not move for so long, or for three times its silence, is stuck.
const STUCK: Duration = Duration::from_secs(300);

/// When a cut line is mended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// Never.
    Never,
    /// When a node has completed so many rounds.
    Round(u64),
    /// After a time.
    Time(Duration),
}

/// Something that happens to a fleet, when a board is first seen to have completed a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accident {
    /// A board loses its power.
    Kill {
        /// The node.
        node: u32,
        /// After so many rounds of its own.
        round: u64,
    },
    /// A board that lost its power gets it again.
    Restart {
        /// The node.
        node: u32,
        /// After so many rounds of any other.
        round: u64,
    },
    /// A line is cut.
    Cut {
        /// Between this node
        a: u32,
        /// and this one.
        b: u32,
        /// After so many rounds of one of them.
        round: u64,
        /// When it is mended.
        until: Until,
    },
}

/// An accident makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccidentError(String);

impl fmt::Display for AccidentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AccidentError {}

impl fmt::Display for Accident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { node, round } => write!(f, "kill {node}@{round}"),
            Self::Restart { node, round } => write!(f, "restart {node}@{round}"),
            Self::Cut { a, b, round, until } => {
                write!(f, "cut {a}-{b}@{round}")?;
                match until {
                    Until::Never => Ok(()),
                    Until::Round(round) => write!(f, "..{round}"),
                    Until::Time(time) => write!(f, "+{}", time.as_secs_f64()),
                }
            }
        }
    }
}

impl Accident {
    /// A board loses its power: "2@50".
    ///
    /// # Errors
    /// Says how it is written.
    pub fn kill(text: &str) -> Result<Self, AccidentError> {
        let wrong = || AccidentError(format!("{text:?} is no NODE@ROUND, such as 2@50"));
        let (node, round) = text.split_once('@').ok_or_else(wrong)?;
        let (node, round) = (node.parse(), round.parse());
        Ok(Self::Kill { node: node.map_err(|_| wrong())?, round: round.map_err(|_| wrong())? })
    }

    /// It gets it again: "2@80".
    ///
    /// # Errors
    /// Says how it is written.
    pub fn restart(text: &str) -> Result<Self, AccidentError> {
        match Self::kill(text)? {
            Self::Kill { node, round } => Ok(Self::Restart { node, round }),
            other => Ok(other),
        }
    }

    /// A line is cut: "0-1@50" for good, "0-1@50..80" until round 80, "0-1@50+2.5" for two and a half seconds.
    ///
    /// # Errors
    /// Says how it is written.
    pub fn cut(text: &str) -> Result<Self, AccidentError> {
        let parsed = || {
            let (nodes, when) = text.split_once('@')?;
            let (a, b) = nodes.split_once('-')?;
            let (round, until) = match (when.split_once(".."), when.split_once('+')) {
                (Some((round, end)), _) => (round, Until::Round(end.parse().ok()?)),
                (None, Some((round, seconds))) => {
                    let seconds = seconds.parse().ok()?;
                    (round, Until::Time(Duration::try_from_secs_f64(seconds).ok()?))
                }
                (None, None) => (when, Until::Never),
            };
            let round = round.parse().ok()?;
            Some(Self::Cut { a: a.parse().ok()?, b: b.parse().ok()?, round, until })
        };
        parsed().ok_or_else(|| {
            let forms = "A-B@ROUND, A-B@ROUND..ROUND or A-B@ROUND+SECONDS, such as 0-1@50..80";
            AccidentError(format!("{text:?} is no {forms}"))
        })
    }

    const fn round(&self) -> u64 {
        match self {
            Self::Kill { round, .. } | Self::Restart { round, .. } | Self::Cut { round, .. } => {
                *round
            }
        }
    }

    /// Whether the network goes on without somebody for a while, and so learns other bits than a simulation.
    #[must_use]
    pub fn changes_bits(&self, silence: Duration) -> bool {
        match self {
            Self::Kill { .. } | Self::Restart { .. } => true,
            Self::Cut { until: Until::Time(time), .. } => *time >= silence,
            Self::Cut { .. } => true,
        }
    }
}

/// Times that suit emulated boards on a busy machine, where a node may stand still for long: nobody is given up before
/// `silence`. On lines that lose frames, those are sent again sooner.
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

/// Why a run did not come to its end.
#[derive(Debug)]
pub enum CourseError {
    /// The fleet failed.
    Fleet(FleetError),
    /// A node diverged.
    Diverged {
        /// The node.
        node: u32,
        /// In this round.
        round: u64,
    },
    /// Nothing moves any more.
    Stuck {
        /// The rounds completed by the slowest node that is on.
        round: u64,
        /// Neighbours refused by some node.
        refused: bool,
    },
    /// The fleet was done before it could happen.
    TooLate(Accident),
    /// Somebody said stop.
    Stopped {
        /// The rounds completed by the slowest node that is on.
        round: u64,
    },
}

impl fmt::Display for CourseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fleet(error) => error.fmt(f),
            Self::Diverged { node, round } => write!(f, "node {node} diverged in round {round}"),
            Self::Stuck { round, refused } => {
                write!(f, "the fleet is stuck after round {round}")?;
                f.write_str(if *refused { ": nodes refuse each other" } else { "" })
            }
            Self::TooLate(accident) => write!(
                f,
                "\"{accident}\" came too late: the fleet was done before it was seen in that round; \
                 name an earlier one, or more rounds"
            ),
            Self::Stopped { round } => {
                write!(f, "stopped after round {round}; the boards are off, nothing was written")
            }
        }
    }
}

impl std::error::Error for CourseError {}

impl From<FleetError> for CourseError {
    fn from(error: FleetError) -> Self {
        Self::Fleet(error)
    }
}

/// How far an accident is.
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
    /// A run of so many rounds with these accidents. `links` are the pairs of neighbours.
    ///
    /// # Errors
    /// Names an accident of a node or line there is not, or in a round there is not, or a restart without a kill.
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
                        return Err(wrong(format!("node {node} is not killed before")));
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
                            "it must be mended after round {round}, by {last}"
                        )));
                    }
                }
            }
        }
        let accidents = accidents.iter().map(|accident| (*accident, Stage::Ahead)).collect();
        Ok(Self { accidents, rounds, stuck: STUCK.max(silence.saturating_mul(3)) })
    }

    /// Switches all boards on, and waits until all that are on at the end have done all rounds. `tick` is told where all
    /// are, nothing of those that are off.
    ///
    /// # Errors
    /// Says what went wrong; whoever makes `stop` true ends it.
    pub fn run(
        &mut self,
        fleet: &mut Emulated,
        stop: &AtomicBool,
        mut tick: impl FnMut(&[Option<Status>]),
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
            tick(&known);
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

    /// Lets happen what is due. Tells whether anything did.
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
                    let mended = match until {
                        Until::Never => false,
                        Until::Round(end) => most >= end,
                        Until::Time(time) => start.elapsed() >= time,
                    };
                    if !mended {
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
    fn accidents_are_read_as_they_are_written() {
        for (accident, text) in [
            (Accident::kill("2@50"), "kill 2@50"),
            (Accident::restart("2@80"), "restart 2@80"),
            (Accident::cut("0-1@50"), "cut 0-1@50"),
            (Accident::cut("0-1@50..80"), "cut 0-1@50..80"),
            (Accident::cut("1-0@5+2.5"), "cut 1-0@5+2.5"),
        ] {
            let accident = accident.unwrap();
            assert_eq!(accident.to_string(), text);
            course(&[Accident::kill("2@50").unwrap(), accident]).unwrap();
        }
        for bad in ["", "2", "2@", "@5", "two@5", "2@-1", "2@5.5"] {
            assert!(Accident::kill(bad).unwrap_err().to_string().contains("NODE@ROUND"), "{bad}");
        }
        for bad in ["0-1", "0@5", "0-1@5..", "0-1@5+x", "0-1@5+-1", "0-1@5+nan"] {
            assert!(Accident::cut(bad).unwrap_err().to_string().contains("A-B@ROUND"), "{bad}");
        }
    }

    #[test]
    fn accidents_that_cannot_happen_are_refused() {
        for (accident, what) in [
            (Accident::kill("4@5"), "the last node is 3"),
            (Accident::kill("1@0"), "the round must be 1 to 99"),
            (Accident::kill("1@100"), "the round must be 1 to 99"),
            (Accident::restart("1@50"), "node 1 is not killed before"),
            (Accident::cut("0-2@5"), "there is no line between 0 and 2"),
            (Accident::cut("0-1@5..5"), "it must be mended after round 5, by 99"),
            (Accident::cut("0-1@5..100"), "it must be mended after round 5, by 99"),
        ] {
            let error = course(&[accident.unwrap()]).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_short_cut_leaves_the_bits_alone() {
        let silence = Duration::from_secs(10);
        let changes = |text| Accident::cut(text).unwrap().changes_bits(silence);
        assert!(!changes("0-1@5+2") && changes("0-1@5+10"));
        assert!(changes("0-1@5") && changes("0-1@5..7"));
    }
}
