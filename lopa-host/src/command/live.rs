//! `--live`: what several commands share of it.

use std::path::Path;

use clap::Args;
use lopa_host::live::{About, Address, Live};
use lopa_host::run::Prepared;

use super::{Failure, tell};

/// Whether to show the network in a browser.
#[derive(Debug, Args)]
pub(crate) struct LiveOption {
    /// Show the network in a browser while it learns, at this address [default: 127.0.0.1:8737]. Also serves state.json and metrics for
    /// Prometheus. Other machines reach it at an address such as 0.0.0.0, with a token that is printed. It changes no bit.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    live: Option<Address>,
}

impl LiveOption {
    /// Whether it was asked for.
    #[cfg(unix)]
    pub(crate) const fn is_on(&self) -> bool {
        self.live.is_some()
    }

    /// Begins to serve, and tells where.
    pub(crate) fn start(&self, prepared: &Prepared, file: &Path) -> Result<Option<Live>, Failure> {
        let Some(address) = &self.live else { return Ok(None) };
        let title = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let live = Live::start(address, About::of(prepared, &title)).map_err(Failure::input)?;
        tell(format_args!("live: {}", live.url()));
        Ok(Some(live))
    }
}
