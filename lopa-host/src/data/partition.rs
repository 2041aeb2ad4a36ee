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
                ("label-subsets", [number]) => Self::LabelSubsets { classes: number.parse().ok()? },
                ("equal-subsets", [number]) => Self::EqualSubsets { classes: number.parse().ok()? },
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

/// How many rows of which class go to which node: `(node, class, rows)`, in the order in which they are dealt out.
pub(crate) type Plan = Vec<(usize, usize, usize)>;

/// The rows to deal out, in a random order, by class.
pub(crate) struct Pool<'a> {
    pub(crate) rows: Vec<Vec<u32>>,
    pub(crate) classes: &'a [Class],
    pub(crate) nodes: u32,
    /// How many rows to deal out, where a way picks them by class; without it, as many as possible.
    pub(crate) samples: Option<usize>,
    pub(crate) seed: u64,
}

impl Pool<'_> {
    /// The same number for every node: all rows are in one class.
    pub(crate) fn evenly(&self) -> Plan {
        let (all, nodes) = (self.rows[0].len(), self.nodes as usize);
        (0..nodes).map(|node| (node, 0, even(all, nodes, node))).collect()
    }

    /// `classes` random classes for every node, and every class at some node.
    pub(crate) fn subsets(&self, classes: usize) -> Result<Plan, DataError> {
        let (mut held, mut holders) = self.hands(classes, false)?;
        let mut repair = Draws { seed: self.seed, node: 0 }.stream(0, purposes::REPAIR);
        for missing in self.present() {
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
        let mut served = vec![0; self.rows.len()];
        self.each(&held, |_, _, class| {
            let cut = |place: usize| self.rows[class].len() * place / holders[class];
            served[class] += 1;
            cut(served[class]) - cut(served[class] - 1)
        })
    }

    /// `classes` for every node and the same number of samples of each.
    pub(crate) fn equal_subsets(&self, classes: usize) -> Result<Plan, DataError> {
        let nodes = self.nodes as usize;
        let (held, holders) = self.hands(classes, true)?;
        let all = self.samples.unwrap_or_else(|| {
            let most = |class: usize| self.rows[class].len() / holders[class].max(1);
            self.present().map(most).min().unwrap_or(0) * classes * nodes
        });
        self.each(&held, |node, place, _| even(even(all, nodes, node), classes, place))
    }

    /// Every class in proportions of its own.
    pub(crate) fn dirichlet(&self, alpha: f64) -> Result<Plan, DataError> {
        if !alpha.is_finite() || alpha < 1e-6 {
            return Err(DataError::range(
                "data.partition: ALPHA of dirichlet",
                alpha,
                "at least 1e-6",
            ));
        }
        let nodes = self.nodes as usize;
        let mut poorest = 0;
        for attempt in 0..ATTEMPTS {
            let (mut plan, mut sizes) = (Plan::new(), vec![0; nodes]);
            for (class, rows) in self.rows.iter().enumerate() {
                let draws = Draws { seed: self.seed, node: class as u32 };
                let mut stream = draws.stream(attempt, purposes::PROPORTIONS);
                let (mut sum, mut from) = (0.0, 0);
                for (node, part) in dirichlet(alpha, nodes, &mut stream).iter().enumerate() {
                    sum += part;
                    let to = match node + 1 == nodes {
                        true => rows.len(),
                        false => ((sum * rows.len() as f64 + 0.5) as usize).clamp(from, rows.len()),
                    };
                    plan.push((node, class, to - from));
                    sizes[node] += to - from;
                    from = to;
                }
            }
            match sizes.iter().position(|&size| size < LEAST) {
                None => return Ok(plan),
                Some(node) => poorest = node,
            }
        }
        Err(DataError::Deal(format!(
            "node {poorest} gets fewer than {LEAST} samples in {ATTEMPTS} draws with alpha = {alpha}: use a larger \
             alpha, more samples or fewer nodes"
        )))
    }

    /// Two classes in given ratios.
    pub(crate) fn ratio(&self, ratio: LabelRatio) -> Result<Plan, DataError> {
        let LabelRatio { first, rest, spread } = ratio;
        let [negative, positive] = self.rows.as_slice() else {
            return Err(DataError::not_two(self.classes));
        };
        for (name, value) in [("FIRST", first), ("REST", rest), ("SPREAD", spread)] {
            if !(0.0..=1.0).contains(&value) {
                let name = format!("data.partition: {name} of label-ratio");
                return Err(DataError::range(&name, value, "0 to 1"));
            }
        }
        for value in [first, rest] {
            if value + spread > 1.0 || value < spread {
                let allowed = "it must keep all ratios between 0 and 1";
                return Err(DataError::range(
                    "data.partition: SPREAD of label-ratio",
                    spread,
                    allowed,
                ));
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
        let all = self.samples.unwrap_or_else(|| {
            // The need for either class grows with the size: bisect.
            let (mut good, mut bad) = (0, (negative.len() + positive.len()) / nodes + 1);
            while bad - good > 1 {
                let middle = good.midpoint(bad);
                if fits(middle) { good = middle } else { bad = middle }
            }
            good * nodes
        });
        let both = |(node, &ratio): (usize, &f64)| {
            let size = even(all, nodes, node);
            let positive = of(ratio, size);
            [(node, 0, size - positive), (node, 1, positive)]
        };
        Ok(ratios.iter().enumerate().flat_map(both).collect())
    }

    /// The classes that have samples.
    fn present(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|&class| !self.rows[class].is_empty())
    }

    /// `classes` random classes for every node, and how many nodes have each class. If `balanced`, a node takes those
    /// that the fewest nodes have so far.
    fn hands(
        &self,
        classes: usize,
        balanced: bool,
    ) -> Result<(Vec<Vec<usize>>, Vec<usize>), DataError> {
        let (nodes, of) = (self.nodes, self.present().count());
        if classes == 0 || classes > of || classes.saturating_mul(nodes as usize) < of {
            return Err(DataError::Deal(format!(
                "{nodes} nodes cannot have {classes} of {of} classes each: a node can have 1 to {of}, and together \
                 they must have all of them"
            )));
        }
        let mut holders = vec![0; self.rows.len()];
        let mut hand = |node| {
            let mut hand: Vec<usize> = self.present().collect();
            let draws = Draws { seed: self.seed, node };
            chance::shuffle(&mut hand, &mut draws.stream(0, purposes::CLASSES));
            if balanced {
                hand.sort_by_key(|&class| holders[class]);
            }
            hand.truncate(classes);
            hand.iter().for_each(|&class| holders[class] += 1);
            hand
        };
        Ok(((0..nodes).map(&mut hand).collect(), holders))
    }

    /// `rows(node, place, class)` rows of every class that a node holds, at least one.
    fn each(
        &self,
        held: &[Vec<usize>],
        mut rows: impl FnMut(usize, usize, usize) -> usize,
    ) -> Result<Plan, DataError> {
        let mut plan = Plan::new();
        for (node, held) in held.iter().enumerate() {
            for (place, &class) in held.iter().enumerate() {
                plan.push((node, class, rows(node, place, class)));
            }
        }
        if let Some(&(node, class, _)) = plan.iter().find(|(_, _, rows)| *rows == 0) {
            return Err(DataError::Deal(format!(
                "node {node} gets no samples of class \"{}\": use more samples, fewer nodes, or fewer classes per node",
                self.classes[class].name
            )));
        }
        Ok(plan)
    }

    /// The rows that every node gets.
    pub(crate) fn deal(&self, plan: &[(usize, usize, usize)]) -> Result<Vec<Vec<u32>>, DataError> {
        let mut left: Vec<&[u32]> = self.rows.iter().map(Vec::as_slice).collect();
        let mut shares = vec![Vec::new(); self.nodes as usize];
        for &(node, class, wanted) in plan {
            let Some((share, rest)) = left[class].split_at_checked(wanted) else {
                let (name, left) = (&self.classes[class].name, left[class].len());
                return Err(DataError::Deal(format!(
                    "node {node} needs {wanted} samples of class \"{name}\", but only {left} are left: use fewer samples \
                     or fewer nodes"
                )));
            };
            shares[node].extend_from_slice(share);
            left[class] = rest;
        }
        Ok(shares)
    }
}

/// The size of one of `parts` even parts of `all`.
const fn even(all: usize, parts: usize, part: usize) -> usize {
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
