//! Results stay the same, bit for bit, from one version to the next.
//!
//! Each line of `same_results.table` is one command and the hashes of what it writes, so a change of the code that changes a
//! result by accident fails here. For intended changes, `LOPA_BLESS=1 cargo test -p lopa-host same_results` rewrites the
//! table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::common::{lopa, network, said};

/// Where the hashes are kept.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/same_results.table");

const STEPS: &str = "alpha = 0.3\nbeta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5";
const GT: &str = "name = \"lopa-gt\"";
const SOURCE: &str = "source = \"synthetic\"";
const RING: &str = "topology = \"ring\"";
const LOGISTIC: &str = "kind = \"logistic\"";
const RECORD: &str = "record_every = 20";
const START: &str = "x0 = -3.0";

/// A run: its name, and what it changes in the network of all tests.
type Case = (&'static str, Vec<(&'static str, String)>);

/// A case with changes.
fn case<const N: usize>(name: &'static str, changes: [(&'static str, &str); N]) -> Case {
    (name, changes.map(|(from, to)| (from, to.to_owned())).into())
}

/// The runs: every algorithm, problem, partition and wiring, and some of every other kind.
fn cases() -> Vec<Case> {
    let csv =
        |more: &str| format!("source = \"csv\"\nfile = \"points.csv\"\nintercept = false\n{more}");
    let links = |more: &str| format!("{START}\n[links]\n{more}");
    let algorithm = |name: &'static str, keys: &str| {
        case(name, [(GT, &format!("name = \"{name}\"")), (STEPS, keys)])
    };
    let dealt = |name: &'static str, more: &str| case(name, [(SOURCE, &csv(more))]);
    let wired = |name: &'static str, more: &str| case(name, [(START, &links(more))]);
    let graph = |name: &'static str, topology: &str| {
        case(name, [("nodes = 4", "nodes = 12"), (RING, &format!("topology = \"{topology}\""))])
    };
    let three = "alpha = 0.1\nbeta = 0.05\nlambda = 0.05";
    let four = "alpha = 0.1\nbeta = 0.05\nlambda = 0.05\ngamma = 0.4";
    vec![
        case("lopa-gt", []),
        case("lopa-lg", [(GT, "name = \"lopa-lg\"")]),
        algorithm("spdb", three),
        algorithm("ma-dsbo", three),
        algorithm("gossip-dsbo", three),
        algorithm("slam", three),
        algorithm("mdbo", STEPS),
        algorithm("vrdbo", STEPS),
        algorithm("d-soba-so", four),
        algorithm("d-soba-fo", four),
        algorithm("sparkle-extra", four),
        algorithm("sparkle-ed", four),
        algorithm("sparkle-gt", four),
        algorithm("dgd", "alpha = 0.1"),
        algorithm("dsgt", "alpha = 0.1"),
        case("full-batches", [("batch = 10", "batch = \"full\"")]),
        case("all-metrics", [(RECORD, "record_every = 20\nmetrics = \"all\"\nper_node = true")]),
        case("random-start", [(START, "x0 = { random = 0.5 }\nseed = 9")]),
        case(
            "quadratic",
            [(LOGISTIC, "kind = \"quadratic\"\nouter = 7\ninner = 5"), (START, "x0 = 0.5")],
        ),
        case("ridge", [(LOGISTIC, "kind = \"ridge\""), (SOURCE, &csv(""))]),
        case("meta-logistic", [(LOGISTIC, "kind = \"meta-logistic\"\nnu = 4.0")]),
        case("meta-squared", [(LOGISTIC, "kind = \"meta-squared\"\nnu = 4.0"), (SOURCE, &csv(""))]),
        case(
            "shared-layer",
            [
                (LOGISTIC, "kind = \"shared-layer\"\nhidden = 3\nmu = 0.1"),
                (SOURCE, "source = \"csv\"\nfile = \"classes.csv\"\nintercept = false"),
                (START, "x0 = { random = 0.5 }"),
            ],
        ),
        dealt("csv-iid", ""),
        dealt("csv-raw-same", "standardise = false\nvalidation = \"same\"\nsamples = 90"),
        dealt("csv-label-subsets", "partition = \"label-subsets 1\""),
        dealt("csv-equal-subsets", "partition = \"equal-subsets 1\""),
        dealt("csv-dirichlet", "partition = \"dirichlet 0.5\""),
        dealt("csv-label-ratio", "partition = \"label-ratio\""),
        dealt("csv-test-file", "test_file = \"points.csv\"\nvalidation = 0.25"),
        case("libsvm", [(SOURCE, "source = \"libsvm\"\nfile = \"points.svm\"")]),
        case("folders", [(SOURCE, "source = \"csv\"\ndir = \"folders\"")]),
        wired(
            "direct",
            "wiring = \"direct\"\nchunk = 8\ndrop = 0.1\ncorrupt = 0.05\nreorder = 0.05",
        ),
        wired("routed", "wiring = \"routed\"\nduplicate = 0.1\ndelay = 900"),
        wired("bus", "wiring = \"bus\"\nchunk = 5\nbaud = 115200"),
        wired("bits-8", "bits = 8\nsimulate = false"),
        wired("bits-3", "bits = 3\nunit = -20\nsimulate = false"),
        case(
            "bits-4-lg",
            [(GT, "name = \"lopa-lg\""), (START, &links("bits = 4\nsimulate = false"))],
        ),
        graph("path", "path"),
        graph("star", "star"),
        graph("grid", "grid 3x4"),
        graph("torus", "torus 3x4"),
        graph("complete", "complete"),
        graph("erdos-renyi", "erdos-renyi 0.3"),
        graph("geometric", "geometric 0.5"),
        graph("small-world", "small-world 4 0.2"),
        graph("rho", "rho 0.7"),
    ]
}

/// Numbers that look random, the same everywhere.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from((state >> 33) as u32) / f64::from(1_u32 << 31)
    }
}

/// Data files for the runs that read some.
fn data(dir: &Path) {
    let mut number = numbers();
    let (mut points, mut classes, mut svm) = (String::new(), String::new(), String::new());
    let mut nodes = vec![String::new(); 4];
    for row in 0..240 {
        let features: Vec<f64> = (0..6).map(|_| number() * 4.0 - 1.0).collect();
        let label = u8::from(features[0] + features[1] > 2.0 * features[2] + number());
        let class = (features[3] * 1.2 + 1.3) as u8 % 3;
        let text: Vec<String> = features.iter().map(f64::to_string).collect();
        writeln!(points, "{label},{}", text.join(",")).unwrap();
        writeln!(classes, "{class},{}", text.join(",")).unwrap();
        writeln!(svm, "{label} 1:{} 4:{}", text[0], text[3]).unwrap();
        writeln!(nodes[row % 4], "{label},{}", text.join(",")).unwrap();
    }
    fs::write(dir.join("points.csv"), points).unwrap();
    fs::write(dir.join("classes.csv"), classes).unwrap();
    fs::write(dir.join("points.svm"), svm).unwrap();
    for (node, text) in nodes.iter().enumerate() {
        let folder = dir.join(format!("folders/node-{node}"));
        fs::create_dir_all(&folder).unwrap();
        for name in ["train.csv", "val.csv", "test.csv"] {
            fs::write(folder.join(name), text).unwrap();
        }
    }
}

/// The first digits of a hash: enough to rule out a match by chance.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A table without the column that differs in every run.
fn without_seconds(csv: &str) -> String {
    let seconds = csv.lines().next().unwrap().split(',').position(|name| name == "seconds");
    let row = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(at, _)| Some(*at) != seconds);
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",") + "\n"
    };
    csv.lines().map(row).collect()
}

/// Runs a command that must succeed.
fn command(dir: &Path, arguments: &[&str]) {
    let output = lopa(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
}

/// One line of the table: a name, and the hashes of some files.
fn line(name: &str, dir: &Path, files: &[&str]) -> String {
    let mut line = format!("{name:<20}");
    for file in files.iter().filter(|file| dir.join(file).exists()) {
        let bytes = fs::read(dir.join(file)).unwrap();
        let hash = match file.ends_with(".csv") {
            true => hash(without_seconds(&String::from_utf8(bytes).unwrap()).as_bytes()),
            false => hash(&bytes),
        };
        write!(line, " {file} {hash}").unwrap();
    }
    line + "\n"
}

#[test]
fn results_match_their_recorded_hashes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    data(path);
    let mut table = String::new();
    for (name, changes) in cases() {
        let changes: Vec<_> = changes.iter().map(|(from, to)| (*from, to.as_str())).collect();
        fs::write(path.join("network.toml"), network(&changes)).unwrap();
        command(path, &["run", "network.toml", "--out", name]);
        table += &line(name, &path.join(name), &["state.json", "metrics.csv", "nodes.csv"]);
    }
    fs::write(path.join("gt.toml"), network(&[])).unwrap();
    fs::write(path.join("lg.toml"), network(&[(GT, "name = \"lopa-lg\"")])).unwrap();
    command(path, &["compare", "gt.toml", "lg.toml", "--seeds", "2", "--out", "compare"]);
    table += &line("compare", &path.join("compare"), &["compare.csv"]);
    command(path, &["sweep", "gt.toml", "--alpha", "0.1,0.3", "--seeds", "2", "--out", "sweep"]);
    table += &line("sweep", &path.join("sweep"), &["sweep.csv"]);
    let range = ["--outer-range", "0.001:1"];
    let tune = ["tune", "gt.toml", "lg.toml", "--trials", "5", "--out", "tune"];
    command(path, &[&tune[..], &range].concat());
    table += &line("tune", &path.join("tune"), &["tune.csv"]);
    command(path, &["shard", "gt.toml", "--out", "shard"]);
    table += &line("shard", &path.join("shard"), &["node-0.blob", "node-3.blob"]);
    if std::env::var_os("LOPA_BLESS").is_some() {
        fs::write(TABLE, &table).unwrap();
    }
    let want = fs::read_to_string(TABLE).unwrap();
    for (found, want) in table.lines().zip(want.lines()) {
        assert_eq!(found, want);
    }
    assert_eq!(table, want);
}
