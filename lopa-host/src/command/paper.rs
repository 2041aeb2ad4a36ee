//! `lopa paper`: the paper's experiments, with verdicts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use lopa_host::paper::{self, Account, Arm, Mode, Results, STUDIES, Study};
use lopa_host::report::Figure;
use lopa_host::report::Outputs;
use lopa_host::run::{Outcome, Prepared, RunError};
use lopa_host::tune::Trial;

use super::{Failure, interrupts, print, progress, threads};

/// Runs the paper's experiments, and says of each claim whether it holds.
///
/// Each study gets a folder of its own with a report, figures, all records, what was found, and the search for step sizes
/// if there was one; results.md has all studies of DIR together, those of earlier runs too. Without --quick they take hours.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lopa paper list\n  lopa paper hyper-mnist --data data --out results\n  \
                        lopa paper all --quick --data data --out results\n\n\
                        The data: lopa data fetch mnist covtype cifar10, or the originals in folders of these names."
)]
pub(crate) struct Paper {
    /// The study, "all" for all of them, "list" to see what there is, or a .toml file with a study of your own.
    study: String,
    /// The folder for the results.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The folder with the folders mnist, covtype and cifar10.
    #[arg(long, default_value = "data")]
    data: PathBuf,
    /// Fewer rounds, seeds and trials: minutes instead of hours.
    #[arg(long)]
    quick: bool,
    /// How many seeds; as the studies say if not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
    /// How many threads; all cores if not given. The results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// A study that is asked for: its name, what names it on a command line, and its text.
struct Chosen {
    name: String,
    call: String,
    text: String,
}

/// What came of a search for step sizes: every arm's trials.
type Searches = Vec<(String, Vec<Trial>)>;

impl Paper {
    /// Runs what is asked for.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.study == "list" {
            return list();
        }
        let chosen = self.chosen()?;
        let Some(out) = &self.out else {
            return Err(Failure::input("--out DIR is missing: where shall the results go?"));
        };
        threads(self.threads)?;
        let mode = if self.quick { Mode::Quick } else { Mode::Whole };
        // What is wrong shows before hours have passed.
        let mut studies = Vec::new();
        for Chosen { name, call, text } in &chosen {
            let wrong = |error| Failure::input(format!("{name}: {error}"));
            let study = Study::parse(text).map_err(wrong)?;
            let arms = study.arms(mode, Some(&self.data)).map_err(wrong)?;
            for arm in &arms {
                self.there(arm)?;
            }
            studies.push((name, call, study, arms));
        }
        let whole = Outputs::new(out).map_err(Failure::input)?;
        let stop = interrupts()?;
        let options = self.options();
        let mut left_out = Vec::new();
        for (name, call, study, mut arms) in studies {
            let outputs = Outputs::new(out.join(name)).map_err(Failure::input)?;
            let searches = self.tune(&study, &mut arms, mode, stop)?;
            let (results, labels) = self.measure(name, &study, &arms, mode, stop)?;
            let account = Account {
                name,
                call,
                options: &options,
                study: &study,
                arms: &arms,
                mode,
                searches: &searches,
                results: &results,
                labels: &labels,
            };
            account.write(&outputs).map_err(Failure::run)?;
            let page = paper::results(out);
            whole.put("results.md", page.text.as_bytes()).map_err(Failure::run)?;
            left_out = page.left_out;
            print(&account.text())?;
        }
        for name in left_out {
            let folder = out.join(name);
            eprintln!("{}: unreadable or of another version, not in results.md", folder.display());
        }
        print(&format!("results {}\n", out.display()))
    }

    /// The options that matter, for whoever wants the same again.
    fn options(&self) -> String {
        let quick = if self.quick { "--quick " } else { "" };
        let seeds = self.seeds.map_or(String::new(), |seeds| format!("--seeds {seeds} "));
        format!("{quick}{seeds}--data DIR --out DIR")
    }

    /// The studies that are asked for.
    fn chosen(&self) -> Result<Vec<Chosen>, Failure> {
        let own = |(name, text): (&str, &str)| Chosen {
            name: name.into(),
            call: name.into(),
            text: text.into(),
        };
        if self.study == "all" {
            return Ok(STUDIES.map(own).into());
        }
        if let Some(study) = STUDIES.into_iter().find(|(known, _)| *known == self.study) {
            return Ok(vec![own(study)]);
        }
        let file = Path::new(&self.study);
        if file.extension().is_some_and(|ending| ending == "toml") {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::input(format!("{}: {error}", self.study)))?;
            let [name, call] = [file.file_stem(), file.file_name()]
                .map(|name| name.unwrap_or_default().to_string_lossy().into_owned());
            return Ok(vec![Chosen { name, call: quoted(call), text }]);
        }
        let known = STUDIES.map(|(name, _)| name).join(", ");
        let what = format!("there is no study {:?}: choose all, a .toml file, {known}", self.study);
        Err(Failure::input(what))
    }

    /// Whether an arm's data is there.
    fn there(&self, arm: &Arm) -> Result<(), Failure> {
        match &arm.experiment.data.dir {
            Some(dir) if !dir.is_dir() => {
                let source = &arm.experiment.data.source;
                let what = format!(
                    "there is no folder {}: name the one it is in with --data",
                    dir.display()
                );
                Err(Failure::input(format!("{what}, or: lopa data fetch {source}")))
            }
            _ => Ok(()),
        }
    }

    /// Gives arms the best step sizes of a search with the same budget for all.
    fn tune(
        &self,
        study: &Study,
        arms: &mut [Arm],
        mode: Mode,
        stop: &AtomicBool,
    ) -> Result<Searches, Failure> {
        let searches: Vec<_> = arms.iter().map(|arm| study.search(arm, mode)).collect();
        let runs = searches.iter().flatten().flat_map(|tune| tune.rungs()).map(|rung| rung.0);
        let bar = progress(runs.sum::<usize>() as u64, "trials");
        let mut found = Searches::new();
        for (arm, tune) in arms.iter_mut().zip(&searches) {
            let Some(tune) = tune else { continue };
            let trials = tune
                .run(stop, || bar.inc(1))
                .map_err(|error| Failure::input(format!("{}: {error}", arm.name)))?;
            if stop.load(Ordering::Relaxed) {
                bar.finish_and_clear();
                return Err(Failure::run("stopped; studies that were done are written"));
            }
            if let Some(Trial { algorithm, figure: Some(_), .. }) = trials.first() {
                arm.experiment.algorithm = algorithm.clone();
            }
            found.push((arm.name.clone(), trials));
        }
        bar.finish_and_clear();
        Ok(found)
    }

    /// Runs every arm with every seed; labels are those of a case's first arm on its first seed.
    fn measure(
        &self,
        name: &str,
        study: &Study,
        arms: &[Arm],
        mode: Mode,
        stop: &AtomicBool,
    ) -> Result<(Results, Vec<Figure>), Failure> {
        let seeds = self.seeds.unwrap_or(study.seeds(mode));
        let rounds: u64 = arms.iter().map(|arm| arm.experiment.run.iterations).sum();
        let bar = progress(rounds * u64::from(seeds), "rounds");
        let (mut results, mut labels, mut cases) = (Results::new(), Vec::new(), Vec::new());
        for arm in arms {
            let mut own = Vec::new();
            for seed in 0..seeds {
                let mut experiment = arm.experiment.clone();
                experiment.run.seed = experiment.run.seed.wrapping_add(u64::from(seed));
                let wrong =
                    |error: RunError| Failure::input(format!("{name}, {}: {error}", arm.name));
                let prepared = Prepared::new(experiment).map_err(wrong)?;
                if study.labels && !cases.contains(&&arm.case) {
                    labels.extend(paper::labels(&prepared, &arm.case, cases.len()));
                    cases.push(&arm.case);
                }
                let done = bar.position();
                match prepared.measure(Some(stop), |round| bar.set_position(done + round)) {
                    Ok(Outcome { finished: false, .. }) => {
                        bar.finish_and_clear();
                        return Err(Failure::run("stopped; studies that were done are written"));
                    }
                    Ok(Outcome { record, .. }) => own.push(Some(record)),
                    Err(RunError::Diverged(_)) => own.push(None),
                    Err(error) => return Err(wrong(error)),
                }
                bar.set_position(done + arm.experiment.run.iterations);
            }
            results.insert(arm.name.clone(), own);
        }
        bar.finish_and_clear();
        Ok((results, labels))
    }
}

/// What there is to choose from.
fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for (name, file) in STUDIES {
        let study = Study::parse(file).map_err(|error| Failure::run(format!("{name}: {error}")))?;
        text += &format!("{name:<18} {}\n{:<18} {}\n", study.title, "", study.claim);
    }
    print(&text)
}

/// A word for a shell.
fn quoted(word: String) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
