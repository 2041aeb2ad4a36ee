//! Exported models on emulated chips: the bits of `lopa predict`, from Rust and from C.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use lopa_host::config::Experiment;
use lopa_host::data::Fresh;
use lopa_host::model::Model;
use lopa_host::model::export::Export;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Prepared};

use super::emulator::{CORTEX_M0, CORTEX_M4F, Machine};

/// The program, which `rustc` builds: cargo would need a package for each model.
const PROGRAM: [(&str, &str); 3] = [
    ("main.rs", include_str!("main.rs")),
    ("start.rs", include_str!("start.rs")),
    ("link.x", include_str!("link.x")),
];

/// The node whose model is exported.
const NODE: &str = "south";

/// What the C compiler is told: the options of most projects, and those that change floats most.
const FLAGS: [&[&str]; 3] =
    [&["-O2", "-std=gnu11"], &["-Os", "-std=c99"], &["-O3", "-std=gnu17", "-ffast-math"]];

/// A problem: its name, its table, where x starts, and its label.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: [Case; 3] = [
    ("logistic", "kind = \"logistic\"", "-3.0", "state"),
    ("ridge", "kind = \"ridge\"", "-3.0", "weight"),
    ("layer", "kind = \"shared-layer\"\nhidden = 5\nmu = 0.01", "{ random = 3.0 }", "group"),
];

/// Samples in units that need scaling; the last three columns are labels.
fn samples() -> String {
    let mut text = "age,pressure,pulse,clinic,state,group,weight\n".to_owned();
    for row in 0..120_u32 {
        let (age, pulse) = (20 + row * 37 % 61, 50 + row * 53 % 71);
        let pressure = 100_000.0 + f64::from(row * 91 % 4_000) * 1.3;
        let clinic = ["north", NODE][row as usize % 2];
        let state = if 2 * age + pulse > 190 { "ill" } else { "healthy" };
        let group = ["low", "middle", "high"][(pulse as usize - 50) / 24];
        let weight = f64::from(pulse) * 0.7 - f64::from(age) * 0.3 + f64::from(row % 7);
        let _ = writeln!(text, "{age},{pressure:.1},{pulse},{clinic},{state},{group},{weight:.2}");
    }
    text
}

/// Learns from the samples, and returns the model that the run wrote.
fn learn(folder: &Path, (name, kind, start, label): Case) -> Model {
    let others = ["state", "group", "weight"].into_iter().filter(|other| *other != label);
    let others: Vec<String> = others.map(|other| format!("{other:?}")).collect();
    let others = others.join(", ");
    let text = format!(
        "[network]\nnodes = 2\ntopology = \"path\"\n[problem]\n{kind}\n[data]\nfile = \"samples.csv\"\nlabel = {label:?}\n\
         node = \"clinic\"\nignore = [{others}]\n[algorithm]\nname = \"lopa-gt\"\nalpha = 0.3\nbeta = 0.2\nlambda = 0.05\n\
         gamma = 0.3\ntau = 0.5\n[run]\niterations = 200\nx0 = {start}\n"
    );
    let file = folder.join("network.toml");
    fs::write(&file, text).unwrap();
    let (prepared, outputs) = (
        Prepared::new(Experiment::read(&file).unwrap()).unwrap(),
        Outputs::new(folder.join(name)).unwrap(),
    );
    let options = Options { outputs: Some(&outputs), ..Options::default() };
    prepared.run(options, |_| {}).unwrap();
    Model::read(folder.join(name)).unwrap()
}

/// What `lopa predict` prints for the samples, less the header, and with floats as bits: numbers that differ are written
/// differently.
fn predicted(model: &Model, fresh: &Fresh) -> String {
    let predictions = model.predict(fresh, Some(NODE)).unwrap();
    let mut text = String::new();
    for line in predictions.csv().lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let place = model.classes().iter().position(|class| class == cells[0]);
        let floats = if place.is_some() { &cells[1..] } else { &cells[..] };
        let bits = |cell: &&str| format!(" {:08x}", cell.parse::<f32>().unwrap().to_bits());
        let floats: String = floats.iter().map(bits).collect();
        let _ = writeln!(text, "{}{floats}", place.unwrap_or(0));
    }
    text
}

/// What depends on the model in the program: the samples, and one of them through the Rust module and the C header.
fn case(model: &Model, fresh: &Fresh) -> (String, String) {
    let classes = model.classes().len();
    let (floats, rust, c) = match (classes, model.hidden) {
        (0, _) => (1, "(0, [predict(row)])", "floats[0] = model_predict(row); return 0;"),
        (_, Some(_)) => (
            1 + classes,
            "let [a, b, c] = scores(row); (predict(row), [probability(row), a, b, c])",
            "model_scores(row, floats + 1); floats[0] = model_probability(row); return model_predict(row);",
        ),
        (_, None) => (
            2,
            "(predict(row), [probability(row), score(row)])",
            "floats[0] = model_probability(row); floats[1] = model_score(row); return model_predict(row);",
        ),
    };
    let bits = |float: &f32| format!("f32::from_bits({})", float.to_bits());
    let row = |row: &[f32]| format!("[{}],\n", row.iter().map(bits).collect::<Vec<_>>().join(", "));
    let rows: String = fresh.rows().map(row).collect();
    let count = fresh.rows().count();
    let rust = format!(
        "use super::model::*;\npub const FLOATS: usize = {floats};\n\
         pub static ROWS: [[f32; FEATURES]; {count}] = [\n{rows}];\n\
         pub fn from_rust(row: &[f32; FEATURES]) -> (usize, [f32; FLOATS]) {{ {rust} }}\n"
    );
    let c = format!(
        "#include \"model.h\"\nint from_c(const float *row, float *floats);\n\
         int from_c(const float *row, float *floats)\n{{\n    {c}\n}}\n"
    );
    (rust, c)
}

/// Runs a tool that must succeed.
fn tool(folder: &Path, name: &str, arguments: &[&str]) {
    let output = Command::new(name).current_dir(folder).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    assert!(
        output.status.success(),
        "{name} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A chip, and how GCC is told to compile for it.
type Chip = (&'static Machine, &'static [&'static str]);

const M4F: Chip =
    (&CORTEX_M4F, &["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]);
const M0: Chip = (&CORTEX_M0, &["-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft"]);

/// Learns, exports, builds and runs every problem, and compares each float with what is predicted here. Returns the first
/// line that differs of each program, after a change of the header.
fn differences((machine, cpu): Chip, change: impl Fn(String) -> String) -> Vec<String> {
    let mut all = Vec::new();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    fs::write(folder.join("samples.csv"), samples()).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let link = ["-C", "link-arg=-Tlink.x", "-C", "link-arg=from_c.o"];
    let build = [&["--edition", "2024", "-O", "--target", machine.target, "main.rs"], &link[..]];
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffreestanding", "-c", "from_c.c"];
    for problem in CASES {
        let model = learn(folder, problem);
        let labels = model.problem.labels();
        let fresh = Fresh::read(folder.join("samples.csv"), &model.columns, labels, &[]).unwrap();
        let export = Export::new(&model, model.node(Some(NODE)).unwrap()).unwrap();
        let (rust, c) = case(&model, &fresh);
        let made = [
            ("case.rs", &*rust),
            ("model.rs", &export.rust()),
            ("from_c.c", &c),
            ("model.h", &change(export.c("model"))),
        ];
        for (name, text) in PROGRAM.into_iter().chain(made) {
            fs::write(folder.join(name), text).unwrap();
        }
        let (expected, count) = (predicted(&model, &fresh).repeat(2), fresh.rows().count());
        for flags in FLAGS {
            tool(folder, "arm-none-eabi-gcc", &[cpu, flags, &strict].concat());
            tool(folder, &rustc, &build.concat());
            let found = machine.run(&folder.join("main"));
            assert_eq!(found.lines().count(), 2 * count, "{found}");
            let lines = found.lines().zip(expected.lines()).enumerate();
            if let Some((line, (found, expected))) = lines.into_iter().find(|(_, (a, b))| a != b) {
                let (language, row) = (["Rust", "C"][line / count], line % count);
                let (name, chip) = (problem.0, machine.chip);
                let what = format!("{found} instead of {expected}");
                all.push(format!("{language}, {name}, {flags:?}, {chip}, row {row}: {what}"));
            }
        }
    }
    all
}

/// Whether there are differences, and all of them in C.
fn only_c(differences: &[String]) -> bool {
    !differences.is_empty() && differences.iter().all(|line| line.starts_with("C,"))
}

#[test]
#[ignore = "needs QEMU, the chip targets and arm-none-eabi-gcc: tests/run.sh runs it"]
fn exported_models_have_the_bits_of_predict_on_cortex_m4f() {
    assert_eq!(differences(M4F, |header| header), [""; 0]);
}

#[test]
#[ignore = "needs QEMU, the chip targets and arm-none-eabi-gcc: tests/run.sh runs it"]
fn exported_models_have_the_bits_of_predict_on_cortex_m0() {
    assert_eq!(differences(M0, |header| header), [""; 0]);
}

#[test]
#[ignore = "needs QEMU, the chip targets and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_header_without_volatile_variables_has_other_bits() {
    let found = differences(M4F, |header| header.replace("volatile ", ""));
    // GCC fuses products and sums where the standard of the language is its own, as it is by default.
    assert!(found.iter().any(|line| line.contains("gnu11")) && only_c(&found), "{found:?}");
}

#[test]
#[ignore = "needs QEMU, the chip targets and arm-none-eabi-gcc: tests/run.sh runs it"]
fn a_wrong_weight_shows() {
    let wrong = |header: String| {
        let weights = "model_weights[MODEL_FEATURES] = {\n    ";
        header.replace(weights, &format!("{weights}1e-6f + "))
    };
    let found = differences(M4F, wrong);
    // Both linear models, with every set of flags.
    assert!(found.len() == 2 * FLAGS.len() && only_c(&found), "{found:?}");
}
