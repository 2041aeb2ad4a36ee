//! `lopa data`, with local servers.

use std::fs;
use std::process::{Command, Output};

use super::server::{Server, gzip, names, plain};
use crate::common::said;

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
        (&["fetch", "mnist", "--dir", dir, "--mirror", "ftp://a"], 2, "must begin with https://"),
        (&["fetch", "mnist", "--dir", file, "--mirror", local], 2, "cannot write"),
        (&["fetch"], 2, "<NAME>"),
        (&["check", "covtype", "--dir", dir], 1, "1 of 1 files of covtype are missing or wrong"),
    ] {
        let output = lopa(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn the_command_keeps_no_bad_download() {
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
fn unusable_certificates_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, empty) = (folder.path().join("data"), folder.path().join("empty.pem"));
    fs::write(&empty, "no certificate").unwrap();
    // A local server that does not speak TLS, so that nothing is sent over the network.
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
    assert!(text.contains("empty.pem: contains no certificate"), "{text}");
    let text = fetch("nowhere.pem");
    assert!(text.contains("SSL_CERT_FILE nowhere.pem: "), "{text}");
    assert!(server.asked().is_empty());
    let text = fetch("");
    assert!(text.contains("cannot fetch train-images-idx3-ubyte.gz"), "{text}");
    assert!(names(&dir).is_empty());
}
