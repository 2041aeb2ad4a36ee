//! Where to listen.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::str::FromStr;

use super::LiveError;

/// The port, if none is named.
const PORT: u16 = 8737;

/// Where to listen: an address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    at: SocketAddr,
    /// Whether the port was named: otherwise another will do if it is taken.
    named: bool,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address to listen on: write an IP address, a port or both, such as 0.0.0.0:{PORT}; \
     nothing at all for 127.0.0.1:{PORT}"
)]
pub struct AddressError(String);

impl Default for Address {
    fn default() -> Self {
        Self { at: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT), named: false }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let own = text.trim().replacen("localhost", "127.0.0.1", 1);
        if own.is_empty() {
            return Ok(Self::default());
        }
        if let Ok(at) = own.parse::<SocketAddr>() {
            return Ok(Self { at, named: true });
        }
        if let Ok(port) = own.parse::<u16>() {
            return Ok(Self { at: SocketAddr::new(Self::default().at.ip(), port), named: true });
        }
        let ip = own.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let ip = ip.map_err(|_| AddressError(text.to_owned()))?;
        Ok(Self { at: SocketAddr::new(ip, PORT), named: false })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

impl Address {
    /// Begins to listen.
    pub(super) fn listen(&self) -> Result<TcpListener, LiveError> {
        let failed = |error| LiveError::Listen { address: self.to_string(), error };
        match TcpListener::bind(self.at) {
            // A second run on the same machine finds a port of its own.
            Err(_) if !self.named => {
                TcpListener::bind(SocketAddr::new(self.at.ip(), 0)).map_err(failed)
            }
            other => other.map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_its_port_or_all_but_its_port() {
        for (text, at, named) in [
            ("", "127.0.0.1:8737", false),
            ("9000", "127.0.0.1:9000", true),
            ("localhost:0", "127.0.0.1:0", true),
            ("0.0.0.0", "0.0.0.0:8737", false),
            ("0.0.0.0:80", "0.0.0.0:80", true),
            ("::1", "[::1]:8737", false),
            ("[::1]:90", "[::1]:90", true),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.named), (at, named), "{text}");
        }
        for text in ["ring.toml", "example.org:80", "1.2.3:4", "70000", "127.0.0.1:"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("0.0.0.0:8737"), "{error}");
        }
    }

    #[test]
    fn a_port_that_was_not_named_may_be_another() {
        let any = |named| Address { at: "127.0.0.1:0".parse().unwrap(), named };
        let taken = any(true).listen().unwrap();
        let at = taken.local_addr().unwrap();
        assert!(Address { at, named: true }.listen().is_err());
        let other = Address { at, named: false }.listen().unwrap();
        assert_ne!(other.local_addr().unwrap().port(), at.port());
    }
}
