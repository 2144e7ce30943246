//! Tests in the lab (`tests/lab`): a Linux in QEMU with devices that a test machine seldom has. Where QEMU, a tool or the
//! kernel's package cannot be had, a test says so and skips. The long set runs with `cargo test --test lab -- --ignored`.

mod scratch;

#[path = "lab/log_writes.rs"]
mod log_writes;
#[path = "lab/machine.rs"]
mod machine;

use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use machine::Machine;
use scratch::{Scratch, iosonar};
use serde_json::Value;

/// Every guard has a device of its own: see `guards.sh`.
#[test]
fn devices_in_use_are_refused_and_not_a_byte_of_them_changes() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    let machine = (0..7).fold(machine, |machine, i| {
        machine.nvme(&scratch.path(&format!("nvme{i}")), 8)
    });
    let machine = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .fold(machine, |m, i| m.disk(&scratch.path(&format!("vd{i}")), 8));
    machine.run(&["guards"]);
}

#[test]
fn failures_delays_lost_writes_and_corruption_are_reported_as_they_are() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.nvme(&scratch.path("nvme"), 12).run(&[
        "requests",
        "errors",
        "delays",
        "lying_flushes",
        "corruption",
    ]);
}

#[test]
fn sequential_zones_are_written_in_order_or_not_at_all() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    let zones = image(&scratch, "zones", 64);
    let options = ",logical_block_size=4096,physical_block_size=4096,zoned=true,zoned.zone_size=4M,\
                   zoned.zone_capacity=3M,zoned.max_active=4,zoned.max_open=4";
    machine
        .controller(&[(&zones, options)])
        .set("ZNS", 1)
        .run(&["zoned"]);
}

#[test]
fn nvme_commands_and_polled_completions_do_what_the_block_layer_does() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    let (small, large) = (image(&scratch, "512", 16), image(&scratch, "4096", 16));
    let blocks = ",logical_block_size=4096,physical_block_size=4096";
    machine
        .controller(&[(&small, ""), (&large, blocks)])
        .disk(&scratch.path("vda"), 16)
        .kernel("nvme.poll_queues=2")
        .run(&["passthrough"]);
}

/// An image that is nothing but a hole.
fn image(scratch: &Scratch, name: &str, mib: u64) -> std::path::PathBuf {
    let path = scratch.path(name);
    let file = fs::File::create(&path).unwrap();
    file.set_len(mib << 20).unwrap();
    path
}

#[test]
fn what_was_durable_survives_a_loss_of_power_and_of_a_volatile_cache() {
    cut_the_power(1..3);
}

/// `IOSONAR_SEEDS=A..B` chooses how many, and their random numbers.
#[test]
#[ignore = "20 losses of power take about ten minutes, and IOSONAR_SEEDS chooses more"]
fn what_was_durable_survives_many_losses_of_power() {
    let seeds = std::env::var("IOSONAR_SEEDS").unwrap_or_else(|_| "100..120".to_owned());
    let (from, to) = seeds.split_once("..").expect("IOSONAR_SEEDS=A..B");
    let seed = |text: &str| text.parse().expect("IOSONAR_SEEDS=A..B, two numbers");
    cut_the_power(seed(from)..seed(to));
}

/// Cuts the power at random moments of a replay, once for each seed, with a volatile cache: of what no flush had covered, a
/// random part is lost. Several such states are checked of each cut, and the last of them by the next boot. The next cut
/// begins with that state, so what a seed does is repeated only from the first seed on.
fn cut_the_power(seeds: Range<u64>) {
    const TARGET_MIB: u32 = 24;
    if !has_debugfs() {
        return;
    }
    let scratch = Scratch::new();
    let (target, log) = (scratch.path("target"), scratch.path("log"));
    let tables_disk = scratch.path("tables");
    let machine = || {
        let machine = Machine::new()?.disk(&tables_disk, 64);
        Some(machine.logged(&target, TARGET_MIB, &log))
    };
    let mut checked = 0;
    for seed in seeds {
        let mut random = Random(seed);
        let Some(machine) = machine() else { return };
        let mut before = fs::read(&target).unwrap_or_else(|_| vec![0; (TARGET_MIB as usize) << 20]);
        let after_s = random.below(5000) as f64 / 1e3;
        println!("seed {seed}: cut after {after_s} s");
        machine.set("SEED", seed).run_and_cut("power_cut", after_s);
        let (entries, missing) = log_writes::read_up_to_gap(&log);
        let tables = tables(&scratch, &fs::read(&tables_disk).unwrap(), "cut.tables");
        let tables = tables.expect("tables: the power was cut during the replay");
        let begin = entries
            .iter()
            .position(log_writes::Entry::is_tagged)
            .unwrap();
        for entry in &entries[..begin] {
            entry.apply(&mut before);
        }
        // QEMU was killed before it had written an entry of the log, but after later ones.
        if missing > 1 {
            println!("not checked: {missing} entries of the log are missing");
            fs::remove_file(&tables_disk).unwrap();
            continue;
        }
        let durable = log_writes::durable(&entries).max(begin);
        println!("{} entries, {durable} durable", entries.len());
        let mut check = |durable: usize| {
            let mut device = before.clone();
            for entry in &entries[begin..durable] {
                entry.apply(&mut device);
            }
            log_writes::apply_in_part(&entries[durable..], &mut device, |n| random.below(n));
            fs::write(&target, device).unwrap();
            verify(&tables, &target)
        };
        // A device that ignores flushes has lost what was durable.
        let lied = check(begin);
        assert!(wrong(&lied) > 0, "{lied}");
        for _ in 0..8 {
            let found = check(durable);
            assert_eq!(wrong(&found), 0, "{found}");
            assert!(figure(&found, "durable_sectors") > 0.0, "{found}");
        }
        checked += 1;
    }
    assert!(checked > 0, "no cut could be checked");
    println!("{checked} cuts checked");
    machine().unwrap().run(&["power_cut"]);
}

/// A machine that fails before its power is cut: a panic ends QEMU, too.
#[test]
fn a_machine_that_ends_before_its_power_is_cut_has_ended_without_a_result() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    let qemu = scratch.file(
        "qemu-system-x86_64",
        "#!/bin/sh\necho '== begin'; echo '== power may be cut'; sleep 0.5\n",
    );
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    let machine = machine.with_programs(qemu.parent().unwrap());
    assert_eq!(machine.ends_before_the_cut("power_cut", 1.0), Some(99));
}

#[test]
fn a_log_of_writes_that_is_cut_off_has_lost_exactly_what_is_missing() {
    cut_a_log(6, 1);
}

#[test]
#[ignore = "checks 300 states of a device"]
fn a_log_of_writes_that_is_cut_off_anywhere_has_lost_exactly_what_is_missing() {
    cut_a_log(300, 2);
}

/// Sectors of the target in `log_writes.sh`; the rest of the disk holds the tables.
const TARGET: usize = 24_576;
/// From here on the load only discards.
const DISCARDED: usize = 20_000;

/// Builds what a loss of power leaves at random entries of a log, and verifies that: first with the tables as they were
/// at that moment, when nothing may be lost, then with those of the end, when exactly what came later is.
fn cut_a_log(states: usize, seed: u64) {
    const DISK_MIB: u32 = 24;
    let scratch = Scratch::new();
    let Some(machine) = Machine::new() else {
        return;
    };
    if !has_debugfs() {
        return;
    }
    let (disk, log) = (scratch.path("disk"), scratch.path("log"));
    machine
        .nvme(&disk, DISK_MIB)
        .disk(&log, 128)
        .set("SEED", seed)
        .run(&["log_writes"]);
    let entries = log_writes::read(&log);
    let marked = |text: &str| {
        let at = entries.iter().position(|e| e.mark.as_deref() == Some(text));
        at.unwrap_or_else(|| panic!("no mark {text}"))
    };
    let (begin, end) = (marked("begin"), entries.len());
    assert!(end - begin > 500, "{} entries", end - begin);

    let mut device = vec![0; (DISK_MIB as usize) << 20];
    for entry in &entries {
        entry.apply(&mut device);
    }
    let last = device[..TARGET * 512].to_vec();
    let disk = fs::read(disk).unwrap();
    assert!(
        last[..DISCARDED * 512] == disk[..DISCARDED * 512],
        "the log does not lead to what is on the disk"
    );
    let last_tables =
        tables(&scratch, &device[TARGET * 512..], "last.tables").expect("the last tables");

    let mut random = Random(seed);
    let mut cuts: Vec<usize> = (0..states)
        .map(|_| begin + random.below((end - begin) as u64) as usize)
        .chain([end])
        .collect();
    cuts.sort_unstable();
    device.fill(0);
    let (mut applied, mut durable) = (0, 0.0);
    for cut in cuts {
        for entry in &entries[applied..cut] {
            entry.apply(&mut device);
        }
        applied = cut;
        let target = scratch.file("target", &device[..TARGET * 512]);
        // Before the replay began there are no tables.
        if let Some(tables) = tables(&scratch, &device[TARGET * 512..], "then.tables") {
            let then = verify(&tables, &target);
            assert_eq!(wrong(&then), 0, "cut at {cut} of {end}: {then}");
            durable += figure(&then, "durable_sectors");
        }
        let missing = sectors(&last)
            .zip(sectors(&device))
            .take(DISCARDED)
            .filter(|(last, now)| last != now)
            .count();
        let now = verify(&last_tables, &target);
        // Writes that the load's last flush came too early for may be missing without being lost.
        let excused =
            figure(&now, "never_arrived_sectors") + figure(&now, "not_guaranteed_sectors");
        assert_eq!(
            wrong(&now) + excused as u64,
            missing as u64,
            "cut at {cut} of {end}: {now}"
        );
        println!(
            "cut at {cut} of {end}: {missing} sectors missing, {excused} of them never durable"
        );
    }
    assert!(durable > 0.0, "nothing was durable at any moment");
}

fn sectors(device: &[u8]) -> impl Iterator<Item = &[u8]> {
    device.chunks_exact(512)
}

/// Whether files can be read from an image of ext4.
fn has_debugfs() -> bool {
    let has = Command::new("debugfs").arg("-V").output().is_ok();
    if !has {
        eprintln!("skipped: debugfs (e2fsprogs) is missing");
    }
    has
}

/// The tables on a file system, after its recovery from a loss of power.
fn tables(scratch: &Scratch, system: &[u8], name: &str) -> Option<std::path::PathBuf> {
    let system = scratch.file("tables.ext4", system);
    let checked = Command::new("e2fsck")
        .args(["-f", "-y"])
        .arg(&system)
        .output()
        .unwrap();
    // 1: errors corrected.
    assert!(
        matches!(checked.status.code(), Some(0 | 1)),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    let file = scratch.path(name);
    let _ = fs::remove_file(&file);
    Command::new("debugfs")
        .args(["-R", &format!("dump /replay.tables {}", file.display())])
        .arg(&system)
        .output()
        .unwrap();
    // A log without its header claims nothing.
    let length = fs::metadata(&file).map_or(0, |m| m.len());
    (length >= 64).then_some(file)
}

fn verify(tables: &Path, target: &Path) -> Value {
    let output = iosonar()
        .args(["verify", "--no-direct", "--after-crash", "--json", "-q"])
        .arg("--target")
        .args([target, tables])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn wrong(verified: &Value) -> u64 {
    verified["contents"]["wrong"].as_u64().unwrap()
}

fn figure(json: &Value, name: &str) -> f64 {
    let metrics = json["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|m| m["name"] == name).unwrap();
    metric["value"].as_f64().unwrap()
}

/// Numbers for moments (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}
