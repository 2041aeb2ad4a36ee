//! The program for a board: found, and built.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::chips::Board;

/// Why there is no program.
#[derive(Debug)]
pub enum ImageError {
    /// The folder with the firmware is not there.
    Missing(PathBuf),
    /// Cargo does not run.
    Cargo(std::io::Error),
    /// The compiler has no library for the board's target.
    Target(String),
    /// It does not build.
    Build(String),
    /// There is no image where one was named.
    Image(PathBuf),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "{} is not the firmware's folder: name it with --firmware, or a program that is built with --image",
                path.display()
            ),
            Self::Cargo(error) => {
                write!(f, "cargo does not run ({error}): install Rust from https://rustup.rs")
            }
            Self::Target(target) => {
                write!(f, "the target {target} is missing: rustup target add {target}")
            }
            Self::Build(said) => write!(f, "the firmware does not build:\n{said}"),
            Self::Image(path) => write!(f, "there is no program at {}", path.display()),
        }
    }
}

impl std::error::Error for ImageError {}

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
    /// The target.
    pub target: &'a str,
    /// Features.
    pub features: &'a [&'a str],
    /// Whether the package's default features are left out.
    pub bare: bool,
    /// The optimisation level, if not the firmware's own.
    pub level: Option<&'a str>,
}

impl Build<'_> {
    /// Builds, and says in which folder the programs are.
    ///
    /// # Errors
    /// Says what is missing, with the command that installs it.
    pub fn run(&self, firmware: &Path) -> Result<PathBuf, ImageError> {
        let Self { package, programs, target, features, bare, level } = *self;
        let manifest = firmware.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(ImageError::Missing(firmware.to_path_buf()));
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--release", "--locked", "--package", package, "--target", target]);
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
            return Ok(directory.join(target).join("release"));
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let missing = said.contains("may not be installed");
        Err(if missing { ImageError::Target(target.into()) } else { ImageError::Build(said) })
    }
}

/// Builds a board's program in the firmware's folder, and says where it is.
///
/// # Errors
/// Says what is missing, with the command that installs it.
pub fn build(firmware: &Path, board: &Board) -> Result<PathBuf, ImageError> {
    let Board { name, target, features, .. } = *board;
    let programs = &[name];
    let build = Build { package: name, programs, target, features, bare: false, level: None };
    given(&build.run(firmware)?.join(name))
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
