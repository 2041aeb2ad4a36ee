"""Has cargo build liblopa.a for the board, and links it."""

import os
import subprocess

Import("env", "pio_lib_builder")  # noqa: F821, of PlatformIO

TARGETS = {
    "cortex-m0": "thumbv6m-none-eabi",
    "cortex-m0plus": "thumbv6m-none-eabi",
    "cortex-m4": "thumbv7em-none-eabi",
    "cortex-m7": "thumbv7em-none-eabi",
    "cortex-m33": "thumbv8m.main-none-eabi",
}


def target(environment):
    """The Rust target for the flags of the C compiler, which must agree with it on how floats are passed."""
    flags = [str(flag) for flag in environment.get("CCFLAGS", [])]
    cpu = next((flag[len("-mcpu="):] for flag in flags if flag.startswith("-mcpu=")), None)
    if cpu not in TARGETS:
        raise SystemExit(f"lopa: no Rust target is known for {cpu}: add it to {__file__}")
    return TARGETS[cpu] + ("hf" if "-mfloat-abi=hard" in flags else "")


own = pio_lib_builder.path  # noqa: F821
chip = target(env)  # noqa: F821
folder = os.path.join(env.subst("$BUILD_DIR"), "lopa")  # noqa: F821
subprocess.run(
    ["cmake", "-S", own, "-B", folder, f"-DLOPA_RUST_TARGET={chip}"], check=True
)
subprocess.run(["cmake", "--build", folder], check=True)
built = os.path.join(folder, "cargo", chip, "release")
env.Append(LIBPATH=[built], LIBS=["lopa"])  # noqa: F821
