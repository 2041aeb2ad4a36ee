//! A model applied to new samples.

use super::{Folded, Model, ModelError, Target};
use crate::csv;
use crate::data::Fresh;

/// What a model predicts for the samples of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    header: Vec<String>,
    /// One per sample.
    pub rows: Vec<Prediction>,
    /// How good they are, if the file has labels.
    pub quality: Option<Quality>,
}

/// What a model predicts for a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The class by name, or the number in the units of the file.
    pub label: String,
    /// The probability of the class; none for a number.
    pub probability: Option<f32>,
    /// As [`Folded::scores`].
    pub scores: Vec<f32>,
}

/// How well predictions agree with labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quality {
    /// Of classes.
    Classes {
        /// How many are right.
        right: usize,
        /// Of how many samples.
        samples: usize,
        /// How many samples have no label, or one that is not a class of the model; they are left out.
        left_out: usize,
    },
    /// Of numbers.
    Numbers {
        /// One minus the squared error divided by that of the mean; none if all labels are equal.
        r_squared: Option<f64>,
        /// The root of the mean squared error, in the units of the file.
        error: f64,
        /// Of how many samples.
        samples: usize,
    },
}

impl Model {
    /// Predicts the label of every sample: with the model of one `node`, or of the node that each sample belongs to.
    ///
    /// # Errors
    /// Says to choose a node if none is given and the file does not say, or which weight is too large.
    pub fn predict(&self, fresh: &Fresh, node: Option<&str>) -> Result<Predictions, ModelError> {
        let only = match (&fresh.nodes, node) {
            (Some(_), None) => None,
            _ => Some(self.node(node)?),
        };
        let mut folded: Vec<Option<Folded>> = vec![None; self.nodes.len()];
        let mut rows = Vec::new();
        for (number, features) in fresh.rows().enumerate() {
            let own = fresh.nodes.as_ref().and_then(|nodes| nodes.get(number).copied());
            let place = only.or(own).unwrap_or(0);
            let folded = match &mut folded[place] {
                Some(folded) => folded,
                none => none.insert(Folded::new(self, place)?),
            };
            rows.push(self.prediction(folded, features));
        }
        let quality = fresh.labels.as_ref().and_then(|labels| self.quality(&rows, labels));
        Ok(Predictions { header: self.header(), rows, quality })
    }

    fn prediction(&self, folded: &Folded, features: &[f32]) -> Prediction {
        let scores = folded.scores(features);
        match &self.target {
            Target::Number { .. } => {
                Prediction { label: scores[0].to_string(), probability: None, scores }
            }
            Target::Classes(classes) => Prediction {
                label: classes[folded.class(&scores)].clone(),
                probability: Some(folded.probability(&scores)),
                scores,
            },
        }
    }

    /// The columns of [`Predictions::csv`].
    fn header(&self) -> Vec<String> {
        let scores = match (self.classes(), self.hidden) {
            ([], _) => return vec!["predicted".into()],
            (classes, Some(_)) => classes.iter().map(|class| format!("score of {class}")).collect(),
            _ => vec!["score".to_owned()],
        };
        ["predicted".to_owned(), "probability".to_owned()].into_iter().chain(scores).collect()
    }

    fn quality(&self, rows: &[Prediction], labels: &[Option<String>]) -> Option<Quality> {
        let pairs = || rows.iter().zip(labels);
        if let Target::Classes(classes) = &self.target {
            let known = |label: &&String| classes.contains(label);
            let known =
                || pairs().filter_map(|(row, label)| Some((row, label.as_ref().filter(known)?)));
            let right = known().filter(|(row, label)| row.label == **label).count();
            let samples = known().count();
            let left_out = rows.len() - samples;
            return Some(Quality::Classes { right, samples, left_out });
        }
        let number = |label: &String| label.parse::<f64>().ok();
        let known: Vec<(f64, f64)> = pairs()
            .filter_map(|(row, label)| Some((f64::from(row.scores[0]), number(label.as_ref()?)?)))
            .collect();
        let samples = known.len();
        if samples == 0 {
            return None;
        }
        let mean = known.iter().map(|(_, label)| label).sum::<f64>() / samples as f64;
        let squares = |of: &dyn Fn(&(f64, f64)) -> f64| known.iter().map(|a| of(a) * of(a)).sum();
        let error: f64 = squares(&|(found, label)| found - label);
        let spread: f64 = squares(&|(_, label)| label - mean);
        let r_squared = (spread > 0.0).then(|| 1.0 - error / spread);
        Some(Quality::Numbers { r_squared, error: (error / samples as f64).sqrt(), samples })
    }
}

impl Predictions {
    /// A CSV file: what is predicted, and for classes its probability and the scores. Floats read back to the same bits.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = csv::line(self.header.iter().map(|name| cell(name)));
        for Prediction { label, probability, scores } in &self.rows {
            let scores = probability.map_or(&[][..], |_| scores);
            let numbers = probability.iter().chain(scores).map(ToString::to_string);
            text += &csv::line(std::iter::once(cell(label)).chain(numbers));
        }
        text
    }
}

/// A text in quotes only if it needs them.
fn cell(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r', ';', '\t']);
    if plain { text.to_owned() } else { csv::quoted(text) }
}
