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
mod draw;
mod frame;
mod legend;
mod png;
mod shape;
mod text;

pub use bars::Bars;
pub use png::{PngError, png};
pub(crate) use text::capital;
pub use text::escaped;

use crate::record::Scale;

/// Lines over a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Above the plot; nothing if empty, as a paper has it.
    pub title: String,
    /// Below the horizontal axis.
    pub x_title: String,
    /// Along the vertical axis.
    pub y_title: String,
    /// How the horizontal axis is divided; linear in any case if an x is not positive.
    pub x_scale: Scale,
    /// How the vertical axis is divided; linear in any case if a y is negative, or none is positive.
    pub y_scale: Scale,
    /// The lines; later ones are drawn over earlier ones.
    pub lines: Vec<Line>,
}

impl Chart {
    /// A chart without lines, on linear axes.
    #[must_use]
    pub fn new(x_title: impl Into<String>, y_title: impl Into<String>) -> Self {
        Self {
            title: String::new(),
            x_title: x_title.into(),
            y_title: y_title.into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            lines: Vec::new(),
        }
    }

    /// Adds a line with the first look that no line has.
    pub fn add(&mut self, line: Line) {
        let look = (0..).find(|look| self.lines.iter().all(|line| line.look != *look));
        self.lines.push(Line { look: look.unwrap_or(0), ..line });
    }

    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        draw::svg(self)
    }

    /// Whether triangles at the foot of a logarithmic axis stand for zeros, or for points far below it: a caption may
    /// say so.
    #[must_use]
    pub fn has_marks(&self) -> bool {
        draw::marked(self)
    }
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// x and y; what is not finite is a gap.
    pub points: Vec<[f64; 2]>,
    /// From where to where, for every point, the truth may lie; what is not finite is a gap.
    pub band: Option<Vec<[f64; 2]>>,
    /// Which colour and dashes, from 0: the same run looks the same in every chart.
    pub look: usize,
}

impl Line {
    /// A line without a band.
    #[must_use]
    pub fn new(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self { name: name.into(), points, band: None, look: 0 }
    }
}
