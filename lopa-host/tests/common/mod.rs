//! A small network, and the command that runs it.

#[cfg(unix)]
pub mod fleet;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// What has not come by then never will: a test fails instead of hanging, and shows what its processes have said.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// Four nodes on synthetic data.
pub const NETWORK: &str = r#"
[network]
nodes = 4
topology = "ring"

[problem]
kind = "logistic"

[data]
source = "synthetic"

[algorithm]
name = "lopa-gt"
alpha = 0.3
beta = 0.05
lambda = 0.05
gamma = 0.3
tau = 0.5
batch = 10

[run]
iterations = 60
record_every = 20
x0 = -3.0
"#;

/// The network with some text replaced; each replaced text must occur.
pub fn network(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(NETWORK.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// Runs the command in a folder.
pub fn lopa(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lopa")).current_dir(dir).args(arguments).output().unwrap()
}

/// What a command printed to standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
