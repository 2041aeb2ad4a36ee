//! Tables of a report.

use crate::metrics::Metric;
use crate::numerics::number;
use crate::plot::escaped;
use crate::record::{Record, Scale};

/// A table: text in its first column, values in the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The heading above it.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Whether cells are sentences: all but the last of a row may wrap.
    pub prose: bool,
    /// What it means, in a line below it.
    pub caption: String,
}

impl Table {
    /// A table of values.
    ///
    /// ```
    /// use lopa_host::report::Table;
    /// let table = Table::new("Was it worth it?", ["", "test accuracy"], [["LoPA", "0.90"], ["alone", "0.88"]])
    ///     .explained("Means over nodes.");
    /// assert_eq!(table.rows[1], ["alone", "0.88"]);
    /// ```
    #[must_use]
    pub fn new<const N: usize>(
        title: &str,
        head: [impl Into<String>; N],
        rows: impl IntoIterator<Item = [impl Into<String>; N]>,
    ) -> Self {
        Self {
            title: title.into(),
            head: head.map(Into::into).into(),
            rows: rows.into_iter().map(|row| row.map(Into::into).into()).collect(),
            ..Self::default()
        }
    }

    /// Adds a line on what it means.
    #[must_use]
    pub fn explained(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    /// The table as part of a page.
    pub(super) fn html(&self) -> String {
        let row = |cells: &[String], tag: &str| {
            let cells: String =
                cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            format!("<tr>{cells}</tr>\n")
        };
        let rows: String = self.rows.iter().map(|cells| row(cells, "td")).collect();
        let prose = if self.prose { " class=\"prose\"" } else { "" };
        let mut text = format!(
            "<h2>{}</h2>\n<div class=\"card\"><div class=\"wide\" tabindex=\"0\"><table{prose}>\n\
             <thead>{}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            escaped(&self.title),
            row(&self.head, "th").trim_end()
        );
        if !self.caption.is_empty() {
            text += &format!("<p class=\"caption\">{}</p>\n", escaped(&self.caption));
        }
        text + "</div>\n"
    }
}

/// The first, best and last value of every column, and the iteration of the best one.
///
/// Accuracies are best when large, losses and errors (drawn on a logarithmic axis) when small; counts have no best.
#[must_use]
pub fn summary(record: &Record) -> Table {
    let head = ["metric", "first", "best", "at iteration", "last"].map(str::to_owned).into();
    let iterations = record.values("iteration").unwrap_or_default();
    let nothing = || "\u{2013}".to_owned();
    let mut rows = Vec::new();
    for column in record.columns().iter().filter(|column| column.name != "iteration") {
        let values: Vec<(usize, f64)> = record
            .values(&column.name)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .filter_map(|(at, value)| value.filter(|a| a.is_finite()).map(|a| (at, a)))
            .collect();
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let sign = Metric::named(&column.name).map_or(-1.0, Metric::sign);
        let best = (sign > 0.0 || column.scale == Scale::Logarithmic).then(|| {
            let better = |best: (usize, f64), next: &(usize, f64)| {
                if sign * next.1 > sign * best.1 { *next } else { best }
            };
            values.iter().fold(*first, better)
        });
        let when = best.and_then(|(at, _)| iterations.get(at).copied().flatten());
        rows.push(vec![
            column.title.clone(),
            number(first.1),
            best.map_or_else(nothing, |(_, value)| number(value)),
            when.map_or_else(nothing, number),
            number(last.1),
        ]);
    }
    Table { title: "First, best and last".into(), head, rows, ..Table::default() }
}
