//! The Rust module.

use super::{Export, MARK, numbers};
use crate::model::Rows;

// What it computes with, as this program does.
const AFFINE: &str = include_str!("../affine.rs");
const CENTRED: &str = include_str!("../centred.rs");
const SIGMOID: &str = include_str!("../sigmoid.rs");
const LARGEST: &str = include_str!("../largest.rs");

/// Not every program uses all of a module.
const UNUSED: &str = "#[allow(dead_code)]\n#[must_use]\n";

impl Export<'_> {
    /// A module that needs nothing but `core`.
    #[must_use]
    pub fn rust(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut text = format!("// {MARK} {version}: changes would be lost.\n//\n");
        text += &self.about().lines().map(|line| format!("// {line}\n")).collect::<String>();
        text += &format!(
            "\n/// The number of features.\n#[allow(dead_code)]\npub const FEATURES: usize = {};\n",
            self.model.width()
        );
        let classes = self.model.classes();
        if !classes.is_empty() {
            let list: String = classes.iter().map(|class| format!("    {class:?},\n")).collect();
            text += &format!(
                "\n/// The names of the classes.\n#[allow(dead_code)]\npub const CLASSES: [&str; {}] = [\n{list}];\n",
                classes.len()
            );
        }
        if !self.folded.offsets.is_empty() {
            let offsets = numbers(&self.folded.offsets, "", "    ");
            text += &format!("\nstatic OFFSETS: [f32; FEATURES] = [\n{offsets}];\n");
        }
        text += &match (&self.folded.layer, classes) {
            (Some(layer), _) => self.layered(layer),
            (None, []) => self.number(),
            (None, _) => self.two_classes(),
        };
        text
    }

    /// The sum of features with these weights.
    fn input(&self, weights: &str, bias: &str) -> String {
        match self.folded.offsets.is_empty() {
            true => format!("affine({weights}, {bias}, features)"),
            false => format!("centred({weights}, {bias}, &OFFSETS, features)"),
        }
    }

    /// What computes that sum.
    fn sums(&self) -> String {
        match (self.folded.offsets.is_empty(), &self.folded.layer) {
            (true, _) => private(AFFINE),
            (false, None) => private(CENTRED),
            (false, Some(_)) => private(AFFINE) + &private(CENTRED),
        }
    }

    fn number(&self) -> String {
        let weights = one(&self.folded.output);
        let input = self.input("&WEIGHTS", "BIAS");
        format!(
            "{weights}\n/// The number that is predicted for a sample.\n{UNUSED}\
             pub fn predict(features: &[f32; FEATURES]) -> f32 {{\n    {input}\n}}\n{}",
            self.sums()
        )
    }

    fn two_classes(&self) -> String {
        let weights = one(&self.folded.output);
        let input = self.input("&WEIGHTS", "BIAS");
        format!(
            "{weights}
/// The score of a sample: the logarithm of the odds of the second class.
{UNUSED}pub fn score(features: &[f32; FEATURES]) -> f32 {{
    {input}
}}

/// The class that is predicted for a sample: its place in [`CLASSES`].
{UNUSED}pub fn predict(features: &[f32; FEATURES]) -> usize {{
    if score(features) < 0.0 {{ 0 }} else {{ 1 }}
}}

/// The probability of that class.
{UNUSED}pub fn probability(features: &[f32; FEATURES]) -> f32 {{
    let score = score(features);
    sigmoid(if score < 0.0 {{ -score }} else {{ score }})
}}
{}{}",
            self.sums(),
            private(SIGMOID)
        )
    }

    fn layered(&self, layer: &Rows) -> String {
        let units = layer.biases.len();
        let input = self.input("weights", "bias");
        let (layer, head) = (rows("LAYER", layer), rows("HEAD", &self.folded.output));
        format!(
            "
/// The number of units of the layer.
const UNITS: usize = {units};
{layer}{head}
/// The score of every class for a sample.
{UNUSED}pub fn scores(features: &[f32; FEATURES]) -> [f32; CLASSES.len()] {{
    let (mut units, mut scores) = ([0.0; UNITS], [0.0; CLASSES.len()]);
    for ((unit, weights), &bias) in units.iter_mut().zip(&LAYER).zip(&LAYER_BIASES) {{
        *unit = sigmoid({input});
    }}
    for ((score, weights), &bias) in scores.iter_mut().zip(&HEAD).zip(&HEAD_BIASES) {{
        *score = affine(weights, bias, &units);
    }}
    scores
}}

/// The class that is predicted for a sample: its place in [`CLASSES`].
{UNUSED}pub fn predict(features: &[f32; FEATURES]) -> usize {{
    largest(&scores(features))
}}

/// The probability of that class.
{UNUSED}pub fn probability(features: &[f32; FEATURES]) -> f32 {{
    largest_share(&scores(features))
}}
{}{}{}",
            self.sums(),
            private(SIGMOID),
            private(LARGEST)
        )
    }
}

/// The weights of a single sum.
fn one(rows: &Rows) -> String {
    let (weights, bias) = (numbers(&rows.weights, "", "    "), rows.biases[0]);
    format!("\nstatic WEIGHTS: [f32; FEATURES] = [\n{weights}];\n\nstatic BIAS: f32 = {bias:?};\n")
}

/// The weights of several sums.
fn rows(name: &str, rows: &Rows) -> String {
    let (count, width) = (rows.biases.len(), rows.width);
    let row = |(weights, _): (&[f32], f32)| {
        format!("    [\n{}    ],\n", numbers(weights, "", "        "))
    };
    let weights: String = rows.iter().map(row).collect();
    let biases = numbers(&rows.biases, "", "    ");
    format!(
        "\nstatic {name}: [[f32; {width}]; {count}] = [\n{weights}];\n\n\
         static {name}_BIASES: [f32; {count}] = [\n{biases}];\n"
    )
}

/// A file of this program as part of a module: without its docs and imports, and private.
fn private(source: &str) -> String {
    let own = |line: &&str| !line.starts_with("//!") && !line.starts_with("use ");
    let lines = source.lines().filter(own).map(|line| line.replace("pub(super) ", "") + "\n");
    let text: String = lines.collect();
    format!("\n{}", text.trim_start())
}
