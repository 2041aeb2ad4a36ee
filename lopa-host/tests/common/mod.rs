//! A small network, the command that runs it, and where real data are.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// The network with other words in it; each must be there.
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

/// What it complained about.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The folder of a data set: in `$LOPA_DATA`, or in `data` or `../shared/data` beside the workspace.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let given = std::env::var_os("LOPA_DATA").map(PathBuf::from);
    let places = given.into_iter().chain([root.join("data"), root.join("../shared/data")]);
    let found = places.map(|place| place.join(name)).find(|folder| folder.is_dir());
    if found.is_none() {
        // Not println, which nobody sees when a test passes.
        let text = "not here, nothing tested: set LOPA_DATA to the folder that holds it";
        std::io::stderr().write_all(format!("{name}/ is {text}\n").as_bytes()).unwrap();
    }
    found
}
