//! What a board must bring along.

use core::future::Future;

use embedded_storage::nor_flash::NorFlash;
use lopa_core::exchange::Micros;

use crate::LINKS;

/// A board's parts, started and ready.
///
/// Link 0 leads to a host or is left open. Links must be buffered: a read that is given up has taken nothing, and bytes
/// that come while a round is computed are kept or held back at the sender. What is lost all the same is repaired, at
/// the cost of time.
#[derive(Debug)]
pub struct Board<L, C, P, W, F> {
    /// Serial lines ([`Read`](embedded_io_async::Read) and [`Write`](embedded_io_async::Write)).
    pub links: [L; LINKS],
    /// A clock with an alarm.
    pub clock: C,
    /// The status light ([`OutputPin`](embedded_hal::digital::OutputPin)).
    pub light: P,
    /// The watchdog.
    pub watchdog: W,
    /// Where checkpoints are kept.
    pub flash: F,
}

/// A clock with an alarm.
pub trait Clock {
    /// Microseconds since boot.
    fn now(&mut self) -> Micros;

    /// Waits until a time, at least; at once if it is past. May be given up and asked again.
    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()>;
}

/// What resets the board if the program hangs.
pub trait Watchdog {
    /// All is well. Said before each round is computed and at least every second otherwise, so it must wait for a few
    /// times the longest computation.
    fn feed(&mut self);
}

/// Flash that is also read where it lies.
pub trait Mapped: NorFlash {
    /// All of it.
    fn bytes(&self) -> &[u8];
}
