//! The hosts of a sweep, and this program on them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use iosonar_hosts::{Shell, is_host_name};

use crate::hooks::{Ended, Stop, run_child};
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
        if !is_host_name(host) {
            let problem = format!(
                "--hosts: '{text}' is not a host, expected a name (for example from ssh's configuration), or \
                 HOST:/dev/NAME"
            );
            return Err(SweepError::Elsewhere(problem));
        }
        match all.iter_mut().find(|p| p.host == host) {
            Some(known) => match target {
                Some(target) if !known.targets.is_empty() && !known.targets.contains(&target) => {
                    known.targets.push(target);
                }
                _ => {
                    let problem = format!(
                        "--hosts: '{text}' is given twice: name each host once, or once for each of its targets"
                    );
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

impl Participant {
    /// Its targets as a replay on several hosts names them; those of a run where it has none of its own.
    pub fn names<'a>(&'a self, of_run: &'a [String]) -> impl Iterator<Item = String> + 'a {
        let targets = match self.targets.is_empty() {
            true => of_run,
            false => &self.targets,
        };
        targets
            .iter()
            .map(|target| format!("{}:{target}", self.host))
    }
}

/// Checks that a host answers, and that its program is of this version.
///
/// # Errors
/// If it does not, or has no such program.
pub fn check_version(
    shell: &Shell,
    host: &str,
    program: &str,
    is_copied: bool,
    stop: &Stop,
) -> Result<(), String> {
    let line = format!("{program} -V");
    let version = text(shell, host, &line, &[], stop).map_err(|silence| match silence {
        Silence::Unreachable(problem) => problem,
        Silence::Failed(problem) if is_copied => format!(
            "{problem}; the copy of this program does not run there: install iosonar there, and leave out --push"
        ),
        Silence::Failed(problem) => {
            format!("{problem}; install iosonar there, or use --push to copy this program")
        }
    })?;
    let ours = concat!("iosonar ", env!("CARGO_PKG_VERSION"));
    if version == ours {
        return Ok(());
    }
    Err(format!(
        "{host}: has '{version}', but this machine has '{ours}'; use --push to copy this program"
    ))
}

/// Why a host gave no answer.
enum Silence {
    /// It was not reached.
    Unreachable(String),
    /// It could not do what it was asked for.
    Failed(String),
}

/// What a line prints on a host.
fn text(
    shell: &Shell,
    host: &str,
    line: &str,
    input: &[u8],
    stop: &Stop,
) -> Result<String, Silence> {
    let said = |what: &str, ended: &Ended| {
        let text = format!("{host}: {what} ({}) {}", ended.how(), ended.last_words());
        text.trim_end().to_owned()
    };
    match run_child(&mut shell.on(host, line), input, Some(stop)) {
        Ok(ended) if ended.status.success() => {
            Ok(String::from_utf8_lossy(&ended.output).trim().to_owned())
        }
        // Of ssh itself the exit code is 255.
        Ok(ended) if ended.status.code() == Some(255) => {
            Err(Silence::Unreachable(said("does not answer", &ended)))
        }
        Ok(ended) => Err(Silence::Failed(said("failed", &ended))),
        Err(error) => Err(Silence::Unreachable(format!(
            "{host}: ssh cannot be started: {error}"
        ))),
    }
}

/// Folders with a copy of this program, of the same name on several hosts. They are removed with this.
pub struct Copies {
    shell: Shell,
    folder: String,
    hosts: Vec<String>,
}

impl Copies {
    /// No copies yet. The name of their folders cannot be guessed.
    ///
    /// # Errors
    /// If there are no random numbers here.
    pub fn new(shell: &Shell) -> io::Result<Self> {
        let mut bytes = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self {
            shell: shell.clone(),
            folder: format!("/tmp/iosonar-{}", digits.collect::<String>()),
            hosts: Vec::new(),
        })
    }

    /// The copy, on each host.
    pub fn program(&self) -> String {
        format!("{}/iosonar", self.folder)
    }

    /// Copies `program` to the hosts.
    ///
    /// # Errors
    /// Of each host that has no copy now, why.
    pub fn make(&mut self, program: &Path, hosts: &[&str], stop: &Stop) -> Result<(), Vec<String>> {
        let bytes = fs::read(program).map_err(|e| vec![format!("{}: {e}", program.display())])?;
        // A host with two names has it already; any other folder of this name is another's.
        let (folder, copy) = (&self.folder, self.program());
        let line = format!(
            "[ -O {copy} ] || {{ mkdir -m 700 {folder} && cat > {copy} && chmod 700 {copy}; }}"
        );
        // The user's shell there may be of another kind.
        let line = format!("sh -c {}", quoted(&line));
        let mut failed = Vec::new();
        for &host in hosts {
            if stop.is_asked() {
                failed.push("interrupted".to_owned());
                break;
            }
            // Before: a copy may fail in the middle.
            self.hosts.push(host.to_owned());
            if let Err(Silence::Unreachable(problem) | Silence::Failed(problem)) =
                text(&self.shell, host, &line, &bytes, stop)
            {
                failed.push(problem);
            }
        }
        match failed.is_empty() {
            true => Ok(()),
            false => Err(failed),
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for host in &self.hosts {
            // If it does not answer any more, the copy stays.
            let line = format!("rm -rf {}", self.folder);
            let _ = run_child(&mut self.shell.on(host, &line), &[], None);
        }
    }
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
        let of_run = ["/dev/sda".to_owned()];
        let names: Vec<String> = all.iter().flat_map(|p| p.names(&of_run)).collect();
        assert_eq!(
            names,
            ["a:/dev/sda", "b:/dev/sdb", "b:/dev/sdc", "user@c:/dev/sda"]
        );
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
