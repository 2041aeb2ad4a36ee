//! Labels as they are read: numbers to predict, or classes with the names they have in the file.

use std::collections::HashMap;
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::table::{Class, Targets};
use super::text::{excerpt, is_missing, number};

/// The most classes: a label is one byte on a chip.
const MOST: usize = 256;

/// The labels of a file, in the order of its rows.
pub(crate) struct Labels {
    kind: LabelKind,
    targets: Vec<f32>,
    rows: Vec<u8>,
    /// The classes in the order in which they occur.
    found: HashMap<String, u8>,
}

impl Labels {
    pub(crate) fn new(kind: LabelKind) -> Self {
        Self { kind, targets: Vec::new(), rows: Vec::new(), found: HashMap::new() }
    }

    pub(crate) const fn len(&self) -> usize {
        match self.kind {
            LabelKind::Real => self.targets.len(),
            LabelKind::Binary | LabelKind::Class => self.rows.len(),
        }
    }

    pub(crate) fn push(&mut self, cell: &str) -> Result<(), String> {
        if is_missing(cell) {
            return Err("the label is missing: fill it in or leave the sample out".into());
        }
        if self.kind == LabelKind::Real {
            let target = number(cell).map_err(|what| format!("the label {what}"))?;
            self.targets.push(target);
            return Ok(());
        }
        let name = class_name(cell);
        let next = self.found.len();
        if next == MOST && !self.found.contains_key(&name) {
            return Err(format!(
                "\"{}\" is class number {}, and {MOST} is the limit: is this column really the label? A number is \
                 predicted by problem.kind = \"ridge\"",
                excerpt(cell),
                MOST + 1
            ));
        }
        self.rows.push(*self.found.entry(name).or_insert(next as u8));
        Ok(())
    }

    /// The labels, and the classes in order: by value if all are numbers, otherwise by name.
    pub(crate) fn finish(self) -> (Targets, Arc<[Class]>) {
        if self.kind == LabelKind::Real {
            return (Targets::Real(self.targets), Arc::new([]));
        }
        let mut found: Vec<(String, u8)> = self.found.into_iter().collect();
        let names = sorted(found.iter().map(|(name, _)| name.clone()).collect());
        found.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
        let mut order = [0; MOST];
        for (new, (_, old)) in (0..=u8::MAX).zip(&found) {
            order[usize::from(*old)] = new;
        }
        let rows = self.rows.iter().map(|&row| order[usize::from(row)]).collect();
        (Targets::Class(rows), classes(&names))
    }
}

/// The class that a cell means: 1, +1 and 1.0 are one class.
pub(super) fn class_name(cell: &str) -> String {
    // In 64 bits: dates and identifiers have more digits than 32 bits hold.
    let value = cell.parse::<f64>().ok().filter(|_| number(cell).is_ok());
    value.map_or_else(|| cell.to_owned(), |value| value.to_string())
}

/// Names in order: by value if all are numbers, otherwise as text.
pub(crate) fn sorted(mut names: Vec<String>) -> Vec<String> {
    let value = |name: &String| name.parse::<f64>().ok().filter(|value| value.is_finite());
    if names.iter().all(|name| value(name).is_some()) {
        names.sort_by(|a, b| value(a).partial_cmp(&value(b)).unwrap_or(std::cmp::Ordering::Equal));
    } else {
        names.sort();
    }
    names
}

/// Classes by name; the number of one is its name if that is a number, otherwise its place.
pub(crate) fn classes(names: &[String]) -> Arc<[Class]> {
    let class = |(place, name): (i16, &String)| Class::new(name.parse().unwrap_or(place), name);
    (0..).zip(names).map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: LabelKind, cells: &[&str]) -> (Targets, Vec<String>) {
        let mut labels = Labels::new(kind);
        cells.iter().for_each(|cell| labels.push(cell).unwrap());
        assert_eq!(labels.len(), cells.len());
        let (targets, classes) = labels.finish();
        (targets, classes.iter().map(|class| class.name.clone()).collect())
    }

    #[test]
    fn classes_are_sorted_by_value_or_by_name() {
        let (targets, names) = read(LabelKind::Class, &["10", "9", "+9", "9.0", "-1"]);
        assert_eq!(
            (targets, names),
            (Targets::Class(vec![2, 1, 1, 1, 0]), ["-1", "9", "10"].map(String::from).to_vec())
        );
        // Numbers with more digits than a 32-bit float has.
        let (_, names) = read(LabelKind::Class, &["20230102", "20230101", "16777217", "16777216"]);
        assert_eq!(names, ["16777216", "16777217", "20230101", "20230102"]);
        let (targets, names) = read(LabelKind::Binary, &["ill", "healthy", "ill"]);
        assert_eq!(
            (targets, names),
            (Targets::Class(vec![1, 0, 1]), ["healthy", "ill"].map(String::from).to_vec())
        );
    }

    #[test]
    fn there_is_a_limit_to_classes() {
        let mut labels = Labels::new(LabelKind::Class);
        (0..256).for_each(|class| labels.push(&format!("a{class}")).unwrap());
        labels.push("a7").unwrap();
        let said = labels.push("17.99").unwrap_err();
        assert!(said.contains("\"17.99\" is class number 257"), "{said}");
        assert_eq!(labels.len(), 257);
    }

    #[test]
    fn labels_that_are_missing_or_no_numbers_are_refused() {
        for cell in ["", "NA", "nan", "?"] {
            let said = Labels::new(LabelKind::Class).push(cell).unwrap_err();
            assert!(said.contains("the label is missing"), "{said}");
        }
        let said = Labels::new(LabelKind::Real).push("red").unwrap_err();
        assert!(said.contains("the label \"red\" is not a number"), "{said}");
    }
}
