//! Logs with defmt if the feature `log` is on.

/// Something worth knowing.
#[cfg(feature = "log")]
macro_rules! info {
    ($($part:tt)*) => { defmt::info!($($part)*) };
}

/// Something that went wrong.
#[cfg(feature = "log")]
macro_rules! warning {
    ($($part:tt)*) => { defmt::warn!($($part)*) };
}

#[cfg(not(feature = "log"))]
macro_rules! info {
    ($text:literal $(, $value:expr)* $(,)?) => {{ $(let _ = &$value;)* }};
}

#[cfg(not(feature = "log"))]
macro_rules! warning {
    ($text:literal $(, $value:expr)* $(,)?) => {{ $(let _ = &$value;)* }};
}

pub(crate) use {info, warning};
