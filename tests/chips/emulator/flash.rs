//! The size of an image in flash.

use std::path::Path;

use object::Endianness;
use object::elf::{FileHeader32, SHF_ALLOC, SHT_NOBITS};
use object::read::elf::{FileHeader, SectionHeader};

/// The bytes of an image that are stored on the chip: code, constants and initial values, but not zeroed memory.
pub fn bytes(image: &Path) -> u64 {
    let file = std::fs::read(image).expect("the image was built");
    let header = FileHeader32::<Endianness>::parse(&*file).expect("the image is a 32-bit ELF file");
    let endian = header.endian().expect("an endianness");
    let sections = header.section_headers(endian, &*file).expect("section headers");
    let loaded = sections.iter().filter(|section| {
        section.sh_flags(endian) & SHF_ALLOC == SHF_ALLOC && section.sh_type(endian) != SHT_NOBITS
    });
    loaded.map(|section| u64::from(section.sh_size(endian))).sum()
}
