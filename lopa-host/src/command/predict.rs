//! `lopa predict`: applies a learned model to new samples.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::data::Fresh;
use lopa_host::files;
use lopa_host::model::{Model, Quality};

use super::{Failure, print, short, tell};

/// Applies a learned model to the samples of a CSV file.
///
/// Prints one line per sample: the class or the number that is predicted and, for classes, its probability and the scores.
/// The file may have its columns in any order if it has a header; the label may be missing. If labels are there, the accuracy
/// (or R² and the root mean square error) is printed to standard error.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa predict results new.csv\n  \
                        lopa predict results new.csv --node north --out predictions.csv")]
pub(crate) struct PredictCommand {
    /// Folder with the results of `lopa run` or `lopa fleet`.
    dir: PathBuf,
    /// CSV file with the samples, plain or gzipped.
    file: PathBuf,
    /// The node whose model is used, by name or number [default: the one that the file names for each sample].
    #[arg(long)]
    node: Option<String>,
    /// Write the predictions to this file instead.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl PredictCommand {
    /// Predicts, and prints the predictions.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let model = Model::read(&self.dir).map_err(Failure::input)?;
        let names: Vec<&str> = model.nodes.iter().map(|node| node.name.as_str()).collect();
        let names = if self.node.is_some() { &[][..] } else { &names };
        let fresh = Fresh::read(&self.file, &model.columns, model.problem.labels(), names);
        let fresh = fresh.map_err(Failure::input)?;
        let predictions = model.predict(&fresh, self.node.as_deref()).map_err(Failure::input)?;
        match &self.out {
            Some(path) => {
                let ours = |line: &str| line.trim_end().split(',').next() == Some("predicted");
                put(path, &predictions.csv(), ours)?;
                print(&format!("{:<26} {}\n", "predictions", path.display()))?;
            }
            None => print(&predictions.csv())?,
        }
        predictions.quality.iter().for_each(|quality| tell(described(quality)));
        Ok(())
    }
}

/// How good predictions are, in a line.
fn described(quality: &Quality) -> String {
    match *quality {
        Quality::Classes { samples: 0, .. } => {
            "no sample has a label that is a class of the model".into()
        }
        Quality::Classes { right, samples, left_out } => {
            let accuracy = right as f64 / samples as f64;
            let others = match left_out {
                0 => String::new(),
                _ => format!("; {left_out} without a class of the model are left out"),
            };
            format!("accuracy {accuracy:.4}: {right} of {samples} samples{others}")
        }
        Quality::Numbers { r_squared, error, samples } => {
            let r_squared = r_squared.map_or_else(|| "-".to_owned(), |r| format!("{r:.4}"));
            let error = short(error);
            format!("R² {r_squared}, root mean square error {error}: {samples} samples")
        }
    }
}

/// Writes a file whole, in place of one that lopa wrote, which is known by its first line; others are not replaced.
pub(super) fn put(path: &Path, text: &str, ours: impl Fn(&str) -> bool) -> Result<(), Failure> {
    if let Ok(file) = File::open(path) {
        let mut line = String::new();
        let read = BufReader::new(file).read_line(&mut line);
        if read.is_err() || !(line.is_empty() || ours(&line)) {
            return Err(Failure::input(format!(
                "{} is there and lopa did not write it: move it, or choose another name",
                path.display()
            )));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let (folder, path) = (folder.display(), path.display());
        return Err(Failure::input(format!("cannot write {path}: there is no folder {folder}")));
    }
    Ok(files::put(path, text.as_bytes())?)
}
