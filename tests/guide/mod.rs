//! The guide for boards, `firmware/README.md`: every command of it is run, in order.
//!
//! Where a command needs a board or a probe, stand-ins take their place: see [`Bench`]. A command that is not listed here
//! fails the test, so that no line of the guide is untested. The guide for C, `firmware/c/README.md`, is run by
//! [`nodes::c`](crate::nodes).

mod bench;

use std::fs;
use std::path::Path;

use bench::Bench;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/README.md");

/// A command of the guide, and what it must do.
struct Known {
    /// The command, without its comment.
    command: &'static str,
    /// Its exit status.
    status: i32,
    /// Texts that it prints.
    prints: &'static [&'static str],
    /// Files that it makes.
    makes: &'static [&'static str],
    /// What it has probe-rs do, call by call; `…` stands for anything.
    probe_rs: &'static [&'static str],
}

const PLAIN: Known = Known { command: "", status: 0, prints: &[], makes: &[], probe_rs: &[] };

const KNOWN: &[Known] = &[
    Known { command: "rustup target add thumbv6m-none-eabi", ..PLAIN },
    Known { command: "cargo install --locked probe-rs-tools", makes: &["bin/probe-rs"], ..PLAIN },
    Known { command: "cargo install --locked --path lopa-host", makes: &["bin/lopa"], ..PLAIN },
    Known {
        command: "(cd firmware/pico && cargo run --release)",
        makes: &["firmware/target/thumbv6m-none-eabi/release/pico"],
        probe_rs: &["run --chip RP2040 … release/pico"],
        ..PLAIN
    },
    Known {
        command: "probe-rs list",
        prints: &["2e8a:000c-0:E6614103E7452D2F"],
        probe_rs: &["list"],
        ..PLAIN
    },
    Known {
        command: "(cd firmware/pico && cargo run --release -- --probe 2e8a:000c:E6614103E7452D2F)",
        probe_rs: &["run --chip RP2040 … release/pico --probe 2e8a:000c:E6614103E7452D2F"],
        ..PLAIN
    },
    Known {
        command: "lopa run ring.toml --out simulated",
        makes: &["simulated/state.json", "simulated/report.html"],
        ..PLAIN
    },
    Known {
        command: "lopa shard ring.toml --out blobs --board pico",
        prints: &["flash lasts, years"],
        makes: &["blobs/node-0.blob", "blobs/node-1.blob", "blobs/node-2.blob"],
        ..PLAIN
    },
    Known {
        command: "probe-rs download --chip RP2040 --binary-format bin --base-address 0x10070000 blobs/node-0.blob",
        makes: &["flash/any probe"],
        probe_rs: &["download … 0x10070000 blobs/node-0.blob"],
        ..PLAIN
    },
    Known { command: "probe-rs reset --chip RP2040", probe_rs: &["reset --chip RP2040"], ..PLAIN },
    Known { command: "probe-rs erase --chip RP2040", probe_rs: &["erase --chip RP2040"], ..PLAIN },
    Known { command: "lopa key ring.key", makes: &["ring.key"], ..PLAIN },
    Known {
        command: "lopa fleet ring.toml doctor",
        // The boards have no image, so there are no ports.
        status: 1,
        prints: &["chip     ok       RP2040", "blobs    ok", "3 problems", "board-2/host: "],
        probe_rs: &["--version", "chip info RP2040", "list"],
        ..PLAIN
    },
    Known {
        command: "lopa fleet ring.toml flash --dry-run",
        prints: &[
            "probe-rs download --chip RP2040 --probe 2e8a:000c:E6614103E7452D31 --binary-format",
        ],
        ..PLAIN
    },
    Known {
        command: "lopa fleet ring.toml flash",
        makes: &["flash/2e8a:000c:E6614103E7452D2F", "flash/2e8a:000c:E6614103E7452D31"],
        probe_rs: &[
            "download --chip RP2040 --probe … D2F … /pico",
            "download --chip RP2040 --probe … D2F … 0x10070000 blobs/node-0.blob",
            "reset --chip RP2040 --probe … D2F",
            "download --chip RP2040 --probe … D30 … /pico",
            "download --chip RP2040 --probe … D30 … 0x10070000 blobs/node-1.blob",
            "reset --chip RP2040 --probe … D30",
            "download --chip RP2040 --probe … D31 … /pico",
            "download --chip RP2040 --probe … D31 … 0x10070000 blobs/node-2.blob",
            "reset --chip RP2040 --probe … D31",
        ],
        ..PLAIN
    },
    Known { command: "lopa fleet ring.toml status", prints: &["refused  boot"], ..PLAIN },
    Known {
        command: "lopa fleet ring.toml monitor",
        prints: &["node 0: done", "node 2: done", "loss 0."],
        ..PLAIN
    },
    Known {
        command: "lopa fleet ring.toml read --out learned",
        prints: &["state.json after round"],
        makes: &["learned/state.json", "learned/model.json"],
        ..PLAIN
    },
    Known { command: "lopa fleet ring.toml stop", prints: &["node 2: stop"], ..PLAIN },
    Known { command: "lopa fleet ring.toml start", prints: &["node 2: start"], ..PLAIN },
    Known {
        command: "lopa fleet ring.toml --emulate --out results",
        prints: &["the same as in the simulation"],
        makes: &["results/state.json"],
        ..PLAIN
    },
    Known {
        command: "probe-rs attach --chip RP2040 firmware/target/thumbv6m-none-eabi/release/pico",
        probe_rs: &["attach --chip RP2040 … release/pico"],
        ..PLAIN
    },
];

/// A block of code, with its language.
struct Block<'a> {
    language: &'a str,
    text: &'a str,
}

/// The blocks of code of a page in order, and the text between them.
fn parts(page: &str) -> (Vec<Block<'_>>, String) {
    let (mut blocks, mut prose) = (Vec::new(), String::new());
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            prose += part;
            continue;
        }
        let (language, text) = part.split_once('\n').expect("a block has lines");
        blocks.push(Block { language, text });
    }
    (blocks, prose)
}

/// The commands of a block, without comments.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split(" #").next().unwrap_or(line).trim())
}

fn known(command: &str) -> &'static Known {
    let found = KNOWN.iter().find(|known| known.command == command);
    found.unwrap_or_else(|| {
        panic!(
            "no test knows this command of firmware/README.md: {command}\n\
             Add it to KNOWN in tests/guide/mod.rs, with what it must print and make; if it needs something that a test \
             cannot have, add a stand-in to tests/guide/bench.rs."
        )
    })
}

/// Whether a text has all pieces of a pattern, in order.
fn matches(text: &str, pattern: &str) -> bool {
    let mut rest = Some(text);
    for piece in pattern.split('…') {
        rest = rest.and_then(|rest| Some(rest.split_once(piece.trim())?.1));
    }
    rest.is_some()
}

/// Runs a command, and checks what it did.
fn check(bench: &Bench, known: &Known) {
    let Known { command, status, prints, makes, probe_rs } = known;
    println!("{command}");
    let (found, printed) = bench.run(command);
    assert_eq!(found, Some(*status), "{command}\n{printed}");
    for text in *prints {
        assert!(printed.contains(text), "{command} does not print {text:?}:\n{printed}");
    }
    for file in *makes {
        assert!(bench.path(file).exists(), "{command} does not make {file}:\n{printed}");
    }
    let calls = bench.calls();
    let same = calls.len() == probe_rs.len()
        && calls.iter().zip(*probe_rs).all(|(call, pattern)| matches(call, pattern));
    assert!(same, "{command} calls probe-rs with {calls:#?}, not {probe_rs:#?}");
}

#[test]
fn every_command_of_the_guide_is_known_and_in_a_block() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (blocks, prose) = parts(&page);
    let shell = blocks.iter().filter(|block| block.language == "sh");
    let found: Vec<&Known> = shell.flat_map(|block| commands(block.text)).map(known).collect();
    for known in KNOWN {
        let count = found.iter().filter(|found| found.command == known.command).count();
        assert_eq!(count, 1, "{} is not on the page once", known.command);
    }
    // A name in the text, such as `lopa shard`, is no command; what has arguments is one.
    for code in prose.split('`').skip(1).step_by(2) {
        let words: Vec<&str> = code.split_whitespace().collect();
        let tool = words.iter().any(|word| ["cargo", "lopa", "probe-rs", "rustup"].contains(word));
        assert!(
            words.len() < 3 || !tool,
            "in firmware/README.md, write `{code}` as a block of code"
        );
    }
}

#[test]
#[should_panic(expected = "Add it to KNOWN in tests/guide/mod.rs")]
fn a_command_that_no_test_knows_fails() {
    known("lopa fleet ring.toml fly");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn the_commands_of_the_guide_do_what_it_says() {
    let mut bench = Bench::new();
    let page = fs::read_to_string(PAGE).unwrap();
    for Block { language, text } in parts(&page).0 {
        match language {
            "sh" => {
                for command in commands(text) {
                    check(&bench, known(command));
                    if command == "lopa fleet ring.toml flash" {
                        bench.switch_on();
                        let (status, printed) = bench.run("lopa fleet ring.toml doctor");
                        assert_eq!(status, Some(0), "{printed}");
                        bench.calls();
                    }
                }
            }
            "toml" => bench.describe(text),
            "text" if text.starts_with("[links]") => with_a_key(&bench, text),
            // The drawing of the wires.
            "text" => {}
            // For a serial server on another machine, which does not run here.
            "yaml" => assert!(text.contains("accepter: tcp,"), "{text}"),
            _ => panic!("firmware/README.md has a block in {language}"),
        }
    }
}

/// The network with these lines in its table of links makes blobs that are for their owner only.
fn with_a_key(bench: &Bench, links: &str) {
    let file = fs::read_to_string(bench.path("ring.toml")).unwrap();
    fs::write(bench.path("keyed.toml"), file.replace("[links]\n", links)).unwrap();
    let (status, printed) = bench.run("lopa shard keyed.toml --out keyed --board pico");
    assert_eq!(status, Some(0), "{printed}");
    let [plain, keyed] =
        ["blobs/node-0.blob", "keyed/node-0.blob"].map(|file| mode(&bench.path(file)));
    assert!(plain != keyed && keyed == 0o600, "{plain:o} {keyed:o}");
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
