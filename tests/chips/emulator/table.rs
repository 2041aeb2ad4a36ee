//! The tables of costs in the docs.

use std::collections::BTreeMap;
use std::fmt::Write;

/// An instruction count may rise by this much, in percent, before the test fails.
const RISE: f64 = 3.0;
/// It may fall by this much before the page has to be written anew.
const FALL: f64 = 10.0;
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

/// What a comparison with the page found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What fails the test.
    pub failures: Vec<String>,
    /// What only deserves a mention.
    pub notes: Vec<String>,
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
        let (known, found) = (self.instructions, measured.instructions);
        let percent = change(known, found);
        let text = format!("instructions are {found}, on the page {known} ({percent:+.1} %)");
        if !(-FALL..=RISE).contains(&percent) {
            findings.failures.push(text);
        } else if percent < -RISE {
            findings.notes.push(text);
        }
        findings
    }
}

/// The change from one number to another, in percent.
pub fn change(from: u64, to: u64) -> f64 {
    100.0 * (to as f64 - from as f64) / (from as f64)
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
        let number = |cell: &str| cell.replace(',', "").parse().ok();
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

/// How many times one number is another.
pub fn ratio(a: u64, b: u64) -> String {
    format!("{:.2}", a as f64 / b as f64)
}

/// A number with a comma after every thousand.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
