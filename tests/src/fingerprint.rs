//! Fingerprints of what a machine computed, one line per program: machines with the same lines compute the same bits.

use core::fmt;

use lopa_core::node::Scheme;

use crate::{primitives, programs};

/// The seed of the batches, for the recorded fingerprints.
pub const SEED: u64 = 7;

/// The hash of what one program computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// The program.
    pub program: &'static str,
    /// The scheme, where a network ran.
    pub scheme: Option<Scheme>,
    /// The hash.
    pub hash: u64,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            None => "--",
            Some(Scheme::LocalGradient) => "LG",
            Some(Scheme::GradientTracking) => "GT",
        };
        write!(f, "{} {scheme} {:016x}", self.program, self.hash)
    }
}

/// Runs everything and reports a fingerprint after each program.
pub fn all(report: &mut dyn FnMut(Fingerprint)) {
    for (program, hash) in [
        ("draws", primitives::draws as fn() -> u64),
        ("functions", primitives::functions),
        ("reductions", primitives::reductions),
    ] {
        report(Fingerprint { program, scheme: None, hash: hash() });
    }
    programs::all(SEED, &mut |ending| {
        let (program, scheme) = (ending.problem, Some(ending.scheme));
        report(Fingerprint { program, scheme, hash: ending.hash() });
    });
}
