//! What happens on a panic or a fault: it is logged, and the chip starts anew, from its last checkpoint.

use core::panic::PanicInfo;

use cortex_m::peripheral::SCB;
#[cfg(feature = "log")]
use defmt_rtt as _;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    lopa_node::last_words(info);
    restart()
}

// SAFETY: only starts the chip anew; unsafe is what the attribute asks of a fault handler.
#[cortex_m_rt::exception]
unsafe fn HardFault(_frame: &cortex_m_rt::ExceptionFrame) -> ! {
    #[cfg(feature = "log")]
    defmt::error!("a fault at {=u32:#x}: perhaps the stack was too small", _frame.pc());
    restart()
}

fn restart() -> ! {
    // The probe reads a log from RAM: it needs a moment.
    #[cfg(feature = "log")]
    cortex_m::asm::delay(10_000_000);
    SCB::sys_reset()
}
