//! The files of an archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::FetchError;
use super::sums::{Sums, damaged};
use super::{Event, State, Wrong, aside, with_ending};

/// Unpacks the files that are not there or not as in the archive: all or none. Nothing else is taken from an archive,
/// and no path in it is followed.
pub(super) fn unpack(
    archive: &Path,
    members: &[(String, u64)],
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    let states = states(Some(archive), members, folder)?;
    if states.iter().all(|(_, state)| *state == State::Right) {
        return Ok(());
    }
    let part = |path: &Path| with_ending(path, ".part");
    let mut disk = None;
    let found = each(archive, members, |name, reader| {
        let path = part(&folder.join(name));
        let written = File::create(&path).and_then(|mut file| {
            io::copy(reader, &mut file)?;
            file.sync_all()
        });
        written.inspect_err(|_| disk = Some(path))
    });
    let found = found.map_err(|error| match disk.take() {
        Some(path) if !damaged(&error) => FetchError::write(&path, error),
        _ => FetchError::read(archive, error),
    });
    let complete = found.and_then(|found| missing(archive, members, &found));
    if let Err(error) = complete {
        for (path, _) in &states {
            // Whether it was begun at all does not matter.
            let _ = fs::remove_file(part(path));
        }
        return Err(error);
    }
    for (path, state) in &states {
        if *state == State::Right {
            fs::remove_file(part(path)).map_err(|error| FetchError::write(path, error))?;
            continue;
        }
        if matches!(state, State::Wrong(_)) {
            aside(path, report)?;
        }
        fs::rename(part(path), path).map_err(|error| FetchError::write(path, error))?;
        report(Event::Unpacked(path));
    }
    Ok(())
}

/// Whether the files of an archive are as in it; without the archive, whether they have the right length.
pub(super) fn states(
    archive: Option<&Path>,
    members: &[(String, u64)],
    folder: &Path,
) -> Result<Vec<(PathBuf, State)>, FetchError> {
    let mut inside = BTreeMap::new();
    if let Some(archive) = archive.filter(|_| !members.is_empty()) {
        let found = each(archive, members, |name, reader| {
            inside.insert(name.to_owned(), Sums::of(reader)?);
            Ok(())
        });
        let found = found.map_err(|error| FetchError::read(archive, error))?;
        missing(archive, members, &found)?;
    }
    let state = |(name, expected): &(String, u64)| {
        let path = folder.join(name);
        let size = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((path, State::Missing));
            }
            Err(error) => return Err(FetchError::read(&path, error)),
            Ok(data) => data.len(),
        };
        let wrong = |expected| State::Wrong(Wrong { size, expected, lines: None });
        let state = match inside.get(name) {
            _ if size != *expected => wrong(Some(*expected)),
            None => State::Unproven,
            Some(sums) => {
                let own = File::open(&path).and_then(Sums::of);
                let own = own.map_err(|error| FetchError::read(&path, error))?;
                if sums.agree(&own) { State::Right } else { wrong(None) }
            }
        };
        Ok((path, state))
    };
    members.iter().map(state).collect()
}

/// Calls for each of the files that is in the archive and has its length; their names.
fn each(
    archive: &Path,
    members: &[(String, u64)],
    mut with: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<Vec<String>> {
    let file = BufReader::new(File::open(archive)?);
    let mut archive = tar::Archive::new(MultiGzDecoder::new(file));
    let mut found = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let member = members.iter().find(|(name, size)| {
            path.file_name().is_some_and(|file| file == name.as_str()) && *size == entry.size()
        });
        if let Some((name, _)) = member.filter(|_| entry.header().entry_type().is_file()) {
            with(name, &mut entry)?;
            found.push(name.clone());
        }
    }
    Ok(found)
}

fn missing(archive: &Path, members: &[(String, u64)], found: &[String]) -> Result<(), FetchError> {
    match members.iter().find(|(name, _)| !found.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(FetchError::Archive { path: archive.into(), member: name.clone() }),
    }
}
