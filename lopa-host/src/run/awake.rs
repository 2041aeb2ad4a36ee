//! Threads that stay awake while a network runs.
//!
//! Half a round may take only some ten microseconds. Threads that have finished their part would give up their core or fall
//! asleep in between, and start the next half late. So they look for work a little longer.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use rayon::Yield;

/// How long a thread looks for work without a pause: longer than a node takes in most networks.
const EAGER: Duration = Duration::from_micros(200);
/// How long it looks for work before it begins to sleep.
const PATIENT: Duration = Duration::from_millis(2);
/// How long it then sleeps at a time.
const NAP: Duration = Duration::from_micros(200);

/// Runs `work` on one of the threads that compute, and has the others wait for parts of it.
///
/// From outside, every round would wait for the threads to wake up. A caller that is one of them already shares them
/// with other work, so there they are left alone; so they are if there are more of them than cores.
pub(super) fn awake<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let threads = rayon::current_num_threads();
    let outside = rayon::current_thread_index().is_none();
    let cores = available_parallelism().map_or(1, usize::from);
    let done = &AtomicBool::new(false);
    rayon::scope(|scope| {
        let own = rayon::current_thread_index();
        if outside && threads > 1 && threads <= cores {
            scope.spawn_broadcast(move |_, thread| {
                if Some(thread.index()) != own {
                    help(done);
                }
            });
        }
        let _end = End(done);
        work()
    })
}

/// Tells the others that the work has ended, even if it panicked.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does parts of the work until all is done.
fn help(done: &AtomicBool) {
    let mut busy = Instant::now();
    while !done.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(Yield::Executed) {
            busy = Instant::now();
            continue;
        }
        match busy.elapsed() {
            idle if idle < EAGER => spin_loop(),
            idle if idle < PATIENT => std::thread::yield_now(),
            _ => sleep(NAP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn work_is_shared_and_ends() {
        let sum =
            awake(|| (0..100).map(|_| (0..1_000_u64).into_par_iter().sum::<u64>()).sum::<u64>());
        assert_eq!(sum, 49_950_000);
        // Where threads are shared, too.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let both = pool.install(|| rayon::join(|| awake(|| 1), || awake(|| 2)));
        assert_eq!(both, (1, 2));
    }

    #[test]
    fn work_that_panics_keeps_no_thread() {
        let caught = std::panic::catch_unwind(|| awake(|| panic!("as it should")));
        assert!(caught.is_err());
        assert_eq!(awake(|| 3), 3);
    }
}
