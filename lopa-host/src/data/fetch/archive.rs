//! The files of an archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::{Event, FetchError, State, Wanted, damaged, sha256};
use crate::files::beside;

/// The files an archive unpacks to, and whether each is as in the archive; without the archive, whether it has the right
/// size. Empty for a file that is not an archive.
pub(super) fn states(
    wanted: &Wanted,
    archive: Option<&Path>,
    folder: &Path,
) -> Result<Vec<(PathBuf, State)>, FetchError> {
    let mut sums = BTreeMap::new();
    if let Some(archive) = archive.filter(|_| !wanted.members.is_empty()) {
        let sum = |name: &str, reader: &mut dyn Read| {
            sums.insert(name.to_owned(), sha256(reader)?);
            Ok(())
        };
        each(archive, wanted, sum).map_err(|error| FetchError::read(archive, error))?;
    }
    let state = |(name, expected): &(String, u64)| {
        let path = folder.join(name);
        let read = |error| FetchError::read(&path, error);
        let size = match fs::metadata(&path) {
            Ok(data) => data.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok((path, State::Missing));
            }
            Err(error) => return Err(read(error)),
        };
        let state = match sums.get(name) {
            _ if size != *expected => State::Wrong { size },
            None => State::SizeRight,
            Some(sum) if *sum == File::open(&path).and_then(sha256).map_err(read)? => State::Right,
            Some(_) => State::Wrong { size },
        };
        Ok((path, state))
    };
    wanted.members.iter().map(state).collect()
}

/// Calls `with` for each wanted file of an archive. Nothing else is taken from it, and no path in it is followed.
fn each(
    archive: &Path,
    wanted: &Wanted,
    mut with: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let file = BufReader::new(File::open(archive)?);
    let mut archive = tar::Archive::new(MultiGzDecoder::new(file));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let (path, size) = (entry.path()?.into_owned(), entry.size());
        let own = |(name, expected): &&(String, u64)| {
            path.file_name().is_some_and(|file| file == name.as_str()) && *expected == size
        };
        let member = wanted.members.iter().find(own);
        if let Some((name, _)) = member.filter(|_| entry.header().entry_type().is_file()) {
            with(name, &mut entry)?;
        }
    }
    Ok(())
}

/// Unpacks the files that are missing.
pub(super) fn unpack(
    archive: &Path,
    wanted: &Wanted,
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    let mut missing = Vec::new();
    for (path, state) in states(wanted, Some(archive), folder)? {
        match state {
            State::Wrong { size } => return Err(FetchError::wrong(&path, size)),
            State::Missing => missing.push(path),
            State::Right | State::SizeRight => {}
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let mut disk = None;
    let unpacked = each(archive, wanted, |name, reader| {
        let path = folder.join(name);
        let Some(at) = missing.iter().position(|missing| *missing == path) else { return Ok(()) };
        let begun = beside(&path);
        let written = File::create(&begun)
            .and_then(|mut file| io::copy(reader, &mut file).and_then(|_| file.sync_all()))
            .and_then(|()| fs::rename(&begun, &path));
        if let Err(error) = written {
            // It may not even have been created.
            let _ = fs::remove_file(&begun);
            disk = Some(path);
            return Err(error);
        }
        report(Event::Unpacked(&missing.swap_remove(at)));
        Ok(())
    });
    unpacked.map_err(|error| match disk {
        Some(path) if !damaged(&error) => FetchError::write(&path, &error),
        _ => FetchError::read(archive, error),
    })?;
    match missing.pop() {
        None => Ok(()),
        Some(path) => Err(FetchError::Local(format!(
            "{} does not contain {}: delete the archive and fetch again",
            archive.display(),
            path.display()
        ))),
    }
}
