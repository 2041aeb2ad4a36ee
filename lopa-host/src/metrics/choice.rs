//! Which metrics a run measures.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Metric;

/// The metrics of a run: a list of names, "default" or "all".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// [`Metric::DEFAULT`].
    #[default]
    Default,
    /// [`Metric::ALL`].
    All,
    /// These.
    These(Vec<Metric>),
}

impl Choice {
    /// The metrics, in the order of columns, each once.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = match self {
            Self::Default => Metric::DEFAULT.to_vec(),
            Self::All => Metric::ALL.to_vec(),
            Self::These(metrics) => metrics.clone(),
        };
        metrics.sort();
        metrics.dedup();
        metrics
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => serializer.serialize_str("default"),
            Self::All => serializer.serialize_str("all"),
            Self::These(metrics) => metrics.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words)
    }
}

struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Choice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of metrics, \"default\" or \"all\"")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Choice, E> {
        match word {
            "default" => Ok(Choice::Default),
            "all" => Ok(Choice::All),
            other => Err(E::unknown_variant(other, &["default", "all"])),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Choice, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Choice::These)
    }
}
