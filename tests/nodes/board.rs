//! Emulated boards with serial lines between them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::host::Host;

/// Where the image looks for its blob.
const BLOB: &str = "0x21000000";
/// UARTs of a board: one to a host, four to neighbours.
const LINKS: usize = 5;
/// The top of the image's RAM, see its memory.x: its stack, and no static.
pub const STACK: Range<usize> = 0x2000_8800..0x2000_a000;
/// What it is filled with before a board starts: what is left of it was never used.
pub const PAINT: [u8; 4] = 0xdead_beef_u32.to_le_bytes();

/// Boards in one directory, each with one of its own for its files.
pub struct Boards {
    directory: tempfile::TempDir,
    image: PathBuf,
    /// Who is on each link of each board.
    wires: Vec<[Option<usize>; LINKS]>,
    running: Vec<Option<Child>>,
}

impl Boards {
    /// Boards with their blobs, off. `wires` says for each which board each of its links leads to.
    pub fn new(image: PathBuf, blobs: &[Vec<u8>], wires: Vec<[Option<usize>; LINKS]>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for (number, blob) in blobs.iter().enumerate() {
            let own = directory.path().join(number.to_string());
            fs::create_dir(&own).expect("a directory");
            fs::write(own.join("blob.bin"), blob).expect("a blob");
        }
        let running = blobs.iter().map(|_| None).collect();
        Self { directory, image, wires, running }
    }

    /// Gives a board another blob, for when it starts next.
    #[allow(dead_code, reason = "each test binary uses its part")]
    pub fn flash(&self, number: usize, blob: &[u8]) {
        fs::write(self.directory(number).join("blob.bin"), blob).expect("a blob");
    }

    /// A board's directory.
    fn directory(&self, number: usize) -> PathBuf {
        self.directory.path().join(number.to_string())
    }

    /// Switches a board on, and takes up the line to it.
    pub fn start(&mut self, number: usize) -> Host {
        let own = self.directory(number);
        let mut command = Command::new("qemu-system-arm");
        command.current_dir(&own).args([
            "-M",
            "mps2-an386",
            "-display",
            "none",
            "-monitor",
            "unix:monitor,server=on,wait=off",
        ]);
        command.arg("-kernel").arg(&self.image);
        command.args(["-device", &format!("loader,file=blob.bin,addr={BLOB},force-raw=on")]);
        fs::write(own.join("paint.bin"), PAINT.repeat(STACK.len() / 4)).expect("paint");
        let top = STACK.start;
        command.args(["-device", &format!("loader,file=paint.bin,addr={top:#x},force-raw=on")]);
        command.args(["-semihosting-config", "enable=on,target=native"]);
        command.args(["-chardev", "socket,id=host,path=host,server=on,wait=off"]);
        command.args(["-serial", "chardev:host"]);
        for (link, wire) in self.wires[number].iter().enumerate().skip(1) {
            let Some(other) = *wire else {
                command.args(["-serial", "null"]);
                continue;
            };
            let (low, high) = (number.min(other), number.max(other));
            let end = if number == low { "server=on,wait=off" } else { "reconnect=1" };
            let line = format!("socket,id=link{link},path=../{low}-{high},{end}");
            command.args(["-chardev", &line, "-serial", &format!("chardev:link{link}")]);
        }
        let file = |name: &str| File::create(own.join(name)).expect("a file");
        command.stdin(Stdio::null()).stdout(file("log")).stderr(file("errors"));
        // A socket left by an emulator that was killed would look like a living one.
        let socket = own.join("host");
        let _ = fs::remove_file(&socket);
        let _ = fs::remove_file(own.join("monitor"));
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("qemu-system-arm does not start ({error}): apt-get install --no-install-recommends qemu-system-arm")
        });
        self.running[number] = Some(child);
        Host::connect(number as u32, &socket)
    }

    /// Takes a board's power away.
    pub fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.running[number].take() {
            child.kill().expect("an emulator can be killed");
            child.wait().expect("it ends");
        }
    }

    /// What a board logged since it was switched on.
    #[allow(dead_code, reason = "each test binary uses its part")]
    pub fn logged(&self, number: usize) -> Vec<u8> {
        fs::read(self.directory(number).join("log")).unwrap_or_default()
    }

    /// The bytes of a board's stack.
    #[allow(dead_code, reason = "each test binary uses its part")]
    pub fn stack(&self, number: usize) -> Vec<u8> {
        let own = self.directory(number);
        let mut monitor = UnixStream::connect(own.join("monitor")).expect("a monitor");
        let (at, len) = (STACK.start, STACK.len());
        writeln!(monitor, "pmemsave {at:#x} {len} stack.bin").expect("it listens");
        // It does what it was told before it sees that nobody is there any more.
        monitor.shutdown(Shutdown::Write).expect("it is there");
        let mut said = Vec::new();
        let _ = monitor.read_to_end(&mut said);
        fs::read(own.join("stack.bin")).expect("the stack was saved")
    }

    /// What its emulator complained about.
    fn errors(&self, number: usize) -> String {
        fs::read_to_string(self.directory(number).join("errors")).unwrap_or_default()
    }
}

impl Drop for Boards {
    fn drop(&mut self) {
        for number in 0..self.running.len() {
            self.kill(number);
            let errors = self.errors(number);
            if std::thread::panicking() && !errors.is_empty() {
                eprintln!("the emulator of board {number} said:\n{errors}");
            }
        }
    }
}
