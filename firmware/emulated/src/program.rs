//! The way in and out of a program: one entry for both architectures, and an end the emulator sees.

/// Makes an expression the program: starts the chip, evaluates it, and ends the emulator with success.
///
/// A panic ends it with failure and a message; so does a fault, such as a stack that runs out of RAM.
#[macro_export]
macro_rules! program {
    ($body:expr) => {
        #[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
        #[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
        fn main() -> ! {
            $body;
            $crate::leave()
        }

        #[cfg(target_arch = "arm")]
        // SAFETY: only ends the emulator; unsafe is what the attribute asks of a fault handler.
        #[cortex_m_rt::exception]
        unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
            $crate::fault()
        }

        #[cfg(target_arch = "riscv32")]
        // SAFETY: the name and the shape the runtime looks for; only ends the emulator.
        #[unsafe(export_name = "ExceptionHandler")]
        extern "C" fn fault(_: &riscv_rt::TrapFrame) -> ! {
            $crate::fault()
        }
    };
}

/// Ends the emulator.
pub fn leave() -> ! {
    semihosting::process::exit(0)
}

/// Says why, and ends the emulator with failure. Not semihosting's own, which boards of the workspace would get too.
#[inline(never)]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::eprintln!("{info}");
    semihosting::process::exit(101)
}

/// Ends the emulator after a fault. Without a stack to do it on, the chip locks up, which ends it too.
pub fn fault() -> ! {
    panic!("a fault: perhaps the stack is larger than the RAM")
}
