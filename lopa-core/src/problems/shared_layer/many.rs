//! Many samples at once, on a host: one lane of a vector for each, with the bits of one after the other.

use core::ops::Range;

use super::{Pass, SharedLayer};
#[cfg(feature = "integer")]
use crate::fixed;
use crate::math;
#[cfg(feature = "integer")]
use crate::problems::integer::Layer;
use crate::problems::{rows, rows_mut};
#[cfg(feature = "integer")]
use crate::samples::Arithmetic;
use crate::vector::matrix::{Column, Matrix, ROWS, parts, parts_mut};
use crate::vector::sparse::Lists;
use crate::vector::{CompensatedSum, LANES};
use crate::widest::{self, Simd, WithSimd};

/// Adds `scale` times the mean over the batch of coefficients ⊗ (s, 1) to a vector shaped like θ.
pub(super) fn add_to_head(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    pass.run(Goal::Head { share: scale * pass.batch.weight(), out }, ticket(workspace));
}

/// Adds `scale` times the mean over the batch of (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
pub(super) fn add_to_layer(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    pass.run(Goal::Layer { share: scale * pass.batch.weight(), out }, ticket(workspace));
}

/// The mean cross-entropy over the batch.
pub(super) fn cross_entropy(pass: Pass<'_>, _: &mut [f32]) -> f32 {
    let mut sum = CompensatedSum::default();
    pass.run(Goal::Loss(&mut sum), 0);
    sum.value() * pass.batch.weight()
}

/// Calls `each` with the number of every sample and the class of its largest logit.
pub(super) fn classify(pass: Pass<'_>, each: &mut dyn FnMut(usize, f32)) {
    pass.run(Goal::Classes(each), 0);
}

/// Converts the weights of x for the oracles that follow; the workspace gets the ticket for them, because it is what they
/// share.
#[cfg(feature = "integer")]
pub(super) fn prepare(model: &SharedLayer<'_>, x: &[f32], workspace: &mut [f32]) {
    let (weights, _) = model.layer(x);
    let ticket = Layer::prepare(model.train.width(), weights);
    if let Some(place) = workspace.first_chunk_mut() {
        *place = [ticket as u32, (ticket >> 32) as u32].map(f32::from_bits);
    }
}

/// The ticket in a workspace, or any other number.
fn ticket(workspace: &[f32]) -> u64 {
    let [low, high] = workspace.first_chunk().copied().unwrap_or_default().map(f32::to_bits);
    u64::from(low) | u64::from(high) << 32
}

/// What is computed from a batch.
enum Goal<'o> {
    Head { share: f32, out: &'o mut [f32] },
    Layer { share: f32, out: &'o mut [f32] },
    Loss(&'o mut CompensatedSum),
    Classes(&'o mut dyn FnMut(usize, f32)),
}

/// Weights in integers: there are none here.
#[cfg(not(feature = "integer"))]
struct Layer<'a>(core::convert::Infallible, core::marker::PhantomData<&'a ()>);

#[cfg(not(feature = "integer"))]
impl Layer<'_> {
    fn multiply(&self, _: &[usize], _: &mut [Column]) {
        match self.0 {}
    }

    fn add_to(&self, _: &[usize], _: &[Column], _: &mut [f32]) -> bool {
        match self.0 {}
    }
}

impl<'a> Pass<'a> {
    #[cfg_attr(
        not(feature = "integer"),
        allow(unused_variables, reason = "there are no tickets without weights in integers")
    )]
    fn run(self, goal: Goal<'_>, ticket: u64) {
        #[cfg(feature = "integer")]
        if let Goal::Head { .. } | Goal::Layer { .. } = goal
            && self.samples.arithmetic() == Arithmetic::Integer
        {
            let (weights, _) = self.model.layer(self.at.x);
            return Layer::lend(self.samples, weights, ticket, |layer| match (layer, goal) {
                (Some(layer), goal) => self.run_in(goal, Some(layer)),
                (None, Goal::Head { out, .. } | Goal::Layer { out, .. }) => out.fill(f32::NAN),
                (None, _) => {}
            });
        }
        self.run_in(goal, None);
    }

    /// In integers, or else in floats.
    fn run_in(self, goal: Goal<'_>, integers: Option<&Layer<'a>>) {
        let SharedLayer { hidden, classes, .. } = *self.model;
        // For each unit its activation and a factor; for each class its probability and their change.
        let columns = 2 * hidden + 2 * classes;
        Matrix::lend(self.model.train.width(), columns, |matrix, columns| {
            widest::run_with(Groups { pass: self, goal, integers, matrix, columns });
        });
    }
}

/// Goes through a batch in groups of as many samples as a [`Matrix`] holds.
struct Groups<'a, 'g, 'o> {
    pass: Pass<'a>,
    goal: Goal<'g>,
    integers: Option<&'o Layer<'a>>,
    matrix: &'o mut Matrix,
    columns: &'o mut [Column],
}

impl WithSimd for Groups<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pass, mut goal, integers, matrix, columns } = self;
        let (hidden, columns) = columns.split_at_mut(pass.model.hidden);
        let (factors, columns) = columns.split_at_mut(pass.model.hidden);
        let (output, change) = columns.split_at_mut(pass.model.classes);
        let samples = pass.samples.for_products(pass.model.hidden);
        // As everywhere in integers, rows beyond the end are left out.
        let exists = |index: &usize| integers.is_none() || *index < samples.len();
        let mut indices = pass.batch.indices().filter(exists);
        loop {
            let (mut chosen, mut classes, mut count) = ([0; ROWS], [0; ROWS], 0);
            for (chosen, index) in chosen.iter_mut().zip(&mut indices) {
                *chosen = index;
                count += 1;
            }
            let chosen = &chosen[..count];
            if chosen.is_empty() {
                return;
            }
            let mut lists = None;
            if integers.is_none() {
                chosen.iter().for_each(|&index| samples.fetch(index));
                lists = samples.lists_of(chosen);
                if lists.is_none() {
                    matrix.clear();
                    chosen.iter().for_each(|&index| samples.push_to(matrix, index));
                }
            }
            for (class, &index) in classes.iter_mut().zip(chosen) {
                *class = samples.class(index);
            }
            let (lists, classes) = (lists.as_ref(), &classes[..count]);
            let integers = integers.map(|layer| (layer, chosen));
            let mut group = Group { pass, integers, lists, classes, hidden, output, change };
            group.activate(simd, matrix);
            group.logits(simd);
            match &mut goal {
                Goal::Loss(sum) => group.add_losses(sum),
                Goal::Classes(each) => {
                    for (b, &index) in chosen.iter().enumerate() {
                        each(index, group.largest(b) as f32);
                    }
                }
                Goal::Head { share, out } => {
                    group.coefficients(simd);
                    group.add_to_head(*share, out);
                }
                Goal::Layer { share, out } => {
                    group.coefficients(simd);
                    group.add_to_layer(simd, *share, matrix, factors, out);
                }
            }
        }
    }
}

/// Some samples of a batch: their classes, activations s, logits or π or π - e_label, and the change of π along v.
struct Group<'a, 'o> {
    pass: Pass<'a>,
    /// The weights in integers, and the numbers of the samples.
    integers: Option<(&'o Layer<'a>, &'o [usize])>,
    /// The samples as lists, if they are not in the matrix.
    lists: Option<&'o Lists<'a>>,
    classes: &'o [usize],
    hidden: &'o mut [Column],
    output: &'o mut [Column],
    change: &'o mut [Column],
}

impl Group<'_, '_> {
    /// Vectors of samples, the last with some that are not used.
    #[inline(always)]
    fn vectors(&self) -> Range<usize> {
        0..self.classes.len().div_ceil(LANES)
    }

    #[inline(always)]
    fn activate<S: Simd>(&mut self, simd: S, matrix: &mut Matrix) {
        let (weights, biases) = self.pass.model.layer(self.pass.at.x);
        if let Some((layer, chosen)) = self.integers {
            layer.multiply(chosen, self.hidden);
        } else {
            let scale = self.pass.samples.common_scale();
            matrix.dots(simd, self.lists, weights, scale, self.hidden);
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
    fn logits<S: Simd>(&mut self, simd: S) {
        let theta = self.pass.model.head(self.pass.at.theta);
        through(simd, theta, self.vectors(), self.hidden, self.output);
    }

    /// Replaces logits with probabilities. Returns each sample's largest logit, and the total of its exponentials.
    #[inline(always)]
    fn softmax(&mut self) -> (Column, Column) {
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
            for exps in &mut *self.output {
                let lanes = exps.lanes_mut(at);
                *lanes = each(|i| lanes[i] / total[i]);
            }
            (*tops.lanes_mut(at), *totals.lanes_mut(at)) = (top, total);
        }
        (tops, totals)
    }

    /// The class of a sample's largest logit, the first of equal ones.
    fn largest(&self, b: usize) -> usize {
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
    fn add_losses(&mut self, sum: &mut CompensatedSum) {
        let mut own = [0.0; ROWS];
        for (b, (own, &class)) in own.iter_mut().zip(self.classes).enumerate() {
            *own = self.output.get(class).map_or(0.0, |logits| logits.0[b]);
        }
        let (tops, totals) = self.softmax();
        for (b, own) in own.iter().enumerate().take(self.classes.len()) {
            sum.add(tops.0[b] + math::ln(totals.0[b]) - own);
        }
    }

    /// Turns logits into residuals and, with v, fills the change of π along it.
    #[inline(always)]
    fn coefficients<S: Simd>(&mut self, simd: S) {
        self.softmax();
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
    fn add_to_head(&mut self, share: f32, out: &mut [f32]) {
        let units = self.hidden.len();
        let coefficients =
            if self.pass.v.is_some() { &mut *self.change } else { &mut *self.output };
        let Some((weights, biases)) = out.split_at_mut_checked(coefficients.len() * units) else {
            return;
        };
        for coefficient in &mut *coefficients {
            coefficient.0.iter_mut().for_each(|coefficient| *coefficient *= share);
        }
        for (first, units) in self.hidden.chunks(LANES).enumerate().map(|(i, u)| (i * LANES, u)) {
            // Samples after one another, units beside one another.
            let mut turned = [[0.0; LANES]; ROWS];
            for (i, unit) in units.iter().enumerate() {
                for (turned, &s) in turned.iter_mut().zip(&unit.0) {
                    turned[i] = s;
                }
            }
            for (weights, coefficient) in rows_mut(weights, self.hidden.len()).zip(&*coefficients) {
                let own = &mut weights[first..][..units.len()];
                let mut sums = [0.0; LANES];
                sums[..own.len()].copy_from_slice(own);
                for (coefficient, s) in coefficient.0.iter().zip(&turned).take(self.classes.len()) {
                    sums = each(|i| sums[i] + coefficient * s[i]);
                }
                own.copy_from_slice(&sums[..own.len()]);
            }
        }
        add_in_order(biases, coefficients, self.classes.len());
    }

    /// Sample after sample, adds share · (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
    #[inline(always)]
    fn add_to_layer<S: Simd>(
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
        matrix.add(simd, self.lists, factors, weights);
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
    // Some at once, in registers: one sum alone would wait for every addition.
    const FEW: usize = 4;
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

#[cfg(test)]
mod tests {
    #[cfg(feature = "integer")]
    use super::super::grouped;
    use super::super::one;
    use super::*;
    use crate::batch::Batch;
    use crate::draw::{Draws, Purpose, Stream};
    use crate::problem::{Point, Predict, Problem};
    use crate::samples::{Arithmetic, Features, Labels, Samples, Scale};

    const SAMPLES: usize = 90;

    fn stream(seed: u64) -> Stream {
        Draws { seed, node: 0 }.stream(0, Purpose::custom(1))
    }

    fn floats(stream: &mut Stream, len: usize) -> Vec<f32> {
        (0..len).map(|_| (stream.next() >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    /// Compares every oracle and the loss on batches of several sizes, bit for bit.
    fn assert_same_bits(samples: Samples<'_>, hidden: usize, classes: usize) {
        let model = SharedLayer::new(samples, samples, hidden, classes, 0.1).unwrap();
        let mut stream = stream(7);
        let (n, p) =
            (SharedLayer::outer(samples.width(), hidden), SharedLayer::inner(hidden, classes));
        let (mut x, theta, v) =
            (floats(&mut stream, n), floats(&mut stream, p), floats(&mut stream, p));
        // So small that wide rows leave units where they have a slope.
        x.iter_mut().for_each(|x| *x *= (50.0 / samples.width() as f32).min(1.0));
        let at = Point { x: &x, theta: &theta };
        let mut workspace = vec![0.0; model.dimensions().workspace];
        let mut numbers = 0..samples.len();
        model.predict_all(at, &samples, &mut vec![0.0; workspace.len()], &mut |index, class| {
            assert_eq!(Some(index), numbers.next());
            let one = model.predict(at, samples.row(index), &mut workspace);
            assert!(class.to_bits() == one.to_bits(), "sample {index}: {class} instead of {one}");
        });
        assert_eq!(numbers.next(), None);
        for size in [1, 15, 16, 17, 64, 65, 131] {
            let batch = Batch::drawn(stream.clone(), size.try_into().unwrap(), SAMPLES);
            let pass = Pass::new(&model, &samples, &batch, at);
            for pass in [pass, pass.along(&v)] {
                type Oracle = fn(Pass<'_>, f32, &mut [f32], &mut [f32]);
                let others: [Oracle; 2] = match samples.arithmetic() {
                    Arithmetic::Float => [one::add_to_head, one::add_to_layer],
                    #[cfg(feature = "integer")]
                    Arithmetic::Integer => [grouped::add_to_head, grouped::add_to_layer],
                    #[cfg(not(feature = "integer"))]
                    Arithmetic::Integer => unreachable!(),
                };
                let oracles: [(Oracle, Oracle, usize); 2] =
                    [(add_to_head, others[0], p), (add_to_layer, others[1], n)];
                for (many, one, len) in oracles {
                    let (mut ours, mut theirs) = (vec![0.5; len], vec![0.5; len]);
                    many(pass, -1.5, &mut ours, &mut workspace);
                    one(pass, -1.5, &mut theirs, &mut workspace);
                    assert!(ours.iter().any(|&a| a != 0.5));
                    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                        let same = ours.to_bits() == theirs.to_bits();
                        assert!(same, "element {i} of {len}: {ours} instead of {theirs}");
                    }
                }
            }
            let losses = [cross_entropy, one::cross_entropy].map(|f| f(pass, &mut workspace));
            assert_eq!(losses[0].to_bits(), losses[1].to_bits());
        }
    }

    #[test]
    fn many_samples_have_the_bits_of_one_after_the_other() {
        // Lists have no more than 4096 features; 40 units are computed as 32 and 8.
        for (width, hidden, classes) in [
            (5, 1, 2),
            (16, 3, 4),
            (37, 8, 17),
            (48, 13, 3),
            (33, 28, 10),
            (50, 40, 3),
            (4_096, 8, 2),
        ] {
            let mut stream = stream(width as u64);
            // Mostly zeros, like images.
            let pixel = |a: u32| if a >> 30 == 0 { (a >> 8) as u8 } else { 0 };
            let bytes: Vec<u8> = (0..SAMPLES * width).map(|_| pixel(stream.next())).collect();
            let signed: Vec<i8> = bytes.iter().map(|&a| a.wrapping_sub(90) as i8).collect();
            let values = floats(&mut stream, SAMPLES * width);
            let labels: Vec<u8> =
                (0..SAMPLES).map(|_| (stream.next() >> 8) as u8 % classes as u8).collect();
            let set = |features| Samples::new(features, width, Labels::Class(&labels)).unwrap();
            let images = set(Features::U8(&bytes)).scaled(1.0 / 255.0, 0.0).unwrap();
            let mut marks = vec![0; Samples::marks(SAMPLES, width)];
            images.mark(&mut marks);
            let lists = images.lists().unwrap();
            let readings = set(Features::I8(&signed)).scaled(0.03, 0.0).unwrap();
            let lists_of_readings = readings.lists().unwrap();
            let scales: Vec<Scale> = (0..=width)
                .map(|i| Scale { offset: i as f32, factor: 0.01 * (1 + i % 3) as f32 })
                .collect();
            for samples in [
                images,
                images.marked(&marks).unwrap(),
                images.listed(&lists).unwrap(),
                readings.listed(&lists_of_readings).unwrap(),
                images.scaled(0.02, 99.5).unwrap(),
                set(Features::I8(&signed)).scaled(0.03, -3.0).unwrap(),
                set(Features::F32(&values)),
                set(Features::U8(&bytes)).standardised(&scales).unwrap(),
            ] {
                assert_same_bits(samples, hidden, classes);
                #[cfg(feature = "integer")]
                if let Ok(samples) = samples.computed_in(Arithmetic::Integer)
                    && Layer::takes(&samples)
                {
                    assert_same_bits(samples, hidden, classes);
                }
            }
        }
    }

    #[test]
    fn nothing_is_added_for_an_empty_batch() {
        let samples = Samples::new(Features::U8(&[1; 8]), 4, Labels::Class(&[0, 1])).unwrap();
        let model = SharedLayer::new(samples, samples, 2, 2, 0.1).unwrap();
        let batch = Batch::full(0);
        let at = Point { x: &[0.5; 10], theta: &[0.5; 6] };
        let pass = Pass::new(&model, &samples, &batch, at);
        let mut out = [0.0; 10];
        add_to_layer(pass, 1.0, &mut out, &mut []);
        assert_eq!((out, cross_entropy(pass, &mut [])), ([0.0; 10], 0.0));
    }
}
