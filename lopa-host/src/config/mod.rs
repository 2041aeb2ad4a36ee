//! A network described in a file.
//!
//! ```toml
//! [network]
//! nodes = 10
//! topology = "ring"
//!
//! [problem]
//! kind = "logistic"
//!
//! [data]
//! source = "synthetic"
//!
//! [algorithm]
//! name = "lopa-gt"
//! alpha = 0.1
//! beta = 0.05
//! lambda = 0.05
//! gamma = 0.3
//! tau = 0.5
//! batch = 20
//!
//! [run]
//! iterations = 1000
//! ```

mod fleet;
mod paths;
mod tables;

pub use paths::relative;
pub use tables::{
    FleetGateway, FleetNode, FleetTable, LinksTable, NetworkTable, ProblemTable, RunTable, Start,
};

use std::path::{Path, PathBuf};

use lopa_core::batch::BatchSize;
use lopa_core::codec::{Codec, CodecError};
use lopa_core::samples::Arithmetic;
use lopa_core::steps::StepSizes;
use serde::{Deserialize, Serialize};

use crate::algorithms::{AlgorithmTable, TableError};
use crate::data::{DataTable, Validation};
use crate::words;

/// An experiment, read from a file and checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The network.
    pub network: NetworkTable,
    /// The problem.
    pub problem: ProblemTable,
    /// The data it is learned from.
    #[serde(default)]
    pub data: DataTable,
    /// The algorithm that learns it.
    pub algorithm: AlgorithmTable,
    /// How nodes are linked; without it vectors are mixed in-process, as floats.
    pub links: Option<LinksTable>,
    /// How long it runs, and what is recorded.
    pub run: RunTable,
    /// The boards that learn, for `lopa fleet` and `lopa gateway`; no other command reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetTable>,
}

/// Why a file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML, or has a key or a value that is unknown.
    #[error("{0}")]
    Syntax(String),
    /// A value is out of range.
    #[error("{0}")]
    Value(String),
    /// The table `algorithm` was refused.
    #[error(transparent)]
    Algorithm(#[from] TableError),
}

/// The message of a parser, with words for the types of this program.
fn in_words(message: &str) -> String {
    let whole = "expected a whole number, not below 0";
    let types = [
        ("expected i8", "expected a whole number from -128 to 127"),
        ("expected u16", whole),
        ("expected u32", whole),
        ("expected u64", whole),
        ("expected usize", whole),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
    ];
    types.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

impl Experiment {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// Names the line of a key or value that is unknown, with the nearest known one, and values out of range.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.into(), source })?;
        let mut experiment = Self::parse(&text).map_err(|error| match error {
            ConfigError::Syntax(what) => ConfigError::Syntax(format!("{}: {what}", path.display())),
            other => other,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in experiment.paths_mut() {
            *path = folder.join(&*path);
        }
        Ok(experiment)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let syntax = |error: toml::de::Error| {
            let mut message = in_words(&error.to_string());
            if let Some(hint) = nearest(error.message()) {
                message += &format!("did you mean `{hint}`?");
            }
            ConfigError::Syntax(message.trim_end().into())
        };
        let experiment: Self = toml::from_str(text).map_err(syntax)?;
        experiment.check()?;
        Ok(experiment)
    }

    /// Whether it leaves step sizes open, which are then chosen.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.algorithm.open().next().is_some()
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let run = &self.run;
        let unusable = [
            (self.network.nodes == 0, "network.nodes is 0: a network needs at least one node"),
            (run.iterations == 0, "run.iterations is 0: at least one round is needed"),
            (run.record_every == 0, "run.record_every is 0: at least 1 is needed"),
            (run.checkpoint_every == Some(0), "run.checkpoint_every is 0: at least 1 is needed"),
            (
                matches!(run.x0, Some(Start::Number(a) | Start::Random { random: a }) if !a.is_finite()),
                "run.x0 is infinite or NaN: it must be a finite number",
            ),
            (
                matches!(run.x0, Some(Start::Random { random }) if random <= 0.0),
                "run.x0 = { random = … } must be above 0: numbers are drawn between minus it and it",
            ),
            (
                self.problem.has_strengths()
                    && matches!(run.x0, Some(Start::Number(a)) if a.abs() > 30.0),
                "run.x0 is out of range: x holds logarithms of strengths, so it must be between -30 and 30",
            ),
            (
                matches!(self.problem, ProblemTable::SharedLayer { .. })
                    && (matches!(run.x0, Some(Start::Number(_)))
                        || (run.x0.is_none() && !self.is_open())),
                "run.x0 must be random for a shared layer, because units that start equal stay equal: set run.x0 = \
                 { random = 0.1 }",
            ),
            (
                matches!(self.problem, ProblemTable::Quadratic { .. }) && !self.data.is_made_up(),
                "the table data has no effect on a quadratic, which has no samples: remove it",
            ),
            (
                matches!(self.problem, ProblemTable::Quadratic { condition, .. } if !(1.0..=1e6).contains(&condition)),
                "problem.condition is out of range: it must be from 1 to 1000000",
            ),
            (
                run.arithmetic == Arithmetic::Integer
                    && matches!(self.problem, ProblemTable::Quadratic { .. }),
                "run.arithmetic = \"integer\" has no effect on a quadratic, which has no samples: remove it",
            ),
            (
                run.refit == Some(true) && self.algorithm.name.is_single_level(),
                "run.refit has no effect on a method with one model for all nodes: remove it",
            ),
            (
                matches!(self.data.validation(), Validation::Part(a) if !(a > 0.0 && a < 1.0)),
                "data.validation is out of range: it must be above 0 and below 1, or \"same\"",
            ),
        ];
        if let Some((_, what)) = unusable.iter().find(|(wrong, _)| *wrong) {
            return Err(ConfigError::Value((*what).into()));
        }
        self.data.check().map_err(|error| ConfigError::Value(error.to_string()))?;
        if let Some(links) = &self.links {
            links.check()?;
        }
        self.codec()?;
        if let Some(fleet) = &self.fleet {
            fleet.check(self.network.nodes)?;
        }
        self.algorithm.check()?;
        let name = self.algorithm.name;
        if let (Some(links), None) = (&self.links, name.scheme()) {
            let only = "only lopa-lg and lopa-gt";
            if links.bits.is_some() {
                return Err(ConfigError::Value(format!(
                    "links.bits: {name} sends floats, because {only} can send few bits: remove it"
                )));
            }
            if links.simulate {
                return Err(ConfigError::Value(format!(
                    "links: {name} runs in-process only, because {only} run over links: remove the table"
                )));
            }
        }
        Ok(())
    }

    /// How vectors travel with few bits; `None` for floats.
    ///
    /// # Errors
    /// Says what is wrong with `links.bits` or `links.unit`.
    pub fn codec(&self) -> Result<Option<Codec>, ConfigError> {
        let codec = self.links.as_ref().map_or(Ok(None), LinksTable::codec);
        codec.map_err(|error| {
            let key = if matches!(error, CodecError::Unit { .. }) { "unit" } else { "bits" };
            ConfigError::Value(format!("links.{key}: {error}"))
        })
    }

    /// Has nodes exchange their vectors in-process, whatever the lines are. The results stay the same.
    pub fn run_in_process(&mut self) {
        if let Some(links) = &mut self.links {
            links.simulate = false;
        }
    }

    /// The experiment with each of `count` seeds, counted up from its own.
    pub fn for_seeds(&self, count: u16) -> impl Iterator<Item = Self> {
        (0..u64::from(count)).map(|more| {
            let mut experiment = self.clone();
            experiment.run.seed = self.run.seed.wrapping_add(more);
            experiment
        })
    }

    /// LoPA's step sizes.
    ///
    /// # Errors
    /// Names the one that is out of range, or says that the algorithm is not LoPA.
    pub fn steps(&self) -> Result<StepSizes, ConfigError> {
        Ok(self.algorithm.steps()?)
    }

    /// The size of a batch.
    #[must_use]
    pub fn batch(&self) -> BatchSize {
        self.algorithm.batch.into()
    }
}

impl LinksTable {
    fn check(&self) -> Result<(), ConfigError> {
        for (name, chance) in [
            ("drop", self.drop),
            ("corrupt", self.corrupt),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ] {
            if !(0.0..1.0).contains(&chance) {
                return Err(ConfigError::Value(format!(
                    "links.{name} = {chance} is out of range: it must be a probability in [0, 1)"
                )));
            }
        }
        if let (Some(unit), None) = (self.unit, self.bits) {
            return Err(ConfigError::Value(format!(
                "links.unit = {unit} has no effect without links.bits, because floats are not rounded: remove it, or set \
                 links.bits"
            )));
        }
        for (name, value) in [("baud", self.baud), ("chunk", self.chunk)] {
            if value == 0 {
                let what = format!("links.{name} is 0: at least 1 is needed");
                return Err(ConfigError::Value(what));
            }
        }
        Ok(())
    }
}

/// The word nearest to an unknown one, out of the list in serde's message.
fn nearest(message: &str) -> Option<&str> {
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next().filter(|_| message.starts_with("unknown"))?;
    words::nearest(unknown, words).filter(|_| !message.contains("did you mean"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Kind;

    const GOOD: &str = r#"
        [network]
        nodes = 4
        [problem]
        kind = "logistic"
        [algorithm]
        name = "lopa-gt"
        alpha = 0.1
        beta = 0.05
        lambda = 0.05
        gamma = 0.3
        tau = 0.5
        batch = 20
        [run]
        iterations = 10
    "#;

    #[test]
    fn a_short_file_gets_the_rest_by_default() {
        let experiment = Experiment::parse(GOOD).unwrap();
        assert_eq!(experiment.network.topology, Kind::Ring);
        assert_eq!(experiment.data, DataTable::default());
        assert_eq!((&experiment.run.x0, experiment.is_open()), (&None, false));
        assert_eq!(experiment.batch(), BatchSize::drawn(20));
        let full = GOOD.replace("batch = 20", "batch = \"full\"");
        assert_eq!(Experiment::parse(&full).unwrap().batch(), BatchSize::Full);
        // What was read can be written, and reads the same.
        let text = toml::to_string(&experiment).unwrap();
        assert_eq!(Experiment::parse(&text).unwrap(), experiment);
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        let board = |(id, port): &(u32, &str)| format!("{{ id = {id}, port = {port:?} }}");
        let boards = |boards: &[(u32, &str)]| {
            let boards: Vec<String> = boards.iter().map(board).collect();
            format!("[fleet]\nnode = [{}]\n[run]", boards.join(", "))
        };
        for (from, to, said) in [
            ("alpha = 0.1", "alhpa = 0.1", "did you mean `alpha`?"),
            ("[run]", "[runn]", "did you mean `run`?"),
            ("nodes = 4", "nodes = 4\ntopology = \"rign\"", "did you mean `ring`?"),
            ("nodes = 4", "nodes = 4\ntopology = \"grid\"", "for example `grid 3x4`"),
            ("[problem]", "[data]\nsource = \"mnits\"\n[problem]", "did you mean `mnist`?"),
            ("[problem]", "[data]\npartition = \"idd\"\n[problem]", "did you mean `iid`?"),
            ("[problem]", "[data]\npartition = \"even\"\n[problem]", "`equal-subsets CLASSES`"),
            ("nodes = 4", "nodes = 4\ntopolgy = \"ring\"", "did you mean `topology`?"),
            ("\"logistic\"", "\"logistics\"", "did you mean `logistic`?"),
            ("\"lopa-gt\"", "\"lopa-tg\"", "did you mean `lopa-gt`?"),
            ("gamma = 0.3", "gamma = 1.1", "gamma = 1.1 is out of range: 0 < gamma <= 1 is needed"),
            ("alpha = 0.1", "alpha = -0.1", "algorithm.alpha = -0.1 is out of range"),
            ("nodes = 4", "nodes = 0", "at least one node"),
            ("nodes = 4", "nodes = -4", "invalid value: integer `-4`"),
            ("batch = 20", "batch = 0", "batch = 0 is out of range"),
            ("batch = 20", "batch = \"half\"", "or \"full\""),
            ("iterations = 10", "iterations = 0", "iterations is 0"),
            ("iterations = 10", "iterations = 10\nrecord_every = 0", "record_every is 0"),
            (
                "iterations = 10",
                "iterations = 10\narithmetic = \"intger\"",
                "did you mean `integer`?",
            ),
            ("iterations = 10", "iterations = 10\nx0 = nan", "x0 is infinite or NaN"),
            ("[problem]", "[problem", "line 4"),
            (
                "[run]",
                "[links]\nbits = 2\n[run]",
                "links.bits: 2 bits per difference are too few to converge",
            ),
            (
                "[run]",
                "[links]\nbits = 16\n[run]",
                "links.bits: there is no codec of 16 bits: use 8, 4 or 3",
            ),
            ("[run]", "[links]\nbits = -8\n[run]", "expected a whole number"),
            (
                "[run]",
                "[links]\nbits = 8\nunit = -61\n[run]",
                "links.unit: a unit of 2^-61 is out of range",
            ),
            (
                "[run]",
                "[links]\nunit = -20\n[run]",
                "links.unit = -20 has no effect without links.bits",
            ),
            ("[run]", "[links]\nbit = 8\n[run]", "did you mean `bits`?"),
            ("[run]", "[fleet]\nbord = \"pico\"\n[run]", "did you mean `board`?"),
            ("[run]", &boards(&[(4, "a")]), "id 4 is out of range: the network has 4 nodes"),
            ("[run]", &boards(&[(1, "a"), (1, "b")]), "id 1 is given twice"),
            ("[run]", &boards(&[(1, "a"), (2, "a")]), "port \"a\" is given twice"),
        ] {
            let error = Experiment::parse(&GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
        let error = Experiment::read("/no/such/file.toml").unwrap_err().to_string();
        assert!(error.contains("cannot read") && error.contains("file.toml"), "{error}");
    }
}
