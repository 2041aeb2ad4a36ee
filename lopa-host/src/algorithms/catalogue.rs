//! What is known of every algorithm: where it comes from, what it takes, what a round costs.

use lopa_core::node::Scheme;

use crate::config::{AlgorithmName, Key};

/// What is known of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name for people.
    pub title: &'static str,
    /// In a sentence.
    pub what: &'static str,
    /// Who published it, and when.
    pub source: &'static str,
    /// How it differs from what was published, if it does: then it is a reconstruction.
    pub reconstruction: Option<&'static str>,
    /// The step sizes and the like it must be given.
    pub needs: &'static [Key],
    /// Those it may be given, with what they are if not.
    pub takes: &'static [(Key, &'static str)],
    /// What one node does in a round.
    pub cost: Cost,
}

/// What one node does in a round, with T inner and Q Hessian steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// ∇θ g.
    pub inner_gradients: &'static str,
    /// Hessian-vector products; a mean where they are drawn.
    pub hessian_vectors: &'static str,
    /// Hypergradients: ∇x f and a cross Jacobian-vector product each, with ∇θ f.
    pub hypergradients: &'static str,
    /// Vectors sent to each neighbour.
    pub vectors: &'static str,
}

const STEPS: &[Key] = &[Key::Alpha, Key::Beta, Key::Lambda];
const ALL_STEPS: &[Key] = &[Key::Alpha, Key::Beta, Key::Lambda, Key::Gamma, Key::Tau];
const RANDOM: &[(Key, &str)] = &[(Key::HessianSteps, "10"), (Key::Truncation, "random")];
const FIXED: &[(Key, &str)] = &[(Key::HessianSteps, "10"), (Key::Truncation, "fixed")];
const SMOOTHED: &[(Key, &str)] =
    &[(Key::InnerGamma, "gamma"), (Key::HessianSteps, "10"), (Key::Truncation, "random")];

const LOPA: &str = "Niu, Xu, Sun, Huang and Chai, JMLR 26(76), 2025";
const GAO: &str = "Gao, Gu and Thai, AISTATS 2023";
/// Random truncation; all terms take Q - 1.
const HALF: &str = "(Q-1)/2";

const fn cost(inner: &'static str, hessian: &'static str, vectors: &'static str) -> Cost {
    Cost { inner_gradients: inner, hessian_vectors: hessian, hypergradients: "1", vectors }
}

impl AlgorithmName {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::LopaLg,
        Self::LopaGt,
        Self::Spdb,
        Self::MaDsbo,
        Self::GossipDsbo,
        Self::Slam,
        Self::Mdbo,
        Self::Vrdbo,
        Self::Dgd,
        Self::Dsgt,
    ];

    /// The scheme of a LoPA node; none for any other algorithm.
    #[must_use]
    pub const fn scheme(self) -> Option<Scheme> {
        match self {
            Self::LopaLg => Some(Scheme::LocalGradient),
            Self::LopaGt => Some(Scheme::GradientTracking),
            _ => None,
        }
    }

    /// Whether nodes agree on one model and leave x where it starts.
    #[must_use]
    pub const fn is_single_level(self) -> bool {
        matches!(self, Self::Dgd | Self::Dsgt)
    }

    /// Its name in a file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::LopaLg => "lopa-lg",
            Self::LopaGt => "lopa-gt",
            Self::Spdb => "spdb",
            Self::MaDsbo => "ma-dsbo",
            Self::GossipDsbo => "gossip-dsbo",
            Self::Slam => "slam",
            Self::Mdbo => "mdbo",
            Self::Vrdbo => "vrdbo",
            Self::Dgd => "dgd",
            Self::Dsgt => "dsgt",
        }
    }

    /// What is known of it.
    #[must_use]
    pub const fn about(self) -> About {
        match self {
            Self::LopaLg => About {
                title: "LoPA-LG",
                what: "no loops, momentum, local hypergradients",
                source: LOPA,
                reconstruction: None,
                needs: ALL_STEPS,
                takes: &[],
                cost: cost("1", "1", "1"),
            },
            Self::LopaGt => About {
                title: "LoPA-GT",
                what: "no loops, momentum, gradient tracking",
                source: LOPA,
                reconstruction: None,
                needs: ALL_STEPS,
                takes: &[],
                cost: cost("1", "1", "2"),
            },
            Self::Spdb => About {
                title: "SPDB",
                what: "one inner step, a Neumann series, gradient tracking",
                source: "Lu, Cui, Squillante, Kingsbury and Horesh, ICASSP 2022",
                reconstruction: Some(
                    "from what others say of it; the printed algorithm was not at hand. On the original there is a \
                     patent application, US 2024/0095515 A1",
                ),
                needs: STEPS,
                takes: RANDOM,
                cost: cost("1", HALF, "2"),
            },
            Self::MaDsbo => About {
                title: "MA-DSBO",
                what: "loops for theta and v, a moving average of local hypergradients",
                source: "Chen, Huang, Ma and Balasubramanian, ICML 2023",
                reconstruction: Some(
                    "its personalised form, as the LoPA paper changes it: theta and v make local steps only",
                ),
                needs: STEPS,
                takes: &[(Key::Gamma, "alpha"), (Key::InnerSteps, "10"), (Key::HessianSteps, "10")],
                cost: cost("T", "Q", "1"),
            },
            Self::GossipDsbo => About {
                title: "Gossip-DSBO",
                what: "one inner step, a Neumann series, local hypergradients",
                source: "Yang, Zhang and Wang, NeurIPS 2022",
                reconstruction: Some(
                    "its personalised form: theta is local, and products with fresh batches stand for the averages \
                     of Jacobians and Hessians that the original sends",
                ),
                needs: STEPS,
                takes: FIXED,
                cost: cost("1", "Q-1", "1"),
            },
            Self::Slam => About {
                title: "SLAM",
                what: "one inner step, a Neumann series, a linearised augmented Lagrangian",
                source: "Lu, Zeng, Cui, Squillante, Horesh, Kingsbury, Liu and Hong, NeurIPS 2022",
                reconstruction: Some(
                    "its personalised form, from its title and abstract with the classical choice of penalty; the \
                     printed algorithm was not at hand",
                ),
                needs: STEPS,
                takes: RANDOM,
                cost: cost("1", HALF, "1"),
            },
            Self::Mdbo => About {
                title: "MDBO",
                what: "momentum on both levels, a Neumann series, gradient tracking",
                source: GAO,
                reconstruction: Some("its personalised form: nothing is mixed on the inner level"),
                needs: ALL_STEPS,
                takes: SMOOTHED,
                cost: cost("1", HALF, "2"),
            },
            Self::Vrdbo => About {
                title: "VRDBO",
                what: "STORM on both levels, a Neumann series, gradient tracking",
                source: GAO,
                reconstruction: Some(
                    "its personalised form: nothing is mixed on the inner level; MDBO with STORM for the momentum",
                ),
                needs: ALL_STEPS,
                takes: SMOOTHED,
                cost: Cost {
                    inner_gradients: "2",
                    hessian_vectors: "Q-1",
                    hypergradients: "2",
                    vectors: "2",
                },
            },
            Self::Dgd => About {
                title: "DGD",
                what: "one level: one model for all, x left where it starts",
                source: "Lian, Zhang, Zhang, Hsieh, Zhang and Liu, NeurIPS 2017",
                reconstruction: None,
                needs: &[Key::Alpha],
                takes: &[],
                cost: Cost { hypergradients: "0", ..cost("1", "0", "1") },
            },
            Self::Dsgt => About {
                title: "DSGT",
                what: "one level, gradient tracking: one model for all, x left where it starts",
                source: "Pu and Nedić, Mathematical Programming 187, 2021",
                reconstruction: None,
                needs: &[Key::Alpha],
                takes: &[],
                cost: Cost { hypergradients: "0", ..cost("1", "0", "2") },
            },
        }
    }
}

impl std::fmt::Display for AlgorithmName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
