#!/usr/bin/env bash
# The whole test of the project, from a bare machine with rustup: installs what it needs, then formatting,
# lints, docs, host tests, chip builds, emulated chips, boards' budgets, and the proof that nothing panics.
# Read-only but for target/ and the installs.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(thumbv6m-none-eabi thumbv7em-none-eabihf thumbv8m.main-none-eabihf riscv32imc-unknown-none-elf)
boards=(nrf52840-dk nucleo-l476rg pico pico-2)
step() { printf '\n== %s\n' "$*"; }

step "Tools"
# Automatic installs may be switched off, so every target is named.
missing=()
for target in "${targets[@]}"; do
  rustup target list --installed | grep -qx "$target" || missing+=("$target")
done
[ ${#missing[@]} -eq 0 ] || rustup target add "${missing[@]}"
if ! command -v qemu-system-arm >/dev/null || ! command -v qemu-system-riscv32 >/dev/null; then
  sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
  if command -v apt-get >/dev/null; then
    $sudo apt-get update -qq
    # Without recommended packages: they pull in desktops, and clash with newer qemu-utils.
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
      qemu-system-arm qemu-system-misc >/dev/null
  elif command -v brew >/dev/null; then
    brew install qemu
  else
    echo "Install QEMU with qemu-system-arm and qemu-system-riscv32, then run this again." >&2
    exit 1
  fi
fi
cargo --version
qemu-system-arm --version | head -n 1

step "Formatting"
cargo fmt --all --check
(cd firmware && cargo fmt --all --check)

step "Lints"
cargo clippy --locked --workspace --all-targets -- -D warnings
for target in "${targets[@]}"; do
  (cd firmware && cargo clippy --locked --release --target "$target" -- -D warnings)
done
# In their folders: each has its own target there, and its chip's features.
for board in "${boards[@]}"; do
  (cd "firmware/$board" && cargo clippy --locked --release -- -D warnings)
done

step "Docs"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

step "Each feature alone on each target"
for target in "${targets[@]}"; do
  for feature in "" auth defmt micromath serde; do
    RUSTFLAGS="-D warnings" cargo build --locked --quiet -p lopa-core --target "$target" --features "$feature"
  done
done

step "Tests on this machine"
cargo test --locked --workspace
cargo test --locked -p lopa-core --features serde --test serde
cargo test --locked -p lopa-core --features auth --lib --test conversation
cargo test --locked -p lopa-core --features micromath --lib
(cd firmware && cargo test --locked -p lopa-node)

step "Tests on emulated chips, budgets of boards, and the link-time proof"
# Of the whole workspace, as above: another choice of packages would build them again.
cargo test --locked --workspace --tests -- --ignored

step "All passed"
