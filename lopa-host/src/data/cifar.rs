//! CIFAR-10 in its binary form: a label byte, then 32 x 32 pixels as planes of red, green and blue.

use std::path::Path;

use super::dataset::Dataset;
use super::error::{EMPTY, FileError, Place, not_a_label, too_large};
use super::reader::{MOST_VALUES, Reader, find, need};
use super::table::{Class, Table, Targets, Values};

/// The pixels of an image, over three planes.
pub const WIDTH: usize = 3072;

/// The bytes of a record: a label and an image.
const SIZE: usize = 1 + WIDTH;

/// The classes, in the order of their labels from 0 on.
pub const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// The published batches `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`, or `train.bin` and
/// `test.bin` with some of their records; each plain or with `.gz`.
///
/// # Errors
/// Names the file that is missing or damaged.
pub fn load(folder: impl AsRef<Path>) -> Result<Dataset, FileError> {
    let folder = folder.as_ref();
    let train = if let Some(file) = find(folder, &["train.bin"]) {
        read(&[file])?
    } else {
        let batch = |number| need(folder, &[format!("data_batch_{number}.bin").as_str()]);
        read(&(1..=5).map(batch).collect::<Result<Vec<_>, _>>()?)?
    };
    let test = read(&[need(folder, &["test_batch.bin", "test.bin"])?])?;
    Ok(Dataset { train, test: Some(test) })
}

/// The records of one or more files, one after the other. The table has all ten classes, even those that do not occur.
///
/// # Errors
/// Names the file, the record and what is wrong with it.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("a_horse_and_a_dog.bin");
/// let mut records = vec![0; 2 * 3073];
/// (records[0], records[3073]) = (7, 5);
/// std::fs::write(&file, records)?;
/// let table = lopa_host::data::cifar::read(&[&file])?.pick(&["dog", "horse"])?;
/// assert_eq!(table.labels(), Some(&[1, 0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<P: AsRef<Path>>(files: &[P]) -> Result<Table, FileError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for file in files {
        let mut reader = Reader::open(file.as_ref())?;
        let before = labels.len();
        let mut record = Vec::with_capacity(SIZE);
        while reader.read_to(&mut record, SIZE)? > 0 {
            let refuse = |what| Err(reader.error(Place::Record(labels.len() - before), what));
            let (label, image) = (record[0], &record[1..]);
            if usize::from(label) >= CLASSES.len() {
                return refuse(not_a_label(label, "0 to 9"));
            }
            if image.len() < WIDTH {
                let what = "the file is incomplete, or of another kind";
                return refuse(format!(
                    "has {} bytes where records have {SIZE}: {what}",
                    record.len()
                ));
            }
            if pixels.len() > MOST_VALUES - WIDTH {
                return refuse(too_large("the number of pixels", MOST_VALUES));
            }
            labels.push(label);
            pixels.extend_from_slice(image);
            record.clear();
        }
        if labels.len() == before {
            return Err(reader.error(Place::File, EMPTY));
        }
    }
    if labels.is_empty() {
        return Err(FileError::new(Path::new("CIFAR-10"), Place::File, EMPTY));
    }
    let classes = (0_i16..).zip(CLASSES).map(|(label, name)| Class::new(label, name)).collect();
    Ok(Table::trusted(Values::Bytes(pixels.into()), WIDTH, Targets::Class(labels), classes))
}
