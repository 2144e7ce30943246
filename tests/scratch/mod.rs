//! A place for a test's files, and the command under test.

#![allow(dead_code, unreachable_pub)] // Each test binary uses a part of it.

use std::fs;
use std::path::PathBuf;

pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        // Beside the build: the system's directory for temporary files may be in memory.
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Whether a half-written output is left.
    pub fn holds_a_part(&self) -> bool {
        let mut entries = fs::read_dir(self.0.path()).unwrap().flatten();
        entries.any(|e| e.path().extension().is_some_and(|x| x == "part"))
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

pub fn iosonar() -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("iosonar").unwrap();
    command.env("NO_COLOR", "1");
    command
}
