//! The table `algorithm`: each algorithm's own keys, checked.

use lopa_core::node::Scheme;
use lopa_core::steps::{StepSizeError, StepSizes};
use serde::{Deserialize, Serialize};

use super::{Batch, ConfigError};

/// The table `algorithm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmTable {
    /// Which one.
    pub name: AlgorithmName,
    /// The step of the outer variable; of θ with single-level methods.
    pub alpha: f32,
    /// The step of the inner variable.
    pub beta: Option<f32>,
    /// The step of the Hessian-inverse-vector estimate.
    pub lambda: Option<f32>,
    /// The momentum: the share of the newest hypergradient.
    pub gamma: Option<f32>,
    /// The relaxation.
    pub tau: Option<f32>,
    /// The momentum of the inner level.
    pub inner_gamma: Option<f32>,
    /// T: inner steps a round.
    pub inner_steps: Option<u32>,
    /// Q: terms of a Neumann series, or steps of v a round.
    pub hessian_steps: Option<u32>,
    /// Whether a Neumann series adds all its terms or draws one.
    pub truncation: Option<Truncation>,
    /// Samples of a batch, or "full".
    #[serde(default)]
    pub batch: Batch,
}

/// The algorithms; [`AlgorithmName::about`] says what each one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmName {
    /// `LoPA` with local gradients.
    LopaLg,
    /// `LoPA` with gradient tracking.
    LopaGt,
    /// SPDB.
    Spdb,
    /// MA-DSBO, personalised.
    MaDsbo,
    /// Gossip-DSBO, personalised.
    GossipDsbo,
    /// SLAM, personalised.
    Slam,
    /// MDBO, personalised.
    Mdbo,
    /// VRDBO, personalised.
    Vrdbo,
    /// Decentralised gradient descent on one level.
    Dgd,
    /// Gradient tracking on one level.
    Dsgt,
}

/// How a Neumann series of Q terms ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// All terms are added: Q - 1 Hessian-vector products.
    Fixed,
    /// One term, drawn, stands for all: right on average, with half the products.
    Random,
}

/// A key of the table that is some algorithm's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `alpha`.
    Alpha,
    /// `beta`.
    Beta,
    /// `lambda`.
    Lambda,
    /// `gamma`.
    Gamma,
    /// `tau`.
    Tau,
    /// `inner_gamma`.
    InnerGamma,
    /// `inner_steps`.
    InnerSteps,
    /// `hessian_steps`.
    HessianSteps,
    /// `truncation`.
    Truncation,
}

/// What an algorithm's own loops take at most: more is a slip of the pen.
const MOST_STEPS: u32 = 100_000;
/// T and Q if not given: what is usual in the field.
const USUAL_STEPS: u32 = 10;

impl Key {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Alpha,
        Self::Beta,
        Self::Lambda,
        Self::Gamma,
        Self::Tau,
        Self::InnerGamma,
        Self::InnerSteps,
        Self::HessianSteps,
        Self::Truncation,
    ];

    /// Those that are step sizes or momenta: [`AlgorithmTable::step`] has their values.
    pub const STEPS: [Self; 6] =
        [Self::Alpha, Self::Beta, Self::Lambda, Self::Gamma, Self::Tau, Self::InnerGamma];

    /// Its name in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Lambda => "lambda",
            Self::Gamma => "gamma",
            Self::Tau => "tau",
            Self::InnerGamma => "inner_gamma",
            Self::InnerSteps => "inner_steps",
            Self::HessianSteps => "hessian_steps",
            Self::Truncation => "truncation",
        }
    }

    const fn is_in(self, table: &AlgorithmTable) -> bool {
        match self {
            Self::InnerSteps => table.inner_steps.is_some(),
            Self::HessianSteps => table.hessian_steps.is_some(),
            Self::Truncation => table.truncation.is_some(),
            step => table.step(step).is_some(),
        }
    }
}

impl AlgorithmTable {
    /// The value of one of [`Key::STEPS`]; none of a key that is not given, or is no step size.
    #[must_use]
    pub const fn step(&self, key: Key) -> Option<f32> {
        match key {
            Key::Alpha => Some(self.alpha),
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
            Key::Alpha => self.alpha = value,
            Key::Beta => self.beta = Some(value),
            Key::Lambda => self.lambda = Some(value),
            Key::Gamma => self.gamma = Some(value),
            Key::Tau => self.tau = Some(value),
            Key::InnerGamma => self.inner_gamma = Some(value),
            Key::InnerSteps | Key::HessianSteps | Key::Truncation => {}
        }
    }

    /// Makes all step sizes and momenta larger or smaller together; the relaxation stays.
    pub fn scale(&mut self, factor: f32) {
        for key in Key::STEPS.into_iter().filter(|key| *key != Key::Tau) {
            if let Some(step) = self.step(key) {
                self.set_step(key, step * factor);
            }
        }
    }

    /// Whether every key the algorithm needs is there and in range, and no other.
    ///
    /// # Errors
    /// Names the key and says what to do.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (name, about) = (self.name, self.name.about());
        let value = |what: String| Err(ConfigError::Value(what));
        let list = |keys: &[&str]| keys.join(", ");
        let needs: Vec<&str> = about.needs.iter().map(|key| key.name()).collect();
        let takes: Vec<&str> = about.takes.iter().map(|(key, _)| key.name()).collect();
        for key in Key::ALL {
            let key_name = key.name();
            let needed = about.needs.contains(&key);
            let known = needed || about.takes.iter().any(|(other, _)| *other == key);
            if needed && !key.is_in(self) {
                return value(format!(
                    "algorithm: missing field `{key_name}`: {name} needs {}",
                    list(&needs)
                ));
            }
            if key.is_in(self) && !known {
                let all = list(&[needs, takes].concat());
                return value(format!(
                    "algorithm.{key_name} means nothing to {name}, which takes {all}: leave it out"
                ));
            }
        }
        if self.batch == Batch::Drawn(0) {
            return value(
                "algorithm.batch is 0: a number of samples, or \"full\", is needed".into(),
            );
        }
        for (key, steps) in
            [(Key::InnerSteps, self.inner_steps), (Key::HessianSteps, self.hessian_steps)]
        {
            if steps.is_some_and(|steps| !(1..=MOST_STEPS).contains(&steps)) {
                let (key, steps) = (key.name(), steps.unwrap_or_default());
                return value(format!(
                    "algorithm.{key} = {steps} is out of range: 1 to {MOST_STEPS}"
                ));
            }
        }
        if name.scheme().is_some() {
            return self.steps().map(|_| ());
        }
        for key in [Key::Alpha, Key::Beta, Key::Lambda] {
            if let Some(value) = self.step(key).filter(|a| !(*a > 0.0 && a.is_finite())) {
                let name = key.name();
                return Err(ConfigError::Steps(StepSizeError { name, value, below: None }));
            }
        }
        // Without LoPA's proofs the whole of a step is allowed too.
        for key in [Key::Gamma, Key::Tau, Key::InnerGamma] {
            if let Some(share) = self.step(key).filter(|a| !(*a > 0.0 && *a <= 1.0)) {
                let key = key.name();
                return value(format!(
                    "algorithm.{key} = {share} is out of range: above 0 and at most 1"
                ));
            }
        }
        if name == AlgorithmName::MaDsbo && self.gamma.is_none() && self.alpha > 1.0 {
            return value(
                "algorithm: missing field `gamma`: it is alpha if not given, and alpha is above 1"
                    .into(),
            );
        }
        Ok(())
    }

    /// LoPA's step sizes.
    ///
    /// # Errors
    /// Names the one that is missing or out of range, or says that it is not LoPA.
    pub fn steps(&self) -> Result<StepSizes, ConfigError> {
        self.scheme()?;
        let given = |key: Key| {
            let missing = || format!("algorithm: missing field `{}`", key.name());
            self.step(key).ok_or_else(|| ConfigError::Value(missing()))
        };
        let (beta, lambda) = (given(Key::Beta)?, given(Key::Lambda)?);
        let (gamma, tau) = (given(Key::Gamma)?, given(Key::Tau)?);
        StepSizes::new(self.alpha, beta, lambda, gamma, tau).map_err(ConfigError::Steps)
    }

    /// LoPA's scheme.
    ///
    /// # Errors
    /// Says that it is not LoPA.
    pub fn scheme(&self) -> Result<Scheme, ConfigError> {
        let name = self.name;
        name.scheme().ok_or_else(|| {
            let what = format!("algorithm.name is {name}: this takes lopa-lg or lopa-gt");
            ConfigError::Value(what)
        })
    }

    /// T: inner steps a round.
    #[must_use]
    pub fn inner_steps(&self) -> u32 {
        self.inner_steps.unwrap_or(USUAL_STEPS)
    }

    /// Q: terms of a Neumann series, or steps of v a round.
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
