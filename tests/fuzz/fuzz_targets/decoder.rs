//! libFuzzer on the decoder: seeds in `../fuzzing/corpus/decoder`.
#![no_main]

#[path = "../../fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzzing::decoder(data);
});
