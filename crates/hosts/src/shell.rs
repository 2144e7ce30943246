//! How a program is started on a host.

use std::process::Command;

/// Whether a shell takes this as a host. A name that begins with a dash would be an option of ssh.
pub fn is_host_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@%".contains(c);
    (1..=255).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_plain)
}

/// The user's ssh client, or a command that is called as one: `COMMAND [options] HOST LINE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell(Vec<String>);

impl Shell {
    /// From a command line such as `ssh -F config`.
    pub fn new(command: &str) -> Self {
        Self(command.split_whitespace().map(str::to_owned).collect())
    }

    /// A line that a shell runs on `host`. ssh never asks for a password, and notices in 15 s that a host is gone.
    pub fn on(&self, host: &str, line: &str) -> Command {
        let mut words = self.0.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words);
        for option in [
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        ] {
            command.args(["-o", option]);
        }
        command.arg(host).arg(line);
        command
    }
}
