//! The command `lopa`.

// They panic when a pipe is closed or a disk is full; `command::print` and `command::tell` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod command;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use command::algorithms::Algorithms;
use command::compare::Compare;
use command::data::Data;
use command::demonstration::{Demonstration, Example};
use command::export::Export;
#[cfg(unix)]
use command::fleet::{FleetCommand, GatewayCommand, NodeCommand};
use command::init::Init;
use command::key::KeyCommand;
use command::paper::Paper;
use command::predict::PredictCommand;
use command::run::Run;
use command::shard::ShardCommand;
use command::sweep::SweepCommand;
use command::theory::TheoryCommand;
use command::topology::Topology;
use command::tune::TuneCommand;
use command::workers::WorkerCommand;
use command::{Failure, print, printed, tell};

/// Learning on a fleet of microcontrollers without a server.
///
/// Without a command: a ring of nodes learns from synthetic data in this process, with the code that runs on a chip. Each
/// node learns its own classifier from a handful of samples; together they learn which features to trust.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  lopa --nodes 20 --seed 7\n  lopa init patients.csv --label state\n  lopa example > network.toml\n  \
                  lopa run network.toml --out results\n  \
                  lopa predict results new.csv --node 0\n  lopa export results --node 0 --c model.h\n  \
                  lopa compare lg.toml gt.toml --out both\n  lopa sweep network.toml --out sweep --alpha 0.01:1:5\n  \
                  lopa tune lopa.toml spdb.toml --out tuned\n  lopa key network.key\n  \
                  lopa shard network.toml --out blobs\n  lopa fleet network.toml --emulate --out results\n  \
                  lopa algorithms\n  lopa topology ring --nodes 10\n  lopa data list\n\n\
                  Exit status: 0 success, 1 a run failed or diverged, 2 bad usage or input."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demonstration: Demonstration,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(Init),
    Example(Example),
    Run(Run),
    Predict(PredictCommand),
    Export(Export),
    Compare(Compare),
    Sweep(SweepCommand),
    Tune(TuneCommand),
    Theory(TheoryCommand),
    Paper(Paper),
    Key(KeyCommand),
    Worker(WorkerCommand),
    Shard(ShardCommand),
    #[cfg(unix)]
    Fleet(Box<FleetCommand>),
    #[cfg(unix)]
    Gateway(Box<GatewayCommand>),
    #[cfg(unix)]
    Node(Box<NodeCommand>),
    Algorithms(Algorithms),
    Topology(Topology),
    Data(Data),
    /// Prints a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Has Zenoh receive and send in one thread, unless the user has other plans. In two, its TLS links read and write the state of
/// one connection at the same time (zenoh issue 2557, in 1.10): connections break many times a second, and memory could be damaged.
#[cfg(feature = "zenoh")]
#[allow(unsafe_code, reason = "Zenoh can be told in no other way")]
fn use_one_thread_for_links() {
    const NAME: &str = "ZENOH_RUNTIME";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: called before any thread is started, so nothing reads the environment meanwhile.
        unsafe { std::env::set_var(NAME, "(rx: (worker_threads: 1), tx: (handover: rx))") };
    }
}

/// Exit status: 0 success, 1 a run failed or diverged, 2 bad usage or input.
fn main() -> ExitCode {
    #[cfg(feature = "zenoh")]
    use_one_thread_for_links();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help and the version are printed to standard output, like results.
        Err(text) if !text.use_stderr() => return status(printed(text.print())),
        Err(mistake) => mistake.exit(),
    };
    status(match arguments.command {
        None => arguments.demonstration.run(),
        Some(Command::Init(init)) => init.run(),
        Some(Command::Example(example)) => example.run(),
        Some(Command::Run(run)) => run.run(),
        Some(Command::Predict(predict)) => predict.run(),
        Some(Command::Export(export)) => export.run(),
        Some(Command::Compare(compare)) => compare.run(),
        Some(Command::Sweep(sweep)) => sweep.run(),
        Some(Command::Tune(tune)) => tune.run(),
        Some(Command::Theory(theory)) => theory.run(),
        Some(Command::Paper(paper)) => paper.run(),
        Some(Command::Key(key)) => key.run(),
        Some(Command::Worker(worker)) => worker.run(),
        Some(Command::Shard(shard)) => shard.run(),
        #[cfg(unix)]
        Some(Command::Fleet(fleet)) => fleet.run(),
        #[cfg(unix)]
        Some(Command::Gateway(gateway)) => gateway.run(),
        #[cfg(unix)]
        Some(Command::Node(node)) => node.run(),
        Some(Command::Algorithms(algorithms)) => algorithms.run(),
        Some(Command::Topology(topology)) => topology.run(),
        Some(Command::Data(data)) => data.run(),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "lopa", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    })
}

/// The exit status of a command, after a message if it failed.
fn status(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(format_args!("lopa: {failure}"));
            ExitCode::from(failure.status)
        }
    }
}
