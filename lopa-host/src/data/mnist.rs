//! MNIST, and other IDX files of images and labels (Fashion-MNIST, KMNIST, EMNIST digits).
//!
//! ```
//! use std::fs;
//! let dir = tempfile::tempdir()?;
//! let (images, labels) = (dir.path().join("images"), dir.path().join("labels"));
//! // Magic number, how many, rows, columns; then two images of 1 x 2 pixels and their labels.
//! fs::write(&images, [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40])?;
//! fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 2, 7, 3])?;
//! let digits = lopa_host::data::mnist::read(&images, &labels)?;
//! assert_eq!((digits.len(), digits.width()), (2, 2));
//! assert_eq!(digits.labels(), Some(&[7, 3][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use super::dataset::Dataset;
use super::error::{Fault, FileError, Place};
use super::reader::{MOST_VALUES, Reader, need};
use super::table::{Table, Targets, Values};
use super::text::numbered;

/// An IDX file of unsigned bytes with three dimensions, and with one.
const IMAGES: u32 = 2051;
const LABELS: u32 = 2049;

/// The four files under their published names, plain or with `.gz`: 60,000 + 10,000 images of 784 pixels.
///
/// # Errors
/// Names the file that is missing or damaged.
pub fn load(folder: impl AsRef<Path>) -> Result<Dataset, FileError> {
    let folder = folder.as_ref();
    let part = |part: &str| {
        // Some mirrors write a point instead of the first dash of the ending.
        let find = |ending: &str| {
            let names =
                [format!("{part}-{ending}"), format!("{part}-{}", ending.replacen('-', ".", 1))];
            need(folder, &[names[0].as_str(), names[1].as_str()])
        };
        let (images, labels) = (find("images-idx3-ubyte")?, find("labels-idx1-ubyte")?);
        read(&images, &labels).map(|table| (images, table))
    };
    let ((train_file, train), (test_file, test)) = (part("train")?, part("t10k")?);
    if train.width() != test.width() {
        let (expected, found) = (train.width(), test.width());
        let fault = Fault::Width { expected, found, of: train_file };
        return Err(FileError::new(&test_file, Place::File, fault));
    }
    Ok(Dataset { train, test: Some(test) })
}

/// Images and their labels, 0 to 9.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn read(images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Result<Table, FileError> {
    let (pixels, [count, rows, columns]) = idx::<3>(images.as_ref(), IMAGES)?;
    let (classes, [named]) = idx::<1>(labels.as_ref(), LABELS)?;
    let refuse = |place, fault| Err(FileError::new(labels.as_ref(), place, fault));
    if count != named {
        return refuse(Place::File, Fault::Counts { images: count, labels: named });
    }
    if let Some(row) = classes.iter().position(|&label| label > 9) {
        let found = classes[row].to_string();
        return refuse(Place::Record(row as u64), Fault::Label { found, allowed: "0 to 9" });
    }
    Ok(Table::trusted(Values::Bytes(pixels), rows * columns, Targets::Class(classes), numbered(9)))
}

/// The bytes and the dimensions of an IDX file. Memory grows with the data, not with what the header claims.
fn idx<const D: usize>(path: &Path, magic: u32) -> Result<(Vec<u8>, [usize; D]), FileError> {
    let mut reader = Reader::open(path)?;
    let mut header = Vec::new();
    let size = 4 + 4 * D;
    let found = reader.read_to(&mut header, size as u64)?;
    let refuse = |reader: &Reader, fault| Err(reader.error(Place::File, fault));
    if found == 0 {
        return refuse(&reader, Fault::Empty);
    }
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(header.get(4 * at..4 * at + 4)?.try_into().ok()?))
    };
    match word(0) {
        Some(found) if found != magic => {
            return refuse(&reader, Fault::Magic { expected: magic, found });
        }
        Some(_) if found == size => {}
        _ => {
            let fault = Fault::Truncated { expected: size as u64, found: found as u64 };
            return refuse(&reader, fault);
        }
    }
    let shape: [usize; D] = std::array::from_fn(|d| word(d + 1).map_or(0, |word| word as usize));
    let bytes = shape.iter().try_fold(1_usize, |all, &d| all.checked_mul(d));
    let Some(bytes) = bytes.filter(|&bytes| bytes <= MOST_VALUES) else {
        let what = "the number of bytes in the header";
        return refuse(&reader, Fault::TooLarge { what, limit: MOST_VALUES });
    };
    if bytes == 0 {
        return refuse(&reader, Fault::Empty);
    }
    let mut data = Vec::new();
    let found = reader.read_to(&mut data, bytes as u64 + 1)?;
    let expected = bytes as u64;
    match found.cmp(&bytes) {
        std::cmp::Ordering::Less => {
            refuse(&reader, Fault::Truncated { expected, found: found as u64 })
        }
        std::cmp::Ordering::Greater => refuse(&reader, Fault::Trailing { expected }),
        std::cmp::Ordering::Equal => Ok((data, shape)),
    }
}
