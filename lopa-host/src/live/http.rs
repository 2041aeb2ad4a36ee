//! As much of HTTP as a page needs: requests without a body, one per connection.
//!
//! On plain sockets, because a stream of events must be able to give up a client that does not read: that takes control over
//! the time that a single write may take, which small HTTP servers do not give. Requests are parsed by `httparse`, which downloads
//! already need.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest head of a request.
const LONGEST: usize = 8 * 1024;
/// The most headers.
const HEADERS: usize = 64;
/// How long a client may take for its request, or to take what it is sent.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// What a page may load: its own parts, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    query: String,
    pub(super) host: Option<String>,
    cookies: Option<String>,
    authorization: Option<String>,
    pub(super) last_event: Option<String>,
}

/// Why a request is not understood: a status and its words.
pub(super) type Refusal = (u16, &'static str);

impl Request {
    /// Reads a request.
    pub(super) fn read(socket: &mut TcpStream) -> Result<Self, Refusal> {
        let until = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let mut part = [0; 1024];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
                return Err((408, "Request Timeout"));
            }
            let len = match socket.read(&mut part) {
                Ok(0) => return Err((400, "Bad Request")),
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err((408, "Request Timeout")),
            };
            bytes.extend(&part[..len]);
            if let Some(request) = Self::parse(&bytes)? {
                return Ok(request);
            }
            if bytes.len() >= LONGEST {
                return Err((431, "Request Header Fields Too Large"));
            }
        }
    }

    /// Reads a request from these bytes; nothing if there must be more.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err((431, "Request Header Fields Too Large"));
            }
            Err(_) => return Err((400, "Bad Request")),
        }
        let header = |name: &str| {
            let mut named = parsed.headers.iter().filter(|own| own.name.eq_ignore_ascii_case(name));
            let value = named.next()?.value;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Some(Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            host: header("host"),
            cookies: header("cookie"),
            authorization: header("authorization"),
            last_event: header("last-event-id"),
        }))
    }

    /// A value behind the question mark.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        value(self.query.split('&'), name)
    }

    /// A cookie.
    pub(super) fn cookie(&self, name: &str) -> Option<&str> {
        value(self.cookies.as_deref()?.split(';'), name)
    }

    /// The token of a program.
    pub(super) fn bearer(&self) -> Option<&str> {
        let (kind, token) = self.authorization.as_deref()?.split_once(' ')?;
        kind.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }
}

fn value<'a>(pairs: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(own, _)| *own == name).map(|p| p.1)
}

/// The head of an answer. Without a length, it goes on until the connection ends.
pub(super) fn head(
    (status, words): (u16, &str),
    kind: &str,
    length: Option<usize>,
    more: &str,
) -> String {
    let length = length.map_or_else(String::new, |length| format!("Content-Length: {length}\r\n"));
    format!(
        "HTTP/1.1 {status} {words}\r\nContent-Type: {kind}\r\n{length}{more}Connection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nCross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\r\n"
    )
}

/// Sends bytes; a client that does not take them in time is an error.
pub(super) fn send(socket: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_write_timeout(Some(left))?;
        match socket.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => bytes = &bytes[len..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_piece_by_piece() {
        let text =
            b"GET /events?a=1&token=xyz HTTP/1.1\r\nHOST: localhost\r\nCookie: a=b;  c=d=e\r\n\
                     Last-Event-ID: 7-3\r\nAuthorization: bearer  t\r\n\r\n";
        for len in 0..text.len() {
            assert!(Request::parse(&text[..len]).unwrap().is_none(), "{len}");
        }
        let request = Request::parse(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/events"));
        assert_eq!((request.query("token"), request.query("b")), (Some("xyz"), None));
        assert_eq!((request.cookie("c"), request.cookie("d")), (Some("d=e"), None));
        assert_eq!(request.bearer(), Some("t"));
        assert_eq!(request.host.as_deref(), Some("localhost"));
        assert_eq!(request.last_event.as_deref(), Some("7-3"));
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        for text in ["\0\0\0", "GET / HTTP/9\r\n\r\n", "GET /\r\n\r\n", "\u{16}\u{3}\u{1}\0TLS"] {
            assert_eq!(Request::parse(text.as_bytes()).unwrap_err().0, 400, "{text:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(Request::parse(many.as_bytes()).unwrap_err().0, 431);
    }
}
