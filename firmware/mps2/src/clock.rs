//! Time and an alarm, from the board's two timers.

use core::cell::RefCell;

use critical_section::Mutex;

use crate::Device;
use crate::places::{AWAKE, HERTZ, TIMERS};

const TICKS: u32 = HERTZ / 1_000_000;

const CONTROL: usize = 0;
const VALUE: usize = 1;
const RELOAD: usize = 2;
const CLEAR: usize = 3;

/// The timer that counts time.
const fn timer() -> Device {
    // SAFETY: the board's first timer.
    unsafe { Device::new(TIMERS[0]) }
}

/// The one-shot timer.
const fn alarm() -> Device {
    // SAFETY: the board's second timer.
    unsafe { Device::new(TIMERS[1]) }
}

struct Time {
    /// What the timer showed last.
    last: u32,
    /// The microseconds until then, and the ticks beyond.
    micros: u64,
    rest: u32,
    /// What the timer showed when the core woke.
    woken: u32,
    /// The ticks that it was awake before.
    awake: u32,
}

impl Time {
    /// Without divisions of 64 bits, which take hundreds of instructions.
    fn update(&mut self) {
        // The timer counts down.
        let value = timer().read::<VALUE>();
        let ticks = self.last.wrapping_sub(value);
        let (mut micros, mut rest) = (ticks / TICKS, ticks % TICKS + self.rest);
        if rest >= TICKS {
            (micros, rest) = (micros + 1, rest - TICKS);
        }
        self.micros += u64::from(micros);
        (self.last, self.rest) = (value, rest);
    }
}

static TIME: Mutex<RefCell<Time>> = Mutex::new(RefCell::new(Time {
    last: u32::MAX,
    micros: 0,
    rest: 0,
    woken: u32::MAX,
    awake: 0,
}));

/// Starts the clock.
pub fn start() {
    timer().write::<RELOAD>(u32::MAX);
    timer().write::<VALUE>(u32::MAX);
    timer().write::<CONTROL>(1);
}

/// Microseconds since the start. Read it at least every 170 seconds, or a wrap of the timer is missed.
#[must_use]
pub fn now() -> u64 {
    critical_section::with(|cs| {
        let mut time = TIME.borrow_ref_mut(cs);
        time.update();
        time.micros
    })
}

/// Sleeps until an interrupt, which is handled before this returns. Tells the emulator's monitor how long the core was awake.
///
/// An interrupt that came before is not noticed: call it only where another one is sure to come, or with nothing left to do.
pub fn sleep() {
    // The time is read before the interrupt is handled: handlers belong to the time awake.
    critical_section::with(|cs| {
        let mut time = TIME.borrow_ref_mut(cs);
        time.update();
        time.awake = time.awake.wrapping_add(time.woken.wrapping_sub(time.last));
        let words = [time.awake, time.micros as u32, (time.micros >> 32) as u32];
        // SAFETY: words of the board's second RAM that nothing else uses.
        unsafe { (AWAKE as *mut [u32; 3]).write_volatile(words) };
        cortex_m::asm::wfi();
        time.update();
        time.woken = time.last;
    });
}

/// Sets the alarm: its interrupt comes once this time has passed, or after 80 seconds.
pub fn ring_at(at: u64) {
    // Two more ticks, so that the time has passed when the alarm rings.
    let ticks = at.saturating_sub(now()).min(80_000_000) as u32 * TICKS + 2;
    alarm().write::<CONTROL>(0);
    alarm().write::<RELOAD>(ticks);
    alarm().write::<VALUE>(ticks);
    alarm().write::<CONTROL>(0b1001);
}

/// Handles the alarm's interrupt.
pub fn ring() {
    alarm().write::<CONTROL>(0);
    alarm().write::<CLEAR>(1);
}
