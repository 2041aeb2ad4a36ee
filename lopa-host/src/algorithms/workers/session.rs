//! Parts in processes of their own, on one machine or on many: messages travel through Zenoh.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait};

use super::{Gone, Mesh};
use crate::locked::locked;
use crate::meeting::{self, Beat, Heard, MeetingError, refused};

/// How often those that have not answered yet are greeted again.
const GREETING: Duration = Duration::from_millis(50);

/// A part that is silent for so long is gone, and the run ends.
const SILENCE: Duration = Duration::from_secs(10);

/// How often that is checked while a message is awaited.
const LOOK: Duration = Duration::from_secs(1);

/// The first byte of what travels: a greeting to one that has not been heard, or has, or a message.
const HELLO: u8 = 0;
const HEARD: u8 = 1;
const MESSAGE: u8 = 2;

/// A mesh of processes. A program of your own that uses TLS is started with `ZENOH_RUNTIME` in its environment, for the reason
/// that `fleet::gateway::Joined` gives.
#[derive(Debug)]
pub struct Joined {
    part: usize,
    /// To every part; nothing to itself.
    to: Vec<Option<Publisher<'static>>>,
    /// From every part. An empty one says that a part is gone.
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
    /// Who is still there.
    heard: Heard,
    /// Kept: what is dropped is no longer received, or no longer there.
    _beat: Beat,
    _subscribers: Vec<Subscriber<()>>,
    _session: Session,
}

/// What is known of the others before all have met.
#[derive(Debug, Default)]
struct Met {
    /// Those that this part has heard.
    heard: BTreeSet<usize>,
    /// Those that have heard this part.
    hear: BTreeSet<usize>,
}

impl Joined {
    /// Meets the other parts, of which each has an address, and waits until all have heard each other. `name` tells networks
    /// apart, `wait` is called with those that are missing, every now and then; it may give up.
    ///
    /// # Errors
    /// If the session refuses something, or waiting ended.
    pub fn meet<E: From<MeetingError>>(
        name: &str,
        addresses: &[String],
        part: usize,
        file: Option<&Path>,
        mut wait: impl FnMut(&[usize]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let parts = addresses.len();
        let dialled: Vec<&str> = addresses.iter().take(part).map(String::as_str).collect();
        let session = meeting::open(addresses.get(part).map(String::as_str), &dialled, file)?;
        let (met, mut from, mut subscribers) = (Arc::default(), Vec::new(), Vec::new());
        let (news, changes) = mpsc::channel();
        for other in 0..parts {
            let (sender, receiver) = mpsc::channel::<Vec<u8>>();
            from.push(Mutex::new(receiver));
            if other == part {
                continue;
            }
            let (met, news): (Arc<Mutex<Met>>, _) = (Arc::clone(&met), news.clone());
            let subscriber = session.declare_subscriber(key(name, other, part));
            let subscriber = subscriber.callback(move |sample| {
                let bytes = sample.payload().to_bytes();
                match bytes.split_first() {
                    Some((&MESSAGE, message)) => drop(sender.send(message.to_vec())),
                    Some((&kind, [])) if kind <= HEARD => {
                        let mut met = locked(&met);
                        // It has heard this part before: this is another process, in its place.
                        if kind == HELLO && met.hear.contains(&other) {
                            let _ = sender.send(Vec::new());
                        }
                        met.heard.insert(other);
                        if kind == HEARD {
                            met.hear.insert(other);
                        }
                        let _ = news.send(());
                    }
                    _ => {}
                }
            });
            subscribers.push(subscriber.wait().map_err(refused)?);
        }
        let others: Vec<usize> = (0..parts).filter(|other| *other != part).collect();
        let names = others.iter().map(ToString::to_string).collect();
        let heard = Heard::listen(&session, here(name, "*"), names).map_err(refused)?;
        let beat = Beat::start(&session, here(name, part)).map_err(refused)?;
        let mut to = Vec::new();
        for other in 0..parts {
            let publisher = session.declare_publisher(key(name, part, other));
            // Every message counts, and is awaited.
            let publisher = publisher.congestion_control(CongestionControl::Block).express(true);
            to.push(if other == part { None } else { Some(publisher.wait().map_err(refused)?) });
        }
        let greet = |other: usize| {
            let kind = if locked(&met).heard.contains(&other) { HEARD } else { HELLO };
            if let Some(Some(publisher)) = to.get(other) {
                // Who is not there yet is greeted again.
                let _ = publisher.put([kind]).wait();
            }
        };
        loop {
            let missing: Vec<usize> = {
                let met = locked(&met);
                let known = |other: &usize| met.hear.contains(other) && met.heard.contains(other);
                others.iter().copied().filter(|other| !known(other)).collect()
            };
            // Also those that are not missing: they may not know yet that they were heard.
            others.iter().for_each(|other| greet(*other));
            if missing.is_empty() {
                break;
            }
            match changes.recv_timeout(GREETING) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => wait(&missing)?,
            }
        }
        let (_beat, _subscribers, _session) = (beat, subscribers, session);
        Ok(Self { part, to, from, heard, _beat, _subscribers, _session })
    }
}

impl Mesh for Joined {
    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), Gone> {
        let Some(Some(publisher)) = self.to.get(to) else { return Ok(()) };
        let sent = publisher.put([&[MESSAGE][..], &message].concat()).wait();
        sent.map_err(|_| Gone { part: to })
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        let gone = || Gone { part: from };
        if from == self.part {
            return Err(gone());
        }
        let receiver = self.from.get(from).ok_or_else(gone)?;
        let receiver = locked(receiver);
        let began = Instant::now();
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(message) if message.is_empty() => return Err(gone()),
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    let said = self.heard.all().get(&from.to_string()).copied();
                    if said.map_or(began.elapsed(), |(_, silence)| silence) > SILENCE {
                        return Err(gone());
                    }
                }
            }
        }
    }
}

/// What travels from one part to another.
fn key(name: &str, from: usize, to: usize) -> String {
    format!("lopa/{name}/worker/{from}/{to}")
}

/// A part that is there; `*` for all.
fn here(name: &str, part: impl std::fmt::Display) -> String {
    format!("lopa/{name}/working/{part}")
}
