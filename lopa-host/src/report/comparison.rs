//! What was chosen for a run, what nodes have learned in the end, and whether it was worth it.

use serde::Serialize;

use super::Table;
use crate::numerics::number;

/// What nodes have learned in the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Learned {
    /// The model of every node, if it was fitted again to all samples of the node.
    pub thetas: Option<Vec<Vec<f32>>>,
    /// How good it is, and how good the alternatives are; none without test samples.
    pub scores: Vec<Score>,
    /// Why something of this is missing.
    pub failed: Option<String>,
}

/// A setting that a file leaves open: its key, and the value that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// The key, after the name of its table.
    pub key: &'static str,
    /// The value, as a file has it.
    pub value: String,
}

/// How good the models of all nodes are on test samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// How the models were learned.
    pub name: String,
    /// The mean accuracy over nodes; R² for real labels.
    pub accuracy: f64,
    /// The mean loss over nodes.
    pub loss: f64,
    /// The accuracy of every node that has test samples.
    pub nodes: Vec<f64>,
}

impl Score {
    /// The lowest and the highest accuracy of a node.
    #[must_use]
    pub fn range(&self) -> [f64; 2] {
        let low = self.nodes.iter().copied().fold(f64::INFINITY, f64::min);
        [low, self.nodes.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
    }
}

/// The scores of a run in a table; `regression` if its accuracies are R².
#[must_use]
pub fn comparison(scores: &[Score], regression: bool) -> Option<Table> {
    let accuracy = if regression { "test R²" } else { "test accuracy" };
    let row = |score: &Score| {
        let [low, high] = score.range();
        let [accuracy, low, high, loss] = [score.accuracy, low, high, score.loss].map(number);
        [score.name.clone(), accuracy, low, high, loss]
    };
    let words = "On the test samples of each node; means over nodes. Each node alone, and one model for all, choose one \
                 strength for all features, or run the same algorithm, and are fitted to the same samples.";
    let head = ["models", accuracy, "worst node", "best node", "test loss"];
    (!scores.is_empty())
        .then(|| Table::new("Was it worth it?", head, scores.iter().map(row)).explained(words))
}
