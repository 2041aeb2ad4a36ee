//! `--live`: what browsers and scrapers get, and that a run does not depend on them.

#[cfg(unix)]
#[path = "live/browser.rs"]
mod browser;
#[path = "live/client.rs"]
pub mod client;
#[path = "live/scraped.rs"]
mod scraped;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lopa_core::wire::Counters;
use lopa_host::config::Experiment;
use lopa_host::live::{About, Live, Node, Phase, State};
use lopa_host::metrics::column;
use lopa_host::record::Record;
use lopa_host::run::{Options, Prepared};
use serde_json::Value;

use crate::common::{lopa, network, said};
use client::{Events, get, host, request};

/// The network of the other tests, in the folder of no file.
fn prepared(changes: &[(&str, &str)]) -> Prepared {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net.toml");
    fs::write(&path, network(changes)).unwrap();
    Prepared::new(Experiment::read(&path).unwrap()).unwrap()
}

/// A live view of it, on a port of its own.
fn live(prepared: &Prepared, title: &str) -> Live {
    Live::start(&"127.0.0.1:0".parse().unwrap(), About::of(prepared, title)).unwrap()
}

/// What a run reports, without a run.
fn report(live: &Live, round: u64, states: &[State]) {
    let node = |(number, state): (usize, &State)| {
        let mut node = Node::new(*state, round);
        node.values = [Some(0.1 * (number + 1) as f64), Some(0.2), Some(0.9), Some(0.8), None];
        node.counters = Some(Counters { sent: 1_000, repaired: 10, ..Counters::default() });
        node.neighbours = Some([2, 0, 0]);
        node
    };
    let x = [-3.0 + round as f32 * 0.01; 24];
    let nodes: Vec<Node> = states.iter().enumerate().map(node).collect();
    live.feed().nodes(nodes, [], states.iter().map(|_| &x[..]));
    live.feed().round(round);
}

/// A record of a loss, an accuracy and a distance that get smaller, up to a round.
fn record(rounds: u64) -> Record {
    let names = ["iteration", "outer_loss", "test_accuracy", "consensus", "bytes"];
    let mut record = Record::new(names.map(column).into());
    for round in (0..=rounds).step_by(10) {
        let share = 1.0 / (1.0 + round as f64);
        let values = [round as f64, 0.3 + 0.4 * share, 0.9 - 0.3 * share, share * share];
        record.push(values.into_iter().chain([300.0 * round as f64]).map(Some).collect());
    }
    record
}

#[test]
fn a_run_that_is_watched_learns_the_same_bits() {
    for links in ["", "[links]\ncorrupt = 0.05\n\n"] {
        let prepared = prepared(&[
            ("[run]", &*format!("{links}[run]")),
            ("record_every = 20", "record_every = 1"),
            ("iterations = 60", "iterations = 30"),
        ]);
        let alone = prepared.run(Options::default(), |_| ()).unwrap();
        let live = live(&prepared, "net.toml");
        let mut events = Events::open(live.url(), None);
        let first = events.next().unwrap();
        assert_eq!(first.name, "whole");
        assert_eq!(first.data["about"]["title"], "net.toml");
        let options = Options { watch: Some(live.feed()), ..Options::default() };
        let (mut last, mut rows) = (Value::Null, 0);
        let mut take = |event: client::Event| {
            rows += event.data["rows"].as_array().map_or(0, Vec::len);
            last = event.data;
            last["round"].as_u64()
        };
        let mut known = take(first);
        let outcome = prepared
            .run(options, |round| {
                // In the middle of the run, it goes on only when the browser has seen where it is.
                while round == 15 && known != Some(15) {
                    known = take(events.next().unwrap());
                }
            })
            .unwrap();
        live.feed().end(Phase::Finished, "");
        let values = |record: &Record| {
            let kept = record.only(|name| name != "seconds");
            kept.csv()
        };
        assert_eq!(values(&outcome.record), values(&alone.record));
        for (watched, alone) in outcome.nodes().iter().zip(alone.nodes()) {
            let bits = |floats: &[f32]| floats.iter().map(|a| a.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(watched.x), bits(alone.x));
            assert_eq!(bits(watched.theta), bits(alone.theta));
        }
        // All rows, and the end, even though nobody waited.
        drop(live);
        for event in std::iter::from_fn(|| events.next()) {
            assert_eq!(event.name, "step");
            take(event);
        }
        assert_eq!((last["round"].as_u64(), last["phase"].as_str()), (Some(30), Some("finished")));
        // Where it starts, and after every round.
        assert_eq!(rows, 31);
    }
}

#[test]
fn a_browser_that_comes_late_or_again_starts_with_everything() {
    let prepared = prepared(&[]);
    let live = live(&prepared, "net.toml");
    live.feed().record(&record(100), Some(7));
    report(&live, 100, &[State::Learning; 4]);
    // One that is there from the start gets it in parts, as it is gathered.
    let mut early = Events::open(live.url(), None);
    let (mut rows, mut nodes, mut round) = (0, false, None);
    while rows < 11 || !nodes || round != Some(100) {
        let event = early.next().unwrap();
        rows += event.data["rows"].as_array().map_or(0, Vec::len);
        nodes |= event.data["nodes"]["state"].is_array();
        round = event.data["round"].as_u64();
    }
    let mut events = Events::open(live.url(), None);
    let all = events.next().unwrap();
    assert_eq!(all.name, "whole");
    assert_eq!(all.data["nodes"]["state"][3], "learning");
    assert_eq!(all.data["columns"][5]["name"], "repaired");
    assert_eq!(all.data["links"]["lost"][0], 0.01);
    assert_eq!(all.data["shared"]["mean"].as_array().unwrap().len(), 24);
    let state: Value = serde_json::from_str(&get(live.url(), "/state.json").1).unwrap();
    assert_eq!(state["about"], all.data["about"]);
    assert_eq!(state["rows"], all.data["rows"]);

    // With a number that it has seen, a browser gets only the news.
    report(&live, 101, &[State::Learning, State::Learning, State::Dead, State::Learning]);
    let news = events.next().unwrap();
    assert_eq!((news.name.as_str(), &news.data["nodes"]["state"][2]), ("step", &"dead".into()));
    let mut again = Events::open(live.url(), Some(&all.id));
    let repeated = again.next().unwrap();
    assert_eq!((&repeated.id, &repeated.data), (&news.id, &news.data));
    // With one of another server, or one that it cannot have seen, it gets everything.
    let (life, _) = all.id.split_once('-').unwrap();
    for id in ["ffffffff-1".to_owned(), format!("{life}-999999"), "nonsense".to_owned()] {
        assert_eq!(Events::open(live.url(), Some(&id)).next().unwrap().name, "whole", "{id}");
    }
    // One that ends does not keep them waiting.
    drop(live);
    assert!(events.next().is_none() && again.next().is_none());
}

#[test]
fn requests_that_are_not_understood_are_refused() {
    let prepared = prepared(&[]);
    let live = live(&prepared, "net.toml");
    let url = live.url().to_owned();
    let host = host(&url);
    let named = format!("Host: {host}");
    let many = "a: b\r\n".repeat(100);
    let long = "a".repeat(10_000);
    for (text, status) in [
        (format!("GET / HTTP/1.1\r\n{named}\r\n\r\n"), "200"),
        (format!("HEAD / HTTP/1.1\r\n{named}\r\n\r\n"), "200"),
        (format!("HEAD /events HTTP/1.1\r\n{named}\r\n\r\n"), "200"),
        (format!("GET /nothing HTTP/1.1\r\n{named}\r\n\r\n"), "404"),
        (format!("GET /../Cargo.toml HTTP/1.1\r\n{named}\r\n\r\n"), "404"),
        (format!("POST / HTTP/1.1\r\n{named}\r\nContent-Length: 4\r\n\r\nstop"), "405"),
        (format!("DELETE /metrics HTTP/1.1\r\n{named}\r\n\r\n"), "405"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "403"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".into(), "403"),
        (format!("GET / HTTP/1.1\r\n{named}\r\n{many}\r\n"), "431"),
        (format!("GET /{long} HTTP/1.1\r\n{named}\r\n\r\n"), "431"),
        ("\0\0\0\0\r\n\r\n".into(), "400"),
        ("GET /".into(), "400"),
    ] {
        let answer = request(&host, text.as_bytes());
        let line = answer.lines().next().unwrap_or_default().to_owned();
        assert_eq!(line.split(' ').nth(1), Some(status), "{text:.60?}: {line:?}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Security-Policy: default-src 'none'"), "{head}");
        assert!(!text.starts_with("HEAD") || body.is_empty(), "{body}");
        assert!(!head.contains("Access-Control"), "{head}");
    }
    for (path, kind) in
        [("/", "text/html"), ("/page.js", "text/javascript"), ("/style.css", "text/css")]
    {
        let (head, body) = get(&url, path);
        assert!(head.contains(&format!("Content-Type: {kind}")) && body.len() > 1_000, "{head}");
    }
}

#[test]
fn many_connections_and_silent_ones_stop_nobody() {
    let prepared = prepared(&[]);
    let live = live(&prepared, "net.toml");
    let host = host(live.url());
    // They say nothing, and stay.
    let silent: Vec<TcpStream> = (0..80).map(|_| TcpStream::connect(&host).unwrap()).collect();
    report(&live, 1, &[State::Learning; 4]);
    drop(silent);
    let mut status = String::new();
    while status != "200" {
        let (head, _) = get(live.url(), "/state.json");
        status = head.split(' ').nth(1).unwrap_or_default().to_owned();
        assert!(["200", "503", ""].contains(&status.as_str()), "{head}");
    }
}

#[test]
fn a_browser_that_does_not_read_is_dropped() {
    let prepared = prepared(&[]);
    let live = live(&prepared, "net.toml");
    let host = host(live.url());
    let mut deaf = TcpStream::connect(&host).unwrap();
    write!(deaf, "GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    while live.streams() == 0 {
        std::thread::yield_now();
    }
    // What fits into the buffers of both ends is not the server's to notice, so there is a lot of news.
    let columns = (0..60).map(|number| column(&format!("column_{number}")));
    let mut record = Record::new(columns.collect());
    while live.streams() > 0 {
        for _ in 0..500 {
            let len = record.rows().len() as f64;
            record.push((0..60).map(|at| Some(1.0 / (1.0 + f64::from(at) + len))).collect());
        }
        live.feed().record(&record, None);
        std::thread::sleep(Duration::from_millis(100));
    }
    let (_, metrics) = get(live.url(), "/metrics");
    assert!(metrics.contains("lopa_live_dropped_total 1"), "{metrics}");
    drop(deaf);
}

#[test]
fn other_machines_need_the_token() {
    let prepared = prepared(&[]);
    let live =
        Live::start(&"0.0.0.0:0".parse().unwrap(), About::of(&prepared, "net.toml")).unwrap();
    let (_, token) = live.url().split_once("/?token=").unwrap();
    let port = live.url().split('/').nth(2).unwrap().rsplit(':').next().unwrap();
    let host = format!("127.0.0.1:{port}");
    let ask = |path: &str, more: &str| {
        let text = format!("GET {path} HTTP/1.1\r\nHost: any.example\r\n{more}\r\n");
        request(&host, text.as_bytes())
    };
    for path in ["/", "/state.json", "/metrics", "/events", "/page.js"] {
        let answer = ask(path, "");
        assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains(token), "{answer}");
        assert!(ask(path, "Authorization: Bearer 00\r\n").starts_with("HTTP/1.1 401"));
    }
    let first = ask(&format!("/?token={token}"), "");
    assert!(first.starts_with("HTTP/1.1 303") && first.contains("\r\nLocation: /\r\n"), "{first}");
    let (_, cookie) = first.split_once("Set-Cookie: ").unwrap();
    let own = cookie.split(';').next().unwrap();
    assert!(cookie.lines().next().unwrap().contains("HttpOnly; SameSite=Lax"), "{cookie}");
    assert!(ask("/state.json", &format!("Cookie: {own}\r\n")).starts_with("HTTP/1.1 200"));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert!(ask("/metrics", &bearer).starts_with("HTTP/1.1 200"));
}

#[cfg(unix)]
#[test]
fn the_command_says_where_it_can_be_watched() {
    let dir = tempfile::tempdir().unwrap();
    let endless = network(&[("iterations = 60", "iterations = 1000000000")]);
    fs::write(dir.path().join("net.toml"), endless).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lopa"))
        .current_dir(dir.path())
        .args(["run", "net.toml", "--out", "out", "--live", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("live: ").unwrap().to_owned();
    let mut events = Events::open(&url, None);
    while events.next().unwrap().data["round"].as_u64().unwrap() == 0 {}
    let number = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &number]).status().unwrap().success());
    // It ends although somebody follows, who is told.
    let last = std::iter::from_fn(|| events.next()).last().unwrap();
    assert_eq!(last.data["phase"], "stopped");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("interrupted after round"), "{rest}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), network(&[])).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, what) in [("net.toml", "is not an address"), (taken.as_str(), "cannot listen on")]
    {
        let output = lopa(dir.path(), &["run", "net.toml", "--out", "out", "--live", address]);
        assert_eq!(output.status.code(), Some(2), "{address}");
        assert!(said(&output).contains(what), "{}", said(&output));
    }
    assert!(!Path::new(&dir.path().join("out/state.json")).exists());
}

#[cfg(unix)]
#[test]
#[ignore = "needs QEMU: tests/run.sh runs it"]
fn an_emulated_board_that_is_killed_is_shown_as_dead() {
    let dir = tempfile::tempdir().unwrap();
    let rounds = network(&[("iterations = 60", "iterations = 300")]);
    fs::write(dir.path().join("net.toml"), rounds).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lopa"))
        .current_dir(dir.path())
        .args([
            "fleet",
            "net.toml",
            "--emulate",
            "--out",
            "out",
            "--kill",
            "2@20",
            "--drop",
            "0.02",
        ])
        .args(["--live", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (send, url) = mpsc::channel();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut all = String::new();
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap_or(0) > 0 {
            if let Some(url) = line.trim().strip_prefix("live: ") {
                let _ = send.send(url.to_owned());
            }
            all += &std::mem::take(&mut line);
        }
        all
    });
    let events = url.recv().map(|url| Events::open(&url, None));
    let (mut died, mut rows, mut lost) = (false, 0, false);
    for event in events.into_iter().flat_map(|mut events| std::iter::from_fn(move || events.next()))
    {
        let states = &event.data["nodes"]["state"];
        died |= states[2] == "dead" && states[1] != "dead";
        rows += event.data["rows"].as_array().map_or(0, Vec::len);
        let links = event.data["links"]["lost"].as_array();
        lost |= links.is_some_and(|links| links.iter().any(|lost| lost.as_f64() > Some(0.0)));
    }
    let status = child.wait().unwrap();
    let printed = reader.join().unwrap();
    assert!(status.success(), "{printed}");
    assert!(died && rows > 0 && lost, "died: {died}, {rows} rows, lost: {lost}");
}
