//! `lopa compare`: several runs in the same charts.

use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::csv;
use lopa_host::metrics;
use lopa_host::numerics::number;
use lopa_host::record::Record;
use lopa_host::report::{Outputs, captioned};
use lopa_host::report::{Report, Table, averaged};
use lopa_host::run::{Options, Outcome, Prepared};

use super::{Failure, interrupts, progress, threads};

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
    /// Horizontal axis: iteration, or a metric such as hessian_vectors, bytes or seconds.
    #[arg(long, default_value = "iteration")]
    against: String,
    /// Number of seeds per file, counted up from its own; several give means with confidence bands.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Number of threads [default: all cores]. Results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Where the results of a run come from.
enum Source {
    /// A file, to be run once per seed.
    File(Vec<Prepared>),
    /// The record of an earlier run.
    Folder(Record),
}

impl Compare {
    /// Runs the files, and draws all runs.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        threads(self.threads)?;
        let names = names(&self.runs);
        let known = self.against == "iteration" || metrics::Metric::named(&self.against).is_some();
        if !known {
            let all = metrics::Metric::ALL.map(metrics::Metric::name).join(", ");
            return Err(Failure::input(format!("--against: choose iteration, {all}")));
        }
        let sources: Vec<Source> =
            self.runs.iter().map(|path| self.source(path)).collect::<Result<_, _>>()?;
        let outputs = Outputs::new(&self.out).map_err(Failure::input)?;
        let rounds: u64 = sources.iter().map(Source::rounds).sum();
        let bar = progress(rounds, "rounds");
        let mut records: Vec<Vec<Record>> = Vec::new();
        let mut configurations = String::new();
        for (name, source) in names.iter().zip(sources) {
            let prepared = match source {
                Source::Folder(record) => {
                    records.push(vec![record]);
                    continue;
                }
                Source::File(prepared) => prepared,
            };
            let mut own = Vec::new();
            for (seed, prepared) in prepared.iter().enumerate() {
                let done = bar.position();
                let tick = |round| bar.set_position(done + round);
                let options = Options { resume: false, stop: Some(interrupts()?) };
                // Only the first seed writes files; the others just contribute their records.
                let outcome = if seed == 0 {
                    let outputs = Outputs::new(self.out.join(name)).map_err(Failure::input)?;
                    let text = toml::to_string(prepared.experiment()).map_err(Failure::input)?;
                    configurations += &format!("# {name}\n{text}\n");
                    prepared.run_with(&outputs, options, tick)
                } else {
                    prepared.measure(options.stop, tick)
                };
                let Outcome { record, finished, .. } = outcome.map_err(|error| Failure {
                    what: format!("{name}: {error}"),
                    ..error.into()
                })?;
                if !finished {
                    bar.finish_and_clear();
                    return Err(Failure::run(format!("interrupted while running {name}")));
                }
                own.push(record);
            }
            records.push(own);
        }
        bar.finish_and_clear();
        self.write(&outputs, &names, &records, configurations)
    }

    fn source(&self, path: &Path) -> Result<Source, Failure> {
        if path.is_dir() {
            let file = path.join("metrics.csv");
            let text = std::fs::read_to_string(&file).map_err(|error| {
                Failure::input(format!("cannot read {}: {error}", file.display()))
            })?;
            let record = Record::parse(&text, metrics::column)
                .map_err(|error| Failure::input(format!("{}, {error}", file.display())))?;
            return Ok(Source::Folder(record));
        }
        let experiment = Experiment::read(path).map_err(Failure::input)?;
        let prepared = experiment.for_seeds(self.seeds).map(Prepared::new);
        prepared
            .collect::<Result<_, _>>()
            .map(Source::File)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))
    }

    fn write(
        &self,
        outputs: &Outputs,
        names: &[String],
        records: &[Vec<Record>],
        configuration: String,
    ) -> Result<(), Failure> {
        let groups: Vec<(&str, Vec<&Record>)> = names
            .iter()
            .zip(records)
            .map(|(name, records)| (name.as_str(), records.iter().collect()))
            .collect();
        let figures = captioned(averaged(&groups, &self.against));
        if figures.is_empty() {
            let against = &self.against;
            return Err(Failure::input(format!("no run has values for {against}")));
        }
        outputs.draw(&figures).map_err(Failure::run)?;
        let last = Last::of(names, records);
        outputs.put("compare.csv", last.csv().as_bytes()).map_err(Failure::run)?;
        let table = last.table();
        // One column per run, one line per metric: there are more metrics than runs.
        for (at, metric) in table.head.iter().enumerate() {
            let values = table.rows.iter().map(|row| format!("  {:>16}", row[at]));
            println!("{metric:<26}{}", values.collect::<String>());
        }
        println!("{:<26}  {}", "results", self.out.display());
        let report = Report {
            title: names.join(", "),
            subtitle: format!("{} runs side by side", names.len()),
            figures,
            tables: vec![table],
            configuration,
            ..Report::default()
        };
        outputs.put("report.html", report.html().as_bytes()).map_err(Failure::run)
    }
}

impl Source {
    fn rounds(&self) -> u64 {
        match self {
            Self::Folder(_) => 0,
            Self::File(all) => all.iter().map(|one| one.experiment().run.iterations).sum(),
        }
    }
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

/// The name of a file without its ending, or of a folder.
pub(crate) fn stem(path: &Path) -> String {
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    stem.map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned())
}

/// The last values of every run, means over seeds.
struct Last<'a> {
    columns: Vec<&'a str>,
    rows: Vec<(&'a str, Vec<Option<f64>>)>,
}

impl<'a> Last<'a> {
    fn of(names: &'a [String], records: &'a [Vec<Record>]) -> Self {
        let mut columns: Vec<&str> = Vec::new();
        for column in records.iter().flatten().flat_map(|record| record.columns()) {
            if !columns.contains(&column.name.as_str()) {
                columns.push(&column.name);
            }
        }
        let row = |(name, records): (&'a String, &Vec<Record>)| {
            let mean = |column: &&str| {
                let sum = records.iter().map(|record| record.last(column)).sum::<Option<f64>>();
                sum.map(|sum| sum / records.len().max(1) as f64)
            };
            (name.as_str(), columns.iter().map(mean).collect())
        };
        let rows = names.iter().zip(records).map(row).collect();
        Self { columns, rows }
    }

    fn csv(&self) -> String {
        let mut text = csv::line(["run"].iter().chain(&self.columns));
        for (name, values) in &self.rows {
            let values = values.iter().copied().map(csv::maybe);
            text += &csv::line([csv::quoted(name)].into_iter().chain(values));
        }
        text
    }

    /// For the terminal and the report, without metrics that no run has.
    fn table(&self) -> Table {
        let there = |at: &usize| self.rows.iter().any(|(_, values)| values[*at].is_some());
        let shown: Vec<usize> = (0..self.columns.len()).filter(there).collect();
        let head = shown.iter().map(|at| metrics::column(self.columns[*at]).title);
        let row = |(name, values): &(&str, Vec<Option<f64>>)| {
            let cells = shown.iter().map(|at| values[*at].map_or(String::new(), number));
            std::iter::once((*name).to_owned()).chain(cells).collect()
        };
        Table {
            title: "Last values".into(),
            head: std::iter::once("run".to_owned()).chain(head).collect(),
            rows: self.rows.iter().map(row).collect(),
            prose: false,
        }
    }
}
