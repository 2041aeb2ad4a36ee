//! A host at the end of a node's control link.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lopa_core::node::Variable;
use lopa_core::wire::{
    self, Answer, Ask, Body, Counters, FrameReader, HOST, Message, Metrics, Request, Seal, Status,
    Trouble, VERSION,
};

/// Longer than any message of a node.
const LONGEST: usize = 4096;
/// A node that does not answer for so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// A question is asked again after this time: it may have come before the node was up.
const AGAIN: Duration = Duration::from_secs(1);

/// A host that talks to one node.
pub struct Host {
    node: u32,
    stream: UnixStream,
    reader: FrameReader<LONGEST>,
    tag: u32,
    /// The node's boot number, once it is known.
    session: u32,
}

/// What a node answered, with values of its own.
enum Said {
    Done,
    Cannot,
    Status(Status),
    Counters(Counters),
    Metrics(Metrics),
    Values(Vec<f32>),
    Refused(Trouble),
}

impl Host {
    /// Takes up the line to a node.
    pub fn connect(node: u32, socket: &Path) -> Self {
        let start = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{}: {error}", socket.display()),
            }
            thread::sleep(Duration::from_millis(10));
        };
        stream.set_read_timeout(Some(AGAIN)).expect("not zero");
        Self { node, stream, reader: FrameReader::new(Seal::PLAIN), tag: 0, session: 0 }
    }

    /// Asks until there is an answer.
    fn ask(&mut self, ask: Ask) -> Said {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            self.tag += 1;
            let request = Request { to: self.node, session: self.session, tag: self.tag, ask };
            let body = Body::Request(request);
            let message = Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body };
            let mut frame = [0; wire::frame_len(wire::message_len(0))];
            let len = wire::encode(&message, &Seal::PLAIN, &mut frame).expect("there is room");
            self.stream.write_all(&frame[..len]).expect("the emulator takes bytes");
            if let Some(said) = self.hear() {
                return said;
            }
        }
        panic!("node {} does not answer {ask:?}", self.node);
    }

    /// Waits for the answer to the last question.
    fn hear(&mut self) -> Option<Said> {
        let start = Instant::now();
        let mut bytes = [0; 256];
        while start.elapsed() < AGAIN {
            let len = match self.stream.read(&mut bytes) {
                Ok(0) => panic!("the emulator of node {} ended", self.node),
                Ok(len) => len,
                Err(error)
                    if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) =>
                {
                    return None;
                }
                Err(error) => panic!("node {}: {error}", self.node),
            };
            for &byte in &bytes[..len] {
                let Some(Ok(frame)) = self.reader.push(byte) else { continue };
                let Ok(Message { sender, body: Body::Reply(reply), .. }) = wire::decode(frame)
                else {
                    continue;
                };
                if sender != self.node || reply.tag != self.tag {
                    continue;
                }
                return Some(match reply.answer {
                    Answer::Done => Said::Done,
                    Answer::Cannot => Said::Cannot,
                    Answer::Status(status) => Said::Status(status),
                    Answer::Counters(counters) => Said::Counters(counters),
                    Answer::Values { values, .. } => Said::Values(wire::floats(values).collect()),
                    Answer::Metrics(metrics) => Said::Metrics(metrics),
                    Answer::Refused(trouble) => Said::Refused(trouble),
                });
            }
        }
        None
    }

    /// Where the node is.
    pub fn status(&mut self) -> Status {
        let Said::Status(status) = self.ask(Ask::Status) else { panic!("not a status") };
        self.session = status.session;
        status
    }

    /// Why it does not start.
    pub fn trouble(&mut self) -> Trouble {
        let Said::Refused(trouble) = self.ask(Ask::Status) else { panic!("it starts") };
        trouble
    }

    /// What its links have done.
    pub fn counters(&mut self) -> Counters {
        let Said::Counters(counters) = self.ask(Ask::Counters) else { panic!("no counters") };
        counters
    }

    /// How it learns.
    pub fn metrics(&mut self) -> Metrics {
        let Said::Metrics(metrics) = self.ask(Ask::Metrics) else { panic!("no metrics") };
        metrics
    }

    /// Has it write a checkpoint. Tells whether it did.
    pub fn checkpoint(&mut self) -> bool {
        // Only what is asked in its session is done.
        self.status();
        match self.ask(Ask::Checkpoint) {
            Said::Done => true,
            Said::Cannot => false,
            _ => panic!("not an answer to a checkpoint"),
        }
    }

    /// A whole variable.
    pub fn read(&mut self, variable: Variable) -> Vec<f32> {
        let mut values = Vec::new();
        loop {
            let ask = Ask::Read { variable, offset: values.len() as u32 };
            let Said::Values(more) = self.ask(ask) else { panic!("no values") };
            if more.is_empty() {
                return values;
            }
            values.extend(more);
        }
    }

    /// Every bit of its state: x, θ, v, z, y.
    pub fn bits(&mut self) -> Vec<u32> {
        use Variable::{Direction, HessianInverseVector, Hypergradient, Inner, Outer};
        let variables = [Outer, Inner, HessianInverseVector, Hypergradient, Direction];
        variables.into_iter().flat_map(|v| self.read(v)).map(f32::to_bits).collect()
    }

    /// Waits until it has completed some rounds.
    pub fn wait_for_round(&mut self, round: u64) -> Status {
        let start = Instant::now();
        loop {
            let status = self.status();
            if status.round >= round {
                return status;
            }
            assert!(!status.diverged, "node {} diverged: {status:?}", self.node);
            assert!(start.elapsed() < PATIENCE, "node {} hangs: {status:?}", self.node);
            thread::sleep(Duration::from_millis(20));
        }
    }
}
