//! Reports in a real browser: wide and narrow, light and dark.

#[path = "browser/chromium.rs"]
mod chromium;

use std::fs;
use std::path::{Path, PathBuf};

use chromium::Chromium;

use crate::common::{NETWORK, lopa, network, said};
use crate::learned::{LAYER, NAMED, PIXELS, digits, patients};
use crate::paper::OWN;

const CHECK: &str = include_str!("browser/check.js");
const WIDTHS: [u32; 2] = [1400, 420];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// Reports of runs on named features, on pixels and on many features, of a comparison, a sweep and a study.
fn reports(dir: &Path) -> Vec<PathBuf> {
    patients(dir);
    digits(dir);
    fs::write(dir.join("named.toml"), network(&NAMED)).unwrap();
    fs::write(dir.join("pixels.toml"), network(&PIXELS)).unwrap();
    fs::write(dir.join("layer.toml"), network(&LAYER)).unwrap();
    let many =
        [("source = \"synthetic\"", "features = 120\nrelevant = 6"), ("nodes = 4", "nodes = 12")];
    fs::write(dir.join("many.toml"), network(&many)).unwrap();
    fs::write(dir.join("gt.toml"), NETWORK).unwrap();
    fs::write(dir.join("lg.toml"), NETWORK.replace("lopa-gt", "lopa-lg")).unwrap();
    fs::write(dir.join("my own.toml"), OWN).unwrap();
    for command in [
        "run named.toml --out named",
        "run pixels.toml --out pixels",
        "run layer.toml --out layer",
        "run many.toml --out many",
        "compare gt.toml lg.toml --seeds 3 --out both",
        "sweep gt.toml --alpha 0.1,0.3 --beta 0.01,0.05 --seeds 3 --out sweep",
        "paper my_own.toml --out studies",
    ] {
        let words: Vec<String> =
            command.split(' ').map(|word| word.replace("my_own", "my own")).collect();
        let output = lopa(dir, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{command}: {}", said(&output));
    }
    let folders = ["named", "pixels", "layer", "many", "both", "sweep", "studies/my own"];
    folders.map(|folder| dir.join(folder).join("report.html")).into()
}

/// Everything that is wrong with a page in one window.
fn faults(browser: &mut Chromium, page: &Path, width: u32, scheme: &str) -> Vec<String> {
    let mut wrong = browser.open(page, width, scheme);
    let found = browser.evaluate(CHECK);
    let list = |name: &str| found[name].as_array().unwrap().iter().map(|a| a.as_str().unwrap());
    wrong.extend(list("wrong").map(str::to_owned));
    for link in list("links") {
        let file = link.strip_prefix("file://").unwrap_or(link);
        if !Path::new(file).is_file() {
            wrong.push(format!("the link {link} leads nowhere"));
        }
    }
    wrong
}

/// The words that appear while the pointer is over the middle of every chart; none for a chart without.
fn values(browser: &mut Chromium) -> Vec<String> {
    let count = browser.evaluate("document.querySelectorAll('figure.chart').length");
    let mut all = Vec::new();
    for chart in 0..count.as_u64().unwrap() {
        let middle = browser.evaluate(&format!(
            "(() => {{
               const figure = document.querySelectorAll('figure.chart')[{chart}];
               figure.scrollIntoView({{ block: 'center' }});
               const marks = [...figure.querySelectorAll('.slice > rect, .value, .seam rect')].filter((a) => a.getBoundingClientRect().width > 0);
               const box = marks[Math.floor(marks.length / 2)]?.getBoundingClientRect();
               return box ? [box.x + box.width / 2, box.y + box.height / 2] : null;
             }})()"
        ));
        let Some(place) = middle.as_array() else {
            all.push(String::new());
            continue;
        };
        browser.point_at(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        // A box of the page itself, or what the browser shows of a title.
        let words = browser.evaluate(&format!(
            "(() => {{
               const tip = [...document.querySelectorAll('.tip')].find((tip) => tip.getBoundingClientRect().width > 0);
               const under = document.elementFromPoint({}, {})?.closest('g, rect');
               const title = under?.querySelector(':scope > title') ?? under?.parentElement.querySelector(':scope > title');
               return (tip ?? title)?.textContent ?? '';
             }})()",
            place[0], place[1]
        ));
        all.push(words.as_str().unwrap().to_owned());
    }
    all
}

#[test]
#[ignore = "needs Chromium: tests/run.sh runs it"]
fn reports_are_readable_in_any_window() {
    let dir = tempfile::tempdir().unwrap();
    let pages = reports(dir.path());
    let mut browser = Chromium::start();
    let mut wrong = Vec::new();
    for page in &pages {
        for (width, scheme) in WIDTHS.into_iter().flat_map(|w| SCHEMES.map(|s| (w, s))) {
            let name = page.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            let found = faults(&mut browser, page, width, scheme);
            wrong.extend(found.iter().map(|what| format!("{name}, {width}, {scheme}: {what}")));
            if let Some(folder) = std::env::var_os("LOPA_PICTURES") {
                let file = Path::new(&folder).join(format!("{name}-{width}-{scheme}.png.base64"));
                fs::write(file, browser.picture()).unwrap();
            }
            if scheme == "light" {
                let values = values(&mut browser);
                assert!(!values.is_empty(), "{name} has no charts");
                for (chart, words) in values.iter().enumerate() {
                    if !words.contains(|c: char| c.is_ascii_digit()) {
                        wrong.push(format!("{name}, {width}: chart {chart} shows {words:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page with one fault of each kind.
const BROKEN: &str = "<!DOCTYPE html><html><head><style>body{background:#fff}p{color:#ccc}</style></head><body>\
    <p>pale</p><div style='width:3000px'>wide</div><a href='missing.csv'>missing</a><img src='missing.png'>\
    <svg width='100' height='40'><title>t</title><text x='5' y='20'>one</text><text x='8' y='20'>two</text></svg>\
    <figure class='chart'><svg class='first' width='9' height='9'></svg></figure>\
    <script>console.error('a complaint')</script></body></html>";

#[test]
#[ignore = "needs Chromium: tests/run.sh runs it"]
fn a_broken_page_is_found_to_be_broken() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("broken.html");
    fs::write(&page, BROKEN).unwrap();
    let mut browser = Chromium::start();
    for (width, scheme) in WIDTHS.into_iter().flat_map(|w| SCHEMES.map(|s| (w, s))) {
        let wrong = faults(&mut browser, &page, width, scheme).join("\n");
        for fault in [
            "scrolls sideways",
            "\"pale\" has a contrast of 1.",
            "\"two\" overlaps \"one\"",
            "missing.csv leads nowhere",
            "missing.png does not load",
            "a complaint",
        ] {
            assert!(wrong.contains(fault), "{width}, {scheme}: {fault} is missing from\n{wrong}");
        }
        assert_eq!(values(&mut browser), [""]);
    }
}
