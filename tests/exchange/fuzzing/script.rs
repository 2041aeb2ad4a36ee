//! Bytes read as a script, which ends when they run out.

/// The rest of a script.
#[derive(Debug, Clone)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Whether there is more.
    pub fn goes_on(&self) -> bool {
        !self.0.is_empty()
    }

    /// The next byte; 0 after the end.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// A number below `bound`, from one byte.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// One of the given choices.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Up to `most` raw bytes, preceded by their number.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let len = self.below(most + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// A number near `near`, or an extreme one.
    pub fn around(&mut self, near: u64) -> u64 {
        match self.byte() % 16 {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX - 1,
            3 => near.wrapping_sub(1),
            4 => near.wrapping_add(2),
            5 => near.wrapping_add(1 << 16),
            6 => near.wrapping_add(u64::from(self.byte())),
            // Where numbers are compared around a circle.
            8 => near.wrapping_add(1 << 62),
            9 => near.wrapping_add((1 << 63) - 1),
            10 => near.wrapping_add(1 << 63),
            11 => near.wrapping_sub(1 << 16),
            _ => near.wrapping_add(1),
        }
    }
}
