//! Blobs of nodes whose vectors travel in few bits: what they hold, and which are refused.

use lopa_core::batch::Sampler;
use lopa_core::blob::{self, Blob, BlobError, Plan, Start, Wiring};
use lopa_core::codec::Codec;
use lopa_core::exchange::{Peer, Timing};
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::{AnyProblem, Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{Cause, Seal, Trouble};

/// One block and a part of another.
const N: usize = 40;
const PEERS: [Peer; 2] =
    [Peer { node: 1, link: 1, weight: 0.25 }, Peer { node: 2, link: 2, weight: 0.5 }];

fn problem() -> AnyProblem<'static> {
    AnyProblem::Quadratic(
        Quadratic::new(QuadraticParts {
            diagonal: &[1.0],
            spike: &[0.0],
            coupling: &[0.25; N],
            shift: &[0.5],
            target: &[1.0],
            centre: &[0.75; N],
            rigidity: 1.0,
        })
        .unwrap(),
    )
}

fn plan(scheme: Scheme, codec: Option<Codec>) -> Plan {
    let steps = StepSizes::new(0.2, 0.5, 0.5, 0.5, 0.5).unwrap();
    Plan {
        network: 7,
        rounds: 100,
        scheme,
        config: Config { steps, sampler: Sampler::full(0) },
        chunk: 32,
        timing: Timing::uart(115_200, 400, 4, 2_000),
        baud: 115_200,
        wiring: Wiring::Direct,
        checkpoint_every: 10,
        seal: Seal::PLAIN,
        codec,
    }
}

fn coded() -> Plan {
    plan(Scheme::GradientTracking, Some(Codec::new(4, -22).unwrap()))
}

/// A blob in words, aligned as it must be.
fn written(plan: &Plan, start: Start<'_>, peers: &[Peer]) -> Vec<u32> {
    let mut bytes = Vec::new();
    blob::write(plan, &problem(), start, peers, |piece| bytes.extend_from_slice(piece)).unwrap();
    bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

fn refused(plan: &Plan, start: Start<'_>, peers: &[Peer]) -> BlobError {
    Blob::read(bytemuck::cast_slice(&written(plan, start, peers))).unwrap_err()
}

#[test]
#[cfg(not(feature = "codec"))]
fn without_the_feature_a_blob_with_a_codec_is_refused_by_name() {
    let error = refused(&coded(), Start::Number(0.0), &PEERS);
    assert_eq!(error, BlobError::Codec);
    assert!(error.to_string().contains("feature codec"), "{error}");
    assert_eq!(Trouble::from(error).cause, Cause::Codec);
}

#[cfg(feature = "codec")]
mod read {
    use super::*;
    use lopa_core::blob::BuiltNode;
    use lopa_core::checkpoint::CheckpointError;
    use lopa_core::codec::LIMIT;
    use lopa_core::exchange::Exchange;
    use lopa_core::footprint::Footprint;
    use lopa_core::wire::Reason;

    #[test]
    fn a_codec_takes_a_word_and_the_memory_of_the_footprint() {
        for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
            let floats = written(&plan(scheme, None), Start::Number(0.5), &PEERS);
            let plain = Blob::read(bytemuck::cast_slice(&floats)).unwrap();
            for bits in [8, 4, 3] {
                let codec = Codec::new(bits, -20).unwrap();
                let words = written(&plan(scheme, Some(codec)), Start::Number(0.5), &PEERS);
                assert_eq!((words.len(), words[1] as u16), (floats.len() + 1, 9));
                let blob = Blob::read(bytemuck::cast_slice(&words)).unwrap();
                assert_eq!((blob.codec(), plain.codec()), (Some(codec), None));
                assert_eq!(blob.identity().difference(&plain.identity()), Some(Reason::Codec));
                let size = Footprint::coded(scheme, N, 1, 0);
                assert_eq!(
                    (4 * blob.floats(), blob.footprint()),
                    (size.state + size.scratch, size)
                );
                let mut memory = vec![f32::NAN; blob.floats()];
                let (node, _) = blob.build(&mut memory).unwrap();
                assert_eq!(node.checkpoint_len(), size.checkpoint);
                let peers: Vec<Peer> = blob.peers().collect();
                let exchange = Exchange::<2, 3, 64>::new(blob.settings(1), &peers, &node, 0);
                assert!(exchange.is_ok());
                let short = blob.floats() - 1;
                let error = blob.build(&mut vec![0.0; short]).unwrap_err();
                let name = "floats of memory";
                assert_eq!(error, BlobError::Capacity { name, needed: short + 1, room: short });
            }
        }
    }

    #[test]
    fn what_an_exchange_or_a_node_would_refuse_is_refused_when_it_is_read() {
        let coded = coded();
        // Chunks of whole blocks, or of the whole vector.
        for (chunk, good) in [(31, false), (33, false), (39, false), (40, true), (64, true)] {
            let words = written(&Plan { chunk, ..coded }, Start::Number(0.0), &PEERS);
            let read = Blob::read(bytemuck::cast_slice(&words)).map(|_| ());
            let wrong = BlobError::Value { name: "chunk" };
            assert_eq!(read, if good { Ok(()) } else { Err(wrong) }, "{chunk}");
        }
        // Weights that make sums exact.
        let third = [PEERS[0], Peer { weight: 1.0 / 3.0, ..PEERS[1] }];
        assert_eq!(refused(&coded, Start::Number(0.0), &third), BlobError::Peer { index: 1 });
        // Values that neighbours can know.
        let most = LIMIT as f32 * coded.codec.unwrap().outer().unit();
        let mut x0 = [0.0; N];
        x0[39] = -most;
        let wrong = BlobError::Value { name: "x0" };
        assert_eq!(refused(&coded, Start::Number(most), &PEERS), wrong);
        assert_eq!(refused(&coded, Start::Vector(&x0), &PEERS), wrong);
        // A codec that does not exist.
        let mut words = written(&coded, Start::Number(0.0), &PEERS);
        let place = words.iter().position(|word| *word == coded.codec.unwrap().identity());
        words[place.unwrap()] = 0;
        let last = words.len() - 1;
        let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
        words[last] = crc.checksum(bytemuck::cast_slice(&words[..last]));
        let wrong = BlobError::Value { name: "codec" };
        assert_eq!(Blob::read(bytemuck::cast_slice(&words)).unwrap_err(), wrong);
        assert_eq!(Trouble::from(wrong).cause, Cause::Value);
    }

    #[test]
    fn checkpoints_continue_a_node_and_not_one_with_another_codec() {
        let words = written(&coded(), Start::Number(0.5), &PEERS);
        let blob = Blob::read(bytemuck::cast_slice(&words)).unwrap();
        let mut memories = [0; 2].map(|_| vec![0.0; blob.floats()]);
        let [one, two] = &mut memories;
        let ((mut node, mut scratch), (mut again, _)) =
            (blob.build(one).unwrap(), blob.build(two).unwrap());
        for _ in 0..3 {
            node.compute(&mut scratch).unwrap();
            let BuiltNode::Coded(coded) = &mut node else { panic!("{node:?}") };
            coded.mix_with([]).unwrap();
        }
        let mut bytes = vec![0; node.checkpoint_len()];
        assert_eq!(node.save(&mut bytes), Ok(bytes.len()));
        let streamed: Vec<u8> = node.checkpoint().unwrap().flat_map(u32::to_le_bytes).collect();
        assert_eq!(
            (streamed.len(), node.checkpoint().unwrap().len() * 4),
            (bytes.len(), bytes.len())
        );
        assert_eq!(streamed, bytes);
        again.restore(&bytes).unwrap();
        assert_eq!(again.state(), node.state());
        let other = Plan { codec: Some(Codec::new(8, -22).unwrap()), ..coded() };
        let words = written(&other, Start::Number(0.5), &PEERS);
        let blob = Blob::read(bytemuck::cast_slice(&words)).unwrap();
        let mut memory = vec![0.0; blob.floats()];
        let (mut other, _) = blob.build(&mut memory).unwrap();
        let wrong = CheckpointError::OtherNode { name: "codec" };
        assert_eq!(other.restore(&bytes), Err(wrong));
    }
}
