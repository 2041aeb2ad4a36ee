//! The jobs: experiments as files, their data, and the same for Python.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use lopa_core::draw::{Draws, Purpose};
use lopa_core::samples::LabelKind;
use lopa_host::algorithms::Batch;
use lopa_host::config::{Experiment, ProblemTable, Start};
use lopa_host::data::{Shard, Table, Values};
use lopa_tests::images;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Iterations whose mean is one measurement: a few milliseconds, so that many are not interrupted.
pub const GROUP: u64 = 10;

/// The tenth percentile of measurements: other programs only make them longer.
pub fn typical(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

/// A job, and what is promised about it.
pub struct Job {
    pub name: &'static str,
    pub nodes: u32,
    /// Everything but the data's folder.
    text: &'static str,
    /// A side with a lower test accuracy has not done the same job.
    pub learned: f64,
    /// How many times as fast `lopa run` is: as NumPy, and as JAX.
    pub promised: [f64; 2],
    /// The same in integer arithmetic, where that is faster on a host.
    pub in_integers: Option<[f64; 2]>,
}

pub const JOBS: [Job; 2] = [
    Job {
        name: "logistic",
        nodes: 10,
        text: r#"
[network]
nodes = 10
topology = "ring"
[problem]
kind = "logistic"
[algorithm]
name = "lopa-gt"
alpha = 0.1
beta = 0.1
lambda = 0.1
gamma = 0.4
tau = 0.4
batch = 40
[run]
iterations = 2000
record_every = 10
metrics = ["seconds"]
x0 = -6.0
[data]
source = "mnist"
classes = ["0", "1"]
samples = 12000
"#,
        learned: 0.998,
        promised: [5.0, 3.5],
        in_integers: Some([6.0, 4.5]),
    },
    Job {
        name: "shared-layer",
        nodes: 8,
        text: r#"
[network]
nodes = 8
topology = "ring"
[problem]
kind = "shared-layer"
hidden = 28
mu = 0.0104
[algorithm]
name = "lopa-gt"
alpha = 0.5
beta = 0.5
lambda = 0.4
gamma = 0.4
tau = 0.4
batch = 50
[run]
iterations = 500
record_every = 10
metrics = ["seconds"]
x0 = { random = 0.086 }
[data]
source = "mnist"
samples = 12000
validation = "same"
"#,
        learned: 0.8,
        promised: [3.0, 2.0],
        in_integers: None,
    },
];

impl Job {
    /// The experiment as a file: the text with the data's folder, which is its last key.
    pub fn file(&self, mnist: &Path) -> String {
        let mut text = self.text.to_owned();
        let _ = writeln!(text, "dir = {mnist:?}");
        text
    }

    /// The same experiment in integer arithmetic.
    pub fn file_in_integers(&self, mnist: &Path) -> String {
        self.file(mnist).replace("[run]\n", "[run]\narithmetic = \"integer\"\n")
    }

    /// The experiment and the samples of its nodes.
    pub fn load(&self, mnist: &Path) -> Outcome<(Experiment, Vec<Shard>, LabelKind)> {
        let job = Experiment::parse(&self.file(mnist))?;
        let kind = job.problem.labels().ok_or("a problem without labels")?;
        let shards = job.data.shards(kind, job.network.nodes, job.run.seed)?;
        Ok((job, shards, kind))
    }

    /// Writes what the scripts read.
    pub fn export(&self, mnist: &Path, folder: &Path) -> Outcome<()> {
        let (job, shards, _) = self.load(mnist)?;
        let write = |name: &str, table: &Table| -> Outcome<()> {
            let (Values::Bytes(pixels), Some(labels)) = (table.values(), table.labels()) else {
                return Err("images of classes are needed".into());
            };
            fs::write(folder.join(format!("{name}.pixels")), &pixels[..])?;
            Ok(fs::write(folder.join(format!("{name}.labels")), labels)?)
        };
        for (node, shard) in shards.iter().enumerate() {
            write(&format!("train-{node}"), &shard.train)?;
            write(&format!("validation-{node}"), &shard.validation)?;
        }
        write("test", shards[0].test.as_deref().ok_or("no test samples")?)?;
        let (width, classes) = (shards[0].train.width(), shards[0].train.classes().len());
        let (kind, hidden, mu, outer) = match job.problem {
            ProblemTable::Logistic {} => ("logistic", 0, 0.0, width),
            ProblemTable::SharedLayer { hidden, mu } => {
                ("shared-layer", hidden, mu, hidden * (width + 1))
            }
            _ => return Err("a problem that the scripts know is needed".into()),
        };
        let a = &job.algorithm;
        let Batch::Drawn(batch) = a.batch else { return Err("drawn batches are needed".into()) };
        let text = serde_json::json!({
            "kind": kind, "hidden": hidden, "classes": classes, "mu": mu,
            "nodes": job.network.nodes, "width": width, "batch": batch,
            "rounds": job.run.iterations, "group": GROUP, "seed": job.run.seed,
            "alpha": a.alpha, "beta": a.beta, "lambda": a.lambda, "gamma": a.gamma, "tau": a.tau,
        });
        fs::write(folder.join("job.json"), text.to_string())?;
        let start = start(&job, outer).into_iter().flat_map(f32::to_ne_bytes);
        Ok(fs::write(folder.join("x0"), start.collect::<Vec<u8>>())?)
    }
}

/// x at the start.
pub fn start(job: &Experiment, outer: usize) -> Vec<f32> {
    match job.run.x0 {
        Some(Start::Number(x0)) => vec![x0; outer],
        Some(Start::Random { random }) => {
            let mut stream = Draws { seed: 1, node: 0 }.stream(0, Purpose::custom(1));
            (0..outer).map(|_| random * stream.signed_unit()).collect()
        }
        _ => vec![0.0; outer],
    }
}

/// The folder of MNIST or, without it, of drawn images in the same files.
pub fn mnist(folder: &Path) -> Outcome<PathBuf> {
    if let Some(mnist) = lopa_tests::real_data::find("mnist") {
        return Ok(mnist.canonicalize()?);
    }
    println!(
        "mnist/ is not here, so images are drawn, of the same shape: set LOPA_DATA to the folder that holds it"
    );
    for (name, count) in [("train", 60_000_u32), ("t10k", 10_000)] {
        let mut pixels = header(2051, &[count, 28, 28]);
        let mut labels = header(2049, &[count]);
        let mut stream = Draws { seed: 1, node: count }.stream(0, Purpose::custom(2));
        for number in 0..count {
            let class = (number % 10) as u8;
            let mut image = [0; images::PIXELS];
            images::draw(class, &mut stream, &mut image);
            pixels.extend(image);
            labels.push(class);
        }
        fs::write(folder.join(format!("{name}-images-idx3-ubyte")), pixels)?;
        fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), labels)?;
    }
    Ok(folder.to_path_buf())
}

/// How an IDX file begins.
fn header(magic: u32, sizes: &[u32]) -> Vec<u8> {
    let numbers = [magic].into_iter().chain(sizes.iter().copied());
    numbers.flat_map(u32::to_be_bytes).collect()
}
