//! Heat maps: one colour per number, such as the pixels of what a layer has learned.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::axis::Axis;
use super::frame::{self, INK, LARGE, SMALL, Titles, WIDTH, short};
use super::text::{escaped, fitted, width};
use crate::numerics::number;
use crate::record::Scale;

/// How many colours there are: neighbours cannot be told apart. One of them is in the middle.
const LEVELS: usize = 65;
/// More cells than these do not show their values: the page would be too large.
const MOST: usize = 4_096;
/// The space around a panel.
const GAP: f64 = 8.0;
/// The height of a panel's name.
const NAME: f64 = 15.0;

/// Colours from low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// From dark to light (viridis), which is read correctly without seeing colours.
    #[default]
    Rising,
    /// From blue over white at zero to red.
    Signed,
}

impl Palette {
    /// The colour at a level.
    fn colour(self, level: usize) -> String {
        let stops: [[f64; 3]; 5] = match self {
            Self::Rising => [
                [68.0, 1.0, 84.0],
                [59.0, 82.0, 139.0],
                [33.0, 145.0, 140.0],
                [94.0, 201.0, 98.0],
                [253.0, 231.0, 37.0],
            ],
            Self::Signed => [
                [33.0, 102.0, 172.0],
                [146.0, 197.0, 222.0],
                [247.0, 247.0, 247.0],
                [244.0, 165.0, 130.0],
                [178.0, 24.0, 43.0],
            ],
        };
        let at = 4.0 * level as f64 / (LEVELS - 1) as f64;
        let first = (at.floor() as usize).min(3);
        let share = at - first as f64;
        let mixed = |part: usize| {
            let [from, to] = [stops[first][part], stops[first + 1][part]];
            (from + share * (to - from)).round() as u8
        };
        format!("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2))
    }
}

/// A rectangle of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Above it; left out if empty.
    pub name: String,
    /// The numbers, row after row. Those that are not finite have no colour.
    pub values: Vec<f64>,
    /// How many numbers a row has.
    pub width: usize,
}

/// Panels of numbers in the same colours, with a legend.
///
/// ```
/// use lopa_host::plot::{HeatMap, Palette, Panel};
/// let map = HeatMap {
///     title: "a picture".into(),
///     value_title: "log strength".into(),
///     rows: "row".into(),
///     panels: vec![Panel { name: String::new(), values: vec![0.0, 1.0, 2.0, 3.0], width: 2 }],
///     palette: Palette::Rising,
///     ..HeatMap::default()
/// };
/// assert!(map.svg().starts_with("<svg") && map.svg_with_values().contains("row 1, column 0: 2"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// Above everything; left out if empty.
    pub title: String,
    /// What the numbers are, below the legend.
    pub value_title: String,
    /// What a row is, such as `row` or `unit`.
    pub rows: String,
    /// The names of the columns; if there are none, they are numbered, and cells are square.
    pub columns: Vec<String>,
    /// The panels.
    pub panels: Vec<Panel>,
    /// The colours.
    pub palette: Palette,
}

impl HeatMap {
    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.draw(false)
    }

    /// The same with the value of every cell, shown where a pointer is.
    #[must_use]
    pub fn svg_with_values(&self) -> String {
        self.draw(self.panels.iter().map(|panel| panel.values.len()).sum::<usize>() <= MOST)
    }

    fn axis(&self) -> Axis {
        let values = || self.panels.iter().flat_map(|panel| panel.values.iter().copied());
        match self.palette {
            Palette::Rising => Axis::new(values(), Scale::Linear, 5, 0.0),
            Palette::Signed => {
                let finite = values().filter(|a| a.is_finite());
                let most = finite.fold(0.0_f64, |most, a| most.max(a.abs()));
                let most = if most > 0.0 { most } else { 1.0 };
                Axis::new([-most, most].into_iter(), Scale::Linear, 5, 0.0)
            }
        }
    }

    fn draw(&self, values: bool) -> String {
        let axis = self.axis();
        let titles = Titles { title: &self.title, x: &self.value_title, y: "" };
        let top = if self.title.trim().is_empty() { 6.0 } else { 30.0 };
        let count = self.panels.len().max(1);
        // One panel is as large as a chart; several share its width.
        let across = if count <= 4 { count } else { count.div_ceil(2).clamp(4, 8) };
        let named = self.panels.iter().any(|panel| !panel.name.is_empty());
        let room = ((WIDTH - GAP) / across as f64 - GAP).min(252.0);
        let mut shapes = String::new();
        let mut y = top;
        for row in self.panels.chunks(across) {
            let mut tallest: f64 = 0.0;
            // In the middle of the picture.
            let wide = |panel: &Panel| self.cell(panel, room, across)[0] * panel.width as f64;
            let all = row.iter().map(wide).sum::<f64>() + GAP * (row.len() - 1) as f64;
            let mut x = (WIDTH - all) / 2.0;
            for panel in row {
                let cell = self.cell(panel, room, across);
                let under = y + if named { NAME } else { 0.0 };
                if named {
                    let name = fitted(&panel.name, SMALL, wide(panel) + GAP - 2.0);
                    let middle = x + wide(panel) / 2.0;
                    write(&mut shapes, [middle, under - 4.0], SMALL, &escaped(&name));
                }
                self.panel(&mut shapes, panel, [x, under], cell, &axis, values);
                let rows = panel.values.len().div_ceil(panel.width.max(1)) as f64;
                tallest = tallest.max(under - y + cell[1] * rows);
                x += wide(panel) + GAP;
            }
            y += tallest + GAP;
        }
        self.legend(&mut shapes, &axis, y + 4.0);
        frame::head(&titles, y + 52.0) + &self.heading() + &shapes + "</svg>\n"
    }

    /// The title above everything.
    fn heading(&self) -> String {
        if self.title.trim().is_empty() {
            return String::new();
        }
        let title = escaped(&fitted(&self.title, 1.08 * LARGE, WIDTH - 20.0));
        let middle = WIDTH / 2.0;
        format!(
            "<text class=\"ink\" x=\"{middle}\" y=\"19\" font-size=\"{LARGE}\" font-weight=\"bold\" \
             fill=\"{INK}\">{title}</text>\n"
        )
    }

    /// How wide and how high a cell is.
    fn cell(&self, panel: &Panel, room: f64, across: usize) -> [f64; 2] {
        let columns = panel.width.max(1) as f64;
        if self.columns.is_empty() {
            return [room / columns; 2];
        }
        let rows = panel.values.len().div_ceil(panel.width.max(1)).max(1) as f64;
        let wide = if across == 1 { WIDTH - 2.0 * GAP } else { room };
        [wide / columns, (224.0 / rows).clamp(3.0, 26.0)]
    }

    /// One path per colour, so that many cells take little space, and what shows their values.
    fn panel(
        &self,
        text: &mut String,
        panel: &Panel,
        [x, y]: [f64; 2],
        [wide, high]: [f64; 2],
        axis: &Axis,
        values: bool,
    ) {
        let mut paths: BTreeMap<usize, String> = BTreeMap::new();
        let rows = || panel.values.chunks(panel.width.max(1)).enumerate();
        for (row, cells) in rows() {
            let mut column = 0;
            for alike in cells.chunk_by(|a, b| level(axis, *a) == level(axis, *b)) {
                if let Some(level) = level(axis, alike[0]) {
                    let long = alike.len();
                    let path = paths.entry(level).or_default();
                    let _ = write!(path, "M{column} {row}h{long}v1h-{long}z");
                }
                column += alike.len();
            }
        }
        let _ = writeln!(
            text,
            "<g transform=\"translate({} {}) scale({wide:.4} {high:.4})\" shape-rendering=\"crispEdges\">",
            short(x),
            short(y)
        );
        for (level, path) in paths {
            let _ = writeln!(text, "<path d=\"{path}\" fill=\"{}\"/>", self.palette.colour(level));
        }
        if values {
            *text += "<g fill=\"none\" pointer-events=\"all\">\n";
            for (row, cells) in rows() {
                for (column, value) in cells.iter().enumerate() {
                    let place = match self.columns.get(column) {
                        Some(name) => format!("{} {row}, {name}", self.rows),
                        None => format!("{} {row}, column {column}", self.rows),
                    };
                    let _ = writeln!(
                        text,
                        "<rect class=\"value\" x=\"{column}\" y=\"{row}\" width=\"1\" height=\"1\"><title>{}: {}</title></rect>",
                        escaped(&place),
                        number(*value)
                    );
                }
            }
            *text += "</g>\n";
        }
        *text += "</g>\n";
    }

    /// Which colour is which number.
    fn legend(&self, text: &mut String, axis: &Axis, y: f64) {
        let (wide, high) = (240.0, 9.0);
        let left = (WIDTH - wide) / 2.0;
        *text += "<g shape-rendering=\"crispEdges\">\n";
        for level in 0..LEVELS {
            let step = wide / LEVELS as f64;
            let _ = writeln!(
                text,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{high}\" fill=\"{}\"/>",
                short(left + step * level as f64),
                short(y),
                short(step + 0.2),
                self.palette.colour(level)
            );
        }
        *text += "</g>\n";
        let mut end = f64::NEG_INFINITY;
        for tick in &axis.ticks {
            let x = left + wide * axis.place(tick.at);
            let half = 0.59 * tick.label.width(SMALL);
            if x - half > end + 3.0 {
                end = x + half;
                write(text, [x, y + high + 13.0], SMALL, &tick.label.word);
            }
        }
        let factor = axis.factor.as_ref().map_or(String::new(), |factor| format!(", {factor}"));
        let title = fitted(&(self.value_title.clone() + &factor), LARGE, WIDTH - 20.0);
        debug_assert!(width(&title, LARGE) <= WIDTH);
        write(text, [WIDTH / 2.0, y + high + 30.0], LARGE, &escaped(&title));
    }
}

/// The number of a value's colour; none if it is not finite.
fn level(axis: &Axis, value: f64) -> Option<usize> {
    value.is_finite().then(|| (axis.place(value) * (LEVELS - 1) as f64).round() as usize)
}

fn write(text: &mut String, [x, y]: [f64; 2], size: f64, words: &str) {
    let _ = writeln!(
        text,
        "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{size}\" fill=\"{INK}\">{words}</text>",
        short(x),
        short(y)
    );
}
