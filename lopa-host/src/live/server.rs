//! Answers requests: one thread that accepts, one that gathers news, and one per connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

use super::access::{Access, Verdict};
use super::http::{PATIENCE, Refusal, Request, head, send};
use super::hub::{Hub, Next};
use super::{openmetrics, pages};

/// The most connections at a time.
const CONNECTIONS: usize = 64;
/// The most of them that follow: requests for everything else find room.
const STREAMS: usize = 32;
/// A comment after so long a silence keeps proxies from cutting a stream.
const QUIET: Duration = Duration::from_secs(15);
/// How long the last news may take to leave, at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a connection needs.
#[derive(Debug)]
struct Shared {
    hub: Arc<Hub>,
    access: Access,
    connections: AtomicUsize,
    closed: AtomicBool,
}

/// The threads.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    at: Option<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts to accept.
    pub(super) fn start(listener: TcpListener, hub: Arc<Hub>, access: Access) -> io::Result<Self> {
        let at = listener.local_addr().ok();
        let (connections, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { hub, access, connections, closed });
        let own = Arc::clone(&shared);
        let accept = Builder::new().name("live".into()).spawn(move || own.accept(&listener))?;
        let own = Arc::clone(&shared);
        let gather = Builder::new().name("live-news".into()).spawn(move || own.hub.work());
        let mut server = Self { shared, at, threads: vec![accept] };
        match gather {
            Ok(gather) => server.threads.push(gather),
            Err(error) => {
                server.stop();
                return Err(error);
            }
        }
        Ok(server)
    }

    /// Sends the last news, and ends. Waits for neither the slow nor the silent.
    pub(super) fn stop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.hub.close();
        self.shared.hub.wait_for_streams(FAREWELL);
        // A last connection wakes the thread that accepts.
        if let Some(at) = self.at {
            let ip = match at.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            let place = SocketAddr::new(ip, at.port());
            if TcpStream::connect_timeout(&place, FAREWELL).is_err() {
                // It cannot be woken, and need not: it ends with the process.
                return;
            }
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.closed.load(Ordering::Relaxed) {
            let Ok((socket, _)) = listener.accept() else {
                // Too many open files, perhaps: some of them will be closed.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let room = |now: usize| (now < CONNECTIONS).then_some(now + 1);
            let order = Ordering::Relaxed;
            if self.connections.fetch_update(order, order, room).is_err() {
                refuse(socket);
                continue;
            }
            let own = Connected(Arc::clone(self));
            // A thread that does not start drops its connection.
            let _ = Builder::new().name("live-client".into()).spawn(move || own.0.serve(socket));
        }
    }

    fn serve(&self, mut socket: TcpStream) {
        let _ = socket.set_nodelay(true);
        match Request::read(&mut socket) {
            Ok(request) => {
                // Whoever hangs up early is not missed.
                let _ = self.answer(&request, &mut socket);
            }
            Err(refusal) => {
                let _ = plain(&mut socket, refusal, "", true);
            }
        }
        finish(&socket);
    }

    fn answer(&self, request: &Request, socket: &mut TcpStream) -> io::Result<()> {
        let body = request.method == "GET";
        if !body && request.method != "HEAD" {
            return plain(socket, (405, "Method Not Allowed"), "Allow: GET, HEAD\r\n", true);
        }
        match self.access.check(request) {
            Verdict::Allowed => {}
            Verdict::Foreign => return plain(socket, (403, "Forbidden"), "", body),
            Verdict::Unknown => {
                let more = "WWW-Authenticate: Bearer realm=\"lopa\"\r\n";
                return plain(socket, (401, "Unauthorized"), more, body);
            }
            Verdict::Remember(cookie) => {
                // Two slashes would lead to another host.
                let place = if request.path.starts_with("//") { "/" } else { &request.path };
                let more = format!("Location: {place}\r\nSet-Cookie: {cookie}\r\n");
                return plain(socket, (303, "See Other"), &more, body);
            }
        }
        let hub = &self.hub;
        match request.path.as_str() {
            "/events" if body => self.follow(request, socket),
            "/events" => {
                let head = head((200, "OK"), "text/event-stream; charset=utf-8", None, "");
                send(socket, head.as_bytes())
            }
            "/state.json" => whole(socket, "application/json", &hub.state(), body),
            "/metrics" => {
                let (streams, dropped) = (hub.streams(), hub.dropped());
                let text = hub.look(|now| openmetrics::text(&hub.about, now, streams, dropped));
                whole(socket, openmetrics::KIND, &text, body)
            }
            path => match pages::part(path) {
                Some((kind, text)) => whole(socket, kind, text, body),
                None => plain(socket, (404, "Not Found"), "", body),
            },
        }
    }

    /// Sends news until the client hangs up, is too slow, or it is over.
    fn follow(&self, request: &Request, socket: &mut TcpStream) -> io::Result<()> {
        let Some(_following) = self.hub.follow(STREAMS) else {
            return plain(socket, (503, "Service Unavailable"), "Retry-After: 5\r\n", true);
        };
        let more = "X-Accel-Buffering: no\r\n";
        let head = head((200, "OK"), "text/event-stream; charset=utf-8", None, more);
        send(socket, (head + "retry: 1000\n\n").as_bytes())?;
        let mut known = self.hub.known(request.last_event.as_deref());
        loop {
            let text = match self.hub.next(&mut known, QUIET) {
                Next::Events(text) => text,
                Next::Quiet => ":\n\n".into(),
                Next::Over => return Ok(()),
            };
            if let Err(error) = send(socket, text.as_bytes()) {
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) {
                    self.hub.drop_one();
                }
                return Err(error);
            }
        }
    }
}

/// A connection, until it is dropped.
struct Connected(Arc<Shared>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An answer in a few words.
fn plain(socket: &mut TcpStream, status: Refusal, more: &str, body: bool) -> io::Result<()> {
    let text = format!("{} {}\n", status.0, status.1);
    let head = head(status, "text/plain; charset=utf-8", Some(text.len()), more);
    send(socket, (head + if body { &text } else { "" }).as_bytes())
}

/// An answer with all its bytes.
fn whole(socket: &mut TcpStream, kind: &str, text: &str, body: bool) -> io::Result<()> {
    send(socket, head((200, "OK"), kind, Some(text.len()), "").as_bytes())?;
    if body { send(socket, text.as_bytes()) } else { Ok(()) }
}

/// Ends a connection such that what was sent arrives, even if the client is still sending.
fn finish(mut socket: &TcpStream) {
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.set_read_timeout(Some(PATIENCE / 10));
    let mut rest = [0; 1024];
    for _ in 0..16 {
        if !matches!(io::Read::read(&mut socket, &mut rest), Ok(1..)) {
            return;
        }
    }
}

/// Tells a client that there is no room; what its socket does not take at once is lost.
fn refuse(mut socket: TcpStream) {
    let _ = socket.set_write_timeout(Some(Duration::from_millis(10)));
    let status = (503, "Service Unavailable");
    let text = head(status, "text/plain; charset=utf-8", Some(0), "Retry-After: 5\r\n");
    let _ = io::Write::write(&mut socket, text.as_bytes());
}
