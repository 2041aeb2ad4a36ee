//! Boards that are watched.

use lopa_core::wire::Status;

use super::state::{Node, State};
use crate::fleet::Silence;

impl State {
    /// Of a board that replied, or not.
    #[must_use]
    pub const fn of_board(status: &Result<Status, Silence>) -> Self {
        match status {
            Err(Silence::Refused { .. }) => Self::Refused,
            Err(_) => Self::Dead,
            Ok(Status { diverged: true, .. }) => Self::Diverged,
            Ok(Status { round, rounds, paused: true, .. }) if *round < *rounds => Self::Paused,
            Ok(Status { round, rounds, met, dead, refused, .. }) => {
                Self::of(*round, *rounds, [*met, *dead, *refused])
            }
        }
    }
}

impl Node {
    /// Takes what a board replied, or why it did not. A board that is silent keeps its round, and what was measured.
    pub fn reply(&mut self, status: &Result<Status, Silence>) {
        self.state = State::of_board(status);
        self.why = match status {
            Ok(_) => String::new(),
            Err(silence) => silence.to_string(),
        };
        self.neighbours = None;
        if let Ok(Status { session, round, met, dead, refused, .. }) = status {
            (self.round, self.boots) = (*round, Some(*session));
            self.neighbours = Some([*met, *dead, *refused]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::wire::{Cause, Trouble};

    const STATUS: Status = Status {
        session: 2,
        challenge: 0,
        round: 5,
        rounds: 10,
        met: 1,
        dead: 1,
        refused: 0,
        paused: false,
        diverged: false,
    };

    #[test]
    fn a_board_that_falls_silent_keeps_what_was_known_of_it() {
        let mut node = Node::new(State::Waiting, 0);
        node.reply(&Ok(STATUS));
        assert_eq!((node.state, node.round, node.boots), (State::Learning, 5, Some(2)));
        node.reply(&Err(Silence::Silent(3)));
        assert_eq!((node.state, node.round, node.boots), (State::Dead, 5, Some(2)));
        assert_eq!(node.neighbours, None);
        assert!(node.why.contains("node 3 does not answer"), "{}", node.why);
    }

    #[test]
    fn every_reply_has_its_state() {
        let trouble = Trouble { cause: Cause::NoBlob, needed: 0, found: 0 };
        let refused = Silence::Refused { node: 0, trouble };
        for (status, state) in [
            (Err(refused), State::Refused),
            (Err(Silence::Closed(0)), State::Dead),
            (Ok(Status { diverged: true, ..STATUS }), State::Diverged),
            (Ok(Status { paused: true, ..STATUS }), State::Paused),
            (Ok(Status { paused: true, round: 10, ..STATUS }), State::Done),
            (Ok(Status { met: 0, dead: 0, ..STATUS }), State::Waiting),
        ] {
            assert_eq!(State::of_board(&status), state, "{status:?}");
        }
    }
}
