//! The files of an archive.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::{Event, FetchError, State, Wanted, damaged, part};

/// The files an archive unpacks to, and whether each has the right size; empty for a file that is not an archive.
pub(super) fn states(wanted: &Wanted, folder: &Path) -> Result<Vec<(PathBuf, State)>, FetchError> {
    let state = |(name, expected): &(String, u64)| {
        let path = folder.join(name);
        let state = match fs::metadata(&path) {
            Ok(data) if data.len() == *expected => State::SizeRight,
            Ok(data) => State::Wrong { size: data.len() },
            Err(error) if error.kind() == ErrorKind::NotFound => State::Missing,
            Err(error) => return Err(FetchError::read(&path, error)),
        };
        Ok((path, state))
    };
    wanted.members.iter().map(state).collect()
}

/// Unpacks the files that are missing. Nothing else is taken from the archive, and no path in it is followed.
pub(super) fn unpack(
    archive: &Path,
    wanted: &Wanted,
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    let read = |error| FetchError::read(archive, error);
    let mut missing = Vec::new();
    for (path, state) in states(wanted, folder)? {
        match state {
            State::Wrong { size } => return Err(FetchError::Wrong { path, size }),
            State::Missing => missing.push(path),
            State::Right | State::SizeRight => {}
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let file = BufReader::new(File::open(archive).map_err(read)?);
    let mut entries = tar::Archive::new(MultiGzDecoder::new(file));
    for entry in entries.entries().map_err(read)? {
        let mut entry = entry.map_err(read)?;
        let (own, size) = (entry.path().map_err(read)?.into_owned(), entry.size());
        let known = |(name, expected): &&(String, u64)| {
            own.file_name().is_some_and(|own| own == name.as_str()) && *expected == size
        };
        let path = wanted.members.iter().find(known).map(|(name, _)| folder.join(name));
        let at = missing.iter().position(|missing| Some(missing) == path.as_ref());
        let Some(at) = at.filter(|_| entry.header().entry_type().is_file()) else { continue };
        let path = missing.swap_remove(at);
        let begun = part(&path);
        let written = File::create(&begun)
            .and_then(|mut file| io::copy(&mut entry, &mut file).and_then(|_| file.sync_all()))
            .and_then(|()| fs::rename(&begun, &path));
        if let Err(error) = written {
            // It may not even have been created.
            let _ = fs::remove_file(&begun);
            let damaged = damaged(&error);
            return Err(if damaged { read(error) } else { FetchError::write(&path, error) });
        }
        report(Event::Unpacked(&path));
    }
    match missing.pop() {
        None => Ok(()),
        Some(path) => Err(FetchError::Archive { path: archive.into(), member: path }),
    }
}
