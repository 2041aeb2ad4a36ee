//! The session of a gateway: frames are published under the keys of their senders, and received under those of neighbours
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait};

use super::{GatewayError, Site, Unaware};
use crate::fleet::switchboard::{Switchboard, Uplink};
use crate::meeting::{self, Beat, Heard, refused};

/// Another gateway that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(5);

/// How a gateway stands: its nodes have finished.
const FINISHED: u8 = 1;
/// It knows that the nodes of all have finished.
const AWARE: u8 = 2;

/// A session with the other gateways.
///
/// Zenoh 1.10 damages the state of its TLS links unless it receives and sends in one thread (its issue 2557), and can be told so
/// by a variable only. `lopa` sets it; a program of your own with TLS is started with
/// `ZENOH_RUNTIME='(rx: (worker_threads: 1), tx: (handover: rx))'` in its environment.
#[derive(Debug)]
pub struct Joined {
    /// Says how this gateway stands.
    beat: Beat,
    standing: u8,
    heard: Heard,
    /// What was last heard of others.
    met: BTreeMap<String, Met>,
    /// Kept: what is dropped is no longer received.
    subscribers: Vec<Subscriber<()>>,
    session: Session,
}

/// Another gateway, as it was last heard.
#[derive(Debug, Clone, Copy)]
struct Met {
    there: bool,
    standing: u8,
}

impl Met {
    /// Whether its nodes have finished.
    const fn has_finished(self) -> bool {
        self.standing & FINISHED != 0
    }

    /// Whether it knows that the nodes of all have finished.
    const fn is_aware(self) -> bool {
        self.standing & AWARE != 0
    }
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
        let others = site.all.iter().filter(|other| other.name != site.own.name);
        let others = others.map(|other| other.name.clone()).collect();
        let heard = Heard::listen(&session, site.keys.standing("*"), others).map_err(refused)?;
        let beat = Beat::start(&session, site.keys.standing(&site.own.name)).map_err(refused)?;
        Ok(Self {
            beat,
            standing: 0,
            heard,
            met: BTreeMap::new(),
            subscribers: Vec::new(),
            session,
        })
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

    fn stand(&mut self, standing: u8) {
        if self.standing != standing {
            self.standing = standing;
            self.beat.set(standing);
        }
    }

    /// Reports that the nodes here have finished.
    pub fn finish(&mut self) {
        self.stand(FINISHED);
    }

    /// Takes back that the nodes here have finished: they have met others that have not, and learn again.
    pub fn resume(&mut self) {
        self.stand(0);
    }

    /// Reports that the nodes of all gateways have finished, as far as is known here.
    pub fn know(&mut self) {
        self.stand(FINISHED | AWARE);
    }

    /// Whether the nodes of all gateways have finished. One that was never heard has, if another says that all have: it left before
    /// this one came.
    #[must_use]
    pub fn all_finished(&self, site: &Site) -> bool {
        let all_have = self.met.values().any(|met| met.is_aware());
        let has = |name: &String| match self.met.get(name) {
            _ if *name == site.own.name => self.standing & FINISHED != 0,
            Some(met) => met.has_finished(),
            None => all_have,
        };
        site.all.iter().all(|gateway| has(&gateway.name))
    }

    /// The gateways that may not know that all nodes have finished.
    #[must_use]
    pub fn unaware(&self, site: &Site) -> Unaware {
        let others = site.all.iter().map(|gateway| gateway.name.clone());
        let is =
            |name: &String, what: fn(Met) -> bool| self.met.get(name).is_some_and(|met| what(*met));
        let unaware = others.filter(|name| *name != site.own.name && !is(name, Met::is_aware));
        let (there, gone) = unaware.partition(|name| is(name, |met| met.there));
        Unaware { there, gone }
    }

    /// What has happened to other gateways since the last call.
    pub fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for (name, (standing, silence)) in self.heard.all() {
            let now = Met { there: silence < SILENCE, standing };
            let before = self.met.insert(name.clone(), now);
            if before.is_some_and(|met| met.there) != now.there {
                let how = if now.there { "there" } else { "gone" };
                news.push(format!("gateway {name} is {how}"));
            }
            if before.is_some_and(Met::has_finished) != now.has_finished() {
                let how =
                    if now.has_finished() { "have finished" } else { "have not all finished" };
                news.push(format!("gateway {name}: its nodes {how}"));
            }
        }
        news
    }

    /// Waits for news, for at most so long.
    pub fn rest(&self, most: Duration) {
        self.heard.rest(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Experiment;

    /// A gateway of a ring on one machine, with two nodes each.
    fn gateway(folder: &Path, all: &[&str], name: &str) -> (Site, Joined) {
        let gateways = all.iter().enumerate().map(|(index, name)| {
            let (at, first) = (folder.join(name), 2 * index);
            let address = format!("unixsock-stream/{}", at.display());
            format!(
                "[[fleet.gateway]]\nname = \"{name}\"\naddress = \"{address}\"\nnodes = [{first}, {}]\n",
                first + 1
            )
        });
        let text = format!(
            "network = {{ nodes = {} }}\nproblem = {{ kind = \"logistic\" }}\nlinks = {{ wiring = \"routed\" }}\n\
             algorithm = {{ name = \"lopa-gt\", alpha = 0.1, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5 }}\n\
             run = {{ iterations = 9 }}\n{}",
            2 * all.len(),
            gateways.collect::<String>()
        );
        let experiment = Experiment::parse(&text).unwrap();
        let site = Site::new(&experiment, Path::new("ring.toml"), name, None).unwrap();
        let joined = Joined::open(&site, None).unwrap();
        (site, joined)
    }

    /// Listens until something is true. It comes within seconds, or never.
    fn until(own: &mut Joined, wanted: impl Fn(&Joined) -> bool) {
        for _ in 0..900 {
            own.news();
            if wanted(own) {
                return;
            }
            own.rest(Duration::from_secs(1));
        }
        panic!("{own:?}");
    }

    #[test]
    fn one_that_knows_that_all_have_finished_is_no_longer_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let two = ["attic", "cellar"];
        let (attics, mut attic) = gateway(folder.path(), &two, "attic");
        let (cellars, mut cellar) = gateway(folder.path(), &two, "cellar");
        let waits = |there: &[&str], gone: &[&str]| {
            let names = |all: &[&str]| all.iter().map(ToString::to_string).collect();
            Unaware { there: names(there), gone: names(gone) }
        };
        attic.finish();
        cellar.finish();
        until(&mut attic, |own| own.all_finished(&attics));
        until(&mut attic, |own| own.unaware(&attics) == waits(&["cellar"], &[]));
        attic.know();
        until(&mut cellar, |own| own.unaware(&cellars) == waits(&[], &[]));
        assert!(cellar.all_finished(&cellars));
        // What it said last is no longer true, and then it is gone.
        attic.resume();
        until(&mut cellar, |own| own.unaware(&cellars) == waits(&["attic"], &[]));
        assert!(!cellar.all_finished(&cellars));
        drop(attic);
        until(&mut cellar, |own| own.unaware(&cellars) == waits(&[], &["attic"]));
        // Back, with the last word.
        let (_, mut attic) = gateway(folder.path(), &two, "attic");
        attic.finish();
        attic.know();
        until(&mut cellar, |own| own.unaware(&cellars) == waits(&[], &[]));
        assert!(cellar.all_finished(&cellars));
        // It has left because it knows: nobody waits for it.
        drop(attic);
        until(&mut cellar, |own| !own.met["attic"].there);
        assert_eq!(cellar.unaware(&cellars), waits(&[], &[]));
    }

    #[test]
    fn one_that_comes_late_believes_those_who_know() {
        let folder = tempfile::tempdir().unwrap();
        let three = ["attic", "cellar", "shed"];
        let (cellars, mut cellar) = gateway(folder.path(), &three, "cellar");
        let (sheds, mut shed) = gateway(folder.path(), &three, "shed");
        cellar.finish();
        shed.finish();
        // The attic may not have begun.
        until(&mut shed, |own| own.met.get("cellar").is_some_and(|met| met.has_finished()));
        assert!(!shed.all_finished(&sheds));
        // It had finished when only the cellar was there, and has left.
        cellar.know();
        until(&mut shed, |own| own.all_finished(&sheds));
        // It is back, and its nodes learn: what the cellar knew is no longer true, and it hears that too.
        let (_, mut attic) = gateway(folder.path(), &three, "attic");
        until(&mut shed, |own| own.met.get("attic").is_some_and(|met| met.there));
        assert!(!shed.all_finished(&sheds));
        attic.finish();
        until(&mut shed, |own| own.all_finished(&sheds));
        until(&mut cellar, |own| own.unaware(&cellars).there.len() == 2);
    }
}
