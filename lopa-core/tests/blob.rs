//! Blobs: the bytes in the docs, round trips of every problem and encoding, and blobs that must be refused.

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::blob::{self, Blob, BlobError, BuiltNode, Capacity, Plan, Start, Wiring};
use lopa_core::draw::Draws;
use lopa_core::exchange::{Exchange, Peer, Timing};
use lopa_core::node::{Buffers, Config, Neighbour, Node, Scheme, Scratch};
use lopa_core::problem::{Problem, ProblemError};
use lopa_core::problems::{
    AnyProblem, Logistic, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer,
};
use lopa_core::samples::{Features, Labels, Samples, SamplesError, Scale};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{self, Seal};

const DOCS: &str = include_str!("../docs/blob.md");

/// Bytes aligned as a blob must be.
struct Aligned {
    words: Vec<u32>,
    len: usize,
}

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let words = bytes.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_ne_bytes(word)
        });
        Self { words: words.collect(), len: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

fn plan(scheme: Scheme) -> Plan {
    let steps = StepSizes::new(0.1, 0.05, 0.04, 0.3, 0.5).unwrap();
    let sampler = Sampler {
        draws: Draws { seed: 0x1_0000_0007, node: 3 },
        size: BatchSize::drawn(2),
        sharing: Sharing::Independent,
    };
    Plan {
        network: 0xfeed_f00d,
        rounds: 1000,
        scheme,
        config: Config { steps, sampler },
        chunk: 2,
        timing: Timing::uart(115_200, 200, 4, 2_000),
        baud: 115_200,
        wiring: Wiring::Direct,
        checkpoint_every: 50,
        seal: Seal::PLAIN,
        codec: None,
    }
}

const PEERS: [Peer; 2] =
    [Peer { node: 2, link: 0, weight: 0.25 }, Peer { node: 4, link: 1, weight: 0.375 }];

fn write(plan: &Plan, problem: &AnyProblem<'_>, start: Start<'_>, peers: &[Peer]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let len = blob::write(plan, problem, start, peers, |piece| bytes.extend_from_slice(piece));
    assert_eq!(len, Ok(bytes.len()));
    bytes
}

/// Every problem, with every encoding of features and labels, both ways to store a validation set, and features with and
/// without scales of their own; strengths with and without a base.
fn problems() -> Vec<AnyProblem<'static>> {
    const U8: [u8; 9] = [0, 128, 255, 9, 7, 200, 1, 2, 3];
    const I8: [i8; 9] = [0, -128, 127, 9, 7, -20, 1, 2, 3];
    const F32: [f32; 9] = [0.0, -0.0, 1.5, -2.0, 0.25, 0.5, 1.0, 2.0, -1.0];
    const BITS: [u8; 3] = [0, 1, 1];
    const CLASSES: [u8; 3] = [2, 0, 1];
    const REAL: [f32; 3] = [0.5, -1.0, 2.0];
    const SCALES: [Scale; 4] = [
        Scale { offset: 0.5, factor: 0.125 },
        Scale { offset: -7.0, factor: 0.25 },
        Scale { offset: 9.0, factor: 0.0 },
        Scale { offset: 0.75, factor: 1.5 },
    ];
    let mut problems = Vec::new();
    for features in [Features::U8(&U8), Features::I8(&I8), Features::F32(&F32)] {
        let set = |labels| Samples::new(features, 3, labels).unwrap().scaled(0.125, 0.5).unwrap();
        let floats = |labels| Samples::new(Features::F32(&F32[..6]), 3, labels).unwrap();
        for twice in [true, false] {
            let pair = |labels, two| {
                let train = set(labels);
                (train, if twice { train } else { floats(two) })
            };
            let (a, b) = pair(Labels::Binary(&BITS), Labels::Binary(&BITS[..2]));
            problems.push(AnyProblem::Logistic(Logistic::new(a, b).unwrap()));
            problems.push(AnyProblem::MetaLogistic(Meta::new(a, b, 1.5).unwrap()));
            let (a, b) = pair(Labels::Real(&REAL), Labels::Real(&REAL[..2]));
            let based = Ridge::new(a, b).unwrap().around(0.75).unwrap();
            problems.push(AnyProblem::Ridge(based));
            problems.push(AnyProblem::MetaSquared(Meta::new(a, b, 2.0).unwrap()));
            let (a, b) = pair(Labels::Class(&CLASSES), Labels::Class(&CLASSES[..2]));
            let layer = SharedLayer::new(a, b, 2, 3, 0.1).unwrap();
            problems.push(AnyProblem::SharedLayer(layer));
        }
    }
    for features in [Features::U8(&U8), Features::I8(&I8), Features::F32(&F32)] {
        let set = |labels| Samples::new(features, 3, labels).unwrap();
        let floats = |labels| Samples::new(Features::F32(&F32[..6]), 3, labels).unwrap();
        let scaled = |samples: Samples<'static>| samples.standardised(&SCALES).unwrap();
        let a = scaled(set(Labels::Binary(&BITS)));
        let based = Logistic::new(a, a).unwrap().around(-2.5).unwrap();
        problems.push(AnyProblem::Logistic(based));
        let (a, b) = (set(Labels::Real(&REAL)), floats(Labels::Real(&REAL[..2])));
        problems.push(AnyProblem::Ridge(Ridge::new(scaled(a), scaled(b)).unwrap()));
    }
    let quadratic = Quadratic::new(QuadraticParts {
        diagonal: &[1.0, 1.5],
        spike: &[0.4, -0.3],
        coupling: &[0.3, -0.2, 0.5, 0.4, 0.1, -0.3],
        shift: &[0.1, -0.2],
        target: &[1.0, -1.0],
        centre: &[0.1, 0.2, 0.3],
        rigidity: 0.3,
    });
    problems.push(AnyProblem::Quadratic(quadratic.unwrap()));
    problems
}

#[test]
fn a_written_blob_reads_back() {
    for problem in problems() {
        let size = problem.dimensions();
        let vector: Vec<f32> = (0..size.outer).map(|i| 0.5 - i as f32).collect();
        for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
            for start in [Start::Number(-1.5), Start::Vector(&vector)] {
                for wiring in [Wiring::Direct, Wiring::Routed, Wiring::Bus] {
                    let plan = Plan { wiring, ..plan(scheme) };
                    let aligned = Aligned::new(&write(&plan, &problem, start, &PEERS));
                    let blob = Blob::read(aligned.bytes()).unwrap();
                    assert_eq!((blob.plan(), blob.problem()), (&plan, problem));
                    assert_eq!((blob.len(), blob.dimensions()), (aligned.len, size));
                    assert!(blob.peers().eq(PEERS));
                    assert_eq!(blob.start(), start);
                    let mut memory = vec![9.0; blob.floats()];
                    let (node, _) = blob.build(&mut memory).unwrap();
                    match start {
                        Start::Number(x0) => assert!(node.state().x.iter().all(|x| *x == x0)),
                        Start::Vector(x0) => assert_eq!(node.state().x, x0),
                    }
                }
            }
        }
    }
}

#[test]
fn a_set_used_twice_is_stored_once() {
    let [once, twice] = [0, 5]
        .map(|at| write(&plan(Scheme::LocalGradient), &problems()[at], Start::Number(0.0), &[]));
    // Two rows of three floats and two labels, padded.
    assert_eq!(once.len() + 4 * 6 + 4, twice.len());
}

#[test]
fn scales_are_read_in_place_and_checked() {
    let (problem, plan) = (problems()[31], plan(Scheme::GradientTracking));
    let good = write(&plan, &problem, Start::Number(0.5), &[]);
    assert_eq!(good[4], 3);
    // Four scales follow the head, the last for targets: feature 1 has the factor in word 51.
    let with = |word: usize, value: f32| {
        let mut bytes = good.clone();
        bytes[4 * word..][..4].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes);
        Blob::read(Aligned::new(&bytes).bytes()).map(|_| ())
    };
    assert_eq!(with(51, 0.0), Ok(()));
    let set = blob::SetName::Training;
    let feature = BlobError::Samples { set, error: SamplesError::Feature { row: 0 } };
    let label = BlobError::Samples { set, error: SamplesError::Label { row: 0 } };
    assert_eq!(with(51, f32::INFINITY), Err(feature));
    assert_eq!(with(50, f32::NAN), Err(feature));
    assert_eq!(with(55, f32::NAN), Err(label));
    let mut wide = good.clone();
    wide[4 * 40..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    seal(&mut wide);
    let error = Blob::read(Aligned::new(&wide).bytes()).unwrap_err();
    assert_eq!(error, BlobError::Section { name: "scales" });

    // Both sets of a node have the same scales, or none.
    let [scaled, _] = problem.samples().unwrap();
    let plain = Samples::new(scaled.features(), 3, scaled.labels()).unwrap();
    let other = plain.standardised(&[Scale::NONE; 4]).unwrap();
    for (a, b) in [(scaled, plain), (plain, scaled), (scaled, other)] {
        let problem = AnyProblem::Ridge(Ridge::new(a, b).unwrap());
        let refused = blob::write(&plan, &problem, Start::Number(0.5), &[], |_| ());
        assert_eq!(refused, Err(BlobError::Value { name: "scale of validation samples" }));
    }
}

/// The bits of a node's state after some rounds with neighbours that do not change.
fn bits<P: Problem>(
    node: &mut Node<P, &mut [f32], &mut [f32], &mut [f32]>,
    scratch: &mut Scratch<&mut [f32], &mut [f32]>,
    peers: &[Peer],
) -> Vec<u32> {
    let len = node.state().x.len();
    let (x, y) = (vec![0.1; len], vec![0.01; len]);
    for _ in 0..5 {
        node.compute(scratch).unwrap();
        node.mix_with(peers.iter().map(|peer| Neighbour { weight: peer.weight, x: &x, y: &y }))
            .unwrap();
    }
    let s = node.state();
    [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
}

#[test]
fn a_node_from_a_blob_computes_the_same_bits() {
    for problem in problems() {
        for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
            let size = problem.dimensions();
            let x0: Vec<f32> = (0..size.outer).map(|i| 0.1 * i as f32 - 0.2).collect();
            let plan = plan(scheme);
            let aligned = Aligned::new(&write(&plan, &problem, Start::Vector(&x0), &PEERS));
            let blob = Blob::read(aligned.bytes()).unwrap();
            let mut memory = vec![7.0; blob.floats() + 3];
            let (mut node, mut scratch) = blob.build(&mut memory).unwrap();
            let peers: Vec<Peer> = blob.peers().collect();
            let read = match &mut node {
                BuiltNode::Floats(node) => bits(node, &mut scratch, &peers),
                #[cfg(feature = "codec")]
                BuiltNode::Coded(node) => panic!("{node:?} has a codec"),
            };

            let zeros = |len: usize| vec![0.0; len];
            let (mut x, mut y, mut z) = (x0, zeros(size.outer), zeros(size.outer));
            let (mut theta, mut v, mut delta) =
                (zeros(size.inner), zeros(size.inner), zeros(size.outer));
            let (mut direction, mut workspace) = (zeros(size.inner), zeros(size.workspace));
            let delta = if scheme == Scheme::GradientTracking { &mut delta[..] } else { &mut [] };
            let buffers = Buffers {
                x: &mut x[..],
                y: &mut y[..],
                z: &mut z[..],
                theta: &mut theta[..],
                v: &mut v[..],
                delta,
            };
            let mut node = Node::new(problem, scheme, plan.config, buffers).unwrap();
            let mut scratch =
                Scratch { direction: &mut direction[..], workspace: &mut workspace[..] };
            assert_eq!(read, bits(&mut node, &mut scratch, &PEERS));
            let short = blob.floats() - 1;
            let error = blob.build(&mut vec![0.0; short]).unwrap_err();
            assert_eq!(
                error,
                BlobError::Capacity { name: "floats of memory", needed: short + 1, room: short }
            );
        }
    }
}

#[test]
fn an_exchange_accepts_the_settings_of_a_blob() {
    let bytes = Aligned::new(&write(
        &plan(Scheme::GradientTracking),
        &problems()[0],
        Start::Number(0.0),
        &PEERS,
    ));
    let blob = Blob::read(bytes.bytes()).unwrap();
    let settings = blob.settings(5);
    assert_eq!((settings.node, settings.rounds, settings.boot), (3, 1000, 5));
    assert_eq!(settings.timing, plan(Scheme::GradientTracking).timing);
    let peers: Vec<Peer> = blob.peers().collect();
    let mut memory = vec![0.0; blob.floats()];
    let (node, _) = blob.build(&mut memory).unwrap();
    assert!(Exchange::<2, 2, 8, 1>::new(settings, &peers, &node, 0).is_ok());
    // Another network has another greeting.
    let other = Plan { network: 1, ..plan(Scheme::GradientTracking) };
    let bytes = Aligned::new(&write(&other, &problems()[0], Start::Number(0.0), &PEERS));
    let difference = Blob::read(bytes.bytes()).unwrap().identity().difference(&blob.identity());
    assert_eq!(difference, Some(wire::Reason::Configuration));
}

#[test]
fn nodes_with_other_bases_refuse_each_other() {
    let plan = plan(Scheme::GradientTracking);
    let AnyProblem::Logistic(problem) = problems()[0] else { panic!("not logistic") };
    let around = |base| AnyProblem::Logistic(problem.around(base).unwrap());
    let blob = |base| Aligned::new(&write(&plan, &around(base), Start::Number(0.0), &PEERS));
    let [none, minus, six, seven] = [0.0, -0.0, -6.0, -7.0].map(blob);
    // A reader that knows no bases must not skip one.
    assert_eq!([&none, &minus, &six, &seven].map(|blob| blob.bytes()[4]), [1, 1, 5, 5]);
    let [none, minus, six, seven] =
        [&none, &minus, &six, &seven].map(|blob| Blob::read(blob.bytes()).unwrap().identity());
    assert_eq!(none.difference(&minus), None);
    for (one, other) in [(none, six), (six, seven), (none, seven)] {
        assert_eq!(one.difference(&other), Some(wire::Reason::Configuration));
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(problem.around(bad), Err(ProblemError::Parameter { name: "base" }));
        let mut bytes = write(&plan, &around(-6.0), Start::Number(0.0), &PEERS);
        bytes[4 * 20..][..4].copy_from_slice(&bad.to_le_bytes());
        seal(&mut bytes);
        let error = Blob::read(Aligned::new(&bytes).bytes()).unwrap_err();
        assert_eq!(error, BlobError::Problem(ProblemError::Parameter { name: "base" }));
    }
    // Versions before bases ignored the word.
    let mut old = write(&plan, &around(0.0), Start::Number(0.0), &PEERS);
    old[4 * 20..][..4].copy_from_slice(&1.0_f32.to_le_bytes());
    seal(&mut old);
    assert_eq!(Blob::read(Aligned::new(&old).bytes()).unwrap().problem().base(), 0.0);
}

#[test]
fn errors_name_what_does_not_fit() {
    let bytes = Aligned::new(&write(
        &plan(Scheme::GradientTracking),
        &problems()[0],
        Start::Number(0.0),
        &PEERS,
    ));
    let blob = Blob::read(bytes.bytes()).unwrap();
    let room = Capacity { floats: blob.floats(), neighbours: 2, links: 2, values: 4 };
    assert_eq!(blob.fits(&room), Ok(()));
    for (room, short) in [
        (Capacity { floats: blob.floats() - 1, ..room }, "floats of memory"),
        (Capacity { neighbours: 1, ..room }, "neighbours"),
        (Capacity { links: 1, ..room }, "links"),
        (Capacity { values: 3, ..room }, "floats per chunk"),
    ] {
        let error = blob.fits(&room).unwrap_err();
        assert!(matches!(error, BlobError::Capacity { name, .. } if name == short), "{error}");
    }
}

#[test]
fn every_changed_byte_is_refused() {
    for problem in [problems()[0], problems()[9], problems()[31], *problems().last().unwrap()] {
        let bytes = write(&plan(Scheme::GradientTracking), &problem, Start::Number(0.5), &PEERS);
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                assert!(Blob::read(Aligned::new(&bytes).bytes()).is_err(), "byte {at} ^ {change}");
            }
        }
    }
}

#[test]
fn truncated_or_misaligned_blobs_are_refused_and_bytes_after_them_ignored() {
    let bytes = write(&plan(Scheme::LocalGradient), &problems()[0], Start::Number(0.5), &PEERS);
    for len in 0..bytes.len() {
        let error = Blob::read(Aligned::new(&bytes[..len]).bytes()).unwrap_err();
        let expected = if len < 4 {
            BlobError::NotABlob
        } else if len < 8 {
            BlobError::Version { found: 0 }
        } else if len < 12 {
            BlobError::Length { needed: 4 * 49, found: 0 }
        } else {
            BlobError::Length { needed: bytes.len(), found: len }
        };
        assert_eq!(error, expected, "{len} bytes");
    }
    let mut longer = bytes.clone();
    longer.extend([0xff; 7]);
    assert_eq!(Blob::read(Aligned::new(&longer).bytes()).unwrap().len(), bytes.len());
    for shift in 1..4 {
        let mut shifted = vec![0; shift];
        shifted.extend(&bytes);
        let shifted = Aligned::new(&shifted);
        assert_eq!(Blob::read(&shifted.bytes()[shift..]), Err(BlobError::Memory));
    }
    let erased = Aligned::new(&[0xff; 4096]);
    assert_eq!(Blob::read(erased.bytes()), Err(BlobError::NotABlob));
}

/// Corrects the checksum.
fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let mut crc = u32::MAX;
    for byte in &bytes[..at] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    bytes[at..].copy_from_slice(&(!crc).to_le_bytes());
}

/// Invalid blobs with a correct checksum: none may cause a panic, and those that are read must be usable.
#[test]
fn no_bytes_cause_a_panic() {
    let mut stream = Draws { seed: 11, node: 0 }.stream(0, lopa_core::draw::Purpose::custom(1));
    let mut random = move |below: usize| (stream.next() as usize) % below;
    let (mut read, mut refused) = (0, 0);
    for (number, problem) in problems().iter().enumerate() {
        let x0 = vec![0.5; problem.dimensions().outer];
        let start = if number % 2 == 0 { Start::Vector(&x0) } else { Start::Number(0.5) };
        let good = write(&plan(Scheme::GradientTracking), problem, start, &PEERS);
        let edges = [0, 1, 2, 0x7f, 0x80, 0xff];
        let mut try_out = |bytes: &mut Vec<u8>| {
            seal(bytes);
            let aligned = Aligned::new(bytes);
            let Ok(blob) = Blob::read(aligned.bytes()) else {
                refused += 1;
                return;
            };
            read += 1;
            let _ = (blob.settings(1), blob.footprint(), blob.peers().count());
            let room = Capacity { floats: 1 << 16, neighbours: 4, links: 4, values: 64 };
            if blob.fits(&room).is_ok() && blob.plan().config.sampler.size != BatchSize::Full {
                let mut memory = vec![0.0; blob.floats()];
                let _ = blob.build(&mut memory).map(|_| ());
            }
        };
        // Every byte of the head and the first sections with extreme values, then many at random.
        for at in 12..good.len().min(320) - 4 {
            for value in edges {
                let mut bytes = good.clone();
                bytes[at] = value;
                try_out(&mut bytes);
            }
        }
        for _ in 0..500 {
            let mut bytes = good.clone();
            for _ in 0..=random(4) {
                let at = 4 + random(bytes.len() - 8);
                bytes[at] = random(256) as u8;
            }
            try_out(&mut bytes);
            // Cut short, with a length to match.
            let len = 4 * (1 + random(good.len() / 4));
            let mut bytes = good[..len].to_vec();
            if len > 12 {
                bytes[8..12].copy_from_slice(&(len as u32).to_le_bytes());
            }
            try_out(&mut bytes);
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn errors_name_the_invalid_field() {
    let good = write(&plan(Scheme::GradientTracking), &problems()[0], Start::Number(0.5), &PEERS);
    let with = |word: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[4 * word..][..4].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes);
        Blob::read(Aligned::new(&bytes).bytes()).map(|_| ()).unwrap_err().to_string()
    };
    for (word, value, expected) in [
        (0, 7, "not a blob"),
        (1, 17 | 48 << 16, "version 17, this build reads up to 16"),
        (1, 48 << 16, "version 0, this build reads up to 16"),
        // What follows are samples: read as scales, too little is left.
        (1, 3 | 48 << 16, "\"scales\" does not have the length"),
        (1, 1 | 47 << 16, "needs 196 bytes"),
        (2, 8, "needs 196 bytes, there are 8"),
        (4, 0x10000, "node number is out of range"),
        (5, 9, "kind of problem is out of range"),
        (5, 0x0200, "scheme is out of range"),
        (5, 0x1_0100, "for nodes with Micromath, this build has Libm"),
        (11, f32::NAN.to_bits(), "alpha = NaN is out of range"),
        (16, 4, "dimension is out of range"),
        (21, 0, "chunk is out of range"),
        (22, 0, "baud rate is out of range"),
        (23, 2 << 16 | 3, "wiring is out of range"),
        (23, 3 << 16, "neighbour 2"),
        (25, f32::INFINITY.to_bits(), "x0 is out of range"),
        (32, 63, "timing is out of range"),
        (38, 3, "encoding of features is out of range"),
        (39, 400, "\"features\" does not have the length"),
        (41, 0, "training set: scale must be finite"),
        (48, 3, "neighbour 0 of the blob"),
        (57, 9, "training set: the label of row 0 is out of range"),
    ] {
        let error = with(word, value);
        assert!(error.contains(expected), "word {word}: {error}");
    }
    let error = BlobError::Samples { set: blob::SetName::Validation, error: SamplesError::Empty };
    assert!(error.to_string().starts_with("validation set: no samples"));
    // A longer head of a later build is read; its additions are skipped.
    let mut longer = good;
    longer.splice(4 * 48..4 * 48, [1, 2, 3, 4]);
    longer[4..8].copy_from_slice(&(1 | 49_u32 << 16).to_le_bytes());
    let len = longer.len() as u32;
    longer[8..12].copy_from_slice(&len.to_le_bytes());
    seal(&mut longer);
    assert!(Blob::read(Aligned::new(&longer).bytes()).is_ok());
}

/// A blob with a key, made from one without: another version, and eight words after the head.
fn with_key(plain: &[u8], key: &[u8; 32]) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    bytes.splice(4 * 48..4 * 48, *key);
    bytes[4] += 1;
    let len = bytes.len() as u32;
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
    seal(&mut bytes);
    bytes
}

#[cfg(not(feature = "encrypt"))]
#[test]
fn without_encryption_a_blob_with_a_key_is_refused_by_name() {
    let plain = write(&plan(Scheme::GradientTracking), &problems()[0], Start::Number(0.5), &PEERS);
    let mut keyed = with_key(&plain, &[7; 32]);
    let error = Blob::read(Aligned::new(&keyed).bytes()).unwrap_err();
    assert_eq!(error, BlobError::Key);
    assert!(error.to_string().contains("feature encrypt"), "{error}");
    assert_eq!(wire::Trouble::from(error).cause, wire::Cause::Key);
    // Damage is reported first.
    keyed[200] ^= 1;
    assert_eq!(Blob::read(Aligned::new(&keyed).bytes()).unwrap_err(), BlobError::Corrupt);
}

#[cfg(feature = "encrypt")]
#[test]
fn a_key_travels_in_the_blob_and_changes_nothing_else() {
    let key: [u8; 32] = std::array::from_fn(|i| 3 * i as u8 + 1);
    for problem in &problems() {
        let open = plan(Scheme::GradientTracking);
        let plain = write(&open, problem, Start::Number(0.5), &PEERS);
        let secret = Plan { seal: Seal::keyed(key), ..open };
        let keyed = write(&secret, problem, Start::Number(0.5), &PEERS);
        assert_eq!(keyed, with_key(&plain, &key));
        let (plain, keyed) = (Aligned::new(&plain), Aligned::new(&keyed));
        let (a, b) = (Blob::read(plain.bytes()).unwrap(), Blob::read(keyed.bytes()).unwrap());
        assert_eq!((a.settings(4).seal, b.settings(4).seal), (Seal::PLAIN, Seal::keyed(key)));
        // What neighbours compare, and what is learned, is the same.
        assert_eq!((a.identity(), a.floats(), b.len()), (b.identity(), b.floats(), a.len() + 32));
        assert_eq!(
            (a.problem(), *a.plan()),
            (b.problem(), Plan { seal: Seal::PLAIN, ..*b.plan() })
        );
        let printed = format!("{b:?} {:?} {:?}", b.plan(), b.settings(4));
        assert!(!printed.contains("1, 4, 7") && printed.contains("Seal"), "{printed}");
    }
}

#[test]
fn the_example_in_the_docs_is_what_is_written() {
    let example = DOCS.split("```text\nblob\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut bytes = Vec::new();
    for line in example.expect("an example").lines() {
        let line = line.trim_start();
        let hex = line.split("  ").next().unwrap_or("");
        bytes.extend(hex.split(' ').filter_map(|byte| u8::from_str_radix(byte, 16).ok()));
    }
    let samples = Samples::new(Features::U8(&[0, 128, 255, 9, 7, 200]), 3, Labels::Binary(&[0, 1]))
        .unwrap()
        .scaled(1.0 / 255.0, 0.0)
        .unwrap();
    let problem = Logistic::new(samples, samples).and_then(|problem| problem.around(-4.0));
    let problem = AnyProblem::Logistic(problem.unwrap());
    let written = write(&plan(Scheme::GradientTracking), &problem, Start::Number(0.0), &PEERS);
    let dump: Vec<String> = written
        .chunks(4)
        .map(|word| word.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(bytes, written, "\n{}", dump.join("\n"));
}
