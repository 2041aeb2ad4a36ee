//! Where and when a study ran: what differs from run to run.

use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::report::Provenance;

/// Where and when a study ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// When it ended, in universal time.
    pub date: String,
    /// The version of lopa and, in a source tree, its commit.
    pub version: String,
    /// The processor, and how many of its threads were there.
    pub machine: String,
    /// How long it took, in seconds.
    pub seconds: u64,
}

impl Machine {
    /// This one, before the work begins: the source tree may change while it runs.
    #[must_use]
    pub fn here() -> Self {
        let Provenance { version, .. } = Provenance::now();
        let commit = commit().map_or(String::new(), |commit| format!(", commit {commit}"));
        let version = format!("lopa {version}{commit}");
        Self { version, machine: processor(), ..Self::default() }
    }

    /// The same once work that began then has ended.
    #[must_use]
    pub fn since(&self, began: Instant) -> Self {
        let Provenance { date, .. } = Provenance::now();
        Self { date, seconds: began.elapsed().as_secs(), ..self.clone() }
    }
}

/// The commit of the source tree that this program was built from, if it is still there.
fn commit() -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let call = ["describe", "--always", "--dirty", "--exclude=*"];
    let output = Command::new("git").arg("-C").arg(source).args(call).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

fn processor() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let name = name.unwrap_or(std::env::consts::ARCH);
    let threads = available_parallelism().map_or(1, usize::from);
    format!("{name}, {}", crate::words::counted(threads, "thread"))
}
