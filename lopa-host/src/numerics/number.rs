//! Numbers in decimal, exactly, and rounded for people.

/// The power of ten of the first digit of a finite number that is not zero.
pub(crate) fn exponent(a: f64) -> i32 {
    // Printing is exact, a logarithm is not.
    format!("{a:e}").rsplit('e').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// `digits` times ten to the `exponent`, rounded once.
pub(crate) fn decimal(digits: i64, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// `digits` times ten to the `exponent`, written in full with a true minus sign.
pub(crate) fn written(digits: i64, exponent: i32) -> String {
    let minus = if digits < 0 { "\u{2212}" } else { "" };
    let mut word = digits.unsigned_abs().to_string();
    if digits != 0 && exponent > 0 {
        word += &"0".repeat(exponent.unsigned_abs() as usize);
    } else if digits != 0 && exponent < 0 {
        let places = exponent.unsigned_abs() as usize;
        if word.len() <= places {
            word = "0".repeat(places + 1 - word.len()) + &word;
        }
        word.insert(word.len() - places, '.');
    }
    format!("{minus}{word}")
}

/// An exponent in superscript.
pub(crate) fn raised(exponent: i32) -> String {
    let raise = |letter: char| match letter {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => char::from_u32(0x2070 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(raise).collect()
}

/// A number for people: whole numbers in full, others with four digits, small and large ones with a power of ten.
///
/// ```
/// use lopa_host::numerics::number;
/// assert_eq!(number(0.899_1234), "0.8991");
/// assert_eq!(number(1_234_567.0), "1\u{202f}234\u{202f}567");
/// assert_eq!(number(-1.5e-7), "\u{2212}1.500\u{202f}×\u{202f}10⁻⁷");
/// ```
#[must_use]
pub fn number(a: f64) -> String {
    if !a.is_finite() {
        return "\u{2013}".into();
    }
    if a == 0.0 {
        return "0".into();
    }
    let minus = if a < 0.0 { "\u{2212}" } else { "" };
    let a = a.abs();
    if a.fract() == 0.0 && a < 1e15 {
        let mut word = format!("{a:.0}");
        let len = word.len();
        // In groups of three, unless there are only four digits.
        let gaps = (1..len).rev().filter(|at| len > 4 && (len - at).is_multiple_of(3));
        gaps.for_each(|at| word.insert(at, '\u{202f}'));
        return format!("{minus}{word}");
    }
    let rounded = format!("{a:.3e}");
    let (digits, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    match power {
        -3..=3 => format!("{minus}{a:.*}", (3 - power).unsigned_abs() as usize),
        _ => format!("{minus}{digits}\u{202f}\u{d7}\u{202f}10{}", raised(power)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_exactly() {
        for (digits, exponent, text) in [
            (25, -1, "2.5"),
            (-5, -2, "\u{2212}0.05"),
            (0, -3, "0"),
            (12, 2, "1200"),
            (1234, -2, "12.34"),
        ] {
            assert_eq!(written(digits, exponent), text);
        }
        assert_eq!((exponent(999.9), exponent(1e-320), exponent(-1000.0)), (2, -320, 3));
        assert_eq!(decimal(1, -7), 1e-7);
    }

    #[test]
    fn numbers_read_well() {
        for (a, text) in [
            (0.0, "0"),
            (0.05, "0.05000"),
            (0.001_234_56, "0.001235"),
            (12.345, "12.35"),
            (1234.6, "1235"),
            (12_345.6, "1.235\u{202f}×\u{202f}10⁴"),
            (9.9999e-4, "0.001000"),
            (1e300, "1.000\u{202f}×\u{202f}10³⁰⁰"),
            (f64::NAN, "\u{2013}"),
        ] {
            assert_eq!(number(a), text);
        }
    }
}
