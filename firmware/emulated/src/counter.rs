//! Counts instructions by the emulator's virtual clock, which runs at one instruction per nanosecond.

#[cfg(target_arch = "arm")]
use arm::Clock;
#[cfg(target_arch = "riscv32")]
use riscv32::Clock;

/// Long enough that one tick is one part in 100,000 on the slowest clock.
const TURNS: u32 = 4_000_000;

/// Counts instructions with the chip's clock, whatever its frequency.
pub struct Counter {
    clock: Clock,
    /// The ticks that a loop of known length takes.
    ticks: u64,
}

impl Counter {
    /// Starts the clock and calibrates it.
    ///
    /// # Panics
    /// If the clock does not follow the instructions, as in an emulator without `-icount`.
    pub fn new() -> Self {
        let mut clock = Clock::new();
        let ticks = clock.ticks_of(|| spin(TURNS));
        let mut counter = Self { clock, ticks };
        let third = TURNS / 3;
        let error = counter.count(|| spin(third)).abs_diff(2 * u64::from(third));
        assert!(error < u64::from(TURNS) / 10_000, "the clock does not count instructions");
        counter
    }

    /// Runs something and counts its instructions.
    pub fn count(&mut self, run: impl FnOnce()) -> u64 {
        self.clock.ticks_of(run) * 2 * u64::from(TURNS) / self.ticks
    }
}

/// Two instructions per turn, which no compiler may change.
#[inline(always)]
fn spin(turns: u32) {
    #[cfg(target_arch = "arm")]
    // SAFETY: counts a register of its own down to zero; touches the flags, no memory and no stack.
    unsafe {
        core::arch::asm!(
            "2:",
            "subs {turns}, {turns}, #1",
            "bne 2b",
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "riscv32")]
    // SAFETY: counts a register of its own down to zero; touches no memory and no stack.
    unsafe {
        core::arch::asm!(
            "2:",
            "addi {turns}, {turns}, -1",
            "bnez {turns}, 2b",
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "arm")]
mod arm {
    use cortex_m::Peripherals;
    use cortex_m::peripheral::SYST;
    use cortex_m::peripheral::syst::SystClkSource;

    const TOP: u32 = 0x00ff_ffff;

    /// The core's timer, which runs at another frequency on every machine.
    pub struct Clock(SYST);

    impl Clock {
        pub fn new() -> Self {
            let mut timer = Peripherals::take().expect("the timer is taken only once").SYST;
            timer.set_clock_source(SystClkSource::Core);
            timer.set_reload(TOP);
            timer.enable_counter();
            Self(timer)
        }

        pub fn ticks_of(&mut self, run: impl FnOnce()) -> u64 {
            self.0.clear_current();
            let before = SYST::get_current();
            run();
            let after = SYST::get_current();
            assert!(!self.0.has_wrapped(), "the timer is too short for so many steps");
            u64::from(before.wrapping_sub(after) & TOP)
        }
    }
}

#[cfg(target_arch = "riscv32")]
mod riscv32 {
    use riscv::register::minstret;

    /// The core's own counter of instructions.
    pub struct Clock;

    impl Clock {
        pub fn new() -> Self {
            Self
        }

        pub fn ticks_of(&mut self, run: impl FnOnce()) -> u64 {
            let before = minstret::read64();
            run();
            minstret::read64() - before
        }
    }
}
