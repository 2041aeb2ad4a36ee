//! The time driver, which an embassy HAL would bring along.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use examples::device::interrupt;
use mps2::clock;

struct Alarm(Mutex<RefCell<Queue>>);

embassy_time_driver::time_driver_impl!(static ALARM_CLOCK: Alarm = Alarm(Mutex::new(RefCell::new(Queue::new()))));

impl Alarm {
    /// Wakes what is due, and sets the alarm for the next.
    fn set(&self, cs: CriticalSection<'_>) {
        let next = self.0.borrow_ref_mut(cs).next_expiration(clock::now());
        if next < u64::MAX {
            clock::ring_at(next);
        }
    }
}

impl Driver for Alarm {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let changed = self.0.borrow_ref_mut(cs).schedule_wake(at, waker);
            if changed {
                self.set(cs);
            }
        });
    }
}

#[cortex_m_rt::interrupt]
fn ALARM() {
    clock::ring();
    critical_section::with(|cs| ALARM_CLOCK.set(cs));
}
