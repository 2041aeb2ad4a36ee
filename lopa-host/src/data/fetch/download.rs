//! A file over HTTP, going on where an earlier try ended, from one server after the other.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http::{Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::error::{FetchError, Servers, Trouble};
use super::{Event, Original, State, Wanted, with_ending};

/// How often a server is asked again when a connection ends too early but something came.
const CUTS: u32 = 5;
/// The longest file, where nobody knows how long it is.
const LONGEST: u64 = 1 << 30;

/// Downloads a file that is not there, and gives it its name once it is right.
pub(super) fn download(
    set: &Original,
    wanted: &Wanted,
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<PathBuf, FetchError> {
    let path = folder.join(&wanted.name);
    let part = with_ending(&path, ".part");
    let mut tried = Vec::new();
    for url in &wanted.urls {
        match from_server(url, wanted, &part, report)? {
            None => {
                fs::rename(&part, &path).map_err(|error| FetchError::write(&path, error))?;
                return Ok(path);
            }
            Some(trouble) => {
                report(Event::Failed { url, trouble: &trouble });
                tried.push((url.clone(), trouble));
            }
        }
    }
    let part = Some(part).filter(|part| length(part) > 0);
    let (file, folder) = (wanted.name.clone(), folder.to_path_buf());
    let (set, homes) = (set.name.clone(), set.homes.clone());
    Err(FetchError::Servers(Box::new(Servers { file, tried, part, folder, set, homes })))
}

/// Completes the part from one server. What is wrong is thrown away; what is only cut stays.
fn from_server(
    url: &str,
    wanted: &Wanted,
    part: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Trouble>, FetchError> {
    let (mut cuts, mut afresh) = (0, false);
    loop {
        // What was left behind whole needs no server; what is too long never becomes right.
        let had = match wanted.size {
            Some(size) if length(part) > size => {
                remove(part)?;
                0
            }
            _ => length(part),
        };
        let whole = had > 0 && Some(had) == wanted.size;
        if !whole {
            report(Event::Asking { url, from: had });
            match transfer(url, wanted, part, had, report) {
                Ok(()) => {}
                Err(Stop::Disk(error)) => return Err(FetchError::write(part, error)),
                Err(Stop::Trouble(trouble)) => {
                    let again = matches!(trouble, Trouble::Cut { .. }) && length(part) > had;
                    if again && cuts < CUTS {
                        cuts += 1;
                        continue;
                    }
                    return Ok(Some(trouble));
                }
            }
        }
        let state = wanted.state(part).map_err(|error| FetchError::read(part, error))?;
        if state == State::Right {
            return Ok(None);
        }
        let (size, page) = (length(part), page(part));
        remove(part)?;
        // An earlier part may have been of another file: once more from the start.
        if had == 0 || afresh {
            return Ok(Some(Trouble::Checksum { size, page }));
        }
        afresh = true;
    }
}

/// Why a transfer stopped.
enum Stop {
    Disk(std::io::Error),
    Trouble(Trouble),
}

/// Asks for what is missing and puts it behind what is there.
fn transfer(
    url: &str,
    wanted: &Wanted,
    part: &Path,
    had: u64,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), Stop> {
    let trouble = |error: &ureq::Error| Stop::Trouble(Trouble::of(error));
    let agent = agent(url).map_err(Stop::Trouble)?;
    let get = |from: u64| {
        let request = agent.get(url);
        match from {
            0 => request.call(),
            _ => request.header(header::RANGE, format!("bytes={from}-")).call(),
        }
    };
    let mut response = get(had).map_err(|error| trouble(&error))?;
    let mut from = 0;
    if had > 0 {
        let range = content_range(&response);
        match response.status().as_u16() {
            206 if range.is_some_and(|(first, _)| first == Some(had)) => from = had,
            // There is nothing after what is here: it is whole.
            416 if range.is_some_and(|(_, all)| all == Some(had)) => return Ok(()),
            // Some other piece, or none: all of it, then.
            206 | 416 => {
                // Hang up first: the server may still be sending the piece.
                drop(response);
                response = get(0).map_err(|error| trouble(&error))?;
            }
            _ => {}
        }
    }
    match response.status().as_u16() {
        200 => {}
        206 if from > 0 => {}
        status => return Err(Stop::Trouble(Trouble::Status(status))),
    }
    let chunked = response.headers().contains_key(header::TRANSFER_ENCODING);
    let promised = response.body().content_length().map(|length| from.saturating_add(length));
    let all = promised.or(wanted.size);
    let limit = wanted.size.map_or(LONGEST, |size| size.saturating_mul(8).saturating_add(1 << 20));

    let mut file = open(part, from).map_err(Stop::Disk)?;
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let (mut have, mut buffer) = (from, vec![0; 1 << 16]);
    report(Event::Bytes { have, all });
    let cut = |have| Stop::Trouble(Trouble::Cut { have, all });
    loop {
        let read = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Err(cut(have)),
        };
        file.write_all(&buffer[..read]).map_err(Stop::Disk)?;
        have += read as u64;
        report(Event::Bytes { have, all });
        if have > limit {
            drop(file);
            fs::remove_file(part).map_err(Stop::Disk)?;
            return Err(Stop::Trouble(Trouble::Long { limit }));
        }
    }
    file.sync_all().map_err(Stop::Disk)?;
    // A body that ends with the connection cannot say that it was cut: the length does.
    let ended = promised
        .map_or(chunked || wanted.size.is_none_or(|size| have >= size), |promised| {
            have >= promised
        });
    if ended { Ok(()) } else { Err(cut(have)) }
}

/// Opens the part to go on behind `from` bytes.
fn open(part: &Path, from: u64) -> std::io::Result<File> {
    if from == 0 { File::create(part) } else { OpenOptions::new().append(true).open(part) }
}

/// The first byte and the length of the whole, as far as the answer says.
fn content_range(response: &Response<Body>) -> Option<(Option<u64>, Option<u64>)> {
    let text = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, all) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let first = range.split_once('-').and_then(|(first, _)| first.trim().parse().ok());
    Some((first, all.trim().parse().ok()))
}

fn agent(url: &str) -> Result<Agent, Trouble> {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let safe = url.starts_with("https://");
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // A safe address leads to safe ones only.
        .https_only(safe)
        // A server may close a connection that is kept open just when the next request is on its way.
        .max_idle_connections(0)
        .user_agent(concat!("lopa/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(seconds(30))
        .timeout_connect(seconds(30))
        .timeout_recv_response(seconds(60))
        .timeout_per_read(seconds(60));
    if let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| safe && !file.is_empty()) {
        let roots = certificates(Path::new(&file))?;
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    let host = url.split("//").nth(1).unwrap_or_default();
    if ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host.starts_with(name)) {
        // No proxy is needed to reach this very machine.
        config = config.proxy(None);
    }
    Ok(config.build().new_agent())
}

/// Whom to trust where a company's own authority signs, in place of the built-in list.
fn certificates(file: &Path) -> Result<RootCerts, Trouble> {
    let refuse = |why: &dyn std::fmt::Display| {
        Trouble::Tls(format!("SSL_CERT_FILE names {}: {why}", file.display()))
    };
    let text = fs::read(file).map_err(|error| refuse(&error))?;
    let mut roots = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(root) = item.map_err(|error| refuse(&error))? {
            roots.push(root);
        }
    }
    if roots.is_empty() { Err(refuse(&"it holds no certificate")) } else { Ok(roots.into()) }
}

impl Trouble {
    fn of(error: &ureq::Error) -> Self {
        use ureq::Error;
        match error {
            Error::HostNotFound => Self::Host,
            Error::ConnectionFailed => Self::Connect("the host does not answer".into()),
            Error::Timeout(_) => Self::Timeout,
            Error::Tls(why) => Self::Tls((*why).into()),
            Error::Rustls(why) => Self::Tls(why.to_string()),
            Error::Io(error) if error.kind() == ErrorKind::TimedOut => Self::Timeout,
            Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Self::Tls(error.to_string())
            }
            // Std has no kind for a name that nobody knows.
            Error::Io(error) if error.to_string().contains("lookup address") => Self::Host,
            Error::Io(error) => Self::Connect(error.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// The length of a file; 0 if there is none.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

fn remove(path: &Path) -> Result<(), FetchError> {
    fs::remove_file(path).map_err(|error| FetchError::write(path, error))
}

/// Whether a file begins as web pages do: what a proxy or a hotel's network sends.
fn page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && head.trim_ascii_start().first() == Some(&b'<')
}
