//! Programs that are started, watched, and ended with us.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iosonar_linux::calls;
use rustix::process::{Pid, Signal, kill_process_group};

use super::stop::Stop;

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it printed.
    pub output: Vec<u8>,
    /// What it reported.
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

    /// The last line that it reported or printed: usually the error.
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
/// SIGTERM when it is asked for again, with all that it has started. It ends when we do, too, even if we are killed.
///
/// # Errors
/// If it cannot be started.
pub fn run_child(command: &mut Command, input: &[u8], stop: Option<&Stop>) -> io::Result<Ended> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // A group of its own: what the terminal sends goes to us, and we pass it on.
    piped.stderr(Stdio::piped()).process_group(0);
    let mut child = calls::end_with_us(command).spawn()?;
    let group = Pid::from_child(&child);
    let stdin = child.stdin.take();
    let output = Drain::new(child.stdout.take());
    let errors = Drain::new(child.stderr.take());
    let status = thread::scope(|scope| {
        // A program that does not read its input misses nothing.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input)));
        let (mut asked, mut wait) = (0, Duration::from_micros(200));
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok::<_, io::Error>(status);
            }
            let wanted = stop.map_or(0, Stop::times);
            if wanted > asked {
                let signal = if wanted >= 2 {
                    Signal::TERM
                } else {
                    Signal::INT
                };
                // It may have ended just now.
                let _ = kill_process_group(group, signal);
                asked = wanted;
            }
            thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(20));
        }
    })?;
    Ok(Ended {
        status,
        output: output.take(),
        errors: errors.take(),
    })
}

/// Of more output than twice this, only the end is kept.
const MOST: usize = 32 << 20;

/// What comes out of a pipe.
struct Drain {
    bytes: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl Drain {
    fn new(pipe: Option<impl Read + Send + 'static>) -> Self {
        let (bytes, (close, closed)) = (Arc::<Mutex<Vec<u8>>>::default(), channel());
        let into = Arc::clone(&bytes);
        // Without a thread for it nothing is read, and little is lost.
        let _ = thread::Builder::new().spawn(move || {
            let mut some = vec![0; 1 << 16];
            if let Some(mut pipe) = pipe {
                while let Ok(n @ 1..) = pipe.read(&mut some) {
                    let mut bytes = into.lock().unwrap_or_else(PoisonError::into_inner);
                    bytes.extend_from_slice(&some[..n]);
                    if bytes.len() > 2 * MOST {
                        let excess = bytes.len() - MOST;
                        bytes.drain(..excess);
                    }
                }
            }
            drop(close);
        });
        Self { bytes, closed }
    }

    /// What has come. Something that the program has left running may hold the pipe for ever: it is not waited for.
    fn take(self) -> Vec<u8> {
        const LONG_ENOUGH: Duration = Duration::from_secs(1);
        let _ = self.closed.recv_timeout(LONG_ENOUGH);
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *bytes)
    }
}
