//! The entry point: assembles the board's parts and runs the node.

use core::pin::pin;

use lopa_core::blob::Blob;
use lopa_node::{Board, Desk, run};
use mps2::places::BLOB;

use crate::clock::Timers;
use crate::executor;
use crate::flash::FileFlash;
use crate::places::{FLASH, LARGE};
use crate::registers::{Dog, Led};
use crate::uart::Line;

/// Floats for a node: n = p = 784 with gradient tracking.
const FLOATS: usize = if cfg!(feature = "large") { 0 } else { 8 * 784 };

/// For a node without a blob: the host may still ask it why it does not start.
const BAUD: u32 = 115_200;

#[cortex_m_rt::entry]
fn start() -> ! {
    static mut ARENA: [f32; FLOATS] = [0.0; FLOATS];
    static mut DESK: Desk = Desk::new();
    // SAFETY: RAM of the board that nothing writes to.
    let blob = unsafe { core::slice::from_raw_parts(BLOB.0 as *const u8, BLOB.1) };
    // SAFETY: RAM of the board that nothing else uses; taken once, as `start` is called once.
    let mirror = unsafe { core::slice::from_raw_parts_mut(FLASH.0 as *mut u8, FLASH.1) };
    let blob = Blob::read(blob);
    let arena = if cfg!(feature = "large") {
        // SAFETY: RAM of the board that nothing else uses, where any bits are floats; taken once, as `start` is called once.
        unsafe { core::slice::from_raw_parts_mut(LARGE.0 as *mut f32, LARGE.1) }
    } else {
        &mut ARENA[..]
    };
    let board = Board {
        links: Line::start(blob.as_ref().map_or(BAUD, Blob::baud)),
        clock: Timers::start(),
        light: Led::new(),
        #[cfg(not(feature = "planted"))]
        watchdog: Dog::start(),
        #[cfg(feature = "planted")]
        watchdog: crate::planted::Accidents::new(Dog::start()),
        flash: FileFlash::open(mirror),
    };
    executor::block_on(pin!(run(board, &blob, arena, DESK)))
}
