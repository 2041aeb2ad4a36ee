//! A job as a bare loop over the library's network, without files and metrics.

use std::path::Path;
use std::time::Instant;

use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::Draws;
use lopa_core::node::Config;
use lopa_core::problem::{Point, Predict, Problem};
use lopa_core::problems::{Logistic, SharedLayer};
use lopa_core::samples::Samples;
use lopa_host::config::{Experiment, ProblemTable};
use lopa_host::metrics;
use lopa_host::network::Simulation;
use lopa_host::topology::Topology;

use crate::job::{GROUP, Job, Outcome, start, typical};

/// Microseconds per node and iteration (of a typical group of iterations), and the mean test accuracy.
#[derive(Clone, Copy)]
pub struct Measured {
    pub time: f64,
    pub accuracy: f64,
}

/// Does a job on the threads of the present pool.
pub fn run(job: &Job, mnist: &Path) -> Outcome<Measured> {
    let (job, shards, kind) = job.load(mnist)?;
    let test = shards[0].test.as_ref().ok_or("no test samples")?.samples(kind)?;
    let classes = shards[0].train.classes().len();
    let mut samples = Vec::new();
    for shard in &shards {
        samples.push((shard.train.samples(kind)?, shard.validation.samples(kind)?));
    }
    match job.problem {
        ProblemTable::Logistic {} => {
            let new = |&(train, validation)| Logistic::new(train, validation);
            rounds(&job, samples.iter().map(new).collect::<Result<_, _>>()?, &test)
        }
        ProblemTable::SharedLayer { hidden, mu } => {
            let new =
                |&(train, validation)| SharedLayer::new(train, validation, hidden, classes, mu);
            rounds(&job, samples.iter().map(new).collect::<Result<_, _>>()?, &test)
        }
        _ => Err("a problem that the scripts know is needed".into()),
    }
}

fn rounds<P: Problem + Predict + Send + Sync>(
    job: &Experiment,
    problems: Vec<P>,
    test: &Samples<'_>,
) -> Outcome<Measured> {
    let (steps, size, seed) = (job.steps()?, job.batch(), job.run.seed);
    let config = |node| {
        let sampler = Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent };
        Config { steps, sampler }
    };
    let mut workspace = vec![0.0; problems[0].dimensions().workspace];
    let edges = Topology::ring(job.network.nodes).metropolis();
    let scheme = job.algorithm.scheme()?;
    let mut network = Simulation::new(problems, scheme, edges, |outer| start(job, outer), config)?;
    let mut times = Vec::new();
    for _ in 0..job.run.iterations / GROUP {
        let began = Instant::now();
        for _ in 0..GROUP {
            network.round()?;
        }
        times.push(began.elapsed().as_secs_f64() / GROUP as f64);
    }
    let mut right = 0.0;
    for node in network.nodes() {
        let at = Point { x: node.state().x, theta: node.state().theta };
        right += metrics::accuracy(test, |each| {
            node.problem().predict_all(at, test, &mut workspace, each);
            Some(())
        })
        .unwrap_or(0.0);
    }
    let nodes = f64::from(job.network.nodes);
    Ok(Measured { time: 1e6 * typical(times) / nodes, accuracy: right / nodes })
}
