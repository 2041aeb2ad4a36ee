//! Ways to deal samples out to nodes.

use std::fmt;
use std::str::FromStr;

use lopa_core::draw::Draws;

use super::error::DataError;
use super::table::Class;
use crate::chance::{self, dirichlet};
use crate::purposes;
use crate::words::{Form, FormError, serde_as_text};

/// How samples are dealt out.
///
/// It is read from and written as a text, by serde too:
///
/// ```
/// use lopa_host::data::Partition;
/// let partition: Partition = "dirichlet 0.5".parse()?;
/// assert_eq!(partition, Partition::Dirichlet { alpha: 0.5 });
/// assert_eq!(partition.to_string(), "dirichlet 0.5");
/// # Ok::<(), lopa_host::words::FormError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Partition {
    /// All nodes get the same mixture and, to within one, the same number.
    #[default]
    Iid,
    /// Every node gets some of the classes, drawn at random, and nodes with the same class share it evenly. No class is
    /// left out.
    LabelSubsets {
        /// How many classes a node gets.
        classes: usize,
    },
    /// Every node gets, to within one, the same number of samples, and of each of its classes. Which classes it gets is
    /// drawn at random, and every class goes, to within one, to the same number of nodes.
    EqualSubsets {
        /// How many classes a node gets.
        classes: usize,
    },
    /// Every class is shared in proportions drawn from a symmetric Dirichlet distribution.
    Dirichlet {
        /// Its parameter: the smaller, the more nodes differ.
        alpha: f64,
    },
    /// Two classes: half of the nodes get mostly the one, the others mostly the other.
    LabelRatio(LabelRatio),
}

/// The share of positive samples (class 1) that nodes get. All nodes get, to within one, the same number of samples.
///
/// The default is the paper's: 0.8 + a in the first half of the nodes and 0.35 + a in the rest, with a drawn uniformly
/// from -0.15 to 0.15 for every node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelRatio {
    /// In the first half of the nodes.
    pub first: f64,
    /// In the rest.
    pub rest: f64,
    /// How far a node's share may be from that.
    pub spread: f64,
}

impl Default for LabelRatio {
    fn default() -> Self {
        Self { first: 0.8, rest: 0.35, spread: 0.15 }
    }
}

const FORMS: [Form; 5] = [
    Form::new("iid", "iid"),
    Form::new("label-subsets CLASSES", "label-subsets 2"),
    Form::new("equal-subsets CLASSES", "equal-subsets 2"),
    Form::new("dirichlet ALPHA", "dirichlet 0.5"),
    Form::new("label-ratio [FIRST REST SPREAD]", "label-ratio 0.8 0.35 0.15"),
];

impl FromStr for Partition {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Form::parse("partition", &FORMS, text, |name, rest| {
            let words: Vec<&str> = rest.split_whitespace().collect();
            Some(match (name, words.as_slice()) {
                ("iid", []) => Self::Iid,
                ("label-subsets", [classes]) => {
                    Self::LabelSubsets { classes: classes.parse().ok()? }
                }
                ("equal-subsets", [classes]) => {
                    Self::EqualSubsets { classes: classes.parse().ok()? }
                }
                ("dirichlet", [alpha]) => Self::Dirichlet { alpha: alpha.parse().ok()? },
                ("label-ratio", []) => Self::LabelRatio(LabelRatio::default()),
                ("label-ratio", [first, rest, spread]) => Self::LabelRatio(LabelRatio {
                    first: first.parse().ok()?,
                    rest: rest.parse().ok()?,
                    spread: spread.parse().ok()?,
                }),
                _ => return None,
            })
        })
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iid => f.write_str("iid"),
            Self::LabelSubsets { classes } => write!(f, "label-subsets {classes}"),
            Self::EqualSubsets { classes } => write!(f, "equal-subsets {classes}"),
            Self::Dirichlet { alpha } => write!(f, "dirichlet {alpha:?}"),
            Self::LabelRatio(ratio) if *ratio == LabelRatio::default() => {
                f.write_str("label-ratio")
            }
            Self::LabelRatio(LabelRatio { first, rest, spread }) => {
                write!(f, "label-ratio {first} {rest} {spread}")
            }
        }
    }
}

serde_as_text!(Partition);

/// How often proportions are drawn again when a node gets too few samples.
const ATTEMPTS: u64 = 100;
/// One sample to train with and one to validate with.
pub(crate) const LEAST: usize = 2;

/// The rows to deal out, in a random order, by class.
pub(crate) struct Pool<'a> {
    pub(crate) rows: &'a [Vec<u32>],
    pub(crate) classes: &'a [Class],
    pub(crate) nodes: u32,
    pub(crate) seed: u64,
}

impl Pool<'_> {
    fn name(&self, class: usize) -> String {
        self.classes.get(class).map_or_else(|| class.to_string(), |class| class.name.clone())
    }

    fn present(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|&class| !self.rows[class].is_empty()).collect()
    }

    fn empty(&self) -> Vec<Vec<u32>> {
        vec![Vec::new(); self.nodes as usize]
    }

    /// `classes` random classes for every node, and every class at some node.
    pub(crate) fn subsets(&self, classes: usize) -> Result<Vec<Vec<u32>>, DataError> {
        let (present, nodes) = (self.present(), self.nodes as usize);
        if classes == 0 || classes > present.len() || classes.saturating_mul(nodes) < present.len()
        {
            return Err(DataError::Subsets { classes, of: present.len(), nodes: self.nodes });
        }
        let mut held: Vec<Vec<usize>> = (0..self.nodes)
            .map(|node| {
                let mut deck = present.clone();
                let draws = Draws { seed: self.seed, node };
                chance::shuffle(&mut deck, &mut draws.stream(0, purposes::CLASSES));
                deck.truncate(classes);
                deck
            })
            .collect();
        let mut holders = vec![0; self.rows.len()];
        held.iter().flatten().for_each(|&class| holders[class] += 1);
        let mut repair = Draws { seed: self.seed, node: 0 }.stream(0, purposes::REPAIR);
        for &missing in &present {
            if holders[missing] > 0 {
                continue;
            }
            // There are at least as many places as classes, so some class has two places.
            let mut spare = Vec::new();
            for (node, held) in held.iter().enumerate() {
                let twice = held.iter().enumerate().filter(|&(_, &class)| holders[class] > 1);
                spare.extend(twice.map(|(place, _)| (node, place)));
            }
            let (node, place) = spare[chance::below(&mut repair, spare.len())];
            holders[held[node][place]] -= 1;
            holders[missing] += 1;
            held[node][place] = missing;
        }
        let mut shares = self.empty();
        let mut served = vec![0; self.rows.len()];
        for (node, held) in held.iter().enumerate() {
            for &class in held {
                let (rows, place) = (&self.rows[class], served[class]);
                served[class] += 1;
                let cut = |place: usize| rows.len() * place / holders[class];
                let share = &rows[cut(place)..cut(place + 1)];
                if share.is_empty() {
                    return Err(self.short(node, class, 1, 0));
                }
                shares[node].extend_from_slice(share);
            }
        }
        Ok(shares)
    }

    /// `classes` for every node and the same number of samples of each, `samples` in all or as many as possible.
    pub(crate) fn equal_subsets(
        &self,
        classes: usize,
        samples: Option<usize>,
    ) -> Result<Vec<Vec<u32>>, DataError> {
        let (present, nodes) = (self.present(), self.nodes as usize);
        if classes == 0 || classes > present.len() || classes.saturating_mul(nodes) < present.len()
        {
            return Err(DataError::Subsets { classes, of: present.len(), nodes: self.nodes });
        }
        // A node takes the classes that the fewest nodes have so far, in its own random order.
        let mut holders = vec![0_usize; self.rows.len()];
        let mut held = Vec::with_capacity(nodes);
        for node in 0..self.nodes {
            let mut deck = present.clone();
            let draws = Draws { seed: self.seed, node };
            chance::shuffle(&mut deck, &mut draws.stream(0, purposes::CLASSES));
            deck.sort_by_key(|&class| holders[class]);
            deck.truncate(classes);
            deck.iter().for_each(|&class| holders[class] += 1);
            held.push(deck);
        }
        let all = samples.unwrap_or_else(|| {
            let most = |&class: &usize| self.rows[class].len() / holders[class].max(1);
            present.iter().map(most).min().unwrap_or(0) * classes * nodes
        });
        let (mut given, mut shares) = (vec![0; self.rows.len()], self.empty());
        for (node, held) in held.iter().enumerate() {
            let size = even(all, nodes, node);
            for (place, &class) in held.iter().enumerate() {
                let (wanted, rows) =
                    (even(size, classes, place), &self.rows[class][given[class]..]);
                let share = rows.get(..wanted).filter(|share| !share.is_empty());
                let share = share.ok_or_else(|| self.short(node, class, wanted, rows.len()))?;
                shares[node].extend_from_slice(share);
                given[class] += wanted;
            }
        }
        Ok(shares)
    }

    /// Every class in proportions of its own.
    pub(crate) fn dirichlet(&self, alpha: f64) -> Result<Vec<Vec<u32>>, DataError> {
        if !alpha.is_finite() || alpha < 1e-6 {
            return Err(DataError::Setting {
                name: "alpha",
                value: alpha,
                allowed: "at least 1e-6",
            });
        }
        let nodes = self.nodes as usize;
        let mut poorest = 0;
        for attempt in 0..ATTEMPTS {
            let mut shares = self.empty();
            for (class, rows) in (0_u32..).zip(self.rows) {
                let mut stream =
                    Draws { seed: self.seed, node: class }.stream(attempt, purposes::PROPORTIONS);
                let (mut sum, mut from) = (0.0, 0);
                for (node, part) in dirichlet(alpha, nodes, &mut stream).iter().enumerate() {
                    sum += part;
                    let to = match node + 1 == nodes {
                        true => rows.len(),
                        false => ((sum * rows.len() as f64 + 0.5) as usize).clamp(from, rows.len()),
                    };
                    shares[node].extend_from_slice(&rows[from..to]);
                    from = to;
                }
            }
            match shares.iter().position(|share| share.len() < LEAST) {
                None => return Ok(shares),
                Some(node) => poorest = node,
            }
        }
        Err(DataError::Dirichlet { node: poorest, alpha, attempts: ATTEMPTS })
    }

    /// Two classes in given ratios, `samples` in all or as many as possible.
    pub(crate) fn ratio(
        &self,
        ratio: LabelRatio,
        samples: Option<usize>,
    ) -> Result<Vec<Vec<u32>>, DataError> {
        let LabelRatio { first, rest, spread } = ratio;
        let [negative, positive] = self.rows else {
            return Err(DataError::NotTwo { classes: self.rows.len() });
        };
        for (name, value) in [("first", first), ("rest", rest), ("spread", spread)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(DataError::Setting { name, value, allowed: "0 to 1" });
            }
        }
        for value in [first, rest] {
            if value + spread > 1.0 || value < spread {
                let allowed = "it must keep all ratios between 0 and 1";
                return Err(DataError::Setting { name: "spread", value: spread, allowed });
            }
        }
        let ratios: Vec<f64> = (0..self.nodes)
            .map(|node| {
                let mut stream = Draws { seed: self.seed, node }.stream(0, purposes::RATIO);
                let off = spread * f64::from(stream.signed_unit());
                if node < self.nodes.div_ceil(2) { first + off } else { rest + off }
            })
            .collect();
        let of = |ratio: f64, size: usize| ((ratio * size as f64 + 0.5) as usize).min(size);
        let fits = |size: usize| {
            let wanted: usize = ratios.iter().map(|&ratio| of(ratio, size)).sum();
            wanted <= positive.len() && size * ratios.len() - wanted <= negative.len()
        };
        let nodes = ratios.len();
        let all = samples.unwrap_or_else(|| {
            // The need for either class grows with the size: bisect.
            let (mut good, mut bad) = (0, (negative.len() + positive.len()) / nodes + 1);
            while bad - good > 1 {
                let middle = good.midpoint(bad);
                if fits(middle) { good = middle } else { bad = middle }
            }
            good * nodes
        });
        let (mut given, mut shares) = ([0, 0], self.empty());
        for (node, &ratio) in ratios.iter().enumerate() {
            let size = even(all, nodes, node);
            let wanted = of(ratio, size);
            for (class, wanted) in [(0, size - wanted), (1, wanted)] {
                let rows = &self.rows[class][given[class]..];
                let share = rows.get(..wanted);
                let share = share.ok_or_else(|| self.short(node, class, wanted, rows.len()))?;
                shares[node].extend_from_slice(share);
                given[class] += wanted;
            }
        }
        Ok(shares)
    }

    fn short(&self, node: usize, class: usize, wanted: usize, left: usize) -> DataError {
        DataError::Short { node, class: self.name(class), wanted, left }
    }
}

/// The size of one of `parts` even parts of `all`.
pub(crate) const fn even(all: usize, parts: usize, part: usize) -> usize {
    all / parts + (part < all % parts) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_mistakes_list_every_form() {
        let texts = [
            "iid",
            "label-subsets 2",
            "equal-subsets 3",
            "dirichlet 1.0",
            "label-ratio",
            "label-ratio 0.7 0.4 0.1",
        ];
        for text in texts {
            let partition: Partition = text.parse().unwrap();
            let json = serde_json::to_string(&partition).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Partition>(&json).unwrap(), partition);
        }
        let error = |text: &str| text.parse::<Partition>().unwrap_err().to_string();
        assert_eq!(
            error("idd"),
            "unknown partition `idd`: did you mean `iid`? valid forms are `iid`, `label-subsets CLASSES`, \
             `equal-subsets CLASSES`, `dirichlet ALPHA`, `label-ratio [FIRST REST SPREAD]`"
        );
        let form =
            "`label-subsets`: the form is `label-subsets CLASSES`, for example `label-subsets 2`";
        assert_eq!(error("label-subsets"), form);
        assert_eq!(error("iid 2"), "`iid 2`: `iid` takes no arguments");
        assert!(error("label-ratio 0.5").contains("for example `label-ratio 0.8 0.35 0.15`"));
    }
}
