//! libFuzzer on the exchange: seeds in `../fuzzing/corpus/exchange`.
#![no_main]

#[path = "../../fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzzing::exchange(data);
});
