//! Metrics: what a run measures of its network.
//!
//! Means are over the nodes; losses and accuracies are over whole data sets, not batches.

mod accuracy;
mod choice;
mod meter;

pub use accuracy::accuracy;
pub use choice::Choice;
pub use meter::{Meter, NodeSamples, Totals};

use serde::{Deserialize, Serialize};

use crate::record::{Column, Scale};

/// A metric, and its column of `metrics.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The mean of f_i at the node's own x and θ.
    OuterLoss,
    /// The mean of g_i at the same point.
    InnerLoss,
    /// The mean squared distance of x from its mean, or of θ for single-level methods, whose x is fixed.
    Consensus,
    /// The squared distance of the mean of y from the mean of z.
    Tracking,
    /// ‖∇Φ(x̄)‖²: the squared norm of the exact hypergradient at the mean of x.
    Hypergradient,
    /// The mean of ‖θ - θ*(x̄)‖².
    InnerError,
    /// The mean of ‖v - v*(x̄)‖².
    HvError,
    /// ‖∇Φ(x̄) - z̄‖²: how far the direction of the mean of x is from the exact hypergradient.
    AverageVarianceError,
    /// The paper's Lyapunov function, with constants measured where the run starts.
    Lyapunov,
    /// The fraction of training samples classified correctly; for real labels, one minus the relative squared error.
    TrainAccuracy,
    /// The same for validation samples.
    ValidationAccuracy,
    /// The same for test samples.
    TestAccuracy,
    /// How often a node evaluated ∇θ g; a mean over the nodes, like all counts.
    InnerGradients,
    /// How often a node evaluated ∇²θθ g · v.
    HessianVectors,
    /// How often a node evaluated ∇²xθ g · v.
    CrossVectors,
    /// How often a node evaluated ∇θ f.
    OuterGradientsInner,
    /// How often a node evaluated ∇x f.
    OuterGradientsOuter,
    /// Vectors a node sent to each of its neighbours.
    Vectors,
    /// The numbers in them.
    Floats,
    /// Bytes that all nodes sent.
    Bytes,
    /// Frames that all nodes sent.
    Frames,
    /// Seconds spent computing rounds, without measuring.
    Seconds,
}

impl Metric {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 22] = [
        Self::OuterLoss,
        Self::InnerLoss,
        Self::Consensus,
        Self::Tracking,
        Self::Hypergradient,
        Self::InnerError,
        Self::HvError,
        Self::AverageVarianceError,
        Self::Lyapunov,
        Self::TrainAccuracy,
        Self::ValidationAccuracy,
        Self::TestAccuracy,
        Self::InnerGradients,
        Self::HessianVectors,
        Self::CrossVectors,
        Self::OuterGradientsInner,
        Self::OuterGradientsOuter,
        Self::Vectors,
        Self::Floats,
        Self::Bytes,
        Self::Frames,
        Self::Seconds,
    ];

    /// Those of a run that does not choose: all that cost next to nothing.
    pub const DEFAULT: [Self; 13] = [
        Self::OuterLoss,
        Self::InnerLoss,
        Self::Consensus,
        Self::Tracking,
        Self::TrainAccuracy,
        Self::ValidationAccuracy,
        Self::TestAccuracy,
        Self::InnerGradients,
        Self::HessianVectors,
        Self::Vectors,
        Self::Bytes,
        Self::Frames,
        Self::Seconds,
    ];

    /// The name of its column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What it means, in a sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.words().2
    }

    /// Its column.
    #[must_use]
    pub fn column(self) -> Column {
        let (name, title, _) = self.words();
        Column { name: name.into(), title: title.into(), scale: self.scale() }
    }

    /// The metric of a column.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Whether it needs the solutions of the inner problems, which cost about as much as a hundred rounds.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(
            self,
            Self::Hypergradient
                | Self::InnerError
                | Self::HvError
                | Self::AverageVarianceError
                | Self::Lyapunov
        )
    }

    /// Which way is better: 1 where a larger value is, -1 where a smaller one is.
    #[must_use]
    pub const fn sign(self) -> f64 {
        match self {
            Self::TrainAccuracy | Self::ValidationAccuracy | Self::TestAccuracy => 1.0,
            _ => -1.0,
        }
    }

    const fn scale(self) -> Scale {
        match self {
            Self::OuterLoss
            | Self::InnerLoss
            | Self::Consensus
            | Self::Tracking
            | Self::Hypergradient
            | Self::InnerError
            | Self::HvError
            | Self::AverageVarianceError => Scale::Logarithmic,
            // V may be negative, as Φ may be.
            _ => Scale::Linear,
        }
    }

    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::OuterLoss => (
                "outer_loss",
                "outer loss",
                "mean over the nodes of f at the node's own x and theta, over all validation samples",
            ),
            Self::InnerLoss => (
                "inner_loss",
                "inner loss",
                "mean over the nodes of g at the node's own x and theta, over all training samples",
            ),
            Self::Consensus => (
                "consensus",
                "consensus error",
                "mean squared distance of x from the network's mean, or of theta for single-level methods",
            ),
            Self::Tracking => (
                "tracking",
                "tracking error",
                "squared distance of the mean of y from the mean of z: only rounding errors with gradient tracking",
            ),
            Self::Hypergradient => (
                "hypergradient",
                "squared hypergradient",
                "squared norm of the exact hypergradient at the mean of x: inner problems solved, \
                 Hessian inverted by conjugate gradients",
            ),
            Self::InnerError => (
                "inner_error",
                "inner error",
                "mean squared distance of theta from the solution of the inner problem at the mean of x",
            ),
            Self::HvError => (
                "hv_error",
                "Hv error",
                "mean squared distance of v from the exact Hessian-inverse-vector product at the mean of x",
            ),
            Self::AverageVarianceError => (
                "average_variance_error",
                "average variance error",
                "squared distance of the mean of z, the direction of x, from the exact hypergradient",
            ),
            Self::Lyapunov => (
                "lyapunov",
                "Lyapunov function",
                "the paper's V: outer objective and all errors, weighted by constants measured at the start",
            ),
            Self::TrainAccuracy => (
                "train_accuracy",
                "training accuracy",
                "fraction of training samples classified correctly",
            ),
            Self::ValidationAccuracy => (
                "validation_accuracy",
                "validation accuracy",
                "fraction of validation samples classified correctly",
            ),
            Self::TestAccuracy => {
                ("test_accuracy", "test accuracy", "fraction of test samples classified correctly")
            }
            Self::InnerGradients => {
                ("inner_gradients", "inner gradients", "inner gradients evaluated per node")
            }
            Self::HessianVectors => (
                "hessian_vectors",
                "Hessian-vector products",
                "Hessian-vector products evaluated per node",
            ),
            Self::CrossVectors => (
                "cross_vectors",
                "cross products",
                "cross Jacobian-vector products evaluated per node",
            ),
            Self::OuterGradientsInner => (
                "outer_gradients_inner",
                "outer gradients in theta",
                "outer gradients in the inner variable, evaluated per node",
            ),
            Self::OuterGradientsOuter => (
                "outer_gradients_outer",
                "outer gradients in x",
                "outer gradients in the outer variable, evaluated per node",
            ),
            Self::Vectors => (
                "vectors",
                "vectors sent",
                "vectors a node sent to each of its neighbours, without retransmissions",
            ),
            Self::Floats => (
                "floats",
                "numbers sent",
                "numbers in the vectors a node sent to each of its neighbours",
            ),
            Self::Bytes => ("bytes", "bytes sent", "bytes that all nodes sent over their links"),
            Self::Frames => {
                ("frames", "frames sent", "frames that all nodes sent over their links")
            }
            Self::Seconds => {
                ("seconds", "seconds", "seconds spent computing rounds, without measuring")
            }
        }
    }
}

/// The column of any name, also one that is not a metric: another version may have written it.
#[must_use]
pub fn column(name: &str) -> Column {
    Metric::named(name).map_or_else(
        || Column { name: name.into(), title: name.replace('_', " "), scale: Scale::Linear },
        Metric::column,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_has_one_name_in_files_and_tables() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(json, format!("{:?}", metric.name()));
            assert_eq!(Metric::named(metric.name()), Some(metric));
            assert_eq!(column(metric.name()), metric.column());
        }
        assert!(Metric::ALL.is_sorted() && Metric::DEFAULT.is_sorted());
        assert_eq!(column("new_thing").title, "new thing");
    }
}
