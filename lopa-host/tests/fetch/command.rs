//! `lopa data`, against servers on this very machine.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output};

use lopa_host::data::fetch::{self, State};

use super::server::{Habit, Server, gzip, names, plain};
use crate::common::{folder, said};

fn lopa(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lopa")).arg("data").args(arguments).output().unwrap()
}

#[test]
fn the_command_lists_and_refuses() {
    let list = lopa(&["list"]);
    let text = String::from_utf8(list.stdout).unwrap();
    assert!(list.status.success());
    for word in ["mnist\n", "covtype\n", "cifar10\n", "CC BY-SA 3.0", "https://www.cs.toronto.edu/"]
    {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let local = "http://127.0.0.1:1";
    for (arguments, status, expected) in [
        (&["fetch", "minst", "--dir", dir][..], 2, "did you mean `mnist`?"),
        (&["check", "cifar", "--dir", dir], 2, "did you mean `cifar10`?"),
        (&["fetch", "mnist", "--dir", dir, "--mirror", "ftp://a"], 2, "begins with https://"),
        (&["fetch", "mnist", "--dir", file, "--mirror", local], 2, "cannot write"),
        (&["fetch"], 2, "<NAME>"),
        (&["check", "covtype", "--dir", dir], 1, "1 of 1 files of covtype are not right"),
    ] {
        let output = lopa(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn the_command_keeps_nothing_that_is_wrong() {
    let server = Server::new([("covtype.data.gz", plain(&gzip(b"1,2,3\n", 6)))]);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    for (mirror, expected) in
        [(server.address.clone(), "wrong checksum"), (server.url("elsewhere/"), "status 404")]
    {
        let output = lopa(&["fetch", "covtype", "--dir", dir, "--mirror", &mirror]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(expected) && text.contains("archive.ics.uci.edu"), "{text}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, empty) = (folder.path().join("data"), folder.path().join("empty.pem"));
    fs::write(&empty, "no certificate").unwrap();
    // A server that does not speak TLS at all, so that nothing is sent to anyone else.
    let server = Server::new([]);
    let mirror = server.address.replace("http://", "https://");
    let fetch = |certificates: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_lopa"))
            .args(["data", "fetch", "mnist", "--mirror", &mirror, "--dir"])
            .arg(&dir)
            .env("SSL_CERT_FILE", certificates)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    };
    let text = fetch(empty.to_str().unwrap());
    assert!(text.contains("empty.pem: it holds no certificate"), "{text}");
    let text = fetch("nowhere.pem");
    assert!(text.contains("the connection is not safe: SSL_CERT_FILE names nowhere.pem"), "{text}");
    assert!(server.asked().is_empty());
    let text = fetch("");
    assert!(text.contains("train-images-idx3-ubyte.gz could not be fetched"), "{text}");
    assert!(names(&dir).is_empty());
}

#[test]
fn the_command_fetches_the_real_mnist_from_here() {
    let Some(source) = folder("mnist") else { return };
    let files = ["train-images", "train-labels", "t10k-images", "t10k-labels"].map(|part| {
        let ending = if part.ends_with("images") { "idx3" } else { "idx1" };
        format!("{part}-{ending}-ubyte.gz")
    });
    let mut habits = Vec::new();
    for name in &files {
        let Ok(mut file) = fs::File::open(source.join(name)) else {
            std::io::stderr().write_all(b"mnist/ is not gzipped here, nothing tested\n").unwrap();
            return;
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let cut = bytes.len() / 2 + 1;
        habits.push((&*name.clone().leak(), Habit { cut: Some(cut), ..plain(&bytes) }));
    }
    let server = Server::new(habits);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let output = lopa(&["fetch", "mnist", "--dir", dir, "--mirror", &server.address]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stderr.is_empty(), "no bar in a pipe");
    assert_eq!(server.asked().len(), 8, "each in two halves");
    assert_eq!(names(folder.path()).len(), 4);
    let digits = lopa_host::data::mnist::load(folder.path()).unwrap();
    assert_eq!(digits.train.len(), 60_000);
    let output = lopa(&["check", "mnist", "--dir", dir]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches(": right\n").count(), 4);
}

#[test]
fn the_real_covtype_is_known_by_what_it_holds() {
    let Some(folder) = folder("covtype") else { return };
    let set = fetch::named("covtype").unwrap();
    let states = fetch::check(&set, &folder).unwrap();
    assert_eq!(states[0].1, State::Right);
}
