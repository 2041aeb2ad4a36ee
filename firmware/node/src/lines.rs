//! Frames on their way out, one a link.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll};

use embedded_io_async::{Read, Write};
use lopa_core::exchange::{Learner, Micros};

use crate::{BoardExchange, LINKS};

/// Bytes taken from a link at a time.
const GULP: usize = 64;

/// One frame for each link: what is left of it goes out while other links are served.
#[derive(Debug)]
pub struct Lines {
    lines: [Line; LINKS],
}

#[derive(Debug)]
struct Line {
    frame: [u8; BoardExchange::BUFFER],
    /// What is left of it; short numbers, as every link has a line.
    from: u16,
    to: u16,
}

impl Lines {
    /// Nothing on its way.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(BoardExchange::BUFFER <= u16::MAX as usize, "frames are too long") }
        const EMPTY: Line = Line { frame: [0; BoardExchange::BUFFER], from: 0, to: 0 };
        Self { lines: [EMPTY; LINKS] }
    }

    /// Gives every link that is free something to say, until none has more.
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
                // Never refused: the link is one of its own, and the buffer as long as it says.
                let Ok(Some(len)) = exchange.transmit(number, node, now, &mut line.frame) else {
                    break;
                };
                // No buffer is longer than a u16 can say.
                (line.from, line.to) = (0, len as u16);
            }
        }
    }

    /// Takes in what has come, and goes on with what is on its way. Tells whether anything moved.
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
            // An error is noise on the line: the frame it hit is lost, and will be sent again.
            while let Poll::Ready(Ok(len @ 1..)) = once(link.read(&mut bytes), cx) {
                let bytes = bytes.get(..len).unwrap_or(&bytes);
                moved |= exchange.receive(number, bytes, now).is_ok();
            }
        }
        moved
    }
}

impl Line {
    /// Writes what the link takes. Tells whether it took anything.
    fn push<L: Write>(&mut self, link: &mut L, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(rest @ [_, ..]) = self.frame.get(self.from.into()..self.to.into()) {
            match once(link.write(rest), cx) {
                Poll::Ready(Ok(len @ 1..)) => self.from = self.from.saturating_add(len as u16),
                // The link is broken for now: the frame is lost, as frames are.
                Poll::Ready(_) => self.from = self.to,
                Poll::Pending => break,
            }
            moved = true;
        }
        moved
    }
}

/// Looks at a future once, and gives it up if it is not ready.
pub(crate) fn once<F: Future>(future: F, cx: &mut Context<'_>) -> Poll<F::Output> {
    pin!(future).poll(cx)
}
