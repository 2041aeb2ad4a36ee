//! Words in pictures: escaped, measured, cut to fit.

/// Advance widths of the letters from space to tilde, in thousandths of the size: Arimo, Helvetica and Arial agree.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Text escaped for XML and HTML; characters that XML does not allow are left out.
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

/// The text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The width of a letter as a fraction of the font size; approximate if it is not in the table.
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

/// The width of a text.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(letter).sum::<f64>()
}

/// The text if it is no wider than `room`, or else its beginning and end with an ellipsis between them.
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
    // As many letters as fit, but at least one.
    let fits = |text: &String| width(text, size) <= room;
    (1..letters.len()).rev().map(cut).find(fits).unwrap_or_else(|| cut(1))
}

#[cfg(test)]
mod tests {
    use super::*;

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
