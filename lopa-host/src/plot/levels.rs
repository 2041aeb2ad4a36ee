//! One value per name, each with a range: dots beside their names.

use std::fmt::Write as _;

use super::axis::{Axis, Label, Tick};
use super::chart::COLOURS;
use super::frame::{self, SMALL, Titles, WIDTH, short};
use super::shape::Area;
use super::text::{escaped, fitted, width};
use crate::numerics::number;
use crate::record::Scale;

/// The height of a row.
const ROW: f64 = 17.0;

/// A value with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// The value, drawn as a dot.
    pub value: f64,
    /// The range it was found in, drawn as a line behind the dot; the value twice if there is none.
    pub range: [f64; 2],
    /// What else is shown when a pointer is over it.
    pub remark: String,
}

/// Values beside their names, from the top down. Values that are not finite are left out.
///
/// ```
/// use lopa_host::plot::{Level, Levels};
/// let level = |name: &str, value, range| Level { name: name.into(), value, range, remark: String::new() };
/// let svg = Levels {
///     title: "what was learned".into(),
///     x_title: "log strength".into(),
///     levels: vec![level("age", -6.0, [-6.1, -5.9]), level("pulse", -1.5, [-1.5, -1.5])],
/// }
/// .svg();
/// assert!(svg.starts_with("<svg") && svg.contains("age: \u{2212}6 (from \u{2212}6.100 to \u{2212}5.900)"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    /// Above the plot; left out if empty.
    pub title: String,
    /// Below the horizontal axis.
    pub x_title: String,
    /// The values.
    pub levels: Vec<Level>,
}

impl Levels {
    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let finite = |level: &&Level| {
            level.value.is_finite() && level.range.iter().all(|end| end.is_finite())
        };
        let levels: Vec<&Level> = self.levels.iter().filter(finite).collect();
        let values = levels.iter().flat_map(|level| level.range.into_iter().chain([level.value]));
        let x_axis = Axis::new(values, Scale::Linear, 5, 0.05);
        let names = levels.iter().map(|level| fitted(&level.name, SMALL, 0.36 * WIDTH));
        let names: Vec<String> = names.collect();
        // Machines without these fonts usually have a wider one.
        let widest = names.iter().map(|name| 1.18 * width(name, SMALL)).fold(0.0, f64::max);
        let titles = Titles { title: &self.title, x: &self.x_title, y: "" };
        let left = (widest + 16.0).clamp(24.0, 0.46 * WIDTH);
        let count = levels.len().max(1) as f64;
        let area = Area {
            left,
            top: frame::top(&titles, &x_axis),
            width: WIDTH - left - 22.0,
            height: ROW * count,
        };
        // From the top down, so the first one has the highest place.
        let place = |at: usize| count - 1.0 - at as f64;
        let tick = |(at, name): (usize, &String)| Tick {
            at: place(at),
            label: Label::plain(escaped(name)),
        };
        let ticks = names.iter().enumerate().map(tick).collect();
        let y_axis = Axis { ticks, ..Axis::bare(Scale::Linear, -0.5, count - 0.5) };
        let below = if self.x_title.trim().is_empty() { 28.0 } else { 46.0 };
        let mut text = frame::head(&titles, area.bottom() + below);
        frame::grid(&mut text, Some(&x_axis), &y_axis, &area);
        frame::frame(&mut text, &x_axis, &y_axis, &area);
        frame::titles(&mut text, &titles, &x_axis, &y_axis, &area);
        let colour = COLOURS[0];
        for (at, level) in levels.iter().enumerate() {
            let y = area.y(&y_axis, place(at));
            let [low, x, high] =
                [level.range[0], level.value, level.range[1]].map(|a| area.x(&x_axis, a));
            let _ = writeln!(
                text,
                "<g class=\"value\"><title>{}</title><rect x=\"0\" y=\"{}\" width=\"{WIDTH}\" height=\"{ROW}\" \
                 fill=\"none\" pointer-events=\"all\"/><path d=\"M{} {}H{}\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"5\" stroke-opacity=\"0.35\" stroke-linecap=\"round\"/><circle cx=\"{}\" cy=\"{}\" r=\"3.2\" \
                 fill=\"{colour}\"/></g>",
                escaped(&level.words()),
                short(y - ROW / 2.0),
                short(low),
                short(y),
                short(high),
                short(x),
                short(y),
            );
        }
        text + "</svg>\n"
    }
}

impl Level {
    /// All of it in words.
    fn words(&self) -> String {
        let Self { name, value, range: [low, high], remark } = self;
        let mut words = format!("{name}: {}", number(*value));
        if low < high {
            words += &format!(" (from {} to {})", number(*low), number(*high));
        }
        if !remark.is_empty() {
            words += &format!("; {remark}");
        }
        words
    }
}
