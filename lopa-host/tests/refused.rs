//! Boards that refuse their blobs, as `lopa fleet` shows them: the boards are sockets that answer as such a board does.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::common::{lopa, network, said};
use lopa_core::blob::BlobError;
use lopa_core::wire::{
    self, Answer, Body, FrameReader, HOST, Message, Reply, Request, Seal, Status, VERSION,
};

/// The answer to every request: a node without a blob, or one that has finished.
fn answer(node: u32) -> Answer<wire::Floats<'static>> {
    match node {
        0 => Answer::Refused(BlobError::NotABlob.into()),
        _ => Answer::Status(Status {
            session: 1,
            challenge: 0,
            round: 60,
            rounds: 60,
            met: 0,
            dead: 1,
            refused: 0,
            paused: false,
            diverged: false,
        }),
    }
}

/// Answers requests until the host has gone.
fn serve(mut line: UnixStream, node: u32) {
    let mut reader = FrameReader::<256>::new(Seal::PLAIN);
    let mut byte = [0];
    while line.read_exact(&mut byte).is_ok() {
        let Some(Ok(frame)) = reader.push(byte[0]) else { continue };
        let Ok(Message { body: Body::Request(Request { tag, .. }), sender: HOST, .. }) =
            wire::decode(frame)
        else {
            continue;
        };
        let body = Body::Reply(Reply { tag, answer: answer(node) });
        let message = Message { version: VERSION, sender: node, session: 1, epoch: 0, body };
        let mut out = [0; 256];
        let len = wire::encode(&message, &Seal::PLAIN, &mut out).unwrap();
        if line.write_all(&out[..len]).is_err() {
            return;
        }
    }
}

/// A file with two nodes, and their boards: node 0 refuses its blob, node 1 has finished without it.
fn boards(dir: &Path) {
    let mut file = network(&[("nodes = 4", "nodes = 2"), ("\"ring\"", "\"path\"")]);
    for node in 0..2 {
        let path = dir.join(format!("board-{node}"));
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|line| serve(line, node));
        });
        file += &format!("[[fleet.node]]\nid = {node}\nport = \"unix:{}\"\n", path.display());
    }
    fs::write(dir.join("net.toml"), file).unwrap();
}

#[test]
fn monitor_and_start_show_why_a_board_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    boards(dir.path());
    for command in ["monitor", "start"] {
        let output = lopa(dir.path(), &["fleet", "net.toml", command]);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", said(&output));
        let text = said(&output);
        assert!(text.contains("node 0 does not start: it has no blob"), "{command}: {text}");
        if command == "monitor" {
            // Beside the others, and not as one that is off.
            assert!(text.contains("; 0: does not start: it has no blob"), "{text}");
            assert!(text.contains(", 1: 60 done") && !text.contains("silent"), "{text}");
        }
    }
}
