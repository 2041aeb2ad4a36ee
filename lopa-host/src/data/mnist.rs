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

use std::cmp::Ordering;
use std::path::Path;

use super::dataset::Dataset;
use super::error::{EMPTY, FileError, Place, not_a_label, other_width, too_large};
use super::reader::{MOST_VALUES, Reader, need};
use super::table::{Class, Table, Targets, Values};

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
    let (train, test) = rayon::join(|| part("train"), || part("t10k"));
    let ((train_file, train), (test_file, test)) = (train?, test?);
    if train.width() != test.width() {
        let what = other_width(test.width(), train_file.display(), train.width());
        return Err(FileError::new(&test_file, Place::File, what));
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
    let refuse = |place, what| Err(FileError::new(labels.as_ref(), place, what));
    if count != named {
        let what = "the two files do not belong together";
        return refuse(Place::File, format!("has {named} labels for {count} images: {what}"));
    }
    if let Some(row) = classes.iter().position(|&label| label > 9) {
        return refuse(Place::Record(row), not_a_label(classes[row], "0 to 9"));
    }
    let digits = (0..=9).map(|digit| Class::new(digit, &digit.to_string())).collect();
    Ok(Table::trusted(
        Values::Bytes(pixels.into()),
        rows * columns,
        Targets::Class(classes),
        digits,
    ))
}

/// The bytes and the dimensions of an IDX file. Memory grows with the data, not with what the header claims.
fn idx<const D: usize>(path: &Path, magic: u32) -> Result<(Vec<u8>, [usize; D]), FileError> {
    let mut reader = Reader::open(path)?;
    let refuse = |what: String| Err(FileError::new(path, Place::File, what));
    let short = |found: usize, expected: usize| {
        let what = "bytes that its header promises: the file is incomplete, get it again";
        refuse(format!("has {found} of the {expected} {what}"))
    };
    let mut header = Vec::new();
    let size = 4 + 4 * D;
    let found = reader.read_to(&mut header, size)?;
    let words: Vec<u32> = header.as_chunks().0.iter().map(|&w| u32::from_be_bytes(w)).collect();
    match words.first() {
        None if found == 0 => return refuse(EMPTY.into()),
        Some(&first) if first != magic => {
            let what = "it is another kind of file, or two files are mixed up";
            return refuse(format!("begins with {first}, not {magic}: {what}"));
        }
        _ if found < size => return short(found, size),
        _ => {}
    }
    let shape: [usize; D] = std::array::from_fn(|d| words[d + 1] as usize);
    let bytes = shape.iter().try_fold(1_usize, |all, &d| all.checked_mul(d));
    let Some(bytes) = bytes.filter(|&bytes| bytes <= MOST_VALUES) else {
        return refuse(too_large("the number of bytes in the header", MOST_VALUES));
    };
    let mut data = Vec::new();
    let found = reader.read_to(&mut data, bytes + 1)?;
    match found.cmp(&bytes) {
        _ if bytes == 0 => refuse(EMPTY.into()),
        Ordering::Less => short(found, bytes),
        Ordering::Greater => {
            let what = "bytes that its header promises: the file is damaged, get it again";
            refuse(format!("has more than the {bytes} {what}"))
        }
        Ordering::Equal => Ok((data, shape)),
    }
}
