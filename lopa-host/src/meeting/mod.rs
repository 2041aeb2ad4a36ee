//! How processes meet through Zenoh: who listens where, and who dials whom.

#[cfg(feature = "zenoh")]
mod beat;
#[cfg(feature = "zenoh")]
mod session;

#[cfg(feature = "zenoh")]
pub(crate) use beat::{Beat, Heard};
#[cfg(feature = "zenoh")]
pub(crate) use session::{open, refused};

/// Why processes do not meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeetingError {
    /// Zenoh's configuration is refused.
    #[error("{what}: {error}")]
    Configuration {
        /// The file, or a key.
        what: String,
        /// Why.
        error: String,
    },
    /// Zenoh does not start.
    #[error("cannot join the others{}: {error}", at.as_ref().map(|at| format!(" from {at}")).unwrap_or_default())]
    Open {
        /// Where this one listens.
        at: Option<String>,
        /// Why.
        error: String,
    },
    /// This program cannot.
    #[error(
        "this lopa was built without Zenoh, which joins machines: install it with cargo install --locked --path lopa-host \
         --features zenoh"
    )]
    Feature,
}
