//! The algorithms: LoPA and what it is compared with, behind one trait, on the same problems and counters.
//!
//! Every algorithm asks its problems through [`Oracles`](lopa_core::oracles::Oracles), so that batches are drawn by
//! (seed, node, round, purpose) and every evaluation is counted; mixes with the same kernels in the same order; and
//! gives the same bits for any number of threads. [`build`] makes one from the table `algorithm` of a file,
//! [`AlgorithmName::about`] says where it comes from. [`workers`] run one network in several processes.
//!
//! # The personalised form
//!
//! LoPA's problem has an inner variable of its own on every node. Of the methods it is compared with only SPDB was
//! made for it; the others look for one inner solution that all nodes share. They are run in their personalised form,
//! as the paper does with MA-DSBO: inner variables and Hessian-inverse-vector estimates make local steps only, x is
//! mixed as the method does it. Their global forms solve another problem and are not here.
//!
//! In what follows W x stands for Σ_j w_ij x_j, H for ∇²θθ g and J for ∇²xθ g. All start with x common and the rest 0.
//!
//! | algorithm | a round |
//! |---|---|
//! | LoPA | see [`lopa_core::node`] |
//! | SPDB | θ -= β ∇θ g;  v by a Neumann series;  p = ∇x f - J v;  y = W y + p - p_old;  x = W x - α y |
//! | MA-DSBO | T times θ -= β ∇θ g;  v = 0, then Q times v -= λ (H v - ∇θ f);  x = W x - α z;  z += γ (∇x f - J v - z) |
//! | Gossip-DSBO | θ -= β ∇θ g;  v by a Neumann series;  x = W x - α (∇x f - J v) |
//! | SLAM | θ -= β ∇θ g;  v by a Neumann series;  q += ½ (x - W x);  x = ½ (x + W x) - α (∇x f - J v) - q |
//! | MDBO | at the old (x, θ): z += γ (∇x f - J v - z), u += γ' (∇θ g - u);  θ -= τ β u;  y = W y + z - z_old;  x += τ (W x - x - α y) |
//! | VRDBO | the same with z = p + (1 - γ) (z - p') and u alike, p' on the same batches where the node was before |
//! | D-SOBA | at the old (x, θ, v): θ -= β ∇θ g;  v -= λ (H v - ∇θ f);  z += γ (∇x f - J v - z);  x = W (x - α z_old) |
//! | SPARKLE | θ -= β ∇θ g;  v -= λ (H v - ∇θ f);  z += γ (∇x f - J v - z);  then one of the next three |
//! | … with EXTRA | q += ½ (x - W x);  x = ½ (x + W x) - α z - q |
//! | … with exact diffusion | a = x - α z - q;  x = ½ (a + W a);  q += ½ (a - W a) |
//! | … with tracking | y = W (y + z - z_old);  x = W x - α y |
//! | DGD | θ = W θ - α ∇θ g, x fixed |
//! | DSGT | y = W y + ∇θ g - ∇θ g_old;  θ = W θ - α y, x fixed |
//!
//! The Neumann series of Q terms is λ Σ_{q<Q} (I - λ H)^q ∇θ f, each H on a batch of its own; or, with random
//! truncation, Q λ (I - λ H)^q ∇θ f for one q drawn below Q, which is the same on average.
//!
//! D-SOBA and SPARKLE are close to LoPA. D-SOBA differs from LoPA-LG in the step of x alone: W (x - α z) where LoPA-LG with
//! τ = 1 would make W x - α z, which is the same where nodes agree. SPARKLE with tracking differs from LoPA-GT in three ways:
//! each step uses the newest variables, y adapts before it combines, and there is no relaxation. EXTRA and exact diffusion
//! remove the bias of local gradients as tracking does, but send one vector per round, not two.
//!
//! # Sources
//!
//! - SPDB: Lu, Cui, Squillante, Kingsbury and Horesh, "Decentralized bilevel optimization for personalized client
//!   learning", ICASSP 2022. A reconstruction: of the original only the abstract was available, which calls it a stochastic
//!   primal-dual framework. The rest (personal inner variables, one SGD step, a Q-loop with a Neumann series, gradient
//!   tracking) is what the LoPA paper says about it. A primal-dual method that keeps a multiplier of consensus sends one vector
//!   per round: read this way, SPDB would be what SLAM is here, with half the vectors and bytes that are charged to it. Its
//!   counts of gradients and products would be the same. A listing of patents has the method as granted, US 12,632,729 B2 of
//!   19 May 2026, from the application US 2024/0095515 A1; neither the register nor the text of the patent was checked.
//! - MA-DSBO, MDBO and VRDBO: see `ma_dsbo.rs` and `mdbo.rs`.
//! - D-SOBA and SPARKLE: see `loopless.rs`, which also says what could be verified. EXTRA: Shi, Ling, Wu and Yin, SIAM Journal
//!   on Optimization 25(2), 2015. Exact diffusion: Yuan, Ying, Zhao and Sayed, IEEE Transactions on Signal Processing 67(3),
//!   2019. The forms of tracking are those of Alghunaim and Yuan, "A unified and refined convergence analysis for non-convex
//!   decentralized learning", 2022.
//! - Gossip-DSBO: Yang, Zhang and Wang, "Decentralized gossip-based stochastic bilevel optimization over communication
//!   networks", NeurIPS 2022. A reconstruction of its personalised form: the original also sends its inner variable,
//!   and averages of Jacobians and Hessians (n × p and p × p numbers) that it keeps over the rounds. With inner
//!   variables of their own there is nothing to agree on there, and products with fresh batches take the place of the
//!   matrices.
//! - SLAM: Lu, Zeng, Cui, Squillante, Horesh, Kingsbury, Liu and Hong, "A stochastic linearized augmented Lagrangian
//!   method for decentralized bilevel optimization", NeurIPS 2022. A reconstruction of its personalised form: its
//!   printed algorithm was not at hand.
//! - DGD: Lian et al., "Can decentralized algorithms outperform centralized algorithms?", NeurIPS 2017 (D-PSGD). DSGT:
//!   gradient tracking, Pu and Nedić, "Distributed stochastic gradient tracking methods", 2021; after Xu et al., 2015.
//!   They minimise the mean over the nodes of g_i(x₀, θ). For the logistic problem that is the l2-regularised
//!   regression with coefficient μ that the paper compares with if e^x₀ = μ/2, so x₀ = ln(μ/2).

mod build;
mod catalogue;
mod consensus;
mod estimate;
mod links;
mod loopless;
mod lopa;
mod ma_dsbo;
mod mdbo;
mod rule;
mod table;
#[cfg(test)]
mod tests;
mod update;
pub mod workers;

pub(crate) use build::join;
pub use build::{BuildError, build, build_at};
pub use catalogue::{About, AlgorithmName, Cost, Key};
pub use links::Links;
pub(crate) use links::WINDOW;
pub use table::{AlgorithmTable, Batch, TableError, Truncation};

use std::fmt;

use lopa_core::checkpoint::CheckpointError;
use lopa_core::exchange::Micros;
use lopa_core::network::NetworkError;
use lopa_core::oracles::Evaluations;

use crate::algorithms::workers::Gone;
use crate::network::{Health, InProcess, LinkedError, Member, Traffic};

/// A network that learns, one outer iteration after the other.
pub trait Algorithm<P>: fmt::Debug + Send {
    /// One round of every node: what is computed, and one exchange.
    ///
    /// # Errors
    /// Names the node that diverged, the one with the lowest number. Its variables are still finite. Or names the worker that
    /// is gone.
    fn step(&mut self) -> Result<(), StepError>;

    /// Rounds completed.
    fn round(&self) -> u64;

    /// Brings nodes here that are in other processes, to be looked at and saved. Without this they are where they were when
    /// they were last here.
    ///
    /// # Errors
    /// As in a [step](Self::step): what happened elsewhere may become known only now.
    fn gather(&mut self) -> Result<(), StepError> {
        Ok(())
    }

    /// The nodes, in order of their numbers.
    fn nodes(&self) -> Vec<NodeView<'_, P>>;

    /// What one node has sent to each of its neighbours, without repeats.
    fn sent(&self) -> Sent;

    /// What all nodes have sent to their neighbours since the network was built; in-process without frames.
    fn traffic(&self) -> Traffic;

    /// The simulated time since the network was built, until its slowest node had completed the last round; `None`
    /// in-process, where links take no time.
    fn fleet_time(&self) -> Option<Micros> {
        None
    }

    /// How often link timeouts split the network; never in-process.
    fn losses(&self) -> u64 {
        0
    }

    /// How nodes and lines are doing; `None` in-process.
    fn health(&self) -> Option<Health> {
        None
    }

    /// Everything a run needs to go on, between rounds; nothing once a node diverged.
    fn checkpoint(&self) -> Option<Vec<u8>>;

    /// Puts every node where it was.
    ///
    /// # Errors
    /// Names the node that refuses its part, and why.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError>;
}

/// A node that can be looked at, saved and put back.
pub(crate) trait Participant<P>: Member {
    /// The node, for reading.
    fn view(&self) -> NodeView<'_, P>;

    /// Writes everything the node needs to go on; nothing in the middle of a round.
    fn save(&self, bytes: &mut Vec<u8>) -> Option<()>;

    /// Puts the node where it was, and returns the bytes that are left.
    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError>;
}

/// The checkpoint of many nodes: their own, one behind the other.
pub(crate) fn save_all<'n, P, M: Participant<P> + 'n>(
    nodes: impl IntoIterator<Item = &'n M>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    nodes.into_iter().try_for_each(|node| node.save(&mut bytes))?;
    Some(bytes)
}

pub(crate) fn restore_all<'n, P, M: Participant<P> + 'n>(
    nodes: impl IntoIterator<Item = &'n mut M>,
    mut bytes: &[u8],
) -> Result<(), RestoreError> {
    let mut last = 0;
    for (node, own) in nodes.into_iter().enumerate() {
        bytes = own.restore(bytes).map_err(|error| RestoreError::Node { node, error })?;
        last = node;
    }
    match bytes.len() {
        0 => Ok(()),
        found => {
            let error = CheckpointError::Length { needed: 0, found };
            Err(RestoreError::Node { node: last, error })
        }
    }
}

impl<P, M: Participant<P> + fmt::Debug> Algorithm<P> for InProcess<M> {
    fn step(&mut self) -> Result<(), StepError> {
        Ok(Self::round(self)?)
    }

    fn round(&self) -> u64 {
        Self::nodes(self).first().map_or(0, |node| node.view().round)
    }

    fn nodes(&self) -> Vec<NodeView<'_, P>> {
        Self::nodes(self).iter().map(Participant::view).collect()
    }

    fn sent(&self) -> Sent {
        Sent::of(Self::nodes(self).first())
    }

    fn traffic(&self) -> Traffic {
        Traffic { bytes: self.bytes(), frames: None }
    }

    fn checkpoint(&self) -> Option<Vec<u8>> {
        if self.has_failed() { None } else { save_all(Self::nodes(self)) }
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        restore_all(self.nodes_mut(), bytes)
    }
}

/// A node of any algorithm, for reading. A variable the algorithm does not have is `None`.
#[derive(Debug, Clone)]
pub struct NodeView<'n, P> {
    /// Its number.
    pub id: u32,
    /// Its problem.
    pub problem: &'n P,
    /// How often it asked each oracle.
    pub evaluations: Evaluations,
    /// Rounds completed.
    pub round: u64,
    /// The outer variable; with single-level methods where it was fixed.
    pub x: &'n [f32],
    /// The inner variable; with single-level methods the model all agree on.
    pub theta: &'n [f32],
    /// The Hessian-inverse-vector estimate.
    pub v: Option<&'n [f32]>,
    /// The estimate of the hypergradient, or with single-level tracking of the gradient.
    pub z: Option<&'n [f32]>,
    /// What tracks the network's mean of z; with LoPA-LG the descent direction.
    pub y: Option<&'n [f32]>,
    /// What else it keeps, by name.
    pub extra: Vec<(&'static str, &'n [f32])>,
}

/// What one node has sent to each of its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Whole vectors.
    pub vectors: u64,
    /// The numbers in them.
    pub floats: u64,
}

impl Sent {
    /// What a node has sent after its rounds, in all of which it sent the same vectors.
    pub(crate) fn of<P>(node: Option<&impl Participant<P>>) -> Self {
        let Some(node) = node else { return Self::default() };
        let round = node.view().round;
        let lengths = node.lengths().map(|len| len as u64);
        let vectors = lengths.iter().filter(|len| **len > 0).count() as u64;
        Self { vectors: round * vectors, floats: round * lengths.iter().sum::<u64>() }
    }
}

/// Why a round could not be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A node diverged.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A process with a part of the nodes is gone.
    #[error(transparent)]
    Worker(#[from] Gone),
}

/// Why a checkpoint was refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RestoreError {
    /// A node refused its part.
    #[error("node {node}: {error}")]
    Node {
        /// The node.
        node: usize,
        /// Why.
        error: CheckpointError,
    },
    /// The restored nodes could not be linked.
    #[error("links: {0}")]
    Links(LinkedError),
    /// A process with a part of the nodes is gone.
    #[error(transparent)]
    Worker(Gone),
}
