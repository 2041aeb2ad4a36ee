//! An axis: its range, its ticks, and the place of a value on it.

use super::text::width;
use crate::numerics::number::{decimal, exponent, raised, written};
use crate::record::Scale;

/// A tick with its label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Its value.
    pub at: f64,
    /// Its text.
    pub label: Label,
}

/// The text at a tick, with an exponent if needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Label {
    /// The text on the line.
    pub word: String,
    /// The exponent, raised and smaller.
    pub raised: String,
}

impl Label {
    pub(crate) const fn plain(word: String) -> Self {
        Self { word, raised: String::new() }
    }

    fn power(word: &str, power: i32) -> Self {
        let raised = power.to_string().replace('-', "\u{2212}");
        Self { word: word.to_owned(), raised }
    }

    /// Its width at a font size.
    pub(crate) fn width(&self, size: f64) -> f64 {
        width(&self.word, size) + width(&self.raised, 0.72 * size)
    }

    /// As plain text.
    #[cfg(test)]
    fn text(&self) -> String {
        format!("{}{}", self.word, if self.raised.is_empty() { "" } else { "^" }) + &self.raised
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// The scale that is used: a logarithmic one needs positive values.
    pub scale: Scale,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The ticks with labels.
    pub ticks: Vec<Tick>,
    /// Smaller ticks between them, without labels.
    pub minor: Vec<f64>,
    /// The common factor of all labels, if it is not one: `× 10⁻⁵`.
    pub factor: Option<String>,
}

impl Axis {
    /// An axis that contains the values, with about `labels` labels and with a margin of the fraction `air` at both
    /// ends.
    ///
    /// A logarithmic axis is for positive values; the caller marks zeros, which have no place on it.
    pub(crate) fn new(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        labels: usize,
        air: f64,
    ) -> Self {
        let values: Vec<f64> = values.filter(|a| a.is_finite()).collect();
        let least = |positive: bool| {
            values.iter().copied().filter(|a| !positive || *a > 0.0).reduce(f64::min)
        };
        let most = values.iter().copied().reduce(f64::max);
        let negative = values.iter().any(|a| *a < 0.0);
        match (scale, least(true), least(false), most) {
            (Scale::Logarithmic, Some(low), _, Some(high)) if !negative => {
                Self::logarithmic(low, high, labels, air)
            }
            (_, _, Some(low), Some(high)) => Self::linear(low, high, labels, air),
            // Nothing to show: an empty plot.
            _ => Self::linear(0.0, 1.0, labels, 0.0),
        }
    }

    /// An axis without ticks.
    pub(crate) const fn bare(scale: Scale, low: f64, high: f64) -> Self {
        Self { scale, low, high, ticks: Vec::new(), minor: Vec::new(), factor: None }
    }

    fn linear(least: f64, most: f64, labels: usize, air: f64) -> Self {
        let (mut low, mut high) = (least, most);
        // Too close to tell apart: as one value.
        if high / 2.0 - low / 2.0 <= 1e-12 * high.abs().max(low.abs()) {
            let around = if high == 0.0 { 1.0 } else { 0.1 * high.abs().max(f64::MIN_POSITIVE) };
            (low, high) = (finite(low - around), finite(high + around));
        } else {
            let room = air * (high / 2.0 - low / 2.0) * 2.0;
            // A range that starts close to zero starts at zero, and never goes below it for the margin alone.
            low = if least >= 0.0 && least < 0.25 * most && air > 0.0 {
                0.0
            } else {
                finite(low - room)
            };
            high = finite(high + room);
        }
        let mut axis = Self::bare(Scale::Linear, low, high);
        axis.even(labels);
        axis
    }

    /// Ticks on even steps of 1, 2 or 5 times a power of ten.
    fn even(&mut self, labels: usize) {
        let (low, high) = (self.low, self.high);
        // Up to half as many labels again are better than only half of them.
        let raw = (high / 2.0 - low / 2.0) / (1.45 * labels.max(2) as f64) * 2.0;
        let power = exponent(raw) - 1;
        let fits = |step: &&i64| decimal(**step, power) >= raw;
        let step = [10, 20, 50].iter().find(fits).copied().unwrap_or(100);
        let size = decimal(step, power);
        let (first, last) = ((low / size).ceil(), (high / size).floor());
        // Ticks are counted in whole numbers.
        if !(first.abs() < 9e15 && last.abs() < 9e15) {
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked above")]
        let (first, last) = (first as i64, last as i64);
        let largest = low.abs().max(high.abs());
        let top = exponent(largest);
        let (shift, unit, factor) = match top {
            -3..=3 => (0, "", None),
            4 if largest == 1e4 => (0, "", None),
            4 | 5 => (3, "k", None),
            6..=8 => (6, "M", None),
            _ => (top, "", Some(format!("\u{d7} 10{}", raised(top)))),
        };
        // Trailing zeros that no tick needs are left out.
        let counts = || (first..=last).map(|count| count.saturating_mul(step));
        let mut places = power - shift;
        let mut tens = 1;
        while counts().all(|digits| digits % (tens * 10) == 0) && places < 0 {
            (places, tens) = (places + 1, tens * 10);
        }
        self.ticks = counts()
            .map(|digits| {
                let mut word = written(digits / tens, places);
                if digits != 0 {
                    word += unit;
                }
                Tick { at: decimal(digits, power), label: Label::plain(word) }
            })
            .filter(|tick| (low..=high).contains(&tick.at))
            .collect();
        self.factor = factor;
    }

    fn logarithmic(least: f64, most: f64, labels: usize, air: f64) -> Self {
        let (mut low, mut high) = (libm::log10(least), libm::log10(most));
        let room = if high - low < 1e-9 { 0.5 } else { air * (high - low) };
        (low, high) = (low - room, high + room);
        let (low, high) = (ten(low).max(f64::from_bits(1)), finite(ten(high)));
        let (first, last) = (exponent(low), exponent(high));
        let inside = |a: f64| (low..=high).contains(&a);
        let powers: Vec<i32> = (first..=last).filter(|&power| inside(decimal(1, power))).collect();
        let mut axis = Self::bare(Scale::Logarithmic, low, high);
        let between = |digits: &[i64]| -> Vec<(i64, i32)> {
            let pairs = (first..=last).flat_map(|power| digits.iter().map(move |&d| (d, power)));
            pairs.filter(|&(digit, power)| inside(decimal(digit, power))).collect()
        };
        let few = |(digit, power): (i64, i32)| {
            let label = match power {
                -3..=3 => Label::plain(written(digit, power)),
                _ => Label::power(&format!("{digit}\u{d7}10"), power),
            };
            Tick { at: decimal(digit, power), label }
        };
        let every_digit = if powers.len() >= 2 {
            let every = powers.len().div_ceil(labels.max(2));
            #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "few")]
            let every = every as i32;
            for &power in &powers {
                let at = decimal(1, power);
                if power.rem_euclid(every) == 0 {
                    axis.ticks.push(Tick { at, label: Label::power("10", power) });
                } else if powers.len() <= 60 {
                    axis.minor.push(at);
                }
            }
            every == 1
        } else {
            // Fewer than two powers of ten: label digits between them, or else use even steps.
            let sets: [&[i64]; 2] = [&[1, 2, 5], &[1, 2, 3, 4, 6, 8]];
            let named = sets.into_iter().map(between).find(|named| named.len() >= 3);
            match &named {
                Some(named) => axis.ticks = named.iter().map(|&pair| few(pair)).collect(),
                None => axis.even(labels),
            }
            named.is_some()
        };
        if every_digit {
            let all = between(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).into_iter();
            let all = all.map(|(digit, power)| decimal(digit, power));
            axis.minor = all.filter(|at| axis.ticks.iter().all(|tick| tick.at != *at)).collect();
        }
        axis
    }

    /// The place of a value between the ends, from 0 to 1; values outside are moved to the nearer end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0),
            Scale::Logarithmic if value <= 0.0 => 0.0,
            Scale::Logarithmic => {
                let (low, high) = (libm::log10(self.low), libm::log10(self.high));
                (libm::log10(value) - low) / (high - low)
            }
        };
        share.clamp(0.0, 1.0)
    }
}

/// Ten to any power.
fn ten(power: f64) -> f64 {
    libm::pow(10.0, power)
}

fn finite(a: f64) -> f64 {
    a.clamp(f64::MIN, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64], scale: Scale) -> Axis {
        Axis::new(values.iter().copied(), scale, 5, 0.0)
    }

    fn labels(values: &[f64], scale: Scale) -> String {
        let axis = axis(values, scale);
        let words: Vec<String> = axis.ticks.iter().map(|tick| tick.label.text()).collect();
        words.join(" ") + &axis.factor.map_or(String::new(), |factor| format!(" {factor}"))
    }

    #[test]
    fn steps_are_nice() {
        for (values, expected) in [
            ([0.0, 1.0], "0 0.2 0.4 0.6 0.8 1.0"),
            ([0.0, 2000.0], "0 500 1000 1500 2000"),
            ([0.0, 20_000.0], "0 5k 10k 15k 20k"),
            ([0.0, 4e6], "0 1M 2M 3M 4M"),
            ([0.0, 12e9], "0 0.2 0.4 0.6 0.8 1.0 1.2 \u{d7} 10¹⁰"),
            ([-1.0, 1.0], "\u{2212}1.0 \u{2212}0.5 0 0.5 1.0"),
            ([0.0, 5e-5], "0 1 2 3 4 5 \u{d7} 10⁻⁵"),
            ([0.90, 0.91], "0.900 0.902 0.904 0.906 0.908 0.910"),
            ([7.0, 7.0], "6.4 6.6 6.8 7.0 7.2 7.4 7.6"),
            ([0.0, 0.0], "\u{2212}1.0 \u{2212}0.5 0 0.5 1.0"),
        ] {
            assert_eq!(labels(&values, Scale::Linear), expected, "{values:?}");
        }
    }

    #[test]
    fn powers_have_ticks_between() {
        assert_eq!(
            labels(&[1e-3, 10.0], Scale::Logarithmic),
            "10^\u{2212}3 10^\u{2212}2 10^\u{2212}1 10^0 10^1"
        );
        let wide = axis(&[1e-3, 1.0], Scale::Logarithmic);
        assert_eq!((wide.ticks.len(), wide.minor.len()), (4, 24));
        assert_eq!(wide.minor[..3], [2e-3, 3e-3, 4e-3]);
        assert_eq!(labels(&[0.15, 3.0], Scale::Logarithmic), "0.2 0.5 1 2");
        assert_eq!(
            labels(&[1.2e-7, 9e-7], Scale::Logarithmic),
            [2, 3, 4, 6, 8].map(|digit| format!("{digit}\u{d7}10^\u{2212}7")).join(" ")
        );
        assert_eq!(labels(&[0.3, 0.4], Scale::Logarithmic), "0.30 0.32 0.34 0.36 0.38 0.40");
        // Many decades: some have labels, all have ticks.
        let deep = axis(&[1e-16, 1.0], Scale::Logarithmic);
        assert_eq!(deep.ticks.len() + deep.minor.len(), 17);
        assert!(deep.ticks.len() <= 6, "{:?}", deep.ticks);
    }

    #[test]
    fn values_without_a_logarithm_make_the_axis_linear() {
        for values in [&[-1.0, 10.0][..], &[0.0, 0.0], &[]] {
            assert_eq!(axis(values, Scale::Logarithmic).scale, Scale::Linear);
        }
        let zero = axis(&[0.0, 1e-3, 1.0], Scale::Logarithmic);
        assert!(zero.scale == Scale::Logarithmic && zero.low > 9e-4);
    }

    #[test]
    fn any_range_gives_ticks_inside_and_places_between_the_ends() {
        let extremes =
            [0.0, 1e-320, 1e-300, 1e-5, 1.0, 1.0 + 1e-11, 1e5, 1e300, f64::MAX, -1.0, f64::MIN];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for a in extremes {
                for b in extremes {
                    for air in [0.0, 0.05] {
                        let axis = Axis::new([a, b, f64::NAN].into_iter(), scale, 5, air);
                        assert!(axis.low < axis.high, "{a} {b} {axis:?}");
                        assert!(axis.low.is_finite() && axis.high.is_finite(), "{a} {b}");
                        assert!(axis.ticks.len() <= 12, "{a} {b} {axis:?}");
                        let mut places = axis.ticks.iter().map(|tick| axis.place(tick.at));
                        assert!(places.all(|place| (0.0..=1.0).contains(&place)));
                        assert!([a, b].map(|v| axis.place(v)).iter().all(|p| p.is_finite()));
                    }
                }
            }
        }
    }
}
