//! Few bits on the wire, in-process: `links.bits` in a file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lopa_core::batch::Sampler;
use lopa_core::codec::{BLOCK, Block, Codec, CodedNeighbour, Grid, Share};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::network::NetworkError;
use lopa_core::node::{Config, NodeError, Scheme};
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::problems::Quadratic;
use lopa_core::steps::StepSizes;
use lopa_core::vector::add_gap;
use lopa_host::config::{Experiment, LinksTable};
use lopa_host::network::{
    CodedSimulatedNode, CodedSimulation, InProcess, Member, Outbox, SimulatedNode, Simulation,
    Vectors,
};
use lopa_host::paper::{Mode, Study};
use lopa_host::quadratics::{QuadraticData, QuadraticRecipe};
use lopa_host::run::{Options, Prepared};
use lopa_host::topology::{Topology, Weights};

use crate::common::{lopa, network, said};

/// The table of a file whose values travel in few bits, in-process.
fn links(bits: u32) -> String {
    format!("[links]\nbits = {bits}\nsimulate = false\n[run]")
}

fn prepared(text: &str) -> Prepared {
    Prepared::new(Experiment::parse(text).unwrap()).unwrap()
}

/// Different quadratics on a graph.
struct Setting {
    data: Vec<QuadraticData>,
    weights: Weights,
    scheme: Scheme,
    /// Where every element of x starts.
    start: f32,
}

impl Setting {
    fn new(topology: &Topology, outer: usize, scheme: Scheme) -> Self {
        let recipe = QuadraticRecipe::new(outer, 3, 1.0, 7);
        let data = (0..topology.nodes() as u32).map(|node| recipe.node(node)).collect();
        let weights = Weights::metropolis(topology).in_256ths().unwrap();
        Self { data, weights, scheme, start: 0.2 }
    }

    fn floats(&self) -> Simulation<Quadratic<'_>> {
        let steps = StepSizes::new(0.1, 0.3, 0.3, 0.5, 0.5).unwrap();
        let config = |node| Config { steps, sampler: Sampler::full(node) };
        let problems = self.data.iter().map(|data| data.problem().unwrap());
        let edges = self.weights.edges().to_vec();
        Simulation::new(problems, self.scheme, edges, |n| vec![self.start; n], config).unwrap()
    }

    fn coded(&self, bits: u32) -> CodedSimulation<Quadratic<'_>> {
        let codec = Codec::new(bits, Codec::USUAL_UNIT).unwrap();
        let edges = self.weights.edges().to_vec();
        CodedSimulation::coded(self.floats().into_nodes(), edges, codec).unwrap()
    }
}

/// Every bit of a node.
fn bits<P: Problem>(node: &CodedSimulatedNode<P>) -> (Vec<u32>, Vec<i32>) {
    let (s, l) = (node.state(), node.ledgers());
    let floats = [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect();
    (floats, [&l.x_known[..], &l.x_gap, &l.y_known, &l.y_gap].concat())
}

/// The bytes of what a node sends in the round that it has computed, counted by writing them.
fn written<P: Problem>(node: &CodedSimulatedNode<P>) -> usize {
    let (state, ledgers, codec) = (node.state(), node.ledgers(), node.codec());
    let y: &[f32] = if ledgers.y_known.is_empty() { &[] } else { state.y };
    // Zeros are as many blocks that do not change.
    if node.is_opening() && state.x.iter().chain(y).any(|value| *value != 0.0) {
        return 4 * (state.x.len() + y.len());
    }
    let count = |grid: Grid, values: &[f32], known: &[i32]| -> usize {
        let blocks = values.chunks(BLOCK).zip(known.chunks(BLOCK));
        let block = |(values, known): (&[f32], &[i32])| {
            let block = Block::quantise(codec.bits(), grid, values, known);
            block.write(codec.bits(), &mut [0; Block::LONGEST]).unwrap()
        };
        blocks.map(block).sum()
    };
    let direction = codec.direction(node.node().config().steps.alpha());
    count(codec.outer(), state.x, &ledgers.x_known) + count(direction, y, &ledgers.y_known)
}

/// The network in-process against the nodes' own functions, called one after the other: bits, and bytes as written.
#[test]
fn a_network_does_what_its_nodes_do_one_by_one() {
    for seed in 0..40 {
        let mut stream = Draws { seed, node: 0 }.stream(0, Purpose::custom(19));
        let mut below = |bound: u32| stream.below(bound.try_into().unwrap());
        let nodes = 2 + below(7);
        let topology = match below(4) {
            0 => Topology::ring(nodes),
            1 => Topology::star(nodes).unwrap(),
            2 => Topology::complete(nodes).unwrap(),
            _ => Topology::path(nodes).unwrap(),
        };
        let tracking = below(2) == 0;
        let scheme = if tracking { Scheme::GradientTracking } else { Scheme::LocalGradient };
        let (outer, width) = (1 + below(80) as usize, [8, 4, 3][below(3) as usize]);
        let start = [0.2, 0.0][below(2) as usize];
        let setting = Setting { start, ..Setting::new(&topology, outer, scheme) };
        let mut network = setting.coded(width);
        let mut alone = setting.coded(width).into_nodes();
        let mut scratch = SimulatedNode::<Quadratic<'_>>::scratch(3, 0);
        let mut bytes = 0;
        for _ in 0..25 {
            network.round().unwrap();
            let mut sent = Vec::new();
            for (number, node) in alone.iter_mut().enumerate() {
                node.compute(&mut scratch).unwrap();
                let mut own = [vec![0; outer], vec![0; if tracking { outer } else { 0 }]];
                let [x, y] = &mut own;
                node.changes(x, y);
                sent.push(own);
                bytes += written(node) * setting.weights.degrees()[number];
            }
            for (number, node) in alone.iter_mut().enumerate() {
                let edges = setting.weights.edges();
                let own = edges.iter().filter(|edge| edge.node as usize == number);
                // In another order: sums of integers have none.
                let theirs: Vec<_> = own.rev().collect();
                let theirs = theirs.into_iter().map(|edge| {
                    let [x, y] = &sent[edge.neighbour as usize];
                    CodedNeighbour { share: Share::of(edge.weight).unwrap(), x, y }
                });
                node.mix_with(theirs).unwrap();
            }
        }
        for (found, want) in network.nodes().iter().zip(&alone) {
            assert_eq!(bits(found), bits(want), "seed {seed}");
        }
        assert_eq!(network.bytes(), bytes as u64, "seed {seed}");
    }
}

#[test]
fn weights_that_are_not_exact_are_refused() {
    let setting = Setting::new(&Topology::ring(4), 5, Scheme::GradientTracking);
    let nodes = || setting.floats().into_nodes();
    let codec = Codec::new(8, -22).unwrap();
    let thirds = Topology::ring(4).metropolis();
    let error = CodedSimulation::coded(nodes(), thirds, codec).unwrap_err();
    assert_eq!(error, NetworkError::Weight { index: 0 });
    let out = CodedSimulation::coded(nodes(), Vec::new(), Codec::new(8, -60).unwrap()).unwrap_err();
    assert!(matches!(out, NetworkError::Node { node: 0, error: NodeError::Range(_) }), "{out}");
}

/// A node that rounds what it sends to a few bits, and keeps no account of what that leaves out.
struct Rounding<P>(SimulatedNode<P>, Codec);

impl<P: Problem + Send + Sync> Member for Rounding<P> {
    type Scratch = <SimulatedNode<P> as Member>::Scratch;
    type Sent = f32;

    fn dimensions(&self) -> Dimensions {
        self.0.dimensions()
    }

    fn scratch(inner: usize, workspace: usize) -> Self::Scratch {
        SimulatedNode::<P>::scratch(inner, workspace)
    }

    fn compute(&mut self, scratch: &mut Self::Scratch) -> Result<(), NodeError> {
        self.0.compute(scratch)
    }

    fn lengths(&self) -> [usize; 2] {
        self.0.lengths()
    }

    fn send(&mut self, [x, y]: &mut Outbox<f32>) -> usize {
        let state = self.0.state();
        x.copy_from_slice(state.x);
        y.copy_from_slice(&state.y[..y.len()]);
        let direction = self.1.direction(self.0.config().steps.alpha());
        for (vector, grid) in [(x, self.1.outer()), (y, direction)] {
            for block in vector.chunks_mut(BLOCK) {
                let rounded = Block::quantise(self.1.bits(), grid, block, &[0; BLOCK]).changes();
                block
                    .iter_mut()
                    .zip(rounded)
                    .for_each(|(a, units)| *a = units as f32 * grid.unit());
            }
        }
        0
    }

    fn mix<'a>(
        &mut self,
        own: Vectors<'a, f32>,
        neighbours: impl Iterator<Item = (f32, Vectors<'a, f32>)> + Clone,
        mut gaps: [&mut [f32]; 2],
    ) -> Result<(), NodeError> {
        gaps.iter_mut().for_each(|gap| gap.fill(0.0));
        for (weight, theirs) in neighbours {
            for ((gap, theirs), own) in gaps.iter_mut().zip(theirs).zip(own) {
                add_gap(gap, weight, theirs, own);
            }
        }
        self.0.mix(gaps[0], gaps[1])
    }
}

/// The largest distance of any element of x of any node from that of the same node in another network.
fn apart<'a>(xs: impl Iterator<Item = &'a [f32]>, others: impl Iterator<Item = &'a [f32]>) -> f64 {
    let both = xs.zip(others).flat_map(|(x, other)| x.iter().zip(other));
    both.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max)
}

#[test]
fn rounding_without_a_ledger_ends_far_from_floats() {
    let setting = Setting::new(&Topology::ring(6), 40, Scheme::GradientTracking);
    let (mut floats, mut coded) = (setting.floats(), setting.coded(4));
    let codec = Codec::new(4, Codec::USUAL_UNIT).unwrap();
    let nodes = setting.floats().into_nodes().into_iter().map(|node| Rounding(node, codec));
    let edges = setting.weights.edges().to_vec();
    let mut rounding = InProcess::join(nodes.collect(), edges).unwrap();
    for _ in 0..2_000 {
        floats.round().unwrap();
        coded.round().unwrap();
        rounding.round().unwrap();
    }
    let want = || floats.nodes().iter().map(|node| node.state().x);
    let with_ledger = apart(coded.nodes().iter().map(|node| node.state().x), want());
    let without = apart(rounding.nodes().iter().map(|node| node.0.state().x), want());
    println!("{with_ledger:e} {without:e}");
    assert!(with_ledger < 2.0e-5, "{with_ledger:e}");
    assert!(without > 1.0e-2, "{without:e}");
}

/// Samples, each with a class, a number and six features.
fn samples(classes: u32, real: bool) -> String {
    let mut state = 1_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        f64::from((state >> 33) as u32) / f64::from(1_u32 << 30) - 1.0
    };
    let mut text = String::new();
    for _ in 0..360 {
        let features: Vec<f64> = (0..6).map(|_| number()).collect();
        let score = features[0] + 0.5 * features[1] - features[2] + 0.3 * number();
        let class = ((score + 1.5) * f64::from(classes) / 3.0).clamp(0.0, f64::from(classes - 1));
        match real {
            true => write!(text, "{score}").unwrap(),
            false => write!(text, "{}", class as u32).unwrap(),
        }
        features.iter().for_each(|feature| write!(text, ",{feature}").unwrap());
        text.push('\n');
    }
    text
}

fn slices(xs: &[Vec<f32>]) -> impl Iterator<Item = &[f32]> {
    xs.iter().map(Vec::as_slice)
}

/// x of every node at the end.
fn end(text: &str) -> Vec<Vec<f32>> {
    let prepared = prepared(text);
    let outcome = prepared.run(Options::default(), |_| ()).unwrap();
    outcome.nodes().iter().map(|node| node.x.to_vec()).collect()
}

/// A ring of six nodes whose weights are exact already: 1/4 to each neighbour.
fn ring(dir: &Path) {
    let row = |i: usize| {
        let weight = |j: usize| match (6 + i - j) % 6 {
            0 => "0.5",
            1 | 5 => "0.25",
            _ => "0",
        };
        (0..6).map(weight).collect::<Vec<_>>().join(",") + "\n"
    };
    fs::write(dir.join("ring.csv"), (0..6).map(row).collect::<String>()).unwrap();
}

#[test]
fn every_problem_ends_where_it_does_with_floats() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{:?}", dir.path().join(name));
    ring(dir.path());
    for (name, classes, real) in
        [("two.csv", 2, false), ("three.csv", 3, false), ("real.csv", 2, true)]
    {
        fs::write(dir.path().join(name), samples(classes, real)).unwrap();
    }
    for (kind, file, start) in [
        ("kind = \"logistic\"", "two.csv", "-3.0"),
        ("kind = \"ridge\"", "real.csv", "-3.0"),
        ("kind = \"shared-layer\"\nhidden = 4\nmu = 0.1", "three.csv", "{ random = 0.5 }"),
        ("kind = \"meta-logistic\"\nnu = 4.0", "two.csv", "0.1"),
        ("kind = \"meta-squared\"\nnu = 4.0", "real.csv", "0.1"),
    ] {
        let source = format!("source = \"csv\"\nfile = {}\nintercept = false", path(file));
        let weights = format!("nodes = 6\nweights = {}", path("ring.csv"));
        let start = format!("x0 = {start}");
        let base: &[(&str, &str)] = &[
            ("nodes = 4", &weights),
            ("kind = \"logistic\"", kind),
            ("source = \"synthetic\"", &source),
            ("x0 = -3.0", &start),
            ("iterations = 60", "iterations = 1000"),
            ("record_every = 20", "record_every = 1000\nmetrics = [\"outer_loss\"]"),
        ];
        for scheme in ["lopa-gt", "lopa-lg"] {
            for batch in ["10", "\"full\""] {
                let batch = format!("batch = {batch}");
                let own = [("lopa-gt", scheme), ("batch = 10", &batch[..])];
                let floats = network(&[base, &own].concat());
                let want = end(&floats);
                // One round with steps of nothing: where x started.
                let still = floats.replace("alpha = 0.3", "alpha = 1e-30").replace("= 1000", "= 1");
                let began = end(&still);
                let way = apart(slices(&want), slices(&began));
                for (bits, most) in [(8, 1.0e-4), (4, 1.0e-3), (3, 3.0e-3)] {
                    let text = floats.replace("[run]", &links(bits));
                    assert_eq!(prepared(&text).weights(), prepared(&floats).weights());
                    let found = end(&text);
                    let off = apart(slices(&found), slices(&want));
                    println!(
                        "{kind:?} {scheme} {batch} {bits} bits: {:.1e} of {way:.2}",
                        off / way
                    );
                    assert!(off > 0.0 && way > 0.01, "{off} {way}");
                    assert!(off < most * way, "{kind} {scheme} {batch} {bits}: {off:e} of {way}");
                }
            }
        }
    }
}

#[test]
fn threads_do_not_change_results() {
    let dir = tempfile::tempdir().unwrap();
    for (width, scheme) in [(8, "lopa-lg"), (4, "lopa-gt"), (3, "lopa-gt")] {
        let text =
            network(&[("nodes = 4", "nodes = 9"), ("lopa-gt", scheme), ("[run]", &links(width))]);
        fs::write(dir.path().join("network.toml"), text).unwrap();
        let results = ["1", "2", "8"].map(|threads| {
            let out = format!("{width}-{threads}");
            let output =
                lopa(dir.path(), &["run", "network.toml", "--out", &out, "--threads", threads]);
            assert!(output.status.success(), "{}", said(&output));
            let read = |name: &str| fs::read_to_string(dir.path().join(&out).join(name)).unwrap();
            let metrics = read("metrics.csv");
            // Without the seconds.
            let rows = metrics.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned());
            (read("state.json"), rows.collect::<Vec<_>>())
        });
        assert!(results[0] == results[1] && results[1] == results[2]);
    }
}

#[test]
fn bytes_are_counted_and_the_report_says_what_travels() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, table: &str| {
        let text = network(&[("[run]", table), ("record_every = 20", "record_every = 1")]);
        // A start in the table takes the place of the usual one.
        let text = if table.contains("x0") { text.replace("\nx0 = -3.0", "") } else { text };
        fs::write(dir.path().join("network.toml"), text).unwrap();
        let output = lopa(dir.path(), &["run", "network.toml", "--out", name]);
        assert!(output.status.success(), "{}", said(&output));
        let read = |file: &str| fs::read_to_string(dir.path().join(name).join(file)).unwrap();
        let csv = read("metrics.csv");
        let column =
            |name: &str| csv.lines().next().unwrap().split(',').position(|own| own == name);
        let (bytes, frames) = (column("bytes").unwrap(), column("frames").unwrap());
        let cell = |line: &str, at: usize| line.split(',').nth(at).unwrap().to_owned();
        assert!(csv.lines().skip(1).all(|line| cell(line, frames).is_empty()), "{csv}");
        let bytes = csv.lines().skip(1).map(|line| cell(line, bytes).parse::<u64>().unwrap_or(0));
        (bytes.collect::<Vec<_>>(), read("report.html"), read("summary.json"))
    };
    // Four nodes with two neighbours, and x and y of 24 elements.
    let round = 4 * 2 * 2;
    let (floats, page, summary) = run("floats", "[links]\nsimulate = false\n[run]");
    assert!(
        (0..=60).map(|rounds| rounds * round * 4 * 24).eq(floats.iter().copied()),
        "{floats:?}"
    );
    assert!(!page.contains("1/256") && !summary.contains("rho_unrounded"));
    let (none, ..) = run("no-links", "[run]");
    assert!(none.iter().all(|bytes| *bytes == 0));
    for (bits, block) in [(8, 25), (4, 13), (3, 10)] {
        // Where x does not start with zeros, the first round sends floats.
        let (elsewhere, ..) =
            run(&format!("elsewhere-{bits}"), &(links(bits) + "\nx0 = { random = 0.5 }"));
        assert_eq!(elsewhere[..2], [0, floats[1]]);
        let (bytes, page, summary) = run(&bits.to_string(), &links(bits));
        // The first round sends zeros, and the others one block per vector, or one byte if nothing changes.
        assert_eq!(bytes[..2], [0, round]);
        let rounds: Vec<u64> = bytes.windows(2).map(|pair| pair[1] - pair[0]).skip(1).collect();
        assert!(rounds.iter().all(|own| (round..=round * block).contains(own)), "{rounds:?}");
        assert_eq!(rounds.iter().max(), Some(&(round * block)));
        assert!(page.contains(&format!("Values travel as differences of {bits} bits.")), "{bits}");
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let weights = Weights::metropolis(&Topology::ring(4));
        let rho = |weights: &Weights| serde_json::Value::from(weights.spectrum().rho());
        assert_eq!(summary["rho"], rho(&weights.in_256ths().unwrap()));
        assert_eq!(summary["rho_unrounded"], rho(&weights));
        assert_eq!(summary["experiment"]["links"]["bits"], bits);
    }
}

#[test]
fn weights_are_exact_where_few_bits_travel() {
    let floats = prepared(&network(&[]));
    let weights = Weights::metropolis(&Topology::ring(4));
    assert_eq!(floats.weights(), &weights);
    let table = LinksTable { bits: Some(4), simulate: false, ..LinksTable::default() };
    let coded = floats.with(|experiment| experiment.links = Some(table.clone())).unwrap();
    assert_eq!(coded.weights(), &weights.in_256ths().unwrap());
    assert_eq!(prepared(&network(&[("[run]", &links(4))])).weights(), coded.weights());
    assert_eq!(coded.with(|experiment| experiment.links = None).unwrap().weights(), &weights);
    let alone = coded.alone();
    assert_eq!(alone.with(|experiment| experiment.links = None).unwrap().weights().edges(), []);
    assert_eq!(alone.weights().edges(), []);
}

#[test]
fn chosen_steps_are_tested_with_few_bits() {
    let open = ("alpha = 0.3\nbeta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5\n", "");
    let text =
        network(&[open, ("[run]", &links(4)), ("x0 = -3.0", "refit = false\nbaselines = false")]);
    let prepared = prepared(&text);
    assert_eq!(prepared.chosen().len(), 6);
    assert!(prepared.run(Options::default(), |_| ()).unwrap().finished);
}

#[test]
fn the_rules_of_the_studies_say_no_in_their_controls() {
    for (text, arms) in [
        (include_str!("../few-bits/mnist.toml"), 10),
        (include_str!("../few-bits/quadratics.toml"), 8),
        (include_str!("../few-bits/shared-layer.toml"), 8),
    ] {
        let study = Study::parse(text).unwrap();
        assert!(study.uncontrolled().is_empty(), "{:?}", study.uncontrolled());
        for mode in [Mode::Quick, Mode::Whole] {
            assert_eq!(study.plan(mode, None).unwrap().arms.len(), arms);
        }
        for control in &study.control {
            let blind = control.run(&study).unwrap();
            assert!(blind.is_empty(), "{}", blind[0]);
        }
    }
}

#[test]
fn what_cannot_send_few_bits_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let refuses = |text: &str, command: &[&str], status: i32, what: &str| {
        fs::write(dir.path().join("network.toml"), text).unwrap();
        let arguments = [command, &["network.toml", "--out", "out"]].concat();
        let output = lopa(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(status), "{what}: {}", said(&output));
        assert!(said(&output).contains(what), "{what} is not in {}", said(&output));
    };
    let few = |bits: u32| network(&[("[run]", &links(bits))]);
    refuses(
        &few(2),
        &["run"],
        2,
        "links.bits: 2 bits per difference are too few to converge: use 8",
    );
    refuses(&few(5), &["run"], 2, "links.bits: there is no codec of 5 bits: use 8, 4 or 3");
    let lines = few(8).replace("simulate = false\n", "chunk = 16\n");
    refuses(&lines, &["run"], 2, "with a codec, a chunk must be a multiple of 32 elements");
    let unit = |unit: &str| few(8).replace("bits = 8", &format!("bits = 8\nunit = {unit}"));
    refuses(&unit("-61"), &["run"], 2, "links.unit: a unit of 2^-61 is out of range");
    refuses(&unit("-600"), &["run"], 2, "expected a whole number from -128 to 127");
    let far = unit("-35").replace("x0 = -3.0", "x0 = { random = 0.5 }");
    refuses(&far, &["run"], 2, "run.x0 is out of the range of the codec: raise links.unit");
    let apart = unit("-34");
    let what = "left the range of the codec in round";
    refuses(&apart, &["run"], 1, what);
    refuses(&apart, &["run"], 1, "raise links.unit, or reduce alpha");
    let star = few(8).replace("nodes = 4", "nodes = 300").replace("\"ring\"", "\"star\"");
    refuses(&star, &["run"], 2, "links.bits: the weight of nodes 0 and 1 is");
    let dgd = few(8)
        .replace("lopa-gt", "dgd")
        .replace("beta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5\n", "");
    refuses(
        &dgd,
        &["run"],
        2,
        "links.bits: dgd sends floats, because only lopa-lg and lopa-gt can",
    );
    let run = ["run", "network.toml", "--out", "out"];
    fs::write(dir.path().join("network.toml"), few(8)).unwrap();
    assert!(lopa(dir.path(), &run).status.success());
    refuses(&few(4), &["run", "--resume"], 2, "cannot resume: links.bits differs");
    // The same table without bits, and without lines, suits any algorithm.
    assert!(Experiment::parse(&dgd.replace("bits = 8\n", "")).is_ok());
}
