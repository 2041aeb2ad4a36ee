//! Metrics: what a run measures of its network.
//!
//! Means are over the nodes; losses and accuracies are over whole data sets, not batches.

mod accuracy;
mod choice;
mod meter;

pub use accuracy::accuracy;
pub use choice::Choice;
pub use meter::{Meter, NodeSamples, NodeValues, Totals};

use serde::{Deserialize, Serialize};

use crate::record::{Column, Scale};

/// The metrics: the name of each one's column, its title, its scale in charts, and what it means in a sentence.
macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $name:literal, $title:literal, $scale:ident, $about:literal;)*) => {
        /// A metric, and its column of `metrics.csv`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            /// All of them, in the order of columns.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$metric),*];

            const fn entry(self) -> (&'static str, &'static str, Scale, &'static str) {
                match self {
                    $(Self::$metric => ($name, $title, Scale::$scale, $about),)*
                }
            }
        }
    };
}

metrics! {
    /// The mean of f_i at the node's own x and θ.
    OuterLoss = "outer_loss", "outer loss", Logarithmic,
        "mean over the nodes of f at the node's own x and theta, over all validation samples";
    /// The mean of g_i at the same point.
    InnerLoss = "inner_loss", "inner loss", Logarithmic,
        "mean over the nodes of g at the node's own x and theta, over all training samples";
    /// The mean squared distance of x from its mean, or of θ for single-level methods, whose x is fixed.
    Consensus = "consensus", "consensus error", Logarithmic,
        "mean squared distance of x from the network's mean, or of theta for single-level methods";
    /// The squared distance of the mean of y from the mean of z.
    Tracking = "tracking", "tracking error", Logarithmic,
        "squared distance of the mean of y from the mean of z: only rounding errors with gradient tracking";
    /// ‖∇Φ(x̄)‖²: the squared norm of the exact hypergradient at the mean of x.
    Hypergradient = "hypergradient", "squared hypergradient", Logarithmic,
        "squared norm of the exact hypergradient at the mean of x: inner problems solved, \
         Hessian inverted by conjugate gradients";
    /// The mean of ‖θ - θ*(x̄)‖².
    InnerError = "inner_error", "inner error", Logarithmic,
        "mean squared distance of theta from the solution of the inner problem at the mean of x";
    /// The mean of ‖v - v*(x̄)‖².
    HvError = "hv_error", "Hv error", Logarithmic,
        "mean squared distance of v from the exact Hessian-inverse-vector product at the mean of x";
    /// ‖∇Φ(x̄) - z̄‖²: how far the direction of the mean of x is from the exact hypergradient.
    AverageVarianceError = "average_variance_error", "average variance error", Logarithmic,
        "squared distance of the mean of z, the direction of x, from the exact hypergradient";
    /// The paper's Lyapunov function, with constants measured where the run starts.
    // Linear: V may be negative, as Φ may be.
    Lyapunov = "lyapunov", "Lyapunov function", Linear,
        "the paper's V: outer objective and all errors, weighted by constants measured at the start";
    /// The fraction of training samples classified correctly; for real labels, one minus the relative squared error.
    TrainAccuracy = "train_accuracy", "training accuracy", Linear,
        "fraction of training samples classified correctly";
    /// The same for validation samples.
    ValidationAccuracy = "validation_accuracy", "validation accuracy", Linear,
        "fraction of validation samples classified correctly";
    /// The same for test samples.
    TestAccuracy = "test_accuracy", "test accuracy", Linear,
        "fraction of test samples classified correctly";
    /// The mean of f_i at the mean of x and the node's own θ: nodes that disagree gain nothing.
    OuterLossAtMean = "outer_loss_at_mean", "outer loss at the mean of x", Logarithmic,
        "mean over the nodes of f at the network's mean of x and the node's own theta";
    /// The fraction of test samples classified correctly at the same points.
    TestAccuracyAtMean = "test_accuracy_at_mean", "test accuracy at the mean of x", Linear,
        "fraction of test samples classified correctly with the network's mean of x and the node's own theta";
    /// How often a node evaluated ∇θ g, or ∇x g for lack of products; a mean over the nodes, like all counts.
    InnerGradients = "inner_gradients", "inner gradients", Linear,
        "inner gradients evaluated per node";
    /// How often a node evaluated ∇²θθ g · v.
    HessianVectors = "hessian_vectors", "Hessian-vector products", Linear,
        "Hessian-vector products evaluated per node";
    /// How often a node evaluated ∇²xθ g · v.
    CrossVectors = "cross_vectors", "cross products", Linear,
        "cross Jacobian-vector products evaluated per node";
    /// How often a node evaluated ∇θ f.
    OuterGradientsInner = "outer_gradients_inner", "outer gradients in theta", Linear,
        "outer gradients in the inner variable, evaluated per node";
    /// How often a node evaluated ∇x f.
    OuterGradientsOuter = "outer_gradients_outer", "outer gradients in x", Linear,
        "outer gradients in the outer variable, evaluated per node";
    /// Vectors a node sent to each of its neighbours.
    Vectors = "vectors", "vectors sent", Linear,
        "vectors a node sent to each of its neighbours, without retransmissions";
    /// The numbers in them.
    Floats = "floats", "numbers sent", Linear,
        "numbers in the vectors a node sent to each of its neighbours";
    /// Bytes that all nodes sent.
    Bytes = "bytes", "bytes sent", Linear,
        "bytes that all nodes sent over their links; without frames where links are not simulated";
    /// Frames that all nodes sent.
    Frames = "frames", "frames sent", Linear,
        "frames that all nodes sent over their links";
    /// Simulated seconds until the slowest node has completed the round, over simulated links.
    FleetSeconds = "fleet_seconds", "simulated fleet seconds", Linear,
        "seconds that a fleet with these links takes until its slowest node has completed the round: \
         simulated time, not that of the simulation";
    /// Seconds spent computing rounds, without measuring.
    Seconds = "seconds", "seconds", Linear,
        "seconds spent computing rounds, without measuring";
}

impl Metric {
    /// Those of a run that does not choose: all that cost next to nothing.
    pub const DEFAULT: [Self; 14] = [
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
        Self::FleetSeconds,
        Self::Seconds,
    ];

    /// The name of its column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().0
    }

    /// What it means, in a sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.entry().3
    }

    /// Its column.
    #[must_use]
    pub fn column(self) -> Column {
        let (name, title, scale, _) = self.entry();
        Column { name: name.into(), title: title.into(), scale }
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
            Self::TrainAccuracy
            | Self::ValidationAccuracy
            | Self::TestAccuracy
            | Self::TestAccuracyAtMean => 1.0,
            _ => -1.0,
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
