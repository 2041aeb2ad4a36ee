//! The legend: in a place without lines, or above the plot.

use std::fmt::Write as _;

use super::Line;
use super::frame::{INK, short};
use super::shape::{Area, Place, Shape};
use super::text::{escaped, fitted, width};

/// Its font size.
pub(crate) const SIZE: f64 = 11.5;
/// The height of a row.
pub(crate) const ROW: f64 = 16.0;
/// The length of a sample of a line.
pub(crate) const SAMPLE: f64 = 26.0;
/// The space between a sample and its name, and around the legend.
pub(crate) const GAP: f64 = 6.0;

/// A name and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The number of the line or part it stands for.
    pub line: usize,
    /// Its name, cut to fit.
    pub name: String,
    /// Where its sample starts, in the middle of the row.
    pub at: Place,
}

/// Whether a legend is needed.
pub(crate) fn needed(lines: &[Line], y_title: &str) -> bool {
    match lines {
        [] => false,
        [line] => !line.name.is_empty() && line.name != y_title,
        _ => true,
    }
}

/// A box inside the plot that no line touches, in a corner if possible, and the names in it; none if there is no such
/// place.
pub(crate) fn inside(lines: &[Line], shapes: &[Shape], plot: &Area) -> Option<(Area, Vec<Entry>)> {
    let room = 0.5 * plot.width - SAMPLE - 3.0 * GAP;
    let widest = lines.iter().map(|line| width(&line.name, SIZE)).fold(0.0, f64::max);
    let size = [SAMPLE + 3.0 * GAP + widest, ROW * lines.len() as f64 + GAP];
    if widest > room || size[1] > 0.55 * plot.height {
        return None;
    }
    let free = [plot.width - size[0] - 8.0, plot.height - size[1] - 8.0];
    // Right before left, top before bottom, corners before the places between them.
    let places = [
        [1.0, 0.0],
        [1.0, 1.0],
        [0.0, 0.0],
        [0.0, 1.0],
        [1.0, 0.5],
        [0.5, 0.0],
        [0.5, 1.0],
        [0.0, 0.5],
        [0.75, 0.0],
        [0.25, 0.0],
    ];
    let areas = places.map(|[x, y]| Area {
        left: plot.left + 4.0 + x * free[0],
        top: plot.top + 4.0 + y * free[1],
        width: size[0],
        height: size[1],
    });
    let area = areas.into_iter().find(|area| shapes.iter().all(|shape| clear(shape, area)))?;
    let entries = lines.iter().enumerate().map(|(line, Line { name, .. })| {
        let at = [area.left + GAP, area.top + GAP / 2.0 + ROW * (line as f64 + 0.5)];
        Entry { line, name: fitted(name, SIZE, room), at }
    });
    Some((area, entries.collect()))
}

/// Names in rows as wide as the plot, below the picture's title if it has one, and how high they are. In front of each
/// is a sample of the given width, and after it the given gap.
pub(crate) fn above<'a>(
    names: impl Iterator<Item = &'a str>,
    title: &str,
    [sample, gap]: [f64; 2],
    left: f64,
    room: f64,
) -> (Vec<Entry>, f64) {
    let top = if title.trim().is_empty() { 6.0 } else { 28.0 };
    let (mut x, mut y) = (left, ROW / 2.0);
    let mut entries = Vec::new();
    for (line, name) in names.enumerate() {
        let name = fitted(name, SIZE, room - sample - GAP);
        let wide = sample + GAP + width(&name, SIZE);
        if x > left && x + wide > left + room {
            (x, y) = (left, y + ROW);
        }
        entries.push(Entry { line, name, at: [x, top + y] });
        x += wide + gap;
    }
    (entries, y + ROW / 2.0 + GAP)
}

/// Writes a name in the middle of its row; if it was cut to fit, the whole of it is its title.
pub(crate) fn write(text: &mut String, [x, y]: Place, name: &str, whole: &str) {
    let title =
        if name == whole { String::new() } else { format!("<title>{}</title>", escaped(whole)) };
    let _ = writeln!(
        text,
        "<text class=\"ink\" x=\"{}\" y=\"{}\" fill=\"{INK}\">{title}{}</text>",
        short(x),
        short(y + 0.35 * SIZE),
        escaped(name)
    );
}

/// Whether a shape stays out of a box and a small margin around it.
fn clear(shape: &Shape, area: &Area) -> bool {
    let (low, high) =
        ([area.left - 5.0, area.top - 5.0], [area.right() + 5.0, area.bottom() + 5.0]);
    let within = |place: &Place| (0..2).all(|i| (low[i]..=high[i]).contains(&place[i]));
    let lines = shape.runs.iter().all(|run| {
        !run.iter().any(within) && run.windows(2).all(|pair| !crosses(pair[0], pair[1], low, high))
    });
    let bands = shape.bands.iter().all(|band| {
        band.windows(2).all(|pair| {
            let [a, b] = [pair[0], pair[1]];
            a.x.max(b.x) < low[0]
                || a.x.min(b.x) > high[0]
                || a.upper.min(b.upper) > high[1]
                || a.lower.max(b.lower) < low[1]
        })
    });
    lines && bands && !shape.below.iter().any(within)
}

/// Whether a straight line crosses a box: it is clipped at each side in turn.
fn crosses(a: Place, b: Place, low: Place, high: Place) -> bool {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for i in 0..2 {
        let way = b[i] - a[i];
        if way == 0.0 {
            if !(low[i]..=high[i]).contains(&a[i]) {
                return false;
            }
            continue;
        }
        let (enter, leave) = ((low[i] - a[i]) / way, (high[i] - a[i]) / way);
        from = from.max(enter.min(leave));
        to = to.min(enter.max(leave));
    }
    from <= to
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Area = Area { left: 0.0, top: 0.0, width: 400.0, height: 200.0 };

    fn shape(run: &[Place]) -> Shape {
        Shape { runs: vec![run.to_vec()], ..Shape::default() }
    }

    #[test]
    fn the_legend_avoids_the_lines() {
        let lines = ["one", "two"].map(|name| Line::new(name, Vec::new()));
        let falling = shape(&[[0.0, 0.0], [40.0, 180.0], [400.0, 195.0]]);
        let (area, _) = inside(&lines, &[falling], &PLOT).unwrap();
        assert!(area.left > 200.0 && area.top < 20.0, "{area:?}");
        let rising = shape(&[[0.0, 200.0], [40.0, 20.0], [400.0, 5.0]]);
        let (area, _) = inside(&lines, &[rising], &PLOT).unwrap();
        assert!(area.left > 200.0 && area.bottom() > 180.0, "{area:?}");
        // A zigzag across the plot leaves no room.
        let everywhere: Vec<Place> =
            (0..40).map(|k| [f64::from(k) * 10.0, f64::from(k % 2) * 200.0]).collect();
        assert_eq!(inside(&lines, &[shape(&everywhere)], &PLOT), None);
    }

    #[test]
    fn rows_above_are_no_wider_than_the_plot() {
        let names: Vec<String> = (0..9).map(|k| "x".repeat(k * 30)).collect();
        let (entries, height) =
            above(names.iter().map(String::as_str), "", [SAMPLE, 18.0], 50.0, 300.0);
        assert!(entries.len() == 9 && height > 5.0 * ROW);
        for entry in entries {
            let end = entry.at[0] + SAMPLE + GAP + width(&entry.name, SIZE);
            assert!(end <= 350.0 && entry.at[1] < height, "{entry:?}");
        }
    }

    #[test]
    fn a_line_through_a_box_crosses_it() {
        let (low, high) = ([1.0, 1.0], [2.0, 2.0]);
        assert!(crosses([0.0, 0.0], [3.0, 3.0], low, high));
        assert!(crosses([1.5, 0.0], [1.5, 9.0], low, high));
        assert!(!crosses([0.0, 2.0], [1.0, 3.0], low, high));
        assert!(!crosses([0.0, 0.0], [0.5, 0.5], low, high));
    }
}
