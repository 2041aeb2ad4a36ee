//! The programs of `firmware/examples` in fleets with the node program: their bits, their costs, and learning online.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use lopa_core::exchange::Timing;
use lopa_core::node::Variable;
use lopa_host::chips::{Board, EMULATED, EMULATED_M33, EMULATED_WITHOUT_FPU, Loaded};
use lopa_host::fleet::{Emulated, Layout, image, patient};
use lopa_host::run::Prepared;

use super::{PATIENT, assert_simulated_bits, described, logistic, prepared, program, run};
use crate::chips::budgets::{MONITOR, monitor, statics};
use crate::chips::emulator::{RV32IMC, flash};
use crate::counts::{Findings, blessing};
use table::Row;

const ROUNDS: u64 = 200;
const POLL: &str = "poll";
const RTIC: &str = "rtic";
const EMBASSY: &str = "embassy";
const PROGRAMS: [&str; 3] = [POLL, RTIC, EMBASSY];

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/examples/README.md");
const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests nodes::examples -- --ignored";

/// One instruction takes 2^6 = 64 nanoseconds of the emulator's clock, and a tick of the board's timers 40: so short that the
/// ticks that the core was awake tell how many instructions it executed.
const CLOCK: [&str; 2] = ["-icount", "shift=6"];
/// The same in an emulator that skips the time in which the core sleeps: for a board that waits for nobody.
const FAST_CLOCK: [&str; 2] = ["-icount", "shift=6,sleep=off"];
/// An interrupt for every byte, as on a chip: when emulators read ahead, their number depends on how busy this machine is.
const BYTE_BY_BYTE: [&str; 6] = [
    "-set",
    "chardev.link0.mux=off",
    "-set",
    "chardev.link1.mux=off",
    "-set",
    "chardev.link2.mux=off",
];
/// Where a board keeps its times: see `firmware/mps2/src/places.rs`.
const TIMES: u64 = 0x21f0_0010;

/// Builds examples for a target, for size if their costs are measured there. RTIC is built for one kind of core at a time.
fn build(programs: &[&str], target: &str) -> Vec<PathBuf> {
    let (package, targets) = ("examples", &[target][..]);
    let level = (target == EMULATED.target).then_some("z");
    let build = image::Build { package, programs, targets, features: &[], bare: false, level };
    let folders = build.run(&image::folder(None)).unwrap_or_else(|error| panic!("{error}"));
    programs.iter().map(|program| folders[0].join(program)).collect()
}

/// A ring with the node program on node 0 and an example on each of the others, switched off.
fn ring(prepared: &Prepared, timing: Timing, examples: [(&str, &Board); 3]) -> Emulated {
    let layout = Layout::new(prepared, None, timing).unwrap();
    let mut fleet = Emulated::new(&program(&layout.board), &layout.blobs, None).unwrap();
    for (node, (example, board)) in (1..).zip(examples) {
        let image = build(&[example], board.target).remove(0);
        fleet.put_on(node, board, &image).unwrap();
    }
    fleet
}

/// When a board's core last fell asleep: the microseconds since the start, and the ticks that it had been awake.
#[derive(Debug, Clone, Copy)]
struct Times {
    all: u64,
    awake: u64,
}

impl Times {
    fn of(fleet: &Emulated, node: u32) -> Self {
        let printed = monitor(fleet, node, &format!("stop\nxp /3wx {TIMES:#x}\ncont"));
        let words = printed.split(&format!("{TIMES:016x}: ")).nth(1).unwrap_or_default();
        let word = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
        let words: Vec<u64> = words.split_whitespace().take(3).map_while(word).collect();
        let [awake, low, high] = words[..] else {
            panic!("the monitor of node {node} printed {printed}");
        };
        Self { all: high << 32 | low, awake }
    }

    /// Looks until some seconds of the board's time have passed.
    fn after(seconds: u64, fleet: &Emulated, node: u32) -> Self {
        loop {
            let times = Self::of(fleet, node);
            if times.all >= seconds * 1_000_000 {
                return times;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn since(self, before: Self) -> Self {
        Self { all: self.all - before.all, awake: self.awake - before.awake }
    }

    /// Instructions, without those of idle time.
    fn worked(self, idle: f64) -> f64 {
        instructions(self.awake) - idle * self.seconds()
    }

    fn seconds(self) -> f64 {
        self.all as f64 / 1e6
    }
}

fn instructions(awake: u64) -> f64 {
    awake as f64 * 40.0 / 64.0
}

/// Runs a program without neighbours, on a board whose times do not depend on this machine: the instructions of an idle second,
/// and those of everything before.
fn alone(image: &Path, rounds: u64) -> (f64, f64) {
    let prepared = logistic(1, "path", rounds);
    let layout = Layout::new(&prepared, None, patient(PATIENT, false)).unwrap();
    let mut board = Emulated::new(image, &layout.blobs, None).unwrap();
    board.tell_emulators(&MONITOR);
    board.tell_emulators(&FAST_CLOCK);
    board.start(0).unwrap();
    let early = Times::after(60, &board, 0);
    let later = Times::after(early.all / 1_000_000 + 100, &board, 0);
    assert_eq!(board.client(0).unwrap().status().unwrap().round, rounds);
    let idle = later.since(early);
    let second = instructions(idle.awake) / idle.seconds();
    (second, early.worked(second))
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn examples_compute_the_simulations_bits_at_the_cost_on_the_page() {
    const EARLY: u64 = 20;
    let images = build(&PROGRAMS, EMULATED.target);
    let prepared = logistic(4, "ring", ROUNDS);
    // Nothing is sent twice because this machine is busy: that would be counted.
    let slow = Timing {
        retry: 5_000_000,
        retry_most: 5_000_000,
        delay: 1_000_000,
        ..patient(PATIENT, false)
    };
    let mut fleet = ring(&prepared, slow, PROGRAMS.map(|program| (program, &EMULATED)));
    fleet.tell_emulators(&MONITOR);
    fleet.tell_emulators(&CLOCK);
    fleet.tell_emulators(&BYTE_BY_BYTE);
    fleet.start_all().unwrap();
    // Pauses in between, so that neither the start nor questions of this host are counted.
    let first = fleet.client(0).unwrap();
    first.wait_for_round(EARLY).unwrap();
    assert!(first.stop().unwrap());
    let paused = first.status().unwrap().round;
    for node in 1..4 {
        fleet.client(node).unwrap().wait_for_round(paused).unwrap();
    }
    let before: Vec<Times> = (1..4).map(|node| Times::of(&fleet, node)).collect();
    assert!(fleet.client(0).unwrap().start().unwrap());
    for node in 0..4 {
        fleet.client(node).unwrap().wait_for_round(ROUNDS).unwrap();
    }
    let after: Vec<Times> = (1..4).map(|node| Times::of(&fleet, node)).collect();
    let mut rows = Vec::new();
    for (place, (program, image)) in PROGRAMS.iter().zip(&images).enumerate() {
        let (second, few) = alone(image, 10);
        let (_, many) = alone(image, 1_010);
        let course = after[place].since(before[place]);
        rows.push(Row {
            program: (*program).to_owned(),
            flash: flash::bytes(image),
            ram: statics(image) as u64,
            second: second as u64,
            compute: ((many - few) / 1_000.0) as u64,
            round: (course.worked(second) / (ROUNDS - paused) as f64) as u64,
        });
        println!("{:?}, {:.1} s", rows.last(), course.seconds());
    }
    assert_simulated_bits(&prepared, &mut fleet);
    let page = fs::read_to_string(PAGE).unwrap();
    if blessing() {
        fs::write(PAGE, table::write(&page, &rows).expect("the page has a table")).unwrap();
        return;
    }
    let known = table::read(&page);
    assert_eq!(known.len(), rows.len(), "rows on the page");
    let mut findings = Findings::default();
    for (known, found) in known.iter().zip(&rows) {
        findings.add(&found.program, known.compare(found));
    }
    findings.settle(BLESS);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn an_embassy_node_learns_from_readings_that_arrive_while_it_learns() {
    const NODE: u32 = 3;
    // Five times as many readings as its ring buffer has rows.
    let file = described(4, "ring", ROUNDS).replace("samples = 20", "samples = 100");
    let prepared = prepared(&file);
    let timing = patient(PATIENT, false);
    let mut fleet = ring(&prepared, timing, PROGRAMS.map(|program| (program, &EMULATED)));
    run(&prepared, &mut fleet, &[], PATIENT);
    let readings = fleet.readings().unwrap();
    for (node, reading) in &readings {
        let status = reading.status;
        assert_eq!((status.round, status.dead, status.refused), (ROUNDS, 0, 0), "node {node}");
    }
    let layout = Layout::new(&prepared, None, timing).unwrap();
    let loaded = Loaded::new(&layout.blobs[NODE as usize]);
    let [samples, _] = loaded.blob().unwrap().problem().samples().unwrap();
    let theta = fleet.client(NODE).unwrap().read(Variable::Inner).unwrap();
    // Those that were not in the buffer when it began.
    let right = (20..samples.len())
        .filter(|row| samples.row(*row).dot(&theta) * samples.label(*row) > 0.0)
        .count();
    println!("{right} of {} later readings classified correctly", samples.len() - 20);
    assert!(right * 10 > (samples.len() - 20) * 7, "{right} of {}", samples.len() - 20);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn examples_build_for_other_chips_and_compute_the_same_bits_there() {
    let prepared = logistic(4, "ring", 60);
    let chips =
        [(RTIC, &EMULATED_WITHOUT_FPU), (EMBASSY, &EMULATED_M33), (POLL, &EMULATED_WITHOUT_FPU)];
    let mut fleet = ring(&prepared, patient(PATIENT, false), chips);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    // The others, and where there is no board, at least what does not depend on one.
    build(&[EMBASSY], EMULATED_WITHOUT_FPU.target);
    build(&[POLL, RTIC], EMULATED_M33.target);
    build(&PROGRAMS, RV32IMC.target);
}
