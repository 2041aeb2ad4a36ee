//! The boards there is firmware for, and their room.

use std::str::FromStr;

use lopa_core::blob::Capacity;

use super::{ChipError, LINES, Loaded, NodeBlob, VALUES};
use crate::network::Wiring;

/// Bytes before a checkpoint, for its number: see `firmware/node/src/store.rs`.
const BLOCK: usize = 256;

/// A piece of a chip's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub address: u32,
    /// Its bytes.
    pub len: u32,
}

/// A board. The numbers are those of `firmware/`: a test builds the images and compares.
///
/// ```
/// use lopa_host::chips::Board;
/// let pico: Board = "pico".parse()?;
/// assert_eq!((pico.chip, pico.blob.address), (Some("RP2040"), 0x1007_0000));
/// # Ok::<(), lopa_host::chips::UnknownBoard>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// Its folder in `firmware/`, its package, and its image.
    pub name: &'static str,
    /// The machine, as QEMU calls it; none for a board that is not emulated.
    pub machine: Option<&'static str>,
    /// The chip, as probe-rs calls it; none for a board that is only emulated.
    pub chip: Option<&'static str>,
    /// What its image is built for.
    pub target: &'static str,
    /// Where its blob is flashed.
    pub blob: Region,
    /// Where it keeps checkpoints.
    pub kept: Region,
    /// The most bytes of a checkpoint.
    pub checkpoint: usize,
    /// Floats for a node: vectors, scratch and workspace.
    pub floats: usize,
    /// Links, the host's among them.
    pub links: usize,
    /// Neighbours a node can have.
    pub neighbours: usize,
    /// Features its image is built with.
    pub features: &'static [&'static str],
    /// Whether its image is built without its default features.
    pub bare: bool,
    /// Features instead of all those of its image, if vectors travel in few bits and its usual image has no room for them.
    pub lean: Option<&'static [&'static str]>,
    /// The fastest rate of its lines, in bits per second.
    pub fastest: u32,
    /// Whether its line to the host is USB, where a full buffer makes the host wait, and no baud rate counts.
    pub usb: bool,
    /// How its flash behaves.
    pub flash: Flash,
}

/// What writing a checkpoint means for a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flash {
    /// How often each unit of it can be erased, by its data sheet.
    pub erases: u32,
    /// The longest that one change keeps the chip from receiving, in microseconds: the typical time to erase a unit if
    /// interrupts are disabled meanwhile, otherwise 0.
    pub deaf: u32,
    /// Bytes that a line holds meanwhile.
    pub holds: u32,
}

/// Few bits and keys, without a log.
const LEAN: &[&str] = &["codec", "encrypt"];

/// Flash of a file: an emulator waits.
const FILE: Flash = Flash { erases: u32::MAX, deaf: 0, holds: 0 };

/// The boards that can be flashed.
pub const BOARDS: [Board; 4] = [
    Board {
        name: "nrf52840-dk",
        machine: None,
        chip: Some("nRF52840_xxAA"),
        target: "thumbv7em-none-eabihf",
        blob: Region { address: 0x0007_0000, len: 576 * 1024 },
        kept: Region { address: 0x0003_0000, len: 256 * 1024 },
        checkpoint: 31 * 4096 - BLOCK,
        floats: 40 * 1024,
        links: 3,
        fastest: 1_000_000,
        usb: true,
        flash: Flash { erases: 10_000, deaf: 85_000, holds: 1024 },
        ..EMULATED
    },
    Board {
        name: "nucleo-l476rg",
        machine: None,
        chip: Some("STM32L476RG"),
        target: "thumbv7em-none-eabihf",
        blob: Region { address: 0x0803_0000, len: 736 * 1024 },
        kept: Region { address: 0x080e_8000, len: 96 * 1024 },
        checkpoint: 23 * 2048 - BLOCK,
        floats: 13 * 1024,
        links: 5,
        fastest: 230_400,
        flash: Flash { erases: 10_000, deaf: 0, holds: 1 },
        ..EMULATED
    },
    Board {
        name: "pico",
        machine: None,
        chip: Some("RP2040"),
        target: "thumbv6m-none-eabi",
        blob: Region { address: 0x1007_0000, len: 1600 * 1024 },
        kept: Region { address: 0x1003_0000, len: 256 * 1024 },
        checkpoint: 31 * 4096 - BLOCK,
        floats: 40 * 1024,
        links: 3,
        fastest: 1_000_000,
        lean: Some(LEAN),
        usb: true,
        flash: Flash { erases: 100_000, deaf: 45_000, holds: 2048 },
        ..EMULATED
    },
    Board {
        name: "pico-2",
        machine: None,
        chip: Some("RP235x"),
        target: "thumbv8m.main-none-eabihf",
        blob: Region { address: 0x100d_0000, len: 3264 * 1024 },
        kept: Region { address: 0x1003_0000, len: 640 * 1024 },
        checkpoint: 79 * 4096 - BLOCK,
        floats: 100 * 1024,
        links: 3,
        fastest: 1_000_000,
        lean: Some(LEAN),
        usb: true,
        flash: Flash { erases: 100_000, deaf: 45_000, holds: 2048 },
        ..EMULATED
    },
];

/// The emulated board.
pub const EMULATED: Board = Board {
    name: "mps2-an386",
    machine: Some("mps2-an386"),
    chip: None,
    target: "thumbv7em-none-eabihf",
    blob: Region { address: 0x2100_0000, len: 0x80_0000 },
    kept: Region { address: 0x2180_0000, len: 0x4_0000 },
    checkpoint: 31 * 4096 - BLOCK,
    floats: 8 * 784,
    links: LINES + 1,
    neighbours: LINES,
    features: &[],
    bare: false,
    lean: None,
    fastest: 1_000_000,
    usb: false,
    flash: FILE,
};

/// The emulated board for large problems, and for more neighbours than it has lines.
pub const EMULATED_LARGE: Board = Board {
    kept: Region { address: 0x2180_0000, len: 0x20_0000 },
    checkpoint: 255 * 4096 - BLOCK,
    floats: 0x60_0000 / 4,
    neighbours: 16,
    features: &["large"],
    ..EMULATED
};

/// The emulated board with a Cortex-M3, which has no FPU: it runs the code for a Cortex-M0, with floats in software.
pub const EMULATED_WITHOUT_FPU: Board =
    Board { machine: Some("mps2-an385"), target: "thumbv6m-none-eabi", ..EMULATED };

/// The emulated board with a Cortex-M33.
pub const EMULATED_M33: Board = Board {
    machine: Some("mps2-an505"),
    target: "thumbv8m.main-none-eabihf",
    blob: Region { address: 0x8000_0000, len: 0x80_0000 },
    kept: Region { address: 0x8080_0000, len: 0x4_0000 },
    ..EMULATED
};

/// There is no such board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown board {name:?}: choose one of {}", BOARDS.map(|board| board.name).join(", "))]
pub struct UnknownBoard {
    /// The name.
    pub name: String,
}

impl FromStr for Board {
    type Err = UnknownBoard;

    fn from_str(name: &str) -> Result<Self, UnknownBoard> {
        let board = BOARDS.into_iter().chain([EMULATED]).find(|board| board.name == name);
        board.ok_or_else(|| UnknownBoard { name: name.into() })
    }
}

impl Board {
    /// The board with an image that can send few bits: without a log, if its usual one has no room for them.
    #[must_use]
    pub const fn with_few_bits(self) -> Self {
        match self.lean {
            Some(features) => Self { features, bare: true, ..self },
            None => self,
        }
    }

    /// The room of its image, as the chip itself sees it.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        let Self { floats, links, neighbours, .. } = *self;
        Capacity { floats, neighbours, links, values: VALUES as usize }
    }

    /// Checks that a node fits: its blob, its checkpoints if it keeps any, and everything else that the chip checks.
    ///
    /// # Errors
    /// Says what there is too little of.
    pub fn takes(&self, own: &NodeBlob) -> Result<(), ChipError> {
        let node = own.budget.node;
        let wrong = |source| ChipError::Blob { node, source };
        let loaded = Loaded::new(&own.bytes);
        let blob = loaded.blob().map_err(wrong)?;
        blob.fits(&self.capacity()).map_err(wrong)?;
        for (name, needed, room) in [
            ("flash for its blob", own.bytes.len(), self.blob.len as usize),
            ("flash for a checkpoint", own.budget.checkpoint, self.checkpoint),
        ] {
            if needed > room {
                return Err(ChipError::Room { node, name, needed, room });
            }
        }
        // Without lines of its own a node has only the host's.
        let own_lines = blob.plan().wiring == Wiring::Direct && blob.peers().len() > 0;
        if self.usb && !own_lines {
            return Ok(());
        }
        let (board, baud) = (self.name, blob.baud());
        if baud > self.fastest {
            return Err(ChipError::Baud { node, board, baud, fastest: self.fastest });
        }
        let slow = self.flash.slowest(baud);
        if blob.checkpoint_every() > 0 && slow < baud {
            return Err(ChipError::Deaf { node, board, baud, deaf: self.flash.deaf, slow });
        }
        Ok(())
    }

    /// Years until its flash reaches the number of erases it is rated for, if this node writes all its checkpoints and never
    /// rests; nothing if it writes none.
    #[must_use]
    pub fn years(&self, own: &NodeBlob) -> Option<f64> {
        let loaded = Loaded::new(&own.bytes);
        let every = f64::from(loaded.blob().ok()?.checkpoint_every());
        // Two slots are written in turn.
        let rounds = 2.0 * every * f64::from(self.flash.erases);
        let years = rounds * own.budget.seconds / (365.25 * 24.0 * 3600.0);
        (years > 0.0 && self.flash.erases < u32::MAX).then_some(years)
    }
}

impl Flash {
    /// The rate at which a line holds all that arrives while the flash changes, or this one if that is slower.
    fn slowest(&self, baud: u32) -> u32 {
        // Ten bits per byte.
        let held = u64::from(self.holds) * 10 * 1_000_000;
        let rate = held.checked_div(self.deaf.into()).unwrap_or(u64::MAX);
        u32::try_from(rate).unwrap_or(u32::MAX).min(baud)
    }
}
