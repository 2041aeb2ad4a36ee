//! An experiment from its file to its results.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::Draws;
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{Config, NodeError};
use lopa_core::problem::ProblemError;
use lopa_core::problems::{Logistic, Meta, Ridge, SharedLayer};
use lopa_core::samples::LabelKind;

use crate::config::{ConfigError, Experiment, ProblemTable, Start};
use crate::data::{self, Dataset, Deal, LabelRatio, Partition, Shard, TestPart};
use crate::metrics::{Metrics, NodeSamples};
use crate::outputs::{OutputError, Outputs};
use crate::problem::AnyProblem;
use crate::simulation::Simulation;
use crate::synthetic::Recipe;
use crate::topology::{Kind, Weights};

/// Why a run did not end well.
#[derive(Debug)]
pub enum RunError {
    /// Something given to it was wrong: exit status 2.
    Input(String),
    /// It diverged, with everything so far written: exit status 1.
    Diverged(NetworkError),
    /// A result could not be written: exit status 2 if found before the run, 1 after.
    Output(OutputError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(what) => f.write_str(what),
            Self::Diverged(error) => write!(
                f,
                "{error} (alpha moves x and y, beta theta, lambda v: the one named is the first to make smaller)"
            ),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}

fn input(error: impl fmt::Display) -> RunError {
    RunError::Input(error.to_string())
}

/// Everything a run needs, checked: it can only diverge, or fail to write.
#[derive(Debug)]
pub struct Prepared {
    experiment: Experiment,
    shards: Vec<Shard>,
    edges: Vec<Edge>,
    start: Option<Vec<f32>>,
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
        let shards = shards(&experiment)?;
        let start = match &experiment.run.x0 {
            Start::Number(_) => None,
            Start::File(path) => Some(numbers(path)?),
        };
        let prepared = Self { experiment, shards, edges: weights.into_edges(), start };
        // Whatever a node or a problem refuses shows now, before anything is written.
        prepared.simulation(&prepared.samples()?)?;
        Ok(prepared)
    }

    /// The file.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What each node has.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    fn samples(&self) -> Result<Vec<NodeSamples<'_>>, RunError> {
        let kind = label_kind(&self.experiment.problem);
        let mut samples = Vec::new();
        for shard in &self.shards {
            let test = shard.test.as_ref().map(|test| test.samples(kind)).transpose();
            samples.push(NodeSamples {
                train: shard.train.samples(kind).map_err(input)?,
                validation: shard.validation.samples(kind).map_err(input)?,
                test: test.map_err(input)?,
            });
        }
        Ok(samples)
    }

    fn problems<'a>(&self, samples: &[NodeSamples<'a>]) -> Result<Vec<AnyProblem<'a>>, RunError> {
        let classes = self.shards.first().map_or(0, |shard| shard.train.classes().len());
        let numbered = samples.iter().enumerate().map(|(node, samples)| {
            problem(self.experiment.problem, *samples, classes)
                .map_err(|error| RunError::Input(format!("node {node}: {error}")))
        });
        numbered.collect()
    }

    fn simulation<'a>(
        &self,
        samples: &[NodeSamples<'a>],
    ) -> Result<Simulation<AnyProblem<'a>>, RunError> {
        let steps = self.experiment.steps()?;
        let (seed, size) = (self.experiment.run.seed, self.experiment.batch());
        let config = |node| {
            let sampler =
                Sampler { draws: Draws { seed, node }, size, sharing: Sharing::Independent };
            Config { steps, sampler }
        };
        let start = |outer: usize| match (&self.start, &self.experiment.run.x0) {
            (Some(start), _) => start.clone(),
            (None, Start::Number(x0)) => vec![*x0; outer],
            (None, Start::File(_)) => Vec::new(),
        };
        let scheme = self.experiment.algorithm.name.scheme();
        Simulation::from_points(self.problems(samples)?, scheme, self.edges.clone(), start, config)
            .map_err(|error| match error {
                NetworkError::Node {
                    error: NodeError::Length { name: "x", needed, found },
                    ..
                } => RunError::Input(format!("run.x0 has {found} numbers, {needed} are needed")),
                other => input(other),
            })
    }

    /// Runs to the end, calling `tick` after every round.
    ///
    /// # Errors
    /// On divergence, everything so far is written first.
    pub fn run(
        &self,
        outputs: &Outputs,
        mut tick: impl FnMut(u64),
    ) -> Result<Vec<Metrics>, RunError> {
        let samples = self.samples()?;
        let mut simulation = self.simulation(&samples)?;
        let began = Instant::now();
        let measure = |simulation: &Simulation<AnyProblem<'_>>| {
            Metrics::of(simulation.nodes(), &samples, began.elapsed().as_secs_f64())
        };
        let mut rows = vec![measure(&simulation)];
        let (last, every) = (self.experiment.run.iterations, self.experiment.run.record_every);
        for round in 1..=last {
            if let Err(error) = simulation.round() {
                outputs
                    .write(&self.experiment, simulation.nodes(), &rows)
                    .map_err(RunError::Output)?;
                return Err(RunError::Diverged(error));
            }
            if round % every == 0 || round == last {
                rows.push(measure(&simulation));
            }
            tick(round);
        }
        outputs.write(&self.experiment, simulation.nodes(), &rows).map_err(RunError::Output)?;
        Ok(rows)
    }
}

/// A node's problem.
fn problem<'a>(
    table: ProblemTable,
    samples: NodeSamples<'a>,
    classes: usize,
) -> Result<AnyProblem<'a>, ProblemError> {
    let NodeSamples { train, validation, .. } = samples;
    Ok(match table {
        ProblemTable::Logistic {} => AnyProblem::Logistic(Logistic::new(train, validation)?),
        ProblemTable::Ridge {} => AnyProblem::Ridge(Ridge::new(train, validation)?),
        ProblemTable::SharedLayer { hidden, mu } => {
            AnyProblem::SharedLayer(SharedLayer::new(train, validation, hidden, classes, mu)?)
        }
        ProblemTable::MetaLogistic { nu } => {
            AnyProblem::MetaLogistic(Meta::new(train, validation, nu)?)
        }
        ProblemTable::MetaSquared { nu } => {
            AnyProblem::MetaSquared(Meta::new(train, validation, nu)?)
        }
    })
}

const fn label_kind(problem: &ProblemTable) -> LabelKind {
    match problem {
        ProblemTable::Logistic {} | ProblemTable::MetaLogistic { .. } => LabelKind::Binary,
        ProblemTable::Ridge {} | ProblemTable::MetaSquared { .. } => LabelKind::Real,
        ProblemTable::SharedLayer { .. } => LabelKind::Class,
    }
}

/// Reads the data and deals them out.
fn shards(experiment: &Experiment) -> Result<Vec<Shard>, RunError> {
    let (table, nodes, seed) = (&experiment.data, experiment.network.nodes, experiment.run.seed);
    let dir = || {
        let missing =
            format!("data.dir is missing: the folder with the files of {:?}", table.source);
        table.dir.as_deref().ok_or(RunError::Input(missing))
    };
    let names: Vec<&str> = table.classes.iter().map(String::as_str).collect();
    let dataset = match table.source.as_str() {
        "synthetic" => {
            let samples = table.samples.unwrap_or(40);
            let recipe = Recipe { features: 24, relevant: 4, samples, seed };
            return Ok((0..nodes).map(|node| recipe.shard(node).into()).collect());
        }
        "csv" => {
            let kind = label_kind(&experiment.problem);
            return data::folders::load(dir()?, nodes, kind).map_err(input);
        }
        "mnist" => data::mnist::load(dir()?).map_err(input)?,
        "cifar10" => data::cifar::load(dir()?).map_err(input)?,
        "covtype" => {
            Dataset::new(data::covtype::load(dir()?).map_err(input)?, None).map_err(input)?
        }
        other => {
            let known = "synthetic, csv, mnist, covtype or cifar10";
            return Err(RunError::Input(format!(
                "data.source {other:?} is unknown: choose {known}"
            )));
        }
    };
    let dataset = if names.is_empty() { dataset } else { dataset.pick(&names).map_err(input)? };
    // Without a test set of its own, a sixth of the samples is kept for the judge.
    let dataset = match dataset.test {
        Some(_) => dataset,
        None => {
            let sixth = dataset.train.len() / 6;
            dataset.hold_out(sixth, seed).map_err(input)?
        }
    };
    let partition = partition(&table.partition)?;
    // Where nodes see different classes, each is judged on the mixture it has.
    let test = if partition == Partition::Iid { TestPart::Common } else { TestPart::Matched };
    let deal = Deal { nodes, partition, samples: table.samples, validation: 0.5, test, seed };
    let mut shards = deal.shards(dataset).map_err(input)?;
    data::standardise(&mut shards).map_err(input)?;
    Ok(shards)
}

/// "iid", "label-subsets 2", "dirichlet 0.5" or "label-ratio".
fn partition(text: &str) -> Result<Partition, RunError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let partition = match words[..] {
        ["iid"] => Some(Partition::Iid),
        ["label-ratio"] => Some(Partition::LabelRatio(LabelRatio::default())),
        ["label-subsets", classes] => {
            classes.parse().ok().map(|classes| Partition::LabelSubsets { classes })
        }
        ["dirichlet", alpha] => alpha.parse().ok().map(|alpha| Partition::Dirichlet { alpha }),
        _ => None,
    };
    partition.ok_or_else(|| {
        let forms = "\"iid\", \"label-subsets 2\", \"dirichlet 0.5\" or \"label-ratio\"";
        RunError::Input(format!("data.partition {text:?} is unknown: write {forms}"))
    })
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
