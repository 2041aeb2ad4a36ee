//! The five step sizes.

/// The step sizes of a LoPA network, checked.
///
/// ```
/// use lopa_core::steps::{StepSizes, StepSizeError};
/// // The paper's classification experiment.
/// let steps = StepSizes::new(0.01, 0.01, 0.008, 0.4, 0.4)?;
/// assert_eq!(steps.gamma(), 0.4);
/// let error = StepSizes::new(0.01, 0.01, 0.008, 1.5, 0.4).unwrap_err();
/// assert_eq!(error.to_string(), "gamma = 1.5 is out of range: 0 < gamma <= 1 is needed");
/// # Ok::<(), StepSizeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct StepSizes {
    alpha: f32,
    beta: f32,
    lambda: f32,
    gamma: f32,
    tau: f32,
}

impl StepSizes {
    /// Checks five step sizes.
    ///
    /// # Errors
    /// Names the first one that is out of range: `alpha`, `beta` and `lambda` must be positive, `gamma` and
    /// `tau` positive and at most 1, all finite. The paper wants them below 1; at 1 there is no momentum, or no
    /// relaxation, which is of use to measure what these two are worth.
    pub fn new(
        alpha: f32,
        beta: f32,
        lambda: f32,
        gamma: f32,
        tau: f32,
    ) -> Result<Self, StepSizeError> {
        let positive = [("alpha", alpha), ("beta", beta), ("lambda", lambda)];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(StepSizeError { name, value, most: None });
            }
        }
        for (name, value) in [("gamma", gamma), ("tau", tau)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(StepSizeError { name, value, most: Some(1.0) });
            }
        }
        Ok(Self { alpha, beta, lambda, gamma, tau })
    }

    /// α: the step of the outer variable.
    #[must_use]
    pub const fn alpha(&self) -> f32 {
        self.alpha
    }

    /// β: the step of the inner variable.
    #[must_use]
    pub const fn beta(&self) -> f32 {
        self.beta
    }

    /// λ: the step of the Hessian-inverse-vector estimate.
    #[must_use]
    pub const fn lambda(&self) -> f32 {
        self.lambda
    }

    /// γ: the momentum, which is the share of the newest hypergradient.
    #[must_use]
    pub const fn gamma(&self) -> f32 {
        self.gamma
    }

    /// τ: the relaxation of the consensus step.
    #[must_use]
    pub const fn tau(&self) -> f32 {
        self.tau
    }
}

/// A step size out of range.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
pub struct StepSizeError {
    /// Which one.
    pub name: &'static str,
    /// The value it has.
    pub value: f32,
    /// The largest value it may have, besides being positive and finite.
    pub most: Option<f32>,
}

impl core::fmt::Display for StepSizeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { name, value, most } = self;
        match most {
            None => write!(f, "{name} = {value} is out of range: it must be positive and finite"),
            Some(b) => write!(f, "{name} = {value} is out of range: 0 < {name} <= {b} is needed"),
        }
    }
}

impl core::error::Error for StepSizeError {}

/// Step sizes as a file contains them, before they are checked.
#[derive(serde::Serialize, serde::Deserialize)]
struct Unchecked {
    alpha: f32,
    beta: f32,
    lambda: f32,
    gamma: f32,
    tau: f32,
}

impl TryFrom<Unchecked> for StepSizes {
    type Error = StepSizeError;

    fn try_from(u: Unchecked) -> Result<Self, StepSizeError> {
        Self::new(u.alpha, u.beta, u.lambda, u.gamma, u.tau)
    }
}

impl From<StepSizes> for Unchecked {
    fn from(s: StepSizes) -> Self {
        Self { alpha: s.alpha, beta: s.beta, lambda: s.lambda, gamma: s.gamma, tau: s.tau }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_step_size_and_its_bound() {
        let good = [0.01, 0.02, 0.03, 0.4, 0.5];
        let build = |s: [f32; 5]| StepSizes::new(s[0], s[1], s[2], s[3], s[4]);
        assert!(build(good).is_ok());
        for (i, name) in ["alpha", "beta", "lambda", "gamma", "tau"].into_iter().enumerate() {
            for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, -0.0] {
                let mut steps = good;
                steps[i] = bad;
                let error = build(steps).unwrap_err();
                assert_eq!((error.name, error.most.is_some()), (name, i >= 3));
                assert!(error.to_string().contains(name));
            }
        }
        assert!(build([0.1, 0.1, 0.1, 1.0, 1.0]).is_ok());
        assert_eq!(build([0.1, 0.1, 0.1, 1.01, 0.5]).unwrap_err().name, "gamma");
        assert_eq!(build([0.1, 0.1, 0.1, 0.5, 1.01]).unwrap_err().name, "tau");
    }
}
