//! Boards: what the command knows about them agrees with their firmware, and images stay within their budgets.

mod image;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::image::Image;
use self::table::Row;
use super::emulator;
use lopa_core::checkpoint;
use lopa_core::node::Scheme;
use lopa_core::problems::{Logistic, SharedLayer};
use lopa_host::chips::{BOARDS, Board, Form, Limits, Loaded, Region, blobs};
use lopa_host::config::Experiment;
use lopa_host::fleet::BAUD_WITHOUT_BLOB;
use lopa_host::run::Prepared;

const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests chips::boards -- --ignored";
/// The smallest stack in bytes; the linker refuses less, too.
const STACK: u64 = 16 * 1024;

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware")
}

fn text(path: impl AsRef<Path>) -> String {
    let path = firmware().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The regions of a board's memory.x.
fn regions(board: &Board) -> BTreeMap<String, Region> {
    let number = |text: &str| -> u32 {
        let text = text.trim();
        match (text.strip_prefix("0x"), text.strip_suffix('K')) {
            (Some(hex), _) => u32::from_str_radix(hex, 16).expect("a hexadecimal number"),
            (_, Some(kibi)) => kibi.parse::<u32>().expect("a number") * 1024,
            _ => text.parse().expect("a number"),
        }
    };
    let region = |line: &str| {
        let (name, rest) = line.split_once(": ORIGIN =")?;
        let (origin, len) = rest.split_once(", LENGTH =")?;
        let (len, less) = len.split_once('-').unwrap_or((len, "0"));
        let len = number(len) - number(less);
        Some((name.trim().to_owned(), Region { address: number(origin), len }))
    };
    text(format!("{}/memory.x", board.name)).lines().filter_map(region).collect()
}

/// A board's chip, as probe-rs calls it.
fn chip(board: &Board) -> &str {
    board.chip.expect("a board that can be flashed has a chip")
}

/// The erase unit of a board's flash.
fn unit(board: &Board) -> u32 {
    if board.name == "nucleo-l476rg" { 2048 } else { 4096 }
}

#[test]
fn the_command_agrees_with_the_boards_memory_maps() {
    for board in &BOARDS {
        let name = board.name;
        let regions = regions(board);
        assert_eq!((regions["BLOB"], regions["KEPT"]), (board.blob, board.kept), "{name}");
        // One after the other, in whole erase units.
        let mut order = [regions["FLASH"], board.kept, board.blob];
        order.sort_by_key(|region| region.address);
        assert_eq!(order[0], regions["FLASH"], "{name}");
        for pair in order.windows(2) {
            assert_eq!(pair[0].address + pair[0].len, pair[1].address, "{name}");
        }
        for number in [board.kept.address, board.kept.len, board.blob.address, board.blob.len] {
            assert_eq!(number % unit(board), 0, "{name}");
        }
        // Two units for boots, two slots, each with a block of 256 bytes in front.
        let slot = (board.kept.len / unit(board) - 2) / 2 * unit(board);
        assert_eq!(board.checkpoint, slot as usize - 256, "{name}");
    }
}

#[test]
fn checkpoints_of_the_nucleo_are_in_the_other_bank_than_its_program() {
    // An erase stops the chip if it executes from the same bank, and its UARTs hold one byte.
    let second = 0x0808_0000;
    let board: Board = "nucleo-l476rg".parse().unwrap();
    let image = regions(&board)["FLASH"];
    assert!(image.address + image.len <= second && board.kept.address >= second, "{board:?}");
}

#[test]
fn floats_are_never_computed_by_a_boot_rom() {
    // Its routines round differently. Where they would be linked, embassy-rp has a feature.
    for board in ["pico", "pico-2"] {
        let manifest = text(format!("{board}/Cargo.toml"));
        let line = manifest.lines().find(|line| line.starts_with("embassy-rp = "));
        let line = line.unwrap_or_else(|| panic!("{board} has no embassy-rp"));
        for feature in ["intrinsics", "rom-v2-intrinsics"] {
            assert!(!line.contains(feature), "{board}: {line}");
        }
        assert!(!manifest.contains("embassy-rp/"), "{board} adds features of embassy-rp");
    }
    let shared = text("embassy-board/Cargo.toml");
    assert!(!shared.contains("embassy-rp"), "the shared part selects features of embassy-rp");
}

#[test]
fn the_command_agrees_with_the_node_programs_capacity() {
    let node = text("node/src/lib.rs");
    for board in &BOARDS {
        let values = format!("pub const VALUES: usize = {};", board.capacity().values);
        assert!(node.contains(&values), "{values}");
    }
}

#[test]
fn every_problem_that_fits_a_board_has_a_checkpoint_that_fits() {
    for board in &BOARDS {
        // The largest checkpoint for this many floats: nearly all of them in x.
        let (tracked, local) = ((board.floats - 3) / 4, (board.floats - 3) / 3);
        let largest = checkpoint::len(Scheme::GradientTracking, tracked, 1).max(checkpoint::len(
            Scheme::LocalGradient,
            local,
            1,
        ));
        assert!(largest <= board.checkpoint, "{}: {largest}", board.name);
        let mnist = 4 * 784 + 3 * 784 + Logistic::workspace(784);
        assert!(mnist <= board.floats, "{}", board.name);
    }
    let (outer, inner) = (SharedLayer::outer(784, 28), SharedLayer::inner(28, 10));
    let layer = 4 * outer + 3 * inner + SharedLayer::workspace(28, 10);
    assert!(BOARDS.iter().any(|board| layer <= board.floats), "{layer}");
}

#[test]
fn runners_name_the_chip_and_the_target() {
    for board in &BOARDS {
        let config = text(format!("{}/.cargo/config.toml", board.name));
        let runner = format!("runner = \"probe-rs run --chip {}\"", chip(board));
        let target = format!("target = \"{}\"", board.target);
        for line in [runner, target] {
            assert!(config.lines().any(|found| found == line), "{}: {line}", board.name);
        }
        let page = text("README.md");
        let address = format!("{:#010x}", board.blob.address);
        for what in [board.name, chip(board), &address] {
            assert!(page.contains(what), "firmware/README.md does not name {what}");
        }
    }
}

#[test]
fn a_host_tries_the_rate_of_boards_without_a_blob() {
    let source = text("embassy-board/src/flash.rs");
    let (_, rest) = source.split_once("const USUAL: u32 = ").expect("the rate has a name");
    let rate: String = rest.chars().take_while(|c| *c != ';').filter(|c| *c != '_').collect();
    assert_eq!(rate, BAUD_WITHOUT_BLOB.to_string());
}

#[test]
fn the_network_of_the_readme_fits_every_board() {
    let page = text("README.md");
    let file = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let experiment = Experiment::parse(file.expect("the page has a network")).expect("a valid one");
    let prepared = Prepared::new(experiment).expect("a network");
    let blobs = blobs(&prepared, Limits::default(), Form::default());
    let blobs = blobs.expect("blobs");
    // The wiring that the page describes.
    let wires: Vec<Vec<(u32, u8)>> = blobs
        .iter()
        .map(|blob| {
            let loaded = Loaded::new(&blob.bytes);
            let blob = loaded.blob().expect("it reads back");
            blob.peers().map(|peer| (peer.node, peer.link)).collect()
        })
        .collect();
    assert_eq!(wires, [[(1, 1), (2, 2)], [(0, 1), (2, 2)], [(0, 1), (1, 2)]]);
    for board in &BOARDS {
        blobs.iter().for_each(|blob| board.takes(blob).expect(board.name));
    }
}

#[test]
fn board_programs_are_short() {
    for board in &BOARDS {
        let source = firmware().join(board.name).join("src");
        let files = fs::read_dir(source).expect("a board has sources");
        let lines = |path: PathBuf| text(path).lines().count();
        let count: usize = files.map(|file| lines(file.expect("a file").path())).sum();
        assert!(count <= 300, "{} has {count} lines, more than 300", board.name);
    }
}

/// The chips that probe-rs knows: from the command if it is installed, or from its source if cargo has it.
fn known_chips() -> Option<(String, Vec<String>)> {
    let names = |text: &str, mark: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| Some(line.trim().strip_prefix(mark)?.trim().to_owned()))
            .collect()
    };
    if let Ok(output) = Command::new("probe-rs").args(["chip", "list"]).output() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Families and variants, one per line.
        return Some(("the command probe-rs".into(), names(&text, "")));
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    let folders = |path: PathBuf| {
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let crates = folders(home.join("registry/src")).flat_map(folders);
    let source = crates.filter(|path| path.join("targets/RP2040.yaml").is_file()).max()?;
    let files = folders(source.join("targets"));
    let chips =
        files.flat_map(|file| names(&fs::read_to_string(file).unwrap_or_default(), "- name: "));
    let what = source.file_name()?.to_string_lossy().into_owned();
    Some((format!("the source of {what}"), chips.collect()))
}

#[test]
fn probe_rs_knows_the_chips() {
    let Some((source, chips)) = known_chips() else {
        // Not println, which is captured when a test passes.
        let text =
            "probe-rs is not installed, and cargo does not have its source: names not checked\n";
        std::io::stderr().write_all(text.as_bytes()).unwrap();
        return;
    };
    println!("checked against {source}");
    for board in &BOARDS {
        assert!(chips.iter().any(|known| known == chip(board)), "{source} has no {}", chip(board));
    }
}

/// Builds a board's image and measures it.
fn measure(board: &Board) -> Row {
    let built = emulator::build(board.name, board.name, &[board.target], &[]);
    let image = Image::read(&built.unwrap_or_else(|error| panic!("{error}"))[0]);
    let name = board.name;
    let place = |symbol: &str| *image.places.get(symbol).unwrap_or_else(|| panic!("no {symbol}"));
    for (region, start, end) in
        [(board.blob, "_blob_start", "_blob_end"), (board.kept, "_kept_start", "_kept_end")]
    {
        let found = (place(start), place(end) - place(start));
        assert_eq!(found, (region.address.into(), region.len.into()), "{name}");
    }
    // A flag marks whether the arena is in use.
    let arena = 4 * board.floats as u64;
    assert!((arena..arena + 8).contains(&image.arena), "{name}: {} bytes of arena", image.arena);
    let regions = regions(board);
    let (flash_room, ram_room) = (regions["FLASH"].len, u64::from(regions["RAM"].len));
    // The RP2040's boot loader has a region of its own.
    let boot = regions.get("BOOT2").map_or(0, |region| region.len);
    let flash = image.flash - u64::from(boot);
    assert!(
        flash <= flash_room.into(),
        "{name}: the image has {flash} bytes, its region {flash_room}"
    );
    assert!(image.ram + STACK <= ram_room, "{name}: {} bytes of RAM leave no stack", image.ram);
    Row {
        board: name.into(),
        flash,
        flash_room: flash_room.into(),
        ram: image.ram,
        ram_room,
        floats: board.floats as u64,
        blob: board.blob.len.into(),
    }
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn images_stay_within_their_budgets_and_match_the_docs() {
    let rows: Vec<Row> = BOARDS.iter().map(measure).collect();
    let path = firmware().join("README.md");
    if std::env::var_os("LOPA_BLESS").is_some() {
        let page = table::write(&text("README.md"), &rows).expect("the page has a place for it");
        fs::write(&path, page).expect("the page can be written");
    }
    let known = table::read(&text("README.md"));
    let agree = known.len() == rows.len() && known.iter().zip(&rows).all(|(a, b)| a.agrees(b));
    assert!(agree, "measured {rows:#?}\nin the docs {known:#?}\nif this is intended: {BLESS}");
}

#[test]
fn a_written_table_reads_back_and_detects_changes() {
    let (board, flash, ram) = ("b".to_owned(), 1_000, 2_000);
    let rows = [Row { board, flash, flash_room: 3, ram, ram_room: 4, floats: 5, blob: 6 }];
    let [row] = &rows;
    let page = "# Page\n<!-- budgets -->\n| old | 1 |\n<!-- end of budgets -->\nmore\n";
    let written = table::write(page, &rows).unwrap();
    assert!(written.starts_with("# Page\n") && written.ends_with("-->\nmore\n"), "{written}");
    assert_eq!(table::read(&written), rows);
    assert_eq!(table::write(&written, &rows).unwrap(), written);
    assert!(row.agrees(&Row { flash: 1_100, ram: 1_800, ..row.clone() }));
    for other in [Row { flash: 1_101, ..row.clone() }, Row { blob: 7, ..row.clone() }] {
        assert!(!row.agrees(&other), "{other:?}");
    }
    assert_eq!(table::write("no place for it", &[]), None);
}
