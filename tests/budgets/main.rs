//! What the node image takes of a chip: flash, static RAM and stack, against the table in the docs and its limits.

#[path = "../nodes/board.rs"]
mod board;
#[path = "../emulator/mod.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod emulator;
#[path = "../emulator/flash.rs"]
mod flash;
#[path = "../nodes/host.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod host;
#[path = "../nodes/ring.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod ring;

use std::path::Path;

use board::{Boards, PAINT};
use host::Host;
use object::Endianness;
use object::elf::{FileHeader32, SHF_ALLOC, SHF_WRITE};
use object::read::elf::{FileHeader, SectionHeader};
use ring::{NODES, ROUNDS, blobs, wires};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/node/docs/budgets.md");

/// The bytes of RAM that are taken before the program starts.
fn statics(image: &Path) -> usize {
    let file = std::fs::read(image).expect("the image was built");
    let header = FileHeader32::<Endianness>::parse(&*file).expect("a 32-bit ELF file");
    let endian = header.endian().expect("an endianness");
    let sections = header.section_headers(endian, &*file).expect("section headers");
    let written = sections.iter().filter(|section| {
        section.sh_flags(endian) & (SHF_ALLOC | SHF_WRITE) == SHF_ALLOC | SHF_WRITE
    });
    written.map(|section| section.sh_size(endian) as usize).sum()
}

/// The deepest the stack of a board has been.
fn stack(boards: &Boards, number: usize) -> usize {
    let bytes = boards.stack(number);
    let left = bytes.chunks(4).take_while(|word| *word == PAINT).count() * 4;
    assert!(left > 0, "the stack of board {number} is deeper than what was painted");
    bytes.len() - left
}

/// The rows of the page by name: what was measured, and what is allowed.
fn row(page: &str, name: &str) -> (usize, usize) {
    let number = |cell: &str| cell.trim().replace(',', "").parse().ok();
    let found = page.lines().find_map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, what, measured, most, _] = cells[..] else { return None };
        (what.trim() == name).then_some((number(measured)?, number(most)?))
    });
    found.unwrap_or_else(|| panic!("no row {name:?} in {PAGE}"))
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn the_node_image_keeps_to_its_budgets() {
    let target = emulator::CORTEX_M4F.target;
    let image = emulator::build_small("mps2-an386", "mps2-an386", target)
        .unwrap_or_else(|error| panic!("{error}"));
    let ram = statics(&image);
    let mut boards = Boards::new(image.clone(), &blobs(ROUNDS), (0..NODES).map(wires).collect());
    let mut hosts: Vec<Host> = (0..NODES).map(|node| boards.start(node)).collect();
    // Everything a node does: rounds, checkpoints, answers, and a new epoch for one that comes back.
    hosts[2].wait_for_round(ROUNDS / 4);
    boards.kill(2);
    hosts[2] = boards.start(2);
    for host in &mut hosts {
        host.wait_for_round(ROUNDS);
        assert!(host.checkpoint() && !host.bits().is_empty());
        host.counters();
        host.metrics();
    }
    let stack = (0..NODES).map(|node| stack(&boards, node)).max().expect("nodes");
    let flash = flash::bytes(&image) as usize;
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    println!("flash {flash}, static RAM {ram}, stack {stack}");
    for (name, found) in [("flash", flash), ("static RAM", ram), ("stack", stack)] {
        let (known, most) = row(&page, name);
        assert!(found <= most, "{name}: {found} bytes, at most {most} are allowed");
        let off = found.abs_diff(known) * 10;
        assert!(off <= known, "{name} is {found}, the table says {known}");
    }
    // The limits themselves: 48 KiB; four floats for each of n and p, and 8 KiB; 4 KiB.
    let limits = ["flash", "static RAM", "stack"].map(|name| row(&page, name).1);
    assert_eq!(limits, [48 << 10, 4 * (4 * 784 + 4 * 784) + (8 << 10), 4 << 10]);
}
