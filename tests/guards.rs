//! What a replay refuses to write to, because its data may be needed. Where there is no root or no loop
//! device, a test says so and skips.

mod scratch;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use iosonar::guard::Lease;
use scratch::{Loop, Scratch, assert_refused, err, iosonar, out};

const MIB: u64 = 1 << 20;
/// Of `open(2)`.
const O_NONBLOCK: i32 = 0o4000;

/// Three requests near the beginning, two of which write.
const WRITES: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; W\n0.002 ; 16 ; 8 ; W\n";
const READS: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; R\n";

/// A file of `size` bytes that is nothing but a hole.
fn hole(scratch: &Scratch, name: &str, size: u64) -> PathBuf {
    let path = scratch.path(name);
    File::create(&path).unwrap().set_len(size).unwrap();
    path
}

fn write_at(path: &Path, data: &[u8], at: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(data, at).unwrap();
    file.sync_all().unwrap();
}

/// Replays a load on a target, through the page cache: some file systems have no direct access.
fn replay(scratch: &Scratch, load: &str, target: &Path, options: &[&str]) -> Output {
    let load = scratch.file("x.load", load);
    let mut command = iosonar();
    command.args(["replay", "--no-direct", "--engine", "sync"]);
    command.args(options).arg("--target").args([target, &load]);
    command.output().unwrap()
}

/// A replay that writes, without consent to lose any data.
fn write(scratch: &Scratch, target: &Path) -> Output {
    replay(scratch, WRITES, target, &["--write"])
}

fn assert_done(output: &Output) {
    let done = matches!(output.status.code(), Some(0 | 3));
    assert!(done, "{}", err(output));
}

fn loop_over(file: &Path) -> Option<Loop> {
    let device = Loop::over(file);
    if device.is_none() {
        eprintln!("skipped: no loop device can be set up here");
    }
    device
}

/// A process that ends with the test.
struct Other(Child);

impl Other {
    /// A shell that has `file` open, in this way, as its standard input or output.
    fn with_open(file: &Path, redirection: &str) -> Self {
        let script = format!("exec 3{redirection}\"$0\"; echo open; read nothing");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut open = [0; 5];
        let stdout = child.stdout.as_mut().unwrap();
        std::io::Read::read_exact(stdout, &mut open).unwrap();
        Self(child)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_of_holes_and_zeros_holds_no_data() {
    let scratch = Scratch::new();
    let target = hole(&scratch, "disk.img", 256 * MIB);
    assert_done(&write(&scratch, &target));
    // Allocated, and still nothing but zeros.
    let zeros = scratch.file("zeros.img", vec![0; 8 << 20]);
    assert_done(&write(&scratch, &zeros));
}

#[test]
fn data_in_the_middle_of_a_file_are_found() {
    let scratch = Scratch::new();
    for (name, size) in [("hole.img", 256 * MIB), ("large.img", 1 << 40)] {
        let target = hole(&scratch, name, size);
        let at = size / 3 / 4096 * 4096;
        write_at(&target, b"a letter", at);
        let refused = write(&scratch, &target);
        assert_refused(
            &refused,
            &format!("bytes of data (byte {at}: unrecognised data"),
        );
        let mut found = [0; 8];
        let file = File::open(&target).unwrap();
        file.read_exact_at(&mut found, at).unwrap();
        assert_eq!(&found, b"a letter");
        let consent = ["--write", "--destroy", target.to_str().unwrap()];
        assert_done(&replay(&scratch, WRITES, &target, &consent));
    }
}

#[test]
fn a_file_that_a_verified_replay_wrote_may_be_written_again() {
    let scratch = Scratch::new();
    let target = hole(&scratch, "disk.img", 16 * MIB);
    let tagged = || replay(&scratch, WRITES, &target, &["--write", "--verify", "final"]);
    assert_done(&tagged());
    assert_done(&tagged());
    // What carries no tag may be anything.
    assert_done(&write(&scratch, &target));
    assert_refused(&tagged(), "bytes of data (byte 4096: unrecognised data");
}

#[test]
fn a_tagged_file_of_any_length_may_be_written_again() {
    let scratch = Scratch::new();
    let target = hole(&scratch, "disk.img", 2 * MIB + 100);
    // Around the beginning of the last MiB, which is looked at first, and the last whole sector.
    let load = "0 ; 2040 ; 16 ; W\n0.001 ; 3000 ; 8 ; W\n0.002 ; 4088 ; 8 ; W\n";
    for _ in 0..2 {
        let options = ["--write", "--verify", "final"];
        assert_done(&replay(&scratch, load, &target, &options));
    }
}

#[test]
fn data_in_the_middle_of_a_device_are_found() {
    let scratch = Scratch::new();
    let backing = hole(&scratch, "disk.img", 64 * MIB);
    write_at(&backing, b"a letter", 31 * MIB);
    let Some(device) = loop_over(&backing) else {
        return;
    };
    let at = 31 * MIB;
    let refused = write(&scratch, &device.0);
    assert_refused(&refused, &format!("unrecognised data at byte {at}, which"));
    let listed = iosonar().arg("targets").arg(&device.0).output().unwrap();
    assert!(
        out(&listed).contains("(writes need --destroy)"),
        "{}",
        out(&listed)
    );
    let consent = ["--write", "--destroy", device.0.to_str().unwrap()];
    assert_done(&replay(&scratch, WRITES, &device.0, &consent));
}

#[test]
fn copies_of_superblocks_in_a_large_device_are_found() {
    let scratch = Scratch::new();
    let size = 40 << 30;
    let backing = hole(&scratch, "disk.img", size);
    let Some(device) = loop_over(&backing) else {
        return;
    };
    // Only in places is it looked at: quick, and enough for what file systems leave.
    assert_done(&write(&scratch, &device.0));
    write_at(&backing, &[0; 3 * 4096], 0);
    let mut ext4 = [0; 512];
    ext4[56..58].copy_from_slice(&[0x53, 0xef]);
    for (data, at, what) in [
        (&b"XFSB"[..], size / 2, "an XFS file system's superblock"),
        (&ext4[..], 128 * MIB, "ext4 file system's superblock"),
        (&[0xfc, 0x4e, 0x2b, 0xa9][..], size - (64 << 10), "md array"),
        (&b"EFI PART"[..], size - 512, "GPT partition table"),
    ] {
        let _ = Command::new("blockdev")
            .arg("--flushbufs")
            .arg(&device.0)
            .status();
        write_at(&backing, data, at);
        let refused = write(&scratch, &device.0);
        assert_refused(&refused, what);
        assert!(
            err(&refused).contains(&format!("at byte {at}")),
            "{}",
            err(&refused)
        );
        write_at(&backing, &vec![0; data.len()], at);
    }
}

#[test]
fn what_another_process_has_open_for_writing_is_not_written_to() {
    let scratch = Scratch::new();
    let target = hole(&scratch, "disk.img", 8 * MIB);
    let other = Other::with_open(&target, "<>");
    let id = other.0.id();
    let open = format!("is open for writing in another process: sh (process {id})");
    assert_refused(&write(&scratch, &target), &open);
    let consent = ["--write", "--destroy", target.to_str().unwrap()];
    assert_refused(&replay(&scratch, WRITES, &target, &consent), &open);
    // Reads do no harm, but measure the other, too.
    let read = replay(&scratch, READS, &target, &[]);
    assert_done(&read);
    let measured = format!("whose I/O affects the measurement: sh (process {id})");
    assert!(err(&read).contains(&measured), "{}", err(&read));
    drop(other);

    let reader = Other::with_open(&target, "<");
    let written = write(&scratch, &target);
    assert_done(&written);
    let seen = format!(
        "which will see the data that the replay writes: sh (process {})",
        reader.0.id()
    );
    assert!(err(&written).contains(&seen), "{}", err(&written));
}

#[test]
fn a_device_or_its_storage_that_another_process_has_open_for_writing_is_not_written_to() {
    let scratch = Scratch::new();
    let backing = hole(&scratch, "disk.img", 8 * MIB);
    let Some(device) = loop_over(&backing) else {
        return;
    };
    for open in [&device.0, &backing] {
        let other = Other::with_open(open, "<>");
        let who = format!("sh (process {})", other.0.id());
        assert_refused(&write(&scratch, &device.0), &who);
    }
    assert_done(&write(&scratch, &device.0));
}

/// Whether the file system of a file of this user has leases.
fn has_leases(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path).unwrap();
    Lease::of(&file) == Lease::Held
}

#[test]
fn no_other_process_gets_at_the_file_during_a_replay_that_writes() {
    let scratch = Scratch::new();
    let target = hole(&scratch, "disk.img", 8 * MIB);
    if !has_leases(&target) {
        eprintln!("skipped: the file system has no leases");
        return;
    }
    let load = scratch.file("x.load", "0 ; 0 ; 8 ; W\n2 ; 8 ; 8 ; W\n");
    let mut replay = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "--no-direct", "--write", "--target"])
        .args([&target, &load])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It has begun when the first write has come to the file, which is a hole until then.
    while fs::metadata(&target).unwrap().blocks() == 0 && replay.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let opened = File::options()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(&target);
    let error = opened.err().map(|e| e.kind());
    let replay = replay.wait_with_output().unwrap();
    assert_done(&replay);
    assert_eq!(error, Some(std::io::ErrorKind::WouldBlock));
    let text = out(&replay);
    assert!(text.contains("another process tried to open"), "{text}");
}

#[test]
fn the_file_behind_a_loop_device_is_noticed_by_any_name() {
    let scratch = Scratch::new();
    let (first, second) = (hole(&scratch, "a.img", 8 * MIB), scratch.path("b.img"));
    fs::hard_link(&first, &second).unwrap();
    let Some(device) = loop_over(&first) else {
        return;
    };
    fs::remove_file(&first).unwrap();
    let consent = ["--write", "--destroy", second.to_str().unwrap()];
    for options in [&[][..], &consent] {
        let refused = replay(&scratch, READS, &second, options);
        assert_refused(
            &refused,
            &format!("the backing storage of {}", device.0.display()),
        );
    }
}
