//! A file without step sizes: they are chosen, the result is compared with what nodes could do without each other, and
//! `lopa init` writes such a file.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Output;

use lopa_host::config::Experiment;
use lopa_host::run::{Options, Prepared};
use serde_json::Value;

use crate::common::{lopa, said};

/// A file of readings: four numbers, a device, and what `label` makes of the row.
fn readings(rows: u32, label: impl Fn([f64; 4]) -> String) -> String {
    let mut text = "device,a,b,c,d,state\n".to_owned();
    for row in 0..rows {
        // Numbers without a pattern, the same ones everywhere.
        let cell = |step: u32| f64::from((row * step + row * row * 7) % 1009) / 100.0 - 5.0;
        let cells = [cell(37), cell(53), cell(71), cell(97)];
        let [a, b, c, d] = cells;
        let _ = writeln!(text, "dev{},{a},{b},{c},{d},{}", row % 4, label(cells));
    }
    text
}

fn two_classes([a, b, ..]: [f64; 4]) -> String {
    if a + 0.5 * b > 0.0 { "ill".into() } else { "healthy".into() }
}

fn three_classes([a, b, ..]: [f64; 4]) -> String {
    if a > 1.0 {
        "left".into()
    } else if b > 0.0 {
        "right".into()
    } else {
        "straight".into()
    }
}

fn number([a, b, c, _]: [f64; 4]) -> String {
    format!("{}", 200.0 + 3.0 * a - b + 0.1 * c)
}

/// Makes a label of four readings.
type Labelling = fn([f64; 4]) -> String;

/// A folder with a CSV file, and the experiment that `lopa init` writes for it.
fn place(label: Labelling, arguments: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.csv"), readings(160, label)).unwrap();
    good(dir.path(), &[&["init", "own.csv"], arguments].concat());
    dir
}

fn good(dir: &Path, arguments: &[&str]) -> Output {
    let output = lopa(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    output
}

fn json(dir: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(dir.join(name)).unwrap()).unwrap()
}

/// The accuracy of a way to learn.
fn accuracy(summary: &Value, name: &str) -> f64 {
    let scores = summary["comparison"].as_array().unwrap();
    let named = |score: &&Value| score["name"].as_str().unwrap().contains(name);
    scores.iter().find(named).unwrap()["accuracy"].as_f64().unwrap()
}

#[test]
fn a_csv_file_becomes_a_model_without_a_step_size() {
    let dir = place(two_classes, &["--node", "device"]);
    let output = good(dir.path(), &["run", "own.toml", "--out", "results", "--threads", "1"]);
    let chosen = said(&output);
    assert!(chosen.starts_with("chosen: run.x0 = ") && chosen.contains("algorithm.alpha = "));
    let summary = json(dir.path(), "results/summary.json");
    assert_eq!(summary["chosen"].as_array().unwrap().len(), 6);
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["LoPA-GT, fitted to all samples", "each node alone", "one model for all nodes"] {
        assert!(text.contains(name) && accuracy(&summary, name) > 0.8, "{text}");
    }
    let page = fs::read_to_string(dir.path().join("results/report.html")).unwrap();
    assert!(page.contains("Was it worth it?") && page.contains("left these settings open"));

    // The same again: on more threads, and with everything that was chosen written into the file.
    good(dir.path(), &["run", "own.toml", "--out", "again", "--threads", "2"]);
    let mut text = fs::read_to_string(dir.path().join("own.toml")).unwrap();
    for one in summary["chosen"].as_array().unwrap() {
        let (table, key) = one["key"].as_str().unwrap().split_once('.').unwrap();
        let line = format!("[{table}]\n{key} = {}\n", one["value"].as_str().unwrap());
        text = text.replace(&format!("[{table}]\n"), &line);
    }
    fs::write(dir.path().join("typed.toml"), text).unwrap();
    let output = good(dir.path(), &["run", "typed.toml", "--out", "typed"]);
    assert_eq!(said(&output), "");
    let state = |folder: &str| fs::read(dir.path().join(folder).join("state.json")).unwrap();
    assert_eq!(state("results"), state("again"));
    assert_eq!(state("results"), state("typed"));
    // The results have a file with everything in it, the refit included.
    good(dir.path(), &["run", "results/experiment.toml", "--out", "settled"]);
    let model = |folder: &str| fs::read(dir.path().join(folder).join("model.json")).unwrap();
    assert_eq!((state("settled"), model("settled")), (state("results"), model("results")));
    assert!(model("typed") != model("results"));
    // Where steps are typed, nothing is fitted again or compared unless the file asks for it.
    assert!(json(dir.path(), "typed/summary.json").get("comparison").is_none());
}

#[test]
fn all_kinds_of_problem_learn_without_a_step_size() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&str, Labelling, &str); 6] = [
        ("two", two_classes, "kind = \"logistic\""),
        ("number", number, "kind = \"ridge\""),
        ("three", three_classes, "kind = \"shared-layer\"\nhidden = 4\nmu = 0.01"),
        ("two", two_classes, "kind = \"meta-logistic\"\nnu = 2.0"),
        ("number", number, "kind = \"meta-squared\"\nnu = 4.0"),
        ("none", number, "kind = \"quadratic\"\nouter = 5\ninner = 3"),
    ];
    for (name, label, problem) in cases {
        fs::write(dir.path().join(format!("{name}.csv")), readings(160, label)).unwrap();
        let data = if name == "none" {
            String::new()
        } else {
            format!("[data]\nfile = \"{name}.csv\"\nignore = [\"device\"]\n")
        };
        for algorithm in ["lopa-lg", "lopa-gt"] {
            let text = format!(
                "[network]\nnodes = 4\n[problem]\n{problem}\n{data}[algorithm]\nname = \"{algorithm}\"\n\
                 [run]\niterations = 300\nrecord_every = 300\n\
                 metrics = [\"outer_loss\", \"hypergradient\"]\n"
            );
            let file = dir.path().join("network.toml");
            fs::write(&file, text).unwrap();
            let prepared = Prepared::new(Experiment::read(&file).unwrap()).unwrap();
            let outcome = prepared.run(Options::default(), |_| ()).unwrap();
            // From θ = 0, whose loss is ln 2, ln 3 or half the variance, to something much better. A quadratic's loss may be
            // small at θ = 0; its hypergradient is not.
            let metric = if name == "none" { "hypergradient" } else { "outer_loss" };
            let at = outcome.record.columns().iter().position(|column| column.name == metric);
            let [first, last] = [0, 1].map(|row| outcome.record.rows()[row][at.unwrap()].unwrap());
            assert!(last < 0.7 * first, "{problem}, {algorithm}: {first} {last}");
        }
    }
}

#[test]
fn cooperation_helps_where_nodes_have_few_samples() {
    // The demonstration's data: 4 of 24 features matter, the same ones for every node, and each node has 40 samples.
    let text = "[network]\nnodes = 10\n[problem]\nkind = \"logistic\"\n[algorithm]\nname = \"lopa-gt\"\n\
                [run]\niterations = 1000\n";
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("network.toml"), text).unwrap();
    good(dir.path(), &["run", "network.toml", "--out", "results"]);
    let summary = json(dir.path(), "results/summary.json");
    let [before, after, alone] =
        ["after the last", "fitted to all", "each node alone"].map(|name| accuracy(&summary, name));
    assert!(after > before && after > alone + 0.02, "{before} {after} {alone}");
    // The nodes have models of their own: one for all is no better than guessing where they differ.
    assert!(accuracy(&summary, "one model for all") < after - 0.02);
}

#[test]
fn a_run_with_chosen_steps_can_be_made_longer() {
    let dir = place(number, &["--node", "device"]);
    let text = fs::read_to_string(dir.path().join("own.toml")).unwrap();
    let short = text.replace("iterations = 2000", "iterations = 200");
    fs::write(dir.path().join("own.toml"), &short).unwrap();
    good(dir.path(), &["run", "own.toml", "--out", "results"]);
    let first = json(dir.path(), "results/summary.json")["experiment"]["algorithm"].clone();
    fs::write(dir.path().join("own.toml"), short.replace("= 200\n", "= 300\n")).unwrap();
    good(dir.path(), &["run", "own.toml", "--out", "results", "--resume"]);
    let summary = json(dir.path(), "results/summary.json");
    assert_eq!(summary["chosen"].as_array().unwrap().len(), 6);
    assert_eq!(
        (&summary["iterations"], &summary["experiment"]["algorithm"]),
        (&300.into(), &first)
    );
}

#[test]
fn sweep_and_tune_begin_from_the_chosen_steps() {
    let dir = place(two_classes, &["--ignore", "device"]);
    let text = fs::read_to_string(dir.path().join("own.toml")).unwrap();
    fs::write(dir.path().join("own.toml"), text.replace("= 2000", "= 100")).unwrap();
    good(
        dir.path(),
        &["sweep", "own.toml", "--out", "swept", "--alpha", "0.1,0.2", "--seeds", "1"],
    );
    good(dir.path(), &["tune", "own.toml", "--out", "tuned", "--trials", "3"]);
    for file in ["swept/best.toml", "tuned/own.toml"] {
        let experiment = Experiment::read(dir.path().join(file)).unwrap();
        assert!(!experiment.is_open() && experiment.run.x0.is_some(), "{file}");
    }
}

#[test]
fn init_understands_what_the_labels_are() {
    for (label, arguments, kind, line) in [
        (two_classes as Labelling, &["--node", "device"][..], "logistic", "classes healthy, ill"),
        (three_classes, &["--ignore", "device"], "shared-layer", "classes left, right, straight"),
        (number, &["--ignore", "1", "--label", "6"], "ridge", "numbers to predict"),
    ] {
        let dir = place(label, arguments);
        let text = fs::read_to_string(dir.path().join("own.toml")).unwrap();
        assert!(text.contains(&format!("kind = \"{kind}\"")) && text.contains(line), "{text}");
        assert!(text.contains("label = \"state\""), "{text}");
        let nodes = if arguments[0] == "--node" { "nodes = 4 " } else { "nodes = 3 " };
        assert!(text.contains(nodes), "{text}");
        good(dir.path(), &["data", "describe", "own.toml"]);
        // A file that is there stays as it is.
        let output = lopa(dir.path(), &[&["init", "own.csv"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("own.toml exists: choose another with --out"));
        assert_eq!(fs::read_to_string(dir.path().join("own.toml")).unwrap(), text);
    }
}

#[test]
fn init_writes_paths_from_where_the_file_lies_and_names_what_is_wrong() {
    let dir = place(two_classes, &["--ignore", "device"]);
    fs::create_dir_all(dir.path().join("deep/er")).unwrap();
    good(dir.path(), &["init", "own.csv", "--ignore", "device", "--out", "deep/er/net.toml"]);
    good(dir.path(), &["data", "describe", "deep/er/net.toml"]);
    for (arguments, what) in [
        (&["init", "none.csv"][..], "none.csv"),
        (&["init", "own.csv", "--out", "a.toml"], "line 2, column 1: device = \"dev0\""),
        (&["init", "own.csv", "--label", "stat", "--out", "a.toml"], "stat"),
        (&["init", "own.csv", "--node", "device", "--out", "no/such/a.toml"], "no/such/a.toml"),
    ] {
        let output = lopa(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
        assert!(!dir.path().join("a.toml").exists());
    }
}

#[test]
#[cfg(unix)]
fn real_boards_need_the_steps_that_were_chosen() {
    let dir = place(two_classes, &["--ignore", "device"]);
    for action in ["status", "flash", "stop"] {
        let output = lopa(dir.path(), &["fleet", "own.toml", action]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("leaves step sizes open"), "{}", said(&output));
    }
}

#[test]
fn init_refuses_what_would_not_run_and_takes_files_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let rows = |separator: &str, labels: [&str; 2]| -> String {
        let row = |row: u32| format!("{row}{separator}{}", labels[row as usize % 2]);
        (0..60).map(|at| row(at) + "\n").collect()
    };
    // A version in the name, separators inside quotes, and a class whose name breaks a line.
    write("own.v2.csv", &format!("\"a, mm\";state\n{}", rows(";", ["up", "\"do\nwn\""])));
    good(dir.path(), &["init", "own.v2.csv"]);
    good(dir.path(), &["data", "describe", "own.v2.toml"]);
    write("years.csv", &format!("2019,2020\n{}", rows(",", ["1", "0"])));
    good(dir.path(), &["init", "years.csv", "--header", "true"]);
    let text = fs::read_to_string(dir.path().join("years.toml")).unwrap();
    assert!(text.contains("label = \"2020\"") && text.contains("header = true"), "{text}");
    good(dir.path(), &["data", "describe", "years.toml"]);
    // Two columns of one name: the label is known by its number.
    write("twice.csv", &format!("a,a\n{}", rows(",", ["up", "down"])));
    good(dir.path(), &["init", "twice.csv"]);
    good(dir.path(), &["data", "describe", "twice.toml"]);
    for (name, text, what) in [
        ("one.csv", format!("a,b\n{}", rows(",", ["up", "up"])), "all samples are of class \"up\""),
        ("few.csv", "a,b\n1,up\n2,down\n".into(), "2"),
    ] {
        write(name, &text);
        let output = lopa(dir.path(), &["init", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(said(&output).contains(what), "{name}: {}", said(&output));
        assert!(!dir.path().join(name.replace("csv", "toml")).exists());
    }
}

#[test]
fn a_refit_is_refused_where_there_is_one_model_for_all() {
    let dir = place(two_classes, &["--ignore", "device"]);
    let text = fs::read_to_string(dir.path().join("own.toml")).unwrap();
    let text = text.replace("\"lopa-gt\"", "\"dgd\"\nalpha = 0.1");
    let text = text.replace("[run]", "[run]\nrefit = true");
    fs::write(dir.path().join("own.toml"), text).unwrap();
    let output = lopa(dir.path(), &["run", "own.toml", "--out", "results"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("run.refit has no effect"), "{}", said(&output));
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn four_commands_lead_from_a_csv_file_to_a_model_on_emulated_boards() {
    let dir = place(two_classes, &["--node", "device", "--rounds", "100"]);
    let path = dir.path();
    good(path, &["run", "own.toml", "--out", "results"]);
    good(path, &["export", "results", "--node", "dev2", "--rust", "model.rs", "--c", "model.h"]);
    let output = good(path, &["fleet", "own.toml", "--emulate", "--out", "boards"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the same as in the simulation, on every node"), "{text}");
    assert!(text.contains("LoPA-GT, fitted to all samples"), "{text}");
    for file in ["state.json", "model.json"] {
        let [simulated, learned] =
            ["results", "boards"].map(|folder| fs::read(path.join(folder).join(file)).unwrap());
        assert!(simulated == learned, "{file}");
    }
    let predict = |folder: &str| good(path, &["predict", folder, "own.csv"]).stdout;
    assert_eq!(predict("results"), predict("boards"));
}
