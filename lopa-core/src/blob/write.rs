//! Writes a node's blob in pieces, without an allocator.

use bytemuck::{bytes_of, cast_slice};

use super::head::{self, HEAD, Head, INTEGER, MAGIC, SAME, SetHead, padded};
use super::{BlobError, Plan, Start, Wiring};
use crate::batch::{BatchSize, Sharing};
use crate::exchange::{Peer, Timing};
use crate::math;
use crate::node::Scheme;
use crate::problem::Problem;
use crate::problems::AnyProblem;
use crate::samples::{Arithmetic, Features, LabelKind, Labels, Samples, Scaling};
use crate::wire::seal::Checksum;

/// Writes a node's blob, piece by piece, and returns its length in bytes. Peers must be in order of their numbers.
///
/// Written together, the pieces are what [`Blob::read`](super::Blob::read) reads. Read a blob before you use it: that
/// checks everything a chip would refuse.
///
/// # Errors
/// Refuses what does not fit the layout: more than 65535 neighbours, 4 GiB, or two sets with different scales of their
/// features. Refuses machines that are not little-endian.
pub fn write(
    plan: &Plan,
    problem: &AnyProblem<'_>,
    start: Start<'_>,
    peers: &[Peer],
    mut sink: impl FnMut(&[u8]),
) -> Result<usize, BlobError> {
    if cfg!(target_endian = "big") {
        return Err(BlobError::Memory);
    }
    let mut head = head(plan, problem, start, peers)?;
    // Once to count and once to write, so that the length always matches what is written.
    let mut length = 4 * (HEAD + 1);
    sections(plan, problem, start, peers, |bytes| length = length.saturating_add(bytes.len()));
    head.length = narrow("length", length)?;
    let mut digest = Checksum::start();
    let mut put = |bytes: &[u8]| {
        digest.update(bytes);
        sink(bytes);
    };
    put(bytes_of(&head));
    sections(plan, problem, start, peers, put);
    sink(&digest.finalize().to_le_bytes());
    Ok(length)
}

fn narrow(name: &'static str, a: usize) -> Result<u32, BlobError> {
    u32::try_from(a).map_err(|_| BlobError::Value { name })
}

fn head(
    plan: &Plan,
    problem: &AnyProblem<'_>,
    start: Start<'_>,
    peers: &[Peer],
) -> Result<Head, BlobError> {
    let (steps, sampler) = (&plan.config.steps, &plan.config.sampler);
    let size = problem.dimensions();
    let (hidden, classes, parameter) = problem.parameters();
    let Timing { retry, retry_most, delay, silence, patience, probe } = plan.timing;
    let (sets, scaled) = match problem.samples() {
        None => ([SetHead::default(); 2], false),
        Some([train, validation]) => {
            if !same_scalings(&train, &validation) {
                return Err(BlobError::Value { name: "scale of validation samples" });
            }
            let (first, mut second) = (set_head(&train)?, set_head(&validation)?);
            if same(&train, &validation) {
                second.encoding = SAME;
            }
            ([first, second], matches!(train.scaling(), Scaling::Each(_)))
        }
    };
    Ok(Head {
        magic: MAGIC,
        version: head::version(
            plan.seal.is_keyed(),
            scaled,
            problem.base() != 0.0,
            plan.codec.is_some(),
        ),
        words: HEAD as u16,
        length: 0,
        network: plan.network,
        node: plan.node(),
        problem: problem.kind() as u8,
        scheme: match plan.scheme {
            Scheme::LocalGradient => 0,
            Scheme::GradientTracking => 1,
        },
        math: match math::KIND {
            math::Kind::Libm => 0,
            math::Kind::Micromath => 1,
        } + match problem.arithmetic() {
            Arithmetic::Float => 0,
            Arithmetic::Integer => INTEGER,
        },
        sharing: match sampler.sharing {
            Sharing::Independent => 0,
            Sharing::PerLevel => 1,
        },
        rounds: plan.rounds,
        seed: sampler.draws.seed,
        batch: match sampler.size {
            BatchSize::Full => 0,
            BatchSize::Drawn(size) => size.get(),
        },
        steps: [steps.alpha(), steps.beta(), steps.lambda(), steps.gamma(), steps.tau()]
            .map(f32::to_bits),
        outer: narrow("outer dimension", size.outer)?,
        inner: narrow("inner dimension", size.inner)?,
        hidden: narrow("hidden", hidden)?,
        classes: narrow("classes", classes)?,
        parameter: parameter.to_bits(),
        chunk: plan.chunk,
        baud: plan.baud,
        wiring: match plan.wiring {
            Wiring::Direct => 0,
            Wiring::Routed => 1,
            Wiring::Bus => 2,
        },
        start: match start {
            Start::Number(_) => 0,
            Start::Vector(_) => 1,
        },
        peers: u16::try_from(peers.len())
            .map_err(|_| BlobError::Value { name: "number of neighbours" })?,
        checkpoint_every: plan.checkpoint_every,
        x0: match start {
            Start::Number(x0) => x0.to_bits(),
            Start::Vector(_) => 0,
        },
        timing: [retry, retry_most, delay, silence, patience, probe],
        sets,
    })
}

fn set_head(samples: &Samples<'_>) -> Result<SetHead, BlobError> {
    let (scale, offset) = match samples.scaling() {
        Scaling::Common { scale, offset } => (scale, offset),
        Scaling::Each(_) => (1.0, 0.0),
    };
    Ok(SetHead {
        encoding: match samples.features() {
            Features::U8(_) => 0,
            Features::I8(_) => 1,
            Features::F32(_) => 2,
        },
        labels: match samples.labels().kind() {
            LabelKind::Binary => 0,
            LabelKind::Class => 1,
            LabelKind::Real => 2,
        },
        zeros: [0; 2],
        rows: narrow("rows", samples.len())?,
        width: narrow("width", samples.width())?,
        scale: scale.to_bits(),
        offset: offset.to_bits(),
    })
}

/// Everything between head and checksum.
fn sections(
    plan: &Plan,
    problem: &AnyProblem<'_>,
    start: Start<'_>,
    peers: &[Peer],
    mut put: impl FnMut(&[u8]),
) {
    if let Some(key) = plan.seal.key() {
        put(key);
    }
    if let Some(codec) = plan.codec {
        put(&codec.identity().to_le_bytes());
    }
    for peer in peers {
        put(&peer.node.to_le_bytes());
        put(&u32::from(peer.link).to_le_bytes());
        put(&peer.weight.to_le_bytes());
    }
    if let Start::Vector(x0) = start {
        put_floats(x0, &mut put);
    }
    match problem {
        AnyProblem::Quadratic(quadratic) => {
            let parts = quadratic.parts();
            for vector in [
                parts.diagonal,
                parts.spike,
                parts.coupling,
                parts.shift,
                parts.target,
                parts.centre,
            ] {
                put_floats(vector, &mut put);
            }
        }
        sampled => {
            let Some([train, validation]) = sampled.samples() else { return };
            if let Scaling::Each(scales) = train.scaling() {
                put_floats(cast_slice(scales), &mut put);
            }
            put_samples(&train, &mut put);
            if !same(&train, &validation) {
                put_samples(&validation, &mut put);
            }
        }
    }
}

fn put_samples(samples: &Samples<'_>, put: &mut impl FnMut(&[u8])) {
    match samples.features() {
        Features::U8(raw) => put_bytes(raw, put),
        Features::I8(raw) => put_bytes(cast_slice(raw), put),
        Features::F32(raw) => put_floats(raw, put),
    }
    match samples.labels() {
        Labels::Binary(raw) | Labels::Class(raw) => put_bytes(raw, put),
        Labels::Real(raw) => put_floats(raw, put),
    }
}

fn put_bytes(bytes: &[u8], put: &mut impl FnMut(&[u8])) {
    put(bytes);
    let len = bytes.len();
    let padding = padded(len).unwrap_or(len).saturating_sub(len);
    put([0; 3].get(..padding).unwrap_or(&[]));
}

fn put_floats(floats: &[f32], put: &mut impl FnMut(&[u8])) {
    floats.iter().for_each(|a| put(&a.to_le_bytes()));
}

/// Whether two sets are the same, bit for bit, and can be stored once.
fn same(a: &Samples<'_>, b: &Samples<'_>) -> bool {
    let features = match (a.features(), b.features()) {
        (Features::U8(a), Features::U8(b)) => a == b,
        (Features::I8(a), Features::I8(b)) => a == b,
        (Features::F32(a), Features::F32(b)) => same_floats(a, b),
        _ => false,
    };
    let labels = match (a.labels(), b.labels()) {
        (Labels::Binary(a), Labels::Binary(b)) | (Labels::Class(a), Labels::Class(b)) => a == b,
        (Labels::Real(a), Labels::Real(b)) => same_floats(a, b),
        _ => false,
    };
    let scaling = match (a.scaling(), b.scaling()) {
        (Scaling::Common { scale, offset }, Scaling::Common { scale: s, offset: o }) => {
            same_floats(&[scale, offset], &[s, o])
        }
        _ => same_scalings(a, b),
    };
    a.width() == b.width() && features && labels && scaling
}

/// Whether two sets have the same scaling of each feature, bit for bit, or both have none.
fn same_scalings(a: &Samples<'_>, b: &Samples<'_>) -> bool {
    match (a.scaling(), b.scaling()) {
        (Scaling::Common { .. }, Scaling::Common { .. }) => true,
        (Scaling::Each(a), Scaling::Each(b)) => same_floats(cast_slice(a), cast_slice(b)),
        _ => false,
    }
}

fn same_floats(a: &[f32], b: &[f32]) -> bool {
    cast_slice::<_, u32>(a) == cast_slice::<_, u32>(b)
}
