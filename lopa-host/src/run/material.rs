//! What nodes learn from: read, dealt out, and made into problems.

use std::ops::Range;

use lopa_core::problem::ProblemError;
use lopa_core::problems::{AnyProblem, Logistic, Meta, Ridge, SharedLayer};
use lopa_core::samples::LabelKind;
use rayon::prelude::*;

use super::{RunError, input};
use crate::config::{Experiment, ProblemTable};
use crate::data::{self, Shard, Source};
use crate::metrics::NodeSamples;
use crate::quadratics::{QuadraticData, QuadraticRecipe};

/// What all nodes have.
#[derive(Debug, Clone, PartialEq)]
pub enum Material {
    /// Samples, with the labels the problem learns from.
    Samples(Vec<Shard>, LabelKind),
    /// Numbers of quadratics, which know no samples.
    Quadratics(Vec<QuadraticData>),
}

impl Material {
    /// Whether nodes learn from what is made from settings alone, so that each can have its own without the others'.
    pub(super) fn is_made_up(experiment: &Experiment) -> bool {
        matches!(experiment.problem, ProblemTable::Quadratic { .. })
            || experiment.data.source() == Source::Synthetic
    }

    /// Reads the data and deals them out; what is made up only for these nodes, if not for all.
    pub(super) fn load(experiment: &Experiment, own: Option<Range<u32>>) -> Result<Self, RunError> {
        let (nodes, seed) = (experiment.network.nodes, experiment.run.seed);
        if let ProblemTable::Quadratic {
            outer,
            inner,
            heterogeneity,
            inner_goals,
            outer_goals,
            condition,
        } = experiment.problem
        {
            let recipe = QuadraticRecipe {
                outer,
                inner,
                heterogeneity,
                inner_goals,
                outer_goals,
                condition,
                seed,
            };
            let (n, p) = (outer as u128, inner as u128);
            let floats = n.saturating_mul(p).saturating_add(3 * n + 4 * p);
            super::check_memory(floats.saturating_mul(nodes.into()), nodes as usize, || {
                format!(
                    "x has {outer} elements and theta {inner}: use fewer nodes, or smaller ones"
                )
            })?;
            let own = own.unwrap_or(0..nodes);
            return Ok(Self::Quadratics(own.map(|node| recipe.node(node)).collect()));
        }
        let kind = experiment.problem.labels().unwrap_or(LabelKind::Real);
        let shards = match own {
            Some(own) if Self::is_made_up(experiment) => {
                experiment.data.synthetic(nodes, own, seed)
            }
            _ => experiment.data.shards(kind, nodes, seed),
        };
        Ok(Self::Samples(shards.map_err(input)?, kind))
    }

    /// Drops the data of all nodes but these.
    pub(super) fn keep(&mut self, nodes: Range<usize>) {
        match self {
            Self::Samples(shards, _) => *shards = shards.drain(nodes).collect(),
            Self::Quadratics(data) => *data = data.drain(nodes).collect(),
        }
    }

    /// Drops what nodes are tested on.
    pub(super) fn forget_tests(&mut self) {
        if let Self::Samples(shards, _) = self {
            shards.iter_mut().for_each(|shard| shard.test = None);
        }
    }

    /// Puts the samples of the nodes that are left where they are read fastest.
    pub(super) fn bring_together(&mut self) {
        if let Self::Samples(shards, _) = self {
            data::together(shards);
        }
    }

    /// The data of every node; none for quadratics.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        match self {
            Self::Samples(shards, _) => shards,
            Self::Quadratics(_) => &[],
        }
    }

    /// How many classes the labels have; none for real ones, and for quadratics.
    pub(super) fn classes(&self) -> usize {
        self.shards().first().map_or(0, |shard| shard.train.classes().len())
    }

    /// The labels that the problem learns from.
    pub(super) const fn label_kind(&self) -> LabelKind {
        match self {
            Self::Samples(_, kind) => *kind,
            Self::Quadratics(_) => LabelKind::Real,
        }
    }

    /// The samples of every node; none for quadratics.
    pub(crate) fn samples(&self) -> Result<Vec<NodeSamples<'_>>, RunError> {
        let Self::Samples(shards, kind) = self else { return Ok(Vec::new()) };
        // Every number is looked at, so on all cores; of several errors, the one of the first node is reported.
        let samples = shards.par_iter().map(|shard| {
            let test = shard.test.as_ref().map(|test| test.samples(*kind)).transpose();
            Ok(NodeSamples {
                train: shard.train.samples(*kind).map_err(input)?,
                validation: shard.validation.samples(*kind).map_err(input)?,
                test: test.map_err(input)?,
            })
        });
        samples.collect::<Vec<Result<_, RunError>>>().into_iter().collect()
    }

    /// The samples that nodes learn from, as chips read them; none for quadratics.
    pub(crate) fn raw_samples(&self) -> Result<Vec<NodeSamples<'_>>, RunError> {
        let Self::Samples(shards, kind) = self else { return Ok(Vec::new()) };
        let mut samples = Vec::new();
        for shard in shards {
            samples.push(NodeSamples {
                train: shard.train.raw_samples(*kind).map_err(input)?,
                validation: shard.validation.raw_samples(*kind).map_err(input)?,
                test: None,
            });
        }
        Ok(samples)
    }

    /// The problem of every node, over `samples` that were read before; strengths, if it learns any, around `base`.
    pub(super) fn problems<'a>(
        &'a self,
        table: ProblemTable,
        base: f32,
        samples: &[NodeSamples<'a>],
    ) -> Result<Vec<AnyProblem<'a>>, RunError> {
        let classes = self.classes();
        let problems: Vec<Result<AnyProblem<'a>, ProblemError>> = match self {
            Self::Quadratics(data) => {
                data.iter().map(|own| own.problem().map(AnyProblem::Quadratic)).collect()
            }
            Self::Samples(..) => {
                samples.iter().map(|own| problem(table, base, *own, classes)).collect()
            }
        };
        let named = |node: usize, error| RunError::Input(format!("node {node}: {error}"));
        let numbered = problems.into_iter().enumerate();
        numbered.map(|(node, problem)| problem.map_err(|error| named(node, error))).collect()
    }

    /// A checksum of everything nodes are tested on.
    pub(super) fn digest_tests(&self, digest: &mut crc32fast::Hasher) {
        for shard in self.shards() {
            digest.update(&[u8::from(shard.test.is_some())]);
            shard.test.iter().for_each(|test| test.digest(digest));
        }
    }

    /// A checksum of everything nodes learn from: a run is resumed on the same or not at all.
    pub(super) fn digest(&self, digest: &mut crc32fast::Hasher) {
        match self {
            Self::Samples(shards, _) => {
                for shard in shards {
                    shard.train.digest(digest);
                    shard.validation.digest(digest);
                }
            }
            // Made from settings that are compared themselves.
            Self::Quadratics(data) => digest.update(&(data.len() as u64).to_le_bytes()),
        }
    }
}

/// A node's problem; strengths, if it learns any, around `base`.
pub(super) fn problem<'a>(
    table: ProblemTable,
    base: f32,
    samples: NodeSamples<'a>,
    classes: usize,
) -> Result<AnyProblem<'a>, ProblemError> {
    let NodeSamples { train, validation, .. } = samples;
    Ok(match table {
        ProblemTable::Logistic {} => {
            AnyProblem::Logistic(Logistic::new(train, validation)?.around(base)?)
        }
        ProblemTable::Ridge {} => AnyProblem::Ridge(Ridge::new(train, validation)?.around(base)?),
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
