//! Boards that are watched: what they reply, what is read of them in turn, and whoever looks on in a browser.

use std::path::Path;
use std::time::{Duration, Instant};

use lopa_core::wire::Status;
use lopa_host::fleet::gateway::Site;
use lopa_host::fleet::{Client, Overview, Silence};
use lopa_host::live::{Live, Node, Phase, State};
use lopa_host::network::LineHealth;
use lopa_host::run::Prepared;

use super::progress::damaged;
use crate::command::Failure;
use crate::command::live::LiveOption;

/// Boards that are watched.
pub(super) struct Follow<'p> {
    overview: Overview<'p>,
    /// All nodes of the network.
    nodes: Vec<Node>,
    /// Those whose boards are watched, in the order of their statuses.
    watched: Vec<u32>,
    live: Option<Live>,
    turns: usize,
    /// When a board was last read.
    read: Option<Instant>,
}

/// How long boards are left alone after one of them was read: accidents that are due must not wait for long.
pub(super) const REST: Duration = Duration::from_secs(1);

impl<'p> Follow<'p> {
    /// Begins to watch.
    pub(super) fn new(
        prepared: &'p Prepared,
        file: &Path,
        live: &LiveOption,
    ) -> Result<Self, Failure> {
        let nodes = prepared.experiment().network.nodes;
        Ok(Self {
            overview: Overview::new(prepared)?,
            nodes: vec![Node::new(State::Waiting, 0); nodes as usize],
            watched: (0..nodes).collect(),
            live: live.start(prepared, file)?,
            turns: 0,
            read: None,
        })
    }

    /// The same only if somebody can look on.
    pub(super) fn if_live(
        prepared: &'p Prepared,
        file: &Path,
        live: &LiveOption,
    ) -> Result<Option<Self>, Failure> {
        if live.is_on() { Self::new(prepared, file, live).map(Some) } else { Ok(None) }
    }

    /// The same for the boards of a gateway. Those of others are elsewhere.
    pub(super) fn site(
        prepared: &'p Prepared,
        file: &Path,
        live: &LiveOption,
        site: &Site,
    ) -> Result<Option<Self>, Failure> {
        let Some(mut own) = Self::if_live(prepared, file, live)? else { return Ok(None) };
        own.watched.retain(|node| site.own.nodes.contains(node));
        for other in site.all.iter().filter(|other| other.name != site.own.name) {
            for node in &other.nodes {
                if let Some(node) = own.nodes.get_mut(*node as usize) {
                    node.state = State::Elsewhere;
                    node.why = format!("gateway {}", other.name);
                }
            }
        }
        Ok(Some(own))
    }

    /// Takes the statuses of the boards that are watched, and reads more of the one whose turn it is, after a rest: lines are slow, and busy.
    pub(super) fn look<'c>(
        &mut self,
        statuses: &[Result<Status, Silence>],
        client: impl FnOnce(u32) -> Option<&'c mut Client>,
        lines: Vec<LineHealth>,
        rest: Duration,
    ) {
        for (number, status) in self.watched.iter().zip(statuses) {
            if let Some(node) = self.nodes.get_mut(*number as usize) {
                node.reply(status);
            }
        }
        let count = self.watched.len().max(1);
        let turn = self.turns % count;
        let rested = self.read.is_none_or(|read| read.elapsed() >= rest);
        self.turns += usize::from(rested);
        if rested
            && statuses.get(turn).is_some_and(Result::is_ok)
            && let Some(client) = self.watched.get(turn).and_then(|number| client(*number))
        {
            self.read(client);
            self.read = Some(Instant::now());
        }
        let slowest = statuses.iter().flatten().map(|status| status.round).min().unwrap_or(0);
        if rested && self.turns.is_multiple_of(count) {
            self.overview.measure(slowest);
        }
        self.tell(slowest, lines);
    }

    /// Tells those that look on.
    fn tell(&self, round: u64, lines: Vec<LineHealth>) {
        let Some(live) = &self.live else { return };
        let feed = live.feed();
        feed.round(round);
        feed.nodes(self.nodes.iter().cloned(), lines, self.overview.xs());
        feed.record(self.overview.record(), Some(self.overview.repaired()));
    }

    /// All boards have finished, and all that were read were read after that.
    pub(super) fn finish(&mut self, rounds: u64) {
        self.overview.measure(rounds);
        self.tell(rounds, Vec::new());
        self.end(Phase::Finished, "");
    }

    /// Reads a board; one that falls silent says so soon enough.
    pub(super) fn read(&mut self, client: &mut Client) {
        let number = client.node();
        if self.overview.read(client).is_ok()
            && let Some(node) = self.nodes.get_mut(number as usize)
        {
            node.values = self.overview.values(number);
            node.counters = self.overview.counters(number);
        }
    }

    /// What is known about a board besides its state, in words.
    pub(super) fn words(&self, node: usize) -> String {
        let mut words = String::new();
        let Some(node) = self.nodes.get(node) else { return words };
        if let Some([met, dead, refused]) = node.neighbours {
            words += &format!(", {met} met");
            for (count, what) in [(dead, "dead"), (refused, "refused")] {
                if count > 0 {
                    words += &format!(", {count} {what}");
                }
            }
        }
        if let Some(loss) = node.values[0] {
            words += &format!(", loss {loss:.5}");
        }
        if let Some(counters) = node.counters {
            words += &format!(", repaired {}, damaged {}", counters.repaired, damaged(&counters));
        }
        words
    }

    /// Tells those that look on how it ended.
    pub(super) fn end(&self, phase: Phase, words: &str) {
        if let Some(live) = &self.live {
            live.feed().end(phase, words);
        }
    }
}
