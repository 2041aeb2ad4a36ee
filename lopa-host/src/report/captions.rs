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
    let metric = figure.columns.iter().find_map(|name| Metric::named(name));
    let Some(about) = metric.map(Metric::about) else { return figure };
    // The three accuracies say the same of other samples.
    let common =
        if figure.columns.len() > 1 { about.replace("training ", "") } else { about.into() };
    figure.explained(&format!("{}.", capital(&common)))
}
