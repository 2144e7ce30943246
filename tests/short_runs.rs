//! Runs that are too short for what they are asked, and searches that must not stop where they happen to begin.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::Output;

use scratch::{Scratch, assert_refused, err, iosonar, out};

const ONE_DISK: &str = "[load]\nrequests = 2000\narrivals = { poisson_per_s = 6.0 }\nsize = { blocks = 1 }\n\
                        [array]\nlevel = \"raid0\"\ndisks = 1\n[disk]\nprofile = \"seagate-st3500630ns\"\n";

fn run(arguments: &[&str]) -> Output {
    iosonar().args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a command on one disk.
fn on_one_disk(command: &str, options: &[&str]) -> Output {
    let scratch = Scratch::new();
    let disk = one_disk(&scratch);
    run(&[&[command, text(&disk)], options].concat())
}

fn one_disk(scratch: &Scratch) -> PathBuf {
    scratch.file("disk.toml", ONE_DISK)
}

#[test]
fn a_closed_loop_needs_requests_for_all_of_its_users() {
    let sim = |users: &str, requests: &str, warmup: &str| {
        let options = [
            "--set",
            "load.arrivals=",
            "--set",
            &format!("load.closed.outstanding={users}"),
            "--set",
            &format!("load.requests={requests}"),
            "--set",
            &format!("warmup_requests={warmup}"),
        ];
        on_one_disk("sim", &options)
    };
    let refused = sim("1000", "100", "0");
    for part in [
        "load.requests",
        "load.closed.outstanding",
        "1000 users",
        "increase",
    ] {
        assert_refused(&refused, part);
    }
    for (requests, warmup, is_steady) in [
        ("1000", "0", false),
        ("1000", "999", true),
        ("9999", "0", false),
        ("10000", "0", true),
    ] {
        let result = sim("1000", requests, warmup);
        let found = out(&result);
        assert_eq!(
            !found.contains("NOT STEADY"),
            is_steady,
            "{requests} and {warmup}: {found}{}",
            err(&result)
        );
    }
}

/// A service takes 15.5 ms on average, so 20 s are the wait for some 1 290 others.
#[test]
fn plan_gives_each_user_enough_requests() {
    let options = [
        "--quiet",
        "--set",
        "load.arrivals=",
        "--set",
        "load.closed.outstanding=4",
        "--target",
        "mean < 20s",
        "--most",
        "100000",
        "--json",
    ];
    let planned = on_one_disk("plan", &options);
    let json: serde_json::Value = serde_json::from_str(&out(&planned)).unwrap();
    let best = json["best"].as_f64().unwrap();
    assert!((1200.0..1350.0).contains(&best), "{best}");
}

#[test]
fn plan_finds_the_fewest_disks_where_more_are_worse() {
    let scratch = Scratch::new();
    let text_of = ONE_DISK
        .replace("requests = 2000", "requests = 20000")
        .replace("blocks = 1", "blocks = 4")
        .replace("raid0", "raid50")
        .replace("disks = 1\n", "disks = 6\nplacement = \"addressed\"\n")
        .replace("[array]", "read_share = 0.5\n[array]");
    let scenario = scratch.file("raid50.toml", text_of);
    let planned = run(&[
        "plan",
        "--quiet",
        text(&scenario),
        "--target",
        "mean < 28ms",
        "--find",
        "disks",
    ]);
    let found = out(&planned);
    assert!(
        found.contains("fewest disks that meet it: 6 disks"),
        "{found}"
    );
}

#[test]
fn plan_says_that_too_few_requests_have_no_interval() {
    let options = [
        "--quiet",
        "--target",
        "p99 < 60ms",
        "--set",
        "load.requests=1",
    ];
    let found = out(&on_one_disk("plan", &options));
    assert!(!found.contains("± -"), "{found}");
    assert!(!found.contains("lies within the interval"), "{found}");
    assert!(found.contains("raise load.requests"), "{found}");
}

/// Requests at a steady rate of which a disk serves some 65 per second.
fn trace(scratch: &Scratch, per_s: f64, n: u32) -> PathBuf {
    let rows: String = (0..n)
        .map(|i| {
            let sector = u64::from(i).wrapping_mul(2_654_435_761) % 900_000_000 / 8 * 8;
            format!("{:.6} ; {sector} ; 8 ; R\n", f64::from(i) / per_s)
        })
        .collect();
    scratch.file("rows.load", rows)
}

#[test]
fn a_short_overloaded_trace_is_not_steady_and_a_short_busy_one_is() {
    let scratch = Scratch::new();
    let disk = one_disk(&scratch);
    for (per_s, requests, is_steady) in
        [(192.0, 150, false), (192.0, 400, false), (45.0, 150, true)]
    {
        let trace = trace(&scratch, per_s, requests);
        let simulated = run(&["sim", text(&disk), "--trace", text(&trace)]);
        let found = out(&simulated);
        assert_eq!(
            !found.contains("NOT STEADY"),
            is_steady,
            "{requests} at {per_s}/s: {found}{}",
            err(&simulated)
        );
    }
}

#[test]
fn a_drive_in_steady_state_is_not_said_to_be_fresh_and_plan_says_it_of_a_fresh_one() {
    let scratch = Scratch::new();
    let ssd = "[load]\nrequests = 20000\narrivals = { poisson_per_s = 20000.0 }\nsize = { blocks = 1 }\n\
               read_share = 0.5\n[ssd]\nprofile = \"nvme-gen4-tlc\"\n";
    let fresh = scratch.file("fresh.toml", ssd);
    let steady = scratch.file(
        "steady.toml",
        format!("{ssd}[ssd.flash]\nprecondition = \"steady-state\"\n"),
    );
    let found = out(&run(&["sim", text(&fresh)]));
    assert!(found.contains("NOT CLEANED"), "{found}");
    let found = out(&run(&["sim", text(&steady)]));
    let amplification = found.split("write amplification ").nth(1).unwrap();
    assert!(!amplification.starts_with("1.0000"), "{found}");
    assert!(!found.contains("fresh drive"), "{found}");
    let planned = run(&[
        "plan",
        "--quiet",
        text(&fresh),
        "--target",
        "p99 < 2ms",
        "--within",
        "0.5",
    ]);
    let found = out(&planned);
    assert!(found.contains("NOT CLEANED"), "{found}{}", err(&planned));
}

#[test]
fn flash_is_cleaned_once_as_many_pages_are_erased_as_programmed() {
    let scratch = Scratch::new();
    let small = scratch.file(
        "small.toml",
        "[load]\nrequests = 40000\nclosed = { outstanding = 32 }\nsize = { blocks = 1 }\nread_share = 0.0\n\
         [ssd]\nprofile = \"nvme-gen4-tlc\"\n\
         [ssd.flash]\nblocks = 32\npages = 64\nover_provisioning = 0.28\nprecondition = \"steady-state\"\n",
    );
    let of = |options: &[&str]| out(&run(&[&["sim", text(&small)], options].concat()));
    let [requests, warmup] = ["load.requests", "warmup_requests"];
    let set = |key: &str, value: u64| format!("{key}={value}");
    // Each of the 128 planes fills its first block of 64 pages, and nothing is erased until then.
    let first = of(&["--set", &set(requests, 5_000), "--set", &set(warmup, 0)]);
    assert!(first.contains("for a block to be erased"), "{first}");
    // They have then, but the mean is still that of a time with free pages, also in several runs.
    for more in [&[][..], &["--replications", "3"]] {
        let options = ["--set", &set(warmup, 0)];
        let filling = of(&[&options[..], more].concat());
        assert!(filling.contains("% of the programmed pages"), "{filling}");
    }
    let steady = of(&[
        "--set",
        &set(requests, 100_000),
        "--set",
        &set(warmup, 60_000),
    ]);
    assert!(!steady.contains("NOT CLEANED"), "{steady}");
}

#[test]
fn a_check_reads_both_traces_alike_where_asked_and_refuses_nothing_to_compare() {
    let scratch = Scratch::new();
    let trace = trace(&scratch, 100.0, 200);
    let check = |options: &[&str]| {
        let trace = text(&trace);
        run(&[&["check", trace, trace], options].concat())
    };
    let one_side = check(&["--from", "1s"]);
    assert_eq!(one_side.status.code(), Some(3));
    assert!(err(&one_side).contains("--both"), "{}", err(&one_side));
    let both = check(&["--from", "1s", "--both"]);
    assert_eq!(both.status.code(), Some(0), "{}{}", out(&both), err(&both));
    assert!(out(&both).contains("identical     100"), "{}", out(&both));
    let nothing = check(&["--from", "9s", "--both"]);
    assert_eq!(nothing.status.code(), Some(1));
    let why = err(&nothing);
    assert!(why.contains("no requests to compare"), "{why}");
    let moved = scratch.file("moved.load", "0.0 ; 8 ; 8 ; R\n");
    let there = scratch.file("there.load", "0.0 ; 16 ; 8 ; R\n");
    let hint = err(&run(&["check", text(&there), text(&moved)]));
    assert!(hint.contains("--wrap"), "{hint}");
}

#[test]
fn a_value_that_is_varied_is_not_set_and_its_errors_name_vary() {
    for (options, why) in [
        (
            &["--vary", "array.disks=1,2", "--set", "array.disks=4"][..],
            "'array.disks' is varied",
        ),
        (
            &["--vary", "load.arrivals.poisson_per_s=nan,1"],
            "--vary: 'load.arrivals",
        ),
    ] {
        assert_refused(&on_one_disk("sim", options), why);
    }
}

#[test]
fn a_sweep_refuses_to_set_what_it_varies() {
    let scratch = Scratch::new();
    one_disk(&scratch);
    let sweep = scratch.file(
        "sweep.toml",
        "scenario = \"disk.toml\"\n[vary]\narray.disks = [1, 2]\n",
    );
    let dir = sweep.with_file_name("runs");
    let swept = run(&[
        "sweep",
        text(&sweep),
        "--dir",
        text(&dir),
        "--set",
        "array.disks=4",
    ]);
    assert_refused(&swept, "is varied by the experiment");
}

#[test]
fn the_file_of_a_profile_is_one_device_that_lacks_a_load() {
    let scratch = Scratch::new();
    for name in ["seagate-st3500630ns", "nvme-gen4-tlc"] {
        let shown = run(&["profiles", name]);
        let profile = scratch.file("mine.toml", out(&shown));
        let refused = run(&["sim", text(&profile)]);
        assert_refused(&refused, "the system has no load");
        let load = ["load.requests=200", "load.rate_per_s=10", "load.size=4KiB"];
        let load = load.iter().flat_map(|of| ["--set", of]);
        let options: Vec<&str> = ["sim", text(&profile)].into_iter().chain(load).collect();
        let found = run(&options);
        assert!(found.status.success(), "{}", err(&found));
        assert!(out(&found).contains("mine: mean "), "{}", out(&found));
    }
}

#[test]
fn a_model_that_was_compared_does_not_ask_for_it() {
    let scratch = Scratch::new();
    let text_of = ONE_DISK.replace(
        "arrivals = { poisson_per_s = 6.0 }",
        "arrivals = { poisson_per_s = 6.0 }\nbatch = { geometric_mean = 3.0 }",
    );
    let scenario = scratch.file("batches.toml", text_of.replace("disks = 1", "disks = 3"));
    let found = out(&run(&["model", text(&scenario), "--with-sim", "--quiet"]));
    assert!(!found.contains("compare with a simulation"), "{found}");
}

/// Records of a slower disk, and then of the built-in one: what is learned from the first half does not hold in the
/// second.
#[test]
fn a_calibration_that_made_it_worse_says_so_and_how_a_profile_is_used() {
    let scratch = Scratch::new();
    let profile = out(&run(&["profiles", "seagate-st3500630ns"]))
        .replace("revolution_ms = 8.33", "revolution_ms = 10.1")
        .replace("full_stroke_ms = 17.0", "full_stroke_ms = 40.0");
    scratch.file("slow.toml", profile);
    let recorded = |name: &str, profile: &str| -> Vec<String> {
        let text_of = ONE_DISK
            .replace("= 6.0", "= 20.0")
            .replace("blocks = 1 }", "blocks = 1 }\nblock = \"4KiB\"")
            .replace("disks = 1\n", "disks = 1\nplacement = \"addressed\"\n")
            .replace("seagate-st3500630ns", profile);
        let scenario = scratch.file(&format!("{name}.toml"), text_of);
        let records = scratch.path(&format!("{name}.load"));
        let simulated = run(&["sim", text(&scenario), "--records", text(&records)]);
        assert!(simulated.status.success(), "{}", err(&simulated));
        let rows = std::fs::read_to_string(records).unwrap();
        rows.lines().map(str::to_owned).collect()
    };
    let mut both = recorded("first", "slow.toml");
    for row in recorded("second", "seagate-st3500630ns").iter().skip(2) {
        let (start, rest) = row.split_once(';').unwrap();
        let start: f64 = start.trim().parse().unwrap();
        both.push(format!("{:.9} ;{rest}", start + 200.0));
    }
    let records = scratch.file("both.load", both.join("\n") + "\n");
    let mine = scratch.path("mine.toml");
    let fitted = run(&[
        "calibrate",
        text(&records),
        "--profile",
        "seagate-st3500630ns",
        "-o",
        text(&mine),
    ]);
    assert_eq!(fitted.status.code(), Some(3), "{}", err(&fitted));
    let said = err(&fitted);
    assert!(said.contains("WORSE: "), "{said}");
    assert!(said.contains("[disk]\n  profile = \"mine.toml\""), "{said}");
}

#[test]
fn a_run_that_is_too_short_has_no_interval_in_any_output() {
    let scratch = Scratch::new();
    let disk = one_disk(&scratch);
    // The disk serves 64.5 requests per second.
    let of = |command: &[&str], rate: &str| {
        let load = format!("load.arrivals.poisson_per_s={rate}");
        let options = ["--replications", "3", "--set", &load];
        let done = run(&[command, &[text(&disk)], &options].concat());
        assert!(done.status.success(), "{}", err(&done));
        out(&done)
    };
    let [steady, near] = ["6.0", "60.0"];
    assert!(of(&["sim", "--json"], steady).contains("\"interval_95\":["));
    assert!(!of(&["sim", "--json"], near).contains("interval_95\":["));
    assert!(of(&["model", "--with-sim"], steady).contains(" ± "));
    let theory = of(&["model", "--with-sim"], near);
    assert!(!theory.contains(" ± "), "{theory}");
    assert!(theory.contains("too short for a"), "{theory}");
    let varied = |rate: &str| of(&["sim", "--vary", "seed=1,2", "--json"], rate);
    assert!(varied(steady).contains("\"interval_95\":["));
    assert!(!varied(near).contains("\"interval_95\":["));
}

#[test]
fn a_precision_that_was_not_reached_is_no_reason_for_replications_of_runs_that_are_too_short() {
    let of = |rate: &str| {
        let load = format!("load.arrivals.poisson_per_s={rate}");
        let options = [
            "--replications",
            "10",
            "--precision",
            "0.1%",
            "--set",
            &load,
        ];
        out(&on_one_disk("sim", &options))
    };
    let steady = of("6.0");
    assert!(steady.contains("NOT REACHED"), "{steady}");
    let near = of("60.0");
    assert!(!near.contains("NOT REACHED"), "{near}");
    assert!(near.contains("NOT STEADY"), "{near}");
    let caveat = "which depend on the length of the run";
    let sentence = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    assert!(sentence(&near).contains(caveat), "{near}");
    assert!(!sentence(&steady).contains(caveat), "{steady}");
}
