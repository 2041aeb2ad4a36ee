#!/usr/bin/env bash
# All tests of the project, on a machine that has nothing but rustup: installs what is missing, then checks formatting,
# lints, dependencies, docs, host tests, the command, reports and the live view in a browser, chip builds, emulated chips, the
# Pico's image, memory budgets of boards, instructions on chips and hosts, and the proof that nothing panics. Prints at the end how long each
# step took.
# Writes only to the target folders, apart from what it installs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Optional features of lopa-core for chips, each of which must build alone.
features=(codec encrypt integer micromath defmt fast)
targets=(thumbv6m-none-eabi thumbv7em-none-eabihf thumbv8m.main-none-eabihf riscv32imc-unknown-none-elf)
boards=(nrf52840-dk nucleo-l476rg pico pico-2)
# The whole workspace, gateways included: with one selection of features everywhere, nothing is built twice.
host=(--workspace --features lopa-host/zenoh)
mkdir -p "${CARGO_TARGET_DIR:-target}"
built=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
# A first build is faster if it is not incremental. Where an earlier one was, this one is too.
[ -d "$built/debug/incremental" ] || export CARGO_INCREMENTAL=0

# Some steps run beside the others, so that no core is idle while one step waits: for a lock, or for one long test. What they
# print is shown when they are joined.
notes=$(mktemp -d)
current="" aside="" process="" verdict="Stopped"
step() {
  record
  current=$* began=$SECONDS
  echo "$began $current" >"$notes/began$aside"
  printf '\n== %s\n' "$current"
}
# Notes how long the current step took.
record() {
  [ -z "$current" ] || printf '%6d s  %s%s\n' $((SECONDS - began)) "$current" "$aside" >>"$notes/times"
  rm -f "$notes/began$aside"
}
# All that a process has started, and the process.
family() {
  local child
  for child in $(pgrep -P "$1"); do family "$child"; done
  echo "$1"
}
# A step that takes longer than this hangs: what runs is shown, with stacks where there is a debugger, and ended.
patience=${LOPA_PATIENCE:-2700}
guard() {
  local note began name now last=$SECONDS asleep=0
  while sleep 5 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    # The machine slept.
    now=$SECONDS
    [ $((now - last)) -lt 60 ] || asleep=$((asleep + now - last))
    last=$now
    for note in "$notes"/began*; do
      read -r began name 2>/dev/null <"$note" || continue
      [ $((now - asleep - began)) -gt "$patience" ] || continue
      printf '\n== %s: more than %s s. What runs:\n' "$name" "$patience"
      end_all
      return
    done
  done
}
# Shows and ends all but the shells, which then see that their commands have failed.
end_all() {
  local process processes=()
  for process in $(family $$); do
    ps -o pid= -o ppid= -o time= -o stat= -o args= -p "$process" || continue
    case $(ps -o comm= -p "$process") in
      *bash | run.sh) continue ;;
      lopa | main-* | lopa_*) ! command -v gdb >/dev/null || gdb -p "$process" -batch -ex 'thread apply all bt' || true ;;
    esac
    processes+=("$process")
  done
  [ ! -f "$notes/output" ] || cat "$notes/output"
  kill -KILL "${processes[@]}" || true
}
# Starts a function beside the others, in a process group of its own: it can be ended with all that it started.
beside() {
  set -m
  (
    current="" aside=" (beside others)"
    trap 'status=$?; record; echo "$current" >"$notes/last"; exit $status' EXIT
    "$1"
  ) >"$notes/output" 2>&1 </dev/null &
  process=$!
  set +m
}
# Waits for that function, shows what it printed, and fails if it did.
join() {
  local status=0
  wait "$process" || status=$?
  process=""
  cat "$notes/output"
  if [ $status -ne 0 ]; then
    record
    current=""
    verdict="Failed: $(cat "$notes/last")"
    exit $status
  fi
}
# Prints how long each step took, even if one failed, and the verdict.
finish() {
  local status=$?
  if [ -n "$process" ]; then
    kill -- "-$process" || true
    wait "$process" || true
  fi 2>/dev/null
  kill "$guard" 2>/dev/null || true
  record
  printf '\n'
  cat "$notes/times"
  printf '%6d s  in total\n\n' "$SECONDS"
  [ $status -eq 0 ] || [ -z "$current" ] || verdict="Failed: $current"
  echo "== $verdict"
  rm -rf "$notes"
}
trap finish EXIT
guard &
guard=$!
disown

step "Tools"
# Automatic installs may be disabled, so every target is named.
missing=()
for target in "${targets[@]}"; do
  rustup target list --installed | grep -qx "$target" || missing+=("$target")
done
[ ${#missing[@]} -eq 0 ] || rustup target add "${missing[@]}"
if ! command -v qemu-system-arm >/dev/null || ! command -v qemu-system-riscv32 >/dev/null ||
  ! command -v arm-none-eabi-gcc >/dev/null || ! command -v cmake >/dev/null; then
  sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
  if command -v apt-get >/dev/null; then
    $sudo apt-get update -qq
    # Without recommended packages: they pull in desktops and conflict with newer qemu-utils. GCC and CMake build C
    # for chips; a C library is not needed.
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
      qemu-system-arm qemu-system-misc gcc-arm-none-eabi cmake make >/dev/null
  elif command -v brew >/dev/null; then
    brew install qemu arm-none-eabi-gcc cmake
  else
    echo "Install QEMU with qemu-system-arm and qemu-system-riscv32, arm-none-eabi-gcc and CMake, then run this again." >&2
    exit 1
  fi
fi
# Counts a host's instructions, on the one platform that has a page of them.
if [ "$(uname -sm)" = "Linux x86_64" ] && ! command -v valgrind >/dev/null; then
  if command -v apt-get >/dev/null; then
    sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends valgrind >/dev/null
  else
    echo "Install valgrind, then run this again." >&2
    exit 1
  fi
fi
browser=""
for name in ${CHROMIUM:+"$CHROMIUM"} chromium google-chrome chromium-browser chrome; do
  if [ -z "$browser" ] && command -v "$name" >/dev/null; then browser=$name; fi
done
if [ -z "$browser" ]; then
  if command -v apt-get >/dev/null; then
    sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -qq
    # With a font: without any, texts would have no width.
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
      chromium fonts-dejavu-core >/dev/null
    browser=chromium
  else
    echo "Install Chromium or Chrome, or name it in CHROMIUM, then run this again." >&2
    exit 1
  fi
fi
export CHROMIUM=$browser
# Runs the emulator of the Pico, and drives Chromium. Without it, those tests are skipped.
if ! command -v npm >/dev/null && command -v apt-get >/dev/null; then
  sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null || true
fi
picos=""
if command -v npm >/dev/null && [ "$(node --version | tr -dc '0-9.' | cut -d. -f1)" -ge 18 ]; then
  mkdir -p "$built/pico"
  cp tests/pico/package.json tests/pico/package-lock.json "$built/pico"
  if (cd "$built/pico" && npm ci --silent --no-audit --no-fund --ignore-scripts); then picos=yes; fi
fi
lives=""
if [ -n "$picos" ]; then
  mkdir -p "$built/live"
  cp lopa-host/tests/live/package.json lopa-host/tests/live/package-lock.json "$built/live"
  if (cd "$built/live" && npm ci --silent --no-audit --no-fund --ignore-scripts); then lives=yes; fi
fi
# Reads metrics as Prometheus does. Without it, that test is skipped.
parser=""
environment() {
  [ -x "$built/openmetrics/bin/pip" ] || python3 -m venv "$built/openmetrics" >/dev/null 2>&1
}
if ! environment && command -v apt-get >/dev/null; then
  sudo=""; [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends python3-venv >/dev/null || true
  environment || true
fi
if "$built/openmetrics/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
  --requirement lopa-host/tests/live/requirements.txt; then parser=yes; fi
cargo --version
qemu-system-arm --version | head -n 1
"$CHROMIUM" --version 2>/dev/null
arm-none-eabi-gcc --version | head -n 1

step "Formatting"
cargo fmt --all --check
(cd firmware && cargo fmt --all --check)

# All targets in one call, so that cargo builds them in parallel.
every=("${targets[@]/#/--target=}")

firmware() {
  step "Dependencies: licences, bans and sources"
  deny=$built/tools/bin/cargo-deny
  if command -v cargo-deny >/dev/null; then
    deny=$(command -v cargo-deny)
  elif [ ! -x "$deny" ]; then
    # No package registry has a current binary. It builds faster without debug information.
    CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root "$built/tools" cargo-deny@0.20.2
  fi
  "$deny" --version
  # Advisories are checked by CI only: their database is on GitHub, which may be unreachable.
  for manifest in Cargo.toml firmware/Cargo.toml; do
    "$deny" --manifest-path "$manifest" --locked --config deny.toml check bans licenses sources
  done

  step "Lints of the firmware"
  (cd firmware && cargo clippy --locked --release "${every[@]}" -- -D warnings)
  # One target at a time, because RTIC's backends exclude each other.
  for target in "${targets[@]}"; do
    (cd firmware && cargo clippy --locked --release -p examples --target "$target" -- -D warnings)
  done
  # In their folders, where each has its own target and its chip's features.
  for board in "${boards[@]}"; do
    (cd "firmware/$board" && cargo clippy --locked --release -- -D warnings)
  done

  step "Tests of the node program, and of the examples' page"
  (cd firmware && cargo test --locked -p lopa-node -p examples --features lopa-node/encrypt)

  step "Tests of the library for C"
  (cd firmware && cargo test --locked -p lopa-c)
}
beside firmware

step "Lints of the host"
cargo clippy --locked "${host[@]}" --all-targets -- -D warnings

# Host tests always run for the whole workspace: another selection of packages would rebuild them.
step "Build of the host tests"
cargo test --locked "${host[@]}" --no-run

join

# Tests that need more than Rust. Those of lopa-tests run beside the others: they build images for chips one after the other,
# mostly on one core.
skip=(--skip real_data:: --skip ten_boards_learn_mnist)
for place in ${LOPA_DATA:+"$LOPA_DATA"} data ../shared/data; do
  if [ -d "$place/mnist" ] && [ -d "$place/covtype" ] && [ -d "$place/cifar10" ]; then
    LOPA_DATA=$(cd "$place" && pwd) skip=()
    export LOPA_DATA
    break
  fi
done
no_data=${#skip[@]}
[ -n "$picos" ] || skip+=(--skip pico::)
[ -n "$lives" ] || skip+=(--skip live::browser::)
[ -n "$parser" ] || skip+=(--skip metrics_are_openmetrics)
ignored() {
  cargo test --locked "${host[@]}" --tests -- --ignored ${skip[@]+"${skip[@]}"} "$@"
}
chips() {
  step "Tests on emulated chips, budgets of boards, instructions, and the link-time proof"
  ignored chips:: hosts:: nodes:: pico::
}
beside chips

step "Tests on this machine"
cargo test --locked "${host[@]}"

step "Tests in a browser, on an emulated fleet, and of real data"
ignored --skip chips:: --skip hosts:: --skip nodes:: --skip pico::

step "The command, and the chart at the top of the README"
# Alone it has fewer features of its dependencies than its tests, and no gateways.
cargo clippy --locked --quiet -p lopa-host -- -D warnings
mkdir -p "$built/command"
lopa=$built/debug/lopa
"$lopa" --version
"$lopa" example >"$built/command/ring.toml"
"$lopa" run "$built/command/ring.toml" --out "$built/command/ring"
"$lopa" compare lopa-host/examples/*.toml --seeds 5 --out "$built/command/results"
cmp "$built/command/results/figures/test_accuracy.svg" lopa-host/examples/test_accuracy.svg

step "The core on each target, and each of its features alone"
# Checked, not built: the tests build images for chips. Features are checked on the smallest chip.
cargo clippy --locked --quiet -p lopa-core "${every[@]}" -- -D warnings
for feature in "${features[@]}"; do
  cargo clippy --locked --quiet -p lopa-core --target=thumbv6m-none-eabi --features "$feature" -- -D warnings
done

step "Tests of the core's features"
# Those that change bytes or bits, without what the host adds to the core; in two builds, so that there is one with each and
# one without.
cargo test --locked -p lopa-core --features codec,encrypt,integer --lib --test main
# Two tests are of bytes that say that there is no micromath.
cargo test --locked -p lopa-core --features micromath --lib --test main -- \
  --skip blob::errors_name_the_invalid_field --skip blob::the_example_in_the_docs

step "Docs"
RUSTDOCFLAGS="-D warnings" cargo doc --locked "${host[@]}" --no-deps --quiet

join

verdict="All passed"
if [ "$no_data" -gt 0 ]; then
  verdict+=", but tests that need real data were skipped: mnist, covtype and cifar10 must all be in data/ \
(lopa data fetch) or in the folder that LOPA_DATA names"
fi
if [ -z "$picos" ]; then
  verdict+=", but tests of the Pico's image were skipped: they need Node 18 or later, npm and registry.npmjs.org"
fi
if [ -z "$lives" ]; then
  verdict+=", but the test of the live view in a browser was skipped: it needs Node 18 or later, npm and registry.npmjs.org"
fi
if [ -z "$parser" ]; then
  verdict+=", but the test that reads metrics was skipped: it needs Python 3 with venv, and pypi.org"
fi
