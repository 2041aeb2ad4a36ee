//! Entry and exit of a program: one entry point for both architectures, and an exit that ends the emulator.

/// Makes an expression the program: starts the chip, evaluates it, and ends the emulator with success.
///
/// A panic ends it with failure and a message; so does a fault, such as a stack overflow.
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
        // SAFETY: only ends the emulator; the attribute requires fault handlers to be unsafe.
        #[cortex_m_rt::exception]
        unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
            $crate::fault()
        }

        #[cfg(target_arch = "riscv32")]
        // SAFETY: only ends the emulator; the runtime expects this name and signature.
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

/// Prints the reason and ends the emulator with failure. Semihosting's own handler is not used, because boards in this
/// workspace would link it too.
#[inline(never)]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::eprintln!("{info}");
    semihosting::process::exit(101)
}

/// Ends the emulator after a fault. If no stack is left for that, the chip locks up, which also ends the emulator.
pub fn fault() -> ! {
    panic!("fault: the stack may have overflowed")
}
