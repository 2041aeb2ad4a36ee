//! All tests that need the paper's data sets. `tests/run.sh` runs them if it finds the data.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use crate::common::{lopa, said};
use crate::fetch::server::{Habit, Server, names, plain};
use lopa_core::batch::Sampler;
use lopa_core::node::{Config, Scheme};
use lopa_core::problem::{Point, Predict, Problem};
use lopa_core::problems::Logistic;
use lopa_core::samples::LabelKind;
use lopa_core::steps::StepSizes;
use lopa_host::config::Experiment;
use lopa_host::data::fetch::{self, State};
use lopa_host::data::{
    Dataset, Deal, LabelRatio, Partition, Shard, Values, cifar, covtype, mnist, standardise,
};
use lopa_host::network::Simulation;
use lopa_host::run::{Options, Prepared};
use lopa_host::topology::Topology;
use lopa_tests::real_data::data_set;

/// Mean test accuracy of a ring of these nodes: the paper's logistic hyper-parameter problem.
fn learn(shards: &[Shard], scheme: Scheme, batch: u32, rounds: u32, step: f32) -> f32 {
    let problems: Vec<Logistic<'_>> = shards
        .iter()
        .map(|shard| {
            let train = shard.train.samples(LabelKind::Binary).unwrap();
            let validation = shard.validation.samples(LabelKind::Binary).unwrap();
            Logistic::new(train, validation).unwrap().around(-4.0).unwrap()
        })
        .collect();
    let steps = StepSizes::new(0.1, step, step, 0.4, 0.5).unwrap();
    let batch = NonZeroU32::new(batch).unwrap();
    let config = |node| Config { steps, sampler: Sampler::drawn(1, node, batch) };
    let edges = Topology::ring(shards.len() as u32).metropolis();
    let mut network =
        Simulation::new(problems, scheme, edges, |outer| vec![0.0; outer], config).unwrap();
    for _ in 0..rounds {
        network.round().unwrap();
    }
    let accuracy = network.nodes().iter().zip(shards).map(|(node, shard)| {
        let test = shard.test.as_ref().unwrap().samples(LabelKind::Binary).unwrap();
        let mut workspace = vec![0.0; node.problem().dimensions().workspace];
        let at = Point { x: node.state().x, theta: node.state().theta };
        let right = (0..test.len())
            .filter(|&i| node.problem().predict(at, test.row(i), &mut workspace) == test.label(i));
        right.count() as f32 / test.len() as f32
    });
    accuracy.sum::<f32>() / shards.len() as f32
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn mnist_is_complete_and_learned() {
    let folder = data_set("mnist");
    let set = mnist::load(folder).unwrap();
    let test = set.test.as_ref().unwrap();
    assert_eq!((set.train.width(), test.width()), (784, 784));
    let train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(set.train.counts(), train);
    assert_eq!(test.counts(), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    let Values::Bytes(pixels) = set.train.values() else { panic!("floats") };
    let mean = pixels.iter().map(|&p| f64::from(p)).sum::<f64>() / pixels.len() as f64 / 255.0;
    assert!((mean - 0.1307).abs() < 1e-4, "{mean}"); // the mean that is usually quoted

    let subsets =
        Deal::new(8, Partition::LabelSubsets { classes: 4 }, 7).shares(&set.train).unwrap();
    let all = subsets.iter().map(|share| share.train.len() + share.validation.len());
    assert_eq!(all.sum::<usize>(), 60_000);

    let digits = set.pick(&["0", "1"]).unwrap();
    assert_eq!(digits.train.len(), 12_665);
    let deal = Deal { samples: Some(12_000), ..Deal::new(10, Partition::Iid, 7) };
    let mut shards = deal.shards(digits).unwrap();
    assert!(shards.iter().all(|shard| shard.train.len() == 600 && shard.validation.len() == 600));
    standardise(&mut shards).unwrap();
    assert!(shards.iter().all(|shard| shard.standard.is_none()));
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        let accuracy = learn(&shards, scheme, 40, 300, 0.02);
        println!("MNIST 0/1, {scheme:?}: {accuracy}");
        assert!(accuracy >= 0.99, "{scheme:?} {accuracy}");
    }
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn covtype_is_complete_and_learned() {
    let folder = data_set("covtype");
    let all = covtype::load(folder).unwrap();
    assert_eq!((all.len(), all.width()), (581_012, 54));
    assert_eq!(all.counts(), [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]);
    let Values::Floats(values) = all.values() else { panic!("bytes") };
    assert_eq!(values[..5], [2596.0, 51.0, 3.0, 258.0, 0.0]);

    let trees = Dataset::new(all.pick(&["cottonwood", "aspen"]).unwrap(), None).unwrap();
    assert_eq!(trees.train.counts(), [2_747, 9_493]);
    let trees = trees.hold_out(2_240, 7).unwrap();
    let ratio = Partition::LabelRatio(LabelRatio::default());
    let mut shards = Deal::new(10, ratio, 7).shards(trees).unwrap();
    for (node, counts) in shards.iter().map(Shard::counts).enumerate() {
        let ratio = counts[1] as f64 / counts.iter().sum::<usize>() as f64;
        let middle = if node < 5 { 0.8 } else { 0.35 };
        assert!((ratio - middle).abs() < 0.152, "{node} {counts:?}");
    }
    standardise(&mut shards).unwrap();
    let standard = shards[0].standard.clone().unwrap();
    assert_eq!(standard.mean.len(), 54);
    let accuracy = learn(&shards, Scheme::GradientTracking, 150, 300, 0.02);
    println!("covtype cottonwood/aspen: {accuracy}");
    assert!(accuracy > 0.9, "{accuracy}");
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn cifar_has_its_four_classes_and_is_learned() {
    let folder = data_set("cifar10");
    let set = cifar::load(folder).unwrap();
    let whole = set.train.len() == 50_000;
    for (table, each) in [(&set.train, 5_000), (set.test.as_ref().unwrap(), 1_000)] {
        let counts = table.counts();
        assert_eq!((counts.len(), table.width()), (10, 3072));
        for (class, name) in cifar::CLASSES.iter().enumerate() {
            let there = whole || ["airplane", "automobile", "dog", "horse"].contains(name);
            assert_eq!(counts[class], if there { each } else { 0 }, "{name}");
        }
    }
    let pets = set.pick(&["dog", "horse"]).unwrap();
    let deal = Deal { samples: Some(6_000), ..Deal::new(10, Partition::Iid, 7) };
    let shards = deal.shards(pets).unwrap();
    let accuracy = learn(&shards, Scheme::LocalGradient, 15, 800, 0.002);
    println!("CIFAR-10 dog/horse: {accuracy}");
    assert!(accuracy > 0.63, "{accuracy}");
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn ten_nodes_tell_zeros_from_ones() {
    let dir = data_set("mnist");
    for name in ["lopa-lg", "lopa-gt"] {
        let text = format!(
            "[network]\nnodes = 10\ntopology = \"ring\"\n[problem]\nkind = \"logistic\"\n\
             [data]\nsource = \"mnist\"\nclasses = [\"0\", \"1\"]\nsamples = 12000\n\
             [algorithm]\nname = \"{name}\"\nalpha = 0.1\nbeta = 0.1\nlambda = 0.1\ngamma = 0.4\n\
             tau = 0.4\nbatch = 40\n[run]\niterations = 2000\nrecord_every = 1000\nx0 = -6.0\n"
        );
        let mut experiment = Experiment::parse(&text).unwrap();
        experiment.data.dir = Some(dir.clone());
        let prepared = Prepared::new(experiment).unwrap();
        let record = prepared.run(Options::default(), |_| ()).unwrap().record;
        let accuracy = record.last("test_accuracy").unwrap();
        assert!(accuracy >= 0.998, "{name}: {accuracy}");
    }
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn the_command_fetches_mnist_from_a_local_server() {
    let source = data_set("mnist");
    let files = ["train-images", "train-labels", "t10k-images", "t10k-labels"].map(|part| {
        let ending = if part.ends_with("images") { "idx3" } else { "idx1" };
        format!("{part}-{ending}-ubyte.gz")
    });
    let mut habits = Vec::new();
    for name in &files {
        let bytes = fs::read(source.join(name))
            .unwrap_or_else(|error| panic!("this test needs {name} as it is published: {error}"));
        let cut = bytes.len() / 2 + 1;
        habits.push((&*name.clone().leak(), Habit { cut: Some(cut), ..plain(&bytes) }));
    }
    let server = Server::new(habits);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let here = Path::new(".");
    let output = lopa(here, &["data", "fetch", "mnist", "--dir", dir, "--mirror", &server.address]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stderr.is_empty(), "a progress bar in a pipe");
    assert_eq!(server.asked().len(), 8, "each file must take two requests");
    assert_eq!(names(folder.path()).len(), 4);
    let digits = mnist::load(folder.path()).unwrap();
    assert_eq!(digits.train.len(), 60_000);
    let output = lopa(here, &["data", "check", "mnist", "--dir", dir]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches(": right\n").count(), 4);
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn covtype_is_recognised_by_its_content() {
    let folder = data_set("covtype");
    let set = fetch::named("covtype").unwrap();
    let states = fetch::check(&set, &folder).unwrap();
    assert_eq!(states[0].1, State::Right);
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn studies_of_every_kind_run_in_their_quick_form() {
    // These cover all data sets, problems and rules; the other studies differ only in numbers. `lopa paper all --quick` runs
    // all of them.
    let kinds = [
        "classification-4",
        "dgd-cifar10",
        "hyper-covtype",
        "momentum",
        "rates",
        "rates-difference",
        "rates-full",
        "rates-rho",
        "topology",
    ];
    let [data, ..] = ["mnist", "covtype", "cifar10"].map(data_set);
    let dir = tempfile::tempdir().unwrap();
    let data = data.parent().unwrap().to_str().unwrap().to_owned();
    for study in kinds {
        let output = lopa(dir.path(), &["paper", study, "--quick", "--data", &data, "--out", "o"]);
        assert!(output.status.success(), "{study}: {}", said(&output));
        let page = fs::read_to_string(dir.path().join("o/results.md")).unwrap();
        assert!(page.contains(&format!("](#{study})")), "{study} is not on the page");
        let folder = dir.path().join("o").join(study);
        assert!(folder.join("report.html").is_file(), "{study}");
        // The same number of trials for every algorithm in the search.
        let Ok(tried) = fs::read_to_string(folder.join("tune.csv")) else { continue };
        let mut trials: BTreeMap<&str, usize> = BTreeMap::new();
        for line in tried.lines().skip(1) {
            let (arm, rest) = line[1..].split_once('"').unwrap();
            *trials.entry(arm).or_default() += usize::from(rest.split(',').nth(2) == Some("0"));
        }
        let mut counts = trials.values();
        let first = *counts.next().unwrap();
        assert!(first > 1 && counts.all(|count| *count == first), "{study}: {trials:?}");
    }
}

#[test]
#[ignore = "needs the real data sets: lopa data fetch, or LOPA_DATA"]
fn few_bits_reach_an_accuracy_on_mnist_in_a_fraction_of_the_fleets_time() {
    let text = |baud: u32, bits: &str| {
        format!(
            "[network]\nnodes = 10\ntopology = \"ring\"\n[problem]\nkind = \"logistic\"\n[data]\nsource = \"mnist\"\n\
             dir = {:?}\nclasses = [\"0\", \"1\"]\nsamples = 12000\npartition = \"iid\"\n[algorithm]\nname = \"lopa-gt\"\n\
             alpha = 0.1\nbeta = 0.1\nlambda = 0.1\ngamma = 0.4\ntau = 0.4\nbatch = 40\n[run]\niterations = 60\n\
             record_every = 1\nx0 = -6.0\nmetrics = [\"test_accuracy\", \"fleet_seconds\"]\n[links]\nbaud = {baud}\n\
             chunk = 128\n{bits}",
            data_set("mnist")
        )
    };
    for baud in [115_200, 1_000_000] {
        let run = |bits: &str| {
            let prepared = Prepared::new(Experiment::parse(&text(baud, bits)).unwrap()).unwrap();
            let record = prepared.run(Options::default(), |_| {}).unwrap().complete().unwrap();
            let [accuracies, seconds] =
                ["test_accuracy", "fleet_seconds"].map(|name| record.values(name).unwrap());
            let arrived = accuracies.iter().position(|accuracy| *accuracy >= Some(0.998)).unwrap();
            (seconds[arrived].unwrap(), accuracies.last().copied().flatten().unwrap())
        };
        let (floats, end) = run("");
        for (bits, least) in [(8, 3.5), (4, 6.5)] {
            let (few, own_end) = run(&format!("bits = {bits}\n"));
            println!("{baud} baud, {bits} bits: {floats:.3} s / {few:.3} s = {:.2}", floats / few);
            assert!(floats / few > least, "{baud} baud, {bits} bits: {floats} s, {few} s");
            assert!((end - own_end).abs() < 0.001, "{baud} baud, {bits} bits: {end}, {own_end}");
        }
    }
}

/// Nodes with few samples, which learn from where to start: with x held at `x0` they never get there.
#[test]
#[ignore = "needs real data: tests/run.sh runs it"]
fn few_bits_keep_what_nodes_on_mnist_learn_from_each_other() {
    let run = |alpha: f32, links: &str| {
        let text = format!(
            "[network]\nnodes = 10\ntopology = \"ring\"\n[problem]\nkind = \"meta-logistic\"\nnu = 1.0\n[data]\n\
             source = \"mnist\"\ndir = {:?}\nclasses = [\"0\", \"1\"]\nsamples = 4000\n[algorithm]\nname = \"lopa-gt\"\n\
             alpha = {alpha:e}\nbeta = 0.05\nlambda = 0.05\ngamma = 0.4\ntau = 0.4\nbatch = 8\n[run]\niterations = 300\n\
             record_every = 5\nx0 = 0.0\nmetrics = [\"test_accuracy\", \"fleet_seconds\"]\n[links]\nchunk = 128\n{links}",
            data_set("mnist")
        );
        let prepared = Prepared::new(Experiment::parse(&text).unwrap()).unwrap();
        let record = prepared.run(Options::default(), |_| {}).unwrap().complete().unwrap();
        let accuracies = record.values("test_accuracy").unwrap();
        let arrived = accuracies.iter().position(|accuracy| *accuracy >= Some(0.998));
        let seconds = arrived.map(|at| record.values("fleet_seconds").unwrap()[at].unwrap());
        (seconds, accuracies.last().copied().flatten().unwrap())
    };
    let (never, end) = run(1.0e-30, "bits = 4\nbaud = 1000000");
    assert!(never.is_none() && end < 0.996, "{never:?} {end}");
    for baud in [115_200, 1_000_000] {
        let links = format!("baud = {baud}\n");
        let (floats, end) = run(0.05, &links);
        let floats = floats.unwrap();
        for (bits, least) in [(8, 3.5), (4, 6.5)] {
            let (few, own_end) = run(0.05, &format!("{links}bits = {bits}\n"));
            let few = few.unwrap();
            println!("{baud} baud, {bits} bits: {floats:.2} s / {few:.2} s = {:.2}", floats / few);
            assert!(floats / few > least, "{baud} baud, {bits} bits: {floats} s, {few} s");
            assert!((end - own_end).abs() < 0.001, "{baud} baud, {bits} bits: {end}, {own_end}");
        }
    }
}
