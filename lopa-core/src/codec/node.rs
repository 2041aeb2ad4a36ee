//! A node whose vectors travel in few bits.

use super::outgoing::{Outgoing, Vector};
use super::{BLOCK, Codec, Grid, Ledger, OutOfRange, Pull, Share, part};
use crate::epoch::Epoch;
use crate::node::{
    Config, GtNode, LgNode, Node, NodeError, Phase, Scheme, Scratch, State, Variable,
};
use crate::problem::Problem;
use crate::vector::Storage;

/// Anything that holds a slice of integers: `[i32; N]` on a chip, `&mut [i32]`, or a boxed slice on a host.
pub trait Integers: AsRef<[i32]> + AsMut<[i32]> {}

impl<S: AsRef<[i32]> + AsMut<[i32]> + ?Sized> Integers for S {}

/// What neighbours know of a node's vectors, and its gaps: two more vectors for each that travels. All are overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ledgers<I, J> {
    /// What neighbours know of x, in units (length n).
    pub x_known: I,
    /// The gap of x, in units of 1/256 (length n).
    pub x_gap: I,
    /// What neighbours know of y: length n with gradient tracking, any length (such as `[i32; 0]`) without.
    pub y_known: J,
    /// The gap of y, as long as `y_known`.
    pub y_gap: J,
}

/// A neighbour's changes of a round, and the weight of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CodedNeighbour<'a> {
    /// w_ij.
    pub share: Share,
    /// The changes of the neighbour's x, as [`CodedNode::changes`] writes them.
    pub x: &'a [i32],
    /// Those of its y; ignored with LG.
    pub y: &'a [i32],
}

/// A [`Node`] that mixes with what its neighbours [know](super) of one another instead of with their vectors.
///
/// In the first round of an epoch the changes are the values themselves, in full, so that all nodes start with the same
/// knowledge; from the second round on they have few bits.
///
/// ```
/// use lopa_core::batch::Sampler;
/// use lopa_core::codec::{Codec, CodedGtNode, CodedNeighbour, Share};
/// use lopa_core::node::{Config, Scratch};
/// use lopa_core::problems::{Quadratic, QuadraticParts};
/// use lopa_core::steps::StepSizes;
///
/// // Two nodes that pull x to 0 and to 1 learn to agree on one half, with 4 bits per value.
/// let problem = |centre| Quadratic::new(QuadraticParts {
///     diagonal: &[1.0], spike: &[0.0], coupling: &[0.0], shift: &[0.0], target: &[0.0], centre, rigidity: 1.0,
/// });
/// let steps = StepSizes::new(0.2, 0.5, 0.5, 0.5, 0.5)?;
/// let codec = Codec::new(4, Codec::USUAL_UNIT)?;
/// let node = |id, centre| CodedGtNode::<_, 1, 1>::gradient_tracking(
///     problem(centre).unwrap(), Config { steps, sampler: Sampler::full(id) }, [0.0], codec);
/// let mut nodes = [node(0, &[0.0])?, node(1, &[1.0])?];
/// let share = Share::of(0.5).unwrap();
/// for _ in 0..300 {
///     let mut sent = [([0; 1], [0; 1]); 2];
///     for (node, (x, y)) in nodes.iter_mut().zip(&mut sent) {
///         node.compute(&mut Scratch::<[f32; 1], [f32; 0]>::new())?;
///         node.changes(x, y);
///     }
///     for (node, (x, y)) in nodes.iter_mut().zip(sent.iter().rev()) {
///         node.mix_with([CodedNeighbour { share, x, y }])?;
///     }
/// }
/// assert!(nodes.iter().all(|node| (node.state().x[0] - 0.5).abs() < 1e-6));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CodedNode<P, X, T, D, I, J> {
    pub(super) node: Node<P, X, T, D>,
    pub(super) codec: Codec,
    pub(super) ledgers: Ledgers<I, J>,
    /// The next changes are the values in full: a round that opens an epoch.
    pub(super) opening: bool,
    /// A value left the range of the codec, and the node has stopped.
    pub(super) left: bool,
}

/// A node of fixed size with the local gradient scheme: 5n + 2p words.
pub type CodedLgNode<P, const N: usize, const M: usize> =
    CodedNode<P, [f32; N], [f32; M], [f32; 0], [i32; N], [i32; 0]>;

/// A node of fixed size with gradient tracking: 8n + 2p words.
pub type CodedGtNode<P, const N: usize, const M: usize> =
    CodedNode<P, [f32; N], [f32; M], [f32; N], [i32; N], [i32; N]>;

impl<P: Problem, const N: usize, const M: usize> CodedLgNode<P, N, M> {
    /// A node with the local gradient scheme, starting at `x0`.
    ///
    /// # Errors
    /// As [`CodedNode::new`].
    pub fn local_gradient(
        problem: P,
        config: Config,
        x0: [f32; N],
        codec: Codec,
    ) -> Result<Self, NodeError> {
        let ledgers = Ledgers { x_known: [0; N], x_gap: [0; N], y_known: [], y_gap: [] };
        Self::new(LgNode::local_gradient(problem, config, x0)?, codec, ledgers)
    }
}

impl<P: Problem, const N: usize, const M: usize> CodedGtNode<P, N, M> {
    /// A node with gradient tracking, starting at `x0`.
    ///
    /// # Errors
    /// As [`CodedNode::new`].
    pub fn gradient_tracking(
        problem: P,
        config: Config,
        x0: [f32; N],
        codec: Codec,
    ) -> Result<Self, NodeError> {
        let zeros = [0; N];
        let ledgers = Ledgers { x_known: zeros, x_gap: zeros, y_known: zeros, y_gap: zeros };
        Self::new(GtNode::gradient_tracking(problem, config, x0)?, codec, ledgers)
    }
}

impl<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers>
    CodedNode<P, X, T, D, I, J>
{
    /// A node between two rounds, of which its neighbours know nothing yet: its next round opens an epoch.
    ///
    /// # Errors
    /// Refuses memory of the wrong length, a node in the middle of a round, and one whose x or y is out of the codec's range.
    pub fn new(
        node: Node<P, X, T, D>,
        codec: Codec,
        ledgers: Ledgers<I, J>,
    ) -> Result<Self, NodeError> {
        let outer = node.state().x.len();
        let tracked = match node.scheme() {
            Scheme::LocalGradient => ledgers.y_known.as_ref().len(),
            Scheme::GradientTracking => outer,
        };
        for (name, memory, needed) in [
            ("x_known", ledgers.x_known.as_ref(), outer),
            ("x_gap", ledgers.x_gap.as_ref(), outer),
            ("y_known", ledgers.y_known.as_ref(), tracked),
            ("y_gap", ledgers.y_gap.as_ref(), tracked),
        ] {
            let found = memory.len();
            if found != needed {
                return Err(NodeError::Length { name, needed, found });
            }
        }
        match node.phase() {
            Phase::Ready => {}
            Phase::Mixing { .. } => return Err(NodeError::OutOfTurn),
            Phase::Diverged(divergence) => return Err(NodeError::Diverged(divergence)),
        }
        let mut coded = Self { node, codec, ledgers, opening: true, left: false };
        coded.forget();
        coded.check_range(0, outer)?;
        Ok(coded)
    }

    /// The local half of a round: see [`Node::compute`].
    ///
    /// # Errors
    /// As [`Node::compute`]; also refuses to continue when a value has left the codec's range.
    pub fn compute<S: Storage, W: Storage>(
        &mut self,
        scratch: &mut Scratch<S, W>,
    ) -> Result<(), NodeError> {
        self.node.compute(scratch).map_err(|error| self.named(error))
    }

    /// What the node sends in this round: the changes of x and, with gradient tracking, of y, in units.
    ///
    /// They stay the same until [`CodedNode::mix`] has mixed them.
    pub fn changes(&self, x: &mut [i32], y: &mut [i32]) {
        for (at, x) in x.chunks_mut(BLOCK).enumerate() {
            fill(x, &self.outgoing().changes(Variable::Outer, at.saturating_mul(BLOCK)));
        }
        if self.tracking() {
            for (at, y) in y.chunks_mut(BLOCK).enumerate() {
                fill(y, &self.outgoing().changes(Variable::Direction, at.saturating_mul(BLOCK)));
            }
        }
    }

    /// The other half of a round, for the next [`BLOCK`] elements or as many as are left. `pull` is called
    /// once for x and, with gradient tracking, once for y, as [`Variable`] says; each time it must add the changes of all
    /// neighbours. The last element completes the round. Every neighbour must have the node's changes of these elements.
    ///
    /// # Errors
    /// Refuses calls out of turn, and stops when a variable diverges or leaves the codec's range.
    pub fn mix(&mut self, pull: &mut dyn FnMut(Variable, &mut Pull)) -> Result<(), NodeError> {
        let from = match self.node.phase() {
            Phase::Mixing { next } => next,
            Phase::Ready => return Err(NodeError::OutOfTurn),
            Phase::Diverged(divergence) => {
                return Err(self.named(NodeError::Diverged(divergence)));
            }
        };
        let to = from.saturating_add(BLOCK).min(self.node.state().x.len());
        self.settle(Variable::Outer, from, pull)?;
        if self.tracking() {
            self.settle(Variable::Direction, from, pull)?;
        }
        self.follow(from, to.wrapping_sub(from))?;
        self.check_range(from, to)?;
        // Only now: the other blocks of the round open the epoch too.
        self.opening &= self.node.phase() != Phase::Ready;
        Ok(())
    }

    /// Adds a round's changes to a block of x or of y.
    ///
    /// Like what follows, it is not inlined: none of them adds to a chip's stack while another runs.
    #[inline(never)]
    fn settle(
        &mut self,
        variable: Variable,
        from: usize,
        pull: &mut dyn FnMut(Variable, &mut Pull),
    ) -> Result<(), NodeError> {
        let outer = variable == Variable::Outer;
        let grid = if outer { self.codec.outer() } else { self.direction_grid() };
        let mut theirs = Pull::new(self.opening.then_some(grid));
        pull(variable, &mut theirs);
        self.enter(variable, from, &theirs)
    }

    /// Adds the node's own changes and those of its neighbours.
    #[inline(never)]
    fn enter(&mut self, variable: Variable, from: usize, theirs: &Pull) -> Result<(), NodeError> {
        let own = self.outgoing().changes(variable, from);
        let Ledgers { x_known, x_gap, y_known, y_gap } = &mut self.ledgers;
        let (known, gap) = if variable == Variable::Outer {
            (x_known.as_mut(), x_gap.as_mut())
        } else {
            (y_known.as_mut(), y_gap.as_mut())
        };
        let (known, gap) = (part_mut(known, from), part_mut(gap, from));
        match (Ledger { known, gap }).settle(&own, theirs) {
            Ok(()) => Ok(()),
            Err(OutOfRange) => Err(self.leave(variable)),
        }
    }

    /// Mixes `len` elements, as their gaps say.
    #[inline(never)]
    fn follow(&mut self, from: usize, len: usize) -> Result<(), NodeError> {
        let pull = |floats: &mut [f32; BLOCK], grid: Grid, gaps: &[i32]| {
            let each = floats.iter_mut().zip(part(gaps, from));
            each.for_each(|(float, gap)| *float = grid.pull(*gap));
        };
        let (mut x, mut y) = ([0.0; BLOCK], [0.0; BLOCK]);
        pull(&mut x, self.codec.outer(), self.ledgers.x_gap.as_ref());
        if self.tracking() {
            pull(&mut y, self.direction_grid(), self.ledgers.y_gap.as_ref());
        }
        let len = len.min(BLOCK);
        self.node.mix(&x[..len], &y[..len])
    }

    /// The rest of a round at once, from the neighbours' changes in any order.
    ///
    /// # Errors
    /// As [`CodedNode::mix`]; also refuses a neighbour whose changes are of another length.
    pub fn mix_with<'a, N>(&mut self, neighbours: N) -> Result<(), NodeError>
    where
        N: IntoIterator<Item = CodedNeighbour<'a>, IntoIter: Clone>,
    {
        if self.node.phase() == Phase::Ready {
            return Err(NodeError::OutOfTurn);
        }
        let (needed, neighbours) = (self.node.state().x.len(), neighbours.into_iter());
        for CodedNeighbour { x, y, .. } in neighbours.clone() {
            let y = self.tracking().then_some(("neighbour's y", y.len()));
            for (name, found) in [("neighbour's x", x.len())].into_iter().chain(y) {
                if found != needed {
                    return Err(NodeError::Length { name, needed, found });
                }
            }
        }
        while let Phase::Mixing { next } = self.node.phase() {
            self.mix(&mut |variable, pull| {
                for CodedNeighbour { share, x, y } in neighbours.clone() {
                    let vector = if variable == Variable::Outer { x } else { y };
                    pull.add(share, part(vector, next));
                }
            })?;
        }
        match self.node.phase() {
            Phase::Diverged(divergence) => Err(self.named(NodeError::Diverged(divergence))),
            _ => Ok(()),
        }
    }

    /// Starts a new epoch in `round`: see [`Node::restart`]. A neighbour that is gone cannot be subtracted from a gap, so
    /// neighbours know nothing any more, and the next round sends values in full.
    pub fn restart(&mut self, epoch: Epoch, round: u64) {
        self.node.restart(epoch, round);
        self.forget();
    }

    /// The node's variables.
    #[must_use]
    pub fn state(&self) -> State<'_> {
        self.node.state()
    }

    /// Where the node stands in its round.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.node.phase()
    }

    /// The node itself.
    #[must_use]
    pub const fn node(&self) -> &Node<P, X, T, D> {
        &self.node
    }

    /// The problem, for data that change while the node learns. Its dimensions must not change.
    #[must_use]
    pub const fn problem_mut(&mut self) -> &mut P {
        self.node.problem_mut()
    }

    /// The codec.
    #[must_use]
    pub const fn codec(&self) -> Codec {
        self.codec
    }

    /// What neighbours know, and the gaps.
    #[must_use]
    pub const fn ledgers(&self) -> &Ledgers<I, J> {
        &self.ledgers
    }

    /// Whether this round, or the next one between rounds, opens an epoch: then values are sent in full.
    #[must_use]
    pub const fn is_opening(&self) -> bool {
        self.opening
    }

    fn tracking(&self) -> bool {
        self.node.scheme() == Scheme::GradientTracking
    }

    fn direction_grid(&self) -> Grid {
        self.codec.direction(self.node.config().steps.alpha())
    }

    /// What the node sends in this round.
    #[must_use]
    pub fn outgoing(&self) -> Outgoing<'_> {
        let (State { x, y, .. }, ledgers) = (self.node.state(), &self.ledgers);
        let (outer, direction) = (self.codec.outer(), self.direction_grid());
        let vector = |grid, values, known| Vector { grid, values, known };
        Outgoing {
            codec: self.codec,
            opening: self.opening,
            x: vector(outer, x, ledgers.x_known.as_ref()),
            y: self.tracking().then(|| vector(direction, y, ledgers.y_known.as_ref())),
        }
    }

    /// Neighbours know nothing.
    fn forget(&mut self) {
        let Ledgers { x_known, x_gap, y_known, y_gap } = &mut self.ledgers;
        for memory in [x_known.as_mut(), x_gap.as_mut(), y_known.as_mut(), y_gap.as_mut()] {
            memory.fill(0);
        }
        (self.opening, self.left) = (true, false);
    }

    /// Stops the node if one of these elements is out of the codec's range.
    fn check_range(&mut self, from: usize, to: usize) -> Result<(), NodeError> {
        let State { x, y, .. } = self.node.state();
        let all =
            |grid: Grid, a: &[f32]| a.get(from..to).unwrap_or(&[]).iter().all(|&a| grid.holds(a));
        if !all(self.codec.outer(), x) {
            return Err(self.leave(Variable::Outer));
        }
        if self.tracking() && !all(self.direction_grid(), y) {
            return Err(self.leave(Variable::Direction));
        }
        Ok(())
    }

    /// Stops, because a value of this variable left the codec's range.
    fn leave(&mut self, variable: Variable) -> NodeError {
        self.left = true;
        let error = self.node.diverge(variable);
        self.named(error)
    }

    /// An error of the node, with its real reason.
    fn named(&self, error: NodeError) -> NodeError {
        match error {
            NodeError::Diverged(divergence) if self.left => NodeError::Range(divergence),
            error => error,
        }
    }
}

/// Copies as much as there is, and fits.
fn fill(to: &mut [i32], from: &[i32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// At most a block of a vector, from an element on.
fn part_mut(vector: &mut [i32], from: usize) -> &mut [i32] {
    let from = from.min(vector.len());
    let to = from.saturating_add(BLOCK).min(vector.len());
    vector.get_mut(from..to).unwrap_or(&mut [])
}

#[cfg(feature = "defmt")]
impl<P: Problem, X: Storage, T: Storage, D: Storage, I, J> defmt::Format
    for CodedNode<P, X, T, D, I, J>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{} with {}", self.node, self.codec);
    }
}
