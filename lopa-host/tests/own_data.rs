//! A person's own CSV file: what a data frame or a logger writes is understood, and what is not is refused.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::{lopa, network, said};
use lopa_core::samples::LabelKind;
use lopa_host::config::Experiment;
use lopa_host::data::{Shard, Table};
use lopa_host::run::{Options, Prepared};

/// 120 samples of three clinics in the order of a data frame: a header, the label last, classes in words.
fn patients() -> String {
    let mut text = "id,age,pulse,clinic,state\n".to_owned();
    for row in 0..120_u32 {
        // Numbers without a pattern, the same ones everywhere.
        let (age, pulse) = (20 + row * 37 % 61, 50 + row * 53 % 71);
        let clinic = ["north", "south", "west"][row as usize % 3];
        let state = if 2 * age + pulse > 190 { "ill" } else { "healthy" };
        let _ = writeln!(text, "{row},{age},{pulse},{clinic},{state}");
    }
    text
}

/// A network of three nodes that learns from these samples.
fn three(data: &str) -> String {
    network(&[("nodes = 4", "nodes = 3"), ("source = \"synthetic\"", data)])
}

/// A folder with files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn shards(dir: &Path, data: &str) -> Result<Vec<Shard>, String> {
    fs::write(dir.join("network.toml"), three(data)).unwrap();
    let experiment = Experiment::read(dir.join("network.toml")).map_err(|e| e.to_string())?;
    let prepared = Prepared::new(experiment).map_err(|error| error.to_string())?;
    Ok(prepared.material().shards().to_vec())
}

const CLINICS: &str = "file = \"patients.csv\"\nignore = [\"id\"]\nnode = \"clinic\"\nstandardise = false\n\
                       intercept = false";

#[test]
fn a_data_frame_with_a_column_of_nodes_runs() {
    let dir = folder(&[("patients.csv", &patients())]);
    let scaled = CLINICS.replace("\nstandardise = false\nintercept = false", "");
    fs::write(dir.path().join("network.toml"), three(&scaled)).unwrap();
    let output = lopa(dir.path(), &["run", "network.toml", "--out", "results"]);
    assert!(output.status.success(), "{}", said(&output));
    let shards = shards(dir.path(), CLINICS).unwrap();
    let test = |shard: &Shard| shard.test.clone().unwrap();
    for shard in &shards {
        assert_eq!((shard.train.len(), shard.validation.len(), test(shard).len()), (17, 17, 6));
        assert_eq!(shard.train.names(), ["age", "pulse"]);
        assert_eq!(shard.train.classes()[1].name, "ill");
    }
    // Every sample of a clinic is its node's, once.
    let ages = |table: &Table| -> Vec<f32> {
        let samples = table.samples(LabelKind::Binary).unwrap();
        (0..table.len()).map(|row| samples.row(row).dot(&[1.0, 0.0])).collect()
    };
    for (node, shard) in shards.iter().enumerate() {
        let parts = [&shard.train, &shard.validation, &test(shard)].map(ages);
        let mut found = parts.concat();
        let rows = (0..120_u32).filter(|row| *row as usize % 3 == node);
        let mut expected: Vec<f32> = rows.map(|row| (20 + row * 37 % 61) as f32).collect();
        found.sort_by(f32::total_cmp);
        expected.sort_by(f32::total_cmp);
        assert_eq!(found, expected, "node {node}");
    }
}

#[test]
fn what_was_understood_is_described() {
    let dir = folder(&[("patients.csv", &patients())]);
    let described = |text: &str| {
        fs::write(dir.path().join("network.toml"), text).unwrap();
        let output = lopa(dir.path(), &["data", "describe", "network.toml"]);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = described(&three(&CLINICS.replace("\nstandardise = false\nintercept = false", "")));
    for line in [
        "source    csv, patients.csv\n",
        "samples   102 to learn from, 2 features\n",
        "label     -1 is healthy (",
        "scaling   mean 0 and deviation 1",
        "\n2 west                    17          17       6",
        "\nage                           20 ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let text = three("file = \"patients.csv\"\nignore = [\"clinic\", \"state\"]");
    let text = described(&text.replace("logistic", "ridge"));
    assert!(text.contains("label     a number: 50 to 120, mean"), "{text}");
    let output = lopa(dir.path(), &["data", "describe", "patients.csv"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn a_test_file_says_which_node_its_samples_belong_to() {
    let own = "age,pulse,clinic,state\n30,60,west,healthy\n70,90,south,ill\n40,50,north,ill\n";
    let own = own.replace("age,", "id,age,").replace("\n30", "\n0,30");
    let own = own.replace("\n70", "\n0,70").replace("\n40", "\n0,40");
    let dir = folder(&[("patients.csv", &patients()), ("test.csv", &own)]);
    let data = format!("{CLINICS}\ntest_file = \"test.csv\"");
    let found = shards(dir.path(), &data).unwrap();
    for (shard, label) in found.iter().zip([1.0, 1.0, -1.0]) {
        let test = shard.test.as_ref().unwrap();
        assert_eq!((shard.train.len(), shard.validation.len(), test.len()), (20, 20, 1));
        assert_eq!(test.samples(LabelKind::Binary).unwrap().label(0), label);
    }
    fs::write(dir.path().join("test.csv"), own.replace("west", "north")).unwrap();
    let error = shards(dir.path(), &data).unwrap_err();
    assert_eq!(error, "the test file has no samples of node \"west\"");
}

#[test]
fn nodes_are_counted_and_must_have_samples() {
    let dir = folder(&[("patients.csv", &patients())]);
    let by_state = CLINICS.replace("clinic", "age").replace("\"id\"", "\"id\", \"clinic\"");
    let error = shards(dir.path(), &by_state).unwrap_err();
    assert_eq!(error, "the file names 61 nodes, but network.nodes is 3: set network.nodes = 61");
    let (text, west) = (patients(), "7,30,60,west,ill\n8,31,60,west,ill\n");
    let others = text.split_inclusive('\n').filter(|line| !line.contains("west"));
    let few: String = others.chain([west]).collect();
    fs::write(dir.path().join("patients.csv"), few).unwrap();
    let error = shards(dir.path(), CLINICS).unwrap_err();
    assert!(error.starts_with("node \"west\": node 2 gets 1 samples but needs 2"), "{error}");
}

#[test]
fn a_target_is_predicted_from_the_last_column_and_classes_have_their_own_names() {
    let dir = folder(&[("patients.csv", &patients()), ("digits.csv", "")]);
    let ignore = "file = \"patients.csv\"\nignore = [\"id\", \"clinic\", \"state\"]";
    let text = three(ignore).replace("logistic", "ridge");
    fs::write(dir.path().join("ridge.toml"), text).unwrap();
    let prepared = Prepared::new(Experiment::read(dir.path().join("ridge.toml")).unwrap()).unwrap();
    // The pulse, not the age.
    assert_eq!(prepared.material().shards()[0].train.names(), ["age", "intercept"]);

    let digits: String =
        (0..90).map(|row| format!("{},{},{}\n", row % 10, row, row * row)).collect();
    fs::write(dir.path().join("digits.csv"), digits).unwrap();
    let two = shards(dir.path(), "file = \"digits.csv\"\nclasses = [\"8\", \"3\"]").unwrap();
    assert_eq!(
        two[0].train.classes().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["8", "3"]
    );
    let error = shards(dir.path(), "file = \"digits.csv\"").unwrap_err();
    assert!(error.contains("there are 10 classes, but two are needed"), "{error}");
    let error =
        shards(dir.path(), "file = \"digits.csv\"\nclasses = [\"8\", \"ten\"]").unwrap_err();
    assert!(error.contains("\"ten\" is not one of the classes: 0, 1, 2"), "{error}");
}

#[test]
fn a_gzipped_file_is_found_by_its_plain_name_and_a_damaged_one_is_called_that() {
    let dir = folder(&[]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, patients().as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    fs::write(dir.path().join("patients.csv.gz"), &bytes).unwrap();
    assert_eq!(shards(dir.path(), CLINICS).unwrap().len(), 3);
    for cut in [bytes.len() / 2, bytes.len() - 9] {
        fs::write(dir.path().join("patients.csv.gz"), &bytes[..cut]).unwrap();
        let error = shards(dir.path(), CLINICS).unwrap_err();
        assert!(error.contains("the gzip data ends too early"), "{error}");
    }
    let mut damaged = bytes.clone();
    let middle = bytes.len() / 2;
    damaged[middle..middle + 8].fill(0xff);
    fs::write(dir.path().join("patients.csv.gz"), &damaged).unwrap();
    let error = shards(dir.path(), CLINICS).unwrap_err();
    assert!(error.contains("the gzip data is damaged"), "{error}");
}

#[test]
fn samples_that_teach_nothing_are_refused() {
    let dir = folder(&[("patients.csv", &patients().replace("healthy", "ill"))]);
    let error = shards(dir.path(), CLINICS).unwrap_err();
    assert!(error.contains("all samples are of class \"ill\""), "{error}");
    let same: String = (0..60).map(|row| format!("{},5,7\n", row % 2)).collect();
    fs::write(dir.path().join("patients.csv"), same).unwrap();
    let error = shards(dir.path(), "file = \"patients.csv\"").unwrap_err();
    assert!(error.contains("every feature has the same value in all samples"), "{error}");
}

#[test]
fn keys_without_effect_are_refused() {
    let dir = folder(&[("patients.csv", &patients())]);
    for (data, expected) in [
        ("file = \"a.csv\"\nfeatures = 3", "data.features has no effect on data.source = \"csv\""),
        (
            "dir = \"a\"\npartition = \"iid\"",
            "data.partition has no effect on files that are in folders",
        ),
        ("file = \"a.csv\"\ndir = \"a\"", "data.dir has no effect on data.source = \"csv\""),
        ("label = \"a\"", "data.label has no effect on synthetic data"),
        ("standardise = true", "data.standardise has no effect on synthetic data"),
        (
            "source = \"mnist\"\ndir = \"a\"\nstandardise = false",
            "data.standardise has no effect on data.source = \"mnist\"",
        ),
        ("file = \"a.svm\"\nnode = \"b\"", "data.node has no effect on data.source = \"libsvm\""),
        (
            "file = \"a.csv\"\nnode = \"b\"\npartition = \"iid\"",
            "data.partition has no effect on samples whose node is in the file",
        ),
        (
            "file = \"a.csv\"\nnode = \"b\"\nsamples = 7",
            "data.samples has no effect on samples whose node is in the file",
        ),
    ] {
        let error = shards(dir.path(), data).unwrap_err();
        assert!(error.contains(expected) && error.ends_with(": remove it"), "{error}");
    }
}

/// The last value of a metric after a run.
fn last(text: &str, dir: &Path, metric: &str) -> f64 {
    fs::write(dir.join("network.toml"), text).unwrap();
    let experiment = Experiment::read(dir.join("network.toml")).unwrap();
    let prepared = Prepared::new(experiment).unwrap();
    let outcome = prepared.run(Options::default(), |_| ()).unwrap();
    outcome.record.last(metric).unwrap()
}

#[test]
fn prices_in_thousands_are_learned_and_each_node_has_its_own_level() {
    // Three towns with the same price per square metre and another level each.
    let mut text = "size,age,town,price\n".to_owned();
    for row in 0..180_u32 {
        let (size, age, town) = (40 + row * 37 % 101, row * 53 % 47, row % 3);
        let _ = writeln!(text, "{size},{age},{town},{}", 90_000 * town + 2_000 * size - 100 * age);
    }
    let dir = folder(&[("houses.csv", &text)]);
    let houses = three("file = \"houses.csv\"\nnode = \"town\"")
        .replace("logistic", "ridge")
        .replace("iterations = 60", "iterations = 400");
    let with = last(&houses, dir.path(), "test_accuracy");
    assert!(with > 0.99, "{with}");
    // Without an intercept, models go through the mean of all towns.
    let without = houses.replace("node = \"town\"", "node = \"town\"\nintercept = false");
    let without = last(&without, dir.path(), "test_accuracy");
    assert!(without < 0.5, "{without}");
}

#[test]
fn an_intercept_is_the_last_feature_and_hardly_regularised() {
    let dir = folder(&[("patients.csv", &patients())]);
    let scaled = CLINICS.replace("\nstandardise = false\nintercept = false", "");
    let found = shards(dir.path(), &scaled).unwrap();
    for shard in &found {
        let test = shard.test.as_ref().unwrap();
        for table in [&shard.train, &shard.validation, test] {
            assert_eq!(table.names(), ["age", "pulse", "intercept"]);
            let samples = table.samples(LabelKind::Binary).unwrap();
            let ones = (0..table.len()).map(|row| samples.row(row).dot(&[0.0, 0.0, 1.0]));
            assert!(ones.into_iter().all(|one| one == 1.0));
        }
    }
    fs::write(dir.path().join("network.toml"), three(&scaled)).unwrap();
    let output = lopa(dir.path(), &["run", "network.toml", "--out", "results"]);
    assert!(output.status.success(), "{}", said(&output));
    let state = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let x = state["nodes"][0]["x"].as_array().unwrap_or_else(|| panic!("{state}"));
    let base = state["base"].as_f64().unwrap();
    let x: Vec<f64> = x.iter().map(|x| base + x.as_f64().unwrap()).collect();
    assert!((x[0] + 3.0).abs() > 0.01 && (x[2] + 9.0).abs() < 0.01, "{x:?}");
}
