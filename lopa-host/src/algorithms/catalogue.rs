//! The algorithms and their keys: where each comes from, what it takes, what a round costs.

use lopa_core::node::Scheme;
use serde::{Deserialize, Serialize};

/// The algorithms; [`AlgorithmName::about`] says what each one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmName {
    /// `LoPA` with local gradients.
    LopaLg,
    /// `LoPA` with gradient tracking.
    LopaGt,
    /// SPDB.
    Spdb,
    /// MA-DSBO, personalised.
    MaDsbo,
    /// Gossip-DSBO, personalised.
    GossipDsbo,
    /// SLAM, personalised.
    Slam,
    /// MDBO, personalised.
    Mdbo,
    /// VRDBO, personalised.
    Vrdbo,
    /// D-SOBA with second-order products, personalised.
    DSobaSo,
    /// D-SOBA with gradients only, personalised.
    DSobaFo,
    /// SPARKLE with EXTRA, personalised.
    SparkleExtra,
    /// SPARKLE with exact diffusion, personalised.
    SparkleEd,
    /// SPARKLE with gradient tracking, personalised.
    SparkleGt,
    /// Decentralised gradient descent on one level.
    Dgd,
    /// Gradient tracking on one level.
    Dsgt,
}

/// A key of the table that is some algorithm's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `alpha`.
    Alpha,
    /// `beta`.
    Beta,
    /// `lambda`.
    Lambda,
    /// `gamma`.
    Gamma,
    /// `tau`.
    Tau,
    /// `inner_gamma`.
    InnerGamma,
    /// `inner_steps`.
    InnerSteps,
    /// `hessian_steps`.
    HessianSteps,
    /// `truncation`.
    Truncation,
}

/// What is known about an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name in prose.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How it differs from what was published, if it does: then it is a reconstruction.
    pub reconstruction: Option<&'static str>,
    /// The keys it must be given.
    pub needs: &'static [Key],
    /// The keys it may be given, with their defaults.
    pub takes: &'static [(Key, &'static str)],
    /// What one node computes and sends in a round.
    pub cost: Cost,
}

/// What one node computes and sends in a round, with T inner and Q Hessian steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// ∇θ g; where gradients stand for products, ∇x g too.
    pub inner_gradients: &'static str,
    /// Hessian-vector products; the mean where their number is random.
    pub hessian_vectors: &'static str,
    /// Hypergradients: ∇x f and a cross Jacobian-vector product each, with ∇θ f; two of the inner gradients may stand for that
    /// product.
    pub hypergradients: &'static str,
    /// Vectors sent to each neighbour.
    pub vectors: &'static str,
}

impl Key {
    /// Those that are step sizes or momenta: [`AlgorithmTable::step`](super::AlgorithmTable::step) has their values.
    pub const STEPS: [Self; 6] =
        [Self::Alpha, Self::Beta, Self::Lambda, Self::Gamma, Self::Tau, Self::InnerGamma];

    /// Its name in a file, after that of its table.
    #[must_use]
    pub const fn in_table(self) -> &'static str {
        match self {
            Self::Alpha => "algorithm.alpha",
            Self::Beta => "algorithm.beta",
            Self::Lambda => "algorithm.lambda",
            Self::Gamma => "algorithm.gamma",
            Self::Tau => "algorithm.tau",
            Self::InnerGamma => "algorithm.inner_gamma",
            Self::InnerSteps => "algorithm.inner_steps",
            Self::HessianSteps => "algorithm.hessian_steps",
            Self::Truncation => "algorithm.truncation",
        }
    }

    /// Its name in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Lambda => "lambda",
            Self::Gamma => "gamma",
            Self::Tau => "tau",
            Self::InnerGamma => "inner_gamma",
            Self::InnerSteps => "inner_steps",
            Self::HessianSteps => "hessian_steps",
            Self::Truncation => "truncation",
        }
    }
}

const STEPS: &[Key] = &[Key::Alpha, Key::Beta, Key::Lambda];
const LOOPLESS: &[Key] = &[Key::Alpha, Key::Beta, Key::Lambda, Key::Gamma];
const ALL_STEPS: &[Key] = &[Key::Alpha, Key::Beta, Key::Lambda, Key::Gamma, Key::Tau];
const RANDOM: &[(Key, &str)] = &[(Key::HessianSteps, "10"), (Key::Truncation, "random")];

/// Random truncation; all terms take Q - 1.
const HALF: &str = "(Q-1)/2";

const fn cost(inner: &'static str, hessian: &'static str, vectors: &'static str) -> Cost {
    Cost { inner_gradients: inner, hessian_vectors: hessian, hypergradients: "1", vectors }
}

impl AlgorithmName {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::LopaLg,
        Self::LopaGt,
        Self::Spdb,
        Self::MaDsbo,
        Self::GossipDsbo,
        Self::Slam,
        Self::Mdbo,
        Self::Vrdbo,
        Self::DSobaSo,
        Self::DSobaFo,
        Self::SparkleExtra,
        Self::SparkleEd,
        Self::SparkleGt,
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
            Self::DSobaSo => "d-soba-so",
            Self::DSobaFo => "d-soba-fo",
            Self::SparkleExtra => "sparkle-extra",
            Self::SparkleEd => "sparkle-ed",
            Self::SparkleGt => "sparkle-gt",
            Self::Dgd => "dgd",
            Self::Dsgt => "dsgt",
        }
    }

    /// The keys it needs.
    pub(super) fn needs(self) -> String {
        self.about().needs.iter().map(|key| key.name()).collect::<Vec<_>>().join(", ")
    }

    /// The keys it needs and those it may be given.
    pub(super) fn keys(self) -> String {
        let takes = self.about().takes.iter().map(|(key, _)| key.name());
        takes.fold(self.needs(), |all, key| all + ", " + key)
    }

    /// What is known about it.
    #[must_use]
    pub const fn about(self) -> About {
        match self {
            Self::LopaLg => About {
                title: "LoPA-LG",
                what: "no loops, momentum, local hypergradients",
                source: "Niu, Xu, Sun, Huang and Chai, JMLR 26(76), 2025",
                reconstruction: None,
                needs: ALL_STEPS,
                takes: &[],
                cost: cost("1", "1", "1"),
            },
            Self::LopaGt => About {
                title: "LoPA-GT",
                what: "no loops, momentum, gradient tracking",
                cost: cost("1", "1", "2"),
                ..Self::LopaLg.about()
            },
            Self::Spdb => About {
                title: "SPDB",
                what: "one inner step, a Neumann series, gradient tracking",
                source: "Lu, Cui, Squillante, Kingsbury and Horesh, ICASSP 2022",
                reconstruction: Some(
                    "from its abstract and descriptions by others, as the printed algorithm was not available. It is \
                     called primal-dual there: with multipliers instead of tracking it would be what slam is here, \
                     and send one vector per round, not two. A listing has it as patented, US 12,632,729 B2 (2026)",
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
                cost: cost("T", "Q-1", "1"),
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
                takes: &[(Key::HessianSteps, "10"), (Key::Truncation, "fixed")],
                cost: cost("1", "Q-1", "1"),
            },
            Self::Slam => About {
                title: "SLAM",
                what: "one inner step, a Neumann series, a linearised augmented Lagrangian",
                source: "Lu, Zeng, Cui, Squillante, Horesh, Kingsbury, Liu and Hong, NeurIPS 2022",
                reconstruction: Some(
                    "its personalised form, from its title and abstract with the classical choice of penalty; the \
                     printed algorithm was not available",
                ),
                needs: STEPS,
                takes: RANDOM,
                cost: cost("1", HALF, "1"),
            },
            Self::Mdbo => About {
                title: "MDBO",
                what: "momentum on both levels, a Neumann series, gradient tracking",
                source: "Gao, Gu and Thai, AISTATS 2023",
                reconstruction: Some("its personalised form: nothing is mixed on the inner level"),
                needs: ALL_STEPS,
                takes: &[
                    (Key::InnerGamma, "gamma"),
                    (Key::HessianSteps, "10"),
                    (Key::Truncation, "random"),
                ],
                cost: cost("1", HALF, "2"),
            },
            Self::Vrdbo => About {
                title: "VRDBO",
                what: "STORM on both levels, a Neumann series, gradient tracking",
                reconstruction: Some(
                    "its personalised form: nothing is mixed on the inner level; MDBO with STORM for the momentum",
                ),
                cost: Cost { hypergradients: "2", ..cost("2", "Q-1", "2") },
                ..Self::Mdbo.about()
            },
            Self::DSobaSo => About {
                title: "D-SOBA-SO",
                what: "no loops, a moving average of local hypergradients, adapt then combine",
                source: "Kong, Zhu, Lu, Huang and Yuan, JMLR 26(240), 2025",
                reconstruction: Some(
                    "its personalised form, theta and v make local steps only; from its abstract, with the order of \
                     steps of MA-SOBA, which it extends. The pseudo-code was not available",
                ),
                needs: LOOPLESS,
                takes: &[],
                cost: cost("1", "1", "1"),
            },
            Self::DSobaFo => About {
                title: "D-SOBA-FO",
                what: "D-SOBA-SO with differences of gradients for second-order products",
                reconstruction: Some(
                    "its personalised form, theta and v make local steps only; from its abstract, with the order of \
                     steps of MA-SOBA, which it extends, and a step of the differences that suits floats. The \
                     pseudo-code was not available",
                ),
                cost: cost("5", "0", "1"),
                ..Self::DSobaSo.about()
            },
            Self::SparkleExtra => About {
                title: "SPARKLE-EXTRA",
                what: "no loops, a moving average of hypergradients, EXTRA",
                source: "Zhu, Kong, Lu, Huang and Yuan, NeurIPS 2024",
                reconstruction: Some(
                    "its personalised form, theta and v make local steps only; from its abstract and the published \
                     forms of EXTRA, exact diffusion and tracking. The pseudo-code was not available",
                ),
                ..Self::DSobaSo.about()
            },
            Self::SparkleEd => About {
                title: "SPARKLE-ED",
                what: "no loops, a moving average of hypergradients, exact diffusion",
                ..Self::SparkleExtra.about()
            },
            Self::SparkleGt => About {
                title: "SPARKLE-GT",
                what: "no loops, a moving average of hypergradients, semi-ATC gradient tracking",
                cost: cost("1", "1", "2"),
                ..Self::SparkleExtra.about()
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
                cost: Cost { hypergradients: "0", ..cost("1", "0", "2") },
                ..Self::Dgd.about()
            },
        }
    }
}

impl std::fmt::Display for AlgorithmName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
