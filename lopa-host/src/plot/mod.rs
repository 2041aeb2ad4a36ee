//! Plots for reports and papers, as SVG and PNG.
//!
//! The SVG is written here rather than by a plotting library: the available ones lack minor ticks and raised exponents
//! on logarithmic axes, gaps, and dashes that survive thinning, and they put the legend over the lines. A [`Chart`] has
//!
//! - colours that colour-blind people can tell apart (Okabe and Ito), each with its own dashes for print in grey;
//! - a legend in a corner without lines, or above the plot if there is no such corner;
//! - no invented and no hidden values: NaN is a gap; zero on a logarithmic axis is a small triangle at its foot, and so
//!   is a point that would stretch the axis by decades on its own; a negative value makes the axis linear;
//! - only the visible ones of thousands of points, including all extremes.
//!
//! [`Bars`] are stacked counts in the same style, such as the classes of every node's samples; [`Levels`] are values
//! beside their names, such as what was learned about every feature, and a [`HeatMap`] is the same where features are
//! pixels.
//!
//! The same chart gives the same bytes everywhere. [`png`] does not depend on installed fonts: it contains Arimo and
//! the mathematical symbols of DejaVu Sans (see `fonts/README.md` for their licences).
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
mod heat;
mod hover;
mod legend;
mod levels;
mod png;
mod shape;
mod text;

pub use bars::Bars;
pub use chart::{Chart, Line};
pub use heat::{HeatMap, Palette, Panel};
pub use levels::{Level, Levels};
pub use png::{PngError, png};
pub(crate) use text::capital;
pub use text::escaped;
