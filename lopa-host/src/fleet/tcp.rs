//! A line behind a network: a serial server such as ser2net, which carries bytes between a TCP connection and a serial port.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use super::port::PortError;

/// A host that does not answer for this long is not reached: a firewall drops packets, or nothing is there.
const ANSWER: Duration = Duration::from_secs(3);
/// How long to wait before a connection that was refused is tried again.
pub(super) const AGAIN: Duration = Duration::from_millis(100);

/// The address of a line behind a network: `HOST:PORT`, `[::1]:PORT` for an IPv6 address in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl FromStr for Address {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        let wrong = || PortError::Address(text.into());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        // Without brackets, the last part of an IPv6 address would pass for the port.
        let host = bare.unwrap_or(host);
        let sound =
            !host.is_empty() && (bare.is_some() || !host.contains([':', '[', ']', '/', ' ']));
        let port = port.parse().ok().filter(|port| *port > 0 && sound).ok_or_else(wrong)?;
        Ok(Self { host: host.into(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl Address {
    /// Listens there.
    pub(super) fn listen(&self) -> io::Result<TcpListener> {
        TcpListener::bind((self.host.as_str(), self.port))
    }

    /// Connects to the first of the host's addresses that answers.
    pub(super) fn connect(&self) -> io::Result<TcpStream> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        // The system has no kind of its own for this, and its words do not name the host.
        let unknown = |why: String| {
            io::Error::new(ErrorKind::HostUnreachable, format!("no address for {}{why}", self.host))
        };
        let found = found.map_err(|error| unknown(format!(" ({error})")))?;
        let mut last = unknown(String::new());
        for address in found {
            match TcpStream::connect_timeout(&address, ANSWER) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// What a user can do about it.
pub(super) fn hint(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectionRefused => {
            "; is the serial server running, and is this the port that it listens on?"
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "; check the name or the address of the host, and that this machine can reach it"
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            "; is the host on, and does its firewall let this port through?"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::SocketAddr;

    use super::super::Port;

    fn port(at: SocketAddr) -> Port {
        format!("tcp:{at}").parse().unwrap()
    }

    /// An address where nothing listens: its socket is gone, and the system gives its number to nobody else so soon.
    fn free() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in
            ["tcp:attic:4000", "tcp:192.168.1.7:1", "tcp:[::1]:65535", "tcp:a.b-c.example:80"]
        {
            let port: Port = text.parse().unwrap();
            assert_eq!(port.to_string(), text);
        }
        for text in [
            "attic",
            "attic:",
            ":4000",
            "attic:0",
            "attic:65536",
            "::1:4000",
            "[::1]",
            "a b:1",
            "a/b:1",
        ] {
            let error = format!("tcp:{text}").parse::<Port>().unwrap_err().to_string();
            assert!(
                error.contains(&format!("\"{text}\"")) && error.contains("tcp:HOST:PORT"),
                "{error}"
            );
        }
    }

    #[test]
    fn both_directions_of_a_line_carry_bytes() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut line = port(server.local_addr().unwrap()).open(0, |_, _| false).unwrap();
        let mut board = server.accept().unwrap().0;
        line.writer.write_all(b"request").unwrap();
        let mut bytes = [0; 7];
        board.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"request");
        board.write_all(b"reply").unwrap();
        line.reader.read_exact(&mut bytes[..5]).unwrap();
        assert_eq!(&bytes[..5], b"reply");
        // Nothing more: a read gives up, so that its thread can be stopped.
        let error = line.reader.read(&mut bytes).unwrap_err();
        assert!(super::super::port::idle(&error), "{error}");
        drop(board);
        assert_eq!(line.reader.read(&mut bytes).unwrap(), 0, "closed");
    }

    #[test]
    fn a_server_that_starts_later_is_waited_for() {
        let at = free();
        let opened = std::thread::spawn(move || port(at).open(0, |_, _| true).map(drop));
        let server = TcpListener::bind(at).unwrap();
        server.accept().unwrap();
        opened.join().unwrap().unwrap();
    }

    #[test]
    fn what_does_not_open_comes_with_a_way_out() {
        let nothing: Port = "tcp:127.0.0.1:1".parse().unwrap();
        let error = nothing.open(0, |_, _| false).unwrap_err().to_string();
        assert!(error.contains("cannot open tcp:127.0.0.1:1: "), "{error}");
        assert!(error.contains("is the serial server running"), "{error}");
        // A name that no resolver may know (RFC 6761).
        let unknown: Port = "tcp:attic.invalid:4000".parse().unwrap();
        let error = unknown.open(0, |_, _| false).unwrap_err().to_string();
        assert!(error.contains("no address for attic.invalid"), "{error}");
        assert!(error.contains("check the name"), "{error}");
        let late = PortError::Open { port: unknown, error: ErrorKind::TimedOut.into() }.to_string();
        assert!(late.contains("firewall"), "{late}");
    }
}
