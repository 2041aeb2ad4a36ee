//! `lopa compare`: several runs in the same charts.

use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::csv;
use lopa_host::data::Shelf;
use lopa_host::metrics::{self, Metric};
use lopa_host::numerics::number;
use lopa_host::record::{Column, Record};
use lopa_host::report::{
    Outputs, Provenance, Report, Table, averaged, captioned, differences, diverged, experiment,
};
use lopa_host::run::{Options, Outcome, Prepared, RunError};

use super::{
    Failure, Threads, complete, folder, inputs, interrupts, print, progress, refuse_inputs,
};

/// Runs several experiments and draws them in the same charts.
///
/// The folder of an earlier run can take the place of its file. Each run's results are written to a folder of their own,
/// beside the charts, compare.csv with the last values, and a report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa compare lg.toml gt.toml --out both\n  \
                        lopa compare lg.toml gt.toml --out both --seeds 5 --against hessian_vectors\n  \
                        lopa compare results-a results-b --out both")]
pub(crate) struct Compare {
    /// Experiment files (TOML), or folders with results.
    #[arg(required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// Folder for the results.
    #[arg(long)]
    out: PathBuf,
    /// Horizontal axis: iteration, or a metric such as hessian_vectors, bytes, fleet_seconds or seconds.
    #[arg(long, default_value = "iteration")]
    against: String,
    /// Number of seeds per file, counted up from its own; several give means with confidence bands.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    #[command(flatten)]
    threads: Threads,
}

/// The files of a comparison, but for its figures.
const FILES: [&str; 2] = ["compare.csv", "report.html"];

impl Compare {
    /// Runs the files, and draws all runs.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.threads.start()?;
        let names = names(&self.runs);
        if self.against != "iteration" && Metric::named(&self.against).is_none() {
            let all = Metric::ALL.map(Metric::name).join(", ");
            return Err(Failure::input(format!("--against: choose iteration, {all}")));
        }
        let shelf = Shelf::new();
        let sources = self.runs.iter().map(|path| self.source(path));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        drop(shelf);
        let outputs = self.check(&names, &sources)?;
        let seeds = sources.iter().flat_map(|(_, seeds)| seeds);
        let bar = progress(seeds.map(|one| one.experiment().run.iterations).sum(), "rounds");
        let stop = Some(interrupts()?);
        let mut records: Vec<Vec<Record>> = Vec::new();
        let (mut marked, mut messages) = (Vec::new(), Vec::new());
        let mut experiments = Vec::new();
        for ((name, path), (mut own, seeds)) in names.iter().zip(&self.runs).zip(sources) {
            // Those of seeds that diverged, up to where they did.
            let mut early = Vec::new();
            if seeds.is_empty() && diverged(path).is_some() {
                early = std::mem::take(&mut own);
            }
            experiments.push(match seeds.first() {
                Some(first) => Some(json_value(first.experiment())?),
                None => experiment(path),
            });
            for (seed, prepared) in seeds.iter().enumerate() {
                let mut folder = None;
                // Only the first seed writes files; the others just contribute their records.
                if seed == 0 {
                    folder = Some(Outputs::new(self.out.join(name)).map_err(Failure::input)?);
                }
                let done = bar.position();
                let options = Options { outputs: folder.as_ref(), stop, ..Options::default() };
                let outcome = prepared.run(options, |round| bar.set_position(done + round));
                let Outcome { record, finished, .. } = match outcome {
                    Ok(outcome) => outcome,
                    Err(RunError::Diverged(diverged)) => {
                        messages.push(format!("{name}: {diverged}"));
                        early.push(diverged.record);
                        continue;
                    }
                    Err(error) => {
                        let what = format!("{name}: {error}");
                        return Err(Failure { what, ..error.into() });
                    }
                };
                if !finished {
                    bar.finish_and_clear();
                    return Err(Failure::run(format!("interrupted while running {name}")));
                }
                own.push(record);
            }
            marked.push(mark(name, own.len(), early.len()));
            // Seeds that diverged do not count, unless all did.
            records.push(if own.is_empty() { early } else { own });
        }
        bar.finish_and_clear();
        let own = |path: &PathBuf| path.is_file();
        let ran = names.iter().zip(&self.runs).filter(|(_, path)| own(path));
        let pages = ran.map(|(name, _)| format!("{name}/report.html")).collect();
        self.write(&outputs, &marked, &records, experiments, pages)?;
        if messages.is_empty() { Ok(()) } else { Err(Failure::run(messages.join("\nlopa: "))) }
    }

    /// Refuses to replace inputs and files of others, before anything runs.
    fn check(
        &self,
        names: &[String],
        sources: &[(Vec<Record>, Vec<Prepared>)],
    ) -> Result<Outputs, Failure> {
        let (mut all, mut read) = (Vec::new(), Vec::new());
        for ((name, path), (_, seeds)) in names.iter().zip(&self.runs).zip(sources) {
            match seeds.first() {
                Some(first) => {
                    all.extend(Outputs::RUN.map(|file| format!("{name}/{file}")));
                    read.extend(inputs(path, first.experiment()));
                }
                None => read.extend(Outputs::RUN.map(|file| path.join(file))),
            }
        }
        refuse_inputs(&self.out, &all, &read)?;
        for (name, _) in names.iter().zip(sources).filter(|(_, (_, seeds))| !seeds.is_empty()) {
            Outputs::check(&self.out.join(name), &Outputs::RUN).map_err(Failure::input)?;
        }
        folder(&self.out, &FILES, &read)
    }

    /// The record in a folder, or the runs of a file, one per seed.
    fn source(&self, path: &Path) -> Result<(Vec<Record>, Vec<Prepared>), Failure> {
        if path.is_dir() {
            let file = path.join("metrics.csv");
            let text = std::fs::read_to_string(&file).map_err(|error| {
                Failure::input(format!("cannot read {}: {error}", file.display()))
            })?;
            let record = Record::parse(&text, metrics::column)
                .map_err(|error| Failure::input(format!("{}, {error}", file.display())))?;
            return Ok((vec![record], Vec::new()));
        }
        let experiment = Experiment::read(path).map_err(Failure::input)?;
        let seeds = experiment.for_seeds(self.seeds).map(complete).collect::<Result<_, _>>();
        match seeds {
            Ok(seeds) => Ok((Vec::new(), seeds)),
            Err(error) => Err(Failure::input(format!("{}: {error}", path.display()))),
        }
    }

    fn write(
        &self,
        outputs: &Outputs,
        names: &[String],
        records: &[Vec<Record>],
        experiments: Vec<Option<serde_json::Value>>,
        pages: Vec<String>,
    ) -> Result<(), Failure> {
        let group = |(name, records)| (name, Vec::from_iter(records));
        let groups: Vec<(&String, Vec<&Record>)> = names.iter().zip(records).map(group).collect();
        let figures = captioned(averaged(&groups, &self.against));
        if figures.is_empty() {
            let against = &self.against;
            return Err(Failure::input(format!(
                "no run has values for {against}: choose another axis with --against"
            )));
        }
        let last = last(records);
        let mut text = format!("run,{}", last.names());
        for (name, line) in names.iter().zip(last.lines("").lines()) {
            text += &format!("{},{line}\n", csv::quoted(name));
        }
        let mut batch = outputs.batch();
        batch.add("compare.csv", text);
        let table = table(names, &last);
        // One column per run, one line per metric: there are more metrics than runs.
        let mut text = String::new();
        for (at, metric) in table.head.iter().enumerate() {
            let values = table.rows.iter().map(|row| format!("  {:>16}", row[at]));
            text += &format!("{metric:<26}{}\n", values.collect::<String>());
        }
        text += &format!("{:<26}  {}\n", "results", self.out.display());
        let runs: Vec<_> = names.iter().cloned().zip(experiments).collect();
        let (differences, common) = differences(&runs);
        let report = Report {
            title: names.join(", "),
            subtitle: format!("{} runs side by side", names.len()),
            figures,
            tables: vec![table, differences],
            folded: vec![("What all runs have in common".into(), common)],
            files: [vec!["compare.csv".into()], pages].concat(),
            provenance: Some(Provenance::now()),
            ..Report::default()
        };
        batch.add_report(&report)?;
        batch.write()?;
        print(&text)
    }
}

/// An experiment as `summary.json` has it, so that floats are as short as in a file.
fn json_value(experiment: &Experiment) -> Result<serde_json::Value, Failure> {
    let text = serde_json::to_string(experiment).map_err(Failure::run)?;
    serde_json::from_str(&text).map_err(Failure::run)
}

/// A name for every run: its file's or folder's, numbered where it occurs twice.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stems: Vec<String> = paths.iter().map(|path| stem(path)).collect();
    let number = |(at, stem): (usize, &String)| {
        let before = stems[..at].iter().filter(|other| *other == stem).count();
        if before == 0 { stem.clone() } else { format!("{stem}-{}", before + 1) }
    };
    stems.iter().enumerate().map(number).collect()
}

/// The name of a run in tables and legends, which says if it diverged.
fn mark(name: &str, finished: usize, diverged: usize) -> String {
    match (finished, diverged) {
        (_, 0) => name.into(),
        (0, 1) => format!("{name} (diverged)"),
        _ => format!("{name} ({diverged} of {} seeds diverged)", finished + diverged),
    }
}

/// The name of a file without its ending, or of a folder.
pub(crate) fn stem(path: &Path) -> String {
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    stem.map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned())
}

/// The last values of every run, means over seeds: one row per run.
fn last(records: &[Vec<Record>]) -> Record {
    let mut columns: Vec<Column> = Vec::new();
    for column in records.iter().flatten().flat_map(Record::columns) {
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    let mut last = Record::new(columns.clone());
    for records in records {
        let mean = |column: &Column| {
            let sum = records.iter().map(|record| record.last(&column.name)).sum::<Option<f64>>();
            sum.map(|sum| sum / records.len().max(1) as f64)
        };
        last.push(columns.iter().map(mean).collect());
    }
    last
}

/// The same for the terminal and the report, without metrics that no run has.
fn table(names: &[String], last: &Record) -> Table {
    let there = |at: &usize| last.rows().iter().any(|row| row[*at].is_some());
    let shown: Vec<usize> = (0..last.columns().len()).filter(there).collect();
    let head = shown.iter().map(|at| last.columns()[*at].title.clone());
    let row = |(name, values): (&String, &Vec<Option<f64>>)| {
        let cells = shown.iter().map(|at| values[*at].map_or(String::new(), number));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    Table {
        title: "Last values".into(),
        head: std::iter::once("run".to_owned()).chain(head).collect(),
        rows: names.iter().zip(last.rows()).map(row).collect(),
        ..Table::default()
    }
}
