//! Fetching data sets from local servers that misbehave in every way. No network is needed.

use std::fs;
use std::net::TcpStream;
use std::path::Path;

use lopa_host::data::fetch::{self, Event, FetchError, Original, State, Wanted, sha256};

mod command;
pub mod server;

use server::{Habit, Server, gzip, names, noise, plain};

/// A data set of one file with these bytes, at these addresses.
fn set(bytes: &[u8], urls: &[String]) -> Original {
    Original {
        name: "noise".into(),
        title: String::new(),
        terms: String::new(),
        homes: vec!["https://noise.example/home".into()],
        files: vec![Wanted {
            name: "noise.bin".into(),
            urls: urls.to_vec(),
            size: Some(bytes.len() as u64),
            sha256: sha256(bytes).unwrap(),
            ..Wanted::default()
        }],
    }
}

fn fetch(set: &Original, folder: &Path) -> Result<(), FetchError> {
    fetch::fetch(set, folder, &mut |_| {})
}

const SIZE: u32 = 300_000;

#[test]
fn a_file_is_downloaded_once() {
    let bytes = noise(SIZE);
    for habit in [
        plain(&bytes),
        Habit { silent: true, ..plain(&bytes) },
        Habit { chunked: true, ..plain(&bytes) },
    ] {
        let server = Server::new([("noise.bin", habit)]);
        let set = set(&bytes, &[server.url("noise.bin")]);
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data/noise");
        let mut last = 0;
        fetch::fetch(&set, &inner, &mut |event| {
            if let Event::Bytes { have, .. } = event {
                last = have;
            }
        })
        .unwrap();
        assert_eq!(last, u64::from(SIZE));
        assert_eq!(fs::read(inner.join("noise.bin")).unwrap(), bytes);
        assert_eq!(names(&inner), ["noise.bin"]);
        fetch(&set, &inner).unwrap();
        assert_eq!(server.asked(), [None], "it was fetched again");
    }
}

#[test]
fn an_interrupted_download_is_continued() {
    let bytes = noise(SIZE);
    for (silent, chunked) in [(false, false), (true, false), (false, true)] {
        let habit = Habit { cut: Some(110_000), silent, chunked, ..plain(&bytes) };
        let server = Server::new([("noise.bin", habit)]);
        let set = set(&bytes, &[server.url("noise.bin")]);
        let folder = tempfile::tempdir().unwrap();
        fetch(&set, folder.path()).unwrap();
        assert_eq!(fs::read(folder.path().join("noise.bin")).unwrap(), bytes);
        let asked = server.asked();
        assert_eq!(asked.len(), 3, "{asked:?}");
        assert!(asked[0].is_none() && asked[1] < asked[2], "{asked:?}");
        assert!(asked[1] >= Some(100_000), "{asked:?}");
    }
}

#[test]
fn a_server_without_ranges_restarts_the_download() {
    let bytes = noise(SIZE);
    let lame = Habit { ranges: false, ..plain(&bytes) };
    let broken = Server::new([("noise.bin", Habit { cut: Some(1_000), ..lame.clone() })]);
    let folder = tempfile::tempdir().unwrap();
    let (path, part) = (folder.path().join("noise.bin"), folder.path().join("noise.bin.part"));
    let error = fetch(&set(&bytes, &[broken.url("noise.bin")]), folder.path()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the connection broke after 1000 of 300000 bytes"), "{text}");
    assert!(text.contains("noise.bin.part keeps what arrived; fetch again to resume"), "{text}");
    assert!(!path.exists() && fs::read(&part).unwrap() == bytes[..1_000]);
    assert!(!error.is_local());

    // The next try meets a server that has the whole file but does not support ranges.
    let server = Server::new([("noise.bin", lame)]);
    fetch(&set(&bytes, &[server.url("noise.bin")]), folder.path()).unwrap();
    assert_eq!(server.asked(), [Some(1_000)]);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(names(folder.path()), ["noise.bin"]);
}

#[test]
fn a_partial_download_is_reused_if_it_is_correct() {
    let bytes = noise(SIZE);
    let (third, all) = (&bytes[..100_000], u64::from(SIZE));
    let other = vec![7; SIZE as usize + 9];
    let elsewhere = Habit { elsewhere: true, ..plain(&bytes) };
    // What is on disk, how the server behaves, whether the size is known, and what is requested.
    for (left, habit, known, asked) in [
        (third, plain(&bytes), true, vec![Some(100_000)]),
        (&bytes[..], plain(&bytes), true, vec![]),
        (&bytes[..], plain(&bytes), false, vec![Some(all)]),
        // Left by another file: start over.
        (&other[..500], plain(&bytes), true, vec![Some(500), None]),
        (&other[..SIZE as usize], plain(&bytes), true, vec![None]),
        (&other[..], plain(&bytes), true, vec![None]),
        (&other[..], plain(&bytes), false, vec![Some(all + 9), None]),
        (third, elsewhere, true, vec![Some(100_000), None]),
    ] {
        let server = Server::new([("noise.bin", habit)]);
        let mut set = set(&bytes, &[server.url("noise.bin")]);
        set.files[0].size = set.files[0].size.filter(|_| known);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("noise.bin.part"), left).unwrap();
        fetch(&set, folder.path()).unwrap();
        assert_eq!(server.asked(), asked);
        assert_eq!(fs::read(folder.path().join("noise.bin")).unwrap(), bytes);
        assert_eq!(names(folder.path()), ["noise.bin"]);
    }
}

#[test]
fn the_next_server_is_tried_when_one_fails() {
    let bytes = noise(SIZE);
    let mut wrong = bytes.clone();
    wrong[77_777] ^= 1;
    let server = Server::new([
        ("wrong", plain(&wrong)),
        ("page", plain(b"\n<!DOCTYPE html><title>Sign in</title>")),
        ("busy", Habit { status: Some(503), ..Habit::default() }),
        ("short", plain(&bytes[..5_000])),
        ("endless", plain(&vec![0; 8 * SIZE as usize + (2 << 20)])),
        ("cut", Habit { cut: Some(200_000), ranges: false, ..plain(&bytes) }),
        ("right", plain(&bytes)),
    ]);
    // The client's end of a connection: nothing listens on this port, and nothing else can while it is open.
    let taken = TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
    let closed = taken.local_addr().unwrap();
    let bad = ["wrong", "page", "gone", "busy", "short", "endless"];
    let mut urls: Vec<String> = bad.iter().map(|name| server.url(name)).collect();
    urls.push(format!("http://{closed}/noise.bin"));
    let folder = tempfile::tempdir().unwrap();

    let error = fetch(&set(&bytes, &urls), folder.path()).unwrap_err().to_string();
    assert!(names(folder.path()).is_empty(), "a bad file was kept");
    for text in [
        "/gone: status 404: the file is no longer there",
        "/wrong: sent 300000 bytes with a wrong checksum",
        "/page: sent a web page instead of the file",
        "/busy: status 503",
        "/short: sent 5000 bytes with a wrong checksum",
        "/endless: sent more than 3448576 bytes",
        &format!("http://{closed}/noise.bin: "),
        "https://noise.example/home",
        "`lopa data check noise --dir",
        folder.path().to_str().unwrap(),
    ] {
        assert!(error.contains(text), "{text} is not in\n{error}");
    }

    // The last server completes what another one began.
    urls.extend([server.url("cut"), server.url("right")]);
    let mut failed = 0;
    fetch::fetch(&set(&bytes, &urls), folder.path(), &mut |event| {
        failed += u32::from(matches!(event, Event::Failed { .. }));
    })
    .unwrap();
    assert_eq!(failed, 8);
    assert_eq!(server.log.lock().unwrap().last().unwrap(), &("/right".into(), Some(200_000)));
    assert_eq!(fs::read(folder.path().join("noise.bin")).unwrap(), bytes);
}

#[test]
fn a_file_that_is_not_the_original_is_left_alone() {
    let bytes = noise(SIZE);
    let server = Server::new([("noise.bin", plain(&bytes))]);
    let set = set(&bytes, &[server.url("noise.bin")]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.bin");
    fs::write(&path, "mine").unwrap();
    let error = fetch(&set, folder.path()).unwrap_err();
    let text = error.to_string();
    assert!(error.is_local() && text.contains("noise.bin is not the original"), "{text}");
    assert!(text.contains("4 bytes") && text.contains("move it away"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert!(server.asked().is_empty());
}

#[test]
fn errors_of_the_disk_name_the_path() {
    let bytes = noise(SIZE);
    let server = Server::new([("noise.bin", plain(&bytes))]);
    let set = set(&bytes, &[server.url("noise.bin"), server.url("noise.bin")]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = fetch(&set, &file).unwrap_err();
    assert!(error.is_local() && error.to_string().starts_with("cannot write"), "{error}");
    assert!(server.asked().is_empty());

    #[cfg(target_os = "linux")]
    {
        // A device that is always full.
        let part = folder.path().join("noise.bin.part");
        std::os::unix::fs::symlink("/dev/full", part).unwrap();
        let error = fetch(&set, folder.path()).unwrap_err();
        let text = error.to_string();
        assert!(error.is_local() && text.starts_with("the disk is full, "), "{text}");
        assert_eq!(server.asked().len(), 1, "another server was tried in vain");
        assert!(!folder.path().join("noise.bin").exists());
    }
}

/// A gzipped text, published with one compression and served with another.
fn packed() -> (Vec<u8>, Original) {
    let text: Vec<u8> = (0..2_000).flat_map(|i| format!("{i},{}\n", i * i).into_bytes()).collect();
    let published = gzip(&text, 9);
    let mut set = set(&published, &[]);
    set.files[0] = Wanted {
        name: "rows.data.gz".into(),
        size: None,
        sha256: sha256(&text[..]).unwrap(),
        ..set.files[0].clone()
    };
    (text, set)
}

#[test]
fn packed_files_are_compared_by_content() {
    let (text, mut set) = packed();
    for served in [gzip(&text, 9), gzip(&text, 1), text.clone()] {
        let server = Server::new([("rows.data.gz", plain(&served))]);
        set.files[0].urls = vec![server.url("rows.data.gz")];
        let folder = tempfile::tempdir().unwrap();
        fetch(&set, folder.path()).unwrap();
        assert_eq!(fs::read(folder.path().join("rows.data.gz")).unwrap(), served);
        assert_eq!(fetch::check(&set, folder.path()).unwrap()[0].1, State::Right);
    }
    // Unpacked by hand: nothing is requested.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rows.data"), &text).unwrap();
    set.files[0].urls.clear();
    fetch(&set, folder.path()).unwrap();
    assert_eq!(names(folder.path()), ["rows.data"]);
}

#[test]
fn a_check_says_what_is_wrong() {
    let (text, set) = packed();
    let folder = tempfile::tempdir().unwrap();
    let (gz, data) = (folder.path().join("rows.data.gz"), folder.path().join("rows.data"));
    let state = || fetch::check(&set, folder.path()).unwrap().remove(0);
    assert_eq!(state(), (gz.clone(), State::Missing));
    assert_eq!(fetch::check(&set, Path::new("no/such/folder")).unwrap()[0].1, State::Missing);

    // Decompressed by hand, and cut short.
    fs::write(&data, &text[..5_000]).unwrap();
    assert_eq!(state(), (data.clone(), State::Wrong { size: 5_000 }));
    assert_eq!(state().1.to_string(), "wrong: 5000 bytes that are not the original");
    fs::remove_file(&data).unwrap();

    let whole = gzip(&text, 6);
    for damaged in [&whole[..whole.len() / 2], &whole[..5], b"", b"\x1f\x8b\x08 no gzip at all"] {
        fs::write(&gz, damaged).unwrap();
        assert!(matches!(state().1, State::Wrong { .. }), "{:?}", state());
    }
    fs::write(&gz, &whole).unwrap();
    assert_eq!(state().1, State::Right);
    assert_eq!(names(folder.path()), ["rows.data.gz"], "the check changed the folder");
}

/// An archive with these files and one that is not needed, all at paths that try to escape the folder.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files.iter().chain([&("readme.html", &b"<html>"[..])]) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // Bypasses the checks of the library that writes archives.
        let path = format!("../../escaped/{name}");
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    gzip(&builder.into_inner().unwrap(), 6)
}

fn archived(bytes: &[u8], server: &Server) -> Original {
    let mut set = set(bytes, &[server.url("a.tar.gz")]);
    set.files[0].name = "a.tar.gz".into();
    set.files[0].members = vec![("one.bin".into(), 5_000), ("two.bin".into(), 3_000)];
    set
}

#[test]
fn lost_files_are_unpacked_again_and_damaged_ones_left_alone() {
    let (one, two) = (noise(5_000), noise(8_000)[5_000..].to_vec());
    let bytes = archive(&[("one.bin", &one), ("two.bin", &two)]);
    let server = Server::new([("a.tar.gz", plain(&bytes))]);
    let set = archived(&bytes, &server);
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("deep/down");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let states = || -> Vec<State> {
        fetch::check(&set, &folder).unwrap().into_iter().map(|(_, state)| state).collect()
    };
    fetch(&set, &folder).unwrap();
    assert_eq!((read("one.bin"), read("two.bin")), (one.clone(), two.clone()));
    assert_eq!(names(&folder), ["a.tar.gz", "one.bin", "two.bin"]);
    assert_eq!(names(outer.path()), ["deep"]);
    assert_eq!(states(), [State::Right, State::Right, State::Right]);

    // Missing files are restored from the archive; wrong ones are left alone.
    fs::remove_file(folder.join("one.bin")).unwrap();
    assert_eq!(states(), [State::Right, State::Missing, State::Right]);
    fetch(&set, &folder).unwrap();
    assert_eq!((read("one.bin"), read("two.bin")), (one, two.clone()));
    let mut damaged = two;
    damaged[1_234] ^= 1;
    for (wrong, size) in [(&damaged[..], 3_000), (b"short", 5)] {
        fs::write(folder.join("two.bin"), wrong).unwrap();
        assert_eq!(states(), [State::Right, State::Right, State::Wrong { size }]);
    }
    let error = fetch(&set, &folder).unwrap_err().to_string();
    assert!(error.contains("two.bin is not the original"), "{error}");
    fs::remove_file(folder.join("two.bin")).unwrap();
    fetch(&set, &folder).unwrap();

    // The archive may be deleted: it is not fetched again.
    fs::remove_file(folder.join("a.tar.gz")).unwrap();
    assert_eq!(states(), [State::SizeRight, State::SizeRight]);
    fetch(&set, &folder).unwrap();
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn an_archive_without_a_needed_file_is_named() {
    let bytes = archive(&[("one.bin", &noise(5_000)), ("two.bin", &noise(2_999))]);
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged.truncate(middle);
    for (bytes, expected) in [(bytes, "does not contain"), (damaged, "cannot read")] {
        let server = Server::new([("a.tar.gz", plain(&bytes))]);
        let folder = tempfile::tempdir().unwrap();
        let error = fetch(&archived(&bytes, &server), folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!names(folder.path()).iter().any(|name| name.contains("two.bin")));
    }
}
