//! A process that does not outlive this one, even if this one is killed without notice.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// What the watcher does: its input ends when this process does, in whatever way.
const WATCH: &str = "read end; kill -9 \"$0\"";

/// A process, ended when it is dropped, and a watcher that ends it if nobody is left to drop it.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
    /// Holds the pipe that only this process can write to.
    watcher: Child,
}

impl Watched {
    /// Starts a process and its watcher.
    ///
    /// # Errors
    /// If one of them does not start.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let mut watcher = Command::new("/bin/sh");
        watcher.args(["-c", WATCH, &child.id().to_string()]);
        watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own: a signal to this one's group must not end it first.
        watcher.process_group(0);
        match watcher.spawn() {
            Ok(watcher) => Ok(Self { child, watcher }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// Whether the process still runs.
    pub(super) fn runs(&mut self) -> bool {
        let runs = matches!(self.child.try_wait(), Ok(None));
        if !runs {
            // Its number may soon be another's.
            end(&mut self.watcher);
        }
        runs
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The watcher first: the process's number is its own until it has been waited for.
        end(&mut self.watcher);
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // One that has ended by itself cannot be killed, and need not.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Watched {
        Watched::spawn(Command::new("sleep").arg("100000")).unwrap()
    }

    #[test]
    fn a_process_ends_when_nobody_is_left_to_end_it() {
        let mut own = sleeper();
        assert!(own.runs());
        // The system does the same when it ends this process.
        drop(own.watcher.stdin.take());
        assert_eq!(own.child.wait().unwrap().code(), None, "ended by a signal");
        assert!(!own.runs());
    }

    #[test]
    fn a_process_and_its_watcher_end_when_they_are_dropped() {
        let own = sleeper();
        let numbers = [own.child.id(), own.watcher.id()].map(|id| id.to_string());
        drop(own);
        for number in numbers {
            let alive = Command::new("kill").args(["-0", &number]).stderr(Stdio::null()).status();
            assert!(!alive.unwrap().success(), "{number}");
        }
    }
}
