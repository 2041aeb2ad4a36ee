//! libFuzzer on the exchange: seeds in `../exchange/fuzzing/corpus/exchange`.
#![no_main]

#[path = "../../exchange/fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzzing::exchange(data);
});
