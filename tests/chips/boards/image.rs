//! What a built image uses of its chip, and where it expects its regions.

use std::collections::BTreeMap;
use std::path::Path;

use object::Endianness;
use object::elf::{FileHeader32, SHF_ALLOC, SHF_WRITE, SHT_NOBITS, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader, Sym};

/// Sizes and addresses of an image.
pub struct Image {
    /// Bytes of flash: code, constants and starting values.
    pub flash: u64,
    /// Bytes of static RAM: variables, including the arena.
    pub ram: u64,
    /// Addresses of symbols without a size.
    pub places: BTreeMap<String, u64>,
    /// Bytes of the node's floats, with their flag.
    pub arena: u64,
}

impl Image {
    /// Reads an ELF file.
    pub fn read(path: &Path) -> Self {
        let file = std::fs::read(path).expect("the image was built");
        let header = FileHeader32::<Endianness>::parse(&*file).expect("a 32-bit ELF file");
        let endian = header.endian().expect("an endianness");
        let sections = header.sections(endian, &*file).expect("sections");
        let mut image = Self { flash: 0, ram: 0, places: BTreeMap::new(), arena: 0 };
        for section in sections.iter() {
            let (flags, size) = (section.sh_flags(endian), u64::from(section.sh_size(endian)));
            let loaded = flags & SHF_ALLOC == SHF_ALLOC;
            if loaded && section.sh_type(endian) != SHT_NOBITS {
                image.flash += size;
            }
            if loaded && flags & SHF_WRITE == SHF_WRITE {
                image.ram += size;
            }
        }
        let symbols = sections.symbols(endian, &*file, SHT_SYMTAB).expect("symbols");
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            if name.contains("ARENA") {
                image.arena = image.arena.max(symbol.st_size(endian).into());
            } else if symbol.st_size(endian) == 0 {
                image.places.insert(name, symbol.st_value(endian).into());
            }
        }
        image
    }
}
