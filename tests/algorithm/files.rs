//! A run from an experiment file, compared with the independent f64 implementation through the files it writes.

use std::fs;
use std::path::Path;

use crate::reference::algorithm::{Network, Steps};
use crate::reference::fixtures::Rng;
use crate::reference::graphs::Graph;
use crate::reference::losses::{Loss, Problem, Samples};
use crate::reference::{Lists, distance, exact};
use lopa_host::config::Experiment;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Prepared};

const NODES: usize = 4;
const WIDTH: usize = 5;
const ITERATIONS: u64 = 300;

/// Random samples, written to a CSV file and kept.
fn samples(rng: &mut Rng, len: usize, loss: Loss, file: &Path) -> Samples {
    let mut text = String::new();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..len {
        let row = rng.vector(WIDTH, -2.0, 2.0);
        let label = match loss {
            Loss::Logistic => rng.below(2) as f32,
            Loss::Squared => rng.between(-3.0, 3.0),
        };
        let words: Vec<String> = [label].iter().chain(&row).map(f32::to_string).collect();
        text += &(words.join(",") + "\n");
        rows.push(exact(&row));
        labels.push(if loss == Loss::Logistic {
            f64::from(2.0 * label - 1.0)
        } else {
            f64::from(label)
        });
    }
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    Samples { rows, labels }
}

fn experiment(dir: &Path, kind: &str, name: &str) -> Experiment {
    let text = format!(
        "[network]\nnodes = {NODES}\ntopology = \"ring\"\n[problem]\nkind = \"{kind}\"\n\
         [data]\nsource = \"csv\"\ndir = \"data\"\n\
         [algorithm]\nname = \"{name}\"\nalpha = 0.1\nbeta = 0.1\nlambda = 0.08\ngamma = 0.4\ntau = 0.5\n\
         batch = \"full\"\n[run]\niterations = {ITERATIONS}\nrecord_every = 50\nx0 = \"x0.csv\"\n"
    );
    fs::write(dir.join("network.toml"), text).unwrap();
    Experiment::read(dir.join("network.toml")).unwrap()
}

fn state(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap()
}

#[test]
fn a_file_reproduces_algorithm_one() {
    for (kind, loss) in [("logistic", Loss::Logistic), ("ridge", Loss::Squared)] {
        let dir = tempfile::tempdir().unwrap();
        let mut rng = Rng(7);
        let problems: Vec<Problem> = (0..NODES)
            .map(|node| {
                let folder = dir.path().join(format!("data/node-{node}"));
                let train = samples(&mut rng, 12, loss, &folder.join("train.csv"));
                let validation = samples(&mut rng, 9, loss, &folder.join("val.csv"));
                Problem::Regularised { loss, train, validation, base: 0.0 }
            })
            .collect();
        let x0 = rng.vector(WIDTH, -2.0, 0.0);
        let text: Vec<String> = x0.iter().map(f32::to_string).collect();
        fs::write(dir.path().join("x0.csv"), text.join(",")).unwrap();
        for (name, tracking) in [("lopa-lg", false), ("lopa-gt", true)] {
            let prepared = Prepared::new(experiment(dir.path(), kind, name)).unwrap();
            let out = dir.path().join(name);
            let outputs = Outputs::new(&out).unwrap();
            let options = Options { outputs: Some(&outputs), ..Options::default() };
            let rows = prepared.run(options, |_| ()).unwrap();
            assert_eq!(rows.record.rows().len() as u64, 1 + ITERATIONS / 50);

            let steps = [0.1_f32, 0.1, 0.08, 0.4, 0.5].map(f64::from);
            let [alpha, beta, lambda, gamma, tau] = steps;
            let steps = Steps { alpha, beta, lambda, gamma, tau };
            let all = |len: usize| (0..len).collect::<Vec<_>>();
            let lists = |_: usize, _: u64| Lists::of(&all(12), &all(9));
            let weights = Graph::Ring.weights(NODES);
            let mut network = Network::new(&problems, weights, steps, tracking, &exact(&x0), lists);
            (0..ITERATIONS).for_each(|_| network.step());

            let state = state(&out);
            assert_eq!(state["iteration"], ITERATIONS);
            let base = state["base"].as_f64().unwrap();
            for (node, want) in network.nodes.iter().enumerate() {
                let got = &state["nodes"][node];
                assert_eq!(got["id"], node);
                for (name, want) in [
                    ("x", &want.x),
                    ("theta", &want.theta),
                    ("v", &want.v),
                    ("z", &want.z),
                    ("y", &want.y),
                ] {
                    let base = if name == "x" { base } else { 0.0 };
                    let got = got[name].as_array().unwrap().iter();
                    let got: Vec<f64> = got.map(|a| base + a.as_f64().unwrap()).collect();
                    // Errors of single roundings, 6e-8, over 300 rounds of a contraction.
                    let far = distance(&got, want);
                    assert!(far < 5e-6, "{kind} {tracking} node {node} {name}: {far:e}");
                }
            }
        }
    }
}

/// The states after a run with this many threads.
fn with_threads(threads: usize, experiment: &Experiment, out: &Path) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let prepared = Prepared::new(experiment.clone()).unwrap();
        let outputs = Outputs::new(out).unwrap();
        let options = Options { outputs: Some(&outputs), ..Options::default() };
        prepared.run(options, |_| ()).unwrap();
    });
    fs::read(out.join("state.json")).unwrap()
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let text = "[network]\nnodes = 9\ntopology = \"torus 3x3\"\n[problem]\nkind = \"logistic\"\n\
                [algorithm]\nname = \"lopa-gt\"\nalpha = 0.3\nbeta = 0.05\nlambda = 0.05\ngamma = 0.3\n\
                tau = 0.5\nbatch = 7\n[run]\niterations = 150\nx0 = -2.0\n";
    let experiment = Experiment::parse(text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let one = with_threads(1, &experiment, &dir.path().join("1"));
    for threads in [2, 8] {
        assert!(one == with_threads(threads, &experiment, &dir.path().join(threads.to_string())));
    }
}
