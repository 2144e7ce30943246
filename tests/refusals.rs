//! Refusals and notes that name the real reason. Where there is no root, no loop device or no `taskset`, a test says so
//! and skips.

mod scratch;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use scratch::{Loop, Scratch, assert_refused, err, iosonar, out};

const WRITES: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; W\n";
const READS: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; R\n";

/// Runs the command as a user without privileges, from a copy that such a user can reach.
fn unprivileged(arguments: &[&str]) -> Option<Output> {
    /// `nobody`.
    const USER: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    if fs::metadata(folder.path()).unwrap().uid() != 0 {
        // Not root anyway.
        return Some(iosonar().args(arguments).output().unwrap());
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("iosonar");
    fs::copy(assert_cmd::cargo::cargo_bin!("iosonar"), &copy).unwrap();
    let mut command = Command::new(&copy);
    let command = command.args(arguments).current_dir("/");
    let command = command.uid(USER).gid(USER);
    let mut run = command.output();
    // A child of another test may hold the copy open for writing until it executes its own program.
    for _ in 0..200 {
        let is_busy = |e: &std::io::Error| e.kind() == ErrorKind::ExecutableFileBusy;
        if !run.as_ref().is_err_and(is_busy) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        run = command.output();
    }
    if let Err(e) = &run {
        eprintln!("skipped: nothing can be run as another user: {e}");
    }
    run.ok()
}

#[test]
fn a_folder_without_permission_is_refused_before_any_work() {
    // It is root's: the user that runs this has no permission to write there, unless it is root.
    let unwritable = "/usr/x.csv";
    let generate = ["generate", "poisson", "--rate", "9", "-o", unwritable];
    let Some(run) = unprivileged(&generate) else {
        return;
    };
    assert_refused(&run, "cannot create the file: Permission denied");
}

#[test]
fn failed_requests_are_not_blamed_on_another_user_of_the_device() {
    let scratch = Scratch::new();
    let backing = scratch.file("disk.img", vec![1; 8 << 20]);
    let Some(device) = Loop::over(&backing) else {
        return eprintln!("skipped: no loop device can be set up here");
    };
    // Reads behind the end of the file behind the device fail.
    let shorter = fs::File::options().write(true).open(&backing).unwrap();
    shorter.set_len(4 << 20).unwrap();
    drop(shorter);
    let rows: String = (0..500)
        .map(|i| {
            format!(
                "{:.4} ; {} ; 8 ; R\n",
                f64::from(i) * 2e-4,
                i * 7919 % 2048 * 8
            )
        })
        .collect();
    let reads = scratch.file("x.load", rows);
    let run = iosonar()
        .args(["replay", "--max-errors", "1000", "--target"])
        .args([&device.0, &reads])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    let text = out(&run) + &err(&run);
    assert!(text.contains("failed"), "{text}");
    for blamed in ["the device performed", "used it", "another process"] {
        assert!(!text.contains(blamed), "{text}");
    }
}

#[test]
fn a_recording_without_permission_says_so() {
    if !Path::new("/sys/kernel/tracing").exists() {
        return eprintln!("skipped: a kernel without tracing");
    }
    let Some(device) = fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .find(|path| path.exists())
    else {
        return eprintln!("skipped: there is no block device here");
    };
    if !Path::new("/sys/kernel/tracing/instances").exists() {
        return eprintln!("skipped: tracefs is not mounted here, or closed to this user");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let recorded = folder.path().join("x.ios");
    let arguments = [
        "record",
        device.to_str().unwrap(),
        "--duration",
        "100ms",
        "-o",
        recorded.to_str().unwrap(),
    ];
    let Some(run) = unprivileged(&arguments) else {
        return;
    };
    assert_refused(&run, "no permission to use the kernel's tracing files");
    assert!(!err(&run).contains("not mounted"), "{}", err(&run));
}

#[test]
fn a_read_only_device_is_refused_for_writes_before_the_first_request() {
    let scratch = Scratch::new();
    let backing = scratch.file("disk.img", vec![0; 8 << 20]);
    let Some(device) = Loop::read_only(&backing) else {
        return eprintln!("skipped: no loop device can be set up here");
    };
    let replay = |load: &str, options: &[&str]| {
        let load = scratch.file("x.load", load);
        let mut command = iosonar();
        command.arg("replay").args(options).arg("--target");
        command.args([&device.0, &load]).output().unwrap()
    };
    let name = device.0.to_str().unwrap();
    for options in [&["--write"][..], &["--write", "--destroy", name]] {
        assert_refused(&replay(WRITES, options), &format!("{name} is read-only"));
    }
    let listed = iosonar().arg("targets").arg(&device.0).output().unwrap();
    let text = out(&listed);
    assert!(
        text.contains("is read-only\n") && !text.contains("--destroy"),
        "{text}"
    );
    let read = replay(READS, &[]);
    assert!(matches!(read.status.code(), Some(0 | 3)), "{}", err(&read));
}

#[test]
fn a_target_that_the_user_must_not_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = |name: &str, content: &[u8], mode| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let load = file("x.load", WRITES.as_bytes(), 0o644);
    let (closed, barred) = (
        file("a.img", &[0; 16_384], 0o444),
        file("b.img", &[0; 16_384], 0),
    );
    for (target, purpose) in [(&closed, "written to"), (&barred, "read")] {
        let arguments = [
            "replay",
            "--write",
            "--no-direct",
            "--target",
            target,
            &load,
        ];
        let Some(run) = unprivileged(&arguments) else {
            return;
        };
        let why = format!("{target} cannot be {purpose}: Permission denied");
        assert_refused(&run, &why);
    }
}

#[test]
fn an_output_to_a_device_is_a_refusal_of_every_command() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", READS);
    let target = scratch.file("target", vec![7; 65_536]);
    // Its name has to end so.
    let page = scratch.path("page.html");
    std::os::unix::fs::symlink("/dev/null", &page).unwrap();
    let (load, target) = (load.to_str().unwrap(), target.to_str().unwrap());
    let page = page.to_str().unwrap();
    for arguments in [
        &[
            "replay",
            "--no-direct",
            "--target",
            target,
            load,
            "-o",
            "/dev/null",
        ][..],
        &["convert", load, "-o", "/dev/null"],
        &[
            "generate",
            "constant",
            "--rate",
            "10",
            "--duration",
            "1s",
            "--space",
            "1MiB",
            "-o",
            "/dev/null",
        ],
        &["report", load, "-o", page],
    ] {
        let run = iosonar().args(arguments).output().unwrap();
        assert_refused(&run, "not a regular file");
    }
    let write = ["replay", "--no-direct", "--write", "--destroy", target];
    let tables = ["--tag", "--keep-tables", "/dev/null", "--target", target];
    let writes = scratch.file("w.load", WRITES);
    let run = iosonar().args(write).args(tables).arg(&writes).output();
    assert_refused(&run.unwrap(), "/dev/null already exists");
}

#[test]
fn a_kernel_thread_that_submits_needs_three_processors() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", READS);
    let target = scratch.file("target", vec![7; 65_536]);
    let run = Command::new("taskset")
        .args(["-c", "0"])
        .arg(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "--no-direct", "--sqpoll", "--target"])
        .args([&target, &load])
        .output();
    match run {
        Ok(run) => assert_refused(&run, "--sqpoll needs at least 3 usable CPUs"),
        Err(e) => eprintln!("skipped: no taskset: {e}"),
    }
}

#[test]
fn a_priority_that_is_not_permitted_is_refused_and_auto_takes_what_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let load = folder.path().join("reads.load");
    fs::write(&load, READS).unwrap();
    let load = load.to_str().unwrap();
    let replay = ["replay", load, "--engine", "dry", "--json", "--priority"];
    let Some(refused) = unprivileged(&[&replay[..], &["fifo"]].concat()) else {
        return;
    };
    if refused.status.success() {
        eprintln!("skipped: real-time priorities are permitted to all users here");
        return;
    }
    assert_refused(&refused, "--priority fifo is not permitted");
    // Whether it kept up does not matter.
    let taken = unprivileged(&[&replay[..], &["auto"]].concat()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&out(&taken)).unwrap();
    assert_eq!(json["priority"], "slice");
}

#[test]
fn no_file_is_made_among_the_devices() {
    let scratch = Scratch::new();
    scratch.file("x.load", "0 ; 0 ; 8 ; R ; 0 ; 0\n");
    let run = iosonar()
        .args([
            "replay",
            "--create",
            "1MiB",
            "--target",
            "/dev/iosonar-test",
        ])
        .arg(scratch.path("x.load"))
        .output()
        .unwrap();
    assert_refused(&run, "a file in memory, as it is below");
    assert!(!Path::new("/dev/iosonar-test").exists());
}
