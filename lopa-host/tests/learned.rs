//! What a report shows of the shared variable, and where its results come from.

use std::fs;
use std::path::Path;

use crate::common::{lopa, network, said};

type Changes<const N: usize> = [(&'static str, &'static str); N];

/// Samples with named features, of four clinics.
pub const NAMED: Changes<2> = [
    ("source = \"synthetic\"", "file = \"patients.csv\"\nlabel = \"state\"\nnode = \"clinic\""),
    ("x0 = -3.0", "x0 = -3.0\nper_node = true"),
];
/// Pictures.
pub const PIXELS: Changes<1> =
    [("source = \"synthetic\"", "source = \"mnist\"\ndir = \"digits\"\nclasses = [\"0\", \"1\"]")];
/// A layer over pictures.
pub const LAYER: Changes<3> = [
    ("source = \"synthetic\"", "source = \"mnist\"\ndir = \"digits\""),
    ("kind = \"logistic\"", "kind = \"shared-layer\"\nhidden = 5\nmu = 0.1"),
    ("x0 = -3.0", "x0 = { random = 0.1 }"),
];

/// Writes `patients.csv`.
pub fn patients(dir: &Path) {
    let mut text = "clinic,age,pulse,blood pressure,temperature in the evening,state\n".to_owned();
    for row in 0..160_u32 {
        let number =
            |salt: u32| f64::from((row * 37 + salt * 101) * (row + 7 * salt) % 997) / 100.0;
        let [a, b, c, d] = [1, 2, 3, 4].map(number);
        let (clinic, state) = (row % 4, if a + b > 10.0 { "ill" } else { "well" });
        text += &format!("clinic {clinic},{a},{b},{c},{d},{state}\n");
    }
    fs::write(dir.join("patients.csv"), text).unwrap();
}

/// Writes the folder `digits`: pictures of 6 by 6 pixels of three classes, as MNIST has them.
pub fn digits(dir: &Path) {
    fs::create_dir_all(dir.join("digits")).unwrap();
    for (name, count) in [("train", 240_u32), ("t10k", 60)] {
        let mut images: Vec<u8> =
            [2051, count, 6, 6].into_iter().flat_map(u32::to_be_bytes).collect();
        let mut labels: Vec<u8> = [2049, count].into_iter().flat_map(u32::to_be_bytes).collect();
        for sample in 0..count {
            let class = sample % 3;
            labels.push(class as u8);
            images.extend((0..36_u32).map(|pixel| {
                let noise = (sample * 31 + pixel * 17) * (sample + pixel) % 90;
                let bright = u32::from(pixel / 12 == class) * 150;
                (noise + bright) as u8
            }));
        }
        let file = |what: &str| dir.join(format!("digits/{name}-{what}-ubyte"));
        fs::write(file("images-idx3"), images).unwrap();
        fs::write(file("labels-idx1"), labels).unwrap();
    }
}

/// Runs a network with changes; returns its page, the picture of the shared variable, and the summary.
fn report(changes: &[(&str, &str)]) -> (String, Option<String>, serde_json::Value) {
    let dir = tempfile::tempdir().unwrap();
    patients(dir.path());
    digits(dir.path());
    fs::write(dir.path().join("network.toml"), network(changes)).unwrap();
    let output = lopa(dir.path(), &["run", "network.toml", "--out", "o"]);
    assert!(output.status.success(), "{}", said(&output));
    let read = |name: &str| fs::read_to_string(dir.path().join("o").join(name));
    let summary = serde_json::from_str(&read("summary.json").unwrap()).unwrap();
    (read("report.html").unwrap(), read("figures/shared.svg").ok(), summary)
}

#[test]
fn strengths_are_shown_by_the_names_of_features() {
    let (page, picture, _) = report(&NAMED);
    let picture = picture.unwrap();
    for name in ["age", "pulse", "blood pressure", "temperature in the evening", "intercept"] {
        assert!(picture.contains(&format!("<title>{name}: ")), "{name}");
    }
    assert!(page.contains("What was learned") && picture.contains("; strength "));
    // Logarithms of strengths, not what x is relative to: the intercept stays at its own.
    assert!(picture.contains("<title>intercept: −9"), "{picture}");
    // Every node by its name, and how far they are apart.
    assert!(page.contains("node 3 clinic 3") && page.contains("x, largest distance from the mean"));
    // Not those of methods that learn no shared variable.
    let (page, picture, _) = report(&[
        ("name = \"lopa-gt\"", "name = \"dgd\""),
        ("beta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5\n", ""),
    ]);
    assert!(picture.is_none() && page.contains("Test accuracy of every node"));
}

#[test]
fn pixels_are_shown_as_pictures_and_other_layers_by_feature() {
    let (page, picture, _) = report(&PIXELS);
    assert!(page.contains("<title>row 5, column 5: ") && picture.unwrap().contains("#440154"));
    let (_, picture, _) = report(&LAYER);
    let units = picture.unwrap().matches("<g transform=").count();
    assert_eq!(units, 5);
    let layer = [("kind = \"logistic\"", LAYER[1].1), LAYER[2]];
    let named = [(
        "source = \"synthetic\"",
        "file = \"patients.csv\"\nignore = [\"clinic\"]\nintercept = false",
    )];
    let (page, ..) = report(&[&layer[..], &named].concat());
    assert!(page.contains("<title>unit 2, blood pressure: "), "{page}");
    let meta = [("kind = \"logistic\"", "kind = \"meta-logistic\"\nnu = 4.0")];
    let (_, picture, _) = report(&meta);
    assert!(picture.unwrap().contains("<title>feature 23: "));
    // Too many for names: all in a chart, and those at the ends by name.
    let (page, picture, _) = report(&[("source = \"synthetic\"", "features = 120")]);
    assert!(
        !picture.unwrap().contains("feature 23")
            && page.contains("12 lowest and the 12 highest of 120")
    );
}

#[test]
fn a_report_says_where_its_results_come_from() {
    let (page, _, summary) = report(&NAMED);
    let from = &summary["provenance"];
    assert_eq!(from["command"], "lopa run network.toml --out o");
    assert_eq!((&from["version"], &from["seed"]), (&summary["version"], &1.into()));
    let date = from["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.starts_with("20") && date.ends_with('Z'), "{date}");
    // Nodes have different samples; the same data give the same checksums, other data others.
    let data =
        |summary: &serde_json::Value| summary["provenance"]["data"].as_array().unwrap().clone();
    let own = data(&summary);
    assert!(own.len() == 4 && own[1..].iter().all(|checksum| *checksum != own[0]), "{own:?}");
    assert_eq!(data(&report(&NAMED).2), own);
    let other = [NAMED[0], NAMED[1], ("record_every = 20", "record_every = 20\nseed = 2")];
    assert_ne!(data(&report(&other).2), own);
    for part in [date, "lopa run network.toml --out o", own[3].as_str().unwrap()] {
        assert!(page.contains(part), "{part}");
    }
    for file in ["metrics.csv", "nodes.csv", "state.json", "summary.json"] {
        assert!(page.contains(&format!("<a href=\"{file}\">")), "{file}");
    }
}
