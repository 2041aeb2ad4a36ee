//! Starts the JavaScript of this folder, and the command `lopa` as its host.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use lopa_host::chips::{BOARDS, Board, Form, Limits, blobs};
use lopa_host::config::Experiment;
use lopa_host::fleet::image;
use lopa_host::run::Prepared;
use object::Endianness;
use object::elf::{FileHeader32, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where a Pico's flash is read, and its bytes.
const FLASH: (usize, usize) = (0x1000_0000, 2 * 1024 * 1024);

/// Board and link of both ends of each line.
type Wires = &'static [[u32; 4]];
pub const PAIR: Wires = &[[0, 1, 1, 1]];
pub const RING: Wires = &[[0, 1, 1, 1], [0, 2, 2, 1], [1, 2, 2, 2]];

/// What is done with the Picos: see `main.js`.
pub struct Plan {
    pub wires: Wires,
    /// The longest they run, in simulated seconds.
    pub seconds: u32,
    /// Sectors that each erases before their power is cut.
    pub erases: Option<u32>,
    /// One of so many bytes that arrive is lost.
    pub drop: Option<u32>,
    /// Those with a host that never stops sending.
    pub flood: &'static [u32],
}

impl Default for Plan {
    fn default() -> Self {
        Self { wires: PAIR, seconds: 120, erases: None, drop: None, flood: &[] }
    }
}

/// What was seen of the Picos.
#[derive(Debug)]
pub struct Report {
    /// Whether they reached what they were run for.
    pub stopped: bool,
    pub picos: Vec<Seen>,
}

/// What was seen of one.
#[derive(Debug)]
pub struct Seen {
    /// Changes of the light.
    pub changes: u64,
    pub resets: u64,
    /// Sectors erased.
    pub erases: u64,
    /// Pages of 256 bytes written.
    pub programs: u64,
    /// Bytes that arrived at a line when its FIFO was full.
    pub lost: u64,
    /// Bytes that came from a host.
    pub fed: u64,
    /// The longest that the flash kept the chip from executing, in milliseconds.
    pub deaf: f64,
    /// The rate of the lines.
    pub baud: u64,
    /// The light shows the end of learning.
    pub finished: bool,
}

impl Report {
    fn read(text: &str) -> Self {
        let report: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
        let seen = |pico: &Value| {
            let number = |name: &str| pico[name].as_u64().unwrap_or_else(|| panic!("{text}"));
            Seen {
                changes: number("changes"),
                resets: number("resets"),
                erases: number("erases"),
                programs: number("programs"),
                lost: number("lost"),
                baud: number("baud"),
                fed: number("fed"),
                deaf: pico["deaf"].as_f64().unwrap(),
                finished: pico["finished"].as_bool().unwrap(),
            }
        };
        let picos = report["picos"].as_array().unwrap().iter().map(seen).collect();
        Self { stopped: report["stopped"].as_bool().unwrap_or(false), picos }
    }
}

/// This folder.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pico")
}

/// The folder in which the emulator is installed, with this folder's scripts beside it.
fn installed() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../pico");
        let there = folder.join("node_modules/rp2040js").is_dir();
        let how = format!(
            "mkdir -p {0} && cp tests/pico/*.json {0} && npm ci --prefix {0}",
            folder.display()
        );
        assert!(there, "rp2040js is not installed: {how}");
        for entry in fs::read_dir(sources()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "js") {
                fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
        }
        folder
    })
}

/// The command, which `cargo test --workspace` builds.
pub fn lopa() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.ancestors().nth(2).unwrap().join("lopa");
    assert!(path.is_file(), "{} is missing: cargo build -p lopa-host", path.display());
    path
}

fn pico() -> Board {
    BOARDS.into_iter().find(|board| board.name == "pico").unwrap()
}

/// The flash of a Pico with the image in it, for floats or for few bits; each is built once.
fn flashed(few_bits: bool) -> Vec<u8> {
    static FLASHED: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    let build = || {
        let board = if few_bits { pico().with_few_bits() } else { pico() };
        let path = image::build(&image::folder(None), &board);
        let file = fs::read(path.unwrap_or_else(|error| panic!("{error}"))).unwrap();
        let header = FileHeader32::<Endianness>::parse(&*file).unwrap();
        let endian = header.endian().unwrap();
        let mut flash = vec![0xff; FLASH.1];
        for part in header.program_headers(endian, &*file).unwrap() {
            let bytes = part.data(endian, &*file).unwrap();
            if part.p_type(endian) == PT_LOAD && !bytes.is_empty() {
                let at = part.p_paddr(endian) as usize - FLASH.0;
                flash[at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
        flash
    };
    FLASHED[usize::from(few_bits)].get_or_init(build).clone()
}

/// Picos, switched off, with the files of a network in a folder.
pub struct Bench {
    folder: TempDir,
    picos: usize,
}

impl Bench {
    /// One Pico without a blob.
    pub fn blank() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap(), picos: 1 };
        fs::write(bench.flash(0), flashed(false)).unwrap();
        bench
    }

    /// A Pico for each node of a network.
    pub fn new(text: &str) -> Self {
        let experiment = Experiment::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let prepared = Prepared::new(experiment).unwrap_or_else(|error| panic!("{error}"));
        let few_bits = prepared.experiment().codec().unwrap().is_some();
        let blobs = blobs(&prepared, Limits::default(), Form::default()).unwrap();
        let bench = Self { folder: tempfile::tempdir().unwrap(), picos: blobs.len() };
        let mut text = format!("{text}\n[fleet]\nboard = \"pico\"\n");
        for (node, blob) in blobs.iter().enumerate() {
            let at = pico().blob.address as usize - FLASH.0;
            let mut flash = flashed(few_bits);
            flash[at..at + blob.bytes.len()].copy_from_slice(&blob.bytes);
            fs::write(bench.flash(node), flash).unwrap();
            let port = bench.port(node);
            let _ =
                write!(text, "[[fleet.node]]\nid = {node}\nport = \"unix:{}\"\n", port.display());
        }
        fs::write(bench.folder.path().join("net.toml"), text).unwrap();
        bench
    }

    fn flash(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("{node}.flash"))
    }

    fn port(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("{node}.usb"))
    }

    fn start(&self, plan: &Plan, serve: bool) -> Child {
        let every = |path: &dyn Fn(usize) -> PathBuf| (0..self.picos).map(path).collect::<Vec<_>>();
        let plan = json!({
            "flash": every(&|node| self.flash(node)),
            "wires": if self.picos > 1 { plan.wires } else { &[] },
            "seconds": plan.seconds,
            "finished": self.picos > 1,
            "erases": plan.erases,
            "drop": plan.drop,
            "flood": plan.flood,
            "serve": serve.then(|| every(&|node| self.port(node))),
        });
        let file = self.folder.path().join("plan.json");
        fs::write(&file, plan.to_string()).unwrap();
        let mut node = Command::new("node");
        node.arg(installed().join("main.js")).arg(file);
        node.stdin(Stdio::piped()).stdout(Stdio::piped());
        node.spawn().unwrap_or_else(|error| panic!("Node does not start: {error}"))
    }

    /// Runs the Picos, and cuts their power.
    pub fn run(&self, plan: &Plan) -> Report {
        let output = self.start(plan, false).wait_with_output().unwrap();
        assert!(output.status.success(), "the emulator failed");
        Report::read(&String::from_utf8_lossy(&output.stdout))
    }

    /// Runs the Picos until they have learned, and reads them with `lopa fleet read`; `lopa run` says what they should know.
    pub fn learn_and_read(&self, plan: &Plan) -> Report {
        self.lopa(&["run", "net.toml", "--out", "run"]);
        let mut picos = self.start(plan, true);
        let mut lines = BufReader::new(picos.stdout.take().unwrap()).lines();
        let mut next = || lines.next().map_or(String::new(), Result::unwrap);
        let first = next();
        if first == "serving" {
            let status = self.lopa(&["fleet", "net.toml", "status"]);
            fs::write(self.folder.path().join("status"), status.stdout).unwrap();
            self.lopa(&["fleet", "net.toml", "read", "--out", "read"]);
        }
        // The end of its input ends it.
        drop(picos.stdin.take());
        let report = next();
        assert!(picos.wait().unwrap().success() && first == "serving", "{first}\n{report}");
        Report::read(&report)
    }

    fn lopa(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(lopa());
        let output = command.current_dir(self.folder.path()).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        output
    }

    /// What `lopa fleet status` printed before the Picos were read.
    pub fn status(&self) -> String {
        fs::read_to_string(self.folder.path().join("status")).unwrap()
    }

    /// The nodes of a file of states.
    pub fn states(&self, file: &str) -> Vec<Value> {
        let bytes = fs::read(self.folder.path().join(file)).unwrap();
        let state: Value = serde_json::from_slice(&bytes).unwrap();
        state["nodes"].as_array().unwrap().clone()
    }
}
