//! Lines over a common axis, drawn as SVG.

use std::fmt::Write as _;

use super::axis::Axis;
use super::frame::{self, HEIGHT, LARGE, Titles, WIDTH, short};
use super::hover;
use super::legend::{self, Entry, GAP, SAMPLE, SIZE};
use super::shape::{Area, Place, Shape};
use crate::record::Scale;

/// The colours of Okabe and Ito that are dark enough on white, the clearest first.
pub(crate) const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];
/// Dashes, for people who cannot tell the colours apart; one fewer than colours, so that a pair repeats only after 42
/// lines.
const DASHES: [&str; 6] = ["", "7 3", "2 2.4", "9 3 2 3", "12 4", "6 2.5 2 2.5 2 2.5"];

/// Lines over a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Above the plot; left out if empty, as in a paper.
    pub title: String,
    /// Below the horizontal axis.
    pub x_title: String,
    /// Along the vertical axis.
    pub y_title: String,
    /// The scale of the horizontal axis; always linear if an x is not positive.
    pub x_scale: Scale,
    /// The scale of the vertical axis; always linear if a y is negative or none is positive.
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

    /// Adds a line with the first look that is not in use.
    pub fn add(&mut self, line: Line) {
        let data = || self.lines.iter().filter(|line| !line.is_guide);
        let look = (0..).find(|look| data().all(|line| line.look != *look));
        self.lines.push(Line { look: look.unwrap_or(0), ..line });
    }

    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.draw(false)
    }

    /// The same with the values of all lines, which a page shows where a pointer is (classes `slice` and `tip`).
    #[must_use]
    pub fn svg_with_values(&self) -> String {
        self.draw(true)
    }

    fn draw(&self, values: bool) -> String {
        let (x_axis, y_axis) = self.axes();
        let titles = Titles { title: &self.title, x: &self.x_title, y: &self.y_title };
        let top = frame::top(&titles, &y_axis);
        let (mut area, mut height) = frame::area(&titles, &x_axis, &y_axis, top);
        let shapes_at = |area: &Area| -> Vec<Shape> {
            self.lines.iter().map(|line| Shape::new(line, &x_axis, &y_axis, area)).collect()
        };
        let mut shapes = shapes_at(&area);
        let shown = legend::needed(&self.lines, &self.y_title);
        let boxed = if shown { legend::inside(&self.lines, &shapes, &area) } else { None };
        let mut rows = Vec::new();
        if shown && boxed.is_none() {
            let names = self.lines.iter().map(|line| line.name.as_str());
            let sample = [SAMPLE, 3.0 * GAP];
            let (entries, above) = legend::above(names, &self.title, sample, area.left, area.width);
            rows = entries;
            (area, height) = frame::area(&titles, &x_axis, &y_axis, top + above);
            shapes = shapes_at(&area);
        }

        let mut text = frame::head(&titles, height);
        frame::grid(&mut text, Some(&x_axis), &y_axis, &area);
        for (line, shape) in self.lines.iter().zip(&shapes) {
            bands(&mut text, line, shape);
        }
        frame::frame(&mut text, &x_axis, &y_axis, &area);
        frame::titles(&mut text, &titles, &x_axis, &y_axis, &area);
        for (line, shape) in self.lines.iter().zip(&shapes) {
            curve(&mut text, line, shape);
        }
        if shapes.iter().all(|shape| shape.runs.is_empty() && shape.below.is_empty()) {
            let _ = writeln!(
                text,
                "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{LARGE}\" fill=\"#666666\">no data</text>",
                short(area.left + area.width / 2.0),
                short(area.top + area.height / 2.0)
            );
        }
        if let Some((area, entries)) = boxed {
            let _ = writeln!(
                text,
                "<rect class=\"paper\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>",
                short(area.left),
                short(area.top),
                short(area.width),
                short(area.height)
            );
            rows = entries;
        }
        names(&mut text, &self.lines, &shapes, &rows);
        if values {
            hover::add(&mut text, &self.lines, [&x_axis, &y_axis], &area, &self.x_title);
        }
        text + "</svg>\n"
    }

    /// Whether triangles at the foot of a logarithmic axis mark zeros or points far below it, which a caption may
    /// explain.
    #[must_use]
    pub fn has_marks(&self) -> bool {
        let (x_axis, y_axis) = self.axes();
        let area = Area { left: 0.0, top: 0.0, width: WIDTH, height: HEIGHT };
        self.lines.iter().any(|line| !Shape::new(line, &x_axis, &y_axis, &area).below.is_empty())
    }

    /// Both axes, wide enough for all points, and for nearly all of the bands.
    fn axes(&self) -> (Axis, Axis) {
        let points = || {
            let all = self.lines.iter().flat_map(|line| &line.points);
            all.copied().filter(|point| point.iter().all(|a| a.is_finite()))
        };
        let banded: Vec<[f64; 2]> = self
            .lines
            .iter()
            .flat_map(|line| {
                let band = line.band.as_deref().unwrap_or_default();
                line.points.iter().zip(band).filter(|(point, _)| point[0].is_finite())
            })
            .map(|(_, ends)| *ends)
            .filter(|ends| ends.iter().all(|a| a.is_finite()))
            .collect();
        let x_scale = if points().any(|[x, _]| x <= 0.0) { Scale::Linear } else { self.x_scale };
        let x_axis = Axis::new(points().map(|[x, _]| x), x_scale, 6, 0.0);

        let values = || points().map(|[_, y]| y);
        let positive: Vec<f64> = values().filter(|&y| y > 0.0).collect();
        let powers = self.y_scale == Scale::Logarithmic
            && !positive.is_empty()
            && values().all(|y| y >= 0.0);
        if !powers {
            let ends = usual(&banded).into_iter();
            return (x_axis, Axis::new(values().chain(ends), Scale::Linear, 5, 0.05));
        }
        let foot = foot(positive, self.lines.len());
        let seen = values().filter(|&y| y >= foot);
        // On a logarithmic axis a band may reach down to zero: one decade of it is enough.
        let ends = usual(&banded).into_iter().map(|end| end.max(foot / 10.0));
        (x_axis, Axis::new(seen.chain(ends), Scale::Logarithmic, 5, 0.05))
    }
}

/// The ends of bands, without the few highest and lowest: a line that is uncertain in few places does not make all others
/// flat.
fn usual(bands: &[[f64; 2]]) -> Vec<f64> {
    let mut ends: Vec<f64> = bands.iter().flatten().copied().collect();
    ends.sort_by(f64::total_cmp);
    let few = ends.len() / 40;
    ends[few..ends.len() - few].to_vec()
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Pairs of x and y; values that are not finite leave a gap.
    pub points: Vec<[f64; 2]>,
    /// For every point, the interval in which the truth may lie; values that are not finite leave a gap.
    pub band: Option<Vec<[f64; 2]>>,
    /// The number of its colour and dashes, from 0: the same run looks the same in every chart.
    pub look: usize,
    /// Whether it is not data but something to compare data with: thin, grey and without symbols.
    pub is_guide: bool,
}

impl Line {
    /// A line without a band.
    #[must_use]
    pub fn new(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self { name: name.into(), points, band: None, look: 0, is_guide: false }
    }

    /// A line to compare data with, such as a slope.
    #[must_use]
    pub fn guide(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self { is_guide: true, ..Self::new(name, points) }
    }
}

/// The colour and the dashes of a line.
fn look(line: &Line) -> (&'static str, &'static str) {
    if line.is_guide {
        return ("#777777", "4 3");
    }
    (COLOURS[line.look % COLOURS.len()], DASHES[line.look % DASHES.len()])
}

/// The least value that a logarithmic axis has to show. A few values far below all others, such as the rounding error
/// of a consensus at the start, would squeeze the rest together; they are marked at the foot instead.
fn foot(mut values: Vec<f64>, lines: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let decades = |low: f64, high: f64| libm::log10(high) - libm::log10(low);
    let most = values[values.len() - 1];
    let few = lines.min(values.len() / 4);
    let far = (1..=few)
        .rev()
        .find(|&at| decades(values[at - 1], values[at]) > decades(values[at], most).max(3.0));
    values[far.unwrap_or(0)]
}

/// The path through places.
fn polyline(places: impl Iterator<Item = Place>) -> String {
    let mut path = String::new();
    for [x, y] in places {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", short(x), short(y));
    }
    path
}

fn bands(text: &mut String, line: &Line, shape: &Shape) {
    let mut path = String::new();
    for band in &shape.bands {
        let (upper, lower) = (band.iter(), band.iter().rev());
        path += &polyline(upper.map(|s| [s.x, s.upper]).chain(lower.map(|s| [s.x, s.lower])));
        path.push('Z');
    }
    if !path.is_empty() {
        let colour = look(line).0;
        let _ = writeln!(text, "<path d=\"{path}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>");
    }
}

fn curve(text: &mut String, line: &Line, shape: &Shape) {
    let (colour, _) = look(line);
    let lines = shape.runs.iter().filter(|run| run.len() > 1);
    let path: String = lines.map(|run| polyline(run.iter().copied())).collect();
    if !path.is_empty() {
        let _ = writeln!(text, "<path d=\"{path}\" {}/>", stroke(line));
    }
    for run in &shape.runs {
        // A single point would not be visible as a line.
        if (shape.marked || run.len() == 1) && !line.is_guide {
            run.iter().for_each(|place| symbol(text, line, *place));
        }
    }
    for [x, y] in &shape.below {
        let _ = writeln!(
            text,
            "<path d=\"M{} {}h7l-3.5 6Z\" fill=\"{colour}\"><title>below the axis</title></path>",
            short(x - 3.5),
            short(y - 7.0)
        );
    }
}

/// A point: its form tells lines apart in print without colours.
fn symbol(text: &mut String, line: &Line, [x, y]: Place) {
    let colour = look(line).0;
    let path = match line.look % 4 {
        0 => {
            let (x, y) = (short(x), short(y));
            let _ = writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.6\" fill=\"{colour}\"/>");
            return;
        }
        1 => format!("M{} {}h5v5h-5Z", short(x - 2.5), short(y - 2.5)),
        2 => format!("M{} {}l3.4 5.6h-6.8Z", short(x), short(y - 3.6)),
        _ => format!("M{} {}l3.4 3.4l-3.4 3.4l-3.4 -3.4Z", short(x), short(y - 3.4)),
    };
    let _ = writeln!(text, "<path d=\"{path}\" fill=\"{colour}\"/>");
}

fn stroke(line: &Line) -> String {
    let (colour, dashes) = look(line);
    let width = if line.is_guide { "1" } else { "1.8" };
    let dashed =
        if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashed}"
    )
}

/// The legend's rows.
fn names(text: &mut String, lines: &[Line], shapes: &[Shape], entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "<g font-size=\"{SIZE}\" text-anchor=\"start\">");
    for Entry { line: number, name, at: [x, y] } in entries {
        let line = &lines[*number];
        if line.band.is_some() {
            let _ = writeln!(
                text,
                "<rect x=\"{}\" y=\"{}\" width=\"{SAMPLE}\" height=\"10\" fill=\"{}\" fill-opacity=\"0.18\"/>",
                short(*x),
                short(y - 5.0),
                look(line).0
            );
        }
        let _ =
            writeln!(text, "<path d=\"M{} {}h{SAMPLE}\" {}/>", short(*x), short(*y), stroke(line));
        if shapes[*number].marked && !line.is_guide {
            symbol(text, line, [x + SAMPLE / 2.0, *y]);
        }
        legend::write(text, [x + SAMPLE + GAP, *y], name, &line.name);
    }
    *text += "</g>\n";
}
