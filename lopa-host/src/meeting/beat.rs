//! How a process stands, said again and again: whoever missed it, or came later, hears it the next time.
//!
//! Zenoh has tokens for this, but on a busy machine a session sometimes never heard of the other's, at first or later, although
//! everything else arrived (seen twice, with Zenoh 1.10; why is not known).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use zenoh::pubsub::Subscriber;
use zenoh::qos::Priority;
use zenoh::{Session, Wait};

use crate::locked::locked;

/// How often it is said.
const AGAIN: Duration = Duration::from_millis(500);

/// A process says how it stands until this is dropped.
#[derive(Debug)]
pub(crate) struct Beat {
    standing: Arc<AtomicU8>,
    changed: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Beat {
    /// Begins, under a key.
    ///
    /// # Errors
    /// If the session refuses it.
    pub(crate) fn start(session: &Session, key: String) -> zenoh::Result<Self> {
        // It must not wait behind long messages: whoever sends one would seem to be gone.
        let publisher = session.declare_publisher(key).priority(Priority::InteractiveHigh);
        let publisher = publisher.express(true).wait()?;
        let standing = Arc::new(AtomicU8::new(0));
        let (changed, changes) = mpsc::channel();
        let own = Arc::clone(&standing);
        let thread = thread::spawn(move || {
            loop {
                // What is lost is said again.
                let _ = publisher.put([own.load(Ordering::Relaxed)]).wait();
                if changes.recv_timeout(AGAIN) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        });
        Ok(Self { standing, changed: Some(changed), thread: Some(thread) })
    }

    /// Says something else from now on.
    pub(crate) fn set(&self, standing: u8) {
        self.standing.store(standing, Ordering::Relaxed);
        self.changed.iter().for_each(|changed| changed.send(()).unwrap_or_default());
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        // A change that has not been said yet still is.
        self.changed = None;
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// What others said last, and when.
#[derive(Debug)]
pub(crate) struct Heard {
    said: Arc<Mutex<BTreeMap<String, (u8, Instant)>>>,
    changes: Mutex<Receiver<()>>,
    /// Kept: what is dropped is no longer received.
    _subscriber: Subscriber<()>,
}

impl Heard {
    /// Listens to some others, who end a key that matches with their names.
    ///
    /// # Errors
    /// If the session refuses it.
    pub(crate) fn listen(
        session: &Session,
        key: String,
        others: Vec<String>,
    ) -> zenoh::Result<Self> {
        let said: Arc<Mutex<BTreeMap<_, _>>> = Arc::default();
        let (changed, changes) = mpsc::channel();
        let all = Arc::clone(&said);
        let subscriber = session.declare_subscriber(key).callback(move |sample| {
            let key = sample.key_expr().as_str();
            let name = key.rsplit('/').next().unwrap_or(key);
            let &[standing] = &*sample.payload().to_bytes() else { return };
            if !others.iter().any(|other| other == name) {
                return;
            }
            let before = locked(&all).insert(name.to_owned(), (standing, Instant::now()));
            if before.is_none_or(|(before, _)| before != standing) {
                let _ = changed.send(());
            }
        });
        Ok(Self { said, changes: Mutex::new(changes), _subscriber: subscriber.wait()? })
    }

    /// How all who were heard stand, and for how long they have been silent.
    pub(crate) fn all(&self) -> BTreeMap<String, (u8, Duration)> {
        let silent = |(name, (standing, at)): (&String, &(u8, Instant))| {
            (name.clone(), (*standing, at.elapsed()))
        };
        locked(&self.said).iter().map(silent).collect()
    }

    /// Waits until somebody new is heard or somebody stands differently, for at most so long.
    pub(crate) fn rest(&self, most: Duration) {
        let changes = locked(&self.changes);
        match changes.recv_timeout(most) {
            // All of them are seen with the next look.
            Ok(()) => changes.try_iter().for_each(drop),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(most),
        }
    }
}
