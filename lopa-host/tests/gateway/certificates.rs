//! Certificates for gateways, made with openssl, and a configuration of Zenoh that wants them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn openssl(dir: &Path, words: &str) -> bool {
    let mut command = Command::new("openssl");
    command.current_dir(dir).args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Makes an authority and a certificate, for these addresses and with the name `gateway`. Tells whether it could: not every
/// machine has openssl.
pub fn make(dir: &Path, addresses: &[String]) -> bool {
    let name = |address: &String| format!("IP:{}", address.split(':').next().unwrap());
    let names: Vec<String> = addresses.iter().map(name).collect();
    fs::write(dir.join("names"), format!("subjectAltName = {}\n", names.join(","))).unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let own = format!("req {key} -keyout own.key -out own.csr -subj /CN=gateway");
    let signed = "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9999 -extfile names -out own.pem";
    openssl(
        dir,
        &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 9999 -subj /CN=authority"),
    ) && openssl(dir, &own)
        && openssl(dir, signed)
}

/// Both ends show certificates, and whoever is called `gateway` may use the keys of the fleet, nothing else.
pub const CONFIGURATION: &str = r#"{
  transport: { link: { tls: {
    enable_mtls: true,
    root_ca_certificate: "ca.pem",
    listen_certificate: "own.pem", listen_private_key: "own.key",
    connect_certificate: "own.pem", connect_private_key: "own.key",
  } } },
  access_control: {
    enabled: true,
    default_permission: "deny",
    rules: [{
      id: "fleet",
      messages: ["put", "declare_subscriber"],
      flows: ["egress", "ingress"],
      permission: "allow",
      key_exprs: ["lopa/ring/**"],
    }],
    subjects: [{ id: "gateways", cert_common_names: ["gateway"] }],
    policies: [{ rules: ["fleet"], subjects: ["gateways"] }],
  },
}
"#;
