//! The programs that build and flash: whether they run, and know the board's target and chip.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lopa_host::chips::Board;
use lopa_host::fleet::emulator::{EmulatorError, QEMU};
use lopa_host::fleet::flash::{FlashError, PROBE_RS};
use lopa_host::fleet::image::{self, ImageError, missing};

use super::super::Source;
use super::Findings;

/// Runs a program, and returns what it printed.
pub(super) fn output(program: impl AsRef<OsStr>, arguments: &[&str]) -> io::Result<Output> {
    Command::new(program).args(arguments).stdin(Stdio::null()).output()
}

/// The first line that a program prints about itself.
fn version(program: impl AsRef<OsStr>) -> io::Result<String> {
    let output = output(program, &["--version"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(line.trim().to_owned()),
        _ => Err(io::Error::other(format!("it ends with {}", output.status))),
    }
}

/// Checks what builds the node program, unless it has been built, and what flashes it.
pub(super) fn check(findings: &mut Findings, source: &Source, board: Option<&Board>) {
    if let Some(program) = &source.image {
        findings.add("program", image::given(program).map(|path| path.display().to_string()));
    } else {
        findings.add("program", sources(&image::folder(source.firmware.as_deref())));
        findings.add("cargo", version(image::cargo()).map_err(ImageError::Cargo));
        let found = board.map(|board| (board.target, has_target(board.target)));
        findings.add("rustup", rustup(found.is_none_or(|(_, found)| found)));
        if let Some((target, found)) = found {
            let missing = || ImageError::Target(target.to_owned());
            findings.add("target", found.then_some(target).ok_or_else(missing));
        }
    }
    match board {
        Some(board) if board.chip.is_none() => findings.add("emulator", emulator()),
        _ => findings.add(PROBE_RS, flasher()),
    }
    let Some(chip) = board.and_then(|board| board.chip) else { return };
    // If probe-rs does not run, that has been reported already.
    if let Ok(output) = output(PROBE_RS, &["chip", "info", chip]) {
        let known = output.status.success().then_some(chip);
        let unknown = || {
            format!(
                "this {PROBE_RS} does not know {chip}: install a newer one with cargo install probe-rs-tools --locked"
            )
        };
        findings.add("chip", known.ok_or_else(unknown));
    }
}

/// The firmware's folder, with the program's sources.
fn sources(folder: &Path) -> Result<String, ImageError> {
    match folder.join("Cargo.toml").is_file() {
        true => Ok(format!("built in {}", folder.display())),
        false => Err(ImageError::Missing(folder.to_path_buf())),
    }
}

/// Whether the compiler has the library for a target.
fn has_target(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let found = output(rustc, &["--print", "target-libdir", "--target", target]);
    found.is_ok_and(|output| {
        output.status.success()
            && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

/// What installs targets: needed only if one is missing.
fn rustup(enough: bool) -> Result<String, String> {
    match version("rustup") {
        Err(_) if enough => Ok("not installed, and not needed: the target is there".into()),
        found => found.map_err(|error| {
            format!("rustup does not run ({error}): install it from https://rustup.rs")
        }),
    }
}

fn flasher() -> Result<String, FlashError> {
    version(PROBE_RS).map_err(|error| match missing(&error) {
        true => FlashError::Missing,
        false => FlashError::Start(error),
    })
}

fn emulator() -> Result<String, EmulatorError> {
    version(QEMU).map_err(|error| match missing(&error) {
        true => EmulatorError::Missing,
        false => EmulatorError::Start(error),
    })
}
