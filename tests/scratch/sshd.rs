//! An ssh daemon for a test.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::Scratch;

/// An ssh daemon of our own on the loopback, with keys of its own.
pub struct Daemon {
    child: Child,
    pub config: PathBuf,
}

impl Daemon {
    /// `None` if none can be started: that takes root, and the server.
    pub fn start(scratch: &Scratch) -> Option<Self> {
        let is_root = Command::new("id")
            .arg("-u")
            .output()
            .is_ok_and(|o| o.stdout == b"0\n");
        if !is_root || !Path::new("/usr/sbin/sshd").exists() {
            return None;
        }
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(scratch.path(key))
                .status();
            made.ok().filter(std::process::ExitStatus::success)?;
        }
        fs::create_dir_all("/run/sshd").ok()?;
        let port = TcpListener::bind("127.0.0.1:0")
            .ok()?
            .local_addr()
            .ok()?
            .port();
        let text = |name: &str| scratch.path(name).display().to_string();
        let daemon = scratch.file(
            "sshd_config",
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
                 PidFile none\nPermitRootLogin yes\n",
                text("host"),
                text("user.pub")
            ),
        );
        let config = scratch.file(
            "ssh_config",
            format!(
                "Host node*\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {}\n IdentitiesOnly yes\n\
                 StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n",
                text("user")
            ),
        );
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(daemon)
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let daemon = Self { child, config };
        for _ in 0..100 {
            let answer = Command::new("ssh")
                .arg("-F")
                .arg(&daemon.config)
                .args(["-o", "BatchMode=yes", "node1", "true"])
                .output();
            if answer.is_ok_and(|o| o.status.success()) {
                return Some(daemon);
            }
            sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
