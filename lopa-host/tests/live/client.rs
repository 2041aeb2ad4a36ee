//! A browser's part of HTTP, as far as tests need it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::common::PATIENCE;

/// The host and port of an address.
pub fn host(url: &str) -> String {
    url.split('/').nth(2).unwrap().to_owned()
}

/// Sends bytes, and returns everything that comes back.
pub fn request(host: &str, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(host).unwrap();
    // A server that refuses what it has read so far may not take the rest.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Gets a part of the page: its head and its body.
pub fn get(url: &str, path: &str) -> (String, String) {
    let host = host(url);
    let answer = request(&host, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (head.to_owned(), body.to_owned())
}

/// A server-sent event.
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: Value,
}

/// A stream of them.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// Follows; with the id of the last event that was seen, if there is one.
    pub fn open(url: &str, last: Option<&str>) -> Self {
        let host = host(url);
        let mut socket = TcpStream::connect(&host).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        write!(socket, "GET /events HTTP/1.1\r\nHost: {host}\r\n{last}\r\n").unwrap();
        let mut events = Self(BufReader::new(socket));
        let head = events.paragraph().unwrap();
        assert!(head[0].starts_with("HTTP/1.1 200"), "{head:?}");
        assert!(head.iter().any(|line| line.starts_with("Content-Type: text/event-stream")));
        events
    }

    /// Lines up to an empty one; nothing at the end.
    fn paragraph(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end() {
                "" => return Some(lines),
                text => lines.push(text.to_owned()),
            }
        }
    }

    /// The next event; nothing at the end.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let lines = self.paragraph()?;
            let field = |name: &str| {
                let found = lines.iter().find_map(|line| line.strip_prefix(name));
                found.map(|value| value.trim_start_matches(": ").to_owned())
            };
            let (Some(name), Some(id), Some(data)) = (field("event"), field("id"), field("data"))
            else {
                continue;
            };
            return Some(Event { name, id, data: serde_json::from_str(&data).unwrap() });
        }
    }
}
