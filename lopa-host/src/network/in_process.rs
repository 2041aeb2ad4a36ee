//! All nodes in one process: the exchange of a round without links, on all cores.
//!
//! Nodes compute at the same time, then mix at the same time; within a node every sum has its order. The bits are the
//! same for any number of threads. A round allocates nothing.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::{Pod, Zeroable};
use lopa_core::network::{Edge, NetworkError, check_edges};
use lopa_core::node::NodeError;
use lopa_core::problem::Dimensions;
use lopa_core::vector::{add_gap, set_gap};
use rayon::prelude::*;

/// A node of a network, whatever its algorithm.
pub trait Member: Send + Sync {
    /// Memory to compute in, which nodes on one thread share.
    type Scratch: Send + fmt::Debug;
    /// What travels for an element of a vector: the element, or its change.
    type Sent: Pod + Send + Sync + fmt::Debug;

    /// The size of its problem.
    fn dimensions(&self) -> Dimensions;

    /// Memory for any node of at most these sizes.
    fn scratch(inner: usize, workspace: usize) -> Self::Scratch;

    /// The local half of a round.
    ///
    /// # Errors
    /// Names the variable that diverged.
    fn compute(&mut self, scratch: &mut Self::Scratch) -> Result<(), NodeError>;

    /// The lengths of the vectors that travel to neighbours; the second is 0 if there is only one.
    fn lengths(&self) -> [usize; 2];

    /// Puts what it sends to every neighbour into `sent`, and returns how many bytes that is without frames. It may put its
    /// own vectors there instead of copying them, and take that memory for new values.
    fn send(&mut self, sent: &mut Outbox<Self::Sent>) -> usize;

    /// Undoes [`Member::send`], after which alone it is called: the round ends here.
    fn take_back(&mut self, _sent: &mut Outbox<Self::Sent>) {}

    /// The other half of a round, from what the node itself and all its neighbours have sent.
    ///
    /// # Errors
    /// Names the variable that diverged.
    fn mix<'a>(
        &mut self,
        own: Vectors<'a, Self::Sent>,
        neighbours: impl Iterator<Item = (f32, Vectors<'a, Self::Sent>)> + Clone,
        pulls: [&mut [f32]; 2],
    ) -> Result<(), NodeError>;

    /// Whether a link may have this weight.
    #[must_use]
    fn takes(_weight: f32) -> bool {
        true
    }
}

/// What a node has sent in a round: x, and y if it travels.
pub type Outbox<A> = [Box<[A]>; 2];

/// The same, to read.
pub type Vectors<'a, A> = [&'a [A]; 2];

/// The pull of all neighbours, Σ_j w_ij (a_j - a), on each vector that travels, in the order of their numbers.
pub(crate) fn pull<'a>(
    own: Vectors<'_, f32>,
    mut neighbours: impl Iterator<Item = (f32, Vectors<'a, f32>)>,
    pulls: [&mut [f32]; 2],
) {
    let [x, y] = pulls;
    if let Some((weight, theirs)) = neighbours.next() {
        set_gap(x, weight, theirs[0], own[0]);
        set_gap(y, weight, theirs[1], own[1]);
    } else {
        x.fill(0.0);
        y.fill(0.0);
    }
    for (weight, theirs) in neighbours {
        add_gap(x, weight, theirs[0], own[0]);
        add_gap(y, weight, theirs[1], own[1]);
    }
}

/// The bytes of vectors that are sent as they are.
pub(crate) fn bytes_of(sent: &Outbox<f32>) -> usize {
    sent.iter().map(|vector| size_of_val(&**vector)).sum()
}

/// Nodes on a weighted graph, moving round by round.
#[derive(Debug)]
pub struct InProcess<M: Member> {
    nodes: Vec<M>,
    edges: Vec<Edge>,
    /// Where each node's edges begin in `edges`, and where the last one's end.
    starts: Vec<usize>,
    /// The lengths of the vectors that travel, the same for all nodes.
    lengths: [usize; 2],
    /// What each node has sent in this round: nodes move at once, without waiting until all others have read where they were.
    sent: Vec<Outbox<M::Sent>>,
    /// The bytes that each node has sent to all its neighbours together, without frames.
    bytes: Vec<u64>,
    memory: PerThread<Memory<M::Scratch>>,
    /// The first node that diverged, and where: the network does not go on from there.
    failed: Option<NetworkError>,
    /// Which nodes have sent and not mixed yet.
    out: Vec<bool>,
}

impl<M: Member> InProcess<M> {
    /// Joins nodes by edges: both directions of every link, sorted by (node, neighbour).
    ///
    /// # Errors
    /// Names the edge that is wrong or has a weight that nodes cannot mix with, or the first node whose vectors do not fit
    /// those of node 0.
    pub fn join(nodes: Vec<M>, edges: Vec<Edge>) -> Result<Self, NetworkError> {
        Self::check(&edges, nodes.len())?;
        Self::part(nodes, edges, 0)
    }

    /// Checks the edges of a whole network.
    ///
    /// # Errors
    /// Names the edge that is wrong or has a weight that nodes cannot mix with.
    pub(crate) fn check(edges: &[Edge], nodes: usize) -> Result<(), NetworkError> {
        check_edges(edges, nodes)?;
        if let Some(index) = edges.iter().position(|edge| !M::takes(edge.weight)) {
            return Err(NetworkError::Weight { index });
        }
        Ok(())
    }

    /// Joins the nodes of a part of a network. They are numbered from 0 and followed by `strangers`: neighbours elsewhere,
    /// whose vectors must be [received](Self::received_mut) in every round. Edges are those of the nodes here, sorted by node.
    ///
    /// # Errors
    /// Names the first node whose vectors do not fit those of node 0.
    pub(crate) fn part(
        nodes: Vec<M>,
        edges: Vec<Edge>,
        strangers: usize,
    ) -> Result<Self, NetworkError> {
        let lengths = nodes.first().map_or([0; 2], M::lengths);
        if let Some(node) = nodes.iter().position(|node| node.lengths() != lengths) {
            return Err(NetworkError::Unlike { node });
        }
        let start = |node| edges.partition_point(|edge| (edge.node as usize) < node);
        let starts = (0..=nodes.len()).map(start).collect();
        let place = || lengths.map(|len| vec![M::Sent::zeroed(); len].into_boxed_slice());
        let sent = (0..nodes.len() + strangers).map(|_| place()).collect();
        let (bytes, out) = (vec![0; nodes.len()], vec![false; nodes.len()]);
        let memory = PerThread(Vec::new());
        Ok(Self { nodes, edges, starts, lengths, sent, bytes, memory, failed: None, out })
    }

    /// One round of every node.
    ///
    /// # Errors
    /// Names the node that diverged: the one with the lowest number.
    pub fn round(&mut self) -> Result<(), NetworkError> {
        self.compute()?;
        self.mix()
    }

    /// Gives every thread memory to compute in, unless it has some.
    fn prepare_threads(&mut self) {
        let (nodes, threads) = (&self.nodes, rayon::current_num_threads());
        if self.memory.0.len() < threads {
            let largest = |of: fn(Dimensions) -> usize| {
                nodes.iter().map(|node| of(node.dimensions())).max().unwrap_or(0)
            };
            let (inner, workspace) = (largest(|size| size.inner), largest(|size| size.workspace));
            let memory = || Memory {
                scratch: M::scratch(inner, workspace),
                pulls: self.lengths.map(|len| vec![0.0; len]),
            };
            self.memory.0.resize_with(threads, || Mutex::new(memory()));
        }
    }

    /// The first half of a round: every node computes, and sends.
    ///
    /// # Errors
    /// Names the node that diverged: the one with the lowest number.
    pub(crate) fn compute(&mut self) -> Result<(), NetworkError> {
        self.failed.map_or(Ok(()), Err)?;
        self.prepare_threads();
        let Self { nodes, starts, sent, bytes, memory, out, .. } = self;
        let places = sent.par_iter_mut().zip(&mut *bytes).zip(&mut *out).enumerate();
        let computed = nodes.par_iter_mut().zip(places).map(|(node, (number, place))| {
            let ((sent, bytes), out) = place;
            node.compute(&mut memory.own().scratch)?;
            let own = node.send(sent);
            *out = true;
            *bytes += own as u64 * (starts[number + 1] - starts[number]) as u64;
            Ok(())
        });
        let computed = first_error(computed);
        self.failed = computed.err();
        if computed.is_err() {
            self.take_back();
        }
        computed
    }

    /// Gives nodes that have sent and will not mix their variables back.
    pub(crate) fn take_back(&mut self) {
        for ((node, sent), out) in self.nodes.iter_mut().zip(&mut self.sent).zip(&mut self.out) {
            if std::mem::take(out) {
                node.take_back(sent);
            }
        }
    }

    /// The second half: every node mixes what it and its neighbours have sent.
    ///
    /// # Errors
    /// Names the node that diverged: the one with the lowest number.
    pub(crate) fn mix(&mut self) -> Result<(), NetworkError> {
        let Self { nodes, edges, starts, sent, memory, .. } = self;
        let sent = |number: usize| {
            let [x, y] = &sent[number];
            [&**x, &**y]
        };
        let mixed = nodes.par_iter_mut().enumerate().map(|(number, node)| {
            let edges = edges[starts[number]..starts[number + 1]].iter();
            let neighbours = edges.map(|edge| (edge.weight, sent(edge.neighbour as usize)));
            let [x, y] = &mut memory.own().pulls;
            node.mix(sent(number), neighbours, [x, y])
        });
        let mixed = first_error(mixed);
        self.failed = mixed.err();
        self.out.fill(false);
        mixed
    }

    /// What a node sends in this round.
    pub(crate) fn sent(&self, node: usize) -> &Outbox<M::Sent> {
        &self.sent[node]
    }

    /// Where to put what some strangers send in this round.
    pub(crate) fn received_mut(&mut self, strangers: Range<usize>) -> &mut [Outbox<M::Sent>] {
        let nodes = self.nodes.len();
        &mut self.sent[nodes + strangers.start..nodes + strangers.end]
    }

    /// The bytes of everything that nodes have sent since they were joined, once per neighbour and without frames.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Whether a node diverged, so that the network stands in the middle of a round.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[M] {
        &self.nodes
    }

    /// The nodes, to put them where they were in an earlier run. All must be in the same round.
    pub fn nodes_mut(&mut self) -> &mut [M] {
        self.failed = None;
        &mut self.nodes
    }

    /// The nodes, to run them in another way.
    #[must_use]
    pub fn into_nodes(self) -> Vec<M> {
        self.nodes
    }
}

/// What nodes on one thread share.
#[derive(Debug)]
struct Memory<S> {
    scratch: S,
    /// For the pull on the travelling vectors of a node, if it is built before the node mixes.
    pulls: [Vec<f32>; 2],
}

/// What each thread has for itself.
#[derive(Debug)]
struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    /// What the current thread has. No other thread of the pool asks for it, so the lock is free.
    fn own(&self) -> MutexGuard<'_, T> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        self.0[thread % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first of many results that is an error.
fn first_error(
    results: impl IndexedParallelIterator<Item = Result<(), NodeError>>,
) -> Result<(), NetworkError> {
    let failed = results.enumerate().map(|(node, result)| {
        let error = result.err()?;
        Some(NetworkError::Node { node, error })
    });
    // The left one is always that of the lower numbers.
    failed.reduce(|| None, Option::or).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use lopa_core::batch::Sampler;
    use lopa_core::node::{Config, Neighbour, Scheme, State};
    use lopa_core::problems::Quadratic;
    use lopa_core::steps::StepSizes;

    use super::super::{SimulatedNode, Simulation};
    use super::*;
    use crate::quadratics::{QuadraticData, QuadraticRecipe};
    use crate::topology::Topology;

    fn data() -> Vec<QuadraticData> {
        let recipe = QuadraticRecipe::new(200, 3, 1.0, 7);
        (0..4).map(|node| recipe.node(node)).collect()
    }

    /// A ring of four, of which node 1 has its own steps α and β.
    fn ring(data: &[QuadraticData], scheme: Scheme, steps: [f32; 2]) -> Simulation<Quadratic<'_>> {
        let config = |node| {
            let [alpha, beta] = if node == 1 { steps } else { [0.1, 0.3] };
            let steps = StepSizes::new(alpha, beta, 0.3, 0.5, 0.5).unwrap();
            Config { steps, sampler: Sampler::full(node) }
        };
        let problems = data.iter().map(|data| data.problem().unwrap());
        let edges = Topology::ring(4).metropolis();
        Simulation::new(problems, scheme, edges, |n| vec![0.2; n], config).unwrap()
    }

    /// The bits of x and y of every node.
    fn vectors<'a>(
        nodes: impl IntoIterator<Item = &'a SimulatedNode<Quadratic<'a>>>,
    ) -> Vec<Vec<u32>> {
        let bits =
            |state: State<'_>| [state.x, state.y].concat().into_iter().map(f32::to_bits).collect();
        nodes.into_iter().map(|node| bits(node.state())).collect()
    }

    const SCHEMES: [Scheme; 2] = [Scheme::LocalGradient, Scheme::GradientTracking];

    #[test]
    fn nodes_keep_their_vectors_when_one_diverges_while_it_computes() {
        let data = data();
        for scheme in SCHEMES {
            let mut network = ring(&data, scheme, [0.1, 500.0]);
            let (before, error) = loop {
                let before = vectors(network.nodes());
                if let Err(error) = network.round() {
                    break (before, error);
                }
            };
            assert!(matches!(error, NetworkError::Node { node: 1, .. }), "{error}");
            assert_eq!(vectors(network.nodes()), before);
            assert_eq!(network.round(), Err(error), "it goes on");
            assert_eq!(vectors(network.nodes()), before);
            // Those that have computed refuse to do so again, and have nothing to take back.
            network.nodes_mut();
            assert!(matches!(network.round(), Err(NetworkError::Node { node: 0, .. })));
            assert_eq!(vectors(network.nodes()), before);
        }
    }

    #[test]
    fn nodes_mix_as_if_alone_until_one_diverges() {
        let data = data();
        for scheme in SCHEMES {
            let mut network = ring(&data, scheme, [1.0e30, 0.3]);
            let mut alone = ring(&data, scheme, [1.0e30, 0.3]).into_nodes();
            let edges = network.edges.clone();
            let mut scratch = SimulatedNode::<Quadratic<'_>>::scratch(3, 0);
            loop {
                alone.iter_mut().for_each(|node| node.compute(&mut scratch).unwrap());
                let sent = alone.clone();
                for (number, node) in alone.iter_mut().enumerate() {
                    let own = edges.iter().filter(|edge| edge.node as usize == number);
                    // One of them diverges in the end.
                    let _ = node.mix_with(own.map(|edge| {
                        let State { x, y, .. } = sent[edge.neighbour as usize].state();
                        Neighbour { weight: edge.weight, x, y }
                    }));
                }
                let round = network.round();
                assert_eq!(vectors(network.nodes()), vectors(&alone));
                if let Err(error) = round {
                    assert!(matches!(error, NetworkError::Node { .. }), "{error}");
                    break;
                }
            }
        }
    }
}
