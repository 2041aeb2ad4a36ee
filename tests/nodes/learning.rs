//! Real problems on emulated boards.

use lopa_core::samples::Features;
use lopa_host::chips::{EMULATED_LARGE, Loaded};
use lopa_host::fleet::reference::{Reference, measure};
use lopa_host::fleet::{Layout, patient};
use lopa_host::run::Prepared;
use lopa_tests::real_data::{data_set, find};

use super::{PATIENT, assert_simulated_bits, described, fleet, prepared, run};

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn ten_boards_learn_mnist() {
    let dir = data_set("mnist");
    // Pixels stay bytes in the blobs. LG sends half as much as GT, and traffic on emulated lines dominates the time.
    let prepared = prepared(&format!(
        r#"
        network = {{ nodes = 10 }}
        problem = {{ kind = "logistic" }}
        run = {{ iterations = 40, record_every = 40, x0 = -6.0, checkpoint_every = 20 }}
        [data]
        source = "mnist"
        dir = {dir:?}
        classes = ["0", "1"]
        samples = 12000
        [algorithm]
        name = "lopa-lg"
        alpha = 0.1
        beta = 0.1
        lambda = 0.1
        gamma = 0.4
        tau = 0.4
        batch = 40
        "#
    ));
    let mut fleet = fleet(&prepared, None, PATIENT, None);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let reference = Reference::run(&prepared, &stop, |_| ()).unwrap().unwrap();
    let readings = fleet.readings().unwrap();
    let measured = measure(&prepared, &readings, &reference, false, 0.0).unwrap();
    let accuracy = measured.record.last("test_accuracy").unwrap();
    println!("test accuracy of the boards' own states: {accuracy}");
    assert!(accuracy > 0.98, "{accuracy}");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn boards_standardise_raw_readings_themselves() {
    boards_standardise_in("float");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn boards_compute_in_integers_as_a_host_does() {
    boards_standardise_in("integer");
}

fn boards_standardise_in(arithmetic: &str) {
    let prepared = readings(LOGISTIC, 3, arithmetic);
    let layout = Layout::new(&prepared, None, patient(PATIENT, false)).unwrap();
    for blob in &layout.blobs {
        let loaded = Loaded::new(blob);
        let [train, _] = loaded.blob().unwrap().problem().samples().unwrap();
        // The boards get the numbers of the file, and the intercept.
        assert!(matches!(train.features(), Features::U8(raw) if raw[3..5] == [7, 1]), "{train:?}");
    }
    let mut fleet = fleet(&prepared, None, PATIENT, None);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
}

/// A problem, and where x starts.
pub const LOGISTIC: [&str; 2] = ["kind = \"logistic\"", "x0 = -4.0"];

/// A problem on a file of whole numbers, on a path of nodes, in this arithmetic.
pub fn readings(problem: [&str; 2], nodes: u32, arithmetic: &str) -> Prepared {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("readings.csv");
    let mut text = String::from("temperature,pressure,humidity,mode,state\n");
    for row in 0..120_u32 {
        let [a, b, c] = [37, 53, 91].map(|step| row * step % 211 + 20);
        let state = if a + b > c + 120 { "busy" } else { "idle" };
        text += &format!("{a},{b},{c},7,{state}\n");
    }
    std::fs::write(&file, text).unwrap();
    let text = described(nodes, "path", 60);
    let data = "features = 24, relevant = 6, samples = 20";
    assert!(text.contains(data), "{text}");
    let text = text.replace(data, &format!("file = {file:?}"));
    let text = text.replace(LOGISTIC[0], problem[0]).replace(LOGISTIC[1], problem[1]);
    let table = format!("run = {{ arithmetic = {arithmetic:?}, ");
    prepared(&text.replace("run = { ", &table))
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_shared_layer_of_21980_weights_travels_in_chunks() {
    // 784-28-10 if MNIST is available, otherwise synthetic samples of the same width with two classes.
    let data = match find("mnist") {
        Some(dir) => format!("source = \"mnist\"\ndir = {dir:?}\nsamples = 80"),
        None => "features = 784\nrelevant = 40\nsamples = 40".to_owned(),
    };
    let prepared = prepared(&format!(
        r#"
        network = {{ nodes = 2, topology = "path" }}
        problem = {{ kind = "shared-layer", hidden = 28, mu = 0.1 }}
        run = {{ iterations = 1, x0 = {{ random = 0.1 }} }}
        [data]
        {data}
        [algorithm]
        name = "lopa-gt"
        alpha = 0.1
        beta = 0.1
        lambda = 0.1
        gamma = 0.4
        tau = 0.4
        batch = 4
        "#
    ));
    let layout = Layout::new(&prepared, None, patient(PATIENT, false)).unwrap();
    assert_eq!(layout.board, EMULATED_LARGE);
    let mut fleet = fleet(&prepared, None, PATIENT, None);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    let reading = fleet.client(0).unwrap().reading().unwrap();
    assert_eq!(reading.variables[0].len(), 21_980);
    // 32 elements of x and of y per frame.
    assert!(reading.counters.sent >= 687, "{:?}", reading.counters);
}
