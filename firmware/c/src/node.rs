//! A node in its caller's memory: the exchange and what belongs to it first, then the node's floats.

use lopa_core::blob::{Blob, BlobScratch, BuiltNode};
use lopa_core::checkpoint::CheckpointError;
use lopa_core::exchange::{Learner, Micros, Standing, Step};
use lopa_core::node::{NodeError, Phase, Variable};
use lopa_core::problem::Point;
#[cfg(not(feature = "all-problems"))]
use lopa_core::problem::Predict;
use lopa_core::problems::AnyProblem;
use lopa_core::samples::Features;
use lopa_core::wire::Trouble;
use lopa_node::{BoardExchange, NEIGHBOURS, NoNode, Refusal, capacity};

use crate::api::{
    LOPA_COMPUTE, LOPA_FINISHED, LOPA_FIXED_BYTES, LOPA_PAUSED, LOPA_WAIT, LopaStatus,
};
use crate::error::*;
use crate::floats;

/// Says that there is a node: the letters "LoPN".
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"LoPN");

/// Bytes of a checkpoint before those of the core: a digest of what the network agrees on.
const DIGEST: usize = 8;

#[cfg(feature = "all-problems")]
type AProblem = AnyProblem<'static>;
#[cfg(not(feature = "all-problems"))]
type AProblem = lopa_core::problems::Logistic<'static>;

type Built = (BuiltNode<'static, AProblem>, BlobScratch<'static>);

/// A node. Its memory is the caller's, from `lopa_node_init()` on.
#[derive(Debug)]
pub struct LopaNode {
    pub(crate) magic: u32,
    /// Why the node does not start; 0 if it does.
    pub(crate) refused: i32,
    pub(crate) boot: u32,
    /// The digest of the network, which is in front of its checkpoints.
    pub(crate) digest: [u8; DIGEST],
    /// Rounds between checkpoints; 0 for none.
    pub(crate) every: u32,
    /// Epoch and round of the last checkpoint, as far as they differ from the next ones: 32 bits each.
    pub(crate) kept: (u32, u32),
    /// Whether the node was paused or had finished when it was last polled.
    pub(crate) resting: bool,
    /// The bytes of the blob, for when a checkpoint is restored.
    pub(crate) blob: &'static [u8],
    pub(crate) exchange: BoardExchange,
    pub(crate) built: Option<Built>,
}

/// The bytes of a node for a blob.
pub(crate) fn size(bytes: &[u8]) -> Result<usize, i32> {
    let blob = Blob::read(bytes).map_err(refused_blob)?;
    Ok(LOPA_FIXED_BYTES.saturating_add(blob.floats().saturating_mul(4)))
}

fn refused_blob(error: lopa_core::blob::BlobError) -> i32 {
    code(Trouble::from(error))
}

#[cfg(feature = "all-problems")]
fn build(blob: &Blob<'static>, memory: &'static mut [f32]) -> Result<Built, Refused> {
    blob.build(memory).map_err(Refused::blob)
}

#[cfg(not(feature = "all-problems"))]
fn build(blob: &Blob<'static>, memory: &'static mut [f32]) -> Result<Built, Refused> {
    let AnyProblem::Logistic(problem) = blob.problem() else {
        // To a host, a problem that this build does not have is an invalid one.
        let cause = lopa_core::wire::Cause::Problem;
        let trouble = Trouble { cause, needed: 0, found: 0 };
        return Err(Refused { code: LOPA_ERROR_ONLY_LOGISTIC, trouble });
    };
    blob.build_for(problem, memory).map_err(Refused::blob)
}

/// Why a node does not start: for the caller, and for a host.
struct Refused {
    code: i32,
    trouble: Trouble,
}

impl Refused {
    fn new(refusal: Refusal) -> Self {
        let trouble = Trouble::from(refusal);
        Self { code: code(trouble), trouble }
    }

    fn blob(error: lopa_core::blob::BlobError) -> Self {
        Self::new(Refusal::Blob(error))
    }
}

impl LopaNode {
    /// Builds the blob's node in the given floats and starts its exchange. A node that is refused answers hosts with the reason.
    pub(crate) fn begin(&mut self, floats: &'static mut [f32], now: Micros) -> i32 {
        let blob = Blob::read(self.blob);
        let number = blob.as_ref().ok().map(Blob::node);
        let begun = blob.map_err(Refused::blob).and_then(|blob| {
            blob.fits(&capacity(floats.len())).map_err(Refused::blob)?;
            if self.boot == 0 && blob.plan().seal.is_keyed() {
                return Err(Refused::new(Refusal::Boot(lopa_node::StoreError::Flash)));
            }
            (self.every, self.digest) =
                (blob.checkpoint_every(), blob.identity().digest.to_le_bytes());
            let built = self.built.insert(build(&blob, floats)?);
            start(&mut self.exchange, &blob, self.boot, &built.0, now)
        });
        match begun {
            Ok(()) => 0,
            Err(Refused { code, trouble }) => {
                self.built = None;
                self.refused = code;
                self.exchange.decline(number, trouble);
                code
            }
        }
    }

    pub(crate) fn receive(&mut self, link: usize, bytes: &[u8], now: Micros) -> i32 {
        self.exchange.receive(link, bytes, now).map_or(LOPA_ERROR_LINK, |()| 0)
    }

    pub(crate) fn transmit(&mut self, link: usize, frame: &mut [u8], now: Micros) -> i32 {
        if link >= lopa_node::LINKS {
            return LOPA_ERROR_LINK;
        }
        // Not a generic call, which would be in the image twice.
        let learner: &dyn Learner = match &self.built {
            Some((node, _)) => node,
            None => &NoNode,
        };
        match self.exchange.transmit(link, learner, now, frame) {
            Ok(len) => len.unwrap_or(0) as i32,
            Err(_) => LOPA_ERROR_BUFFER,
        }
    }

    pub(crate) fn poll(&mut self, now: Micros) -> i32 {
        let Some((node, _)) = &mut self.built else { return self.refused };
        let step = self.exchange.advance(node, now);
        self.resting = matches!(step, Step::Paused | Step::Finished);
        match step {
            Step::Compute => LOPA_COMPUTE,
            Step::Paused => LOPA_PAUSED,
            Step::Finished => LOPA_FINISHED,
            Step::Diverged(_) => LOPA_ERROR_DIVERGED,
            Step::Mismatch => LOPA_ERROR_MISMATCH,
            _ => LOPA_WAIT,
        }
    }

    pub(crate) fn compute(&mut self) -> i32 {
        let Some((node, scratch)) = &mut self.built else { return self.refused };
        // Every time: threads may have FPU settings of their own.
        if !floats::are_exact() {
            return LOPA_ERROR_FLOATS;
        }
        match node.compute(scratch) {
            Ok(()) => 0,
            Err(NodeError::Diverged(_) | NodeError::Range(_)) => LOPA_ERROR_DIVERGED,
            Err(_) => LOPA_ERROR_TURN,
        }
    }

    pub(crate) fn vector(&self, variable: Variable) -> Result<&[f32], i32> {
        let (node, _) = self.built.as_ref().ok_or(self.refused)?;
        let state = node.state();
        Ok(match variable {
            Variable::Outer => state.x,
            Variable::Inner => state.theta,
            Variable::HessianInverseVector => state.v,
            Variable::Hypergradient => state.z,
            Variable::Direction => state.y,
        })
    }

    pub(crate) fn round(&self) -> u64 {
        self.built.as_ref().map_or(0, |(node, _)| node.state().round)
    }

    pub(crate) fn predict(&mut self, features: &[f32]) -> Result<f32, i32> {
        let (node, scratch) = self.built.as_mut().ok_or(self.refused)?;
        predict(node, features, scratch.workspace)
    }

    pub(crate) fn status(&self) -> LopaStatus {
        let count = self.exchange.counters();
        let standing = |wanted: fn(&Standing) -> bool| {
            self.exchange.standings().filter(|(_, standing)| wanted(standing)).count() as u32
        };
        LopaStatus {
            round: self.round(),
            epochs: count.epochs,
            sent: count.sent,
            received: count.received,
            repaired: count.repaired,
            damaged: count.corrupt.saturating_add(count.truncated),
            met: standing(|standing| *standing == Standing::Met),
            dead: standing(|standing| *standing == Standing::Dead),
            refused: standing(|standing| matches!(standing, Standing::Refused(_))),
        }
    }

    pub(crate) fn checkpoint_size(&self) -> Result<usize, i32> {
        let (node, _) = self.built.as_ref().ok_or(self.refused)?;
        Ok(node.checkpoint_len().saturating_add(DIGEST))
    }

    /// Whether a checkpoint is due or requested. One that is requested in the middle of a round cannot be saved yet.
    pub(crate) fn checkpoint_wanted(&self) -> bool {
        self.exchange.checkpoint_asked()
            || self.built.as_ref().is_some_and(|(node, _)| {
                let now = place(node);
                let past = now.1.checked_rem(self.every);
                let due = past.is_some_and(|past| past == 0 || self.resting) && now != self.kept;
                due && node.phase() == Phase::Ready
            })
    }

    /// Writes the digest of the network and a checkpoint.
    pub(crate) fn save(&mut self, bytes: &mut [u8]) -> Result<usize, i32> {
        let size = self.checkpoint_size()?;
        let (node, _) = self.built.as_ref().ok_or(self.refused)?;
        let (digest, rest) = bytes.split_first_chunk_mut::<DIGEST>().ok_or(LOPA_ERROR_BUFFER)?;
        node.save(rest).map_err(|error| match error {
            CheckpointError::MidRound => LOPA_ERROR_TURN,
            _ => LOPA_ERROR_BUFFER,
        })?;
        *digest = self.digest;
        // Even if it is not written: it would fail again.
        self.kept = place(node);
        Ok(size)
    }

    /// Continues from a checkpoint: the exchange starts again, as after a boot.
    pub(crate) fn restore(&mut self, bytes: &[u8], now: Micros) -> Result<(), i32> {
        let (node, _) = self.built.as_mut().ok_or(self.refused)?;
        let blob = Blob::read(self.blob).map_err(refused_blob)?;
        let cut = bytes.split_first_chunk::<DIGEST>();
        let (digest, rest) = cut.ok_or(LOPA_ERROR_CHECKPOINT)?;
        if *digest != self.digest {
            return Err(LOPA_ERROR_CHECKPOINT);
        }
        let rest = rest.get(..node.checkpoint_len()).ok_or(LOPA_ERROR_CHECKPOINT)?;
        node.restore(rest).map_err(|_| LOPA_ERROR_CHECKPOINT)?;
        self.kept = place(node);
        start(&mut self.exchange, &blob, self.boot, node, now).map_err(|refused| refused.code)
    }
}

/// Epoch and round of a node, the low halves.
fn place(node: &BuiltNode<'static, AProblem>) -> (u32, u32) {
    let state = node.state();
    (state.epoch.number as u32, state.round as u32)
}

fn start(
    exchange: &mut BoardExchange,
    blob: &Blob<'_>,
    boot: u32,
    node: &BuiltNode<'static, AProblem>,
    now: Micros,
) -> Result<(), Refused> {
    // Not `collect`, which would panic if there were too many; `fits` has counted them.
    let mut peers = [lopa_core::exchange::Peer { node: 0, link: 0, weight: 0.0 }; NEIGHBOURS];
    peers.iter_mut().zip(blob.peers()).for_each(|(own, peer)| *own = peer);
    let peers = peers.get(..blob.peers().len()).unwrap_or(&peers);
    let learner: &dyn Learner = node;
    let started = exchange.start(blob.settings(boot), peers, learner, now);
    started.map_err(|error| Refused::new(Refusal::Settings(error)))
}

#[cfg(feature = "all-problems")]
const fn any(problem: &AProblem) -> AnyProblem<'static> {
    *problem
}

#[cfg(not(feature = "all-problems"))]
const fn any(problem: &AProblem) -> AnyProblem<'static> {
    AnyProblem::Logistic(*problem)
}

fn predict(
    node: &BuiltNode<'static, AProblem>,
    features: &[f32],
    workspace: &mut [f32],
) -> Result<f32, i32> {
    let [train, _] = any(node.problem()).samples().ok_or(LOPA_ERROR_PREDICTION)?;
    if features.len() != train.width() {
        return Err(LOPA_ERROR_FEATURES);
    }
    let state = node.state();
    let at = Point { x: state.x, theta: state.theta };
    let row = train.reading(Features::F32(features));
    // The problem's own type, so that an image for one problem does not contain the others.
    #[cfg(feature = "all-problems")]
    return node.problem().predict(at, row, workspace).ok_or(LOPA_ERROR_PREDICTION);
    #[cfg(not(feature = "all-problems"))]
    Ok(node.problem().predict(at, row, workspace))
}
