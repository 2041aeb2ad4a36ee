//! The data sets of the paper's experiments: where they are published, and their checksums.

use super::{FetchError, Original, Wanted};
use crate::words;

/// The known data sets.
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

/// The data set with this name.
///
/// # Errors
/// If there is none; the error suggests a similar name.
pub fn named(name: &str) -> Result<Original, FetchError> {
    let mut sets = known();
    if let Some(place) = sets.iter().position(|set| set.name == name) {
        return Ok(sets.swap_remove(place));
    }
    let names = sets.iter().map(|set| set.name.as_str());
    let hint = match words::nearest(name, names.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("choose one of {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err(FetchError::Local(format!("there is no data set `{name}`: {hint}")))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.into()).collect()
}

fn mnist() -> Original {
    let file = |(name, size, sha256): (&str, u64, &str)| Wanted {
        name: name.into(),
        urls: vec![
            format!("https://ossci-datasets.s3.amazonaws.com/mnist/{name}"),
            format!("https://storage.googleapis.com/cvdf-datasets/mnist/{name}"),
        ],
        size: Some(size),
        sha256: sha256.into(),
        ..Wanted::default()
    };
    let files = [
        (
            "train-images-idx3-ubyte.gz",
            9_912_422,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            28_881,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            1_648_877,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            4_542,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ];
    Original {
        name: "mnist".into(),
        title: "MNIST: 60,000 + 10,000 handwritten digits of 28 x 28 pixels".into(),
        terms: "Yann LeCun and Corinna Cortes, CC BY-SA 3.0".into(),
        homes: texts(&[
            "http://yann.lecun.com/exdb/mnist/",
            "https://github.com/cvdfoundation/mnist",
        ]),
        files: files.map(file).into(),
    }
}

fn covtype() -> Original {
    Original {
        name: "covtype".into(),
        title: "Covertype: 581,012 patches of forest, 54 features, 7 kinds of trees".into(),
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
            sha256: "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945".into(),
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
            sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd".into(),
            members,
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
                assert!(file.sha256.len() == 64, "{file:?}");
                assert!(file.sha256.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
            }
        }
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let text = |name| named(name).unwrap_err().to_string();
        assert_eq!(text("cifar"), "there is no data set `cifar`: did you mean `cifar10`?");
        assert!(text("CIFAR-10").contains("did you mean `cifar10`?"));
        assert!(text("imagenet").ends_with("choose one of mnist, covtype, cifar10"));
        assert_eq!(named("covtype").unwrap().name, "covtype");
    }
}
