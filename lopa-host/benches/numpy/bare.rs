//! A job as a bare loop over the library's network, without files and metrics; and what `lopa run` has learned from it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::Draws;
use lopa_core::node::Config;
use lopa_core::problem::{Point, Predict, Problem};
use lopa_core::problems::{Logistic, SharedLayer};
use lopa_core::samples::Samples;
use lopa_host::config::{Experiment, ProblemTable};
use lopa_host::data::together;
use lopa_host::metrics;
use lopa_host::network::Simulation;
use lopa_host::topology::Topology;
use serde::Deserialize;

use crate::job::{GROUP, Job, Outcome, start, typical};

/// Microseconds per node and iteration (of a typical group of iterations), and the mean test accuracy.
#[derive(Clone, Copy)]
pub struct Measured {
    pub time: f64,
    pub accuracy: f64,
}

/// Does a job on the threads of the present pool.
pub fn run(job: &Job, mnist: &Path) -> Outcome<Measured> {
    with_problems(job, mnist, &Rounds)
}

/// The mean test accuracy of what `lopa run` has learned, from its `state.json`.
pub fn accuracy(job: &Job, mnist: &Path, state: &Path) -> Outcome<f64> {
    let learned: Learned = serde_json::from_str(&fs::read_to_string(state)?)?;
    with_problems(job, mnist, &learned)
}

/// What is done with the problems of all nodes.
trait Work {
    type Output;

    fn act<P: Problem + Predict + Send + Sync>(
        &self,
        job: &Experiment,
        problems: Vec<P>,
        test: &Samples<'_>,
    ) -> Outcome<Self::Output>;
}

fn with_problems<W: Work>(job: &Job, mnist: &Path, work: &W) -> Outcome<W::Output> {
    let (job, mut shards, kind) = job.load(mnist)?;
    together(&mut shards);
    let test = shards[0].test.as_ref().ok_or("no test samples")?.samples(kind)?;
    let classes = shards[0].train.classes().len();
    let mut samples = Vec::new();
    for shard in &shards {
        samples.push((shard.train.samples(kind)?, shard.validation.samples(kind)?));
    }
    match job.problem {
        ProblemTable::Logistic {} => {
            let new = |&(train, validation)| Logistic::new(train, validation);
            work.act(&job, samples.iter().map(new).collect::<Result<_, _>>()?, &test)
        }
        ProblemTable::SharedLayer { hidden, mu } => {
            let new =
                |&(train, validation)| SharedLayer::new(train, validation, hidden, classes, mu);
            work.act(&job, samples.iter().map(new).collect::<Result<_, _>>()?, &test)
        }
        _ => Err("a problem that the scripts know is needed".into()),
    }
}

/// The state of all nodes, as `lopa run` writes it.
#[derive(Deserialize)]
struct Learned {
    nodes: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    x: Vec<f32>,
    theta: Vec<f32>,
}

impl Work for Learned {
    type Output = f64;

    fn act<P: Problem + Predict + Send + Sync>(
        &self,
        _: &Experiment,
        problems: Vec<P>,
        test: &Samples<'_>,
    ) -> Outcome<f64> {
        let points = self.nodes.iter().map(|node| Point { x: &node.x, theta: &node.theta });
        Ok(mean_accuracy(problems.iter().zip(points), test))
    }
}

fn mean_accuracy<'a, P: Problem + Predict + 'a>(
    nodes: impl ExactSizeIterator<Item = (&'a P, Point<'a>)>,
    test: &Samples<'_>,
) -> f64 {
    let len = nodes.len() as f64;
    let right = nodes.map(|(problem, at)| {
        let mut workspace = vec![0.0; problem.dimensions().workspace];
        let predict = |each: &mut dyn FnMut(usize, f32)| {
            problem.predict_all(at, test, &mut workspace, each);
            Some(())
        };
        metrics::accuracy(test, predict).unwrap_or(0.0)
    });
    right.sum::<f64>() / len
}

struct Rounds;

impl Work for Rounds {
    type Output = Measured;

    fn act<P: Problem + Predict + Send + Sync>(
        &self,
        job: &Experiment,
        problems: Vec<P>,
        test: &Samples<'_>,
    ) -> Outcome<Measured> {
        let (steps, size, seed) = (job.steps()?, job.batch(), job.run.seed);
        let config = |node| {
            let sampler =
                Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent };
            Config { steps, sampler }
        };
        let edges = Topology::ring(job.network.nodes).metropolis();
        let scheme = job.algorithm.scheme()?;
        let mut network =
            Simulation::new(problems, scheme, edges, |outer| start(job, outer), config)?;
        let mut times = Vec::new();
        for _ in 0..job.run.iterations / GROUP {
            let began = Instant::now();
            for _ in 0..GROUP {
                network.round()?;
            }
            times.push(began.elapsed().as_secs_f64() / GROUP as f64);
        }
        let points = network
            .nodes()
            .iter()
            .map(|node| (node.problem(), Point { x: node.state().x, theta: node.state().theta }));
        let (time, nodes) = (1e6 * typical(times), f64::from(job.network.nodes));
        Ok(Measured { time: time / nodes, accuracy: mean_accuracy(points, test) })
    }
}
