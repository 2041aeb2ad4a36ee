//! Epochs: stretches of rounds in which the same nodes take part.

/// The identity of an epoch. It never repeats; see [`Epoch::after`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Epoch {
    /// The generation times 2^16, plus the number of the node that began it.
    pub number: u64,
    /// Distinguishes two epochs that got the same number because a node forgot the first of them; 0 in the very first
    /// epoch.
    pub mark: u32,
}

impl Epoch {
    /// The epoch in which a fresh network starts.
    pub const FIRST: Self = Self { number: 0, mark: 0 };

    /// How many epochs came before, counting from 0.
    #[must_use]
    pub const fn generation(self) -> u64 {
        self.number >> 16
    }

    /// How many times the set of nodes that take part has changed: nodes were lost, refused or came back. While it is 0, a
    /// run over links has the bits of an in-process run.
    #[must_use]
    pub const fn losses(self) -> u64 {
        self.generation()
    }

    /// The first epoch after this one that node `node` can begin.
    ///
    /// No other node begins one with that number. The node itself could: if power fails before a checkpoint contains the
    /// new epoch, it counts from an older one after the next boot. So `mark` is the node's boot number, which differs
    /// from boot to boot, while numbers only rise between boots.
    #[must_use]
    pub const fn after(self, node: u32, mark: u32) -> Self {
        let generation = self.generation().wrapping_add(1);
        Self { number: (generation << 16) | (node & 0xffff) as u64, mark }
    }

    /// Whether this epoch counts as later than one with number `other`.
    ///
    /// Numbers are compared around a circle: the one less than half a turn ahead is later. So no number is the last, not
    /// even one that was forged.
    #[must_use]
    pub const fn is_later_than(self, other: u64) -> bool {
        const HALF: u64 = 1 << 63;
        let ahead = self.number.wrapping_sub(other);
        ahead != 0 && (ahead < HALF || (ahead == HALF && self.number > other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_numbers_exactly_one_is_later() {
        let numbers = [0, 1, 0xffff, 1 << 16, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX];
        for a in numbers {
            for b in numbers {
                let later = |a, b| Epoch { number: a, mark: 0 }.is_later_than(b);
                assert_eq!(later(a, b) != later(b, a), a != b, "{a} {b}");
            }
        }
    }

    #[test]
    fn the_next_epoch_is_later_even_where_numbers_wrap() {
        for number in [0, 7, 0x1_0001, (1 << 48) << 15, u64::MAX, u64::MAX - 0xffff] {
            for node in [0, 1, 0xffff] {
                let epoch = Epoch { number, mark: 3 };
                let next = epoch.after(node, 4);
                assert!(next.is_later_than(number), "{number} {node}");
                assert_eq!((next.number & 0xffff, next.mark), (u64::from(node), 4));
            }
        }
    }
}
