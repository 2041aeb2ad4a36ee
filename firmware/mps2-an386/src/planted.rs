//! Failures for a test: the node panics after its first boot and hangs after its second.

use lopa_node::Watchdog;

use crate::places::LIFE;
use crate::registers::Dog;

/// How often the watchdog is fed before the failure: a few rounds.
const FEEDS: u32 = 40;

/// A watchdog that makes its node fail.
#[derive(Debug)]
pub struct Accidents {
    dog: Dog,
    feeds: u32,
}

impl Accidents {
    pub const fn new(dog: Dog) -> Self {
        Self { dog, feeds: 0 }
    }
}

impl Watchdog for Accidents {
    fn feed(&mut self) {
        self.dog.feed();
        self.feeds = self.feeds.saturating_add(1);
        if self.feeds != FEEDS {
            return;
        }
        let life = LIFE as *mut u32;
        // SAFETY: aligned, and RAM of the board that nothing else uses.
        let lives = unsafe { life.read_volatile() };
        // SAFETY: as above.
        unsafe { life.write_volatile(lives.wrapping_add(1)) };
        match lives {
            0 => panic!("planted"),
            // Not `spin_loop`, after which the emulator looks around each time.
            1 => loop {
                cortex_m::asm::nop();
            },
            _ => {}
        }
    }
}
