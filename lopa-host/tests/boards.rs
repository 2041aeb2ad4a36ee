//! `lopa shard --board`: what fits a board, and how the command reports what does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{lopa, said};
use lopa_host::chips::{BOARDS, Board, ChipError, Form, Limits, NodeBlob, blobs};
use lopa_host::config::Experiment;
use lopa_host::run::Prepared;

fn shard(dir: &Path, text: &str, board: &str) -> Output {
    fs::write(dir.join("net.toml"), text).unwrap();
    lopa(dir, &["shard", "net.toml", "--out", "blobs", "--board", board])
}

fn ring(nodes: usize, problem: &str) -> String {
    format!(
        "network = {{ nodes = {nodes}, topology = \"ring\" }}\n\
         problem = {problem}\n\
         algorithm = {{ name = \"lopa-gt\", alpha = 0.05, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5, \
         batch = 8 }}\n\
         links = {{ chunk = 32, baud = 115200 }}\n\
         run = {{ iterations = 30 }}\n"
    )
}

#[test]
fn a_ring_fits_every_board() {
    let dir = tempfile::tempdir().unwrap();
    for board in BOARDS {
        let output = shard(dir.path(), &ring(3, "{ kind = \"logistic\" }"), board.name);
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn a_network_that_does_not_fit_a_board_is_refused_and_nothing_is_written() {
    let logistic = "{ kind = \"logistic\" }";
    // 4n floats and more.
    let large = "{ kind = \"quadratic\", outer = 11000, inner = 4, heterogeneity = 0.5 }";
    let torus = ring(9, logistic).replace("\"ring\"", "\"torus 3x3\"");
    for (text, board, what) in [
        (ring(3, large), "pico", "floats of memory, this image has room for 40960"),
        (torus, "nrf52840-dk", "the blob needs 5 links, this image has room for 3"),
        (ring(3, logistic), "abacus", "unknown board \"abacus\": choose one of nrf52840-dk"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = shard(dir.path(), &text, board);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(what), "{error}");
        assert!(!dir.path().join("blobs/node-0.blob").exists());
    }
}

fn blobs_of(text: &str) -> Vec<NodeBlob> {
    let prepared = Prepared::new(Experiment::parse(text).unwrap()).unwrap();
    blobs(&prepared, Limits::default(), Form::default()).unwrap()
}

/// A ring with checkpoints at a baud rate.
fn kept(baud: u32, every: u32) -> String {
    ring(3, "{ kind = \"logistic\" }")
        .replace("baud = 115200", &format!("baud = {baud}"))
        .replace("iterations = 30", &format!("iterations = 30, checkpoint_every = {every}"))
}

#[test]
fn checkpoints_that_would_lose_bytes_are_refused() {
    for board in BOARDS {
        let dir = tempfile::tempdir().unwrap();
        let output = shard(dir.path(), &kept(115_200, 10), board.name);
        assert!(output.status.success(), "{}: {}", board.name, said(&output));
        let output = shard(dir.path(), &kept(1_000_000, 10), board.name);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{}: {error}", board.name);
        let what = match board.flash.deaf {
            0 => "links.baud is 1000000, but the lines of a nucleo-l476rg are limited to 230400",
            _ => "while it writes a checkpoint",
        };
        assert!(error.contains(what), "{}: {error}", board.name);
        // Without checkpoints nothing is lost, nor on USB.
        let without = kept(1_000_000, 10).replace(", checkpoint_every = 10", "");
        for (text, fits) in [(without, board.flash.deaf > 0), (routed(1_000_000), board.usb)] {
            let output = shard(dir.path(), &text, board.name);
            assert_eq!(output.status.success(), fits, "{}: {}", board.name, said(&output));
        }
    }
}

/// The same behind a router: boards have only the line to the host.
fn routed(baud: u32) -> String {
    kept(baud, 10).replace("chunk = 32", "wiring = \"routed\", chunk = 32")
}

#[test]
fn a_serial_line_to_a_router_has_the_limits_of_one_to_a_neighbour() {
    let [one] = &blobs_of(&routed(1_000_000))[..1] else { panic!("no blobs") };
    let nucleo: Board = "nucleo-l476rg".parse().unwrap();
    assert!(matches!(nucleo.takes(one), Err(ChipError::Baud { fastest: 230_400, .. })));
    assert!(nucleo.takes(&blobs_of(&routed(115_200))[0]).is_ok());
    // A board like a Pico, but with a serial line to the host: what arrives during a checkpoint would overflow.
    let pico: Board = "pico".parse().unwrap();
    assert!(pico.takes(one).is_ok());
    let serial = Board { usb: false, ..pico };
    assert!(matches!(serial.takes(one), Err(ChipError::Deaf { slow: 455_111, .. })));
}

#[test]
fn the_years_that_a_flash_lasts_follow_the_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let years = |every: u32, board: &str| -> Option<f64> {
        let output = shard(dir.path(), &kept(115_200, every), board);
        assert!(output.status.success(), "{}", said(&output));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = printed.lines().find(|line| line.starts_with("flash lasts, years"))?;
        line.split_whitespace().nth(3)?.parse().ok()
    };
    let [often, seldom] = [10_000, 1_000_000].map(|every| years(every, "nucleo-l476rg").unwrap());
    assert!((90.0..110.0).contains(&(seldom / often)), "{often} {seldom}");
    // Ten times as many erases.
    let pico = years(1_000_000, "pico").unwrap();
    assert!((9.9..10.1).contains(&(pico / seldom)), "{pico} {seldom}");
    let output = lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("years"), "no board, no flash");
}

#[test]
fn chips_are_those_of_probe_rs_and_have_the_flash_that_boards_use() {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap();
    let chips: BTreeMap<&str, (u32, u32)> = include_str!("probe_rs.table")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0], (number(words[1]), number(words[2])))
        })
        .collect();
    for board in BOARDS {
        let name = board.chip.unwrap();
        let &(start, end) = chips.get(name).unwrap_or_else(|| panic!("probe-rs has no {name}"));
        for region in [board.kept, board.blob] {
            let inside = start <= region.address && region.address + region.len <= end;
            assert!(inside, "{name} has flash from {start:#x} to {end:#x}, not {region:x?}");
        }
    }
}

#[test]
fn boards_are_found_by_their_names() {
    for board in BOARDS {
        assert_eq!(board.name.parse(), Ok(board));
    }
    assert!("Pico".parse::<Board>().is_err());
}
