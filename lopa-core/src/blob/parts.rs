//! The parts of a blob, each checked as it is read.

use bytemuck::{cast_slice, try_cast_slice};

use super::head::{Head, INTEGER, SAME, SetHead, padded};
use super::{BlobError, Plan, SetName, Wiring};
use crate::batch::{BatchSize, Sampler, Sharing};
use crate::codec::Codec;
#[cfg(feature = "codec")]
use crate::codec::{Share, whole_blocks};
use crate::draw::Draws;
use crate::exchange::Timing;
use crate::math;
use crate::node::{Config, Scheme};
use crate::problems::{AnyProblem, Logistic, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer};
use crate::samples::{Arithmetic, Features, Labels, Samples, Scale};
use crate::steps::StepSizes;
use crate::wire::{KEY_BYTES, Seal};

/// The encoding of floats, as features and as labels.
const FLOATS: u8 = 2;

/// The sections that have not been read yet.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    /// The next `len` bytes and their padding.
    fn bytes(&mut self, name: &'static str, len: usize) -> Result<&'a [u8], BlobError> {
        let cut = padded(len).and_then(|padded| self.0.split_at_checked(padded));
        let (section, rest) = cut.ok_or(BlobError::Section { name })?;
        self.0 = rest;
        section.get(..len).ok_or(BlobError::Section { name })
    }

    /// The next `len` words, as values of type `T`.
    pub(super) fn cast<T: bytemuck::Pod>(
        &mut self,
        name: &'static str,
        len: usize,
    ) -> Result<&'a [T], BlobError> {
        let bytes = len.checked_mul(4).ok_or(BlobError::Section { name })?;
        try_cast_slice(self.bytes(name, bytes)?).map_err(|_| BlobError::Memory)
    }
}

pub(super) fn plan(head: &Head, seal: Seal, codec: Option<Codec>) -> Result<Plan, BlobError> {
    let value = |name| BlobError::Value { name };
    let needed = match head.math & !INTEGER {
        0 => math::Kind::Libm,
        1 => math::Kind::Micromath,
        _ => return Err(value("kind of mathematics")),
    };
    if needed != math::KIND {
        return Err(BlobError::Math { needed });
    }
    let [alpha, beta, lambda, gamma, tau] = head.steps.map(f32::from_bits);
    let [retry, retry_most, delay, silence, patience, probe] = head.timing;
    let timing = Timing { retry, retry_most, delay, silence, patience, probe };
    if !timing.is_sound() {
        return Err(value("timing"));
    }
    for (name, bad) in [
        ("node number", head.node > 0xffff),
        ("number of rounds", head.rounds == 0),
        ("chunk", head.chunk == 0),
        ("baud rate", head.baud == 0),
    ] {
        if bad {
            return Err(value(name));
        }
    }
    Ok(Plan {
        network: head.network,
        rounds: head.rounds,
        scheme: match head.scheme {
            0 => Scheme::LocalGradient,
            1 => Scheme::GradientTracking,
            _ => return Err(value("scheme")),
        },
        config: Config {
            steps: StepSizes::new(alpha, beta, lambda, gamma, tau).map_err(BlobError::Steps)?,
            sampler: Sampler {
                draws: Draws { seed: head.seed, node: head.node },
                size: BatchSize::drawn(head.batch),
                sharing: match head.sharing {
                    0 => Sharing::Independent,
                    1 => Sharing::PerLevel,
                    _ => return Err(value("sharing of batches")),
                },
            },
        },
        chunk: head.chunk,
        timing,
        baud: head.baud,
        wiring: match head.wiring {
            0 => Wiring::Direct,
            1 => Wiring::Routed,
            2 => Wiring::Bus,
            _ => return Err(value("wiring")),
        },
        checkpoint_every: head.checkpoint_every,
        seal,
        codec,
    })
}

/// How frames are sealed. A key is the first section; a build that cannot use one must not continue without it.
pub(super) fn seal(head: &Head, rest: &mut Rest<'_>) -> Result<Seal, BlobError> {
    if !head.keyed() {
        return Ok(Seal::PLAIN);
    }
    let key = rest.bytes("key", KEY_BYTES)?;
    #[cfg(feature = "encrypt")]
    return key.first_chunk().copied().map(Seal::keyed).ok_or(BlobError::Section { name: "key" });
    #[cfg(not(feature = "encrypt"))]
    {
        let _ = key;
        Err(BlobError::Key)
    }
}

/// How vectors travel: the section after the key. A build that has no codec must not continue with floats.
pub(super) fn codec(head: &Head, rest: &mut Rest<'_>) -> Result<Option<Codec>, BlobError> {
    if !head.coded() {
        return Ok(None);
    }
    #[cfg(feature = "codec")]
    {
        let word = rest.cast::<u32>("codec", 1)?.first().copied().unwrap_or(0);
        let codec = Codec::from_identity(word).ok_or(BlobError::Value { name: "codec" })?;
        if !whole_blocks(head.chunk as usize, head.outer as usize) {
            return Err(BlobError::Value { name: "chunk" });
        }
        Ok(Some(codec))
    }
    #[cfg(not(feature = "codec"))]
    {
        let _ = rest;
        Err(BlobError::Codec)
    }
}

/// Refuses neighbours that an exchange would refuse.
pub(super) fn check_peers(peers: &[u32], plan: &Plan) -> Result<(), BlobError> {
    let (mut last, mut total) = (None, 0.0);
    for (index, &[node, link, weight]) in peers.as_chunks::<3>().0.iter().enumerate() {
        let weight = f32::from_bits(weight);
        total += weight;
        let ordered = last.is_none_or(|last| node > last) && node <= 0xffff && node != plan.node();
        #[cfg(feature = "codec")]
        if plan.codec.is_some() && Share::of(weight).is_none() {
            return Err(BlobError::Peer { index });
        }
        if !ordered || link > 0xff || !(weight > 0.0 && total < 1.0) {
            return Err(BlobError::Peer { index });
        }
        last = Some(node);
    }
    Ok(())
}

pub(super) fn problem<'a>(head: &Head, rest: &mut Rest<'a>) -> Result<AnyProblem<'a>, BlobError> {
    let parameter = f32::from_bits(head.parameter);
    if head.problem == 5 {
        let (outer, inner) = (head.outer as usize, head.inner as usize);
        let cells = outer.checked_mul(inner).ok_or(BlobError::Section { name: "coupling" })?;
        let parts = QuadraticParts {
            diagonal: rest.cast("diagonal", inner)?,
            spike: rest.cast("spike", inner)?,
            coupling: rest.cast("coupling", cells)?,
            shift: rest.cast("shift", inner)?,
            target: rest.cast("target", inner)?,
            centre: rest.cast("centre", outer)?,
            rigidity: parameter,
        };
        return Quadratic::new(parts).map(AnyProblem::Quadratic).map_err(BlobError::Problem);
    }
    let [first, second] = &head.sets;
    let words = (first.width as usize).saturating_mul(2).saturating_add(2);
    let scales = rest.cast("scales", if head.scaled() { words } else { 0 })?;
    let arithmetic = head.arithmetic();
    let train = samples(first, SetName::Training, scales, arithmetic, rest)?;
    let validation = match second.encoding {
        SAME => train,
        _ => samples(second, SetName::Validation, scales, arithmetic, rest)?,
    };
    let (hidden, classes) = (head.hidden as usize, head.classes as usize);
    let base = if head.based() { parameter } else { 0.0 };
    match head.problem {
        0 => {
            Logistic::new(train, validation).and_then(|p| p.around(base)).map(AnyProblem::Logistic)
        }
        1 => Ridge::new(train, validation).and_then(|p| p.around(base)).map(AnyProblem::Ridge),
        2 => SharedLayer::new(train, validation, hidden, classes, parameter)
            .map(AnyProblem::SharedLayer),
        3 => Meta::new(train, validation, parameter).map(AnyProblem::MetaLogistic),
        4 => Meta::new(train, validation, parameter).map(AnyProblem::MetaSquared),
        _ => return Err(BlobError::Value { name: "kind of problem" }),
    }
    .map_err(BlobError::Problem)
}

fn samples<'a>(
    head: &SetHead,
    set: SetName,
    scales: &'a [Scale],
    arithmetic: Arithmetic,
    rest: &mut Rest<'a>,
) -> Result<Samples<'a>, BlobError> {
    let (rows, width) = (head.rows as usize, head.width as usize);
    // All bytes of a section before its encoding is looked at: a call less for each encoding.
    let name = "features";
    let size = |kind: u8| if kind == FLOATS { 4 } else { 1 };
    let len = rows.checked_mul(width).and_then(|values| values.checked_mul(size(head.encoding)));
    let bytes = rest.bytes(name, len.ok_or(BlobError::Section { name })?)?;
    let features = match head.encoding {
        0 => Features::U8(bytes),
        1 => Features::I8(cast_slice(bytes)),
        FLOATS => Features::F32(try_cast_slice(bytes).map_err(|_| BlobError::Memory)?),
        _ => return Err(BlobError::Value { name: "encoding of features" }),
    };
    let bytes = rest.bytes("labels", rows.saturating_mul(size(head.labels)))?;
    let labels = match head.labels {
        0 => Labels::Binary(bytes),
        1 => Labels::Class(bytes),
        FLOATS => Labels::Real(try_cast_slice(bytes).map_err(|_| BlobError::Memory)?),
        _ => return Err(BlobError::Value { name: "kind of labels" }),
    };
    Samples::new(features, width, labels)
        .and_then(|samples| match scales {
            [] => samples.scaled(f32::from_bits(head.scale), f32::from_bits(head.offset)),
            _ => samples.standardised(scales),
        })
        .and_then(|samples| samples.computed_in(arithmetic))
        .map_err(|error| BlobError::Samples { set, error })
}
