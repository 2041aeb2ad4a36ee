//! What nodes are doing.

use lopa_core::wire::Counters;
use serde::Serialize;

use crate::metrics::NodeValues;

/// What a node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It learns.
    Learning,
    /// It waits for neighbours.
    Waiting,
    /// It was told to pause.
    Paused,
    /// It has completed all rounds.
    Done,
    /// It does not start, or its neighbours refuse it.
    Refused,
    /// It is off or silent.
    Dead,
    /// A number of it is not finite.
    Diverged,
    /// It is on another machine, which knows more about it.
    Elsewhere,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Learning,
        Self::Waiting,
        Self::Paused,
        Self::Done,
        Self::Refused,
        Self::Dead,
        Self::Diverged,
        Self::Elsewhere,
    ];

    /// In a word, as in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Learning => "learning",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Dead => "dead",
            Self::Diverged => "diverged",
            Self::Elsewhere => "elsewhere",
        }
    }

    /// Of a node that is on and has not diverged, after `round` of `rounds` rounds; with its neighbours: met, dead, refused.
    #[must_use]
    pub const fn of(round: u64, rounds: u64, neighbours: [u8; 3]) -> Self {
        match neighbours {
            _ if round >= rounds => Self::Done,
            [0, 0, 0] => Self::Waiting,
            [0, _, refused] if refused > 0 => Self::Refused,
            _ => Self::Learning,
        }
    }
}

/// A node as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is doing.
    pub state: State,
    /// Rounds completed, as far as is known.
    pub round: u64,
    /// Why it does not learn, or where it does, in words; empty if there is nothing to say.
    pub why: String,
    /// What was measured of it.
    pub values: NodeValues,
    /// Its neighbours: met, dead and refused; nothing where nodes have no links.
    pub neighbours: Option<[u8; 3]>,
    /// How often it booted; nothing for nodes that are not boards.
    pub boots: Option<u32>,
    /// What happened on its links.
    pub counters: Option<Counters>,
}

impl Node {
    /// A node of which only this is known.
    #[must_use]
    pub const fn new(state: State, round: u64) -> Self {
        Self {
            state,
            round,
            why: String::new(),
            values: [None; 5],
            neighbours: None,
            boots: None,
            counters: None,
        }
    }
}

/// How far all of it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Rounds follow.
    #[default]
    Running,
    /// All rounds are done.
    Finished,
    /// It was stopped before.
    Stopped,
    /// A node diverged.
    Diverged,
    /// It failed otherwise.
    Failed,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Finished, Self::Stopped, Self::Diverged, Self::Failed];

    /// In a word, as in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_one_word_everywhere() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.word());
        }
        for phase in Phase::ALL {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.word());
        }
    }

    #[test]
    fn the_state_of_a_node_follows_from_its_neighbours() {
        for (round, neighbours, state) in [
            (10, [0, 0, 0], State::Done),
            (3, [2, 0, 0], State::Learning),
            (3, [1, 1, 1], State::Learning),
            (3, [0, 2, 0], State::Learning),
            (0, [0, 0, 0], State::Waiting),
            (0, [0, 0, 2], State::Refused),
        ] {
            assert_eq!(State::of(round, 10, neighbours), state, "{round}, {neighbours:?}");
        }
    }
}
