//! A connection that is slow, and breaks on request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How much later everything arrives.
const DELAY: Duration = Duration::from_millis(20);

/// Passes connections on to another address, each byte later than it came.
pub struct Proxy {
    address: String,
    /// Every connection there was.
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub fn new(to: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let all = Arc::clone(&lines);
        thread::spawn(move || {
            for line in listener.incoming().flatten() {
                // One that is not there yet is dialled again by whoever wants it.
                let Ok(other) = TcpStream::connect(&to) else { continue };
                let ends = [&line, &other].map(|end| end.try_clone().unwrap());
                all.lock().unwrap().push(line.try_clone().unwrap());
                let [a, b] = ends;
                thread::spawn(move || pass(line, b));
                thread::spawn(move || pass(other, a));
            }
        });
        Self { address, lines }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// How many connections there were.
    pub fn lines(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        let lines = self.lines.lock().unwrap();
        lines.iter().for_each(|line| drop(line.shutdown(Shutdown::Both)));
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 4_096];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        thread::sleep(DELAY);
        if to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
