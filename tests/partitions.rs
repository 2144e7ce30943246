//! Partitions as targets: what concerns the disk, or the file behind it, concerns them too. Where there is no root, no
//! loop device or no partition can be made, a test says so and skips.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use scratch::{Loop, Scratch, assert_refused, err, out};

const WRITES: &str = "0 ; 0 ; 8 ; W\n0.001 ; 8 ; 8 ; W\n";

/// A loop device with two partitions of 4 MiB, which go away with it.
struct Disk {
    device: Loop,
    backing: PathBuf,
}

impl Disk {
    fn new(scratch: &Scratch) -> Option<Self> {
        let backing = scratch.file("disk.img", vec![0; 16 << 20]);
        let disk = Self {
            device: Loop::over(&backing)?,
            backing,
        };
        let added = [("1", "2048"), ("2", "12288")]
            .iter()
            .all(|(number, first)| {
                let added = Command::new("addpart")
                    .arg(&disk.device.0)
                    .args([number, first, "8192"])
                    .status();
                added.is_ok_and(|status| status.success())
            });
        let deadline = Instant::now() + Duration::from_secs(2);
        while !(disk.partition(1).exists() && disk.partition(2).exists()) {
            if !added || Instant::now() > deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(disk)
    }

    fn partition(&self, number: u32) -> PathBuf {
        format!("{}p{number}", self.device.0.display()).into()
    }

    fn name(&self) -> &str {
        self.device.0.file_name().unwrap().to_str().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for number in ["1", "2"] {
            let _ = Command::new("delpart")
                .arg(&self.device.0)
                .arg(number)
                .stderr(Stdio::null())
                .status();
        }
    }
}

fn disk(scratch: &Scratch) -> Option<Disk> {
    let disk = Disk::new(scratch);
    if disk.is_none() {
        eprintln!("skipped: no partition of a loop device can be made here");
    }
    disk
}

fn replay(load: &Path, targets: &[&Path], options: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"));
    command
        .args(["replay", "--engine", "sync", "--pacing", "sleep"])
        .args(options)
        .arg(load);
    for target in targets {
        command.arg("--target").arg(target);
    }
    command
}

fn assert_done(output: &Output) {
    let text = format!("{}{}", out(output), err(output));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
}

#[test]
fn a_partition_is_not_written_to_while_the_file_behind_its_disk_is_open_for_writing() {
    let scratch = Scratch::new();
    let Some(disk) = disk(&scratch) else {
        return;
    };
    let load = scratch.file("w.load", WRITES);
    let write = |target: &Path| {
        let destroy = target.to_str().unwrap();
        replay(&load, &[target], &["--write", "--destroy", destroy])
            .output()
            .unwrap()
    };
    let mut other = Command::new("sh")
        .args(["-c", "exec 3<>\"$0\"; read nothing"])
        .arg(&disk.backing)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let who = format!("sh (process {})", other.id());
    std::thread::sleep(Duration::from_millis(300));
    let refused = [disk.partition(1), disk.device.0.clone()].map(|target| write(&target));
    other.kill().unwrap();
    other.wait().unwrap();
    for refused in refused {
        assert_refused(&refused, &who);
    }
    assert_done(&write(&disk.partition(1)));
    // Another loop device over the same file has the partition's data, too.
    let another = Loop::over(&disk.backing).unwrap();
    let in_use = format!("the backing storage of {}", another.0.display());
    assert_refused(&write(&disk.partition(1)), &in_use);
}

#[test]
fn targets_that_overlap_are_refused_before_they_are_opened() {
    let scratch = Scratch::new();
    let Some(disk) = disk(&scratch) else {
        return;
    };
    let load = scratch.file("r.load", "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; R\n");
    let alias = scratch.path("alias");
    let number = fs::read_to_string(format!("/sys/block/{}/dev", disk.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    let made = Command::new("mknod")
        .arg(&alias)
        .args(["b", major, minor])
        .status();
    assert!(made.unwrap().success());
    let (whole, first, second) = (&disk.device.0, disk.partition(1), disk.partition(2));
    let replay = |[a, b]: [&PathBuf; 2]| replay(&load, &[a, b], &[]).output().unwrap();
    assert_refused(&replay([whole, &alias]), "are the same target");
    for targets in [[whole, &first], [&second, whole], [&alias, &second]] {
        let overlap = format!(
            "{} and {} overlap",
            targets[0].display(),
            targets[1].display()
        );
        assert_refused(&replay(targets), &overlap);
    }
    assert_done(&replay([&first, &second]));
}

#[test]
fn a_setting_that_another_replay_on_the_disk_resets_is_missed() {
    let scratch = Scratch::new();
    let Some(disk) = disk(&scratch) else {
        return;
    };
    let reads = |name: &str, n: u64| {
        let row = |i: u64| format!("{:.3} ; {} ; 8 ; R\n", i as f64 / 20.0, i * 8);
        scratch.file(name, (0..n).map(row).collect::<String>())
    };
    let setting = format!("/sys/block/{}/queue/nomerges", disk.name());
    let value = || fs::read_to_string(&setting).unwrap().trim().to_owned();
    fs::write(&setting, "0").unwrap();
    let start = |load: &Path, number: u32| -> Child {
        replay(load, &[&disk.partition(number)], &["--merges", "forbid"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let first = start(&reads("short.load", 30), 1);
    let deadline = Instant::now() + Duration::from_secs(10);
    while value() != "2" {
        assert!(Instant::now() < deadline, "nomerges is not set");
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = start(&reads("long.load", 80), 2);
    let first = first.wait_with_output().unwrap();
    let second = second.wait_with_output().unwrap();
    fs::write(&setting, "0").unwrap();
    assert_done(&first);
    assert_eq!(second.status.code(), Some(3), "{}", err(&second));
    let text = out(&second);
    assert!(
        text.contains("was '2' for only part of the replay, and is now '0'"),
        "{text}"
    );
    assert!(
        !out(&first).contains("a part of the replay"),
        "{}",
        out(&first)
    );
}
