//! Checkpoints: restored exactly, or refused.

use crate::common::{N, P, config, gt, lg, quadratic, scratch};
use lopa_core::checkpoint::{self, CheckpointError};
use lopa_core::node::{GtNode, Scheme};

fn run<Pr, X, T, D>(node: &mut lopa_core::node::Node<Pr, X, T, D>, rounds: usize)
where
    Pr: lopa_core::problem::Problem,
    X: lopa_core::vector::Storage,
    T: lopa_core::vector::Storage,
    D: lopa_core::vector::Storage,
{
    for _ in 0..rounds {
        node.compute(&mut scratch()).unwrap();
        node.mix_with([]).unwrap();
    }
}

fn saved() -> Vec<u8> {
    let mut node = gt(2);
    run(&mut node, 11);
    let mut bytes = vec![0; node.checkpoint_len()];
    assert_eq!(node.save(&mut bytes), Ok(bytes.len()));
    bytes
}

#[test]
fn a_restored_node_continues_bit_for_bit() {
    macro_rules! check {
        ($make:ident, $scheme:expr) => {{
            let mut node = $make(2);
            run(&mut node, 11);
            let mut bytes = vec![0; checkpoint::len($scheme, N, P)];
            assert_eq!(node.save(&mut bytes), Ok(node.checkpoint_len()));
            let words: Vec<u8> = node.checkpoint().unwrap().flat_map(u32::to_le_bytes).collect();
            assert_eq!(words, bytes);
            run(&mut node, 30);
            let mut again = $make(2);
            run(&mut again, 5);
            again.restore(&bytes).unwrap();
            assert_eq!(again.state().round, 11);
            run(&mut again, 30);
            assert_eq!(again.state(), node.state());
            assert_eq!(again.evaluations(), node.evaluations());
        }};
    }
    check!(lg, Scheme::LocalGradient);
    check!(gt, Scheme::GradientTracking);
}

#[test]
fn the_format_matches_the_docs() {
    let bytes = saved();
    let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
    assert_eq!(&bytes[..4], b"LoPA");
    // Version and scheme, n, p, seed, node, epoch and its mark, round, five counters of 11.
    let header: Vec<u32> = (1..22).map(word).collect();
    assert_eq!(header, [259, 5, 3, 0, 0, 2, 0, 0, 0, 11, 0, 11, 0, 11, 0, 11, 0, 11, 0, 11, 0]);
    let mut node = gt(2);
    run(&mut node, 11);
    let s = node.state();
    for (i, a) in [s.x, s.theta, s.v, s.z, s.y].concat().iter().enumerate() {
        assert_eq!(word(22 + i), a.to_bits());
    }
    // CRC-32 by its definition, bit by bit.
    let mut crc = u32::MAX;
    for byte in &bytes[..bytes.len() - 4] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    assert_eq!(word(bytes.len() / 4 - 1), !crc);
}

#[test]
fn every_damaged_bit_is_detected() {
    let bytes = saved();
    let mut node = gt(2);
    let fresh = node.state().x.to_vec();
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(node.restore(&damaged).is_err(), "bit {bit}");
        assert_eq!((node.state().x, node.state().round), (&fresh[..], 0));
    }
    node.restore(&bytes).unwrap();
}

#[test]
fn errors_say_what_is_wrong() {
    let bytes = saved();
    let other = |name| Err(CheckpointError::OtherNode { name });
    assert_eq!(lg(2).restore(&bytes), other("scheme"));
    assert_eq!(gt(1).restore(&bytes), other("node number"));
    let mut seeded = config(2);
    seeded.sampler.draws.seed = 1 << 40;
    let mut node = GtNode::<_, N, P>::gradient_tracking(quadratic(2), seeded, [0.0; N]).unwrap();
    assert_eq!(node.restore(&bytes), other("seed"));

    let mut node = gt(2);
    assert_eq!(node.restore(&[0xff; 4096]), Err(CheckpointError::NotACheckpoint));
    assert_eq!(node.restore(&[]), Err(CheckpointError::NotACheckpoint));
    // An earlier version, whose x might mean something else.
    let mut old = bytes.clone();
    old[4] = 2;
    assert_eq!(node.restore(&old), Err(CheckpointError::NotACheckpoint));
    let needed = bytes.len();
    for found in [84, needed - 4, needed - 1] {
        let error = CheckpointError::Length { needed, found };
        assert_eq!(node.restore(&bytes[..found]), Err(error));
    }
    let long = [&bytes[..], &[0]].concat();
    let error = CheckpointError::Length { needed, found: needed + 1 };
    assert_eq!(node.restore(&long), Err(error));
    let mut cut_short = bytes.clone();
    cut_short[needed / 2..].fill(0xff);
    assert_eq!(node.restore(&cut_short), Err(CheckpointError::Corrupt));
    let error = CheckpointError::Length { needed, found: 8 };
    assert_eq!(node.save(&mut [0; 8]), Err(error));

    node.compute(&mut scratch()).unwrap();
    assert_eq!(node.checkpoint().err(), Some(CheckpointError::MidRound));
    // A checkpoint may be restored in the middle of a round, which is then dropped.
    node.restore(&bytes).unwrap();
    assert_eq!(node.state().round, 11);
}

#[test]
fn nan_is_refused_even_with_a_valid_checksum() {
    let mut bytes = saved();
    let last = bytes.len() - 4;
    bytes[100..104].copy_from_slice(&f32::NAN.to_le_bytes());
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&bytes[..last]);
    bytes[last..].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(gt(2).restore(&bytes), Err(CheckpointError::NonFinite));
}
