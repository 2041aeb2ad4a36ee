//! A study's section of the results page, in Markdown.
//!
//! It lies beside the study's other files and links to them with `./`; [`moved`] rewrites these links for a page one folder
//! above.

use super::{Account, Mode, page};
use crate::plot::escaped;
use crate::report::{Report, Table};
use crate::words::{counted, encoded};

/// How every section begins.
pub(super) const BEGIN: &str = "<a id=\"";

/// The section of a study with this report.
pub(super) fn markdown(account: &Account<'_>, report: &Report) -> String {
    let study = account.study;
    let findings = account.findings();
    let verdict = account.judgement();
    let form = match account.mode {
        Mode::Quick => "quick form",
        Mode::Whole => "whole form",
    };
    let mut text = format!(
        "{BEGIN}{}\"></a>\n\n## {}\n\n> {}\n>\n> {}\n\n**Verdict: {verdict}** ({form}, {}).\n\n",
        anchor(account.name),
        line(&study.title),
        line(&study.claim),
        line(&study.place),
        counted(account.seeds(), "seed")
    );
    let reason = account.reason();
    if !reason.is_empty() {
        text += &format!("{}\n\n", line(&reason));
    }
    text += &table(&page::found(page::FOUND, &findings));
    let asides = account.asides();
    if !asides.is_empty() {
        text += "Also measured; not counted in the verdict:\n\n";
        text += &table(&page::found("", &asides));
    }
    for further in account.tables() {
        text += &format!("{}. {}\n\n", further.title, further.caption);
        text += &table(&further);
    }
    for note in page::notes(account) {
        text += &format!("- {}\n", line(&note));
    }
    text.push('\n');
    if let Some(steps) = page::steps(account) {
        text += "Step sizes: every measured seed has a search of its own, with the same budget for every arm, on seeds \
                 that no measured run has. [tune.csv](./tune.csv) lists all trials.\n\n";
        text += &table(&steps);
    }
    // Bars and lines in separate paragraphs, two side by side.
    for alike in report.figures.chunk_by(|a, b| a.columns.is_empty() == b.columns.is_empty()) {
        text += "<p>\n";
        for figure in alike {
            let (name, stem) = (line(&escaped(figure.drawing.name())), &figure.stem);
            text += &format!("<img src=\"./figures/{stem}.svg\" width=\"49%\" alt=\"{name}\">\n");
        }
        text += "</p>\n\n";
    }
    // Not links: the repository keeps the page without these two, which are large.
    text += "This command also writes `report.html` with more charts and `records.csv` with every recorded value:\n\n";
    text + &format!("```sh\n{}\n```\n", line(&account.command()))
}

/// A section for a page in the folder above that of the study.
pub(super) fn moved(section: &str, folder: &str) -> String {
    let folder = encoded(folder);
    section
        .replace("](./", &format!("]({folder}/"))
        .replace("src=\"./", &format!("src=\"{folder}/"))
}

/// The anchor of a study's section.
pub(super) fn anchor(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' })
        .collect()
}

/// A text in one cell of a table.
pub(super) fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

/// A text in one line: a line break would end a list item, a quotation or a heading.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A table.
pub(super) fn table(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: String = cells.iter().map(|text| format!(" {} |", cell(text))).collect();
        format!("|{cells}\n")
    };
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("{}|{}\n{rows}\n", row(&table.head), "---|".repeat(table.head.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_moved_section_lead_into_its_folder() {
        let section = "[a](./a.csv) <img src=\"./figures/b.svg\"> [c](https://example.org/./d)";
        assert_eq!(
            moved(section, "my study"),
            "[a](my%20study/a.csv) <img src=\"my%20study/figures/b.svg\"> [c](https://example.org/./d)"
        );
        assert_eq!(anchor("my study"), "my-study");
    }

    #[test]
    fn cells_stay_in_their_table_row() {
        let text = table(&Table {
            head: vec!["a".into(), "b".into()],
            rows: vec![vec!["x|y".into(), "two\n\nlines".into()]],
            ..Table::default()
        });
        assert_eq!(text, "| a | b |\n|---|---|\n| x\\|y | two lines |\n\n");
    }
}
