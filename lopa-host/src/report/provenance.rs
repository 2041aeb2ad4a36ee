//! Where results come from: when, by which command, and from which data.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::Results;
use crate::data::Shard;

/// The most checksums on a page; `summary.json` has all.
const MOST: usize = 64;

/// Where results come from. It is not part of the results: it differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Provenance {
    /// When they were written, in universal time: `2026-01-31T12:00:00Z`. The environment variable `SOURCE_DATE_EPOCH`
    /// can set it, as for other reproducible files.
    pub date: String,
    /// The command that wrote them.
    pub command: String,
    /// The version of lopa.
    pub version: &'static str,
    /// The seed, if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// A checksum (CRC-32) of the training and validation samples of every node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
}

impl Provenance {
    /// Of results that this process writes now.
    #[must_use]
    pub fn now() -> Self {
        Self {
            date: date(seconds()),
            command: command(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
            version: env!("CARGO_PKG_VERSION"),
            seed: None,
            data: Vec::new(),
        }
    }

    /// The same of a run.
    pub(super) fn of(results: &Results<'_>) -> Self {
        let data = results.shards.iter().map(Shard::checksum);
        let data = data.map(|checksum| format!("{checksum:08x}")).collect();
        Self { seed: Some(results.experiment.run.seed), data, ..Self::now() }
    }

    /// Rows of a table: what, and its value.
    pub(super) fn rows(&self) -> Vec<[String; 2]> {
        let mut rows = vec![
            ["date".into(), self.date.clone()],
            ["command".into(), self.command.clone()],
            ["version".into(), format!("lopa {}", self.version)],
        ];
        rows.extend(self.seed.map(|seed| ["seed".into(), seed.to_string()]));
        if !self.data.is_empty() {
            let mut checksums = self.data[..self.data.len().min(MOST)].join(" ");
            if self.data.len() > MOST {
                checksums += &format!(" \u{2026} and {} more", self.data.len() - MOST);
            }
            rows.push(["data, CRC-32 per node".into(), checksums]);
        }
        rows
    }
}

/// Seconds since 1970.
fn seconds() -> u64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.trim().parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Later dates have more than four digits in their year.
    given.unwrap_or_else(now).min(253_402_300_799)
}

/// A date and time in the form of ISO 8601.
fn date(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let every = |year: u64, years: u64| year.is_multiple_of(years);
    let leap = |year: u64| every(year, 4) && (!every(year, 100) || every(year, 400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (day, hour, minute, second) = (days + 1, rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A command line as a shell would read it, without the folder of the program.
fn command(words: impl Iterator<Item = String>) -> String {
    let plain = |word: &str| {
        let fine = |c: char| c.is_alphanumeric() || "-_./:=,+%@~".contains(c);
        !word.is_empty() && word.chars().all(fine)
    };
    let mut line: Vec<String> = words
        .map(|word| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) })
        .collect();
    if let Some(program) = line.first_mut() {
        let name = std::path::Path::new(&*program).file_name();
        *program = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    }
    line.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_across_leap_years() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["/usr/bin/lopa", "run", "my net.toml", "--out", "o'clock"].map(str::to_owned);
        assert_eq!(command(words.into_iter()), "lopa run 'my net.toml' --out 'o'\\''clock'");
        assert_eq!(command(std::iter::empty()), "");
    }
}
