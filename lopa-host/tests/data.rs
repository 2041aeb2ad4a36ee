//! Data files in every format, good and bad: what is read, and which errors are reported.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use lopa_core::samples::LabelKind;
use lopa_host::data::csv::{self, Column, Columns};
use lopa_host::data::{
    DataError, DataTable, Dataset, FileError, Shelf, Table, Targets, Values, cifar, covtype,
    folders, libsvm, mnist,
};
use tempfile::TempDir;

/// A folder of files, removed after the test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// An IDX file: a magic number, dimensions, bytes.
fn idx(magic: u32, shape: &[u32], bytes: &[u8]) -> Vec<u8> {
    let words = [magic].into_iter().chain(shape.iter().copied());
    words.flat_map(u32::to_be_bytes).chain(bytes.iter().copied()).collect()
}

fn images(count: u32) -> Vec<u8> {
    idx(2051, &[count, 2, 2], &(0..4 * count as u8).collect::<Vec<_>>())
}

fn labels(labels: &[u8]) -> Vec<u8> {
    idx(2049, &[labels.len() as u32], labels)
}

/// CIFAR-10 records whose pixels are all their number.
fn records(labels: &[u8]) -> Vec<u8> {
    let record = |(number, label): (usize, &u8)| {
        let mut record = vec![number as u8; 3073];
        record[0] = *label;
        record
    };
    labels.iter().enumerate().flat_map(record).collect()
}

fn forest(labels: &[u8]) -> String {
    labels.iter().map(|label| format!("{}{label}\n", "-1.5,".repeat(54))).collect()
}

/// The error's words after the name of the file.
fn fault<T: std::fmt::Debug>(read: Result<T, FileError>) -> String {
    let error = read.unwrap_err();
    error.to_string().strip_prefix(&error.file.display().to_string()).unwrap().to_owned()
}

/// As [`fault`], of the file that is expected.
fn words(file: &PathBuf, read: Result<Table, FileError>) -> String {
    assert_eq!(&read.as_ref().unwrap_err().file, file);
    fault(read)
}

/// A CSV file whose columns are found by default.
fn sheet(file: impl AsRef<std::path::Path>, kind: LabelKind) -> Result<Table, FileError> {
    csv::read(file, &Columns::default(), kind)
}

const EMPTY: &str = ": contains no samples: at least one is needed";
const MISSING: &str = ": there is no such file, plain or with .gz: check the folder and the name";

#[test]
fn gzip_is_detected_by_content() {
    let folder = Folder::new();
    let text = "1,2,4\n0,4,5\n";
    let plain = sheet(folder.file("a.csv.gz", text), LabelKind::Binary).unwrap();
    assert_eq!(plain.values(), &Values::Floats(vec![2.0, 4.0, 4.0, 5.0].into()));
    assert_eq!(sheet(folder.file("a.csv", gzip(text)), LabelKind::Binary).unwrap(), plain);
    // Two gzip members one after the other are one file.
    let two = [gzip("1,2,4\n"), gzip("0,4,5\n")].concat();
    assert_eq!(sheet(folder.file("b.csv", two), LabelKind::Binary).unwrap(), plain);
}

#[test]
fn damaged_gzip_is_refused_whatever_is_inside() {
    let folder = Folder::new();
    let packed = gzip(forest(&[1, 2, 3, 4, 5, 6, 7].repeat(40)));
    let cut = folder.file("cut", &packed[..packed.len() - 9]);
    let header = folder.file("header", &packed[..7]);
    let mut flipped = packed.clone();
    *flipped.last_mut().unwrap() ^= 1; // the length it claims
    let flipped = folder.file("flipped", flipped);
    let garbage = folder.file("garbage", [&packed[..], b"more"].concat());
    let early = ": the gzip data ends too early: the file is incomplete, get it again";
    let damaged = ": the gzip data is damaged: get the file again";
    for (file, expected) in [(cut, early), (header, early), (flipped, damaged), (garbage, early)] {
        assert_eq!(fault(covtype::read(&file)), expected);
    }
    let cut = folder.file("images.gz", &gzip(images(3))[..20]);
    let named = folder.file("labels", labels(&[0, 1, 2]));
    let words = words(&cut, mnist::read(&cut, &named));
    assert_eq!(words, early);
}

#[test]
fn missing_files_missing_folders_and_empty_files_are_refused() {
    let folder = Folder::new();
    let missing = folder.0.path().join("missing.csv");
    assert_eq!(words(&missing, sheet(&missing, LabelKind::Real)), MISSING);
    let there = folder.0.path();
    let text = fault(sheet(there, LabelKind::Real));
    assert!(text.starts_with(": cannot be read"), "{text}");
    for content in [Vec::new(), gzip("")] {
        let file = folder.file("empty", content);
        assert_eq!(fault(sheet(&file, LabelKind::Real)), EMPTY);
        assert_eq!(fault(libsvm::read(&file, LabelKind::Real, None)), EMPTY);
        assert_eq!(fault(covtype::read(&file)), EMPTY);
        assert_eq!(fault(cifar::read(&[&file])), EMPTY);
        assert_eq!(fault(mnist::read(&file, &file)), EMPTY);
    }
    for load in [mnist::load, cifar::load, |folder| covtype::load(folder).map(one)] {
        assert_eq!(fault(load(there.to_path_buf())), MISSING);
    }
    let error = mnist::load(there).unwrap_err();
    assert!(error.file.ends_with("train-images-idx3-ubyte"));
}

fn one(train: Table) -> Dataset {
    Dataset { train, test: None }
}

#[test]
fn mnist_reads_the_four_files() {
    let folder = Folder::new();
    folder.file("train-images-idx3-ubyte.gz", gzip(images(3)));
    folder.file("train-labels-idx1-ubyte", labels(&[1, 0, 9]));
    folder.file("t10k-images.idx3-ubyte", images(2));
    folder.file("t10k-labels.idx1-ubyte.gz", gzip(labels(&[0, 1])));
    let set = mnist::load(folder.0.path()).unwrap();
    assert_eq!(set.train.values(), &Values::Bytes((0..12).collect()));
    assert_eq!(set.train.targets(), &Targets::Class(vec![1, 0, 9]));
    assert_eq!(set.train.counts(), [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    let two = set.pick(&["0", "1"]).unwrap();
    assert_eq!(two.train.values(), &Values::Bytes((0..8).collect()));
    let test = two.test.unwrap();
    let samples = test.samples(LabelKind::Binary).unwrap();
    assert_eq!((samples.label(0), samples.label(1)), (-1.0, 1.0));
    assert_eq!(samples.row(1).dot(&[255.0, 0.0, 0.0, 0.0]), 4.0);

    let wide = folder.file("t10k-images.idx3-ubyte", idx(2051, &[2, 1, 1], &[0, 0]));
    let error = mnist::load(folder.0.path()).unwrap_err();
    let text = error.to_string();
    assert!(error.file == wide && text.contains(": 1 features where") && text.contains("has 4"));
}

#[test]
fn bad_idx_files_are_refused() {
    let folder = Folder::new();
    let good = folder.file("images", images(2));
    let named = folder.file("labels", labels(&[3, 4]));
    assert!(mnist::read(&good, &named).is_ok());
    let huge = 1 << 28;
    let large = ": the number of bytes in the header is larger than 268435456: the file is damaged";
    for (content, expected) in [
        (labels(&[1; 12]), ": begins with 2049, not 2051: it is another kind of file"),
        (images(2)[..9].to_vec(), ": has 9 of the 16 bytes that its header promises"),
        (vec![0, 0], ": has 2 of the 16 bytes that its header promises"),
        (images(2)[..23].to_vec(), ": has 7 of the 8 bytes that its header promises"),
        ([images(2), vec![0]].concat(), ": has more than the 8 bytes that its header promises"),
        (idx(2051, &[0, 28, 28], &[]), EMPTY),
        // No memory is reserved for what a header claims.
        (idx(2051, &[huge, 1, 1], &[7]), ": has 1 of the 268435456 bytes"),
        (idx(2051, &[huge, 28, 28], &[7]), large),
        (idx(2051, &[u32::MAX; 3], &[7]), large),
    ] {
        let bad = folder.file("bad", content);
        let text = words(&bad, mnist::read(&bad, &named));
        assert!(text.starts_with(expected), "{text}");
    }
    let three = folder.file("three", labels(&[0; 3]));
    let text = words(&three, mnist::read(&good, &three));
    assert_eq!(text, ": has 3 labels for 2 images: the two files do not belong together");
    let ten = folder.file("ten", labels(&[0, 10]));
    let text = words(&ten, mnist::read(&good, &ten));
    assert_eq!(text, ", record 1: 10 is not a label: expected 0 to 9");
}

#[test]
fn cifar_reads_batches_and_subsets() {
    let folder = Folder::new();
    for batch in 1..=5 {
        folder.file(&format!("data_batch_{batch}.bin"), records(&[batch, 5, 7]));
    }
    folder.file("test_batch.bin.gz", gzip(records(&[7, 5])));
    let set = cifar::load(folder.0.path()).unwrap();
    assert_eq!((set.train.len(), set.train.width()), (15, 3072));
    assert_eq!(set.train.counts(), [0, 1, 1, 1, 1, 6, 0, 5, 0, 0]);
    let two = set.pick(&["dog", "horse"]).unwrap();
    assert_eq!(
        (two.train.counts(), two.test.unwrap().labels().unwrap()),
        (vec![6, 5], &[1, 0][..])
    );

    let third = folder.0.path().join("data_batch_3.bin");
    fs::remove_file(&third).unwrap();
    assert_eq!(cifar::load(folder.0.path()).unwrap_err().file, third);
    folder.file("train.bin.gz", gzip(records(&[0, 1])));
    assert_eq!(cifar::load(folder.0.path()).unwrap().train.labels().unwrap(), [0, 1]);

    let cut = folder.file("cut", &records(&[0, 1])[..3073 + 100]);
    let text = words(&cut, cifar::read(&[&cut]));
    assert!(text.starts_with(", record 1: has 100 bytes where records have 3073"), "{text}");
    let ten = folder.file("ten", records(&[9, 3, 10]));
    assert_eq!(words(&ten, cifar::read(&[&ten])), ", record 2: 10 is not a label: expected 0 to 9");
    assert_eq!(fault(cifar::read::<PathBuf>(&[])), EMPTY);
}

#[test]
fn covtype_names_its_classes() {
    let folder = Folder::new();
    folder.file("covtype.data.gz", gzip(forest(&[1, 2, 3, 4, 5, 6, 7, 2])));
    let all = covtype::load(folder.0.path()).unwrap();
    assert_eq!((all.counts(), all.width()), (vec![1, 2, 1, 1, 1, 1, 1], 54));
    for (names, counts) in [
        (["Lodgepole", "ponderosa pine"], [2, 1]),
        (["cottonwood", "aspen"], [1, 1]),
        (["7", "2"], [1, 2]),
    ] {
        assert_eq!(all.pick(&names).unwrap().counts(), counts);
    }
    let pick = |names: &[&str]| all.pick(names).unwrap_err().to_string();
    let text = pick(&["Aspen", "pine"]);
    assert!(text.contains("\"pine\" is not one of the classes: Spruce/Fir, Lodgepole"), "{text}");
    assert_eq!(pick(&["Aspen", "5"]), "class \"5\" is named twice");
    assert!(pick(&[""]).starts_with("\"\" is not one of the classes"));
    let few = covtype::read(folder.file("few", forest(&[2, 5]))).unwrap();
    let error = few.pick(&["aspen", "krumm"]).unwrap_err();
    assert_eq!(error.to_string(), "class \"Krummholz\" has no samples in this data");

    for (content, expected) in [
        (forest(&[1, 8]), ", line 2, column 55: 8 is not a label: expected 1 to 7"),
        (forest(&[0]), ", line 1, column 55: 0 is not a label: expected 1 to 7"),
        (forest(&[1]) + "1,2\n", ", line 2: 2 cells where the first row has 55"),
        (forest(&[1]).replacen("-1.5", "x", 1), ", line 1, column 1: \"x\" is not a number"),
    ] {
        let bad = folder.file("bad", content);
        let text = words(&bad, covtype::read(&bad));
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn csv_accepts_common_variants() {
    let folder = Folder::new();
    let read = |text: &str, kind| sheet(folder.file("a.csv", text), kind).unwrap();
    let plain = read("1,2,-3e2\n0,.5,6\n", LabelKind::Binary);
    assert_eq!(plain.values(), &Values::Floats(vec![2.0, -300.0, 0.5, 6.0].into()));
    for same in [
        "\u{feff}+1, 2 ,\"-300\"\r\n\r\n0,0.5,6\r\n ,,\n",
        "1.0;2;-300\n0.0;0.5;6\n",
        "1\t2\t-300\n0\t0.5\t6\n",
    ] {
        assert_eq!(read(same, LabelKind::Binary), plain);
    }
    // With a header, the label is the last column.
    let named = read("\"a, b\",c,y\n2,-300,1\n.5,6,0\n", LabelKind::Binary);
    assert_eq!((named.values(), named.targets()), (plain.values(), plain.targets()));
    assert_eq!((named.names(), plain.names().len()), (&["a, b".into(), "c".into()][..], 0));
    let classes = read("3,1\n0,1\n10,1\n", LabelKind::Class);
    assert_eq!((classes.counts(), classes.width()), (vec![1, 1, 1], 1));
    assert_eq!(classes.pick(&["10", "3"]).unwrap().labels(), Some(&[1, 0][..]));
    let refused = |table: &Table, kind| table.samples(kind).unwrap_err().to_string();
    let text = refused(&classes, LabelKind::Binary);
    assert_eq!(
        text,
        "there are 3 classes, but two are needed: name two, such as classes = [\"0\", \"3\"]"
    );
    let text = refused(&classes, LabelKind::Real);
    assert_eq!(text, "labels are classes, but real targets are needed");
    let real = read("-0.5,1\n1e3,1\n", LabelKind::Real);
    assert_eq!(real.targets(), &Targets::Real(vec![-0.5, 1000.0]));
    let text = refused(&real, LabelKind::Binary);
    assert!(text.starts_with("labels are real targets, but classes are needed"), "{text}");
}

#[test]
fn bad_csv_is_named_by_line_and_column() {
    let folder = Folder::new();
    for (text, kind, expected) in [
        ("1,2\n0,NaN\n", LabelKind::Binary, ", line 2, column 2: is missing: fill it in"),
        ("1,2\n0,-inf\n", LabelKind::Binary, ", line 2, column 2: -inf is not finite"),
        ("1,1e39\n", LabelKind::Binary, ", line 1, column 2: 1e39 is not finite"),
        ("a,b\n1,\n", LabelKind::Binary, ", line 2, column 2: the label is missing"),
        ("a,b\n,1\n", LabelKind::Binary, ", line 2, column 1: a is missing: fill it in"),
        ("one,2\n", LabelKind::Real, ", line 1, column 1: the label \"one\" is not a number"),
        ("a,b\nred,d\n", LabelKind::Binary, ", line 2, column 1: a = \"red\" is not a number"),
        ("a;b\n1,5;d\n", LabelKind::Binary, ", line 2, column 1: \"1,5\" is not a number"),
        (",a,b\n0,1,2\n", LabelKind::Real, ", line 1, column 1: the column has no name"),
        ("0,1,2,target\n5,6,7,1\n", LabelKind::Class, ", line 1: could be a header or a sample"),
        ("1|2\n", LabelKind::Binary, ", line 1: samples have no feature"),
        ("1,2\n\n0,2,3\n", LabelKind::Binary, ", line 3: 3 cells where the first row has 2"),
        ("y,a,b\n0,2\n", LabelKind::Binary, ", line 2: 2 cells where the first row has 3"),
        ("nan,2\n", LabelKind::Real, ", line 1, column 1: the label is missing"),
        ("a,b\n", LabelKind::Real, ": contains no samples"),
        ("\n \n", LabelKind::Real, ": contains no samples"),
    ] {
        let bad = folder.file("bad.csv", text);
        let text = words(&bad, sheet(&bad, kind));
        assert!(text.starts_with(expected), "{text}");
    }
    let binary = folder.file("binary.csv", [b'1', b',', 0xff, b'\n']);
    let text = fault(sheet(&binary, LabelKind::Real));
    assert_eq!(text, ", line 1: is not text in UTF-8: expected lines of numbers");
    // A few kilobytes that unpack to an endless line.
    let bomb = folder.file("bomb.csv", gzip(vec![b'1'; (1 << 24) + 5]));
    let text = fault(sheet(&bomb, LabelKind::Real));
    assert!(text.starts_with(": a line is larger than 16777216"), "{text}");
}

#[test]
fn libsvm_is_sparse_and_counts_from_one() {
    let folder = Folder::new();
    let file = folder.file("a", "+1 2:0.5\n# a remark\n-1\n-1 1:3 2:1e-1 # 4:4\n");
    let table = libsvm::read(&file, LabelKind::Binary, None).unwrap();
    assert_eq!(table.values(), &Values::Floats(vec![0.0, 0.5, 0.0, 0.0, 3.0, 0.1].into()));
    assert_eq!(table.labels().unwrap(), [1, 0, 0]);
    let wide = libsvm::read(&file, LabelKind::Binary, Some(4)).unwrap();
    assert_eq!((wide.width(), wide.len()), (4, 3));

    for (text, expected) in [
        ("1 1:2\n1 0:2\n", ", line 2, column 2: \"0\" is not a feature index"),
        ("1 -1:2\n", ", line 1, column 2: \"-1\" is not a feature index"),
        ("1 a:2\n", ", line 1, column 2: \"a\" is not a feature index"),
        ("1 1:1 3:1 2:2\n", ", line 1, column 4: index 2 comes after 3"),
        ("1 1:1 1:2\n", ", line 1, column 3: index 1 comes after 1"),
        ("1 2\n", ", line 1, column 2: \"2\" is not index:value"),
        ("1 1:x\n", ", line 1, column 2: \"x\" is not a number"),
        ("1 1:nan\n", ", line 1, column 2: nan is not finite"),
        ("? 1:1\n", ", line 1, column 1: the label is missing"),
        ("1 9:1\n", ", line 1, column 2: 9 features where the training file has 8"),
    ] {
        let bad = folder.file("bad", text);
        let text = words(&bad, libsvm::read(&bad, LabelKind::Binary, Some(8)));
        assert!(text.starts_with(expected), "{text}");
    }
    for (text, expected) in [
        ("1\n0\n", ": samples have no features"),
        ("# nothing\n", EMPTY),
        ("1 4000000000:1\n", ": samples times features is larger than 268435456"),
    ] {
        let bad = folder.file("bad", text);
        let text = fault(libsvm::read(&bad, LabelKind::Binary, None));
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn one_folder_per_node() {
    let folder = Folder::new();
    folder.file("node-0/train.csv", "2,1\n0,2\n");
    folder.file("node-0/val.csv.gz", gzip("1,3\n"));
    folder.file("node-0/test.csv", "0,4\n");
    folder.file("node-1/train.csv", "0,5\n");
    let test = folder.file("node-1/test.csv", "0,7\n");
    let val = folder.file("node-1/val.csv", "0,6\n");
    let columns = Columns::default();
    let load = |nodes| folders::load(folder.0.path(), nodes, &columns, LabelKind::Class);
    let refused = |nodes| match load(nodes).unwrap_err() {
        DataError::File(error) => error,
        error => panic!("{error}"),
    };
    let shards = load(2).unwrap();
    assert_eq!((shards[0].train.len(), shards[0].validation.len()), (2, 1));
    assert_eq!(shards[0].test.as_ref().unwrap().values(), &Values::Floats(vec![4.0].into()));
    // Every node knows all classes.
    assert_eq!((shards[0].counts(), shards[1].counts()), (vec![1, 1, 1], vec![2, 0, 0]));

    let error = refused(3);
    assert!(error.file.ends_with("node-2/train.csv") && fault::<()>(Err(error)) == MISSING);
    fs::write(&val, "0,6,7\n").unwrap();
    let error = refused(2);
    assert_eq!(error.file, val);
    assert!(
        error.what.starts_with("2 features where ")
            && error.what.contains("node-0/train.csv has 1")
    );
    fs::remove_file(&val).unwrap();
    assert_eq!(refused(2).file, val);
    fs::write(&val, "0,6\n").unwrap();
    fs::remove_file(&test).unwrap();
    let error = refused(2);
    assert!(error.file == test && error.what.starts_with("is missing, but other nodes have"));
    fs::write(&test, "a,y\n7,0\n").unwrap();
    let error = refused(2);
    assert!(error.file == test && error.what.starts_with("its columns are not those of"));
}

#[test]
fn columns_are_found_by_name_or_number() {
    let folder = Folder::new();
    let file = folder.file(
        "log.csv",
        "id,device,temperature,state,pressure\n1,b,20.5,ok,1\n2,a,21,ok,2\n3,b,99,hot,3\n",
    );
    let name = |name: &str| Column::Name(name.into());
    let columns = Columns {
        label: Some(name("state")),
        node: Some(Column::Number(2)),
        ignore: vec![name("id")],
        header: None,
    };
    let table = csv::read(&file, &columns, LabelKind::Binary).unwrap();
    assert_eq!(table.values(), &Values::Floats(vec![20.5, 1.0, 21.0, 2.0, 99.0, 3.0].into()));
    assert_eq!(table.names(), ["temperature", "pressure"]);
    // In alphabetical order: hot is the negative class.
    assert_eq!(table.labels(), Some(&[1, 1, 0][..]));
    let owners = table.owners().unwrap();
    assert_eq!(
        (&owners.names[..], &owners.of[..]),
        (&["a".into(), "b".into()][..], &[1, 0, 1][..])
    );
    // Classes and owners follow their samples.
    let hot = table.pick(&["hot"]).unwrap();
    assert_eq!((hot.owners().unwrap().of.as_slice(), hot.names()), (&[1][..], table.names()));

    let refused =
        |columns: Columns| fault(csv::read(&file, &columns, LabelKind::Binary).map(|_| ()));
    let label = |label| Columns { label: Some(label), ..columns.clone() };
    for (columns, expected) in [
        (
            label(name("stat")),
            ": data.label: no column is called \"stat\": did you mean \"state\"?",
        ),
        (
            label(name("colour of the sky")),
            ": data.label: no column is called \"colour of the sky\": the columns are",
        ),
        (label(Column::Number(0)), ": data.label = 0, but the file has columns 1 to 5"),
        (label(Column::Number(6)), ": data.label = 6, but the file has columns 1 to 5"),
        (label(name("id")), ": column 1 is the label, so it cannot be the node or ignored"),
        (
            Columns { header: Some(false), ..columns.clone() },
            ": data.ignore = \"id\" needs a header, but the first row is a sample",
        ),
        (
            Columns { node: Some(name("id")), label: Some(name("id")), ..Columns::default() },
            ": column 1 is the label",
        ),
    ] {
        let text = refused(columns);
        assert!(text.starts_with(expected), "{text}");
    }
    let twice = folder.file("twice.csv", "a,a,y\n1,2,0\n");
    let columns = Columns { label: Some(name("a")), ..Columns::default() };
    let text = fault(csv::read(&twice, &columns, LabelKind::Class));
    assert!(text.contains("two columns are called \"a\": give the number"), "{text}");
    // Numbers as names, when the file says so.
    let counted = folder.file("counted.csv", "0,1,2\n5,6,1\n7,8,0\n");
    let read = |header| {
        let columns = Columns { header: Some(header), ..Columns::default() };
        csv::read(&counted, &columns, LabelKind::Class).unwrap()
    };
    assert_eq!((read(true).len(), read(true).labels()), (2, Some(&[1, 0][..])));
    assert_eq!((read(false).len(), read(false).width()), (3, 2));
}

#[test]
fn training_and_test_sets_must_match() {
    let folder = Folder::new();
    let read = |text: &str, kind| sheet(folder.file("a.csv", text), kind).unwrap();
    let train = read("0,1,3\n1,3,4\n", LabelKind::Class);
    let more = read("1,1,2\n4,1,2\n", LabelKind::Class);
    let set = Dataset::new(train.clone(), Some(more)).unwrap();
    assert_eq!((set.train.counts(), set.test.unwrap().counts()), (vec![1, 1, 0], vec![0, 1, 1]));
    let narrow = read("0,1\n", LabelKind::Class);
    let refused = |test| Dataset::new(train.clone(), Some(test)).unwrap_err().to_string();
    assert!(refused(narrow).starts_with("samples have 1 features where others have 2"));
    let differ = "training and test samples differ in their columns, classes or encoding: they do not belong together";
    assert_eq!(refused(read("red,1,2\n", LabelKind::Class)), differ);
    assert_eq!(refused(read("0,1,3\n", LabelKind::Real)), differ);
    let pixels = Values::Bytes(vec![0, 0].into());
    let classes = train.classes().to_vec().into();
    let pixels = Table::new(pixels, 2, Targets::Class(vec![0]), classes).unwrap();
    assert_eq!(refused(pixels), differ);
    let set = Dataset::new(train, None).unwrap();
    let text = set.hold_out(2, 1).unwrap_err().to_string();
    assert_eq!(
        text,
        "cannot hold out 2 of 2 samples: hold out at least one, and keep at least one"
    );
    let held = set.hold_out(1, 1).unwrap();
    assert_ne!(held.train.values(), held.test.unwrap().values());
}

#[test]
fn a_table_checks_its_input() {
    let classes = |count: i16| (0..count).map(|i| lopa_host::data::Class::new(i, "c")).collect();
    let new = |labels: Vec<u8>, values, count| {
        Table::new(values, 2, Targets::Class(labels), classes(count))
    };
    assert!(new(vec![0, 1], Values::Bytes(vec![0; 4].into()), 2).is_ok());
    for (labels, values, count) in [
        (vec![0, 2], Values::Bytes(vec![0; 4].into()), 2),
        (vec![0, 1], Values::Bytes(vec![0; 3].into()), 2),
        (vec![0, 1], Values::Floats(vec![0.0, 0.0, f32::NAN, 0.0].into()), 2),
        (vec![], Values::Bytes(vec![].into()), 2),
    ] {
        assert!(matches!(new(labels, values, count), Err(DataError::Samples(_))));
    }
}

#[test]
fn a_data_set_on_a_shelf_is_read_once() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|row| format!("{},{row},0.5\n", row % 2)).collect();
    let file = folder.file("rooms.csv", rows);
    let table = DataTable { file: Some(file.clone()), ..DataTable::default() };
    let deal = |seed| table.shards(LabelKind::Binary, 3, seed);
    let [first, second] = [1, 2].map(|seed| deal(seed).unwrap());
    assert_ne!(first, second);

    let shelf = Shelf::new();
    assert_eq!(deal(1), Ok(first.clone()));
    fs::remove_file(file).unwrap();
    assert_eq!((deal(1), deal(2)), (Ok(first), Ok(second)));
    // Other samples of the same file are not there.
    let other = DataTable { ignore: Some(vec![Column::Number(3)]), ..table.clone() };
    assert!(other.shards(LabelKind::Binary, 3, 1).is_err());
    drop(shelf);
    assert!(deal(1).is_err());
}
