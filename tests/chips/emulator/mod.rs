//! Builds the programs of `firmware/emulated` and runs them on emulated chips.

pub mod flash;
pub mod table;

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lopa_core::math::Kind;
use lopa_host::fleet::image;

/// A program that takes longer than this hangs; the slowest takes seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// A chip and the machine that emulates it.
pub struct Machine {
    /// The chip's name.
    pub chip: &'static str,
    /// The target it is built for.
    pub target: &'static str,
    emulator: &'static str,
    arguments: &'static [&'static str],
}

pub const CORTEX_M0: Machine = Machine {
    chip: "Cortex-M0",
    target: "thumbv6m-none-eabi",
    emulator: "qemu-system-arm",
    arguments: &["-M", "microbit"],
};

pub const CORTEX_M4F: Machine = Machine {
    chip: "Cortex-M4F",
    target: "thumbv7em-none-eabihf",
    emulator: "qemu-system-arm",
    arguments: &["-M", "mps2-an386"],
};

pub const CORTEX_M33: Machine = Machine {
    chip: "Cortex-M33",
    target: "thumbv8m.main-none-eabihf",
    emulator: "qemu-system-arm",
    arguments: &["-M", "mps2-an505"],
};

/// The core is Ibex: RV32IMC without further extensions.
pub const RV32IMC: Machine = Machine {
    chip: "RV32IMC",
    target: "riscv32imc-unknown-none-elf",
    emulator: "qemu-system-riscv32",
    arguments: &["-M", "virt", "-cpu", "lowrisc-ibex", "-bios", "none"],
};

/// Every target that has programs.
pub const TARGETS: [&str; 4] =
    [CORTEX_M0.target, CORTEX_M4F.target, CORTEX_M33.target, RV32IMC.target];

/// How programs are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// The optimisation level.
    pub level: &'static str,
    /// What computes exp and ln.
    pub math: Kind,
    /// Whether lopa-core has integer arithmetic.
    pub integer: bool,
}

impl Build {
    /// Builds programs of `firmware/emulated` for all machines at once, and returns the folder of each.
    pub fn programs(self, programs: &[&str], machines: &[&Machine]) -> Vec<PathBuf> {
        self.with_features(programs, machines, &[])
    }

    /// The same for programs that contain C, which needs arm-none-eabi-gcc.
    pub fn with_c(self, programs: &[&str], machines: &[&Machine]) -> Vec<PathBuf> {
        self.with_features(programs, machines, &["reference"])
    }

    fn with_features(
        self,
        programs: &[&str],
        machines: &[&Machine],
        more: &[&str],
    ) -> Vec<PathBuf> {
        let features: &[&str] = match (self.math, self.integer) {
            (Kind::Libm, false) => &[],
            (Kind::Libm, true) => &["integer"],
            (Kind::Micromath, false) => &["micromath"],
            (Kind::Micromath, true) => &["micromath", "integer"],
        };
        let fast: &[&str] = if self.level == "3" { &["fast"] } else { &[] };
        let targets: Vec<&str> = machines.iter().map(|machine| machine.target).collect();
        let features = [features, fast, more].concat();
        build_programs("emulated", programs, &targets, &features, self.level)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Machine {
    /// Runs a program to its end and returns what it printed.
    pub fn run(&self, image: &Path) -> String {
        let mut command = Command::new(self.emulator);
        command.args(self.arguments).arg("-kernel").arg(image);
        command.args(["-display", "none", "-serial", "none", "-monitor", "none"]);
        command.args(["-semihosting-config", "enable=on,target=native"]);
        // One instruction, one nanosecond: what a program sees does not depend on this machine's speed.
        command.args(["-icount", "shift=0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| {
            let emulator = self.emulator;
            match error.kind() {
                ErrorKind::NotFound => panic!("{emulator} is missing: {}", how_to_get(emulator)),
                _ => panic!("{emulator} does not start: {error}"),
            }
        });
        let printed = collect(child.stdout.take().expect("piped"));
        let errors = collect(child.stderr.take().expect("piped"));
        let Ok(printed) = printed.recv_timeout(PATIENCE) else {
            child.kill().expect("a hanging emulator can be ended");
            child.wait().expect("the emulator ends");
            panic!("{} hangs on {}", image.display(), self.chip);
        };
        let status = child.wait().expect("the emulator ends");
        let errors = errors.recv().expect("collected");
        assert!(
            status.success(),
            "{} failed on {} ({status})\n{printed}\n{errors}",
            image.display(),
            self.chip
        );
        printed
    }
}

/// Builds one program for some targets and returns its images, or the error.
pub fn build(
    package: &str,
    program: &str,
    targets: &[&str],
    features: &[&str],
) -> Result<Vec<PathBuf>, String> {
    let folders = build_programs(package, &[program], targets, features, "3")?;
    Ok(folders.into_iter().map(|folder| folder.join(program)).collect())
}

/// Builds one program for size, `bare` without its default features, and returns its images, or the error.
pub fn build_small(
    package: &str,
    program: &str,
    targets: &[&str],
    bare: bool,
) -> Result<Vec<PathBuf>, String> {
    let (programs, level) = (&[program][..], Some("z"));
    let build = image::Build { package, programs, targets, features: &[], bare, level };
    let folders = build.run(&image::folder(None));
    let folders = folders.map_err(|error| format!("{program} for {targets:?}: {error}"))?;
    Ok(folders.into_iter().map(|folder| folder.join(program)).collect())
}

fn build_programs(
    package: &str,
    programs: &[&str],
    targets: &[&str],
    features: &[&str],
    level: &str,
) -> Result<Vec<PathBuf>, String> {
    let level = Some(level).filter(|level| *level != "3");
    let build = image::Build { package, programs, targets, features, bare: false, level };
    build
        .run(&image::folder(None))
        .map_err(|error| format!("{programs:?} for {targets:?}: {error}"))
}

fn how_to_get(emulator: &str) -> String {
    let package = if emulator.ends_with("arm") { "qemu-system-arm" } else { "qemu-system-misc" };
    format!("apt-get install --no-install-recommends {package}")
}

/// Reads a pipe to its end in the background, so that the caller can wait with a time limit.
fn collect(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("programs print text");
        // The receiver is gone if the program was killed.
        let _ = sender.send(text);
    });
    receiver
}
