//! The reader and the decoder on any bytes, against a second implementation of the framing.

use lopa_core::wire::{
    self, Body, FrameError, FrameReader, FrameWriter, Message, MessageError, SEAL_LONGEST, Seal,
    frame_len, message_len,
};

/// The reader's buffer: small, so that oversize frames are common.
const ROOM: usize = 200;

/// Feeds `data` to a reader as a stream, and to the decoder as one message: a blind fuzzer finds no checksums.
pub fn decoder(data: &[u8]) {
    let mut reader = FrameReader::<ROOM>::new(Seal::PLAIN);
    let mut frames = Vec::new();
    for &byte in data {
        if let Some(frame) = reader.push(byte) {
            frames.push(frame.map(<[u8]>::to_vec));
        }
    }
    assert_eq!(frames, reference(data, ROOM), "the reader and the reference differ");
    for frame in frames.iter().flatten() {
        message(frame);
    }
    message(data);
    framed(data);
    // A frame that is cut short but terminated does not damage the next one.
    reader.push(0);
    let good = frame(b"good");
    let last = good.iter().filter_map(|&byte| reader.push(byte).map(|f| f.map(<[u8]>::to_vec)));
    assert_eq!(last.last(), Some(Ok(b"good".to_vec())));
}

/// What a message accepted by the decoder must satisfy.
fn message(bytes: &[u8]) {
    let decoded = match wire::decode(bytes) {
        Ok(decoded) => decoded,
        Err(MessageError::Version { .. }) => return assert_ne!(bytes[0], wire::VERSION),
        Err(MessageError::Malformed) => return,
    };
    assert_eq!(decoded.version, wire::VERSION);
    let canonical = postcard::to_stdvec(&decoded).unwrap();
    assert!(canonical.len() <= bytes.len(), "the canonical form is longer");
    assert!(canonical.len() <= longest(&decoded), "{decoded:?} is longer than any message");
    let again = wire::decode(&canonical).expect("a decoded message can be encoded");
    // As bytes: a NaN is not equal to itself.
    assert_eq!(postcard::to_stdvec(&again).unwrap(), canonical);
    let mut longer = canonical.clone();
    longer.push(0);
    assert_eq!(wire::decode(&longer), Err(MessageError::Malformed), "trailing byte");
    let shorter = &canonical[..canonical.len() - 1];
    assert_eq!(wire::decode(shorter), Err(MessageError::Malformed), "missing byte");
    let mut other = canonical;
    other[0] = other[0].wrapping_add(1);
    let sender = decoded.sender;
    assert_eq!(wire::decode(&other), Err(MessageError::Version { sender }));
}

/// The bound a node relies on; a host's reader needs more for counters.
fn longest(message: &Message<&[u8]>) -> usize {
    let values = match &message.body {
        Body::Data(data) => data.values.len(),
        Body::Reply(reply) => match reply.answer {
            wire::Answer::Values { values, .. } => values.len(),
            wire::Answer::Counters(_) => 4 * 15,
            _ => 0,
        },
        _ => 0,
    };
    message_len(values.div_ceil(4))
}

/// Any bytes survive being framed and read, if there is room.
fn framed(bytes: &[u8]) {
    let frame = frame(bytes);
    assert!(frame.len() <= frame_len(bytes.len()));
    assert_eq!(frame.iter().position(|&byte| byte == 0), Some(frame.len() - 1));
    let expected =
        if bytes.len() + 4 <= ROOM { Ok(bytes.to_vec()) } else { Err(FrameError::Oversize) };
    assert_eq!(reference(&frame, ROOM), [expected]);
    for len in [0, 1, frame.len() / 2, frame.len() - 1] {
        let mut short = vec![0; len];
        let mut writer = FrameWriter::new(&Seal::PLAIN, &mut short);
        bytes.iter().for_each(|&byte| writer.push(byte));
        assert_eq!(writer.finish(), None, "a frame in {len} bytes, which are too few");
    }
}

/// The bytes as one frame.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0; frame_len(message.len())];
    let mut writer = FrameWriter::new(&Seal::PLAIN, &mut out);
    message.iter().for_each(|&byte| writer.push(byte));
    let len = writer.finish().expect("frame_len is enough");
    out.truncate(len);
    out
}

/// The frames in a stream, decoded segment by segment as the docs describe.
pub fn reference(stream: &[u8], room: usize) -> Vec<Result<Vec<u8>, FrameError>> {
    let mut segments: Vec<&[u8]> = stream.split(|&byte| byte == 0).collect();
    // What follows the last zero is not a frame yet.
    segments.pop();
    segments.retain(|segment| !segment.is_empty());
    segments.into_iter().map(|segment| unframe(segment, room)).collect()
}

fn unframe(segment: &[u8], room: usize) -> Result<Vec<u8>, FrameError> {
    let (mut bytes, mut at, mut zero) = (Vec::new(), 0, false);
    while at < segment.len() {
        if zero {
            bytes.push(0);
        }
        let end = at + usize::from(segment[at]);
        bytes.extend(&segment[at + 1..end.min(segment.len())]);
        (at, zero) = (end, segment[at] != 255);
    }
    if bytes.len() > room {
        return Err(FrameError::Oversize);
    }
    if at > segment.len() || bytes.len() < 4 {
        return Err(FrameError::Truncated);
    }
    let sum = bytes.split_off(bytes.len() - 4);
    if crc(&bytes).to_le_bytes()[..] == sum { Ok(bytes) } else { Err(FrameError::Seal) }
}

/// CRC-32/ISO-HDLC, bit by bit.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}
