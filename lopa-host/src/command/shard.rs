//! `lopa shard`: the blobs of a network, for chips.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::chips::{Board, Budget, ChipError, Form, Limits, Loaded, NodeBlob, VALUES, blobs};
use lopa_host::files::Access;
use lopa_host::report::{Batch, Outputs};
use lopa_host::run::Prepared;

use super::{Failure, Lines, prepared};

/// Writes the blobs of a network, one per chip.
///
/// A blob holds everything that makes a chip one particular node: its number, neighbours, step sizes, problem and share of
/// the data, with a checksum; if the table `links` has a key, that too, and then only you can read the files. It is flashed
/// beside the image, which is the same on all chips. The command writes node-0.blob and so on, and budget.csv with the
/// flash, RAM and line time that each node needs; it removes blobs left over from a larger network. If a node does not fit,
/// or a board would lose bytes while it writes a checkpoint, nothing is written. With a board, the command also prints the
/// years until checkpoints wear its flash out, if the board learns without a pause.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa shard network.toml --out blobs\n  \
                  lopa shard network.toml --out blobs --board pico\n  \
                  lopa shard network.toml --out blobs --flash 131072 --ram 16384")]
pub(crate) struct ShardCommand {
    /// Experiment file (TOML), as for lopa run; its table `links` has the baud rate and the wiring.
    file: PathBuf,
    /// Folder for the blobs; existing ones are replaced.
    #[arg(long)]
    out: PathBuf,
    /// Bytes of flash for the blob.
    #[arg(long, value_name = "BYTES")]
    flash: Option<usize>,
    /// Bytes of RAM for the node: vectors and scratch.
    #[arg(long, value_name = "BYTES")]
    ram: Option<usize>,
    /// Board, if all are the same: nrf52840-dk, nucleo-l476rg, pico or pico-2.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["flash", "ram"])]
    board: Option<Board>,
}

impl From<ChipError> for Failure {
    fn from(error: ChipError) -> Self {
        match error {
            ChipError::Network(error) => error.into(),
            other => Self::input(other),
        }
    }
}

impl ShardCommand {
    /// Writes the blobs, reads them back, and prints what the largest node needs.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let prepared = prepared(&self.file)?;
        let limits = Limits { flash: self.flash, ram: self.ram };
        let blobs = blobs_for(&prepared, limits, self.board.as_ref())?;
        let outputs = Outputs::new(&self.out).map_err(Failure::input)?;
        let mut batch = outputs.batch();
        batch.restrict(access(&prepared));
        batch.add("budget.csv", table(&blobs));
        add_blobs(&mut batch, &blobs);
        batch.write()?;
        remove_others(&outputs, blobs.len())?;
        for NodeBlob { budget, bytes: written } in &blobs {
            let path = outputs.folder().join(blob_name(budget.node));
            let wrong = |what: &dyn std::fmt::Display| {
                Failure::run(format!("{} does not read back: {what}", path.display()))
            };
            let bytes = fs::read(&path).map_err(|error| wrong(&error))?;
            Loaded::new(&bytes).blob().map_err(|error| wrong(&error))?;
            if bytes != *written {
                return Err(wrong(&"its bytes are different"));
            }
        }
        self.report(&blobs)
    }

    fn report(&self, blobs: &[NodeBlob]) -> Result<(), Failure> {
        type Of<T> = fn(&Budget) -> T;
        let rows: [(&str, Of<f64>, Of<String>); 5] = [
            ("flash, bytes", |own| own.flash as f64, |own| own.flash.to_string()),
            ("checkpoint, bytes", |own| own.checkpoint as f64, |own| own.checkpoint.to_string()),
            ("RAM, bytes", |own| own.ram as f64, |own| own.ram.to_string()),
            ("sent per round, bytes", |own| own.sent as f64, |own| own.sent.to_string()),
            ("round, seconds", |own| own.seconds, |own| format!("{:.6}", own.seconds)),
        ];
        let mut lines = Lines::default();
        lines.add("blobs", blobs.len());
        for (what, size, value) in rows {
            // The first of several that are equal.
            let budgets = blobs.iter().map(|blob| &blob.budget).rev();
            if let Some(most) = budgets.max_by(|a, b| size(a).total_cmp(&size(b))) {
                lines.add(what, format_args!("{} (node {})", value(most), most.node));
            }
        }
        if let Some((board, years)) = self.board.and_then(|board| {
            let years = blobs.iter().filter_map(|blob| board.years(blob));
            Some((board, years.min_by(f64::total_cmp)?))
        }) {
            let erases = board.flash.erases;
            lines.add("flash lasts, years", format_args!("{years:.3} (rated for {erases} erases)"));
        }
        lines.add("results", self.out.display());
        lines.print()
    }
}

/// The blobs of a network, which all boards of this kind must take.
pub(crate) fn blobs_for(
    prepared: &Prepared,
    limits: Limits,
    board: Option<&Board>,
) -> Result<Vec<NodeBlob>, Failure> {
    // Every board would refuse longer chunks than the node program has room for.
    let form = Form { values: Some(VALUES), ..Form::default() };
    let blobs = blobs(prepared, limits, form)?;
    if let Some(board) = board {
        blobs.iter().try_for_each(|blob| board.takes(blob))?;
    }
    Ok(blobs)
}

/// The name of a node's blob.
pub(crate) fn blob_name(node: u32) -> String {
    format!("node-{node}.blob")
}

/// Adds the files of blobs.
pub(crate) fn add_blobs(batch: &mut Batch<'_>, blobs: &[NodeBlob]) {
    blobs.iter().for_each(|blob| batch.add(blob_name(blob.budget.node), blob.bytes.clone()));
}

/// Who can read blobs: only their owner if they contain a key.
pub(crate) fn access(prepared: &Prepared) -> Access {
    if prepared.seal().is_keyed() { Access::Private } else { Access::Usual }
}

/// Removes the blobs of nodes that this network does not have, so that they are not flashed by mistake.
fn remove_others(outputs: &Outputs, nodes: usize) -> Result<(), Failure> {
    let folder = outputs.folder();
    let wrong = |path: &Path, error| {
        let what = "cannot remove the earlier blob";
        Failure::run(format!("{what} {}: {error}", path.display()))
    };
    for entry in fs::read_dir(folder).map_err(|error| wrong(folder, error))?.flatten() {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| outputs.has_written(name));
        let number = name.and_then(|name| name.strip_prefix("node-")?.strip_suffix(".blob"));
        let number = number.and_then(|number| number.parse::<usize>().ok());
        if number.is_some_and(|number| number >= nodes) {
            fs::remove_file(entry.path()).map_err(|error| wrong(&entry.path(), error))?;
        }
    }
    Ok(())
}

/// The budget of every node.
fn table(blobs: &[NodeBlob]) -> String {
    let mut text = String::from(
        "node,neighbours,flash_bytes,ram_bytes,checkpoint_bytes,sent_bytes_a_round,seconds_a_round\n",
    );
    for NodeBlob { budget: b, .. } in blobs {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            b.node, b.neighbours, b.flash, b.ram, b.checkpoint, b.sent, b.seconds
        );
    }
    text
}
