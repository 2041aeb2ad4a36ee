//! The loss of a linear model over a batch, with its first and second derivative.

mod blocks;
#[cfg(feature = "simd")]
mod short;

use core::array;
use core::marker::PhantomData;

use blocks::Blocks;

#[cfg(feature = "integer")]
use super::integer;
use crate::batch::Batch;
use crate::math;
#[cfg(feature = "integer")]
use crate::samples::Arithmetic;
use crate::samples::{BLOCK, Block, LabelKind, Room, Samples};
use crate::vector::CompensatedSum;
use crate::widest::{self, Work};

/// A loss of a linear model's output and a label, convex in the output.
pub trait LinearLoss {
    /// The labels it is made for.
    const LABELS: LabelKind;

    /// The loss.
    fn value(output: f32, label: f32) -> f32;

    /// Its derivative in the output.
    fn slope(output: f32, label: f32) -> f32;

    /// Its second derivative in the output.
    fn curvature(output: f32, label: f32) -> f32;

    /// [`slope`](Self::slope) for [integer arithmetic](crate::samples::Arithmetic): it may be coarser if that is cheaper.
    #[inline]
    #[must_use]
    fn integer_slope(output: f32, label: f32) -> f32 {
        Self::slope(output, label)
    }

    /// [`curvature`](Self::curvature) for integer arithmetic.
    #[inline]
    #[must_use]
    fn integer_curvature(output: f32, label: f32) -> f32 {
        Self::curvature(output, label)
    }

    /// The label that fits an output best.
    fn decide(output: f32) -> f32;

    /// [`LinearLoss::slope`] of several outputs, bit for bit.
    #[inline(always)]
    #[must_use]
    fn slopes<const N: usize>(outputs: [f32; N], labels: [f32; N]) -> [f32; N] {
        array::from_fn(|i| Self::slope(outputs[i], labels[i]))
    }

    /// [`LinearLoss::curvature`] of several outputs, bit for bit.
    #[inline(always)]
    #[must_use]
    fn curvatures<const N: usize>(outputs: [f32; N], labels: [f32; N]) -> [f32; N] {
        array::from_fn(|i| Self::curvature(outputs[i], labels[i]))
    }
}

/// ln(1 + e^(-label · output)), labels -1 and +1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LogisticLoss;

impl LinearLoss for LogisticLoss {
    const LABELS: LabelKind = LabelKind::Binary;

    #[inline]
    fn value(output: f32, label: f32) -> f32 {
        math::softplus(-label * output)
    }

    #[inline]
    fn slope(output: f32, label: f32) -> f32 {
        -label * math::sigmoid(-label * output)
    }

    #[inline]
    fn curvature(output: f32, _: f32) -> f32 {
        math::sigmoid_with_slope(output).1
    }

    #[cfg(feature = "integer")]
    #[inline(always)]
    fn integer_slope(output: f32, label: f32) -> f32 {
        // Signs instead of products with ±1, which cost more on a chip.
        let away = if label < 0.0 { output } else { -output };
        let chance = crate::fixed::sigmoid(away);
        if label < 0.0 { chance } else { -chance }
    }

    #[cfg(feature = "integer")]
    #[inline(always)]
    fn integer_curvature(output: f32, _: f32) -> f32 {
        crate::fixed::sigmoid_slope(output)
    }

    #[inline]
    fn decide(output: f32) -> f32 {
        if output < 0.0 { -1.0 } else { 1.0 }
    }

    #[inline(always)]
    fn slopes<const N: usize>(outputs: [f32; N], labels: [f32; N]) -> [f32; N] {
        let mut arguments = [0.0; N];
        for i in 0..N {
            arguments[i] = -labels[i] * outputs[i];
        }
        let mut slopes = math::sigmoids(arguments);
        for i in 0..N {
            slopes[i] *= -labels[i];
        }
        slopes
    }

    #[inline(always)]
    fn curvatures<const N: usize>(outputs: [f32; N], _: [f32; N]) -> [f32; N] {
        math::slopes_of_sigmoid(outputs)
    }
}

/// ½ (output - label)², real labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SquaredLoss;

impl LinearLoss for SquaredLoss {
    const LABELS: LabelKind = LabelKind::Real;

    #[inline]
    fn value(output: f32, label: f32) -> f32 {
        0.5 * (output - label) * (output - label)
    }

    #[inline]
    fn slope(output: f32, label: f32) -> f32 {
        output - label
    }

    #[inline]
    fn curvature(_: f32, _: f32) -> f32 {
        1.0
    }

    #[inline]
    fn decide(output: f32) -> f32 {
        output
    }
}

/// Adds `scale` times the gradient of the mean loss at `weights` to `out`.
pub(super) fn add_gradient<L: LinearLoss>(
    samples: &Samples<'_>,
    batch: &Batch,
    weights: &[f32],
    scale: f32,
    out: &mut [f32],
) {
    #[cfg(feature = "integer")]
    if samples.arithmetic() == Arithmetic::Integer {
        return integer::add_rows::<Slope<L>, 1>(samples, batch, [weights], scale, out);
    }
    add_rows::<Slope<L>, 1>(samples, batch, [weights], scale * batch.weight(), out);
}

/// Adds `scale` times the Hessian of the mean loss at `weights`, times `v`, to `out`.
pub(super) fn add_hessian_vector<L: LinearLoss>(
    samples: &Samples<'_>,
    batch: &Batch,
    weights: &[f32],
    v: &[f32],
    scale: f32,
    out: &mut [f32],
) {
    #[cfg(feature = "integer")]
    if samples.arithmetic() == Arithmetic::Integer {
        return integer::add_rows::<Curvature<L>, 2>(samples, batch, [weights, v], scale, out);
    }
    add_rows::<Curvature<L>, 2>(samples, batch, [weights, v], scale * batch.weight(), out);
}

/// What a row is multiplied by in a derivative, for some rows at once.
trait Factor<const V: usize> {
    /// From the scalar products of each row with `V` vectors, and the labels.
    fn of<const N: usize>(products: [[f32; V]; N], labels: [f32; N]) -> [f32; N];
}

struct Slope<L>(PhantomData<L>);

impl<L: LinearLoss> Factor<1> for Slope<L> {
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn of<const N: usize>(products: [[f32; 1]; N], labels: [f32; N]) -> [f32; N] {
        let mut outputs = [0.0; N];
        for i in 0..N {
            [outputs[i]] = products[i];
        }
        L::slopes(outputs, labels)
    }
}

#[cfg(feature = "integer")]
impl<L: LinearLoss> integer::Factor<1> for Slope<L> {
    #[inline(always)]
    fn factor(label: f32, [output]: [f32; 1]) -> f32 {
        L::integer_slope(output, label)
    }
}

struct Curvature<L>(PhantomData<L>);

impl<L: LinearLoss> Factor<2> for Curvature<L> {
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn of<const N: usize>(products: [[f32; 2]; N], labels: [f32; N]) -> [f32; N] {
        let (mut outputs, mut changes) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            [outputs[i], changes[i]] = products[i];
        }
        let mut factors = L::curvatures(outputs, labels);
        for i in 0..N {
            factors[i] *= changes[i];
        }
        factors
    }
}

#[cfg(feature = "integer")]
impl<L: LinearLoss> integer::Factor<2> for Curvature<L> {
    #[inline(always)]
    fn factor(label: f32, [output, change]: [f32; 2]) -> f32 {
        L::integer_curvature(output, label) * change
    }
}

/// Adds each row of a batch to `out`, times `share` and a factor.
fn add_rows<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    share: f32,
    out: &mut [f32],
) {
    #[cfg(feature = "simd")]
    if samples.is_short() {
        return short::add_rows::<F, V>(samples, batch, vectors, share, out);
    }
    Room::lend(samples.width(), |room| {
        let factor = PhantomData::<F>;
        widest::run(AddRows { samples, batch, vectors, share, room, out, factor });
    });
}

struct AddRows<'a, F, const V: usize> {
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    vectors: [&'a [f32]; V],
    share: f32,
    room: &'a mut Room,
    out: &'a mut [f32],
    factor: PhantomData<F>,
}

impl<F: Factor<V>, const V: usize> Work for AddRows<'_, F, V> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        self.run_with::<false>();
    }

    #[cfg(feature = "simd")]
    #[inline(always)]
    fn run_with_many_registers(self) {
        self.run_with::<true>();
    }
}

impl<F: Factor<V>, const V: usize> AddRows<'_, F, V> {
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run_with<const MANY_REGISTERS: bool>(self) {
        let Self { samples, batch, vectors, share, room, out, .. } = self;
        let mut blocks = Blocks::new(samples, batch);
        while let Some(block) = blocks.next(room) {
            let factors =
                block_factors::<F, V, MANY_REGISTERS>(samples, &block, vectors, share, room);
            // Twice as many rows are added at once, if there are so many.
            #[cfg(not(feature = "simd"))]
            if let Some(other) = blocks.next(room) {
                let more =
                    block_factors::<F, V, MANY_REGISTERS>(samples, &other, vectors, share, room);
                Block::add_both([&block.1, &other.1], [factors, more], out);
                continue;
            }
            block.1.add_scaled(factors, room, out);
        }
        for index in blocks.rest() {
            let row = samples.row(index);
            let mut products = [0.0; V];
            for v in 0..V {
                products[v] = row.dot(vectors[v]);
            }
            let [factor] = F::of([products], [samples.label(index)]);
            row.add_scaled(share * factor, out);
        }
    }
}

/// What the rows of a block are multiplied by.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn block_factors<F: Factor<V>, const V: usize, const MANY_REGISTERS: bool>(
    samples: &Samples<'_>,
    (indices, rows): &([usize; BLOCK], Block<'_>),
    vectors: [&[f32]; V],
    share: f32,
    room: &mut Room,
) -> [f32; BLOCK] {
    let products = rows.dots::<V, true, MANY_REGISTERS>(vectors, room);
    let mut labels = [0.0; BLOCK];
    for i in 0..BLOCK {
        labels[i] = samples.label(indices[i]);
    }
    let mut factors = F::of(products, labels);
    for factor in &mut factors {
        *factor *= share;
    }
    factors
}

/// The mean over a batch of `term(index)`.
pub(super) fn mean(batch: &Batch, mut term: impl FnMut(usize) -> f32) -> f32 {
    let mut sum = CompensatedSum::default();
    for index in batch.indices() {
        sum.add(term(index));
    }
    sum.value() * batch.weight()
}

/// The mean loss at `weights`.
pub(super) fn mean_loss<L: LinearLoss>(
    samples: &Samples<'_>,
    batch: &Batch,
    weights: &[f32],
) -> f32 {
    let loss = |index, output| L::value(output, samples.label(index));
    Room::lend(samples.width(), |room| {
        widest::run(MeanLoss { samples, batch, weights, loss, room })
    })
}

/// The mean over a batch of a loss that depends on a sample's index and its scalar product with `weights`.
struct MeanLoss<'a, F> {
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    weights: &'a [f32],
    loss: F,
    room: &'a mut Room,
}

impl<F: Fn(usize, f32) -> f32> Work for MeanLoss<'_, F> {
    type Output = f32;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> f32 {
        let Self { samples, batch, weights, loss, room } = self;
        let mut sum = CompensatedSum::default();
        let mut blocks = Blocks::new(samples, batch);
        while let Some((block, rows)) = blocks.next(room) {
            for (index, [output]) in
                block.into_iter().zip(rows.dots::<1, false, false>([weights], room))
            {
                sum.add(loss(index, output));
            }
        }
        for index in blocks.rest() {
            sum.add(loss(index, samples.row(index).dot(weights)));
        }
        sum.value() * batch.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Sampler;
    use crate::draw::Purpose;
    use crate::samples::{Features, Labels};

    const ROWS: usize = 9;
    const WIDTH: usize = 101;

    #[test]
    fn batches_have_the_bits_of_their_samples_one_by_one() {
        // Most of it is background: some chunks of a row are zero in one sample, some in all of them.
        let byte = |i: usize| if i % WIDTH < 16 || i % 96 > 40 { 0 } else { (i * 89 % 251) as u8 };
        let bytes: [u8; ROWS * WIDTH] = array::from_fn(byte);
        let signed = bytes.map(|b| b as i8);
        let floats = bytes.map(|b| f32::from(b) * 0.31 - 9.7);
        let labels = Labels::Binary(&[0, 1, 1, 0, 1, 0, 0, 1, 1]);
        let weights: [f32; WIDTH] = array::from_fn(|i| i as f32 * 0.011 - 0.17);
        let v: [f32; WIDTH] = array::from_fn(|i| 0.9 - i as f32 * 0.043);
        for features in [Features::U8(&bytes), Features::I8(&signed), Features::F32(&floats)] {
            for offset in [0.0, -0.0, 3.5] {
                let samples = Samples::new(features, WIDTH, labels).unwrap();
                let samples = samples.scaled(1.0 / 255.0, offset).unwrap();
                let mut marks = [0; Samples::marks(ROWS, WIDTH)];
                samples.mark(&mut marks);
                for samples in [samples, samples.marked(&marks).unwrap()] {
                    for size in 1..=21 {
                        // One sample too many in the population: the row beyond the end is empty.
                        for population in [ROWS, ROWS + 1] {
                            let sampler =
                                Sampler::drawn(u64::from(size), 2, size.try_into().unwrap());
                            let batch = sampler.batch(0, Purpose::INNER_GRADIENT, population);
                            assert_same(&samples, &batch, &weights, &v);
                        }
                    }
                    assert_same(&samples, &Batch::full(ROWS), &weights, &v);
                }
            }
        }
    }

    fn assert_same(samples: &Samples<'_>, batch: &Batch, weights: &[f32], v: &[f32]) {
        let share = -0.7 * batch.weight();
        let mut out = [[0.01_f32; WIDTH]; 2];
        add_gradient::<LogisticLoss>(samples, batch, weights, -0.7, &mut out[0]);
        add_hessian_vector::<LogisticLoss>(samples, batch, weights, v, -0.7, &mut out[1]);
        let mut want = [[0.01_f32; WIDTH]; 2];
        for index in batch.indices() {
            let (row, label) = (samples.row(index), samples.label(index));
            let output = row.dot(weights);
            row.add_scaled(share * LogisticLoss::slope(output, label), &mut want[0]);
            let curvature = LogisticLoss::curvature(output, label);
            row.add_scaled(share * (curvature * row.dot(v)), &mut want[1]);
        }
        let bits = |a: [[f32; WIDTH]; 2]| a.map(|a| a.map(f32::to_bits));
        assert_eq!(bits(out), bits(want), "{} samples", batch.len());
        let loss =
            |index| LogisticLoss::value(samples.row(index).dot(weights), samples.label(index));
        let found = mean_loss::<LogisticLoss>(samples, batch, weights);
        assert_eq!(found.to_bits(), mean(batch, loss).to_bits(), "{} samples", batch.len());
    }
}
