//! A model of a device, judged on the half of its records that it was not fitted to: GOOD, POOR and CANNOT TELL, each where
//! it holds and where it does not.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use scratch::{Scratch, Zram, err, iosonar, out};
use serde_json::Value;

/// A device that serves `channels` requests at a time.
struct Device {
    channels: usize,
    /// How long a service takes, in microseconds, by the number of the request.
    service_us: fn(u64) -> u64,
    /// How late the replay submits a request.
    late_us: fn(u64) -> u64,
}

/// A number that looks random.
fn mixed(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

/// From 100 to 300 us.
fn steady(i: u64) -> u64 {
    100 + mixed(i) % 200
}

/// Submitted when they should be.
fn in_time(_: u64) -> u64 {
    0
}

/// The records of a replay of `n` reads on a device, 1 ms apart on average.
fn records(scratch: &Scratch, name: &str, n: u64, device: &Device) -> PathBuf {
    let mut rows = "time_ns,sector,sectors,op,delay_ns,latency_ns\n".to_owned();
    let mut free = vec![0; device.channels];
    let mut time = 0;
    for i in 0..n {
        time += 500_000 + mixed(i + 1_000_000) % 1_000_000;
        let came = time + (device.late_us)(i) * 1_000;
        let channel = (0..free.len()).min_by_key(|&c| free[c]).unwrap();
        let done = free[channel].max(came) + (device.service_us)(i) * 1_000;
        free[channel] = done;
        let (sector, delay, latency) = (i * 7919 % 100_000 * 8, came - time, done - came);
        rows += &format!("{time},{sector},8,read,{delay},{latency}\n");
    }
    scratch.file(name, rows)
}

fn check_model(arguments: &[&str], records: &Path) -> Output {
    iosonar()
        .arg("check-model")
        .args(arguments)
        .arg(records)
        .output()
        .unwrap()
}

/// The results, which end with this exit code.
fn json_of(records: &Path, code: i32) -> Value {
    let run = check_model(&["--json"], records);
    assert_eq!(run.status.code(), Some(code), "{}{}", out(&run), err(&run));
    serde_json::from_slice(&run.stdout).unwrap()
}

fn figure(json: &Value, name: &str, labels: &[(&str, &str)]) -> f64 {
    let mut metrics = json["metrics"].as_array().unwrap().iter();
    let is_it = |m: &&Value| {
        m["name"] == name && labels.iter().all(|(key, value)| m["labels"][key] == *value)
    };
    let metric = metrics.find(is_it).unwrap_or_else(|| panic!("no {name}"));
    metric["value"].as_f64().unwrap()
}

#[test]
fn a_device_that_stays_as_it_was_is_predicted() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 2,
        service_us: steady,
        late_us: in_time,
    };
    let records = records(&scratch, "steady.csv", 4_000, &device);
    let json = json_of(&records, 0);
    assert_eq!(json["verdict"], "good");
    assert_eq!(json["why"], Value::Null);
    // A distance as large between two samples of 2 000 has a probability of 0.1 %.
    assert!(figure(&json, "ks_distance", &[("class", "all")]) < 0.062);
    // Times from 100 to 300 us evenly: the density at the median is 1 / 200 us, so its standard error is
    // 200 us * sqrt(0.25 / 2000) = 2.2 us, that of a difference 3.2 us, 1.6 % of the median.
    let p50 = figure(&json, "quantile_error", &[("quantile", "p50")]);
    assert!(p50.abs() < 0.064, "{p50}");
}

#[test]
fn a_device_that_becomes_slower_is_not_predicted() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 2,
        service_us: |i| steady(i) * if i < 2_000 { 1 } else { 2 },
        late_us: in_time,
    };
    let records = records(&scratch, "slower.csv", 4_000, &device);
    let json = json_of(&records, 3);
    assert_eq!(json["verdict"], "poor");
    // The two halves of the device's own records are as far apart.
    assert!(figure(&json, "halves_apart", &[]) > 0.4);
    let p50 = figure(
        &json,
        "quantile_error",
        &[("class", "all"), ("quantile", "p50")],
    );
    assert!((p50 + 0.5).abs() < 0.05, "{p50}");
    let run = check_model(&[], &records);
    let last = out(&run).lines().last().unwrap().to_owned();
    let changed = "The KS distance between the two halves of the device's own records is";
    assert!(
        last.starts_with("POOR: ") && last.contains("% below") && last.contains(changed),
        "{last}"
    );
}

#[test]
fn a_tail_that_the_model_has_not_seen_is_poor_however_small_the_distance() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 8,
        // Of the second half every fiftieth takes ten times as long.
        service_us: |i| steady(i) * if i >= 2_000 && i % 50 == 0 { 10 } else { 1 },
        late_us: in_time,
    };
    let records = records(&scratch, "tail.csv", 4_000, &device);
    let json = json_of(&records, 3);
    assert_eq!(json["verdict"], "poor");
    assert!(figure(&json, "ks_distance", &[("class", "all")]) < 0.1);
    let sentence = json["sentence"].as_str().unwrap();
    assert!(
        // Which is also that its halves are near each other.
        sentence.ends_with("its p99 is more than 47 % off"),
        "{sentence}"
    );
}

#[test]
fn few_requests_and_late_ones_leave_no_verdict() {
    let scratch = Scratch::new();
    let few = Device {
        channels: 2,
        service_us: steady,
        late_us: in_time,
    };
    let records_of = |name, n, device: &Device| records(&scratch, name, n, device);
    let json = json_of(&records_of("few.csv", 1_998, &few), 3);
    assert_eq!(
        (&json["verdict"], &json["why"]),
        (&"cannot tell".into(), &"too few requests".into())
    );
    let enough = json_of(&records_of("enough.csv", 2_000, &few), 0);
    assert_eq!(enough["verdict"], "good");
    // Every tenth is 400 us late, with the latencies of the device as they were.
    let late = Device {
        late_us: |i| if i % 10 == 0 { 400 } else { 0 },
        ..few
    };
    let json = json_of(&records_of("late.csv", 4_000, &late), 3);
    assert_eq!(
        (&json["verdict"], &json["why"]),
        (&"cannot tell".into(), &"submitted late".into())
    );
    assert!((figure(&json, "share_late", &[]) - 0.1).abs() < 0.01);
    // As late, but of a device whose latencies are long beside it.
    let slow = Device {
        service_us: |i| 10 * steady(i),
        channels: 16,
        ..late
    };
    let json = json_of(&records_of("slow.csv", 4_000, &slow), 0);
    assert_eq!(
        (&json["verdict"], figure(&json, "share_late", &[])),
        (&"good".into(), 0.0)
    );
}

#[test]
fn requests_that_came_when_others_ended_leave_no_verdict() {
    let scratch = Scratch::new();
    // One at a time, as an engine without io_uring submits: each waits in the replay for the one before.
    let mut rows = "time_ns,sector,sectors,op,delay_ns,latency_ns\n".to_owned();
    let mut free = 0;
    for i in 0..4_000 {
        // Bursts of four.
        let time = i / 4 * 4_000_000;
        let came = free.max(time);
        let latency = steady(i) * 1_000;
        free = came + latency;
        rows += &format!("{time},{},8,read,{},{latency}\n", i * 8, came - time);
    }
    let json = json_of(&scratch.file("one-by-one.csv", rows), 3);
    assert_eq!(
        (&json["verdict"], &json["why"]),
        (&"cannot tell".into(), &"waited for a place".into())
    );
    assert!((figure(&json, "share_held_back", &[]) - 0.75).abs() < 0.01);
    assert_eq!(figure(&json, "share_late", &[]), 0.0);
}

#[test]
fn a_closed_loop_that_an_open_model_does_not_fit_leaves_no_verdict() {
    let scratch = Scratch::new();
    // One after another, with a pause between.
    let records = |pause_us: fn(u64) -> u64| {
        let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
        let mut came = 0;
        for i in 0..4_000 {
            let latency = steady(i) * 1_000;
            rows += &format!("{came},{},8,read,{latency}\n", i * 8);
            came += latency + pause_us(i) * 1_000;
        }
        scratch.file(&format!("{}.csv", pause_us(0)), rows)
    };
    let json = json_of(&records(|_| 0), 3);
    assert_eq!(
        (&json["verdict"], &json["why"]),
        (&"cannot tell".into(), &"closed loop".into()),
        "{json:#}"
    );
    let open = records(|i| 1_000 + mixed(i + 7) % 3_000);
    let json = json_of(&open, 0);
    assert_eq!(json["verdict"], "good");
    // That the device changed is said in any case.
    let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    let mut came = 0;
    for i in 0..4_000 {
        let latency = steady(i) * if i < 2_000 { 1_000 } else { 2_000 };
        rows += &format!("{came},{},8,read,{latency}\n", i * 8);
        came += latency;
    }
    let json = json_of(&scratch.file("changed.csv", rows), 3);
    assert_eq!(json["why"], "closed loop", "{json:#}");
    let sentence = json["sentence"].as_str().unwrap();
    assert!(sentence.contains("changed"), "{sentence}");
    // At a constant queue depth, too, which two servers do not explain with four.
    let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    let (mut free, mut came) = ([0_u64; 2], [0_u64; 4]);
    for i in 0..4_000 {
        let job = (0..4).min_by_key(|&j| came[j]).unwrap();
        let server = (0..2).min_by_key(|&s| free[s]).unwrap();
        free[server] = free[server].max(came[job]) + steady(i) * 1_000;
        let latency = free[server] - came[job];
        rows += &format!("{},{},8,read,{latency}\n", came[job], i * 8);
        came[job] = free[server];
    }
    let json = json_of(&scratch.file("depth-4.csv", rows), 3);
    assert_eq!(json["why"], "closed loop", "{json:#}");
    // What blames the device says so as well.
    let profile = scratch.path("closed.toml");
    let calibrated = |records: &Path| {
        let options = [
            "calibrate",
            "--profile",
            "ssd",
            "-o",
            profile.to_str().unwrap(),
        ];
        err(&iosonar().args(options).arg(records).output().unwrap())
    };
    let closed = calibrated(&scratch.path("0.csv"));
    assert!(
        closed.contains("W070") && closed.contains("as in a closed loop"),
        "{closed}"
    );
    assert!(!calibrated(&open).contains("closed loop"));
}

#[test]
fn a_coarse_clock_makes_no_closed_loop() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 2,
        service_us: |i| 10 * steady(i) * if i < 2_000 { 1 } else { 2 },
        late_us: in_time,
    };
    let fine = records(&scratch, "fine.csv", 4_000, &device);
    let json = json_of(&fine, 3);
    assert_eq!(json["verdict"], "poor", "{json:#}");
    assert!(figure(&json, "share_at_completions", &[]) < 0.3);
    // In whole milliseconds, as many come when others are complete by chance.
    let rows = fs::read_to_string(&fine).unwrap();
    let whole = |cell: &str| {
        let ns: u64 = cell.parse().unwrap();
        (ns / 1_000_000).max(1) * 1_000_000
    };
    let mut coarse = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let (time, latency) = (whole(cells[0]), whole(cells[5]));
        coarse += &format!("{time},{},8,read,{latency}\n", cells[1]);
    }
    let json = json_of(&scratch.file("coarse.csv", coarse), 3);
    assert_eq!(json["verdict"], "poor", "{json:#}");
    assert!(!json.to_string().contains("share_at_completions"));
}

#[test]
fn how_many_are_served_at_a_time_is_known_only_if_others_waited() {
    let scratch = Scratch::new();
    for (name, channels, service_us, parallelism) in [
        // Hardly ever two at once, and often more than two.
        ("few.csv", 4, steady as fn(u64) -> u64, "at least"),
        ("many.csv", 2, |i| 7 * steady(i), "known"),
    ] {
        let device = Device {
            channels,
            service_us,
            late_us: in_time,
        };
        let records = records(&scratch, name, 4_000, &device);
        let json = json_of(&records, 0);
        assert_eq!(json["parallelism"], parallelism, "{name}: {json:#}");
        let text = out(&check_model(&[], &records));
        let or_more = text.contains("or more requests at a time");
        assert_eq!(or_more, parallelism == "at least", "{text}");
    }
}

#[test]
fn delays_that_are_not_recorded_are_not_zero() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 1,
        service_us: steady,
        late_us: in_time,
    };
    let with = records(&scratch, "with.csv", 3_000, &device);
    let rows = fs::read_to_string(&with).unwrap();
    let without: String = rows
        .lines()
        .map(|row| {
            let mut cells: Vec<&str> = row.split(',').collect();
            cells.remove(4);
            cells.join(",") + "\n"
        })
        .collect();
    let without = scratch.file("without.csv", without);
    assert!(out(&check_model(&[], &with)).contains("submitted more than"));
    assert!(!out(&check_model(&[], &without)).contains("submitted more than"));
}

#[test]
fn picture_and_profile_are_kept_and_the_profile_can_be_simulated() {
    let scratch = Scratch::new();
    let device = Device {
        channels: 2,
        service_us: steady,
        late_us: in_time,
    };
    let records = records(&scratch, "steady.csv", 4_000, &device);
    let (picture, profile) = (scratch.path("check.svg"), scratch.path("mine.toml"));
    let options = [
        "-o",
        picture.to_str().unwrap(),
        "--profile-out",
        profile.to_str().unwrap(),
        "-q",
    ];
    let run = check_model(&options, &records);
    assert!(run.status.success(), "{}", err(&run));
    let drawn = fs::read_to_string(&picture).unwrap();
    for text in ["GOOD: ", "\ndevice\n", "\nmodel\n", "\n2 000\n", "\np99\n"] {
        assert!(drawn.contains(text), "{text}");
    }
    assert!(fs::read_to_string(&profile).unwrap().contains("# GOOD: "));
    let scenario = scratch.file(
        "mine-again.toml",
        "[load]\nrequests = 1000\nrate = 100\nread_share = 1.0\nsize = \"4KiB\"\n[ssd]\nprofile = \"mine.toml\"\n",
    );
    let simulated = scratch::sim(&scenario, &["-q"]);
    assert!(simulated.status.success(), "{}", err(&simulated));
}

#[test]
fn a_disk_is_predicted_by_a_profile_with_its_geometry() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "disk.toml",
        "seed = 3\nwarmup_requests = 0\n[load]\nrequests = 3000\nrate = 40\nread_share = 1.0\nsize = \"8KiB\"\n\
         [array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"1MiB\"\n[disk]\nprofile = \"seagate-st3500630ns\"\n",
    );
    let records = scratch.path("disk.ios");
    let simulated = scratch::sim(&scenario, &["-q", "--records", records.to_str().unwrap()]);
    assert!(simulated.status.success(), "{}", err(&simulated));
    let profile = scratch.path("mine.toml");
    let options = [
        "--profile",
        "seagate-st3500630ns",
        "--profile-out",
        profile.to_str().unwrap(),
    ];
    let run = check_model(&options, &records);
    assert!(run.status.success(), "{}{}", out(&run), err(&run));
    assert!(out(&run).contains("model: a disk ("), "{}", out(&run));
    assert!(fs::read_to_string(&profile).unwrap().contains("cylinders"));
}

#[test]
fn what_cannot_be_checked_is_refused_with_what_to_do() {
    let scratch = Scratch::new();
    let load = scratch.file("load.load", "0.0 ; 0 ; 8 ; R\n1.0 ; 8 ; 8 ; R\n");
    for (options, code, expected) in [
        (&[][..], 1, "give the device with --target"),
        (
            &["--skip-writes"],
            2,
            "--skip-writes applies only to a replay",
        ),
        (&["--profile", "nvme-gen4-tlc"], 2, "or 'iosonar calibrate'"),
        (
            &["--profile-out", "mine.txt"],
            2,
            "the name of a profile must end in .toml",
        ),
        (
            &["-o", "check.pdf"],
            2,
            "the name of a picture must end in .png or .svg",
        ),
        (
            &["--target", "a", "--target", "b"],
            2,
            "give --target only once",
        ),
    ] {
        let run = check_model(options, &load);
        assert_eq!(run.status.code(), Some(code), "{options:?}: {}", err(&run));
        assert!(err(&run).contains(expected), "{options:?}: {}", err(&run));
    }
}

/// A load of 3 000 reads and 1 000 writes over 2 s, on 64 MiB.
fn load(scratch: &Scratch) -> PathBuf {
    let rows: String = (0..4_000_u64)
        .map(|i| {
            let op = if i % 4 == 0 { 'W' } else { 'R' };
            let start = (i * 500 + mixed(i) % 400) as f64 / 1e6;
            format!("{start:.6} ; {} ; 8 ; {op}\n", mixed(i) % (1 << 14) * 8)
        })
        .collect();
    scratch.file("load.load", rows)
}

#[test]
fn a_load_is_replayed_and_what_was_not_submitted_does_not_count() {
    let scratch = Scratch::new();
    let load = load(&scratch);
    let kept = scratch.path("kept.ios");
    let simulated = ["--engine", "simulate", "--latency", "5ms", "--skip-writes"];
    let keep = ["--records", kept.to_str().unwrap(), "--json", "-q"];
    let run = check_model(&[&simulated[..], &keep[..]].concat(), &load);
    // How well a narrow distribution is met depends on how busy this machine is.
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(json["requests"], 3_000);
    // From the kept records the same follows.
    let code = run.status.code().unwrap();
    let again = json_of(&kept, code);
    for key in ["verdict", "requests", "metrics"] {
        assert_eq!(again[key], json[key], "{key}");
    }
}

#[test]
fn a_device_is_checked_and_one_in_use_is_refused() {
    let scratch = Scratch::new();
    let Some(zram) = Zram::new(32 << 20) else {
        eprintln!("skipped: no zram device can be made here");
        return;
    };
    let device = zram.path();
    fs::write(&device, vec![7; 32 << 20]).unwrap();
    let load = load(&scratch);
    let device = device.to_str().unwrap();
    // The load reaches to twice the device's size.
    let run = check_model(&["--target", device, "--skip-writes"], &load);
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    let run = check_model(
        &["--target", device, "--fit", "--skip-writes", "--json"],
        &load,
    );
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(json["requests"], 3_000);
    assert!(fs::read(device).unwrap().iter().all(|&byte| byte == 7));
    // Its writes are refused without a word, and a device that is mounted or used is none to replay on.
    let refused = check_model(&["--target", device, "--fit"], &load);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    let formatted = std::process::Command::new("mkfs.ext4")
        .args(["-q", device])
        .status();
    let at = scratch.path("mounted");
    fs::create_dir(&at).unwrap();
    if formatted.is_ok_and(|status| status.success())
        && let Some(_mounted) = scratch::Mounted::at(Path::new(device), &at)
    {
        let run = check_model(&["--target", device, "--fit", "--skip-writes"], &load);
        assert_eq!(run.status.code(), Some(2), "{}", err(&run));
        assert!(err(&run).contains("mounted"), "{}", err(&run));
    }
}

/// The records of one server in a closed loop: a request comes when the one `depth` before it is complete.
fn constant_depth(scratch: &Scratch, depth: usize) -> PathBuf {
    let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    let mut done: Vec<u64> = Vec::new();
    for i in 0..4_000_usize {
        let came = i.checked_sub(depth).map_or(i as u64, |before| done[before]);
        let last = done.last().map_or(0, |&last| last);
        let end = came.max(last) + steady(i as u64) * 1_000;
        done.push(end);
        rows += &format!("{came},{},8,read,{}\n", i * 8, end - came);
    }
    scratch.file("constant.csv", rows)
}

/// The records of a device that gets each request long after the one before is complete.
fn one_at_a_time(scratch: &Scratch) -> PathBuf {
    let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    for i in 0..4_000 {
        let (came, latency) = (10_000_000 * i, steady(i) * 1_000);
        rows += &format!("{came},{},8,read,{latency}\n", i * 8);
    }
    scratch.file("single.csv", rows)
}

/// The records of one server of 5 ms, which gets bursts of 50 requests at random places.
fn bursts(scratch: &Scratch) -> PathBuf {
    let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
    for i in 0..4_000 {
        let (burst, place) = (i / 50, i % 50 + 1);
        let latency = place * 5_000_000 + steady(i) * 1_000;
        let sector = mixed(i) % 100_000 * 8;
        rows += &format!("{}000000000,{sector},8,read,{latency}\n", burst + 1);
    }
    scratch.file("bursts.csv", rows)
}

#[test]
fn a_queue_is_not_taken_for_parallelism() {
    let scratch = Scratch::new();
    let of_device = Device {
        channels: 2,
        service_us: |i| 7 * steady(i),
        late_us: in_time,
    };
    let known = records(&scratch, "two.csv", 4_000, &of_device);
    assert_eq!(json_of(&known, 0)["verdict"], "good");
    let calibrate = |records: &Path| {
        iosonar()
            .args(["calibrate", "--profile", "ssd", "-o"])
            .arg(scratch.path("fitted.toml"))
            .arg(records)
            .output()
            .unwrap()
    };
    let run = calibrate(&known);
    assert!(run.status.success(), "{}", err(&run));
    assert!(err(&run).contains("acceptable fit"), "{}", err(&run));
    // Some requests waited for others, so there are no more than two at a time.
    assert!(!err(&run).contains("W099"), "{}", err(&run));
    assert!(out(&run).contains("at a time: 2\n"), "{}", out(&run));
    // One at a time shows neither.
    let single = one_at_a_time(&scratch);
    let run = calibrate(&single);
    assert!(run.status.success(), "{}", err(&run));
    assert!(err(&run).contains("acceptable fit"), "{}", err(&run));
    assert!(err(&run).contains("W099"), "{}", err(&run));
    assert!(out(&run).contains("at a time: 1 or more"), "{}", out(&run));
    assert!(
        out(&run).contains("the time per KiB is unknown"),
        "{}",
        out(&run)
    );
    let rows = fs::read_to_string(&single).unwrap();
    let of_two_sizes = scratch.file("sizes.csv", rows.replace("0,8,read", "0,16,read"));
    for (records, is_known) in [(&single, false), (&of_two_sizes, true)] {
        let fitted = scratch.path("fitted.toml");
        let options = ["calibrate", "--profile", "ssd", "--json", "-o"];
        let mut to_json = iosonar();
        to_json.args(options).args([&fitted, records]);
        let json = out(&to_json.output().unwrap());
        assert_eq!(json.contains("us_per_kib"), is_known, "{json}");
    }
    let run = check_model(&[], &single);
    assert!(run.status.success(), "{}", err(&run));
    assert!(
        err(&run).contains("more than 1 request at a time"),
        "{}",
        err(&run)
    );
    for (records, why) in [
        (constant_depth(&scratch, 32), "closed loop"),
        (bursts(&scratch), "queue depth hardly varies"),
    ] {
        let json = json_of(&records, 3);
        assert_eq!(json["verdict"], "cannot tell", "{}", json["sentence"]);
        assert_eq!(json["why"], why);
        let run = calibrate(&records);
        assert_eq!(run.status.code(), Some(3), "{}", err(&run));
        assert!(!err(&run).contains("acceptable fit"), "{}", err(&run));
        assert!(err(&run).contains("Record a load"), "{}", err(&run));
    }
}

#[test]
fn chance_near_saturation_is_not_blamed_on_the_device() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "near.toml",
        "[load]\nrequests = 8000\nrate = 900\nread_share = 1.0\nsize = \"4KiB\"\n\
         [array]\nlevel = \"raid0\"\ndisks = 1\n\
         [device]\nservice = { gamma = { mean_ms = 1.0, cv = 0.1 } }\ncapacity = \"100GB\"\n",
    );
    let records = scratch.path("near.ios");
    let run = iosonar()
        .args(["sim", "-q", "--seed", "1", "--records"])
        .args([&records, &scenario])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    let json = json_of(&records, 3);
    let sentence = json["sentence"].as_str().unwrap();
    assert_eq!(json["verdict"], "cannot tell", "{sentence}");
    assert_eq!(json["why"], "correlated requests");
    assert!(!sentence.contains("changed"), "{sentence}");
}
