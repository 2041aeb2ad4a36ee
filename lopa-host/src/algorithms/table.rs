//! The table `algorithm` of a file: each algorithm's own keys, checked.

use lopa_core::batch::BatchSize;
use lopa_core::node::Scheme;
use lopa_core::steps::{StepSizeError, StepSizes};
use serde::{Deserialize, Serialize};

use super::catalogue::{AlgorithmName, Key};
use crate::words::word;

/// The table `algorithm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmTable {
    /// The algorithm.
    pub name: AlgorithmName,
    /// The step size of the outer variable; of θ for single-level methods. LoPA's step sizes and momenta are chosen where a
    /// file leaves them open.
    pub alpha: Option<f32>,
    /// The step size of the inner variable.
    pub beta: Option<f32>,
    /// The step size of the Hessian-inverse-vector estimate.
    pub lambda: Option<f32>,
    /// The momentum: the weight of the newest hypergradient.
    pub gamma: Option<f32>,
    /// The relaxation.
    pub tau: Option<f32>,
    /// The momentum of the inner level.
    pub inner_gamma: Option<f32>,
    /// T: inner steps per round.
    pub inner_steps: Option<u32>,
    /// Q: terms of a Neumann series, or steps of v per round.
    pub hessian_steps: Option<u32>,
    /// Whether a Neumann series sums all its terms or draws one.
    pub truncation: Option<Truncation>,
    /// Samples per batch, or "full".
    #[serde(default)]
    pub batch: Batch,
}

/// How a Neumann series of Q terms ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// All terms are summed: Q - 1 Hessian-vector products.
    Fixed,
    /// One random term stands for all: unbiased, with half the products.
    Random,
}

/// How many samples a batch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(untagged, expecting = "batch must be a number of samples, or \"full\"")]
pub enum Batch {
    /// This many, drawn with replacement.
    Drawn(u32),
    /// All of them.
    #[default]
    #[serde(with = "full")]
    Full,
}

word!(full);

impl From<Batch> for BatchSize {
    fn from(batch: Batch) -> Self {
        match batch {
            Batch::Full => Self::Full,
            Batch::Drawn(size) => Self::drawn(size),
        }
    }
}

/// Why a table `algorithm` was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// A key is missing that the algorithm needs.
    #[error("algorithm: missing field `{}`: {name} needs {}", key.name(), name.needs())]
    Missing {
        /// The key.
        key: Key,
        /// The algorithm.
        name: AlgorithmName,
    },
    /// The algorithm has no such key.
    #[error("algorithm.{} does not apply to {name}, which takes {}: remove it", key.name(), name.keys())]
    Unknown {
        /// The key.
        key: Key,
        /// The algorithm.
        name: AlgorithmName,
    },
    /// A value is out of range.
    #[error("algorithm.{name} = {value} is out of range: {range}")]
    Range {
        /// The key.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// A step size is out of range.
    #[error("algorithm.{0}")]
    Step(#[from] StepSizeError),
    /// The momentum is not given, and alpha, its default, is too large for one.
    #[error("algorithm: missing field `gamma`: it defaults to alpha, which is above 1")]
    Momentum,
    /// Only LoPA can do what was requested.
    #[error("algorithm.name is {0}: only lopa-lg and lopa-gt can do this")]
    NotLopa(AlgorithmName),
}

/// T and Q if not given, as is usual in the field.
const USUAL_STEPS: u32 = 10;

impl AlgorithmTable {
    /// The value of one of [`Key::STEPS`]; none for a key that is not given, or is not a step size.
    #[must_use]
    pub const fn step(&self, key: Key) -> Option<f32> {
        match key {
            Key::Alpha => self.alpha,
            Key::Beta => self.beta,
            Key::Lambda => self.lambda,
            Key::Gamma => self.gamma,
            Key::Tau => self.tau,
            Key::InnerGamma => self.inner_gamma,
            Key::InnerSteps | Key::HessianSteps | Key::Truncation => None,
        }
    }

    /// Changes one of [`Key::STEPS`]; any other key stays as it is.
    pub const fn set_step(&mut self, key: Key, value: f32) {
        match key {
            Key::Alpha => self.alpha = Some(value),
            Key::Beta => self.beta = Some(value),
            Key::Lambda => self.lambda = Some(value),
            Key::Gamma => self.gamma = Some(value),
            Key::Tau => self.tau = Some(value),
            Key::InnerGamma => self.inner_gamma = Some(value),
            Key::InnerSteps | Key::HessianSteps | Key::Truncation => {}
        }
    }

    /// Scales all step sizes and momenta; the relaxation stays.
    pub fn scale(&mut self, factor: f32) {
        for key in Key::STEPS.into_iter().filter(|key| *key != Key::Tau) {
            if let Some(step) = self.step(key) {
                self.set_step(key, step * factor);
            }
        }
    }

    /// Checks that the table has every key the algorithm needs, in range, and no key it does not know.
    ///
    /// # Errors
    /// Names the key and says what to do.
    pub fn check(&self) -> Result<(), TableError> {
        let (name, about) = (self.name, self.name.about());
        let steps = Key::STEPS.map(|key| (key, self.step(key).is_some()));
        let others = [
            (Key::InnerSteps, self.inner_steps.is_some()),
            (Key::HessianSteps, self.hessian_steps.is_some()),
            (Key::Truncation, self.truncation.is_some()),
        ];
        for (key, given) in steps.into_iter().chain(others) {
            let needed = about.needs.contains(&key);
            let known = needed || about.takes.iter().any(|(other, _)| *other == key);
            match given {
                false if needed && name.scheme().is_none() => {
                    return Err(TableError::Missing { key, name });
                }
                true if !known => return Err(TableError::Unknown { key, name }),
                _ => {}
            }
        }
        let wrong = |name, value: &dyn ToString, range| {
            Err(TableError::Range { name, value: value.to_string(), range })
        };
        if self.batch == Batch::Drawn(0) {
            return wrong("batch", &0, "at least 1, or \"full\"");
        }
        for (key, steps) in
            [(Key::InnerSteps, self.inner_steps), (Key::HessianSteps, self.hessian_steps)]
        {
            // More is a typing error.
            if let Some(steps) = steps.filter(|steps| !(1..=100_000).contains(steps)) {
                return wrong(key.name(), &steps, "1 to 100000");
            }
        }
        if name.scheme().is_some() {
            let mut closed = self.clone();
            // Anything in range stands for what is open.
            self.open().for_each(|key| closed.set_step(key, 0.5));
            return closed.steps().map(|_| ());
        }
        for key in [Key::Alpha, Key::Beta, Key::Lambda] {
            if let Some(value) = self.step(key).filter(|a| !(*a > 0.0 && a.is_finite())) {
                return Err(StepSizeError { name: key.name(), value, most: None }.into());
            }
        }
        // Unlike LoPA's proofs, these methods allow 1 itself.
        for key in [Key::Gamma, Key::Tau, Key::InnerGamma] {
            if let Some(value) = self.step(key).filter(|a| !(*a > 0.0 && *a <= 1.0)) {
                return wrong(key.name(), &value, "above 0 and at most 1");
            }
        }
        if name == AlgorithmName::MaDsbo
            && self.gamma.is_none()
            && self.alpha.is_some_and(|alpha| alpha > 1.0)
        {
            return Err(TableError::Momentum);
        }
        Ok(())
    }

    /// The keys of LoPA that are not given, and are to be chosen.
    pub fn open(&self) -> impl Iterator<Item = Key> {
        let needs = if self.name.scheme().is_some() { self.name.about().needs } else { &[] };
        needs.iter().copied().filter(|key| self.step(*key).is_none())
    }

    /// LoPA's step sizes.
    ///
    /// # Errors
    /// Names the one that is missing or out of range, or says that it is not LoPA.
    pub fn steps(&self) -> Result<StepSizes, TableError> {
        self.scheme()?;
        let given = |key| self.step(key).ok_or(TableError::Missing { key, name: self.name });
        let (alpha, beta, lambda) = (given(Key::Alpha)?, given(Key::Beta)?, given(Key::Lambda)?);
        let (gamma, tau) = (given(Key::Gamma)?, given(Key::Tau)?);
        Ok(StepSizes::new(alpha, beta, lambda, gamma, tau)?)
    }

    /// LoPA's scheme.
    ///
    /// # Errors
    /// Says that it is not LoPA.
    pub fn scheme(&self) -> Result<Scheme, TableError> {
        self.name.scheme().ok_or(TableError::NotLopa(self.name))
    }

    /// T: inner steps per round.
    #[must_use]
    pub fn inner_steps(&self) -> u32 {
        self.inner_steps.unwrap_or(USUAL_STEPS)
    }

    /// Q: terms of a Neumann series, or steps of v per round.
    #[must_use]
    pub fn hessian_steps(&self) -> u32 {
        self.hessian_steps.unwrap_or(USUAL_STEPS)
    }

    /// How a Neumann series ends.
    #[must_use]
    pub fn truncation(&self) -> Truncation {
        self.truncation.unwrap_or(match self.name {
            AlgorithmName::GossipDsbo => Truncation::Fixed,
            _ => Truncation::Random,
        })
    }
}
