//! The memory for one received message.

use bytemuck::{Pod, Zeroable};

use super::message::ACKS;
use super::seal;

/// The fields that every message begins with, at their longest: version, sender, session, epoch, kind.
pub(super) const HEAD: usize = 1 + 5 + 5 + 10 + 1;

/// Data without its values, at its longest: the head; round, chunk; a position, a mask, a count of acks and the acks; a
/// count of bytes.
const DATA: usize = HEAD + (10 + 5) + (10 + 5 + 1 + ACKS * (5 + 5)) + 5;

/// A greeting at its longest: the head, then the fields in the order of `Hello`, with `to`, `challenge` and `echo` first.
const HELLO: usize = HEAD + 3 * 5 + 3 + 5 + 3 * 10 + 5 + 1 + 4 + (5 + 5 + 5 + 1 + 5 + 5 + 10);

/// The least number of floats an exchange must have room for, so that a greeting fits too.
pub const LEAST_VALUES: usize = 8;

const _: () = assert!(HELLO <= received_len(LEAST_VALUES), "a greeting must fit any buffer");

/// The longest message that a node with room for `values` floats understands; `values` is at least [`LEAST_VALUES`]. Hosts
/// receive longer ones: see [`message_len`](super::message_len).
#[must_use]
pub const fn received_len(values: usize) -> usize {
    DATA + 4 * values
}

/// Room for a message with `VALUES` floats and its seal, as one slice of bytes.
///
/// Stable Rust cannot compute an array's length from a const generic, but a structure of two arrays has the right size.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
pub(crate) struct Buffer<const VALUES: usize> {
    rest: [u8; DATA + seal::LONGEST],
    values: [[u8; 4]; VALUES],
}

impl<const VALUES: usize> Buffer<VALUES> {
    pub(crate) const EMPTY: Self =
        Self { rest: [0; DATA + seal::LONGEST], values: [[0; 4]; VALUES] };
}

impl<const VALUES: usize> AsMut<[u8]> for Buffer<VALUES> {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::bytes_of_mut(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_the_longest_message_and_its_seal_and_no_byte_more() {
        let room = |values| received_len(values) + seal::LONGEST;
        let (mut least, mut usual) = (Buffer::<LEAST_VALUES>::EMPTY, Buffer::<64>::EMPTY);
        assert_eq!(least.as_mut().len(), room(LEAST_VALUES));
        assert_eq!(usual.as_mut().len(), room(64));
        assert_eq!(size_of::<Buffer<255>>(), room(255));
    }
}
