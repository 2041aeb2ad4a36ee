//! `lopa data`: describes your own data, and downloads and checks the public data sets.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lopa_host::config::Experiment;
use lopa_host::data::fetch::{self, Event, FetchError, Original, State};

use super::describe::describe;
use super::{Failure, bar, print};

/// Describes your own data; downloads and checks the public data sets.
///
/// A downloaded file gets its name only once its checksum is right. An interrupted download resumes where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lopa data describe network.toml\n  \
    lopa data list\n  \
    lopa data fetch mnist --dir data/mnist\n  \
    lopa data check mnist --dir data/mnist\n\n\
    Exit status: 0 success, 1 no server delivered a file or a file is wrong, 2 bad usage, input or disk.")]
pub(crate) struct Data {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints what was understood of the data that an experiment file names.
    ///
    /// Nothing is trained: this shows the label and its classes, how many samples each node has, and the range of every
    /// feature before it is scaled.
    Describe {
        /// Experiment file (TOML).
        file: PathBuf,
    },
    /// Lists the public data sets with their sizes, terms and sources.
    List,
    /// Downloads a data set into a folder.
    Fetch {
        /// Data set: mnist, covtype or cifar10.
        name: String,
        /// Folder [default: data/NAME].
        #[arg(long)]
        dir: Option<PathBuf>,
        /// Address of a folder that has the files under their names; no other server is tried.
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
    },
    /// Checks whether the files in a folder are the originals.
    Check {
        /// Data set: mnist, covtype or cifar10.
        name: String,
        /// Folder [default: data/NAME].
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        if error.is_local() { Self::input(error) } else { Self::run(error) }
    }
}

impl Data {
    /// Runs the subcommand.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Describe { file } => {
                let experiment = Experiment::read(file).map_err(Failure::input)?;
                print(&describe(&experiment)?)
            }
            Command::List => print(&list()),
            Command::Fetch { name, dir, mirror } => {
                let mut set = fetch::named(name)?;
                if let Some(mirror) = mirror {
                    use_mirror(&mut set, mirror)?;
                }
                get(&set, &folder(name, dir.as_ref()))
            }
            Command::Check { name, dir } => {
                check(&fetch::named(name)?, &folder(name, dir.as_ref()))
            }
        }
    }
}

fn folder(name: &str, dir: Option<&PathBuf>) -> PathBuf {
    dir.cloned().unwrap_or_else(|| Path::new("data").join(name))
}

fn use_mirror(set: &mut Original, mirror: &str) -> Result<(), Failure> {
    if !(mirror.starts_with("http://") || mirror.starts_with("https://")) {
        let what = format!("--mirror {mirror}: the address must begin with https:// or http://");
        return Err(Failure::input(what));
    }
    for file in &mut set.files {
        file.urls = vec![format!("{}/{}", mirror.trim_end_matches('/'), file.name)];
    }
    Ok(())
}

fn list() -> String {
    let mut text = String::new();
    for set in fetch::known() {
        text += &format!("{}\n  {}\n  terms: {}\n", set.name, set.title, set.terms);
        for home in &set.homes {
            text += &format!("  home:  {home}\n");
        }
        for file in &set.files {
            let size = file.size.map_or(String::new(), |size| format!(", {size} bytes"));
            text += &format!("  file:  {}{size}\n", file.name);
            for url in &file.urls {
                text += &format!("         {url}\n");
            }
        }
        text.push('\n');
    }
    text + "`lopa data fetch NAME --dir DIR` downloads one, `lopa data check NAME --dir DIR` checks a folder\n"
}

fn check(set: &Original, folder: &Path) -> Result<(), Failure> {
    let states = fetch::check(set, folder)?;
    let mut text = String::new();
    for (path, state) in &states {
        text += &format!("{}: {state}\n", path.display());
    }
    print(&text)?;
    let fine = |state: &State| matches!(state, State::Right | State::SizeRight);
    let bad = states.iter().filter(|(_, state)| !fine(state)).count();
    if bad > 0 {
        return Err(Failure::run(format!(
            "{bad} of {} files of {} are missing or wrong: `lopa data fetch {} --dir {}` downloads them",
            states.len(),
            set.name,
            set.name,
            folder.display()
        )));
    }
    Ok(())
}

/// Downloads a data set: one line per file, and on a terminal the servers and a progress bar.
fn get(set: &Original, folder: &Path) -> Result<(), Failure> {
    let bar = bar(0, "{bar:40} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left");
    let mut lines = String::new();
    let result = fetch::fetch(set, folder, &mut |event| match event {
        Event::There(path) => lines += &format!("{}: already there\n", path.display()),
        Event::Fetched(path) => {
            lines += &format!("{}: fetched, checksum right\n", path.display());
        }
        Event::Unpacked(path) => lines += &format!("{}: unpacked\n", path.display()),
        Event::Asking { url, from: 0 } => bar.println(url),
        Event::Asking { url, from } => bar.println(format!("{url}, resuming after {from} bytes")),
        Event::Bytes { have, all } => {
            if let Some(all) = all {
                bar.set_length(all);
            }
            bar.set_position(have);
        }
        Event::Failed { why } => bar.println(format!("  {why}")),
        _ => {}
    });
    bar.finish_and_clear();
    print(&lines)?;
    result?;
    let dir = toml::Value::String(folder.display().to_string());
    print(&format!(
        "for the experiment file, with the folder relative to it:\n  [data]\n  source = \"{}\"\n  dir = {dir}\n",
        set.name
    ))
}
