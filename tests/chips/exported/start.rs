//! Entry, exit and printing of a program that `rustc` builds alone, for an emulated Cortex-M without any library. The
//! programs of `firmware` are built by cargo instead, but their sources are known beforehand.

use core::arch::{asm, global_asm};
use core::fmt::{self, Write};

// The stack, and where the chip starts and ends. The FPU is switched on before any float is touched.
global_asm!(
    ".section .vectors, \"a\"",
    ".word 0x20004000",
    ".word reset",
    ".word fault",
    ".word fault",
    ".section .text.reset, \"ax\"",
    ".thumb_func",
    "reset:",
    "ldr r0, =0xe000ed88",
    "ldr r1, =0x00f00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "bl main",
    ".thumb_func",
    "fault:",
    "bl failed",
    ".pool",
);

/// Standard output of the host, through the emulator's semihosting.
pub struct Output(usize);

impl Output {
    /// Opens it.
    pub fn new() -> Self {
        // SYS_OPEN: a name, the mode "w", and the length of the name.
        Self(call(1, [b":tt\0".as_ptr() as usize, 4, 3].as_ptr() as usize))
    }
}

impl Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SYS_WRITE returns how many bytes are left.
        match call(5, [self.0, text.as_ptr() as usize, text.len()].as_ptr() as usize) {
            0 => Ok(()),
            _ => Err(fmt::Error),
        }
    }
}

/// Ends the emulator with success.
pub fn leave() -> ! {
    call(0x18, 0x2_0026);
    loop {}
}

#[unsafe(no_mangle)]
extern "C" fn failed() -> ! {
    call(0x18, 0x2_0023);
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    failed()
}

fn call(operation: usize, argument: usize) -> usize {
    let mut result = operation;
    // SAFETY: the emulator reads what the argument points to, which is alive, and changes nothing but r0.
    unsafe {
        asm!("bkpt 0xab", inout("r0") result, in("r1") argument, options(nostack));
    }
    result
}
