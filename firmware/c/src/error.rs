//! Errors as integers, and their texts.

use core::ffi::{CStr, c_char};

use lopa_core::wire::{Cause, Trouble};

/// A pointer is null.
pub const LOPA_ERROR_NULL: i32 = -1;
/// The pointer does not lead to a node: lopa_node_init() has not made one there.
pub const LOPA_ERROR_NODE: i32 = -2;
/// The memory for a node does not begin at a multiple of eight bytes.
pub const LOPA_ERROR_ALIGNMENT: i32 = -3;
/// The memory for a node is too small: lopa_node_size() has the size.
pub const LOPA_ERROR_MEMORY: i32 = -4;
/// Floats are not computed as IEEE 754 says: subnormal numbers become zero, or results are rounded differently.
pub const LOPA_ERROR_FLOATS: i32 = -5;
/// There is no such link.
pub const LOPA_ERROR_LINK: i32 = -6;
/// The buffer is too short.
pub const LOPA_ERROR_BUFFER: i32 = -7;
/// Called out of turn: lopa_node_poll() did not return LOPA_COMPUTE, or the node is in the middle of a round.
pub const LOPA_ERROR_TURN: i32 = -8;
/// A variable became infinite or NaN: the step sizes are too large.
pub const LOPA_ERROR_DIVERGED: i32 = -9;
/// The node is not where its exchange left it.
pub const LOPA_ERROR_MISMATCH: i32 = -10;
/// The number of features is not that of the problem.
pub const LOPA_ERROR_FEATURES: i32 = -11;
/// The problem has nothing to predict.
pub const LOPA_ERROR_PREDICTION: i32 = -12;
/// There is no such vector.
pub const LOPA_ERROR_VECTOR: i32 = -13;
/// The bytes are not a complete checkpoint of this node in this network.
pub const LOPA_ERROR_CHECKPOINT: i32 = -14;
/// The library was built for logistic regression only, and the blob has another problem.
pub const LOPA_ERROR_ONLY_LOGISTIC: i32 = -15;

/// The bytes are not a blob.
pub const LOPA_ERROR_NO_BLOB: i32 = -32;
/// The blob has a version that this library does not read.
pub const LOPA_ERROR_BLOB_VERSION: i32 = -33;
/// The blob is shorter than its head says.
pub const LOPA_ERROR_BLOB_LENGTH: i32 = -34;
/// The blob's checksum is wrong.
pub const LOPA_ERROR_BLOB_CORRUPT: i32 = -35;
/// The blob does not begin at a multiple of four bytes.
pub const LOPA_ERROR_BLOB_ALIGNMENT: i32 = -36;
/// A section, a number, a step size, a neighbour, a sample or the problem in the blob is invalid.
pub const LOPA_ERROR_BLOB_INVALID: i32 = -37;
/// The blob asks for integers or for other mathematics than this library was built with.
pub const LOPA_ERROR_BLOB_MATH: i32 = -38;
/// The blob has more neighbours than there is room for.
pub const LOPA_ERROR_BLOB_NEIGHBOURS: i32 = -39;
/// The blob needs more links than there are.
pub const LOPA_ERROR_BLOB_LINKS: i32 = -40;
/// The blob's chunks are too long.
pub const LOPA_ERROR_BLOB_CHUNK: i32 = -41;
/// The blob has a key, and this library was built without encryption.
pub const LOPA_ERROR_BLOB_KEY: i32 = -42;
/// The blob has a key, and the boot number is 0.
pub const LOPA_ERROR_BOOT: i32 = -43;
/// The blob's vectors travel in few bits, and this library was built without a codec.
pub const LOPA_ERROR_BLOB_CODEC: i32 = -44;

/// The error for a reason not to start.
pub(crate) const fn code(trouble: Trouble) -> i32 {
    match trouble.cause {
        Cause::NoBlob => LOPA_ERROR_NO_BLOB,
        Cause::Version => LOPA_ERROR_BLOB_VERSION,
        Cause::Length => LOPA_ERROR_BLOB_LENGTH,
        Cause::Corrupt => LOPA_ERROR_BLOB_CORRUPT,
        Cause::Memory => LOPA_ERROR_BLOB_ALIGNMENT,
        Cause::Math => LOPA_ERROR_BLOB_MATH,
        Cause::Floats => LOPA_ERROR_MEMORY,
        Cause::Neighbours => LOPA_ERROR_BLOB_NEIGHBOURS,
        Cause::Links => LOPA_ERROR_BLOB_LINKS,
        Cause::Chunk => LOPA_ERROR_BLOB_CHUNK,
        Cause::Key => LOPA_ERROR_BLOB_KEY,
        Cause::Boot => LOPA_ERROR_BOOT,
        Cause::Codec => LOPA_ERROR_BLOB_CODEC,
        _ => LOPA_ERROR_BLOB_INVALID,
    }
}

/// What an error means and what to do, in English; never null.
#[unsafe(no_mangle)] // The only function of this name in a firmware: the header claims the prefix.
pub extern "C" fn lopa_error_text(error: i32) -> *const c_char {
    text(error).as_ptr()
}

const fn text(error: i32) -> &'static CStr {
    match error {
        0.. => c"no error",
        LOPA_ERROR_NULL => c"a pointer is null",
        LOPA_ERROR_NODE => c"not a node: call lopa_node_init first",
        LOPA_ERROR_ALIGNMENT => c"memory must be aligned to 8 bytes: declare it as uint64_t",
        LOPA_ERROR_MEMORY => c"the memory is too small: lopa_node_size returns the bytes",
        LOPA_ERROR_FLOATS => {
            c"floats are not IEEE 754: clear FPSCR.FZ and RMode, or link GCC's routines"
        }
        LOPA_ERROR_LINK => c"no such link: they are 0 to LOPA_LINKS - 1",
        LOPA_ERROR_BUFFER => c"too short: see LOPA_FRAME_BYTES and lopa_node_checkpoint_size",
        LOPA_ERROR_TURN => c"compute only after LOPA_COMPUTE, and save only between rounds",
        LOPA_ERROR_DIVERGED => c"diverged: write blobs with smaller step sizes",
        LOPA_ERROR_MISMATCH => c"the node was changed in between: initialise it again",
        LOPA_ERROR_FEATURES => c"not the number of features of the blob's problem",
        LOPA_ERROR_PREDICTION => c"the blob's problem has nothing to predict",
        LOPA_ERROR_VECTOR => c"no such vector: use LOPA_X to LOPA_Y",
        LOPA_ERROR_CHECKPOINT => c"not a checkpoint of this node and network: start without it",
        LOPA_ERROR_ONLY_LOGISTIC => c"not logistic regression: build with the feature all-problems",
        LOPA_ERROR_NO_BLOB => c"not a blob: write one with lopa shard",
        LOPA_ERROR_BLOB_VERSION => c"another version: use a blob and a library of one release",
        LOPA_ERROR_BLOB_LENGTH => c"the blob is cut short: write it again",
        LOPA_ERROR_BLOB_CORRUPT => c"the blob's checksum is wrong: write it again",
        LOPA_ERROR_BLOB_ALIGNMENT => c"a blob must be aligned to four bytes",
        LOPA_ERROR_BLOB_INVALID => c"a part of the blob is invalid: write it again",
        LOPA_ERROR_BLOB_MATH => {
            c"the blob has integers or other mathematics: build with that feature"
        }
        LOPA_ERROR_BLOB_NEIGHBOURS => {
            c"the blob has too many neighbours: use a topology with fewer"
        }
        LOPA_ERROR_BLOB_LINKS => {
            c"the blob needs too many links: use fewer neighbours, or a router"
        }
        LOPA_ERROR_BLOB_CHUNK => c"the blob's chunks are too long: use smaller ones",
        LOPA_ERROR_BLOB_KEY => c"the blob has a key: build with the feature encrypt",
        LOPA_ERROR_BOOT => c"the blob has a key: pass a boot number that grows with every start",
        LOPA_ERROR_BLOB_CODEC => c"the blob has few bits: build with the feature codec",
        _ => c"unknown error",
    }
}
