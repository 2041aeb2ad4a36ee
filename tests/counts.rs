//! Counts of instructions against those on a page: how much they may change, and how they are written.

/// A count may rise by this much, in percent, before the test fails.
const RISE: f64 = 3.0;
/// It may fall by this much before the page has to be written anew.
const FALL: f64 = 10.0;

/// What a comparison with a page found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What fails the test.
    pub failures: Vec<String>,
    /// What only deserves a mention.
    pub notes: Vec<String>,
}

impl Findings {
    /// Compares a count with the one on the page.
    pub fn count(&mut self, known: u64, found: u64) {
        let percent = change(known, found);
        let text = format!("instructions are {found}, on the page {known} ({percent:+.1} %)");
        if !(-FALL..=RISE).contains(&percent) {
            self.failures.push(text);
        } else if percent < -RISE {
            self.notes.push(text);
        }
    }

    /// Adds those of one row.
    pub fn add(&mut self, what: &str, row: Self) {
        let named = |text: String| format!("{what}: {text}");
        self.failures.extend(row.failures.into_iter().map(named));
        self.notes.extend(row.notes.into_iter().map(named));
    }

    /// Prints the notes, and fails if anything has to.
    pub fn settle(self, bless: &str) {
        for note in &self.notes {
            println!("note: {note}");
        }
        if !self.notes.is_empty() {
            println!("to bring the page up to date: {bless}");
        }
        let (failures, notes) = (self.failures.join("\n"), self.notes.join("\n"));
        assert!(failures.is_empty(), "{failures}\n{notes}\nif this is intended: {bless}");
    }
}

/// Whether pages are rewritten.
pub fn blessing() -> bool {
    std::env::var_os("LOPA_BLESS").is_some()
}

/// The change from one number to another, in percent.
pub fn change(from: u64, to: u64) -> f64 {
    100.0 * (to as f64 - from as f64) / (from as f64)
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

/// The number in a cell of a table.
pub fn number(cell: &str) -> Option<u64> {
    cell.replace(',', "").parse().ok()
}

#[test]
fn more_instructions_fail_sooner_than_fewer() {
    for (found, failures, notes) in
        [(1_030, 0, 0), (1_031, 1, 0), (970, 0, 0), (969, 0, 1), (900, 0, 1), (899, 1, 0)]
    {
        let mut findings = Findings::default();
        findings.count(1_000, found);
        assert_eq!((findings.failures.len(), findings.notes.len()), (failures, notes), "{found}");
    }
    let mut findings = Findings::default();
    findings.count(1_000, 1_031);
    assert_eq!(findings.failures, ["instructions are 1031, on the page 1000 (+3.1 %)"]);
}
