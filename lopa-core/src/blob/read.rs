//! Reads a blob in place: checked once, then used without a copy.

use bytemuck::{Zeroable, bytes_of_mut, try_cast_slice};

use super::head::{HEAD, Head, MAGIC};
use super::parts::{self, Rest};
use super::{BlobError, Capacity, Plan, Start, VERSION};
use crate::codec::{self, Codec};
use crate::exchange::{Peer, Settings};
use crate::footprint::Footprint;
use crate::node::{Config, Scheme};
use crate::problem::{Dimensions, Problem};
use crate::problems::AnyProblem;
use crate::vector::all_finite;
use crate::wire::Identity;
use crate::wire::seal::Checksum;

/// A node's blob, complete and valid: see [the layout](crate::blob#layout).
#[derive(Clone, Copy, PartialEq)]
pub struct Blob<'a> {
    len: usize,
    plan: Plan,
    start: Start<'a>,
    /// Node, link and weight of each, as words.
    peers: &'a [u32],
    problem: AnyProblem<'a>,
}

impl<'a> Blob<'a> {
    /// Reads a blob at the beginning of `bytes`; bytes after it are ignored. Everything is checked here: the only later
    /// reason to refuse a blob is lack of room.
    ///
    /// # Errors
    /// Names what is invalid.
    pub fn read(bytes: &'a [u8]) -> Result<Self, BlobError> {
        if cfg!(target_endian = "big") {
            return Err(BlobError::Memory);
        }
        let mut head = Head::zeroed();
        let words = bytes_of_mut(&mut head).as_chunks_mut::<4>().0;
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, from)| *to = *from);
        if head.magic != MAGIC {
            return Err(BlobError::NotABlob);
        }
        let version = u32::from(head.version);
        if !(1..=VERSION).contains(&version) {
            return Err(BlobError::Version { found: version });
        }
        let (length, found) = (head.length as usize, bytes.len());
        let head_words = usize::from(head.words);
        let least = head_words.max(HEAD).saturating_add(1).saturating_mul(4);
        if head_words < HEAD || length < least || length % 4 != 0 {
            return Err(BlobError::Length { needed: least, found: length });
        }
        let cut = bytes.split_at_checked(length).and_then(|(blob, _)| blob.split_last_chunk::<4>());
        let Some((body, checksum)) = cut else {
            return Err(BlobError::Length { needed: length, found });
        };
        let mut digest = Checksum::start();
        digest.update(body);
        if digest.finalize() != u32::from_le_bytes(*checksum) {
            return Err(BlobError::Corrupt);
        }
        let sections = body.get(head_words.saturating_mul(4)..).unwrap_or(&[]);
        if try_cast_slice::<u8, u32>(sections).is_err() {
            return Err(BlobError::Memory);
        }
        let mut rest = Rest(sections);
        let seal = parts::seal(&head, &mut rest)?;
        let codec = parts::codec(&head, &mut rest)?;
        let plan = parts::plan(&head, seal, codec)?;
        let (outer, inner) = (head.outer as usize, head.inner as usize);
        let peers = rest.cast("neighbours", usize::from(head.peers).saturating_mul(3))?;
        parts::check_peers(peers, &plan)?;
        let start = match head.start {
            0 => Start::Number(f32::from_bits(head.x0)),
            1 => Start::Vector(rest.cast("x0", outer)?),
            _ => return Err(BlobError::Value { name: "kind of x0" }),
        };
        let valid = match start {
            Start::Number(x0) => x0.is_finite() && holds(&plan, &[x0]),
            Start::Vector(x0) => all_finite(x0) && holds(&plan, x0),
        };
        if !valid {
            return Err(BlobError::Value { name: "x0" });
        }
        let problem = parts::problem(&head, &mut rest)?;
        if !rest.0.is_empty() {
            return Err(BlobError::Section { name: "end" });
        }
        let size = problem.dimensions();
        if (size.outer, size.inner) != (outer, inner) || outer == 0 || inner == 0 {
            return Err(BlobError::Value { name: "dimension" });
        }
        Ok(Self { len: length, plan, start, peers, problem })
    }

    /// The blob's length in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no blob is empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Everything but the problem, the starting point and the neighbours.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The node's number.
    #[must_use]
    pub const fn node(&self) -> u32 {
        self.plan.node()
    }

    /// LG or GT.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.plan.scheme
    }

    /// How vectors travel in few bits; `None` for floats.
    #[must_use]
    pub const fn codec(&self) -> Option<Codec> {
        // Without the feature a blob with a codec is refused, and the compiler leaves out what follows from one.
        if cfg!(feature = "codec") { self.plan.codec } else { None }
    }

    /// The node's settings.
    #[must_use]
    pub const fn config(&self) -> Config {
        self.plan.config
    }

    /// Bits per second on the lines.
    #[must_use]
    pub const fn baud(&self) -> u32 {
        self.plan.baud
    }

    /// Rounds between checkpoints; with 0, only those that a host requests are written.
    #[must_use]
    pub const fn checkpoint_every(&self) -> u32 {
        self.plan.checkpoint_every
    }

    /// The problem, its samples in the blob.
    #[must_use]
    pub const fn problem(&self) -> AnyProblem<'a> {
        self.problem
    }

    /// The problem's dimensions.
    #[must_use]
    pub fn dimensions(&self) -> Dimensions {
        self.problem.dimensions()
    }

    /// x₀.
    #[must_use]
    pub const fn start(&self) -> Start<'a> {
        self.start
    }

    /// The neighbours, in order of their numbers.
    #[must_use]
    pub fn peers(&self) -> impl ExactSizeIterator<Item = Peer> + Clone + use<'a> {
        self.peers.as_chunks::<3>().0.iter().map(|&[node, link, weight]| {
            // A blob with a link beyond 255 is refused when it is read.
            Peer { node, link: link as u8, weight: f32::from_bits(weight) }
        })
    }

    /// What the network must agree on.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let Plan { scheme, config, chunk, rounds, network, .. } = &self.plan;
        let (kind, size) = (self.problem.kind(), self.dimensions());
        let mut identity = Identity::new(kind, size, *scheme, config, *chunk, *rounds);
        identity.math += self.problem.arithmetic().identity();
        // Nodes with other bases would mean other strengths by the same x.
        let word = u64::from(*network) | u64::from(self.problem.base().to_bits()) << 32;
        identity.digest = (identity.digest ^ word).wrapping_mul(0x100_0000_01b3);
        match self.codec() {
            Some(codec) => identity.with_codec(codec),
            None => identity,
        }
    }

    /// The settings of the node's exchange.
    #[must_use]
    pub fn settings(&self, boot: u32) -> Settings {
        let Plan { rounds, timing, seal, .. } = self.plan;
        let (node, identity) = (self.node(), self.identity());
        Settings { node, identity, rounds, boot, timing, seal }
    }

    /// The memory the node needs; meaningful for a blob that [fits](Blob::fits).
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let Dimensions { outer, inner, workspace } = self.dimensions();
        match self.codec() {
            Some(_) => Footprint::coded(self.scheme(), outer, inner, workspace),
            None => Footprint::new(self.scheme(), outer, inner, workspace),
        }
    }

    /// The floats [`Blob::build`] needs: vectors, scratch and workspace. With a codec, integers take the place of some.
    #[must_use]
    pub fn floats(&self) -> usize {
        let Dimensions { outer, inner, workspace } = self.dimensions();
        let vectors = match self.scheme() {
            Scheme::LocalGradient => 3,
            Scheme::GradientTracking => 4,
        } + self.codec().map_or(0, |_| codec::vectors(self.scheme()));
        let (outer, inner) = (outer.saturating_mul(vectors), inner.saturating_mul(3));
        outer.saturating_add(inner).saturating_add(workspace)
    }

    /// Whether an image has room for the node.
    ///
    /// # Errors
    /// Names what there is too little of, how much is needed and how much there is.
    pub fn fits(&self, capacity: &Capacity) -> Result<(), BlobError> {
        let vectors = if self.scheme() == Scheme::GradientTracking { 2 } else { 1 };
        let values = (self.plan.chunk as usize).saturating_mul(vectors);
        let links = self.peers().map(|peer| usize::from(peer.link).saturating_add(1)).max();
        for (name, needed, room) in [
            ("floats of memory", self.floats(), capacity.floats),
            ("neighbours", self.peers().len(), capacity.neighbours),
            ("links", links.unwrap_or(0), capacity.links),
            ("floats per chunk", values, capacity.values),
        ] {
            if needed > room {
                return Err(BlobError::Capacity { name, needed, room });
            }
        }
        Ok(())
    }
}

/// Whether values are in the range of a plan's codec, if it has one.
fn holds(plan: &Plan, values: &[f32]) -> bool {
    match plan.codec {
        Some(codec) if cfg!(feature = "codec") => {
            values.iter().all(|&value| codec.outer().holds(value))
        }
        _ => true,
    }
}

impl core::fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Dimensions { outer, inner, .. } = self.dimensions();
        write!(f, "Blob(node {}, n = {outer}, p = {inner}, {} bytes)", self.node(), self.len)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Blob<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let Dimensions { outer, inner, .. } = self.dimensions();
        let (node, len) = (self.node(), self.len);
        defmt::write!(f, "Blob(node {}, n = {}, p = {}, {} bytes)", node, outer, inner, len);
    }
}
