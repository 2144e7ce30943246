//! Settings of queues that a killed replay has left, and that cannot be restored: they are reported. Where there is no
//! root or no loop device, a test says so and skips.

mod scratch;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scratch::{Loop, Scratch, err};

const READS: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; R\n";
/// The number of the user without rights.
const NOBODY: &str = "65534";

/// Where a replay of root keeps the original of a setting.
fn kept(device: &Loop) -> PathBuf {
    let name = device.0.file_name().unwrap().to_str().unwrap();
    PathBuf::from(format!("/run/iosonar/nomerges-{name}"))
}

fn setting(device: &Loop) -> PathBuf {
    let name = device.0.file_name().unwrap().to_str().unwrap();
    PathBuf::from(format!("/sys/block/{name}/queue/nomerges"))
}

fn value(device: &Loop) -> String {
    let text = fs::read_to_string(setting(device)).unwrap();
    text.trim().to_owned()
}

fn device(scratch: &Scratch) -> Option<Loop> {
    let device = Loop::over(&scratch.file("disk.img", vec![1; 4 << 20]));
    if device.is_none() {
        eprintln!("skipped: no loop device can be set up here");
    }
    device
}

/// Removes what a test has left, also if it fails.
struct Clean<'a>(&'a Loop);

impl Drop for Clean<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(kept(self.0));
        let _ = fs::write(setting(self.0), "0");
    }
}

/// Kills a replay that has forbidden merges.
fn leave(scratch: &Scratch, device: &Loop) {
    fs::write(setting(device), "0").unwrap();
    let row = |i: u64| format!("{:.3} ; {} ; 8 ; R\n", i as f64 / 20.0, i * 8);
    let load = scratch.file("long.load", (0..400).map(row).collect::<String>());
    let mut replay = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "-q", "--merges", "forbid", "--target"])
        .args([&device.0, &load])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while value(device) != "2" {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "nomerges is not set"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    replay.kill().unwrap();
    replay.wait().unwrap();
}

/// What the next replay says, of a user without rights or of root.
fn next(program: &Path, load: &Path, device: &Loop, as_nobody: bool) -> String {
    let mut command = Command::new(if as_nobody {
        Path::new("setpriv")
    } else {
        program
    });
    if as_nobody {
        command
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
            .arg(program);
    }
    let output = command
        .args(["replay", "--engine", "sync", "--target"])
        .args([&device.0, load])
        .output()
        .unwrap();
    let text = err(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    text
}

#[test]
fn a_setting_that_a_user_cannot_restore_is_reported() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let _clean = Clean(&device);
    leave(&scratch, &device);
    if !kept(&device).exists() {
        eprintln!("skipped: /run cannot be written");
        return;
    }
    // Where every user can reach them.
    let folder = tempfile::tempdir().unwrap();
    let everyone = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    everyone(folder.path(), 0o755);
    everyone(&device.0, 0o666);
    let (program, load) = (folder.path().join("iosonar"), folder.path().join("x.load"));
    fs::copy(assert_cmd::cargo::cargo_bin!("iosonar"), &program).unwrap();
    fs::write(&load, READS).unwrap();
    everyone(&load, 0o644);
    let text = next(&program, &load, &device, true);
    let says = format!(
        "nomerges of {} cannot be restored to '0'",
        device.0.display()
    );
    assert!(text.contains(&says), "{text}");
    assert!(kept(&device).exists());
    assert_eq!(value(&device), "2");
    let text = next(&program, &load, &device, false);
    assert!(text.contains("was restored to '0'"), "{text}");
    assert_eq!(value(&device), "0");
}

#[test]
fn a_damaged_file_of_an_original_is_reported_and_stays() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let _clean = Clean(&device);
    leave(&scratch, &device);
    let (file, load) = (kept(&device), scratch.file("x.load", READS));
    if !file.exists() {
        eprintln!("skipped: /run cannot be written");
        return;
    }
    fs::write(&file, "").unwrap();
    let program = assert_cmd::cargo::cargo_bin!("iosonar");
    for _ in 0..2 {
        let text = next(Path::new(&program), &load, &device, false);
        let says = format!("nomerges of {} is '2'", device.0.display());
        let found = text.contains(&says) && text.contains(file.to_str().unwrap());
        assert!(found, "{text}");
        assert!(file.exists());
    }
}
