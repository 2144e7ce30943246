//! A place for a test's files, and the command under test.

#![allow(dead_code, unreachable_pub)] // Each test binary uses a part of it.

pub mod browser;
pub mod chromium;
pub mod cluster;
pub mod packages;
pub mod python;
pub mod sshd;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A RAID 5 of four disks with a load of 300 requests, simulated twice in no time.
pub const SCENARIO: &str = "\
seed = 3
replications = 2
[load]
requests = 300
arrivals = { poisson_per_s = 20.0 }
size = { blocks = 1 }
[array]
level = 'raid5'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

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
    // Whatever the terminal is in which the tests run.
    for variable in ["COLUMNS", "CLICOLOR_FORCE", "IOSONAR_PLAIN"] {
        command.env_remove(variable);
    }
    command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command
}

/// Runs `iosonar sim`.
pub fn sim(scenario: &Path, options: &[&str]) -> Output {
    let run = iosonar().arg("sim").arg(scenario).args(options).output();
    run.unwrap()
}

/// Runs `iosonar replay` of a load on a file, which it may overwrite; all requests are done, if not all in time.
pub fn replay_on_file(load: &Path, target: &Path, options: &[&str]) -> Output {
    let replay = iosonar()
        .args(["replay", "--no-direct", "--engine", "sync", "--target"])
        .arg(target)
        .arg("--destroy")
        .arg(target)
        .args(options)
        .arg(load)
        .output()
        .unwrap();
    let code = replay.status.code();
    assert!(matches!(code, Some(0 | 3)), "{}", err(&replay));
    replay
}

/// What a run printed.
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a run printed on standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The hash of a simulation.
pub fn hash(output: &Output) -> String {
    let text = out(output);
    let at = text.find("hash ").expect("a run prints its hash");
    text[at + 5..at + 21].to_owned()
}

/// An empty disk in memory, whose driver takes bios; it goes away at the end.
pub struct Zram(pub u32);

impl Zram {
    pub fn new(bytes: u64) -> Option<Self> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?;
        let zram = Self(number.trim().parse().ok()?);
        let size = format!("/sys/block/zram{}/disksize", zram.0);
        fs::write(size, bytes.to_string()).ok()?;
        Some(zram)
    }

    pub fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.0).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/zram{}/reset", self.0), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", self.0.to_string());
    }
}

/// A loop device over a file, which goes away at the end.
pub struct Loop(pub PathBuf);

impl Loop {
    pub fn over(file: &Path) -> Option<Self> {
        Self::with(file, &["--direct-io=on"])
    }

    /// One that takes no writes.
    pub fn read_only(file: &Path) -> Option<Self> {
        Self::with(file, &["--direct-io=on", "--read-only"])
    }

    fn with(file: &Path, options: &[&str]) -> Option<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(file)
            .output()
            .ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| Self(path.trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.0)
            .status();
    }
}

/// A mounted device, which is unmounted at the end, also if the test fails.
pub struct Mounted(PathBuf);

impl Mounted {
    pub fn at(device: &Path, at: &Path) -> Option<Self> {
        let status = Command::new("mount").args([device, at]).status();
        status.is_ok_and(|s| s.success()).then(|| Self(at.into()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Whether the kernel's trace points can be recorded here.
pub fn has_trace_points() -> bool {
    let instances = Path::new("/sys/kernel/tracing/instances");
    let mounted = || {
        let mount = ["-t", "tracefs", "nodev", "/sys/kernel/tracing"];
        let _ = Command::new("mount").args(mount).status();
        instances.is_dir()
    };
    instances.is_dir() || mounted()
}

/// Whether a recorder has begun: its trace instance takes events.
pub fn is_recording(process: u32) -> bool {
    let switch = format!("/sys/kernel/tracing/instances/iosonar-{process}/tracing_on");
    let events = format!("/sys/kernel/tracing/instances/iosonar-{process}/events/enable");
    let begins_with = |file: &str, what: char| {
        fs::read_to_string(file).is_ok_and(|text| text.trim().starts_with(what))
    };
    // "X": some events are enabled.
    begins_with(&switch, '1') && begins_with(&events, 'X')
}

/// Reads blocks of 4 KiB from the beginning of a device, past the page cache.
pub fn read_blocks(device: &Path, blocks: usize) {
    let output = Command::new("dd")
        .arg(format!("if={}", device.display()))
        .args(["of=/dev/null", "bs=4k", "iflag=direct"])
        .arg(format!("count={blocks}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", err(&output));
}

/// It refused (exit code 2), for this reason.
pub fn assert_refused(output: &Output, why: &str) {
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}{}",
        out(output),
        err(output)
    );
    assert!(err(output).contains(why), "{}", err(output));
}
