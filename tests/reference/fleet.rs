//! Nodes of `lopa_core` on a network, run round by round.

use lopa_core::batch::Sampler;
use lopa_core::network::{Edge, exchange};
use lopa_core::node::{Buffers, Config, Node, Scheme, Scratch, State};
use lopa_core::problem::Problem;
use lopa_core::steps::StepSizes;

use super::algorithm::Steps;
use super::matrix::Matrix;

/// A node with its vectors on the heap.
pub type HeapNode<'a> = Node<&'a dyn Problem, Vec<f32>, Vec<f32>, Vec<f32>>;

/// The nodes' problems, of one size.
pub type Problems<'a> = [Box<dyn Problem + 'a>];

/// Nodes, their links, and the memory they work in.
#[derive(Clone)]
pub struct Fleet<'a> {
    pub nodes: Vec<HeapNode<'a>>,
    pub edges: Vec<Edge>,
    scratch: Scratch<Vec<f32>, Vec<f32>>,
    room: Vec<f32>,
}

impl<'a> Fleet<'a> {
    pub fn new(
        problems: &'a Problems<'a>,
        weights: &Matrix,
        steps: StepSizes,
        scheme: Scheme,
        x0: &[f32],
        sampler: impl Fn(u32) -> Sampler,
    ) -> Self {
        let mut edges = Vec::new();
        for (i, row) in weights.iter().enumerate() {
            for (j, &weight) in row.iter().enumerate() {
                if i != j && weight > 0.0 {
                    let (node, neighbour) = (i as u32, j as u32);
                    edges.push(Edge { node, neighbour, weight: weight as f32 });
                }
            }
        }
        let size = problems[0].dimensions();
        let node = |(i, problem): (usize, &'a (dyn Problem + 'a))| {
            // Only x matters, not what is in the other buffers.
            let (outer, inner) = (vec![7.0; size.outer], vec![7.0; size.inner]);
            let delta = match scheme {
                Scheme::LocalGradient => Vec::new(),
                Scheme::GradientTracking => outer.clone(),
            };
            let buffers = Buffers {
                x: x0.to_vec(),
                y: outer.clone(),
                z: outer,
                theta: inner.clone(),
                v: inner,
                delta,
            };
            let config = Config { steps, sampler: sampler(i as u32) };
            Node::new(problem, scheme, config, buffers).unwrap()
        };
        let nodes: Vec<_> =
            problems.iter().map(|problem| &**problem).enumerate().map(node).collect();
        let scratch = Scratch {
            direction: vec![f32::NAN; size.inner],
            workspace: vec![f32::NAN; size.workspace],
        };
        let room = vec![0.0; 2 * nodes.len() * size.outer];
        Self { nodes, edges, scratch, room }
    }

    /// The same with another size of the exchange buffer.
    pub fn with_room(mut self, room: usize) -> Self {
        self.room = vec![f32::NAN; room];
        self
    }

    /// The local half of a round.
    pub fn compute(&mut self) {
        for node in &mut self.nodes {
            node.compute(&mut self.scratch).unwrap();
        }
    }

    /// One round.
    pub fn round(&mut self) {
        self.compute();
        exchange(&mut self.nodes, &self.edges, &mut self.room).unwrap();
    }

    /// All nodes' variables.
    pub fn states(&self) -> Vec<State<'_>> {
        self.nodes.iter().map(Node::state).collect()
    }
}

/// The exact values of step sizes.
pub fn exact_steps(steps: &StepSizes) -> Steps {
    Steps {
        alpha: f64::from(steps.alpha()),
        beta: f64::from(steps.beta()),
        lambda: f64::from(steps.lambda()),
        gamma: f64::from(steps.gamma()),
        tau: f64::from(steps.tau()),
    }
}
