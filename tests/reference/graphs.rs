//! Networks and their weights.

use super::fixtures::Rng;
use super::matrix::{Matrix, zeros};

/// Kinds of networks.
#[derive(Debug, Clone, Copy)]
pub enum Graph {
    Path,
    Ring,
    Star,
    Complete,
    /// A random tree with a few more links.
    Random,
}

impl Graph {
    /// The links among `m` nodes, each once.
    pub fn links(self, m: usize) -> Vec<(usize, usize)> {
        let pairs = || (0..m).flat_map(|j| (0..j).map(move |i| (i, j)));
        match self {
            Self::Path => pairs().filter(|(i, j)| j - i == 1).collect(),
            Self::Ring => pairs().filter(|(i, j)| j - i == 1 || j - i == m - 1).collect(),
            Self::Star => pairs().filter(|&(i, _)| i == 0).collect(),
            Self::Complete => pairs().collect(),
            Self::Random => {
                let mut rng = Rng(m as u64);
                let tree: Vec<_> = (1..m).map(|j| (rng.below(j), j)).collect();
                pairs().filter(|pair| tree.contains(pair) || rng.below(3) == 0).collect()
            }
        }
    }

    /// Metropolis weights: w_ij = 1 / (1 + max(deg i, deg j)), and on the diagonal the rest of one.
    ///
    /// The weights of links are floats, as on a node; the rest is exact.
    pub fn weights(self, m: usize) -> Matrix {
        let links = self.links(m);
        let degree = |i| links.iter().filter(|&&(a, b)| a == i || b == i).count();
        let mut w = zeros(m, m);
        for &(i, j) in &links {
            let weight = 1.0 / (1 + degree(i).max(degree(j))) as f64;
            w[i][j] = f64::from(weight as f32);
            w[j][i] = w[i][j];
        }
        for (i, row) in w.iter_mut().enumerate() {
            row[i] = 1.0 - row.iter().sum::<f64>();
        }
        w
    }
}
