//! Flash, RAM, stack and instructions on emulated chips, beside plain C, against the tables in the docs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::emulator::table::{self, Cost, Key, Row, Table};
use super::emulator::{Build, CORTEX_M0, CORTEX_M4F, CORTEX_M33, Machine, RV32IMC, flash};
use crate::counts::{Findings, blessing, change, grouped, ratio};
use lopa_core::math::{KIND, Kind};
use lopa_tests::benchmark::{self, Measure, Report, STEPS};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lopa-core/docs/cost.md");
const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests chips::cost -- --ignored";

const ALL: [Machine; 4] = [CORTEX_M0, CORTEX_M4F, CORTEX_M33, RV32IMC];
const WITH_FPU: [Machine; 2] = [CORTEX_M4F, CORTEX_M33];
const WITHOUT_FPU: [Machine; 2] = [CORTEX_M0, RV32IMC];

/// Something to measure. Another row of the page needs one of these, listed in a section, and its program in
/// `firmware/emulated`.
#[derive(Clone, Copy)]
struct Benchmark {
    name: &'static str,
    /// What the page says about it.
    about: &'static str,
    /// Its program on chips.
    program: &'static str,
    /// The same program here.
    here: fn(Measure<'_>) -> Report,
    /// The products that a step adds up, without those of single vectors.
    multiply_adds: u64,
    /// Where it is measured, if the section has that chip.
    machines: &'static [Machine],
}

const QUADRATIC: Benchmark = Benchmark {
    name: "quadratic",
    about: "n = p = 32",
    program: "cost-quadratic",
    here: benchmark::quadratic,
    multiply_adds: 2 * 32 * 32 + 6 * 32,
    machines: &ALL,
};
const LOGISTIC: Benchmark = Benchmark {
    name: "logistic",
    about: "n = p = 64, samples of 64 bytes (u8), batches of 8",
    program: "cost-logistic",
    here: benchmark::logistic,
    multiply_adds: 7 * 8 * 64,
    machines: &ALL,
};
const LOGISTIC_256: Benchmark = Benchmark {
    name: "logistic-256",
    about: "n = p = 256, samples of 256 bytes (u8, offset 0), batches of 32",
    program: "cost-logistic-256",
    here: benchmark::logistic_256,
    multiply_adds: 7 * 32 * 256,
    machines: &WITHOUT_FPU,
};
const LOGISTIC_784: Benchmark = Benchmark {
    name: "logistic-784",
    about: "n = p = 784, samples of 784 bytes (u8, offset 0), batches of 8",
    program: "cost-logistic-784",
    here: benchmark::logistic_784,
    multiply_adds: 7 * 8 * 784,
    machines: &WITH_FPU,
};
const RIDGE: Benchmark = Benchmark {
    name: "ridge",
    about: "n = p = 64, samples of 64 floats, batches of 8",
    program: "cost-ridge",
    here: benchmark::ridge,
    multiply_adds: 6 * 8 * 64,
    machines: &ALL,
};
const SHARED_LAYER: Benchmark = Benchmark {
    name: "shared-layer",
    about: "16-8-4: n = 136, p = 36, samples of 16 bytes (u8), batches of 8",
    program: "cost-shared-layer",
    here: benchmark::shared_layer,
    // Per sample: five passes forward, then what each oracle does with them.
    multiply_adds: 8 * (5 * (16 * 8 + 8 * 4) + 2 * 16 * 8 + 8 * 8 * 4 + 2 * 4),
    machines: &ALL,
};
const META: Benchmark = Benchmark {
    name: "meta",
    about: "logistic loss, n = p = 64, samples of 64 bytes (i8), batches of 8",
    program: "cost-meta",
    here: benchmark::meta,
    multiply_adds: 7 * 8 * 64,
    machines: &ALL,
};
const INTEGER: Benchmark = Benchmark {
    name: "logistic",
    about: "",
    program: "cost-logistic-integer",
    here: benchmark::logistic_integer,
    multiply_adds: 7 * 8 * 64,
    machines: &ALL,
};
const INTEGER_256: Benchmark = Benchmark {
    name: "logistic-256",
    about: "",
    program: "cost-logistic-256-integer",
    here: benchmark::logistic_256_integer,
    multiply_adds: 7 * 32 * 256,
    machines: &WITHOUT_FPU,
};
const INTEGER_LAYER: Benchmark = Benchmark {
    about: "",
    program: "cost-shared-layer-integer",
    here: benchmark::shared_layer_integer,
    ..SHARED_LAYER
};
const BENCHMARKS: [Benchmark; 7] =
    [QUADRATIC, LOGISTIC, LOGISTIC_256, LOGISTIC_784, RIDGE, SHARED_LAYER, META];

/// The program that measures nothing.
const NOTHING: &str = "cost-nothing";

/// A section of the page: one way to build, and what is measured with it.
struct Section {
    title: &'static str,
    build: Build,
    machines: &'static [Machine],
    benchmarks: &'static [Benchmark],
}

const INTEGERS: &str = "Built for speed, in integers (features `fast` and `integer`)";

const SECTIONS: [Section; 4] = [
    Section {
        title: "Built for speed (`opt-level = 3`, feature `fast`)",
        build: Build { level: "3", math: Kind::Libm, integer: false },
        machines: &ALL,
        benchmarks: &BENCHMARKS,
    },
    Section {
        title: "Built for size (`opt-level = \"s\"`)",
        build: Build { level: "s", math: Kind::Libm, integer: false },
        machines: &ALL,
        benchmarks: &[QUADRATIC, LOGISTIC, RIDGE, SHARED_LAYER, META],
    },
    Section {
        title: INTEGERS,
        build: Build { level: "3", math: Kind::Libm, integer: true },
        machines: &ALL,
        benchmarks: &[INTEGER, INTEGER_256, INTEGER_LAYER],
    },
    Section {
        title: "Built for speed, with the feature `micromath`, where floats are in software",
        build: Build { level: "3", math: Kind::Micromath, integer: false },
        machines: &WITHOUT_FPU,
        benchmarks: &[LOGISTIC, SHARED_LAYER],
    },
];

/// The most instructions that a step in integers may take.
const LIMITS: [(Benchmark, Machine, u64); 4] = [
    (INTEGER, CORTEX_M0, 300_000),
    (INTEGER, RV32IMC, 160_000),
    // A nineteenth of what floats took before there were integers.
    (INTEGER_256, CORTEX_M0, 25_540_000 / 19),
    (INTEGER_256, RV32IMC, 16_252_000 / 19),
];

/// Benchmarks that are also written in C, and the programs that measure that. No step of the node may take more instructions.
const IN_C: [(Benchmark, &str); 2] =
    [(LOGISTIC_784, "reference-logistic"), (SHARED_LAYER, "reference-shared-layer")];
const BESIDE_C: &str = "Beside plain C";

/// What one program printed, and how large it is.
struct Measured {
    flash: u64,
    printed: BTreeMap<String, String>,
}

impl Measured {
    fn new(machine: &Machine, image: &Path) -> Self {
        let text = machine.run(image);
        // Then everything is measured, twice.
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

/// Whether a row is measured each time. All but the first section are checked on few chips, because building takes long.
fn measured_each_time(section: &str, chip: &str) -> bool {
    let limited = section == INTEGERS && LIMITS.iter().any(|(_, machine, _)| machine.chip == chip);
    section == SECTIONS[0].title || limited || [CORTEX_M0.chip, CORTEX_M4F.chip].contains(&chip)
}

/// Measures a section, and checks that chips predict their memory and compute what a host computes.
fn measure(section: &Section, rows: &mut Vec<Row>) {
    let mut programs = vec![NOTHING];
    programs.extend(section.benchmarks.iter().map(|benchmark| benchmark.program));
    let mut hashes = BTreeMap::new();
    let wanted = |m: &&Machine| blessing() || measured_each_time(section.title, m.chip);
    let machines: Vec<&Machine> = section.machines.iter().filter(wanted).collect();
    let folders = section.build.programs(&programs, &machines);
    let frame = |(machine, directory): (&'static Machine, PathBuf)| {
        let frame = Measured::new(machine, &directory.join(NOTHING));
        (machine, directory, frame)
    };
    let built: Vec<_> = machines.into_iter().zip(folders).map(frame).collect();
    for benchmark in section.benchmarks {
        for (machine, directory, frame) in &built {
            if !benchmark.machines.iter().any(|other| other.chip == machine.chip) {
                continue;
            }
            let (name, chip) = (benchmark.name, machine.chip);
            let what = format!("{name} on {chip}");
            let node = Measured::new(machine, &directory.join(benchmark.program));
            let (ram, predicted) = (node.number("ram"), node.number("predicted"));
            // They may differ only by padding to eight bytes.
            assert!(ram.abs_diff(predicted) < 8, "{what}: {ram} bytes, {predicted} predicted");
            let hash = node.text("hash").to_owned();
            if section.build.math == KIND {
                let report = (benchmark.here)(&mut |step| (0..STEPS).for_each(|_| step()));
                let here = format!("{:016x}", report.hash);
                assert_eq!(hash, here, "{what}: differs from this machine");
            }
            let (first, where_first) =
                hashes.entry(name).or_insert_with(|| (hash.clone(), machine.chip));
            assert_eq!(hash, *first, "{what}: differs from {where_first}");
            let cost = Cost {
                flash: node.flash - frame.flash - node.number("data"),
                ram: predicted,
                stack: node.number("stack"),
                instructions: node.number("instructions") - frame.number("instructions"),
            };
            let key = (section.title.into(), name.into(), chip.into());
            rows.push((key, cost, benchmark.multiply_adds));
        }
    }
}

/// Says where a step in integers takes too many instructions.
fn check_limits(rows: &[Row], failures: &mut Vec<String>) {
    for (Benchmark { name, .. }, Machine { chip, .. }, at_most) in LIMITS {
        let key: Key = (INTEGERS.into(), name.into(), chip.into());
        match rows.iter().find(|(other, ..)| *other == key) {
            None => failures.push(format!("{name} on {chip} is not measured in integers")),
            Some((_, cost, _)) if cost.instructions > at_most => {
                let found = cost.instructions;
                let what = format!("{name} on {chip} in integers: {found} instructions");
                failures.push(format!("{what}, at most {at_most} wanted"));
            }
            Some(_) => {}
        }
    }
}

/// The page's section with C beside the node; says where the node takes too many instructions.
fn beside_c(rows: &[Row], failures: &mut Vec<String>) -> String {
    let programs = IN_C.map(|(_, program)| program);
    let machines: Vec<&Machine> = WITH_FPU.iter().collect();
    let folders = SECTIONS[0].build.with_c(&programs, &machines);
    let columns = [
        "node",
        "per multiply-add",
        "C",
        "per multiply-add",
        "node ÷ C",
        "C's mixing",
        "C, fused",
        "C, sizes known",
    ];
    let mut text = table::head(BESIDE_C, &columns);
    for (benchmark, program) in IN_C {
        for (machine, directory) in machines.iter().zip(&folders) {
            let (name, chip) = (benchmark.name, machine.chip);
            let key: Key = (SECTIONS[0].title.into(), name.into(), chip.into());
            let node = rows.iter().find(|(other, ..)| *other == key);
            let node = node.unwrap_or_else(|| panic!("{name} on {chip} is not measured")).1;
            let c = Measured::new(machine, &directory.join(program));
            let (node, terms) = (node.instructions, benchmark.multiply_adds);
            let plain = c.number("instructions");
            if node > plain {
                failures.push(format!("{name} on {chip}: {node} instructions, C takes {plain}"));
            }
            let cells = [
                grouped(node),
                ratio(node, terms),
                grouped(plain),
                ratio(plain, terms),
                ratio(node, plain),
                grouped(c.number("mixing")),
                grouped(c.number("instructions-fused")),
                grouped(c.number("instructions-known")),
            ];
            table::line(&mut text, name, chip, &cells);
        }
    }
    text + "\n"
}

/// The first line that a compiler prints about itself.
fn version(compiler: &str) -> String {
    let output = Command::new(compiler).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    let text = String::from_utf8(output.stdout).expect("a version is text");
    text.lines().next().unwrap_or_default().to_owned()
}

/// The compilers of this machine: rustc and GCC.
fn compilers() -> [String; 2] {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    [version(&rustc), version("arm-none-eabi-gcc")]
}

fn page(rows: &[Row], beside_c: &str) -> String {
    let [rustc, gcc] = compilers();
    let text = include_str!("emulator/cost.md");
    let about = BENCHMARKS.map(|Benchmark { name, about, .. }| format!("| {name} | {about} |"));
    let text = text.replace("{toolchain}", &rustc).replace("{gcc}", &gcc);
    let text = text.replace("{benchmarks}", &about.join("\n"));
    let mut sections = SECTIONS.map(|section| table::section(section.title, rows.iter())).to_vec();
    sections.insert(1, beside_c.to_owned());
    text + &sections.join("\n")
}

/// The measured instructions beside those of the page, for whoever looks.
fn print(rows: &[Row], known: &Table) {
    println!("{:14} {:11} {:>12} {:>12} {:>8}", "problem", "chip", "now", "page", "change");
    let mut title = "";
    for ((section, problem, chip), cost, _) in rows {
        if section != title {
            println!("{section}");
            title = section;
        }
        let key = (section.clone(), problem.clone(), chip.clone());
        let now = cost.instructions;
        let (page, percent) = match known.get(&key) {
            Some(known) => {
                let page = known.instructions;
                (grouped(page), format!("{:+.1} %", change(page, now)))
            }
            None => ("-".into(), "new".into()),
        };
        println!("{problem:14} {chip:11} {:>12} {page:>12} {percent:>8}", grouped(now));
    }
}

#[test]
#[ignore = "needs QEMU, the chip targets and arm-none-eabi-gcc: tests/run.sh runs it"]
fn costs_match_the_docs() {
    let (mut rows, mut findings) = (Vec::new(), Findings::default());
    for section in &SECTIONS {
        measure(section, &mut rows);
    }
    check_limits(&rows, &mut findings.failures);
    let beside_c = beside_c(&rows, &mut findings.failures);
    let before = std::fs::read_to_string(PAGE).unwrap_or_default();
    print(&rows, &table::read(&before));
    println!("\n{beside_c}");
    if blessing() {
        std::fs::write(PAGE, page(&rows, &beside_c)).expect("the page can be written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    let mut known: Table = table::read(&written);
    for (key, cost, _) in rows {
        let (section, problem, chip) = &key;
        let what = format!("{section}: {problem} on {chip}");
        match known.remove(&key) {
            None => {
                let text = format!("{what}: not on the page; measured {cost:?}");
                findings.failures.push(text);
            }
            Some(known) => findings.add(&what, known.compare(cost)),
        }
    }
    let missed = known.into_keys().filter(|(section, _, chip)| measured_each_time(section, chip));
    findings.failures.extend(missed.map(|key| format!("{key:?}: on the page, but not measured")));
    for version in compilers().into_iter().filter(|version| !written.contains(&**version)) {
        findings.notes.push(format!("the page was written with another compiler than {version}"));
    }
    if !written.contains(&beside_c) {
        findings.notes.push(format!("the section {BESIDE_C:?} of the page has other numbers"));
    }
    findings.settle(BLESS);
}

#[test]
fn every_step_of_a_benchmark_changes_its_state() {
    for Benchmark { name, here, .. } in BENCHMARKS.into_iter().chain([INTEGER, INTEGER_256]) {
        let after = |steps: u32| here(&mut |step| (0..steps).for_each(|_| step())).hash;
        assert_ne!(after(STEPS), after(STEPS - 1), "{name}");
    }
}

#[test]
fn too_many_instructions_and_missing_rows_are_found() {
    let row = |(benchmark, machine, at_most): &(Benchmark, Machine, u64), more| -> Row {
        let key = (INTEGERS.into(), benchmark.name.into(), machine.chip.into());
        let cost = Cost { flash: 0, ram: 0, stack: 0, instructions: at_most + more };
        (key, cost, 1)
    };
    let mut failures = Vec::new();
    let mut rows: Vec<Row> = LIMITS.iter().map(|limit| row(limit, 0)).collect();
    check_limits(&rows, &mut failures);
    assert_eq!(failures, [""; 0]);
    rows[1] = row(&LIMITS[1], 1);
    rows.pop();
    check_limits(&rows, &mut failures);
    let many = "logistic on RV32IMC in integers: 160001 instructions, at most 160000 wanted";
    assert_eq!(failures, [many, "logistic-256 on RV32IMC is not measured in integers"]);
}

#[test]
fn a_written_table_reads_back() {
    let cost = Cost { flash: 1_234_567, ram: 1_000, stack: 999, instructions: 50 };
    let key: Key = ("A".into(), "b".into(), "c".into());
    let rows = [(key.clone(), cost, 20)];
    let text = format!("# Page\n\n| not | a | row |\n\n{}", table::section("A", rows.iter()));
    assert_eq!(table::read(&text), Table::from([(key, cost)]));
    assert!(text.contains("| b | c | 1,234,567 | 1,000 | 999 | 50 | 2.50 |"), "{text}");
}

#[test]
fn changed_bytes_and_instructions_are_found() {
    let cost = Cost { flash: 10_000, ram: 1_000, stack: 999, instructions: 1_000 };
    assert_eq!(cost.compare(cost), Findings::default());
    let found = cost.compare(Cost { flash: 1, ram: 1_100, instructions: 1_040, ..cost });
    let count = "instructions are 1040, on the page 1000 (+4.0 %)";
    assert_eq!(found.failures, ["flash is 1, on the page 10000", count]);
}
