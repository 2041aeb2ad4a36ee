//! The results page: the sections of all studies in a folder, whenever each was run.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::section::{BEGIN, anchor, cell, line, moved};
use super::{STUDIES, Verdict};

/// How the rules judge, for readers of this page alone.
const RULES: &str = "Findings are judged by the 95 % confidence interval of the differences, seed by seed. Where an arm should \
    need *fewer* of something, we compare, for each pair, the cost of first reaching a value that both reach on every seed. \
    An arm is *better* if the difference is above zero or, for losses and errors, if the factor is above one. A *power* is \
    the slope of a straight line through the logarithms of all cases; constants and other terms change it, so a deviation \
    of 0.1 is allowed unless a note says otherwise. A claim holds if all of its findings hold, does not hold if none does, \
    and holds partly otherwise. If the seeds do not decide, or if any seed diverged, the verdict is at most \"partly\".\n\n";

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
    title: String,
    claim: String,
    verdict: Verdict,
    quick: bool,
    call: String,
    options: String,
}

/// A study's name, summary and section.
type Section = (String, Known, String);

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
            Some((known, text)) => sections.push((name, known, text)),
            None if own.join("study.json").exists() => left_out.push(name),
            None => {}
        }
    }
    Page { text: text(&sections), left_out }
}

fn read(folder: &Path) -> Option<(Known, String)> {
    let known = serde_json::from_slice(&fs::read(folder.join("study.json")).ok()?).ok()?;
    let section = fs::read_to_string(folder.join("section.md")).ok()?;
    section.starts_with(BEGIN).then_some((known, section))
}

fn text(sections: &[Section]) -> String {
    let mut text = format!(
        "# The paper's claims, measured\n\n\
         The claims that the paper makes about its experiments, what was run for each, and the verdict of the rule in the \
         study's file, written by lopa {} from its measurements. Lines in figures are means over seeds; bands are the 95 % \
         confidence interval of the mean, or the range if there are two seeds. {}\n\n",
        env!("CARGO_PKG_VERSION"),
        commands(sections)
    );
    text += RULES;
    text += "| study | claim | verdict |\n|---|---|---|\n";
    for (name, known, _) in sections {
        let quick = if known.quick { " (quick)" } else { "" };
        let title = cell(&known.title).replace('[', "\\[").replace(']', "\\]");
        text += &format!(
            "| [{title}](#{}) | {} | {}{quick} |\n",
            anchor(name),
            cell(&known.claim),
            known.verdict
        );
    }
    for (name, _, section) in sections {
        text += &format!("\n{}\n", moved(section.trim_end(), name));
    }
    format!("{text}\n{}\n", choices(sections))
}

/// The choices, without links to studies that are not on the page.
fn choices(sections: &[Section]) -> String {
    let absent = |study: &str| sections.iter().all(|(name, ..)| name != study);
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
    let alike = sections.windows(2).all(|two| two[0].1.options == two[1].1.options);
    match sections {
        [] => String::new(),
        [(_, known, _)] => {
            format!("To reproduce this page:{}", block(&[command(&known.call, &known.options)]))
        }
        [(_, first, _), ..] if alike => {
            let own = |call: &str| STUDIES.iter().all(|(name, _)| *name != call);
            let calls = sections.iter().map(|(_, known, _)| known.call.as_str());
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
            "title": format!("T {name}"), "claim": "a | b", "verdict": "does-not-hold", "quick": options.contains("quick"),
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
        assert!(page.text.contains("| a \\| b | does not hold (quick) |"), "{}", page.text);
        assert!(page.text.contains("[x](own/tune.csv)"), "{}", page.text);
        // All of the choices, with links only to sections that are on the page.
        let (_, choices) = page.text.split_once(CHOICES.lines().next().unwrap()).unwrap();
        assert_eq!(choices.trim_end().lines().last(), CHOICES.trim_end().lines().last());
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
}
