//! Ten nodes on MNIST, here and in plain NumPy, in one run on one core: see README.md in this folder.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::node::Config;
use lopa_core::problem::{Point, Predict};
use lopa_core::problems::Logistic;
use lopa_core::samples::LabelKind;
use lopa_host::algorithms::Batch;
use lopa_host::config::{Experiment, Start};
use lopa_host::data::{Class, Dataset, Deal, Partition, Shard, Table, Targets, Values, mnist};
use lopa_host::metrics;
use lopa_host::network::Simulation;
use lopa_host::topology::Topology;

/// The job of the workspace's README.
const JOB: &str = r#"
[network]
nodes = 10
topology = "ring"
[problem]
kind = "logistic"
[data]
samples = 12000
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
x0 = -6.0
"#;

/// How often each side does the whole job; the median counts.
const REPETITIONS: usize = 5;
/// The promised ratio.
const WANTED: f64 = 4.0;
/// A side with a lower accuracy has not done the same job.
const LEARNED: f64 = 0.998;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Microseconds per node and iteration (of the median iteration), and the mean test accuracy.
struct Figures {
    time: f64,
    accuracy: f64,
}

fn main() -> ExitCode {
    match compare() {
        Ok(ratio) if ratio >= WANTED => ExitCode::SUCCESS,
        Ok(ratio) => {
            eprintln!("{ratio:.2} times as fast: {WANTED} are promised");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Outcome<f64> {
    let job = Experiment::parse(JOB)?;
    let shards = shards(&job)?;
    let folder = tempfile::tempdir()?;
    export(&job, &shards, folder.path())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for repetition in 1..=REPETITIONS {
        // In turns, so that other load on the machine affects both.
        let a = pool.install(|| here(&job, &shards).map_err(|error| error.to_string()))?;
        let b = numpy(folder.path())?;
        println!("{repetition}: lopa {:7.2} µs, NumPy {:7.2} µs", a.time, b.time);
        for (who, figures) in [("lopa", &a), ("NumPy", &b)] {
            if figures.accuracy < LEARNED {
                return Err(format!("{who} did not learn: {:.4}", figures.accuracy).into());
            }
        }
        ours.push(a);
        theirs.push(b);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!("microseconds per node and iteration, one core, median of {REPETITIONS}");
    println!("  lopa   {:7.2}   test accuracy {:.4}", ours.time, ours.accuracy);
    println!("  NumPy  {:7.2}   test accuracy {:.4}", theirs.time, theirs.accuracy);
    println!("  ratio  {:7.2}", theirs.time / ours.time);
    Ok(theirs.time / ours.time)
}

fn median(mut figures: Vec<Figures>) -> Figures {
    figures.sort_by(|a, b| a.time.total_cmp(&b.time));
    figures.swap_remove(figures.len() / 2)
}

/// The job here.
fn here(job: &Experiment, shards: &[Shard]) -> Outcome<Figures> {
    let mut problems = Vec::new();
    for shard in shards {
        let train = shard.train.samples(LabelKind::Binary)?;
        let validation = shard.validation.samples(LabelKind::Binary)?;
        problems.push(Logistic::new(train, validation)?.around(start(job))?);
    }
    let (steps, size, seed) = (job.steps()?, job.batch(), job.run.seed);
    let config = |node| {
        let sampler = Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent };
        Config { steps, sampler }
    };
    let edges = Topology::ring(job.network.nodes).metropolis();
    let scheme = job.algorithm.scheme()?;
    let mut network = Simulation::new(problems, scheme, edges, |outer| vec![0.0; outer], config)?;
    let mut times = Vec::new();
    for _ in 0..job.run.iterations {
        let began = Instant::now();
        network.round()?;
        times.push(began.elapsed().as_secs_f64());
    }
    // The median, so that iterations disturbed by other load do not count.
    times.sort_by(f64::total_cmp);
    let time = 1e6 * times[times.len() / 2] / f64::from(job.network.nodes);
    let test = shards[0].test.as_ref().ok_or("no test samples")?.samples(LabelKind::Binary)?;
    let mut right = 0.0;
    for node in network.nodes() {
        let at = Point { x: node.state().x, theta: node.state().theta };
        let predict = |row| Some(node.problem().predict(at, row, &mut []));
        right += metrics::accuracy(&test, predict).unwrap_or(0.0);
    }
    Ok(Figures { time, accuracy: right / f64::from(job.network.nodes) })
}

/// The job in NumPy.
fn numpy(folder: &Path) -> Outcome<Figures> {
    let python = std::env::var_os("LOPA_PYTHON").unwrap_or("python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/numpy/lopa.py");
    let name = python.to_string_lossy().into_owned();
    let output = Command::new(python).arg(script).arg(folder).output().map_err(|error| {
        format!("{name} does not start ({error}): install Python 3, or name it in LOPA_PYTHON")
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let hint = if text.contains("No module named 'numpy'") {
            format!(
                "install NumPy: {name} -m pip install numpy, or name an interpreter that has it in LOPA_PYTHON\n"
            )
        } else {
            String::new()
        };
        return Err(format!("{hint}{text}").into());
    }
    let text = String::from_utf8(output.stdout)?;
    match *text.split_whitespace().collect::<Vec<_>>() {
        [time, accuracy, _] => Ok(Figures { time: time.parse()?, accuracy: accuracy.parse()? }),
        _ => Err(format!("lopa.py printed {text:?}").into()),
    }
}

fn start(job: &Experiment) -> f32 {
    match job.run.x0 {
        Some(Start::Number(x0)) => x0,
        _ => 0.0,
    }
}

/// The samples of each node: zeros and ones of MNIST or, without MNIST, two synthetic classes of the same shape.
fn shards(job: &Experiment) -> Outcome<Vec<Shard>> {
    let dataset = match lopa_tests::real_data::find("mnist") {
        Some(folder) => mnist::load(folder)?.pick(&["0", "1"])?,
        None => {
            println!(
                "mnist/ is not here, so the data are made up, of the same shape: set LOPA_DATA to the folder that holds it"
            );
            Dataset::new(blobs(12_665, 1)?, Some(blobs(2_115, 2)?))?
        }
    };
    let deal = Deal {
        samples: job.data.samples,
        ..Deal::new(job.network.nodes, Partition::Iid, job.run.seed)
    };
    Ok(deal.shards(dataset)?)
}

/// Rows of 784 noisy pixels; each class has another half of them brighter.
fn blobs(rows: usize, part: u32) -> Outcome<Table> {
    let mut stream = Draws { seed: 1, node: 0 }.stream(0, Purpose::custom(part));
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let label = (stream.next() >> 31) as u8;
        let bright = |pixel: usize| if pixel % 2 == usize::from(label) { 96 } else { 64 };
        pixels.extend((0..784).map(|pixel| (stream.next() >> 25) as u8 + bright(pixel)));
        labels.push(label);
    }
    let classes = Arc::new([Class::new(0, "0"), Class::new(1, "1")]);
    Ok(Table::new(Values::Bytes(pixels), 784, Targets::Class(labels), classes)?)
}

/// Writes what lopa.py reads.
fn export(job: &Experiment, shards: &[Shard], folder: &Path) -> Outcome<()> {
    let write = |name: &str, table: &Table| -> Outcome<()> {
        let (Values::Bytes(pixels), Some(labels)) = (table.values(), table.labels()) else {
            return Err("images of two classes are needed".into());
        };
        std::fs::write(folder.join(format!("{name}.pixels")), pixels)?;
        Ok(std::fs::write(folder.join(format!("{name}.labels")), labels)?)
    };
    for (node, shard) in shards.iter().enumerate() {
        write(&format!("train-{node}"), &shard.train)?;
        write(&format!("validation-{node}"), &shard.validation)?;
    }
    write("test", shards[0].test.as_deref().ok_or("no test samples")?)?;
    let a = &job.algorithm;
    let Batch::Drawn(batch) = a.batch else { return Err("drawn batches are needed".into()) };
    let text = serde_json::json!({
        "nodes": job.network.nodes, "width": shards[0].train.width(), "batch": batch,
        "rounds": job.run.iterations, "seed": job.run.seed, "x0": start(job),
        "alpha": a.alpha, "beta": a.beta, "lambda": a.lambda, "gamma": a.gamma, "tau": a.tau,
    });
    Ok(std::fs::write(folder.join("job.json"), text.to_string())?)
}
