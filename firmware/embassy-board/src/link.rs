//! Serial lines, for boards that have fewer of them than a node can use.

use core::future::pending;

use embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};
use lopa_node::{BoardExchange, WINDOW};

/// The receive buffer of a line: the most that a neighbour sends while a round is computed.
pub const RECEIVE: usize = (2 * WINDOW * BoardExchange::BUFFER).next_power_of_two();
/// The send buffer of a line.
pub const SEND: usize = BoardExchange::BUFFER.next_power_of_two();

/// A link of a board: the host's, a neighbour's, or none.
#[derive(Debug)]
pub enum Link<H, U> {
    /// To the host.
    Host(H),
    /// To a neighbour.
    Wire(U),
    /// Not connected: receives nothing and discards what is sent.
    Open,
}

impl<H, U> ErrorType for Link<H, U> {
    type Error = ErrorKind;
}

impl<H: Read, U: Read> Read for Link<H, U> {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, ErrorKind> {
        match self {
            Self::Host(host) => host.read(bytes).await.map_err(|error| error.kind()),
            Self::Wire(wire) => wire.read(bytes).await.map_err(|error| error.kind()),
            Self::Open => pending().await,
        }
    }
}

impl<H: Write, U: Write> Write for Link<H, U> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        match self {
            Self::Host(host) => host.write(bytes).await.map_err(|error| error.kind()),
            Self::Wire(wire) => wire.write(bytes).await.map_err(|error| error.kind()),
            Self::Open => Err(ErrorKind::NotConnected),
        }
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
