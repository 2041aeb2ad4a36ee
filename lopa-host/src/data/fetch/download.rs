//! Downloads over HTTP that resume where an earlier attempt ended, trying one server after the other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::http::header;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::{Event, FetchError, Original, State, Wanted};
use crate::files::beside;

/// How often a server is asked to go on after a connection that broke but delivered something.
const BREAKS: u32 = 5;
/// The longest file, where its size is not known.
const LONGEST: u64 = 1 << 30;

/// Why a download stopped.
enum Stop {
    /// This machine's disk failed: another server would not help.
    Disk(io::Error),
    /// The connection broke; what arrived is kept.
    Broken(String),
    /// The server failed in another way.
    Server(String),
}

/// Downloads a file; it gets its name once its checksum is right.
pub(super) fn download(
    set: &Original,
    wanted: &Wanted,
    path: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    let part = beside(path);
    let mut text = format!("cannot fetch {}:\n", wanted.name);
    for url in &wanted.urls {
        match from_server(url, wanted, &part, report) {
            Ok(()) => {
                return fs::rename(&part, path).map_err(|error| FetchError::write(path, &error));
            }
            Err(Stop::Disk(error)) => return Err(FetchError::write(&part, &error)),
            Err(Stop::Broken(why) | Stop::Server(why)) => {
                report(Event::Failed { why: &why });
                text += &format!("  {url}: {why}\n");
            }
        }
    }
    if length(&part) > 0 {
        text += &format!("{} keeps what arrived; fetch again to resume\n", part.display());
    }
    let folder = path.parent().unwrap_or(path).display();
    text += &format!("or download it by hand into {folder}, from\n");
    set.homes.iter().for_each(|home| text += &format!("  {home}\n"));
    text += &format!("then run `lopa data check {} --dir {folder}`", set.name);
    Err(FetchError::Servers(text))
}

/// Completes the `.part` from one server. What is cut short stays; what is wrong is deleted.
fn from_server(
    url: &str,
    wanted: &Wanted,
    part: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), Stop> {
    let mut breaks = 0;
    loop {
        if wanted.size.is_some_and(|size| length(part) > size) {
            // Too long to become right.
            fs::remove_file(part).map_err(Stop::Disk)?;
        }
        let had = length(part);
        // What an earlier attempt completed needs no server.
        if had == 0 || Some(had) != wanted.size {
            report(Event::Asking { url, from: had });
            match transfer(url, wanted, part, had, report) {
                Err(Stop::Broken(_)) if length(part) > had && breaks < BREAKS => {
                    breaks += 1;
                    continue;
                }
                other => other?,
            }
        }
        if wanted.state(part).map_err(Stop::Disk)? == State::Right {
            return Ok(());
        }
        let (size, page) = (length(part), is_page(part));
        fs::remove_file(part).map_err(Stop::Disk)?;
        // What an earlier attempt left may have been another file: start over once.
        if had == 0 {
            return Err(Stop::Server(match page {
                true => "sent a web page instead of the file".into(),
                false => format!("sent {size} bytes with a wrong checksum; they were deleted"),
            }));
        }
    }
}

/// Requests what is missing and appends it to the `.part`.
fn transfer(
    url: &str,
    wanted: &Wanted,
    part: &Path,
    had: u64,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), Stop> {
    let mut request = agent(url).map_err(Stop::Server)?.get(url);
    if had > 0 {
        request = request.header(header::RANGE, format!("bytes={had}-"));
    }
    let mut response = request.call().map_err(|error| Stop::Server(explained(&error)))?;
    let from = match response.status().as_u16() {
        200 => 0,
        206 => had,
        // Nothing follows what is here: it is complete, or another file. The checksum decides.
        416 if had > 0 => return Ok(()),
        404 => return Err(Stop::Server("status 404: the file is no longer there".into())),
        status => return Err(Stop::Server(format!("status {status}"))),
    };
    let promised = response.body().content_length().map(|length| from.saturating_add(length));
    let all = promised.or(wanted.size);
    // It may be compressed less well than the original, or not at all.
    let limit = wanted.size.map_or(LONGEST, |size| size.saturating_mul(8).saturating_add(1 << 20));
    let opened =
        if from == 0 { File::create(part) } else { OpenOptions::new().append(true).open(part) };
    let mut file = opened.map_err(Stop::Disk)?;
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let (mut have, mut buffer) = (from, vec![0; 1 << 16]);
    let broken = |have: u64| {
        let of = all.map_or(String::new(), |all| format!(" of {all}"));
        Stop::Broken(format!("the connection broke after {have}{of} bytes"))
    };
    loop {
        report(Event::Bytes { have, all });
        match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                file.write_all(&buffer[..read]).map_err(Stop::Disk)?;
                have += read as u64;
                if have > limit {
                    fs::remove_file(part).map_err(Stop::Disk)?;
                    return Err(Stop::Server(format!("sent more than {limit} bytes")));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(broken(have)),
        }
    }
    file.sync_all().map_err(Stop::Disk)?;
    // A body that ends with the connection cannot say that it was cut short; its length can.
    if all.is_some_and(|all| have < all) { Err(broken(have)) } else { Ok(()) }
}

fn agent(url: &str) -> Result<Agent, String> {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let secure = url.starts_with("https://");
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // A secure address must not redirect to an insecure one.
        .https_only(secure)
        // A server may close an idle connection just as the next request is on its way.
        .max_idle_connections(0)
        .user_agent(concat!("lopa/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(seconds(30))
        .timeout_connect(seconds(30))
        .timeout_recv_response(seconds(60))
        .timeout_per_read(seconds(60));
    if let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| secure && !file.is_empty())
    {
        let roots = certificates(Path::new(&file))?;
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    let host = url.split("//").nth(1).unwrap_or_default();
    if ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host.starts_with(name)) {
        // This machine is reached without a proxy.
        config = config.proxy(None);
    }
    Ok(config.build().new_agent())
}

/// The certificates of a file, to be trusted instead of the built-in ones.
fn certificates(file: &Path) -> Result<RootCerts, String> {
    let refuse = |why: &dyn std::fmt::Display| format!("SSL_CERT_FILE {}: {why}", file.display());
    let text = fs::read(file).map_err(|error| refuse(&error))?;
    let mut roots = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(root) = item.map_err(|error| refuse(&error))? {
            roots.push(root);
        }
    }
    if roots.is_empty() { Err(refuse(&"contains no certificate")) } else { Ok(roots.into()) }
}

/// Why a request failed, in plain words.
fn explained(error: &ureq::Error) -> String {
    use ureq::Error;
    match error {
        Error::HostNotFound => "unknown host, or no network".into(),
        // Std has no error kind for an unknown host.
        Error::Io(error) if error.to_string().contains("lookup address") => {
            "unknown host, or no network".into()
        }
        Error::ConnectionFailed => "the host does not answer".into(),
        Error::Timeout(_) => "timed out".into(),
        Error::Tls(why) => format!("the connection is not secure: {why}"),
        Error::Rustls(why) => format!("the connection is not secure: {why}"),
        other => other.to_string(),
    }
}

/// The size of a file; 0 if there is none.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// Whether a file starts like a web page, such as the login page of a proxy.
fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && head.trim_ascii_start().first() == Some(&b'<')
}
