//! Lines that a result has only where they are true: where the load lies, and why Little's law does not hold between
//! the figures.

mod scratch;

use scratch::{Scratch, err, iosonar, out};

/// A result of `iosonar sim` of these requests (time in ms, sector), reads of 4 KiB, on one disk of 4 TB.
fn result(requests: impl Iterator<Item = (u64, u64)>, keys: &str) -> String {
    let scratch = Scratch::new();
    let mut text = String::from("time_ns,sector,sectors,op\n");
    for (ms, sector) in requests {
        text += &format!("{},{sector},8,read\n", ms * 1_000_000);
    }
    scratch.file("load.csv", &text);
    let text = format!(
        "{keys}\n[load]\ntrace = \"load.csv\"\n[array]\nlevel = \"raid0\"\ndisks = 1\n\
         [disk]\nprofile = \"seagate-constellation-es3-4tb\"\n"
    );
    let printed = scratch::sim(&scratch.file("a.toml", text), &[]);
    assert!(printed.status.success(), "{}", err(&printed));
    out(&printed)
}

/// A read every 50 ms, the sectors this far apart, in an order without sequential ones.
fn spaced(apart: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..400).map(move |i| (50 * i, i * 7_919 % 400 * apart))
}

const REACH: &str = "  reach         the load spans only ";

#[test]
fn where_the_load_lies_is_said_of_a_narrow_load_only() {
    // 400 x 80 MB is 32 GB of 4 TB: less than a tenth; 400 x 8 GB is 3.2 TB.
    let narrow = result(spaced(160_000), "");
    let line = narrow.lines().find(|l| l.starts_with(REACH));
    assert!(
        line.is_some_and(|l| l.contains("GB of 4.00 TB") || l.contains("of 3.6")),
        "{narrow}"
    );
    let spread = result(spaced(16_000_000), "");
    assert!(!spread.contains("  reach  "), "{spread}");
}

const LAW: &str = "(throughput x mean is ";

#[test]
fn the_reason_why_littles_law_does_not_hold_stands_only_where_it_does_not() {
    let steady = result(spaced(16_000_000), "");
    assert!(!steady.contains(LAW), "{steady}");
    // 100 more come at once at the end: most of them are there when the load ends.
    let burst = (0..100).map(|i| (50 * 400, i * 7_919 % 100 * 16_000_000));
    let late = result(spaced(16_000_000).chain(burst), "");
    let line = late.lines().find(|l| l.contains(LAW)).expect(&late);
    assert!(
        line.contains("requests in the system when the load ended: "),
        "{line}"
    );
    assert!(!line.contains("when measurement began"), "{line}");
}

#[test]
fn requests_from_before_the_measurement_are_its_reason_where_they_are() {
    // 200 at once, which are not measured, then one at a time, when nearly all are still there.
    let burst = (0..200).map(|i| (0, i * 7_919 % 200 * 16_000_000));
    let early = result(
        burst.chain(spaced(16_000_000).skip(1)),
        "warmup_requests = 200",
    );
    let line = early.lines().find(|l| l.contains(LAW)).expect(&early);
    assert!(
        line.contains("requests in the system when measurement began: "),
        "{line}"
    );
    assert!(!line.contains("when the load ended"), "{line}");
}

/// A trace of two devices drives one system as if they were one: that is said, unless one of them is selected.
#[test]
fn devices_that_are_simulated_as_one_are_named() {
    let scratch = Scratch::new();
    let mut load = String::from("time_ns,sector,sectors,op,device\n");
    for i in 0..200 {
        let device = ["sda", "sdb"][i % 2];
        load += &format!("{},{},8,read,{device}\n", 50_000_000 * i, i * 8);
    }
    let trace = scratch.file("day.csv", load);
    let scenario = scratch.file(
        "one.toml",
        "[array]\nlevel = 'raid0'\ndisks = 1\n[disk]\nprofile = 'seagate-constellation-es3-4tb'\n",
    );
    let target = ["--target", "p99 < 1s"];
    let run = |command: &str, more: &[&str]| {
        let mut of = iosonar();
        of.arg(command);
        match command {
            "choose" => of.arg(&trace).arg(&scenario).arg("nvme-gen4-tlc"),
            _ => of.arg(&scenario).arg("--trace").arg(&trace),
        };
        match command {
            "plan" => of.args(target).args(["--find", "disks", "--most", "1"]),
            "choose" => of.args(target),
            _ => &mut of,
        };
        let output = of.args(more).output().unwrap();
        assert!(output.status.success(), "{command}: {}", err(&output));
        err(&output)
    };
    for command in ["sim", "choose", "plan"] {
        let seen = run(command, &[]);
        let remark = "2 devices (sda, sdb) are simulated as one";
        assert_eq!(seen.matches(remark).count(), 1, "{command}: {seen}");
        assert!(seen.contains("[W089]"), "{command}: {seen}");
        for none in [&["--device", "sdb"][..], &["-q"]] {
            let one = run(command, none);
            assert!(!one.contains("W089"), "{command}: {one}");
        }
    }
    let varied = run("plan", &["--vary", "array.stripe_unit=64KiB,128KiB"]);
    assert_eq!(varied.matches("[W089]").count(), 1, "{varied}");
}
