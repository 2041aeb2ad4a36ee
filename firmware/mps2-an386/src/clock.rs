//! The board's clock, for the node.

use core::future::{Future, poll_fn};
use core::task::Poll;

use lopa_core::exchange::Micros;
use lopa_node::Clock;
use mps2::clock;
use mps2::places::ALARM;

/// Time since boot, and an alarm.
#[derive(Debug)]
pub struct Timers {
    /// When the alarm rings.
    set: Option<Micros>,
}

impl Timers {
    pub fn start() -> Self {
        clock::start();
        mps2::enable(ALARM);
        Self { set: None }
    }
}

impl Clock for Timers {
    fn now(&mut self) -> Micros {
        clock::now()
    }

    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()> {
        poll_fn(move |_| {
            if clock::now() >= at {
                self.set = None;
                return Poll::Ready(());
            }
            if self.set != Some(at) {
                self.set = Some(at);
                clock::ring_at(at);
            }
            Poll::Pending
        })
    }
}
