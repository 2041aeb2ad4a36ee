//! What a file leaves open: LoPA's step sizes, and where x starts.
//!
//! - **x0**: where x holds strengths, the best one that is the same for all features and nodes, by exact inner solutions.
//!   A shared layer starts from random numbers, anything else from 0.
//! - **beta, lambda**: one over the largest curvature of any node's inner problem, measured without a model and with its
//!   best one. Strengths may grow, so they count e times.
//! - **gamma, tau**: fixed.
//! - **alpha**: where x holds strengths, so small that all rounds together move x only as far as the validation samples
//!   justify. Until the loss on them is least would be further: it would fit x to these few samples. Elsewhere, a search.
//!
//! Then the run is made once, without its results: steps that diverge, or make the loss larger, are reduced. So a run with
//! chosen steps takes twice as long, but does not diverge. Everything is rounded to two digits, so that the same file has
//! the same steps on every machine.

use std::sync::Arc;

use lopa_core::problem::Problem;
use lopa_core::problems::AnyProblem;
use rayon::prelude::*;

use super::awake::awake;
use super::{Prepared, RunError, strength};
use crate::algorithms::{AlgorithmTable, Key};
use crate::config::{ProblemTable, Start};
use crate::exact::{Exact, Solver};
use crate::metrics::NodeSamples;
use crate::network::{CodedSimulatedNode, InProcess, Member, SimulatedNode};
use crate::report::Chosen;
use crate::theory::largest_curvature;

const GAMMA: f32 = 0.2;
const TAU: f32 = 0.5;
/// A short run of the search for alpha: this part of the rounds, and at most so many.
const PART: u64 = 5;
const ROUNDS: u64 = 300;
/// The most changes of a step.
const TESTS: u32 = 10;
/// How far strengths may move: about as far as with a prior of this variance for their logarithms, since gradient steps whose
/// lengths add up to t stop where a prior of weight 1/t would. A larger one overfits where nodes have few samples, a smaller
/// one learns less.
const VARIANCE: f64 = 1.5;

impl Prepared {
    /// The same with everything that the file leaves open.
    pub(super) fn complete(mut self) -> Result<Self, RunError> {
        let open: Vec<Key> = self.experiment.algorithm.open().collect();
        // One that adapts in one step is meant for the samples it has learned to adapt to.
        let adapts = self.experiment.problem.adapts();
        let run = &mut self.experiment.run;
        if open.is_empty() {
            run.x0.get_or_insert(Start::Number(0.0));
            return Ok(self);
        }
        run.refit.get_or_insert(!adapts);
        run.baselines.get_or_insert(true);
        let data = Arc::clone(&self.material);
        let samples = data.samples()?;
        if self.experiment.run.x0.is_none() {
            let start = self.best_start(&self.problems(&samples)?);
            self.chosen.push(Chosen { key: "run.x0", value: start.to_string() });
            self.experiment.run.x0 = Some(start);
        }
        let search = Search { prepared: &self, samples: &samples, open: &open };
        // Their base is where x starts.
        let found = search.run(&self.problems(&samples)?)?;
        for key in open {
            let Some(value) = found.step(key) else { continue };
            self.chosen.push(Chosen { key: key.in_table(), value: value.to_string() });
        }
        self.experiment.algorithm = found;
        Ok(self)
    }

    /// Where x starts, if the file does not say.
    fn best_start(&self, problems: &[AnyProblem<'_>]) -> Start {
        let outer = problems.first().map_or(0, |problem| problem.dimensions().outer);
        match self.experiment.problem {
            ProblemTable::Logistic {} | ProblemTable::Ridge {} => {
                Start::Number(strength::best(problems, |x0| self.constant(x0, outer)))
            }
            ProblemTable::SharedLayer { hidden, .. } => {
                // So that the units neither saturate nor are all alike.
                let features = (outer / hidden.max(1)).max(1) as f64;
                Start::Random { random: rounded(1.0 / features.sqrt()) }
            }
            _ => Start::Number(0.0),
        }
    }
}

/// A search for step sizes by short runs.
struct Search<'a> {
    prepared: &'a Prepared,
    samples: &'a [NodeSamples<'a>],
    /// The steps that may be changed.
    open: &'a [Key],
}

impl Search<'_> {
    fn run(&self, problems: &[AnyProblem<'_>]) -> Result<AlgorithmTable, RunError> {
        let experiment = &self.prepared.experiment;
        let x0 = self.prepared.x0(problems.first().map_or(0, |one| one.dimensions().outer));
        let strengths = experiment.problem.has_strengths();
        let mut table = experiment.algorithm.clone();
        let inner = 1.0 / curvature(problems, &x0, strengths);
        let usual = [(Key::Beta, inner), (Key::Lambda, inner)];
        let shares = [(Key::Gamma, GAMMA.into()), (Key::Tau, TAU.into())];
        for (key, value) in usual.into_iter().chain(shares) {
            self.set(&mut table, key, value);
        }
        if !self.open.contains(&Key::Alpha) {
            return self.tested(table);
        }
        if !strengths {
            return self.climb(table, problems, &x0);
        }
        let samples: usize = self.samples.iter().map(|own| own.validation.len()).sum();
        let tau = f64::from(table.step(Key::Tau).unwrap_or(TAU));
        let alpha = VARIANCE * samples as f64 / (tau * experiment.run.iterations as f64);
        self.set(&mut table, Key::Alpha, alpha);
        self.tested(table)
    }

    /// Sets a step that the file leaves open.
    fn set(&self, table: &mut AlgorithmTable, key: Key, value: f64) {
        if self.open.contains(&key) {
            table.set_step(key, rounded(value));
        }
    }

    fn scale(&self, table: &mut AlgorithmTable, key: Key, factor: f64) {
        let value = table.step(key).map_or(0.0, f64::from);
        self.set(table, key, factor * value);
    }

    /// Reduces steps until the run does not diverge, nor increases the loss.
    fn tested(&self, mut table: AlgorithmTable) -> Result<AlgorithmTable, RunError> {
        let Some(before) = self.loss(&table, 0)? else { return Ok(table) };
        for _ in 0..TESTS {
            let loss = self.loss(&table, self.prepared.experiment.run.iterations)?;
            if loss.is_some_and(|after| after <= before + 0.01 * before.abs()) {
                return Ok(table);
            }
            let mut smaller = table.clone();
            self.scale(&mut smaller, Key::Alpha, 0.25);
            if loss.is_none() {
                for key in [Key::Beta, Key::Lambda] {
                    self.scale(&mut smaller, key, 0.5);
                }
            }
            if smaller == table {
                // What is wrong is given, and the run will report it.
                return Ok(table);
            }
            table = smaller;
        }
        Err(RunError::Input(
            "no step sizes were found with which the loss falls: set algorithm.alpha, beta and lambda yourself".into(),
        ))
    }

    /// Looks for the alpha with the least loss after a short run, in steps of a factor of four.
    fn climb(
        &self,
        table: AlgorithmTable,
        problems: &[AnyProblem<'_>],
        x0: &[f32],
    ) -> Result<AlgorithmTable, RunError> {
        let scale = x0.iter().fold(0.0_f64, |top, a| top.max(f64::from(a.abs())));
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let mut best = table;
        self.set(&mut best, Key::Alpha, 0.1 * scale / steepest(problems, x0));
        let rounds = self.prepared.experiment.run.iterations.div_ceil(PART).min(ROUNDS);
        let mut least = self.loss(&best, rounds)?.unwrap_or(f64::INFINITY);
        for factor in [4.0, 0.25] {
            for _ in 0..TESTS {
                let mut next = best.clone();
                self.scale(&mut next, Key::Alpha, factor);
                let loss = self.loss(&next, rounds)?.unwrap_or(f64::INFINITY);
                let gain = if least.is_finite() { 1e-3 * least.abs() } else { 0.0 };
                // While everything diverges, smaller steps are the only way on.
                if loss + gain < least || (least.is_infinite() && factor < 1.0) {
                    (best, least) = (next, loss);
                } else {
                    break;
                }
            }
        }
        // Well inside: many more rounds follow, and four times as much may have diverged.
        self.scale(&mut best, Key::Alpha, 0.5);
        self.tested(best)
    }

    /// The loss on validation samples of the best models for the nodes' mean x, after so many rounds; none if they diverge.
    fn loss(&self, table: &AlgorithmTable, rounds: u64) -> Result<Option<f64>, RunError> {
        let Self { prepared, samples, .. } = *self;
        let seed = prepared.experiment.run.seed;
        let network = prepared.simulation_with(samples, table.scheme()?, table.steps()?, seed)?;
        Ok(match prepared.experiment.codec()? {
            Some(codec) => loss(prepared.coded(network, codec)?, rounds, CodedSimulatedNode::node),
            None => loss(network, rounds, |node| node),
        })
    }
}

/// The same of a network in round 0.
fn loss<'p, M: Member>(
    mut network: InProcess<M>,
    rounds: u64,
    node: impl Fn(&M) -> &SimulatedNode<AnyProblem<'p>>,
) -> Option<f64> {
    if awake(|| (0..rounds).any(|_| network.round().is_err())) {
        return None;
    }
    let nodes = network.nodes().iter().map(node).map(|node| (node.problem(), node.state()));
    let measured = Exact::default().measure(nodes);
    measured.ok().map(|measured| measured.phi).filter(|phi| phi.is_finite())
}

/// The largest curvature of any node's inner problem, without a model and with the best one.
fn curvature(problems: &[AnyProblem<'_>], x0: &[f32], strengths: bool) -> f64 {
    let grown: Vec<f32> = x0.iter().map(|x| if strengths { x + 1.0 } else { *x }).collect();
    let own = |problem: &AnyProblem<'_>| {
        let mut solver = Solver::new(problem.dimensions());
        let mut most = largest_curvature(problem, &grown, &solver.solution().theta);
        if let Ok(solution) = solver.solve(problem, x0) {
            most = most.max(largest_curvature(problem, &grown, &solution.theta));
        }
        most
    };
    let all: Vec<f64> = problems.par_iter().map(own).collect();
    let most = all.into_iter().filter(|a| a.is_finite()).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

/// The largest element of the mean hypergradient.
fn steepest(problems: &[AnyProblem<'_>], x0: &[f32]) -> f64 {
    let own = |problem: &AnyProblem<'_>| {
        let mut solver = Solver::new(problem.dimensions());
        solver.solve(problem, x0).map(|solution| solution.hypergradient.clone()).ok()
    };
    let all: Vec<Option<Vec<f64>>> = problems.par_iter().map(own).collect();
    let mean = crate::numerics::vector::mean(all.iter().flatten().map(|own| &own[..]));
    let most = mean.iter().fold(0.0_f64, |top, a| top.max(a.abs()));
    if most > 0.0 { most } else { 1.0 }
}

/// A number with two digits.
fn rounded(value: f64) -> f32 {
    format!("{value:.1e}").parse().unwrap_or(value as f32)
}
