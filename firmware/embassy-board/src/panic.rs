//! On a panic or a fault: logs it and restarts the chip, which continues from its last checkpoint.

use core::panic::PanicInfo;

use cortex_m::peripheral::SCB;
#[cfg(feature = "log")]
use defmt_rtt as _;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    lopa_node::last_words(info);
    restart()
}

// SAFETY: only resets the chip; the attribute requires fault handlers to be unsafe.
#[cortex_m_rt::exception]
unsafe fn HardFault(_frame: &cortex_m_rt::ExceptionFrame) -> ! {
    #[cfg(feature = "log")]
    defmt::error!("fault at {=u32:#x}: the stack may have overflowed", _frame.pc());
    restart()
}

fn restart() -> ! {
    // The probe reads the log from RAM and needs a moment.
    #[cfg(feature = "log")]
    cortex_m::asm::delay(10_000_000);
    SCB::sys_reset()
}
