//! Time and an alarm, from the board's two timers.

use core::future::{Future, poll_fn};
use core::task::Poll;

use lopa_core::exchange::Micros;
use lopa_node::Clock;

use crate::executor;
use crate::places::{ALARM, HERTZ, TIMERS};
use crate::registers::Device;

const TICKS: u64 = HERTZ as u64 / 1_000_000;

const CONTROL: usize = 0;
const VALUE: usize = 1;
const RELOAD: usize = 2;
const CLEAR: usize = 3;

/// The one-shot timer.
const fn alarm() -> Device {
    // SAFETY: the board's second timer.
    unsafe { Device::new(TIMERS[1]) }
}

/// Time since boot. It must be read at least every 170 seconds, or a wrap of the timer is missed.
#[derive(Debug)]
pub struct Timers {
    timer: Device,
    last: u32,
    ticks: u64,
    /// When the alarm rings.
    set: Option<Micros>,
}

impl Timers {
    pub fn start() -> Self {
        // SAFETY: the board's first timer.
        let timer = unsafe { Device::new(TIMERS[0]) };
        timer.write::<RELOAD>(u32::MAX);
        timer.write::<VALUE>(u32::MAX);
        timer.write::<CONTROL>(1);
        executor::enable(ALARM);
        Self { timer, last: u32::MAX, ticks: 0, set: None }
    }
}

impl Clock for Timers {
    fn now(&mut self) -> Micros {
        // The timer counts down.
        let value = self.timer.read::<VALUE>();
        self.ticks += u64::from(self.last.wrapping_sub(value));
        self.last = value;
        self.ticks / TICKS
    }

    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()> {
        poll_fn(move |_| {
            let now = self.now();
            if now >= at {
                self.set = None;
                return Poll::Ready(());
            }
            if self.set != Some(at) {
                self.set = Some(at);
                // Two more ticks, so that the time has passed when the alarm rings.
                let ticks = (at - now).saturating_mul(TICKS).saturating_add(2);
                let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                let alarm = alarm();
                alarm.write::<CONTROL>(0);
                alarm.write::<RELOAD>(ticks);
                alarm.write::<VALUE>(ticks);
                alarm.write::<CONTROL>(0b1001);
            }
            Poll::Pending
        })
    }
}

/// The alarm rings.
pub fn ring() {
    alarm().write::<CONTROL>(0);
    alarm().write::<CLEAR>(1);
    executor::wake();
}
