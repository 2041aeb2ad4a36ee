//! A connection that is slow, and breaks once.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How much later everything arrives.
const DELAY: Duration = Duration::from_millis(20);

/// Passes connections on to another address, each byte later than it came.
pub struct Proxy {
    address: String,
    lines: Arc<AtomicUsize>,
}

impl Proxy {
    /// The first connection breaks after so many bytes in one direction.
    pub fn new(to: String, most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&lines);
        thread::spawn(move || {
            let mut most = most;
            for line in listener.incoming().flatten() {
                // One that is not there yet is dialled again by whoever wants it.
                let Ok(other) = TcpStream::connect(&to) else { continue };
                let [a, b] = [&line, &other].map(|end| end.try_clone().unwrap());
                count.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || pass(line, b, most));
                thread::spawn(move || pass(other, a, most));
                most = usize::MAX;
            }
        });
        Self { address, lines }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// How many connections there were.
    pub fn lines(&self) -> usize {
        self.lines.load(Ordering::Relaxed)
    }
}

/// Passes on at most so many bytes.
fn pass(mut from: TcpStream, mut to: TcpStream, mut most: usize) {
    let mut bytes = [0; 4_096];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        thread::sleep(DELAY);
        if len > most || to.write_all(&bytes[..len]).is_err() {
            break;
        }
        most -= len;
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
