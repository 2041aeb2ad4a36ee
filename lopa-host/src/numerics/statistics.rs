//! Several runs as one: their mean, and how sure it is.

use std::borrow::Borrow;

/// The mean of several runs, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// Where the truth may lie: the 95 % confidence interval of the mean for three runs or more, the range of two,
    /// nothing for one.
    pub band: Option<[f64; 2]>,
    /// The number of runs with a finite value.
    pub runs: usize,
}

/// The mean of several runs and its band. Values that are not finite are left out; with none left there is no mean.
///
/// ```
/// use lopa_host::numerics::spread;
/// // s = 1, so the band is 2 ± 4.3027 / √3.
/// let three = spread([1.0, 2.0, 3.0]).unwrap();
/// assert!(three.mean == 2.0 && (three.band.unwrap()[1] - 4.48414).abs() < 1e-5);
/// assert_eq!(spread([1.0, 2.0]).unwrap().band, Some([1.0, 2.0]));
/// ```
#[must_use]
pub fn spread(values: impl IntoIterator<Item = impl Borrow<f64>>) -> Option<Spread> {
    let values = values.into_iter().map(|value| *value.borrow());
    let values: Vec<f64> = values.filter(|a| a.is_finite()).collect();
    let (runs, count) = (values.len(), values.len() as f64);
    let mean = values.iter().sum::<f64>() / count;
    if runs == 0 || !mean.is_finite() {
        return None;
    }
    let band = match values[..] {
        [_] => None,
        [a, b] => Some([a.min(b), a.max(b)]),
        _ => {
            let squares: f64 = values.iter().map(|a| (a - mean) * (a - mean)).sum();
            let half = confidence_quantile(runs - 1) * (squares / (count - 1.0) / count).sqrt();
            Some([mean - half, mean + half]).filter(|ends| ends.iter().all(|end| end.is_finite()))
        }
    };
    Some(Spread { mean, band, runs })
}

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom: the half width of a 95 % confidence interval,
/// in standard errors. Infinite with none.
///
/// ```
/// let quantile = lopa_host::numerics::confidence_quantile(4);
/// assert!((quantile - 2.776_445_105).abs() < 1e-9);
/// ```
#[must_use]
pub fn confidence_quantile(freedom: usize) -> f64 {
    if freedom == 0 {
        return f64::INFINITY;
    }
    let degrees = freedom as f64;
    if freedom > 2000 {
        // The normal quantile and the first two terms of its correction: right to nine digits here.
        let z: f64 = 1.959_963_984_540_054;
        let cube = z * z * z;
        let second = (5.0 * cube * z * z + 16.0 * cube + 3.0 * z) / 96.0;
        return z + (cube + z) / (4.0 * degrees) + second / (degrees * degrees);
    }
    // Bisect the range of angles until nothing is left of it.
    let (mut low, mut high) = (0.0_f64, std::f64::consts::FRAC_PI_2);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    degrees.sqrt() * libm::tan(high)
}

/// The probability that |t| is below √freedom · tan(angle): a finite sum, as freedom is whole.
fn within(angle: f64, freedom: usize) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let odd = freedom % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut k = if odd { 3 } else { 2 };
    while k < freedom {
        term *= cosine * cosine * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    if odd { std::f64::consts::FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (3, 3.182_446_305),
            (4, 2.776_445_105),
            (5, 2.570_581_836),
            (9, 2.262_157_163),
            (10, 2.228_138_852),
            (30, 2.042_272_456),
            (100, 1.983_971_519),
            (1_000_000, 1.959_966_357),
        ] {
            let found = confidence_quantile(freedom);
            assert!((found - expected).abs() < 2e-9, "{freedom}: {found}");
        }
        // No jump where the method changes.
        assert!((confidence_quantile(2000) - confidence_quantile(2001)).abs() < 1e-6);
        assert_eq!(confidence_quantile(0), f64::INFINITY);
    }

    #[test]
    fn bands_are_those_computed_by_hand() {
        // Mean 5, squares 16 + 1 + 0 + 1 + 16 = 34, s = √8.5, band 5 ± 2.776445 · √(8.5 / 5).
        let five = spread([1.0, 4.0, 5.0, 6.0, 9.0]).unwrap();
        let half = 2.776_445_105 * 1.7_f64.sqrt();
        let [low, high] = five.band.unwrap();
        assert!((five.mean, five.runs) == (5.0, 5));
        assert!((low - (5.0 - half)).abs() < 1e-8 && (high - (5.0 + half)).abs() < 1e-8);
        assert_eq!(
            spread([2.0, 1.0]).unwrap(),
            Spread { mean: 1.5, band: Some([1.0, 2.0]), runs: 2 }
        );
        assert_eq!(spread([f64::NAN, 3.0]).unwrap(), Spread { mean: 3.0, band: None, runs: 1 });
        assert_eq!(spread([f64::INFINITY]), None);
        assert_eq!(spread([f64::MAX; 4]), None);
    }
}
