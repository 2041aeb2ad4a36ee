//! `lopa algorithms`: the algorithms there are.

use std::fmt::Write;

use clap::Args;
use lopa_host::algorithms::{AlgorithmName, Key};

use super::{Failure, print};

/// Lists the algorithms with the cost of a round.
///
/// With a name, describes one: its source, its cost, and a table `algorithm` for an experiment file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa algorithms\n  lopa algorithms spdb")]
pub(crate) struct Algorithms {
    /// Algorithm to describe.
    #[arg(value_parser = named)]
    name: Option<AlgorithmName>,
}

fn named(word: &str) -> Result<AlgorithmName, String> {
    let all = || AlgorithmName::ALL.map(AlgorithmName::word).join(", ");
    let found = AlgorithmName::ALL.into_iter().find(|name| name.word() == word);
    found.ok_or_else(|| format!("choose one of {}", all()))
}

impl Algorithms {
    /// Prints the list, or one.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        print(&self.name.map_or_else(list, one))
    }
}

fn list() -> String {
    let mut text =
        String::from("name           inner gradients  Hessian-vector  vectors sent  what\n");
    for name in AlgorithmName::ALL {
        let about = name.about();
        let (cost, mark) = (about.cost, if about.reconstruction.is_some() { " *" } else { "" });
        let _ = writeln!(
            text,
            "{:<14} {:<16} {:<15} {:<13} {}{mark}",
            name.word(),
            cost.inner_gradients,
            cost.hessian_vectors,
            cost.vectors,
            about.what,
        );
    }
    text + "\nCounts are per node and round, with T = inner_steps and Q = hessian_steps (10 each by default).\n\
            * a reconstruction: lopa algorithms NAME describes it and names its source.\n"
}

fn one(name: AlgorithmName) -> String {
    let about = name.about();
    let mut text = format!("{}: {}\n{}\n", about.title, about.what, about.source);
    if let Some(how) = about.reconstruction {
        let _ = writeln!(text, "A reconstruction: {how}.");
    }
    let cost = about.cost;
    let _ = writeln!(
        text,
        "Per node and round: {} inner gradients, {} Hessian-vector products, {} hypergradients, {} vectors sent.\n\n\
         [algorithm]\nname = \"{name}\"",
        cost.inner_gradients, cost.hessian_vectors, cost.hypergradients, cost.vectors,
    );
    for key in about.needs {
        let value = match key {
            Key::Gamma | Key::Tau => "0.4",
            _ => "0.05",
        };
        let _ = writeln!(text, "{} = {value}", key.name());
    }
    for (key, default) in about.takes {
        let quoted =
            if *key == Key::Truncation { format!("{default:?}") } else { (*default).into() };
        let _ = writeln!(text, "# {} = {quoted}", key.name());
    }
    text + "# batch = \"full\"\n"
}
