//! The table of costs in the docs.

use std::collections::BTreeMap;
use std::fmt::Write;

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
    fn cells(self) -> [(&'static str, u64); 4] {
        let Self { flash, ram, stack, instructions } = self;
        [("flash", flash), ("RAM", ram), ("stack", stack), ("instructions", instructions)]
    }

    /// Differences of more than a tenth between another cost and this one.
    pub fn strays(self, other: Self) -> Vec<String> {
        let pairs = self.cells().into_iter().zip(other.cells());
        pairs
            .filter(|((_, a), (_, b))| a.abs_diff(*b) * 10 > *a)
            .map(|((name, a), (_, b))| format!("{name} is {b}, in the table {a}"))
            .collect()
    }
}

/// The section of the page, the problem, and the chip.
pub type Key = (String, String, String);

/// Costs by section, problem and chip.
pub type Table = BTreeMap<Key, Cost>;

/// One section's rows, in the given order.
pub fn section<'a>(title: &str, rows: impl Iterator<Item = &'a (Key, Cost)>) -> String {
    let mut text = format!("## {title}\n\n| problem | chip |");
    let names = ["flash", "RAM", "stack", "instructions per step"];
    for name in names {
        write!(text, " {name} |").expect("a string grows");
    }
    text += "\n|---|---|";
    text += &"---:|".repeat(names.len());
    for ((_, problem, chip), cost) in rows.filter(|((section, ..), _)| section == title) {
        write!(text, "\n| {problem} | {chip} |").expect("a string grows");
        for (_, number) in cost.cells() {
            write!(text, " {} |", grouped(number)).expect("a string grows");
        }
    }
    text + "\n"
}

/// Reads the rows of all sections back; other lines are text.
pub fn read(page: &str) -> Table {
    let mut table = Table::new();
    let mut title = "";
    for line in page.lines() {
        title = line.strip_prefix("## ").unwrap_or(title);
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, problem, chip, flash, ram, stack, instructions, _] = cells[..] else { continue };
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

/// A number with a comma after every thousand.
fn grouped(number: u64) -> String {
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
