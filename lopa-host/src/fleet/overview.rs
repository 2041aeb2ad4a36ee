//! How boards are doing while they learn: what was last read of each, measured.

use std::time::Duration;

use lopa_core::node::Variable;
use lopa_core::oracles::Evaluations;
use lopa_core::problem::Problem;
use lopa_core::problems::AnyProblem;
use lopa_core::wire::Counters;

use super::client::{Client, Silence};
use crate::algorithms::NodeView;
use crate::metrics::{Meter, Metric, NodeSamples, NodeValues, Totals};
use crate::network::Traffic;
use crate::record::Record;
use crate::run::{Prepared, RunError};

/// How long a board may take for its answer: it replied a moment ago.
const MOMENT: Duration = Duration::from_secs(5);

/// What is measured of all boards together. What only a simulation knows is left out.
const TOGETHER: [Metric; 8] = [
    Metric::OuterLoss,
    Metric::InnerLoss,
    Metric::Consensus,
    Metric::TrainAccuracy,
    Metric::ValidationAccuracy,
    Metric::TestAccuracy,
    Metric::Bytes,
    Metric::Frames,
];

/// What was last read of a board.
#[derive(Debug, Clone, Default)]
struct Board {
    /// x and θ.
    model: Option<[Vec<f32>; 2]>,
    counters: Option<Counters>,
    values: NodeValues,
}

/// How boards are doing.
#[derive(Debug)]
pub struct Overview<'p> {
    problems: Vec<AnyProblem<'p>>,
    /// Empty for problems without samples.
    samples: Vec<NodeSamples<'p>>,
    boards: Vec<Board>,
    record: Record,
}

impl<'p> Overview<'p> {
    /// Of boards of which nothing has been read.
    ///
    /// # Errors
    /// If there are no such nodes.
    pub fn new(prepared: &'p Prepared) -> Result<Self, RunError> {
        let samples = prepared.material().samples()?;
        let problems = prepared.problems(&samples)?;
        let boards = vec![Board::default(); problems.len()];
        let record = Meter::new(TOGETHER.into(), Vec::new(), None).record();
        Ok(Self { problems, samples, boards, record })
    }

    /// Reads x, θ and the counters of a board, and measures it. Lines are slow: one board at a time.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn read(&mut self, client: &mut Client) -> Result<(), Silence> {
        let patience = client.patience();
        client.set_patience(patience.min(MOMENT));
        let read = Self::ask(client);
        client.set_patience(patience);
        let (model, counters) = read?;
        let node = client.node() as usize;
        let Some(problem) = self.problems.get(node) else { return Ok(()) };
        let size = problem.dimensions();
        if [size.outer, size.inner] != model.each_ref().map(Vec::len) {
            return Err(Silence::Nonsense(client.node()));
        }
        self.boards[node].model = Some(model);
        self.boards[node].counters = Some(counters);
        let values = self.meter(&Meter::NODE, [node]).values(&self.view(node, 0));
        self.boards[node].values = values.first().copied().unwrap_or_default();
        Ok(())
    }

    fn ask(client: &mut Client) -> Result<([Vec<f32>; 2], Counters), Silence> {
        let model = [client.read(Variable::Outer)?, client.read(Variable::Inner)?];
        Ok((model, client.counters()?))
    }

    /// Measures these metrics of some boards.
    fn meter(&self, metrics: &[Metric], boards: impl IntoIterator<Item = usize>) -> Meter<'p> {
        let samples = boards.into_iter().filter_map(|board| self.samples.get(board).copied());
        Meter::new(metrics.into(), samples.collect(), None)
    }

    /// A board that was read, as a node after this many rounds.
    fn view(&self, node: usize, round: u64) -> Vec<NodeView<'_, AnyProblem<'p>>> {
        let model = self.boards[node].model.as_ref();
        let view = model.map(|[x, theta]| NodeView {
            id: node as u32,
            problem: &self.problems[node],
            evaluations: Evaluations::default(),
            round,
            x,
            theta,
            v: None,
            z: None,
            y: None,
            extra: Vec::new(),
        });
        view.into_iter().collect()
    }

    /// Measures all boards that were read, and records it as that of a round, unless there is a row of that round. They were read one
    /// after the other, so this is not quite the state of any round.
    pub fn measure(&mut self, round: u64) {
        let recorded = self.record.rows().last().and_then(|row| row.first().copied().flatten());
        if recorded.is_some_and(|recorded| recorded >= round as f64) {
            return;
        }
        let read: Vec<usize> =
            (0..self.boards.len()).filter(|board| self.boards[*board].model.is_some()).collect();
        if read.is_empty() {
            return;
        }
        let sum = |of: fn(&Counters) -> u64| self.counted().map(of).sum::<u64>();
        let traffic =
            Traffic { bytes: sum(|own| own.sent_bytes), frames: Some(sum(|own| own.sent)) };
        let totals = Totals { traffic: Some(traffic), ..Totals::default() };
        let views: Vec<_> = read.iter().flat_map(|board| self.view(*board, round)).collect();
        let row = self.meter(&TOGETHER, read.iter().copied()).measure(&views, totals);
        self.record.push(row);
    }

    fn counted(&self) -> impl Iterator<Item = &Counters> {
        self.boards.iter().filter_map(|board| board.counters.as_ref())
    }

    /// What was measured so far.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// What was measured of a board.
    #[must_use]
    pub fn values(&self, node: u32) -> NodeValues {
        self.boards.get(node as usize).map_or_else(NodeValues::default, |board| board.values)
    }

    /// What happened on the links of a board.
    #[must_use]
    pub fn counters(&self, node: u32) -> Option<Counters> {
        self.boards.get(node as usize)?.counters
    }

    /// Chunks that all boards sent again.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.counted().map(|own| own.repaired).sum()
    }

    /// x of the boards that were read.
    pub fn xs(&self) -> impl Iterator<Item = &[f32]> {
        self.boards.iter().filter_map(|board| board.model.as_ref()).map(|[x, _]| &x[..])
    }
}
