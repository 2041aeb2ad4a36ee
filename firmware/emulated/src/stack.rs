//! Measures stack use: paints the free stack, runs, and counts the bytes whose paint is gone.

use core::arch::asm;

/// Bytes to paint: more than any step needs, and free in every program.
const WINDOW: usize = 3_072;
const PAINT: u32 = 0xdead_beef;

/// Runs something and returns how many bytes of stack it used.
#[inline(never)]
pub fn depth(run: &mut dyn FnMut()) -> usize {
    let top = pointer();
    let window = (top - WINDOW..top).step_by(size_of::<u32>());
    for address in window.clone() {
        // SAFETY: aligned, in RAM, and below the stack pointer, where no live frame can be: this function
        // calls nothing while it paints, and no interrupt is enabled.
        unsafe { (address as *mut u32).write_volatile(PAINT) };
    }
    run();
    // SAFETY: the same memory, free again after the call; only read.
    let painted = |&address: &usize| unsafe { (address as *const u32).read_volatile() } == PAINT;
    let left = window.take_while(painted).count() * size_of::<u32>();
    assert!(left > 0, "the stack is deeper than the painted window");
    WINDOW - left
}

/// The stack pointer; a multiple of eight on Arm, of sixteen on RISC-V.
#[inline(always)]
fn pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "arm")]
    // SAFETY: copies a register.
    unsafe {
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "riscv32")]
    // SAFETY: copies a register.
    unsafe {
        asm!("mv {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}
