//! The ends of a symmetric tridiagonal matrix's spectrum, by bisection.

use super::vector::norm_in_lanes;

/// A symmetric tridiagonal matrix.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tridiagonal {
    /// The diagonal.
    pub(crate) diagonal: Vec<f64>,
    /// The elements next to it, one fewer, none of them negative.
    pub(crate) beside: Vec<f64>,
}

/// An end of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The smallest eigenvalue.
    Low,
    /// The largest eigenvalue.
    High,
}

impl End {
    /// The high end is the low end of the negative matrix; the signs beside the diagonal change no eigenvalue.
    const fn sign(self) -> f64 {
        match self {
            Self::Low => 1.0,
            Self::High => -1.0,
        }
    }
}

/// How far bisection goes.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// To the last bit of the eigenvalue, however small it is.
    LastBit,
    /// To what rounding leaves of the matrix: the lower bound is then sure to lie below the spectrum.
    Rounding,
}

impl Tridiagonal {
    /// An eigenvalue at an end, to the last bit.
    pub(crate) fn end(&self, end: End) -> f64 {
        let mut pivots = vec![0.0; self.diagonal.len()];
        let (low, high) = self.bisect(end.sign(), Until::LastBit, &mut pivots);
        end.sign() * (0.5 * (low + high))
    }

    /// An eigenvalue at an end, and the last element of its unit eigenvector.
    pub(crate) fn end_with_tail(&self, end: End) -> (f64, f64) {
        let (sign, beside) = (end.sign(), &self.beside);
        let mut pivots = vec![0.0; self.diagonal.len()];
        let (low, _) = self.bisect(sign, Until::Rounding, &mut pivots);
        if !self.is_above(sign, low, &mut pivots) {
            // Only rounding at the very start leads here; a bound is then all there is.
            return (sign * low, 1.0);
        }
        // Inverse iteration. With negative elements beside the diagonal nothing ever cancels: inverse and eigenvector
        // are positive throughout.
        let mut vector = vec![1.0; pivots.len()];
        for _ in 0..3 {
            for i in 1..vector.len() {
                vector[i] += beside[i - 1] / pivots[i - 1] * vector[i - 1];
            }
            for i in (0..vector.len()).rev() {
                let after = vector.get(i + 1).map_or(0.0, |after| beside[i] * after);
                vector[i] = (vector[i] + after) / pivots[i];
            }
            let length = norm_in_lanes(&vector);
            vector.iter_mut().for_each(|v| *v /= length);
        }
        (sign * low, vector.last().copied().unwrap_or(1.0))
    }

    fn side(&self, i: usize) -> f64 {
        self.beside.get(i).copied().unwrap_or(0.0)
    }

    /// Whether the spectrum of sign · T lies above a number: all pivots of sign · T - a, which it leaves in `pivots`,
    /// are positive. Rounding cannot make this true for a number and false for a smaller one.
    fn is_above(&self, sign: f64, a: f64, pivots: &mut [f64]) -> bool {
        let mut borrowed = 0.0;
        pivots.iter_mut().zip(&self.diagonal).enumerate().all(|(i, (pivot, d))| {
            *pivot = sign * d - a - borrowed;
            borrowed = self.side(i) * self.side(i) / *pivot;
            *pivot > 0.0
        })
    }

    /// Two numbers with the smallest eigenvalue of sign · T between them.
    fn bisect(&self, sign: f64, until: Until, pivots: &mut [f64]) -> (f64, f64) {
        // Gershgorin's circles contain every eigenvalue.
        let radius = |i: usize| self.side(i) + i.checked_sub(1).map_or(0.0, |i| self.side(i));
        let diagonal = || self.diagonal.iter().map(|d| sign * d).enumerate();
        let bound = |side: f64| diagonal().map(move |(i, d)| d + side * radius(i));
        let scale = bound(1.0).chain(bound(-1.0)).fold(0.0, |top, b| b.abs().max(top));
        let (margin, width) = match until {
            Until::LastBit => (0.0, 0.0),
            Until::Rounding => {
                (4.0 * f64::EPSILON * scale + f64::MIN_POSITIVE, 0.25 * f64::EPSILON * scale)
            }
        };
        let mut low = bound(-1.0).fold(f64::INFINITY, f64::min) - margin;
        let mut high = diagonal().fold(f64::INFINITY, |least, (_, d)| least.min(d));
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if high - low <= width || middle <= low || middle >= high {
                break;
            }
            *(if self.is_above(sign, middle, pivots) { &mut low } else { &mut high }) = middle;
        }
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_path_are_known() {
        // 2 on the diagonal, -1 beside it: eigenvalues 2 - 2 cos(k pi / (n + 1)), eigenvectors of sines.
        for n in [1, 2, 3, 10, 1_000] {
            let matrix = Tridiagonal { diagonal: vec![2.0; n], beside: vec![1.0; n - 1] };
            let angle = std::f64::consts::PI / (n + 1) as f64;
            for (end, sign) in [(End::Low, -1.0), (End::High, 1.0)] {
                let known = 2.0 + sign * 2.0 * libm::cos(angle);
                let (value, last) = matrix.end_with_tail(end);
                assert!((value - known).abs() < 4e-15, "{n}: {value}");
                assert!((matrix.end(end) - known).abs() < 4e-15, "{n}: {}", matrix.end(end));
                let expected = libm::sin(n as f64 * angle) * (2.0 / (n + 1) as f64).sqrt();
                assert!((last / expected - 1.0).abs() < 1e-6, "{n}: {last} {expected}");
            }
        }
    }
}
