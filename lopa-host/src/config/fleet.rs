//! What is checked in the table `fleet`.

use super::{ConfigError, FleetGateway, FleetTable};

impl FleetTable {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        let wrong = |what: String| Err(ConfigError::Value(what));
        let beyond = |id: u32| {
            format!("id {id} is out of range: the network has {nodes} nodes, counted from 0")
        };
        for (index, node) in self.node.iter().enumerate() {
            let id = node.id;
            if id >= nodes {
                return wrong(format!("fleet.node: {}", beyond(id)));
            }
            let before = &self.node[..index];
            if before.iter().any(|other| other.id == id) {
                return wrong(format!("fleet.node: id {id} is given twice"));
            }
            let Some(port) = &node.port else { continue };
            // Ports of different machines may have the same name.
            let place = |id| self.gateway_of(id).map(|gateway| &gateway.name);
            let same = |id: u32, other: Option<&String>| {
                other == Some(port) && place(id) == place(node.id)
            };
            if before.iter().any(|other| same(other.id, other.port.as_ref())) {
                return wrong(format!("fleet.node: port {port:?} is given twice"));
            }
        }
        for (index, gateway) in self.gateway.iter().enumerate() {
            let (name, before) = (&gateway.name, &self.gateway[..index]);
            if name.is_empty() || before.iter().any(|other| other.name == *name) {
                return wrong(format!(
                    "fleet.gateway: {name:?}: every gateway needs a name of its own"
                ));
            }
            let address = gateway.address.as_ref();
            if let Some(other) =
                before.iter().find(|other| address.is_some() && other.address.as_ref() == address)
            {
                return wrong(format!(
                    "fleet.gateway: {name} has the address of {}: each needs its own",
                    other.name
                ));
            }
            if gateway.nodes.is_empty() {
                return wrong(format!(
                    "fleet.gateway: {name} has no nodes: remove it, or list some"
                ));
            }
            for (index, id) in gateway.nodes.iter().enumerate() {
                if *id >= nodes {
                    return wrong(format!("fleet.gateway: {name}: {}", beyond(*id)));
                }
                let twice = gateway.nodes[..index].contains(id);
                if twice || before.iter().any(|other| other.nodes.contains(id)) {
                    return wrong(format!("fleet.gateway: {name}: node {id} is given twice"));
                }
            }
        }
        Ok(())
    }

    /// The gateway that a node is plugged into.
    #[must_use]
    pub fn gateway_of(&self, node: u32) -> Option<&FleetGateway> {
        self.gateway.iter().find(|gateway| gateway.nodes.contains(&node))
    }
}

#[cfg(test)]
mod tests {
    use super::super::FleetNode;
    use super::*;

    fn gateway(name: &str, address: &str, nodes: &[u32]) -> FleetGateway {
        FleetGateway { name: name.into(), address: Some(address.into()), nodes: nodes.into() }
    }

    #[test]
    fn every_node_has_at_most_one_gateway_and_every_gateway_its_own_name_and_address() {
        let check = |gateways: &[FleetGateway]| {
            FleetTable { gateway: gateways.into(), ..FleetTable::default() }.check(4)
        };
        let attic = gateway("attic", "a:1", &[0, 1]);
        check(&[attic.clone(), gateway("cellar", "b:1", &[3])]).unwrap();
        for (other, what) in [
            (gateway("attic", "b:1", &[2]), "\"attic\": every gateway needs a name of its own"),
            (gateway("", "b:1", &[2]), "needs a name"),
            (gateway("cellar", "a:1", &[2]), "cellar has the address of attic"),
            (gateway("cellar", "b:1", &[]), "cellar has no nodes"),
            (gateway("cellar", "b:1", &[4]), "id 4 is out of range"),
            (gateway("cellar", "b:1", &[1]), "node 1 is given twice"),
            (gateway("cellar", "b:1", &[2, 2]), "node 2 is given twice"),
        ] {
            let error = check(&[attic.clone(), other]).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn ports_of_different_machines_may_have_the_same_name() {
        let node = |id| FleetNode { id, port: Some("/dev/ttyACM0".into()), probe: None };
        let mut table = FleetTable { node: vec![node(0), node(2)], ..FleetTable::default() };
        assert!(table.check(4).unwrap_err().to_string().contains("is given twice"));
        table.gateway = vec![gateway("attic", "a:1", &[0, 1]), gateway("cellar", "b:1", &[2])];
        table.check(4).unwrap();
        table.gateway = vec![gateway("attic", "a:1", &[0, 1, 2])];
        assert!(table.check(4).is_err());
    }
}
