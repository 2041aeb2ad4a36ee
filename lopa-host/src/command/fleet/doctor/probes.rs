//! Debug probes: whether those of the file are plugged in, each once, and whether this user may open them.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lopa_host::fleet::flash::PROBE_RS;
use lopa_host::run::Prepared;

use super::super::hardware;
use super::Findings;
use super::tools::output;

/// What Linux lets a user do with probes is decided by rules for udev.
const RULES: &str = "https://probe.rs/docs/getting-started/probe-setup/";
/// Where Linux describes USB devices, and where it keeps them.
const DESCRIBED: &str = "/sys/bus/usb/devices";
const DEVICES: &str = "/dev/bus/usb";

/// A probe, as probe-rs names it: vendor, product, interface and serial number, of which the last two may be left out to
/// select one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Probe {
    vendor: u16,
    product: u16,
    interface: Option<u8>,
    serial: Option<String>,
}

impl FromStr for Probe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| {
            format!("{text:?} is not a probe: write VID:PID:serial, as {PROBE_RS} list prints it")
        })
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.product)?;
        self.interface.map_or(Ok(()), |interface| write!(f, "-{interface}"))?;
        self.serial.as_ref().map_or(Ok(()), |serial| write!(f, ":{serial}"))
    }
}

impl Probe {
    fn read(text: &str) -> Option<Self> {
        // A serial number may have colons itself.
        let mut parts = text.splitn(3, ':');
        let (vendor, device) = (parts.next()?, parts.next()?);
        let (product, interface) = match device.split_once('-') {
            Some((product, "")) => (product, None),
            Some((product, interface)) => (product, Some(interface.parse().ok()?)),
            None => (device, None),
        };
        let number = |text| u16::from_str_radix(text, 16).ok();
        let serial = parts.next().map(str::to_owned);
        Some(Self { vendor: number(vendor)?, product: number(product)?, interface, serial })
    }

    /// Whether it selects a probe that is plugged in.
    fn selects(&self, found: &Self) -> bool {
        let serial = |wanted| found.serial.as_deref().unwrap_or("") == wanted;
        (self.vendor, self.product) == (found.vendor, found.product)
            && self.interface.is_none_or(|wanted| found.interface == Some(wanted))
            && self.serial.as_deref().is_none_or(serial)
    }
}

/// The probes in what `probe-rs list` prints: `[0]: Debug Probe (CMSIS-DAP) -- 2e8a:000c-0:E6614103E7452D2F (CMSIS-DAP)`.
fn listed(text: &str) -> Vec<Probe> {
    let lines = text.lines().filter(|line| line.starts_with('['));
    let named = |line: &str| line.rsplit_once(" -- ")?.1.split(' ').next()?.parse().ok();
    lines.filter_map(named).collect()
}

/// Checks the probe of every node: what the file says, and, if probe-rs runs, what is plugged in.
pub(super) fn check(findings: &mut Findings, prepared: &Prepared) {
    let Ok(output) = output(PROBE_RS, &["list"]) else { return written(findings, prepared) };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        findings.add("probe", Err::<&str, _>(format!("{PROBE_RS} list failed: {said}")));
        return written(findings, prepared);
    }
    let found = listed(&String::from_utf8_lossy(&output.stdout));
    let mut taken: Vec<(u32, &Probe)> = Vec::new();
    for node in 0..prepared.experiment().network.nodes {
        let own = match hardware::probe(prepared, node) {
            Ok(wanted) => select(node, wanted, &found),
            Err(failure) => Err(failure.to_string()),
        };
        let own = own.and_then(|probe| {
            if let Some((other, _)) = taken.iter().find(|(_, other)| *other == probe) {
                return Err(format!(
                    "node {node} has the same probe as node {other}, {probe}: each needs its own"
                ));
            }
            taken.push((node, probe));
            let opened = device(Path::new(DESCRIBED), Path::new(DEVICES), probe);
            opened
                .map_or(Ok(()), |device| open(&device))
                .map_err(|why| format!("node {node}: {why}"))?;
            Ok(format!("node {node}: {probe}"))
        });
        findings.add("probe", own);
    }
}

/// Reports the nodes whose probe is missing from the file, or is not one. What is plugged in is not known.
fn written(findings: &mut Findings, prepared: &Prepared) {
    for node in 0..prepared.experiment().network.nodes {
        let own = match hardware::probe(prepared, node) {
            Ok(wanted) => wanted
                .map_or(Ok(()), |name| name.parse::<Probe>().map(drop))
                .map_err(|why| format!("node {node}: {why}")),
            Err(failure) => Err(failure.to_string()),
        };
        if let Err(why) = own {
            findings.add("probe", Err::<&str, _>(why));
        }
    }
}

/// The probe of a node, out of those that are plugged in.
fn select<'a>(node: u32, wanted: Option<&str>, found: &'a [Probe]) -> Result<&'a Probe, String> {
    let wanted: Option<Probe> =
        wanted.map(str::parse).transpose().map_err(|why| format!("node {node}: {why}"))?;
    let selected = |probe: &&Probe| wanted.as_ref().is_none_or(|wanted| wanted.selects(probe));
    let name = wanted.as_ref().map_or_else(|| "a probe".into(), |wanted| format!("probe {wanted}"));
    let names = |probes: &[&Probe]| {
        let names: Vec<String> = probes.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    match found.iter().filter(selected).collect::<Vec<_>>()[..] {
        [probe] => Ok(probe),
        [] if found.is_empty() => Err(format!(
            "node {node}: {name} is not plugged in, nor any other; if one is, see {RULES}"
        )),
        [] => Err(format!(
            "node {node}: {name} is not plugged in; correct fleet.node.probe, or plug it in: there are {}",
            names(&found.iter().collect::<Vec<_>>())
        )),
        ref several => Err(format!(
            "node {node} could have several probes: write one of {} as its probe in [[fleet.node]]",
            names(several)
        )),
    }
}

/// The device of a probe, as far as this system describes USB devices in files.
fn device(described: &Path, devices: &Path, probe: &Probe) -> Option<PathBuf> {
    let read = |folder: &Path, name: &str| {
        fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned())
    };
    let hex = |folder: &Path, name| u16::from_str_radix(&read(folder, name)?, 16).ok();
    let number = |folder: &Path, name| read(folder, name)?.parse::<u32>().ok();
    fs::read_dir(described).ok()?.flatten().find_map(|entry| {
        let folder = &entry.path();
        let ids = (hex(folder, "idVendor")?, hex(folder, "idProduct")?);
        let serial = read(folder, "serial").unwrap_or_default();
        let same =
            ids == (probe.vendor, probe.product) && probe.serial.as_deref().unwrap_or("") == serial;
        let (bus, device) = (number(folder, "busnum")?, number(folder, "devnum")?);
        same.then(|| devices.join(format!("{bus:03}/{device:03}")))
    })
}

/// Opens a device as probe-rs will.
fn open(device: &Path) -> Result<(), String> {
    judge(device, OpenOptions::new().read(true).write(true).open(device).map(drop))
}

/// What a user can do about a device that does not open.
fn judge(device: &Path, opened: io::Result<()>) -> Result<(), String> {
    match opened {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(format!(
            "you may not open {}: install the udev rules of {RULES}, and plug the probe in again",
            device.display()
        )),
        // Whatever else is wrong, probe-rs knows better.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "The following debug probes were found:\n\
        [0]: Debug Probe (CMSIS-DAP) -- 2e8a:000c-0:E661 (CMSIS-DAP)\n\
        [1]: J-Link -- 1366:1015:000683 (J-Link)\n\
        [2]: odd -- name -- 0483:374b: (ST-LINK)\n";

    #[test]
    fn probes_are_read_from_the_list_and_selected_as_probe_rs_does() {
        let found = listed(LIST);
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["2e8a:000c-0:E661", "1366:1015:000683", "0483:374b:"]);
        for (wanted, index) in [
            ("2e8a:000c:E661", 0),
            ("2E8A:000C", 0),
            ("2e8a:000c-0:E661", 0),
            ("1366:1015", 1),
            ("0483:374b:", 2),
        ] {
            assert_eq!(select(0, Some(wanted), &found), Ok(&found[index]), "{wanted}");
        }
        for wanted in ["2e8a:000c-1:E661", "2e8a:000c:E662", "1366:1016"] {
            let why = select(3, Some(wanted), &found).unwrap_err();
            assert!(why.starts_with("node 3: probe ") && why.contains("000683"), "{why}");
        }
        for wanted in ["", "2e8a", "2e8a:x:1", "12e8a:000c"] {
            let why = select(3, Some(wanted), &found).unwrap_err();
            assert!(why.contains("is not a probe"), "{why}");
        }
        assert!(select(0, None, &found).unwrap_err().contains("several"));
        assert!(select(0, None, &[]).unwrap_err().contains("nor any other"));
        assert_eq!(select(0, None, &found[..1]), Ok(&found[0]));
        assert_eq!(listed("No debug probes were found.\n"), []);
    }

    #[test]
    fn a_probe_that_this_user_may_not_open_needs_rules() {
        let dir = tempfile::tempdir().unwrap();
        let (described, devices) = (dir.path().join("sys"), Path::new("/dev/bus/usb"));
        for (name, serial, number) in [("1-1", "E660\n", "4\n"), ("1-2", "E661\n", "17\n")] {
            let folder = described.join(name);
            fs::create_dir_all(&folder).unwrap();
            let files = [("idVendor", "2e8a\n"), ("idProduct", "000c\n"), ("busnum", "1\n")];
            for (name, text) in files.into_iter().chain([("serial", serial), ("devnum", number)]) {
                fs::write(folder.join(name), text).unwrap();
            }
        }
        // An interface of a device, not a device.
        fs::create_dir(described.join("1-2:1.0")).unwrap();
        let probe: Probe = "2e8a:000c-0:E661".parse().unwrap();
        let found = device(&described, devices, &probe).unwrap();
        assert_eq!(found, Path::new("/dev/bus/usb/001/017"));
        assert_eq!(device(&described, devices, &"2e8a:000c:E662".parse().unwrap()), None);
        assert_eq!(device(&dir.path().join("none"), devices, &probe), None);
        let why = judge(&found, Err(ErrorKind::PermissionDenied.into())).unwrap_err();
        assert!(why.contains("/dev/bus/usb/001/017") && why.contains("udev rules"), "{why}");
        assert_eq!(judge(&found, Ok(())), Ok(()));
        assert_eq!(judge(&found, Err(ErrorKind::NotFound.into())), Ok(()));
    }
}
