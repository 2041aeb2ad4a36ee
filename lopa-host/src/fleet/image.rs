//! The program for a board: found, and built.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::chips::Board;

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
    Cargo(#[source] std::io::Error),
    /// The compiler has no library for the board's target.
    #[error("the target {0} is missing: rustup target add {0}")]
    Target(String),
    /// It does not build.
    #[error("the firmware does not build:\n{0}")]
    Build(String),
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
    /// # Errors
    /// Says what is missing, with the command that installs it.
    pub fn run(&self, firmware: &Path) -> Result<Vec<PathBuf>, ImageError> {
        let Self { package, programs, targets, features, bare, level } = *self;
        let manifest = firmware.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(ImageError::Missing(firmware.to_path_buf()));
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--release", "--locked", "--package", package]);
        targets.iter().for_each(|target| {
            cargo.args(["--target", target]);
        });
        cargo.arg("--manifest-path").arg(&manifest);
        for program in programs {
            cargo.args(["--bin", program]);
        }
        // A folder for each kind of build, or one could run what another has just replaced.
        let mut directory = firmware.join("target");
        if let Some(level) = level {
            directory = directory.join(format!("level-{level}"));
            cargo.args(["--config", &format!("profile.release.opt-level={level:?}")]);
        }
        if bare {
            directory = directory.join("bare");
            cargo.arg("--no-default-features");
        }
        for feature in features {
            directory = directory.join(feature);
            cargo.args(["--features", feature]);
        }
        cargo.arg("--target-dir").arg(&directory);
        // Flags meant for the host's build, such as coverage, are no good on a chip.
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
            cargo.env_remove(name);
        }
        let output = cargo.stdin(Stdio::null()).output().map_err(ImageError::Cargo)?;
        if output.status.success() {
            let folder = |target: &&str| directory.join(target).join("release");
            return Ok(targets.iter().map(folder).collect());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let missing = said.contains("may not be installed");
        let target = || targets.iter().find(|target| said.contains(**target));
        Err(match target().filter(|_| missing) {
            Some(target) => ImageError::Target((*target).to_owned()),
            None => ImageError::Build(said),
        })
    }
}

/// Builds a board's program in the firmware's folder, and says where it is.
///
/// # Errors
/// Says what is missing, with the command that installs it.
pub fn build(firmware: &Path, board: &Board) -> Result<PathBuf, ImageError> {
    let Board { name, target, features, .. } = *board;
    let (programs, targets) = (&[name], &[target]);
    let build = Build { package: name, programs, targets, features, bare: false, level: None };
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

/// Whether a command is missing altogether.
pub(crate) fn missing(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}
