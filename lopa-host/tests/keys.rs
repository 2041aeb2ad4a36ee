//! Keys: created once, readable by their owner only, used by runs, blobs and fleets, and absent from all output.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{NETWORK, lopa, said};
use lopa_core::wire::Seal;
use lopa_host::chips::{Form, Limits, Loaded, VALUES, blobs};
use lopa_host::config::Experiment;
use lopa_host::key::Key;
use lopa_host::run::Prepared;

/// A folder with a key and a network that uses it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir };
        let output = place.lopa(&["key", "secret.key"]);
        assert!(output.status.success(), "{}", said(&output));
        place.file("network.toml", "key = \"secret.key\"");
        place.file("open.toml", "");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn lopa(&self, arguments: &[&str]) -> Output {
        lopa(self.dir.path(), arguments)
    }

    fn file(&self, name: &str, more: &str) {
        let text = format!("{NETWORK}\n[links]\nchunk = 8\n{more}\n");
        fs::write(self.path(name), text).unwrap();
    }

    /// The key's digits.
    fn digits(&self) -> String {
        let text = fs::read_to_string(self.path("secret.key")).unwrap();
        text.lines().find(|line| !line.starts_with('#')).unwrap().to_owned()
    }

    fn refused(&self, arguments: &[&str], what: &[&str]) {
        let output = self.lopa(arguments);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(what.iter().all(|what| error.contains(what)), "{error}");
        assert!(!error.contains(&self.digits()[..16]), "a part of the key was printed");
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn a_key_is_made_once_and_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (key, digits) = (place.path("secret.key"), place.digits());
    assert_eq!((mode(&key), digits.len()), (0o600, 64));
    place.refused(&["key", "secret.key"], &["secret.key exists already"]);
    assert_eq!(place.digits(), digits, "the key was overwritten");
    place.lopa(&["key", "other.key"]);
    assert_ne!(fs::read(place.path("other.key")).unwrap(), fs::read(&key).unwrap());
    // Blobs with a key are as secret as the key, even if they replace readable ones.
    for file in ["open.toml", "network.toml"] {
        let output = place.lopa(&["shard", file, "--out", "blobs"]);
        assert!(output.status.success(), "{}", said(&output));
        let private = mode(&place.path("blobs/node-0.blob")) == 0o600;
        assert_eq!(private, file == "network.toml", "{file}");
    }
    for open in [0o640, 0o604, 0o620, 0o644] {
        fs::set_permissions(&key, fs::Permissions::from_mode(open)).unwrap();
        let shown = format!("mode {open:o}");
        for command in ["run", "shard"] {
            let arguments = [command, "network.toml", "--out", "results"];
            place.refused(&arguments, &["links.key", "secret.key", &shown, "chmod 600"]);
        }
    }
    assert!(!place.path("results").exists());
}

#[test]
fn an_invalid_key_file_is_refused_by_line() {
    let place = Place::new();
    let run = ["run", "network.toml", "--out", "results"];
    let (good, digits) = (fs::read_to_string(place.path("secret.key")).unwrap(), place.digits());
    for (text, what) in [
        (good.replace(&digits, &digits[1..]), "secret.key:2: a key must be 64 hexadecimal digits"),
        (good.replace(&digits, ""), "secret.key:3: the key is missing"),
        (format!("{good}{digits}\n"), "secret.key:3: there is a second key"),
        (good.replace('#', ""), "secret.key:1: a key must be"),
    ] {
        // Overwriting the existing file keeps its permissions.
        fs::write(place.path("secret.key"), &text).unwrap();
        let error = said(&place.lopa(&run));
        assert!(error.contains(what) && !error.contains(&digits[1..20]), "{error}");
    }
    fs::remove_file(place.path("secret.key")).unwrap();
    let error = said(&place.lopa(&run));
    assert!(error.contains("links.key: cannot read") && error.contains("lopa key"), "{error}");
}

#[test]
fn a_run_with_a_key_ends_with_the_same_bits() {
    let place = Place::new();
    for (file, out) in [("network.toml", "keyed"), ("open.toml", "open")] {
        let output = place.lopa(&["run", file, "--out", out]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let read = |name: &str| fs::read(place.path(name)).unwrap();
    assert_eq!(read("keyed/state.json"), read("open/state.json"));
    // A key makes frames longer.
    let sent = |name: &str| {
        let text = String::from_utf8(read(name)).unwrap();
        let column = text.lines().next().unwrap().split(',').position(|c| c == "bytes").unwrap();
        text.lines().last().unwrap().split(',').nth(column).unwrap().parse::<f64>().unwrap()
    };
    assert!(sent("keyed/metrics.csv") > 1.1 * sent("open/metrics.csv"));
}

#[test]
fn no_output_contains_the_key() {
    let place = Place::new();
    let digits = place.digits();
    let key: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect();
    // A run that is stopped and resumed, so that there is a checkpoint; one that diverges; a help text; blobs.
    let diverging = fs::read_to_string(place.path("network.toml")).unwrap();
    fs::write(place.path("bad.toml"), diverging.replace("beta = 0.05", "beta = 500.0")).unwrap();
    let mut printed = Vec::new();
    for arguments in [
        &["run", "network.toml", "--out", "results"][..],
        &["run", "network.toml", "--out", "results", "--resume"],
        &["run", "bad.toml", "--out", "bad"],
        &["compare", "network.toml", "open.toml", "--out", "both"],
        &["fleet", "network.toml", "status"],
        &["shard", "network.toml", "--out", "blobs"],
        &["key", "secret.key"],
        &["key", "--help"],
    ] {
        let output = place.lopa(arguments);
        printed.extend_from_slice(&output.stdout);
        printed.extend_from_slice(&output.stderr);
    }
    let upper = digits.to_uppercase();
    let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
    // Not even half of the key, as digits or as bytes.
    let parts = |bytes: &[u8]| {
        let halves = [&digits[..32], &digits[32..], &upper[..32], &upper[32..]].map(str::as_bytes);
        halves.into_iter().chain([&key[..16], &key[16..]]).any(|part| has(bytes, part))
    };
    assert!(!parts(&printed), "the key was printed");
    let written: BTreeSet<PathBuf> = files(place.dir.path()).into_iter().collect();
    let holders: Vec<&PathBuf> =
        written.iter().filter(|path| parts(&fs::read(path).unwrap())).collect();
    // The files that must contain the key do, so the search works; no other file does.
    let blobs = (0..4).map(|node| place.path(&format!("blobs/node-{node}.blob")));
    let want: Vec<PathBuf> = blobs.chain([place.path("secret.key")]).collect();
    assert_eq!(holders, want.iter().collect::<Vec<_>>());
    for name in ["results/summary.json", "results/report.html", "results/checkpoint.lopa"] {
        assert!(written.contains(&place.path(name)), "{name} was not searched");
    }
}

/// The network of a board with n = 784, with a key or without.
fn mnist_sized(key: Option<&Path>) -> Prepared {
    let key = key.map(|path| format!("key = {path:?}")).unwrap_or_default();
    let text = format!(
        r#"
        network = {{ nodes = 4 }}
        problem = {{ kind = "logistic" }}
        data = {{ features = 784, relevant = 40, samples = 10 }}
        run = {{ iterations = 1000 }}
        algorithm = {{ name = "lopa-gt", alpha = 0.1, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5 }}
        links = {{ baud = 115200, {key} }}
        "#
    );
    Prepared::new(Experiment::parse(&text).unwrap()).unwrap()
}

#[test]
fn the_overhead_matches_the_docs() {
    let place = Place::new();
    let page = include_str!("../../lopa-core/docs/security.md");
    let row = |name: &str| -> Vec<u64> {
        let line = page.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        let cells = line.split('|').map(|cell| cell.trim().replace(',', ""));
        cells.filter_map(|cell| cell.parse().ok()).collect()
    };
    let form = Form { values: Some(VALUES), ..Form::default() };
    let key = place.path("secret.key");
    for (name, key) in [("without a key", None), ("with a key", Some(&*key))] {
        let blobs = blobs(&mnist_sized(key), Limits::default(), form).unwrap();
        let loaded = Loaded::new(&blobs[0].bytes);
        let plan = *loaded.blob().unwrap().plan();
        assert_eq!((plan.seal == Seal::PLAIN, plan.chunk), (key.is_none(), 32));
        // For two neighbours, each on a line of its own.
        let sent = blobs[0].budget.sent / 2;
        let known = row(name);
        println!("{name}: {sent} bytes");
        assert_eq!(known[0], 784_u64.div_ceil(plan.chunk.into()));
        // With a key, stuffing depends on the ciphertext by a byte or two per frame.
        assert!(known[1].abs_diff(sent) <= 2 * known[0], "{name}: {sent}, in the docs {known:?}");
    }
}

#[test]
fn blobs_carry_the_key_and_are_the_same_network() {
    let place = Place::new();
    let key = place.path("secret.key");
    let (keyed, open) = (mnist_sized(Some(&key)), mnist_sized(None));
    let form = Form { values: Some(VALUES), ..Form::default() };
    let blobs = [&keyed, &open].map(|prepared| {
        let blobs = blobs(prepared, Limits::default(), form).unwrap();
        Loaded::new(&blobs[2].bytes)
    });
    let [keyed, open] = [blobs[0].blob().unwrap(), blobs[1].blob().unwrap()];
    assert_eq!(keyed.settings(1).seal, Key::read(&key).unwrap().seal());
    assert_eq!((open.settings(1).seal, keyed.identity()), (Seal::PLAIN, open.identity()));
}

#[test]
fn every_test_named_in_the_threat_model_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("lopa-core/docs/security.md")).unwrap();
    let folders =
        ["lopa-core/src", "lopa-core/tests", "lopa-host/tests", "tests", "firmware/node/src"];
    let sources = folders.iter().flat_map(|folder| files(&root.join(folder)));
    let sources = sources.filter(|path| path.extension().is_some_and(|ext| ext == "rs"));
    let code: String = sources.map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut named = 0;
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, _, _, _, shown, _] = cells[..] else { continue };
        if let Some(name) = shown.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            assert!(code.contains(&format!("fn {name}()")), "no test {name}");
            named += 1;
        } else {
            assert!(["shown by", "not covered", "---"].contains(&shown), "{line}");
        }
    }
    assert!(named >= 10, "{named}");
}
