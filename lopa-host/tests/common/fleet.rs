//! Processes of a fleet: nodes and gateways that are started, watched, stopped and killed.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::PATIENCE;

/// A process of the command, whose messages can be read while it runs. It is killed when it is dropped.
pub struct Running {
    child: Child,
    errors: PathBuf,
}

impl Running {
    /// Starts the command in a folder; `before` are words in front of it.
    pub fn start(dir: &Path, name: &str, before: &[String], arguments: &[&str]) -> Self {
        let errors = dir.join(format!("{name}.errors"));
        let mut words: Vec<&str> = before.iter().map(String::as_str).collect();
        words.push(env!("CARGO_BIN_EXE_lopa"));
        words.extend(arguments);
        let child = Command::new(words[0])
            .args(&words[1..])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(File::create(dir.join(format!("{name}.printed"))).unwrap())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        Self { child, errors }
    }

    /// What it has printed so far, and its messages: whole lines, for it may be in the middle of one.
    pub fn said(&self) -> String {
        let whole = |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            text.rsplit_once('\n').map(|(lines, _)| format!("{lines}\n")).unwrap_or_default()
        };
        whole(&self.errors.with_extension("printed")) + &whole(&self.errors)
    }

    /// Waits until what it has said is as wanted.
    pub fn wait_until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            // Before it is read: what a process that has ended has said is complete.
            let ended = self.child.try_wait().unwrap();
            let said = self.said();
            if wanted(&said) {
                return said;
            }
            assert!(ended.is_none(), "it ended, {ended:?}: {said}");
            self.rest(began);
        }
    }

    /// Sleeps a little between two looks, unless what is waited for is overdue.
    fn rest(&self, began: Instant) {
        assert!(began.elapsed() < PATIENCE, "still waiting. {}", self.all_said());
        std::thread::sleep(Duration::from_millis(20));
    }

    /// What all processes in its folder have said.
    pub fn all_said(&self) -> String {
        let files =
            fs::read_dir(self.errors.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<PathBuf> = files
            .filter(|path| path.extension().is_some_and(|end| end == "errors" || end == "printed"))
            .collect();
        files.sort();
        let text = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            format!("{}:\n{text}\n", path.display())
        };
        files.iter().map(text).collect()
    }

    /// Waits until it says where it can be watched.
    pub fn url(&mut self) -> String {
        let url = |said: &str| {
            Some(said.lines().find_map(|line| line.strip_prefix("live: "))?.to_owned())
        };
        url(&self.wait_until(|said| url(said).is_some())).unwrap()
    }

    /// Waits until it ends well.
    pub fn finish(&mut self) {
        Self::finish_all([self]);
    }

    /// Waits until all end well. One that does not may be what the others wait for.
    pub fn finish_all<'a>(all: impl IntoIterator<Item = &'a mut Self>) {
        let began = Instant::now();
        let mut all: Vec<&mut Self> = all.into_iter().collect();
        while let Some(first) = all.first() {
            first.rest(began);
            all.retain_mut(|own| {
                let ended = own.child.try_wait().unwrap();
                assert!(
                    ended.is_none_or(|status| status.success()),
                    "{ended:?}: {}",
                    own.all_said()
                );
                ended.is_none()
            });
        }
    }

    /// Fails if it has ended.
    #[cfg(feature = "zenoh")]
    pub fn assert_running(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended, {ended:?}: {}", self.said());
    }

    /// The names of its threads, where the system tells.
    #[cfg(feature = "zenoh")]
    pub fn threads(&self) -> Vec<String> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let names = threads.into_iter().flatten().flatten();
        names.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok()).collect()
    }

    /// Waits until it ends, and returns its exit status.
    pub fn status(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            self.rest(began);
        }
    }

    /// Sends it a signal.
    pub fn signal(&mut self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(sent.success());
        if name == "KILL" {
            self.child.wait().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of this machine at which nobody listens. Where the whole of 127.0.0.0/8 is this machine, hardly anybody takes it
/// before it is used: it is neither 127.0.0.1 nor another one's of these tests.
pub fn free_address() -> String {
    static TAKEN: AtomicU8 = AtomicU8::new(0);
    let [.., high, low] = std::process::id().to_be_bytes();
    let own = Ipv4Addr::new(127, high | 1, low, TAKEN.fetch_add(1, Ordering::Relaxed));
    let free = TcpListener::bind((own, 0)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    free.unwrap().local_addr().unwrap().to_string()
}

/// The nodes of a `state.json`, without the fields that depend on how it was read.
pub fn states(path: &Path) -> Vec<serde_json::Value> {
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut nodes = json["nodes"].as_array().unwrap().clone();
    nodes.iter_mut().for_each(|node| drop(node.as_object_mut().unwrap().remove("round")));
    nodes
}
