//! Random problems in two forms with the same numbers: f32 for `lopa_core`, f64 for the reference.

use lopa_core::problems::{
    Logistic, LogisticLoss, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer, SquaredLoss,
};
use lopa_core::samples::{Features, Labels, Samples};

use super::losses::{self, Loss, Problem};
use super::matrix::{add_outer, zeros};
use super::{exact, largest};

/// SplitMix64: test data should not come from the generator under test.
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let a = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        a ^ (a >> 31)
    }

    /// A whole number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A float between two others.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 40) as f32 / 16_777_216.0)
    }

    /// A vector of such floats.
    pub fn vector(&mut self, len: usize, low: f32, high: f32) -> Vec<f32> {
        (0..len).map(|_| self.between(low, high)).collect()
    }
}

/// How features are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    U8,
    I8,
    F32,
}

enum Raw {
    U8(Vec<u8>),
    I8(Vec<i8>),
    F32(Vec<f32>),
}

enum Targets {
    Binary(Vec<u8>),
    Class(Vec<u8>),
    Real(Vec<f32>),
}

/// A set of samples.
pub struct Set {
    raw: Raw,
    targets: Targets,
    width: usize,
    scale: f32,
    offset: f32,
}

impl Set {
    fn random(rng: &mut Rng, shape: &Shape, rows: usize) -> Self {
        let cells = rows * shape.width;
        // Scales that bring any encoding to features of about one.
        let (raw, scale, offset) = match shape.encoding {
            Encoding::U8 => {
                let raw = (0..cells).map(|_| rng.below(256) as u8).collect();
                (Raw::U8(raw), rng.between(0.004, 0.012), rng.between(0.0, 200.0))
            }
            Encoding::I8 => {
                let raw = (0..cells).map(|_| rng.below(256) as u8 as i8).collect();
                (Raw::I8(raw), rng.between(-0.012, -0.004), rng.between(-30.0, 30.0))
            }
            Encoding::F32 => {
                let raw = rng.vector(cells, -1.5, 1.5);
                (Raw::F32(raw), rng.between(0.3, 1.2), rng.between(-0.3, 0.3))
            }
        };
        let mut whole = |bound| (0..rows).map(|_| rng.below(bound) as u8).collect();
        let targets = match shape.kind {
            Kind::Logistic | Kind::MetaLogistic => Targets::Binary(whole(2)),
            Kind::SharedLayer => Targets::Class(whole(shape.classes)),
            _ => Targets::Real(rng.vector(rows, -2.0, 2.0)),
        };
        Self { raw, targets, width: shape.width, scale, offset }
    }

    fn core(&self) -> Samples<'_> {
        let features = match &self.raw {
            Raw::U8(raw) => Features::U8(raw),
            Raw::I8(raw) => Features::I8(raw),
            Raw::F32(raw) => Features::F32(raw),
        };
        let labels = match &self.targets {
            Targets::Binary(labels) => Labels::Binary(labels),
            Targets::Class(labels) => Labels::Class(labels),
            Targets::Real(labels) => Labels::Real(labels),
        };
        let samples = Samples::new(features, self.width, labels).unwrap();
        samples.scaled(self.scale, self.offset).unwrap()
    }

    fn exact(&self) -> losses::Samples {
        let raw: Vec<f64> = match &self.raw {
            Raw::U8(raw) => raw.iter().map(|&a| f64::from(a)).collect(),
            Raw::I8(raw) => raw.iter().map(|&a| f64::from(a)).collect(),
            Raw::F32(raw) => exact(raw),
        };
        let value = |raw: &f64| f64::from(self.scale) * (raw - f64::from(self.offset));
        let rows = raw.chunks(self.width).map(|row| row.iter().map(value).collect()).collect();
        let labels = match &self.targets {
            Targets::Binary(labels) => labels.iter().map(|&a| 2.0 * f64::from(a) - 1.0).collect(),
            Targets::Class(labels) => labels.iter().map(|&a| f64::from(a)).collect(),
            Targets::Real(labels) => exact(labels),
        };
        losses::Samples { rows, labels }
    }
}

/// The problems, meta-learning with either loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Quadratic,
    Logistic,
    Ridge,
    SharedLayer,
    MetaLogistic,
    MetaSquared,
}

/// All of them.
pub const KINDS: [Kind; 6] = [
    Kind::Quadratic,
    Kind::Logistic,
    Kind::Ridge,
    Kind::SharedLayer,
    Kind::MetaLogistic,
    Kind::MetaSquared,
];

/// The sizes of a random problem.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub kind: Kind,
    pub encoding: Encoding,
    /// Features of a sample; n of a quadratic.
    pub width: usize,
    /// Units of the shared layer; p of a quadratic.
    pub hidden: usize,
    pub classes: usize,
    pub train: usize,
    pub validation: usize,
}

/// The numbers of a quadratic.
struct Parts {
    diagonal: Vec<f32>,
    spike: Vec<f32>,
    coupling: Vec<f32>,
    shift: Vec<f32>,
    target: Vec<f32>,
    centre: Vec<f32>,
    rigidity: f32,
}

/// A random problem.
pub struct Instance {
    pub shape: Shape,
    parts: Parts,
    train: Set,
    validation: Set,
    /// μ of the shared layer, ν of meta-learning, minus the base of strengths.
    strength: f32,
}

impl Instance {
    pub fn random(rng: &mut Rng, shape: Shape) -> Self {
        let (n, p) = (shape.width, shape.hidden);
        let parts = Parts {
            diagonal: rng.vector(p, 0.7, 1.5),
            spike: rng.vector(p, -0.5, 0.5),
            coupling: rng.vector(n * p, -0.8, 0.8),
            shift: rng.vector(p, -1.0, 1.0),
            target: rng.vector(p, -1.0, 1.0),
            centre: rng.vector(n, -1.0, 1.0),
            rigidity: rng.between(0.3, 0.8),
        };
        let train = Set::random(rng, &shape, shape.train);
        let validation = Set::random(rng, &shape, shape.validation);
        Self { shape, parts, train, validation, strength: rng.between(0.4, 1.5) }
    }

    /// A random quadratic.
    pub fn quadratic(rng: &mut Rng, n: usize, p: usize) -> Self {
        let shape = Shape {
            kind: Kind::Quadratic,
            encoding: Encoding::F32,
            width: n,
            hidden: p,
            classes: 1,
            train: 1,
            validation: 1,
        };
        Self::random(rng, shape)
    }

    /// As `lopa_core` sees it.
    pub fn core(&self) -> Box<dyn lopa_core::problem::Problem + '_> {
        let (train, validation) = (self.train.core(), self.validation.core());
        match self.shape.kind {
            Kind::Quadratic => {
                let parts = &self.parts;
                Box::new(
                    Quadratic::new(QuadraticParts {
                        diagonal: &parts.diagonal,
                        spike: &parts.spike,
                        coupling: &parts.coupling,
                        shift: &parts.shift,
                        target: &parts.target,
                        centre: &parts.centre,
                        rigidity: parts.rigidity,
                    })
                    .unwrap(),
                )
            }
            Kind::Logistic => {
                Box::new(Logistic::new(train, validation).unwrap().around(-self.strength).unwrap())
            }
            Kind::Ridge => {
                Box::new(Ridge::new(train, validation).unwrap().around(-self.strength).unwrap())
            }
            Kind::SharedLayer => {
                let Shape { hidden, classes, .. } = self.shape;
                let mu = self.strength;
                Box::new(SharedLayer::new(train, validation, hidden, classes, mu).unwrap())
            }
            Kind::MetaLogistic => {
                Box::new(Meta::<LogisticLoss>::new(train, validation, self.strength).unwrap())
            }
            Kind::MetaSquared => {
                Box::new(Meta::<SquaredLoss>::new(train, validation, self.strength).unwrap())
            }
        }
    }

    /// As the reference sees it.
    pub fn reference(&self) -> Problem {
        let (train, validation) = (self.train.exact(), self.validation.exact());
        let strength = f64::from(self.strength);
        match self.shape.kind {
            Kind::Quadratic => {
                let parts = &self.parts;
                let (n, spike) = (parts.centre.len(), exact(&parts.spike));
                let mut a = zeros(spike.len(), spike.len());
                add_outer(&mut a, 1.0, &spike, &spike);
                for (i, &diagonal) in parts.diagonal.iter().enumerate() {
                    a[i][i] += f64::from(diagonal);
                }
                Problem::Quadratic {
                    a,
                    b: exact(&parts.coupling).chunks(n).map(<[f64]>::to_vec).collect(),
                    c: exact(&parts.shift),
                    t: exact(&parts.target),
                    q: exact(&parts.centre),
                    r: f64::from(parts.rigidity),
                }
            }
            Kind::Logistic => {
                Problem::Regularised { loss: Loss::Logistic, train, validation, base: -strength }
            }
            Kind::Ridge => {
                Problem::Regularised { loss: Loss::Squared, train, validation, base: -strength }
            }
            Kind::SharedLayer => {
                let Shape { hidden, classes, .. } = self.shape;
                Problem::SharedLayer { train, validation, hidden, classes, mu: strength }
            }
            Kind::MetaLogistic => {
                Problem::Meta { loss: Loss::Logistic, train, validation, nu: strength }
            }
            Kind::MetaSquared => {
                Problem::Meta { loss: Loss::Squared, train, validation, nu: strength }
            }
        }
    }

    /// n and p.
    pub fn sizes(&self) -> (usize, usize) {
        let size = self.core().dimensions();
        (size.outer, size.inner)
    }

    /// The sum of the sizes of the terms of the longest inner product with weights of at most `weight`.
    ///
    /// In floats the error of an inner product is about one rounding of this, whatever its value.
    pub fn terms(&self, weight: f64) -> f64 {
        let sum = |row: &Vec<f64>| row.iter().map(|a| a.abs()).sum::<f64>();
        let longest = |rows: &[Vec<f64>]| largest(&rows.iter().map(sum).collect::<Vec<_>>());
        match self.reference() {
            Problem::Quadratic { a, b, .. } => weight * (longest(&a) + longest(&b)),
            Problem::Regularised { train, validation, .. }
            | Problem::Meta { train, validation, .. } => {
                weight * longest(&train.rows).max(longest(&validation.rows))
            }
            Problem::SharedLayer { train, validation, hidden, .. } => {
                let input = longest(&train.rows).max(longest(&validation.rows));
                weight * (input + hidden as f64 + 2.0)
            }
        }
    }
}
