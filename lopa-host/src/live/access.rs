//! Who may look: everybody on this machine, or whoever has the token.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::http::Request;

/// Random bytes of a token, which is twice as many digits.
const TOKEN: usize = 16;

/// Who may look.
#[derive(Debug)]
pub(super) enum Access {
    /// The address is the loopback's, which only this machine reaches.
    Local,
    /// All who have this token; the port is in the name of the cookie, because cookies are not separated by port.
    Token {
        /// The token.
        token: String,
        /// The name of the cookie that holds it.
        cookie: String,
    },
}

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Answer it.
    Allowed,
    /// It has the token in its address: set this cookie, and have the browser come again without it.
    Remember(String),
    /// It has no token, or a wrong one.
    Unknown,
    /// It came through a name that is not this machine's own: a page from elsewhere may be trying to read this one.
    Foreign,
}

impl Access {
    /// For this address.
    pub(super) fn new(at: SocketAddr) -> Result<Self, String> {
        if at.ip().is_loopback() {
            return Ok(Self::Local);
        }
        let mut bytes = [0; TOKEN];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::Token { token, cookie: format!("lopa-live-{}", at.port()) })
    }

    /// The address for a browser.
    pub(super) fn url(&self, at: SocketAddr) -> String {
        let place = SocketAddr::new(reachable(at.ip()), at.port());
        match self {
            Self::Local => format!("http://{place}/"),
            Self::Token { token, .. } => format!("http://{place}/?token={token}"),
        }
    }

    /// Whether a request is answered.
    pub(super) fn check(&self, request: &Request) -> Verdict {
        match self {
            Self::Local if request.host.as_deref().is_some_and(is_local) => Verdict::Allowed,
            Self::Local => Verdict::Foreign,
            Self::Token { token, cookie } => {
                let right = |given: Option<&str>| given.is_some_and(|given| same(given, token));
                if right(request.query("token")) {
                    return Verdict::Remember(format!(
                        "{cookie}={token}; Path=/; HttpOnly; SameSite=Lax"
                    ));
                }
                match right(request.cookie(cookie)) || right(request.bearer()) {
                    true => Verdict::Allowed,
                    false => Verdict::Unknown,
                }
            }
        }
    }
}

/// Whether two texts are the same, in a time that depends on their lengths only.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    a.len() == b.len() && differ == 0
}

/// Whether a `Host` names this machine: a page whose own name leads here would name itself.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

/// An address at which others reach this machine, for one that stands for all of them.
fn reachable(ip: IpAddr) -> IpAddr {
    if !ip.is_unspecified() {
        return ip;
    }
    // Nothing is sent: the system only says from where it would. These addresses are for documentation.
    let (any, other): (IpAddr, IpAddr) = match ip {
        IpAddr::V4(_) => (ip, Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(_) => (ip, Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    };
    let own = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((other, 9))?;
        socket.local_addr()
    });
    own.map_or(Ipv4Addr::LOCALHOST.into(), |own| own.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str) -> Request {
        let text = format!("GET {head}\r\n\r\n");
        Request::parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_token_is_taken_from_the_address_a_cookie_or_a_header() {
        let access = Access::new("192.0.2.7:80".parse().unwrap()).unwrap();
        let Access::Token { token, .. } = &access else { panic!("{access:?}") };
        assert_eq!(token.len(), 2 * TOKEN);
        let url = access.url("192.0.2.7:80".parse().unwrap());
        assert_eq!(url, format!("http://192.0.2.7:80/?token={token}"));
        let first = access.check(&request(&format!("/?token={token} HTTP/1.1")));
        let Verdict::Remember(cookie) = first else { panic!("{first:?}") };
        let own = cookie.split(';').next().unwrap();
        for head in [
            format!("/ HTTP/1.1\r\nCookie: a=b; {own}"),
            format!("/metrics HTTP/1.1\r\nAuthorization: Bearer {token}"),
        ] {
            assert_eq!(access.check(&request(&head)), Verdict::Allowed, "{head}");
        }
        let shorter = &token[1..];
        for head in [
            "/ HTTP/1.1".to_owned(),
            "/?token= HTTP/1.1".to_owned(),
            format!("/?token={shorter} HTTP/1.1"),
            format!("/?token={token}0 HTTP/1.1"),
            format!("/ HTTP/1.1\r\nCookie: token={token}"),
            format!("/ HTTP/1.1\r\nAuthorization: Basic {token}"),
            format!("/ HTTP/1.1\r\nAuthorization: Bearer {}", "0".repeat(2 * TOKEN)),
        ] {
            assert_eq!(access.check(&request(&head)), Verdict::Unknown, "{head}");
        }
        let other = Access::new("192.0.2.7:80".parse().unwrap()).unwrap();
        assert_eq!(other.check(&request(&format!("/?token={token} HTTP/1.1"))), Verdict::Unknown);
    }

    #[test]
    fn this_machine_needs_no_token_but_its_own_name() {
        let access = Access::new("127.0.0.1:80".parse().unwrap()).unwrap();
        for (host, verdict) in [
            ("localhost:80", Verdict::Allowed),
            ("127.0.0.1", Verdict::Allowed),
            ("[::1]:8737", Verdict::Allowed),
            ("evil.example:80", Verdict::Foreign),
            ("127.0.0.1.evil.example", Verdict::Foreign),
            ("", Verdict::Foreign),
        ] {
            let found = access.check(&request(&format!("/ HTTP/1.1\r\nHost: {host}")));
            assert_eq!(found, verdict, "{host}");
        }
        assert_eq!(access.check(&request("/ HTTP/1.1")), Verdict::Foreign);
    }
}
