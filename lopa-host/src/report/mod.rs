//! The results of a run, as files and as one page that needs nothing else.
//!
//! [`charts`] makes the figures of one run, [`averaged`] those of several side by side, with bands over seeds, and
//! [`labels`] bars of the classes of every node, [`learned`] pictures of the shared variable; [`summary`] is a table of a
//! record's first, best and last values. A [`Report`] puts them together, and [`Outputs`] writes everything into a folder:
//!
//! ```
//! use lopa_host::record::{Column, Record, Scale};
//! use lopa_host::report::{Report, charts, summary};
//! let column = |name: &str| Column { name: name.into(), title: name.replace('_', " "), scale: Scale::Linear };
//! let record = Record::parse("iteration,outer_loss\n0,0.7\n10,0.5\n", column)?;
//! let report = Report {
//!     title: "A ring of ten".into(),
//!     tiles: vec![("outer loss".into(), "0.5".into())],
//!     figures: charts(&record, "iteration"),
//!     tables: vec![summary(&record)],
//!     ..Report::default()
//! };
//! assert!(report.html().starts_with("<!DOCTYPE html>"));
//! # Ok::<(), lopa_host::record::RecordError>(())
//! ```

mod captions;
mod charts;
mod comparison;
mod differences;
mod figure;
mod labels;
mod learned;
mod nodes;
mod outputs;
mod provenance;
mod run;
mod schema;
mod table;

pub use captions::captioned;
pub use charts::{averaged, charts};
pub use comparison::{Chosen, Learned, Score, comparison};
pub use differences::differences;
pub use figure::{Drawing, Figure};
pub use labels::labels;
pub use learned::learned;
pub(crate) use learned::{COEFFICIENT, Image, LOG, names};
pub use nodes::node_accuracies;
pub use outputs::{Batch, Outputs, Results, diverged, experiment};
pub use provenance::Provenance;
pub use run::of_run;
pub use schema::{NodeState, States};
pub use table::{Table, summary};

use crate::plot::{Chart, capital, escaped};
use crate::record::Scale;
use crate::words::encoded;

/// How the page looks; charts have other colours on a dark screen.
const STYLE: &str = include_str!("page.css");

/// The contents of a page; empty parts are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The name of the run.
    pub title: String,
    /// A line on what was run: algorithm, nodes, rounds, seed.
    pub subtitle: String,
    /// Key values: names and numbers.
    pub tiles: Vec<(String, String)>,
    /// The network's picture, made by [`drawing::svg`](crate::topology::drawing::svg).
    pub network: Option<String>,
    /// Tables above all figures: what a reader wants to know first.
    pub first: Vec<Table>,
    /// Drawings of what was learned.
    pub learned: Vec<Figure>,
    /// The drawings, each with a line on what it means.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// The experiment file, as TOML.
    pub configuration: String,
    /// Longer texts, folded up until they are clicked: a heading and the text each.
    pub folded: Vec<(String, String)>,
    /// Files beside the page that it links to.
    pub files: Vec<String>,
    /// Where the results come from.
    pub provenance: Option<Provenance>,
    /// Remarks at the top.
    pub notes: Vec<String>,
}

impl Report {
    /// The page: one file, without scripts, that loads nothing. It links to the files beside it.
    #[must_use]
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        // The browser must load nothing, whatever a name contains.
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n"
        );
        if !self.subtitle.is_empty() {
            page += &format!("<p class=\"subtitle\">{}</p>\n", escaped(&self.subtitle));
        }
        if !self.tiles.is_empty() {
            page += "<dl class=\"tiles\">\n";
            for (name, figure) in &self.tiles {
                let (name, figure) = (escaped(name), escaped(figure));
                page += &format!("<div><dt>{name}</dt><dd>{figure}</dd></div>\n");
            }
            page += "</dl>\n";
        }
        page += "</header>\n<main>\n";
        for note in &self.notes {
            page += &format!("<p class=\"note\">{}</p>\n", escaped(note));
        }
        for table in &self.first {
            page += &table.html();
        }
        let mut numbered = 0..;
        let mut cards = |figures: &[Figure]| -> String {
            figures.iter().zip(&mut numbered).map(|(figure, number)| card(number, figure)).collect()
        };
        if !self.learned.is_empty() {
            page += "<h2>What was learned</h2>\n<div class=\"grid\">\n";
            page += &(cards(&self.learned) + "</div>\n");
        }
        if !self.figures.is_empty() || self.network.is_some() {
            page += "<h2>Figures</h2>\n<div class=\"grid\">\n";
            if let Some(picture) = &self.network {
                page += "<figure class=\"card network\" id=\"network\">\n<h3>Network</h3>\n";
                let (picture, links) = (picture.trim(), pictures("network"));
                page += &format!("<div>{picture}</div>\n{links}</figure>\n");
            }
            page += &(cards(&self.figures) + "</div>\n");
        }
        for table in &self.tables {
            page += &table.html();
        }
        if !self.configuration.is_empty() {
            let text = escaped(self.configuration.trim_end());
            page += "<h2>Configuration</h2>\n";
            page += &format!(
                "<div class=\"card\"><pre tabindex=\"0\"><code>{text}\n</code></pre></div>\n"
            );
        }
        for (title, text) in &self.folded {
            let (title, text) = (escaped(title), escaped(text.trim_end()));
            page += &format!(
                "<details class=\"card\"><summary>{title}</summary>\n<pre tabindex=\"0\"><code>{text}\n</code></pre>\
                 </details>\n"
            );
        }
        page += &self.sources();
        page + &format!(
            "</main>\n<footer>Written by lopa {}.</footer>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION")
        )
    }

    /// Where the results come from, and the files beside the page.
    fn sources(&self) -> String {
        let mut rows = String::new();
        for [name, value] in self.provenance.iter().flat_map(Provenance::rows) {
            rows += &format!("<dt>{}</dt><dd>{}</dd>\n", escaped(&name), escaped(&value));
        }
        if !self.files.is_empty() {
            let links: Vec<String> = self.files.iter().map(|file| link(file, file)).collect();
            rows += &format!("<dt>files</dt><dd>{}</dd>\n", links.join(", "));
        }
        match rows.is_empty() {
            true => rows,
            false => format!("<h2>Provenance</h2>\n<dl class=\"card facts\">\n{rows}</dl>\n"),
        }
    }
}

/// A link to a file beside the page.
fn link(file: &str, words: &str) -> String {
    let parts: Vec<String> = file.split('/').map(encoded).collect();
    format!("<a href=\"{}\">{}</a>", parts.join("/"), escaped(words))
}

/// Links to a picture's own files.
fn pictures(stem: &str) -> String {
    let [svg, png] = ["svg", "png"]
        .map(|end| link(&format!("{}/{stem}.{end}", outputs::FIGURES), &end.to_uppercase()));
    format!("<p class=\"files\">{svg} {png}</p>\n")
}

/// A drawing with its name and meaning; where a logarithmic and a linear axis both make sense, a click switches them.
fn card(number: usize, figure: &Figure) -> String {
    let title = escaped(&capital(figure.drawing.name()));
    let mut drawing = figure.drawing.clone();
    // The page has a heading for it.
    drawing.title_mut().clear();
    let (first, second) = (drawing.svg_with_values(), drawing.chart().and_then(linear));
    let mut text = format!("<figure class=\"card chart\" id=\"figure-{number}\">\n");
    match second {
        Some(second) => {
            text += &format!(
                "<input class=\"other\" type=\"checkbox\" id=\"other-{number}\" aria-label=\"linear axis\"/>\n\
                 <h3>{title}<label class=\"switch\" for=\"other-{number}\"><span class=\"off\">logarithmic</span>\
                 <span class=\"on\">linear</span> \u{21c5}</label></h3>\n\
                 <div class=\"first\">{first}</div>\n<div class=\"second\">{second}</div>\n"
            );
        }
        None => text += &format!("<h3>{title}</h3>\n<div>{first}</div>\n"),
    }
    let mut words = figure.explanation.trim().to_owned();
    if drawing.chart().is_some_and(Chart::has_marks) {
        words += " \u{25be}\u{a0}marks zero, or what lies far below the axis.";
    }
    if !words.is_empty() {
        text += &format!("<figcaption>{}</figcaption>\n", escaped(words.trim()));
    }
    text + &pictures(&figure.stem) + "</figure>\n"
}

/// A logarithmic chart on a linear scale, if it has both.
fn linear(chart: &Chart) -> Option<String> {
    let mut values = chart.lines.iter().flat_map(|line| &line.points).map(|point| point[1]);
    // Accuracies and counts are rarely shown on a logarithmic axis; a negative value has already made it linear.
    if chart.y_scale == Scale::Linear || values.any(|y| y < 0.0) {
        return None;
    }
    Some(Chart { y_scale: Scale::Linear, ..chart.clone() }.svg_with_values())
}
