//! The board's interrupts by name, as a peripheral access crate would have them.
#![allow(non_camel_case_types, reason = "interrupts are named as RTIC and cortex-m-rt want them")]

use cortex_m::interrupt::InterruptNumber;
// It has the rest of the vector table, and RTIC does not name it.
use cortex_m_rt as _;
use mps2::places;

/// Bits of an interrupt's priority that are used: every Cortex-M has two.
pub const NVIC_PRIO_BITS: u8 = 2;

/// Interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Interrupt {
    /// Bytes from a host.
    UART0RX = places::RECEIVED[0],
    /// Room for bytes to a host.
    UART0TX = places::RECEIVED[0] + 1,
    /// Bytes on link 1.
    UART1RX = places::RECEIVED[1],
    /// Room on link 1.
    UART1TX = places::RECEIVED[1] + 1,
    /// Bytes on link 2.
    UART2RX = places::RECEIVED[2],
    /// Room on link 2.
    UART2TX = places::RECEIVED[2] + 1,
    /// The alarm.
    ALARM = places::ALARM,
    /// Raised by software only.
    SOFTWARE0 = 22,
    /// Raised by software only.
    SOFTWARE1 = 23,
}

pub use Interrupt as interrupt;

// SAFETY: returns the place in the vector table, the same at every call.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

/// A place in the vector table: a handler, or zero.
#[derive(Clone, Copy)]
union Vector {
    handler: unsafe extern "C" fn(),
    none: usize,
}

unsafe extern "C" {
    fn UART0RX();
    fn UART0TX();
    fn UART1RX();
    fn UART1TX();
    fn UART2RX();
    fn UART2TX();
    fn ALARM();
    fn SOFTWARE0();
    fn SOFTWARE1();
}

/// Places in the vector table. A Cortex-M0 has room for 32.
const VECTORS: usize = if (Interrupt::UART2TX as usize) < 32 { 32 } else { 64 };

// SAFETY: the name and the section that cortex-m-rt wants; `device.x` provides every handler.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
static __INTERRUPTS: [Vector; VECTORS] = {
    let mut table = [Vector { none: 0 }; VECTORS];
    table[Interrupt::UART0RX as usize].handler = UART0RX;
    table[Interrupt::UART0TX as usize].handler = UART0TX;
    table[Interrupt::UART1RX as usize].handler = UART1RX;
    table[Interrupt::UART1TX as usize].handler = UART1TX;
    table[Interrupt::UART2RX as usize].handler = UART2RX;
    table[Interrupt::UART2TX as usize].handler = UART2TX;
    table[Interrupt::ALARM as usize].handler = ALARM;
    table[Interrupt::SOFTWARE0 as usize].handler = SOFTWARE0;
    table[Interrupt::SOFTWARE1 as usize].handler = SOFTWARE1;
    table
};
