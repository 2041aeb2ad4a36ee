//! Checksums.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use sha2::Digest;

/// The checksums of a file, in hexadecimal, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// MD5: what most owners publish. It finds mistakes, not malice.
    pub md5: Option<String>,
    /// SHA-256.
    pub sha256: Option<String>,
}

impl Sums {
    /// Both.
    #[must_use]
    pub fn new(md5: &str, sha256: &str) -> Self {
        Self { md5: Some(md5.into()), sha256: Some(sha256.into()) }
    }

    /// Those of what a reader yields.
    ///
    /// # Errors
    /// The reader's.
    pub fn of(reader: impl Read) -> io::Result<Self> {
        Counted::of(reader).map(|counted| counted.sums)
    }

    /// Whether there are any, and each is as found.
    #[must_use]
    pub fn agree(&self, found: &Self) -> bool {
        let pairs = [(&self.md5, &found.md5), (&self.sha256, &found.sha256)];
        let same = |(a, b): (&Option<String>, &Option<String>)| match (a, b) {
            (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
            (wanted, _) => wanted.is_none(),
        };
        (self.md5.is_some() || self.sha256.is_some()) && pairs.into_iter().all(same)
    }
}

/// What reading something to its end tells.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    pub(super) sums: Sums,
    pub(super) size: u64,
    /// Newlines.
    pub(super) lines: u64,
    /// Whether it begins as gzip does.
    pub(super) gzip: bool,
}

impl Counted {
    pub(super) fn of(mut reader: impl Read) -> io::Result<Self> {
        let (mut md5, mut sha256) = (md5::Md5::new(), sha2::Sha256::new());
        let (mut size, mut lines) = (0, 0);
        let (mut buffer, mut head) = (vec![0; 1 << 16], Vec::new());
        loop {
            let bytes = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => &buffer[..read],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if head.len() < 2 {
                head.extend(bytes.iter().take(2));
            }
            md5.update(bytes);
            sha256.update(bytes);
            size += bytes.len() as u64;
            lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
        let gzip = head.starts_with(&[0x1f, 0x8b]);
        let sums = Sums { md5: Some(hex(&md5.finalize())), sha256: Some(hex(&sha256.finalize())) };
        Ok(Self { sums, size, lines, gzip })
    }

    /// The same for what a gzipped file holds.
    pub(super) fn unpacked(path: &Path) -> io::Result<Self> {
        Self::of(MultiGzDecoder::new(BufReader::new(File::open(path)?)))
    }
}

/// Whether an error says that packed data is cut or damaged.
pub(super) fn damaged(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_sums() {
        let sums = Sums::of(&b"abc"[..]).unwrap();
        assert_eq!(sums.md5.as_deref(), Some("900150983cd24fb0d6963f7d28e17f72"));
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums.sha256.as_deref(), Some(sha));
        let lines = Counted::of(&b"a\nb\nc"[..]).unwrap();
        assert_eq!((lines.size, lines.lines, lines.gzip), (5, 2, false));
    }

    #[test]
    fn all_that_are_known_must_agree_and_some_must_be() {
        let found = Sums::of(&b"abc"[..]).unwrap();
        let other = Sums::of(&b"abd"[..]).unwrap();
        assert!(found.agree(&found) && !other.agree(&found) && !Sums::default().agree(&found));
        let upper = found.md5.as_ref().map(|md5| md5.to_uppercase());
        assert!(Sums { md5: upper.clone(), sha256: None }.agree(&found));
        assert!(!Sums { md5: upper, sha256: other.sha256 }.agree(&found));
    }
}
