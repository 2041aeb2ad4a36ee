//! Any bytes into the decoder and the exchange: seeded runs, and a corpus of cases worth keeping.
//!
//! The same functions run under cargo-fuzz: `cargo +nightly fuzz run decoder` (or `exchange`) in this package's
//! folder.

use std::fs;
use std::path::Path;

use super::fuzzing::{self, Reached};
use lopa_core::draw::{Draws, Purpose, Stream};
use lopa_core::wire::Counters;

/// The files of a target, in order of their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("exchange/fuzzing/corpus").join(target);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    assert!(files.len() > 4, "the corpus of {target} is missing");
    files
}

/// Runs one input, and prints it if it fails.
fn run<T>(target: fn(&[u8]) -> T, input: &[u8], name: &str) -> T {
    std::panic::catch_unwind(|| target(input)).unwrap_or_else(|panic| {
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        eprintln!("{name}: {hex}");
        std::panic::resume_unwind(panic)
    })
}

/// Runs every file of the corpus; returns the results by file name.
fn replay<T>(target: fn(&[u8]) -> T, name: &str) -> Vec<(String, T)> {
    let files = corpus(name).into_iter();
    files.map(|(file, input)| (file.clone(), run(target, &input, &file))).collect()
}

/// Runs `count` inputs, each from its own random stream: half of them random, half mutated from the corpus.
fn seeded<T>(target: fn(&[u8]) -> T, name: &str, count: u64, longest: u32) -> Vec<T> {
    let seeds: Vec<Vec<u8>> = corpus(name).into_iter().map(|(_, input)| input).collect();
    let result = |number: u64| {
        let mut stream = Draws { seed: number, node: longest }.stream(0, Purpose::custom(0xf022));
        let input = if number.is_multiple_of(2) {
            let len = stream.next() % longest;
            (0..len).map(|_| stream.next() as u8).collect()
        } else {
            mutated(&seeds, &mut stream)
        };
        run(target, &input, &format!("{name} input {number}"))
    };
    (0..count).map(result).collect()
}

/// One input of the corpus, or two joined, with a few bytes changed.
fn mutated(seeds: &[Vec<u8>], stream: &mut Stream) -> Vec<u8> {
    let mut pick = |len: usize| stream.next() as usize % len.max(1);
    let mut input = seeds[pick(seeds.len())].clone();
    if pick(3) == 0 {
        input.truncate(pick(input.len() + 1));
        input.extend(&seeds[pick(seeds.len())]);
    }
    for _ in 0..1 + pick(6) {
        let at = pick(input.len() + 1);
        let end = at + pick(1 + (input.len() - at).min(8));
        match pick(6) {
            0 if at < input.len() => input[at] ^= 1 << pick(8),
            1 if at < input.len() => input[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][pick(6)],
            2 => drop(input.drain(at..end)),
            3 => {
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            _ => input.insert(at, pick(256) as u8),
        }
    }
    input
}

#[test]
fn the_decoder_passes_its_corpus() {
    replay(fuzzing::decoder, "decoder");
}

#[test]
fn the_exchange_passes_its_corpus() {
    let results = replay(fuzzing::exchange, "exchange");
    // Honest scripts must complete rounds: otherwise the other results mean nothing.
    let reached = |name: &str| {
        let found = results.iter().find(|(file, _)| file.ends_with(name));
        found.unwrap_or_else(|| panic!("{name} is missing from the corpus")).1
    };
    for honest in ["rounds-gt", "rounds-lg-shared-link"] {
        let Reached { round, counters, .. } = reached(honest);
        assert_eq!((round, counters.epochs, counters.stale), (4, 0, 0), "{honest}");
    }
    for coded in
        ["rounds-gt-8-bits", "rounds-gt-4-bits", "rounds-lg-3-bits", "rounds-gt-after-zeros"]
    {
        let Reached { round, counters, .. } = reached(coded);
        // A round is one chunk.
        assert!(round > 5, "{coded}: {round}");
        assert_eq!((counters.epochs, counters.stale, counters.malformed), (0, 0, 0), "{coded}");
    }
    assert_eq!(reached("out-of-order").round, 1);
    assert!(reached("finished").finished && reached("divergence").diverged);
    assert!(reached("strangers").duplicate && reached("reboot").round == 3);
    assert!(reached("not-finite").counters.non_finite == 2 && reached("not-finite").round == 1);
    assert!(reached("dead-said").counters.epochs == 2 && reached("refusals").counters.refused > 7);
    assert!(reached("torn").counters.epochs >= 3 && reached("epochs-around").counters.epochs >= 10);
    assert!(reached("requests").carried == 2 && reached("requests").counters.stale == 3);
    assert!(reached("checkpoint").carried == 2 && reached("boot-not-counted").round > 4);
}

#[test]
fn the_decoder_survives_any_bytes() {
    seeded(fuzzing::decoder, "decoder", 200_000, 260);
}

#[test]
fn the_exchange_survives_any_script() {
    let results = seeded(fuzzing::exchange, "exchange", 20_000, 300);
    // Every counter must have moved in some of them: otherwise the scripts no longer reach the code.
    let moved = |counter: fn(&Counters) -> u64| {
        results.iter().filter(|reached| counter(&reached.counters) > 0).count()
    };
    for (name, count) in [
        ("repaired", moved(|c| c.repaired)),
        ("corrupt", moved(|c| c.corrupt)),
        ("truncated", moved(|c| c.truncated)),
        ("malformed", moved(|c| c.malformed)),
        ("version", moved(|c| c.version)),
        ("foreign", moved(|c| c.foreign)),
        ("stale", moved(|c| c.stale)),
        ("repeated", moved(|c| c.repeated)),
        ("early", moved(|c| c.early)),
        ("non_finite", moved(|c| c.non_finite)),
        ("refused", moved(|c| c.refused)),
        ("epochs", moved(|c| c.epochs)),
        ("two rounds", results.iter().filter(|reached| reached.round > 1).count()),
        ("two rounds with few bits", results.iter().filter(|r| r.coded && r.round > 1).count()),
        ("divergence with few bits", results.iter().filter(|r| r.coded && r.diverged).count()),
        ("divergence", results.iter().filter(|reached| reached.diverged).count()),
        ("requests", results.iter().filter(|reached| reached.carried > 0).count()),
        ("end", results.iter().filter(|reached| reached.finished).count()),
        ("duplicate", results.iter().filter(|reached| reached.duplicate).count()),
    ] {
        assert!(count > 10, "{name} happened only {count} times");
    }
}
