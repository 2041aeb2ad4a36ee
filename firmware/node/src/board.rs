//! What a board must provide.

use core::future::Future;

use embedded_storage::nor_flash::NorFlash;
use lopa_core::exchange::Micros;

use crate::LINKS;

/// A board's parts, started and ready.
///
/// Link 0 leads to a host or is not connected. Links must be buffered: a cancelled read takes nothing, and bytes that
/// arrive while a round is computed are kept, or held back at the sender. Bytes that are lost anyway are sent again, which
/// takes time.
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

    /// Waits at least until a time; returns at once if it has passed. Can be cancelled and called again.
    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()>;
}

/// Resets the board if the program hangs.
pub trait Watchdog {
    /// Signals that the program still runs. It is called before each round is computed and otherwise at least every second,
    /// so the timeout must be a few times as long as the longest computation.
    fn feed(&mut self);
}

/// Flash that can also be read in place.
pub trait Mapped: NorFlash {
    /// All of it.
    fn bytes(&self) -> &[u8];
}
