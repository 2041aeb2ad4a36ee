//! Frames on their way out, one per link.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll};

use embedded_io_async::{Read, Write};
use lopa_core::exchange::{Learner, Micros};

use crate::{BoardExchange, LINKS};

/// Bytes taken from a link at a time.
const GULP: usize = 64;
/// How often that happens before the other links have their turn, however fast this one delivers.
const GULPS: usize = 16;

/// One frame for each link; the rest of it is sent while other links are served.
#[derive(Debug)]
pub struct Lines {
    lines: [Line; LINKS],
}

#[derive(Debug)]
struct Line {
    frame: [u8; BoardExchange::BUFFER],
    /// The part not sent yet; short integers save RAM, because every link has one.
    from: u16,
    to: u16,
}

impl Lines {
    /// No frames on their way.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(BoardExchange::BUFFER <= u16::MAX as usize, "frames are too long") }
        const EMPTY: Line = Line { frame: [0; BoardExchange::BUFFER], from: 0, to: 0 };
        Self { lines: [EMPTY; LINKS] }
    }

    /// Gives every free link its next frame, until there is nothing more to send.
    #[inline(never)]
    pub(crate) fn speak<L: Write, N: Learner + ?Sized>(
        &mut self,
        links: &mut [L; LINKS],
        exchange: &mut BoardExchange,
        node: &N,
        now: Micros,
        cx: &mut Context<'_>,
    ) {
        for (number, (line, link)) in self.lines.iter_mut().zip(links).enumerate() {
            loop {
                line.push(link, cx);
                if line.from < line.to {
                    break;
                }
                // Never refused: the link exists, and the buffer has the required length.
                let Ok(Some(len)) = exchange.transmit(number, node, now, &mut line.frame) else {
                    break;
                };
                // The length of the buffer fits a u16.
                (line.from, line.to) = (0, len as u16);
            }
        }
    }

    /// Reads what has been received and continues sending. Returns whether anything happened on a link.
    #[inline(never)]
    pub(crate) fn serve<L: Read + Write>(
        &mut self,
        links: &mut [L; LINKS],
        exchange: &mut BoardExchange,
        now: Micros,
        cx: &mut Context<'_>,
    ) -> bool {
        let mut moved = false;
        for (number, (line, link)) in self.lines.iter_mut().zip(links).enumerate() {
            moved |= line.push(link, cx);
            let mut bytes = [0; GULP];
            for _ in 0..GULPS {
                match once(link.read(&mut bytes), cx) {
                    Poll::Ready(Ok(len @ 1..)) => {
                        let bytes = bytes.get(..len).unwrap_or(&bytes);
                        moved |= exchange.receive(number, bytes, now).is_ok();
                    }
                    // Noise on the line: the damaged frame is lost and will be sent again. What came after it has to be
                    // fetched now, because no further wake-up announces it.
                    Poll::Ready(Err(_)) => moved = true,
                    _ => break,
                }
            }
        }
        moved
    }
}

impl Line {
    /// Writes as much as the link accepts. Returns whether it accepted anything.
    fn push<L: Write>(&mut self, link: &mut L, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(rest @ [_, ..]) = self.frame.get(self.from.into()..self.to.into()) {
            match once(link.write(rest), cx) {
                Poll::Ready(Ok(len @ 1..)) => self.from = self.from.saturating_add(len as u16),
                // The link is broken for now: this frame is lost, and the exchange repairs it.
                Poll::Ready(_) => self.from = self.to,
                Poll::Pending => break,
            }
            moved = true;
        }
        moved
    }
}

/// Polls a future once, and cancels it if it is not ready.
pub(crate) fn once<F: Future>(future: F, cx: &mut Context<'_>) -> Poll<F::Output> {
    pin!(future).poll(cx)
}
