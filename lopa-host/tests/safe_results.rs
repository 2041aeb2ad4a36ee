//! Nothing is lost: pipes that close, disks that are full, runs that diverge, and folders that are in use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{NETWORK, network, said};

/// A folder with a network in it.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), NETWORK).unwrap();
    fs::write(dir.path().join("lg.toml"), network(&[("lopa-gt", "lopa-lg")])).unwrap();
    dir
}

/// One call of every command that prints, and a file it must have written.
const COMMANDS: [(&str, Option<&str>); 17] = [
    ("--rounds 20", None),
    ("--help", None),
    ("run --help", None),
    ("--version", None),
    ("example", None),
    ("run net.toml --out run", Some("run/report.html")),
    ("compare net.toml lg.toml --out both", Some("both/report.html")),
    ("sweep net.toml --out sweep --alpha 0.1,0.2 --seeds 1", Some("sweep/best.toml")),
    ("tune net.toml --out tuned --trials 3", Some("tuned/net.toml")),
    ("theory net.toml", None),
    ("paper list", None),
    ("key new.key", Some("new.key")),
    ("shard net.toml --out blobs", Some("blobs/budget.csv")),
    ("algorithms", None),
    ("topology ring --nodes 5 --edges edges.txt", Some("edges.txt")),
    ("data list", None),
    ("completions bash", None),
];

fn call(dir: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lopa"));
    command.current_dir(dir).args(arguments.split(' ')).stdout(Stdio::piped());
    command
}

/// Checks the status and the file of a command, and that it did not panic.
fn assert_ended(dir: &Path, output: &Output, status: i32, (arguments, file): (&str, Option<&str>)) {
    assert_eq!(output.status.code(), Some(status), "{arguments}: {}", said(output));
    assert!(file.is_none_or(|file| dir.join(file).exists()), "{arguments}: {file:?} is missing");
}

#[test]
fn a_closed_pipe_does_not_stop_any_command() {
    let dir = place();
    for case in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = call(dir.path(), case.0).stdout(writer).output().unwrap();
        assert_ended(dir.path(), &output, 0, case);
        assert!(output.stderr.is_empty(), "{}: {}", case.0, said(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_at_standard_output_is_an_error_after_the_results_are_written() {
    let dir = place();
    for case in COMMANDS {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = call(dir.path(), case.0).stdout(full).output().unwrap();
        assert_ended(dir.path(), &output, 1, case);
        assert!(said(&output).starts_with("lopa: cannot print: "), "{}: {}", case.0, said(&output));
    }
}

#[test]
fn messages_that_nobody_can_read_change_no_status() {
    let dir = place();
    let messages = [
        ("run missing.toml --out x", 2),
        ("run --out", 2),
        // Every frame is lost, which is reported on standard error.
        ("run lost.toml --out lost", 0),
        // No network has such a rho.
        ("topology --rho 0.001 --nodes 4", 0),
        // The firmware is not there.
        ("fleet net.toml --emulate --out fleet --firmware missing", 2),
        ("paper list", 0),
    ];
    let lost = network(&[("[run]", "[links]\ndrop = 0.97\nseed = 3\n[run]")]);
    fs::write(dir.path().join("lost.toml"), lost).unwrap();
    for (arguments, status) in messages {
        let heard = call(dir.path(), arguments).output().unwrap();
        assert_eq!(heard.status.code(), Some(status), "{arguments}: {}", said(&heard));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let unheard = call(dir.path(), arguments).stderr(writer).output().unwrap();
        assert_eq!(unheard.status.code(), Some(status), "{arguments}");
        let shell = |to: &str| {
            let line = format!("exec \"$0\" {arguments} 2>{to}");
            let mut command = Command::new("sh");
            command.current_dir(dir.path()).args(["-c", &line, env!("CARGO_BIN_EXE_lopa")]);
            command.stdout(Stdio::null()).status().unwrap().code()
        };
        assert_eq!(shell("&-"), Some(status), "{arguments}");
        if Path::new("/dev/full").exists() {
            assert_eq!(shell("/dev/full"), Some(status), "{arguments}");
        }
    }
}

/// Every file in a folder and below with its bytes, by name.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

/// Runs a command that must succeed.
fn good(dir: &Path, arguments: &str) {
    let output = call(dir, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", said(&output));
}

/// Runs a command that must fail with this status, and all of these words in its message.
fn fails(dir: &Path, arguments: &str, status: i32, words: &[&str]) {
    let output = call(dir, arguments).output().unwrap();
    let error = said(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments}: {error}");
    for word in words {
        assert!(error.contains(word), "{arguments}: {word:?} is not in {error}");
    }
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The network with one step size far too large.
fn wild(step: &str, value: &str) -> String {
    let line = NETWORK.lines().find(|line| line.starts_with(step)).unwrap();
    network(&[(line, &format!("{step} = {value}")), ("record_every = 20", "record_every = 1")])
}

#[test]
fn a_diverged_run_says_so_everywhere_and_names_the_step_size() {
    let dir = place();
    let path = dir.path();
    for (step, value) in [("beta", "500.0"), ("lambda", "500.0"), ("alpha", "1e30")] {
        fs::write(path.join("wild.toml"), wild(step, value)).unwrap();
        let hint = format!("reduce {step} first");
        fails(path, &format!("run wild.toml --out {step}"), 1, &["diverged in round", &hint]);
        let summary: serde_json::Value =
            serde_json::from_str(&read(path, &format!("{step}/summary.json"))).unwrap();
        assert_eq!(summary["finished"], false);
        assert!(summary["diverged"].as_str().unwrap().contains(&hint), "{summary}");
        let page = read(path, &format!("{step}/report.html"));
        assert!(page.contains("Diverged after") && !page.contains("Not finished"), "{page}");
    }
    good(path, "run net.toml --out calm");
    assert!(!read(path, "calm/summary.json").contains("diverged"));
}

#[test]
fn a_diverged_run_does_not_replace_good_results() {
    let dir = place();
    let path = dir.path();
    good(path, "run net.toml --out results");
    let before = contents(&path.join("results"));
    let text = wild("beta", "500.0").replace("x0 =", "checkpoint_every = 1\nx0 =");
    fs::write(path.join("wild.toml"), text).unwrap();
    let elsewhere = "the earlier results were kept, and those of this run are in results/diverged";
    fails(path, "run wild.toml --out results", 1, &[elsewhere]);
    let after = contents(&path.join("results"));
    for (file, bytes) in &before {
        assert!(after[file] == *bytes, "{} was replaced", file.display());
    }
    assert!(read(path, "results/diverged/metrics.csv").lines().count() > 2);
    // The earlier run can still be made longer, and a run that diverges replaces one that did.
    fs::write(path.join("longer.toml"), network(&[("iterations = 60", "iterations = 80")]))
        .unwrap();
    good(path, "run longer.toml --out results --resume");
    fails(path, "run wild.toml --out wild", 1, &[]);
    fails(path, "run wild.toml --out wild", 1, &[]);
    assert!(!path.join("wild/diverged").exists());
}

#[test]
fn compare_marks_runs_that_diverged() {
    let dir = place();
    let path = dir.path();
    fs::write(path.join("wild.toml"), wild("beta", "500.0")).unwrap();
    fails(path, "run wild.toml --out earlier", 1, &[]);
    fails(path, "compare net.toml wild.toml earlier --out all", 1, &["wild: node", "reduce beta"]);
    let table = read(path, "all/compare.csv");
    let names: Vec<&str> = table.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names, ["run", "\"net\"", "\"wild (diverged)\"", "\"earlier (diverged)\""]);
    let page = read(path, "all/report.html");
    // In a legend, and in the table.
    assert!(page.matches("wild (diverged)").count() > 2 && page.contains("earlier (diverged)"));
    fails(path, "compare net.toml wild.toml --seeds 2 --out seeds", 1, &["wild: node"]);
    assert!(read(path, "seeds/compare.csv").contains("\"wild (2 of 2 seeds diverged)\""));
}

/// A network in a folder of its own that reads a file for everything that can be read.
fn many_files(dir: &Path) {
    let own = dir.join("own");
    fs::create_dir_all(&own).unwrap();
    let rows = (0..120_i32).map(|i| {
        let (a, b) = (i * 37 % 101 - 50, i * 53 % 97 - 48);
        format!("{},{a},{b}\n", i32::from(3 * a + b > 0))
    });
    let rows: String = rows.collect();
    fs::write(own.join("points.csv"), &rows).unwrap();
    fs::write(own.join("test.csv"), &rows).unwrap();
    fs::write(own.join("x0.csv"), "-3,-3,-9\n").unwrap();
    fs::write(own.join("edges.txt"), "0 1\n1 2\n2 3\n0 3\n").unwrap();
    let third = 1.0_f32 / 3.0;
    let row = |shift: usize| {
        let cell = |at: usize| if (at + shift) % 4 == 2 { 0.0 } else { third };
        (0..4).map(|at| cell(at).to_string()).collect::<Vec<_>>().join(",") + "\n"
    };
    fs::write(own.join("weights.csv"), [0, 3, 2, 1].map(row).concat()).unwrap();
    good(dir, "key own/network.key");
    let text = network(&[
        ("\"ring\"", "\"file edges.txt\"\nweights = \"weights.csv\""),
        ("\"synthetic\"", "\"csv\"\nfile = \"points.csv\"\ntest_file = \"test.csv\""),
        ("x0 = -3.0", "x0 = \"x0.csv\"\n[links]\nkey = \"network.key\""),
    ]);
    fs::write(own.join("net.toml"), text).unwrap();
}

#[test]
fn files_that_are_written_name_their_data_from_where_they_lie() {
    let dir = place();
    let path = dir.path();
    many_files(path);
    good(path, "run own/net.toml --out ran");
    good(path, "tune own/net.toml --out out/deep/tuned --trials 1");
    good(path, "sweep own/net.toml --out swept --alpha 0.3 --seeds 1");
    for (from, file, at) in
        [("out/deep/tuned", "net.toml", "../../../own/"), ("swept", "best.toml", "../own/")]
    {
        let text = read(&path.join(from), file);
        for name in ["points.csv", "test.csv", "x0.csv", "edges.txt", "weights.csv", "network.key"]
        {
            assert!(text.contains(&format!("{at}{name}\"")), "{name}: {text}");
        }
        good(&path.join(from), &format!("run {file} --out again"));
        let states = [path.join(from).join("again/state.json"), path.join("ran/state.json")];
        let [again, ran] = states.map(|state| fs::read(state).unwrap());
        assert!(again == ran, "{from}");
    }
    // A folder of data, too.
    let folder = network(&[("source = \"synthetic\"", "source = \"csv\"\ndir = \"folders\"")]);
    for node in 0..4 {
        let own = path.join(format!("own/folders/node-{node}"));
        fs::create_dir_all(&own).unwrap();
        for name in ["train.csv", "val.csv", "test.csv"] {
            fs::copy(path.join("own/points.csv"), own.join(name)).unwrap();
        }
    }
    fs::write(path.join("own/folder.toml"), folder).unwrap();
    good(path, "tune own/folder.toml --out tuned --trials 1");
    assert!(read(path, "tuned/folder.toml").contains("dir = \"../own/folders\""));
    good(path, "run tuned/folder.toml --out folders");
}

#[test]
fn no_command_replaces_its_own_input() {
    let dir = place();
    let path = dir.path();
    many_files(path);
    let own = path.join("own");
    fs::rename(own.join("points.csv"), own.join("metrics.csv")).unwrap();
    let text = read(&own, "net.toml").replace("points.csv", "metrics.csv");
    fs::write(own.join("net.toml"), &text).unwrap();
    fs::write(own.join("best.toml"), &text).unwrap();
    let before = contents(&own);
    for (arguments, file) in [
        ("tune own/net.toml --out own", "own/net.toml"),
        ("sweep own/best.toml --out own --alpha 0.3", "own/best.toml"),
        ("run own/net.toml --out own", "own/metrics.csv"),
    ] {
        fails(path, arguments, 2, &[file, "is an input of this command and would be replaced"]);
    }
    assert_eq!(contents(&own), before);
    good(path, "run net.toml --out ran");
    fails(path, "compare ran lg.toml --out ran", 2, &["ran/report.html is an input"]);
    fs::rename(path.join("ran"), path.join("lg")).unwrap();
    fails(path, "compare lg.toml lg --out .", 2, &["is an input"]);
}

#[test]
fn resume_rejects_everything_that_changes_results() {
    let dir = place();
    let path = dir.path();
    many_files(path);
    good(path, "run own/net.toml --out results");
    let before = contents(&path.join("results"));
    let (text, data) = (read(path, "own/net.toml"), read(path, "own/test.csv"));
    let resume = "run own/net.toml --out results --resume";
    let began = "is not what the run began with";
    for (from, to, what) in [
        ("x0 = \"x0.csv\"", "x0 = -2.0", "run.x0"),
        ("[run]", "[run]\nseed = 2", "run.seed"),
        ("[run]", "[run]\nmetrics = \"all\"", "run.metrics"),
        ("[run]", "[run]\nper_node = true", "run.per_node"),
        ("record_every = 20", "record_every = 10", "run.record_every"),
        ("test_file = \"test.csv\"", "", "the network or the data"),
        ("[algorithm]", "standardise = false\n[algorithm]", "data.standardise"),
        ("beta = 0.05", "beta = 0.04", "algorithm.beta"),
        ("[links]", "[links]\nbaud = 9600", "links.baud"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(path.join("own/net.toml"), text.replace(from, to)).unwrap();
        fails(path, resume, 2, &[what, began]);
    }
    fs::write(path.join("own/net.toml"), &text).unwrap();
    let change = |name: &str, contents: &str, what: &str| {
        let file = path.join("own").join(name);
        let old = fs::read(&file).unwrap();
        fs::write(&file, contents).unwrap();
        fails(path, resume, 2, &[what, began]);
        fs::write(&file, old).unwrap();
    };
    change("x0.csv", "-3,-2,-9", "the file of run.x0");
    change("test.csv", &data.replacen("0,", "1,", 1), "the test data");
    assert_eq!(contents(&path.join("results")), before);
    // Files may move, and a run may become longer and save itself more often.
    fs::rename(path.join("own"), path.join("moved")).unwrap();
    let longer = text.replace("iterations = 60", "iterations = 80\ncheckpoint_every = 10");
    fs::write(path.join("moved/net.toml"), longer).unwrap();
    good(path, "run moved/net.toml --out results --resume");
}

#[test]
fn results_are_replaced_together_or_not_at_all() {
    let dir = place();
    let path = dir.path();
    let limited = |command: &str, blocks: u32| {
        // A file that grows beyond the limit is an error, as on a full disk.
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {command}");
        let mut shell = Command::new("sh");
        shell.current_dir(path).args(["-c", &line, env!("CARGO_BIN_EXE_lopa")]).output().unwrap()
    };
    for (command, out) in [
        ("run net.toml --out run", "run"),
        ("sweep net.toml --alpha 0.1,0.3 --seeds 1 --out sweep", "sweep"),
        ("compare run net.toml --out both", "both"),
    ] {
        good(path, command);
        let before = contents(&path.join(out));
        let text = NETWORK.replace("alpha = 0.3", "alpha = 0.2").replace("= 60", "= 40");
        fs::write(path.join("net.toml"), text).unwrap();
        // Enough for tables and the checkpoint, not for the report.
        let output = limited(command, 48);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", said(&output));
        assert!(said(&output).contains("cannot write"), "{command}: {}", said(&output));
        let mut after = contents(&path.join(out));
        let mut before = before;
        // A checkpoint is of the run that is under way, which can be resumed from it.
        for all in [&mut before, &mut after] {
            all.retain(|file, _| !file.ends_with("checkpoint.lopa"));
        }
        if out == "both" {
            // The folder of a run is written before the comparison.
            for all in [&mut before, &mut after] {
                all.retain(|file, _| !file.starts_with(path.join("both/net")));
            }
        }
        assert!(before == after, "{command}: {:?}", after.keys().collect::<Vec<_>>());
        fs::write(path.join("net.toml"), NETWORK).unwrap();
    }
    // A folder where a file should be: nothing else is replaced either.
    good(path, "run net.toml --out blocked");
    fs::remove_file(path.join("blocked/state.json")).unwrap();
    fs::create_dir(path.join("blocked/state.json")).unwrap();
    let before = read(path, "blocked/metrics.csv");
    fs::write(path.join("net.toml"), network(&[("alpha = 0.3", "alpha = 0.2")])).unwrap();
    fails(path, "run net.toml --out blocked", 1, &["cannot write blocked/state.json"]);
    assert_eq!(read(path, "blocked/metrics.csv"), before);
}

#[test]
fn nothing_of_an_earlier_run_is_left_among_new_results() {
    let dir = place();
    let path = dir.path();
    let more = network(&[("[run]", "[run]\nmetrics = \"all\"\nper_node = true")]);
    fs::write(path.join("more.toml"), more).unwrap();
    good(path, "run net.toml --out fresh");
    good(path, "run more.toml --out results");
    fs::write(path.join("results/notes.txt"), "mine").unwrap();
    assert!(path.join("results/nodes.csv").exists());
    good(path, "run net.toml --out results");
    let names = |folder: &str| {
        let folder = path.join(folder);
        let all = contents(&folder).into_keys();
        all.map(|file| file.strip_prefix(&folder).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut expected = names("fresh");
    expected.push("notes.txt".into());
    expected.sort();
    let mut found = names("results");
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_folder_is_used_by_one_command_at_a_time() {
    let dir = place();
    let path = dir.path();
    let outputs = lopa_host::report::Outputs::new(path.join("results")).unwrap();
    let words = &["cannot write results: another command is using this folder"];
    fails(path, "run net.toml --out results", 2, words);
    fails(path, "sweep net.toml --out results --alpha 0.3", 2, words);
    drop(outputs);
    good(path, "run net.toml --out results");
}

#[test]
fn files_that_lopa_did_not_write_are_never_replaced() {
    let dir = place();
    let path = dir.path();
    for (folder, file, command) in [
        ("run", "metrics.csv", "run net.toml --out run"),
        ("run2", "checkpoint.lopa", "run net.toml --out run2"),
        ("run3", "figures/network.png", "run net.toml --out run3"),
        ("both", "compare.csv", "compare net.toml lg.toml --out both"),
        ("both2", "lg/state.json", "compare net.toml lg.toml --out both2"),
        ("sweep", "best.toml", "sweep net.toml --out sweep --alpha 0.3"),
        ("tune", "net.toml", "tune net.toml --out tune --trials 1"),
        ("paper", "results.md", "paper rates --quick --out paper"),
    ] {
        let place = path.join(folder).join(file);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, "mine").unwrap();
        fails(path, command, 2, &[&format!("{folder}/{file}"), "that lopa did not write"]);
        // It is refused before anything runs or is written.
        assert_eq!(contents(&path.join(folder)), BTreeMap::from([(place, b"mine".to_vec())]));
    }
    let blob = path.join("blobs/node-0.blob");
    fs::create_dir(path.join("blobs")).unwrap();
    fs::write(&blob, "mine").unwrap();
    fails(path, "shard net.toml --out blobs", 1, &["node-0.blob", "that lopa did not write"]);
    assert_eq!(fs::read(blob).unwrap(), b"mine");
}

#[test]
fn a_batch_larger_than_the_data_of_a_node_is_remarked_on() {
    let dir = place();
    let path = dir.path();
    for (batch, remark) in [("41", true), ("40", false)] {
        let text = network(&[("batch = 10", &format!("batch = {batch}"))]);
        fs::write(path.join("net.toml"), text).unwrap();
        let output = call(path, "run net.toml --out x").output().unwrap();
        let error = said(&output);
        assert!(output.status.success(), "{error}");
        let words = "algorithm.batch is 41, but node 0 has only 40 training samples";
        assert!(error.contains(words) == remark && error.is_empty() != remark, "{error}");
    }
}

#[test]
fn networks_that_need_too_much_memory_are_refused() {
    let dir = place();
    let path = dir.path();
    many_files(path);
    let logistic = "kind = \"logistic\"";
    let problem = |problem: &str| {
        let text = read(path, "own/net.toml").replace(logistic, problem);
        let text = text.replace("x0 = \"x0.csv\"", "x0 = { random = 0.1 }");
        // A quadratic has no data.
        let (before, after) = text.split_once("[data]").unwrap();
        let rest =
            if problem.contains("quadratic") { &after[after.find("\n[").unwrap()..] } else { "" };
        let text = if rest.is_empty() { text.clone() } else { format!("{before}{rest}") };
        fs::write(path.join("own/large.toml"), text).unwrap();
    };
    for own in [
        "kind = \"shared-layer\"\nhidden = 100000000\nmu = 0.1",
        "kind = \"quadratic\"\nouter = 100000\ninner = 100000",
        "kind = \"quadratic\"\nouter = 1\ninner = 9000000000000000000",
    ] {
        problem(own);
        let words = ["its 4 nodes need at least", "GiB of memory, but at most 16 GiB", "x has"];
        fails(path, "run own/large.toml --out x", 2, &words);
    }
    problem("kind = \"shared-layer\"\nhidden = 3\nmu = 0.1");
    good(path, "run own/large.toml --out x");
}
