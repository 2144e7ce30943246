//! A browser that is driven while a page changes: Chromium's `DevTools` protocol over two named pipes.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Scratch;

/// An answer comes within this time, even where the machine has other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// The messages in a pipe, each of which ends with a zero.
fn messages(pipe: File) -> Receiver<Vec<u8>> {
    let (to, messages) = channel();
    thread::spawn(move || {
        for message in BufReader::new(pipe).split(0) {
            let Ok(message) = message else { break };
            if to.send(message).is_err() {
                break;
            }
        }
    });
    messages
}

/// A browser with one page.
pub struct Chromium {
    child: Child,
    to: File,
    from: Receiver<Vec<u8>>,
    session: String,
    number: u64,
}

impl Chromium {
    /// Starts one; `None`, and a remark, if there is none here.
    pub fn start(dir: &Scratch) -> Option<Self> {
        let browsers = ["chromium", "chromium-browser", "google-chrome"];
        let runs = |name: &&str| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|of| of.status.success())
        };
        let Some(browser) = browsers.into_iter().find(runs) else {
            eprintln!("skipped: there is no browser here");
            return None;
        };
        let (to, from) = (dir.path("to-browser"), dir.path("from-browser"));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success());
        // Opened for both directions, so that neither side waits for the other.
        let open = |path| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .unwrap()
        };
        let (to_file, from_file) = (open(&to), open(&from));
        let command = format!(
            "exec timeout 1200 {browser} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
             --disable-background-networking --disable-sync --disable-component-update --window-size=1200,900 \
             --remote-debugging-pipe --user-data-dir=\"$3\" about:blank 3<\"$1\" 4>\"$2\""
        );
        let child = Command::new("sh")
            .args(["-c", &command, "sh"])
            .args([&to, &from, &dir.path("profile")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut chromium = Self {
            child,
            to: to_file,
            from: messages(from_file),
            session: String::new(),
            number: 0,
        };
        let targets = chromium.ask("Target.getTargets", &json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page = targets.iter().find(|of| of["type"] == "page").unwrap();
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = chromium.ask("Target.attachToTarget", &attach);
        attached["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut chromium.session);
        Some(chromium)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        loop {
            let answer = self.from.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|_| panic!("{method}: the browser does not answer"));
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Goes to a page.
    pub fn open(&mut self, url: &str) {
        self.ask("Page.navigate", &json!({ "url": url }));
    }

    /// What an expression is on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        let answer = self.ask("Runtime.evaluate", &params);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true on the page, at most this long.
    pub fn wait(&mut self, expression: &str, most: Duration) {
        let begin = Instant::now();
        loop {
            // The page may not have its script yet.
            let guarded = format!(
                "(() => {{ try {{ return !!({expression}); }} catch {{ return false; }} }})()"
            );
            if self.value(&guarded) == Value::Bool(true) {
                return;
            }
            if begin.elapsed() > most {
                let text = self.value("document.body.innerText.slice(0, 2000)");
                panic!("not within {most:?}: {expression}: {text}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The bytes of JavaScript objects and of their buffers, after a collection.
    pub fn heap(&mut self) -> u64 {
        self.ask("HeapProfiler.collectGarbage", &json!({}));
        let usage = self.ask("Runtime.getHeapUsage", &json!({}));
        let of = |name: &str| usage[name].as_f64().unwrap_or(0.0) as u64;
        of("totalSize") + of("embedderHeapUsedSize") + of("backingStorageSize")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.session.clear();
        let close = json!({ "id": 0, "method": "Browser.close" });
        let _ = self.to.write_all(close.to_string().as_bytes());
        let _ = self.to.write_all(&[0]);
        let _ = self.child.wait();
    }
}
