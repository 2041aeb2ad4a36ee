//! The table `algorithm`: what each algorithm takes, and what becomes of mistakes.

use super::table;
use crate::algorithms::{AlgorithmName, AlgorithmTable, Key};

#[test]
fn names_are_the_same_in_a_file_and_in_words() {
    for name in AlgorithmName::ALL {
        assert_eq!(serde_json::to_string(&name).unwrap(), format!("{:?}", name.word()));
        let about = name.about();
        assert!(about.needs.contains(&Key::Alpha) && !about.source.is_empty());
        // LoPA and the single-level methods are as published; the others say how they are not.
        let as_published = name.scheme().is_some() || name.is_single_level();
        assert_eq!(about.reconstruction.is_none(), as_published, "{name}");
    }
}

#[test]
fn a_table_can_be_written_and_read() {
    for name in AlgorithmName::ALL {
        let table = table(name);
        table.check().unwrap();
        let text = toml::to_string(&table).unwrap();
        assert_eq!(toml::from_str::<AlgorithmTable>(&text).unwrap(), table, "{text}");
    }
}

#[test]
fn what_an_algorithm_does_not_know_or_lacks_is_named() {
    for (name, change, said) in [
        ("spdb", "beta = 0.1", "missing field `lambda`: spdb needs alpha, beta, lambda"),
        ("spdb", "beta = 0.1\nlambda = 0.1\ntau = 0.5", "algorithm.tau does not apply to spdb"),
        ("dgd", "beta = 0.1", "algorithm.beta does not apply to dgd, which takes alpha"),
        ("mdbo", "beta = 0.1\nlambda = 0.1\ngamma = 0.2", "missing field `tau`"),
        ("mdbo", "beta = 0.1\nlambda = 0.1\ngamma = 1.5\ntau = 1.0", "algorithm.gamma = 1.5"),
        (
            "slam",
            "beta = 0.1\nlambda = 0.1\nhessian_steps = 0",
            "hessian_steps = 0 is out of range",
        ),
        ("slam", "beta = 0.1\nlambda = 0.1\ninner_steps = 2", "inner_steps does not apply to slam"),
        (
            "ma-dsbo",
            "beta = 0.1\nlambda = 0.1\ntruncation = \"fixed\"",
            "truncation does not apply",
        ),
        ("ma-dsbo", "beta = -0.1\nlambda = 0.1", "algorithm.beta = -0.1 is out of range"),
        ("lopa-gt", "gamma = 1.5", "algorithm.gamma = 1.5"),
        ("vrdbo", "beta = 0.1\nlambda = 0.1\ngamma = 0.1\ntau = 0.0", "algorithm.tau = 0"),
    ] {
        let text = format!("name = {name:?}\nalpha = 0.1\n{change}");
        let table: AlgorithmTable = toml::from_str(&text).unwrap();
        let error = table.check().unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
    let odd = "name = \"spdb\"\nalpha = 0.1\nbeta = 0.1\nlambda = 0.1\ntruncation = \"half\"";
    assert!(toml::from_str::<AlgorithmTable>(odd).is_err());
    let mut fast = table(AlgorithmName::MaDsbo);
    (fast.alpha, fast.gamma) = (Some(2.0), None);
    assert!(fast.check().unwrap_err().to_string().contains("defaults to alpha, which is above 1"));
}
