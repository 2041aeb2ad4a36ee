//! `lopa gateway`: one ring on two machines, which are processes, in network namespaces of their own where that is allowed.

mod certificates;
mod namespaces;
mod proxy;

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::common::fleet::{Running, free_address, states};
use crate::common::{PATIENCE, lopa, network, said};
use crate::live::client::{Events, get};
use namespaces::Namespaces;
use proxy::Proxy;

/// The gateways, with two of the four nodes each.
const GATEWAYS: [(&str, [u32; 2]); 2] = [("attic", [0, 1]), ("cellar", [2, 3])];
/// No machine is that slow.
const LONG: &str = "100";
/// Seconds of silence after which a neighbour is given up, where one is lost or never comes. On a busy machine others may be
/// given up, too; they come back.
const SHORT: &str = "5";
/// A gateway that loses frames, and whose nodes' x can be seen while they learn.
const WATCHED: [&str; 4] = ["--drop", "0.2", "--live", "127.0.0.1:0"];
/// More rounds than any test waits for: a test ends when the nodes are where they should be, however slow the machine is.
const ENDLESS: &str = "iterations = 999999999";

/// Quadratics, whose optimum every part of a network reaches.
const QUADRATIC: [(&str, &str); 4] = [
    ("kind = \"logistic\"", "kind = \"quadratic\"\nouter = 6\ninner = 4\nheterogeneity = 1.0"),
    ("[data]\nsource = \"synthetic\"\n", ""),
    (
        "alpha = 0.3\nbeta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5\nbatch = 10",
        "alpha = 0.2\nbeta = 0.3\nlambda = 0.3\ngamma = 0.5\ntau = 0.7",
    ),
    ("x0 = -3.0\n", ""),
];

/// A ring of quadratics that does not finish.
fn endless() -> String {
    network(&[&QUADRATIC[..], &[("iterations = 60", ENDLESS)]].concat())
}

/// The file of a ring, as each gateway has it; all have the address of the first from where they are.
fn file(text: &str, links: &str, addresses: [&str; 2], more: &str) -> String {
    let mut text = format!(
        "{text}\n[links]\nwiring = \"routed\"\n{links}\n[fleet]\nname = \"ring\"\n{more}\n"
    );
    for node in 0..4 {
        text += &format!("[[fleet.node]]\nid = {node}\nport = \"unix:line-{node}\"\n");
    }
    for ((name, nodes), address) in GATEWAYS.into_iter().zip(addresses) {
        text += &format!("[[fleet.gateway]]\nname = \"{name}\"\nnodes = {nodes:?}\n");
        if !address.is_empty() {
            text += &format!("address = \"{address}\"\n");
        }
    }
    text
}

/// Addresses of this machine.
fn loopback() -> [String; 2] {
    [(); 2].map(|()| free_address())
}

/// Writes the file of a ring whose gateways reach each other on this machine.
fn write_ring(dir: &Path, ring: &str) {
    let addresses = loopback();
    let addresses = addresses.each_ref().map(String::as_str);
    fs::write(dir.join("net.toml"), file(ring, "", addresses, "")).unwrap();
}

/// A node as a process.
fn node(dir: &Path, node: u32, silence: &str) -> Running {
    let [id, line, state] =
        [node.to_string(), format!("unix:line-{node}"), format!("state-{node}")];
    let words = ["node", "net.toml", "--id", &id, "--listen", &line, "--silence", silence];
    let words = [&words[..], &["--state", &state]].concat();
    Running::start(dir, &format!("node-{node}"), &[], &words)
}

/// All four.
fn nodes(dir: &Path, silence: &str) -> [Running; 4] {
    [0, 1, 2, 3].map(|number| node(dir, number, silence))
}

/// A gateway, which writes what its nodes have learned into a folder with its name.
fn gateway(dir: &Path, file: &str, name: &str, before: &[String], more: &[&str]) -> Running {
    let words = ["gateway", file, name, "--out", name];
    Running::start(dir, name, before, &[&words[..], more].concat())
}

fn simulate(dir: &Path, file: &str, out: &str) {
    let output = lopa(dir, &["run", file, "--out", out]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Both gateways' nodes have the bits of the simulation.
fn same_bits(dir: &Path) {
    simulate(dir, "net.toml", "run");
    let of = |name: &str| states(&dir.join(name).join("state.json"));
    assert_eq!([of("attic"), of("cellar")].concat(), of("run"));
}

/// The largest distance between elements of two x.
fn distance(a: &serde_json::Value, b: &serde_json::Value) -> f64 {
    let elements = |x: &serde_json::Value| -> Vec<f64> {
        x.as_array().unwrap().iter().map(|element| element.as_f64().unwrap()).collect()
    };
    let (a, b) = (elements(a), elements(b));
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Where the nodes of a ring end, in a simulation.
fn optimum(dir: &Path, ring: &str, out: &str) -> serde_json::Value {
    let name = format!("{out}.toml");
    fs::write(dir.join(&name), ring.replace(ENDLESS, "iterations = 1000")).unwrap();
    simulate(dir, &name, out);
    states(&dir.join(out).join("state.json"))[0]["x"].clone()
}

/// Waits until both nodes of a gateway are at an optimum. Rounds say nothing here: nodes that were alone for a while are far ahead.
fn reach(gateway: &mut Running, optimum: &serde_json::Value) {
    let began = Instant::now();
    let mut events = Events::open(&gateway.url(), None);
    let steps = std::iter::from_fn(|| events.next()).map(|event| event.data);
    let is_near = |step: serde_json::Value| {
        let shared = &step["shared"];
        shared["nodes"] == 2
            && ["low", "high"].iter().all(|end| distance(&shared[end], optimum) < 1e-3)
    };
    let reached = steps.take_while(|_| began.elapsed() < PATIENCE).any(is_near);
    assert!(reached, "{}", gateway.all_said());
}

/// The last round in what a gateway has said.
fn round(said: &str) -> u64 {
    let last = said.lines().rev().find_map(|line| line.strip_prefix("round "));
    last.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn a_ring_on_two_machines_learns_the_bits_of_the_simulation() {
    let dir = tempfile::tempdir().unwrap();
    let machines = Namespaces::new();
    let addresses = machines.as_ref().map_or_else(loopback, Namespaces::addresses);
    let [attic, cellar] = machines.as_ref().map_or([vec![], vec![]], Namespaces::words);
    let text = file(&network(&[]), "", addresses.each_ref().map(String::as_str), "");
    fs::write(dir.path().join("net.toml"), text).unwrap();
    let _nodes = nodes(dir.path(), LONG);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &attic, &[]);
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &cellar, &[]);
    Running::finish_all([&mut attic, &mut cellar]);
    assert!(attic.said().contains("gateway cellar is there"), "{}", attic.said());
    same_bits(dir.path());
}

#[test]
fn loss_damage_delay_and_connections_that_break_change_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    let [attic, cellar] = loopback();
    let proxy = Proxy::new(attic.clone(), 4_000);
    let text = |attic: &str| file(&network(&[]), "", [attic, &cellar], "");
    fs::write(dir.path().join("net.toml"), text(&attic)).unwrap();
    // The later gateway dials: it reaches the other through the proxy only.
    fs::write(dir.path().join("far.toml"), text(proxy.address())).unwrap();
    let _nodes = nodes(dir.path(), LONG);
    let spoil = ["--drop", "0.1", "--corrupt", "0.05"];
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &spoil);
    let mut cellar = gateway(dir.path(), "far.toml", "cellar", &[], &spoil);
    Running::finish_all([&mut attic, &mut cellar]);
    assert!(proxy.lines() >= 2, "a second connection");
    same_bits(dir.path());
}

/// Whether this is the last that a gateway has said of the other. On a busy machine it may also come and go by itself.
fn now(said: &str, what: &str) -> bool {
    let last = said.lines().rev().find_map(|line| line.strip_prefix("gateway cellar is "));
    last == Some(what)
}

/// A gateway is lost and returns: its neighbours go on without its nodes, and take them back.
fn lose(how: impl Fn(&mut Running), back: impl Fn(&mut Running, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    let ring = endless();
    let all = optimum(dir.path(), &ring, "all");
    write_ring(dir.path(), &ring);
    let _nodes = nodes(dir.path(), SHORT);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &WATCHED);
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &WATCHED);
    let before = attic.wait_until(|said| round(said) > 20);
    how(&mut cellar);
    // A ring cannot go on with neighbours that are missing, unless they are given up. Rounds are shown late.
    attic.wait_until(|said| round(said) > round(&before) + 60);
    attic.wait_until(|said| now(said, "gone"));
    back(&mut cellar, dir.path());
    attic.wait_until(|said| now(said, "there"));
    reach(&mut attic, &all);
    reach(&mut cellar, &all);
}

#[test]
fn a_gateway_that_is_started_again_changes_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    write_ring(dir.path(), &network(&[]));
    let mut nodes = nodes(dir.path(), LONG);
    // While the last node stands still, the others do not get far.
    nodes[3].wait_until(|said| said.contains("line-3"));
    nodes[3].signal("STOP");
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &[]);
    attic.wait_until(|said| now(said, "there"));
    cellar.signal("KILL");
    attic.wait_until(|said| now(said, "gone"));
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &[]);
    attic.wait_until(|said| now(said, "there"));
    nodes[3].signal("CONT");
    Running::finish_all([&mut attic, &mut cellar]);
    same_bits(dir.path());
}

#[test]
fn a_gateway_that_is_killed_is_missed_and_taken_back() {
    lose(
        |cellar| cellar.signal("KILL"),
        |cellar, dir| *cellar = gateway(dir, "net.toml", "cellar", &[], &WATCHED),
    );
}

#[test]
fn a_gateway_that_hangs_is_missed_and_taken_back() {
    lose(|cellar| cellar.signal("STOP"), |cellar, _| cellar.signal("CONT"));
}

#[test]
fn without_a_gateway_the_others_reach_their_own_optimum() {
    let dir = tempfile::tempdir().unwrap();
    let ring = endless();
    let two = ring.replace("nodes = 4", "nodes = 2").replace("\"ring\"", "\"path\"");
    let [all, own] =
        [(&ring, "all"), (&two, "two")].map(|(ring, out)| optimum(dir.path(), ring, out));
    assert!(distance(&all, &own) > 1e-2, "{all} {own}");
    write_ring(dir.path(), &ring);
    let _nodes = nodes(dir.path(), SHORT);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &WATCHED);
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &[]);
    attic.wait_until(|said| round(said) > 3);
    cellar.signal("KILL");
    reach(&mut attic, &own);
}

#[test]
fn a_gateway_whose_nodes_have_finished_waits_for_the_others() {
    let dir = tempfile::tempdir().unwrap();
    write_ring(dir.path(), &network(&[]));
    let _nodes = nodes(dir.path(), SHORT);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    // It has written its results, and the other gateway was never there.
    attic.wait_until(|said| round(said) == 60);
    let written = dir.path().join("attic/state.json");
    attic.wait_until(|_| written.exists());
    attic.assert_running();
    // Nothing else ends it.
    attic.signal("INT");
    attic.wait_until(|said| said.contains("stopped: the boards here are paused"));
}

#[test]
fn a_gateway_forwards_frames_whose_key_it_does_not_have() {
    let dir = tempfile::tempdir().unwrap();
    let output = lopa(dir.path(), &["key", "net.key"]);
    assert!(output.status.success(), "{}", said(&output));
    let addresses = loopback();
    let addresses = addresses.each_ref().map(String::as_str);
    let text = |key: &str| file(&network(&[]), &format!("key = \"{key}\""), addresses, "");
    fs::write(dir.path().join("net.toml"), text("net.key")).unwrap();
    fs::write(dir.path().join("blind.toml"), text("not-here.key")).unwrap();
    let output = lopa(dir.path(), &["gateway", "blind.toml", "cellar"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("not-here.key"), "{}", said(&output));
    let _nodes = nodes(dir.path(), LONG);
    let blind = ["gateway", "blind.toml", "cellar", "--without-key"];
    let _cellar = Running::start(dir.path(), "cellar", &[], &blind);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    attic.wait_until(|said| round(said) == 60);
    let written = dir.path().join("attic/state.json");
    attic.wait_until(|_| written.exists());
    simulate(dir.path(), "net.toml", "run");
    assert_eq!(states(&written), states(&dir.path().join("run/state.json"))[..2]);
}

#[test]
fn gateways_meet_at_a_router_with_zenohs_own_configuration() {
    use zenoh::Wait;
    let dir = tempfile::tempdir().unwrap();
    let place = free_address();
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"router\"".to_owned()),
        ("listen/endpoints", format!("[\"tcp/{place}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    let router = zenoh::open(config).wait().unwrap();
    let client = format!(
        "{{ mode: \"client\", connect: {{ endpoints: [\"tcp/{place}\"] }}, \
         scouting: {{ multicast: {{ enabled: false }} }} }}"
    );
    fs::write(dir.path().join("zenoh.json5"), client).unwrap();
    let text = file(&network(&[]), "", ["", ""], "zenoh = \"zenoh.json5\"");
    fs::write(dir.path().join("net.toml"), &text).unwrap();
    let _nodes = nodes(dir.path(), LONG);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    let more = ["--zenoh", "zenoh.json5"];
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &more);
    Running::finish_all([&mut attic, &mut cellar]);
    same_bits(dir.path());
    drop(router);
}

#[test]
fn gateways_show_certificates_and_use_only_the_keys_they_may() {
    let dir = tempfile::tempdir().unwrap();
    let addresses = loopback();
    if !certificates::make(dir.path(), &addresses) {
        println!("skipped: there is no openssl that makes certificates");
        return;
    }
    fs::write(dir.path().join("zenoh.json5"), certificates::CONFIGURATION).unwrap();
    let with_tls = addresses.each_ref().map(|address| format!("tls/{address}"));
    let with_tls = with_tls.each_ref().map(String::as_str);
    let text = file(&network(&[]), "", with_tls, "zenoh = \"zenoh.json5\"");
    fs::write(dir.path().join("net.toml"), text).unwrap();
    let _nodes = nodes(dir.path(), LONG);
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    // One with another authority's certificate is not let in.
    let stranger = tempfile::tempdir().unwrap();
    assert!(certificates::make(stranger.path(), &addresses));
    for file in ["net.toml", "zenoh.json5"] {
        fs::copy(dir.path().join(file), stranger.path().join(file)).unwrap();
    }
    let words = ["gateway", "net.toml", "cellar", "--without-key"];
    let lines = format!("unix:{}/line-", dir.path().display());
    let text = fs::read_to_string(stranger.path().join("net.toml")).unwrap();
    fs::write(stranger.path().join("net.toml"), text.replace("unix:line-", &lines)).unwrap();
    let mut other = Running::start(
        stranger.path(),
        "cellar",
        &[("env"), "RUST_LOG=zenoh=debug"].map(String::from),
        &words,
    );
    let refused = |line: &str| line.contains("Unable to connect") && line.contains("ertificate");
    other.wait_until(|said| said.lines().any(refused));
    assert!(!attic.said().contains("gateway cellar is there"), "{}", attic.said());
    drop(other);
    let mut cellar = gateway(dir.path(), "net.toml", "cellar", &[], &[]);
    attic.wait_until(|said| now(said, "there"));
    // With a thread of its own to send, Zenoh breaks connections with certificates all the time.
    let threads = attic.threads();
    let [receive, send] =
        ["rx-", "tx-"].map(|name| threads.iter().any(|own| own.starts_with(name)));
    // Without any others, it has just ended.
    assert!(!send && (receive || threads.len() < 2), "{threads:?}");
    Running::finish_all([&mut attic, &mut cellar]);
    same_bits(dir.path());
}

#[test]
fn a_gateway_shows_its_own_nodes_in_a_browser() {
    let dir = tempfile::tempdir().unwrap();
    write_ring(dir.path(), &network(&[]));
    let _nodes = nodes(dir.path(), LONG);
    let words = ["gateway", "net.toml", "cellar", "--live", "127.0.0.1:0"];
    let mut cellar = Running::start(dir.path(), "cellar", &[], &words);
    let url = cellar.url();
    // Its nodes have met each other, not those of the other gateway, of which nothing is known here.
    let mut events = Events::open(&url, None);
    let states = |value: &serde_json::Value| value["nodes"]["state"].as_array().cloned();
    let [elsewhere, learning, done] =
        ["elsewhere", "learning", "done"].map(serde_json::Value::from);
    let shown = |state: &serde_json::Value| {
        Some([&elsewhere, &elsewhere, state, state].map(Clone::clone).to_vec())
    };
    let met = |states: &Vec<serde_json::Value>| states[2..] == [learning.clone(), learning.clone()];
    let now = std::iter::from_fn(|| events.next()).find_map(|e| states(&e.data).filter(met));
    assert_eq!(now, shown(&learning));
    let whole: serde_json::Value = serde_json::from_str(&get(&url, "/state.json").1).unwrap();
    assert_eq!(whole["nodes"]["why"]["0"], "gateway attic");
    let (_, metrics) = get(&url, "/metrics");
    let has = |family: &str, node: u32| {
        metrics.lines().any(|line| line.starts_with(&format!("{family}{{node=\"{node}\"")))
    };
    for family in ["lopa_node_alive", "lopa_node_round"] {
        assert!([2, 3].iter().all(|node| has(family, *node)), "{metrics}");
        assert!(![0, 1].iter().any(|node| has(family, *node)), "{metrics}");
    }
    // With the other gateway they learn. What was measured is that of the nodes here.
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    let (mut finished, mut last) = (false, serde_json::Value::Null);
    while let Some(event) = events.next() {
        finished |= states(&event.data) == shown(&done);
        last = event.data;
    }
    assert!(finished);
    assert_eq!((&last["round"], &last["phase"]), (&60.into(), &"finished".into()));
    Running::finish_all([&mut attic, &mut cellar]);
}

#[test]
fn nodes_join_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = network(&[("nodes = 4", "nodes = 3"), ("\"ring\"", "\"path\"")]);
    text += "[links]\nwiring = \"routed\"\n[fleet]\n";
    for node in 0..3 {
        let place = free_address();
        text += &format!(
            "[[fleet.gateway]]\nname = \"g{node}\"\nnodes = [{node}]\naddress = \"{place}\"\n"
        );
    }
    fs::write(dir.path().join("net.toml"), &text).unwrap();
    let start = |node: u32| {
        let (id, out) = (node.to_string(), format!("out-{node}"));
        let words = ["node", "net.toml", "--id", &id, "--silence", LONG, "--out", &out];
        Running::start(dir.path(), &format!("node-{node}"), &[], &words)
    };
    let mut nodes = [0, 1, 2].map(start);
    Running::finish_all(&mut nodes);
    simulate(dir.path(), "net.toml", "run");
    let of = |name: &str| states(&dir.path().join(name).join("state.json"));
    assert_eq!([of("out-0"), of("out-1"), of("out-2")].concat(), of("run"));
}

#[test]
fn a_line_that_is_not_there_is_waited_for_until_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    write_ring(dir.path(), &network(&[]));
    let mut attic = gateway(dir.path(), "net.toml", "attic", &[], &[]);
    attic.wait_until(|said| said.contains("waiting (Ctrl-C stops it): cannot open unix:line-0: "));
    // One that comes is taken, and the next one is waited for.
    let _node = node(dir.path(), 0, LONG);
    attic.wait_until(|said| said.contains("waiting (Ctrl-C stops it): cannot open unix:line-1: "));
    attic.signal("INT");
    assert_eq!(attic.status(), Some(1));
    let said = attic.said();
    assert!(
        said.contains("stopped before all boards were there: node 1: cannot open unix:line-1"),
        "{said}"
    );
    let waited: Vec<&str> = said.lines().filter(|line| line.starts_with("waiting")).collect();
    assert!(waited.windows(2).all(|lines| lines[0] != lines[1]), "said again: {said}");
    assert!(!dir.path().join("attic/state.json").exists());
}

#[test]
fn mistakes_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let write = |name: &str, addresses, more| {
        fs::write(dir.path().join(name), file(&network(&[]), "", addresses, more)).unwrap();
    };
    write("net.toml", ["127.0.0.1:1", "127.0.0.1:2"], "");
    write("nowhere.toml", ["", ""], "");
    write("odd.toml", ["127.0.0.1:1", "127.0.0.1:2"], "zenoh = \"odd.json5\"");
    fs::write(dir.path().join("odd.json5"), "{ mode: \"pear\" }").unwrap();
    for (arguments, what) in [
        (["gateway", "net.toml", "atic"], "did you mean \"attic\"?"),
        (["node", "net.toml", "--id=0"], "a node that joins by itself needs a [[fleet.gateway]]"),
        (["gateway", "missing.toml", "attic"], "cannot read missing.toml"),
    ] {
        let output = lopa(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
    }
    // What only a session finds out: the ports of its boards are open by then.
    write("taken.toml", [&taken, "127.0.0.1:2"], "");
    let _nodes = nodes(dir.path(), LONG);
    for (file, status, what) in [
        ("nowhere.toml", 2, "gateway attic has no address"),
        ("odd.toml", 2, "odd.json5"),
        ("taken.toml", 1, taken.as_str()),
    ] {
        let output = lopa(dir.path(), &["gateway", file, "attic"]);
        assert_eq!(output.status.code(), Some(status), "{file}: {}", said(&output));
        assert!(said(&output).contains(what), "{file}: {}", said(&output));
    }
}

/// The page that people follow.
const PAGE: &str = include_str!("../docs/gateways.md");

/// The blocks of the page in a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let parts = PAGE.split("\n```").skip(1).step_by(2);
    parts.filter_map(move |part| part.strip_prefix(language)?.strip_prefix('\n'))
}

/// The page's file with addresses of this machine.
fn on_this_machine(file: &str) -> String {
    let place = |text: String, host: u32| {
        let from = format!("192.168.1.{host}:7447");
        assert!(text.contains(&from), "{from}");
        text.replace(&from, &free_address())
    };
    (10..13).fold(file.to_owned(), place)
}

/// The commands of the page, in order, each with its comment.
fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let split = |line: &'static str| line.split_once('#').unwrap_or((line, ""));
    blocks("sh").flat_map(str::lines).map(split).map(|(a, b)| (a.trim(), b.trim()))
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn three_gateways_run_from_the_text_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = on_this_machine(blocks("toml").next().unwrap());
    let mut machines = Vec::new();
    let mut simulated = Vec::new();
    for (command, comment) in commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            // This program is built with it, and the firmware for that target.
            ["cargo", "install", .., "--path", "lopa-host", "--features", "zenoh"] => {}
            ["rustup", "target", "add", target] => {
                assert_eq!(target, lopa_host::chips::EMULATED.target);
            }
            ["lopa", "gateway", ..] => {
                let machine = dir.path().join(comment.replace(' ', "-"));
                fs::create_dir(&machine).unwrap();
                fs::write(machine.join("ring.toml"), &file).unwrap();
                // A machine that is busy with all six boards needs more patience.
                let words = [&words[1..], &["--silence", LONG]].concat();
                let running = Running::start(&machine, "gateway", &[], &words);
                machines.push((machine, running));
            }
            ["lopa", "run", ..] => {
                let (machine, _) = &machines[0];
                let output = lopa(machine, &words[1..]);
                assert!(output.status.success(), "{}", said(&output));
                simulated = states(&machine.join("simulated/state.json"));
            }
            // The next test runs them.
            ["lopa", "node", ..] => {}
            _ => panic!("no test runs this command: {command}"),
        }
    }
    assert_eq!(machines.len(), 3);
    Running::finish_all(machines.iter_mut().map(|(_, running)| running));
    let mut learned = Vec::new();
    for (machine, _) in &machines {
        learned.extend(states(&machine.join("learned/state.json")));
    }
    assert_eq!(learned, simulated);
}

#[test]
fn the_page_is_true_of_a_computer_that_is_a_node() {
    let dir = tempfile::tempdir().unwrap();
    let toml: Vec<&str> = blocks("toml").collect();
    // Boards at their ports are in the same file.
    let file = format!("{}\n{}", on_this_machine(toml[0]), toml[1]);
    fs::write(
        dir.path().join("ring.toml"),
        file.replace("[4, 5]", "[4, 5, 3]").replace("[2, 3]", "[2]"),
    )
    .unwrap();
    simulate(dir.path(), "ring.toml", "simulated");
    let commands: Vec<&str> =
        commands().map(|(command, _)| command).filter(|own| own.starts_with("lopa node")).collect();
    assert_eq!(commands.len(), 2);
    let words = |index: usize| commands[index].split_whitespace().skip(1).collect::<Vec<&str>>();
    let output = lopa(dir.path(), &words(0));
    assert!(said(&output).contains("with nodes = [3]"), "{}", said(&output));
    let port = format!("tcp:{}", free_address());
    let listens: Vec<&str> = words(1)
        .into_iter()
        .map(|word| if word.starts_with("tcp:") { port.as_str() } else { word })
        .collect();
    let mut node = Running::start(dir.path(), "node", &[], &listens);
    node.wait_until(|said| said.contains(&port));
}
