//! Many runs with one purpose: searches for step sizes, and studies.
//!
//! - [`Sweep`]: every combination of given step sizes, ranked;
//! - [`Tune`]: a random search for step sizes with a stated budget;
//! - [`CheckRuns`]: runs with the step sizes of the paper's corollaries, compared with their bounds;
//! - [`Plan`]: the arms of a study, tuned and then measured on several seeds. [`paper`](crate::paper) makes one from a
//!   file, and judges what was measured.
//!
//! All of them use all cores, report their progress to a callback and stop early once a flag is set. Results do not
//! depend on the number of threads.

mod bounds;
mod study;
mod sweep;
mod tune;

pub use bounds::{CheckRuns, Checks, Practice};
pub(crate) use study::of_case;
pub use study::{Arm, Measured, Plan, Progress, Results, Searches};
pub use sweep::{Cell, Sweep, Values};
pub use tune::{Trial, Tune, trials_csv};

use crate::metrics::Metric;
use crate::run::RunError;

/// The most runs of one sweep.
const MOST_RUNS: usize = 100_000;

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A text is not a list of values.
    #[error(
        "{0:?} is not a list of values: write 0.1,0.2,0.5, or 0.01:1:5 for five values from 0.01 to 1"
    )]
    Values(String),
    /// More combinations than anyone would wait for.
    #[error("{0} runs are too many, at most {MOST_RUNS} are allowed: try fewer values or seeds")]
    TooMany(usize),
    /// The metric was not measured.
    #[error("this network has no {}: judge by another metric", .0.name())]
    Metric(Metric),
    /// A run could not begin, or failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An arm of a study failed.
    #[error("{name}: {error}")]
    Arm {
        /// Which one.
        name: String,
        /// Why.
        #[source]
        error: Box<CampaignError>,
    },
}

impl CampaignError {
    /// The same, with the name of the arm it happened to.
    fn of(self, arm: &str) -> Self {
        Self::Arm { name: arm.to_owned(), error: Box::new(self) }
    }
}
