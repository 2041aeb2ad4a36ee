//! Any bytes into the decoder and the exchange: seeded runs, and every case that was ever worth keeping.
//!
//! The same functions run under cargo-fuzz: `cargo +nightly fuzz run decoder` (or `exchange`) in this package's
//! folder.

mod fuzzing;

use std::fs;
use std::path::Path;

use lopa_core::draw::{Draws, Purpose, Stream};

/// The files of a target, in order of their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzzing/corpus").join(target);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    assert!(files.len() > 4, "the corpus of {target} is gone");
    files
}

/// Runs one input, and says which it was if it fails.
fn run(target: fn(&[u8]), input: &[u8], name: &str) {
    let result = std::panic::catch_unwind(|| target(input));
    if let Err(panic) = result {
        let hex: Vec<String> = input.iter().map(|byte| format!("{byte:02x}")).collect();
        eprintln!("{name}: {}", hex.join(""));
        std::panic::resume_unwind(panic);
    }
}

fn replay(target: fn(&[u8]), name: &str) {
    for (file, input) in corpus(name) {
        run(target, &input, &file);
    }
}

/// Runs `count` inputs, each its own stream: half of them random, half mutated from the corpus.
fn seeded(target: fn(&[u8]), name: &str, count: u64, longest: u32) {
    let seeds: Vec<Vec<u8>> = corpus(name).into_iter().map(|(_, input)| input).collect();
    for number in 0..count {
        let mut stream = Draws { seed: number, node: longest }.stream(0, Purpose::custom(0xf022));
        let input = if number % 2 == 0 {
            let len = stream.next() % longest;
            (0..len).map(|_| stream.next() as u8).collect()
        } else {
            mutated(&seeds, &mut stream)
        };
        run(target, &input, &format!("{name} input {number}"));
    }
}

/// One seed, or two joined, with a few places changed.
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
fn the_corpus_of_the_decoder_holds() {
    replay(fuzzing::decoder, "decoder");
}

#[test]
fn the_corpus_of_the_exchange_holds() {
    replay(fuzzing::exchange, "exchange");
}

#[test]
fn the_decoder_bears_any_bytes() {
    seeded(fuzzing::decoder, "decoder", 200_000, 260);
}

#[test]
fn the_exchange_bears_any_script() {
    seeded(fuzzing::exchange, "exchange", 20_000, 300);
}
