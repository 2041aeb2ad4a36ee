#![doc = include_str!("../../docs/wire.md")]

pub(crate) mod buffer;
mod changes;
pub(crate) mod cobs;
mod message;
pub(crate) mod seal;
mod trouble;

pub use buffer::{LEAST_VALUES, received_len};
pub use changes::Changes;
pub(crate) use changes::{Packing, Values};
pub use cobs::{FrameError, FrameReader, FrameWriter, frame_len};
pub use message::{
    ACKS, Acks, Answer, Ask, Body, Counters, Data, Floats, HOST, Held, Hello, Identity, Message,
    Metrics, Reason, Refuse, Reply, Request, Status, VERSION, floats,
};
pub use seal::{KEY_BYTES, Seal};
pub use trouble::{Cause, Trouble};

use serde::Serialize;

/// The length of the longest seal of this build in bytes.
pub const SEAL_LONGEST: usize = seal::LONGEST;

/// The longest message that a node with room for `values` floats sends: every number of its head at its longest. At least
/// as long as the longest message without values, a reply with counters.
#[must_use]
pub const fn message_len(values: usize) -> usize {
    // tag, kind, seventeen counters.
    let counters = buffer::HEAD + 5 + 1 + 17 * 10;
    let data = received_len(values);
    if data > counters { data } else { counters }
}

/// Writes a message into `out` as one frame and returns its length; `None` if it does not fit.
pub fn encode(message: &Message<Floats<'_>>, seal: &Seal, out: &mut [u8]) -> Option<usize> {
    let end = write(message, seal, out)?;
    cobs::close(seal, out, end)
}

/// The same for a message whose values are bytes, as [`decode`] returns it.
pub fn encode_received(message: &Message<&[u8]>, seal: &Seal, out: &mut [u8]) -> Option<usize> {
    let end = write(message, seal, out)?;
    cobs::close(seal, out, end)
}

/// Writes a message into `out`, to be [closed](cobs::close) when the message is no longer on a chip's stack; `None` if it
/// does not fit.
pub(crate) fn write<V: Serialize>(
    message: &Message<V>,
    seal: &Seal,
    out: &mut [u8],
) -> Option<usize> {
    postcard::serialize_with_flavor(message, Unsealed(FrameWriter::new(seal, out))).ok()
}

/// Why a frame with a correct checksum is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MessageError {
    /// Another version of the protocol, from this sender.
    Version {
        /// The node that sent it.
        sender: u32,
    },
    /// Not a message of this version.
    Malformed,
}

/// Reads the message in a frame.
///
/// # Errors
/// Distinguishes other versions of the protocol from invalid messages.
// Not inlined, so that its part of a chip's stack is free again when the message is handled.
#[inline(never)]
pub fn decode(frame: &[u8]) -> Result<Message<&[u8]>, MessageError> {
    let (&version, rest) = frame.split_first().ok_or(MessageError::Malformed)?;
    if version != VERSION {
        let (sender, _) = postcard::take_from_bytes(rest).map_err(|_| MessageError::Malformed)?;
        return Err(MessageError::Version { sender });
    }
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        _ => Err(MessageError::Malformed),
    }
}

/// A frame whose message is written first, and sealed later.
struct Unsealed<'a>(FrameWriter<'a>);

impl postcard::ser_flavors::Flavor for Unsealed<'_> {
    type Output = usize;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<usize> {
        self.0.end().ok_or(postcard::Error::SerializeBufferFull)
    }
}
