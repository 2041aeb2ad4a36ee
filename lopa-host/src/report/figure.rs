//! A figure of a report: a drawing and its explanation.

use crate::plot::{Bars, Chart, HeatMap, Levels};

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// Lines.
    Chart(Chart),
    /// Bars.
    Bars(Bars),
    /// Values beside their names.
    Levels(Levels),
    /// Colours.
    HeatMap(HeatMap),
}

impl Drawing {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.svg(),
            Self::Bars(bars) => bars.svg(),
            Self::Levels(levels) => levels.svg(),
            Self::HeatMap(map) => map.svg(),
        }
    }

    /// The picture for a page, which shows its values where a pointer is.
    #[must_use]
    pub fn svg_with_values(&self) -> String {
        match self {
            Self::Chart(chart) => chart.svg_with_values(),
            Self::HeatMap(map) => map.svg_with_values(),
            Self::Bars(_) | Self::Levels(_) => self.svg(),
        }
    }

    /// Its title, to be changed.
    pub const fn title_mut(&mut self) -> &mut String {
        match self {
            Self::Chart(Chart { title, .. })
            | Self::Bars(Bars { title, .. })
            | Self::Levels(Levels { title, .. })
            | Self::HeatMap(HeatMap { title, .. }) => title,
        }
    }

    /// Its name: the title, or that of what it shows.
    #[must_use]
    pub fn name(&self) -> &str {
        let (Self::Chart(Chart { title, y_title: other, .. })
        | Self::Bars(Bars { title, y_title: other, .. })
        | Self::Levels(Levels { title, x_title: other, .. })
        | Self::HeatMap(HeatMap { title, value_title: other, .. })) = self;
        if title.trim().is_empty() { other } else { title }
    }

    /// Its lines, if it has any.
    #[must_use]
    pub const fn chart(&self) -> Option<&Chart> {
        match self {
            Self::Chart(chart) => Some(chart),
            _ => None,
        }
    }
}

/// A drawing and its explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The name of its file, without ending: small letters, digits, `_` and `-` only.
    pub stem: String,
    /// The names of the columns it shows; none if it does not show a record.
    pub columns: Vec<String>,
    /// The drawing.
    pub drawing: Drawing,
    /// What it means, in a line.
    pub explanation: String,
}

impl Figure {
    /// A drawing of these columns; other characters in `stem` become `-`.
    #[must_use]
    pub fn new(stem: &str, columns: Vec<String>, drawing: Drawing) -> Self {
        let plain = |letter: char| match letter.to_ascii_lowercase() {
            fine @ ('a'..='z' | '0'..='9' | '_' | '-') => fine,
            _ => '-',
        };
        let stem = stem.chars().map(plain).collect();
        Self { stem, columns, drawing, explanation: String::new() }
    }

    /// Adds an explanation before the one it has.
    #[must_use]
    pub fn explained(mut self, explanation: &str) -> Self {
        let both = [explanation.trim(), self.explanation.trim()];
        self.explanation = both.join(" ").trim().to_owned();
        self
    }
}
