//! The tables of costs in the docs.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::counts::{Findings, change, grouped, number, ratio};

/// Bytes may change by this much.
const BYTES: f64 = 10.0;

/// The cost of one benchmark on one chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of code and constants.
    pub flash: u64,
    /// Bytes of the node and its scratch.
    pub ram: u64,
    /// Bytes of stack per step.
    pub stack: u64,
    /// Instructions per step.
    pub instructions: u64,
}

impl Cost {
    fn bytes(self) -> [(&'static str, u64); 3] {
        [("flash", self.flash), ("RAM", self.ram), ("stack", self.stack)]
    }

    /// Compares a measured cost with this one, which is on the page.
    pub fn compare(self, measured: Self) -> Findings {
        let mut findings = Findings::default();
        for ((name, known), (_, found)) in self.bytes().into_iter().zip(measured.bytes()) {
            if change(known, found).abs() > BYTES {
                findings.failures.push(format!("{name} is {found}, on the page {known}"));
            }
        }
        findings.count(self.instructions, measured.instructions);
        findings
    }
}

/// The section of the page, the problem, and the chip.
pub type Key = (String, String, String);

/// Costs by section, problem and chip.
pub type Table = BTreeMap<Key, Cost>;

/// One row: what was measured, and how many multiply-adds a step has.
pub type Row = (Key, Cost, u64);

/// One section's rows, in the given order.
pub fn section<'a>(title: &str, rows: impl Iterator<Item = &'a Row>) -> String {
    let columns = ["flash", "RAM", "stack", "instructions per step", "per multiply-add"];
    let mut text = head(title, &columns);
    for ((_, problem, chip), cost, terms) in rows.filter(|((section, ..), ..)| section == title) {
        let bytes = cost.bytes().map(|(_, bytes)| grouped(bytes));
        let count = grouped(cost.instructions);
        let cells = [&bytes[..], &[count, ratio(cost.instructions, *terms)]].concat();
        line(&mut text, problem, chip, &cells);
    }
    text + "\n"
}

/// A section that begins with its problem and its chip.
pub fn head(title: &str, columns: &[&str]) -> String {
    let names = columns.join(" | ");
    format!(
        "## {title}\n\n| problem | chip | {names} |\n|---|---|{}",
        "---:|".repeat(columns.len())
    )
}

/// Adds one line to a section.
pub fn line(text: &mut String, problem: &str, chip: &str, cells: &[String]) {
    write!(text, "\n| {problem} | {chip} | {} |", cells.join(" | ")).expect("a string grows");
}

/// Reads the rows of all sections back; other lines are text.
pub fn read(page: &str) -> Table {
    let mut table = Table::new();
    let mut title = "";
    for line in page.lines() {
        title = line.strip_prefix("## ").unwrap_or(title);
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, problem, chip, flash, ram, stack, instructions, _, _] = cells[..] else { continue };
        let cost = || {
            Some(Cost {
                flash: number(flash)?,
                ram: number(ram)?,
                stack: number(stack)?,
                instructions: number(instructions)?,
            })
        };
        if let Some(cost) = cost() {
            table.insert((title.into(), problem.into(), chip.into()), cost);
        }
    }
    table
}
