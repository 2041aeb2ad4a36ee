//! Zenoh's sessions.

use std::path::Path;

use zenoh::{Config, Session, Wait};

use super::MeetingError;

/// An address as Zenoh has it.
fn endpoint(address: &str) -> String {
    if address.contains('/') { address.into() } else { format!("tcp/{address}") }
}

/// Where a process with this address listens: there, or on all addresses of its machine if that is a name, which a machine may
/// know by another address than others do.
fn listening(address: &str) -> String {
    let endpoint = endpoint(address);
    let Some((protocol, place)) = endpoint.split_once('/') else { return endpoint };
    // A socket in a file has no port.
    if protocol == "unixsock-stream" {
        return endpoint;
    }
    // What follows # are settings of this endpoint.
    let (place, settings) = place.split_once('#').map_or((place, None), |(a, b)| (a, Some(b)));
    let numbers = place.parse::<std::net::SocketAddr>().is_ok();
    let port = place.rsplit_once(':').map_or(place, |(_, port)| port);
    let place = if numbers { place.to_owned() } else { format!("0.0.0.0:{port}") };
    let settings = settings.map(|settings| format!("#{settings}")).unwrap_or_default();
    format!("{protocol}/{place}{settings}")
}

/// Zenoh's configuration: from its own file, if there is one, and the addresses of those that meet.
fn configuration(
    own: Option<&str>,
    dialled: &[&str],
    file: Option<&Path>,
) -> Result<Config, MeetingError> {
    let wrong = |what: String, error: zenoh::Error| MeetingError::Configuration {
        what,
        error: error.to_string(),
    };
    let mut config = match file {
        Some(path) => {
            Config::from_file(path).map_err(|error| wrong(format!("{}", path.display()), error))?
        }
        None => Config::default(),
    };
    // Without an address, Zenoh's own file says how they meet.
    let Some(own) = own else { return Ok(config) };
    let dialled: Vec<String> = dialled.iter().map(|address| endpoint(address)).collect();
    for (key, value) in [
        ("listen/endpoints", serde_json::json!([listening(own)])),
        ("connect/endpoints", serde_json::json!(dialled)),
        ("connect/retry", serde_json::json!({ "period_init_ms": 200, "period_max_ms": 2_000 })),
        // All addresses are known: nobody has to be looked for.
        ("scouting/multicast/enabled", serde_json::json!(false)),
        ("scouting/gossip/enabled", serde_json::json!(false)),
    ] {
        let inserted = config.insert_json5(key, &value.to_string());
        inserted.map_err(|error| wrong(key.into(), error))?;
    }
    Ok(config)
}

/// Opens a session that listens at its `own` address, if it has one, and dials others. Those may come later.
///
/// Of two processes only one may dial the other: if both did, they could end up with half a session each.
///
/// # Errors
/// Says what is wrong with the configuration, or with the address to listen on.
pub(crate) fn open(
    own: Option<&str>,
    dialled: &[&str],
    file: Option<&Path>,
) -> Result<Session, MeetingError> {
    // RUST_LOG=zenoh=debug shows what it does.
    zenoh::try_init_log_from_env();
    let config = configuration(own, dialled, file)?;
    zenoh::open(config)
        .wait()
        .map_err(|error| MeetingError::Open { at: own.map(listening), error: error.to_string() })
}

/// An error of a session that is open.
#[allow(clippy::needless_pass_by_value)] // As `map_err` calls it.
pub(crate) fn refused(error: zenoh::Error) -> MeetingError {
    MeetingError::Open { at: None, error: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_listens_where_others_reach_it() {
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
            ("unixsock-stream//tmp/a", "unixsock-stream//tmp/a", "unixsock-stream//tmp/a"),
        ] {
            assert_eq!(
                (endpoint(address).as_str(), listening(address).as_str()),
                (connects, listens)
            );
        }
    }
}
