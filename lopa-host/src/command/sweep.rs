//! `lopa sweep`: tries combinations of step sizes.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;
use lopa_host::algorithms::Key;
use lopa_host::campaign::{Cell, Sweep, Values};
use lopa_host::metrics::Metric;
use lopa_host::report::{Outputs, Provenance, Report, Table, averaged, captioned};

use super::{Failure, Threads, folder, inputs, interrupts, print, progress, settled};

/// Tries every combination of step sizes, each on several seeds, on all cores.
///
/// Writes sweep.csv with all combinations from best to worst, a report with curves and confidence bands of the best ones,
/// and best.toml, the experiment with the best step sizes.
#[derive(Debug, Args)]
#[command(
    after_help = "Values are a list, 0.1,0.2,0.5, or a range, 0.01:1:5 for five values from 0.01 to 1.\n\n\
                  Examples:\n  lopa sweep network.toml --out sweep --alpha 0.01:1:5 --beta 0.05,0.1\n  \
                  lopa sweep network.toml --out sweep --alpha 0.1,0.3 --seeds 10 --metric validation_accuracy"
)]
pub(crate) struct SweepCommand {
    /// Experiment file (TOML).
    file: PathBuf,
    /// Folder for the results.
    #[arg(long)]
    out: PathBuf,
    /// Values of alpha, the step size of the outer variable.
    #[arg(long)]
    alpha: Option<Values>,
    /// Values of beta, the step size of the inner variable.
    #[arg(long)]
    beta: Option<Values>,
    /// Values of lambda, the step size of the Hessian-inverse-vector estimate.
    #[arg(long)]
    lambda: Option<Values>,
    /// Values of gamma, the momentum.
    #[arg(long)]
    gamma: Option<Values>,
    /// Values of tau, the relaxation.
    #[arg(long)]
    tau: Option<Values>,
    /// Number of seeds per combination, counted up from the file's.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Metric whose last value ranks the combinations. Avoid test_accuracy: that would tune on the test set.
    #[arg(long, default_value = "outer_loss", value_parser = metric)]
    metric: Metric,
    /// Number of combinations to draw, from the best.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=40))]
    best: u16,
    #[command(flatten)]
    threads: Threads,
}

/// The files of a sweep, but for its figures.
const FILES: [&str; 3] = ["sweep.csv", "best.toml", "report.html"];

/// A metric by its name.
pub(crate) fn metric(name: &str) -> Result<Metric, String> {
    let names = || Metric::ALL.map(Metric::name).join(", ");
    Metric::named(name).ok_or_else(|| format!("choose one of {}", names()))
}

impl SweepCommand {
    /// Runs everything, and prints the best combinations.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.threads.start()?;
        let experiment = settled(&self.file)?;
        let given = [&self.alpha, &self.beta, &self.lambda, &self.gamma, &self.tau];
        let axes: Vec<(Key, Values)> = Key::STEPS
            .into_iter()
            .zip(given)
            .filter_map(|(key, values)| Some((key, values.clone()?)))
            .collect();
        if axes.is_empty() {
            return Err(Failure::input(
                "nothing to try: pass values for at least one step size, such as --alpha 0.01:1:5",
            ));
        }
        let (seeds, metric) = (self.seeds, self.metric);
        let sweep = Sweep { experiment, axes, seeds, metric };
        let outputs = folder(&self.out, &FILES, &inputs(&self.file, &sweep.experiment))?;
        let (stop, bar) = (interrupts()?, progress(sweep.runs() as u64, "runs"));
        let cells = sweep.run(stop, || bar.inc(1));
        bar.finish_and_clear();
        let cells = cells.map_err(Failure::input)?;
        self.write(&sweep, &cells, &outputs)?;
        print(&self.text(&sweep, &cells))?;
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::run("interrupted: unfinished runs were not saved"));
        }
        match cells.first() {
            Some(cell) if !cell.records.is_empty() => Ok(()),
            _ => Err(Failure::run("every run diverged: try smaller values")),
        }
    }

    fn write(&self, sweep: &Sweep, cells: &[Cell], outputs: &Outputs) -> Result<(), Failure> {
        let mut batch = outputs.batch();
        batch.add("sweep.csv", sweep.csv(cells));
        let Some(best) = cells.first().filter(|cell| !cell.records.is_empty()) else {
            // The best of an earlier sweep would be taken for the best of this one.
            FILES[1..].iter().for_each(|name| batch.remove(name));
            return Ok(batch.write()?);
        };
        let mut experiment = sweep.experiment.moved_to(outputs.folder());
        experiment.algorithm = best.algorithm.clone();
        let configuration = toml::to_string(&experiment).map_err(Failure::run)?;
        batch.add("best.toml", configuration.clone());

        let groups: Vec<(String, Vec<_>)> = cells
            .iter()
            .take(usize::from(self.best))
            .map(|cell| (sweep.label(cell), cell.records.iter().collect()))
            .collect();
        let figures = captioned(averaged(&groups, "iteration"));
        let report = Report {
            title: format!("Step sizes of {}", self.file.display()),
            subtitle: format!(
                "{} combinations, {} seeds each, ranked by the last {}",
                cells.len(),
                sweep.seeds,
                sweep.metric.column().title
            ),
            tiles: vec![
                ("best".into(), sweep.label(best)),
                (sweep.metric.column().title, value(best)),
            ],
            figures,
            tables: vec![ranks(sweep, cells)],
            configuration,
            files: FILES[..2].iter().map(|&file| file.to_owned()).collect(),
            provenance: Some(Provenance::now()),
            ..Report::default()
        };
        batch.add_report(&report)?;
        Ok(batch.write()?)
    }

    /// The best combinations, for the terminal.
    fn text(&self, sweep: &Sweep, cells: &[Cell]) -> String {
        let mut text = format!("rank  {:<20} step sizes\n", sweep.metric.name());
        for (rank, cell) in cells.iter().take(10).enumerate() {
            let diverged = match cell.diverged {
                0 => String::new(),
                diverged => format!("  ({diverged} of {} diverged)", sweep.seeds),
            };
            let (rank, label) = (rank + 1, sweep.label(cell));
            text += &format!("{rank:>4}  {:<20} {label}{diverged}\n", value(cell));
        }
        if cells.len() > 10 {
            text += &format!("      and {} more\n", cells.len() - 10);
        }
        text + &format!("results {}\n", self.out.display())
    }
}

/// The value that ranks a combination, with its band.
fn value(cell: &Cell) -> String {
    match cell.value {
        None => "diverged".into(),
        Some(value) => match value.band {
            None => format!("{:.5}", value.mean),
            Some([low, high]) => format!("{:.5} ± {:.5}", value.mean, (high - low) / 2.0),
        },
    }
}

/// The table of all combinations.
fn ranks(sweep: &Sweep, cells: &[Cell]) -> Table {
    let row = |(rank, cell): (usize, &Cell)| {
        let seeds = format!("{} of {}", cell.records.len(), sweep.seeds);
        vec![(rank + 1).to_string(), sweep.label(cell), value(cell), seeds]
    };
    Table {
        title: "All combinations".into(),
        head: ["rank", "step sizes", sweep.metric.name(), "finished seeds"].map(Into::into).into(),
        rows: cells.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}
