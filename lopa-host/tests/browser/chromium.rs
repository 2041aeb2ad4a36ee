//! Drives Chromium over a pair of pipes, with the protocol of its developer tools.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The names that Chromium has on different systems; `CHROMIUM` names another.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Longer than any answer takes; only a browser that hangs makes a test wait for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    count: u64,
    /// What was reported while an answer was awaited.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts it, with an empty page.
    pub fn start() -> Self {
        let given = std::env::var("CHROMIUM").ok();
        let there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        let name = given.as_deref().or_else(|| NAMES.into_iter().find(there));
        let name = name.expect("Chromium is needed: install it, or name it in CHROMIUM");
        let profile = tempfile::tempdir().unwrap();
        // It reads file 3 and writes file 4, which only a shell can open without unsafe code.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null")
            .arg(name)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-extensions", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if send.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            count: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Opens a file in a window of this width, light or dark; returns what the browser complained about.
    pub fn open(&mut self, file: &Path, width: u32, scheme: &str) -> Vec<String> {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let media = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": media }));
        self.events.clear();
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.call("Page.navigate", &json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
        let complaint = |event: &Value| match event["method"].as_str()? {
            "Log.entryAdded" => Some(event["params"]["entry"]["text"].to_string()),
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(event["params"]["args"].to_string()),
            _ => None,
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// The value of an expression on the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let what = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &what);
        assert!(answer.get("exceptionDetails").is_none(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Moves the pointer to a place in the window.
    pub fn point_at(&mut self, x: f64, y: f64) {
        let place = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.call("Input.dispatchMouseEvent", &place);
    }

    /// The whole page as a PNG picture, in base 64.
    pub fn picture(&mut self) -> String {
        let what = json!({ "format": "png", "captureBeyondViewport": true });
        self.call("Page.captureScreenshot", &what)["data"].as_str().unwrap().to_owned()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut message = json!({ "id": self.count, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all((message.to_string() + "\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = self.next();
            if answer["id"] == json!(self.count) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("Chromium answers: does it start on this machine?")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
