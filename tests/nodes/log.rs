//! Decodes a board's log.

use std::fs;
use std::path::Path;

use defmt_decoder::{DecodeError, Table};

/// The lines that an image logged, each with its level in front.
pub fn lines(image: &Path, logged: &[u8]) -> Vec<String> {
    let elf = fs::read(image).expect("the image was built");
    let table = Table::parse(&elf).expect("a table").expect("the image logs");
    let mut decoder = table.new_stream_decoder();
    decoder.received(logged);
    let mut lines = Vec::new();
    loop {
        match decoder.decode() {
            Ok(frame) => {
                let level = frame.level().map_or("", |level| level.as_str());
                lines.push(format!("{level}: {}", frame.display_message()));
            }
            Err(DecodeError::UnexpectedEof) => return lines,
            Err(DecodeError::Malformed) => panic!("the log is malformed after {lines:?}"),
        }
    }
}
