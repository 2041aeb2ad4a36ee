//! Boards that refuse their blobs, and lines that are closed, as `lopa fleet` shows them: the boards are sockets that answer
//! as such a board does.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::common::{lopa, network, said};
use lopa_core::blob::BlobError;
use lopa_core::wire::{
    self, Answer, Body, FrameReader, HOST, Message, Reply, Request, Seal, Status, VERSION,
};
use lopa_host::config::Experiment;
use lopa_host::fleet::{BAUD_WITHOUT_BLOB, Client, Connected, Port, Silence, Stream};
use lopa_host::run::Prepared;

type Said = Answer<wire::Floats<'static>>;

/// The answer of a node that has finished, to every request.
const FINISHED: Said = Answer::Status(Status {
    session: 1,
    challenge: 0,
    round: 60,
    rounds: 60,
    met: 0,
    dead: 1,
    refused: 0,
    paused: false,
    diverged: false,
});

/// The answer of a node without a blob.
fn no_blob() -> Said {
    Answer::Refused(BlobError::NotABlob.into())
}

/// Gives every request the same answer until the host has gone.
fn serve(mut line: impl Read + Write, node: u32, answer: &Said) {
    let mut reader = FrameReader::<256>::new(Seal::PLAIN);
    let mut byte = [0];
    while line.read_exact(&mut byte).is_ok() {
        let Some(Ok(frame)) = reader.push(byte[0]) else { continue };
        let Ok(Message { body: Body::Request(Request { tag, .. }), sender: HOST, .. }) =
            wire::decode(frame)
        else {
            continue;
        };
        let body = Body::Reply(Reply { tag, answer: answer.clone() });
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
        let answer = if node == 0 { no_blob() } else { FINISHED };
        std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|line| serve(line, node, &answer));
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

/// Boards on serial ports: node 0 has no blob, node 1 has finished, node 2 is off. Each answers at its own rate only, and
/// every rate that a port is opened at is reported.
fn on_serial_ports(baud: u32) -> (Connected, Receiver<(u32, u32)>) {
    let mut file = network(&[("nodes = 4", "nodes = 3"), ("\"ring\"", "\"path\"")]);
    file += &format!("[links]\nbaud = {baud}\n");
    for node in 0..3 {
        file += &format!("[[fleet.node]]\nid = {node}\nport = \"board-{node}\"\n");
    }
    let prepared = Prepared::new(Experiment::parse(&file).unwrap()).unwrap();
    let (opened, rates) = mpsc::channel();
    let mut deaf = Vec::new();
    let fleet = Connected::open_with(&prepared, move |port, rate| {
        let Port::Serial(name) = port else { panic!("{port}") };
        let node: u32 = name.strip_prefix("board-").unwrap().parse().unwrap();
        opened.send((node, rate)).unwrap();
        let (host, board) = UnixStream::pair().unwrap();
        let own = [Some(BAUD_WITHOUT_BLOB), Some(baud), None][node as usize];
        if own == Some(rate) {
            let answer = if node == 0 { no_blob() } else { FINISHED };
            std::thread::spawn(move || serve(board, node, &answer));
        } else {
            deaf.push(board);
        }
        host.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Ok(Stream::new(host.try_clone().unwrap(), host))
    });
    (fleet.unwrap(), rates)
}

/// The rates at which a node's port was opened since the last call.
fn tried(rates: &Receiver<(u32, u32)>) -> [Vec<u32>; 3] {
    let all: Vec<(u32, u32)> = rates.try_iter().collect();
    [0, 1, 2]
        .map(|node| all.iter().filter(|(own, _)| *own == node).map(|(_, rate)| *rate).collect())
}

/// Long enough for a thread to be scheduled on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_board_without_a_blob_is_asked_at_its_own_rate() {
    let (mut fleet, rates) = on_serial_ports(9_600);
    assert_eq!(fleet.rates(), [9_600, BAUD_WITHOUT_BLOB]);
    for _ in 0..2 {
        let error = fleet.ask(0, PATIENCE, Client::status).unwrap_err();
        assert!(error.to_string().contains("node 0 does not start: it has no blob"), "{error}");
        fleet.ask(1, 12 * PATIENCE, Client::status).unwrap();
        let silent = fleet.ask(2, Duration::from_millis(200), Client::status);
        assert_eq!(silent, Err(Silence::Silent(2)));
    }
    // The one that is off is left at the file's rate.
    let [none, finished, off] = tried(&rates);
    assert_eq!((none, finished), (vec![9_600, 115_200], vec![9_600]));
    assert_eq!(off, [9_600, 115_200, 9_600, 115_200, 9_600]);
}

#[test]
fn the_status_of_all_boards_finds_the_one_without_a_blob() {
    let (mut fleet, rates) = on_serial_ports(9_600);
    // Usually the second look; on a busy machine an answer may be late.
    let found = (0..20).any(|_| {
        let statuses = fleet.statuses();
        assert_eq!(statuses[2], Err(Silence::Silent(2)));
        matches!(statuses[..2], [Err(Silence::Refused { node: 0, .. }), Ok(_)])
    });
    assert!(found, "{fleet:?}");
    let [none, _, off] = tried(&rates);
    assert!(none.contains(&115_200) && off.contains(&115_200), "{none:?} {off:?}");
}

#[test]
fn a_file_with_the_rate_of_boards_without_a_blob_leaves_nothing_to_try() {
    let (mut fleet, rates) = on_serial_ports(BAUD_WITHOUT_BLOB);
    assert_eq!(fleet.rates(), [BAUD_WITHOUT_BLOB]);
    assert!(fleet.ask(2, Duration::from_millis(200), Client::status).is_err());
    assert_eq!(tried(&rates), [[115_200], [115_200], [115_200]].map(Vec::from));
}

#[test]
fn a_serial_server_that_closes_its_line_is_connected_to_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = network(&[("nodes = 4", "nodes = 2"), ("\"ring\"", "\"path\"")]);
    let (lines, accepted) = mpsc::channel();
    for node in 0..2 {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        file += &format!("[[fleet.node]]\nid = {node}\nport = \"tcp:{at}\"\n");
        let lines = lines.clone();
        std::thread::spawn(move || {
            let mut incoming = server.incoming().flatten();
            // The first line is closed before anything is said.
            drop(incoming.next());
            for line in incoming {
                lines.send(node).unwrap();
                serve(line, node, &FINISHED);
            }
        });
    }
    fs::write(dir.path().join("net.toml"), file).unwrap();
    let output = lopa(dir.path(), &["fleet", "net.toml", "monitor"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("node 0: done") && text.contains("node 1: done"), "{text}");
    let mut accepted: Vec<u32> = accepted.try_iter().collect();
    accepted.sort_unstable();
    assert_eq!(accepted, [0, 1], "a second line each");
}
