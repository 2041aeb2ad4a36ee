//! An experiment from its file to its results.

mod check;
mod checkpoint;
mod engine;
mod error;
mod material;
mod theory;

pub use check::{CheckRuns, Checks, Practice};
pub use checkpoint::ResumeError;
pub(crate) use engine::linking;
pub use error::RunError;
pub use material::Material;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::node::Config;
use lopa_core::problems::AnyProblem;
use lopa_core::wire::Seal;

use crate::algorithms::{self, BuildError, NodeView};
use crate::config::{AlgorithmTable, Experiment, Start};
use crate::files::WriteError;
use crate::key::Key;
use crate::metrics::{Meter, Metric, NodeSamples, Totals, Traffic};
use crate::outputs::{Outputs, Results};
use crate::record::Record;
use crate::simulation::Simulation;
use crate::theory::{Coefficients, Constants};
use crate::topology::{Kind, Layout, Weights};
use checkpoint::Standing;
use engine::{Engine, Nodes};
use error::{input, refused};

/// How a run begins, and how it may be ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Go on from the checkpoint that is where the results go.
    pub resume: bool,
    /// Whoever makes this true ends the run after the round it is in, with everything so far written.
    pub stop: Option<&'a AtomicBool>,
}

/// What came out of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub record: Record,
    /// Rounds completed.
    pub round: u64,
    /// Whether these were all; if not, it was stopped and can be resumed.
    pub finished: bool,
    /// How often nodes over links lost one another, or thought so: if ever, the bits are not those of one memory.
    pub losses: u64,
}

/// Without a number of rounds for it, a checkpoint is taken this often.
const CHECKPOINT: Duration = Duration::from_secs(30);

/// Everything a run needs, checked: it can only diverge, or fail to write.
#[derive(Debug)]
pub struct Prepared {
    experiment: Experiment,
    material: Arc<Material>,
    weights: Weights,
    layout: Layout,
    start: Option<Vec<f32>>,
    /// How frames are sealed, where nodes are linked.
    seal: Seal,
}

impl Prepared {
    /// Reads data, deals it out, and builds the network.
    ///
    /// # Errors
    /// Says what is wrong with the file, the data or the network.
    pub fn new(experiment: Experiment) -> Result<Self, RunError> {
        let network = &experiment.network;
        let kind: Kind = network.topology.parse().map_err(input)?;
        let topology = kind.build(network.nodes, network.seed).map_err(input)?;
        let weights = if network.weights == "metropolis" {
            Weights::metropolis(&topology)
        } else {
            let text = read(Path::new(&network.weights))?;
            let weights = Weights::parse(&text).map_err(input)?;
            weights.fit(&topology).map_err(input)?;
            weights
        };
        let seal = match experiment.links.as_ref().and_then(|links| links.key.as_ref()) {
            Some(path) => {
                Key::read(path).map_err(|error| input(format!("links.key: {error}")))?.seal()
            }
            None => Seal::PLAIN,
        };
        let material = Arc::new(Material::load(&experiment)?);
        let start = match &experiment.run.x0 {
            Start::Number(_) | Start::Random { .. } => None,
            Start::File(path) => Some(numbers(path)?),
        };
        let prepared = Self { experiment, material, weights, layout: kind.layout(), start, seal };
        // Whatever a node, a problem or a link refuses shows now, before anything is written.
        let nodes = prepared.nodes(&prepared.material.samples()?)?;
        prepared.engine(nodes, Traffic::default())?;
        Ok(prepared)
    }

    /// The file.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What nodes learn from.
    #[must_use]
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// Who talks to whom.
    #[must_use]
    pub const fn weights(&self) -> &Weights {
        &self.weights
    }

    /// How frames are sealed, where nodes are linked.
    #[must_use]
    pub const fn seal(&self) -> Seal {
        self.seal
    }

    /// Where a picture of the network has the nodes.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// LoPA's nodes in round 0, all in one memory.
    pub(crate) fn simulation<'a>(
        &'a self,
        samples: &[NodeSamples<'a>],
    ) -> Result<Simulation<AnyProblem<'a>>, RunError> {
        let (steps, scheme) = (self.experiment.steps()?, self.experiment.algorithm.scheme()?);
        let config = |node| Config { steps, sampler: self.sampler(node) };
        let problems = self.material.problems(self.experiment.problem, samples)?;
        let edges = self.weights.edges().to_vec();
        Simulation::from_points(problems, scheme, edges, |outer| self.x0(outer), config)
            .map_err(refused)
    }

    /// The nodes of any algorithm in round 0.
    fn nodes<'a>(&'a self, samples: &[NodeSamples<'a>]) -> Result<Nodes<'a>, RunError> {
        let algorithm = &self.experiment.algorithm;
        if algorithm.name.scheme().is_some() {
            return self.simulation(samples).map(Nodes::Lopa);
        }
        let problems = self.material.problems(self.experiment.problem, samples)?;
        let edges = self.weights.edges().to_vec();
        let (start, sampler) = (|outer| self.x0(outer), |node| self.sampler(node));
        match algorithms::build(algorithm, problems, edges, start, sampler) {
            Ok(built) => Ok(Nodes::Other(built)),
            Err(BuildError::Table(error)) => Err(error.into()),
            Err(BuildError::Network(error)) => Err(refused(error)),
        }
    }

    /// How a node draws its batches.
    fn sampler(&self, node: u32) -> Sampler {
        let (seed, size) = (self.experiment.run.seed, self.experiment.batch());
        Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent }
    }

    fn x0(&self, outer: usize) -> Vec<f32> {
        match (&self.start, &self.experiment.run.x0) {
            (Some(start), _) => start.clone(),
            (None, Start::Number(x0)) => vec![*x0; outer],
            (None, Start::Random { random }) => {
                // The same on all nodes: drawn as if by one that does not exist.
                let draws = Draws { seed: self.experiment.run.seed, node: u32::MAX };
                let mut stream = draws.stream(0, Purpose::custom(0x0078));
                (0..outer).map(|_| random * stream.signed_unit()).collect()
            }
            (None, Start::File(_)) => Vec::new(),
        }
    }

    /// The weights of LoPA's Lyapunov function, from constants measured where x starts, wherever it is now.
    pub(crate) fn coefficients(
        &self,
        nodes: &[NodeView<'_, AnyProblem<'_>>],
    ) -> Result<Coefficients, RunError> {
        let outer = nodes.first().map_or(0, |node| node.x.len());
        let problems = nodes.iter().map(|node| node.problem);
        let constants = Constants::measure(problems, &self.x0(outer), self.experiment.run.seed)
            .map_err(|error| RunError::Input(format!("run.metrics: lyapunov: {error}")))?;
        let (rho, steps) = (self.weights.spectrum().rho(), self.experiment.steps()?);
        Ok(Coefficients::new(&constants, &steps, rho, self.experiment.algorithm.scheme()?))
    }

    fn engine<'a>(&self, nodes: Nodes<'a>, before: Traffic) -> Result<Engine<'a>, RunError> {
        let (edges, rounds) = (self.weights.edges(), self.experiment.run.iterations);
        let links = self.experiment.links.as_ref().map(|table| (table, self.seal));
        Engine::new(nodes, edges, rounds, links, before)
    }

    /// A checksum of the network, and of what its nodes learn from.
    pub(crate) fn digest(&self) -> u32 {
        let mut digest = crc32fast::Hasher::new();
        for edge in self.weights.edges() {
            for word in [edge.node, edge.neighbour, edge.weight.to_bits()] {
                digest.update(&word.to_le_bytes());
            }
        }
        self.material.digest(&mut digest);
        digest.finalize()
    }

    /// The same network on the same data with other step sizes; the data are not copied.
    ///
    /// # Errors
    /// Names the step size that is out of range.
    pub fn retuned(&self, algorithm: AlgorithmTable) -> Result<Self, RunError> {
        self.varied(Experiment { algorithm, ..self.experiment.clone() })
    }

    /// The same with other step sizes for so many rounds, measured every so many of them.
    ///
    /// # Errors
    /// Names the step size that is out of range.
    pub fn shortened(
        &self,
        algorithm: AlgorithmTable,
        rounds: u64,
        every: u64,
    ) -> Result<Self, RunError> {
        let mut experiment = Experiment { algorithm, ..self.experiment.clone() };
        (experiment.run.iterations, experiment.run.record_every) = (rounds, every);
        self.varied(experiment)
    }

    /// An experiment on the same network and data.
    fn varied(&self, experiment: Experiment) -> Result<Self, RunError> {
        experiment.check()?;
        let (material, weights) = (Arc::clone(&self.material), self.weights.clone());
        let (layout, start, seal) = (self.layout, self.start.clone(), self.seal);
        Ok(Self { experiment, material, weights, layout, start, seal })
    }

    /// Runs from the beginning to the end, calling `tick` with the rounds done.
    ///
    /// # Errors
    /// On divergence, everything so far is written first.
    pub fn run(
        &self,
        outputs: &Outputs,
        tick: impl FnMut(u64) + Send,
    ) -> Result<Outcome, RunError> {
        self.run_with(outputs, Options::default(), tick)
    }

    /// Runs without a file written, for what was measured alone; ends early once `stop` is true.
    ///
    /// # Errors
    /// Names the node that diverged.
    pub fn measure(
        &self,
        stop: Option<&AtomicBool>,
        tick: impl FnMut(u64) + Send,
    ) -> Result<Outcome, RunError> {
        self.go(None, Options { resume: false, stop }, tick)
    }

    /// Runs as `options` say, calling `tick` with the rounds done.
    ///
    /// # Errors
    /// On divergence, everything so far is written first.
    pub fn run_with(
        &self,
        outputs: &Outputs,
        options: Options<'_>,
        tick: impl FnMut(u64) + Send,
    ) -> Result<Outcome, RunError> {
        self.go(Some(outputs), options, tick)
    }

    fn go(
        &self,
        outputs: Option<&Outputs>,
        options: Options<'_>,
        tick: impl FnMut(u64) + Send,
    ) -> Result<Outcome, RunError> {
        // On one of the threads that compute: from outside, every round would wait for them to wake up.
        rayon::scope(|_| self.rounds(outputs, options, tick))
    }

    fn rounds(
        &self,
        outputs: Option<&Outputs>,
        options: Options<'_>,
        mut tick: impl FnMut(u64),
    ) -> Result<Outcome, RunError> {
        let samples = self.material.samples()?;
        let mut nodes = self.nodes(&samples)?;
        let metrics = self.experiment.run.metrics.metrics();
        let lopa = self.experiment.algorithm.name.scheme().is_some();
        let lyapunov = lopa && metrics.contains(&Metric::Lyapunov);
        let coefficients =
            lyapunov.then(|| self.coefficients(&nodes.algorithm().nodes())).transpose()?;
        let meter = Meter::new(metrics, samples, coefficients);
        let mut run = Run {
            prepared: self,
            outputs,
            digest: self.digest(),
            record: meter.record(),
            nodes: Meter::node_record(),
            seconds: 0.0,
        };
        let mut before = Traffic::default();
        if let (true, Some(outputs)) = (options.resume, outputs) {
            let restore = |bytes: &[u8]| nodes.algorithm().restore(bytes);
            let standing =
                Standing::resume(outputs.folder(), &self.experiment, run.digest, restore)?;
            [run.record, run.nodes] = standing.records()?;
            (run.seconds, before) = (standing.seconds, standing.traffic);
        }
        let mut engine = self.engine(nodes, before)?;
        let first = engine.completed();
        let (last, every) = (self.experiment.run.iterations, self.experiment.run.record_every);
        if first == 0 || (first == last && !last.is_multiple_of(every)) {
            run.measure(&meter, &engine);
        }
        tick(first);
        let mut saved = Instant::now();
        for round in first + 1..=last {
            let began = Instant::now();
            let moved = engine.round();
            run.seconds += began.elapsed().as_secs_f64();
            if let Err(error) = moved {
                run.write(&engine, false)?;
                return Err(error);
            }
            let stopped =
                round < last && options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            let recorded = round.is_multiple_of(every) || round == last || stopped;
            if recorded {
                run.measure(&meter, &engine);
            }
            tick(round);
            if stopped {
                run.save(&engine, round)?;
                return run.end(&engine, round, false);
            }
            let due = match self.experiment.run.checkpoint_every {
                Some(rounds) => round.is_multiple_of(rounds),
                None => saved.elapsed() > CHECKPOINT,
            };
            if due && round < last {
                run.save(&engine, round)?;
                saved = Instant::now();
            }
        }
        run.save(&engine, last)?;
        run.end(&engine, last, true)
    }
}

/// What a run has gathered.
struct Run<'p> {
    prepared: &'p Prepared,
    /// Where files go, if they are wanted.
    outputs: Option<&'p Outputs>,
    digest: u32,
    record: Record,
    /// Figures of single nodes, if they are wanted.
    nodes: Record,
    seconds: f64,
}

impl Run<'_> {
    fn measure(&mut self, meter: &Meter<'_>, engine: &Engine<'_>) {
        let nodes = engine.nodes();
        let totals = Totals {
            sent: engine.sent(),
            traffic: engine.traffic(),
            seconds: self.seconds,
            single_level: self.prepared.experiment.algorithm.name.is_single_level(),
        };
        self.record.push(meter.measure(&nodes, totals));
        if self.prepared.experiment.run.per_node {
            meter.measure_nodes(&nodes).into_iter().for_each(|row| self.nodes.push(row));
        }
    }

    fn save(&self, engine: &Engine<'_>, round: u64) -> Result<(), RunError> {
        let Some(outputs) = self.outputs else { return Ok(()) };
        let experiment = &self.prepared.experiment;
        let (traffic, records) = (engine.traffic(), [&self.record, &self.nodes]);
        let standing =
            Standing::new(experiment, self.digest, round, self.seconds, traffic, records);
        match engine.checkpoint().and_then(|nodes| standing.bytes(&nodes)) {
            Some(bytes) => Ok(outputs.put(checkpoint::NAME, &bytes)?),
            None => Ok(()),
        }
    }

    fn write(&self, engine: &Engine<'_>, finished: bool) -> Result<(), WriteError> {
        let Some(outputs) = self.outputs else { return Ok(()) };
        outputs.write(&Results {
            prepared: self.prepared,
            nodes: &engine.nodes(),
            record: &self.record,
            node_record: self.prepared.experiment.run.per_node.then_some(&self.nodes),
            finished,
            losses: engine.losses(),
            fleet: None,
        })
    }

    fn end(self, engine: &Engine<'_>, round: u64, finished: bool) -> Result<Outcome, RunError> {
        self.write(engine, finished)?;
        Ok(Outcome { record: self.record, round, finished, losses: engine.losses() })
    }
}

fn read(path: &Path) -> Result<String, RunError> {
    std::fs::read_to_string(path)
        .map_err(|error| RunError::Input(format!("cannot read {}: {error}", path.display())))
}

/// The numbers of a file, separated by commas, blanks or lines.
fn numbers(path: &Path) -> Result<Vec<f32>, RunError> {
    let text = read(path)?;
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let number = |(index, word): (usize, &str)| {
        word.parse::<f32>().ok().filter(|a| a.is_finite()).ok_or_else(|| {
            let place = format!("{}: number {}", path.display(), index + 1);
            RunError::Input(format!("{place} is {word:?}: a finite number is needed"))
        })
    };
    words.enumerate().map(number).collect()
}
