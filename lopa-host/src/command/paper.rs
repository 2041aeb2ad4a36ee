//! `lopa paper`: the paper's experiments, with verdicts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use lopa_host::campaign::{Arm, Measured, Plan, Progress};
use lopa_host::paper::{self, Account, Earlier, Machine, Mode, STUDIES, Study};
use lopa_host::report::{Outputs, Table};

use super::{Failure, Threads, interrupts, print, progress, tell};

/// Runs the paper's experiments, and judges each of its claims.
///
/// Each study has a folder with a report, figures, all records, the findings, and the search for step sizes if there was
/// one. results.md collects all studies in the folder, including those of earlier runs. Without --quick they take hours.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lopa paper list\n  lopa paper hyper-mnist --data data --out results\n  \
                        lopa paper all --quick --data data --out results\n  \
                        lopa paper all --again --out results\n  \
                        lopa paper all --controls\n\n\
                        Get the data with lopa data fetch mnist (and covtype, and cifar10), or put the originals in folders of these names."
)]
pub(crate) struct Paper {
    /// Name of a study, "all", "list" to see them, or a .toml file with a study of your own.
    study: String,
    /// Folder for the results.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Folder that contains the folders mnist, covtype and cifar10.
    #[arg(long, default_value = "data")]
    data: PathBuf,
    /// Fewer rounds, seeds and trials: minutes instead of hours.
    #[arg(long)]
    quick: bool,
    /// Runs the studies' negative controls instead: set-ups in which their rules must say no. They need no data.
    #[arg(long, conflicts_with_all = ["out", "quick", "seeds"])]
    controls: bool,
    /// Runs nothing: judges the records of earlier runs in --out by the present rules, with the present notes and figures.
    #[arg(long, conflicts_with_all = ["controls", "seeds"])]
    again: bool,
    /// Number of seeds [default: those of each study].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
    #[command(flatten)]
    threads: Threads,
}

/// A requested study: its name, how the command line names it, and its text.
struct Chosen {
    name: String,
    call: String,
    text: String,
}

impl Paper {
    /// Runs the requested studies.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.study == "list" {
            return list();
        }
        let chosen = self.chosen()?;
        if self.controls {
            self.threads.start()?;
            return chosen.iter().try_for_each(controls);
        }
        let Some(out) = &self.out else {
            return Err(Failure::input("--out DIR is missing: name a folder for the results"));
        };
        self.threads.start()?;
        let mode = if self.quick { Mode::Quick } else { Mode::Whole };
        // All studies are checked before the first one runs for hours.
        let mut studies = Vec::new();
        for Chosen { name, call, text } in &chosen {
            let wrong = |error| Failure::input(format!("{name}: {error}"));
            let study = Study::parse(text).map_err(wrong)?;
            let mut plan = study.plan(mode, Some(&self.data)).map_err(wrong)?;
            plan.seeds = self.seeds.unwrap_or(plan.seeds);
            // Of an earlier run only the labels are drawn from the data.
            if plan.labels || !self.again {
                plan.arms.iter().try_for_each(there)?;
            }
            studies.push((name, call, study, plan));
        }
        for (name, ..) in &studies {
            Outputs::check(&out.join(name), &Account::FILES).map_err(Failure::input)?;
        }
        let whole = Outputs::for_files(out, &["results.md"]).map_err(Failure::input)?;
        let stop = interrupts()?;
        let options = self.options();
        let mut left_out = Vec::new();
        let here = Machine::here();
        for (name, call, study, plan) in studies {
            let folder = out.join(name);
            let earlier = if self.again {
                let wrong = |error| Failure::input(format!("{name}: {error}"));
                Some(study.earlier(mode, plan.clone(), &folder).map_err(wrong)?)
            } else {
                None
            };
            let outputs = Outputs::new(folder).map_err(Failure::input)?;
            let Earlier { measured, machine, options } = match earlier {
                Some(earlier) => earlier,
                None => {
                    let began = Instant::now();
                    let measured = measure(name, plan, stop)?;
                    Earlier { measured, machine: here.since(began), options: options.clone() }
                }
            };
            let promised = if self.quick { None } else { promised(name, &study, &measured, stop)? };
            let (study, options, measured) = (&study, &options[..], &measured);
            let account = Account { name, call, options, study, mode, measured, promised, machine };
            account.write(&outputs)?;
            let page = paper::results(out);
            whole.put("results.md", page.text)?;
            left_out = page.left_out;
            print(&account.text())?;
        }
        for name in left_out {
            let folder = out.join(name);
            tell(format_args!(
                "{}: unreadable or written by another version, so not in results.md",
                folder.display()
            ));
        }
        print(&format!("results {}\n", out.display()))
    }

    /// The options that reproduce the results.
    fn options(&self) -> String {
        let quick = if self.quick { "--quick " } else { "" };
        let seeds = self.seeds.map_or(String::new(), |seeds| format!("--seeds {seeds} "));
        format!("{quick}{seeds}--data DIR --out DIR")
    }

    /// The requested studies.
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
        let what = format!(
            "there is no study {:?}: choose all, a .toml file, or one of {known}",
            self.study
        );
        Err(Failure::input(what))
    }
}

/// Runs the controls of a study; rules that do not say no are an error.
fn controls(Chosen { name, text, .. }: &Chosen) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{name}: {error}"));
    let study = Study::parse(text).map_err(|error| wrong(&error))?;
    for control in &study.control {
        let blind = control.run(&study).map_err(|error| wrong(&error))?;
        if let Some(rule) = blind.first() {
            return Err(Failure::run(format!("{name}: {rule}")));
        }
        print(&format!("{name}: {}: as it must be\n", control.what))?;
    }
    match study.uncontrolled().first() {
        Some(rule) => Err(Failure::run(format!("{name}: rule {rule} has no control"))),
        None => Ok(()),
    }
}

/// Refuses an arm whose data is missing.
fn there(arm: &Arm) -> Result<(), Failure> {
    match &arm.experiment.data.dir {
        Some(dir) if !dir.is_dir() => Err(Failure::input(format!(
            "there is no folder {}: name its parent with --data, or run: lopa data fetch {}",
            dir.display(),
            arm.experiment.data.source()
        ))),
        _ => Ok(()),
    }
}

/// Runs a study behind a progress bar, which counts the trials of its search and then the rounds of its runs.
fn measure(name: &str, plan: Plan, stop: &AtomicBool) -> Result<Measured, Failure> {
    let bar = progress(0, "");
    let measured = plan.run(stop, |Progress { what, done, all }| {
        bar.set_message(what);
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    measured.map_err(|error| Failure::input(format!("{name}: {error}")))?.ok_or_else(stopped)
}

/// The table of bounds, if the study has one.
fn promised(
    name: &str,
    study: &Study,
    measured: &Measured,
    stop: &AtomicBool,
) -> Result<Option<Table>, Failure> {
    let seeds = measured.results.values().map(Vec::len).max().unwrap_or(0);
    let table = study.promised(u16::try_from(seeds).unwrap_or(u16::MAX), stop);
    let table = table.map_err(|error| Failure::input(format!("{name}: {error}")))?;
    if stop.load(Ordering::Relaxed) { Err(stopped()) } else { Ok(table) }
}

fn stopped() -> Failure {
    Failure::run("interrupted: only the studies that had finished were written")
}

/// Lists the studies.
fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for (name, file) in STUDIES {
        let study = Study::parse(file).map_err(|error| Failure::run(format!("{name}: {error}")))?;
        text += &format!("{name:<18} {}\n{:<18} {}\n", study.title, "", study.claim);
    }
    print(&text)
}

/// A word, quoted for a shell if necessary.
fn quoted(word: String) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
