//! `lopa key`: a network's key, in a new file.

use std::path::PathBuf;

use clap::Args;
use lopa_host::key::Key;

use super::{Failure, Lines};

/// Makes a key for a network, in a new file that only you can read.
///
/// With key = "FILE" in its table "links", all frames of a network are encrypted and authenticated: without the key they
/// cannot be read, and forged frames are ignored and counted. lopa shard and lopa fleet carry the key to the boards with
/// the blobs; the results are the same bits. The key is never printed. An existing file is not replaced.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  lopa key network.key\n\nand in the experiment file:\n  [links]\n  key = \"network.key\""
)]
pub(crate) struct KeyCommand {
    /// The new file; keep it secret, and out of version control.
    file: PathBuf,
}

impl KeyCommand {
    /// Makes the key and writes it.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let key = Key::random().map_err(Failure::run)?;
        key.write_new(&self.file).map_err(Failure::input)?;
        let name = self.file.file_name().unwrap_or_default();
        let mut lines = Lines::default();
        lines.add("key", self.file.display());
        lines.add("in the experiment file", format_args!("[links] key = {name:?}"));
        lines.print()
    }
}
