//! Where a line to a node is plugged in: a serial port, a pseudo-terminal, a socket of an emulator, or a serial server.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::offered;
use super::tcp::{self, Address};

/// A read or a write that takes longer is abandoned and tried again, so that a thread that waits can be stopped.
pub(crate) const BREATH: Duration = Duration::from_millis(100);

/// A port.
///
/// ```
/// use lopa_host::fleet::Port;
/// let port: Port = "/dev/ttyACM0".parse()?;
/// assert_eq!(port, Port::Serial("/dev/ttyACM0".into()));
/// let port: Port = "unix:/tmp/node-0".parse()?;
/// assert_eq!(port.to_string(), "unix:/tmp/node-0");
/// let port: Port = "tcp:attic:4000".parse()?;
/// assert_eq!(port.to_string(), "tcp:attic:4000");
/// # Ok::<(), lopa_host::fleet::PortError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Port {
    /// A serial port or a pseudo-terminal, by its name.
    Serial(String),
    /// A socket, as an emulator offers.
    Unix(PathBuf),
    /// A serial server on another machine, such as ser2net.
    Tcp(Address),
}

/// A port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// It has no name.
    #[error(
        "the port has no name: write the name of a serial port, unix: and the path of a socket, or tcp:HOST:PORT"
    )]
    Empty,
    /// It is not the address of a serial server.
    #[error(
        "{0:?} is not an address: write tcp:HOST:PORT, such as tcp:192.168.1.7:4000 or tcp:[::1]:4000"
    )]
    Address(String),
    /// It does not open.
    #[error("cannot open {port}: {error}{}", hint(port, error))]
    Open {
        /// Which one.
        port: Port,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A node cannot offer its line there.
    #[error("cannot listen on {port}: {error}")]
    Offer {
        /// Where.
        port: Port,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// What a user can do about it.
fn hint(port: &Port, error: &io::Error) -> &'static str {
    match (port, error.kind()) {
        (Port::Serial(_), ErrorKind::PermissionDenied) => {
            "; on Linux, add yourself to the group of serial ports and log in again: sudo usermod -aG dialout $USER"
        }
        // What is in use is reported as if it were missing.
        (Port::Serial(name), ErrorKind::NotFound) if Path::new(name).exists() => {
            "; another program uses it: close that first"
        }
        (Port::Serial(_), ErrorKind::NotFound) => "; is the board plugged in?",
        (Port::Tcp(_), kind) => tcp::hint(kind),
        _ => "",
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(name) => f.write_str(name),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        match text.split_once(':') {
            _ if text.trim().is_empty() => Err(PortError::Empty),
            Some(("unix", "")) => Err(PortError::Empty),
            Some(("unix", path)) => Ok(Self::Unix(path.into())),
            Some(("tcp", address)) => address.parse().map(Self::Tcp),
            _ => Ok(Self::Serial(text.into())),
        }
    }
}

/// Both directions of an open line, each for a thread of its own.
///
/// Any reader and writer will do, as long as a read gives up after a while with [`ErrorKind::WouldBlock`] or
/// [`ErrorKind::TimedOut`]: otherwise its thread could not be stopped.
pub struct Stream {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) writer: Box<dyn Write + Send>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

impl Stream {
    /// Puts two directions together.
    #[must_use]
    pub fn new(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

impl Port {
    /// Opens it, at `baud` bits per second if it is a serial port; a serial server has its own setting for that. A socket or
    /// a server that is not there yet is tried again for as long as `wait` says, which gets the error and the time since the
    /// first try. One try takes up to three seconds for each address of a server's name.
    ///
    /// ```
    /// use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("line-0");
    /// # let board = std::os::unix::net::UnixListener::bind(&path)?;
    /// let port: lopa_host::fleet::Port = format!("unix:{}", path.display()).parse()?;
    /// let line = port.open(0, |_, waited| waited < Duration::from_secs(5))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says why not, once `wait` has said no.
    pub fn open(
        &self,
        baud: u32,
        mut wait: impl FnMut(&PortError, Duration) -> bool,
    ) -> Result<Stream, PortError> {
        let start = Instant::now();
        loop {
            let (opened, again) = match self {
                Self::Serial(name) => (serial(name, baud), None),
                Self::Unix(path) => {
                    let opened = UnixStream::connect(path).and_then(offered::unix);
                    (opened, Some(Duration::from_millis(10)))
                }
                Self::Tcp(address) => (address.connect().and_then(offered::tcp), Some(tcp::AGAIN)),
            };
            let error = match opened {
                Ok(stream) => return Ok(stream),
                Err(error) => PortError::Open { port: self.clone(), error },
            };
            match again {
                Some(again) if wait(&error, start.elapsed()) => std::thread::sleep(again),
                _ => return Err(error),
            }
        }
    }
}

fn serial(name: &str, baud: u32) -> io::Result<Stream> {
    let reader = serialport::new(name, baud).timeout(BREATH).open()?;
    let writer = reader.try_clone()?;
    Ok(Stream::new(reader, writer))
}

/// Whether an error only means that nothing happened for a while.
pub(crate) fn idle(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_this_user_may_not_open_comes_with_the_command_that_changes_it() {
        let said = |port: &Port, kind: ErrorKind| {
            PortError::Open { port: port.clone(), error: kind.into() }.to_string()
        };
        let port = Port::Serial("/dev/no-such-port".into());
        assert!(said(&port, ErrorKind::PermissionDenied).contains("usermod -aG dialout"));
        assert!(said(&port, ErrorKind::NotFound).contains("is the board plugged in?"));
        let used = Port::Serial("/dev/null".into());
        assert!(said(&used, ErrorKind::NotFound).contains("another program uses it"));
        let socket = Port::Unix("a".into());
        assert!(!said(&socket, ErrorKind::PermissionDenied).contains("usermod"));
    }
}
