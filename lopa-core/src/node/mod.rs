//! One LoPA node: Algorithm 1 of the paper, from the point of view of one node.
//!
//! A round has a local half, [`Node::compute`], and a half that needs the neighbours, [`Node::mix`]:
//!
//! 1. At (x, θ, v) evaluate d, h and s. Then θ -= β d, v -= λ h, z += γ (s - z), and δ is what z changed by.
//! 2. Exchange x (and y with gradient tracking) with every neighbour.
//! 3. x += τ (Σ_j w_ij (x_j - x) - α y); then y = z (LG) or y += Σ_j w_ij (y_j - y) + δ (GT).
//!
//! This is the paper's x = (1-τ) x + τ (Σ_j w_ij x_j - α y) for weights that sum to one, written in
//! differences. Mathematically the two are equal; in floats the differences are better: they vanish exactly when nodes
//! agree, they keep the network's sum of y, and losing a neighbour means leaving out a term, with no self weight to
//! correct.

mod error;
#[cfg(feature = "simd")]
mod handed_out;
mod memory;
mod update;

pub use error::{Divergence, NodeError, Variable};
pub use memory::{Buffers, Scratch, State};
use update::{check_length, descend, mix_local, mix_tracking, pull, smooth, track};

use crate::batch::Sampler;
use crate::epoch::Epoch;
use crate::oracles::{Evaluations, Oracles};
use crate::problem::{Point, Problem};
use crate::steps::StepSizes;
use crate::vector::Storage;

/// How a node turns hypergradients into a descent direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Scheme {
    /// LG: its own smoothed hypergradient. It needs less memory and half the traffic, but nodes with different data pull
    /// in different directions, which leaves a bias that shrinks with α.
    LocalGradient,
    /// GT: an estimate of the network's mean hypergradient. No bias.
    GradientTracking,
}

/// A node's settings, the same on all nodes but for the sampler's node number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Config {
    /// The step sizes.
    pub steps: StepSizes,
    /// How batches are drawn.
    pub sampler: Sampler,
}

/// A neighbour's vectors as received, and the weight of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Neighbour<'a> {
    /// w_ij.
    pub weight: f32,
    /// The neighbour's x.
    pub x: &'a [f32],
    /// The neighbour's y; ignored with LG.
    pub y: &'a [f32],
}

/// Where a node stands in its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Phase {
    /// Between rounds: [`Node::compute`] is next.
    Ready,
    /// Elements before `next` have been mixed; [`Node::mix`] is next.
    Mixing {
        /// The first element that is not mixed yet.
        next: usize,
    },
    /// A variable was about to become infinite or NaN.
    Diverged(Divergence),
}

/// One LoPA node on a problem `P`, with its outer vectors in `X`, its inner vectors in `T`, and in `D` the vector that
/// only gradient tracking needs.
///
/// ```
/// use lopa_core::batch::Sampler;
/// use lopa_core::node::{Config, GtNode, Neighbour, Scratch};
/// use lopa_core::problems::Ridge;
/// use lopa_core::samples::{Features, Labels, Samples};
/// use lopa_core::steps::StepSizes;
///
/// // Two sensors: readings and a constant, true values. Each learns its own calibration; together they
/// // learn how much to trust the slope and the intercept.
/// let readings = [[0.1, 1.0, 0.5, 1.0, 0.9, 1.0_f32], [0.2, 1.0, 0.4, 1.0, 1.1, 1.0]];
/// let truths = [[1.2, 2.0, 2.8_f32], [0.9, 1.3, 2.7]];
/// let set = |i: usize| Samples::new(Features::F32(&readings[i]), 2, Labels::Real(&truths[i]));
/// let steps = StepSizes::new(0.05, 0.2, 0.2, 0.4, 0.5)?;
///
/// let mut scratch = Scratch::<[f32; 2], [f32; 2]>::new();
/// let mut nodes = [
///     GtNode::<_, 2, 2>::gradient_tracking(
///         Ridge::new(set(0)?, set(0)?)?.around(-6.0)?, Config { steps, sampler: Sampler::full(0) }, [0.0; 2])?,
///     GtNode::<_, 2, 2>::gradient_tracking(
///         Ridge::new(set(1)?, set(1)?)?.around(-6.0)?, Config { steps, sampler: Sampler::full(1) }, [0.0; 2])?,
/// ];
/// for _ in 0..2_000 {
///     for node in &mut nodes {
///         node.compute(&mut scratch)?;
///     }
///     // Here vectors would travel over a serial link; in one process a copy is enough.
///     let sent = nodes.each_ref().map(|n| (*n.x_array(), *n.y_array()));
///     for (i, node) in nodes.iter_mut().enumerate() {
///         let (x, y) = &sent[1 - i];
///         node.mix_with([Neighbour { weight: 0.5, x, y }])?;
///     }
/// }
/// let calibrations = nodes.each_ref().map(|n| n.state().theta.to_vec());
/// assert!((calibrations[0][0] - 2.0).abs() < 0.1 && (calibrations[1][0] - 2.0).abs() < 0.1);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Node<P, X, T, D> {
    pub(crate) problem: P,
    pub(crate) scheme: Scheme,
    pub(crate) config: Config,
    pub(crate) buffers: Buffers<X, T, D>,
    pub(crate) evaluations: Evaluations,
    pub(crate) round: u64,
    pub(crate) epoch: Epoch,
    pub(crate) phase: Phase,
}

/// A node of fixed size with the local gradient scheme: 3n + 2p floats.
pub type LgNode<P, const N: usize, const M: usize> = Node<P, [f32; N], [f32; M], [f32; 0]>;

/// A node of fixed size with gradient tracking: 4n + 2p floats.
pub type GtNode<P, const N: usize, const M: usize> = Node<P, [f32; N], [f32; M], [f32; N]>;

impl<P: Problem, const N: usize, const M: usize> LgNode<P, N, M> {
    /// A node with the local gradient scheme, starting at `x0`.
    ///
    /// # Errors
    /// As [`Node::new`].
    pub fn local_gradient(problem: P, config: Config, x0: [f32; N]) -> Result<Self, NodeError> {
        let (zeros, inner) = ([0.0; N], [0.0; M]);
        let buffers = Buffers { x: x0, y: zeros, z: zeros, theta: inner, v: inner, delta: [] };
        Self::new(problem, Scheme::LocalGradient, config, buffers)
    }
}

impl<P: Problem, const N: usize, const M: usize> GtNode<P, N, M> {
    /// A node with gradient tracking, starting at `x0`.
    ///
    /// # Errors
    /// As [`Node::new`].
    pub fn gradient_tracking(problem: P, config: Config, x0: [f32; N]) -> Result<Self, NodeError> {
        let (zeros, inner) = ([0.0; N], [0.0; M]);
        let buffers = Buffers { x: x0, y: zeros, z: zeros, theta: inner, v: inner, delta: zeros };
        Self::new(problem, Scheme::GradientTracking, config, buffers)
    }
}

impl<P, const N: usize, T, D> Node<P, [f32; N], T, D> {
    /// x, with its length in the type.
    #[must_use]
    pub const fn x_array(&self) -> &[f32; N] {
        &self.buffers.x
    }

    /// y, with its length in the type.
    #[must_use]
    pub const fn y_array(&self) -> &[f32; N] {
        &self.buffers.y
    }
}

impl<P: Problem, X: Storage, T: Storage, D: Storage> Node<P, X, T, D> {
    /// A node in the given memory, in round 0 of epoch 0: θ = v = z = y = 0 and x as given.
    ///
    /// # Errors
    /// Refuses buffers whose lengths do not fit the problem, and a starting point that is not finite.
    pub fn new(
        problem: P,
        scheme: Scheme,
        config: Config,
        mut buffers: Buffers<X, T, D>,
    ) -> Result<Self, NodeError> {
        let size = problem.dimensions();
        if size.outer == 0 || size.inner == 0 {
            return Err(NodeError::Empty);
        }
        let delta = match scheme {
            Scheme::LocalGradient => buffers.delta.as_ref().len(),
            Scheme::GradientTracking => size.outer,
        };
        for (name, buffer, needed) in [
            ("x", buffers.x.as_ref(), size.outer),
            ("y", buffers.y.as_ref(), size.outer),
            ("z", buffers.z.as_ref(), size.outer),
            ("theta", buffers.theta.as_ref(), size.inner),
            ("v", buffers.v.as_ref(), size.inner),
            ("delta", buffers.delta.as_ref(), delta),
        ] {
            check_length(name, buffer, needed)?;
        }
        if let Some(index) = buffers.x.as_ref().iter().position(|x| !x.is_finite()) {
            return Err(NodeError::Start { index });
        }
        buffers.y.as_mut().fill(0.0);
        buffers.z.as_mut().fill(0.0);
        buffers.theta.as_mut().fill(0.0);
        buffers.v.as_mut().fill(0.0);
        buffers.delta.as_mut().fill(0.0);
        let evaluations = Evaluations::default();
        let (epoch, phase) = (Epoch::FIRST, Phase::Ready);
        Ok(Self { problem, scheme, config, buffers, evaluations, round: 0, epoch, phase })
    }

    /// The local half of a round: one gradient, one Hessian-vector product, one hypergradient.
    ///
    /// # Errors
    /// Refuses to run out of turn and with too little scratch. On divergence every variable still holds its
    /// last finite value, x and y those of the round's start, so nothing bad can be sent.
    pub fn compute<S: Storage, W: Storage>(
        &mut self,
        scratch: &mut Scratch<S, W>,
    ) -> Result<(), NodeError> {
        match self.phase {
            Phase::Ready => {}
            Phase::Mixing { .. } => return Err(NodeError::OutOfTurn),
            Phase::Diverged(divergence) => return Err(NodeError::Diverged(divergence)),
        }
        let (direction, workspace) = (scratch.direction.as_mut(), scratch.workspace.as_mut());
        check_length("direction", direction, self.buffers.theta.as_ref().len())?;
        let needed = self.problem.dimensions().workspace;
        let Some(workspace) = workspace.get_mut(..needed) else {
            return check_length("workspace", workspace, needed);
        };
        let Buffers { x, y, z, theta, v, delta } = &mut self.buffers;
        let (x, y, z) = (x.as_ref(), y.as_ref(), z.as_mut());
        let (theta, v, delta) = (theta.as_mut(), v.as_mut(), delta.as_mut());
        let steps = &self.config.steps;

        let sampler = self.config.sampler;
        let count = &mut self.evaluations;
        let mut oracles = Oracles::new(&self.problem, sampler, self.round, x, count, workspace);
        let at = Point { x, theta };
        // Everything is evaluated at the old (x, θ, v): s and h before v moves, d before θ moves.
        let smoothed = match self.scheme {
            Scheme::LocalGradient => {
                // y holds the old z, so z itself can hold s, and no δ is needed.
                oracles.hypergradient(at, v, z);
                smooth(z, y, steps.gamma())
            }
            Scheme::GradientTracking => {
                oracles.hypergradient(at, v, delta);
                track(delta, z, steps.gamma())
            }
        };
        oracles.hv_residual(at, v, direction);
        let result = if !smoothed {
            Err(Variable::Hypergradient)
        } else if !descend(v, steps.lambda(), direction) {
            Err(Variable::HessianInverseVector)
        } else {
            oracles.inner_gradient(at, direction);
            if descend(theta, steps.beta(), direction) { Ok(()) } else { Err(Variable::Inner) }
        };
        match result {
            Ok(()) => {
                self.phase = Phase::Mixing { next: 0 };
                Ok(())
            }
            Err(variable) => Err(self.diverge(variable)),
        }
    }

    /// The other half of a round, for the next elements of x and y.
    ///
    /// `x_gap` is Σ_j w_ij (x_j - x) over the neighbours in order of their numbers, as
    /// [`add_gap`](crate::vector::add_gap) builds it, and `y_gap` the same for y (with LG it is not read).
    /// Pass whole vectors or chunks of any length; the last element completes the round. The elements of x and y that it
    /// overwrites must have reached every neighbour.
    ///
    /// # Errors
    /// Refuses calls out of turn, chunks beyond the end, and chunks of different lengths.
    pub fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError> {
        let next = match self.phase {
            Phase::Mixing { next } => next,
            Phase::Ready => return Err(NodeError::OutOfTurn),
            Phase::Diverged(divergence) => return Err(NodeError::Diverged(divergence)),
        };
        if self.scheme == Scheme::GradientTracking {
            check_length("y_gap", y_gap, x_gap.len())?;
        }
        let Buffers { x, y, z, delta, .. } = &mut self.buffers;
        let (x, y, z, delta) = (x.as_mut(), y.as_mut(), z.as_ref(), delta.as_ref());
        let (alpha, tau) = (self.config.steps.alpha(), self.config.steps.tau());
        let left = x.len().saturating_sub(next);
        let end = next.wrapping_add(x_gap.len());
        let (Some(x), Some(y)) = (x.get_mut(next..end), y.get_mut(next..end)) else {
            return Err(NodeError::Length { name: "x_gap", needed: left, found: x_gap.len() });
        };
        let mixed = match self.scheme {
            Scheme::LocalGradient => {
                let z = z.get(next..end).unwrap_or(&[]);
                mix_local(x, y, z, x_gap, [tau, alpha])
            }
            Scheme::GradientTracking => {
                let delta = delta.get(next..end).unwrap_or(&[]);
                mix_tracking(x, y, delta, [x_gap, y_gap], [tau, alpha])
            }
        };
        if let Err(variable) = mixed {
            return Err(self.diverge(variable));
        }
        if x_gap.len() == left {
            self.round = self.round.wrapping_add(1);
            self.phase = Phase::Ready;
        } else {
            self.phase = Phase::Mixing { next: end };
        }
        Ok(())
    }

    /// The rest of a round at once, from the neighbours' whole vectors in order of their numbers.
    ///
    /// # Errors
    /// As [`Node::mix`]; also refuses a neighbour whose vectors are of another length.
    pub fn mix_with<'a, I>(&mut self, neighbours: I) -> Result<(), NodeError>
    where
        I: IntoIterator<Item = Neighbour<'a>, IntoIter: Clone>,
    {
        const CHUNK: usize = 32;
        if self.phase == Phase::Ready {
            return Err(NodeError::OutOfTurn);
        }
        let neighbours = neighbours.into_iter();
        let (mut x_gap, mut y_gap) = ([0.0; CHUNK], [0.0; CHUNK]);
        while let Phase::Mixing { next } = self.phase {
            let (x, y) = (self.buffers.x.as_ref(), self.buffers.y.as_ref());
            let end = next.saturating_add(CHUNK).min(x.len());
            let part = next..end;
            let tracking = self.scheme == Scheme::GradientTracking;
            for (at, Neighbour { weight, x: their_x, y: their_y }) in neighbours.clone().enumerate()
            {
                // Its pull overwrites what the chunk before has left.
                let first = at == 0;
                pull("neighbour's x", &mut x_gap, first, weight, their_x, x, part.clone())?;
                if tracking {
                    pull("neighbour's y", &mut y_gap, first, weight, their_y, y, part.clone())?;
                }
            }
            let len = part.len().min(CHUNK);
            self.mix(&x_gap[..len], &y_gap[..len])?;
        }
        match self.phase {
            Phase::Diverged(divergence) => Err(NodeError::Diverged(divergence)),
            _ => Ok(()),
        }
    }

    /// Starts a new epoch in `round`: y = z, and an unfinished round is dropped.
    ///
    /// If every node of the network does this, the mean of y is the mean of z again, whatever was lost.
    pub fn restart(&mut self, epoch: Epoch, round: u64) {
        let Buffers { y, z, delta, .. } = &mut self.buffers;
        for (y, z) in y.as_mut().iter_mut().zip(z.as_ref()) {
            *y = *z;
        }
        delta.as_mut().fill(0.0);
        (self.epoch, self.round, self.phase) = (epoch, round, Phase::Ready);
    }

    /// The node's variables.
    #[must_use]
    pub fn state(&self) -> State<'_> {
        State {
            round: self.round,
            epoch: self.epoch,
            x: self.buffers.x.as_ref(),
            theta: self.buffers.theta.as_ref(),
            v: self.buffers.v.as_ref(),
            z: self.buffers.z.as_ref(),
            y: self.buffers.y.as_ref(),
        }
    }

    /// Where the node stands in its round.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Its scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Its settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Its problem.
    #[must_use]
    pub const fn problem(&self) -> &P {
        &self.problem
    }

    /// Its problem, for data that change while the node learns. Its dimensions must not change.
    pub const fn problem_mut(&mut self) -> &mut P {
        &mut self.problem
    }

    /// How often each oracle was evaluated.
    #[must_use]
    pub const fn evaluations(&self) -> Evaluations {
        self.evaluations
    }

    pub(crate) fn diverge(&mut self, variable: Variable) -> NodeError {
        let divergence = Divergence { round: self.round, variable };
        self.phase = Phase::Diverged(divergence);
        NodeError::Diverged(divergence)
    }
}

#[cfg(feature = "defmt")]
impl<P: Problem, X: Storage, T: Storage, D: Storage> defmt::Format for Node<P, X, T, D> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let (n, p) = (self.buffers.x.as_ref().len(), self.buffers.theta.as_ref().len());
        let (id, round) = (self.config.sampler.draws.node, self.round);
        defmt::write!(f, "Node {} ({}, n = {}, p = {}, round {})", id, self.scheme, n, p, round);
    }
}
