//! What was measured: a table with named columns, as in `metrics.csv`.

use std::fmt;

use crate::csv;

/// The axis a column is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear: accuracies, counts.
    Linear,
    /// Logarithmic: errors that shrink.
    Logarithmic,
}

/// Which rounds a value is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The last one.
    #[default]
    Last,
    /// The mean over all recorded rounds, so that an earlier improvement counts for more.
    Course,
    /// The mean over the second half of the recorded rounds, once the run has settled.
    Tail,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "at the end",
            Self::Course => "averaged over the run",
            Self::Tail => "averaged over its second half",
        })
    }
}

/// A column of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name in the file, such as `outer_loss`.
    pub name: String,
    /// Its name in charts and tables, such as "outer loss".
    pub title: String,
    /// How it is drawn.
    pub scale: Scale,
}

/// A table of values; the first column is the iteration. A value that does not exist is `None`, and empty in a file.
///
/// ```
/// use lopa_host::record::{Column, Record, Scale};
/// let column = |name: &str| Column { name: name.into(), title: name.into(), scale: Scale::Linear };
/// let mut record = Record::new(vec![column("iteration"), column("loss")]);
/// record.push(vec![Some(0.0), Some(0.25)]);
/// assert_eq!(record.csv(), "iteration,loss\n0,0.25\n");
/// assert_eq!(record.values("loss").unwrap(), [Some(0.25)]);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    columns: Vec<Column>,
    rows: Vec<Vec<Option<f64>>>,
}

/// The cost of reaching a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The cost when it was first seen to be reached; if it never was, all that was spent, a lower bound.
    pub spent: f64,
    /// A lower bound of the cost in any case: what had been spent when it was last seen not to be reached.
    pub least: f64,
    /// Whether it was reached.
    pub reached: bool,
}

/// Why a CSV file is not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RecordError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Record {
    /// A table without rows.
    #[must_use]
    pub const fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; missing values are `None`, and surplus ones are dropped.
    pub fn push(&mut self, mut row: Vec<Option<f64>>) {
        row.resize(self.columns.len(), None);
        self.rows.push(row);
    }

    /// The same table with some of its columns only.
    #[must_use]
    pub fn only(&self, kept: impl Fn(&str) -> bool) -> Self {
        let kept: Vec<bool> = self.columns.iter().map(|column| kept(&column.name)).collect();
        fn those<T: Clone>(all: &[T], kept: &[bool]) -> Vec<T> {
            all.iter().zip(kept).filter(|(_, kept)| **kept).map(|(one, _)| one.clone()).collect()
        }
        Self {
            columns: those(&self.columns, &kept),
            rows: self.rows.iter().map(|row| those(row, &kept)).collect(),
        }
    }

    /// Keeps the rows for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(&[Option<f64>]) -> bool) {
        self.rows.retain(|row| keep(row));
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Option<f64>>] {
        &self.rows
    }

    /// One column, by its name.
    #[must_use]
    pub fn values(&self, name: &str) -> Option<Vec<Option<f64>>> {
        let at = self.columns.iter().position(|column| column.name == name)?;
        Some(self.rows.iter().map(|row| row[at]).collect())
    }

    /// The last value of a column.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<f64> {
        self.value(name, Over::Last)
    }

    /// One value of a column over some rounds; none if any of them has no value.
    ///
    /// ```
    /// use lopa_host::metrics::column;
    /// use lopa_host::record::{Over, Record};
    /// let record = Record::parse("iteration,outer_loss\n0,4\n1,2\n2,1\n3,0\n", column)?;
    /// assert_eq!(record.value("outer_loss", Over::Last), Some(0.0));
    /// assert_eq!(record.value("outer_loss", Over::Course), Some(1.75));
    /// assert_eq!(record.value("outer_loss", Over::Tail), Some(0.5));
    /// # Ok::<(), lopa_host::record::RecordError>(())
    /// ```
    #[must_use]
    pub fn value(&self, name: &str, over: Over) -> Option<f64> {
        let values = self.values(name)?;
        let from = match over {
            Over::Last => return values.last().copied().flatten(),
            Over::Course => 0,
            Over::Tail => values.len() / 2,
        };
        let taken = &values[from..];
        let sum = taken.iter().copied().sum::<Option<f64>>()?;
        (!taken.is_empty()).then(|| sum / taken.len() as f64)
    }

    /// The cost of first reaching `target` in the column `name`, counted in the column `along`; none if nothing was
    /// recorded. `sign` is 1 where larger values are better, otherwise -1.
    #[must_use]
    pub fn cost(&self, name: &str, sign: f64, target: f64, along: &str) -> Option<Cost> {
        let (values, spent) = (self.values(name)?, self.values(along)?);
        let there = |value: &Option<f64>| value.is_some_and(|a| sign * a >= sign * target);
        let row = values.iter().position(there);
        let at = |row: usize| spent.get(row).copied().flatten();
        let last = row.unwrap_or(values.len().checked_sub(1)?);
        // Between two records nothing is known; a value that holds from the start has cost nothing.
        let before = row.map_or(last, |row| row.saturating_sub(1));
        Some(Cost { spent: at(last)?, least: at(before)?, reached: row.is_some() })
    }

    /// The table as a CSV file, with numbers that read back to the same bits.
    #[must_use]
    pub fn csv(&self) -> String {
        self.names() + &self.lines("")
    }

    /// The line of a CSV file that names the columns.
    #[must_use]
    pub fn names(&self) -> String {
        csv::line(self.columns.iter().map(|column| &column.name))
    }

    /// The rows as lines of a CSV file, each after `before`, so that several records can share a file.
    #[must_use]
    pub fn lines(&self, before: &str) -> String {
        let line = |row: &Vec<Option<f64>>| csv::line(row.iter().copied().map(csv::maybe));
        self.rows.iter().map(|row| before.to_owned() + &line(row)).collect()
    }

    /// Reads what [`Record::csv`] wrote; `column` describes the column of a name.
    ///
    /// # Errors
    /// Names the line that is wrong.
    pub fn parse(text: &str, column: impl Fn(&str) -> Column) -> Result<Self, RecordError> {
        let mut lines = text.lines().enumerate();
        let (_, names) =
            lines.next().filter(|(_, names)| names.split(',').next() == Some("iteration")).ok_or(
                RecordError { line: 1, what: "the first column must be \"iteration\"".into() },
            )?;
        let mut record = Self::new(names.split(',').map(column).collect());
        for (index, line) in lines {
            let wrong = |what: String| RecordError { line: index + 1, what };
            let value = |word: &str| match word {
                "" => Ok(None),
                word => {
                    word.parse().map(Some).map_err(|_| wrong(format!("{word:?} is not a number")))
                }
            };
            let row: Vec<Option<f64>> = line.split(',').map(value).collect::<Result<_, _>>()?;
            let (found, needed) = (row.len(), record.columns.len());
            if found != needed {
                return Err(wrong(format!("{found} values, expected {needed}")));
            }
            record.rows.push(row);
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> Column {
        Column { name: name.into(), title: name.replace('_', " "), scale: Scale::Linear }
    }

    #[test]
    fn a_record_reads_back_to_the_same_bits() {
        let mut record = Record::new(["iteration", "a", "b"].map(column).into());
        record.push(vec![Some(0.0), Some(0.1 + 0.2), None]);
        record.push(vec![Some(7.0), Some(1e-300), Some(-0.0)]);
        record.push(vec![Some(8.0)]);
        let read = Record::parse(&record.csv(), column).unwrap();
        assert_eq!(read, record);
        assert_eq!(read.values("a").unwrap()[0], Some(0.1 + 0.2));
        assert_eq!((read.last("a"), read.last("c")), (None, None));
    }

    #[test]
    fn a_file_that_is_not_a_record_is_refused_with_its_line() {
        for (text, line, what) in [
            ("", 1, "iteration"),
            ("a,b\n", 1, "iteration"),
            ("iteration,a\n1,2\n3\n", 3, "1 values, expected 2"),
            ("iteration,a\n1,x\n", 2, "\"x\" is not a number"),
        ] {
            let error = Record::parse(text, column).unwrap_err();
            assert!(error.line == line && error.what.contains(what), "{error}");
        }
    }
}
