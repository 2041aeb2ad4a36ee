//! `lopa fleet`: emulated boards, and the subcommands for real boards, tried on emulated ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{lopa, network, said};
use lopa_host::chips::EMULATED;
use lopa_host::fleet::emulator::{Cord, Emulator};
use lopa_host::fleet::image;

fn printed(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The nodes of a state.json, without the fields that `read` adds.
fn states(path: &Path) -> Vec<serde_json::Value> {
    let mut nodes = json(path)["nodes"].as_array().unwrap().clone();
    nodes.iter_mut().for_each(|node| drop(node.as_object_mut().unwrap().remove("round")));
    nodes
}

#[test]
fn mistakes_are_reported_and_earlier_results_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = network(&[]);
    fs::write(dir.path().join("net.toml"), &file).unwrap();
    let with = |name: &str, more: &str| {
        fs::write(dir.path().join(name), format!("{file}\n{more}")).unwrap();
    };
    with("unknown.toml", "[fleet]\nboard = \"toaster\"");
    with(
        "emulated.toml",
        "[fleet]\nboard = \"mps2-an386\"\nnode = [{ id = 0, port = \"a\", probe = \"p\" }]",
    );
    with("some.toml", "[fleet]\nnode = [{ id = 0, port = \"unix:a\" }]");
    with("portless.toml", "[fleet]\nnode = [{ id = 0, probe = \"p\" }]");
    with("gone.toml", "[fleet]\nnode = [{ id = 0, port = \"/dev/no-such-port\" }]");
    with("refused.toml", "[fleet]\nnode = [{ id = 0, port = \"tcp:127.0.0.1:1\" }]");
    with("unnumbered.toml", "[fleet]\nnode = [{ id = 0, port = \"tcp:attic\" }]");
    fs::create_dir(dir.path().join("out")).unwrap();
    fs::write(dir.path().join("out/state.json"), "earlier").unwrap();
    fs::write(dir.path().join("out/lopa.lock"), "state.json\n").unwrap();
    let emulate = ["--emulate", "--out", "out"];
    for (status, arguments, what) in [
        (2, vec!["net.toml"], "nothing to do: pass --emulate"),
        (2, vec!["net.toml", "--emulate"], "--out"),
        (2, vec!["net.toml", "--kill", "1@5"], "--emulate"),
        (2, vec!["missing.toml", "status"], "cannot read missing.toml"),
        (2, vec!["net.toml", "status"], "where boards are plugged in"),
        (2, vec!["net.toml", "flash"], "fleet.board is missing: choose one of nrf52840-dk"),
        (2, vec!["unknown.toml", "flash"], "fleet.board: unknown board \"toaster\""),
        (2, vec!["emulated.toml", "flash", "--dry-run"], "node 1 needs a probe"),
        (1, vec!["some.toml", "status"], "cannot open unix:a"),
        (2, vec!["portless.toml", "status"], "the file has no port for node 0"),
        (1, vec!["gone.toml", "status"], "is the board plugged in?"),
        (1, vec!["refused.toml", "status"], "is the serial server running"),
        (1, vec!["unnumbered.toml", "status"], "\"attic\" is not an address: write tcp:HOST:PORT"),
        (2, [&["net.toml"], &emulate[..], &["--kill", "4@5"]].concat(), "the last node is 3"),
        (2, [&["net.toml"], &emulate[..], &["--kill", "1@60"]].concat(), "must be 1 to 59"),
        (2, [&["net.toml"], &emulate[..], &["--kill", "one"]].concat(), "NODE@ROUND"),
        (2, [&["net.toml"], &emulate[..], &["--restart", "1@9"]].concat(), "not killed by then"),
        (2, [&["net.toml"], &emulate[..], &["--cut", "0-2@5"]].concat(), "no line between 0 and 2"),
        (
            2,
            [&["net.toml"], &emulate[..], &["--corrupt", "1"]].concat(),
            "must be a probability in [0, 1)",
        ),
        (
            2,
            [&["net.toml"], &emulate[..], &["--silence", "0"]].concat(),
            "must be a number of seconds",
        ),
        (
            2,
            [&["net.toml"], &emulate[..], &["--image", "none.elf"]].concat(),
            "no program at none.elf",
        ),
        (
            2,
            [&["net.toml"], &emulate[..], &["--firmware", "out"]].concat(),
            "out is not the firmware's folder",
        ),
    ] {
        let output = lopa(dir.path(), &[&["fleet"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(fs::read(dir.path().join("out/state.json")).unwrap(), b"earlier");
    // That, and the list of what was written.
    assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 2);
}

#[test]
fn a_dry_run_of_flash_prints_its_commands() {
    let dir = tempfile::tempdir().unwrap();
    let nodes: Vec<String> = (0..4)
        .map(|node| {
            // Flashing needs no ports.
            format!("{{ id = {node}, probe = \"2e8a:000c:{node}\" }}")
        })
        .collect();
    let table = format!("[fleet]\nboard = \"pico\"\nnode = [{}]", nodes.join(", "));
    fs::write(dir.path().join("net.toml"), format!("{}\n{table}", network(&[]))).unwrap();
    fs::write(dir.path().join("pico.elf"), "a program").unwrap();
    let arguments = ["fleet", "net.toml", "flash", "--dry-run", "--image", "pico.elf"];
    let output = lopa(dir.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    let printed = printed(&output);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 4 * 3, "{lines:?}");
    for (node, lines) in lines.chunks(3).enumerate() {
        let own = format!("--chip RP2040 --probe 2e8a:000c:{node}");
        assert!(lines.iter().all(|line| line.contains(&own)), "{lines:?}");
        assert!(lines[1].contains("--base-address 0x10070000"), "{lines:?}");
        assert!(lines[1].ends_with(&format!("node-{node}.blob")), "{lines:?}");
    }
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn flash_builds_an_image_that_takes_the_blobs() {
    let dir = tempfile::tempdir().unwrap();
    let table = "[fleet]\nboard = \"pico\"\nnode = [{ id = 0, probe = \"2e8a:000c:0\" }]";
    let one = network(&[("nodes = 4", "nodes = 1"), ("ring", "complete")]);
    for (links, how, folder) in [
        ("", "for pico\n", "images/plain/"),
        ("[links]\nbits = 4\n", "for pico, without a log to", "images/bare/codec/encrypt/"),
    ] {
        fs::write(dir.path().join("net.toml"), format!("{one}\n{links}{table}")).unwrap();
        let output = lopa(dir.path(), &["fleet", "net.toml", "flash", "--dry-run"]);
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains(how), "{}", said(&output));
        assert!(printed(&output).contains(folder), "{}", printed(&output));
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn an_emulated_fleet_writes_the_files_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), network(&[])).unwrap();
    let output = lopa(dir.path(), &["run", "net.toml", "--out", "run"]);
    assert!(output.status.success(), "{}", said(&output));
    let arguments =
        ["fleet", "net.toml", "--emulate", "--out", "fleet", "--corrupt", "0.05", "--drop", "0.05"];
    let output = lopa(dir.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        printed(&output).contains("the same as in the simulation, on every node"),
        "{output:?}"
    );
    assert!(said(&output).contains("round 60 of 60"), "{}", said(&output));
    let (run, fleet) = (dir.path().join("run"), dir.path().join("fleet"));
    assert_eq!(
        fs::read(run.join("state.json")).unwrap(),
        fs::read(fleet.join("state.json")).unwrap()
    );
    let account = &json(&fleet.join("summary.json"))["fleet"];
    assert_eq!(account["same_bits"], true);
    assert_eq!(account["metrics"], "simulation-of-the-same-bits");
    assert!(account["spoiled"].as_u64().unwrap() > 0, "{account}");
    assert!(fs::read_to_string(fleet.join("report.html")).unwrap().contains("mps2-an386"));
    // The metrics are those of the run, except for seconds and traffic, which are the fleet's own.
    let rows = |folder: &Path| -> Vec<Vec<String>> {
        let text = fs::read_to_string(folder.join("metrics.csv")).unwrap();
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (run, fleet) = (rows(&run), rows(&fleet));
    assert_eq!(run.len(), fleet.len());
    for (column, name) in run[0].iter().enumerate() {
        let own = ["seconds", "bytes", "frames"].contains(&name.as_str());
        for (row, (run, fleet)) in run.iter().zip(&fleet).enumerate().skip(1) {
            if !own {
                assert_eq!(run[column], fleet[column], "row {row}, {name}");
            } else if row + 1 < rows(&dir.path().join("fleet")).len() {
                assert_eq!(fleet[column], "", "row {row}, {name}");
            } else {
                assert!(fleet[column].parse::<f64>().unwrap() > 0.0, "row {row}, {name}");
            }
        }
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_killed_node_is_off_and_the_others_are_measured() {
    let dir = tempfile::tempdir().unwrap();
    let file = network(&[("iterations = 60", "iterations = 150")]);
    fs::write(dir.path().join("net.toml"), file).unwrap();
    let arguments =
        ["fleet", "net.toml", "--emulate", "--out", "fleet", "--kill", "3@40", "--silence", "6"];
    let output = lopa(dir.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        printed(&output)
            .contains("different from the simulation, as expected after these accidents"),
        "{output:?}"
    );
    let account = &json(&dir.path().join("fleet/summary.json"))["fleet"];
    assert_eq!(account["same_bits"], serde_json::Value::Null);
    assert_eq!(
        (&account["off"], &account["metrics"]),
        (&serde_json::json!([3]), &"states-read-back".into())
    );
    let ids: Vec<u64> = states(&dir.path().join("fleet/state.json"))
        .iter()
        .map(|node| node["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, [0, 1, 2]);
    let csv = fs::read_to_string(dir.path().join("fleet/metrics.csv")).unwrap();
    let rounds: Vec<&str> = csv.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(rounds, ["iteration", "0", "150"]);
}

/// The boards of a network, switched on, with a file that has their ports.
fn boards(dir: &Path, links: &str, cords: impl Fn(u32) -> Vec<Cord>) -> Vec<Emulator> {
    // A slow line makes the nodes' timeouts long.
    let file = format!(
        "{}\n[links]\nbaud = 9600\n{links}\n",
        network(&[("= 4", "= 3"), ("ring", "path")])
    );
    fs::write(dir.join("net.toml"), &file).unwrap();
    let output = lopa(dir, &["shard", "net.toml", "--out", "blobs"]);
    assert!(output.status.success(), "{}", said(&output));
    let program: PathBuf = image::build(&image::folder(None), &EMULATED).unwrap();
    let mut emulators = Vec::new();
    let mut table = String::from("[fleet]\nboard = \"mps2-an386\"\n");
    for node in 0..3 {
        let own = dir.join(node.to_string());
        fs::create_dir(&own).unwrap();
        fs::copy(dir.join(format!("blobs/node-{node}.blob")), own.join("blob.bin")).unwrap();
        let cords = cords(node);
        let emulator = Emulator::start(&own, &EMULATED, &program, &cords, &[]).unwrap();
        let port = if cords[0] == Cord::Terminal {
            loop {
                if let Some(name) = emulator.terminal() {
                    break name;
                }
                assert!(emulator.runs(), "{}", emulator.log());
                std::thread::sleep(Duration::from_millis(20));
            }
        } else {
            while !own.join("host").exists() {
                assert!(emulator.runs(), "{}", emulator.log());
                std::thread::sleep(Duration::from_millis(20));
            }
            format!("unix:{}", own.join("host").display())
        };
        table += &format!("[[fleet.node]]\nid = {node}\nport = \"{port}\"\n");
        emulators.push(emulator);
    }
    fs::write(dir.join("net.toml"), file + &table).unwrap();
    let output = lopa(dir, &["run", "net.toml", "--out", "run"]);
    assert!(output.status.success(), "{}", said(&output));
    emulators
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn status_reports_why_a_board_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let program = image::build(&image::folder(None), &EMULATED).unwrap();
    fs::write(dir.path().join("blob.bin"), [0; 64]).unwrap();
    let cords = [Cord::Offers("host".into())];
    let board = Emulator::start(dir.path(), &EMULATED, &program, &cords, &[]).unwrap();
    while !dir.path().join("host").exists() {
        assert!(board.runs(), "{}", board.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let port = dir.path().join("host");
    let table = format!("[[fleet.node]]\nid = 0\nport = \"unix:{}\"\n", port.display());
    let file = network(&[("nodes = 4", "nodes = 1")]) + &table;
    fs::write(dir.path().join("net.toml"), file).unwrap();
    let output = lopa(dir.path(), &["fleet", "net.toml", "status"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(printed(&output).contains("does not start: it has no blob"), "{}", printed(&output));
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn boards_on_serial_ports_are_queried_stopped_started_and_read() {
    let dir = tempfile::tempdir().unwrap();
    // A path of three: links 1 and 2 to the neighbours in order of their numbers. The line between 1 and 2 is
    // plugged in later, so that no board has finished when all are stopped.
    let _boards = boards(dir.path(), "", |node| {
        let mut cords = vec![Cord::Terminal, Cord::Open, Cord::Open];
        match node {
            0 => cords[1] = Cord::Offers("../0-1".into()),
            1 => {
                cords[1] = Cord::Seeks("../0-1".into());
                cords[2] = Cord::Offers("../1-2".into());
            }
            _ => cords[1] = Cord::Seeks("../later".into()),
        }
        cords
    });
    let all = |command: &str| {
        let output = lopa(dir.path(), &["fleet", "net.toml", command]);
        assert!(output.status.success(), "{command}: {}", said(&output));
        printed(&output)
    };
    // Whether every board is what a word says, or has finished and is what another says.
    let boards_are = |word: &str, done: Option<&str>| {
        let printed = all("status");
        let lines: Vec<&str> = printed.lines().skip(1).collect();
        assert_eq!(lines.len(), 3, "{printed}");
        for line in lines {
            let finished = line.split_whitespace().nth(1) == Some("60");
            let expected = if finished { done } else { Some(word) };
            assert!(expected.is_some_and(|word| line.ends_with(word)), "{printed}");
        }
    };
    all("stop");
    boards_are("paused", None);
    std::os::unix::fs::symlink("1-2", dir.path().join("later")).unwrap();
    all("start");
    // They may be fast: a board that has finished is done, whether it is paused or not.
    all("stop");
    boards_are("paused", Some("done"));
    all("start");
    let output = lopa(dir.path(), &["fleet", "net.toml", "monitor"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(printed(&output).matches("done, ").count(), 3, "{output:?}");
    assert!(printed(&output).contains("loss 0."), "{output:?}");
    let output = lopa(dir.path(), &["fleet", "net.toml", "read", "--out", "read"]);
    assert!(output.status.success(), "{}", said(&output));
    let read = dir.path().join("read/state.json");
    assert_eq!((&json(&read)["iteration"], &json(&read)["at_rest"]), (&60.into(), &true.into()));
    assert_eq!(states(&read), states(&dir.path().join("run/state.json")));
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn the_host_is_the_router_of_boards_without_lines_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let _boards = boards(dir.path(), "wiring = \"routed\"", |_| vec![Cord::Offers("host".into())]);
    let output = lopa(dir.path(), &["fleet", "net.toml", "start"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(printed(&output).contains("finished: 60 rounds"), "{output:?}");
    let output = lopa(dir.path(), &["fleet", "net.toml", "read", "--out", "read"]);
    assert!(output.status.success(), "{}", said(&output));
    let (read, run) = (dir.path().join("read/state.json"), dir.path().join("run/state.json"));
    assert_eq!(states(&read), states(&run));
}

/// Processes whose working directory is in a folder.
#[cfg(target_os = "linux")]
fn processes_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let own = |entry: std::io::Result<fs::DirEntry>| {
        let place = fs::read_link(entry.ok()?.path().join("cwd")).ok()?;
        place.starts_with(&folder).then_some(())
    };
    fs::read_dir("/proc").unwrap().filter_map(own).count()
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_that_is_ended_leaves_no_emulator_behind() {
    use std::process::{Command, Stdio};
    for (signals, how, code) in [(1, "INT", Some(1)), (2, "TERM", Some(1)), (1, "KILL", None)] {
        let dir = tempfile::tempdir().unwrap();
        let temporary = dir.path().join("temporary");
        fs::create_dir(&temporary).unwrap();
        // Large enough to keep boards busy for long; the simulation takes a second or two.
        let file = network(&[
            ("iterations = 60", "iterations = 30000"),
            ("_every = 20", "_every = 10000"),
        ]);
        fs::write(dir.path().join("net.toml"), file).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_lopa"))
            .current_dir(dir.path())
            .env("TMPDIR", &temporary)
            .args(["fleet", "net.toml", "--emulate", "--out", "out"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while processes_in(&temporary) < 4 {
            assert!(child.try_wait().unwrap().is_none(), "the command ended too early");
            std::thread::sleep(Duration::from_millis(50));
        }
        for _ in 0..signals {
            let id = child.id().to_string();
            // The second signal may come too late, when it is no longer needed.
            let _ =
                Command::new("kill").args([&format!("-{how}"), &id]).stderr(Stdio::null()).status();
        }
        assert_eq!(child.wait().unwrap().code(), code, "{how}");
        // A process that is killed has no time to end its own: their watchers do, a moment later.
        while code.is_none() && processes_in(&temporary) > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(processes_in(&temporary), 0, "{how}");
        // Nothing was written but the list of what was written.
        assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 1, "{how}");
        assert_eq!(fs::read(dir.path().join("out/lopa.lock")).unwrap(), b"", "{how}");
    }
}
