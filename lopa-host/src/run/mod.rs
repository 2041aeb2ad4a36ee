//! An experiment from its file to its results.

mod automatic;
mod awake;
mod checkpoint;
mod drive;
mod error;
mod learned;
mod links;
mod material;
mod part;
mod strength;
mod theory;
mod watch;

pub use checkpoint::settle;
pub(crate) use drive::drive;
pub use error::{Diverged, RunError};
pub(crate) use links::linking;
pub use material::Material;
pub use part::follow;
pub use watch::{Seen, Watch};

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::codec::Codec;
use lopa_core::draw::Draws;
use lopa_core::exchange::Micros;
use lopa_core::node::{Config, Scheme};
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::problems::AnyProblem;
use lopa_core::samples::{Arithmetic, Samples};
use lopa_core::steps::StepSizes;
use lopa_core::wire::Seal;

use crate::algorithms::workers::Place;
use crate::algorithms::{self, Algorithm, BuildError, Links, NodeView};
use crate::config::{Experiment, Start};
use crate::key::Key;
use crate::metrics::{Meter, Metric, NodeSamples, NodeValues, Totals};
use crate::network::{CodedSimulation, Simulation, Traffic};
use crate::record::Record;
use crate::report::{Chosen, Learned, Outputs, Results};
use crate::theory::{Coefficients, Constants};
use crate::topology::{Layout, Weights};
use checkpoint::{Digests, Standing};
use drive::Progress;
use error::{input, refused};

/// How a run begins and ends. By default it runs to the end and writes no files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Where results and checkpoints are written, if they are wanted.
    pub outputs: Option<&'a Outputs>,
    /// Go on from the checkpoint in the folder of the results.
    pub resume: bool,
    /// Once this is true, the run ends after the round it is in, with everything so far written.
    pub stop: Option<&'a AtomicBool>,
    /// What looks on.
    pub watch: Option<&'a dyn Watch>,
    /// The first part of the network, if others are in other processes: they must [follow].
    pub place: Option<&'a Place>,
}

/// A network of any algorithm.
type Network<'p> = dyn Algorithm<AnyProblem<'p>> + 'p;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome<'p> {
    /// What was measured.
    pub record: Record,
    /// What was measured of single nodes; without rows unless the file asks for it.
    pub node_record: Record,
    /// Rounds completed.
    pub round: u64,
    /// Whether these were all; if not, it was stopped and can be resumed.
    pub finished: bool,
    /// How often link timeouts split the network: if ever, the result differs from an in-process run.
    pub losses: u64,
    /// What nodes have learned in the end, as far as the file asks for it: of a finished run that writes
    /// its results; [`Prepared::learned`] tells it of any other.
    pub learned: Learned,
    network: Box<Network<'p>>,
}

impl<'p> Outcome<'p> {
    /// The nodes after the last round.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeView<'_, AnyProblem<'p>>> {
        self.network.nodes()
    }

    /// What was measured, if all rounds were completed.
    #[must_use]
    pub fn complete(self) -> Option<Record> {
        self.finished.then_some(self.record)
    }
}

/// How often a checkpoint is written if the file does not say.
const CHECKPOINT: Duration = Duration::from_secs(30);

/// The logarithm of the strength with which an intercept is regularised at the start: just enough for one solution. It
/// hardly moves, because its hypergradient has the strength as a factor.
const INTERCEPT: f32 = -9.0;

/// Everything a run needs, checked: it can only diverge, or fail to write its results. A clone shares the data.
#[derive(Debug, Clone)]
pub struct Prepared {
    experiment: Experiment,
    material: Arc<Material>,
    /// By the rule of the file.
    weights: Weights,
    /// The same in multiples of 1/256, where few bits travel.
    exact: Option<Weights>,
    layout: Layout,
    start: Option<Vec<f32>>,
    /// How frames are sealed, where nodes are linked.
    seal: Seal,
    /// What the file leaves open.
    chosen: Vec<Chosen>,
}

/// Which nodes of a file are linked, and with which weights. No data are read.
///
/// # Errors
/// Says what is wrong with the network.
pub fn weights(experiment: &Experiment) -> Result<Weights, RunError> {
    let network = &experiment.network;
    let topology = network.topology.build(network.nodes, network.seed).map_err(input)?;
    network.weights.weights(&topology).map_err(input)
}

/// How the frames of a file are sealed, with the key that it names.
///
/// # Errors
/// If that cannot be read.
pub fn seal(experiment: &Experiment) -> Result<Seal, RunError> {
    match experiment.links.as_ref().and_then(|links| links.key.as_ref()) {
        Some(path) => {
            let key = Key::read(path).map_err(|error| input(format!("links.key: {error}")))?;
            Ok(key.seal())
        }
        None => Ok(Seal::PLAIN),
    }
}

impl Prepared {
    /// Reads the data, divides it among the nodes, and builds the network.
    ///
    /// # Errors
    /// Says what is wrong with the file, the data or the network.
    pub fn new(experiment: Experiment) -> Result<Self, RunError> {
        let mut prepared = Self::read(experiment, None)?;
        Arc::make_mut(&mut prepared.material).bring_together();
        let prepared = prepared.complete()?;
        // Anything that a node, a problem or a link refuses is found now, before anything is written.
        prepared.network(&prepared.material.samples()?, None)?;
        Ok(prepared)
    }

    /// Reads what the file names; of made-up data, only those of some nodes if not of all. Some settings may still be open.
    fn read(experiment: Experiment, own: Option<Range<u32>>) -> Result<Self, RunError> {
        let (weights, seal) = (weights(&experiment)?, seal(&experiment)?);
        let material = Arc::new(Material::load(&experiment, own)?);
        let start = match &experiment.run.x0 {
            Some(Start::File(path)) => Some(numbers(path)?),
            _ => None,
        };
        let layout = experiment.network.topology.layout();
        let chosen = Vec::new();
        let exact = exact(&experiment, &weights)?;
        Ok(Self { experiment, material, weights, exact, layout, start, seal, chosen })
    }

    /// The file.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The same for a file whose open settings were chosen before.
    #[must_use]
    pub fn with_chosen(self, chosen: Vec<Chosen>) -> Self {
        Self { chosen: [chosen, self.chosen].concat(), ..self }
    }

    /// What the file leaves open and was chosen, in addition to what it says.
    #[must_use]
    pub fn chosen(&self) -> &[Chosen] {
        &self.chosen
    }

    /// The data of all nodes.
    #[must_use]
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// Which nodes are linked, and with which weights.
    #[must_use]
    pub const fn weights(&self) -> &Weights {
        match &self.exact {
            Some(exact) => exact,
            None => &self.weights,
        }
    }

    /// How frames are sealed, where nodes are linked.
    #[must_use]
    pub const fn seal(&self) -> Seal {
        self.seal
    }

    /// What a report shows of a finished run, without single nodes and boards.
    #[must_use]
    pub fn results<'a>(
        &'a self,
        nodes: &'a [NodeView<'a, AnyProblem<'a>>],
        record: &'a Record,
    ) -> Results<'a> {
        Results {
            experiment: &self.experiment,
            weights: self.weights(),
            unrounded: self.exact.as_ref().map(|_| &self.weights),
            layout: self.layout,
            shards: self.material.shards(),
            nodes,
            record,
            node_record: None,
            finished: true,
            diverged: None,
            losses: 0,
            chosen: &self.chosen,
            learned: None,
            fleet: None,
        }
    }

    /// LoPA's nodes in round 0, in-process.
    pub(crate) fn simulation<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
    ) -> Result<Simulation<AnyProblem<'a>>, RunError> {
        let (steps, scheme) = (self.experiment.steps()?, self.experiment.algorithm.scheme()?);
        self.simulation_with(samples, scheme, steps, self.experiment.run.seed)
    }

    /// The same with other step sizes, and another seed for its batches.
    pub(crate) fn simulation_with<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
        scheme: Scheme,
        steps: StepSizes,
        seed: u64,
    ) -> Result<Simulation<AnyProblem<'a>>, RunError> {
        let config = |node| Config { steps, sampler: self.sampler(node, seed) };
        let problems = self.learners(samples)?;
        let edges = self.weights().edges().to_vec();
        Simulation::new(problems, scheme, edges, |outer| self.x0(outer), config).map_err(refused)
    }

    /// The nodes of a simulation, with few bits on the wire.
    pub(crate) fn coded<'a>(
        &self,
        simulation: Simulation<AnyProblem<'a>>,
        codec: Codec,
    ) -> Result<CodedSimulation<AnyProblem<'a>>, RunError> {
        let edges = self.weights().edges().to_vec();
        CodedSimulation::coded(simulation.into_nodes(), edges, codec).map_err(refused)
    }

    /// The problem of every node, computed in the arithmetic of the run.
    pub(crate) fn learners<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
    ) -> Result<Vec<AnyProblem<'a>>, RunError> {
        let arithmetic = self.experiment.run.arithmetic;
        if arithmetic == Arithmetic::Float {
            return self.problems(samples);
        }
        // As chips read them: standardised samples are floats, and their raw ones may be bytes.
        let computed = |set: Samples<'a>| {
            let refused = |error| RunError::Input(format!("run.arithmetic: {error}"));
            set.computed_in(arithmetic).map_err(refused)
        };
        let mut raw = self.material.raw_samples()?;
        for NodeSamples { train, validation, .. } in &mut raw {
            (*train, *validation) = (computed(*train)?, computed(*validation)?);
        }
        self.problems(&raw)
    }

    /// The problem of every node, computed in floats.
    pub(crate) fn problems<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
    ) -> Result<Vec<AnyProblem<'a>>, RunError> {
        let problems = self.material.problems(self.experiment.problem, self.base(), samples)?;
        // What nodes keep for a round, at the least: x, z, y and a sum of x; θ, v and a step of θ.
        let floats = |problem: &AnyProblem<'_>| {
            let Dimensions { outer, inner, workspace } = problem.dimensions();
            4 * outer as u128 + 3 * inner as u128 + workspace as u128
        };
        let what = || {
            let size = problems.first().map(Problem::dimensions);
            let (outer, inner) = size.map_or((0, 0), |size| (size.outer, size.inner));
            let fewer = "fewer nodes, hidden units, features or classes";
            format!("x has {outer} elements and theta {inner}: use {fewer}")
        };
        check_memory(problems.iter().map(floats).sum(), problems.len(), what)?;
        Ok(problems)
    }

    /// A remark on a batch that is larger than what some node draws it from, which is allowed but rarely meant.
    #[must_use]
    pub fn large_batch(&self) -> Option<String> {
        let BatchSize::Drawn(size) = self.experiment.batch() else { return None };
        let lens = self.material.shards().iter().map(|shard| shard.train.len());
        let (node, len) = lens.enumerate().min_by_key(|(_, len)| *len)?;
        (len < size.get() as usize).then(|| {
            format!(
                "algorithm.batch is {size}, but node {node} has only {len} training samples, so they are drawn \
                 repeatedly: use a batch of at most {len}, or batch = \"full\""
            )
        })
    }

    /// The network in round 0, over links if the file has any that are simulated.
    /// In several processes, its part at a place; then `samples` are those of the nodes there, or of all nodes in the first part.
    fn network<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
        place: Option<&Place>,
    ) -> Result<Box<Network<'a>>, RunError> {
        let algorithm = &self.experiment.algorithm;
        let codec = self.experiment.codec()?;
        let edges = self.weights().edges().to_vec();
        if let Some(table) = self.experiment.links.as_ref().filter(|table| table.simulate) {
            if place.is_some() {
                return Err(input(
                    "links are simulated in one process: leave out --workers, or write simulate = false in the table [links]",
                ));
            }
            let degrees = self.weights().degrees();
            links::check(&degrees)?;
            let linking = linking(table, algorithm.scheme()?, &degrees, self.seal);
            let (floats, rounds) = (self.simulation(samples)?, self.experiment.run.iterations);
            let wrong = |error| RunError::Input(format!("links: {error}"));
            if let Some(codec) = codec {
                let nodes = self.coded(floats, codec)?.into_nodes();
                return Ok(Box::new(Links::new(nodes, edges, rounds, linking).map_err(wrong)?));
            }
            let nodes = floats.into_nodes();
            return Ok(Box::new(Links::new(nodes, edges, rounds, linking).map_err(wrong)?));
        }
        let problems = self.learners(samples)?;
        let start = |outer| self.x0(outer);
        let first = place.map_or(0, |place| place.first() as u32);
        let sampler = |node| self.sampler(first + node, self.experiment.run.seed);
        let place = place.cloned();
        if let Some(codec) = codec {
            let (steps, scheme) = (self.experiment.steps()?, algorithm.scheme()?);
            let config = |node| Config { steps, sampler: sampler(node) };
            let nodes = Simulation::in_round_0(problems, scheme, start, config);
            let coded = nodes.and_then(|nodes| CodedSimulation::with_codec(nodes, codec));
            let joined = coded.and_then(|nodes| algorithms::join(nodes, edges, place));
            return joined.map_err(refused);
        }
        match algorithms::build_at(algorithm, problems, edges, start, sampler, place) {
            Ok(network) => Ok(network),
            Err(BuildError::Table(error)) => Err(error.into()),
            Err(BuildError::Network(error)) => Err(refused(error)),
            Err(error @ BuildError::Gradient { .. }) => Err(RunError::Input(error.to_string())),
        }
    }

    /// How a node draws its batches.
    fn sampler(&self, node: u32, seed: u64) -> Sampler {
        let size = self.experiment.batch();
        Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent }
    }

    /// What to add to an element of x for the logarithm of a strength: where most strengths start, so that small steps of x
    /// [are not lost](lopa_core::problems::Regularised::around). Zero for problems that learn no strengths.
    #[must_use]
    pub fn base(&self) -> f32 {
        if !self.experiment.problem.has_strengths() {
            return 0.0;
        }
        match (&self.start, &self.experiment.run.x0) {
            (Some(start), _) => {
                let mean = start.iter().map(|&x| f64::from(x)).sum::<f64>() / start.len() as f64;
                // A whole number, which is easy to add. A file without numbers has no mean, and is refused later.
                if mean.is_nan() { 0.0 } else { mean.round().clamp(-30.0, 30.0) as f32 }
            }
            (None, Some(Start::Number(x0))) => *x0,
            // Random numbers are drawn around 0.
            (None, _) => 0.0,
        }
    }

    /// Where x starts, relative to the base.
    fn x0(&self, outer: usize) -> Vec<f32> {
        match (&self.start, &self.experiment.run.x0) {
            (Some(start), _) => start.iter().map(|x| x - self.base()).collect(),
            (None, Some(Start::Random { random })) => {
                // The same on all nodes: drawn as if by one that does not exist.
                let draws = Draws { seed: self.experiment.run.seed, node: u32::MAX };
                let mut stream = draws.stream(0, crate::purposes::START);
                (0..outer).map(|_| random * stream.signed_unit()).collect()
            }
            (None, Some(Start::Number(x0))) => self.constant(*x0, outer),
            (None, _) => self.constant(0.0, outer),
        }
    }

    /// The same start for all elements of x, except for the strength of an intercept; relative to the base.
    fn constant(&self, x0: f32, outer: usize) -> Vec<f32> {
        let mut start = vec![x0 - self.base(); outer];
        let Experiment { data, problem, .. } = &self.experiment;
        if let Some(last) = start.last_mut()
            && data.has_intercept()
            && problem.has_strengths()
        {
            *last = INTERCEPT - self.base();
        }
        start
    }

    /// Measures what the file wants of nodes with these samples.
    pub(crate) fn meter<'a>(&self, samples: Vec<NodeSamples<'a>>) -> Result<Meter<'a>, RunError> {
        let metrics = self.experiment.run.metrics.metrics();
        let lopa = self.experiment.algorithm.name.scheme().is_some();
        let lyapunov = lopa && metrics.contains(&Metric::Lyapunov);
        let coefficients = lyapunov.then(|| self.coefficients()).transpose()?;
        Ok(Meter::new(metrics, samples, coefficients))
    }

    /// The weights of LoPA's Lyapunov function, from constants measured where x starts.
    fn coefficients(&self) -> Result<Coefficients, RunError> {
        let problems = self.problems(&self.material.samples()?)?;
        let outer = problems.first().map_or(0, |problem| problem.dimensions().outer);
        let constants = Constants::measure(&problems, &self.x0(outer), self.experiment.run.seed)
            .map_err(|error| RunError::Input(format!("run.metrics: lyapunov: {error}")))?;
        let (rho, steps) = (self.weights().spectrum().rho(), self.experiment.steps()?);
        Ok(Coefficients::new(&constants, &steps, rho, self.experiment.algorithm.scheme()?))
    }

    /// A checksum of the network and the data.
    pub(crate) fn digest(&self) -> u32 {
        let mut digest = crc32fast::Hasher::new();
        self.digest_edges(&mut digest);
        self.material.digest(&mut digest);
        digest.finalize()
    }

    fn digest_edges(&self, digest: &mut crc32fast::Hasher) {
        for edge in self.weights().edges() {
            for word in [edge.node, edge.neighbour, edge.weight.to_bits()] {
                digest.update(&word.to_le_bytes());
            }
        }
    }

    fn digest_start(&self, digest: &mut crc32fast::Hasher) {
        self.start.iter().flatten().for_each(|a| digest.update(&a.to_le_bytes()));
    }

    /// Checksums of everything that files say about a run.
    fn digests(&self) -> Digests {
        let (mut test, mut start) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
        self.material.digest_tests(&mut test);
        self.digest_start(&mut start);
        Digests { network: self.digest(), test: test.finalize(), start: start.finalize() }
    }

    /// The same network on the same data, which are not copied, after a `change` to the tables `algorithm`, `links` or
    /// `run`.
    ///
    /// # Errors
    /// Names the value that is out of range.
    pub fn with(&self, change: impl FnOnce(&mut Experiment)) -> Result<Self, RunError> {
        let mut prepared = self.clone();
        change(&mut prepared.experiment);
        prepared.experiment.check()?;
        prepared.exact = exact(&prepared.experiment, &prepared.weights)?;
        Ok(prepared)
    }

    /// The same nodes without an exchange: each learns on its own.
    #[must_use]
    pub fn alone(&self) -> Self {
        let exact = self.exact.as_ref().map(Weights::silent);
        Self { weights: self.weights.silent(), exact, ..self.clone() }
    }

    /// Runs as `options` say, calling `tick` with the rounds done.
    ///
    /// All runs of a program share the threads of rayon. Of two that are started at the same time, one may stand still until the
    /// other has ended; where that matters, each needs a thread pool of its own to run in.
    ///
    /// # Errors
    /// Names the node that diverged; everything so far is written first.
    pub fn run(
        &self,
        options: Options<'_>,
        mut tick: impl FnMut(u64) + Send,
    ) -> Result<Outcome<'_>, RunError> {
        let Options { outputs, resume, stop, watch, place } = options;
        place.map_or(Ok(()), |place| self.lead(place))?;
        let samples = self.material.samples()?;
        let mut network = self.network(&samples, place)?;
        let meter = self.meter(samples)?;
        let mut run = Run {
            prepared: self,
            outputs,
            digests: self.digests(),
            record: meter.record(),
            nodes: Meter::node_record(),
            values: Vec::new(),
            meter,
            first: 0,
            resumed: false,
            seconds: 0.0,
            before: Traffic::default(),
            fleet_time: 0,
            split: place.is_some(),
            saved: Instant::now(),
            earlier: outputs
                .and_then(|own| std::fs::read(own.folder().join(checkpoint::NAME)).ok()),
        };
        if let (true, Some(outputs)) = (resume, outputs) {
            let restore = |bytes: &[u8]| network.restore(bytes);
            let standing =
                Standing::resume(outputs.folder(), &self.experiment, run.digests, restore)?;
            [run.record, run.nodes] = standing.records(self.experiment.run.record_every)?;
            (run.seconds, run.before) = (standing.seconds, standing.traffic);
            (run.fleet_time, run.resumed) = (standing.fleet_time, true);
        }
        run.first = network.round();
        let last = self.experiment.run.iterations;
        let single_level = self.experiment.algorithm.name.is_single_level();
        let driven = drive(&mut *network, last, stop, single_level, |network, progress| {
            run.observe(network, progress, single_level)?;
            if let Some(watch) = watch {
                watch.see(&run.seen(network, progress));
            }
            tick(progress.round);
            Ok(())
        });
        match driven {
            Ok(finished) => {
                let mut learned = Learned::default();
                // First the results: what follows may take long.
                run.write(&*network, finished, &learned, None)?;
                let more = [self.experiment.run.refit, self.experiment.run.baselines];
                if finished && outputs.is_some() && more.contains(&Some(true)) {
                    learned = self.learned(&network.nodes(), stop);
                    run.write(&*network, finished, &learned, None)?;
                }
                let (record, node_record) = (run.record, run.nodes);
                let (round, losses) = (network.round(), network.losses());
                Ok(Outcome { record, node_record, round, finished, losses, learned, network })
            }
            Err(RunError::Diverged(mut diverged)) => {
                if !single_level {
                    diverged.blame(&network.nodes());
                }
                diverged.elsewhere =
                    run.write(&*network, false, &Learned::default(), Some(&diverged))?;
                diverged.record = run.record;
                Err(RunError::Diverged(diverged))
            }
            Err(error) => Err(error),
        }
    }
}

/// What a run gathers on its way.
struct Run<'p, 'o> {
    prepared: &'p Prepared,
    /// Where files go, if they are wanted.
    outputs: Option<&'o Outputs>,
    digests: Digests,
    meter: Meter<'p>,
    record: Record,
    /// What was measured of single nodes, if the file asks for it.
    nodes: Record,
    /// The same for the last row of the record, whatever the file asks for.
    values: Vec<NodeValues>,
    /// The round it began in: 0, or that of the checkpoint.
    first: u64,
    /// Whether it began with a checkpoint.
    resumed: bool,
    /// What computing took before that, what was sent, and the simulated time by then.
    seconds: f64,
    before: Traffic,
    fleet_time: Micros,
    /// Whether the network is in several processes.
    split: bool,
    /// When the last checkpoint was written.
    saved: Instant,
    /// The checkpoint that was there before.
    earlier: Option<Vec<u8>>,
}

impl<'p> Run<'p, '_> {
    /// Measures and saves what is due.
    fn observe(
        &mut self,
        network: &mut Network<'p>,
        progress: Progress,
        single_level: bool,
    ) -> Result<(), RunError> {
        let table = &self.prepared.experiment.run;
        let Progress { round, ends, .. } = progress;
        let regular = round.is_multiple_of(table.record_every);
        // A checkpoint already has the row of its round, unless that row is there only because the run ends.
        let resumed = self.resumed && round == self.first;
        let measured = if resumed { ends && !regular } else { ends || regular };
        let due = match table.checkpoint_every {
            Some(rounds) => round > self.first && round.is_multiple_of(rounds),
            None => self.saved.elapsed() > CHECKPOINT,
        };
        // A worker may be lost at any time: there is a checkpoint from the start.
        let saved = ends || due || (self.split && round == self.first);
        if measured || saved {
            network.gather().map_err(|error| RunError::of_step(error, single_level))?;
        }
        if measured {
            self.measure(network, progress.seconds);
        }
        if saved { self.save(network, progress) } else { Ok(()) }
    }

    fn measure(&mut self, network: &Network<'p>, seconds: f64) {
        let nodes = network.nodes();
        let totals = Totals {
            sent: network.sent(),
            traffic: self.traffic(network),
            fleet_time: self.fleet_time(network),
            seconds: self.seconds + seconds,
            single_level: self.prepared.experiment.algorithm.name.is_single_level(),
        };
        self.values = self.meter.values(&nodes);
        self.record.push(self.meter.measure_with(&nodes, &self.values, totals));
        if self.prepared.experiment.run.per_node {
            self.meter.measure_nodes(&nodes).into_iter().for_each(|row| self.nodes.push(row));
        }
    }

    fn seen<'a>(&'a self, network: &'a Network<'p>, progress: Progress) -> Seen<'a, 'p> {
        let Progress { round, ends, .. } = progress;
        Seen { network, round, ends, record: &self.record, values: &self.values }
    }

    /// What nodes have sent, if the file is interested in links.
    fn traffic(&self, network: &Network<'p>) -> Option<Traffic> {
        self.prepared.experiment.links.as_ref().map(|_| self.before + network.traffic())
    }

    /// The simulated time so far, if links are simulated.
    fn fleet_time(&self, network: &Network<'p>) -> Option<Micros> {
        network.fleet_time().map(|time| self.fleet_time + time)
    }

    fn save(&mut self, network: &Network<'p>, progress: Progress) -> Result<(), RunError> {
        let Some(outputs) = self.outputs else { return Ok(()) };
        if let Some(nodes) = network.checkpoint() {
            let standing = Standing {
                experiment: toml::to_string(&self.prepared.experiment)
                    .map_err(|error| outputs.failed(checkpoint::NAME, error))?,
                digests: self.digests,
                round: progress.round,
                seconds: self.seconds + progress.seconds,
                traffic: self.traffic(network).unwrap_or_default(),
                fleet_time: self.fleet_time(network).unwrap_or_default(),
                records: [&self.record, &self.nodes].map(Record::csv),
            };
            let bytes = standing.bytes(&nodes);
            let bytes = bytes.map_err(|error| outputs.failed(checkpoint::NAME, error))?;
            outputs.put(checkpoint::NAME, bytes)?;
        }
        self.saved = Instant::now();
        Ok(())
    }

    /// Writes the results. Those of a run that diverged do not replace better ones: then it tells where they are instead.
    fn write(
        &self,
        network: &Network<'p>,
        finished: bool,
        learned: &Learned,
        diverged: Option<&Diverged>,
    ) -> Result<Option<PathBuf>, RunError> {
        let Some(outputs) = self.outputs else { return Ok(None) };
        let per_node = self.prepared.experiment.run.per_node;
        let diverged = diverged.map(ToString::to_string);
        let nodes = network.nodes();
        let results = Results {
            node_record: per_node.then_some(&self.nodes),
            finished,
            diverged: diverged.as_deref(),
            losses: network.losses(),
            learned: Some(learned),
            ..self.prepared.results(&nodes, &self.record)
        };
        if diverged.is_none() || !outputs.has_good_results() {
            outputs.write(&results)?;
            return Ok(None);
        }
        // So that the earlier run can still be made longer.
        if let Some(checkpoint) = &self.earlier {
            outputs.put(checkpoint::NAME, &checkpoint[..])?;
        }
        let folder = outputs.folder().join("diverged");
        Outputs::new(&folder)?.write(&results)?;
        Ok(Some(folder))
    }
}

/// Weights with which the sums of few bits are exact, where a file asks for few bits.
fn exact(experiment: &Experiment, weights: &Weights) -> Result<Option<Weights>, RunError> {
    let Some(_) = experiment.codec()? else { return Ok(None) };
    let wrong = |error| RunError::Input(format!("links.bits: {error}"));
    weights.in_256ths().map(Some).map_err(wrong)
}

/// The most memory that the variables of all nodes may need, in bytes.
const MOST_MEMORY: u128 = 16 << 30;

/// Refuses, before it is allocated, more memory than is reasonable for this many floats; `what` says what needs them.
fn check_memory(floats: u128, nodes: usize, what: impl Fn() -> String) -> Result<(), RunError> {
    let bytes = floats.saturating_mul(4);
    if bytes <= MOST_MEMORY {
        return Ok(());
    }
    let gib = |bytes: u128| bytes.div_ceil(1 << 30);
    Err(RunError::Input(format!(
        "this network is too large: its {nodes} nodes need at least {} GiB of memory, but at most {} GiB are allowed, \
         since {}",
        gib(bytes),
        gib(MOST_MEMORY),
        what()
    )))
}

/// The numbers of a file, separated by commas, blanks or lines.
fn numbers(path: &Path) -> Result<Vec<f32>, RunError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| RunError::Input(format!("cannot read {}: {error}", path.display())))?;
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let number = |(index, word): (usize, &str)| {
        word.parse::<f32>().ok().filter(|a| a.is_finite()).ok_or_else(|| {
            let place = format!("{}: number {}", path.display(), index + 1);
            RunError::Input(format!("{place} is {word:?}: a finite number is needed"))
        })
    };
    words.enumerate().map(number).collect()
}
