//! Replays on several hosts at once, over ssh, against one clock.
//!
//! The user's own ssh client and configuration are used. Before the first run each host's clock is compared with
//! ours: of several queries, the fastest gives the offset to half its round trip. Each run
//! starts at a common instant, converted to each host's clock.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::hooks::{Ended, Stop, run_child, run_held, run_set};
use crate::shell::quoted;
use crate::sweep::SweepError;

/// A host with its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Its name, for ssh.
    pub host: String,
    /// Its own targets; none: those of each run.
    pub targets: Vec<String>,
}

/// What was found out about a host before the first run.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The host.
    pub participant: Participant,
    /// This program there.
    pub program: String,
    /// A folder there for loads and records.
    pub folder: String,
    /// How far its clock is ahead of ours, in nanoseconds.
    pub offset_ns: i64,
    /// By how much that may be wrong.
    pub uncertainty_ns: u64,
    /// Loads already copied, by their local paths.
    loads: std::sync::Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

/// The ssh client with its options.
#[derive(Clone, Debug)]
pub struct Ssh(Vec<String>);

/// The participants that a list of hosts and pairs `host:/dev/x` names; pairs of the same host are one.
///
/// # Errors
/// If something is not a host, or a host is given twice.
pub fn participants(hosts: &[String]) -> Result<Vec<Participant>, SweepError> {
    let mut all: Vec<Participant> = Vec::new();
    for text in hosts {
        let (host, target) = match text.split_once(":/") {
            Some((host, rest)) => (host, Some(format!("/{rest}"))),
            None => (text.as_str(), None),
        };
        // A name that begins with a dash would be an option of ssh.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@%".contains(c);
        if host.is_empty()
            || host.len() > 255
            || host.starts_with('-')
            || !host.chars().all(is_plain)
        {
            let problem = format!(
                "--hosts: '{text}' is not a host, expected a name (of ssh's configuration, say), or HOST:/dev/NAME"
            );
            return Err(SweepError::Elsewhere(problem));
        }
        match all.iter_mut().find(|p| p.host == host) {
            Some(known) => match target {
                Some(target) if !known.targets.is_empty() && !known.targets.contains(&target) => {
                    known.targets.push(target);
                }
                _ => {
                    let problem = format!("--hosts: '{text}' is given twice");
                    return Err(SweepError::Elsewhere(problem));
                }
            },
            None => all.push(Participant {
                host: host.to_owned(),
                targets: target.into_iter().collect(),
            }),
        }
    }
    Ok(all)
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ahead = self.offset_ns as f64 / 1e3;
        write!(
            f,
            "{}: its clock is {:.1} us {} that of this machine, ± {:.1} us",
            self.participant.host,
            ahead.abs(),
            if ahead < 0.0 { "behind" } else { "ahead of" },
            self.uncertainty_ns as f64 / 1e3
        )
    }
}

/// The time of this machine's clock, in nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_nanos() as i64
}

impl Ssh {
    /// From a command line such as `ssh -F config`.
    pub fn new(command: &str) -> Self {
        Self(command.split_whitespace().map(str::to_owned).collect())
    }

    /// A command on a host; it never asks for a password.
    fn command(&self, host: &str, line: &str) -> Command {
        let mut words = self.0.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words).args([
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=10",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
        ]);
        command.arg(host).arg(line);
        command
    }

    /// Runs a line on a host.
    ///
    /// # Errors
    /// If the client cannot be started.
    pub fn run(
        &self,
        host: &str,
        line: &str,
        input: &[u8],
        stop: Option<&Stop>,
    ) -> Result<Ended, String> {
        run_child(&mut self.command(host, line), input, stop)
            .map_err(|e| format!("{host}: ssh cannot be started: {e}"))
    }

    /// The same for a line that ends when its standard input is closed.
    ///
    /// # Errors
    /// If the client cannot be started.
    pub fn run_held(&self, host: &str, line: &str, stop: &Stop) -> Result<Ended, String> {
        run_held(&mut self.command(host, line), Some(stop))
            .map_err(|e| format!("{host}: ssh cannot be started: {e}"))
    }

    /// The same, which must succeed; returns its output.
    fn text(&self, host: &str, line: &str, input: &[u8]) -> Result<String, String> {
        let ended = self.run(host, line, input, None)?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.output).trim().to_owned());
        }
        // Of ssh itself the exit code is 255.
        let what = if ended.status.code() == Some(255) {
            "does not answer"
        } else {
            "failed"
        };
        Err(
            format!("{host}: {what} ({}) {}", ended.how(), ended.last_words())
                .trim_end()
                .to_owned(),
        )
    }

    /// Finds out about a host; `push` copies this program there.
    ///
    /// # Errors
    /// If it does not answer, or has no such program.
    pub fn prepare(&self, participant: &Participant, push: Option<&Path>) -> Result<Ready, String> {
        let host = &participant.host;
        let folder = self.text(host, "mktemp -d /tmp/iosonar-XXXXXXXX", &[])?;
        // What is removed at the end is nothing else.
        let name = folder.strip_prefix("/tmp/iosonar-").unwrap_or_default();
        if name.len() != 8 || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(format!(
                "{host}: mktemp answered '{folder}', expected a folder in /tmp"
            ));
        }
        let ready = self.prepare_in(participant, &folder, push);
        if ready.is_err() {
            self.remove(host, &folder);
        }
        ready
    }

    fn prepare_in(
        &self,
        participant: &Participant,
        folder: &str,
        push: Option<&Path>,
    ) -> Result<Ready, String> {
        let host = &participant.host;
        let program = if let Some(program) = push {
            let bytes =
                std::fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?;
            let there = format!("{folder}/iosonar");
            self.text(
                host,
                &format!("cat > {0} && chmod +x {0}", quoted(&there)),
                &bytes,
            )?;
            there
        } else {
            let found = self.text(host, "command -v iosonar", &[]);
            found.map_err(|_| {
                format!("{host}: there is no 'iosonar' in its PATH; install it there, or use --push to copy this \
                         program")
            })?
        };
        let version = self.text(host, &format!("{} -V", quoted(&program)), &[])?;
        let ours = concat!("iosonar ", env!("CARGO_PKG_VERSION"));
        if version != ours {
            return Err(format!(
                "{host}: has '{version}', but this is '{ours}'; use --push to copy this program"
            ));
        }
        let (offset_ns, uncertainty_ns) = self.offset(host, &program)?;
        Ok(Ready {
            participant: participant.clone(),
            program,
            folder: folder.to_owned(),
            offset_ns,
            uncertainty_ns,
            loads: std::sync::Arc::default(),
        })
    }

    /// How far a host's clock is ahead, and half the round trip of the soonest answer.
    fn offset(&self, host: &str, program: &str) -> Result<(i64, u64), String> {
        const QUESTIONS: usize = 30;
        let mut child = self
            .command(host, &format!("{} clock", quoted(program)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{host}: ssh cannot be started: {e}"))?;
        let (Some(mut ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{host}: cannot query its clock"));
        };
        let mut answers = BufReader::new(answers);
        let mut best: Option<(i64, u64)> = None;
        for _ in 0..QUESTIONS {
            let before = now_ns();
            let asked = ask.write_all(b"?\n").and_then(|()| ask.flush());
            let mut line = String::new();
            let answered = asked.and_then(|()| answers.read_line(&mut line));
            let after = now_ns();
            let Some(theirs) = answered.ok().and_then(|_| line.trim().parse::<i64>().ok()) else {
                break;
            };
            let half = (after - before).unsigned_abs() / 2;
            if best.is_none_or(|(_, known)| half < known) {
                best = Some((theirs - i64::midpoint(before, after), half));
            }
        }
        drop(ask);
        let _ = child.wait();
        best.ok_or_else(|| format!("{host}: its iosonar does not report the time"))
    }

    /// Copies a load to a host, once; returns its path there.
    ///
    /// # Errors
    /// If it cannot be read or brought there.
    pub fn bring(&self, ready: &Ready, load: &Path, stop: &Stop) -> Result<String, String> {
        let mut loads = ready.loads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = loads.get(load) {
            return Ok(there.clone());
        }
        let cannot = |e: std::io::Error| format!("{}: cannot read the load: {e}", load.display());
        let file = std::fs::File::open(load).map_err(cannot)?;
        let name = load.file_name().unwrap_or_default().to_string_lossy();
        let there = format!("{}/{}-{name}", ready.folder, loads.len());
        let host = &ready.participant.host;
        let mut command = self.command(host, &format!("cat > {}", quoted(&there)));
        command.stdin(file).stdout(Stdio::null());
        whole(host, run_set(&mut command, Some(stop)))?;
        loads.insert(load.to_owned(), there.clone());
        Ok(there)
    }

    /// Writes a file on a host: its path there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(
        &self,
        ready: &Ready,
        name: &str,
        text: &str,
        stop: &Stop,
    ) -> Result<String, String> {
        let there = format!("{}/{name}", ready.folder);
        let host = &ready.participant.host;
        let mut command = self.command(host, &format!("cat > {}", quoted(&there)));
        whole(host, run_child(&mut command, text.as_bytes(), Some(stop)))?;
        Ok(there)
    }

    /// Fetches a file of a host, and removes it there.
    ///
    /// # Errors
    /// If it cannot be fetched or written.
    pub fn fetch(
        &self,
        ready: &Ready,
        there: &str,
        here: &Path,
        stop: &Stop,
    ) -> Result<(), String> {
        let host = &ready.participant.host;
        let mut part = here.as_os_str().to_owned();
        part.push(".part");
        let cannot = |e: std::io::Error| format!("{}: cannot write: {e}", here.display());
        let file = std::fs::File::create(&part).map_err(cannot)?;
        let mut command = self.command(host, &format!("cat {0} && rm -f {0}", quoted(there)));
        command.stdin(Stdio::null()).stdout(file);
        whole(host, run_set(&mut command, Some(stop)))?;
        std::fs::rename(&part, here).map_err(cannot)
    }

    /// Removes what was brought to a host; if it does not answer any more it stays.
    pub fn clear(&self, ready: &Ready) {
        self.remove(&ready.participant.host, &ready.folder);
    }

    fn remove(&self, host: &str, folder: &str) {
        let _ = self.run(host, &format!("rm -rf {}", quoted(folder)), &[], None);
    }
}

/// That a command on a host has succeeded.
fn whole(host: &str, ended: std::io::Result<Ended>) -> Result<(), String> {
    let ended = ended.map_err(|e| format!("{host}: ssh cannot be started: {e}"))?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("{host}: {}: {}", ended.how(), ended.last_words()))
}

impl Ready {
    /// An instant of our clock, in nanoseconds since 1970, by this host's.
    pub fn theirs(&self, ours_ns: i64) -> i64 {
        ours_ns + self.offset_ns
    }
}

/// An instant so far ahead, in nanoseconds since 1970 by our clock.
pub fn agreed_start(lead: Duration) -> i64 {
    now_ns() + lead.as_nanos() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_pairs_are_told_apart() {
        let of = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&t| t.to_owned()).collect();
            participants(&texts).map_err(|e| e.to_string())
        };
        let all = of(&["a", "b:/dev/sdb", "b:/dev/sdc", "user@c"]).unwrap();
        let told: Vec<String> = all
            .iter()
            .map(|p| format!("{} {}", p.host, p.targets.join(" ")))
            .collect();
        assert_eq!(told, ["a ", "b /dev/sdb /dev/sdc", "user@c "]);
        for (hosts, complaint) in [
            (&["a", "a"][..], "given twice"),
            (&["a:/dev/x", "a:/dev/x"], "given twice"),
            (&["-oProxyCommand=x"], "is not a host"),
            (&[""], "is not a host"),
        ] {
            assert!(of(hosts).unwrap_err().contains(complaint), "{hosts:?}");
        }
    }
}
