//! The session of a gateway: frames are published under the keys of their senders, and received under those of neighbours
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait};

use super::{GatewayError, Site};
use crate::fleet::switchboard::{Switchboard, Uplink};
use crate::meeting::{self, refused};

/// A session with the other gateways.
#[derive(Debug)]
pub struct Joined {
    session: Session,
    /// Kept: what is dropped is no longer received.
    subscribers: Vec<Subscriber<()>>,
    /// Kept: what is dropped is no longer there.
    _here: LivelinessToken,
    /// Whether the nodes here have finished, or learn again.
    standing: Option<LivelinessToken>,
    events: Receiver<Event>,
    finished: BTreeSet<String>,
}

/// What happened to a gateway.
#[derive(Debug)]
enum Event {
    Came(String),
    Went(String),
    Finished(String),
    Again(String),
}

/// Publishes the frames of the nodes here.
#[derive(Debug)]
struct Published(BTreeMap<(u32, Option<u32>), Publisher<'static>>);

impl Uplink for Published {
    fn send(&self, from: u32, to: Option<u32>, frame: &[u8]) {
        if let Some(publisher) = self.0.get(&(from, to)) {
            // What does not leave is lost, as on a line: nodes send it again.
            let _ = publisher.put(frame).wait();
        }
    }
}

impl Joined {
    /// Opens a session. Other gateways may come later.
    ///
    /// # Errors
    /// Says what is wrong with the configuration, or with the address to listen on.
    pub fn open(site: &Site, file: Option<&Path>) -> Result<Self, GatewayError> {
        if site.own.address.is_none() && file.is_none() {
            return Err(GatewayError::Address(site.own.name.clone()));
        }
        // The later one dials.
        let before = site.all.iter().take_while(|other| other.name != site.own.name);
        let dialled: Vec<&str> = before.filter_map(|other| other.address.as_deref()).collect();
        let session = meeting::open(site.own.address.as_deref(), &dialled, file)?;
        let (events, received) = mpsc::channel();
        let own = site.own.name.clone();
        let keys = [site.keys.here("*"), site.keys.done("*"), site.keys.again("*")];
        let mut subscribers = Vec::new();
        for (index, key) in keys.into_iter().enumerate() {
            let (events, own) = (events.clone(), own.clone());
            let subscriber = session.liveliness().declare_subscriber(key).history(true);
            let subscriber = subscriber.callback(move |sample| {
                let key = sample.key_expr().as_str();
                let name = key.rsplit('/').next().unwrap_or(key).to_owned();
                let event = match (index, sample.kind()) {
                    _ if name == own => return,
                    (0, SampleKind::Put) => Event::Came(name),
                    (0, SampleKind::Delete) => Event::Went(name),
                    (1, SampleKind::Put) => Event::Finished(name),
                    (_, SampleKind::Put) => Event::Again(name),
                    // It left: what it said last is still true.
                    (_, SampleKind::Delete) => return,
                };
                let _ = events.send(event);
            });
            subscribers.push(subscriber.wait().map_err(refused)?);
        }
        let key = site.keys.here(&site.own.name);
        let here = session.liveliness().declare_token(key).wait().map_err(refused)?;
        let (standing, finished) = (None, BTreeSet::new());
        Ok(Self { session, subscribers, _here: here, standing, events: received, finished })
    }

    /// Carries frames between the boards here and those elsewhere.
    ///
    /// # Errors
    /// If the session refuses it.
    pub fn carry(&mut self, site: &Site, switch: &Switchboard) -> Result<(), GatewayError> {
        let mut publishers = BTreeMap::new();
        let (mut seen, borders) = (BTreeSet::new(), site.borders());
        for &(here, there) in &borders {
            for to in [None, Some(there)] {
                if publishers.contains_key(&(here, to)) {
                    continue;
                }
                let publisher = self.session.declare_publisher(site.keys.frame(here, to));
                // Late frames are worse than lost ones, which are sent again.
                let publisher = publisher.congestion_control(CongestionControl::Drop).express(true);
                publishers.insert((here, to), publisher.wait().map_err(refused)?);
            }
            for (from, to) in [(there, None), (there, Some(here))] {
                if !seen.insert((from, to)) {
                    continue;
                }
                let entrance = switch.entrance();
                let subscriber = self.session.declare_subscriber(site.keys.frame(from, to));
                let subscriber = subscriber.callback(move |sample| {
                    entrance.receive(from, to, &sample.payload().to_bytes());
                });
                self.subscribers.push(subscriber.wait().map_err(refused)?);
            }
        }
        switch.join(site.own.nodes.clone(), Box::new(Published(publishers)));
        Ok(())
    }

    /// Reports that the nodes here have finished.
    ///
    /// # Errors
    /// If the session refuses it.
    pub fn finish(&mut self, site: &Site) -> Result<(), GatewayError> {
        let key = site.keys.done(&site.own.name);
        let token = self.session.liveliness().declare_token(key).wait().map_err(refused)?;
        self.standing = Some(token);
        self.finished.insert(site.own.name.clone());
        Ok(())
    }

    /// Takes back that the nodes here have finished: they have met others that have not, and learn again.
    ///
    /// # Errors
    /// If the session refuses it.
    pub fn resume(&mut self, site: &Site) -> Result<(), GatewayError> {
        let key = site.keys.again(&site.own.name);
        let token = self.session.liveliness().declare_token(key).wait().map_err(refused)?;
        self.standing = Some(token);
        self.finished.remove(&site.own.name);
        Ok(())
    }

    /// Whether the nodes of all gateways have finished.
    #[must_use]
    pub fn all_finished(&self, site: &Site) -> bool {
        site.all.iter().all(|gateway| self.finished.contains(&gateway.name))
    }

    /// What has happened to other gateways since the last call.
    pub fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for event in self.events.try_iter() {
            match event {
                Event::Came(name) => news.push(format!("gateway {name} is there")),
                Event::Went(name) => news.push(format!("gateway {name} is gone")),
                Event::Finished(name) => {
                    if self.finished.insert(name.clone()) {
                        news.push(format!("gateway {name}: its nodes have finished"));
                    }
                }
                Event::Again(name) => {
                    if self.finished.remove(&name) {
                        news.push(format!("gateway {name}: its nodes learn again"));
                    }
                }
            }
        }
        news
    }

    /// Leaves.
    pub fn close(self) {
        // One that cannot be closed in good order ends with the process.
        let _ = self.session.close().wait();
    }
}
