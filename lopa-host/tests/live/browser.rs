//! The page in Chromium, driven by Playwright: see `page.js`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lopa_host::live::{About, Live, Phase, State};
use serde_json::Value;

use super::{live, prepared, record, report};

/// This folder.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live")
}

/// The script, with Playwright beside it.
fn script() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../live");
    let there = folder.join("node_modules/playwright-core").is_dir();
    let how = format!(
        "mkdir -p {0} && cp lopa-host/tests/live/*.json {0} && npm ci --prefix {0}",
        folder.display()
    );
    assert!(there, "playwright-core is not installed: {how}");
    let script = folder.join("page.js");
    fs::copy(sources().join("page.js"), &script).unwrap();
    script
}

/// What looks at the page.
struct Looker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Looker {
    fn start(url: &str) -> Self {
        let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.js");
        let mut command = Command::new("node");
        command.arg(script()).arg(url).arg(check).args(std::env::var_os("LOPA_PICTURES"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("Node starts");
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from) }
    }

    /// Waits until it has seen something.
    fn sees(&mut self, what: &str) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let seen: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("it did not see \"{what}\"; its last words were {line:?}"));
        assert_eq!(seen["seen"], what, "{seen}");
        seen
    }

    /// Has it look for the next thing.
    fn go_on(&mut self) {
        writeln!(self.to).unwrap();
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs Chromium, Node and playwright-core: tests/run.sh installs them"]
fn the_page_shows_what_happens() {
    let prepared = prepared(&[]);
    let first = live(&prepared, "net.toml");
    let url = first.url().to_owned();
    let all = [State::Learning; 4];
    first.feed().record(&record(20), Some(3));
    report(&first, 20, &all);
    let mut looker = Looker::start(&url);
    let seen = looker.sees("running");
    assert_eq!((&seen["nodes"], &seen["charts"]), (&4.into(), &5.into()), "{seen}");

    // Points appear.
    first.feed().record(&record(40), Some(4));
    report(&first, 40, &all);
    looker.go_on();
    let seen = looker.sees("points");
    assert!(seen["loss"].as_str().unwrap().starts_with("0.309"), "{seen}");
    assert!(seen["rounds"].as_str().unwrap().starts_with("40 of 60 rounds"), "{seen}");

    // A node that is killed turns dead; details by pointer and by keyboard.
    report(&first, 41, &[State::Learning, State::Learning, State::Dead, State::Learning]);
    looker.go_on();
    let seen = looker.sees("dead");
    let words = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();
    for word in ["Node 2", "dead", "41 of 60", "1.0 % lost", "Repaired"] {
        assert!(words("details").contains(word), "{word}: {seen}");
    }
    assert_eq!(words("label"), "Node 2: dead, round 41 of 60");
    // On the ring of four, 2 is at the bottom; above it on the left or right are the others.
    assert!(["0", "1", "3"].contains(&&*words("focused")), "{seen}");
    assert_eq!(words("title"), format!("Node {}", words("focused")));
    assert_eq!(words("back"), words("focused"));
    assert!(words("first").starts_with("round 0:"), "{seen}");
    assert_eq!(seen["rows"], 4);

    // A server that ends, and another one at the same address.
    drop(first);
    let again = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let second = Live::start(&again, About::of(&prepared, "another.toml")).unwrap();
    second.feed().record(&record(60), Some(5));
    report(&second, 50, &all);
    looker.go_on();
    looker.sees("restarted");
    report(&second, 60, &[State::Done; 4]);
    second.feed().end(Phase::Finished, "");
    looker.go_on();

    // Nothing was wrong in any window, and nothing was requested from elsewhere.
    let seen = looker.sees("all");
    assert_eq!(seen["wrong"], serde_json::json!([]));
    looker.go_on();
}

#[test]
fn playwright_comes_from_the_public_registry() {
    let lock = fs::read(sources().join("package-lock.json")).unwrap();
    let lock: Value = serde_json::from_slice(&lock).unwrap();
    for (name, package) in lock["packages"].as_object().unwrap() {
        if !name.is_empty() {
            let from = package["resolved"].as_str().unwrap_or_default();
            assert!(from.starts_with("https://registry.npmjs.org/"), "{name}: {from:?}");
            assert!(package["integrity"].is_string(), "{name}");
        }
    }
}
