//! The node of a script, which checks what the exchange does to it.

use lopa_core::codec::{Bits, Block, Codec, CodedNode, Ledgers, Outgoing, Pull};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::Learner;
use lopa_core::node::{Buffers, Config, Node, NodeError, Phase, Scheme, Scratch, State, Variable};
use lopa_core::oracles::Evaluations;
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::problems::{Quadratic, QuadraticParts};

pub(super) const OUTER: usize = 5;
pub(super) const INNER: usize = 2;
/// The most mixes per call.
const MOST_MIXES: usize = 8;

type Floats = Node<Quadratic<'static>, [f32; OUTER], [f32; INNER], [f32; OUTER]>;
type Coded = CodedNode<
    Quadratic<'static>,
    [f32; OUTER],
    [f32; INNER],
    [f32; OUTER],
    [i32; OUTER],
    [i32; OUTER],
>;

const PROBLEM: QuadraticParts<'static> = QuadraticParts {
    diagonal: &[1.5, 2.0],
    spike: &[0.25, -0.5],
    coupling: &[0.5, -0.25, 0.125, 0.0, 1.0, -0.5, 0.25, 0.75, -1.0, 0.5],
    shift: &[1.0, -0.5],
    target: &[0.5, 2.0],
    centre: &[1.0, -1.0, 0.5, 0.0, 2.0],
    rigidity: 0.5,
};

/// The dimensions of the problem.
pub(super) fn dimensions() -> Dimensions {
    Quadratic::new(PROBLEM).unwrap().dimensions()
}

/// A node whose vectors travel as floats, or in few bits.
enum Tested {
    Floats(Floats),
    Coded(Coded),
}

/// The same call on either.
macro_rules! each {
    ($node:expr, $inner:ident => $call:expr) => {
        match $node {
            Tested::Floats($inner) => $call,
            Tested::Coded($inner) => $call,
        }
    };
}

/// A node that checks what the exchange does to it.
pub(super) struct Watched {
    node: Tested,
    pub mixes: usize,
    /// The round in which its epoch began.
    start: u64,
}

impl Watched {
    pub fn new(scheme: Scheme, config: Config, codec: Option<Codec>) -> Self {
        let (outer, inner) = ([0.0; OUTER], [0.0; INNER]);
        let buffers =
            Buffers { x: outer, y: outer, z: outer, theta: inner, v: inner, delta: outer };
        let node = Node::new(Quadratic::new(PROBLEM).unwrap(), scheme, config, buffers).unwrap();
        let zeros = [0; OUTER];
        let ledgers = Ledgers { x_known: zeros, x_gap: zeros, y_known: zeros, y_gap: zeros };
        let node = match codec {
            Some(codec) => Tested::Coded(Coded::new(node, codec, ledgers).unwrap()),
            None => Tested::Floats(node),
        };
        Self { node, mixes: 0, start: 0 }
    }

    pub fn compute(&mut self, scratch: &mut Scratch<[f32; INNER], [f32; 0]>) {
        // If it diverges, the next advance reports it.
        let _ = each!(&mut self.node, node => node.compute(scratch));
    }

    /// The bits of what travels in a round of its epoch; `None` for floats.
    pub fn bits(&self, round: u64) -> Option<Bits> {
        match &self.node {
            Tested::Coded(node) if round != self.start => Some(node.codec().bits()),
            _ => None,
        }
    }

    /// What it must send in its round, in units.
    pub fn changes(&self) -> [[i32; OUTER]; 2] {
        let mut changes = [[0; OUTER]; 2];
        if let Tested::Coded(node) = &self.node {
            let [x, y] = &mut changes;
            node.changes(x, y);
        }
        changes
    }

    fn mixed(&mut self, result: Result<(), NodeError>) -> Result<(), NodeError> {
        self.mixes += 1;
        assert!(self.mixes <= MOST_MIXES, "advance does not end");
        // Anything else means that the exchange and the node are out of step.
        let stopped = matches!(result, Err(NodeError::Diverged(_) | NodeError::Range(_)));
        assert!(stopped || result.is_ok(), "{result:?}");
        result
    }
}

impl Learner for Watched {
    fn state(&self) -> State<'_> {
        each!(&self.node, node => node.state())
    }
    fn phase(&self) -> Phase {
        each!(&self.node, node => node.phase())
    }
    fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError> {
        let result = each!(&mut self.node, node => Learner::mix(node, x_gap, y_gap));
        self.mixed(result)
    }
    fn outgoing(&self) -> Option<Outgoing<'_>> {
        each!(&self.node, node => Learner::outgoing(node))
    }
    fn mix_changes(&mut self, pull: &mut dyn FnMut(Variable, &mut Pull)) -> Result<(), NodeError> {
        let result = each!(&mut self.node, node => Learner::mix_changes(node, pull));
        self.mixed(result)
    }
    fn restart(&mut self, epoch: Epoch, round: u64) {
        assert!(!matches!(self.phase(), Phase::Diverged(_)), "a diverged node was restarted");
        self.start = round;
        each!(&mut self.node, node => node.restart(epoch, round));
    }
    fn evaluations(&self) -> Evaluations {
        each!(&self.node, node => Learner::evaluations(node))
    }
}

/// The changes of a round's chunk, of one vector or two, as the docs describe them; `None` if the bytes are something else.
pub(super) fn unpacked(bits: Bits, vectors: usize, bytes: &[u8]) -> Option<Vec<i32>> {
    if bytes.is_empty() {
        return Some(vec![0; vectors * OUTER]);
    }
    let (mut changes, mut rest) = (Vec::new(), bytes);
    for _ in 0..vectors {
        let (block, after) = Block::read(bits, OUTER, rest)?;
        changes.extend(&block.changes()[..OUTER]);
        rest = after;
    }
    rest.is_empty().then_some(changes)
}
