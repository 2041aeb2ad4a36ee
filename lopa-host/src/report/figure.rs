//! A figure of a report: a drawing and its explanation.

use crate::plot::{Bars, Chart};

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// Lines.
    Chart(Chart),
    /// Bars.
    Bars(Bars),
}

impl Drawing {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.svg(),
            Self::Bars(bars) => bars.svg(),
        }
    }

    /// Its title, to be changed.
    pub const fn title_mut(&mut self) -> &mut String {
        match self {
            Self::Chart(Chart { title, .. }) | Self::Bars(Bars { title, .. }) => title,
        }
    }

    /// Its name: the title, or that of the vertical axis.
    #[must_use]
    pub fn name(&self) -> &str {
        let (Self::Chart(Chart { title, y_title, .. }) | Self::Bars(Bars { title, y_title, .. })) =
            self;
        if title.trim().is_empty() { y_title } else { title }
    }

    /// Its lines, if it has any.
    #[must_use]
    pub const fn chart(&self) -> Option<&Chart> {
        match self {
            Self::Chart(chart) => Some(chart),
            Self::Bars(_) => None,
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
