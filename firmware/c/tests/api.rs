//! The functions of the header, called as C calls them: two nodes learn, errors are reported, checkpoints restore.
#![allow(missing_docs, reason = "tests")]

use std::ffi::CStr;
use std::ptr::null_mut;

use lopa::api::*;
use lopa::error::*;
use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::blob::{self, Blob, BuiltNode, Plan, Start, Wiring};
use lopa_core::draw::Draws;
use lopa_core::exchange::{Peer, Timing};
use lopa_core::node::{Config, Neighbour, Scheme};
use lopa_core::problems::{AnyProblem, Logistic, Ridge};
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_core::wire::Seal;

const FEATURES: usize = 3;
const ROUNDS: u64 = 30;
/// Rounds between checkpoints.
const EVERY: u32 = 7;

type Handle = *mut lopa::LopaNode;

/// A blob, at a multiple of four bytes, for as long as the test runs: nodes refer to it.
fn leaked(bytes: &[u8]) -> &'static [u8] {
    let words = Box::leak(vec![0_u64; bytes.len().div_ceil(8)].into_boxed_slice());
    // SAFETY: memory of that size, which nothing else refers to.
    let place = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes.len()) };
    place.copy_from_slice(bytes);
    place
}

/// The blob of node 0 or 1, with the other as its neighbour.
fn blob(node: u32, logistic: bool) -> &'static [u8] {
    const VALUES: [[f32; 6]; 2] =
        [[0.5, -1.0, 1.0, 1.5, 0.25, 1.0], [-0.5, 2.0, 1.0, 1.0, 0.75, 1.0]];
    let labels = if logistic { Labels::Binary(&[0, 1]) } else { Labels::Real(&[0.5, 1.5]) };
    let samples = Samples::new(Features::F32(&VALUES[node as usize]), FEATURES, labels).unwrap();
    let problem = match logistic {
        true => AnyProblem::Logistic(Logistic::new(samples, samples).unwrap()),
        false => AnyProblem::Ridge(Ridge::new(samples, samples).unwrap()),
    };
    let plan = Plan {
        network: 7,
        rounds: ROUNDS,
        scheme: Scheme::GradientTracking,
        config: Config {
            steps: StepSizes::new(0.1, 0.1, 0.1, 0.3, 0.5).unwrap(),
            sampler: Sampler {
                draws: Draws { seed: 1, node },
                size: BatchSize::drawn(1),
                sharing: Sharing::Independent,
            },
        },
        chunk: 2,
        timing: Timing::uart(115_200, 200, 4, 2_000),
        baud: 115_200,
        wiring: Wiring::Direct,
        checkpoint_every: EVERY,
        seal: Seal::PLAIN,
        codec: None,
    };
    let peers = [Peer { node: 1 - node, link: 1, weight: 0.5 }];
    let mut bytes = Vec::new();
    let sink = |piece: &[u8]| bytes.extend_from_slice(piece);
    blob::write(&plan, &problem, Start::Number(-2.0), &peers, sink).unwrap();
    leaked(&bytes)
}

/// Makes a node in leaked memory of some bytes.
fn init(bytes: usize, blob: &[u8]) -> (i32, Handle) {
    let memory = Box::leak(vec![u64::MAX; bytes.div_ceil(8)].into_boxed_slice());
    let mut node = null_mut();
    // SAFETY: the memory and the blob are leaked.
    let error = unsafe {
        lopa_node_init(memory.as_mut_ptr(), bytes, blob.as_ptr(), blob.len(), 1, 0, &mut node)
    };
    (error, node)
}

fn size(blob: &[u8]) -> i32 {
    // SAFETY: a slice.
    unsafe { lopa_node_size(blob.as_ptr(), blob.len()) }
}

fn vector(node: Handle, which: u32) -> Vec<u32> {
    let mut values = std::ptr::null();
    // SAFETY: a node, and as many floats as it says.
    let floats = unsafe {
        let len = lopa_node_vector(node, which, &mut values);
        std::slice::from_raw_parts(values, len.try_into().unwrap())
    };
    floats.iter().map(|float| float.to_bits()).collect()
}

/// Runs two nodes until both have finished, or for so many turns.
fn run(nodes: [Handle; 2]) {
    let mut kept = [0; 2];
    for turn in 0..100_000_u64 {
        let now = turn * 1_000;
        let mut steps = [0; 2];
        for own in 0..2 {
            let mut frame = [0; LOPA_FRAME_BYTES];
            // SAFETY: nodes, and slices.
            unsafe {
                steps[own] = lopa_node_poll(nodes[own], now);
                loop {
                    let len =
                        lopa_node_transmit(nodes[own], 1, frame.as_mut_ptr(), frame.len(), now);
                    if len == 0 {
                        break;
                    }
                    let len = len.try_into().unwrap();
                    assert_eq!(lopa_node_receive(nodes[1 - own], 1, frame.as_ptr(), len, now), 0);
                }
                let round = lopa_node_round(nodes[own]);
                let due = round > 0 && round.is_multiple_of(EVERY.into());
                let resting = steps[own] == LOPA_FINISHED && round != kept[own];
                let wanted = lopa_node_checkpoint_wanted(nodes[own]);
                if steps[own] == LOPA_COMPUTE {
                    assert_eq!(wanted, due && round != kept[own], "round {round}");
                }
                assert!(!resting || wanted, "a node that rests wants its last round kept");
                if wanted {
                    let mut saved = [0; 512];
                    let room = saved.len();
                    assert!(lopa_node_save(nodes[own], saved.as_mut_ptr(), room) > 0);
                    assert_eq!(lopa_node_checkpoint_written(nodes[own], true), 0);
                    assert!(!lopa_node_checkpoint_wanted(nodes[own]));
                    kept[own] = round;
                }
                if steps[own] == LOPA_COMPUTE {
                    assert_eq!(lopa_node_compute(nodes[own]), 0);
                    assert_eq!(lopa_node_compute(nodes[own]), LOPA_ERROR_TURN);
                }
            }
        }
        if steps == [LOPA_FINISHED; 2] {
            return;
        }
    }
    panic!("the nodes do not finish");
}

#[test]
fn two_nodes_learn_with_the_bits_of_the_core() {
    let blobs = [0, 1].map(|node| blob(node, true));
    let nodes = blobs.map(|blob| {
        // Its memory is the footprint and a constant.
        let footprint = Blob::read(blob).unwrap().footprint();
        let bytes = LOPA_FIXED_BYTES + footprint.state + footprint.scratch;
        assert_eq!(size(blob), bytes as i32);
        let (error, node) = init(bytes, blob);
        assert_eq!(error, 0);
        node
    });
    run(nodes);

    let blobs = blobs.map(|blob| Blob::read(blob).unwrap());
    let mut memory = [[0.0; 8 * FEATURES]; 2];
    let mut built = Vec::new();
    for (blob, memory) in blobs.iter().zip(&mut memory) {
        built.push(blob.build(memory).unwrap());
    }
    for _ in 0..ROUNDS {
        built.iter_mut().for_each(|(node, scratch)| node.compute(scratch).unwrap());
        let sent: Vec<_> = built
            .iter()
            .map(|(node, _)| (node.state().x.to_vec(), node.state().y.to_vec()))
            .collect();
        for (own, (node, _)) in built.iter_mut().enumerate() {
            let (x, y) = &sent[1 - own];
            // Only builds with few bits have another kind of node.
            #[allow(irrefutable_let_patterns)]
            let BuiltNode::Floats(node) = node else { panic!("{node:?}") };
            node.mix_with([Neighbour { weight: 0.5, x, y }]).unwrap();
        }
    }
    for (node, (same, _)) in nodes.into_iter().zip(&built) {
        let state = same.state();
        for (which, want) in [state.x, state.theta, state.v, state.z, state.y].iter().enumerate() {
            let want: Vec<u32> = want.iter().map(|float| float.to_bits()).collect();
            assert_eq!(vector(node, which as u32), want, "vector {which}");
        }
        // SAFETY: a node, and slices.
        unsafe {
            assert_eq!(lopa_node_round(node), ROUNDS);
            let (mut status, mut label) = (std::mem::zeroed(), 9.0);
            assert_eq!(lopa_node_status(node, &mut status), 0);
            assert_eq!((status.round, status.met, status.dead), (ROUNDS, 1, 0));
            let reading = [1.5, 0.25, 1.0_f32];
            assert_eq!(lopa_node_predict(node, reading.as_ptr(), 3, &mut label), 0);
            let score: f32 = reading.iter().zip(state.theta).map(|(a, b)| a * b).sum();
            assert_eq!(label, if score > 0.0 { 1.0 } else { 0.0 });
            assert_eq!(
                lopa_node_predict(node, reading.as_ptr(), 2, &mut label),
                LOPA_ERROR_FEATURES
            );
        }
    }

    // A checkpoint continues where it was saved, and nothing else is accepted as one.
    // SAFETY: nodes, and slices.
    unsafe {
        let mut saved = vec![0; lopa_node_checkpoint_size(nodes[0]) as usize];
        let len = saved.len();
        // LOPA_LOGISTIC_CHECKPOINT_BYTES in the header.
        assert_eq!(len, 100 + 20 * vector(nodes[0], LOPA_X).len());
        assert_eq!(lopa_node_save(nodes[0], saved.as_mut_ptr(), len - 1), LOPA_ERROR_BUFFER);
        assert_eq!(lopa_node_save(nodes[0], saved.as_mut_ptr(), len), len as i32);
        let (_, fresh) = init(size(blob(0, true)) as usize, blob(0, true));
        assert_eq!(lopa_node_restore(fresh, saved.as_ptr(), len - 1, 0), LOPA_ERROR_CHECKPOINT);
        for place in [0, len / 2] {
            saved[place] ^= 1;
            assert_eq!(lopa_node_restore(fresh, saved.as_ptr(), len, 0), LOPA_ERROR_CHECKPOINT);
            saved[place] ^= 1;
        }
        assert_eq!(lopa_node_restore(fresh, saved.as_ptr(), len, 0), 0);
        assert_eq!(lopa_node_round(fresh), ROUNDS);
        lopa_node_poll(fresh, 0);
        assert!(!lopa_node_checkpoint_wanted(fresh), "it has just been restored");
        for which in LOPA_X..=LOPA_Y {
            assert_eq!(vector(fresh, which), vector(nodes[0], which));
        }
    }
}

#[test]
fn invalid_arguments_are_errors() {
    let good = blob(0, true);
    let bytes = size(good) as usize;
    assert_eq!(init(bytes - 1, good).0, LOPA_ERROR_MEMORY);
    assert_eq!(init(LOPA_FIXED_BYTES - 8, good), (LOPA_ERROR_MEMORY, null_mut()));
    let (error, node) = init(bytes, good);
    assert_eq!(error, 0);
    let (mut frame, mut made) = ([0; LOPA_FRAME_BYTES], null_mut());
    let mut room = vec![0_u64; bytes];
    let room = room.as_mut_ptr();
    // SAFETY: null where that is to be refused, and nodes and slices elsewhere.
    unsafe {
        let make = |memory, blob, made| lopa_node_init(memory, bytes, blob, good.len(), 1, 0, made);
        assert_eq!(make(null_mut(), good.as_ptr(), &mut made), LOPA_ERROR_NULL);
        assert_eq!(make(room, std::ptr::null(), &mut made), LOPA_ERROR_NULL);
        assert_eq!(make(room, good.as_ptr(), null_mut()), LOPA_ERROR_NULL);
        assert_eq!(make(room.byte_add(4), good.as_ptr(), &mut made), LOPA_ERROR_ALIGNMENT);
        assert_eq!(lopa_node_poll(null_mut(), 0), LOPA_ERROR_NULL);
        assert_eq!(lopa_node_poll(room.cast(), 0), LOPA_ERROR_NODE);
        assert_eq!(lopa_node_deadline(null_mut()), u64::MAX);
        assert_eq!(lopa_node_receive(node, LOPA_LINKS, frame.as_ptr(), 1, 0), LOPA_ERROR_LINK);
        let (out, len) = (frame.as_mut_ptr(), frame.len());
        assert_eq!(lopa_node_transmit(node, LOPA_LINKS, out, len, 0), LOPA_ERROR_LINK);
        assert_eq!(lopa_node_transmit(node, 1, out, 9, 0), LOPA_ERROR_BUFFER);
        let mut values = std::ptr::null();
        assert_eq!(lopa_node_vector(node, 5, &mut values), LOPA_ERROR_VECTOR);
    }
    assert_eq!(lopa_self_test(), 0);
}

#[test]
fn a_refused_blob_leaves_a_node_that_says_why() {
    let good = blob(0, true);
    let mut bad = good.to_vec();
    bad[100] ^= 1;
    let other = if cfg!(feature = "all-problems") { 0 } else { LOPA_ERROR_ONLY_LOGISTIC };
    for (bytes, want) in [
        (leaked(&[0xff; 400]), LOPA_ERROR_NO_BLOB),
        (leaked(&bad), LOPA_ERROR_BLOB_CORRUPT),
        (&good[..good.len() - 4], LOPA_ERROR_BLOB_LENGTH),
        (blob(0, false), other),
    ] {
        let (error, node) = init(LOPA_FIXED_BYTES + 4 * 8 * FEATURES, bytes);
        assert_eq!(error, want);
        // SAFETY: a node.
        unsafe {
            assert_eq!(lopa_node_poll(node, 0).min(0), want);
            assert_eq!(lopa_node_compute(node).min(0), want);
        }
    }
}

#[test]
fn every_error_has_a_text_of_its_own() {
    // SAFETY: a text of the library.
    let text = |error| unsafe { CStr::from_ptr(lopa_error_text(error)) }.to_str().unwrap();
    let known: Vec<&str> = (LOPA_ERROR_ONLY_LOGISTIC..0)
        .chain(LOPA_ERROR_BOOT..=LOPA_ERROR_NO_BLOB)
        .map(text)
        .collect();
    for (place, text) in known.iter().enumerate() {
        assert!(*text != "unknown error" && !known[..place].contains(text), "{place}: {text}");
    }
    assert_eq!([text(0), text(-16), text(-1000)], ["no error", "unknown error", "unknown error"]);
}
