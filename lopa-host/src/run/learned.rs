//! What nodes have learned in the end: models fitted again to all their samples, and compared with what each node could have
//! learned alone, and with one model for all.
//!
//! Half of a node's samples usually teach only x. With x known, they can teach θ as well: this is the refit. The
//! alternatives get the same samples and the same refit. Where x holds strengths, they choose one strength for all features
//! by validation, as is usual; elsewhere they run the same algorithm, each node without its neighbours, and one node with
//! all samples.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lopa_core::batch::Batch;
use lopa_core::problem::{Point, Problem};
use lopa_core::problems::AnyProblem;
use lopa_core::samples::Samples;
use rayon::prelude::*;

use super::material::problem;
use super::{Material, Options, Prepared, RunError, input, strength};
use crate::algorithms::NodeView;
use crate::config::Experiment;
use crate::data::{Shard, Table, Validation};
use crate::exact;
use crate::metrics::{Choice, Metric, NodeSamples, accuracy};
use crate::report::{Learned, Score};

/// How often step sizes are reduced.
const TRIES: u32 = 6;

/// x and θ of a node.
type Model = (Vec<f32>, Vec<f32>);

/// The samples of some nodes taken together.
struct Together {
    train: Table,
    validation: Table,
}

impl Prepared {
    /// What these nodes have learned, as far as the file asks for it; once `stop` is true, without what takes long. What could
    /// not be computed is left out, and [`Learned::failed`] says why: the rest of the results does not depend on it.
    #[must_use]
    pub fn learned<P>(&self, nodes: &[NodeView<'_, P>], stop: Option<&AtomicBool>) -> Learned {
        let mut learned = Learned::default();
        if let Err(error) = self.learn_rest(nodes, stop, &mut learned) {
            learned.failed = Some(error.to_string());
        }
        learned
    }

    fn learn_rest<P>(
        &self,
        nodes: &[NodeView<'_, P>],
        stop: Option<&AtomicBool>,
        learned: &mut Learned,
    ) -> Result<(), RunError> {
        let run = &self.experiment.run;
        // A quadratic has no samples.
        if self.material.shards().is_empty() {
            return Ok(());
        }
        if run.refit == Some(true) {
            let xs: Vec<(u32, &[f32])> = nodes.iter().map(|node| (node.id, node.x)).collect();
            learned.thetas = Some(self.refitted(&xs)?);
        }
        // A fleet may have lost nodes.
        if run.baselines != Some(true) || nodes.len() != self.material.shards().len() {
            return Ok(());
        }
        let title = self.experiment.algorithm.name.about().title;
        let with = |thetas: Vec<Vec<f32>>| -> Vec<Model> {
            nodes.iter().zip(thetas).map(|(node, theta)| (node.x.to_vec(), theta)).collect()
        };
        let last = with(nodes.iter().map(|node| node.theta.to_vec()).collect());
        learned.scores.extend(self.score(format!("{title}, after the last round"), &last)?);
        if let Some(thetas) = &learned.thetas {
            let refitted = with(thetas.clone());
            learned
                .scores
                .extend(self.score(format!("{title}, fitted to all samples"), &refitted)?);
        }
        if let Some(models) = self.alone_models(stop)? {
            learned.scores.extend(self.score("each node alone".into(), &models)?);
        }
        if let Some(model) = self.common_model(stop)? {
            let models = vec![model; nodes.len()];
            learned.scores.extend(self.score("one model for all nodes".into(), &models)?);
        }
        Ok(())
    }

    /// The best models of nodes for their x, each on all samples of its node.
    fn refitted(&self, xs: &[(u32, &[f32])]) -> Result<Vec<Vec<f32>>, RunError> {
        xs.par_iter().map(|(node, x)| self.fit(&[*node as usize], x)).collect()
    }

    /// The best model of a node for its x, on all its samples; none if the file does not ask for it.
    ///
    /// # Errors
    /// The inner problem cannot be solved, because x is too far out.
    pub fn refitted_node(&self, node: u32, x: &[f32]) -> Result<Option<Vec<f32>>, RunError> {
        let there = (node as usize) < self.material.shards().len();
        let wanted = there && self.experiment.run.refit == Some(true);
        Ok(if wanted { self.refitted(&[(node, x)])?.pop() } else { None })
    }

    /// What each node learns alone; none if that diverges.
    fn alone_models(&self, stop: Option<&AtomicBool>) -> Result<Option<Vec<Model>>, RunError> {
        let nodes: Vec<usize> = (0..self.material.shards().len()).collect();
        if self.experiment.problem.has_strengths() {
            let fit = |node: &usize| self.with_one_strength(&[*node]);
            return nodes.par_iter().map(fit).collect::<Result<_, _>>().map(Some);
        }
        let Some(xs) = self.alone().without_neighbours(stop)? else { return Ok(None) };
        let numbered: Vec<(u32, &[f32])> = (0..).zip(xs.iter().map(|x| &x[..])).collect();
        let thetas = self.refitted(&numbered)?;
        Ok(Some(xs.into_iter().zip(thetas).collect()))
    }

    /// What one node with the samples of all would learn; none if that diverges.
    fn common_model(&self, stop: Option<&AtomicBool>) -> Result<Option<Model>, RunError> {
        let nodes: Vec<usize> = (0..self.material.shards().len()).collect();
        if self.experiment.problem.has_strengths() {
            return self.with_one_strength(&nodes).map(Some);
        }
        let Together { train, validation } = self.together(&nodes)?;
        let shard = Shard { train, validation, test: None, standard: None };
        let material = Arc::new(Material::Samples(vec![shard], self.material.label_kind()));
        let xs = Self { material, ..self.alone() }.without_neighbours(stop)?;
        let Some(x) = xs.and_then(|mut xs| xs.pop()) else { return Ok(None) };
        let theta = self.fit(&nodes, &x)?;
        Ok(Some((x, theta)))
    }

    /// x of every node of a network without links, after all rounds. Step sizes that are right for nodes that learn together
    /// may be too large for one that learns alone: they are reduced until the loss does not grow. None if it always does, or it was stopped.
    fn without_neighbours(
        &self,
        stop: Option<&AtomicBool>,
    ) -> Result<Option<Vec<Vec<f32>>>, RunError> {
        let mut network = self.with(|experiment| {
            let run = &mut experiment.run;
            run.record_every = run.iterations;
            run.metrics = Choice::These(vec![Metric::OuterLoss]);
            experiment.links = None;
        })?;
        for _ in 0..TRIES {
            if let Ok(outcome) = network.run(Options { stop, ..Options::default() }, |_| ()) {
                if !outcome.finished {
                    return Ok(None);
                }
                let losses: Vec<_> =
                    outcome.record.rows().iter().filter_map(|row| row[1]).collect();
                if losses.last() <= losses.first() {
                    return Ok(Some(outcome.nodes().iter().map(|node| node.x.to_vec()).collect()));
                }
            }
            network = network.with(|experiment| {
                let alpha = experiment.algorithm.alpha.map(|alpha| 0.25 * alpha);
                experiment.algorithm.alpha = alpha;
            })?;
        }
        Ok(None)
    }

    /// The model with the best strength that is the same for all features.
    fn with_one_strength(&self, nodes: &[usize]) -> Result<Model, RunError> {
        let together = self.together(nodes)?;
        let problem = together.problem(self)?;
        let outer = problem.dimensions().outer;
        let best = strength::best(&[problem], |x0| self.constant(x0, outer));
        let x = self.constant(best, outer);
        let theta = self.fit(nodes, &x)?;
        Ok((x, theta))
    }

    fn together(&self, nodes: &[usize]) -> Result<Together, RunError> {
        let train = self.joined(nodes, &[|shard| &shard.train])?;
        let validation = self.joined(nodes, &[|shard| &shard.validation])?;
        Ok(Together { train, validation })
    }

    /// All samples of nodes that a model is fitted to.
    fn all_samples(&self, nodes: &[usize]) -> Result<Table, RunError> {
        let Experiment { problem, data, run, .. } = &self.experiment;
        // A model that adapts in one step is meant for training samples, unless the file says otherwise.
        let train_only = problem.adapts() && run.refit != Some(true);
        let both = data.validation() != Validation::Same && !train_only;
        let parts: [fn(&Shard) -> &Table; 2] = [|shard| &shard.train, |shard| &shard.validation];
        self.joined(nodes, &parts[..1 + usize::from(both)])
    }

    /// These parts of what nodes have, part by part.
    fn joined(&self, nodes: &[usize], parts: &[fn(&Shard) -> &Table]) -> Result<Table, RunError> {
        let shards = || nodes.iter().map(|node| &self.material.shards()[*node]);
        let tables: Vec<&Table> = parts.iter().flat_map(|part| shards().map(part)).collect();
        Table::joined(&tables).map_err(input)
    }

    /// The best model for an x, on all samples of nodes.
    fn fit(&self, nodes: &[usize], x: &[f32]) -> Result<Vec<f32>, RunError> {
        let table = self.all_samples(nodes)?;
        let all = table.samples(self.material.label_kind()).map_err(input)?;
        let solution = exact::solve(&self.problem_of(all, all)?, x, None);
        Ok(solution.map_err(|error| input(format!("cannot fit a model: {error}")))?.theta)
    }

    /// How good models are on the nodes' own test samples; none if no node has any.
    fn score(&self, name: String, models: &[Model]) -> Result<Option<Score>, RunError> {
        let (mut nodes, mut losses) = (Vec::new(), Vec::new());
        for (own, (x, theta)) in self.material.samples()?.iter().zip(models) {
            let Some(test) = own.test else { continue };
            let problem = self.problem_of(own.train, test)?;
            let mut workspace = vec![0.0; problem.dimensions().workspace];
            let at = Point { x, theta };
            problem.prepare(x, &mut workspace);
            let batch = Batch::full(problem.population().outer);
            losses.push(f64::from(problem.outer_loss(at, &batch, &mut workspace)));
            nodes.extend(accuracy(&test, |each| {
                problem.predict_all(at, &test, &mut workspace, each)
            }));
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let (accuracy, loss) = (mean(&nodes), mean(&losses));
        Ok((!nodes.is_empty()).then_some(Score { name, accuracy, loss, nodes }))
    }

    /// The problem of a node with these samples.
    fn problem_of<'a>(
        &self,
        train: Samples<'a>,
        validation: Samples<'a>,
    ) -> Result<AnyProblem<'a>, RunError> {
        let own = NodeSamples { train, validation, test: None };
        let (table, classes) = (self.experiment.problem, self.material.classes());
        problem(table, self.base(), own, classes).map_err(input)
    }
}

impl Together {
    fn problem(&self, prepared: &Prepared) -> Result<AnyProblem<'_>, RunError> {
        let kind = prepared.material.label_kind();
        let samples = |table| Table::samples(table, kind).map_err(input);
        prepared.problem_of(samples(&self.train)?, samples(&self.validation)?)
    }
}
