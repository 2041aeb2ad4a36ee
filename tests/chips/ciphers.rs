//! The cost of sealing frames on emulated chips, for every cipher that was considered, against the table in the docs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use super::emulator::{Build, CORTEX_M0, CORTEX_M4F, Machine, flash};
use lopa_core::math::Kind;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lopa-core/docs/ciphers.md");
const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests chips::ciphers -- --ignored";
/// The lines before and after the table.
const MARKS: [&str; 2] = ["<!-- ciphers -->\n", "<!-- end of ciphers -->\n"];

/// Ciphers by name, and their programs.
const CIPHERS: [(&str, &str); 5] = [
    ("Ascon-AEAD128", "cipher-ascon"),
    ("ChaCha20-Poly1305", "cipher-chacha"),
    ("Ascon-AEAD128, nonce by Ascon", "cipher-ascon-ascon"),
    ("Ascon-AEAD128, nonce by SipHash", "cipher-ascon-siphash"),
    ("ChaCha20-Poly1305, nonce by SipHash", "cipher-chacha-siphash"),
];
const NOTHING: &str = "cipher-nothing";
const LEVELS: [(&str, &str); 2] = [("speed", "3"), ("size", "z")];
const CHIPS: [&Machine; 2] = [&CORTEX_M0, &CORTEX_M4F];

/// A cipher, a chip, and what it is built for.
type Key = [String; 3];
/// Flash, stack, and instructions per byte of a message of 300 and of 800 bytes.
type Cost = [f64; 4];

/// Whether the page is rewritten: then all ciphers are measured.
fn blessing() -> bool {
    std::env::var_os("LOPA_BLESS").is_some()
}

/// Whether a cipher is measured each time: only the one in use and its rival, because building takes long.
fn measured_each_time(cipher: &str) -> bool {
    [CIPHERS[2].0, CIPHERS[4].0].contains(&cipher)
}

fn measure() -> Vec<(Key, Cost)> {
    let wanted = |(name, _): &(&str, &str)| blessing() || measured_each_time(name);
    let ciphers: Vec<_> = CIPHERS.into_iter().filter(wanted).collect();
    let mut programs = vec![NOTHING];
    programs.extend(ciphers.iter().map(|(_, program)| program));
    let mut rows = Vec::new();
    for (purpose, level) in LEVELS {
        let folders = Build { level, math: Kind::Libm, integer: false }.programs(&programs, &CHIPS);
        for (chip, directory) in CHIPS.into_iter().zip(folders) {
            let frame = flash::bytes(&directory.join(NOTHING));
            for &(name, program) in &ciphers {
                let image = directory.join(program);
                let text = chip.run(&image);
                let printed: BTreeMap<&str, f64> = text
                    .lines()
                    .filter_map(|line| line.split_once(' '))
                    .filter_map(|(what, number)| Some((what, number.parse().ok()?)))
                    .collect();
                let per_byte = |len: u32| {
                    let instructions = printed[format!("instructions-{len}").as_str()];
                    (10.0 * instructions / f64::from(len)).round() / 10.0
                };
                let bytes = (flash::bytes(&image) - frame) as f64;
                let cost = [bytes, printed["stack-800"], per_byte(300), per_byte(800)];
                rows.push(([name, chip.chip, purpose].map(str::to_owned), cost));
            }
        }
    }
    rows
}

/// The page with its rows replaced by these.
fn write(page: &str, rows: &[(Key, Cost)]) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    let mut table = String::from(
        "| cipher | chip | built for | flash | stack | instructions per byte, of 300 | of 800 |\n\
         |---|---|---|---:|---:|---:|---:|\n",
    );
    for ([cipher, chip, purpose], [flash, stack, short, long]) in rows {
        writeln!(
            table,
            "| {cipher} | {chip} | {purpose} | {flash} | {stack} | {short:.1} | {long:.1} |"
        )
        .expect("a string grows");
    }
    Some([before, MARKS[0], &table, MARKS[1], after].concat())
}

/// The rows of a page.
fn read(page: &str) -> Vec<(Key, Cost)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, cipher, chip, purpose, flash, stack, short, long, _] = cells[..] else {
            return None;
        };
        let numbers = [flash, stack, short, long].map(|cell| cell.parse().ok());
        let [Some(flash), Some(stack), Some(short), Some(long)] = numbers else { return None };
        Some(([cipher, chip, purpose].map(str::to_owned), [flash, stack, short, long]))
    };
    page.lines().filter_map(row).collect()
}

/// Whether the numbers agree to within a tenth.
fn agree(a: &[(Key, Cost)], b: &[(Key, Cost)]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.1 * a;
    let same = |((a, x), (b, y)): (&(Key, Cost), &(Key, Cost))| a == b && x.iter().zip(y).all(near);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn costs_of_ciphers_match_the_docs() {
    let rows = measure();
    let page = fs::read_to_string(PAGE).expect("the page is there");
    if blessing() {
        let written = write(&page, &rows).expect("the page has a place for the table");
        fs::write(PAGE, written).expect("the page can be written");
    }
    let mut known = read(&fs::read_to_string(PAGE).expect("the page is there"));
    assert_eq!(known.len(), CIPHERS.len() * LEVELS.len() * CHIPS.len(), "{known:#?}");
    known.retain(|([cipher, ..], _)| blessing() || measured_each_time(cipher));
    assert!(
        agree(&known, &rows),
        "measured {rows:#?}\nin the docs {known:#?}\nif this is intended: {BLESS}"
    );
}

#[test]
fn a_written_table_reads_back_and_detects_changes() {
    let key = ["c", "m", "size"].map(str::to_owned);
    let rows = [(key.clone(), [1_000.0, 200.0, 30.5, 20.0])];
    let page = format!("# Page\n{}old\n{}more\n", MARKS[0], MARKS[1]);
    let written = write(&page, &rows).expect("there is a place");
    assert_eq!(read(&written), rows);
    assert!(agree(&rows, &[(key.clone(), [1_100.0, 200.0, 28.0, 20.0])]));
    assert!(!agree(&rows, &[(key, [1_101.0, 200.0, 30.5, 20.0])]));
    assert_eq!(write("no place", &rows), None);
}
