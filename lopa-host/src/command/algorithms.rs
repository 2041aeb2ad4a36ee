//! `lopa algorithms`: what there is to compare.

use std::fmt::Write;

use clap::Args;
use lopa_host::algorithms::{AlgorithmName, Key};

use super::{Failure, print};

/// Lists the algorithms: what each takes, what a round costs, and where it comes from.
///
/// With a name: all about one of them, and a table `algorithm` for a file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa algorithms\n  lopa algorithms spdb")]
pub(crate) struct Algorithms {
    /// The name of one.
    #[arg(value_parser = named)]
    name: Option<AlgorithmName>,
}

fn named(word: &str) -> Result<AlgorithmName, String> {
    let all = || AlgorithmName::ALL.map(AlgorithmName::word).join(", ");
    let found = AlgorithmName::ALL.into_iter().find(|name| name.word() == word);
    found.ok_or_else(|| format!("there are {}", all()))
}

impl Algorithms {
    /// Prints the list, or one.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        print(&self.name.map_or_else(list, one))
    }
}

fn list() -> String {
    let mut text =
        String::from("name         inner gradients  Hessian-vector  vectors sent  what\n");
    for name in AlgorithmName::ALL {
        let about = name.about();
        let (cost, mark) = (about.cost, if about.reconstruction.is_some() { " *" } else { "" });
        let _ = writeln!(
            text,
            "{:<12} {:<16} {:<15} {:<13} {}{mark}",
            name.word(),
            cost.inner_gradients,
            cost.hessian_vectors,
            cost.vectors,
            about.what,
        );
    }
    text + "\nCounts are of one node in one round, with T inner_steps and Q hessian_steps (10 each if not given).\n\
            * a reconstruction: lopa algorithms NAME says how, and where it comes from.\n"
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
        "A round of a node: {} inner gradients, {} Hessian-vector products, {} hypergradients, {} vectors sent.\n\n\
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
