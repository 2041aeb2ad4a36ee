//! Time, and the watchdog's timeout.

use embassy_time::{Duration, Instant, Timer};
use lopa_core::exchange::Micros;
use lopa_node::Clock;

/// The watchdog's timeout: the longest that all boards support.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// Embassy's time driver, which the HAL has started.
#[derive(Debug)]
pub struct Time;

impl Clock for Time {
    fn now(&mut self) -> Micros {
        Instant::now().as_micros()
    }

    async fn wait_until(&mut self, at: Micros) {
        // Embassy's timer is never ready when it is first polled, not even if its time has passed.
        if Instant::now().as_micros() < at {
            // A tick can be longer than a microsecond and is rounded down: without one more, the alarm would be early.
            Timer::at(Instant::from_micros(at).saturating_add(Duration::from_ticks(1))).await;
        }
    }
}
