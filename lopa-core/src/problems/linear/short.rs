//! Sums over the rows of a batch that fit one vector each: on a host, where such a row costs less than the calls for it.

use core::marker::PhantomData;

use super::Factor;
use crate::batch::Batch;
use crate::samples::{BLOCK, Samples};
use crate::vector::wide::{add_products, add_scaled, padded};
use crate::vector::{LANES, add_lanes};
use crate::widest::{self, Work};

/// As [`add_rows`](super::add_rows), for [short](Samples::is_short) rows, and with the same bits.
pub(super) fn add_rows<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    share: f32,
    out: &mut [f32],
) {
    widest::run(AddRows { samples, batch, vectors, share, out, factor: PhantomData::<F> });
}

struct AddRows<'a, F, const V: usize> {
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    vectors: [&'a [f32]; V],
    share: f32,
    out: &'a mut [f32],
    factor: PhantomData<F>,
}

impl<F: Factor<V>, const V: usize> Work for AddRows<'_, F, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { samples, batch, vectors, share, out, .. } = self;
        let width = samples.width();
        let scale = samples.common_scale();
        let mut long = [[0.0; LANES]; V];
        for v in 0..V {
            long[v] = padded(vectors[v].get(..width).unwrap_or(vectors[v]), |a| a);
        }
        let mut sums = padded(out.get(..width).unwrap_or(out), |a| a);
        let mut indices = batch.indices();
        while indices.len() > 0 {
            // What is left of them without rows is computed too, and not used.
            let mut rows = [[0.0; LANES]; BLOCK];
            let (mut labels, mut count) = ([0.0; BLOCK], 0);
            for index in indices.by_ref().take(BLOCK) {
                // A row beyond the end adds nothing.
                if let Some(row) = samples.short_row(index) {
                    (rows[count], labels[count]) = (row, samples.label(index));
                    count += 1;
                }
            }
            let mut products = [[0.0; V]; BLOCK];
            for b in 0..BLOCK {
                for v in 0..V {
                    let lanes = add_products([0.0; LANES], rows[b], long[v]);
                    products[b][v] = scale * add_lanes(lanes, LANES);
                }
            }
            let factors = F::of(products, labels);
            for (row, factor) in rows.into_iter().zip(factors).take(count) {
                sums = add_scaled(sums, factor * share * scale, row);
            }
        }
        out.iter_mut().zip(sums).take(width).for_each(|(out, sum)| *out = sum);
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

    const ROWS: usize = 9;

    #[test]
    fn short_rows_have_the_bits_of_samples_one_by_one() {
        let labels = [0, 1, 1, 0, 1, 0, 0, 1, 1];
        for width in 1..=LANES {
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
