//! A node written in C, in a fleet with Rust nodes: the same bits, within its budgets.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lopa_core::footprint::Footprint;
use lopa_core::node::Scheme;
use lopa_core::wire::Cause;
use lopa_host::chips::EMULATED;
use lopa_host::fleet::{Emulated, Layout, Silence, patient};
use lopa_host::network::Faults;
use lopa_host::run::Prepared;

use super::keys::{keys, ring};
use super::{
    PATIENT, assert_simulated_bits, continue_as, counters, described, fleet, logistic, prepared,
    run,
};
use crate::chips::budgets::{check, paint, row, stack, statics};
use crate::chips::emulator::{CORTEX_M4F, TARGETS, flash};

const ROUNDS: u64 = 100;
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

/// Whether the page's commands have run. All builds share cargo's folder, where one library replaces the other: one at a time,
/// also if two programs of tests run in this folder.
fn alone() -> (MutexGuard<'static, bool>, File) {
    static BUILT: Mutex<bool> = Mutex::new(false);
    let built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = root().join("firmware/target");
    fs::create_dir_all(&folder).unwrap();
    let file = File::create(folder.join("c.lock")).unwrap();
    file.lock().unwrap();
    (built, file)
}

/// Where cargo builds, as the page's commands have it.
const CARGO: &str = "firmware/target/c/lopa/cargo";

/// Runs the page's commands, except for this test's own, and returns the folder that they build in.
fn built() -> PathBuf {
    let (mut built, _file) = alone();
    if !*built {
        let page = fs::read_to_string(PAGE).unwrap();
        let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
        assert!(commands.len() == 8 && commands[6].starts_with("cargo test"), "{commands:?}");
        let own = |command: &&&str| !command.starts_with("cargo test");
        commands.iter().filter(own).for_each(|command| drop(shell(command)));
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
    let counters = counters(&mut fleet, IN_C);
    assert!(counters.repaired > 0 && counters.corrupt + counters.truncated > 0, "{counters:?}");
    assert!(fleet.client(IN_C).unwrap().checkpoint().unwrap());

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
        check(&page, name, found);
    }
    assert_eq!(besides, row(&page, "RAM besides the node's floats").0, "a constant");
    assert_eq!(["flash", "stack"].map(|name| row(&page, name).1), [40 << 10, 4 << 10]);
}

/// Builds the example with other options, in a folder of its own, and returns its image.
fn example(folder: &str, options: &str) -> PathBuf {
    let (folder, _alone) = (format!("firmware/target/{folder}"), alone());
    shell(&format!(
        "cmake -S firmware/c/example -B {folder} -DLOPA_CARGO_FOLDER=$PWD/{CARGO} {options} \
         -DCMAKE_TOOLCHAIN_FILE=$PWD/firmware/c/cmake/cortex-m4f.cmake && \
         cmake --build {folder} --target node"
    ));
    root().join(folder).join("node")
}

/// Runs half of the rounds, cuts the power and runs the rest. If the node in C began again, its neighbours would begin a new
/// epoch, and there must be none.
fn in_two_halves(ring: impl Fn(u64) -> Prepared, image: &Path) {
    let half = ring(ROUNDS / 2);
    let mut fleet = fleet(&half, None, PATIENT, None);
    fleet.put_on(IN_C, &EMULATED, image).unwrap();
    run(&half, &mut fleet, &[], PATIENT);
    let whole = ring(ROUNDS);
    continue_as(&whole, &mut fleet);
    assert_simulated_bits(&whole, &mut fleet);
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_node_in_c_continues_from_its_checkpoint_after_a_power_cut() {
    in_two_halves(|rounds| logistic(4, "ring", rounds), &built().join("node"));
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_node_in_c_with_a_key_does_so_too_and_without_encryption_it_refuses_the_blob() {
    let image = example("c-key", "-DLOPA_FEATURES=encrypt -DFLASH=48K");
    let (_keys, [key, _]) = keys();
    in_two_halves(|rounds| ring(rounds, Some(&key)), &image);
    let mut plain = fleet(&ring(ROUNDS, Some(&key)), None, PATIENT, None);
    plain.put_on(IN_C, &EMULATED, &built().join("node")).unwrap();
    let refused = plain.start(IN_C).unwrap().status();
    assert!(matches!(refused, Err(Silence::Refused { .. })), "{refused:?}");
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_node_in_c_sends_few_bits_and_without_a_codec_it_refuses_the_blob() {
    let image = example("c-bits", "-DLOPA_FEATURES=codec -DFLASH=52K");
    // As many features as the example has memory for.
    let ring = |rounds| {
        let file = described(4, "ring", rounds).replace("features = 24", "features = 16");
        prepared(&format!("links = {{ bits = 4 }}\n{file}"))
    };
    in_two_halves(ring, &image);
    let mut plain = fleet(&ring(ROUNDS), None, PATIENT, None);
    plain.put_on(IN_C, &EMULATED, &built().join("node")).unwrap();
    let Err(Silence::Refused { trouble, .. }) = plain.start(IN_C).unwrap().status() else {
        panic!("the node accepted a codec")
    };
    assert_eq!(trouble.cause, Cause::Codec);
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
fn the_self_test_notices_float_routines_that_change_bits() {
    let (folder, alone) = ("firmware/target/c-m0", alone());
    shell(&format!(
        "cmake -S firmware/c/example -B {folder} -DLOPA_CARGO_FOLDER=$PWD/{CARGO} \
         -DCMAKE_TOOLCHAIN_FILE=$PWD/firmware/c/cmake/cortex-m0.cmake && \
         cmake --build {folder} --target self-test flushing"
    ));
    drop(alone);
    let printed = |program: &str| {
        // A Cortex-M3, which runs the code for a Cortex-M0.
        shell(&format!(
            "qemu-system-arm -M mps2-an385 -display none -serial none -monitor none \
             -semihosting-config enable=on,target=native -kernel {folder}/{program}"
        ))
    };
    let (sound, flushing) = (printed("self-test"), printed("flushing"));
    assert!(sound.starts_with("as it starts: no error\n"), "{sound}");
    assert!(flushing.starts_with("as it starts: floats are not IEEE 754"), "{flushing}");
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn the_installed_package_makes_the_same_image() {
    let built = built();
    let images = [built.join("node"), built.join("packaged/node")];
    let [own, packaged] = images.map(|image| (flash::bytes(&image), statics(&image)));
    assert_eq!(own, packaged);
}

/// Links all functions of the header at once, and no other library: what is missing, the linker names. That is also how a
/// panic would show, because the panic handler calls a function that does not exist.
fn link_all(archive: &Path) -> Result<PathBuf, String> {
    let header = fs::read_to_string(root().join("firmware/c/include/lopa.h")).unwrap();
    let declared = header.lines().filter(|line| !line.starts_with([' ', '#', '/']));
    let name = |line: &str| Some(line[line.find("lopa_")?..].split('(').next()?.to_owned());
    let names: Vec<String> = declared.filter_map(name).collect();
    assert!(names.len() >= 18, "{names:?}");
    // The linker that comes with Rust, which knows every chip.
    let sysroot = shell("rustc --print sysroot");
    let host = shell("rustc -vV | sed -n 's/^host: //p'");
    let linker = format!("{}/lib/rustlib/{}/bin/rust-lld", sysroot.trim(), host.trim());
    let image = archive.with_file_name("all");
    let mut command = Command::new(linker);
    command.args(["-flavor", "gnu", "--gc-sections", "-e", "lopa_node_init", "-o"]).arg(&image);
    command.args(names.iter().flat_map(|name| ["-u", name]));
    let output = command.arg(archive).output().unwrap();
    match output.status.success() {
        true => Ok(image),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
#[ignore = "needs the chip targets and CMake: tests/run.sh runs it"]
fn the_library_has_no_variables_and_no_reachable_panic_and_needs_nothing() {
    let archive = built().join("installed/lib/liblopa.a");
    let image = link_all(&archive).unwrap_or_else(|error| panic!("{error}"));
    assert!(flash::bytes(&image) > 30_000);
    assert_eq!(statics(&image), 0, "bytes of variables");
}

/// Builds the library for a chip, and links all of it.
fn linked(target: &str, features: &str) -> Result<PathBuf, String> {
    let _alone = alone();
    let own = format!("firmware/target/c-all/{target}");
    shell(&format!(
        "cmake -S firmware/c -B {own} -DLOPA_RUST_TARGET={target} -DLOPA_CARGO_FOLDER=$PWD/{CARGO} \
         '-DLOPA_FEATURES={features}' && cmake --build {own}"
    ));
    link_all(&root().join(CARGO).join(target).join("release/liblopa.a"))
}

#[test]
#[ignore = "needs the chip targets and CMake: tests/run.sh runs it"]
fn the_same_holds_for_every_chip_with_all_features() {
    for target in TARGETS {
        let image = linked(target, "all-problems;codec;encrypt;integer");
        let image = image.unwrap_or_else(|error| panic!("{target}: {error}"));
        assert_eq!(statics(&image), 0, "bytes of variables on {target}");
    }
    let error = linked(CORTEX_M4F.target, "planted").expect_err("it must not link");
    assert!(error.contains("undefined symbol: lopa_a_panic_is_reachable"), "{error}");
}

#[test]
#[ignore = "needs QEMU, the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_node_in_c_reports_a_refused_blob() {
    let blobs =
        |file: &str| Layout::new(&prepared(file), None, patient(PATIENT, false)).unwrap().blobs;
    let file = described(1, "path", 30);
    let sound = blobs(&file).concat();
    let mut torn = sound.clone();
    torn[200] ^= 1;
    let large = blobs(&file.replace("features = 24", "features = 25")).concat();
    let mut board = Emulated::new(&built().join("node"), &[sound], None).unwrap();
    for (blob, cause, numbers, logged) in [
        (vec![0; 64], Cause::NoBlob, (0, 0), "not a blob"),
        (torn, Cause::Corrupt, (0, 0), "checksum is wrong"),
        (large, Cause::Floats, (200, 192), "lopa_node_size returns the bytes"),
    ] {
        board.flash(0, &blob).unwrap();
        let Err(Silence::Refused { trouble, .. }) = board.start(0).unwrap().status() else {
            panic!("the node accepted this: {logged}")
        };
        assert_eq!((trouble.cause, (trouble.needed, trouble.found)), (cause, numbers));
        assert!(board.log(0).contains(logged), "{}", board.log(0));
        board.kill(0);
    }
}

/// Configures a project that has stand-ins for a build system's functions, and returns what it printed or the error.
fn configured(stubs: &str, package: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let package = root().join("firmware/c").join(package);
    let project = format!(
        "cmake_minimum_required(VERSION 3.21)\nproject(stub LANGUAGES NONE)\n{stubs}\n\
         add_subdirectory({:?} package)\n\
         get_directory_property(target DIRECTORY {:?} DEFINITION LOPA_RUST_TARGET)\n\
         get_directory_property(features DIRECTORY {:?} DEFINITION LOPA_FEATURES)\n\
         message(STATUS \"chosen: ${{target}} ${{features}}\")\n",
        package, package, package
    );
    fs::write(folder.path().join("CMakeLists.txt"), project).unwrap();
    let mut cmake = Command::new("cmake");
    let output = cmake.args(["-S", ".", "-B", "b"]).current_dir(folder.path()).output().unwrap();
    let texts =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let [printed, errors] = texts;
    if !output.status.success() {
        // CMake wraps lines.
        return Err(errors.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let chosen = printed.lines().find_map(|line| line.strip_prefix("-- chosen: "));
    Ok(chosen.expect("printed").trim().to_owned())
}

#[test]
#[ignore = "needs CMake: tests/run.sh runs it"]
fn packages_for_zephyr_and_esp_idf_choose_the_target() {
    let zephyr = |set: &str| {
        let stubs = "function(zephyr_link_libraries)\nendfunction()\nfunction(zephyr_include_directories)\nendfunction()";
        configured(&format!("{stubs}\nset(CONFIG_LOPA y)\n{set}"), "zephyr")
    };
    let chosen = |set: &str| zephyr(set).unwrap_or_else(|error| panic!("{set}: {error}"));
    assert_eq!(chosen("set(CONFIG_CPU_CORTEX_M0PLUS y)"), "thumbv6m-none-eabi");
    let m4 =
        "set(CONFIG_CPU_CORTEX_M4 y)\nset(CONFIG_LOPA_ALL_PROBLEMS y)\nset(CONFIG_LOPA_ENCRYPT y)";
    assert_eq!(chosen(m4), "thumbv7em-none-eabi all-problems;encrypt");
    let fpu = "set(CONFIG_FPU y)\nset(CONFIG_FP_HARDABI y)";
    let m33 = format!("set(CONFIG_CPU_CORTEX_M33 y)\n{fpu}");
    assert_eq!(chosen(&m33), "thumbv8m.main-none-eabihf");
    assert_eq!(chosen("set(CONFIG_RISCV y)"), "riscv32imc-unknown-none-elf");
    assert!(zephyr("set(CONFIG_X86 y)").unwrap_err().contains("no Rust target is known"));

    let idf = |chip: &str| {
        let stubs = "add_library(component INTERFACE)\nset(COMPONENT_LIB component)\n\
                     function(idf_component_register)\nendfunction()";
        configured(&format!("{stubs}\nset(IDF_TARGET {chip})"), "esp-idf/lopa")
    };
    assert_eq!(idf("esp32c3").unwrap(), "riscv32imc-unknown-none-elf");
    assert!(idf("esp32s3").unwrap_err().contains("not supported here yet"));
}

#[test]
#[ignore = "needs the chip targets, CMake and arm-none-eabi-gcc: tests/run.sh runs it"]
fn the_arduino_library_has_its_files_in_place() {
    let built = built();
    let library = built.join("../arduino/lopa");
    let archive = fs::read(library.join("src/cortex-m4/fpv4-sp-d16-hard/liblopa.a")).unwrap();
    assert!(archive == fs::read(built.join("installed/lib/liblopa.a")).unwrap());
    let header = fs::read(library.join("src/lopa.h")).unwrap();
    assert!(header == fs::read(root().join("firmware/c/include/lopa.h")).unwrap());
    let properties = fs::read_to_string(library.join("library.properties")).unwrap();
    // Those that the specification requires, and the version of the crate.
    for name in [
        "name",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
    ] {
        let start = format!("{name}=");
        assert!(
            properties.lines().any(|line| line.len() > start.len() && line.starts_with(&start))
        );
    }
    assert!(properties.contains(concat!("version=", env!("CARGO_PKG_VERSION"), "\n")));
    let manifest = fs::read_to_string(root().join("firmware/c/library.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}
