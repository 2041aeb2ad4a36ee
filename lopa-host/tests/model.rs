//! A learned model is used: on new samples by `lopa predict`, and as source code by `lopa export`.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{lopa, network, said};

/// Samples of three clinics in the order of a data frame, whose features need scaling; the last columns are a class in words,
/// one of three classes, and a number.
fn patients() -> String {
    let mut text = "id,age,pulse,clinic,state,group,weight\n".to_owned();
    for row in 0..150_u32 {
        let (age, pulse) = (20 + row * 37 % 61, 500 + row * 530 % 710);
        let clinic = ["north", "south", "west"][row as usize % 3];
        let state = if 20 * age + pulse > 1_700 { "ill" } else { "healthy" };
        let group = ["low", "middle", "high, very"][(pulse as usize - 500) / 237];
        let weight = f64::from(pulse) * 0.1 - f64::from(age) * 0.3 + f64::from(row % 7);
        let _ = writeln!(text, "{row},{age},{pulse},{clinic},{state},\"{group}\",{weight:.2}");
    }
    text
}

/// The problems, each with its table and the columns it ignores besides the label.
const PROBLEMS: [(&str, &str, &str); 5] = [
    ("logistic", "kind = \"logistic\"", "state"),
    ("meta-logistic", "kind = \"meta-logistic\"\nnu = 4.0", "state"),
    ("shared-layer", "kind = \"shared-layer\"\nhidden = 3\nmu = 0.01", "group"),
    ("ridge", "kind = \"ridge\"", "weight"),
    ("meta-squared", "kind = \"meta-squared\"\nnu = 4.0", "weight"),
];

/// A folder with the samples and one run per problem, in a folder of its name. Nodes are tested with the samples themselves.
fn learned(problems: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("patients.csv"), patients()).unwrap();
    for (name, kind, label) in problems {
        let others = ["id", "state", "group", "weight"].map(|other| format!("{other:?}"));
        let others = others.iter().filter(|other| **other != format!("{label:?}"));
        let others: Vec<&str> = others.map(String::as_str).collect();
        let data = format!(
            "file = \"patients.csv\"\ntest_file = \"patients.csv\"\nnode = \"clinic\"\nlabel = {label:?}\nignore = [{}]",
            others.join(", ")
        );
        // A layer learns more slowly.
        let (start, rounds) = match *name {
            "shared-layer" => ("x0 = { random = 3.0 }", "iterations = 400"),
            _ => ("x0 = -3.0", "iterations = 60"),
        };
        let text = network(&[
            ("nodes = 4", "nodes = 3"),
            ("source = \"synthetic\"", &data),
            ("kind = \"logistic\"", kind),
            ("x0 = -3.0", start),
            ("iterations = 60", rounds),
            ("beta = 0.05", "beta = 0.2"),
            ("record_every = 20", "record_every = 20\nper_node = true"),
        ]);
        fs::write(dir.path().join("network.toml"), text).unwrap();
        succeeds(dir.path(), &["run", "network.toml", "--out", name]);
    }
    dir
}

/// Runs a command that must succeed, and returns what it printed to both outputs.
fn succeeds(dir: &Path, arguments: &[&str]) -> (String, String) {
    let output = lopa(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    (String::from_utf8(output.stdout.clone()).unwrap(), said(&output))
}

/// Runs a command that must fail with status 2 and these words.
fn refuses(dir: &Path, arguments: &[&str], words: &str) {
    let output = lopa(dir, arguments);
    let error = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(error.contains(words), "{words}: {error}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
}

/// The mean of the nodes' last test accuracies, as the run measured them.
fn test_accuracy(results: &Path) -> f64 {
    let text = fs::read_to_string(results.join("metrics.csv")).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let at = cells(text.lines().next().unwrap()).iter().position(|name| name == "test_accuracy");
    cells(text.lines().last().unwrap())[at.unwrap()].parse().unwrap()
}

#[test]
fn predictions_are_as_good_as_the_run_measured() {
    let dir = learned(&PROBLEMS);
    let names = ["north", "south", "west"];
    for (name, ..) in PROBLEMS {
        // One file per clinic: R² is not a mean over samples.
        let text = patients();
        let mut sum = 0.0;
        for clinic in names {
            let own = text.lines().filter(|line| line.starts_with("id") || line.contains(clinic));
            let own: String = own.map(|line| format!("{line}\n")).collect();
            fs::write(dir.path().join("own.csv"), own).unwrap();
            let (_, quality) = succeeds(dir.path(), &["predict", name, "own.csv"]);
            let value = quality.split_whitespace().nth(1).unwrap().trim_end_matches([':', ',']);
            sum += value.parse::<f64>().unwrap();
        }
        let (found, measured) = (sum / 3.0, test_accuracy(&dir.path().join(name)));
        assert!((found - measured).abs() < 1e-4, "{name}: {found} is not {measured}");
        assert!(measured > 0.5, "{name} learned nothing: {measured}");
    }
}

#[test]
fn columns_are_found_by_name_or_by_position() {
    let dir = learned(&PROBLEMS[..1]);
    let path = dir.path();
    let expected = succeeds(path, &["predict", "logistic", "patients.csv"]).0;
    assert_eq!(expected.lines().next(), Some("predicted,probability,score"));
    assert_eq!(expected.lines().count(), 151);
    let text = patients();
    let rows = || {
        text.lines().map(|line| {
            line.replace("high, very", "high").split(',').map(str::to_owned).collect::<Vec<_>>()
        })
    };
    let write = |columns: &[usize], header: bool| {
        let pick = |row: Vec<String>| {
            columns.iter().map(|&column| row[column].clone()).collect::<Vec<_>>().join(";") + "\n"
        };
        let text: String = rows().skip(usize::from(!header)).map(pick).collect();
        fs::write(path.join("new.csv"), text).unwrap();
    };
    let same = |about: &str, labelled: bool| {
        let (found, quality) = succeeds(path, &["predict", "logistic", "new.csv"]);
        assert_eq!(found, expected, "{about}");
        assert_eq!(quality.contains("accuracy"), labelled, "{about}: {quality}");
    };
    write(&[3, 2, 4, 1], true);
    same("another order, with the label", true);
    write(&[2, 3, 0, 1], true);
    same("without the label", false);
    write(&[0, 1, 2, 3, 4, 5, 6], false);
    same("the same columns without a header", true);
    write(&[0, 1, 2, 3, 5, 6], false);
    same("all but the label without a header", false);
    // The features alone do not say which node.
    write(&[1, 2], false);
    refuses(
        path,
        &["predict", "logistic", "new.csv"],
        "choose one with --node; nodes are north, south, west",
    );
    let west = succeeds(path, &["predict", "logistic", "new.csv", "--node", "west"]).0;
    assert_eq!(west, succeeds(path, &["predict", "logistic", "new.csv", "--node", "2"]).0);
    let own = |text: &str| text.lines().skip(3).step_by(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(own(&west), own(&expected));
    assert_ne!(west, expected);
    let printed =
        succeeds(path, &["predict", "logistic", "patients.csv", "--out", "predictions.csv"]);
    assert!(printed.1.starts_with("accuracy"), "{printed:?}");
    assert_eq!(fs::read_to_string(path.join("predictions.csv")).unwrap(), expected);
    succeeds(path, &["predict", "logistic", "patients.csv", "--out", "predictions.csv"]);
}

#[test]
fn bad_samples_and_nodes_are_named() {
    let dir = learned(&PROBLEMS[3..4]);
    let path = dir.path();
    let predict = |text: &str, words: &str| {
        fs::write(path.join("new.csv"), text).unwrap();
        refuses(path, &["predict", "ridge", "new.csv"], words);
    };
    predict("", "new.csv: contains no samples");
    predict(
        "age,puls,clinic\n1,2,north\n",
        "new.csv, line 1: no column is called \"pulse\": did you mean \"puls\"?",
    );
    predict("age,age,pulse,clinic\n1,1,2,north\n", "line 1: two columns are called \"age\"");
    predict("age,pulse,clinic\n1,2,north\n1,,north\n", "line 3, column 2: pulse is missing");
    predict("age,pulse,clinic\n1,fast,north\n", "line 2, column 2: pulse \"fast\" is not a number");
    predict(
        "age,pulse,clinic\n1,2,nroth\n",
        "line 2, column 3: clinic \"nroth\" is not a node of the model: did you mean \"north\"?",
    );
    predict(
        "age,pulse,clinic,weight\n1,2,north,much\n",
        "line 2, column 4: the label \"much\" is not a number",
    );
    predict("age,pulse,clinic\n1,2,north,3\n", "line 2: 4 cells where the first row has 3");
    predict(
        "1,2,3,4\n",
        "line 1: has 4 cells, and no header that names the features: expected the 2 features",
    );
    refuses(path, &["predict", "ridge", "no.csv"], "no.csv: there is no such file");
    refuses(path, &["predict", "nowhere", "new.csv"], "nowhere/model.json");
    for command in ["predict ridge patients.csv --node", "export ridge --c model.h --node"] {
        let arguments: Vec<&str> = command.split(' ').collect();
        refuses(path, &[&arguments[..], &["wst"]].concat(), "did you mean \"west\"?");
        refuses(
            path,
            &[&arguments[..], &["3"]].concat(),
            "there is no node \"3\": nodes are north, south, west",
        );
    }
    refuses(
        path,
        &["predict", "ridge", "patients.csv", "--out", "patients.csv"],
        "patients.csv is there",
    );
    assert_eq!(fs::read_to_string(path.join("patients.csv")).unwrap(), patients());
    refuses(
        path,
        &["export", "ridge", "--node", "west", "--c", "network.toml"],
        "network.toml is there",
    );
    refuses(path, &["export", "ridge", "--node", "west", "--c", "no/model.h"], "no folder no");
    refuses(path, &["export", "ridge", "--node", "west"], "--rust");
    refuses(path, &["export", "ridge", "--rust", "model.rs"], "choose one with --node");
    let model = fs::read_to_string(path.join("ridge/model.json")).unwrap();
    for (from, to, words) in [
        ("\"format\":1", "\"format\":2", "has format 2, which this version of lopa cannot read"),
        ("\"features\":[1,2]", "\"features\":[1,9]", "columns do not fit together"),
        ("\"features\":[1,2]", "\"features\":[1]", "scaling does not fit the features"),
        ("\"intercept\":true", "\"intercept\":false", "the variables of node \"north\" do not fit"),
        (
            "\"problem\":\"ridge\"",
            "\"problem\":\"logistic\"",
            "the problem does not fit the target",
        ),
        ("}", "", "is damaged"),
    ] {
        assert!(model.contains(from), "{from}: {model}");
        fs::write(path.join("ridge/model.json"), model.replacen(from, to, 1)).unwrap();
        refuses(path, &["predict", "ridge", "patients.csv"], words);
    }
}

#[test]
fn a_model_is_there_unless_nothing_was_learned() {
    let dir = tempfile::tempdir().unwrap();
    let run = |changes: &[(&str, &str)]| {
        fs::write(dir.path().join("network.toml"), network(changes)).unwrap();
        lopa(dir.path(), &["run", "network.toml", "--out", "results"])
    };
    let there = || dir.path().join("results/model.json").exists();
    assert!(run(&[]).status.success() && there());
    // Samples that are not from a CSV file are numbers without a header, perhaps with the label in front.
    let row = |label: &str| format!("{label}{}\n", ["0.5"; 24].join(","));
    fs::write(dir.path().join("new.csv"), row("1,")).unwrap();
    let (labelled, quality) =
        succeeds(dir.path(), &["predict", "results", "new.csv", "--node", "3"]);
    assert!(quality.starts_with("accuracy") || quality.starts_with("no sample"), "{quality}");
    fs::write(dir.path().join("new.csv"), row("")).unwrap();
    assert_eq!(
        succeeds(dir.path(), &["predict", "results", "new.csv", "--node", "3"]),
        (labelled, String::new())
    );
    // An earlier model would be taken for that of a run without samples.
    let quadratic = ("kind = \"logistic\"", "kind = \"quadratic\"\nouter = 3\ninner = 2");
    assert!(run(&[quadratic, ("x0 = -3.0", "x0 = 0.5")]).status.success() && !there());
    fs::remove_dir_all(dir.path().join("results")).unwrap();
    assert!(!run(&[("alpha = 0.3", "alpha = 1e9")]).status.success() && !there());
}

/// The scores of all samples as an exported module computes them, on this machine: bits, then the prediction.
fn computed(dir: &Path, name: &str) -> String {
    let main = match name {
        "ridge" | "meta-squared" => "let p = model::predict(&row); println!(\"{p}\");",
        "shared-layer" => {
            "let scores = model::scores(&row).map(|score| score.to_string()).join(\",\");\n\
             println!(\"{},{},{scores}\", model::CLASSES[model::predict(&row)], model::probability(&row));"
        }
        _ => {
            "println!(\"{},{},{}\", model::CLASSES[model::predict(&row)], model::probability(&row), model::score(&row));"
        }
    };
    let main = format!(
        "#![forbid(unsafe_code)]\n#![deny(warnings)]\n//! Prints predictions.\nmod model;\nfn main() {{\n\
         for line in std::io::stdin().lines().skip(1) {{\n let line = line.unwrap();\n\
         let cells: Vec<&str> = line.split(',').collect();\n\
         let row = [cells[1].parse().unwrap(), cells[2].parse().unwrap()];\n{main}\n}}\n}}\n"
    );
    fs::write(dir.join("main.rs"), main).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let built =
        Command::new(rustc).current_dir(dir).args(["--edition", "2021", "-O", "main.rs"]).output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", said(&built));
    let input = fs::File::open(dir.join("patients.csv")).unwrap();
    let output = Command::new(dir.join("main")).stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn exported_rust_predicts_the_same_bits() {
    let dir = learned(&PROBLEMS);
    for (name, ..) in PROBLEMS {
        succeeds(
            dir.path(),
            &["export", name, "--node", "south", "--rust", "model.rs", "--c", "model.h"],
        );
        let predicted =
            succeeds(dir.path(), &["predict", name, "patients.csv", "--node", "south"]).0;
        let predicted: String = predicted.split_inclusive('\n').skip(1).collect();
        assert_eq!(computed(dir.path(), name), predicted.replace('"', ""), "{name}");
        let header = fs::read_to_string(dir.path().join("model.h")).unwrap();
        assert!(
            header.contains(" *   0: age\n *   1: pulse\n") && header.contains("model_predict(")
        );
    }
}
