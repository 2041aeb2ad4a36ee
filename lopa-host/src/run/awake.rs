//! Threads that stay awake while a network runs.
//!
//! Half a round may take only some ten microseconds. Threads that have finished their part would give up their core or fall
//! asleep in between, and start the next half late. So they look for work a little longer.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use rayon::Yield;

/// How long a thread looks for work without a pause: longer than a node takes in most networks.
const EAGER: Duration = Duration::from_micros(200);
/// How long it looks for work before it begins to sleep.
const PATIENT: Duration = Duration::from_millis(2);
/// How long it then sleeps at a time.
const NAP: Duration = Duration::from_micros(200);

/// How long the work waits for threads that have not begun to wait for parts of it.
const MUSTER: Duration = Duration::from_millis(5);

/// Runs `work` on one of the threads that compute, and has the others wait for parts of it.
///
/// From outside, every round would wait for the threads to wake up. They are left alone if the caller is one of them, because then
/// they have other work; if there are more of them than cores; and if they wait for parts of another work, which would stand still
/// meanwhile.
pub(super) fn awake<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static ATTENDED: AtomicBool = AtomicBool::new(false);
    let threads = rayon::current_num_threads();
    let outside = rayon::current_thread_index().is_none();
    let cores = available_parallelism().map_or(1, usize::from);
    if outside && threads > 1 && threads <= cores && !ATTENDED.swap(true, Ordering::Relaxed) {
        let _free = Set(&ATTENDED, false);
        attended(work)
    } else {
        rayon::scope(|_| work())
    }
}

/// Runs `work`, while other threads wait for parts of it.
fn attended<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let (muster, done) = (&Muster(AtomicUsize::new(0)), &AtomicBool::new(false));
    rayon::scope(|scope| {
        let own = rayon::current_thread_index();
        scope.spawn_broadcast(move |_, thread| {
            if Some(thread.index()) != own && muster.join() {
                help(done);
            }
        });
        let _end = Set(done, true);
        muster.close(rayon::current_num_threads() - 1);
        work()
    })
}

/// The threads that wait for parts of a work. They join before it begins, or not at all. One that joined later could be in the
/// middle of a part, waiting for another thread: it would not go on with that part before the work has ended, and the work could
/// not end. As it is, whatever waits waits for what has begun later, so nothing waits for itself.
struct Muster(AtomicUsize);

/// No thread joins any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Muster {
    /// Whether the current thread has joined in time.
    fn join(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) & CLOSED == 0
    }

    /// Waits until so many have joined, though not for long: others may be busy elsewhere.
    fn close(&self, all: usize) {
        let began = Instant::now();
        while self.0.load(Ordering::Relaxed) < all && began.elapsed() < MUSTER {
            std::thread::yield_now();
        }
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }
}

/// Sets a flag when it is dropped: also after a panic.
struct Set<'a>(&'a AtomicBool, bool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
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

    /// A thread is in the middle of a part of the work when it is asked to wait for parts.
    #[test]
    fn a_thread_that_is_busy_is_not_waited_for() {
        let [taken, began, stolen, finished] = [(); 4].map(|()| AtomicBool::new(false));
        let set = |flag: &AtomicBool| flag.store(true, Ordering::Relaxed);
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        // Works on other parts until then; tells whether it came within seconds.
        let until = |flag: &AtomicBool| {
            let since = Instant::now();
            while !is_set(flag) && since.elapsed() < Duration::from_secs(30) {
                rayon::yield_now();
            }
            is_set(flag)
        };
        let part = || {
            set(&taken);
            while !is_set(&began) {
                spin_loop();
            }
            // One half goes to the thread of the work. Meanwhile this one waits, and looks for something else to do.
            let other = || {
                set(&stolen);
                sleep(Duration::from_millis(50));
            };
            rayon::join(
                || {
                    while !is_set(&stolen) {
                        spin_loop();
                    }
                },
                other,
            );
            set(&finished);
        };
        let work = || {
            set(&began);
            until(&finished)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let begin = || {
            while !is_set(&taken) {
                spin_loop();
            }
            attended(work)
        };
        let (ended, ()) = pool.install(|| rayon::join(begin, part));
        assert!(ended, "both wait for each other");
    }

    #[test]
    fn work_that_panics_keeps_no_thread() {
        let caught = std::panic::catch_unwind(|| awake(|| panic!("as it should")));
        assert!(caught.is_err());
        assert_eq!(awake(|| 3), 3);
    }
}
