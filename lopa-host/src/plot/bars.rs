//! Stacked bars, such as how many samples of each class every node has.

use std::fmt::Write as _;

use super::axis::{Axis, Label, Tick};
use super::chart::COLOURS;
use super::frame::{self, Titles, short};
use super::legend::{self, Entry, GAP, SIZE};
use super::shape::Area;
use super::text::{escaped, fitted, width};
use crate::record::Scale;

/// More colours, for areas: the yellow of Okabe and Ito, which is too light for lines, and two that differ from all
/// others, also for people who do not see red or green.
const MORE: [&str; 3] = ["#f0e442", "#4b0082", "#fbb4ae"];
/// The size of a colour patch in the legend.
const PATCH: f64 = 10.0;
/// The part of its slot that a bar fills.
const FILLED: f64 = 0.8;

/// Stacked bars of counts, with one colour per part.
///
/// There are ten colours; with more parts they repeat. The order is the same in every bar.
///
/// ```
/// use lopa_host::plot::Bars;
/// let svg = Bars {
///     title: "two nodes".into(),
///     x_title: "node".into(),
///     y_title: "samples".into(),
///     part_title: "class".into(),
///     parts: vec!["cat".into(), "dog".into()],
///     counts: vec![vec![30, 10], vec![0, 40]],
/// }
/// .svg();
/// assert!(svg.starts_with("<svg") && svg.contains("node 0, cat: 30"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bars {
    /// Above the plot; left out if empty.
    pub title: String,
    /// Below the bars: what they are. Bars are numbered from 0.
    pub x_title: String,
    /// Along the vertical axis: what is counted.
    pub y_title: String,
    /// In front of the legend: what the parts are.
    pub part_title: String,
    /// The names of the parts, from the bottom up.
    pub parts: Vec<String>,
    /// One row per bar, one column per part. Missing counts are zero; parts without a name are left out.
    pub counts: Vec<Vec<usize>>,
}

impl Bars {
    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let (x_axis, y_axis) = (self.x_axis(), self.y_axis());
        let titles = Titles { title: &self.title, x: &self.x_title, y: &self.y_title };
        let top = frame::top(&titles, &y_axis);
        let (area, _) = frame::area(&titles, &x_axis, &y_axis, top);
        // The legend is above the plot: bars leave no place for it.
        let words = fitted(self.part_title.trim(), SIZE, 0.4 * area.width);
        let indent = if words.is_empty() { 0.0 } else { width(&words, SIZE) + 2.0 * GAP };
        let names = self.parts.iter().map(String::as_str);
        let (left, room, patch) = (area.left + indent, area.width - indent, [PATCH, 1.75 * GAP]);
        let (entries, above) = legend::above(names, &self.title, patch, left, room);
        let above = if entries.is_empty() { 0.0 } else { above };
        let (area, height) = frame::area(&titles, &x_axis, &y_axis, top + above);

        let mut text = frame::head(&titles, height);
        frame::grid(&mut text, None, &y_axis, &area);
        self.bars(&mut text, &x_axis, &y_axis, &area);
        frame::frame(&mut text, &x_axis, &y_axis, &area);
        frame::titles(&mut text, &titles, &x_axis, &y_axis, &area);
        self.names(&mut text, &entries, &words, area.left);
        text + "</svg>\n"
    }

    /// The boundaries of a bar's parts.
    fn ends(&self, bar: &[usize]) -> Vec<f64> {
        let mut ends = vec![0.0];
        for part in 0..self.parts.len() {
            ends.push(ends[part] + bar.get(part).copied().unwrap_or(0) as f64);
        }
        ends
    }

    /// One place per bar; as many are numbered as there is room for.
    fn x_axis(&self) -> Axis {
        let count = self.counts.len().max(1);
        let every = [1, 2, 5, 10, 20, 50, 100].into_iter().find(|step| count / step <= 20);
        let numbered = (0..self.counts.len()).step_by(every.unwrap_or(count));
        let tick = |bar: usize| Tick { at: bar as f64, label: Label::plain(bar.to_string()) };
        let ticks = numbered.map(tick).collect();
        Axis { ticks, ..Axis::bare(Scale::Linear, -0.5, count as f64 - 0.5) }
    }

    fn y_axis(&self) -> Axis {
        let ends = self.counts.iter().flat_map(|bar| self.ends(bar));
        // From zero up to at least one, or there would be no axis.
        Axis::new(ends.chain([0.0, 1.0]), Scale::Linear, 5, 0.05)
    }

    /// One group per part, so that its colour is written once.
    fn bars(&self, text: &mut String, x_axis: &Axis, y_axis: &Axis, area: &Area) {
        let room = area.width / self.counts.len().max(1) as f64;
        let wide = FILLED * room;
        // Thin seams, for people to whom two colours look alike.
        *text += "<g class=\"seam\" stroke=\"#ffffff\" stroke-width=\"0.4\">\n";
        for (part, name) in self.parts.iter().enumerate() {
            let _ = writeln!(text, "<g fill=\"{}\">", colour(part));
            for (bar, counts) in self.counts.iter().enumerate() {
                let own = counts.get(part).copied().unwrap_or(0);
                if own == 0 {
                    continue;
                }
                let ends = self.ends(counts);
                let [foot, head] = [ends[part], ends[part + 1]].map(|end| area.y(y_axis, end));
                let _ = writeln!(
                    text,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} {bar}, {}: {own}</title></rect>",
                    short(area.x(x_axis, bar as f64) - wide / 2.0),
                    short(head),
                    short(wide),
                    short(foot - head),
                    escaped(&self.x_title),
                    escaped(name)
                );
            }
            *text += "</g>\n";
        }
        *text += "</g>\n";
    }

    /// The legend.
    fn names(&self, text: &mut String, entries: &[Entry], words: &str, left: f64) {
        let Some(first) = entries.first() else { return };
        let _ = writeln!(text, "<g font-size=\"{SIZE}\" text-anchor=\"start\">");
        if !words.is_empty() {
            legend::write(text, [left, first.at[1]], words, self.part_title.trim());
        }
        for Entry { line, name, at: [x, y] } in entries {
            legend::write(text, [x + PATCH + GAP, *y], name, &self.parts[*line]);
        }
        for Entry { line, at: [x, y], .. } in entries {
            let _ = writeln!(
                text,
                "<rect class=\"patch\" x=\"{}\" y=\"{}\" width=\"{PATCH}\" height=\"{PATCH}\" fill=\"{}\"/>",
                short(*x),
                short(y - PATCH / 2.0),
                colour(*line)
            );
        }
        *text += "</g>\n";
    }
}

fn colour(part: usize) -> &'static str {
    let at = part % (COLOURS.len() + MORE.len());
    at.checked_sub(COLOURS.len()).map_or_else(|| COLOURS[at], |more| MORE[more])
}
