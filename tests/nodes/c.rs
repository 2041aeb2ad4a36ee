//! A node written in C, in a fleet with Rust nodes: the same bits, within its budgets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use lopa_core::footprint::Footprint;
use lopa_core::node::Scheme;
use lopa_host::chips::EMULATED;
use lopa_host::network::Faults;

use super::{PATIENT, assert_simulated_bits, fleet, logistic, run};
use crate::chips::budgets::{paint, row, stack, statics};
use crate::chips::emulator::{CORTEX_M4F, flash};

const ROUNDS: u64 = 200;
/// Features of the problem in this module's tests, and of the memory that the example has.
const FEATURES: usize = 24;
/// The node in C.
const IN_C: u32 = 2;
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/c/README.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).current_dir(root()).output().unwrap();
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command}\n{}{}", texts[0], texts[1]);
    texts[0].clone().into_owned()
}

/// Runs the page's commands, except for this test's own, and returns the folder that they build in.
fn built() -> PathBuf {
    static BUILT: Mutex<bool> = Mutex::new(false);
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*built {
        let page = fs::read_to_string(PAGE).unwrap();
        let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
        assert!(commands.len() == 7 && commands[6].starts_with("cargo test"), "{commands:?}");
        commands[..6].iter().for_each(|command| drop(shell(command)));
        *built = true;
    }
    root().join("firmware/target/c")
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_node_in_c_computes_the_bits_of_rust_nodes_within_its_budgets() {
    let image = built().join("node");
    let prepared = logistic(4, "ring", ROUNDS);
    let faults = Faults { corrupt: 0.1, ..Faults::NONE };
    let mut fleet = fleet(&prepared, None, PATIENT, Some(faults));
    fleet.put_on(IN_C, &EMULATED, &image).unwrap();
    paint(&mut fleet);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    let passed = fleet.passed();
    println!("{passed:?}");
    assert!(passed.spoiled as f64 > 0.07 * passed.frames as f64, "{passed:?}");
    let counters = fleet.client(IN_C).unwrap().counters().unwrap();
    assert!(counters.repaired > 0 && counters.corrupt + counters.truncated > 0, "{counters:?}");
    // It has no flash for checkpoints, and says so.
    assert!(!fleet.client(IN_C).unwrap().checkpoint().unwrap());
    assert!(fleet.client(0).unwrap().checkpoint().unwrap());

    let node = Footprint::new(Scheme::GradientTracking, FEATURES, FEATURES, FEATURES);
    let besides = statics(&image) - node.state - node.scratch;
    let page = fs::read_to_string(PAGE).unwrap();
    let found = [
        ("flash", flash::bytes(&image) as usize),
        ("RAM besides the node's floats", besides),
        ("stack", stack(&fleet, IN_C)),
    ];
    println!("{found:?}");
    for (name, found) in found {
        let (known, most) = row(&page, name);
        assert!(found <= most, "{name}: {found} bytes, at most {most} are allowed");
        assert!(found.abs_diff(known) * 10 <= known, "{name} is {found}, in the table {known}");
    }
    assert_eq!(besides, row(&page, "RAM besides the node's floats").0, "a constant");
    assert_eq!(["flash", "stack"].map(|name| row(&page, name).1), [40 << 10, 4 << 10]);
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn the_self_test_notices_an_fpu_that_changes_bits() {
    let printed = CORTEX_M4F.run(&built().join("self-test"));
    let lines: Vec<(&str, &str)> = printed.lines().filter_map(|l| l.split_once(": ")).collect();
    let right = |(_, text): &&(&str, &str)| *text == "no error";
    assert_eq!(lines.iter().filter(right).count(), 2, "{printed}");
    assert!(lines.iter().filter(right).all(|(name, _)| *name == "as it starts"), "{printed}");
    let wrong = lines.iter().filter(|(_, text)| text.starts_with("floats are not IEEE 754"));
    assert_eq!(wrong.count(), 4, "{printed}");
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn the_installed_package_makes_the_same_image() {
    let built = built();
    let images = [built.join("node"), built.join("packaged/node")];
    let [own, packaged] = images.map(|image| (flash::bytes(&image), statics(&image)));
    assert_eq!(own, packaged);
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn the_library_has_no_variables_and_no_reachable_panic_and_needs_nothing() {
    let archive = built().join("installed/lib/liblopa.a");
    let archive = archive.display();
    // All functions of the header at once, and no other library: what is missing, the linker names. That is also how a panic
    // would show, because the panic handler calls a function that does not exist.
    let header = fs::read_to_string(root().join("firmware/c/include/lopa.h")).unwrap();
    let declared = header.lines().filter(|line| !line.starts_with([' ', '#', '/']));
    let name = |line: &'_ str| -> Option<String> {
        let from = line.find("lopa_")?;
        Some(line[from..].split('(').next()?.to_owned())
    };
    let names: Vec<String> = declared.filter_map(name).collect();
    assert!(names.len() >= 18, "{names:?}");
    let all: String = names.iter().map(|name| format!("-Wl,-u,{name} ")).collect();
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("all");
    shell(&format!(
        "arm-none-eabi-gcc -nostdlib -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Wl,--gc-sections \
         -Wl,-e,lopa_node_init {all} {archive} -o {}",
        image.display()
    ));
    assert!(flash::bytes(&image) > 30_000);
    assert_eq!(statics(&image), 0, "bytes of variables");
}
