//! The parts of every picture with axes: the background, the axes, their ticks and titles.
//!
//! Ink, grid and paper have classes of their own, so that a page can recolour them for a dark screen.

use std::fmt::Write as _;

use super::axis::{Axis, Label};
use super::shape::{Area, Place};
use super::text::{escaped, fitted, width};

/// The width of a picture: scaled to three quarters, it fits the column of a paper.
pub(super) const WIDTH: f64 = 440.0;
/// The height of the plot between the axes.
pub(super) const HEIGHT: f64 = 224.0;
/// The font size at ticks.
pub(super) const SMALL: f64 = 11.5;
/// The font size of the axes' titles.
pub(super) const LARGE: f64 = 13.0;
/// The fonts; all but the last have the same widths.
const FONT: &str = "Arimo, Helvetica, Arial, Liberation Sans, sans-serif";
/// The colour of text and axes.
pub(super) const INK: &str = "#222222";
const GRID: &str = "#e4e7ea";

/// The titles around a plot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Titles<'a> {
    /// Above it.
    pub title: &'a str,
    /// Below the horizontal axis.
    pub x: &'a str,
    /// Along the vertical axis.
    pub y: &'a str,
}

/// The place of a plot whose top edge is at `top`, with room for the labels of its axes, and the height of the picture.
pub(super) fn area(titles: &Titles<'_>, x_axis: &Axis, y_axis: &Axis, top: f64) -> (Area, f64) {
    // Machines without these fonts usually have a wider one.
    let labels = y_axis.ticks.iter().map(|tick| 1.18 * tick.label.width(SMALL));
    let title_room = if titles.y.trim().is_empty() { 6.0 } else { 22.0 };
    let left = (title_room + labels.fold(0.0, f64::max) + 9.0).clamp(56.0, 0.5 * WIDTH);
    // The last label may extend beyond the plot.
    let right = x_axis.ticks.last().map_or(0.0, |tick| {
        let past = x_axis.place(tick.at) * (WIDTH - left - 9.0) + tick.label.width(SMALL) / 2.0;
        past - (WIDTH - left - 9.0)
    });
    let area = Area { left, top, width: WIDTH - left - 9.0 - right.max(0.0), height: HEIGHT };
    let below = if titles.x.trim().is_empty() { 28.0 } else { 46.0 };
    (area, area.bottom() + below)
}

/// The room that the title and the common factor of the labels take above a plot.
pub(super) fn top(titles: &Titles<'_>, y_axis: &Axis) -> f64 {
    let title = if titles.title.trim().is_empty() { 0.0 } else { 22.0 };
    10.0 + title + if y_axis.factor.is_some() { 12.0 } else { 0.0 }
}

/// The beginning of a picture, with a white background.
pub(super) fn head(titles: &Titles<'_>, height: f64) -> String {
    let whole = match (titles.title.trim(), titles.y.trim()) {
        ("", "") => titles.x.to_owned(),
        ("", _) => format!("{} against {}", titles.y, titles.x),
        _ => titles.title.to_owned(),
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

/// Thin lines behind everything at the ticks with labels; vertical ones only with an `x_axis`.
pub(super) fn grid(text: &mut String, x_axis: Option<&Axis>, y_axis: &Axis, area: &Area) {
    let mut path = String::new();
    for (axis, tick) in x_axis.iter().flat_map(|axis| axis.ticks.iter().map(move |t| (axis, t))) {
        let x = short(area.x(axis, tick.at));
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
pub(super) fn frame(text: &mut String, x_axis: &Axis, y_axis: &Axis, area: &Area) {
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
    // Labels that would touch their neighbours are left out.
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

fn label(text: &mut String, label: &Label, at: Place, anchor: &str) {
    let mut words = label.word.clone();
    if !label.raised.is_empty() {
        let (up, size) = (short(-0.38 * SMALL), short(0.72 * SMALL));
        words += &format!("<tspan dy=\"{up}\" font-size=\"{size}\">{}</tspan>", label.raised);
    }
    write(text, at, anchor, &words);
}

/// A text at a place.
fn write(text: &mut String, [x, y]: Place, attributes: &str, words: &str) {
    let (x, y) = (short(x), short(y));
    let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\"{attributes}>{words}</text>");
}

/// The titles, and the common factors of the labels.
pub(super) fn titles(
    text: &mut String,
    titles: &Titles<'_>,
    x_axis: &Axis,
    y_axis: &Axis,
    area: &Area,
) {
    let _ = writeln!(text, "<g class=\"ink\" font-size=\"{LARGE}\" fill=\"{INK}\">");
    let middle = [area.left + area.width / 2.0, area.top + area.height / 2.0];
    if !titles.title.trim().is_empty() {
        // Bold letters are a little wider.
        let title = fitted(titles.title, 1.08 * LARGE, WIDTH - 20.0);
        write(text, [WIDTH / 2.0, 19.0], " font-weight=\"bold\"", &escaped(&title));
    }
    if !titles.x.trim().is_empty() {
        let (title, size) = sized(titles.x, area.width);
        write(text, [middle[0], area.bottom() + 37.0], &size, &escaped(&title));
    }
    if !titles.y.trim().is_empty() {
        let (title, size) = sized(titles.y, area.height);
        let _ = writeln!(
            text,
            "<text transform=\"translate(16 {}) rotate(-90)\"{size}>{}</text>",
            short(middle[1]),
            escaped(&title)
        );
    }
    for (factor, at, anchor) in [
        (&y_axis.factor, [area.left, area.top - 7.0], "start"),
        (&x_axis.factor, [area.right(), area.bottom() + 34.0], "end"),
    ] {
        if let Some(words) = factor {
            write(text, at, &format!(" font-size=\"{SMALL}\" text-anchor=\"{anchor}\""), words);
        }
    }
    *text += "</g>\n";
}

/// A title in letters that are small enough for it, as long as they can be read, and the attribute for that.
fn sized(title: &str, room: f64) -> (String, String) {
    let share = (room / width(title, LARGE)).clamp(0.7, 1.0);
    let size = if share < 1.0 {
        format!(" font-size=\"{}\"", short(share * LARGE))
    } else {
        String::new()
    };
    (fitted(title, share * LARGE, room), size)
}

/// A coordinate with two decimals: a hundredth of a unit is finer than any printer.
pub(super) fn short(a: f64) -> String {
    let word = format!("{a:.2}");
    let word = word.trim_end_matches('0').trim_end_matches('.');
    if word == "-0" { "0".into() } else { word.into() }
}
