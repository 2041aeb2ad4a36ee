//! A node's own clock: it starts anywhere and runs a little fast or slow.

use lopa_core::exchange::Micros;

/// How a node's clock differs from simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// What it shows at time 0.
    pub offset: Micros,
    /// Microseconds gained per second; negative for a slow clock. A crystal is within ±100, an RC oscillator within
    /// ±20,000.
    pub drift: i32,
}

impl Clock {
    const SECOND: i128 = 1_000_000;

    /// What the clock shows at a simulated time.
    #[must_use]
    pub fn local(&self, now: Micros) -> Micros {
        let run = i128::from(now) * (Self::SECOND + i128::from(self.drift)) / Self::SECOND;
        self.offset.saturating_add(Micros::try_from(run).unwrap_or(0))
    }

    /// The first simulated time at which the clock shows `local` or more.
    #[must_use]
    pub fn when(&self, local: Micros) -> Micros {
        let run = i128::from(local.saturating_sub(self.offset));
        let rate = Self::SECOND + i128::from(self.drift);
        let at = (run * Self::SECOND + rate - 1) / rate.max(1);
        Micros::try_from(at).unwrap_or(Micros::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_moment_at_which_a_clock_shows_a_time() {
        for drift in [-20_000, -1, 0, 1, 37, 20_000] {
            let clock = Clock { offset: 12_345, drift };
            for local in [12_345, 12_346, 99_999, 3_600_000_123] {
                let at = clock.when(local);
                assert!(clock.local(at) >= local, "{drift} {local}");
                assert!(at == 0 || clock.local(at - 1) < local, "{drift} {local}");
            }
        }
        assert_eq!(Clock::default().when(Micros::MAX), Micros::MAX);
        assert_eq!(Clock { offset: 0, drift: 1_000 }.local(1_000_000), 1_001_000);
    }
}
