//! Some samples of a batch at once, one lane of a vector for each.

use core::ops::Range;

use super::Layer;
#[cfg(feature = "integer")]
use crate::fixed;
use crate::math;
use crate::problems::shared_layer::Pass;
use crate::problems::{rows, rows_mut};
use crate::vector::known::Ticket;
use crate::vector::matrix::{Column, Matrix, ROWS, parts, parts_mut};
use crate::vector::sparse::Lists;
use crate::vector::turn::turn;
use crate::vector::{CompensatedSum, LANES};
use crate::widest::Simd;

/// Some samples of a batch: their classes, activations s, logits or π or π - e_label, and the change of π along v.
pub(super) struct Group<'a, 'o> {
    pub(super) pass: Pass<'a>,
    pub(super) ticket: Ticket,
    /// The weights in integers, and the numbers of the samples.
    pub(super) integers: Option<(&'o Layer<'a>, &'o [usize])>,
    /// The samples as lists, if they are not in the matrix.
    pub(super) lists: Option<&'o Lists<'a>>,
    pub(super) classes: &'o [usize],
    pub(super) hidden: &'o mut [Column],
    pub(super) output: &'o mut [Column],
    pub(super) change: &'o mut [Column],
}

impl Group<'_, '_> {
    /// Vectors of samples, the last with some that are not used.
    #[inline(always)]
    fn vectors(&self) -> Range<usize> {
        0..self.classes.len().div_ceil(LANES)
    }

    #[inline(always)]
    pub(super) fn activate<S: Simd>(&mut self, simd: S, matrix: &mut Matrix) {
        let (weights, biases) = self.pass.model.layer(self.pass.at.x);
        if let Some((layer, chosen)) = self.integers {
            layer.multiply(chosen, self.hidden);
        } else {
            let scale = self.pass.samples.common_scale();
            matrix.dots(simd, self.lists, (weights, self.ticket), scale, self.hidden);
        }
        let vectors = self.vectors();
        for (unit, &bias) in self.hidden.iter_mut().zip(biases) {
            unit.0[self.classes.len()..].fill(0.0);
            for at in vectors.clone() {
                let lanes = unit.lanes_mut(at);
                let inputs = each(|i| lanes[i] + bias);
                *lanes = match self.integers {
                    #[cfg(feature = "integer")]
                    Some(_) => each(|i| fixed::sigmoid(inputs[i])),
                    _ => math::sigmoids(inputs),
                };
            }
        }
    }

    #[inline(always)]
    pub(super) fn logits<S: Simd>(&mut self, simd: S) {
        let theta = self.pass.model.head(self.pass.at.theta);
        through(simd, theta, self.vectors(), self.hidden, self.output);
    }

    /// Replaces logits with probabilities. Returns each sample's largest logit, and the total of its exponentials.
    #[inline(always)]
    fn softmax<S: Simd>(&mut self, simd: S) -> (Column, Column) {
        let (mut tops, mut totals) = (Column::ZERO, Column::ZERO);
        for at in self.vectors() {
            let mut top = [f32::NEG_INFINITY; LANES];
            for logits in &*self.output {
                let logits = logits.lanes(at);
                top = each(|i| if logits[i] > top[i] { logits[i] } else { top[i] });
            }
            let mut total = [0.0; LANES];
            for logits in &mut *self.output {
                let lanes = logits.lanes_mut(at);
                *lanes = math::exps(each(|i| lanes[i] - top[i]));
                total = each(|i| total[i] + lanes[i]);
            }
            // With vectors of the machine: a compiler would gather single elements of all columns.
            for exps in &mut *self.output {
                for (exps, &total) in
                    parts_mut::<S>(exps.lanes_mut(at)).iter_mut().zip(parts::<S>(&total))
                {
                    *exps = simd.div_f32s(*exps, total);
                }
            }
            (*tops.lanes_mut(at), *totals.lanes_mut(at)) = (top, total);
        }
        (tops, totals)
    }

    /// The class of a sample's largest logit, the first of equal ones.
    pub(super) fn largest(&self, b: usize) -> usize {
        let mut best = (0, f32::NEG_INFINITY);
        for (class, logits) in self.output.iter().enumerate() {
            let logit = logits.0.get(b).copied().unwrap_or(f32::NEG_INFINITY);
            if logit > best.1 {
                best = (class, logit);
            }
        }
        best.0
    }

    #[inline(always)]
    pub(super) fn add_losses<S: Simd>(&mut self, simd: S, sum: &mut CompensatedSum) {
        let mut own = [0.0; ROWS];
        for (b, (own, &class)) in own.iter_mut().zip(self.classes).enumerate() {
            *own = self.output.get(class).map_or(0.0, |logits| logits.0[b]);
        }
        let (tops, totals) = self.softmax(simd);
        for (b, own) in own.iter().enumerate().take(self.classes.len()) {
            sum.add(tops.0[b] + math::ln(totals.0[b]) - own);
        }
    }

    /// Turns logits into residuals and, with v, fills the change of π along it.
    #[inline(always)]
    pub(super) fn coefficients<S: Simd>(&mut self, simd: S) {
        self.softmax(simd);
        if let Some(v) = self.pass.v {
            // π ∘ (q - ⟨π, q⟩) for a change q of the logits.
            let v = self.pass.model.head(v);
            through(simd, v, self.vectors(), self.hidden, self.change);
            for at in self.vectors() {
                let mut mean = [0.0; LANES];
                for part in 0..LANES / S::F32_LANES {
                    let of = |column: &Column| parts::<S>(column.lanes(at))[part];
                    parts_mut::<S>(&mut mean)[part] =
                        sum_in_lanes(simd, self.output.len(), |class| {
                            simd.mul_f32s(of(&self.output[class]), of(&self.change[class]))
                        });
                }
                for (change, pi) in self.change.iter_mut().zip(&*self.output) {
                    let (change, pi) = (change.lanes_mut(at), pi.lanes(at));
                    *change = each(|i| pi[i] * (change[i] - mean[i]));
                }
            }
        }
        for (b, &class) in self.classes.iter().enumerate() {
            if let Some(own) = self.output.get_mut(class) {
                own.0[b] -= 1.0;
            }
        }
    }

    /// Sample after sample, adds share · coefficients ⊗ (s, 1) to a vector shaped like θ.
    #[inline(always)]
    pub(super) fn add_to_head<S: Simd>(&mut self, simd: S, share: f32, out: &mut [f32]) {
        let units = self.hidden.len();
        let coefficients =
            if self.pass.v.is_some() { &mut *self.change } else { &mut *self.output };
        let Some((weights, biases)) = out.split_at_mut_checked(coefficients.len() * units) else {
            return;
        };
        for coefficient in &mut *coefficients {
            coefficient.0.iter_mut().for_each(|coefficient| *coefficient *= share);
        }
        for (first, own) in self.hidden.chunks(LANES).enumerate().map(|(i, own)| (i * LANES, own)) {
            // Samples after one another, units beside one another.
            let mut samples = [[0.0; LANES]; ROWS];
            for (at, samples) in samples.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let read = |unit: usize, part: usize| match own.get(unit) {
                    Some(unit) => parts::<S>(unit.lanes(at))[part],
                    None => simd.splat_f32s(0.0),
                };
                turn(simd, read, |sample, part, units| {
                    parts_mut::<S>(&mut samples[sample % LANES])[part] = units;
                });
            }
            let samples = &samples[..self.classes.len()];
            let mut weights = rows_mut(weights, units);
            for coefficients in coefficients.chunks(FEW) {
                add_samples(simd, samples, coefficients, &mut weights, first..first + own.len());
            }
        }
        add_in_order(biases, coefficients, self.classes.len());
    }

    /// Sample after sample, adds share · (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
    #[inline(always)]
    pub(super) fn add_to_layer<S: Simd>(
        &mut self,
        simd: S,
        share: f32,
        matrix: &mut Matrix,
        factors: &mut [Column],
        out: &mut [f32],
    ) {
        let at = factors.len() * self.pass.model.train.width();
        let Some((weights, biases)) = out.split_at_mut_checked(at) else { return };
        let theta = self.pass.model.head(self.pass.at.theta);
        let v = self.pass.v.map(|v| self.pass.model.head(v));
        let units = factors.len();
        for (unit, factor) in factors.iter_mut().enumerate() {
            let unit_of = (unit, units);
            for at in self.vectors() {
                let pull = match v {
                    None => back(theta, unit_of, self.output, at),
                    // ⟨∇θ g, v⟩ = ⟨π - e_label, V s + v₀⟩ + …, so its derivative in s is V'(π - e) + T'(change of π).
                    Some(v) => add(
                        back(v, unit_of, self.output, at),
                        back(theta, unit_of, self.change, at),
                    ),
                };
                let s = self.hidden[unit].lanes(at);
                *factor.lanes_mut(at) = each(|i| share * (pull[i] * (s[i] * (1.0 - s[i]))));
            }
        }
        add_in_order(biases, factors, self.classes.len());
        if let Some((layer, chosen)) = self.integers {
            if !layer.add_to(chosen, factors, weights) {
                out.fill(f32::NAN);
            }
            return;
        }
        let scale = self.pass.samples.common_scale();
        for factor in &mut *factors {
            factor.0.iter_mut().for_each(|factor| *factor *= scale);
        }
        match self.lists {
            Some(lists) => matrix.add_lists(simd, lists, factors),
            None => matrix.add(simd, factors, weights),
        }
    }
}

/// The head's linear map: the logits for the weights and biases of θ, their change for those of v.
#[inline(always)]
fn through<S: Simd>(
    simd: S,
    (weights, biases): (&[f32], &[f32]),
    vectors: Range<usize>,
    hidden: &[Column],
    out: &mut [Column],
) {
    for (out, (weights, &bias)) in out.iter_mut().zip(rows(weights, hidden.len()).zip(biases)) {
        let bias = simd.splat_f32s(bias);
        for at in vectors.clone() {
            for part in 0..LANES / S::F32_LANES {
                let sum = sum_in_lanes(simd, hidden.len(), |unit| {
                    let weight = simd.splat_f32s(weights[unit]);
                    simd.mul_f32s(weight, parts::<S>(hidden[unit].lanes(at))[part])
                });
                parts_mut::<S>(out.lanes_mut(at))[part] = simd.add_f32s(sum, bias);
            }
        }
    }
}

/// Column `unit` of the head's weights times vectors over the classes.
#[inline(always)]
fn back(
    (weights, _): (&[f32], &[f32]),
    (unit, units): (usize, usize),
    over_classes: &[Column],
    at: usize,
) -> [f32; LANES] {
    let mut sum = [0.0; LANES];
    for (weights, c) in rows(weights, units).zip(over_classes) {
        let (weight, c) = (weights[unit], c.lanes(at));
        sum = each(|i| sum[i] + weight * c[i]);
    }
    sum
}

/// How many sums are computed at once, in registers: one alone would wait for every addition.
const FEW: usize = 4;

/// Sample after sample, adds coefficients ⊗ s to at most [`FEW`] rows of the head's weights, at some of their units.
#[inline(always)]
fn add_samples<'w, S: Simd>(
    simd: S,
    samples: &[[f32; LANES]],
    coefficients: &[Column],
    weights: &mut impl Iterator<Item = &'w mut [f32]>,
    units: Range<usize>,
) {
    // Those that are missing are computed like the first.
    let Some(mut of) = coefficients.first().map(|first| [first; FEW]) else { return };
    of.iter_mut().zip(coefficients).for_each(|(of, own)| *of = own);
    let mut rows: [&mut [f32]; FEW] = Default::default();
    let mut sums = [[0.0; LANES]; FEW];
    for ((row, sums), weights) in
        rows.iter_mut().zip(&mut sums).take(coefficients.len()).zip(weights)
    {
        *row = &mut weights[units.clone()];
        sums[..row.len()].copy_from_slice(row);
    }
    for part in 0..LANES / S::F32_LANES {
        let mut own = [simd.splat_f32s(0.0); FEW];
        for k in 0..FEW {
            own[k] = parts::<S>(&sums[k])[part];
        }
        for (b, units) in samples.iter().enumerate() {
            let units = parts::<S>(units)[part];
            for k in 0..FEW {
                let coefficient = simd.splat_f32s(of[k].0[b]);
                own[k] = simd.add_f32s(own[k], simd.mul_f32s(coefficient, units));
            }
        }
        for k in 0..FEW {
            parts_mut::<S>(&mut sums[k])[part] = own[k];
        }
    }
    for (row, sums) in rows.iter_mut().zip(&sums) {
        row.copy_from_slice(&sums[..row.len()]);
    }
}

/// An array with an element for each sample of a vector.
#[inline(always)]
fn each(element: impl Fn(usize) -> f32) -> [f32; LANES] {
    let mut all = [0.0; LANES];
    for (i, place) in all.iter_mut().enumerate() {
        *place = element(i);
    }
    all
}

/// For each sample the sum of `len` terms, in the order of [`reduce`](crate::vector::reduce).
// With vectors of the machine, which stay in registers: a compiler keeps sixteen arrays in memory.
#[inline(always)]
fn sum_in_lanes<S: Simd>(simd: S, len: usize, term: impl Fn(usize) -> S::f32s) -> S::f32s {
    let mut lanes = [simd.splat_f32s(0.0); LANES];
    let mut first = 0;
    while first + LANES <= len {
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = simd.add_f32s(*lane, term(first + i));
        }
        first += LANES;
    }
    for (i, lane) in lanes.iter_mut().enumerate() {
        if first + i < len {
            *lane = simd.add_f32s(*lane, term(first + i));
        }
    }
    for i in 0..8 {
        lanes[i] = simd.add_f32s(lanes[i], lanes[i + 8]);
    }
    for i in 0..4 {
        lanes[i] = simd.add_f32s(lanes[i], lanes[i + 4]);
    }
    let halves = [0, 1].map(|i| simd.add_f32s(lanes[i], lanes[i + 2]));
    simd.add_f32s(halves[0], halves[1])
}

#[inline(always)]
fn add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    each(|i| a[i] + b[i])
}

/// Adds each column to its element of `out`, row after row.
#[inline(always)]
fn add_in_order(out: &mut [f32], columns: &[Column], rows: usize) {
    let (few, rest) = columns.as_chunks::<FEW>();
    let (sums, last) = out.split_at_mut((few.len() * FEW).min(out.len()));
    for (sums, columns) in sums.as_chunks_mut::<FEW>().0.iter_mut().zip(few) {
        for b in 0..rows.min(ROWS) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum += column.0[b];
            }
        }
    }
    for (sum, column) in last.iter_mut().zip(rest) {
        column.0.iter().take(rows).for_each(|a| *sum += a);
    }
}
