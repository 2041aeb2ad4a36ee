//! `lopa fleet`: a network on boards, emulated or real.

mod emulate;
mod hardware;
mod monitor;
mod progress;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lopa_host::chips::Board;
use lopa_host::config::Experiment;
use lopa_host::fleet::ConnectError;
use lopa_host::fleet::image::{self, ImageError};
use lopa_host::run::Prepared;

use super::Failure;
use emulate::Emulation;

/// Runs a network on boards, emulated or real.
///
/// With --emulate: builds the node program and a blob each, boots one emulated chip a node, wires their serial ports as the
/// topology says, lets them learn, reads their states back, and writes what lopa run writes. It says whether every node's
/// bits are those of the simulation, which it runs too. metrics.csv: the last row is measured from the states read back. Rows
/// before it come from the simulation, and only if the final bits are the same; with other bits there is the first row,
/// where all start, and the last.
///
/// For real boards the file has a table "fleet": board, and for each [[fleet.node]] its id, port and probe. With
/// wiring = "routed" this host passes frames on between boards, as long as start or monitor run; when they end early they
/// have the boards pause.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa fleet network.toml --emulate --out results\n  \
                  lopa fleet network.toml --emulate --out results --corrupt 0.1 --cut 0-1@50+2\n  \
                  lopa fleet network.toml --emulate --out results --kill 2@50 --restart 2@100\n  \
                  lopa fleet network.toml flash --dry-run\n  lopa fleet network.toml monitor\n\n\
                  Exit status: 0, 1 the fleet failed or its bits are not the simulation's, 2 bad usage or input.")]
pub(crate) struct FleetCommand {
    /// The file, the same that lopa run takes.
    file: PathBuf,
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    emulation: Emulation,
}

/// What is done with real boards.
#[derive(Debug, Subcommand)]
enum Action {
    /// Flashes every board with the node program and its blob, by probe-rs.
    Flash(hardware::Flash),
    /// Has boards learn, or go on; where the host is their router it stays until they are done.
    Start,
    /// Says where boards are, and how they fare.
    Status,
    /// Shows how boards fare, until they are done or Ctrl-C.
    Monitor,
    /// Reads the states of all boards into state.json.
    Read(hardware::Read),
    /// Has boards pause after their round.
    Stop,
}

/// Where the node program comes from.
#[derive(Debug, Args)]
struct Source {
    /// The folder of the firmware; that of this program's sources if not given, or ./firmware.
    #[arg(long, value_name = "DIR")]
    firmware: Option<PathBuf>,
    /// A node program that is built already.
    #[arg(long, value_name = "ELF", conflicts_with = "firmware")]
    image: Option<PathBuf>,
}

impl Source {
    /// The program for a board.
    fn program(&self, board: &Board) -> Result<PathBuf, Failure> {
        let built = match &self.image {
            Some(image) => image::given(image),
            None => {
                eprintln!("building the program of {}", board.name);
                image::build(&image::folder(self.firmware.as_deref()), board)
            }
        };
        built.map_err(|error| match error {
            ImageError::Missing(_) | ImageError::Image(_) => Failure::input(error),
            other => Failure::run(other),
        })
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Table { .. } => Self::input(error),
            ConnectError::Port { .. } => Self::run(error),
        }
    }
}

impl FleetCommand {
    /// Does what it was told.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let prepared = Prepared::new(experiment)?;
        match (&self.action, self.emulation.asked()) {
            (None, true) => self.emulation.run(&prepared),
            (None, false) => Err(Failure::input(
                "what shall the fleet do? Say --emulate --out DIR, or flash, start, status, monitor, read or stop",
            )),
            (Some(_), true) => {
                Err(Failure::input("--emulate stands alone: real boards are flashed, started, …"))
            }
            (Some(Action::Flash(flash)), false) => flash.run(&prepared),
            (Some(Action::Start), false) => hardware::start(&prepared),
            (Some(Action::Status), false) => hardware::status(&prepared),
            (Some(Action::Monitor), false) => monitor::monitor(&prepared),
            (Some(Action::Read(read)), false) => read.run(&prepared),
            (Some(Action::Stop), false) => hardware::stop(&prepared),
        }
    }
}
