//! The table of budgets in the docs.

use std::fmt::Write;

/// The lines before and after the table.
const MARKS: [&str; 2] = ["<!-- budgets -->\n", "<!-- end of budgets -->\n"];

/// One board's budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The board.
    pub board: String,
    /// Bytes of flash that the image uses.
    pub flash: u64,
    /// Bytes of flash reserved for it.
    pub flash_room: u64,
    /// Bytes of static RAM.
    pub ram: u64,
    /// Bytes of RAM.
    pub ram_room: u64,
    /// Floats for a node.
    pub floats: u64,
    /// Bytes reserved for a blob.
    pub blob: u64,
}

impl Row {
    fn numbers(&self) -> [u64; 6] {
        let Self { flash, flash_room, ram, ram_room, floats, blob, .. } = *self;
        [flash, flash_room, ram, ram_room, floats, blob]
    }

    /// Whether another agrees, measured values to within a tenth.
    pub fn agrees(&self, other: &Self) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) * 10 <= a;
        near(self.flash, other.flash)
            && near(self.ram, other.ram)
            && Self { flash: other.flash, ram: other.ram, ..self.clone() } == *other
    }
}

/// The page with its rows replaced by these.
pub fn write(page: &str, rows: &[Row]) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    let mut table = String::from(
        "| board | image | of | RAM, including the node's floats | of | floats | blob |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        write!(table, "| {} |", row.board).expect("a string grows");
        for number in row.numbers() {
            write!(table, " {number} |").expect("a string grows");
        }
        table.push('\n');
    }
    Some([before, MARKS[0], &table, MARKS[1], after].concat())
}

/// The rows of a page.
pub fn read(page: &str) -> Vec<Row> {
    let table = page.split_once(MARKS[0]).and_then(|(_, rest)| rest.split_once(MARKS[1]));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (board, numbers) = cells.split_first()?;
        let numbers: Vec<u64> =
            numbers.iter().map(|cell| cell.parse()).collect::<Result<_, _>>().ok()?;
        let [flash, flash_room, ram, ram_room, floats, blob] = numbers[..] else { return None };
        Some(Row { board: (*board).into(), flash, flash_room, ram, ram_room, floats, blob })
    };
    table.map_or("", |(table, _)| table).lines().filter_map(row).collect()
}
