//! `lopa fleet FILE doctor`: everything that boards need before they are flashed and started, and what to do about the rest.

mod blobs;
mod probes;
mod tools;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::chips::Board;
use lopa_host::fleet::{ConnectError, Connected, Port};
use lopa_host::run::Prepared;

use super::Source;
use super::hardware;
use crate::command::{Failure, print};

/// Checks what boards need.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Folder with the blobs.
    #[arg(long, default_value = "blobs")]
    blobs: PathBuf,
    #[command(flatten)]
    source: Source,
}

/// What was found, in the order of the checks.
#[derive(Debug, Default)]
struct Findings {
    text: String,
    problems: usize,
}

impl Findings {
    /// Adds what is well, or what is not and how to change that.
    fn add<T: Display, E: Display>(&mut self, topic: &str, found: Result<T, E>) {
        let (word, what) = match found {
            Ok(what) => ("ok", what.to_string()),
            Err(what) => {
                self.problems += 1;
                ("PROBLEM", what.to_string())
            }
        };
        self.text += &format!("{topic:<8} {word:<8} {what}\n");
    }
}

impl Doctor {
    pub(super) fn run(&self, file: &Path, prepared: &Prepared) -> Result<(), Failure> {
        let mut findings = Findings::default();
        let board = hardware::board(prepared);
        findings.add("board", board.as_ref().map(named));
        let board = board.ok();
        tools::check(&mut findings, &self.source, board.as_ref());
        if board.is_none_or(|board| board.chip.is_some()) {
            probes::check(&mut findings, prepared);
        }
        ports(&mut findings, prepared);
        blobs::check(&mut findings, &self.blobs, file, prepared, board.as_ref());
        print(&findings.text)?;
        match findings.problems {
            0 => print("all is well\n"),
            1 => Err(Failure::run("1 problem: the line above says what to do")),
            many => Err(Failure::run(format!("{many} problems: the lines above say what to do"))),
        }
    }
}

fn named(board: &Board) -> String {
    let chip = board.chip.unwrap_or("only emulated, so nothing is flashed");
    format!("{} ({chip})", board.name)
}

/// Opens the port of every node for a moment.
fn ports(findings: &mut Findings, prepared: &Prepared) {
    let experiment = prepared.experiment();
    if experiment.fleet.as_ref().is_none_or(|table| table.node.is_empty()) {
        return findings.add("port", Err::<&str, _>(ConnectError::Table));
    }
    let baud = experiment.links.clone().unwrap_or_default().baud;
    for node in 0..experiment.network.nodes {
        let opened = Connected::port(experiment, node).and_then(|port| {
            let opened = port.open(baud, |_, _| false);
            opened.map_err(|error| ConnectError::Port { node, error })?;
            let rate = match port {
                Port::Tcp(_) => format!("; its server must use {baud} baud"),
                _ => String::new(),
            };
            Ok(format!("node {node}: {port} can be opened{rate}"))
        });
        findings.add("port", opened);
    }
}
