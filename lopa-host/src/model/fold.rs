//! Scaling, intercept and the units of the target as part of a model, so that the numbers of a file go in as they are.

use super::affine::affine;
use super::centred::centred;
use super::largest::{largest, largest_share};
use super::sigmoid::sigmoid;
use super::{Model, ModelError, NodeModel, Scaling, Target};
use crate::data::scale;

/// The model of one node for the numbers of a file, in 32-bit floats. The weights are computed in 64 bits and rounded once.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// What is subtracted from each feature; none if nothing is.
    pub offsets: Vec<f32>,
    /// The shared layer, if there is one: its units get the features, and their sigmoids go into `output`.
    pub layer: Option<Rows>,
    /// The last sums: one per class, or one for a number or two classes.
    pub output: Rows,
    /// How many classes there are; none for numbers.
    pub classes: usize,
}

/// Sums of weighted inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// How many inputs.
    pub width: usize,
    /// The weights, row after row.
    pub weights: Vec<f32>,
    /// What each sum begins with.
    pub biases: Vec<f32>,
}

impl Rows {
    /// Each row: its weights, and its bias.
    pub fn iter(&self) -> impl Iterator<Item = (&[f32], f32)> {
        self.weights.chunks_exact(self.width).zip(self.biases.iter().copied())
    }

    fn apply(&self, offsets: &[f32], inputs: &[f32]) -> Vec<f32> {
        let sum = |(weights, bias)| match offsets {
            [] => affine(weights, bias, inputs),
            offsets => centred(weights, bias, offsets, inputs),
        };
        self.iter().map(sum).collect()
    }
}

impl Folded {
    /// What a node has learned, for the numbers of a file.
    ///
    /// # Errors
    /// Names a weight that does not fit in a 32-bit float.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn new(model: &Model, node: usize) -> Result<Self, ModelError> {
        let NodeModel { name, theta, x, .. } = &model.nodes[node];
        let refuse = |what| ModelError::Range { node: name.clone(), what };
        let inputs = Inputs::new(model);
        let classes = model.classes().len();
        if let (Some(hidden), Some(x)) = (model.hidden, x) {
            let width = model.width() + usize::from(model.intercept);
            let (weights, biases) = x.split_at(hidden * width);
            let layer = inputs.fold(weights.chunks_exact(width).zip(biases), 0.0, 1.0);
            let (weights, biases) = theta.split_at(classes * hidden);
            let (weights, biases) = (weights.to_vec(), biases.to_vec());
            let output = Rows { width: hidden, weights, biases };
            let layer = Some(layer.map_err(refuse)?);
            return Ok(Self { offsets: inputs.offsets, layer, output, classes });
        }
        let (mean, deviation) = match model.target {
            Target::Classes(_) => (0.0, 1.0),
            Target::Number { mean, deviation } => (mean, deviation),
        };
        let output = inputs.fold([(&theta[..], &0.0)], mean, deviation).map_err(refuse)?;
        Ok(Self { offsets: inputs.offsets, layer: None, output, classes })
    }

    /// The scores of a sample: the logarithm of the odds of the second of two classes, one score per class of a shared layer,
    /// or the number itself.
    #[must_use]
    pub fn scores(&self, features: &[f32]) -> Vec<f32> {
        let Some(layer) = &self.layer else { return self.output.apply(&self.offsets, features) };
        let mut units = layer.apply(&self.offsets, features);
        units.iter_mut().for_each(|unit| *unit = sigmoid(*unit));
        self.output.apply(&[], &units)
    }

    /// The class with these scores.
    #[must_use]
    pub fn class(&self, scores: &[f32]) -> usize {
        if let [score] = scores {
            return if *score < 0.0 { 0 } else { 1 };
        }
        largest(scores)
    }

    /// The probability of that class.
    #[must_use]
    pub fn probability(&self, scores: &[f32]) -> f32 {
        match scores {
            [score] => sigmoid(if *score < 0.0 { -score } else { *score }),
            _ => largest_share(scores),
        }
    }
}

/// How the numbers of a file become what a node has learned from.
struct Inputs {
    /// Multiplies each feature, after its offset is subtracted.
    factor: Vec<f64>,
    /// None if nothing is subtracted.
    offsets: Vec<f32>,
    intercept: bool,
}

impl Inputs {
    fn new(model: &Model) -> Self {
        let (width, intercept) = (model.width(), model.intercept);
        match &model.scaling {
            Some(Scaling { mean, deviation }) => {
                let scales = mean.iter().zip(deviation).map(|(mean, own)| scale(*mean, *own));
                let (offsets, factor) =
                    scales.map(|scale| (scale.offset, f64::from(scale.factor))).unzip();
                Self { factor, offsets, intercept }
            }
            None => {
                let factor = if model.pixels { 1.0 / 255.0 } else { 1.0 };
                Self { factor: vec![factor; width], offsets: Vec::new(), intercept }
            }
        }
    }

    /// Rows of learned weights and biases for the numbers themselves; what they predict is multiplied and moved.
    fn fold<'a>(
        &self,
        rows: impl IntoIterator<Item = (&'a [f32], &'a f32)>,
        move_by: f64,
        times: f64,
    ) -> Result<Rows, String> {
        let width = self.factor.len();
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for (row, bias) in rows {
            let constant = if self.intercept { row.last().copied().unwrap_or(0.0) } else { 0.0 };
            let bias = (move_by + times * (f64::from(*bias) + f64::from(constant))) as f32;
            for (place, &weight) in row.iter().take(width).enumerate() {
                let weight = (times * f64::from(weight) * self.factor[place]) as f32;
                if !weight.is_finite() {
                    return Err(format!("the weight of feature {}", place + 1));
                }
                weights.push(weight);
            }
            if !bias.is_finite() {
                return Err("a bias".into());
            }
            biases.push(bias);
        }
        Ok(Rows { width, weights, biases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::math;

    #[test]
    fn features_far_from_zero_keep_their_digits() {
        let model: Model = serde_json::from_str(
            r#"{"format":1,"problem":"ridge","target":{"number":{"mean":0.0,"deviation":1.0}},
                "columns":{"header":null,"columns":2,"label":0,"node":null,"features":[1]},"pixels":false,
                "scaling":{"mean":[4000000.0],"deviation":[3.0]},"intercept":true,
                "nodes":[{"id":0,"name":"a","theta":[1.0,0.125]}]}"#,
        )
        .unwrap();
        let score = Folded::new(&model, 0).unwrap().scores(&[4_000_003.0])[0];
        assert!((score - 1.125).abs() < 1e-6, "{score}");
    }

    #[test]
    fn the_exported_sigmoid_has_the_bits_of_the_core() {
        // Every 257th float, of either sign, and those around each limit.
        let limits = [0_u32, 0x3900_0000, 0x3eb1_7218, 0x3f85_1592, 0x42ae_ac50, 0x42cf_f1b5];
        let near = limits.into_iter().flat_map(|limit| limit.saturating_sub(20)..limit + 20);
        for bits in (0..0x7f80_0000_u32).step_by(257).chain(near) {
            for a in [f32::from_bits(bits), -f32::from_bits(bits)] {
                assert_eq!(sigmoid(a).to_bits(), math::sigmoid(a).to_bits(), "{a:e}");
            }
        }
        assert!(sigmoid(f32::NAN).is_nan());
        let mut scores = [0.3, -1.0, 88.0, 87.5];
        let share = largest_share(&scores);
        math::softmax(&mut scores);
        assert_eq!(share.to_bits(), scores[2].to_bits());
    }
}
