//! Whether the network fits the board, at the file's baud rate, and whether the blobs are those of the file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lopa_host::chips::{Board, ChipError, Limits, NodeBlob};
use lopa_host::run::Prepared;

use super::Findings;
use crate::command::shard::{blob_name, blobs_for};

pub(super) fn check(
    findings: &mut Findings,
    folder: &Path,
    file: &Path,
    prepared: &Prepared,
    board: Option<&Board>,
) {
    let blobs = match blobs_for(prepared, Limits::default(), None) {
        Ok(blobs) => blobs,
        Err(failure) => return findings.add("fit", Err::<&str, _>(failure)),
    };
    if let Some(board) = board {
        fit(findings, prepared, board, &blobs);
    }
    findings.add("blobs", current(folder, file, board, &blobs));
}

/// What a board would refuse.
fn fit(findings: &mut Findings, prepared: &Prepared, board: &Board, blobs: &[NodeBlob]) {
    let wrong = blobs.iter().find_map(|blob| board.takes(blob).err());
    match wrong {
        // A rate is checked after everything else.
        Some(error @ (ChipError::Baud { .. } | ChipError::Deaf { .. })) => {
            findings.add("baud", Err::<&str, _>(error));
        }
        Some(error) => findings.add("fit", Err::<&str, _>(error)),
        None => {
            let baud = prepared.experiment().links.clone().unwrap_or_default().baud;
            findings.add("fit", Ok::<_, &str>(format!("every node fits a {}", board.name)));
            let limit = board.fastest;
            findings.add("baud", Ok::<_, &str>(format!("{baud} (lines reach {limit})")));
        }
    }
}

/// Whether the folder has every blob, with the bytes that the file would give it now.
fn current(
    folder: &Path,
    file: &Path,
    board: Option<&Board>,
    blobs: &[NodeBlob],
) -> Result<String, String> {
    let path = |blob: &NodeBlob| folder.join(blob_name(blob.budget.node));
    let (mut absent, mut stale): (Vec<PathBuf>, Vec<PathBuf>) = Default::default();
    for blob in blobs {
        let path = path(blob);
        match fs::read(&path) {
            Ok(bytes) if bytes == blob.bytes => {}
            Ok(_) => stale.push(path),
            Err(error) if error.kind() == ErrorKind::NotFound => absent.push(path),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        }
    }
    let (file, folder) = (file.display(), folder.display());
    let flashed = board.is_none_or(|board| board.chip.is_some());
    let again = match flashed {
        true => format!("lopa fleet {file} flash --blobs {folder}, which writes and flashes all"),
        false => format!("lopa shard {file} --out {folder}"),
    };
    if let Some(what) = some(&stale) {
        return Err(format!("{what} not what {file} describes now: run {again}"));
    }
    match some(&absent) {
        Some(what) => Err(format!("{what} missing: run {again}")),
        None => Ok(format!("{} in {folder}, as {file} describes them", blobs.len())),
    }
}

/// The first of some files, and how many more there are, with a verb.
fn some(files: &[PathBuf]) -> Option<String> {
    let first = files.first()?.display();
    Some(match files.len() - 1 {
        0 => format!("{first} is"),
        more => format!("{first} and {more} more are"),
    })
}
