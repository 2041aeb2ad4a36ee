//! What the metrics of a figure mean, in a line below it.

use super::Figure;
use crate::metrics::Metric;
use crate::plot::capital;

/// Figures with what their metrics mean.
#[must_use]
pub fn captioned(figures: Vec<Figure>) -> Vec<Figure> {
    figures.into_iter().map(with_caption).collect()
}

fn with_caption(figure: Figure) -> Figure {
    let metrics = figure.columns.iter().filter_map(|name| Metric::named(name));
    let mut words: Vec<&str> = metrics.map(Metric::about).collect();
    // The three accuracies say the same of other samples.
    words.truncate(if figure.columns.len() > 1 { 1 } else { words.len() });
    let text = match words[..] {
        [] => String::new(),
        [about] if figure.columns.len() > 1 => about.replace("training ", ""),
        _ => words.join("; "),
    };
    let stop = if text.is_empty() { "" } else { "." };
    figure.explained(&(capital(&text) + stop))
}
