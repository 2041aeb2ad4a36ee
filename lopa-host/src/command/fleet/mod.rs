//! `lopa fleet`: a network on boards, emulated or real.

mod doctor;
mod emulate;
mod follow;
mod gateway;
mod hardware;
mod monitor;
mod node;
mod progress;

pub(crate) use gateway::GatewayCommand;
pub(crate) use node::NodeCommand;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lopa_host::chips::Board;
use lopa_host::config::Experiment;
use lopa_host::fleet::ConnectError;
use lopa_host::fleet::image::{self, ImageError};

use super::live::LiveOption;
use super::{Failure, complete, tell};
use emulate::Emulation;

/// Runs a network on boards, emulated or real.
///
/// With --emulate: builds the node program and one blob per node, boots one emulated chip per node, connects their serial
/// ports according to the topology, waits until they have learned, reads their states back, and writes the same files as
/// lopa run. It also runs the simulation, and reports whether every node ended with the same bits. The last row of
/// metrics.csv is measured from the states read back; the rows before it are the simulation's if the final bits are the
/// same, and otherwise only the first row, where all nodes start alike.
///
/// For real boards the file needs a table "fleet": the board, and a [[fleet.node]] with id, port and probe for each. With
/// wiring = "routed" this host forwards frames between boards while start or monitor is running; if one of them ends early,
/// it pauses the boards.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa fleet network.toml --emulate --out results\n  \
                  lopa fleet network.toml --emulate --out results --corrupt 0.1 --cut 0-1@50+2\n  \
                  lopa fleet network.toml --emulate --out results --kill 2@50 --restart 2@100\n  \
                  lopa fleet network.toml doctor\n  lopa fleet network.toml flash --dry-run\n  lopa fleet network.toml monitor\n  \
                  lopa fleet network.toml monitor --live\n\n\
                  Exit status: 0 success, 1 the fleet failed or its bits differ from the simulation, 2 bad usage or input.")]
pub(crate) struct FleetCommand {
    /// Experiment file (TOML), the same that lopa run takes.
    file: PathBuf,
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    emulation: Emulation,
}

/// What to do with real boards.
#[derive(Debug, Subcommand)]
enum Action {
    /// Checks tools, targets, probes, ports, permissions, baud rate and blobs, and says what to do about problems.
    ///
    /// Nothing is built, flashed or changed. Every port is opened for a moment.
    #[command(after_help = "Examples:\n  lopa fleet network.toml doctor\n  \
                      lopa fleet network.toml doctor --image pico.elf --blobs my-blobs\n\n\
                      Exit status: 0 all is well, 1 there are problems, 2 bad usage or input.")]
    Doctor(doctor::Doctor),
    /// Flashes the node program and its blob to every board, with probe-rs.
    Flash(hardware::Flash),
    /// Starts or resumes all boards; if this host is their router, or with --live, it stays until they have finished.
    Start(Watched),
    /// Prints the state of every board.
    Status,
    /// Shows the progress of all boards until they have finished or Ctrl-C is pressed.
    Monitor(Watched),
    /// Reads the states of all boards into state.json.
    Read(hardware::Read),
    /// Pauses all boards after the round they are in.
    Stop,
}

/// What start and monitor take.
#[derive(Debug, Args)]
struct Watched {
    #[command(flatten)]
    live: LiveOption,
}

/// Where the node program comes from.
#[derive(Debug, Args)]
struct Source {
    /// Firmware folder [default: next to this program's sources, or ./firmware].
    #[arg(long, value_name = "DIR")]
    firmware: Option<PathBuf>,
    /// A node program that has been built already.
    #[arg(long, value_name = "ELF", conflicts_with = "firmware")]
    image: Option<PathBuf>,
}

impl Source {
    /// The program for a board.
    fn program(&self, board: &Board) -> Result<PathBuf, Failure> {
        let built = match &self.image {
            Some(image) => image::given(image),
            None => {
                let how = if board.bare { ", without a log to have room for few bits" } else { "" };
                tell(format_args!("building the node program for {}{how}", board.name));
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
            ConnectError::Table | ConnectError::Missing(_) => Self::input(error),
            ConnectError::Port { .. } => Self::run(error),
        }
    }
}

/// The file of boards leaves step sizes open.
fn left_open(file: &Path) -> Failure {
    Failure::input(format!(
        "{file} leaves step sizes open: run it once with `lopa run {file} --out DIR`, and use DIR/experiment.toml, \
         which has them, for real boards",
        file = file.display()
    ))
}

impl FleetCommand {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        if experiment.is_open() && self.action.is_some() {
            // Every command would choose again, and boards must not be told anything else than when they were flashed.
            return Err(left_open(&self.file));
        }
        if self.action.is_some() && self.emulation.live.is_on() {
            return Err(Failure::input(
                "--live belongs behind start or monitor: lopa fleet FILE monitor --live",
            ));
        }
        let prepared = complete(experiment)?;
        match (&self.action, self.emulation.emulate) {
            (None, true) => self.emulation.run(&self.file, &prepared),
            (None, false) => Err(Failure::input(
                "nothing to do: pass --emulate --out DIR, or one of doctor, flash, start, status, monitor, read and stop",
            )),
            (Some(_), true) => {
                Err(Failure::input("--emulate cannot be combined with a command for real boards"))
            }
            (Some(Action::Doctor(doctor)), false) => doctor.run(&self.file, &prepared),
            (Some(Action::Flash(flash)), false) => flash.run(&prepared),
            (Some(Action::Start(Watched { live })), false) => {
                hardware::start(&prepared, &self.file, live)
            }
            (Some(Action::Status), false) => hardware::status(&prepared),
            (Some(Action::Monitor(Watched { live })), false) => {
                monitor::monitor(&prepared, &self.file, live)
            }
            (Some(Action::Read(read)), false) => read.run(&prepared),
            (Some(Action::Stop), false) => hardware::stop(&prepared),
        }
    }
}
