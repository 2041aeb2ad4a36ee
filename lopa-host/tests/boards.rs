//! `lopa shard --board`: what fits a board, and how the command reports what does not.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{lopa, said};
use lopa_host::chips::{BOARDS, Board};

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
         links = {{ chunk = 32 }}\n\
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

#[test]
fn boards_are_found_by_their_names() {
    for board in BOARDS {
        assert_eq!(board.name.parse(), Ok(board));
    }
    assert!("Pico".parse::<Board>().is_err());
}
