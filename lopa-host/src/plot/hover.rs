//! The values of a chart's lines, shown where a pointer is: for pages, whose style sheet hides and shows them.

use std::fmt::Write as _;

use super::Line;
use super::axis::Axis;
use super::chart::COLOURS;
use super::frame::{INK, SMALL, WIDTH, short};
use super::shape::Area;
use super::text::{escaped, fitted, width};
use crate::numerics::number;

/// The least distance of two places with values: closer ones could not be pointed at.
const APART: f64 = 6.0;
/// The height of a line of text.
const ROW: f64 = 15.0;

/// Adds, for every few units across the plot, a slice that shows the lines' values there while a pointer is over it.
pub(super) fn add(
    text: &mut String,
    lines: &[Line],
    [x_axis, y_axis]: [&Axis; 2],
    area: &Area,
    x_title: &str,
) {
    let columns = columns(lines, x_axis, area);
    for (at, column) in columns.iter().enumerate() {
        let before = at.checked_sub(1).map_or(area.left, |k| (columns[k].at + column.at) / 2.0);
        let after = columns.get(at + 1).map_or(area.right(), |next| (column.at + next.at) / 2.0);
        let _ = write!(
            text,
            "<g class=\"slice\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" pointer-events=\"all\"/>\
             <g class=\"tip\">",
            short(before),
            short(area.top),
            short((after - before).max(0.0)),
            short(area.height)
        );
        column.tip(text, lines, y_axis, area, x_title);
        *text += "</g></g>\n";
    }
}

/// What is shown at one place: the number of each line that has a point there, and the number of that point.
struct Column {
    at: f64,
    points: Vec<(usize, usize)>,
}

/// The last point of every line in each slice of the plot.
fn columns(lines: &[Line], x_axis: &Axis, area: &Area) -> Vec<Column> {
    let slices = (area.width / APART).floor().max(1.0);
    let mut all: Vec<Option<Column>> = Vec::new();
    all.resize_with(slices as usize + 1, || None);
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_guide) {
        for (point, [x, y]) in line.points.iter().enumerate() {
            if !(x.is_finite() && y.is_finite()) {
                continue;
            }
            let share = x_axis.place(*x);
            let own = all[(share * slices) as usize]
                .get_or_insert(Column { at: area.left + share * area.width, points: Vec::new() });
            match own.points.last_mut() {
                Some(last) if last.0 == number => last.1 = point,
                _ => own.points.push((number, point)),
            }
        }
    }
    all.into_iter().flatten().collect()
}

impl Column {
    /// A thin line, dots on the lines, and the values in a box beside it.
    fn tip(&self, text: &mut String, lines: &[Line], y_axis: &Axis, area: &Area, x_title: &str) {
        let Some(&(line, point)) = self.points.first() else { return };
        let mut words = vec![format!("{x_title} {}", number(lines[line].points[point][0]))];
        let across = short(self.at);
        let _ = write!(
            text,
            "<path class=\"axis\" d=\"M{across} {}V{}\" stroke=\"{INK}\" stroke-width=\"0.6\"/>",
            short(area.top),
            short(area.bottom())
        );
        for &(line, point) in &self.points {
            let Line { name, points, band, .. } = &lines[line];
            let value = points[point][1];
            let mut own = format!("{name} {}", number(value));
            if let Some([low, high]) = band.as_ref().and_then(|band| band.get(point))
                && low < high
            {
                own += &format!(" ({} to {})", number(*low), number(*high));
            }
            words.push(own);
            let (y, colour) =
                (short(area.y(y_axis, value)), COLOURS[lines[line].look % COLOURS.len()]);
            let _ =
                write!(text, "<circle cx=\"{across}\" cy=\"{y}\" r=\"2.8\" fill=\"{colour}\"/>");
        }
        let room = WIDTH - 24.0;
        let words: Vec<String> = words.iter().map(|own| fitted(own.trim(), SMALL, room)).collect();
        // Machines without these fonts usually have a wider one.
        let wide = words.iter().map(|own| 1.18 * width(own, SMALL)).fold(0.0, f64::max) + 12.0;
        let free = (WIDTH - wide - 2.0).max(2.0);
        let beside = if self.at < area.left + area.width / 2.0 {
            self.at + 8.0
        } else {
            self.at - 8.0 - wide
        };
        let (left, top) = (beside.clamp(2.0, free), area.top + 4.0);
        let _ = write!(
            text,
            "<rect class=\"paper\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\" \
             fill-opacity=\"0.94\"/><text class=\"ink\" font-size=\"{SMALL}\" text-anchor=\"start\" fill=\"{INK}\">",
            short(left),
            short(top),
            short(wide),
            short(ROW * words.len() as f64 + 5.0)
        );
        for (row, own) in words.iter().enumerate() {
            let y = top + ROW * (row as f64 + 0.8);
            let _ = write!(
                text,
                "<tspan x=\"{}\" y=\"{}\">{}</tspan>",
                short(left + 6.0),
                short(y),
                escaped(own)
            );
        }
        *text += "</text>";
    }
}
