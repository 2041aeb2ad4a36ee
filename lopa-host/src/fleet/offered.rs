//! A node's own end of a line: a socket that a host connects to, as it opens the port of a board.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::line::{Line, WAITING};
use super::port::{BREATH, Port, PortError, Stream};
use crate::locked::locked;

/// How often a host that waits to be connected is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// A line that is offered to a host. The host that connected last has it: one before may be dead, without notice.
#[derive(Debug)]
pub(super) struct Offered {
    host: Arc<Mutex<Option<Line>>>,
    frames: Receiver<Vec<u8>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// A socket that is removed in the end.
    socket: Option<PathBuf>,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    fn bind(port: &Port) -> io::Result<Self> {
        match port {
            Port::Unix(path) => {
                remove_dead(path)?;
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Unix(listener))
            }
            Port::Tcp(address) => {
                let listener = address.listen()?;
                listener.set_nonblocking(true)?;
                Ok(Self::Tcp(listener))
            }
            Port::Serial(_) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a node offers its line as tcp:HOST:PORT or unix:PATH",
            )),
        }
    }

    /// The next host that connects, if one does.
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => unix(listener.accept()?.0),
            Self::Tcp(listener) => tcp(listener.accept()?.0),
        }
    }
}

/// Both directions of a connected socket.
pub(super) fn unix(stream: UnixStream) -> io::Result<Stream> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(BREATH))?;
    stream.set_write_timeout(Some(BREATH))?;
    Ok(Stream::new(stream.try_clone()?, stream))
}

/// Both directions of a connection.
pub(super) fn tcp(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nonblocking(false)?;
    // Frames are short, and neighbours wait for them.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(BREATH))?;
    stream.set_write_timeout(Some(BREATH))?;
    Ok(Stream::new(stream.try_clone()?, stream))
}

/// Removes a socket that a process left when it was killed; one that is in use is not touched.
fn remove_dead(path: &Path) -> io::Result<()> {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if socket && UnixStream::connect(path).is_err() { std::fs::remove_file(path) } else { Ok(()) }
}

impl Offered {
    /// Offers a line at a port.
    ///
    /// # Errors
    /// If that cannot be listened on.
    pub(super) fn new(port: &Port) -> Result<Self, PortError> {
        let wrong = |error| PortError::Offer { port: port.clone(), error };
        let listener = Listener::bind(port).map_err(wrong)?;
        let socket = if let Port::Unix(path) = port { Some(path.clone()) } else { None };
        let (inbox, frames) = mpsc::sync_channel(4 * WAITING);
        let (host, stop) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (place, end) = (Arc::clone(&host), Arc::clone(&stop));
        let thread = thread::spawn(move || serve(&listener, &inbox, &place, &end));
        Ok(Self { host, frames, stop, thread: Some(thread), socket })
    }

    /// Puts a frame on the line. Without a host, or if the line is full, it is lost.
    pub(super) fn put(&self, frame: &[u8]) {
        if let Some(line) = &*locked(&self.host) {
            let _ = line.outbox().try_send(frame.to_vec());
        }
    }

    /// The frames that come.
    pub(super) const fn frames(&self) -> &Receiver<Vec<u8>> {
        &self.frames
    }
}

/// Gives the line to every host that connects, until it is stopped.
fn serve(
    listener: &Listener,
    inbox: &SyncSender<Vec<u8>>,
    place: &Mutex<Option<Line>>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(stream) = listener.accept() else {
            thread::sleep(LOOK);
            continue;
        };
        let inbox = inbox.clone();
        let line = Line::carry(stream, move |frame| drop(inbox.try_send(frame.to_vec())));
        let before = locked(place).replace(line);
        drop(before);
    }
    let last = locked(place).take();
    drop(last);
}

impl Drop for Offered {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
        self.socket.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}
