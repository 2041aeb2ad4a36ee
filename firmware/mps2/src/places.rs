//! Where the board's devices and memories are.

/// UARTs that the drivers serve.
pub const LINES: usize = 5;

/// Ticks of the timers, and of the core, per second.
pub const HERTZ: u32 = if cfg!(secure) { 20_000_000 } else { 25_000_000 };

/// Two timers.
pub const TIMERS: [usize; 2] = [DEVICES, DEVICES + 0x1000];
/// The interrupt of the second one.
pub const ALARM: u16 = if cfg!(secure) { 4 } else { 9 };

/// The watchdog.
pub const WATCHDOG: usize = DEVICES + if cfg!(secure) { 0x8_1000 } else { 0x8000 };

/// The FPGA's registers, the first of which are the board's lights.
pub const LIGHTS: usize = DEVICES + if cfg!(secure) { 0x30_2000 } else { 0x2_8000 };

/// The UARTs, that of the host first.
pub const UARTS: [usize; LINES] = if cfg!(secure) {
    [0x5020_0000, 0x5020_1000, 0x5020_2000, 0x5020_3000, 0x5020_4000]
} else {
    [0x4000_4000, 0x4000_5000, 0x4000_6000, 0x4000_7000, 0x4000_9000]
};
/// Their receive interrupts; the next number is the transmit interrupt.
pub const RECEIVED: [u16; LINES] =
    if cfg!(secure) { [32, 34, 36, 38, 40] } else { [0, 2, 4, 18, 20] };

/// The board's second RAM, of 16 MB.
pub const SECOND: usize = if cfg!(secure) { 0x8000_0000 } else { 0x2100_0000 };
/// Where the emulator puts the blob, in that RAM, and how long it can be.
pub const BLOB: (usize, usize) = (SECOND, 0x80_0000);

/// Three words in that RAM, for the emulator's monitor: when the core last fell asleep, the ticks that it had been awake, and
/// both words of the microseconds since the start.
pub const AWAKE: usize = SECOND + 0xf0_0010;

/// The first device; in the secure world, its secure alias.
const DEVICES: usize = if cfg!(secure) { 0x5000_0000 } else { 0x4000_0000 };
