//! An attacker on the wire, who receives every frame and sends forged ones with a correct checksum.

use lopa_core::exchange::Micros;
use lopa_core::wire::{self, Body, FrameReader, Hello, Message, Reason, Refuse, Seal, VERSION};

use super::fleet::{Network, VALUES, frame};

/// An attacker's reaction to a greeting: a frame to send to a node in the name of another.
type Answer<'a> = &'a mut dyn FnMut(&Greeting) -> Option<Forged>;

/// A greeting on the wire.
pub struct Greeting {
    pub from: usize,
    pub to: usize,
    pub session: u32,
    pub epoch: u64,
    pub hello: Hello,
}

/// A frame that its sender never sent.
pub struct Forged {
    pub from: usize,
    pub to: usize,
    pub session: u32,
    pub epoch: u64,
    pub body: Body<Vec<u8>>,
}

impl Forged {
    /// Sends it.
    pub fn send(self, network: &mut Network) {
        let Self { from, to, session, epoch, body } = self;
        let message = Message { version: VERSION, sender: from as u32, session, epoch, body };
        assert!(network.inject(from, to, &encode(&message)));
    }
}

/// A message as a frame with a checksum.
pub fn encode(message: &Message<Vec<u8>>) -> Vec<u8> {
    super::fuzzing::frame(&postcard::to_stdvec(message).unwrap())
}

/// The message in a frame.
pub fn decode(bytes: &[u8], look: impl FnOnce(Message<&[u8]>)) {
    let mut reader = FrameReader::<{ frame(VALUES) }>::new(Seal::PLAIN);
    for &byte in bytes {
        if let Some(frame) = reader.push(byte) {
            return look(wire::decode(frame.unwrap()).unwrap());
        }
    }
}

/// Whether a frame can be read without a key.
fn readable(bytes: &[u8]) -> bool {
    let mut reader = FrameReader::<{ frame(VALUES) }>::new(Seal::PLAIN);
    bytes.iter().any(|&byte| matches!(reader.push(byte), Some(Ok(_))))
}

/// The head of the last frame of a node: its session and epoch.
pub fn head(network: &Network, from: usize) -> (u32, u64) {
    let last = network.recorded().iter().find(|recorded| recorded.from == from).unwrap();
    let mut found = (0, 0);
    decode(&last.bytes, |message| found = (message.session, message.epoch));
    found
}

/// Runs a network for a while with an attacker that answers each greeting as soon as it is on the line.
pub fn attack(network: &mut Network, time: Micros, answer: Answer<'_>) {
    network.record(16);
    let end = network.now() + time;
    while network.now() < end {
        network.record(0);
        network.record(16);
        network.run_for(100).unwrap();
        let mut forged = Vec::new();
        for recorded in network.recorded() {
            decode(&recorded.bytes, |message| {
                let Message { session, epoch, body: Body::Hello(hello), .. } = message else {
                    return;
                };
                let (from, to) = (recorded.from, hello.to as usize);
                forged.extend(answer(&Greeting { from, to, session, epoch, hello }));
            });
        }
        forged.into_iter().for_each(|forged| forged.send(network));
    }
}

/// A refusal in the name of the neighbour that was greeted.
pub fn refusal(greeting: &Greeting) -> Forged {
    let refuse =
        Refuse { to: greeting.from as u32, echo: greeting.hello.challenge, reason: Reason::Scheme };
    Forged {
        from: greeting.to,
        to: greeting.from,
        session: 1,
        epoch: greeting.epoch,
        body: Body::Refuse(refuse),
    }
}

/// A recorded frame with one change and a correct checksum. Values are not changed: without a key nothing can protect them.
/// `newest` gives the last challenge of the receiver, which an attacker can know. A frame with a key cannot be read, so one
/// of its bytes is changed.
pub fn changed(
    bytes: &[u8],
    newest: &std::collections::VecDeque<lopa_host::network::Recorded>,
    to: usize,
    below: &mut dyn FnMut(usize) -> usize,
) -> Vec<u8> {
    if !readable(bytes) {
        let mut out = bytes.to_vec();
        let at = below(out.len() - 1);
        out[at] ^= 1 << below(8);
        return out;
    }
    let mut challenge = None;
    for recorded in newest.iter().filter(|recorded| recorded.from == to) {
        decode(&recorded.bytes, |message| {
            if let Body::Hello(hello) = message.body {
                challenge = challenge.or(Some(hello.challenge));
            }
        });
    }
    let mut out = bytes.to_vec();
    decode(bytes, |message| {
        let Message { version, sender, mut session, mut epoch, body } = message;
        let mut number = |near: u64| match below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => near.wrapping_sub(1),
            3 => near.wrapping_add(1),
            4 => near.wrapping_add(1 << 16),
            _ => near,
        };
        epoch = number(epoch);
        session = number(u64::from(session)) as u32;
        let body = match body {
            Body::Data(_) | Body::Request(_) | Body::Reply(_) => return,
            Body::Ack(mut acks) => {
                (acks.next, acks.all) = (number(acks.next), number(u64::from(acks.all)) as u32);
                Body::Ack(acks)
            }
            Body::Refuse(mut refuse) => {
                refuse.echo = challenge.unwrap_or(refuse.echo);
                Body::Refuse(refuse)
            }
            Body::Hello(mut hello) => {
                hello.echo = challenge.unwrap_or(hello.echo);
                hello.challenge = number(u64::from(hello.challenge)) as u32;
                (hello.ask, hello.without) = (number(0) == 0, number(0) == 1);
                (hello.resumed, hello.mark) = (number(0) == 0, number(hello.mark.into()) as u32);
                (hello.start, hello.round) = (number(hello.start), number(hello.round));
                (hello.next, hello.held) = (number(hello.next), number(hello.held.into()) as u32);
                hello.window = number(hello.window.into()) as u8;
                Body::Hello(hello)
            }
        };
        out = encode(&Message { version, sender, session, epoch, body });
    });
    out
}
