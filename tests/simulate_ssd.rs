//! `iosonar sim` on SSDs, from the outside.

mod scratch;

use scratch::{Scratch, err, hash, out, sim};

const BLOCK_QUEUE: &str = "\
seed = 3
[load]
requests = 4_000
closed = { outstanding = 32 }
size = { blocks = 1 }
read_share = 0.5
[ssd]
profile = 'block-queue-gen2x4'
[ssd.block_queue]
block = 16
";

const FLASH: &str = "\
seed = 3
warmup_requests = 1_000
[load]
requests = 6_000
arrivals = { poisson_per_s = 40_000.0 }
size = { blocks = 2 }
read_share = 0.6
[ssd]
profile = 'nvme-gen4-tlc'
[ssd.flash]
channels = 2
blocks = 32
pages = 32
precondition = 'steady-state'
";

/// The same on every host; a change of the model changes these on purpose, and says so in the changelog.
#[test]
fn hashes_are_those_of_the_day_they_were_written_down() {
    let scratch = Scratch::new();
    for (name, text, written) in [
        ("ring.toml", BLOCK_QUEUE, "8761eef87955fc84"),
        ("flash.toml", FLASH, "2aa601af78db35a0"),
    ] {
        let run = sim(&scratch.file(name, text), &[]);
        assert_eq!(hash(&run), written, "{name}");
    }
}

#[test]
fn built_in_profiles_are_listed_and_printed() {
    let list = scratch::iosonar().arg("profiles").output().unwrap();
    for name in [
        "seagate-st3500630ns",
        "block-queue-gen2x4",
        "nvme-gen4-tlc",
        "mqsim-default",
        "abstract",
    ] {
        assert!(out(&list).contains(name), "{}", out(&list));
    }
    // One that is printed is a profile.
    let scratch = Scratch::new();
    let printed = scratch::iosonar()
        .args(["profiles", "nvme-gen4-tlc"])
        .output()
        .unwrap();
    scratch.file("mine.toml", &printed.stdout);
    let (own, built_in) = (FLASH.replace("nvme-gen4-tlc", "mine.toml"), FLASH);
    let own = sim(&scratch.file("own.toml", own), &[]);
    assert_eq!(
        hash(&own),
        hash(&sim(&scratch.file("b.toml", built_in), &[])),
        "{}",
        err(&own)
    );
    let none = scratch::iosonar().args(["profiles", "x"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn a_deadlock_is_told_and_is_no_result() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", BLOCK_QUEUE);
    let stuck = [
        "--set",
        "ssd.block_queue.dispatch=static",
        "--set",
        "load.closed.outstanding=12",
    ];
    let run = sim(&scenario, &stuck);
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    assert!(
        err(&run).contains("DEADLOCK: 12 requests were never served"),
        "{}",
        err(&run)
    );
    assert!(
        err(&run).contains("16 pending descriptors, but there are only 12"),
        "{}",
        err(&run)
    );
    let run = sim(&scenario, &[&stuck[..], &["--json"]].concat());
    assert_eq!(run.status.code(), Some(3));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    assert!(
        metrics
            .iter()
            .any(|m| m["name"] == "unserved" && m["value"] == 12.0),
        "{json}"
    );
    // Enough threads: no deadlock, and nothing is left at the end.
    let run = sim(&scenario, &["--set", "ssd.block_queue.dispatch=static"]);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    // All are served; the last 31 while no request of the 32 threads follows any more.
    assert!(out(&run).contains("  3 969  "), "{}", out(&run));
    assert!(
        out(&run).contains("31 requests completed while the closed loop drained"),
        "{}",
        out(&run)
    );
}

#[test]
fn what_is_explained_is_the_same_simulation() {
    let scratch = Scratch::new();
    for (name, text, more) in [
        ("ring.toml", BLOCK_QUEUE, "ssd.block_queue.prefetch=4"),
        ("flash.toml", FLASH, "ssd.flash.cleaning=fifo"),
        ("pairs.toml", BLOCK_QUEUE, "ssd.interface=nvme"),
    ] {
        let scenario = scratch.file(name, text);
        let explained = sim(&scenario, &["--explain", "--set", more]);
        assert!(explained.status.success(), "{}", err(&explained));
        let again = scratch.file("again.toml", out(&explained));
        let (first, second) = (sim(&scenario, &["--set", more]), sim(&again, &[]));
        assert_eq!(hash(&first), hash(&second), "{}", err(&second));
        assert_ne!(
            hash(&first),
            hash(&sim(&scenario, &[])),
            "{more} changes something"
        );
    }
}

#[test]
fn results_do_not_depend_on_threads_or_on_what_is_asked() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", FLASH);
    let runs = ["--replications", "4"];
    let one = sim(&scenario, &[&runs[..], &["--threads", "1"]].concat());
    let two = sim(
        &scenario,
        &[&runs[..], &["--threads", "2", "--split"]].concat(),
    );
    assert_eq!(hash(&one), hash(&two));
    let plain = sim(&scenario, &[]);
    let stages = scratch.path("stages.csv");
    let with = sim(&scenario, &["--stages", stages.to_str().unwrap()]);
    assert_eq!(hash(&plain), hash(&with));
    // Of each request the stages make up the time, to the nanosecond.
    let text = std::fs::read_to_string(stages).unwrap();
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers: Vec<u64> = cells[9..]
            .iter()
            .map(|cell| cell.parse().unwrap())
            .collect();
        assert_eq!(numbers[0], numbers[1..].iter().sum::<u64>(), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 6_000);
}

#[test]
fn values_are_varied_and_what_has_no_result_says_why() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", BLOCK_QUEUE);
    let (csv, png) = (scratch.path("v.csv"), scratch.path("v.png"));
    let run = sim(
        &scenario,
        &[
            "--set",
            "ssd.block_queue.dispatch=static",
            "--vary",
            "load.closed.outstanding=8,16,32",
            "--vary",
            "ssd.block_queue.block=4,16",
            "--csv",
            csv.to_str().unwrap(),
            "--curve",
            png.to_str().unwrap(),
        ],
    );
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(
        out(&run).contains("- [1]") && out(&run).contains("[1] deadlock: 8 requests"),
        "{}",
        out(&run)
    );
    let text = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 6);
    let places: Vec<(&str, &str)> = rows.iter().map(|row| (row[1], row[2])).collect();
    assert_eq!(
        places,
        [
            ("8", "4"),
            ("16", "4"),
            ("32", "4"),
            ("8", "16"),
            ("16", "16"),
            ("32", "16")
        ]
    );
    assert!(
        rows[3][3].is_empty() && rows[3][12].contains("deadlock"),
        "{:?}",
        rows[3]
    );
    // The same as a run of its own.
    let json = sim(
        &scenario,
        &[
            "--set",
            "ssd.block_queue.dispatch=static",
            "--set",
            "load.closed.outstanding=32",
            "--json",
        ],
    );
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let alone = metrics.iter().find(|m| m["name"] == "throughput").unwrap()["value"]
        .as_f64()
        .unwrap();
    assert!((alone - rows[5][3].parse::<f64>().unwrap()).abs() < 1e-6 * alone);
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn wrong_values_are_named_with_their_line() {
    let scratch = Scratch::new();
    let with = |more: &str| {
        let scenario = scratch.file("s.toml", format!("{FLASH}{more}"));
        let run = sim(&scenario, &[]);
        assert_eq!(run.status.code(), Some(2), "{more}: {}", err(&run));
        assert!(!err(&run).contains("panicked"), "{}", err(&run));
        err(&run)
    };
    let text = with("over_provisioning = -1.0\n");
    assert!(
        text.contains("s.toml:15: 'ssd.flash.over_provisioning' is -1, expected"),
        "{text}"
    );
    let text = with("[ssd.nvme]\nqueues = 0\n");
    assert!(
        text.contains("s.toml:16: 'ssd.nvme.queues' is 0, expected 1 to"),
        "{text}"
    );
    let text = with("reserv = 3\n");
    assert!(
        text.contains("unknown key 'reserv'") && text.contains("'reserve'"),
        "{text}"
    );
    let text = with("[ssd.cache]\nsize = '4KiB'\n");
    assert!(
        text.contains("'ssd.cache.size' is 4KiB, expected at least"),
        "{text}"
    );
    let text = with("[disk]\nprofile = 'seagate-st3500630ns'\n");
    assert!(text.contains("both [disk] and [ssd]"), "{text}");
    let none = scratch.file("n.toml", FLASH.replace("nvme-gen4-tlc", "nvme-gen5"));
    let text = err(&sim(&none, &[]));
    assert!(
        text.contains("unknown SSD profile 'nvme-gen5'") && text.contains("'nvme-gen4-tlc'"),
        "{text}"
    );
}

#[test]
fn arrays_of_ssds_and_discards() {
    let scratch = Scratch::new();
    let trace = scratch.file(
        "t.csv",
        "start_ns,op,sector,sectors\n0,write,0,64\n100000,discard,0,64\n200000,read,0,64\n300000,flush,0,0\n",
    );
    for level in ["raid0", "raid1", "raid10", "raid5", "raid6", "jbod"] {
        let array = format!("[array]\nlevel = '{level}'\ndisks = 4\nstripe_unit = '16KiB'\n");
        let scenario = scratch.file("s.toml", format!("{FLASH}{array}"));
        let run = sim(&scenario, &[]);
        assert!(run.status.success(), "{level}: {}", err(&run));
        assert!(out(&run).contains("write amplification"), "{}", out(&run));
        let run = sim(
            &scenario,
            &[
                "--trace",
                trace.to_str().unwrap(),
                "--set",
                "warmup_requests=0",
            ],
        );
        assert!(run.status.success(), "{level}: {}", err(&run));
        // Where there is no parity the discard gets to the drives, and the read after it needs no flash.
        let reads = if ["raid5", "raid6"].contains(&level) {
            None
        } else {
            Some("0 pages read")
        };
        assert!(
            reads.is_none_or(|reads| out(&run).contains(reads)),
            "{level}: {}",
            out(&run)
        );
    }
}

#[test]
fn errors_of_descriptors_are_in_the_records_and_in_no_time() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", BLOCK_QUEUE);
    let records = scratch.path("r.csv");
    let run = sim(
        &scenario,
        &[
            "--set",
            "ssd.controller.error_probability=0.05",
            "--records",
            records.to_str().unwrap(),
        ],
    );
    assert!(run.status.success(), "{}", err(&run));
    let text = std::fs::read_to_string(records).unwrap();
    let failed = text.lines().filter(|line| line.contains("error")).count();
    assert!((120..280).contains(&failed), "{failed} of 4 000");
    // But for those of the last 31, which are not measured.
    let said = |n: usize| {
        out(&run).contains(&format!(
            "error; {n} measured requests are left out of all figures"
        ))
    };
    assert!((failed - 31..=failed).any(said), "{}", out(&run));
}

#[test]
fn a_real_trace_takes_what_mqsim_says() {
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/traces/mqsim/tpcc-small.trace.gz"
    );
    if !std::path::Path::new(trace).exists() {
        eprintln!("skipped: the recording is not here");
        return;
    }
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "s.toml",
        "[ssd]\nprofile = 'mqsim-default'\n[ssd.flash]\npage = '8KiB'\n",
    );
    // MQSim 7ec40e3: the means of reads and writes in microseconds. The dies are offered all that they can do, so a small
    // difference of what a write takes is a large one of the queue.
    let all_in_memory = "--set=ssd.mapping_cache.entries=0";
    let no_cache = "--set=ssd.cache.size=0";
    for (mqsim_reads, mqsim_writes, options) in [
        (1_046.4, 7_495.3, &[][..]),
        (585.6, 714.0, &[all_in_memory][..]),
        (586.5, 7_869.1, &[all_in_memory, no_cache][..]),
        (1_085.9, 15_671.3, &[no_cache][..]),
    ] {
        let run = sim(
            &scenario,
            &[&["--trace", trace, "--json"], options].concat(),
        );
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let metrics = json["metrics"].as_array().unwrap();
        for (op, requests, mqsim, tolerance) in [
            ("read", 4_381, mqsim_reads, 0.015),
            ("write", 2_618, mqsim_writes, 0.05),
        ] {
            let times = metrics
                .iter()
                .find(|m| m["name"] == "response_time" && m["labels"]["op"] == op)
                .unwrap();
            let mean = times["mean"].as_f64().unwrap() * 1e3;
            assert_eq!(times["n"], requests);
            println!("{options:?} {op}: {mean:.1} us, MQSim {mqsim}");
            assert!(
                (mean / mqsim - 1.0).abs() < tolerance,
                "{options:?} {op}: {mean} us, MQSim {mqsim}"
            );
        }
    }
}
