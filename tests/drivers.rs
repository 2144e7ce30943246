//! Devices whose drivers take bios (zram) beside those whose drivers take requests (loop). They are made, which takes
//! root; elsewhere a test says so and skips.

mod scratch;

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scratch::{
    Loop, Scratch, Zram, err, has_trace_points, iosonar, is_recording, out, read_blocks,
};

const MIB: u64 = 1 << 20;

/// The threads of a process that may do more than `CAP_DAC_OVERRIDE`, `CAP_DAC_READ_SEARCH` and `CAP_FOWNER` allow, or get
/// more by executing a program.
fn privileges_beyond_files(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .flatten();
    let beyond = |status: &str| {
        let of = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .trim()
        };
        let permitted = u64::from_str_radix(of("CapPrm:"), 16).unwrap();
        permitted & !(1 << 1 | 1 << 2 | 1 << 3) != 0 || of("NoNewPrivs:") != "1"
    };
    let status = tasks.map(|task| fs::read_to_string(task.path().join("status")).unwrap());
    status.filter(|status| beyond(status)).collect()
}

#[test]
fn devices_of_both_kinds_are_recorded_together() {
    let scratch = Scratch::new();
    let image = scratch.file("disk.img", vec![7; 4 * MIB as usize]);
    let (Some(by_requests), Some(by_bios), true) =
        (Loop::over(&image), Zram::new(4 * MIB), has_trace_points())
    else {
        return eprintln!("skipped: no loop device, no zram or no tracefs here");
    };
    let zram = by_bios.path();
    // Blocks that were never written are answered without I/O of any kind on some kernels.
    let written = fs::File::options()
        .write(true)
        .custom_flags(libc::O_SYNC)
        .open(&zram)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &vec![9; MIB as usize]));
    written.unwrap();
    let records = scratch.path("both.csv");
    let recorder = Command::new(assert_cmd::cargo::cargo_bin("iosonar"))
        .args(["record", "--requests", "500", "--duration", "60s", "--json"])
        .arg("-o")
        .arg(&records)
        .args([&by_requests.0, &zram])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !is_recording(recorder.id()) {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(privileges_beyond_files(recorder.id()), Vec::<String>::new());
    read_blocks(&by_requests.0, 200);
    read_blocks(&zram, 300);
    let output = recorder.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(json["without_completions"], serde_json::json!([]));
    let text = fs::read_to_string(&records).unwrap();
    let header = text.lines().find(|line| line.starts_with("time_ns"));
    let columns: Vec<&str> = header.unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (device, latency) = (column("device"), column("latency_ns"));
    let rows = text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
    for (path, requests) in [(&by_requests.0, 200), (&zram, 300)] {
        let of_device = || rows.iter().filter(|row| Path::new(row[device]) == path);
        let with_latency = of_device().filter(|row| !row[latency].is_empty()).count();
        assert_eq!(
            (of_device().count(), with_latency),
            (requests, requests),
            "{}",
            path.display()
        );
    }
}

/// Reads of 4 KiB at 1,000 per second.
fn reads(scratch: &Scratch) -> PathBuf {
    let row = |i: u32| format!("{:.3} ; {} ; 8 ; R\n", f64::from(i) / 1000.0, i % 64 * 8);
    scratch.file("x.load", (0..200).map(row).collect::<String>())
}

#[test]
fn auto_says_which_options_it_had_no_use_for_and_that_it_is_one_engine_for_all() {
    let scratch = Scratch::new();
    let image = scratch.file("disk.img", vec![7; 4 * MIB as usize]);
    let Some(by_bios) = Zram::new(4 * MIB) else {
        return eprintln!("skipped: no zram here");
    };
    let load = reads(&scratch);
    let replay = |options: &[&str]| {
        let output = iosonar()
            .args(["replay", "-q", "--target"])
            .arg(by_bios.path())
            .args(options)
            .arg(&load)
            .output()
            .unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{}",
            err(&output)
        );
        out(&output)
    };
    let alone = replay(&[
        "--engine-opt",
        "buffers=plain",
        "--engine-opt",
        "task-work=defer",
    ]);
    let unused =
        "--engine-opt task-work, --engine-opt buffers=plain had no effect: engine auto chose sync";
    assert!(alone.contains(unused), "{alone}");
    assert!(!replay(&[]).contains("had no effect"));
    if let Some(by_requests) = Loop::over(&image) {
        let both = replay(&["--target", by_requests.0.to_str().unwrap()]);
        let name = format!("although sync suits zram{} better", by_bios.0);
        assert!(both.contains(&name), "{both}");
    }
}
