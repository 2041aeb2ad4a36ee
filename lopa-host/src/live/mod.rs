//! A network that learns, in a browser: one page, its state as JSON, and its numbers for Prometheus.
//!
//! ```no_run
//! use lopa_host::live::{About, Address, Live, Phase};
//! # fn example(prepared: &lopa_host::run::Prepared) -> Result<(), Box<dyn std::error::Error>> {
//! let address: Address = "127.0.0.1:8737".parse()?;
//! let live = Live::start(&address, About::of(prepared, "ring.toml"))?;
//! println!("{}", live.url());
//! let options = lopa_host::run::Options { watch: Some(live.feed()), ..Default::default() };
//! prepared.run(options, |_| ())?;
//! live.feed().end(Phase::Finished, "");
//! # Ok(())
//! # }
//! ```
//!
//! Whatever learns fills a [`Feed`]: a simulation as what looks on ([`crate::run::Watch`]), fleets with what their boards reply. A feed
//! takes what it is given into a slot, and never waits for a reader; threads of the server take it out, and do the rest.
//!
//! | address | what it has |
//! |---|---|
//! | `/` | the page, which requests nothing from elsewhere |
//! | `/state.json` | everything that the page shows |
//! | `/events` | the same as server-sent events: all of it first, unless `Last-Event-ID` is recent; then changes |
//! | `/metrics` | OpenMetrics |
//!
//! All of it can only be read. On addresses other than the loopback's a token is needed: see [`Live::url`]. Clients that do not
//! take what they are sent within seconds are dropped.

mod about;
mod access;
mod address;
#[cfg(unix)]
mod boards;
mod counters;
mod feed;
mod http;
mod hub;
mod json;
mod openmetrics;
mod pages;
mod server;
mod simulated;
mod state;

pub use about::{About, Shape};
pub use address::{Address, AddressError};
pub use feed::Feed;
pub use state::{Node, Phase, State};

use std::io;
use std::sync::Arc;

use access::Access;
use hub::Hub;
use server::Server;

/// Why there is no live view.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The address cannot be listened on.
    #[error("--live: cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// There is no token.
    #[error("--live: cannot get random numbers from the operating system: {0}")]
    Token(String),
    /// A thread does not start.
    #[error("--live: cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// A network that can be watched, until this is dropped.
#[derive(Debug)]
pub struct Live {
    feed: Feed,
    hub: Arc<Hub>,
    server: Server,
    url: String,
}

impl Live {
    /// Starts to serve.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn start(address: &Address, about: About) -> Result<Self, LiveError> {
        let listener = address.listen()?;
        let local = listener
            .local_addr()
            .map_err(|error| LiveError::Listen { address: address.to_string(), error })?;
        let access = Access::new(local).map_err(LiveError::Token)?;
        let url = access.url(local);
        let feed = Feed::new(&about);
        let hub = Arc::new(Hub::new(about, &feed));
        let server =
            Server::start(listener, Arc::clone(&hub), access).map_err(LiveError::Thread)?;
        Ok(Self { feed, hub, server, url })
    }

    /// Where a browser finds it, with the token if one is needed.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What takes the news.
    #[must_use]
    pub const fn feed(&self) -> &Feed {
        &self.feed
    }

    /// How many browsers follow it.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.hub.streams()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // The last news first: pages keep showing them.
        self.hub.gather();
        self.server.stop();
    }
}
