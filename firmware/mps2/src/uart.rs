//! The board's UARTs, read by interrupt.

use core::cell::RefCell;

use critical_section::Mutex;
use heapless::Deque;

use crate::Device;
use crate::places::{HERTZ, LINES, RECEIVED as INTERRUPTS, UARTS};

const DATA: usize = 0;
const STATE: usize = 1;
const CONTROL: usize = 2;
const CLEAR: usize = 3;
const DIVIDER: usize = 4;

const SENDING_FULL: u32 = 1;
const RECEIVED: u32 = 2;
/// Both directions, with an interrupt for received bytes.
const LISTEN: u32 = 0b1011;
/// The same, with an interrupt when there is room to send.
const LISTEN_AND_TELL: u32 = 0b1111;

/// The receive buffer. When it is full, the emulator makes the sender wait.
const ROOM: usize = 128;

type Waiting = Mutex<RefCell<Deque<u8, ROOM>>>;
static WAITING: [Waiting; LINES] = [const { Mutex::new(RefCell::new(Deque::new())) }; LINES];

/// One UART.
#[derive(Debug)]
pub struct Uart {
    device: Device,
    number: usize,
}

fn device(number: usize) -> Device {
    // SAFETY: the board's UARTs.
    unsafe { Device::new(UARTS[number]) }
}

impl Uart {
    /// Starts the first UARTs at a rate; their interrupts are not enabled yet.
    #[must_use]
    pub fn start<const COUNT: usize>(baud: u32) -> [Self; COUNT] {
        const { assert!(COUNT <= LINES) };
        core::array::from_fn(|number| {
            let device = device(number);
            device.write::<DIVIDER>((HERTZ / baud.max(1)).max(16));
            device.write::<CONTROL>(LISTEN);
            // Has the emulator deliver what it received before. A zero is no byte, or one that ends no frame.
            let first = device.read::<DATA>() as u8;
            if first != 0 {
                critical_section::with(|cs| {
                    let _ = WAITING[number].borrow_ref_mut(cs).push_back(first);
                });
            }
            Self { device, number }
        })
    }

    /// Its receive interrupt; the next number is the transmit interrupt.
    #[must_use]
    pub const fn interrupt(&self) -> u16 {
        INTERRUPTS[self.number]
    }

    /// Reads what has been received; never waits.
    pub fn take(&mut self, bytes: &mut [u8]) -> usize {
        critical_section::with(|cs| {
            let mut waiting = WAITING[self.number].borrow_ref_mut(cs);
            let mut len = 0;
            for place in bytes {
                let Some(byte) = waiting.pop_front() else { break };
                (*place, len) = (byte, len + 1);
            }
            // Bytes that were held back arrive without another interrupt.
            if len > 0 {
                fill(self.device, &mut waiting);
            }
            len
        })
    }

    /// Writes as much as the device accepts; an interrupt tells when there is room again.
    pub fn give(&mut self, bytes: &[u8]) -> usize {
        let full = || self.device.read::<STATE>() & SENDING_FULL != 0;
        let mut len = 0;
        for &byte in bytes {
            if full() {
                // Enable the interrupt first, then check again: room may have appeared in between.
                self.device.write::<CONTROL>(LISTEN_AND_TELL);
                if full() {
                    break;
                }
            }
            self.device.write::<DATA>(u32::from(byte));
            len += 1;
        }
        len
    }
}

/// Moves bytes from the device into the buffer. Returns whether the program should look.
fn fill(device: Device, waiting: &mut Deque<u8, ROOM>) -> bool {
    let mut look = false;
    while !waiting.is_full() && device.read::<STATE>() & RECEIVED != 0 {
        let byte = device.read::<DATA>() as u8;
        let _ = waiting.push_back(byte);
        // Half a frame is of no use yet, but it must not fill the buffer.
        look |= byte == 0 || waiting.len() >= ROOM / 2;
    }
    look
}

/// Handles an interrupt of a UART. Returns whether the program should look: there is a frame, or room to send.
#[must_use]
pub fn interrupt(number: u16) -> bool {
    let Some(index) = INTERRUPTS.iter().position(|&first| first == number & !1) else {
        return false;
    };
    let device = device(index);
    let sent = number & 1 == 1;
    if sent {
        device.write::<CONTROL>(LISTEN);
        device.write::<CLEAR>(1);
    } else {
        device.write::<CLEAR>(2);
    }
    let look = critical_section::with(|cs| fill(device, &mut WAITING[index].borrow_ref_mut(cs)));
    look || sent
}
