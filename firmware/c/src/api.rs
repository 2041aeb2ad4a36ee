//! The functions and constants of the header.
//!
//! Every function checks its pointers for null and a node for the mark that [`lopa_node_init`] leaves; what it cannot check is
//! in its safety section. Names are not mangled because C needs them; the prefix `lopa_` keeps them apart from others.

use core::ptr::{addr_of_mut, null};
use core::slice::{from_raw_parts, from_raw_parts_mut};

use lopa_core::node::Variable;
use lopa_node::BoardExchange;

use crate::error::{
    LOPA_ERROR_ALIGNMENT, LOPA_ERROR_FLOATS, LOPA_ERROR_MEMORY, LOPA_ERROR_NODE, LOPA_ERROR_NULL,
    LOPA_ERROR_VECTOR,
};
use crate::floats;
use crate::node::{self, LopaNode, MAGIC};

/// Links of a node: link 0 to a host, links 1 to 4 to neighbours. The blob names the neighbour on each.
pub const LOPA_LINKS: usize = 5;
/// Bytes of the longest frame: the room that lopa_node_transmit() needs.
pub const LOPA_FRAME_BYTES: usize = 392;
/// Bytes of a node besides its floats, whatever features the library is built with.
pub const LOPA_FIXED_BYTES: usize = 5824;

/// Wait until bytes arrive, or until the time that lopa_node_deadline() returns.
pub const LOPA_WAIT: i32 = 0;
/// Send what lopa_node_transmit() has, then call lopa_node_compute().
pub const LOPA_COMPUTE: i32 = 1;
/// A host has paused the node; continue as with LOPA_WAIT.
pub const LOPA_PAUSED: i32 = 2;
/// All rounds are done; continue as with LOPA_WAIT, because neighbours may still need answers.
pub const LOPA_FINISHED: i32 = 3;

/// x, the outer variable, which the network agrees on.
pub const LOPA_X: u32 = 0;
/// theta, the node's own model.
pub const LOPA_THETA: u32 = 1;
/// v, the estimate of the Hessian-inverse-vector product.
pub const LOPA_V: u32 = 2;
/// z, the smoothed hypergradient.
pub const LOPA_Z: u32 = 3;
/// y, the descent direction.
pub const LOPA_Y: u32 = 4;

const _: () = {
    assert!(LOPA_LINKS == lopa_node::LINKS);
    assert!(LOPA_FRAME_BYTES >= BoardExchange::BUFFER);
    assert!(LOPA_FIXED_BYTES >= size_of::<LopaNode>() && LOPA_FIXED_BYTES.is_multiple_of(8));
    assert!(align_of::<LopaNode>() <= 8);
};

/// What a node has done, and how its neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct LopaStatus {
    /// Rounds completed.
    pub round: u64,
    /// Epochs begun or joined: 0 unless a neighbour died, returned or was refused.
    pub epochs: u64,
    /// Frames sent.
    pub sent: u64,
    /// Valid frames received.
    pub received: u64,
    /// Chunks found to be lost, and sent again.
    pub repaired: u64,
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Neighbours that take part.
    pub met: u32,
    /// Neighbours considered dead.
    pub dead: u32,
    /// Neighbours refused, or that refuse this node.
    pub refused: u32,
}

/// The node at a pointer.
///
/// # Safety
/// As the functions below: null, or readable memory of a node, which nothing else uses during the call.
#[inline(never)] // It would be in every function: 300 bytes more.
unsafe fn node<'a>(node: *mut LopaNode) -> Result<&'a mut LopaNode, i32> {
    if node.is_null() {
        return Err(LOPA_ERROR_NULL);
    }
    if !node.is_aligned() {
        return Err(LOPA_ERROR_NODE);
    }
    // SAFETY: aligned and readable; only the mark is read, before the rest is trusted.
    if unsafe { (&raw const (*node).magic).read() } != MAGIC {
        return Err(LOPA_ERROR_NODE);
    }
    // SAFETY: the mark says that `lopa_node_init` has made a node here, and nothing else uses it during the call.
    Ok(unsafe { &mut *node })
}

/// Bytes of the caller; a null pointer is an error even for no bytes.
///
/// # Safety
/// Null, or `len` readable bytes that do not change while they are used.
unsafe fn bytes<'a>(bytes: *const u8, len: usize) -> Result<&'a [u8], i32> {
    if bytes.is_null() || len > isize::MAX as usize {
        return Err(LOPA_ERROR_NULL);
    }
    // SAFETY: the caller's promise, and a length that a slice may have.
    Ok(unsafe { from_raw_parts(bytes, len) })
}

/// The value or the error, as one integer.
fn merged(result: Result<i32, i32>) -> i32 {
    result.unwrap_or_else(|error| error)
}

fn length(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// Checks that floats are computed as IEEE 754 says, with subnormal numbers, rounded to nearest: returns 0 or
/// LOPA_ERROR_FLOATS. lopa_node_init() and lopa_node_compute() check it too.
#[unsafe(no_mangle)] // See the module.
pub extern "C" fn lopa_self_test() -> i32 {
    if floats::are_exact() { 0 } else { LOPA_ERROR_FLOATS }
}

/// The bytes of memory that the node of a blob needs, or an error.
///
/// # Safety
/// `blob` has `blob_len` readable bytes.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_size(blob: *const u8, blob_len: usize) -> i32 {
    // SAFETY: promised by the caller.
    let blob = unsafe { bytes(blob, blob_len) };
    merged(blob.and_then(node::size).map(length))
}

/// Makes the node of a blob in `memory`, of `size` bytes, and writes a pointer to it to `made`.
///
/// `memory` must begin at a multiple of eight bytes and belongs to the node from now on; the blob, which must begin at a
/// multiple of four bytes, must stay where it is and unchanged. Bytes after the end of the blob are ignored, so `blob_len` may
/// be the length of its flash region. `boot` is a number that grows with every start; without a key in the blob it may be 0.
///
/// If the blob is refused, the error is returned, but `made` is not null if the memory suffices for a node without floats:
/// it learns nothing, and answers a host's questions with the reason if it is served like any other node.
///
/// # Safety
/// `memory` has `size` writable bytes, which only the node uses from now on. `blob` has `blob_len` readable bytes, which never
/// change. `made` is writable.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_init(
    memory: *mut u64,
    size: usize,
    blob: *const u8,
    blob_len: usize,
    boot: u32,
    now_us: u64,
    made: *mut *mut LopaNode,
) -> i32 {
    if made.is_null() || memory.is_null() {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: not null, and writable.
    unsafe { made.write(core::ptr::null_mut()) };
    // SAFETY: promised by the caller, for as long as the node lives.
    let blob = match unsafe { bytes(blob, blob_len) } {
        Ok(blob) => blob,
        Err(error) => return error,
    };
    if !memory.addr().is_multiple_of(8) {
        return LOPA_ERROR_ALIGNMENT;
    }
    let Some(rest) = size.checked_sub(LOPA_FIXED_BYTES) else { return LOPA_ERROR_MEMORY };
    if !floats::are_exact() {
        return LOPA_ERROR_FLOATS;
    }
    let node = memory.cast::<LopaNode>();
    // SAFETY: aligned and large enough; written field by field, because a whole node is large for a stack.
    unsafe {
        // The numbers, and the exchange: not `write(BoardExchange::vacant())`, which would need a copy of it on the stack: all
        // its bits are zero.
        node.write_bytes(0, 1);
        addr_of_mut!((*node).boot).write(boot);
        addr_of_mut!((*node).blob).write(blob);
        addr_of_mut!((*node).built).write(None);
        addr_of_mut!((*node).magic).write(MAGIC);
    }
    let floats = rest / 4;
    // SAFETY: after the node, within `size`, and aligned; zeroed before it is read as floats.
    let floats = unsafe {
        let start = memory.byte_add(LOPA_FIXED_BYTES).cast::<f32>();
        start.write_bytes(0, floats);
        from_raw_parts_mut(start, floats)
    };
    // SAFETY: every field has been written, and `made` is writable.
    let node = unsafe {
        made.write(node);
        &mut *node
    };
    node.begin(floats, now_us)
}

/// Gives the node bytes that a link received, in pieces of any size. Returns 0 or an error. Damaged frames are no error: they
/// are counted, and sent again.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `received` has `len` readable bytes.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_receive(
    node: *mut LopaNode,
    link: usize,
    received: *const u8,
    len: usize,
    now_us: u64,
) -> i32 {
    // SAFETY: promised by the caller.
    let (node, received) = unsafe { (self::node(node), bytes(received, len)) };
    merged(node.and_then(|node| Ok(node.receive(link, received?, now_us))))
}

/// Writes the next frame for a link into `frame`, of `size` bytes, at least LOPA_FRAME_BYTES. Returns its length, 0 if there
/// is nothing to send, or an error. Call it again when the frame has been sent, or when the line has room for another one.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `frame` has `size` writable bytes.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_transmit(
    node: *mut LopaNode,
    link: usize,
    frame: *mut u8,
    size: usize,
    now_us: u64,
) -> i32 {
    if frame.is_null() || size > isize::MAX as usize {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: promised by the caller. The frame may be uninitialised in C, where reading a byte of any value is allowed.
    let (node, frame) = unsafe { (self::node(node), from_raw_parts_mut(frame, size)) };
    merged(node.map(|node| node.transmit(link, frame, now_us)))
}

/// Makes all the progress that is possible now, and returns what to do next: LOPA_WAIT, LOPA_COMPUTE, LOPA_PAUSED,
/// LOPA_FINISHED, or an error, with which the node takes no further part.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_poll(node: *mut LopaNode, now_us: u64) -> i32 {
    // SAFETY: promised by the caller.
    merged(unsafe { self::node(node) }.map(|node| node.poll(now_us)))
}

/// Computes the node's half of a round, which takes the longest of all functions. Call it when lopa_node_poll() returns
/// LOPA_COMPUTE, after sending what lopa_node_transmit() has. Returns 0 or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_compute(node: *mut LopaNode) -> i32 {
    // SAFETY: promised by the caller.
    merged(unsafe { self::node(node) }.map(LopaNode::compute))
}

/// When to call lopa_node_poll() and lopa_node_transmit() again even if no bytes arrive, in microseconds; in the past if a
/// frame still waits for its line. The largest number for an invalid node.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_deadline(node: *mut LopaNode) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { self::node(node) }.map_or(u64::MAX, |node| node.exchange.deadline())
}

/// Pauses the node after its round, or lets it continue; a host can do both too. Returns 0 or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_pause(node: *mut LopaNode, paused: bool) -> i32 {
    // SAFETY: promised by the caller.
    let node = unsafe { self::node(node) };
    merged(node.map(|node| {
        node.exchange.pause(paused);
        0
    }))
}

/// Rounds completed; 0 for an invalid node.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_round(node: *mut LopaNode) -> u64 {
    #[cfg(feature = "planted")]
    core::hint::black_box([0_u8, 1][core::hint::black_box(1)]);
    // SAFETY: promised by the caller.
    unsafe { self::node(node) }.map_or(0, |node| node.round())
}

/// One of the node's vectors, LOPA_X to LOPA_Y: writes a pointer to `values` and returns the length, or returns an error. The
/// floats are the node's own: read them before the next call of lopa_node_poll() or lopa_node_compute().
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `values` is null or writable.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_vector(
    node: *mut LopaNode,
    vector: u32,
    values: *mut *const f32,
) -> i32 {
    if values.is_null() {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: not null, and writable.
    unsafe { values.write(null()) };
    let variable = match vector {
        LOPA_X => Variable::Outer,
        LOPA_THETA => Variable::Inner,
        LOPA_V => Variable::HessianInverseVector,
        LOPA_Z => Variable::Hypergradient,
        LOPA_Y => Variable::Direction,
        _ => return LOPA_ERROR_VECTOR,
    };
    // SAFETY: promised by the caller.
    let node = unsafe { self::node(node) };
    merged(node.and_then(|node| {
        let found = node.vector(variable)?;
        // SAFETY: not null, and writable.
        unsafe { values.write(found.as_ptr()) };
        Ok(length(found.len()))
    }))
}

/// Writes to `label` what the node's model predicts for a sample: 0 or 1, a class, or a number. The features are raw
/// readings; the blob's scales are applied. Returns 0 or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `features` has `count` readable floats; `label` is null
/// or writable.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_predict(
    node: *mut LopaNode,
    features: *const f32,
    count: usize,
    label: *mut f32,
) -> i32 {
    if features.is_null() || label.is_null() || count > isize::MAX as usize / 4 {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: promised by the caller, and a length that a slice may have.
    let (node, features) = unsafe { (self::node(node), from_raw_parts(features, count)) };
    merged(node.and_then(|node| {
        let predicted = node.predict(features)?;
        // SAFETY: not null, and writable.
        unsafe { label.write(predicted) };
        Ok(0)
    }))
}

/// Writes what the node has done, and how its neighbours are. Returns 0 or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `status` is null or writable.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_status(node: *mut LopaNode, status: *mut LopaStatus) -> i32 {
    if status.is_null() {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: promised by the caller.
    let node = unsafe { self::node(node) };
    merged(node.map(|node| {
        // SAFETY: not null, and writable.
        unsafe { status.write(node.status()) };
        0
    }))
}

/// The bytes of a checkpoint of this node, or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_checkpoint_size(node: *mut LopaNode) -> i32 {
    // SAFETY: promised by the caller.
    merged(unsafe { self::node(node) }.and_then(|node| node.checkpoint_size().map(length)))
}

/// Writes a checkpoint, from which the node can continue after a power cut. Returns its length or an error:
/// LOPA_ERROR_TURN in the middle of a round, when you may try again after the next lopa_node_poll().
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `saved` has `size` writable bytes.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_save(node: *mut LopaNode, saved: *mut u8, size: usize) -> i32 {
    if saved.is_null() || size > isize::MAX as usize {
        return LOPA_ERROR_NULL;
    }
    // SAFETY: promised by the caller; bytes of any value may be overwritten.
    let (node, saved) = unsafe { (self::node(node), from_raw_parts_mut(saved, size)) };
    merged(node.and_then(|node| node.save(saved).map(length)))
}

/// Continues from a checkpoint. Call it directly after lopa_node_init(), with a new boot number if you count boots. Returns 0,
/// or LOPA_ERROR_CHECKPOINT, after which the node starts from the beginning.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere; `saved` has `len` readable bytes.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_restore(
    node: *mut LopaNode,
    saved: *const u8,
    len: usize,
    now_us: u64,
) -> i32 {
    // SAFETY: promised by the caller.
    let (node, saved) = unsafe { (self::node(node), bytes(saved, len)) };
    merged(node.and_then(|node| node.restore(saved?, now_us).map(|()| 0)))
}

/// Whether to write a checkpoint now, with lopa_node_save(), and then to call lopa_node_checkpoint_written(): every
/// run.checkpoint_every rounds of the blob's file, when the node rests, and when a host asks. Call it after lopa_node_poll().
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_checkpoint_wanted(node: *mut LopaNode) -> bool {
    // SAFETY: promised by the caller.
    unsafe { self::node(node) }.is_ok_and(|node| node.checkpoint_wanted())
}

/// Tells the host that asked for the checkpoint, if one did, whether it was written. Returns 0 or an error.
///
/// # Safety
/// `node` is null or from lopa_node_init(), and not in use elsewhere.
#[unsafe(no_mangle)] // See the module.
pub unsafe extern "C" fn lopa_node_checkpoint_written(node: *mut LopaNode, written: bool) -> i32 {
    // SAFETY: promised by the caller.
    let node = unsafe { self::node(node) };
    merged(node.map(|node| {
        node.exchange.checkpoint_written(written);
        0
    }))
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::*;

    #[test]
    fn a_vacant_exchange_is_all_zeros() {
        // SAFETY: this is what the documentation of `vacant` promises, and what the comparison would contradict.
        let zeros: BoardExchange = unsafe { MaybeUninit::zeroed().assume_init() };
        assert_eq!(format!("{zeros:?}"), format!("{:?}", BoardExchange::vacant()));
    }
}
