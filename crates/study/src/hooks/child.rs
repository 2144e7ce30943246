//! Programs that are started, watched, and ended with us.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::phases::Stop;

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it printed.
    pub output: Vec<u8>,
    /// What it told.
    pub errors: Vec<u8>,
}

impl Ended {
    /// How it ended, in words.
    pub fn how(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        }
    }

    /// The last line that it told, or printed: mostly what was wrong.
    pub fn last_words(&self) -> String {
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.next_back().map(str::to_owned)
        };
        last(&self.errors)
            .or_else(|| last(&self.output))
            .unwrap_or_default()
    }
}

/// Runs a program to its end, with `input` on its standard input. When `stop` is asked for it gets SIGINT, and
/// SIGKILL when it is to end at once, with all that it has started.
///
/// # Errors
/// If it cannot be started.
pub fn run_child(command: &mut Command, input: &[u8], stop: Option<&Stop>) -> io::Result<Ended> {
    run(command, input, false, stop)
}

/// The same for a program whose standard input stays open until it has ended: one that ends when it is closed ends
/// with us, whatever became of us.
///
/// # Errors
/// If it cannot be started.
pub fn run_held(command: &mut Command, stop: Option<&Stop>) -> io::Result<Ended> {
    run(command, &[], true, stop)
}

fn run(
    command: &mut Command,
    input: &[u8],
    is_held: bool,
    stop: Option<&Stop>,
) -> io::Result<Ended> {
    // A group of its own: what the terminal sends goes to us, and we pass it on.
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = rustix::process::Pid::from_child(&child);
    let (mut stdin, stdout, stderr) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let held = if is_held { stdin.take() } else { None };
    thread::scope(|scope| {
        // Whoever does not read its input misses nothing.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input)));
        let drain = |pipe: Option<Box<dyn Read + Send>>| {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        };
        let output = scope.spawn(move || drain(stdout.map(|p| Box::new(p) as _)));
        let errors = scope.spawn(move || drain(stderr.map(|p| Box::new(p) as _)));
        let (mut asked, mut wait) = (0, Duration::from_micros(200));
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let wanted = stop.map_or(0, Stop::times);
            if wanted > asked {
                let signal = if wanted >= 2 {
                    rustix::process::Signal::KILL
                } else {
                    rustix::process::Signal::INT
                };
                // It may have ended just now.
                let _ = rustix::process::kill_process_group(group, signal);
                asked = wanted;
            }
            thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(20));
        };
        drop(held);
        Ok(Ended {
            status,
            output: output.join().unwrap_or_default(),
            errors: errors.join().unwrap_or_default(),
        })
    })
}
