//! A folder like a clone of this repository, with stand-ins for what a test cannot have.
//!
//! | instead of | the guide's commands find |
//! |---|---|
//! | probe-rs, and probes | a script that checks the chip's name and the file, notes its arguments and keeps blobs |
//! | `cargo install` | the programs that the tests have: in the release profile, lopa would take minutes to build |
//! | Picos with ports | emulated boards with sockets, and the blobs that were flashed |

use std::env;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lopa_host::chips::{BOARDS, EMULATED};
use lopa_host::fleet::emulator::{Cord, Emulator};
use lopa_host::fleet::image;

/// The nodes of the guide's ring.
const NODES: u32 = 3;
/// The last digits of the probes' serial numbers; the first is the guide's.
const PROBES: [&str; NODES as usize] = ["D2F", "D30", "D31"];
/// Everything of a probe's name but those.
const PROBE: &str = "2e8a:000c:E6614103E7452";

/// The folder, and the boards once they are switched on.
pub struct Bench {
    folder: tempfile::TempDir,
    boards: Vec<Emulator>,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap(), boards: Vec::new() };
        for folder in ["bin", "tools", "flash"] {
            fs::create_dir(bench.path(folder)).unwrap();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        for folder in ["firmware", "lopa-host"] {
            symlink(root.join(folder), bench.path(folder)).unwrap();
        }
        bench.script("tools/probe-rs", &bench.probe_rs());
        bench.script("bin/cargo", &bench.cargo(&root));
        fs::write(bench.path("calls"), "").unwrap();
        bench
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), format!("#!/bin/sh -e\n{text}\n")).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What stands in for probe-rs: it refuses what probe-rs would refuse, as far as the guide uses it.
    fn probe_rs(&self) -> String {
        let chips: Vec<&str> = BOARDS.iter().filter_map(|board| board.chip).collect();
        let mut list = String::new();
        for (number, digits) in PROBES.iter().enumerate() {
            let name = format!("{PROBE}{digits}").replacen("000c", "000c-0", 1);
            writeln!(list, "echo '[{number}]: Debug Probe -- {name} (CMSIS-DAP)'").unwrap();
        }
        format!(
            r#"here={here}
echo "$*" >>$here/calls
command=$1; shift
case $command in
--version) echo probe-rs 0.32.0; exit;;
list) {list} exit;;
chip) [ "$1" = info ]; set -- --chip "$2";;
run|attach|download|reset|erase) ;;
*) echo "the stand-in for probe-rs does not know $command" >&2; exit 9;;
esac
chip= probe='any probe' address= file=
while [ $# -gt 0 ]; do
  case $1 in
  --chip) chip=$2; shift;;
  --probe) probe=$2; shift;;
  --base-address) address=$2; shift;;
  --binary-format) [ "$2" = bin ]; shift;;
  -*) echo "the stand-in for probe-rs does not know $1" >&2; exit 9;;
  *) file=$1;;
  esac
  shift
done
case ' {chips} ' in *" $chip "*) ;; *) echo "no chip $chip" >&2; exit 9;; esac
case $command in
run|attach|download) [ -s "$file" ] || {{ echo "no file $file" >&2; exit 9; }};;
esac
[ -z "$address" ] || cp "$file" "$here/flash/$probe""#,
            here = self.folder.path().display(),
            chips = chips.join(" "),
        )
    }

    /// Cargo, except for what it would install.
    fn cargo(&self, root: &Path) -> String {
        let own = env::current_exe().unwrap();
        // target/debug/deps/main-….
        let built = own.ancestors().nth(2).unwrap();
        format!(
            r#"cargo={cargo} here={here}
case "$*" in
'install --locked probe-rs-tools') mv $here/tools/probe-rs $here/bin;;
'install --locked --path lopa-host')
  # With the features that tests/run.sh tests, so that nothing is built anew.
  cd {root} && $cargo test --locked --workspace --features lopa-host/zenoh --test main --no-run --target-dir {target}
  ln -s {built}/lopa $here/bin/lopa;;
install*) echo "the stand-in for cargo does not install this: $*" >&2; exit 9;;
*) exec $cargo "$@";;
esac"#,
            cargo = env!("CARGO"),
            here = self.folder.path().display(),
            root = root.display(),
            target = built.parent().unwrap().display(),
            built = built.display(),
        )
    }

    /// Runs a command, and returns its exit status and what it printed.
    pub fn run(&self, command: &str) -> (Option<i32>, String) {
        // Other builds replace images that commands read; lopa takes care of that itself.
        let alone = (!command.starts_with("lopa")).then(|| image::alone(&image::folder(None)));
        let path = format!("{}:{}", self.path("bin").display(), env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).current_dir(self.folder.path()).env("PATH", path);
        // As in a user's shell. What cargo says about a test's own package would make it build ring again, and with it most of
        // what the tests have.
        let of_cargo = |name: &str| {
            ["CARGO", "CARGO_TARGET_DIR", "RUSTFLAGS"].contains(&name)
                || ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start))
        };
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_cargo)) {
            shell.env_remove(name);
        }
        let output = shell.output().unwrap();
        drop(alone.transpose().unwrap());
        let texts = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&texts).into_owned())
    }

    /// The arguments of probe-rs, call by call, since the last time.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap();
        fs::write(self.path("calls"), "").unwrap();
        calls.lines().map(str::to_owned).collect()
    }

    /// Adds a part of the network's file. Of boards the guide describes the first.
    pub fn describe(&self, text: &str) {
        let path = self.path("ring.toml");
        let file = fs::read_to_string(&path).unwrap_or_default();
        let text = match text.split_once("[[fleet.node]]\n") {
            // Fewer rounds: the boards are emulated, and slower.
            None => text.replace("iterations = 2000", "iterations = 300"),
            Some((head, node)) => {
                let quoted = |name: &str| {
                    let (_, rest) = node.split_once(&format!("{name} = \"")).unwrap();
                    rest.split('"').next().unwrap().to_owned()
                };
                let (port, probe) = (quoted("port"), quoted("probe"));
                assert_eq!(probe, format!("{PROBE}{}", PROBES[0]));
                let mut text = head.to_owned();
                for (id, digits) in PROBES.iter().enumerate() {
                    let socket = self.path(&format!("board-{id}/host"));
                    let own = node
                        .replace("id = 0", &format!("id = {id}"))
                        .replace(&port, &format!("unix:{}", socket.display()))
                        .replace(&probe, &format!("{PROBE}{digits}"));
                    text += &format!("[[fleet.node]]\n{own}");
                }
                text
            }
        };
        fs::write(path, file + "\n" + &text).unwrap();
    }

    /// Switches on a board for each probe, with the blob that was flashed, and wires them as the guide says.
    pub fn switch_on(&mut self) {
        let program = image::build(&image::folder(None), &EMULATED).unwrap();
        for (node, digits) in (0..NODES).zip(PROBES) {
            let own = self.path(&format!("board-{node}"));
            fs::create_dir(&own).unwrap();
            let flashed = self.path(&format!("flash/{PROBE}{digits}"));
            fs::copy(flashed, own.join("blob.bin")).unwrap();
            let wire = |other: u32| match node < other {
                true => Cord::Offers(format!("../{node}-{other}").into()),
                false => Cord::Seeks(format!("../{other}-{node}").into()),
            };
            let mut cords = vec![Cord::Offers("host".into())];
            cords.extend((0..NODES).filter(|other| *other != node).map(wire));
            self.boards.push(Emulator::start(&own, &EMULATED, &program, &cords, &[]).unwrap());
        }
        for (node, board) in self.boards.iter().enumerate() {
            while !self.path(&format!("board-{node}/host")).exists() {
                assert!(board.runs(), "{}", board.log());
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}
