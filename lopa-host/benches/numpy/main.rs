//! The same jobs in `lopa run`, in a bare loop, in plain NumPy and in JAX, in one run: see README.md in this folder.

mod bare;
mod job;
mod roofline;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use bare::Measured;
use job::{GROUP, JOBS, Job, Outcome, typical};

/// How often each side does a job unless told otherwise; the median counts.
const REPETITIONS: usize = 5;
/// How many times as fast two threads are as one.
const TWO_THREADS: f64 = 1.5;

/// The job as files of `lopa run`.
const FLOATS: &str = "job.toml";
const INTEGERS: &str = "integers.toml";

const HELP: &str = "\
Compares lopa with NumPy and JAX: see lopa-host/benches/numpy/README.md

cargo bench -p lopa-host --bench numpy -- [JOB] [--repetitions N]
cargo bench -p lopa-host --bench numpy -- roofline

JOB is logistic or shared-layer; both if not given. With roofline, it measures instead what limits the first job.";

/// Who does a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Run,
    Bare,
    NumPy,
    Jax,
    TwoThreads,
    Integers,
}

impl Side {
    const ALL: [Self; 6] =
        [Self::Run, Self::Bare, Self::NumPy, Self::Jax, Self::TwoThreads, Self::Integers];

    const fn name(self) -> &'static str {
        match self {
            Self::Run => "lopa run",
            Self::Bare => "bare loop",
            Self::NumPy => "NumPy",
            Self::Jax => "JAX",
            Self::TwoThreads => "lopa run, 2 threads",
            Self::Integers => "lopa run, integers",
        }
    }
}

fn main() -> ExitCode {
    match act() {
        Ok(misses) if misses.is_empty() => ExitCode::SUCCESS,
        Ok(misses) => {
            eprintln!("{}", misses.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            let text = error.to_string();
            eprintln!("{text}");
            if text == HELP { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Does what the command line says; returns the promises that were not kept.
fn act() -> Outcome<Vec<String>> {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut chosen, mut repetitions) = (None, REPETITIONS);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(Vec::new());
            }
            "--repetitions" => {
                let count = arguments.next().and_then(|count| count.parse().ok());
                repetitions = count.filter(|&count| count > 0).ok_or(HELP)?;
            }
            "roofline" => return roofline::report().map(|()| Vec::new()),
            // How this program starts itself.
            "--bare" => {
                let (name, mnist) = (arguments.next(), arguments.next());
                let job = JOBS.iter().find(|job| Some(job.name) == name.as_deref());
                let Measured { time, accuracy } =
                    bare::run(job.ok_or(HELP)?, Path::new(&mnist.ok_or(HELP)?))?;
                println!("{time} {accuracy} lopa");
                return Ok(Vec::new());
            }
            name => {
                chosen = Some(JOBS.iter().find(|job| job.name == name).ok_or(HELP)?.name);
            }
        }
    }
    let data = tempfile::tempdir()?;
    let mnist = job::mnist(data.path())?;
    let mut misses = Vec::new();
    for job in JOBS.iter().filter(|job| chosen.is_none_or(|name| name == job.name)) {
        misses.extend(compare(job, &mnist, repetitions)?);
    }
    Ok(misses)
}

/// Measures a job, prints a table, and returns the promises that were not kept.
fn compare(job: &Job, mnist: &Path, repetitions: usize) -> Outcome<Vec<String>> {
    let folder = tempfile::tempdir()?;
    job.export(mnist, folder.path())?;
    fs::write(folder.path().join(FLOATS), job.file(mnist))?;
    fs::write(folder.path().join(INTEGERS), job.file_in_integers(mnist))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let can = |side: &Side| match side {
        Side::TwoThreads => cores > 1,
        Side::Integers => job.in_integers.is_some(),
        _ => true,
    };
    let sides: Vec<Side> = Side::ALL.into_iter().filter(can).collect();
    let mut all: BTreeMap<Side, Vec<Measured>> = BTreeMap::new();
    println!("{}: microseconds per node and iteration, one core each", job.name);
    for repetition in 1..=repetitions {
        // In turns, so that other load on the machine affects all.
        print!("  {repetition}:");
        for &side in &sides {
            let measured = measure(side, job, mnist, folder.path())?;
            print!(" {} {:.2}", side.name(), measured.time);
            if measured.accuracy < job.learned {
                let accuracy = measured.accuracy;
                return Err(format!("{} did not learn: {accuracy:.4}", side.name()).into());
            }
            all.entry(side).or_default().push(measured);
        }
        println!();
    }
    let medians: BTreeMap<Side, Measured> =
        all.into_iter().map(|(side, measured)| (side, median(measured))).collect();
    let own = medians[&Side::Run].time;
    println!("  {:20} {:>9} {:>8} {:>9}", "median", "µs", "ratio", "accuracy");
    for (side, Measured { time, accuracy }) in &medians {
        println!("  {:20} {time:9.2} {:8.2} {accuracy:9.4}", side.name(), time / own);
    }
    let mut misses = Vec::new();
    let mut promise = |what: &str, found: f64, promised: f64| {
        if found < promised {
            misses.push(format!("{}: {found:.2} {what}, {promised} promised", job.name));
        }
    };
    let [numpy, jax] = [Side::NumPy, Side::Jax].map(|side| medians[&side].time);
    promise("times as fast as NumPy", numpy / own, job.promised[0]);
    promise("times as fast as JAX", jax / own, job.promised[1]);
    if let (Some(promised), Some(own)) = (job.in_integers, medians.get(&Side::Integers)) {
        promise("times as fast as NumPy in integers", numpy / own.time, promised[0]);
        promise("times as fast as JAX in integers", jax / own.time, promised[1]);
    }
    if let Some(two) = medians.get(&Side::TwoThreads) {
        promise("times as fast on two cores", own / two.time, TWO_THREADS);
    }
    Ok(misses)
}

fn median(mut measured: Vec<Measured>) -> Measured {
    measured.sort_by(|a, b| a.time.total_cmp(&b.time));
    measured.swap_remove(measured.len() / 2)
}

fn measure(side: Side, job: &Job, mnist: &Path, folder: &Path) -> Outcome<Measured> {
    match side {
        Side::Run => run(job, mnist, folder, FLOATS, 1),
        Side::TwoThreads => run(job, mnist, folder, FLOATS, 2),
        Side::Integers => run(job, mnist, folder, INTEGERS, 1),
        Side::Bare => {
            let mut command = Command::new(std::env::current_exe()?);
            command.env("RAYON_NUM_THREADS", "1").args(["--bare", job.name]).arg(mnist);
            printed(&finish(command)?)
        }
        Side::NumPy => script("lopa.py", "numpy", folder),
        Side::Jax => script("lopa_jax.py", "jax", folder),
    }
}

/// A command on one core, where the system can do that: not every library obeys a limit of its threads.
fn pinned(program: &OsStr) -> Command {
    if Command::new("taskset").arg("--version").output().is_err() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(program);
    command
}

/// Runs a command that must succeed, and returns what it printed.
fn finish(mut command: Command) -> Outcome<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The time and the accuracy that a side printed.
fn printed(text: &str) -> Outcome<Measured> {
    match *text.split_whitespace().collect::<Vec<_>>() {
        [time, accuracy, _] => Ok(Measured { time: time.parse()?, accuracy: accuracy.parse()? }),
        _ => Err(format!("a side printed {text:?}").into()),
    }
}

/// The job in `lopa run`: the time of its rounds, as it records them.
fn run(job: &Job, mnist: &Path, folder: &Path, file: &str, threads: usize) -> Outcome<Measured> {
    let results = tempfile::tempdir_in(folder)?;
    let out = results.path().join("results");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lopa"));
    command.arg("run").arg(folder.join(file)).arg("--out").arg(&out);
    command.args(["--threads", &threads.to_string()]);
    finish(command)?;
    let text = fs::read_to_string(out.join("metrics.csv"))?;
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().ok_or("metrics.csv is empty")?;
    let place = |name: &str| {
        names.iter().position(|other| *other == name).ok_or(format!("metrics.csv has no {name}"))
    };
    let seconds = place("seconds")?;
    let (mut times, mut before) = (Vec::new(), 0.0);
    for row in rows.skip(1) {
        let now: f64 = row[seconds].parse()?;
        times.push(now - before);
        before = now;
    }
    let rounds = GROUP as f64 * f64::from(job.nodes);
    let accuracy = bare::accuracy(job, mnist, &out.join("state.json"))?;
    Ok(Measured { time: 1e6 * typical(times) / rounds, accuracy })
}

/// The job in Python.
fn script(name: &str, package: &str, folder: &Path) -> Outcome<Measured> {
    let python = std::env::var_os("LOPA_PYTHON").unwrap_or("python3".into());
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/numpy");
    let mut command = pinned(&python);
    command.arg(here.join(name)).arg(folder);
    // Scripts import each other, and leave nothing behind.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let name = python.to_string_lossy();
    finish(command).and_then(|text| printed(&text)).map_err(|error| {
        let text = error.to_string();
        let install = "-m pip install -r lopa-host/benches/numpy/requirements.txt";
        if text.contains("No module named") {
            format!("{package} is missing: {name} {install}, or name an interpreter that has it in LOPA_PYTHON\n{text}")
        } else if text.contains("No such file or directory") {
            format!("{name} does not start: install Python 3, or name it in LOPA_PYTHON\n{text}")
        } else {
            text
        }
        .into()
    })
}
