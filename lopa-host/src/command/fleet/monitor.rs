//! `lopa fleet monitor`: the progress of a fleet, live.

use std::path::Path;
use std::time::Duration;

use lopa_host::fleet::Connected;
use lopa_host::live::Phase;
use lopa_host::run::Prepared;

use super::follow::Follow;
use super::hardware::{each, watch};
use crate::command::live::LiveOption;
use crate::command::{Failure, print, tell};

/// Shows the progress of all boards until they have finished or Ctrl-C is pressed.
pub(super) fn monitor(prepared: &Prepared, file: &Path, live: &LiveOption) -> Result<(), Failure> {
    let experiment = prepared.experiment();
    let (nodes, rounds) = (experiment.network.nodes, experiment.run.iterations);
    let mut fleet = Connected::open(prepared)?;
    let router = if fleet.routed() { ", this host is the router" } else { "" };
    tell(format_args!("{nodes} nodes, {}, {rounds} rounds{router}", experiment.network.topology));
    let mut follow = Follow::new(prepared, file, live)?;
    let done = watch(&mut fleet, prepared, |fleet, statuses| {
        follow.look(statuses, |node| fleet.client(node), Vec::new(), Duration::ZERO);
        (0..nodes as usize).map(|node| follow.words(node)).collect()
    })?;
    if !done {
        follow.end(Phase::Stopped, "No longer watched.");
    }
    if !done && fleet.routed() {
        // Without a router they would consider each other dead, and learn alone.
        return each(&mut fleet, |client| client.stop(), "pause");
    }
    if !done {
        return print("the boards continue unwatched\n");
    }
    // One last request to all, so that the final report is complete.
    let mut text = String::new();
    for client in fleet.clients() {
        let node = client.node();
        follow.read(client);
        text += &format!("node {node}: done{}\n", follow.words(node as usize));
    }
    follow.finish(rounds);
    print(&text)
}
