//! Flash, RAM, stack and instructions on emulated chips, against the table in the docs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::emulator::table::{self, Cost, Key, Table};
use super::emulator::{Build, CORTEX_M0, CORTEX_M4F, CORTEX_M33, Machine, RV32IMC, flash};
use lopa_core::math::{KIND, Kind};
use lopa_tests::benchmark::{self, Measure, Report, STEPS};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lopa-core/docs/cost.md");
const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests chips::cost -- --ignored";

/// A problem's name, its program, and the same program here.
type Benchmark = (&'static str, &'static str, fn(Measure<'_>) -> Report);

const QUADRATIC: Benchmark = ("quadratic", "cost-quadratic", benchmark::quadratic);
const LOGISTIC: Benchmark = ("logistic", "cost-logistic", benchmark::logistic);
const INTEGER: Benchmark = ("logistic", "cost-logistic-integer", benchmark::logistic_integer);
const RIDGE: Benchmark = ("ridge", "cost-ridge", benchmark::ridge);
const SHARED_LAYER: Benchmark = ("shared-layer", "cost-shared-layer", benchmark::shared_layer);
const META: Benchmark = ("meta", "cost-meta", benchmark::meta);
const NOTHING: Benchmark = ("nothing", "cost-nothing", benchmark::nothing);

/// A section of the page: one way to build, and what is measured with it.
struct Section {
    title: &'static str,
    build: Build,
    machines: &'static [Machine],
    benchmarks: &'static [Benchmark],
}

const SECTIONS: [Section; 4] = [
    Section {
        title: "Built for speed (`opt-level = 3`)",
        build: Build { level: "3", math: Kind::Libm, integer: false },
        machines: &[CORTEX_M0, CORTEX_M4F, CORTEX_M33, RV32IMC],
        benchmarks: &[QUADRATIC, LOGISTIC, RIDGE, SHARED_LAYER, META],
    },
    Section {
        title: "Built for size (`opt-level = \"s\"`)",
        build: Build { level: "s", math: Kind::Libm, integer: false },
        machines: &[CORTEX_M0, CORTEX_M4F, CORTEX_M33, RV32IMC],
        benchmarks: &[QUADRATIC, LOGISTIC, RIDGE, SHARED_LAYER, META],
    },
    Section {
        title: "Built for speed, in integers (feature `integer`)",
        build: Build { level: "3", math: Kind::Libm, integer: true },
        machines: &[CORTEX_M0, CORTEX_M4F, CORTEX_M33, RV32IMC],
        benchmarks: &[INTEGER],
    },
    Section {
        title: "Built for speed, with the feature `micromath`, where floats are in software",
        build: Build { level: "3", math: Kind::Micromath, integer: false },
        machines: &[CORTEX_M0, RV32IMC],
        benchmarks: &[LOGISTIC, SHARED_LAYER],
    },
];

/// What one program printed, and how large it is.
struct Measured {
    flash: u64,
    printed: BTreeMap<String, String>,
}

impl Measured {
    fn new(machine: &Machine, image: &Path) -> Self {
        let text = machine.run(image);
        if blessing() {
            assert_eq!(text, machine.run(image), "two runs of {} differ", image.display());
        }
        let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let printed = text.lines().filter_map(pair).collect();
        Self { flash: flash::bytes(image), printed }
    }

    fn text(&self, name: &str) -> &str {
        self.printed.get(name).unwrap_or_else(|| panic!("{name} was not printed"))
    }

    fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} is not a number"))
    }
}

/// Whether the page is rewritten: then everything is measured, twice.
fn blessing() -> bool {
    std::env::var_os("LOPA_BLESS").is_some()
}

/// Whether a row is measured each time. Programs built for size are checked on two chips only, because building takes long.
fn measured_each_time(section: &str, chip: &str) -> bool {
    section == SECTIONS[0].title || [CORTEX_M0.chip, CORTEX_M4F.chip].contains(&chip)
}

/// Measures a section, and checks that chips predict their memory and compute what a host computes.
fn measure(section: &Section, rows: &mut Vec<(Key, Cost)>) {
    let mut programs = vec![NOTHING.1];
    programs.extend(section.benchmarks.iter().map(|benchmark| benchmark.1));
    let mut hashes = BTreeMap::new();
    let wanted = |m: &&Machine| blessing() || measured_each_time(section.title, m.chip);
    let machines: Vec<&Machine> = section.machines.iter().filter(wanted).collect();
    let folders = section.build.programs(&programs, &machines);
    let frame = |(machine, directory): (&'static Machine, PathBuf)| {
        let frame = Measured::new(machine, &directory.join(NOTHING.1));
        (machine, directory, frame)
    };
    let built: Vec<_> = machines.into_iter().zip(folders).map(frame).collect();
    for &(problem, program, here) in section.benchmarks {
        for (machine, directory, frame) in &built {
            let what = format!("{problem} on {}", machine.chip);
            let node = Measured::new(machine, &directory.join(program));
            let (ram, predicted) = (node.number("ram"), node.number("predicted"));
            // They may differ only by padding to eight bytes.
            assert!(ram.abs_diff(predicted) < 8, "{what}: {ram} bytes, {predicted} predicted");
            let hash = node.text("hash").to_owned();
            if section.build.math == KIND {
                let report = here(&mut |step| (0..STEPS).for_each(|_| step()));
                assert_eq!(
                    hash,
                    format!("{:016x}", report.hash),
                    "{what}: differs from this machine"
                );
            }
            let first = hashes.entry(problem).or_insert_with(|| hash.clone());
            assert_eq!(hash, *first, "{what}: differs from {}", section.machines[0].chip);
            let cost = Cost {
                flash: node.flash - frame.flash - node.number("data"),
                ram: predicted,
                stack: node.number("stack"),
                instructions: node.number("instructions") - frame.number("instructions"),
            };
            rows.push(((section.title.into(), problem.into(), machine.chip.into()), cost));
        }
    }
}

fn page(rows: &[(Key, Cost)]) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("rustc runs").stdout;
    let version = String::from_utf8(version).expect("a version is text");
    let text = include_str!("emulator/cost.md").replace("{toolchain}", version.trim());
    let sections = SECTIONS.map(|section| table::section(section.title, rows.iter()));
    text + &sections.join("\n")
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn costs_match_the_docs() {
    let mut rows = Vec::new();
    for section in &SECTIONS {
        measure(section, &mut rows);
    }
    if blessing() {
        std::fs::write(PAGE, page(&rows)).expect("the page can be written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    let mut table: Table = table::read(&written);
    let mut strays = Vec::new();
    for (key, cost) in rows {
        let (section, problem, chip) = &key;
        let what = format!("{section}: {problem} on {chip}");
        match table.remove(&key) {
            None => strays.push(format!("{what}: not in the table; measured {cost:?}")),
            Some(known) => {
                strays.extend(known.strays(cost).iter().map(|stray| format!("{what}: {stray}")));
            }
        }
    }
    let missed = table.into_keys().filter(|(section, _, chip)| measured_each_time(section, chip));
    strays.extend(missed.map(|key| format!("{key:?}: in the table, but not measured")));
    let strays = strays.join("\n");
    assert!(strays.is_empty(), "{strays}\nif this is intended: {BLESS}");
}

#[test]
fn every_step_of_a_benchmark_changes_its_state() {
    for (problem, _, benchmark) in [QUADRATIC, LOGISTIC, RIDGE, SHARED_LAYER, META, INTEGER] {
        let after = |steps: u32| benchmark(&mut |step| (0..steps).for_each(|_| step())).hash;
        assert_ne!(after(STEPS), after(STEPS - 1), "{problem}");
    }
}

#[test]
fn a_written_table_reads_back_and_detects_changes() {
    let cost = Cost { flash: 1_234_567, ram: 1_000, stack: 999, instructions: 50 };
    let key: Key = ("A".into(), "b".into(), "c".into());
    let rows = [(key.clone(), cost)];
    let text = format!("# Page\n\n| not | a | row |\n\n{}", table::section("A", rows.iter()));
    assert_eq!(table::read(&text), Table::from(rows));
    assert!(text.contains("| b | c | 1,234,567 | 1,000 | 999 | 50 |"), "{text}");
    assert_eq!(cost.strays(cost), [""; 0]);
    assert_eq!(cost.strays(Cost { ram: 1_100, instructions: 45, ..cost }), [""; 0]);
    let other = Cost { flash: 1, instructions: 56, ..cost };
    assert_eq!(
        cost.strays(other),
        ["flash is 1, in the table 1234567", "instructions is 56, in the table 50"]
    );
}
