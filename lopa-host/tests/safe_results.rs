//! Nothing is lost: pipes that close, disks that are full, runs that diverge, and folders that are in use.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{NETWORK, network, said};

/// A folder with a network in it.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), NETWORK).unwrap();
    fs::write(dir.path().join("lg.toml"), network(&[("lopa-gt", "lopa-lg")])).unwrap();
    dir
}

/// One call of every command that prints, and a file it must have written.
const COMMANDS: [(&str, Option<&str>); 17] = [
    ("--rounds 20", None),
    ("--help", None),
    ("run --help", None),
    ("--version", None),
    ("example", None),
    ("run net.toml --out run", Some("run/report.html")),
    ("compare net.toml lg.toml --out both", Some("both/report.html")),
    ("sweep net.toml --out sweep --alpha 0.1,0.2 --seeds 1", Some("sweep/best.toml")),
    ("tune net.toml --out tuned --trials 3", Some("tuned/net.toml")),
    ("theory net.toml", None),
    ("paper list", None),
    ("key new.key", Some("new.key")),
    ("shard net.toml --out blobs", Some("blobs/budget.csv")),
    ("algorithms", None),
    ("topology ring --nodes 5 --edges edges.txt", Some("edges.txt")),
    ("data list", None),
    ("completions bash", None),
];

fn call(dir: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lopa"));
    command.current_dir(dir).args(arguments.split(' ')).stdout(Stdio::piped());
    command
}

/// Checks the status and the file of a command, and that it did not panic.
fn assert_ended(dir: &Path, output: &Output, status: i32, (arguments, file): (&str, Option<&str>)) {
    assert_eq!(output.status.code(), Some(status), "{arguments}: {}", said(output));
    assert!(file.is_none_or(|file| dir.join(file).exists()), "{arguments}: {file:?} is missing");
}

#[test]
fn a_closed_pipe_does_not_stop_any_command() {
    let dir = place();
    for case in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = call(dir.path(), case.0).stdout(writer).output().unwrap();
        assert_ended(dir.path(), &output, 0, case);
        assert!(output.stderr.is_empty(), "{}: {}", case.0, said(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_at_standard_output_is_an_error_after_the_results_are_written() {
    let dir = place();
    for case in COMMANDS {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = call(dir.path(), case.0).stdout(full).output().unwrap();
        assert_ended(dir.path(), &output, 1, case);
        assert!(said(&output).starts_with("lopa: cannot print: "), "{}: {}", case.0, said(&output));
    }
}

#[test]
fn messages_that_nobody_can_read_change_no_status() {
    let dir = place();
    let messages = [
        ("run missing.toml --out x", 2),
        ("run --out", 2),
        // Every frame is lost, which is reported on standard error.
        ("run lost.toml --out lost", 0),
        // No network has such a rho.
        ("topology --rho 0.001 --nodes 4", 0),
        // The firmware is not there.
        ("fleet net.toml --emulate --out fleet --firmware missing", 2),
        ("paper list", 0),
    ];
    let lost = network(&[("[run]", "[links]\ndrop = 0.97\nseed = 3\n[run]")]);
    fs::write(dir.path().join("lost.toml"), lost).unwrap();
    for (arguments, status) in messages {
        let heard = call(dir.path(), arguments).output().unwrap();
        assert_eq!(heard.status.code(), Some(status), "{arguments}: {}", said(&heard));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let unheard = call(dir.path(), arguments).stderr(writer).output().unwrap();
        assert_eq!(unheard.status.code(), Some(status), "{arguments}");
        let shell = |to: &str| {
            let line = format!("exec \"$0\" {arguments} 2>{to}");
            let mut command = Command::new("sh");
            command.current_dir(dir.path()).args(["-c", &line, env!("CARGO_BIN_EXE_lopa")]);
            command.stdout(Stdio::null()).status().unwrap().code()
        };
        assert_eq!(shell("&-"), Some(status), "{arguments}");
        if Path::new("/dev/full").exists() {
            assert_eq!(shell("/dev/full"), Some(status), "{arguments}");
        }
    }
}
