//! Emulated boards: one process each, none of which outlives this one, however it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::image::missing;
use super::watched::Watched;
use crate::chips::Board;
use crate::locked::locked;

/// The emulator.
pub const QEMU: &str = "qemu-system-arm";

/// Has the emulator keep up to 32 bytes that arrived for a UART, which holds one. Otherwise it waits for the board after each
/// byte, and every byte costs an interrupt and several switches between threads.
const AHEAD: &str = "mux=on";
/// Lines that are read ahead could also lead to the emulator's monitor, after a byte that this sets: none.
const NO_BYTE: &str = "256";

/// Every emulator that runs, so that a process that ends at once can end them too.
static ALIVE: Mutex<BTreeMap<u64, Watched>> = Mutex::new(BTreeMap::new());

/// Why an emulator does not run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// There is none.
    #[error(
        "{QEMU} is missing: apt-get install --no-install-recommends {QEMU} (on a Mac: brew install qemu)"
    )]
    Missing,
    /// It does not start.
    #[error("{QEMU} does not start: {0}")]
    Start(#[source] io::Error),
    /// It emulates no such board.
    #[error("{0} is not an emulated board")]
    Board(&'static str),
    /// Its folder cannot be used.
    #[error("cannot use {folder}: {1}", folder = .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

/// Ends every emulator of this process, at once.
pub fn end_all() {
    let all = std::mem::take(&mut *locked(&ALIVE));
    drop(all);
}

/// What a board's link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cord {
    /// Nothing.
    Open,
    /// A socket that the board offers.
    Offers(PathBuf),
    /// The same, for this host: the board starts once it is connected, so that no frame is cut in two.
    Awaits(PathBuf),
    /// A socket that another board offers; sought again when that one was off.
    Seeks(PathBuf),
    /// A pseudo-terminal, whose name the emulator prints to its log.
    Terminal,
}

/// An emulated board that runs; ended when it is dropped.
#[derive(Debug)]
pub struct Emulator {
    number: u64,
    folder: PathBuf,
}

impl Emulator {
    /// Switches a board on, in a folder with its `blob.bin`, where it keeps its `flash.bin`, its sockets and its
    /// `log`; what the emulator has to say itself is in `errors`. It is given `more` words.
    ///
    /// # Errors
    /// Says what is missing, with the command that installs it.
    pub fn start(
        folder: &Path,
        board: &Board,
        image: &Path,
        cords: &[Cord],
        more: &[String],
    ) -> Result<Self, EmulatorError> {
        let machine = board.machine.ok_or(EmulatorError::Board(board.name))?;
        let mut command = Command::new(QEMU);
        command.current_dir(folder);
        command.args(["-M", machine, "-display", "none", "-monitor", "none"]);
        command.arg("-kernel").arg(image);
        let blob = board.blob.address;
        command.args(["-device", &format!("loader,file=blob.bin,addr={blob:#x},force-raw=on")]);
        command.args(["-semihosting-config", "enable=on,target=native"]);
        command.args(["-echr", NO_BYTE]);
        for (link, cord) in cords.iter().enumerate() {
            let mut socket = |path: &Path, end: &str| {
                // A comma ends a value unless it is doubled.
                let path = path.to_string_lossy().replace(',', ",,");
                let chardev = format!("socket,id=link{link},path={path},{end},{AHEAD}");
                command.args(["-chardev", &chardev]);
                format!("chardev:link{link}")
            };
            let serial = match cord {
                Cord::Open => "null".into(),
                Cord::Terminal => "pty".into(),
                Cord::Offers(path) | Cord::Awaits(path) => {
                    // A socket left by an emulator that was killed would look like a living one.
                    let _ = fs::remove_file(folder.join(path));
                    let wait = if matches!(cord, Cord::Awaits(_)) { "on" } else { "off" };
                    socket(path, &format!("server=on,wait={wait}"))
                }
                Cord::Seeks(path) => socket(path, reconnect()),
            };
            command.args(["-serial", &serial]);
        }
        // Last, so that they can change what is above.
        command.args(more);
        let create = |name: &str| {
            let file = File::create(folder.join(name));
            file.map_err(|error| EmulatorError::Folder(folder.into(), error))
        };
        command.stdin(Stdio::null()).stdout(create("log")?).stderr(create("errors")?);
        // In a group of its own: Ctrl-C is for this process, which ends its boards in good order.
        command.process_group(0);
        let process = Watched::spawn(&mut command).map_err(|error| match missing(&error) {
            true => EmulatorError::Missing,
            false => EmulatorError::Start(error),
        })?;
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        locked(&ALIVE).insert(number, process);
        Ok(Self { number, folder: folder.into() })
    }

    /// What the board and its emulator printed.
    #[must_use]
    pub fn log(&self) -> String {
        let errors = fs::read(self.folder.join("errors")).unwrap_or_default();
        String::from_utf8_lossy(&[self.logged(), errors].concat()).into_owned()
    }

    /// What the board logged, as it came.
    #[must_use]
    pub fn logged(&self) -> Vec<u8> {
        fs::read(self.folder.join("log")).unwrap_or_default()
    }

    /// Whether it still runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        let mut alive = locked(&ALIVE);
        alive.get_mut(&self.number).is_some_and(Watched::runs)
    }

    /// The name of a [`Cord::Terminal`]'s pseudo-terminal, once the emulator has printed it.
    #[must_use]
    pub fn terminal(&self) -> Option<String> {
        let log = self.log();
        // A word at the very end may not be complete yet.
        let mut words = log.split_inclusive(char::is_whitespace);
        let name = words.find(|word| word.starts_with("/dev/pts/"))?;
        name.ends_with(char::is_whitespace).then(|| name.trim_end().to_owned())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let process = locked(&ALIVE).remove(&self.number);
        drop(process);
    }
}

/// The option that makes this emulator look for a socket again after a second: since version 9.2 in milliseconds.
fn reconnect() -> &'static str {
    use std::sync::OnceLock;
    static WORD: OnceLock<&str> = OnceLock::new();
    WORD.get_or_init(|| {
        let said = Command::new(QEMU).arg("--version").stdin(Stdio::null()).output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let new = said.is_ok_and(|said| version(&said) >= Some((9, 2)));
        if new { "reconnect-ms=1000" } else { "reconnect=1" }
    })
}

/// "QEMU emulator version 7.2.22 (…)"
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_once("version ")?.1.split(['.', ' ', '\n']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_the_emulator_says() {
        let said = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright (c) 2003-2022\n";
        assert_eq!(version(said), Some((7, 2)));
        assert_eq!(version("QEMU emulator version 10.0.0\n"), Some((10, 0)));
        assert_eq!(version("something else"), None);
    }
}
