//! The node image's flash, static RAM and stack, against the table in the docs and its limits.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::emulator::{self, flash};
use crate::nodes::{PATIENT, keys};
use lopa_host::fleet::{Emulated, Layout, patient};
use lopa_host::run::Prepared;
use object::Endianness;
use object::elf::{FileHeader32, SHF_ALLOC, SHF_WRITE};
use object::read::elf::{FileHeader, SectionHeader};

const NODES: u32 = 4;
const ROUNDS: u64 = 200;
/// The top of the image's RAM, see its memory.x: its stack, and no static.
const STACK: Range<usize> = 0x2000_8800..0x2000_a000;
/// Fills the stack before a board starts: where the fill is intact, the stack was never used.
const PAINT: [u8; 4] = 0xdead_beef_u32.to_le_bytes();

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/node/docs/budgets.md");

/// The bytes of RAM in use before the program starts.
pub fn statics(image: &Path) -> usize {
    let file = fs::read(image).expect("the image was built");
    let header = FileHeader32::<Endianness>::parse(&*file).expect("a 32-bit ELF file");
    let endian = header.endian().expect("an endianness");
    let sections = header.section_headers(endian, &*file).expect("section headers");
    let written = sections.iter().filter(|section| {
        section.sh_flags(endian) & (SHF_ALLOC | SHF_WRITE) == SHF_ALLOC | SHF_WRITE
    });
    written.map(|section| section.sh_size(endian) as usize).sum()
}

/// A ring of boards, switched off, whose memory can be inspected; with a key, which takes more stack.
fn ring(image: &Path, bits: Option<u32>) -> Emulated {
    let (_folder, [key, _]) = keys::keys();
    let plain = keys::ring(ROUNDS, Some(&key));
    let mut experiment = plain.experiment().clone();
    experiment.links.as_mut().expect("a key").bits = bits;
    let prepared = Prepared::new(experiment).unwrap();
    let layout = Layout::new(&prepared, None, patient(PATIENT, false)).unwrap();
    let mut boards = Emulated::new(image, &layout.blobs, None).unwrap();
    paint(&mut boards);
    boards
}

/// Has the stacks of boards painted when they start, and their memory inspected later.
pub fn paint(boards: &mut Emulated) {
    let paint = PAINT.repeat(STACK.len() / 4);
    for node in 0..boards.len() as u32 {
        fs::write(boards.folder(node).join("paint.bin"), &paint).unwrap();
    }
    let painted = format!("loader,file=paint.bin,addr={:#x},force-raw=on", STACK.start);
    boards.tell_emulators(&["-device", &painted]);
    boards.tell_emulators(&MONITOR);
}

/// Gives an emulator a monitor, as a socket in its board's folder.
pub const MONITOR: [&str; 2] = ["-monitor", "unix:monitor,server=on,wait=off"];

/// Has the monitor of a board's emulator execute commands, and returns what it printed.
pub fn monitor(boards: &Emulated, node: u32, commands: &str) -> String {
    let path = boards.folder(node).join("monitor");
    // An emulator that has just started may not offer it yet.
    let connected = |_| {
        UnixStream::connect(&path).inspect_err(|_| thread::sleep(Duration::from_millis(10))).ok()
    };
    let mut monitor = (0..12_000).find_map(connected).expect("a monitor");
    writeln!(monitor, "{commands}").expect("the monitor reads");
    // It executes the commands before it notices the end of the connection.
    monitor.shutdown(Shutdown::Write).expect("the monitor is connected");
    let mut printed = Vec::new();
    let _ = monitor.read_to_end(&mut printed);
    String::from_utf8_lossy(&printed).into_owned()
}

/// The largest stack that a board has used.
pub fn stack(boards: &Emulated, node: u32) -> usize {
    let own = boards.folder(node);
    let (at, len) = (STACK.start, STACK.len());
    monitor(boards, node, &format!("pmemsave {at:#x} {len} stack.bin"));
    let bytes = fs::read(own.join("stack.bin")).expect("the stack was saved");
    let left = bytes.chunks(4).take_while(|word| *word == PAINT).count() * 4;
    assert!(left > 0, "board {node} used all of the painted stack");
    bytes.len() - left
}

/// A row of the page by name: the measured value and the limit.
pub fn row(page: &str, name: &str) -> (usize, usize) {
    let number = |cell: &str| cell.trim().replace(',', "").parse().ok();
    let found = page.lines().find_map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, what, measured, most, _] = cells[..] else { return None };
        (what.trim() == name).then_some((number(measured)?, number(most)?))
    });
    found.unwrap_or_else(|| panic!("the page has no row {name:?}"))
}

/// The largest stack that a board uses for everything a node does: rounds, checkpoints, answers, and a new epoch when a node
/// returns.
fn used(image: &Path, bits: Option<u32>) -> usize {
    let mut boards = ring(image, bits);
    boards.start_all().unwrap();
    boards.client(2).unwrap().wait_for_round(ROUNDS / 4).unwrap();
    boards.start(2).unwrap();
    for node in 0..NODES {
        let client = boards.client(node).unwrap();
        client.wait_for_round(ROUNDS).unwrap();
        assert!(client.checkpoint().unwrap() && !client.reading().unwrap().bits().is_empty());
    }
    (0..NODES).map(|node| stack(&boards, node)).max().expect("nodes")
}

/// Checks bytes against their row in a table: that they are within the limit, and that the table is not out of date. How deep a
/// stack is depends on where interrupts come: that of one image was from 2,372 to 2,620 bytes.
pub fn check(page: &str, name: &str, found: usize) {
    let (known, most) = row(page, name);
    assert!(found <= most, "{name}: {found} bytes, at most {most} are allowed");
    let parts = if name.starts_with("stack") { 4 } else { 10 };
    assert!(found.abs_diff(known) * parts <= known, "{name} is {found}, in the table {known}");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn the_node_image_stays_within_its_budgets() {
    let target = emulator::CORTEX_M4F.target;
    let build = |bare: bool| {
        let images = emulator::build_small("mps2-an386", "mps2-an386", &[target], bare);
        images.unwrap_or_else(|error| panic!("{error}")).remove(0)
    };
    let image = build(false);
    let ram = statics(&image);
    let [stack, coded] = [None, Some(4)].map(|bits| used(&image, bits));
    let flash = flash::bytes(&image) as usize;
    let bare = flash::bytes(&build(true)) as usize;
    let page = fs::read_to_string(PAGE).expect("the page is there");
    println!(
        "flash {bare}, with encryption {flash}, static RAM {ram}, stack {stack}, with few bits {coded}"
    );
    for (name, found) in [
        ("flash without them", bare),
        ("flash with encryption, integers and few bits", flash),
        ("static RAM", ram),
        ("stack", stack),
        ("stack with few bits", coded),
    ] {
        check(&page, name, found);
    }
    // The limits: 49 KiB of flash, 11 KiB more for encryption and integers and 8 KiB for few bits; four floats for each of n and
    // p plus 8 KiB; 4 KiB of stack.
    let flash = ["flash without them", "flash with encryption, integers and few bits"];
    let names = [flash[0], flash[1], "static RAM", "stack", "stack with few bits"];
    let limits = names.map(|name| row(&page, name).1);
    assert_eq!(limits, [49 << 10, 68 << 10, 4 * (4 * 784 + 4 * 784) + (8 << 10), 4 << 10, 4 << 10]);
}
