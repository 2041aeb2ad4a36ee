//! The counters of a node's links, by name.

use lopa_core::wire::Counters;

/// A counter: its name in files, what it counts, and its value.
pub(super) type Counter = (&'static str, &'static str, fn(&Counters) -> u64);

/// All of them.
pub(super) const COUNTERS: [Counter; 17] = [
    ("sent", "frames sent", |c| c.sent),
    ("sent_bytes", "bytes sent", |c| c.sent_bytes),
    ("received", "valid frames received", |c| c.received),
    ("received_bytes", "bytes received, in valid frames or not", |c| c.received_bytes),
    ("repaired", "chunks found to be lost, and sent again", |c| c.repaired),
    ("corrupt", "frames with a wrong checksum or tag", |c| c.corrupt),
    ("truncated", "frames that were cut short or have invalid stuffing", |c| c.truncated),
    ("oversize", "frames longer than any the node understands", |c| c.oversize),
    ("malformed", "frames with an invalid message", |c| c.malformed),
    ("version", "frames of another version of the protocol", |c| c.version),
    ("foreign", "frames from nodes that are not neighbours on that link", |c| c.foreign),
    ("stale", "frames from another epoch or session, and requests with an old challenge", |c| {
        c.stale
    }),
    ("repeated", "chunks that had been received before", |c| c.repeated),
    ("early", "chunks too far ahead to be stored", |c| c.early),
    ("non_finite", "chunks with an infinite or NaN value", |c| c.non_finite),
    ("refused", "greetings refused, by the node or by a neighbour", |c| c.refused),
    ("epochs", "epochs begun or joined", |c| c.epochs),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_listed_by_its_name() {
        let names = serde_json::to_value(Counters::default()).unwrap();
        let mut counters = serde_json::Map::new();
        for (place, name) in (1..).zip(names.as_object().unwrap().keys()) {
            counters.insert(name.clone(), place.into());
        }
        assert_eq!(counters.len(), COUNTERS.len());
        let known: Counters = serde_json::from_value(counters.clone().into()).unwrap();
        for (name, _, of) in COUNTERS {
            assert_eq!(counters[name], of(&known), "{name}");
        }
    }
}
