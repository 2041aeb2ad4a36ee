//! `lopa fleet FILE doctor`, with tools that are scripts and ports that are pseudo-terminals.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serialport::{SerialPort, TTYPort};

use crate::common::{lopa, network, said};

/// Two Picos, everything they need, and a folder that is all of PATH.
struct Bench {
    dir: tempfile::TempDir,
    /// Kept open: a pseudo-terminal lives as long as its other end.
    boards: [TTYPort; 2],
    ports: [String; 2],
}

const LIST: &str = "echo 'The following debug probes were found:'
echo '[0]: Debug Probe (CMSIS-DAP) -- 2e8a:000c-0:E660 (CMSIS-DAP)'
echo '[1]: Debug Probe (CMSIS-DAP) -- 2e8a:000c-0:E661 (CMSIS-DAP)'";

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let [(first, one), (second, other)] = [(); 2].map(|()| TTYPort::pair().unwrap());
        let ports = [one, other].map(|end| end.name().unwrap());
        let bench = Self { dir, boards: [first, second], ports };
        for folder in ["bin", "lib/thumbv6m-none-eabi"] {
            fs::create_dir_all(bench.path().join(folder)).unwrap();
        }
        bench.tool("cargo", "echo cargo 1.99.0");
        bench.tool("rustup", "echo rustup 1.99.0");
        let lib = bench.path().join("lib");
        bench.tool("rustc", &format!("echo {}/$4", lib.display()));
        bench.probe_rs("[ \"$3\" = RP2040 ]", LIST);
        bench.file(&bench.text());
        bench.shard();
        bench
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Puts a script into PATH.
    fn tool(&self, name: &str, script: &str) {
        let path = self.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn without(&self, name: &str) {
        fs::remove_file(self.path().join("bin").join(name)).unwrap();
    }

    fn probe_rs(&self, chip: &str, list: &str) {
        let script = format!(
            "case $1 in\n--version) echo probe-rs 0.32.0;;\nchip) {chip};;\nlist) {list};;\n*) exit 9;;\nesac"
        );
        self.tool("probe-rs", &script);
    }

    fn text(&self) -> String {
        let [one, other] = &self.ports;
        format!(
            "{}\n[links]\nbaud = 115200\n\n[fleet]\nboard = \"pico\"\n\
             [[fleet.node]]\nid = 0\nport = \"{one}\"\nprobe = \"2e8a:000c:E660\"\n\
             [[fleet.node]]\nid = 1\nport = \"{other}\"\nprobe = \"2e8a:000c:E661\"\n",
            network(&[("nodes = 4", "nodes = 2"), ("\"ring\"", "\"path\"")])
        )
    }

    fn file(&self, text: &str) {
        fs::write(self.path().join("net.toml"), text).unwrap();
    }

    /// Writes the file with a text replaced.
    fn change(&self, from: &str, to: &str) {
        let text = self.text();
        assert!(text.contains(from), "{from}");
        self.file(&text.replace(from, to));
    }

    fn shard(&self) {
        let output = lopa(self.path(), &["shard", "net.toml", "--out", "blobs"]);
        assert!(output.status.success(), "{}", said(&output));
    }

    fn doctor(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_lopa"))
            .current_dir(self.path())
            .env("PATH", self.path().join("bin"))
            .env_remove("CARGO")
            .env_remove("RUSTC")
            .args(["fleet", "net.toml", "doctor"])
            .args(more)
            .output()
            .unwrap()
    }

    /// The problems that are reported, each with its topic.
    fn problems(&self, more: &[&str]) -> Vec<String> {
        let output = self.doctor(more);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = printed.lines().filter(|line| line.contains(" PROBLEM "));
        let problems: Vec<String> = lines.map(str::to_owned).collect();
        let count = match problems.len() {
            0 => "",
            1 => "1 problem:",
            many => &format!("{many} problems:"),
        };
        assert!(said(&output).contains(count), "{}", said(&output));
        let status = i32::from(!problems.is_empty());
        assert_eq!(output.status.code(), Some(status), "{printed}{}", said(&output));
        assert_eq!(printed.ends_with("all is well\n"), problems.is_empty(), "{printed}");
        problems
    }

    /// Expects one problem, with this topic and these words.
    fn expect(&self, topic: &str, words: &[&str]) {
        let problems = self.problems(&[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(topic), "{problems:?}");
        for word in words {
            assert!(problems[0].contains(word), "{word}: {problems:?}");
        }
    }
}

#[test]
fn a_fleet_that_is_ready_has_no_problems_and_nothing_is_changed() {
    let bench = Bench::new();
    let blob = bench.path().join("blobs/node-0.blob");
    let before = (fs::read(&blob).unwrap(), fs::read_dir(bench.path()).unwrap().count());
    let output = bench.doctor(&[]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", said(&output));
    let topics: Vec<&str> =
        printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let all =
        "board program cargo rustup target probe-rs chip probe probe port port fit baud blobs all";
    assert_eq!(topics.join(" "), all, "{printed}");
    let after = (fs::read(&blob).unwrap(), fs::read_dir(bench.path()).unwrap().count());
    assert_eq!(before, after);
    drop(bench.boards);
}

#[test]
fn a_tool_that_is_missing_comes_with_the_command_that_installs_it() {
    let bench = Bench::new();
    bench.without("probe-rs");
    bench.expect("probe-rs", &["cargo install probe-rs-tools --locked"]);
    let bench = Bench::new();
    bench.without("cargo");
    bench.expect("cargo", &["https://rustup.rs"]);
    let bench = Bench::new();
    bench.tool("cargo", "exit 3");
    bench.expect("cargo", &["exit status: 3"]);
    // Nothing is installed with rustup if the target is there.
    let bench = Bench::new();
    bench.without("rustup");
    assert_eq!(bench.problems(&[]), [""; 0]);
    fs::remove_dir(bench.path().join("lib/thumbv6m-none-eabi")).unwrap();
    let problems = bench.problems(&[]);
    assert!(problems.len() == 2 && problems[0].starts_with("rustup"), "{problems:?}");
    assert!(problems[1].contains("rustup target add thumbv6m-none-eabi"), "{problems:?}");
}

#[test]
fn a_program_that_is_built_needs_no_compiler() {
    let bench = Bench::new();
    bench.without("cargo");
    bench.without("rustc");
    fs::write(bench.path().join("pico.elf"), "a program").unwrap();
    assert_eq!(bench.problems(&["--image", "pico.elf"]), [""; 0]);
    let problems = bench.problems(&["--image", "none.elf"]);
    assert!(problems.len() == 1 && problems[0].contains("no program at none.elf"), "{problems:?}");
    let bench = Bench::new();
    let problems = bench.problems(&["--firmware", "bin"]);
    assert!(problems.len() == 1 && problems[0].contains("--firmware"), "{problems:?}");
}

#[test]
fn a_chip_that_the_flasher_does_not_know_needs_a_newer_one() {
    let bench = Bench::new();
    bench.probe_rs("exit 1", LIST);
    bench.expect("chip", &["RP2040", "cargo install probe-rs-tools"]);
}

#[test]
fn probes_are_plugged_in_and_each_has_one_node() {
    let bench = Bench::new();
    bench.probe_rs(":", "echo No debug probes were found.");
    let problems = bench.problems(&[]);
    assert!(problems.len() == 2, "{problems:?}");
    assert!(problems.iter().all(|line| line.contains("probe-setup")), "{problems:?}");
    bench.probe_rs(":", "echo no libusb >&2; exit 1");
    bench.expect("probe", &["probe-rs list failed: no libusb"]);
    let bench = Bench::new();
    bench.change("E661", "E662");
    bench.expect("probe", &["node 1: probe 2e8a:000c:E662", "there are 2e8a:000c-0:E660, "]);
    bench.change("E661", "E660");
    bench.expect("probe", &["node 1 has the same probe as node 0"]);
    bench.change("2e8a:000c:E661", "2e8a:000c");
    bench.expect("probe", &["node 1 could have several probes"]);
    bench.change("2e8a:000c:E661", "the left one");
    bench.expect("probe", &["\"the left one\" is not a probe", "VID:PID:serial"]);
    bench.change("probe = \"2e8a:000c:E661\"\n", "");
    bench.expect("probe", &["node 1 needs a probe"]);
}

#[test]
fn nodes_without_a_probe_are_named_even_if_the_flasher_is_missing() {
    for tool in ["", "case $1 in\nlist) exit 1;;\n*) echo probe-rs 0.32.0;;\nesac"] {
        let bench = Bench::new();
        match tool {
            "" => bench.without("probe-rs"),
            script => bench.tool("probe-rs", script),
        }
        let text = bench.text().replace("probe = \"2e8a:000c:E660\"\n", "");
        bench.file(&text.replace("2e8a:000c:E661", "the left one"));
        let problems = bench.problems(&[]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[1].contains("node 0 needs a probe"), "{problems:?}");
        assert!(problems[2].contains("node 1: \"the left one\" is not a probe"), "{problems:?}");
    }
}

#[test]
fn ports_exist_and_can_be_opened() {
    let bench = Bench::new();
    let name = bench.ports[1].clone();
    bench.change(&name, "/dev/no-such-port");
    bench.expect("port", &["node 1: cannot open /dev/no-such-port", "is the board plugged in?"]);
    bench.change(&format!("port = \"{name}\"\n"), "");
    bench.expect("port", &["no port for node 1", "[[fleet.node]]"]);
    bench.file(&bench.text());
    let user = serialport::new(&name, 115_200).open().unwrap();
    bench.expect("port", &["node 1", "another program uses it"]);
    drop(user);
    assert_eq!(bench.problems(&[]), [""; 0]);
}

#[test]
fn serial_servers_are_connected_to() {
    let bench = Bench::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("tcp:{}", server.local_addr().unwrap());
    bench.change(&bench.ports[0], &port);
    let output = bench.doctor(&[]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = format!("node 0: {port} can be opened; its server must use 115200 baud");
    assert!(output.status.success() && printed.contains(&line), "{printed}");
    bench.change(&bench.ports[0], "tcp:127.0.0.1:1");
    bench.expect("port", &["node 0: cannot open tcp:127.0.0.1:1", "is the serial server running"]);
}

#[test]
fn a_baud_rate_that_loses_bytes_and_a_network_that_does_not_fit_are_problems() {
    let bench = Bench::new();
    let fast = bench.text().replace("baud = 115200", "baud = 1000000");
    bench.file(&fast.replace("iterations = 60", "iterations = 60\ncheckpoint_every = 10"));
    bench.shard();
    bench.expect("baud", &["455111 baud", "lower it, or remove run.checkpoint_every"]);
    fs::create_dir(bench.path().join("lib/thumbv7em-none-eabihf")).unwrap();
    bench.probe_rs(":", LIST);
    bench.file(&fast.replace("\"pico\"", "\"nucleo-l476rg\""));
    bench.shard();
    bench.expect("baud", &["limited to 230400: lower it"]);
    let large = "kind = \"quadratic\"\nouter = 11000\ninner = 4\nheterogeneity = 0.5";
    let text = bench.text().replace("[data]\nsource = \"synthetic\"\n", "");
    bench.file(&text.replace("kind = \"logistic\"", large));
    bench.shard();
    bench.expect("fit", &["floats of memory"]);
}

#[test]
fn blobs_are_those_of_the_file() {
    let bench = Bench::new();
    bench.change("alpha = 0.3", "alpha = 0.2");
    let flash = "lopa fleet net.toml flash --blobs blobs";
    bench.expect("blobs", &["blobs/node-0.blob and 1 more are not what net.toml describes", flash]);
    bench.shard();
    assert_eq!(bench.problems(&[]), [""; 0]);
    fs::remove_file(bench.path().join("blobs/node-1.blob")).unwrap();
    bench.expect("blobs", &["blobs/node-1.blob is missing", flash]);
    let problems = bench.problems(&["--blobs", "elsewhere"]);
    assert!(problems[0].contains("elsewhere/node-0.blob and 1 more are missing"), "{problems:?}");
}

#[test]
fn a_file_without_boards_is_told_what_to_write_and_bad_input_is_not_a_problem() {
    let bench = Bench::new();
    let text = bench.text();
    bench.file(text.split("[fleet]").next().unwrap());
    let problems = bench.problems(&[]);
    assert!(problems[0].contains("fleet.board is missing: choose one of"), "{problems:?}");
    assert!(problems.iter().any(|line| line.contains("where boards are plugged in")));
    // An emulated board is not flashed: neither probe-rs nor a probe is needed.
    bench.file(&text.replace("\"pico\"", "\"mps2-an386\""));
    bench.without("probe-rs");
    bench.tool("qemu-system-arm", "echo QEMU emulator version 7.2.22");
    fs::create_dir(bench.path().join("lib/thumbv7em-none-eabihf")).unwrap();
    assert_eq!(bench.problems(&[]), [""; 0]);
    bench.without("qemu-system-arm");
    bench.expect("emulator", &["qemu-system-arm is missing"]);
    bench.file("[network]");
    assert_eq!(bench.doctor(&[]).status.code(), Some(2));
}
