//! A local server with configurable bad habits.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use flate2::{Compression, write::GzEncoder};

/// What a server does with a file.
#[derive(Clone, Default)]
pub struct Habit {
    pub bytes: Vec<u8>,
    /// Whether it can begin in the middle.
    pub ranges: bool,
    /// Whether it begins elsewhere than asked.
    pub elsewhere: bool,
    /// After how many bytes it hangs up.
    pub cut: Option<usize>,
    /// Whether it gives the length of the file, and if not, whether it sends it in chunks.
    pub silent: bool,
    pub chunked: bool,
    /// Another status than success.
    pub status: Option<u16>,
}

pub type Log = Arc<Mutex<Vec<(String, Option<u64>)>>>;

/// A server: its address, and the requests so far, each with its first byte.
pub struct Server {
    pub address: String,
    pub log: Log,
}

impl Server {
    pub fn new(files: impl IntoIterator<Item = (&'static str, Habit)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files: BTreeMap<String, Habit> =
            files.into_iter().map(|(name, habit)| (format!("/{name}"), habit)).collect();
        let log = Log::default();
        let (files, seen) = (Arc::new(files), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (files, seen) = (Arc::clone(&files), Arc::clone(&seen));
                // A thread per connection, so that a client that does not read does not block another. A client may hang
                // up at any time.
                thread::spawn(move || stream.and_then(|stream| serve(&stream, &files, &seen)));
            }
        });
        Self { address, log }
    }

    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    /// The first byte of each request so far.
    pub fn asked(&self) -> Vec<Option<u64>> {
        self.log.lock().unwrap().iter().map(|(_, from)| *from).collect()
    }
}

/// Whether a connection may serve another request.
#[derive(PartialEq)]
enum After {
    Close,
    Keep,
}

/// Answers one request, and lets the client close the connection: closing a socket with unread bytes resets it, and the
/// client may lose data that it has not read yet.
fn serve(stream: &TcpStream, files: &BTreeMap<String, Habit>, log: &Log) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    // Anything but GET, such as TLS, gets no answer.
    let after = match reader.fill_buf()?.first() {
        Some(b'G') => answer(&mut reader, stream, files, log)?,
        _ => After::Close,
    };
    if after == After::Keep {
        // The worst that HTTP allows: closing a kept-alive connection just when the next request arrives.
        reader.fill_buf()?;
        return Ok(());
    }
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut reader, &mut io::sink()).map(drop)
}

fn answer(
    reader: &mut impl BufRead,
    mut stream: &TcpStream,
    files: &BTreeMap<String, Habit>,
    log: &Log,
) -> io::Result<After> {
    let mut lines = reader.lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut from = None;
    for line in lines {
        let line = line?.to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse::<u64>().ok();
        }
    }
    log.lock().unwrap().push((path.clone(), from));
    let Some(habit) = files.get(&path) else {
        write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")?;
        return Ok(After::Keep);
    };
    if let Some(status) = habit.status {
        write!(stream, "HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(After::Keep);
    }
    let all = habit.bytes.len();
    let mut head = String::from("HTTP/1.1 ");
    let body = match from.filter(|_| habit.ranges).map(|from| from as usize) {
        Some(from) if from >= all => {
            write!(
                stream,
                "HTTP/1.1 416 No\r\nContent-Range: bytes */{all}\r\nContent-Length: 0\r\n\r\n"
            )?;
            return Ok(After::Keep);
        }
        Some(from) => {
            let from = if habit.elsewhere { from / 2 } else { from };
            head += &format!("206 Part\r\nContent-Range: bytes {from}-{}/{all}\r\n", all - 1);
            &habit.bytes[from..]
        }
        None => {
            head += "200 OK\r\n";
            &habit.bytes[..]
        }
    };
    head += "Connection: close\r\n";
    if habit.chunked {
        head += "Transfer-Encoding: chunked\r\n";
    } else if !habit.silent {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    let sent = &body[..habit.cut.unwrap_or(body.len()).min(body.len())];
    if !habit.chunked {
        stream.write_all(sent)?;
        return Ok(After::Close);
    }
    for piece in sent.chunks(1000) {
        write!(stream, "{:x}\r\n", piece.len())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
    }
    if sent.len() == body.len() {
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(After::Close)
}

/// A file of pseudo-random bytes.
pub fn noise(length: u32) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

pub fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file served correctly.
pub fn plain(bytes: &[u8]) -> Habit {
    Habit { bytes: bytes.into(), ranges: true, ..Habit::default() }
}

/// The names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
