//! Stores checkpoints and the boot counter in flash.
//!
//! | erase units | what |
//! |---|---|
//! | 2 | boots: one page per boot, with its number and the complement; when one unit is full, the other is erased |
//! | half of the rest | a slot: a page with a sequence number, its complement, a length and the network; a block later, a checkpoint |
//! | the other half | another slot |
//!
//! Slots are written in turn, so whenever power fails, one of them is complete.

use crate::board::Mapped;

/// Numbers are written in pieces of this many bytes, a multiple of what chips require.
pub const PAGE: usize = 32;
/// Checkpoints are written in pieces of this many bytes, at a multiple of them: what a Pico's flash programs at once. Each
/// piece costs it an exit from executing in place.
pub const BLOCK: usize = 256;

/// Why nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "log", derive(defmt::Format))]
pub enum StoreError {
    /// A checkpoint does not fit.
    Room {
        /// The bytes of a slot.
        room: usize,
    },
    /// The flash reported an error.
    Flash,
}

/// Checkpoints and the boot counter, in flash.
#[derive(Debug)]
pub struct Store<F> {
    flash: F,
    /// The number of the last checkpoint that was written or found valid.
    sequence: u32,
    /// The slot to write next.
    next: usize,
    /// A digest of what the network agrees on: checkpoints of another network are not restored.
    network: u64,
}

impl<F: Mapped> Store<F> {
    const UNIT: usize = {
        assert!(PAGE.is_multiple_of(F::WRITE_SIZE) && F::ERASE_SIZE.is_multiple_of(BLOCK));
        F::ERASE_SIZE
    };

    /// A store in flash, blank or not.
    pub const fn new(flash: F) -> Self {
        Self { flash, sequence: 0, next: 0, network: 0 }
    }

    /// The bytes of a slot, its first block included.
    fn room(&self) -> usize {
        (self.flash.capacity() / Self::UNIT).saturating_sub(2) / 2 * Self::UNIT
    }

    fn slot(&self, slot: usize) -> usize {
        2 * Self::UNIT + slot * self.room()
    }

    /// A number that is followed by its complement.
    fn number(&self, at: usize) -> Option<u32> {
        let [number, complement, ..] = self.flash.bytes().get(at..)?.as_chunks::<4>().0 else {
            return None;
        };
        let (number, complement) = (u32::from_le_bytes(*number), u32::from_le_bytes(*complement));
        (number == !complement).then_some(number)
    }

    fn erase(&mut self, from: usize, len: usize) -> Result<(), StoreError> {
        let (from, to) = (from as u32, (from + len) as u32);
        self.flash.erase(from, to).map_err(|_| StoreError::Flash)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), StoreError> {
        self.flash.write(at as u32, bytes).map_err(|_| StoreError::Flash)
    }

    /// Counts a boot and returns its number, 1 for the first.
    ///
    /// # Errors
    /// If the flash does not store it.
    pub fn boot(&mut self) -> Result<u32, StoreError> {
        let pages = Self::UNIT / PAGE;
        let last = (0..2 * pages).filter_map(|page| Some((self.number(page * PAGE)?, page))).max();
        let (number, page) = last.map_or((1, 0), |(n, page)| (n.wrapping_add(1), page + 1));
        // The next page, which is blank unless a write was cut short; after the last page, the other unit.
        let blank = |at: usize| {
            let page = self.flash.bytes().get(at..at + PAGE);
            page.is_some_and(|page| page.iter().all(|&byte| byte == 0xff))
        };
        let unit = page.saturating_sub(1) / pages;
        let end = (unit + 1) * pages;
        let at = match (page..end).find(|page| blank(page * PAGE)) {
            Some(page) => page * PAGE,
            None => {
                let other = if last.is_some() { (1 - unit) * Self::UNIT } else { 0 };
                self.erase(other, Self::UNIT)?;
                other
            }
        };
        self.write(at, &numbered(number, 0, u64::MAX))?;
        // Worn flash may accept a number and not keep it: the next boot would get the same one.
        if self.number(at) == Some(number) { Ok(number) } else { Err(StoreError::Flash) }
    }

    /// Restores the newest complete checkpoint of a node, which has `len` bytes. `restore` gets these bytes, and returns whether
    /// the node accepted them. Returns whether there was such a checkpoint.
    ///
    /// `network` is a digest of what the network agrees on: with other weights, step sizes or rounds a node must not
    /// continue where it was, because its neighbours would not notice.
    pub fn restore(
        &mut self,
        network: u64,
        len: usize,
        mut restore: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        self.network = network;
        let mut slots = [0, 1].map(|slot| (self.number(self.slot(slot)), slot));
        slots.sort_unstable_by(|a, b| b.cmp(a));
        // The next number must be newer than any in flash, valid or not.
        self.sequence = slots[0].0.unwrap_or(0);
        for (number, slot) in slots {
            let start = self.slot(slot);
            let bytes = self.flash.bytes();
            let checkpoint = bytes.get(start + BLOCK..start + BLOCK + len);
            let own = bytes.get(start + 12..start + 20) == Some(&network.to_le_bytes()[..]);
            if own && number.is_some() && checkpoint.is_some_and(&mut restore) {
                self.next = 1 - slot;
                return true;
            }
        }
        false
    }

    /// Writes the words of a checkpoint. By reference: they are long for a stack.
    ///
    /// # Errors
    /// If it does not fit, or the flash does not store it; the previous one is still there.
    pub fn save(
        &mut self,
        words: &mut impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), StoreError> {
        let len = words.len() * 4;
        let room = self.room();
        if len + BLOCK > room {
            return Err(StoreError::Room { room });
        }
        let start = self.slot(self.next);
        let units = (len + BLOCK).div_ceil(Self::UNIT);
        self.erase(start, units * Self::UNIT)?;
        let mut at = start + BLOCK;
        let mut block = [0xff; BLOCK];
        let mut filled = 0;
        for word in words {
            for byte in word.to_le_bytes() {
                block[filled % BLOCK] = byte;
                filled += 1;
            }
            if filled % BLOCK == 0 {
                self.write(at, &block)?;
                at += BLOCK;
                block = [0xff; BLOCK];
            }
        }
        // Whole pages: the rest of the block stays blank.
        let rest = (filled % BLOCK).next_multiple_of(PAGE);
        if let Some(rest @ [_, ..]) = block.get(..rest) {
            self.write(at, rest)?;
        }
        let sequence = self.sequence.wrapping_add(1);
        self.write(start, &numbered(sequence, len as u32, self.network))?;
        (self.sequence, self.next) = (sequence, 1 - self.next);
        Ok(())
    }
}

/// A page with a number, its complement, another number, and a 64-bit one.
fn numbered(number: u32, more: u32, long: u64) -> [u8; PAGE] {
    let mut page = [0xff; PAGE];
    let words = [number, !number, more, long as u32, (long >> 32) as u32].map(u32::to_le_bytes);
    page.iter_mut().zip(words.as_flattened()).for_each(|(place, byte)| *place = *byte);
    page
}

#[cfg(test)]
mod tests;
