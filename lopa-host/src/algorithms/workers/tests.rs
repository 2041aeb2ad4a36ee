//! Networks in parts, each in a thread of its own: their bits, and what happens when one is lost.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use lopa_core::batch::Sampler;
use lopa_core::network::NetworkError;
use lopa_core::node::{Config, Divergence, NodeError, Scheme, Variable};
use lopa_core::problems::Quadratic;
use lopa_core::steps::StepSizes;

use super::message::{self, Failure, Word};
use super::{Distributed, Gone, Mesh, Place, Split};
use crate::algorithms::Algorithm;
use crate::config::Experiment;
use crate::locked::locked;
use crate::network::Simulation;
use crate::quadratics::{QuadraticData, QuadraticRecipe};
use crate::record::Record;
use crate::report::Outputs;
use crate::run::{Options, Prepared, RunError, follow};
use crate::topology::Topology;

const STEPS: &str = "alpha = 0.1\nbeta = 0.1\nlambda = 0.1\ngamma = 0.3\ntau = 0.5";

/// A network without a problem and links; the steps of the algorithm and its rounds.
fn file(algorithm: &str, steps: &str, problem: &str, rest: &str) -> Experiment {
    let text = format!(
        "[network]\nnodes = 11\ntopology = \"erdos-renyi 0.3\"\n[problem]\n{problem}\n\
         [algorithm]\nname = \"{algorithm}\"\n{steps}\n[run]\niterations = 30\nrecord_every = 7\n{rest}"
    );
    Experiment::parse(&text).unwrap()
}

fn lopa(rest: &str) -> Experiment {
    file("lopa-gt", STEPS, "kind = \"logistic\"", rest)
}

/// Parts in one process, one per thread.
#[derive(Debug)]
struct Threads {
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Threads {
    /// A mesh for each part.
    fn new(parts: usize) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..parts).map(|_| Self { to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..parts {
            for to in 0..parts {
                let (sender, receiver) = mpsc::channel();
                all[from].to.push(sender);
                all[to].from.push(Mutex::new(receiver));
            }
        }
        all
    }
}

impl Mesh for Threads {
    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), Gone> {
        self.to[to].send(message).map_err(|_| Gone { part: to })
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        let receiver = locked(&self.from[from]);
        receiver.recv().map_err(|_| Gone { part: from })
    }
}

/// Threads to compute with, as every process has its own: one that waits for others does not keep theirs from computing.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

/// Runs in as many threads as there are parts, all but the first of which follow with their own file.
fn run_in<T: Send>(
    parts: usize,
    theirs: &Experiment,
    lead: impl FnOnce(&Place) -> T + Send,
) -> (T, Vec<Result<(), RunError>>) {
    let split = Split::new(theirs.network.nodes as usize, parts).unwrap();
    let places = Threads::new(parts).into_iter().enumerate();
    let mut places: Vec<Place> =
        places.map(|(part, mesh)| Place { split, part, mesh: Arc::new(mesh) }).collect();
    let own = places.remove(0);
    thread::scope(|scope| {
        let follow = |place| scope.spawn(move || alone(|| follow(theirs, &place)));
        let followers: Vec<_> = places.into_iter().map(follow).collect();
        let led = alone(|| lead(&own));
        drop(own);
        (led, followers.into_iter().map(|thread| thread.join().unwrap()).collect())
    })
}

/// Rows without the seconds that they took.
fn rows(record: &Record) -> String {
    let seconds = record.columns().iter().position(|column| column.name == "seconds");
    let csv = record.csv();
    let keep = |line: &str| {
        let cells = line.split(',').enumerate();
        cells
            .filter(|(at, _)| Some(*at) != seconds)
            .map(|(_, cell)| cell)
            .collect::<Vec<_>>()
            .join(",")
    };
    csv.lines().map(keep).collect::<Vec<_>>().join("\n")
}

/// Everything that a run has learned, and its record.
fn outcome(prepared: &Prepared, options: Options<'_>) -> Result<(Vec<Vec<u32>>, String), RunError> {
    let outcome = prepared.run(options, |_| {})?;
    let bits = |vector: &[f32]| vector.iter().map(|a| a.to_bits()).collect::<Vec<_>>();
    let nodes = outcome.nodes();
    let nodes = nodes.iter().flat_map(|node| {
        [bits(node.x), bits(node.theta), bits(node.y.unwrap_or(&[])), vec![node.round as u32]]
    });
    Ok((nodes.collect(), rows(&outcome.record)))
}

#[test]
fn bits_do_not_depend_on_how_a_network_is_divided() {
    let quadratic = "kind = \"quadratic\"\nouter = 5\ninner = 3\nheterogeneity = 1.0";
    let steps = "alpha = 0.05\nbeta = 0.1\nlambda = 0.1\ngamma = 0.5";
    let logistic = "kind = \"logistic\"";
    for experiment in [
        file("lopa-gt", STEPS, logistic, ""),
        file("lopa-lg", STEPS, quadratic, "seed = 3"),
        file("lopa-gt", STEPS, quadratic, "[links]\nbits = 4\nsimulate = false"),
        file("d-soba-so", steps, quadratic, ""),
        file("sparkle-gt", steps, logistic, ""),
    ] {
        let prepared = Prepared::new(experiment.clone()).unwrap();
        let single = outcome(&prepared, Options::default()).unwrap();
        for parts in [2, 3, 11] {
            let (led, followed) = run_in(parts, &experiment, |place| {
                outcome(&prepared, Options { place: Some(place), ..Options::default() }).unwrap()
            });
            let name = experiment.algorithm.name;
            assert!(led == single, "{name}, {parts} parts:\n{}\n{}", led.1, single.1);
            assert!(followed.iter().all(Result::is_ok), "{name}: {followed:?}");
        }
    }
}

#[test]
fn the_node_that_diverges_is_the_same_as_in_one_process() {
    let steps = STEPS.replace("alpha = 0.1", "alpha = 1e30");
    for every in ["", "per_node = true"] {
        let quadratic = "kind = \"quadratic\"\nouter = 5\ninner = 3\nheterogeneity = 1.0";
        let experiment = file("lopa-gt", &steps, quadratic, every);
        let prepared = Prepared::new(experiment.clone()).unwrap();
        let single = outcome(&prepared, Options::default()).unwrap_err();
        let RunError::Diverged(single) = single else { panic!("{single}") };
        let (led, followed) = run_in(4, &experiment, |place| {
            outcome(&prepared, Options { place: Some(place), ..Options::default() }).unwrap_err()
        });
        let RunError::Diverged(led) = led else { panic!("{led}") };
        assert_eq!((led.error, rows(&led.record)), (single.error, rows(&single.record)));
        assert!(followed.iter().all(Result::is_ok), "{followed:?}");
    }
}

/// A mesh that breaks after some messages.
#[derive(Debug)]
struct Breaking(Threads, std::sync::atomic::AtomicI32);

impl Mesh for Breaking {
    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), Gone> {
        self.0.send(to, message)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        if self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) <= 0 {
            return Err(Gone { part: from });
        }
        self.0.receive(from)
    }
}

#[test]
fn a_worker_that_is_lost_ends_the_run_with_a_checkpoint_to_resume_from() {
    let experiment = lopa("checkpoint_every = 10");
    let prepared = Prepared::new(experiment.clone()).unwrap();
    let single = outcome(&prepared, Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Lost before a checkpoint was due, and after: receiving is a word of the first part, and two vectors a round.
    for messages in [10, 60] {
        let outputs = Outputs::new(folder.path()).unwrap();
        let split = Split::new(11, 3).unwrap();
        let mut meshes = Threads::new(3);
        let broken = Breaking(meshes.remove(1), messages.into());
        let place = |part, mesh: Arc<dyn Mesh>| Place { split, part, mesh };
        let last = place(2, Arc::new(meshes.remove(1)));
        let lost = place(1, Arc::new(broken));
        let own = place(0, Arc::new(meshes.remove(0)));
        let error = thread::scope(|scope| {
            let (experiment, last) = (&experiment, last);
            scope.spawn(move || alone(|| follow(experiment, &lost)).unwrap_err());
            // In the middle of a round it misses the other; between rounds the first part tells it that the run has ended.
            scope.spawn(move || drop(alone(|| follow(experiment, &last))));
            let options =
                Options { place: Some(&own), outputs: Some(&outputs), ..Options::default() };
            let error = alone(|| prepared.run(options, |_| {}).map(drop)).unwrap_err();
            drop(own);
            error
        });
        assert!(matches!(error, RunError::Worker(_)), "{error}");
        let (resumed, _) = run_in(2, &experiment, |place| {
            let outputs = Some(&outputs);
            let options =
                Options { place: Some(place), outputs, resume: true, ..Options::default() };
            outcome(&prepared, options).unwrap()
        });
        assert_eq!(resumed.1, single.1);
        assert!(resumed.0 == single.0, "bits after {messages} messages");
    }
}

/// A mesh that says what is written here, and then breaks.
#[derive(Debug)]
struct Script(Mutex<VecDeque<Vec<u8>>>);

impl Mesh for Script {
    fn send(&self, _: usize, _: Vec<u8>) -> Result<(), Gone> {
        Ok(())
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        locked(&self.0).pop_front().ok_or(Gone { part: from })
    }
}

#[test]
fn nodes_have_their_vectors_again_when_another_part_ends_a_round() {
    let recipe = QuadraticRecipe::new(40, 3, 1.0, 7);
    let data: Vec<QuadraticData> = (0..4).map(|node| recipe.node(node)).collect();
    let steps = StepSizes::new(0.1, 0.3, 0.3, 0.5, 0.5).unwrap();
    let config = |node| Config { steps, sampler: Sampler::full(node) };
    let edges = Topology::ring(4).metropolis();
    let divergence = Divergence { round: 2, variable: Variable::Inner };
    let error = NetworkError::Node { node: 0, error: NodeError::Diverged(divergence) };
    let failed = message::write(Word::Failed(Failure::new(error, 2, 2)), &[]);
    for (scheme, vectors) in [(Scheme::LocalGradient, 1), (Scheme::GradientTracking, 2)] {
        for last in [None, Some(&failed)] {
            // Two nodes elsewhere, which stay at zero.
            let bytes = vec![0; 2 * vectors * 40 * size_of::<f32>()];
            let round = |round| message::write(Word::Vectors { round }, &bytes);
            let script = [round(0), round(1)].into_iter().chain(last.cloned()).collect();
            let mesh = Arc::new(Script(Mutex::new(script)));
            let place = Place { split: Split::new(4, 2).unwrap(), part: 0, mesh };
            let problems = data.iter().map(|data| data.problem().unwrap());
            let all = Simulation::new(problems, scheme, edges.clone(), |n| vec![0.2; n], config);
            let joined = Distributed::join(all.unwrap().into_nodes(), &edges, place).unwrap();
            let mut network: Box<dyn Algorithm<Quadratic<'_>> + '_> = Box::new(joined);
            network.step().unwrap();
            network.step().unwrap();
            let bits = |network: &dyn Algorithm<Quadratic<'_>>| {
                let both = |a: &[f32], b: &[f32]| {
                    a.iter().chain(b).map(|a| a.to_bits()).collect::<Vec<_>>()
                };
                let nodes = network.nodes();
                nodes[..2].iter().map(|node| both(node.x, node.y.unwrap())).collect::<Vec<_>>()
            };
            let before = bits(&*network);
            network.step().unwrap_err();
            assert_eq!(bits(&*network), before, "{scheme:?}, {last:?}");
            // Again, although nothing was sent since.
            network.step().unwrap_err();
            assert_eq!(bits(&*network), before, "{scheme:?}, {last:?}");
        }
    }
}

#[test]
fn a_worker_with_other_files_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        let x0 = format!("x0 = {:?}", path.display().to_string());
        (path, file("lopa-gt", STEPS, "kind = \"quadratic\"\nouter = 2\ninner = 2", &x0))
    };
    let ((ours, own), (theirs, other), (_, missing)) = (at("a.csv"), at("b.csv"), at("c.csv"));
    std::fs::write(ours, "0, 0.5").unwrap();
    std::fs::write(theirs, "0, 0.6").unwrap();
    let prepared = Prepared::new(own.clone()).unwrap();
    for (file, what) in [
        (&own, None),
        (&other, Some("worker 1 has another network, other data or another start")),
        (&missing, Some("worker 1: cannot read")),
    ] {
        let (led, _) = run_in(2, file, |place| {
            outcome(&prepared, Options { place: Some(place), ..Options::default() })
        });
        let error = led.err().map(|error| error.to_string());
        match what {
            None => assert_eq!(error, None),
            Some(what) => {
                assert!(error.as_ref().is_some_and(|text| text.contains(what)), "{error:?}");
            }
        }
    }
}
