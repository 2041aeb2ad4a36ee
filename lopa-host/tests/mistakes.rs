//! Every mistake gives a message that says what to do and status 2, and keeps earlier results.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::{NETWORK, lopa, network, said};
use flate2::Compression;
use flate2::write::GzEncoder;

/// A folder with a valid file and its results.
struct Place {
    dir: tempfile::TempDir,
    before: Vec<u8>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("network.toml"), NETWORK).unwrap();
        let output = lopa(dir.path(), &["run", "network.toml", "--out", "results"]);
        assert!(output.status.success(), "{output:?}");
        let before = fs::read(dir.path().join("results/state.json")).unwrap();
        Self { dir, before }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Checks that a file with `to` in place of `from` is refused with these words.
    fn refuses(&self, from: &str, to: &str, words: &str) {
        fs::write(self.path().join("network.toml"), network(&[(from, to)])).unwrap();
        self.refuses_command(&["run", "network.toml", "--out", "results"], words);
    }

    fn refuses_command(&self, arguments: &[&str], words: &str) {
        let output = lopa(self.path(), arguments);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {error}");
        assert!(error.contains(words), "{words}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(fs::read(self.path().join("results/state.json")).unwrap(), self.before);
    }

    fn refuses_data(&self, table: &str, words: &str) {
        self.refuses("source = \"synthetic\"", table, words);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_missing_file() {
    let place = Place::new();
    place.refuses_command(&["run", "no.toml", "--out", "results"], "cannot read no.toml");
    place.refuses("x0 = -3.0", "x0 = \"missing.csv\"", "cannot read");
    place.refuses("\"ring\"", "\"file missing.txt\"", "missing.txt");
    place.refuses("\"ring\"", "\"ring\"\nweights = \"missing.csv\"", "cannot read");
    place.refuses_data("source = \"mnist\"\ndir = \"nowhere\"", "nowhere");
    place.refuses_data("source = \"libsvm\"\nfile = \"nowhere.svm\"", "nowhere.svm");
    place.refuses_data("source = \"csv\"\nfile = \"nowhere.csv\"", "nowhere.csv");
}

#[test]
fn a_missing_key() {
    let place = Place::new();
    place.refuses("iterations = 60", "", "missing field `iterations`");
    place.refuses_data("source = \"mnist\"", "data.dir is missing");
    place.refuses_data("source = \"csv\"", "data.dir or data.file is missing");
    place.refuses_data("source = \"libsvm\"", "data.file is missing");
    place.refuses_command(&["run", "network.toml"], "--out");
}

#[test]
fn an_unknown_key_or_word() {
    let place = Place::new();
    place.refuses("alpha", "alhpa", "did you mean `alpha`?");
    place.refuses("\"ring\"", "\"rign\"", "did you mean `ring`?");
    place.refuses("[run]", "[run]\nmetrics = [\"outer_los\"]", "did you mean `outer_loss`?");
    place.refuses("[run]", "[run]\nmetrics = \"al\"", "did you mean `all`?");
    place.refuses("[run]", "[links]\nwiring = \"buss\"\n[run]", "did you mean `bus`?");
    place.refuses("[run]", "[links]\nbuad = 9600\n[run]", "did you mean `baud`?");
    place.refuses_data("source = \"mnits\"", "unknown variant `mnits`");
    place.refuses_data("source = \"mnits\"", "did you mean `mnist`?");
    place.refuses_data("partition = \"idd\"", "unknown partition `idd`: did you mean `iid`?");
    place.refuses_data("partition = \"idd\"", "`equal-subsets CLASSES`");
    place.refuses_command(&["rnu", "network.toml"], "rnu");
}

#[test]
fn a_number_out_of_range() {
    let place = Place::new();
    place.refuses("nodes = 4", "nodes = -4", "expected a whole number, not below 0");
    place.refuses("alpha = 0.3", "alpha = \"small\"", "expected a number");
    place.refuses("[run]", "[run]\nper_node = 1", "expected true or false");
    place.refuses("alpha = 0.3", "alpha = -0.3", "alpha = -0.3 is out of range");
    place.refuses("gamma = 0.3", "gamma = 1.1", "0 < gamma <= 1 is needed");
    place.refuses("nodes = 4", "nodes = 0", "at least one node");
    place.refuses("x0 = -3.0", "x0 = { random = inf }", "x0 is infinite or NaN");
    place.refuses("x0 = -3.0", "x0 = { random = -0.1 }", "must be above 0");
    place.refuses("x0 = -3.0", "x0 = -1000", "it must be between -30 and 30");
    let layer = "\"shared-layer\"\nhidden = 3\nmu = 0.1";
    place.refuses("\"logistic\"", layer, "run.x0 must be random for a shared layer");
    let integer = "[run]\narithmetic = \"integer\"";
    place.refuses(
        "[run]",
        integer,
        "run.arithmetic: integer arithmetic needs features that are whole",
    );
    place.refuses("[run]", "[run]\ncheckpoint_every = 0", "checkpoint_every is 0");
    place.refuses("[run]", "[links]\ndrop = 1.0\n[run]", "links.drop = 1 is out of range");
    place.refuses("[run]", "[links]\nbaud = 0\n[run]", "links.baud is 0");
    place.refuses("[run]", "[links]\nchunk = 900\n[run]", "a chunk must have 1 to");
    place.refuses("\"logistic\"", "\"quadratic\"\nouter = 0\ninner = 2", "zero or too large");
    place.refuses_data("samples = 0", "data.samples = 0 for each of 4 nodes");
    place.refuses_data("samples = 4000000000", "at most 2796202 are possible");
    place.refuses_data("features = 3", "data.features = 3 and data.relevant = 4");
    place.refuses_data("validation = 1.5", "data.validation is out of range");
    place.refuses_data("validation = \"some\"", "or \"same\"");
}

#[test]
fn a_disconnected_graph_or_weights_that_do_not_fit() {
    let place = Place::new();
    fs::write(place.path().join("edges.txt"), "0 1\n2 3\n").unwrap();
    fs::write(place.path().join("weights.csv"), "0.5,0.5\n0.4,0.6\n").unwrap();
    let said = "no path leads from node 0 to nodes 2, 3";
    place.refuses("\"ring\"", "\"file edges.txt\"", said);
    place.refuses("\"ring\"", "\"ring\"\nweights = \"weights.csv\"", "row");
    let crowd = "nodes = 40\ntopology = \"star\"";
    let linked = format!("{}\n[links]\n", NETWORK.replace("nodes = 4\ntopology = \"ring\"", crowd));
    fs::write(place.path().join("network.toml"), linked).unwrap();
    let said = "links: node 0 has 39 neighbours, but at most 16";
    place.refuses_command(&["run", "network.toml", "--out", "results"], said);
}

#[test]
fn a_truncated_gzip_a_wrong_magic_or_a_label_out_of_range() {
    let place = Place::new();
    let folder = place.path().join("mnist");
    fs::create_dir(&folder).unwrap();
    let images = |count: u32| {
        let mut bytes = [2051_u32, count, 28, 28].map(u32::to_be_bytes).concat();
        bytes.extend((0..784 * count).map(|pixel| pixel as u8));
        bytes
    };
    let labels = |labels: &[u8]| {
        let head = [2049_u32, labels.len() as u32].map(u32::to_be_bytes).concat();
        [&head, labels].concat()
    };
    let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    let mnist = "source = \"mnist\"\ndir = \"mnist\"\nclasses = [\"0\", \"1\"]";
    put("train-images-idx3-ubyte.gz", &gzip(&images(40)));
    put("train-labels-idx1-ubyte.gz", &gzip(&labels(&[0, 1].repeat(20))));
    put("t10k-images-idx3-ubyte", &images(4));
    put("t10k-labels-idx1-ubyte", &labels(&[0, 1, 0, 1]));
    // Valid as it is, which the rest of the test needs.
    fs::write(place.path().join("good.toml"), NETWORK.replace("source = \"synthetic\"", mnist))
        .unwrap();
    let output = lopa(place.path(), &["run", "good.toml", "--out", "other"]);
    assert!(output.status.success(), "{output:?}");

    let whole = gzip(&images(40));
    put("train-images-idx3-ubyte.gz", &whole[..whole.len() / 2]);
    place.refuses_data(mnist, "train-images-idx3-ubyte.gz");
    place.refuses_data(mnist, "the gzip data ends too early");
    let mut wrong = images(40);
    wrong[3] = 9;
    put("train-images-idx3-ubyte.gz", &gzip(&wrong));
    place.refuses_data(mnist, "begins with 2057, not 2051");
    put("train-images-idx3-ubyte.gz", &whole);
    put("train-labels-idx1-ubyte.gz", &gzip(&labels(&[0, 12].repeat(20))));
    place.refuses_data(mnist, "12");
    put("train-labels-idx1-ubyte.gz", &gzip(&labels(&[0, 1].repeat(19))));
    place.refuses_data(mnist, "38");
}

#[test]
fn values_in_a_file_that_are_not_finite_or_not_labels() {
    let place = Place::new();
    let put = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    fs::create_dir_all(place.path().join("csv/node-0")).unwrap();
    put("csv/node-0/train.csv", "1,0.5\n0,nan\n");
    put("csv/node-0/val.csv", "1,0.5\n");
    place.refuses_data("source = \"csv\"\ndir = \"csv\"", "line 2, column 2: is missing");
    put("csv/node-0/train.csv", "1,0.5\n0,0.5,0.5\n");
    place.refuses_data("source = \"csv\"\ndir = \"csv\"", "line 2");
    put("all.svm", "+1 1:0.5\n-1 1:zero\n");
    place.refuses_data("source = \"libsvm\"\nfile = \"all.svm\"", "line 2");
    put("x0.csv", "1,2,three");
    place.refuses("x0 = -3.0", "x0 = \"x0.csv\"", "number 3 is \"three\"");
    put("x0.csv", "1,2");
    place.refuses("x0 = -3.0", "x0 = \"x0.csv\"", "run.x0 has 2 numbers, but 24 are needed");
}

#[test]
fn a_folder_that_cannot_be_written() {
    let place = Place::new();
    // There is a file where the folder should be.
    place.refuses_command(&["run", "network.toml", "--out", "network.toml"], "cannot write");
    place.refuses_command(&["run", "network.toml", "--out", "network.toml/in"], "cannot write");
}

#[test]
fn a_resume_of_something_else() {
    let place = Place::new();
    let resume = &["run", "network.toml", "--out", "results", "--resume"];
    let write = |text: &str| fs::write(place.path().join("network.toml"), text).unwrap();
    for (from, to, said) in [
        ("alpha = 0.3", "alpha = 0.2", "the table [algorithm] is not what the run began with"),
        ("\"logistic\"", "\"meta-logistic\"\nnu = 1.0", "the table [problem]"),
        ("[run]", "[links]\n[run]", "the table [links]"),
        ("record_every = 20", "record_every = 10", "record_every"),
        ("\"ring\"", "\"path\"", "the network or the data"),
        ("iterations = 60", "iterations = 50", "has already completed 60 rounds"),
    ] {
        write(&NETWORK.replace(from, to));
        place.refuses_command(resume, said);
    }
    write(NETWORK);
    let fresh = &["run", "network.toml", "--out", "fresh", "--resume"];
    place.refuses_command(fresh, "run without --resume");
    let file = place.path().join("results/checkpoint.lopa");
    let whole = fs::read(&file).unwrap();
    for at in [0, 40, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, damaged).unwrap();
        place.refuses_command(resume, "damaged or of another version");
        fs::write(&file, &whole[..at]).unwrap();
        place.refuses_command(resume, "damaged or of another version");
    }
}
