//! The results page: the sections of all studies in a folder, whenever each was run.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::account::Run;
use super::section::{BEGIN, anchor, cell, line, moved, table};
use super::{Machine, Parts, STUDIES, Verdict, page};

/// How the rules judge, for readers of this page alone.
const RULES: &str = "An effect is a mean over seeds with its 95 % confidence interval, from differences seed by seed; \
    where step sizes are searched for, every seed has a search of its own, so that the interval includes the luck of \
    tuning. All seeds of a study have the same network. A claim *holds* if the whole interval is on its side, *does not hold* if the whole interval is on the other \
    side or the effect is too small to matter, and is *undecided* otherwise, or if a seed diverged. Ratios of costs are \
    taken at fixed values that the study's file names; one is decided only if it is the same wherever between two records \
    the values were reached. A power is the slope of a straight line through the logarithms of all cases; a deviation of \
    0.1 is allowed for constants and other terms unless a note says otherwise. A claim with several parts holds *partly* \
    if some of its comparisons hold, and their number stands beside it. Every rule has a control, a set-up in which it \
    must say no, in the study's file; the tests run them.\n\n";

/// What the paper's studies say together. It was written about full runs of all of them.
const TOGETHER: &str = include_str!("../../paper/together.md");

/// The choices made where the paper leaves something open.
const CHOICES: &str = include_str!("../../paper/choices.md");

/// A results page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In Markdown.
    pub text: String,
    /// Folders whose results cannot be read and are not on the page: their studies must be run again.
    pub left_out: Vec<String>,
}

/// What the page needs from `study.json`.
#[derive(Debug, Deserialize)]
struct Known {
    claim: String,
    place: String,
    verdict: Verdict,
    #[serde(flatten)]
    parts: Parts,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    reason: String,
    quick: bool,
    call: String,
    options: String,
}

/// A study on the page.
#[derive(Debug)]
struct Section {
    name: String,
    known: Known,
    /// Where and when it ran, if that is still known.
    run: Option<Run>,
    text: String,
}

/// The page of all studies in a folder: the paper's in their order, then others by name. Each part is the study's own
/// `section.md`, so that a study can be run again without the others.
#[must_use]
pub fn results(folder: &Path) -> Page {
    let mut names: Vec<String> = STUDIES.map(|(name, _)| name.to_owned()).into();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut others: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    others.retain(|name| !names.contains(name));
    others.sort_unstable();
    names.append(&mut others);
    let (mut sections, mut left_out) = (Vec::new(), Vec::new());
    for name in names {
        let own = folder.join(&name);
        match read(&own) {
            Some((known, run, text)) => sections.push(Section { name, known, run, text }),
            None if own.join("study.json").exists() => left_out.push(name),
            None => {}
        }
    }
    Page { text: text(&sections), left_out }
}

fn read(folder: &Path) -> Option<(Known, Option<Run>, String)> {
    let known = serde_json::from_slice(&fs::read(folder.join("study.json")).ok()?).ok()?;
    let section = fs::read_to_string(folder.join("section.md")).ok()?;
    let run = fs::read(folder.join("run.json")).ok();
    let run = run.and_then(|run| serde_json::from_slice(&run).ok());
    section.starts_with(BEGIN).then_some((known, run, section))
}

fn text(sections: &[Section]) -> String {
    let paper = |section: &Section| STUDIES.iter().any(|(name, _)| *name == section.name);
    let (title, claim) = match sections.iter().any(paper) {
        true => ("The paper's claims, measured", "a claim of the paper"),
        false => ("Claims, measured", "a claim"),
    };
    let mut text = format!(
        "# {title}\n\n\
         Each row is {claim}, the effect that was measured, and the verdict of the rule in the study's file. {}\n\n",
        commands(sections)
    );
    text += "| claim | place | effect | verdict | why not |\n|---|---|---|---|---|\n";
    for Section { name, known, .. } in sections {
        let quick = if known.quick { " (quick)" } else { "" };
        let claim = cell(&known.claim).replace('[', "\\[").replace(']', "\\]");
        let effects: Vec<String> = known.effects.iter().map(|effect| cell(effect)).collect();
        text += &format!(
            "| [{claim}](#{}) | {} | {} | {}{quick} | {} |\n",
            anchor(name),
            cell(&known.place),
            effects.join("<br>"),
            known.parts.beside(known.verdict),
            cell(&known.reason)
        );
    }
    let whole =
        |name: &str| sections.iter().any(|section| section.name == name && !section.known.quick);
    if STUDIES.iter().all(|(name, _)| whole(name)) {
        text += &format!("\n{TOGETHER}");
    }
    text += &format!("\n## How claims are judged\n\n{RULES}");
    for Section { name, run, text: section, .. } in sections {
        text += &format!("\n{}\n", moved(section.trim_end(), name));
        let Some(Run { machine: Machine { date, version, machine, seconds }, timed }) = run else {
            continue;
        };
        if !timed.is_empty() {
            let timed = page::found("", timed);
            text += &format!(
                "\nIn seconds, on the machine below; not counted in the verdict:\n\n{}",
                table(&timed)
            );
        }
        let minutes = seconds.div_ceil(60);
        text += &format!("\n*{date}, {version}, {machine}, {minutes} min.*\n");
    }
    format!("{text}\n{}\n", choices(sections))
}

/// The choices, without links to studies that are not on the page.
fn choices(sections: &[Section]) -> String {
    let absent = |study: &str| sections.iter().all(|section| section.name != study);
    let mut text = CHOICES.trim_end().to_owned();
    for (name, _) in STUDIES.iter().filter(|(name, _)| absent(name)) {
        text = text.replace(&format!("[{name}](#{name})"), name);
    }
    text
}

/// The commands that reproduce the page.
fn commands(sections: &[Section]) -> String {
    let block = |calls: &[String]| format!("\n\n```sh\n{}\n```", calls.join("\n"));
    let command = |call: &str, options: &str| line(&format!("lopa paper {call} {options}"));
    let alike = sections.windows(2).all(|two| two[0].known.options == two[1].known.options);
    match sections {
        [] => String::new(),
        [Section { known, .. }] => {
            format!("To reproduce this page:{}", block(&[command(&known.call, &known.options)]))
        }
        [Section { known: first, .. }, ..] if alike => {
            let own = |call: &str| STUDIES.iter().all(|(name, _)| *name != call);
            let calls = sections.iter().map(|section| section.known.call.as_str());
            let mut all: Vec<&str> = calls.filter(|call| own(call)).collect();
            if all.len() < sections.len() {
                all.insert(0, "all");
            }
            let all: Vec<String> =
                all.into_iter().map(|call| command(call, &first.options)).collect();
            format!("To reproduce this page:{}", block(&all))
        }
        _ => format!(
            "The sections come from different commands; each one names its own. To run all of the paper's studies in \
             full:{}",
            block(&[command("all", "--data DIR --out DIR")])
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, options: &str) {
        let own = folder.join(name);
        fs::create_dir_all(&own).unwrap();
        let json = serde_json::json!({
            "claim": format!("a | b of {name}"), "place": "p", "verdict": "does-not-hold", "held": 0, "of": 1,
            "effects": ["x", "y"], "reason": "so", "quick": options.contains("quick"),
            "call": if name == "own" { "own.toml" } else { name }, "options": options,
        });
        fs::write(own.join("study.json"), json.to_string()).unwrap();
        let section = format!("{BEGIN}{name}\"></a>\n\n## T {name}\n\n[x](./tune.csv)\n");
        fs::write(own.join("section.md"), section).unwrap();
    }

    #[test]
    fn sections_are_in_order_and_unreadable_ones_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["own", "momentum", "hyper-mnist", "topology", "before"] {
            put(dir.path(), name, "--quick --data DIR --out DIR");
        }
        fs::write(dir.path().join("topology/section.md"), [0xff, 0xfe]).unwrap();
        fs::write(dir.path().join("before/study.json"), "{}").unwrap();
        fs::create_dir(dir.path().join("heterogeneity")).unwrap();
        fs::write(dir.path().join("results.md"), "earlier").unwrap();
        let page = results(dir.path());
        assert_eq!(page.left_out, ["topology", "before"]);
        let places =
            ["(#hyper-mnist)", "(#momentum)", "(#own)", "## T hyper", "## T mom", "## T own"].map(
                |part| page.text.find(part).unwrap_or_else(|| panic!("{part}: {}", page.text)),
            );
        assert!(places.is_sorted(), "{}", page.text);
        assert!(
            page.text.contains("of own](#own) | p | x<br>y | does not hold (quick) | so |"),
            "{}",
            page.text
        );
        assert!(page.text.contains("[x](own/tune.csv)"), "{}", page.text);
        // All of the choices, with links only to sections that are on the page.
        let (_, choices) = page.text.split_once(CHOICES.lines().next().unwrap()).unwrap();
        assert_eq!(choices.trim_end().lines().count(), CHOICES.trim_end().lines().count());
        assert!(choices.contains("[momentum](#momentum)"), "{choices}");
        assert!(choices.contains(" hyper-start") && !choices.contains("(#hyper-start)"));
    }

    #[test]
    fn the_page_names_the_commands_that_reproduce_it() {
        let dir = tempfile::tempdir().unwrap();
        let says = |what: &str| {
            let text = results(dir.path()).text;
            assert!(text.contains(what), "{text}");
        };
        put(dir.path(), "momentum", "--seeds 3 --data DIR --out DIR");
        says("```sh\nlopa paper momentum --seeds 3 --data DIR --out DIR\n```");
        put(dir.path(), "topology", "--seeds 3 --data DIR --out DIR");
        says("```sh\nlopa paper all --seeds 3 --data DIR --out DIR\n```");
        put(dir.path(), "own", "--seeds 3 --data DIR --out DIR");
        says(
            "```sh\nlopa paper all --seeds 3 --data DIR --out DIR\nlopa paper own.toml --seeds 3 ",
        );
        put(dir.path(), "own", "--quick --data DIR --out DIR");
        says("from different commands");
        says("```sh\nlopa paper all --data DIR --out DIR\n```");
    }

    #[test]
    fn what_studies_say_together_needs_all_of_them_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let said = || results(dir.path()).text.contains(TOGETHER);
        for (name, _) in STUDIES {
            assert!(!said());
            put(dir.path(), name, "--data DIR --out DIR");
        }
        assert!(said());
        put(dir.path(), "momentum", "--quick --data DIR --out DIR");
        assert!(!said());
    }
}
