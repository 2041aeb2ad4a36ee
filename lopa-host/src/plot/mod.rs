//! Plots for reports and papers: one drawing, as SVG and as PNG.
//!
//! The SVG is written here and not by a plotting library: those at hand have no minor ticks and raised exponents on
//! logarithmic axes, no gaps, no dashes that survive thinning, and put the legend over the lines. What is drawn:
//!
//! - colours that the colour-blind can tell apart (Okabe and Ito), each with dashes of its own for print in grey;
//! - a legend in a corner without lines, or above the plot if there is none;
//! - nothing that is not there, and nothing hidden: what is no number is a gap; zero on a logarithmic axis is a small
//!   triangle at its foot, so is a point that alone would stretch it by decades; a negative value makes it linear;
//! - thousands of points as what can be seen of them, extremes kept.
//!
//! [`Bars`] are counts in parts, such as the classes of every node's samples, in the same look.
//!
//! The same chart gives the same bytes everywhere. [`png`] needs no fonts on the machine: it brings Arimo along,
//! and signs of DejaVu Sans (`fonts/README.md` has their licences).
//!
//! ```
//! use lopa_host::plot::{Chart, Line};
//! use lopa_host::record::Scale;
//! let points = (0..100).map(|k| [f64::from(k), 1.0 / f64::from(k + 1)]).collect();
//! let mut chart = Chart::new("iteration", "outer loss");
//! chart.y_scale = Scale::Logarithmic;
//! chart.lines.push(Line::new("LoPA-GT", points));
//! let svg = chart.svg();
//! let png = lopa_host::plot::png(&svg, 2.0)?;
//! assert!(svg.starts_with("<svg") && png.starts_with(b"\x89PNG"));
//! # Ok::<(), lopa_host::plot::PngError>(())
//! ```

mod axis;
mod bars;
mod chart;
mod frame;
mod legend;
mod png;
mod shape;
mod text;

pub use bars::Bars;
pub use chart::{Chart, Line};
pub use png::{PngError, png};
pub(crate) use text::capital;
pub use text::escaped;
