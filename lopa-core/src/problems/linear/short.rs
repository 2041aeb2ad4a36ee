//! Sums over the rows of a batch that fit one vector each: on a host, where such a row costs less than the calls for it.

use core::marker::PhantomData;

use super::Factor;
use crate::batch::Batch;
use crate::samples::Samples;
use crate::vector::LANES;
use crate::vector::matrix::{Chunk, parts, parts_mut};
use crate::vector::turn::add_across;
use crate::vector::wide::padded;
use crate::widest::{self, Simd, WithSimd};

/// As [`add_rows`](super::add_rows), for [short](Samples::is_short) rows, and with the same bits.
pub(super) fn add_rows<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    share: f32,
    out: &mut [f32],
) {
    widest::run_with(AddRows { samples, batch, vectors, share, out, factor: PhantomData::<F> });
}

struct AddRows<'a, F, const V: usize> {
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    vectors: [&'a [f32]; V],
    share: f32,
    out: &'a mut [f32],
    factor: PhantomData<F>,
}

impl<F: Factor<V>, const V: usize> WithSimd for AddRows<'_, F, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { samples, batch, vectors, share, out, .. } = self;
        let width = samples.width();
        let scale = samples.common_scale();
        let mut long = [Chunk::ZERO; V];
        for v in 0..V {
            long[v].0 = padded(vectors[v].get(..width).unwrap_or(vectors[v]), |a| a);
        }
        let mut sums = Chunk(padded(out.get(..width).unwrap_or(out), |a| a));
        let mut indices = batch.indices();
        // Places that a batch does not fill are computed too, and not used: they hold zeros, or rows of the round before.
        let mut rows = [Chunk::ZERO; LANES];
        while indices.len() > 0 {
            let (mut labels, mut count) = ([0.0; LANES], 0);
            for index in indices.by_ref().take(LANES) {
                // A row beyond the end adds nothing.
                if samples.read_short(simd, index, &mut rows[count]) {
                    labels[count] = samples.label(index);
                    count += 1;
                }
            }
            let mut products = [[0.0; V]; LANES];
            for v in 0..V {
                let own = dots(simd, &rows, &long[v]);
                for b in 0..LANES {
                    products[b][v] = scale * own[b];
                }
            }
            let mut factors = F::of(products, labels);
            for factor in &mut factors {
                *factor = *factor * share * scale;
            }
            add_scaled(simd, &mut sums, &rows[..count], &factors);
        }
        out.iter_mut().zip(sums.0).take(width).for_each(|(out, sum)| *out = sum);
    }
}

/// The scalar product of each row with a vector, as [`reduce`](crate::vector::reduce) computes it.
#[inline(always)]
fn dots<S: Simd>(simd: S, rows: &[Chunk; LANES], vector: &Chunk) -> [f32; LANES] {
    let zero = simd.splat_f32s(0.0);
    let mut dots = Chunk::ZERO;
    for (dots, rows) in parts_mut::<S>(&mut dots.0).iter_mut().zip(rows.chunks_exact(S::F32_LANES))
    {
        let mut lanes = [zero; LANES];
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            let mut own = [zero; LANES];
            for (own, (&a, &b)) in
                own.iter_mut().zip(parts::<S>(&row.0).iter().zip(parts::<S>(&vector.0)))
            {
                *own = simd.add_f32s(zero, simd.mul_f32s(a, b));
            }
            // Lanes at least a vector apart are added first: whole vectors to whole vectors.
            let mut count = LANES / S::F32_LANES;
            while count > 1 {
                count /= 2;
                for i in 0..count {
                    own[i] = simd.add_f32s(own[i], own[i + count]);
                }
            }
            [*lanes, ..] = own;
        }
        *dots = add_across(simd, lanes);
    }
    dots.0
}

/// `sums += factor * row` for one row after the other.
#[inline(always)]
fn add_scaled<S: Simd>(simd: S, sums: &mut Chunk, rows: &[Chunk], factors: &[f32; LANES]) {
    for (part, sums) in parts_mut::<S>(&mut sums.0).iter_mut().enumerate() {
        let mut own = *sums;
        for (row, &factor) in rows.iter().zip(factors) {
            let product = simd.mul_f32s(simd.splat_f32s(factor), parts::<S>(&row.0)[part]);
            own = simd.add_f32s(own, product);
        }
        *sums = own;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogisticLoss, add_gradient, add_hessian_vector};
    use super::*;
    use crate::batch::Sampler;
    use crate::draw::Purpose;
    use crate::problems::linear::LinearLoss;
    use crate::samples::{Features, Labels};
    use crate::vector::limit_vectors;

    const ROWS: usize = 9;

    #[test]
    fn short_rows_have_the_bits_of_samples_one_by_one() {
        let labels = [0, 1, 1, 0, 1, 0, 0, 1, 1];
        for (bits, width) in
            [128, 256, 512].into_iter().flat_map(|bits| (1..=LANES).map(move |width| (bits, width)))
        {
            limit_vectors(bits);
            let bytes: Vec<u8> = (0..ROWS * width).map(|i| (i * 89 % 251) as u8).collect();
            let signed: Vec<i8> = bytes.iter().map(|&b| b as i8).collect();
            let floats: Vec<f32> = bytes.iter().map(|&b| f32::from(b) * 0.31 - 9.7).collect();
            for features in [Features::U8(&bytes), Features::I8(&signed), Features::F32(&floats)] {
                for offset in [0.0, -0.0, 3.5] {
                    let samples = Samples::new(features, width, Labels::Binary(&labels)).unwrap();
                    let samples = samples.scaled(1.0 / 255.0, offset).unwrap();
                    assert!(samples.is_short());
                    for size in 1..=21 {
                        // One sample too many in the population: the row beyond the end is empty.
                        let sampler = Sampler::drawn(u64::from(size), 2, size.try_into().unwrap());
                        assert_same(&samples, &sampler.batch(0, Purpose::INNER_GRADIENT, ROWS + 1));
                    }
                    assert_same(&samples, &Batch::full(ROWS));
                    assert_same(&samples, &Batch::full(0));
                }
            }
        }
        limit_vectors(u32::MAX);
    }

    fn assert_same(samples: &Samples<'_>, batch: &Batch) {
        let width = samples.width();
        let weights: Vec<f32> = (0..width).map(|i| i as f32 * 0.011 - 0.07).collect();
        let v: Vec<f32> = (0..width).map(|i| 0.9 - i as f32 * 0.143).collect();
        let share = -0.7 * batch.weight();
        let start = |i: usize| if i.is_multiple_of(3) { -0.0 } else { 0.01 };
        let mut out: [Vec<f32>; 4] = [(); 4].map(|()| (0..width).map(start).collect());
        let [slope, curvature, first, second] = &mut out;
        add_gradient::<LogisticLoss>(samples, batch, &weights, -0.7, first);
        add_hessian_vector::<LogisticLoss>(samples, batch, &weights, &v, -0.7, second);
        for index in batch.indices() {
            let (row, label) = (samples.row(index), samples.label(index));
            let output = row.dot(&weights);
            row.add_scaled(share * LogisticLoss::slope(output, label), slope);
            let factor = LogisticLoss::curvature(output, label) * row.dot(&v);
            row.add_scaled(share * factor, curvature);
        }
        let bits = |a: &[f32]| a.iter().map(|a| a.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(first), bits(slope), "{width} features, {} samples", batch.len());
        assert_eq!(bits(second), bits(curvature), "{width} features, {} samples", batch.len());
    }
}
