//! A node that samples a sensor and learns online, in two embassy tasks.
//!
//! The sampling task has the higher priority, so a reading is never late because a round is being computed. The learning
//! task keeps the last readings in a ring buffer, which is the node's training set. It predicts every reading before it
//! learns from it, and shows the prediction with the light.
//!
//! Both executors run in interrupts, and main sleeps with `wfi`. An executor in main would sleep with `wfe`, which is as good
//! on a chip, but does not sleep in the emulator.
#![no_std]
#![no_main]

#[cfg(not(board))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(board)]
mod program;
#[cfg(board)]
mod sensor;
#[cfg(board)]
mod time;
