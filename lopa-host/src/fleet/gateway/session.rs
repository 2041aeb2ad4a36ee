//! The session of a gateway: frames are published under the keys of their senders, and received under those of neighbours
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};

use super::{GatewayError, Site};
use crate::fleet::switchboard::{Switchboard, Uplink};

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

#[allow(clippy::needless_pass_by_value)] // As `map_err` calls it.
fn open(error: zenoh::Error) -> GatewayError {
    GatewayError::Open { at: None, error: error.to_string() }
}

/// An address as Zenoh has it.
fn endpoint(address: &str) -> String {
    if address.contains('/') { address.into() } else { format!("tcp/{address}") }
}

/// Where a gateway with this address listens: there, or on all addresses of its machine if that is a name, which a machine may
/// know by another address than others do.
fn listening(address: &str) -> String {
    let endpoint = endpoint(address);
    let Some((protocol, place)) = endpoint.split_once('/') else { return endpoint };
    // What follows # are settings of this endpoint.
    let (place, settings) = place.split_once('#').map_or((place, None), |(a, b)| (a, Some(b)));
    let numbers = place.parse::<std::net::SocketAddr>().is_ok();
    let port = place.rsplit_once(':').map_or(place, |(_, port)| port);
    let place = if numbers { place.to_owned() } else { format!("0.0.0.0:{port}") };
    let settings = settings.map(|settings| format!("#{settings}")).unwrap_or_default();
    format!("{protocol}/{place}{settings}")
}

/// Zenoh's configuration: from its own file, if there is one, and the addresses of the gateways.
fn configuration(site: &Site, file: Option<&Path>) -> Result<Config, GatewayError> {
    let wrong = |what: String, error: zenoh::Error| GatewayError::Configuration {
        what,
        error: error.to_string(),
    };
    let mut config = match file {
        Some(path) => {
            Config::from_file(path).map_err(|error| wrong(format!("{}", path.display()), error))?
        }
        None => Config::default(),
    };
    let Some(own) = &site.own.address else {
        // Zenoh's own file says how gateways meet.
        return match file {
            Some(_) => Ok(config),
            None => Err(GatewayError::Address(site.own.name.clone())),
        };
    };
    // Of two gateways one dials, the later one: if both did, they could end up with half a session each.
    let before = site.all.iter().take_while(|other| other.name != site.own.name);
    let connect: Vec<String> =
        before.filter_map(|other| other.address.as_deref()).map(endpoint).collect();
    for (key, value) in [
        ("listen/endpoints", serde_json::json!([listening(own)])),
        ("connect/endpoints", serde_json::json!(connect)),
        ("connect/retry", serde_json::json!({ "period_init_ms": 200, "period_max_ms": 2_000 })),
        // All are in the file: nobody has to be looked for.
        ("scouting/multicast/enabled", serde_json::json!(false)),
        ("scouting/gossip/enabled", serde_json::json!(false)),
    ] {
        let inserted = config.insert_json5(key, &value.to_string());
        inserted.map_err(|error| wrong(key.into(), error))?;
    }
    Ok(config)
}

impl Joined {
    /// Opens a session. Other gateways may come later.
    ///
    /// # Errors
    /// Says what is wrong with the configuration, or with the address to listen on.
    pub fn open(site: &Site, file: Option<&Path>) -> Result<Self, GatewayError> {
        // RUST_LOG=zenoh=debug shows what it does.
        zenoh::try_init_log_from_env();
        let config = configuration(site, file)?;
        let at = site.own.address.as_deref().map(listening);
        let session = zenoh::open(config).wait();
        let session =
            session.map_err(|error| GatewayError::Open { at, error: error.to_string() })?;
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
            subscribers.push(subscriber.wait().map_err(open)?);
        }
        let key = site.keys.here(&site.own.name);
        let here = session.liveliness().declare_token(key).wait().map_err(open)?;
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
                publishers.insert((here, to), publisher.wait().map_err(open)?);
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
                self.subscribers.push(subscriber.wait().map_err(open)?);
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
        let token = self.session.liveliness().declare_token(key).wait().map_err(open)?;
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
        let token = self.session.liveliness().declare_token(key).wait().map_err(open)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_listens_where_others_reach_it() {
        for (address, connects, listens) in [
            ("192.168.1.10:7447", "tcp/192.168.1.10:7447", "tcp/192.168.1.10:7447"),
            ("[fd00::1]:7447", "tcp/[fd00::1]:7447", "tcp/[fd00::1]:7447"),
            ("attic:7447", "tcp/attic:7447", "tcp/0.0.0.0:7447"),
            ("tls/attic.example:7447", "tls/attic.example:7447", "tls/0.0.0.0:7447"),
            (
                "tcp/attic:7447#iface=eth0",
                "tcp/attic:7447#iface=eth0",
                "tcp/0.0.0.0:7447#iface=eth0",
            ),
        ] {
            assert_eq!(
                (endpoint(address).as_str(), listening(address).as_str()),
                (connects, listens)
            );
        }
    }
}
