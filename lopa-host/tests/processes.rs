//! `lopa node`: nodes that are processes, behind the router that `lopa fleet` is for boards.

use std::fs;
use std::path::Path;

use crate::common::fleet::{Running, free_address, states};
use crate::common::{lopa, network, said};
use crate::live::client::{Event, Events};

/// A path of three nodes, two of them at sockets and one at a TCP port.
fn file(dir: &Path, more: &str) -> [String; 3] {
    let at = |node: u32| format!("unix:{}", dir.join(format!("line-{node}")).display());
    let ports = [at(0), format!("tcp:{}", free_address()), at(2)];
    let mut text = network(&[("nodes = 4", "nodes = 3"), ("\"ring\"", "\"path\"")]);
    text += &format!("[links]\nwiring = \"routed\"\n{more}");
    for (node, port) in ports.iter().enumerate() {
        text += &format!("[[fleet.node]]\nid = {node}\nport = \"{port}\"\n");
    }
    fs::write(dir.join("net.toml"), text).unwrap();
    ports
}

fn node(dir: &Path, id: usize, port: &str) -> Running {
    let (number, state) = (id.to_string(), format!("state-{id}"));
    let arguments = [
        "node",
        "net.toml",
        "--id",
        &number,
        "--listen",
        port,
        "--state",
        &state,
        "--silence",
        "100",
    ];
    let mut node = Running::start(dir, &format!("node-{id}"), &[], &arguments);
    node.wait_until(|said| said.contains("Ctrl-C stops it"));
    node
}

/// The nodes have the bits of the simulation, in all variables but these.
fn compare(dir: &Path, but: &[&str]) {
    let output = lopa(dir, &["run", "net.toml", "--out", "run"]);
    assert!(output.status.success(), "{}", said(&output));
    let output = lopa(dir, &["fleet", "net.toml", "read", "--out", "read"]);
    assert!(output.status.success(), "{}", said(&output));
    let of = |name: &str| {
        let mut nodes = states(&dir.join(name).join("state.json"));
        let variables = nodes.iter_mut().filter_map(|node| node.as_object_mut());
        variables.for_each(|node| node.retain(|name, _| !but.contains(&name.as_str())));
        nodes
    };
    assert_eq!(of("read"), of("run"));
}

#[test]
fn processes_learn_the_bits_of_the_simulation_behind_a_router() {
    let dir = tempfile::tempdir().unwrap();
    let ports = file(dir.path(), "");
    let mut nodes: Vec<Running> =
        ports.iter().enumerate().map(|(id, port)| node(dir.path(), id, port)).collect();
    let output = lopa(dir.path(), &["fleet", "net.toml", "start"]);
    assert!(output.status.success(), "{}", said(&output));
    for own in &mut nodes {
        own.wait_until(|said| said.contains("has finished round 60"));
    }
    compare(dir.path(), &[]);
    // One that is killed counts another boot, and is where it was. If its neighbours meet it while they are read, they begin
    // another epoch, in which y starts again.
    nodes[1].signal("KILL");
    nodes[1] = node(dir.path(), 1, &ports[1]);
    compare(dir.path(), &["y"]);
    let output = lopa(dir.path(), &["fleet", "net.toml", "status"]);
    assert!(output.status.success(), "{}", said(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let boots: Vec<&str> =
        table.lines().skip(1).map(|line| line.split_whitespace().nth(6).unwrap()).collect();
    assert_eq!(boots, ["1", "2", "1"], "{table}");
}

#[test]
fn a_fleet_that_learns_is_watched_in_a_browser() {
    let dir = tempfile::tempdir().unwrap();
    let ports = file(dir.path(), "");
    // So many rounds that it still learns when a browser comes.
    let path = dir.path().join("net.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("iterations = 60", "iterations = 999999999")).unwrap();
    let _nodes: Vec<Running> =
        ports.iter().enumerate().map(|(id, port)| node(dir.path(), id, port)).collect();
    let mut before = 0;
    for action in ["start", "monitor"] {
        let words = ["fleet", "net.toml", action, "--live", "127.0.0.1:0"];
        let mut host = Running::start(dir.path(), action, &[], &words);
        let mut events = Events::open(&host.url(), None);
        let learning = Some(vec!["learning".into(); 3]);
        let round = |event: &Event| event.data["round"].as_u64().unwrap();
        let on = |event: &Event| {
            event.data["nodes"]["state"].as_array().cloned() == learning && round(event) > before
        };
        let seen = std::iter::from_fn(|| events.next()).find(on).expect("all nodes learn");
        before = round(&seen);
        host.signal("INT");
        let last = std::iter::from_fn(|| events.next()).last().unwrap();
        assert_eq!(last.data["phase"], "stopped", "{action}");
        // They pause, because nobody forwards their frames any more; the next command lets them go on.
        host.status();
    }
}

#[test]
fn a_key_needs_a_folder_and_blobs_are_those_of_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let output = lopa(dir.path(), &["key", "net.key"]);
    assert!(output.status.success(), "{}", said(&output));
    let ports = file(dir.path(), "key = \"net.key\"\n");
    let output = lopa(dir.path(), &["shard", "net.toml", "--out", "blobs"]);
    assert!(output.status.success(), "{}", said(&output));
    let listen = ["node", "net.toml", "--listen", &ports[0]];
    for (more, status, what) in [
        (&["--id", "0"][..], 2, "name a folder with --state"),
        (&["--id", "3"], 2, "there is no node 3: the network has 3 nodes"),
        (&["--id", "0", "--blob", "blobs/node-1.blob"], 2, "the blob is that of node 1, not 0"),
        (&["--id", "0", "--blob", "missing"], 2, "cannot read missing"),
        (&["--id", "0", "--out", "out"], 2, "cannot be used with"),
    ] {
        let output = lopa(dir.path(), &[&listen[..], more].concat());
        assert_eq!(output.status.code(), Some(status), "{more:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{more:?}: {}", said(&output));
    }
    let serial = ["node", "net.toml", "--id", "0", "--listen", "/dev/ttyACM0", "--state", "a"];
    let output = lopa(dir.path(), &serial);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("tcp:HOST:PORT or unix:PATH"), "{}", said(&output));
    // With a folder, all three learn, with a blob or without.
    let words = |id: &'static str, state, port| {
        ["node", "net.toml", "--id", id, "--listen", port, "--state", state]
    };
    let long = ["--silence", "100"];
    let blob = ["--blob", "blobs/node-0.blob"];
    let mut nodes = [
        Running::start(dir.path(), "0", &[], &[&words("0", "s0", &ports[0])[..], &blob].concat()),
        Running::start(dir.path(), "1", &[], &[&words("1", "s1", &ports[1])[..], &long].concat()),
        Running::start(dir.path(), "2", &[], &[&words("2", "s2", &ports[2])[..], &long].concat()),
    ];
    nodes.iter_mut().for_each(|node| drop(node.wait_until(|said| said.contains("Ctrl-C"))));
    let output = lopa(dir.path(), &["fleet", "net.toml", "start"]);
    assert!(output.status.success(), "{}", said(&output));
    nodes[0].signal("TERM");
    nodes[0].finish();
    // The socket is gone with it.
    assert!(!dir.path().join("line-0").exists());
}

#[test]
#[cfg(not(feature = "zenoh"))]
fn a_program_without_zenoh_says_how_to_get_one_with_it() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["gateway", "net.toml", "attic"][..], &["node", "net.toml", "--id", "0"]] {
        let output = lopa(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("--features zenoh"), "{}", said(&output));
    }
}
