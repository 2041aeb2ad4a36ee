//! The progress of a fleet, live: one line per node on a terminal, one line now and then in a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use lopa_core::wire::{Counters, Status};
use lopa_host::fleet::Silence;
use lopa_host::live::State;

use crate::command::tell;

/// Nodes that fit on a screen.
const MOST: usize = 24;
/// Lines in a pipe come no more often than this.
const EVERY: Duration = Duration::from_secs(2);

/// Shows a fleet's progress.
pub(crate) struct Progress {
    nodes: Vec<u32>,
    bars: Vec<ProgressBar>,
    /// What keeps the bars in place.
    screen: Option<MultiProgress>,
    rounds: u64,
    /// When a line was last printed, and the round in it.
    printed: Option<(Instant, u64)>,
}

/// What a node is doing, or why it does nothing.
pub(crate) fn word(status: &Result<Status, Silence>) -> String {
    let word = match (status, State::of_board(status)) {
        (Err(Silence::Refused { trouble, .. }), _) => return format!("does not start: {trouble}"),
        (_, State::Dead) => "off or silent",
        (_, State::Waiting) => "waiting for neighbours",
        (_, State::Refused) => "refused by its neighbours",
        (_, state) => state.word(),
    };
    word.into()
}

/// Frames that a node received and could not use.
pub(crate) const fn damaged(counters: &Counters) -> u64 {
    counters.corrupt + counters.truncated + counters.oversize + counters.malformed
}

impl Progress {
    /// Of a whole network.
    pub(crate) fn new(nodes: usize, rounds: u64) -> Self {
        Self::of((0..).take(nodes).collect(), rounds)
    }

    /// Of some nodes.
    pub(crate) fn of(nodes: Vec<u32>, rounds: u64) -> Self {
        let screen = std::io::stderr().is_terminal().then(MultiProgress::new);
        let mut bars = Vec::new();
        if let Some(screen) = &screen {
            let template = "node {prefix:>3} {bar:30} {pos:>6}/{len} {msg}";
            let style = ProgressStyle::with_template(template).expect("a fixed template");
            for node in nodes.iter().take(MOST) {
                let bar = ProgressBar::new(rounds).with_style(style.clone());
                bars.push(screen.add(bar.with_prefix(node.to_string())));
            }
        }
        Self { nodes, bars, screen, rounds, printed: None }
    }

    /// Shows the status of all nodes; `more` is added to the state of each, if there is more.
    pub(crate) fn show(&mut self, statuses: &[Result<Status, Silence>], more: &[String]) {
        let more = |node: usize| more.get(node).map_or("", String::as_str);
        for (node, (bar, status)) in self.bars.iter().zip(statuses).enumerate() {
            if let Ok(status) = status {
                bar.set_position(status.round);
            }
            bar.set_message(format!("{}{}", word(status), more(node)));
        }
        if self.screen.is_some() {
            return;
        }
        let slowest = statuses.iter().flatten().map(|status| status.round).min().unwrap_or(0);
        let due = self.printed.is_none_or(|(at, round)| {
            round != slowest && (at.elapsed() >= EVERY || slowest >= self.rounds)
        });
        if !due {
            return;
        }
        self.printed = Some((Instant::now(), slowest));
        let of = |(index, status): (usize, &Result<Status, Silence>)| {
            let node = self.nodes[index];
            match status {
                Ok(Status { round, .. }) => {
                    format!("{node}: {round} {}{}", word(status), more(index))
                }
                Err(_) => format!("{node}: {}", word(status)),
            }
        };
        let words: Vec<String> = statuses.iter().enumerate().map(of).collect();
        tell(format_args!("round {slowest} of {}; {}", self.rounds, words.join(", ")));
    }

    /// Prints a line that does not disturb the bars.
    pub(crate) fn tell(&self, line: &str) {
        match &self.screen {
            // A failure to print it is ignored, as elsewhere.
            Some(screen) => drop(screen.println(line)),
            None => tell(line),
        }
    }

    pub(crate) fn clear(&self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}
