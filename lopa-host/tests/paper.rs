//! `lopa paper`: the studies from the command line.

use std::fs;
use std::path::Path;

use crate::common::{lopa, said};

#[test]
fn the_list_names_every_study() {
    let dir = tempfile::tempdir().unwrap();
    let output = lopa(dir.path(), &["paper", "list"]);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", said(&output));
    for (name, _) in lopa_host::paper::STUDIES {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name} is not in\n{list}");
    }
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, what) in [
        (
            vec!["paper", "hyper-minst", "--out", "o"],
            "there is no study \"hyper-minst\": choose all",
        ),
        (vec!["paper", "momentum"], "--out DIR is missing"),
        (vec!["paper", "topology", "--out", "o"], "there is no folder data/mnist"),
        (vec!["paper", "momentum", "--out", "o", "--seeds", "0"], "0"),
    ] {
        let output = lopa(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
        assert!(!dir.path().join("o").exists(), "{arguments:?}");
    }
}

#[test]
fn a_study_writes_its_report_records_and_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["paper", "rates-difference", "--quick", "--seeds", "3", "--out", "o"];
    let output = lopa(dir.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    let folder = dir.path().join("o/rates-difference");
    let study: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("study.json")).unwrap()).unwrap();
    assert_eq!((study["seeds"].as_u64(), study["quick"].as_bool()), (Some(3), Some(true)));
    let verdict = study["verdict"].as_str().unwrap();
    assert!(["holds", "partly", "undecided", "does-not-hold"].contains(&verdict), "{verdict}");
    let records = fs::read_to_string(folder.join("records.csv")).unwrap();
    assert!(records.starts_with("arm,seed,iteration,"), "{records}");
    // Sixteen arms, three seeds, the start and twenty recorded rounds.
    assert_eq!(records.lines().count(), 1 + 16 * 3 * 21);
    assert!(folder.join("figures/rate-hypergradient-0.svg").is_file());
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(
        page.contains("The cost of heterogeneity, by how far nodes differ")
            && page.contains("This is the quick form")
    );
    let all = fs::read_to_string(dir.path().join("o/results.md")).unwrap();
    let command = "lopa paper rates-difference --quick --seeds 3 --data DIR --out DIR";
    // Once on the page and once in the section.
    assert_eq!(all.matches(&format!("```sh\n{command}\n```")).count(), 2, "{all}");
    assert_eq!(study["command"].as_str(), Some(command));
    whole(&dir.path().join("o"), &all);
    // One thread gives the same bits.
    let output = lopa(dir.path(), &[&arguments[..6], &["p", "--threads", "1"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let again = fs::read(dir.path().join("p/rates-difference/records.csv")).unwrap();
    assert!(records.as_bytes() == again);
}

/// A study that needs no data, with everything a study can have.
pub const OWN: &str = r#"
title = "Two [ways] | one"
claim = "a [is] | better"
place = "nowhere"
reason = [{ rules = [0], why = "nothing differs" }]
notes = ["A note."]
against = ["iteration"]
figures = ["outer_loss"]
labels = true
quantity = "K"
seeds = 3
tune = { trials = 4, quick_trials = 3, metric = "outer_loss", range = [0.01, 0.3] }
variant = [
  { name = "a", set = { algorithm = { name = "lopa-gt", gamma = 0.4, tau = 0.4 } } },
  { name = "b", set = { algorithm = { name = "spdb" } } },
]
case = [
  { name = "K = 9", at = 9, set = { run = { iterations = 9 } } },
  { name = "K = 18", at = 18, set = { run = { iterations = 18 }, data = { samples = 30 } } },
]
check = [{ rule = "better", value = { metric = "outer_loss" }, who = "a, K = 9", than = "a, K = 9" }]
aside = [
  { rule = "rate", value = { metric = "inner_loss" }, who = "a", power = 100.0 },
  { rule = "rate", value = { metric = "inner_loss" }, who = "b", power = -100.0 },
  { rule = "sooner", metric = "outer_loss", targets = [100.0, 0.0], along = "seconds", who = ["a, K = 9"], than = ["b, K = 9"] },
]
[base]
network = { nodes = 4 }
problem = { kind = "logistic" }
data = { features = 5, relevant = 2, samples = 20 }
algorithm = { alpha = 0.1, beta = 0.1, lambda = 0.1, batch = 4 }
run = { record_every = 3 }
"#;

/// Checks that every file and heading that a results page links to exists.
fn whole(folder: &Path, page: &str) {
    let links: Vec<&str> = [("](", ')'), ("src=\"", '"')]
        .into_iter()
        .flat_map(|(before, end)| {
            page.split(before).skip(1).filter_map(move |rest| rest.split(end).next())
        })
        .collect();
    assert!(links.iter().any(|link| link.ends_with(".svg")), "{page}");
    for link in links {
        match link.strip_prefix('#') {
            Some(name) => {
                assert!(page.contains(&format!("<a id=\"{name}\"></a>\n\n## ")), "{name}");
            }
            None => assert!(folder.join(link.replace("%20", " ")).is_file(), "{link}"),
        }
    }
}

#[test]
fn asides_are_shown_but_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my own.toml"), OWN).unwrap();
    let output = lopa(dir.path(), &["paper", "my own.toml", "--out", "o"]);
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    // No arm is better than itself; the asides disagree.
    assert!(
        printed
            .starts_with("my own: undecided\n  undecided: a factor of 1 (1 to 1, 3 seeds): a, K"),
        "{printed}"
    );
    for (arm, verdict) in [("a", "  holds: "), ("b", "  does not hold: ")] {
        let aside = format!(": also measured, {arm}: inner loss");
        let line = printed.lines().find(|line| line.contains(&aside));
        assert!(line.is_some_and(|line| line.starts_with(verdict)), "{printed}");
    }
    assert!(printed.contains("on this machine, a, K = 9 needs fewer seconds"), "{printed}");
    let folder = dir.path().join("o/my own");
    let study: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("study.json")).unwrap()).unwrap();
    assert_eq!(study["findings"].as_array().unwrap().len(), 1);
    assert_eq!(study["asides"][1]["verdict"], "does-not-hold");
    let steps = &study["steps"][3];
    assert_eq!((&steps["arm"], &steps["trials"]), (&"b, K = 18".into(), &4.into()));
    // One search per seed.
    assert_eq!(steps["found"].as_array().map(Vec::len), Some(3));
    // What depends on the machine is not in the files that repeat.
    let run: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["timed"].as_array().map(Vec::len), Some(1));
    assert!(run["machine"].as_str().is_some_and(|machine| machine.contains("thread")), "{run}");
    let seconds = fs::read_to_string(folder.join("seconds.csv")).unwrap();
    assert!(seconds.starts_with("arm,seed,iteration,seconds\n"), "{seconds}");
    for file in ["records.csv", "study.json", "section.md"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains("seconds"), "{file}: {text}");
    }
    let figures = ["labels-0", "labels-1", "rate-inner_loss-0", "outer_loss-iteration-1"];
    for figure in figures {
        for ending in ["svg", "png"] {
            assert!(folder.join(format!("figures/{figure}.{ending}")).is_file(), "{figure}");
        }
    }
    // Both variants of the asides are in the chart of their rate; label counts match the data.
    let rate = fs::read_to_string(folder.join("figures/rate-inner_loss-0.svg")).unwrap();
    assert!(rate.contains(">a (") && rate.contains(">b ("), "{rate}");
    let labels = fs::read_to_string(folder.join("figures/labels-1.svg")).unwrap();
    assert!(labels.contains("labels, K = 18"), "{labels}");
    let counts =
        labels.split(": ").filter_map(|rest| rest.split("</title>").next()?.parse::<u32>().ok());
    assert_eq!(counts.sum::<u32>(), 4 * 60, "{labels}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    for part in [
        "Also measured; not counted",
        "Step sizes that the searches found",
        "In seconds, on the machine that ran it",
        "<table class=\"prose\">",
        "Labels, K = 9",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let all = fs::read_to_string(dir.path().join("o/results.md")).unwrap();
    let section = fs::read_to_string(folder.join("section.md")).unwrap();
    whole(&dir.path().join("o"), &all);
    whole(&folder, &section);
    again(dir.path(), &folder);
    for part in [
        "| [a \\[is\\] \\| better](#my-own) | nowhere | a, K = 9 against a, K = 9, outer loss, at the end: a factor of 1 | undecided | nothing differs |",
        "\n**Verdict: undecided** (whole form, 3 seeds).\n\nnothing differs\n\n",
        "\nAlso measured; not counted in the verdict:\n\n| effect | claim | verdict |\n|---|---|---|\n| K^",
        "| arm | alpha | beta | lambda | gamma | tau | searches × trials |\n|---|---|---|---|---|---|---|\n| a, K = 9 | 0.",
        "lopa paper 'my own.toml' --data DIR --out DIR",
        "\n## Where the paper is silent, ambiguous or wrong\n",
    ] {
        assert!(all.contains(part), "{part} is not in\n{all}");
    }
}

/// Judges a study again without a run: the same rules write the same files, others what they find, and what does not fit
/// is refused.
fn again(dir: &Path, folder: &Path) {
    let call = ["paper", "my own.toml", "--again", "--out", "o"];
    let kept = ["records.csv", "seconds.csv", "run.json", "study.json", "section.md", "tune.csv"];
    let read = || kept.map(|file| fs::read_to_string(folder.join(file)).unwrap());
    let before = read();
    let output = lopa(dir, &call);
    assert!(output.status.success(), "{}", said(&output));
    for (file, [before, after]) in kept.iter().zip(before.iter().zip(&read()).map(|(a, b)| [a, b]))
    {
        assert!(before == after, "{file} was\n{before}\nand is\n{after}");
    }
    let other = OWN.replace("than = \"a, K = 9\" }]", "than = \"b, K = 9\" }]");
    assert_ne!(other, OWN);
    fs::write(dir.join("my own.toml"), other).unwrap();
    let output = lopa(dir, &call);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("a, K = 9 is better than b, K = 9"), "{printed}{}", said(&output));
    assert_eq!(read()[..3], before[..3], "what was measured");
    for (text, what) in [
        (OWN.replace("nodes = 4", "nodes = 5"), "another set-up"),
        (
            OWN.replace("figures = [\"outer_loss\"]", "figures = [\"consensus\"]"),
            "has no consensus",
        ),
    ] {
        fs::write(dir.join("my own.toml"), text).unwrap();
        let output = lopa(dir, &call);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(what), "{}", said(&output));
    }
    fs::write(dir.join("my own.toml"), OWN).unwrap();
    let records = before[0].replacen('1', "2", 1);
    fs::write(folder.join("records.csv"), records).unwrap();
    assert!(said(&lopa(dir, &call)).contains("is not what study.json says"));
    fs::remove_file(folder.join("records.csv")).unwrap();
    assert!(said(&lopa(dir, &call)).contains("records.csv: No such file"));
}

#[test]
fn a_study_that_is_run_again_keeps_the_others_on_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let own = OWN.replace("tune = ", "# ");
    fs::write(dir.path().join("own.toml"), &own).unwrap();
    let run = |arguments: &[&str]| {
        let output =
            lopa(dir.path(), &[&["paper"], arguments, &["--quick", "--out", "o"]].concat());
        assert!(output.status.success(), "{}", said(&output));
        (fs::read_to_string(dir.path().join("o/results.md")).unwrap(), said(&output))
    };
    let (first, _) = run(&["own.toml", "--seeds", "1"]);
    assert!(
        first.contains("(quick form, 1 seed)") && !first.contains("(#rates-difference)"),
        "{first}"
    );
    let (both, _) = run(&["rates-difference"]);
    assert!(both.find("(#rates-difference)").unwrap() < both.find("(#own)").unwrap(), "{both}");
    assert!(both.contains("from different commands"), "{both}");
    whole(&dir.path().join("o"), &both);
    // Repositories keep studies without the list of what was written.
    for folder in ["o", "o/own", "o/rates-difference"] {
        fs::remove_file(dir.path().join(folder).join("lopa.lock")).unwrap();
    }
    fs::write(dir.path().join("o/own/figures/earlier.svg"), "").unwrap();
    let (again, complaints) = run(&["own.toml"]);
    assert!(!dir.path().join("o/own/figures/earlier.svg").exists());
    assert!(again.contains("lopa paper all --quick --data DIR"), "{again}");
    assert_eq!(again.matches("(quick form, 2 seeds)").count(), 2, "{again}");
    assert!(complaints.is_empty(), "{complaints}");
    // A study that cannot be read is left out and named.
    fs::write(dir.path().join("o/rates-difference/study.json"), "{").unwrap();
    let (without, complaints) = run(&["own.toml"]);
    assert!(!without.contains("(#rates-difference)") && without.contains("(#own)"), "{without}");
    assert!(complaints.contains("rates-difference: ") && complaints.contains("not in results.md"));
    // A refused study leaves everything as it was.
    fs::write(dir.path().join("own.toml"), own.replace("check = [{", "check = []\nx = [{"))
        .unwrap();
    let output = lopa(dir.path(), &["paper", "own.toml", "--quick", "--out", "o"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(fs::read_to_string(dir.path().join("o/results.md")).unwrap(), without);
}

/// The results in the repository: of the paper's studies, or of those on few bits.
fn committed(studies: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(studies).join("results")
}

/// Every file in a folder and in those below it, from there.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { all.push(path) }
        }
    }
    all.into_iter().map(|path| path.strip_prefix(folder).unwrap().to_path_buf()).collect()
}

/// Four studies in full: one compares costs, one errors at the end, one means over the second half, one bits over lines.
#[test]
fn committed_results_are_written_again_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/few-bits/quadratics.toml");
    for (studies, name, study) in [
        ("paper", "rates-kappa", "rates-kappa"),
        ("paper", "rates-tau", "rates-tau"),
        ("paper", "rates-difference", "rates-difference"),
        ("few-bits", "quadratics", own),
    ] {
        let output = lopa(dir.path(), &["paper", study, "--out", "o"]);
        assert!(output.status.success(), "{}", said(&output));
        let [kept, written] =
            [committed(studies), dir.path().join("o")].map(|folder| folder.join(name));
        let mut compared = 0;
        for file in files(&kept) {
            // What depends on the machine, and what the repository does not keep.
            if ["run.json", "records.csv", "report.html", "lopa.lock"]
                .iter()
                .any(|a| file.ends_with(a))
                || file.extension().is_some_and(|ending| ending == "png")
            {
                continue;
            }
            let [kept, written] =
                [&kept, &written].map(|folder| fs::read(folder.join(&file)).unwrap());
            assert!(kept == written, "{name}: {} differs", file.display());
            compared += 1;
        }
        // study.json has the checksum of all records.
        assert!(compared >= 3, "{name}: only {compared} files");
    }
}

#[test]
fn the_committed_page_is_that_of_its_sections_and_gives_reasons() {
    let paper: Vec<&str> = lopa_host::paper::STUDIES.iter().map(|(name, _)| *name).collect();
    for (studies, names, title) in [
        ("paper", &paper[..], "# The paper's claims, measured\n"),
        ("few-bits", &["mnist", "quadratics", "shared-layer"], "# Claims, measured\n"),
    ] {
        let page = fs::read_to_string(committed(studies).join("results.md")).unwrap();
        let again = lopa_host::paper::results(&committed(studies));
        assert!(again.left_out.is_empty(), "{:?}", again.left_out);
        assert!(page == again.text, "{studies}: run lopa paper again, or undo changes by hand");
        assert!(page.starts_with(title), "{studies}");
        for name in names {
            let text = fs::read(committed(studies).join(name).join("study.json")).unwrap();
            let study: serde_json::Value = serde_json::from_slice(&text).unwrap();
            let reason = study["reason"].as_str().unwrap_or_default();
            assert_eq!(study["verdict"] == "holds", reason.is_empty(), "{name}: {reason}");
            assert_eq!(study["quick"], false, "{name}");
        }
    }
}
