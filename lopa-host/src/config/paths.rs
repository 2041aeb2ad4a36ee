//! The files that an experiment names.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Experiment, Start};
use crate::topology::{Kind, WeightRule};

impl Experiment {
    /// Every path in it.
    pub(crate) fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        let Self { network, data, links, run, fleet, .. } = self;
        let zenoh = fleet.as_mut().and_then(|fleet| fleet.zenoh.as_mut());
        let key = links.as_mut().and_then(|links| links.key.as_mut());
        let topology = if let Kind::File(file) = &mut network.topology { Some(file) } else { None };
        let weights =
            if let WeightRule::File(file) = &mut network.weights { Some(file) } else { None };
        let start = if let Some(Start::File(file)) = &mut run.x0 { Some(file) } else { None };
        let data = [data.dir.as_mut(), data.file.as_mut(), data.test_file.as_mut()];
        data.into_iter().chain([key, topology, weights, start, zenoh]).flatten().collect()
    }

    /// The files and folders that it reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.clone().paths_mut().into_iter().map(|path| path.clone()).collect()
    }

    /// The same for a file in `folder`: relative paths in a file are relative to its folder.
    ///
    /// ```
    /// use lopa_host::config::Experiment;
    /// let text = "[network]\nnodes = 4\n[problem]\nkind = \"logistic\"\n[data]\nsource = \"csv\"\nfile = \"points.csv\"\n\
    ///             [algorithm]\nname = \"dgd\"\nalpha = 0.1\n[run]\niterations = 9\n";
    /// let dir = tempfile::tempdir_in(".")?;
    /// let moved = Experiment::parse(text)?.moved_to(dir.path());
    /// assert_eq!(moved.data.file, Some("../points.csv".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn moved_to(&self, folder: &Path) -> Self {
        let mut moved = self.clone();
        for path in moved.paths_mut() {
            if path.is_relative() {
                *path = relative(path, folder).unwrap_or_else(|_| path.clone());
            }
        }
        moved
    }
}

/// A path as seen from a folder.
///
/// # Errors
/// One of them does not exist.
pub fn relative(path: &Path, folder: &Path) -> io::Result<PathBuf> {
    // The last part may be a link, or a file that is only there with another ending: it stays as it is.
    let here = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => fs::canonicalize(Path::new(".").join(parent))?.join(name),
        _ => fs::canonicalize(path)?,
    };
    let there = fs::canonicalize(folder)?;
    let common = here.components().zip(there.components()).take_while(|(a, b)| a == b).count();
    if common == 0 {
        // On another drive.
        return Ok(here);
    }
    let up = there.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(here.components().skip(common)).collect();
    Ok(if path.as_os_str().is_empty() { ".".into() } else { path })
}
