//! Time and the watchdog's patience.

use embassy_time::{Duration, Instant, Timer};
use lopa_core::exchange::Micros;
use lopa_node::Clock;

/// How long a watchdog waits to be fed: as long as the shortest of them can.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// Embassy's time driver, which the HAL has started.
#[derive(Debug)]
pub struct Time;

impl Clock for Time {
    fn now(&mut self) -> Micros {
        Instant::now().as_micros()
    }

    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()> {
        // A tick may be longer than a microsecond, and is rounded down: one more, or time would not be up.
        Timer::at(Instant::from_micros(at).saturating_add(Duration::from_ticks(1)))
    }
}
