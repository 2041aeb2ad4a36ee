//! `lopa theory`: constants and step sizes of a file.

mod common;

use std::fs;

use common::{NETWORK, lopa, said};

#[test]
fn constants_and_step_sizes_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("network.toml"), NETWORK).unwrap();
    let output = lopa(dir.path(), &["theory", "network.toml"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in ["mu_g", "kappa", "b_g^2", "s_f,theta^2", "corollary 1, LG, 60 rounds", "bound"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json = lopa(dir.path(), &["theory", "network.toml", "--json", "--tau", "0.25"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    // g is a regression's mean loss plus 2 e^-3 in the diagonal of its Hessian: that is the least it curves.
    let mu = number(&json["theory"]["constants"]["mu_g"]);
    assert!((0.0995..1.0).contains(&mu), "{mu}");
    assert!(number(&json["theory"]["variances"]["g_theta"]) > 0.0, "batches of 10 vary");
    for scheme in ["lg", "gt"] {
        let (alpha, u) = (number(&json[scheme]["alpha"]), number(&json[scheme]["u"]));
        assert!(alpha > 0.0 && alpha <= u, "{json}");
        assert_eq!(number(&json[scheme]["tau"]), 0.25);
    }
    let again = lopa(dir.path(), &["theory", "network.toml", "--threads", "1"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text, "the same on any number of threads");
    let wrong = lopa(dir.path(), &["theory", "network.toml", "--tau", "1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("--tau 1 is out of range"), "{}", said(&wrong));
}
