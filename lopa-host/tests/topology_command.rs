//! `lopa topology`: what it prints, what it writes, and how it reports mistakes.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{self, said};
use lopa_host::topology::{Kind, Topology, Weights, edge_list};
use serde_json::Value;

fn lopa(dir: &Path, arguments: &[&str]) -> Output {
    common::lopa(dir, &[&["topology"], arguments].concat())
}

/// The output of a command, which must succeed.
#[track_caller]
fn printed(dir: &Path, arguments: &[&str]) -> String {
    let output = lopa(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(dir: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(dir, &[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn a_network_is_described() {
    let dir = tempfile::tempdir().unwrap();
    let text = printed(dir.path(), &["grid", "3x4"]);
    for line in [
        "network        grid 3x4",
        "nodes          12",
        "links          17",
        "links per node 2 to 4, 2.83 on average",
        "UARTs          4 at node 5, the busiest",
        "diameter       5",
        "   4   0.3000  0: 0.2500  5: 0.2000  8: 0.2500",
        "  topology = \"grid 3x4\"",
    ] {
        assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
    }
    // As one argument or as two.
    assert_eq!(printed(dir.path(), &["grid 3x4"]), text);
    let figures = json(dir.path(), &["grid", "3x4"]);
    let spectrum = Weights::metropolis(&Topology::grid(3, 4).unwrap()).spectrum();
    assert_eq!(figures["rho"], spectrum.rho());
    assert_eq!(figures["rho_error"], spectrum.error);
    assert_eq!(figures["second_eigenvalue"], spectrum.second);
    assert_eq!(figures["last_eigenvalue"], spectrum.last);
    assert_eq!(figures["gap"], spectrum.gap);
    assert_eq!(figures["degrees"]["most"], 4);
    assert_eq!(figures["edges"].as_array().unwrap().len(), 17);
    assert!(text.contains(&format!("rho            {:.9} +- ", spectrum.rho())), "{text}");
}

#[test]
fn exact_weights_show_what_they_do_to_rho() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["grid", "3x4", "--exact", "--weights-out", "exact.csv"];
    let text = printed(dir.path(), &arguments);
    let weights = Weights::metropolis(&Topology::grid(3, 4).unwrap());
    let (before, after) = (weights.spectrum().rho(), weights.in_256ths().unwrap().spectrum().rho());
    let line = format!("rounding       to 1/256, rho was {before:.9} ({:+.1e})", after - before);
    assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
    let figures = json(dir.path(), &arguments);
    assert_eq!((&figures["rho"], &figures["rho_unrounded"]), (&after.into(), &before.into()));
    // Links of the corners have 1/4, those of the middle 1/5, which becomes 51/256.
    assert!(text.contains("   4   0.3008  0: 0.2500  5: 0.1992  8: 0.2500"), "{text}");
    let matrix = fs::read_to_string(dir.path().join("exact.csv")).unwrap();
    assert_eq!(Weights::parse(&matrix).unwrap(), weights.in_256ths().unwrap());
    assert!(json(dir.path(), &["grid", "3x4"]).get("rho_unrounded").is_none());

    let output = lopa(dir.path(), &["star", "--nodes", "300", "--exact"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("nodes 0 and 1"), "{}", said(&output));
}

#[test]
fn diameters_are_the_longest_shortest_paths() {
    let dir = tempfile::tempdir().unwrap();
    for (network, nodes, diameter) in [
        ("path", "7", 6),
        ("ring", "9", 4),
        ("star", "9", 2),
        ("complete", "5", 1),
        ("ring", "1", 0),
    ] {
        let figures = json(dir.path(), &[network, "--nodes", nodes]);
        assert_eq!(
            (&figures["diameter"], &figures["diameter_exact"]),
            (&diameter.into(), &true.into())
        );
    }
    let large = json(dir.path(), &["path", "--nodes", "30000"]);
    assert_eq!((&large["diameter"], &large["diameter_exact"]), (&29_999.into(), &false.into()));
}

#[test]
fn what_is_written_reads_back_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let random = ["erdos-renyi", "0.3", "--nodes", "23", "--seed", "5"];
    let files = ["--svg", "a.svg", "--edges", "a.txt", "--weights-out", "a.csv"];
    let text = printed(path, &[&random[..], &files[..]].concat());
    assert!(text.contains("topology = \"file a.txt\"\n  weights = \"a.csv\"\n"), "{text}");
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let kind: Kind = "erdos-renyi 0.3".parse().unwrap();
    let topology = kind.build(23, 5).unwrap();
    assert_eq!(edge_list::parse(&read("a.txt"), None).unwrap(), topology);
    assert_eq!(Weights::parse(&read("a.csv")).unwrap(), Weights::metropolis(&topology));
    assert!(read("a.svg").starts_with("<svg") && read("a.svg").contains("23 nodes"));
    assert_eq!(fs::read_dir(path).unwrap().count(), 3, "other files were left behind");

    // The files give the same network again: both, or the weights alone.
    let first = json(path, &random);
    for again in [&["file", "a.txt", "--weights", "a.csv"][..], &["--weights", "a.csv"]] {
        let again = json(path, again);
        assert_eq!((&again["edges"], &again["rho"]), (&first["edges"], &first["rho"]));
    }
    for network in
        [&["star", "--nodes", "40"][..], &["complete", "--nodes", "49"], &["torus", "7x3"]]
    {
        let files = ["--edges", "b.txt", "--weights-out", "b.csv"];
        printed(path, &[network, &files[..]].concat());
        let weights = Weights::parse(&read("b.csv")).unwrap();
        let topology = edge_list::parse(&read("b.txt"), None).unwrap();
        assert_eq!(weights, Weights::metropolis(&topology), "{network:?}");
    }
}

#[test]
fn a_graph_found_for_a_rho_is_saved_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let arguments = ["--rho", "0.79", "--nodes", "10", "--edges", "found.txt"];
    let text = printed(path, &arguments);
    assert!(text.contains("wanted         0.79, "), "{text}");
    let table = text.split("its file:\n").nth(1).unwrap();
    let figures = json(path, &arguments);
    let rho = figures["rho"].as_f64().unwrap();
    assert!((rho - 0.79).abs() < 1e-3, "{rho}");
    assert_eq!(figures["rho_wanted"], 0.79);

    // `lopa run` and this command can read the table it prints.
    let toml = format!(
        "{table}\n[problem]\nkind = \"logistic\"\n[algorithm]\nname = \"lopa-gt\"\nalpha = 0.3\nbeta = 0.05\n\
         lambda = 0.05\ngamma = 0.3\ntau = 0.5\nbatch = 10\n[run]\niterations = 3\n"
    );
    fs::create_dir(path.join("sub")).unwrap();
    fs::write(path.join("sub/network.toml"), &toml).unwrap();
    fs::rename(path.join("found.txt"), path.join("sub/found.txt")).unwrap();
    let again = json(path, &["sub/network.toml"]);
    assert_eq!((&again["rho"], &again["edges"]), (&figures["rho"], &figures["edges"]));
    let run = common::lopa(path, &["run", "sub/network.toml", "--out", "results"]);
    assert!(run.status.success(), "{}", said(&run));

    let far = lopa(path, &["--rho", "0.99", "--nodes", "3"]);
    assert!(far.status.success() && said(&far).contains("with a rho closer to 0.99 was found"));
}

#[test]
fn every_kind_is_listed_with_its_rho() {
    let dir = tempfile::tempdir().unwrap();
    let text = printed(dir.path(), &["list"]);
    assert_eq!(printed(dir.path(), &["--list"]), text);
    // The library's own list of names.
    let error = "qqqqqqqq".parse::<Kind>().unwrap_err().to_string();
    let forms = error.split("valid forms are ").nth(1).unwrap();
    for form in forms.split(", ") {
        let name = form.trim_matches('`').split(' ').next().unwrap();
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        assert!(line.is_some(), "{name} is not in\n{text}");
    }
    assert!(text.contains("\nring                   10  0.7616  "), "{text}");
    let entries = json(dir.path(), &["list"]);
    let ring = entries.as_array().unwrap().iter().find(|entry| entry["network"] == "ring").unwrap();
    assert_eq!(ring["rho"], Weights::metropolis(&Topology::ring(10)).spectrum().rho());
}

#[test]
fn every_mistake_exits_with_status_2_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    fs::write(path.join("apart.txt"), "0 1\n2 3\n").unwrap();
    fs::write(path.join("bad.csv"), "0.5,0.5\n0.4,0.6\n").unwrap();
    fs::write(path.join("good.csv"), "0.5,0.5\n0.5,0.5\n").unwrap();
    fs::write(path.join("bad.toml"), "[network]\nnodez = 3\n").unwrap();
    for (arguments, expected) in [
        (&["rign", "--nodes", "4"][..], "did you mean `ring`?"),
        (&["moebius"], "valid forms are `path`, `ring`"),
        (&["grid", "three"], "for example `grid 3x4`"),
        (&["ring"], "`ring` needs a node count: pass --nodes"),
        (&["ring", "--nodes", "0"], "at least one node"),
        (&["ring", "--nodes", "4294967295"], "too large"),
        (&["ring", "--nodes", "-3"], "--nodes"),
        (&["grid", "3x4", "--nodes", "13"], "has 12 nodes, not 13"),
        (&["geometric", "0.001", "--nodes", "50"], "connected"),
        (&["file", "apart.txt", "--nodes", "4"], "no path leads from node 0 to nodes 2, 3"),
        (&["file", "nowhere.txt"], "nowhere.txt"),
        (&["--rho", "1", "--nodes", "10"], "rho must be in [0, 1), got"),
        (&["--rho", "-0.1", "--nodes", "10"], "rho must be in [0, 1), got"),
        (&["--rho", "nan", "--nodes", "10"], "rho must be in [0, 1), got"),
        (&["--rho", "0.5"], "--rho needs a node count: pass --nodes"),
        (&["--rho", "0.5", "--nodes", "100000"], "at most 1000"),
        (&["ring", "--rho", "0.5", "--nodes", "10"], "omit the name"),
        (&[], "name a network"),
        (&["ring", "--list"], "omit the name"),
        (&["ring", "--nodes", "2", "--weights", "bad.csv"], "bad.csv: row 0, column 1"),
        (&["ring", "--nodes", "3", "--weights", "good.csv"], "for 2 nodes, but the network has 3"),
        (&["--nodes", "3", "--weights", "good.csv"], "for 2 nodes, not 3"),
        (&["--weights", "none.csv"], "none.csv"),
        (&["none.toml"], "none.toml"),
        (&["bad.toml"], "did you mean `nodes`?"),
        (&["bad.toml", "--nodes", "3"], "omit --nodes"),
        (&["ring", "--nodes", "20000", "--weights-out", "a.csv"], "at most 10000 nodes"),
        (&["ring", "--nodes", "4", "--svg", "a", "--edges", "a"], "name a separate file for each"),
        (&["ring", "--nodes", "4", "--svg", "no/such/folder/a.svg"], "cannot write no/such"),
        (&["ring", "--nodes", "4", "--svg", "."], "cannot write ."),
    ] {
        let output = lopa(path, arguments);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(path).unwrap().count(), 4, "something was written");
}

#[test]
fn files_are_replaced_together_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    fs::write(path.join("a.txt"), "earlier").unwrap();
    let output =
        lopa(path, &["ring", "--nodes", "4", "--edges", "a.txt", "--weights-out", "no/b.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "earlier");
    assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    printed(path, &["ring", "--nodes", "4", "--edges", "a.txt"]);
    assert!(fs::read_to_string(path.join("a.txt")).unwrap().contains("4 nodes, 4 links"));
}
