//! The model of one node as source code for a chip.
//!
//! [`Export::rust`] is a module without dependencies, [`Export::c`] a C99 header without includes. Both get the numbers of a
//! file as they are and compute the bits of [`Model::predict`]: their arithmetic is the same, operation by operation, and
//! nothing in them depends on a library. Rust never fuses or reorders operations on floats. C compilers do, some by default,
//! so in the header every product and every sum goes through a volatile variable.
//!
//! ```
//! use lopa_host::model::{Model, export::Export};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let folder = dir.path();
//! # std::fs::write(folder.join("model.json"), r#"{"format":1,"problem":"logistic",
//! #     "target":{"classes":["healthy","ill"]},"columns":{"header":["age","pulse","state"],"columns":3,"label":2,
//! #     "node":null,"features":[0,1]},"pixels":false,"scaling":null,"intercept":true,
//! #     "nodes":[{"id":0,"name":"north","theta":[0.5,-0.25,1.0]}]}"#)?;
//! let model = Model::read(folder)?;
//! let export = Export::new(&model, model.node(Some("north"))?)?;
//! assert!(export.rust().contains("pub fn predict(features: &[f32; FEATURES]) -> usize"));
//! assert!(export.c("motor").contains("static inline int motor_predict(const float features[MOTOR_FEATURES])"));
//! # Ok(())
//! # }
//! ```

mod c;
mod rust;

use super::{Folded, Model, ModelError};

/// What every exported file begins with, after the mark of a comment.
const MARK: &str = "Written by lopa export";

/// The model of one node, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Export<'m> {
    model: &'m Model,
    node: &'m str,
    folded: Folded,
}

impl<'m> Export<'m> {
    /// The model of a node.
    ///
    /// # Errors
    /// Names a weight that does not fit in a 32-bit float.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn new(model: &'m Model, node: usize) -> Result<Self, ModelError> {
        let folded = Folded::new(model, node)?;
        Ok(Self { model, node: &model.nodes[node].name, folded })
    }

    /// What the first lines say.
    fn about(&self) -> String {
        let what = match (self.folded.classes, &self.folded.layer) {
            (0, _) => "predicts a number".to_owned(),
            (classes, None) => format!("predicts one of {classes} classes"),
            (classes, Some(layer)) => {
                let units = layer.biases.len();
                format!("predicts one of {classes} classes, with a layer of {units} units")
            }
        };
        let mut names = match self.model.feature_names() {
            Some(names) => names.into_iter().map(harmless).collect::<Vec<_>>(),
            None => vec!["as in the file that it was learned from".to_owned()],
        };
        let (node, count) = (harmless(self.node), self.model.width());
        if self.model.feature_names().is_some() {
            names = (0..)
                .zip(names)
                .map(|(place, name): (u32, _)| format!("  {place}: {name}"))
                .collect();
        }
        let units =
            if self.model.pixels { "pixels from 0 to 255" } else { "in the units of the file" };
        format!(
            "The model of node {node}, which {what}.\nIts {count} features, {units}, are in this order:\n{}",
            names.join("\n")
        )
    }
}

/// Whether a file that begins with this line was exported.
#[must_use]
pub fn is_ours(line: &str) -> bool {
    line.trim_start_matches(['/', '*', ' ']).starts_with(MARK)
}

/// A name that can do nothing in a comment but be read.
fn harmless(name: &str) -> String {
    let change = |c: char| match c {
        // Ends a comment, continues a line, or is invisible.
        '*' | '\\' => '_',
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    name.chars().map(change).collect()
}

/// Floats with commas between them, some per line. They read back to the same bits.
fn numbers(floats: &[f32], end: &str, indent: &str) -> String {
    let line = |floats: &[f32]| {
        let floats: Vec<String> = floats.iter().map(|float| format!("{float:?}{end},")).collect();
        format!("{indent}{}\n", floats.join(" "))
    };
    floats.chunks(8).map(line).collect()
}
