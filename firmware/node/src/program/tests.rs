//! The program on a board in memory: failing flash, keys, clocks and lines.

use super::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;
use std::task::Waker;

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use lopa_core::batch::Sampler;
use lopa_core::blob::{self, Plan, Start, Wiring};
use lopa_core::exchange::{Peer, Timing};
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::{AnyProblem, Ridge};
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{
    self, Answer, Ask, Body, FrameReader, HOST, Message, Request, Seal, Status, VERSION,
};

/// The bytes on a line, in and out.
#[derive(Debug, Default, Clone)]
struct Wire(Rc<RefCell<[VecDeque<u8>; 2]>>);

impl embedded_io_async::ErrorType for Wire {
    type Error = embedded_io_async::ErrorKind;
}

impl Read for Wire {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Self::Error> {
        poll_fn(|_| {
            let came = &mut self.0.borrow_mut()[0];
            let len = bytes.len().min(came.len());
            bytes.iter_mut().zip(came.drain(..len)).for_each(|(place, byte)| *place = byte);
            if len > 0 { Poll::Ready(Ok(len)) } else { Poll::Pending }
        })
        .await
    }
}

impl Write for Wire {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.0.borrow_mut()[1].extend(bytes);
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A clock that a test sets.
#[derive(Debug, Default, Clone)]
struct Hands(Rc<RefCell<Micros>>);

impl Clock for Hands {
    fn now(&mut self) -> Micros {
        *self.0.borrow()
    }

    async fn wait_until(&mut self, at: Micros) {
        poll_fn(|_| if *self.0.borrow() >= at { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

struct Lamp;

impl embedded_hal::digital::ErrorType for Lamp {
    type Error = Infallible;
}

impl OutputPin for Lamp {
    fn set_low(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Dog;

impl Watchdog for Dog {
    fn feed(&mut self) {}
}

/// Flash that works, or is read-only.
struct Flash {
    bytes: Vec<u8>,
    works: bool,
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 256;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.bytes[from as usize..to as usize].fill(0xff);
        if self.works { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        if !self.works {
            return Err(NorFlashErrorKind::Other);
        }
        self.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

impl Mapped for Flash {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Memory aligned like flash.
#[repr(align(4))]
struct Words([u8; 512]);

/// A node's blob.
fn blob(seal: Seal) -> Words {
    let readings =
        Samples::new(Features::F32(&[0.1, 0.5, 0.9]), 1, Labels::Real(&[1.2, 2.0, 2.8])).unwrap();
    let problem = AnyProblem::Ridge(Ridge::new(readings, readings).unwrap());
    let steps = StepSizes::new(0.05, 0.2, 0.2, 0.4, 0.5).unwrap();
    let plan = Plan {
        network: 7,
        rounds: 100,
        scheme: Scheme::GradientTracking,
        config: Config { steps, sampler: Sampler::full(0) },
        chunk: 8,
        timing: Timing::uart(115_200, 400, 4, 2_000),
        baud: 115_200,
        wiring: Wiring::Direct,
        checkpoint_every: 10,
        seal,
        codec: None,
    };
    let peers = [Peer { node: 1, link: 1, weight: 0.5 }];
    let (mut words, mut at) = (Words([0xff; 512]), 0);
    blob::write(&plan, &problem, Start::Number(-6.0), &peers, |piece| {
        words.0[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    })
    .unwrap();
    words
}

/// A board's answers to requests with the given seals; `None` for no answer.
fn answers(plan: Seal, works: bool, asks: &[(Seal, Ask)]) -> Vec<Option<(u32, Reply)>> {
    let words = blob(plan);
    let (host, clock) = (Wire::default(), Hands::default());
    let links = [host.clone(), Wire::default(), Wire::default(), Wire::default(), Wire::default()];
    let flash = Flash { bytes: vec![0xff; 6 * 1024], works };
    let board = Board { links, clock: clock.clone(), light: Lamp, watchdog: Dog, flash };
    let (mut arena, mut desk) = ([0.0; 64], Box::new(Desk::new()));
    let blob = Blob::read(&words.0);
    let mut program = pin!(run(board, &blob, &mut arena, &mut desk));
    let mut turn = || {
        for _ in 0..20 {
            *clock.0.borrow_mut() += 100_000;
            assert!(program.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    };
    let (mut found, mut echo) = (Vec::new(), 0);
    for (tag, (seal, ask)) in (1..).zip(asks) {
        turn();
        host.0.borrow_mut()[1].clear();
        let mut frame = [0; 300];
        let len = wire::encode(&request(echo, tag, *ask), seal, &mut frame).unwrap();
        host.0.borrow_mut()[0].extend(&frame[..len]);
        turn();
        let mut reader = FrameReader::<1024>::new(*seal);
        let said: Vec<u8> = host.0.borrow_mut()[1].drain(..).collect();
        let replies = said.into_iter().filter_map(|byte| {
            let message = wire::decode(reader.push(byte)?.ok()?).ok()?;
            let Body::Reply(reply) = message.body else { return None };
            if let Answer::Status(status) = &reply.answer {
                echo = status.challenge;
            }
            Some((message.session, Reply::from(reply.answer)))
        });
        found.push(replies.last());
    }
    found
}

fn request(echo: u32, tag: u32, ask: Ask) -> Message<wire::Floats<'static>> {
    let body = Body::Request(Request { to: 0, echo, tag, ask });
    Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body }
}

/// The part of an answer that the tests check.
#[derive(Debug, PartialEq)]
enum Reply {
    Done,
    Cannot,
    Status(Status),
    Refused(Cause),
    Other,
}

impl From<Answer<&[u8]>> for Reply {
    fn from(answer: Answer<&[u8]>) -> Self {
        match answer {
            Answer::Done => Self::Done,
            Answer::Cannot => Self::Cannot,
            Answer::Status(status) => Self::Status(status),
            Answer::Refused(trouble) => Self::Refused(trouble.cause),
            _ => Self::Other,
        }
    }
}

#[test]
fn without_a_key_a_board_whose_flash_fails_learns_in_boot_0_without_checkpoints() {
    let asks = [(Seal::PLAIN, Ask::Status), (Seal::PLAIN, Ask::Checkpoint)];
    let found = answers(Seal::PLAIN, false, &asks);
    assert!(matches!(found[0], Some((0, Reply::Status(_)))), "{found:?}");
    assert_eq!(found[1], Some((0, Reply::Cannot)));
    let found = answers(Seal::PLAIN, true, &asks[..1]);
    assert!(matches!(found[0], Some((1, Reply::Status(_)))), "{found:?}");
}

/// A clock whose alarm is never ready when it is first polled, like embassy's. It remembers the alarm that was set last.
#[derive(Debug, Default, Clone)]
struct Reluctant(Rc<RefCell<(Micros, Micros)>>);

impl Clock for Reluctant {
    fn now(&mut self) -> Micros {
        self.0.borrow().0
    }

    async fn wait_until(&mut self, at: Micros) {
        self.0.borrow_mut().1 = at;
        std::future::pending().await
    }
}

/// Counts the changes of a light.
#[derive(Default, Clone)]
struct Counted(Rc<RefCell<(bool, usize)>>);

impl embedded_hal::digital::ErrorType for Counted {
    type Error = Infallible;
}

impl OutputPin for Counted {
    fn set_low(&mut self) -> Result<(), Infallible> {
        let (on, changes) = *self.0.borrow();
        *self.0.borrow_mut() = (false, changes + usize::from(on));
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        let (on, changes) = *self.0.borrow();
        *self.0.borrow_mut() = (true, changes + usize::from(!on));
        Ok(())
    }
}

/// Remembers when it was last fed, and the longest time between two feeds.
struct Hungry(Reluctant, Rc<RefCell<(Micros, Micros)>>);

impl Watchdog for Hungry {
    fn feed(&mut self) {
        let now = self.0.now();
        let (last, longest) = *self.1.borrow();
        *self.1.borrow_mut() = (now, longest.max(now - last));
    }
}

#[test]
fn the_alarm_flashes_on_a_clock_that_is_never_ready_at_first() {
    let (clock, light) = (Reluctant::default(), Counted::default());
    let meals = Rc::new(RefCell::new((0, 0)));
    let board = Board {
        links: [const { () }; LINKS].map(|()| Wire::default()),
        clock: clock.clone(),
        light: light.clone(),
        watchdog: Hungry(clock.clone(), meals.clone()),
        flash: Flash { bytes: vec![0xff; 6 * 1024], works: true },
    };
    let (mut arena, mut desk) = ([0.0; 64], Box::new(Desk::new()));
    let blob = Blob::read(&[]);
    let mut program = pin!(run(board, &blob, &mut arena, &mut desk));
    // An executor sleeps until the alarm that was set. If time stands still, the program waits for a time that has passed.
    for _ in 0..300 {
        assert!(program.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let alarm = clock.0.borrow().1;
        clock.0.borrow_mut().0 = alarm;
    }
    let (now, changes) = (clock.0.borrow().0, light.0.borrow().1);
    assert_eq!((now, changes), (30_000_000, 300));
    assert!(meals.borrow().1 <= 200_000, "{meals:?}");
}

/// A line that reports an error once before each piece of what it received, and wakes nobody for the piece.
#[derive(Debug, Default, Clone)]
struct Noisy(Wire, Rc<RefCell<bool>>);

impl embedded_io_async::ErrorType for Noisy {
    type Error = embedded_io_async::ErrorKind;
}

impl Read for Noisy {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Self::Error> {
        let clean = self.1.replace(false);
        let waiting = !self.0.0.borrow()[0].is_empty();
        if waiting && !clean {
            *self.1.borrow_mut() = true;
            return Err(embedded_io_async::ErrorKind::Other);
        }
        self.0.read(bytes).await
    }
}

impl Write for Noisy {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.0.write(bytes).await
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn what_follows_an_error_on_a_line_is_read_at_once() {
    let words = blob(Seal::PLAIN);
    let links = [const { () }; LINKS].map(|()| Noisy::default());
    let (host, clock) = (links[0].0.clone(), Hands::default());
    let flash = Flash { bytes: vec![0xff; 6 * 1024], works: true };
    let board = Board { links, clock, light: Lamp, watchdog: Dog, flash };
    let (mut arena, mut desk) = ([0.0; 64], Box::new(Desk::new()));
    let blob = Blob::read(&words.0);
    let mut program = pin!(run(board, &blob, &mut arena, &mut desk));
    let mut turn = || program.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(turn().is_pending());
    host.0.borrow_mut()[1].clear();
    let mut frame = [0; 300];
    let len = wire::encode(&request(0, 1, Ask::Status), &Seal::PLAIN, &mut frame).unwrap();
    host.0.borrow_mut()[0].extend(&frame[..len]);
    // One turn, in which no time passes.
    assert!(turn().is_pending());
    assert!(host.0.borrow()[0].is_empty(), "bytes wait for the next deadline");
    assert!(!host.0.borrow()[1].is_empty(), "the host has no answer");
}

/// A line that delivers noise for so many reads, without a pause.
#[derive(Debug)]
struct Flood(usize);

impl embedded_io_async::ErrorType for Flood {
    type Error = embedded_io_async::ErrorKind;
}

impl Read for Flood {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Self::Error> {
        if self.0 == 0 {
            std::future::pending::<()>().await;
        }
        self.0 -= 1;
        bytes.fill(self.0 as u8);
        Ok(bytes.len())
    }
}

impl Write for Flood {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Counts its feeds.
struct Fed(Rc<RefCell<usize>>);

impl Watchdog for Fed {
    fn feed(&mut self) {
        *self.0.borrow_mut() += 1;
    }
}

#[test]
fn a_line_that_never_stops_does_not_keep_the_rest_waiting() {
    const READS: usize = 10_000;
    let words = blob(Seal::PLAIN);
    let feeds = Rc::new(RefCell::new(0));
    let board = Board {
        links: [READS, 0, 0, 0, 0].map(Flood),
        clock: Hands::default(),
        light: Lamp,
        watchdog: Fed(feeds.clone()),
        flash: Flash { bytes: vec![0xff; 6 * 1024], works: true },
    };
    let (mut arena, mut desk) = ([0.0; 64], Box::new(Desk::new()));
    let blob = Blob::read(&words.0);
    let mut program = pin!(run(board, &blob, &mut arena, &mut desk));
    assert!(program.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let feeds = *feeds.borrow();
    assert!(feeds > READS / 100, "the watchdog was fed {feeds} times");
}

#[cfg(feature = "encrypt")]
mod keyed {
    use super::*;

    const SEAL: Seal = Seal::keyed([9; 32]);

    #[test]
    fn with_a_key_a_board_whose_flash_fails_does_not_start() {
        let found = answers(SEAL, false, &[(SEAL, Ask::Status), (Seal::PLAIN, Ask::Status)]);
        assert_eq!(found, [None, Some((0, Reply::Refused(Cause::Boot)))]);
    }

    #[test]
    fn with_a_key_a_board_answers_only_hosts_that_have_it() {
        let other = Seal::keyed([8; 32]);
        let asks = [Seal::PLAIN, other, SEAL].map(|seal| (seal, Ask::Status));
        let found = answers(SEAL, true, &asks);
        assert_eq!(found[..2], [None, None]);
        assert!(matches!(found[2], Some((1, Reply::Status(_)))), "{found:?}");
    }

    #[test]
    fn without_a_key_a_board_ignores_hosts_that_have_one() {
        let found = answers(Seal::PLAIN, true, &[(SEAL, Ask::Status)]);
        assert_eq!(found, [None]);
    }
}
