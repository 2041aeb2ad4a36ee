//! What nodes learn from: read, dealt out, and made into problems.

use std::path::Path;

use lopa_core::problem::ProblemError;
use lopa_core::problems::{AnyProblem, Logistic, Meta, Ridge, SharedLayer};
use lopa_core::samples::LabelKind;

use super::{RunError, input};
use crate::config::{DataTable, Experiment, ProblemTable, Validation};
use crate::data::{self, Dataset, Deal, LabelRatio, Partition, Shard, Table, TestPart, Values};
use crate::metrics::NodeSamples;
use crate::quadratics::{QuadraticData, QuadraticRecipe};
use crate::synthetic::Recipe;

/// What all nodes have.
#[derive(Debug, Clone, PartialEq)]
pub enum Material {
    /// Samples, with the labels the problem learns from.
    Samples(Vec<Shard>, LabelKind),
    /// Numbers of quadratics, which know no samples.
    Quadratics(Vec<QuadraticData>),
}

impl Material {
    /// Reads the data and deals them out.
    pub(super) fn load(experiment: &Experiment) -> Result<Self, RunError> {
        let (nodes, seed) = (experiment.network.nodes, experiment.run.seed);
        if let ProblemTable::Quadratic { outer, inner, heterogeneity } = experiment.problem {
            let recipe = QuadraticRecipe { outer, inner, heterogeneity, seed };
            return Ok(Self::Quadratics((0..nodes).map(|node| recipe.node(node)).collect()));
        }
        let kind = experiment.problem.labels().unwrap_or(LabelKind::Real);
        Ok(Self::Samples(shards(&experiment.data, kind, nodes, seed)?, kind))
    }

    /// The data of every node; none for quadratics.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        match self {
            Self::Samples(shards, _) => shards,
            Self::Quadratics(_) => &[],
        }
    }

    /// The samples of every node; none for quadratics.
    pub(crate) fn samples(&self) -> Result<Vec<NodeSamples<'_>>, RunError> {
        let Self::Samples(shards, kind) = self else { return Ok(Vec::new()) };
        let mut samples = Vec::new();
        for shard in shards {
            let test = shard.test.as_ref().map(|test| test.samples(*kind)).transpose();
            samples.push(NodeSamples {
                train: shard.train.samples(*kind).map_err(input)?,
                validation: shard.validation.samples(*kind).map_err(input)?,
                test: test.map_err(input)?,
            });
        }
        Ok(samples)
    }

    /// The problem of every node, over `samples` that were read before.
    pub(super) fn problems<'a>(
        &'a self,
        table: ProblemTable,
        samples: &[NodeSamples<'a>],
    ) -> Result<Vec<AnyProblem<'a>>, RunError> {
        let numbered = |(node, problem): (usize, Result<AnyProblem<'a>, ProblemError>)| {
            problem.map_err(|error| RunError::Input(format!("node {node}: {error}")))
        };
        match self {
            Self::Quadratics(data) => {
                let own = |data: &'a QuadraticData| data.problem().map(AnyProblem::Quadratic);
                data.iter().map(own).enumerate().map(numbered).collect()
            }
            Self::Samples(shards, _) => {
                let classes = shards.first().map_or(0, |shard| shard.train.classes().len());
                let own = |samples: &NodeSamples<'a>| problem(table, *samples, classes);
                samples.iter().map(own).enumerate().map(numbered).collect()
            }
        }
    }

    /// A checksum of everything nodes learn from: a run is resumed on the same or not at all.
    pub(super) fn digest(&self, digest: &mut crc32fast::Hasher) {
        match self {
            Self::Samples(shards, _) => {
                for shard in shards {
                    digest_table(&shard.train, digest);
                    digest_table(&shard.validation, digest);
                }
            }
            // Made from settings that are compared themselves.
            Self::Quadratics(data) => digest.update(&(data.len() as u64).to_le_bytes()),
        }
    }
}

fn digest_table(table: &Table, digest: &mut crc32fast::Hasher) {
    digest.update(&(table.len() as u64).to_le_bytes());
    match table.values() {
        Values::Bytes(bytes) => digest.update(bytes),
        Values::Floats(floats) => floats.iter().for_each(|a| digest.update(&a.to_le_bytes())),
    }
    match table.targets() {
        data::Targets::Class(labels) => digest.update(labels),
        data::Targets::Real(labels) => {
            labels.iter().for_each(|a| digest.update(&a.to_le_bytes()));
        }
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
        ProblemTable::Quadratic { .. } => return Err(ProblemError::Size { name: "samples" }),
    })
}

fn shards(
    table: &DataTable,
    kind: LabelKind,
    nodes: u32,
    seed: u64,
) -> Result<Vec<Shard>, RunError> {
    let missing = |key: &str, what: &str| {
        RunError::Input(format!("data.{key} is missing: {what} of {:?}", table.source))
    };
    let dir = || table.dir.as_deref().ok_or_else(|| missing("dir", "the folder with the files"));
    let dataset = match (table.source.as_str(), &table.file) {
        ("synthetic", _) => return synthetic(table, nodes, seed),
        ("csv", None) => {
            let dir = table.dir.as_deref();
            let dir = dir.ok_or_else(|| missing("dir or data.file", "the folder or file"))?;
            return data::folders::load(dir, nodes, kind).map_err(input);
        }
        ("csv", Some(file)) => from_files(table, file, |file, _| data::csv::read(file, kind))?,
        ("libsvm", None) => return Err(missing("file", "the file")),
        ("libsvm", Some(file)) => {
            from_files(table, file, |file, width| data::libsvm::read(file, kind, width))?
        }
        ("mnist", _) => data::mnist::load(dir()?).map_err(input)?,
        ("cifar10", _) => data::cifar::load(dir()?).map_err(input)?,
        ("covtype", _) => {
            Dataset::new(data::covtype::load(dir()?).map_err(input)?, None).map_err(input)?
        }
        (other, _) => {
            let known = "synthetic, mnist, covtype, cifar10, csv or libsvm";
            let what = format!("data.source {other:?} is unknown: choose {known}");
            return Err(RunError::Input(what));
        }
    };
    let names: Vec<&str> = table.classes.iter().map(String::as_str).collect();
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
    let validation = match table.validation {
        Validation::Part(part) => Some(part),
        Validation::Same => None,
    };
    let deal = Deal { nodes, partition, samples: table.samples, validation, test, seed };
    let mut shards = deal.shards(dataset).map_err(input)?;
    if table.standardise {
        data::standardise(&mut shards).map_err(input)?;
    }
    Ok(shards)
}

fn synthetic(table: &DataTable, nodes: u32, seed: u64) -> Result<Vec<Shard>, RunError> {
    let (features, relevant) = (table.features, table.relevant);
    if features == 0 || relevant > features {
        let what = "data.features must be at least 1, and data.relevant no more";
        return Err(RunError::Input(format!("{what}: they are {features} and {relevant}")));
    }
    let recipe = Recipe { features, relevant, samples: table.samples.unwrap_or(40), seed };
    Ok((0..nodes).map(|node| recipe.shard(node).into()).collect())
}

/// One file for all nodes, and perhaps one to judge by, of the same width.
fn from_files(
    table: &DataTable,
    file: &Path,
    read: impl Fn(&Path, Option<usize>) -> Result<Table, data::FileError>,
) -> Result<Dataset, RunError> {
    let train = read(file, None).map_err(input)?;
    let width = train.width();
    let test = table.test_file.as_deref().map(|file| read(file, Some(width))).transpose();
    Dataset::new(train, test.map_err(input)?).map_err(input)
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
        ["equal-subsets", classes] => {
            classes.parse().ok().map(|classes| Partition::EqualSubsets { classes })
        }
        ["dirichlet", alpha] => alpha.parse().ok().map(|alpha| Partition::Dirichlet { alpha }),
        _ => None,
    };
    partition.ok_or_else(|| {
        let forms = "\"iid\", \"label-subsets 2\", \"dirichlet 0.5\" or \"label-ratio\"";
        RunError::Input(format!("data.partition {text:?} is unknown: write {forms}"))
    })
}
