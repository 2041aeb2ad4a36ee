//! Numbers: statistics of runs, numbers written for people, and the linear algebra behind the exact solvers.
//!
//! - [`spread`]: the mean of several runs with its confidence interval; [`number`]: a number for people to read;
//! - `vector`: sums over vectors; `conjugate`: conjugate gradients; `lanczos`: the ends of a spectrum, by way of a
//!   `tridiagonal` matrix; `laplacian`: products and equations with that of a
//!   network.
//!
//! Every sum has one order and only correctly rounded operations are used, so the bits are the same on every machine.

pub(crate) mod conjugate;
pub(crate) mod lanczos;
pub(crate) mod laplacian;
pub(crate) mod number;
mod statistics;
pub(crate) mod tridiagonal;
pub(crate) mod vector;

pub use number::number;
pub use statistics::{Spread, confidence_quantile, spread};
