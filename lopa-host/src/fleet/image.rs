//! The program for a board: found, and built.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::chips::Board;
use crate::files::{self, WriteError};

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The folder with the firmware is not there.
    #[error(
        "{} is not the firmware's folder: name that folder with --firmware, or a built program with --image",
        .0.display()
    )]
    Missing(PathBuf),
    /// Cargo does not run.
    #[error("cargo does not run ({0}): install Rust from https://rustup.rs")]
    Cargo(#[source] io::Error),
    /// The compiler has no library for the board's target.
    #[error("the target {0} is missing: rustup target add {0}")]
    Target(String),
    /// It does not build.
    #[error("the firmware does not build:\n{0}")]
    Build(String),
    /// A built program cannot be copied.
    #[error(transparent)]
    Copy(#[from] WriteError),
    /// There is no image where one was named.
    #[error("there is no program at {}", .0.display())]
    Image(PathBuf),
}

/// The folder of the firmware: as named, or of this source tree, or in the working directory.
#[must_use]
pub fn folder(named: Option<&Path>) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware");
    match named {
        Some(folder) => folder.to_path_buf(),
        None if beside.join("Cargo.toml").is_file() => beside,
        None => "firmware".into(),
    }
}

/// Programs of the firmware's folder, and how they are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build<'a> {
    /// The package.
    pub package: &'a str,
    /// Programs of it.
    pub programs: &'a [&'a str],
    /// The targets: cargo works on all of them at once.
    pub targets: &'a [&'a str],
    /// Features.
    pub features: &'a [&'a str],
    /// Whether the package's default features are left out.
    pub bare: bool,
    /// The optimisation level, if not the firmware's own.
    pub level: Option<&'a str>,
}

impl Build<'_> {
    /// Builds, and says in which folder the programs are, for each target.
    ///
    /// Cargo shares what kinds of builds have in common, but their programs replace each other: they are copied to a folder
    /// of their kind before the next build may begin.
    ///
    /// # Errors
    /// Says what is missing, with the command that installs it.
    pub fn run(&self, firmware: &Path) -> Result<Vec<PathBuf>, ImageError> {
        if !firmware.join("Cargo.toml").is_file() {
            return Err(ImageError::Missing(firmware.to_path_buf()));
        }
        let built = firmware.join("target");
        let images = built.join("images");
        let _alone = alone(firmware)?;
        let output = self.cargo(firmware).output().map_err(ImageError::Cargo)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let missing = said.contains("may not be installed");
            let target = || self.targets.iter().find(|target| said.contains(**target));
            return Err(match target().filter(|_| missing) {
                Some(target) => ImageError::Target((*target).to_owned()),
                None => ImageError::Build(said),
            });
        }
        let kind = images.join(self.kind());
        let kept = self.targets.iter().map(|target| {
            let (from, to) = (built.join(target).join("release"), kind.join(target));
            copy(&from, &to, self.programs)?;
            Ok(to)
        });
        kept.collect()
    }

    fn cargo(&self, firmware: &Path) -> Command {
        let mut cargo = Command::new(cargo());
        cargo.args(["build", "--release", "--locked", "--package", self.package]);
        cargo.arg("--manifest-path").arg(firmware.join("Cargo.toml"));
        cargo.arg("--target-dir").arg(firmware.join("target"));
        for (flag, names) in
            [("--target", self.targets), ("--bin", self.programs), ("--features", self.features)]
        {
            names.iter().for_each(|name| {
                cargo.args([flag, name]);
            });
        }
        if let Some(level) = self.level {
            cargo.args(["--config", &format!("profile.release.opt-level={level:?}")]);
        }
        if self.bare {
            cargo.arg("--no-default-features");
        }
        // Flags meant for the host's build, such as coverage, are no good on a chip.
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
            cargo.env_remove(name);
        }
        cargo.stdin(Stdio::null());
        cargo
    }

    /// The folder of programs that are built in the same way.
    fn kind(&self) -> PathBuf {
        let level = self.level.map(|level| format!("level-{level}"));
        let bare = self.bare.then(|| "bare".to_owned());
        let features = self.features.iter().map(|feature| (*feature).to_owned());
        let kind: PathBuf = level.into_iter().chain(bare).chain(features).collect();
        if kind.as_os_str().is_empty() { "plain".into() } else { kind }
    }
}

/// Waits until no other process builds programs of the firmware's folder; until the file is dropped, none does.
///
/// # Errors
/// If there cannot be such a file.
pub fn alone(firmware: &Path) -> Result<File, WriteError> {
    let images = firmware.join("target/images");
    let path = images.join("lock");
    let lock = || {
        fs::create_dir_all(&images)?;
        let file = File::create(&path)?;
        file.lock().map(|()| file)
    };
    lock().map_err(|error| WriteError { path: path.clone(), error })
}

/// Copies programs, each in one go: an emulator that is reading an old one is not disturbed.
fn copy(from: &Path, to: &Path, programs: &[&str]) -> Result<(), WriteError> {
    for program in programs {
        let path = to.join(program);
        let read = fs::create_dir_all(to).and_then(|()| fs::read(from.join(program)));
        let bytes = read.map_err(|error| WriteError { path: path.clone(), error })?;
        files::put(&path, &bytes)?;
    }
    Ok(())
}

/// Builds a board's program in the firmware's folder, and says where it is.
///
/// # Errors
/// Says what is missing, with the command that installs it.
pub fn build(firmware: &Path, board: &Board) -> Result<PathBuf, ImageError> {
    let Board { name, target, features, bare, .. } = *board;
    let (programs, targets) = (&[name], &[target]);
    let build = Build { package: name, programs, targets, features, bare, level: None };
    let folder = build.run(firmware)?.into_iter().next().unwrap_or_default();
    given(&folder.join(name))
}

/// A program that is built already.
///
/// # Errors
/// If it is not there.
pub fn given(path: &Path) -> Result<PathBuf, ImageError> {
    // An emulator runs in a folder of its own.
    match path.canonicalize() {
        Ok(path) if path.is_file() => Ok(path),
        _ => Err(ImageError::Image(path.to_path_buf())),
    }
}

/// The cargo that builds programs.
#[must_use]
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or("cargo".into())
}

/// Whether a command is missing altogether.
#[must_use]
pub fn missing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}
