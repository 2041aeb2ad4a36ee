//! Random orders and numbers from a stream: the same on every platform.

use std::num::NonZeroU32;

use lopa_core::draw::Stream;

/// A whole number below `bound`, all equally likely; 0 if there is none below it.
pub(crate) fn below(stream: &mut Stream, bound: usize) -> usize {
    let bound = u32::try_from(bound).ok().and_then(NonZeroU32::new);
    bound.map_or(0, |bound| stream.below(bound) as usize)
}

/// Fisher and Yates' shuffle: every order is equally likely.
pub(crate) fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(stream, last + 1));
    }
}

/// The numbers below `count`, in a random order.
pub(crate) fn shuffled(count: usize, stream: &mut Stream) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    shuffle(&mut rows, stream);
    rows
}

/// Proportions of a symmetric Dirichlet distribution: not negative, summing to one.
///
/// Gamma variates in logarithms, so that a small `alpha` does not end in zeros alone.
pub(crate) fn dirichlet(alpha: f64, parts: usize, stream: &mut Stream) -> Vec<f64> {
    let mut parts: Vec<f64> = (0..parts).map(|_| ln_gamma_variate(alpha, stream)).collect();
    let most = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for part in &mut parts {
        *part = libm::exp(*part - most);
    }
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| part / sum).collect()
}

/// The logarithm of a gamma variate of shape `alpha` (Marsaglia and Tsang, 2000).
fn ln_gamma_variate(alpha: f64, stream: &mut Stream) -> f64 {
    if alpha < 1.0 {
        let power = libm::log(open_unit(stream)) / alpha;
        return ln_gamma_variate(alpha + 1.0, stream) + power;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal(stream);
        let root = 1.0 + c * normal;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let bound = 0.5 * normal * normal + d * (1.0 - v + libm::log(v));
        if libm::log(open_unit(stream)) < bound {
            return libm::log(d) + libm::log(v);
        }
    }
}

/// A standard normal variate (Marsaglia's polar method).
fn normal(stream: &mut Stream) -> f64 {
    loop {
        let (a, b) = (2.0 * open_unit(stream) - 1.0, 2.0 * open_unit(stream) - 1.0);
        let square = a * a + b * b;
        if square > 0.0 && square < 1.0 {
            return a * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

fn wide(stream: &mut Stream) -> u64 {
    (u64::from(stream.next()) << 32) | u64::from(stream.next())
}

/// A number in [0, 1) with all bits that an `f64` has.
pub(crate) fn unit(stream: &mut Stream) -> f64 {
    (wide(stream) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A number strictly between 0 and 1, for logarithms: one of 2^52 equally likely ones.
fn open_unit(stream: &mut Stream) -> f64 {
    ((wide(stream) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::draw::{Draws, Purpose};

    fn stream() -> Stream {
        Draws { seed: 3, node: 0 }.stream(0, Purpose::custom(1))
    }

    #[test]
    fn gamma_variates_have_their_mean_and_variance() {
        for alpha in [0.3, 1.0, 4.5] {
            let mut stream = stream();
            let count = 40_000;
            let draws: Vec<f64> =
                (0..count).map(|_| libm::exp(ln_gamma_variate(alpha, &mut stream))).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(count);
            let square = draws.iter().map(|a| (a - mean) * (a - mean)).sum::<f64>();
            // Both are alpha; standard errors about 0.5 % and 2 % of it for the smallest.
            assert!((mean / alpha - 1.0).abs() < 0.04, "{alpha} {mean}");
            assert!((square / f64::from(count) / alpha - 1.0).abs() < 0.1, "{alpha} {square}");
        }
    }

    #[test]
    fn proportions_sum_to_one_however_small_alpha() {
        let mut stream = stream();
        for alpha in [1e-4, 0.05, 1.0, 1e4] {
            let parts = dirichlet(alpha, 9, &mut stream);
            assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(parts.iter().all(|part| part.is_finite() && *part >= 0.0));
            let most = parts.iter().copied().fold(0.0, f64::max);
            match alpha {
                1e-4 => assert!(most > 0.99, "{parts:?}"),
                1e4 => assert!(most < 0.12, "{parts:?}"),
                _ => {}
            }
        }
    }

    #[test]
    fn a_shuffle_reaches_every_order_evenly() {
        let mut stream = stream();
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            *seen.entry(shuffled(3, &mut stream)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (880..1120).contains(count)), "{seen:?}");
    }

    #[test]
    fn the_first_draws_are_pinned() {
        // As a Python rendering has them: the order exactly, the proportions to 1e-15.
        assert_eq!(shuffled(8, &mut stream()), [7, 5, 0, 6, 2, 1, 4, 3]);
        let bits = dirichlet(0.5, 2, &mut stream()).iter().map(|p| p.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits, [4_604_354_274_504_805_096, 4_599_327_908_508_330_544]);
    }
}
