//! Words and numbers in pictures: escaped, measured, cut to fit.

/// Advance widths of the letters from space to tilde, in thousandths of the size: Arimo, Helvetica and Arial agree.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Text as XML and HTML have it; what XML cannot say at all is left out.
///
/// ```
/// assert_eq!(lopa_host::plot::escaped("a < \"b\"\u{0}"), "a &lt; &quot;b&quot;");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => result += "&amp;",
            '<' => result += "&lt;",
            '>' => result += "&gt;",
            '"' => result += "&quot;",
            '\'' => result += "&#39;",
            '\n' | '\t' => result.push(letter),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => {}
            _ => result.push(letter),
        }
    }
    result
}

/// As a heading or a sentence begins.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// How wide a letter is, as a share of the size; what is not in the table, about.
fn letter(letter: char) -> f64 {
    match letter {
        ' '..='~' => f64::from(WIDTHS[letter as usize - ' ' as usize]) / 1000.0,
        '\u{2212}' | '\u{d7}' => 0.584,
        '\u{2009}' | '\u{202f}' => 0.2,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{208e}' => 0.35,
        '\u{2e80}'.. => 1.0,
        _ => 0.65,
    }
}

/// How wide a text is.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(letter).sum::<f64>()
}

/// The text, or its beginning and end with an ellipsis between, no wider than `room`.
///
/// Names of runs often differ only at their end.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    // A line break in a name is a space in a picture.
    let text: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    if width(&text, size) <= room {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let tail = kept / 3;
        let (head, tail) = (&letters[..kept - tail], &letters[letters.len() - tail..]);
        head.iter().chain(&['\u{2026}']).chain(tail).collect()
    };
    // As many letters as fit; nothing useful is shorter than one letter.
    let (mut least, mut most) = (1, letters.len().max(1));
    while most - least > 1 {
        let middle = usize::midpoint(least, most);
        if width(&cut(middle), size) <= room {
            least = middle;
        } else {
            most = middle;
        }
    }
    cut(least)
}

/// The power of ten of the first digit of a finite number that is not zero.
pub(crate) fn exponent(a: f64) -> i32 {
    // Printing is exact, a logarithm is not.
    format!("{a:e}").rsplit('e').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// `digits` times ten to the `exponent`, rounded once.
pub(crate) fn decimal(digits: i64, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// `digits` times ten to the `exponent`, written out, with a true minus sign.
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

/// An exponent in raised letters.
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

/// A figure for people: whole numbers in full, others with four digits, small and large ones with a power of ten.
///
/// ```
/// use lopa_host::plot::number;
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
        let word = format!("{a:.0}");
        let mut grouped = String::new();
        for (at, digit) in word.chars().enumerate() {
            if at > 0 && (word.len() - at).is_multiple_of(3) && word.len() > 4 {
                grouped.push('\u{202f}');
            }
            grouped.push(digit);
        }
        return format!("{minus}{grouped}");
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
    fn figures_read_well() {
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

    #[test]
    fn long_names_keep_both_ends_and_fit() {
        let name = "a-very-long-name-of-a-run-with-seed-17";
        let short = fitted(name, 12.0, 100.0);
        assert!(
            width(&short, 12.0) <= 100.0 && short.starts_with("a-very") && short.ends_with("17")
        );
        assert_eq!(fitted("short", 12.0, 100.0), "short");
        assert_eq!(fitted("a\nb", 12.0, 100.0), "a b");
        assert_eq!(fitted("", 12.0, 0.0), "");
        assert_eq!(fitted("xyz", 12.0, 0.0), "x\u{2026}");
    }
}
