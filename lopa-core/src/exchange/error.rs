//! Errors of calls to an exchange.

/// Why an exchange refused bytes, or to write a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ExchangeError {
    /// There is no such link.
    Link {
        /// The link that was named.
        link: usize,
        /// How many there are, counted from 0.
        links: usize,
    },
    /// The buffer is shorter than [`Exchange::BUFFER`](super::Exchange::BUFFER).
    Buffer {
        /// The bytes needed.
        needed: usize,
        /// The bytes it has.
        found: usize,
    },
}

impl core::fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Link { link, links } => {
                write!(f, "there is no link {link}: the exchange has {links}, counted from 0")
            }
            Self::Buffer { needed, found } => {
                write!(f, "a frame needs a buffer of {needed} bytes, this one has {found}")
            }
        }
    }
}

impl core::error::Error for ExchangeError {}
