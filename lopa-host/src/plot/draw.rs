//! A chart, drawn as SVG.
//!
//! What is ink, grid or paper has a class of its own: a page may colour it anew for a dark screen.

use std::fmt::Write as _;

use super::axis::{Axis, Label};
use super::legend::{self, Entry, GAP, Inside, SAMPLE, SIZE};
use super::shape::{Area, Shape};
use super::text::{escaped, fitted};
use super::{Chart, Line};
use crate::record::Scale;

/// The width of a picture: at three quarters of it, the column of a paper.
const WIDTH: f64 = 440.0;
/// The height of what lies between the axes.
const HEIGHT: f64 = 224.0;
/// The size of the letters at ticks.
const SMALL: f64 = 11.5;
/// The size of the axes' titles.
const LARGE: f64 = 13.0;
/// The font; all but the last have the same widths.
const FONT: &str = "Arimo, Helvetica, Arial, Liberation Sans, sans-serif";
/// Words and axes.
const INK: &str = "#222222";
const GRID: &str = "#e4e7ea";

/// The colours of Okabe and Ito that are dark enough on white, the clearest first.
pub(crate) const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];
/// Dashes, for those who see no colours; one fewer than colours, so that a pair comes back only after 42 lines.
const DASHES: [&str; 6] = ["", "7 3", "2 2.4", "9 3 2 3", "12 4", "6 2.5 2 2.5 2 2.5"];

/// What a line looks like.
fn look(line: &Line) -> (&'static str, &'static str) {
    (COLOURS[line.look % COLOURS.len()], DASHES[line.look % DASHES.len()])
}

/// The chart as SVG.
pub(super) fn svg(chart: &Chart) -> String {
    let (x_axis, y_axis) = axes(chart);
    // A machine without these fonts has a wider one, as a rule.
    let labels = y_axis.ticks.iter().map(|tick| 1.18 * tick.label.width(SMALL));
    let title_room = if chart.y_title.trim().is_empty() { 6.0 } else { 22.0 };
    let left = (title_room + labels.fold(0.0, f64::max) + 9.0).clamp(56.0, 0.5 * WIDTH);
    // The last label may reach out of the plot.
    let right = x_axis.ticks.last().map_or(0.0, |tick| {
        let past = x_axis.place(tick.at) * (WIDTH - left - 9.0) + tick.label.width(SMALL) / 2.0;
        past - (WIDTH - left - 9.0)
    });
    let mut area =
        Area { left, top: 0.0, width: WIDTH - left - 9.0 - right.max(0.0), height: HEIGHT };

    let mut top = 10.0;
    if !chart.title.trim().is_empty() {
        top += 22.0;
    }
    if y_axis.factor.is_some() {
        top += 12.0;
    }
    let shapes_at = |area: &Area| -> Vec<Shape> {
        chart.lines.iter().map(|line| Shape::new(line, &x_axis, &y_axis, area)).collect()
    };
    let mut shapes = shapes_at(&Area { top, ..area });
    let shown = legend::needed(&chart.lines, &chart.y_title);
    let boxed =
        if shown { legend::inside(&chart.lines, &shapes, &Area { top, ..area }) } else { None };
    let mut rows = Vec::new();
    if shown && boxed.is_none() {
        let (mut entries, height) = legend::above(&chart.lines, area.left, area.width);
        for entry in &mut entries {
            entry.at[1] += if chart.title.trim().is_empty() { 6.0 } else { 28.0 };
        }
        (rows, top) = (entries, top + height);
    }
    area.top = top;
    if boxed.is_none() {
        shapes = shapes_at(&area);
    }
    let height = area.bottom() + if chart.x_title.trim().is_empty() { 28.0 } else { 46.0 };

    let mut text = head(chart, height);
    grid(&mut text, &x_axis, &y_axis, &area);
    for (line, shape) in chart.lines.iter().zip(&shapes) {
        bands(&mut text, line, shape);
    }
    frame(&mut text, &x_axis, &y_axis, &area);
    titles(&mut text, chart, &x_axis, &y_axis, &area);
    for (line, shape) in chart.lines.iter().zip(&shapes) {
        curve(&mut text, line, shape);
    }
    if shapes.iter().all(|shape| shape.runs.is_empty() && shape.below.is_empty()) {
        let _ = writeln!(
            text,
            "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{LARGE}\" fill=\"#666666\">no figures</text>",
            short(area.left + area.width / 2.0),
            short(area.top + area.height / 2.0)
        );
    }
    if let Some(Inside { area, entries }) = boxed {
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
    names(&mut text, &chart.lines, &rows);
    text + "</svg>\n"
}

/// Whether something is marked at the foot of the axis.
pub(super) fn marked(chart: &Chart) -> bool {
    let (x_axis, y_axis) = axes(chart);
    let area = Area { left: 0.0, top: 0.0, width: WIDTH, height: HEIGHT };
    chart.lines.iter().any(|line| !Shape::new(line, &x_axis, &y_axis, &area).below.is_empty())
}

/// Both axes, wide enough for all there is to see.
fn axes(chart: &Chart) -> (Axis, Axis) {
    let points = || {
        let all = chart.lines.iter().flat_map(|line| &line.points);
        all.copied().filter(|point| point.iter().all(|a| a.is_finite()))
    };
    let banded: Vec<[f64; 2]> = chart
        .lines
        .iter()
        .flat_map(|line| {
            let band = line.band.as_deref().unwrap_or_default();
            line.points.iter().zip(band).filter(|(point, _)| point[0].is_finite())
        })
        .map(|(_, ends)| *ends)
        .filter(|ends| ends.iter().all(|a| a.is_finite()))
        .collect();
    let x_scale = if points().any(|[x, _]| x <= 0.0) { Scale::Linear } else { chart.x_scale };
    let x_axis = Axis::new(points().map(|[x, _]| x), x_scale, 6, 0.0);

    let values = || points().map(|[_, y]| y);
    let positive: Vec<f64> = values().filter(|&y| y > 0.0).collect();
    let powers =
        chart.y_scale == Scale::Logarithmic && !positive.is_empty() && values().all(|y| y >= 0.0);
    if !powers {
        let ends = banded.iter().flatten().copied();
        return (x_axis, Axis::new(values().chain(ends), Scale::Linear, 5, 0.05));
    }
    let foot = foot(positive, chart.lines.len());
    let seen = values().filter(|&y| y >= foot);
    // On powers a band may reach down to zero: one decade of it says enough.
    let ends = banded.iter().flatten().map(|end| end.max(foot / 10.0));
    (x_axis, Axis::new(seen.chain(ends), Scale::Logarithmic, 5, 0.05))
}

/// The least value that a logarithmic axis has to show: a few far below all others would press these together, as does
/// the rounding error that is left of a consensus at the start. They are marked at the foot instead.
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

fn head(chart: &Chart, height: f64) -> String {
    let whole = if chart.title.trim().is_empty() {
        format!("{} against {}", chart.y_title, chart.x_title)
    } else {
        chart.title.clone()
    };
    let height = short(height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"{FONT}\" text-anchor=\"middle\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escaped(&whole)
    )
}

/// Thin lines behind everything, at the ticks with labels.
fn grid(text: &mut String, x_axis: &Axis, y_axis: &Axis, area: &Area) {
    let mut path = String::new();
    for tick in &x_axis.ticks {
        let x = short(area.x(x_axis, tick.at));
        let _ = write!(path, "M{x} {}V{}", short(area.top), short(area.bottom()));
    }
    for tick in &y_axis.ticks {
        let y = short(area.y(y_axis, tick.at));
        let _ = write!(path, "M{} {y}H{}", short(area.left), short(area.right()));
    }
    let _ = writeln!(
        text,
        "<path class=\"grid\" d=\"{path}\" fill=\"none\" stroke=\"{GRID}\" stroke-width=\"0.8\"/>"
    );
}

/// The axes with their ticks and labels.
fn frame(text: &mut String, x_axis: &Axis, y_axis: &Axis, area: &Area) {
    let (left, bottom) = (area.left, area.bottom());
    let mut path =
        format!("M{} {}V{}H{}", short(left), short(area.top), short(bottom), short(area.right()));
    let all = |axis: &Axis| -> Vec<(f64, f64)> {
        let ticks = axis.ticks.iter().map(|tick| (tick.at, 4.5));
        ticks.chain(axis.minor.iter().map(|at| (*at, 2.5))).collect()
    };
    for (at, long) in all(x_axis) {
        let _ = write!(path, "M{} {}v{long}", short(area.x(x_axis, at)), short(bottom));
    }
    for (at, long) in all(y_axis) {
        let _ = write!(path, "M{} {}h-{long}", short(left), short(area.y(y_axis, at)));
    }
    let _ = writeln!(
        text,
        "<path class=\"axis\" d=\"{path}\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"0.9\"/>"
    );
    let _ = writeln!(text, "<g class=\"ink\" font-size=\"{SMALL}\" fill=\"{INK}\">");
    // Labels that would touch their neighbour are left out.
    let mut end = f64::NEG_INFINITY;
    for tick in &x_axis.ticks {
        let (x, half) = (area.x(x_axis, tick.at), tick.label.width(SMALL) / 2.0);
        if x - half > end + 3.0 {
            end = x + half;
            label(text, &tick.label, [x, bottom + 18.0], "");
        }
    }
    for tick in &y_axis.ticks {
        let y = area.y(y_axis, tick.at) + 0.35 * SMALL;
        label(text, &tick.label, [left - 8.0, y], " text-anchor=\"end\"");
    }
    *text += "</g>\n";
}

fn label(text: &mut String, label: &Label, [x, y]: [f64; 2], anchor: &str) {
    let _ = write!(text, "<text x=\"{}\" y=\"{}\"{anchor}>{}", short(x), short(y), label.word);
    if !label.raised.is_empty() {
        let _ = write!(
            text,
            "<tspan dy=\"{}\" font-size=\"{}\">{}</tspan>",
            short(-0.38 * SMALL),
            short(0.72 * SMALL),
            label.raised
        );
    }
    *text += "</text>\n";
}

fn titles(text: &mut String, chart: &Chart, x_axis: &Axis, y_axis: &Axis, area: &Area) {
    let _ = writeln!(text, "<g class=\"ink\" font-size=\"{LARGE}\" fill=\"{INK}\">");
    let middle = [area.left + area.width / 2.0, area.top + area.height / 2.0];
    if !chart.title.trim().is_empty() {
        // Bold letters are a little wider.
        let title = fitted(&chart.title, 1.08 * LARGE, WIDTH - 20.0);
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"19\" font-weight=\"bold\">{}</text>",
            short(WIDTH / 2.0),
            escaped(&title)
        );
    }
    if !chart.x_title.trim().is_empty() {
        let title = fitted(&chart.x_title, LARGE, area.width);
        let (x, y) = (short(middle[0]), short(area.bottom() + 37.0));
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&title));
    }
    if !chart.y_title.trim().is_empty() {
        let title = fitted(&chart.y_title, LARGE, area.height);
        let _ = writeln!(
            text,
            "<text transform=\"translate(16 {}) rotate(-90)\">{}</text>",
            short(middle[1]),
            escaped(&title)
        );
    }
    let mut factor = |words: &Option<String>, [x, y]: [f64; 2], anchor: &str| {
        if let Some(words) = words {
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\" font-size=\"{SMALL}\" text-anchor=\"{anchor}\">{words}</text>",
                short(x),
                short(y)
            );
        }
    };
    factor(&y_axis.factor, [area.left, area.top - 7.0], "start");
    factor(&x_axis.factor, [area.right(), area.bottom() + 34.0], "end");
    *text += "</g>\n";
}

fn bands(text: &mut String, line: &Line, shape: &Shape) {
    let mut path = String::new();
    for band in &shape.bands {
        let mut letter = 'M';
        for slice in band {
            let _ = write!(path, "{letter}{} {}", short(slice.x), short(slice.upper));
            letter = 'L';
        }
        for slice in band.iter().rev() {
            let _ = write!(path, "L{} {}", short(slice.x), short(slice.lower));
        }
        path.push('Z');
    }
    if !path.is_empty() {
        let colour = look(line).0;
        let _ = writeln!(text, "<path d=\"{path}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>");
    }
}

fn curve(text: &mut String, line: &Line, shape: &Shape) {
    let (colour, _) = look(line);
    let mut path = String::new();
    for run in shape.runs.iter().filter(|run| run.len() > 1) {
        let mut letter = 'M';
        for [x, y] in run {
            let _ = write!(path, "{letter}{} {}", short(*x), short(*y));
            letter = 'L';
        }
    }
    if !path.is_empty() {
        let _ = writeln!(text, "<path d=\"{path}\" {}/>", stroke(line));
    }
    for run in &shape.runs {
        // A point alone would not be seen.
        if shape.marked || run.len() == 1 {
            for [x, y] in run {
                let (x, y) = (short(*x), short(*y));
                let _ =
                    writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.6\" fill=\"{colour}\"/>");
            }
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

fn stroke(line: &Line) -> String {
    let (colour, dashes) = look(line);
    let dashed =
        if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dashed}"
    )
}

/// The legend's rows.
fn names(text: &mut String, lines: &[Line], entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "<g font-size=\"{SIZE}\" text-anchor=\"start\">");
    for Entry { line, name, at: [x, y] } in entries {
        let line = &lines[*line];
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
        let whole = if *name == line.name {
            String::new()
        } else {
            format!("<title>{}</title>", escaped(&line.name))
        };
        let _ = writeln!(
            text,
            "<text class=\"ink\" x=\"{}\" y=\"{}\" fill=\"{INK}\">{whole}{}</text>",
            short(x + SAMPLE + GAP),
            short(y + 0.35 * SIZE),
            escaped(name)
        );
    }
    *text += "</g>\n";
}

/// A hundredth of a unit is finer than any printer.
fn short(a: f64) -> String {
    let word = format!("{a:.2}");
    let word = word.trim_end_matches('0').trim_end_matches('.');
    if word == "-0" { "0".into() } else { word.into() }
}
