//! The data sets of the paper's experiments: where their owners publish them, and their checksums.

use super::error::FetchError;
use super::sums::Sums;
use super::{Original, Wanted};
use crate::data::covtype;

/// The data sets that are known.
///
/// ```
/// let names: Vec<String> =
///     lopa_host::data::fetch::known().into_iter().map(|set| set.name).collect();
/// assert_eq!(names, ["mnist", "covtype", "cifar10"]);
/// ```
#[must_use]
pub fn known() -> Vec<Original> {
    vec![mnist(), covtype(), cifar10()]
}

/// The data set of this name.
///
/// # Errors
/// If there is none: with the name that looks most like it.
pub fn named(name: &str) -> Result<Original, FetchError> {
    let mut sets = known();
    if let Some(place) = sets.iter().position(|set| set.name == name) {
        return Ok(sets.swap_remove(place));
    }
    let all: Vec<String> = sets.into_iter().map(|set| set.name).collect();
    let lower = name.to_lowercase().replace(['-', '_', ' '], "");
    let nearest = all
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&lower, known), known))
        .min()
        .filter(|(distance, known)| 2 * distance <= known.len())
        .map(|(_, known)| known.clone());
    Err(FetchError::Name { name: name.into(), nearest, all })
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.into()).collect()
}

fn mnist() -> Original {
    let file = |name: &str, size, packed: [&str; 2], content: [&str; 2]| Wanted {
        name: name.into(),
        urls: vec![
            format!("https://ossci-datasets.s3.amazonaws.com/mnist/{name}"),
            format!("https://storage.googleapis.com/cvdf-datasets/mnist/{name}"),
        ],
        size: Some(size),
        sums: Sums::new(packed[0], packed[1]),
        content: Some(Sums::new(content[0], content[1])),
        ..Wanted::default()
    };
    Original {
        name: "mnist".into(),
        title: "MNIST: 60,000 + 10,000 handwritten digits of 28 x 28 pixels".into(),
        terms: "Yann LeCun and Corinna Cortes, CC BY-SA 3.0".into(),
        homes: texts(&[
            "http://yann.lecun.com/exdb/mnist/",
            "https://github.com/cvdfoundation/mnist",
        ]),
        files: vec![
            file(
                "train-images-idx3-ubyte.gz",
                9_912_422,
                [
                    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                ],
                [
                    "6bbc9ace898e44ae57da46a324031adb",
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                ],
            ),
            file(
                "train-labels-idx1-ubyte.gz",
                28_881,
                [
                    "d53e105ee54ea40749a09fcbcd1e9432",
                    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                ],
                [
                    "a25bea736e30d166cdddb491f175f624",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                ],
            ),
            file(
                "t10k-images-idx3-ubyte.gz",
                1_648_877,
                [
                    "9fb629c4189551a2d022fa330f9573f3",
                    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                ],
                [
                    "2646ac647ad5339dbf082846283269ea",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                ],
            ),
            file(
                "t10k-labels-idx1-ubyte.gz",
                4_542,
                [
                    "ec29112dd5afa0611ce80d1b7f02629c",
                    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                ],
                [
                    "27ae3e4e09519cfbb04c329615203637",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                ],
            ),
        ],
    }
}

fn covtype() -> Original {
    Original {
        name: "covtype".into(),
        title: "Covertype: 581,012 pieces of forest, 54 features, 7 kinds of trees".into(),
        terms: "Jock A. Blackard and Colorado State University, reuse unlimited with retention of their copyright \
                notice"
            .into(),
        homes: texts(&[
            "https://archive.ics.uci.edu/dataset/31/covertype",
            "https://figshare.com/ndownloader/files/5976039",
        ]),
        files: vec![Wanted {
            name: "covtype.data.gz".into(),
            urls: texts(&[
                "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
                "https://ndownloader.figshare.com/files/5976039",
            ]),
            sums: Sums::new(
                "99670d8d942f09d459c7d4486fca8af5",
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            ),
            content: Some(Sums::new(
                "71df19898bd3e11db15ae0faf4159f2c",
                "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
            )),
            lines: Some(covtype::SAMPLES as u64),
            ..Wanted::default()
        }],
    }
}

fn cifar10() -> Original {
    let batches = (1..=5).map(|batch| format!("data_batch_{batch}.bin"));
    let members = batches.chain(["test_batch.bin".into()]).map(|name| (name, 30_730_000)).collect();
    Original {
        name: "cifar10".into(),
        title: "CIFAR-10: 50,000 + 10,000 colour pictures of 32 x 32 pixels, 10 classes".into(),
        terms: "cite Alex Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
            .into(),
        homes: texts(&["https://www.cs.toronto.edu/~kriz/cifar.html"]),
        files: vec![Wanted {
            name: "cifar-10-binary.tar.gz".into(),
            urls: texts(&["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"]),
            size: Some(170_052_171),
            sums: Sums::new(
                "c32a1d4ab5d03f1284b67883e8d87530",
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
            members,
            ..Wanted::default()
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be_fetched_and_checked() {
        for set in known() {
            assert!(!set.files.is_empty() && !set.homes.is_empty() && !set.terms.is_empty());
            for file in set.files {
                assert!(file.urls.iter().all(|url| url.starts_with("https://")), "{file:?}");
                assert!(!file.urls.is_empty() && !file.name.contains(['/', '\\']));
                for sums in [Some(&file.sums), file.content.as_ref()].into_iter().flatten() {
                    let lengths = [&sums.md5, &sums.sha256].map(|sum| {
                        let sum = sum.as_ref().unwrap();
                        assert!(sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sum}");
                        sum.len()
                    });
                    assert_eq!(lengths, [32, 64]);
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
        let text = |name| named(name).unwrap_err().to_string();
        assert_eq!(text("cifar"), "there is no data set `cifar`: did you mean `cifar10`?");
        assert!(text("CIFAR-10").contains("did you mean `cifar10`?"));
        assert!(text("imagenet").ends_with("choose one of mnist, covtype, cifar10"));
        assert_eq!(named("covtype").unwrap().name, "covtype");
    }
}
