//! The table of costs on the examples' page.

use std::fmt::Write;

use crate::counts::{Findings, change, grouped, number};

/// The lines before and after the table.
const MARKS: [&str; 2] = ["<!-- costs -->\n", "<!-- end of costs -->\n"];
/// Bytes may change by this much, in percent; so may instructions that depend on when interrupts come.
const ROUGHLY: f64 = 10.0;
/// As good as none.
const FEW: u64 = 100;

/// What one example costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The program.
    pub program: String,
    /// Bytes of code and constants.
    pub flash: u64,
    /// Bytes of static RAM.
    pub ram: u64,
    /// Instructions of an idle second.
    pub second: u64,
    /// Instructions of a round without neighbours.
    pub compute: u64,
    /// Instructions of a round with two neighbours.
    pub round: u64,
}

impl Row {
    fn numbers(&self) -> [u64; 5] {
        [self.flash, self.ram, self.second, self.compute, self.round]
    }

    /// Compares a measured row with this one, which is on the page.
    pub fn compare(&self, measured: &Self) -> Findings {
        let mut findings = Findings::default();
        if self.program != measured.program {
            findings.failures.push(format!("the page has {} here", self.program));
        }
        for (name, known, found) in [
            ("flash", self.flash, measured.flash),
            ("RAM", self.ram, measured.ram),
            ("an idle second", self.second, measured.second),
            ("a round with neighbours", self.round, measured.round),
        ] {
            if change(known, found).abs() > ROUGHLY && known.abs_diff(found) > FEW {
                findings.failures.push(format!("{name} is {found}, on the page {known}"));
            }
        }
        findings.count(self.compute, measured.compute);
        findings
    }
}

/// The page with its rows replaced by these.
pub fn write(page: &str, rows: &[Row]) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    let mut table = String::from(
        "| program | flash, bytes | static RAM, bytes | an idle second | a round without neighbours | with two |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let cells = row.numbers().map(grouped).join(" | ");
        writeln!(table, "| `{}` | {cells} |", row.program).expect("a string grows");
    }
    Some([before, MARKS[0], &table, MARKS[1], after].concat())
}

/// The rows of a page.
pub fn read(page: &str) -> Vec<Row> {
    let rest = page.split_once(MARKS[0]).map_or("", |(_, rest)| rest);
    let table = rest.split_once(MARKS[1]).map_or("", |(table, _)| table);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, program, flash, ram, second, compute, round, _] = cells[..] else { return None };
        Some(Row {
            program: program.trim_matches('`').to_owned(),
            flash: number(flash)?,
            ram: number(ram)?,
            second: number(second)?,
            compute: number(compute)?,
            round: number(round)?,
        })
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn a_written_table_reads_back_and_finds_changes() {
    let (program, [flash, ram]) = ("poll".into(), [30_000, 6_000]);
    let row = Row { program, flash, ram, second: 1_000, compute: 9_000, round: 20_000 };
    let page = ["before\n", MARKS[0], "old\n", MARKS[1], "after\n"].concat();
    let written = write(&page, std::slice::from_ref(&row)).unwrap();
    assert!(written.starts_with("before\n") && written.ends_with("after\n"), "{written}");
    assert_eq!(read(&written), std::slice::from_ref(&row));
    assert_eq!(row.compare(&row), Findings::default());
    let found = Row { flash: 40_000, second: 1_200, compute: 8_000, round: 23_000, ..row.clone() };
    assert_eq!(row.compare(&found).failures.len(), 4);
}
