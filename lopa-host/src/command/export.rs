//! `lopa export`: a learned model as source code for a chip.

use std::path::PathBuf;

use clap::Args;
use lopa_host::model::Model;
use lopa_host::model::export::{self, Export as Source};

use super::predict::put;
use super::{Failure, Lines};

/// Writes the model of one node as source code for a chip.
///
/// The numbers of a sensor go in as they are, because the scaling is part of the weights. The Rust module is no_std and has
/// neither dependencies nor unsafe code; the C99 header needs no library. Scores have the bits that `lopa predict` prints,
/// whatever the flags of the compiler.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa export results --node 0 --rust src/model.rs\n  \
                        lopa export results --node north --c model.h")]
pub(crate) struct Export {
    /// Folder with the results of `lopa run` or `lopa fleet`.
    dir: PathBuf,
    /// The node whose model is written, by name or number; not needed if there is only one.
    #[arg(long)]
    node: Option<String>,
    /// The file for the Rust module.
    #[arg(long, required_unless_present = "c")]
    rust: Option<PathBuf>,
    /// The file for the C header; its name is in front of all names in it.
    #[arg(long)]
    c: Option<PathBuf>,
}

impl Export {
    /// Writes the files.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let model = Model::read(&self.dir).map_err(Failure::input)?;
        let node = model.node(self.node.as_deref()).map_err(Failure::input)?;
        let source = Source::new(&model, node).map_err(Failure::input)?;
        let mut lines = Lines::default();
        lines.add("node", &model.nodes[node].name);
        lines.add("features", model.width());
        if let Some(path) = &self.rust {
            put(path, &source.rust(), export::is_ours)?;
            lines.add("Rust module", path.display());
        }
        if let Some(path) = &self.c {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            put(path, &source.c(&stem), export::is_ours)?;
            lines.add("C header", path.display());
        }
        lines.print()
    }
}
