//! The status light: shows what a board is doing.

use embedded_hal::digital::{OutputPin, PinState};
use lopa_core::exchange::{Micros, Step};

/// A node counts as learning for this long after a round.
const STILL: Micros = 2_000_000;

/// What the light shows.
///
/// | light | |
/// |---|---|
/// | changes with every round | learning |
/// | short flash every two seconds | waiting for a neighbour, or stopped by a host |
/// | on | all rounds are done |
/// | flashes five times per second | diverged, or its blob was refused |
pub struct Light<P> {
    pin: P,
    round: u64,
    /// When a round was last completed.
    moved: Option<Micros>,
}

impl<P: OutputPin> Light<P> {
    pub const fn new(pin: P) -> Self {
        Self { pin, round: 0, moved: None }
    }

    /// Shows the node's status, and returns when to call this again.
    pub fn show(&mut self, step: Step, round: u64, now: Micros) -> Micros {
        if self.round != round {
            (self.round, self.moved) = (round, Some(now));
        }
        let still = self.moved.map_or(0, |moved| moved.saturating_add(STILL));
        let odd = round & 1 == 1;
        match step {
            Step::Compute => self.set(odd, Micros::MAX),
            Step::Wait if now < still => self.set(odd, still),
            Step::Finished => self.set(true, Micros::MAX),
            Step::Diverged(_) | Step::Mismatch => self.alarm(now),
            _ => self.blink(now, 2_000_000),
        }
    }

    /// Shows an error that only a person can fix.
    pub fn alarm(&mut self, now: Micros) -> Micros {
        self.blink(now, 200_000)
    }

    /// On for a tenth of a second in every period.
    fn blink(&mut self, now: Micros, period: Micros) -> Micros {
        let since = now.checked_rem(period).unwrap_or(0);
        let on = since < 100_000;
        let change = if on { 100_000 } else { period };
        self.set(on, now.saturating_add(change.saturating_sub(since)))
    }

    fn set(&mut self, on: bool, until: Micros) -> Micros {
        // A broken light must not stop the node.
        let _ = self.pin.set_state(PinState::from(on));
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use lopa_core::node::{Divergence, Variable};

    /// A light that remembers.
    #[derive(Default)]
    struct Lamp {
        on: bool,
    }

    impl embedded_hal::digital::ErrorType for Lamp {
        type Error = Infallible;
    }

    impl OutputPin for Lamp {
        fn set_low(&mut self) -> Result<(), Infallible> {
            self.on = false;
            Ok(())
        }

        fn set_high(&mut self) -> Result<(), Infallible> {
            self.on = true;
            Ok(())
        }
    }

    /// The light's first state, and when it changes within ten seconds if it is updated whenever it asks for it.
    fn changes(step: Step) -> (bool, Vec<Micros>) {
        let mut light = Light::new(Lamp::default());
        let mut now = light.show(step, 0, 0);
        let first = light.pin.on;
        let (mut on, mut seen) = (first, Vec::new());
        while now < 10_000_000 {
            let next = light.show(step, 0, now);
            if light.pin.on != on {
                (on, seen) = (light.pin.on, [seen, vec![now]].concat());
            }
            assert!(next > now);
            now = next;
        }
        (first, seen)
    }

    #[test]
    fn a_waiting_node_flashes_briefly_every_two_seconds() {
        for step in [Step::Wait, Step::Paused] {
            let (first, seen) = changes(step);
            assert!(first);
            let want = [1, 20, 21, 40, 41, 60, 61, 80, 81];
            assert_eq!(seen, want.map(|tenth| tenth * 100_000));
        }
    }

    #[test]
    fn a_diverged_node_flashes_five_times_per_second() {
        let divergence = Divergence { round: 3, variable: Variable::Outer };
        for step in [Step::Diverged(divergence), Step::Mismatch] {
            let (first, seen) = changes(step);
            assert!(first);
            assert_eq!(seen, (1..100).map(|tenth| tenth * 100_000).collect::<Vec<_>>());
        }
        // A refused blob looks the same.
        let mut light = Light::new(Lamp::default());
        let shown = [0, 99_999, 100_000, 199_999, 200_000].map(|now| {
            light.alarm(now);
            light.pin.on
        });
        assert_eq!(shown, [true, true, false, false, true]);
    }

    #[test]
    fn a_finished_node_keeps_its_light_on() {
        assert_eq!(changes(Step::Finished), (true, vec![]));
    }

    #[test]
    fn a_learning_node_changes_its_light_every_round() {
        let mut light = Light::new(Lamp::default());
        for round in 1..6 {
            let now = round * 300_000;
            light.show(Step::Compute, round, now);
            assert_eq!(light.pin.on, round % 2 == 1);
            // Waiting briefly for a neighbour's half of the round does not count as waiting.
            light.show(Step::Wait, round, now + 200_000);
            assert_eq!(light.pin.on, round % 2 == 1);
        }
        // After two seconds it does: the neighbour is missing.
        let last = 5 * 300_000;
        assert_eq!(light.show(Step::Wait, 5, last + 1), last + STILL);
        light.show(Step::Wait, 5, 3_500_000);
        assert!(!light.pin.on);
    }
}
