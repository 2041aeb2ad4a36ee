//! Sums over the rows of a batch in integers, for chips without an FPU: the same bits on every chip and host.
//!
//! Vectors become [integers](quantised) with one common scale each; then bytes times integers are summed, which needs no
//! floats and no order. A batch is processed in [groups](group) of rows, so that everything fits the stack, and features in
//! chunks, so that no vector of integers is ever stored whole. The factors of a group's rows become integers too, and each
//! element of the result is converted to a float once per group. A host with wide vectors does the same in loops of its own.

mod group;
#[cfg(feature = "simd")]
mod lanes;
mod layer;
mod quantised;
mod scales;
#[cfg(feature = "simd")]
mod wide;

use core::marker::PhantomData;

pub(super) use self::group::GROUP;
use self::group::{CHUNK, Group};
pub(super) use self::layer::LayerRows;
use self::quantised::Unit;
use self::scales::Scales;
#[cfg(feature = "simd")]
pub(super) use self::wide::Layer;
use crate::batch::Batch;
use crate::samples::{Features, Samples};
use crate::widest::{self, Work};

/// What a row is multiplied by. A type instead of a closure, for the reason that [`Work`] gives.
pub(super) trait Factor<const V: usize> {
    /// The factor of a row with this label and these scalar products with the vectors.
    fn factor(label: f32, outputs: [f32; V]) -> f32;
}

/// Adds `scale` times the mean over a batch to `out`, of each row times a factor that depends on its label and its scalar
/// products with `vectors`. If a vector or a factor is not finite, `out` is NaN.
#[inline(always)]
pub(super) fn add_rows<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    scale: f32,
    out: &mut [f32],
) {
    #[cfg(feature = "simd")]
    if wide::add_rows::<F, V>(samples, batch, vectors, scale, out) {
        return;
    }
    add_chunks::<F, V>(samples, batch, vectors, scale, out);
}

/// The same without named vector operations.
#[inline(always)]
fn add_chunks<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    scale: f32,
    out: &mut [f32],
) {
    let factor = PhantomData::<F>;
    widest::run(AddRows { samples, batch, vectors, factor, scale, out });
}

struct AddRows<'a, F, const V: usize> {
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    vectors: [&'a [f32]; V],
    factor: PhantomData<F>,
    scale: f32,
    out: &'a mut [f32],
}

impl<F: Factor<V>, const V: usize> Work for AddRows<'_, F, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { samples, batch, vectors, scale, out, .. } = self;
        AddRows { samples, batch, vectors, factor: PhantomData, scale, out }.sum(F::factor);
    }
}

impl<const V: usize> AddRows<'_, (), V> {
    /// On a chip, all losses share this code; on a host, the factor is inlined.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline(never))]
    fn sum(self, factor: fn(f32, [f32; V]) -> f32) {
        let Self { samples, batch, vectors, scale, out, .. } = self;
        let (raw, signed) = match samples.features() {
            Features::U8(raw) => (raw, false),
            Features::I8(raw) => (bytemuck::cast_slice(raw), true),
            // Refused when the samples were made.
            Features::F32(_) => return,
        };
        let scales = Scales::new(samples.scaling());
        let share = scale * batch.weight() * scales.scale();
        let mut units = [Unit::ONE; V];
        for (unit, vector) in units.iter_mut().zip(vectors) {
            match scales.unit(vector) {
                Some(found) => *unit = found,
                None if batch.is_empty() => {}
                None => return out.fill(f32::NAN),
            }
        }
        let mut indices = batch.indices();
        let mut integers = [0; CHUNK];
        while indices.len() > 0 {
            let mut group = Group::new(signed);
            // First the labels of the group's rows, then their factors.
            let mut factors = [0.0; GROUP];
            let mut free = factors.iter_mut();
            for index in indices.by_ref().take(GROUP) {
                if group.push(raw, index, samples.width())
                    && let Some(label) = free.next()
                {
                    *label = samples.label(index);
                }
            }
            let mut outputs = [[0.0; GROUP]; V];
            for ((outputs, vector), &unit) in outputs.iter_mut().zip(vectors).zip(&units) {
                group.multiply(vector, unit, &scales, &mut integers, outputs);
            }
            for i in 0..group.lanes() {
                let mut own = [0.0; V];
                for v in 0..V {
                    own[v] = outputs[v][i];
                }
                factors[i] = factor(factors[i], own) * share;
            }
            if !group.add_to(out, &factors, &scales, &mut integers) {
                return out.fill(f32::NAN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::array;

    use super::*;
    use crate::batch::Sampler;
    use crate::draw::Purpose;
    use crate::samples::{Arithmetic, Labels, Scale};

    const ROWS: usize = 70;
    const WIDTH: usize = 301;
    const LABELS: [f32; ROWS] = [0.0; ROWS];

    /// It depends on everything, and is not too flat.
    struct Mixed;

    impl Factor<2> for Mixed {
        fn factor(label: f32, [a, b]: [f32; 2]) -> f32 {
            (label + a) * 0.5 + b
        }
    }

    struct Case<'a> {
        samples: Samples<'a>,
        a: [f32; WIDTH],
        b: [f32; WIDTH],
    }

    impl Case<'_> {
        fn add(&self, batch: &Batch, out: &mut [f32]) {
            add_rows::<Mixed, 2>(&self.samples, batch, [&self.a, &self.b], -0.7, out);
        }

        /// The same in doubles.
        fn reference(&self, batch: &Batch) -> [f64; WIDTH] {
            let value = |row: usize, i: usize| {
                let raw = match self.samples.features() {
                    Features::U8(raw) => f64::from(raw[row * WIDTH + i]),
                    Features::I8(raw) => f64::from(raw[row * WIDTH + i]),
                    Features::F32(_) => unreachable!(),
                };
                match self.samples.scaling() {
                    crate::samples::Scaling::Common { scale, offset } => {
                        f64::from(scale) * (raw - f64::from(offset))
                    }
                    crate::samples::Scaling::Each(scales) => {
                        (raw - f64::from(scales[i].offset)) * f64::from(scales[i].factor)
                    }
                }
            };
            let mut out = [0.25; WIDTH];
            for row in batch.indices().filter(|row| *row < ROWS) {
                let dot = |vector: &[f32; WIDTH]| {
                    (0..WIDTH).map(|i| value(row, i) * f64::from(vector[i])).sum::<f64>()
                };
                let label = f64::from(self.samples.label(row));
                let factor = (label + dot(&self.a)) * 0.5 + dot(&self.b);
                for (i, out) in out.iter_mut().enumerate() {
                    *out -= 0.7 * factor * value(row, i) / batch.len() as f64;
                }
            }
            out
        }

        /// The largest error, relative to the largest element of what was added.
        fn error(&self, batch: &Batch) -> f64 {
            let (want, mut out) = (self.reference(batch), [0.25_f32; WIDTH]);
            self.add(batch, &mut out);
            let largest =
                |a: &mut dyn Iterator<Item = f64>| a.fold(0.0, |a, b| f64::max(a, b.abs()));
            let error = &mut want.iter().zip(out).map(|(want, out)| want - f64::from(out));
            largest(error) / largest(&mut want.iter().map(|want| want - 0.25)).max(1.0e-30)
        }
    }

    fn vectors() -> ([f32; WIDTH], [f32; WIDTH]) {
        let number = |i: usize| ((i * 7_919 % 1_009) as f32 - 504.0) / 504.0;
        (array::from_fn(number), array::from_fn(|i| 0.01 * number(i + 500)))
    }

    fn bytes() -> [u8; ROWS * WIDTH] {
        array::from_fn(|i| (i * i % 253) as u8)
    }

    fn case<'a>(features: Features<'a>, make: impl Fn(Samples<'a>) -> Samples<'a>) -> Case<'a> {
        let samples = make(Samples::new(features, WIDTH, Labels::Real(&LABELS)).unwrap());
        let (a, b) = vectors();
        Case { samples: samples.computed_in(Arithmetic::Integer).unwrap(), a, b }
    }

    fn batches() -> impl Iterator<Item = Batch> {
        let drawn = [1, 2, 31, 32, 33, 64, 65, 1_000].map(|size: u32| {
            Sampler::drawn(3, 1, size.try_into().unwrap()).batch(0, Purpose::INNER_GRADIENT, ROWS)
        });
        drawn.into_iter().chain([Batch::full(ROWS)])
    }

    #[test]
    fn sums_are_within_four_digits_of_doubles() {
        let bytes = bytes();
        let signed = bytes.map(|b| b as i8);
        let scales: [Scale; WIDTH + 1] = array::from_fn(|i| Scale {
            offset: (i * 37 % 211) as f32 + 0.37,
            factor: 0.002 + (i * 13 % 17) as f32 * 0.003,
        });
        let (mut cases, mut worst) = (0, 0.0_f64);
        for features in [Features::U8(&bytes), Features::I8(&signed)] {
            for (scale, offset) in
                [(1.0 / 255.0, 0.0), (0.02, 128.0), (-0.3, 31.7), (1.0, -1_024.0)]
            {
                let case = case(features, |samples| samples.scaled(scale, offset).unwrap());
                for batch in batches() {
                    let error = case.error(&batch);
                    assert!(error < 3.0e-4, "{offset}, {} samples: {error:e}", batch.len());
                    (cases, worst) = (cases + 1, worst.max(error));
                }
            }
            let case = case(features, |samples| samples.standardised(&scales).unwrap());
            for batch in batches() {
                let error = case.error(&batch);
                assert!(error < 4.0e-4, "each, {} samples: {error:e}", batch.len());
                (cases, worst) = (cases + 1, worst.max(error));
            }
        }
        assert!(cases == 90 && worst > 1.0e-6, "{cases} {worst:e}: too good to be a test");
    }

    #[test]
    fn one_large_element_coarsens_the_others_no_further_than_its_unit() {
        let bytes = bytes();
        let mut case =
            case(Features::U8(&bytes), |samples| samples.scaled(1.0 / 255.0, 0.0).unwrap());
        case.b = [0.0; WIDTH];
        let batch = Batch::full(ROWS);
        for intercept in [1.0, 100.0, 10_000.0] {
            case.a[7] = intercept;
            let error = case.error(&batch);
            assert!(error < 1.0e-3, "{intercept}: {error:e}");
        }
    }

    #[test]
    fn zeros_add_what_their_factors_say_and_empty_batches_nothing() {
        let bytes = bytes();
        let mut case = case(Features::U8(&bytes), |samples| samples.scaled(0.1, 3.0).unwrap());
        (case.a, case.b) = ([0.0; WIDTH], [-0.0; WIDTH]);
        let mut out = [0.25; WIDTH];
        // Factors are zero, too.
        case.add(&Batch::full(ROWS), &mut out);
        case.b[3] = f32::NAN;
        case.add(&Batch::full(0), &mut out);
        assert_eq!(out, [0.25; WIDTH]);
    }

    #[test]
    fn what_is_not_finite_makes_everything_nan() {
        let bytes = bytes();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0e38] {
            for which in [0, 1] {
                let mut case =
                    case(Features::U8(&bytes), |samples| samples.scaled(0.1, 0.0).unwrap());
                [&mut case.a, &mut case.b][which][WIDTH - 1] = bad;
                let mut out = [0.25; WIDTH];
                case.add(&Batch::full(ROWS), &mut out);
                assert!(out.iter().all(|a| a.is_nan()), "{bad} in vector {which}");
            }
        }
        // A factor that overflows, of vectors that do not.
        let mut case = case(Features::U8(&bytes), |samples| samples.scaled(1.0e30, 0.0).unwrap());
        case.a[0] = 1.0e20;
        let mut out = [0.25; WIDTH];
        case.add(&Batch::full(ROWS), &mut out);
        assert!(out.iter().all(|a| a.is_nan()));
    }

    #[test]
    fn rows_beyond_the_end_add_nothing() {
        let bytes = bytes();
        let case = case(Features::U8(&bytes), |samples| samples.scaled(0.1, 9.0).unwrap());
        let batch = Sampler::drawn(3, 1, 40.try_into().unwrap());
        let batch = batch.batch(0, Purpose::INNER_GRADIENT, 2 * ROWS);
        assert!(batch.indices().any(|row| row >= ROWS));
        let error = case.error(&batch);
        assert!(error < 3.0e-4, "{error:e}");
    }
}
