//! libFuzzer on the decoder: seeds in `../exchange/fuzzing/corpus/decoder`.
#![no_main]

#[path = "../../exchange/fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzzing::decoder(data);
});
