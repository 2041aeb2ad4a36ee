//! Two machines: network namespaces with a cable between them, where this user may make them.

use std::process::{Command, Stdio};

/// The namespaces of a test, removed in the end.
pub struct Namespaces {
    names: [String; 2],
}

fn ip(words: &str) -> bool {
    let words = words.split(' ');
    let run = Command::new("ip").args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

impl Namespaces {
    /// Nothing where they are not allowed: both machines are then this one.
    pub fn new() -> Option<Self> {
        let own = std::process::id();
        let own = Self { names: ["a", "b"].map(|end| format!("lopa-{own}-{end}")) };
        let [a, b] = &own.names;
        let made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!("-n {a} link add eth0 type veth peer name eth0 netns {b}"))
            && own.names.iter().zip(own.addresses()).all(|(name, address)| {
                let address = address.split(':').next().unwrap_or_default().to_owned();
                ip(&format!("-n {name} address add {address}/24 dev eth0"))
                    && ip(&format!("-n {name} link set eth0 up"))
                    && ip(&format!("-n {name} link set lo up"))
            });
        if made {
            // Where the kernel has it, packets are also late and lost.
            let tc = ["qdisc", "add", "dev", "eth0", "root", "netem", "delay", "5ms", "loss", "2%"];
            for name in &own.names {
                let mut netem = Command::new("tc");
                netem.args(["-n", name]).args(tc).stderr(Stdio::null());
                let worse = netem.status().is_ok_and(|status| status.success());
                println!(
                    "{name}: a namespace, {} late and lost packets",
                    if worse { "with" } else { "without" }
                );
            }
        }
        made.then_some(own)
    }

    /// Where the gateways of both listen.
    pub fn addresses(&self) -> [String; 2] {
        ["10.77.0.1:7447", "10.77.0.2:7447"].map(String::from)
    }

    /// What to write in front of a command that runs there.
    pub fn words(&self) -> [Vec<String>; 2] {
        self.names
            .each_ref()
            .map(|name| ["ip", "netns", "exec", name.as_str()].map(String::from).to_vec())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns delete {name}"));
        }
    }
}
