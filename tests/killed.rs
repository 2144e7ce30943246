//! Replays that are killed (SIGKILL), or lose their power: what can be read of their records, and what they leave
//! behind on the device. Where there is no root, no loop device or no strace, a test says so and skips.

mod scratch;

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scratch::{Loop, Scratch, err, iosonar, out};

/// Every form in which a replay writes its records.
const FORMS: [&str; 11] = [
    "ios",
    "load",
    "csv",
    "tsv",
    "jsonl",
    "iolog",
    "ios.gz",
    "load.gz",
    "load.zst",
    "csv.gz",
    "jsonl.zst",
];

/// Reads at a constant rate.
fn load(scratch: &Scratch, rate: u64, seconds: u64) -> PathBuf {
    let rows: String = (0..rate * seconds)
        .map(|i| {
            let start = i as f64 / rate as f64;
            format!("{start:.6} ; {} ; 8 ; R\n", i * 7919 % 2048 * 8)
        })
        .collect();
    scratch.file("load.load", rows)
}

/// A replay without a device, which sleeps until its requests are due: several do not disturb each other.
fn start(load: &Path, out: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "-q", "--engine", "simulate", "--pacing", "sleep"])
        .arg("-o")
        .args([out, load])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The file under its temporary name, in a folder that holds nothing else.
fn part_in(folder: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).unwrap().flatten();
    files.next().map(|file| file.path())
}

/// Waits for `what`, some seconds at most.
fn wait_for<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many records are read of a file that was left behind. Without --lenient it is refused, with the way out.
fn salvaged(part: &Path) -> u64 {
    let strict = iosonar().arg("info").arg(part).output().unwrap();
    assert_eq!(strict.status.code(), Some(1), "{}", part.display());
    assert!(err(&strict).contains("--lenient"), "{}", err(&strict));
    let lenient = iosonar()
        .args(["info", "--lenient", "--json"])
        .arg(part)
        .output()
        .unwrap();
    assert_eq!(lenient.status.code(), Some(0), "{}", err(&lenient));
    let json: serde_json::Value = serde_json::from_str(&out(&lenient)).unwrap();
    let trace = &json["traces"][0];
    let remark = trace["remarks"][0]["what"].as_str().unwrap();
    assert!(
        remark.starts_with("records were read from a truncated file"),
        "{remark}"
    );
    trace["records"].as_u64().unwrap()
}

/// Replays into each form, all at once; each is killed this long after its file has appeared. How many records
/// are read of each.
fn records_left(rate: u64, after: Duration) -> Vec<(&'static str, u64)> {
    let scratch = Scratch::new();
    let load = load(&scratch, rate, 30);
    let mut replays: Vec<_> = FORMS
        .iter()
        .map(|form| {
            let folder = scratch.path(form);
            fs::create_dir(&folder).unwrap();
            let child = start(&load, &folder.join(format!("out.{form}")));
            (*form, folder, child)
        })
        .collect();
    for (form, folder, _) in &replays {
        wait_for(form, || part_in(folder));
    }
    std::thread::sleep(after);
    for (.., child) in &mut replays {
        kill(child);
    }
    let left = |(form, folder, _): &(&'static str, PathBuf, Child)| {
        (*form, salvaged(&part_in(folder).unwrap()))
    };
    replays.iter().map(left).collect()
}

#[test]
fn a_replay_that_is_killed_at_once_leaves_a_file_that_can_be_read() {
    records_left(1000, Duration::from_millis(300));
}

#[test]
fn a_replay_that_is_killed_loses_no_more_than_a_second_of_its_records() {
    // 200 ms to read ahead, a second that may be lost, and the rest for a busy machine.
    for (form, records) in records_left(1000, Duration::from_millis(2500)) {
        assert!(records >= 500, "{form}: {records} records");
    }
}

#[test]
fn of_a_load_with_few_requests_no_more_than_a_second_is_lost_either() {
    for (form, records) in records_left(5, Duration::from_millis(2500)) {
        assert!(records >= 3, "{form}: {records} records");
    }
}

#[test]
fn a_file_that_was_cut_off_on_its_way_is_read_up_to_there() {
    let scratch = Scratch::new();
    let load = load(&scratch, 2000, 1);
    for form in ["ios", "load.gz", "load.zst"] {
        let whole = scratch.path(&format!("out.{form}"));
        // Late on a busy machine, but whole.
        let ended = start(&load, &whole).wait().unwrap().code();
        assert!(matches!(ended, Some(0 | 3)), "{form}: {ended:?}");
        let bytes = fs::read(&whole).unwrap();
        let cut = scratch.file(&format!("cut.{form}"), &bytes[..bytes.len() - 20]);
        assert!(salvaged(&cut) >= 500, "{form}");
        // It can be used as a load, too.
        let converted = iosonar()
            .args(["convert", "--lenient", "--sort", "-o"])
            .args([&scratch.path("again.load"), &cut])
            .output()
            .unwrap();
        assert_eq!(converted.status.code(), Some(0), "{}", err(&converted));
    }
}

/// The calls of a replay that sync, rename and open, one a line; `None` without strace.
fn calls_of(scratch: &Scratch, options: &[&str]) -> Option<String> {
    let calls = scratch.path("calls.txt");
    let traced = Command::new("strace")
        .args(["-f", "-y", "-qq", "-e"])
        .arg("trace=fsync,fdatasync,rename,renameat,renameat2")
        .arg("-o")
        .arg(&calls)
        .arg(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "-q", "--engine", "simulate", "--pacing", "sleep"])
        .args(options)
        .arg("-o")
        .arg(scratch.path("out.load.gz"))
        .arg(load(scratch, 200, 2))
        .output();
    match traced {
        Ok(traced) if calls.exists() => {
            assert!(
                matches!(traced.status.code(), Some(0 | 3)),
                "{}",
                err(&traced)
            );
            Some(fs::read_to_string(&calls).unwrap())
        }
        _ => {
            eprintln!("skipped: strace cannot be run here");
            None
        }
    }
}

#[test]
fn durable_records_are_synced_once_per_second_with_their_names() {
    let scratch = Scratch::new();
    let Some(calls) = calls_of(&scratch, &["--durable"]) else {
        return;
    };
    let folder = fs::canonicalize(scratch.path(".")).unwrap();
    let is_of_folder = |line: &&str| line.contains(&format!("<{}>", folder.display()));
    let is_of_records = |line: &&str| line.contains("fdatasync") && line.contains("out.load.gz.");
    let of_folder: Vec<usize> = calls
        .lines()
        .enumerate()
        .filter(|(_, line)| is_of_folder(line))
        .map(|(i, _)| i)
        .collect();
    let renamed = calls.lines().position(|l| l.contains("rename"));
    let renamed = renamed.unwrap_or_else(|| panic!("no rename: {calls}"));
    // When it was created, and when it got its name.
    assert!(
        of_folder.iter().any(|&i| i < renamed) && of_folder.iter().any(|&i| i > renamed),
        "{calls}"
    );
    let syncs = calls.lines().filter(is_of_records).count();
    assert!(syncs >= 3, "{calls}");
    let completed = calls
        .lines()
        .take(renamed)
        .any(|l| l.contains("fsync") && l.contains("out.load.gz."));
    assert!(completed, "{calls}");
}

#[test]
fn records_are_not_synced_unless_that_is_wanted() {
    let scratch = Scratch::new();
    if let Some(calls) = calls_of(&scratch, &[]) {
        assert!(!calls.contains("sync("), "{calls}");
    }
    let refused = iosonar()
        .args(["replay", "--durable", "-o", "-", "--engine", "dry"])
        .arg(scratch.path("load.load"))
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("--durable"), "{}", err(&refused));
}

/// A loop device over a file without holes.
fn device(scratch: &Scratch) -> Option<Loop> {
    let device = Loop::over(&scratch.file("disk.img", vec![1; 8 << 20]));
    if device.is_none() {
        eprintln!("skipped: no loop device can be set up here");
    }
    device
}

/// Opens a device exclusively, as the ring of a killed process does, for some time.
fn held(device: &Path, time: Duration) -> std::thread::JoinHandle<()> {
    const EXCLUSIVE: i32 = 0o200;
    let mut options = fs::File::options();
    options.read(true).custom_flags(EXCLUSIVE);
    let holder = options.open(device).unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(time);
        drop(holder);
    })
}

#[test]
fn a_device_that_is_held_for_a_moment_is_waited_for() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let load = scratch.file(
        "x.load",
        "0.000 ; 0 ; 8 ; W\n0.001 ; 8 ; 8 ; W\n0.002 ; 0 ; 0 ; F\n",
    );
    let (target, tables) = (device.0.to_str().unwrap(), scratch.path("tables"));
    let holder = held(&device.0, Duration::from_millis(700));
    let replayed = iosonar()
        .args(["replay", "--write", "--destroy", target, "--target", target])
        .arg("--keep-tables")
        .args([&tables, &load])
        .output()
        .unwrap();
    holder.join().unwrap();
    assert!(
        matches!(replayed.status.code(), Some(0 | 3)),
        "{}",
        err(&replayed)
    );
    let waits = "is opened exclusively by another process: waiting up to 5 s";
    assert_eq!(
        err(&replayed).matches(waits).count(),
        1,
        "{}",
        err(&replayed)
    );
    let holder = held(&device.0, Duration::from_millis(700));
    let verified = iosonar()
        .args(["verify", "--after-crash", "--target", target])
        .arg(&tables)
        .output()
        .unwrap();
    holder.join().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", err(&verified));
    assert_eq!(
        err(&verified).matches(waits).count(),
        1,
        "{}",
        err(&verified)
    );
}

#[test]
fn a_setting_of_a_queue_that_a_killed_replay_left_is_restored_by_the_next() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let (target, disk) = (
        device.0.to_str().unwrap(),
        device.0.file_name().unwrap().to_str().unwrap(),
    );
    let setting = PathBuf::from(format!("/sys/block/{disk}/queue/nomerges"));
    let value = || fs::read_to_string(&setting).unwrap().trim().to_owned();
    fs::write(&setting, "0").unwrap();
    let load = load(&scratch, 100, 20);
    let replay = |options: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"));
        command
            .args(["replay", "--target", target])
            .args(options)
            .arg(&load);
        command
    };
    for next in [&["--merges", "forbid"][..], &[]] {
        let mut child = replay(&["-q", "--merges", "forbid"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("nomerges is set", || (value() == "2").then_some(()));
        kill(&mut child);
        assert_eq!(value(), "2");
        let next = replay(&["--max-runtime", "100ms"])
            .args(next)
            .output()
            .unwrap();
        let says = format!("nomerges of {target} was restored to '0'");
        assert!(err(&next).contains(&says), "{}", err(&next));
        assert_eq!(value(), "0");
    }
    // Nothing is left to be restored.
    fs::write(&setting, "2").unwrap();
    let next = replay(&["--max-runtime", "100ms"]).output().unwrap();
    assert!(!err(&next).contains("nomerges"), "{}", err(&next));
    assert_eq!(value(), "2");
    fs::write(&setting, "0").unwrap();
}
