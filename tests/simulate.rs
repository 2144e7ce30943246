//! `iosonar sim` from the outside: results, determinism, and what is refused.

mod scratch;

use scratch::{Scratch, iosonar};

const SCENARIO: &str = "\
seed = 7
replications = 3
warmup_requests = 100
[load]
requests = 3_000
arrivals = { poisson_per_s = 20.0 }
size = { geometric_mean_blocks = 4.0 }
read_share = 0.5
[array]
level = 'raid5'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

#[test]
fn results_are_the_same_bytes_for_any_number_of_threads() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let run = |threads: &str| {
        let records = scratch.path("out.replay");
        let output = iosonar()
            .args(["sim", "--json", "--threads", threads, "--records"])
            .args([&records, &scenario])
            .output()
            .unwrap();
        assert!(output.status.success());
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // The speed of the computation is the only thing that may differ.
        json["metrics"]
            .as_array_mut()
            .unwrap()
            .retain(|m| !m["name"].as_str().unwrap().ends_with("_per_second"));
        (json, std::fs::read(&records).unwrap())
    };
    let text = |threads: &str| {
        let output = iosonar()
            .args(["sim", "--threads", threads])
            .arg(&scenario)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        text("1"),
        text("2"),
        "what is printed as a result is the result"
    );
    let once = run("1");
    assert_eq!(once, run("1"), "run twice");
    assert_eq!(once, run("2"), "with two threads");
    assert_eq!(once, run("5"), "with five threads");
}

/// The same on every host: all times are integers, and the logarithms come from a library of our
/// own. A change of the model or its random streams changes these on purpose, and says so in the
/// changelog.
#[test]
fn hashes_are_those_of_the_day_they_were_written_down() {
    let scratch = Scratch::new();
    let hash = |args: &[&str]| {
        let output = iosonar().args(args).arg("--json").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["hash"].as_str().unwrap().to_owned()
    };
    let synthetic = scratch.file("s.toml", SCENARIO);
    assert_eq!(
        hash(&["sim", synthetic.to_str().unwrap()]),
        "9020109a91ad6027"
    );
    let load = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/database-server.load.gz"
    );
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/raid5-mysql.toml");
    assert_eq!(
        hash(&["sim", "--trace", load, scenario]),
        "a7ff2c7f2c428fcd"
    );
}

#[test]
fn a_seed_on_the_command_line_is_another_run() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let run = |seed: &str| {
        let output = iosonar()
            .args(["sim", "--seed", seed])
            .arg(&scenario)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let hash = text.split("hash ").nth(1).expect("a hash is printed");
        hash[..16].to_owned()
    };
    assert_ne!(run("1"), run("2"));
    assert_eq!(run("7"), run("7"));
}

#[test]
fn records_of_a_simulation_can_be_drawn() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let (records, cdf) = (scratch.path("out.replay.zst"), scratch.path("cdf.svg"));
    iosonar()
        .args(["sim", "-q", "--records"])
        .args([&records])
        .arg("--cdf")
        .args([&cdf, &scenario])
        .assert()
        .success()
        .stderr("");
    assert!(std::fs::read_to_string(&cdf).unwrap().starts_with("<svg"));
    for (chart, name) in [("sonar", "a.png"), ("cdf", "b.svg")] {
        let picture = scratch.path(name);
        iosonar()
            .args(["plot", chart, "-o"])
            .args([&picture, &records])
            .assert()
            .success();
        assert!(std::fs::metadata(&picture).unwrap().len() > 1000);
    }
}

/// Each with what the person reads who must mend it, and exit code 2.
#[test]
fn a_scenario_that_means_nothing_is_refused_with_its_line_and_key() {
    let scratch = Scratch::new();
    for (from, to, complaint) in [
        (
            "poisson_per_s = 20.0",
            "poisson_per_s = -1.0",
            "s.toml:6: 'load.arrivals' is per_s = -1.0, expected a rate of 1e-9 to 1e9",
        ),
        (
            "poisson_per_s = 20.0",
            "poisson_per_s = nan",
            "s.toml:6: 'load.arrivals' is per_s = NaN",
        ),
        (
            "read_share = 0.5",
            "read_share = 1.5",
            "s.toml:8: 'load.read_share' is 1.5, expected 0 to 1",
        ),
        (
            "disks = 4",
            "disks = 2",
            "s.toml:11: 'array.disks' is 2, expected 3 to 1024 for RAID 5",
        ),
        (
            "disks = 4",
            "disks = 4\nstripe_unit = '1000'",
            "'array.stripe_unit' is '1000', expected a whole number of sectors",
        ),
        (
            "disks = 4",
            "disks = 4\ndiscs = 4",
            "s.toml:12: 'array.discs' is not a key",
        ),
        (
            "level = 'raid5'",
            "level = 'raid7'",
            "'array.level' is \"raid7\"",
        ),
        ("seed = 7", "seed = -7", "seed"),
        (
            "replications = 3",
            "replications = 0",
            "s.toml:2: 'replications' is 0, expected at least 1",
        ),
        (
            "size = { geometric_mean_blocks = 4.0 }",
            "size = { blocks = 0 }",
            "s.toml:7: 'load.size' is 0",
        ),
        (
            "size = { geometric_mean_blocks = 4.0 }",
            "",
            "'load.size' is missing",
        ),
        (
            "profile = 'seagate-st3500630ns'",
            "profile = 'nodisk'",
            "unknown disk profile 'nodisk': the built-in profiles are seagate-st3500630ns",
        ),
        (
            "profile = 'seagate-st3500630ns'",
            "profile = 'exos'",
            "unknown disk profile 'exos': write one of seagate-exos-7e8-8tb, seagate-exos-x18-18tb",
        ),
        ("[load]", "[[load]]", "load"),
    ] {
        assert!(SCENARIO.contains(from));
        let scenario = scratch.file("s.toml", SCENARIO.replacen(from, to, 1));
        let assert = iosonar()
            .arg("sim")
            .arg(&scenario)
            .assert()
            .code(2)
            .stdout("");
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(complaint), "{to}: {stderr}");
    }
}

#[test]
fn a_trace_that_does_not_fit_is_named_with_its_line_and_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    for (rows, complaint) in [
        (
            "0 ; 8 ; 8 ; R\n1 ; 99999999999 ; 8 ; R\n",
            "x.load:2: the request ends at sector 100000000007, beyond the end of the array at sector",
        ),
        (
            "5 ; 8 ; 8 ; R\n1 ; 8 ; 8 ; R\n",
            "x.load:2: this request starts at 1.0",
        ),
    ] {
        let load = scratch.file("x.load", rows);
        let records = scratch.path("never.replay");
        let assert = iosonar()
            .args(["sim", "--trace"])
            .arg(&load)
            .arg("--records")
            .args([&records, &scenario])
            .assert()
            .code(1);
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(complaint), "{stderr}");
        assert!(!records.exists() && !scratch.holds_a_part());
    }
}

/// What `sim` prints of a scenario with these lines in [array] and behind it, and how it ends.
fn described(array: &str, more: &str, options: &[&str]) -> (String, String, Option<i32>) {
    let scratch = Scratch::new();
    let text = SCENARIO
        .replace("replications = 3\n", "")
        .replace("raid5", "raid6")
        .replace("disks = 4\n", &format!("disks = 6\n{array}"))
        + more;
    let scenario = scratch.file("s.toml", &text);
    let output = iosonar()
        .arg("sim")
        .arg(&scenario)
        .args(options)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code(),
    )
}

#[test]
fn several_arrays_are_described_together_and_the_slowest_by_themselves() {
    let (text, _, code) = described("count = 7\n", "", &[]);
    assert_eq!(code, Some(0));
    for expected in [
        "s: 7 x RAID 6 of 6 x ",
        "load 20 requests/s each",
        "from 7 arrays)",
        "(means over the arrays)",
        "requests/s per array",
        "  arrays        7; 1",
        "  slowest ",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert_eq!(text.matches("  array/").count(), 5, "{text}");
    let (one, _, _) = described("count = 1\n", "", &[]);
    assert!(!one.contains("array/") && !one.contains("arrays"), "{one}");
    let (json, _, _) = described("count = 7\n", "", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().filter(|of| of["name"] == *name).count();
    assert_eq!((named("array_mean"), named("array_requests")), (7, 7));
    for option in ["--precision=0.1", "--sensitivity"] {
        let (_, error, code) = described("count = 7\n", "", &[option]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("does not support several arrays"), "{error}");
    }
}

#[test]
fn records_of_arrays_that_share_a_trace_go_into_one_file() {
    let scratch = Scratch::new();
    let text = SCENARIO.replace("replications = 3\n", "");
    let (_, array) = text.split_once("[array]").unwrap();
    let trace =
        "time_ns,device,sector,sectors,op\n0,0,0,8,read\n1000,1,0,8,write\n2000,0,8,8,read\n";
    scratch.file("t.csv", trace);
    let scenario = format!("[load]\ntrace = 't.csv'\n[array]\ncount = 2\n{array}");
    scratch.file("s.toml", &scenario);
    let run = |options: &[&str]| {
        let mut sim = iosonar();
        sim.current_dir(scratch.path("."));
        sim.args(["sim", "s.toml"]).args(options).output().unwrap()
    };
    let whole = run(&["--records", "r.csv"]);
    let said = String::from_utf8_lossy(&whole.stderr);
    assert!(whole.status.success(), "{said}");
    assert!(
        said.contains("records of all arrays written to r.csv\n"),
        "{said}"
    );
    let records = std::fs::read_to_string(scratch.path("r.csv")).unwrap();
    assert_eq!(records.lines().count(), 4, "{records}");
    let refused = run(&["--records", "r-{replication}.csv"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("omit {replication} from the name"), "{said}");
}

#[test]
fn what_happens_to_disks_is_said_and_what_is_lost() {
    let fail = |at: &str, disk: u32| format!("[[event]]\nat = '{at}'\nfail = {disk}\n");
    let (text, _, _) = described("", &fail("20s", 1), &[]);
    assert!(
        text.contains("  event         disk 1 fails at 20 s\n"),
        "{text}"
    );
    assert!(
        !text.contains("DATA LOSS") && !text.contains("did not happen"),
        "{text}"
    );
    assert!(text.contains("needs --replications)"), "{text}");
    let (text, _, _) = described("", &fail("20h", 1), &[]);
    assert!(text.contains("  1 of 1 events did not happen"), "{text}");
    // Of what did not happen, nothing is known.
    for (target, code, verdict, why) in [
        (
            "p99 < 10 s",
            0,
            "runs too short, as 1 of 1 events did not happen",
            "\"why\":\"events did not happen\"",
        ),
        (
            "mean < 10 s",
            0,
            "runs too short, as 1 of 1 events did not happen; ",
            "\"why\":\"events did not happen\"",
        ),
        (
            "throughput > 1/s",
            0,
            "runs too short, as 1 of 1 events did not happen; ",
            "\"why\":\"events did not happen\"",
        ),
        ("p99 < 1 µs", 3, "misses, ", "\"why\":null"),
    ] {
        let (text, _, ended) = described("", &fail("20h", 1), &["--target", target]);
        assert_eq!(ended, Some(code), "{text}");
        assert!(!text.contains("s: meets the target"), "{text}");
        assert!(
            code == 3 || !text.contains("too far from the limit"),
            "{text}"
        );
        assert!(text.contains(&format!("{target}: {verdict}")), "{text}");
        let (json, ..) = described("", &fail("20h", 1), &["--json", "--target", target]);
        assert!(json.contains(why), "{json}");
    }
    let five = ["--replications", "5", "--target", "p99 < 10s"];
    let (text, _, code) = described("", &fail("20s", 1), &five);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("s: meets the target"), "{text}");
    let (text, _, _) = described("", &fail("0s", 1), &[]);
    assert!(
        text.contains("happened before the first measured request"),
        "{text}"
    );
    let three = fail("20s", 1) + &fail("30s", 2) + &fail("40s", 3);
    let (text, _, code) = described("", &three, &["--target", "p99 < 10s"]);
    assert_eq!(code, Some(3), "what loses data meets no target: {text}");
    assert!(
        text.contains("misses") && !text.contains("OVERLOADED"),
        "{text}"
    );
    assert!(
        text.contains("  DATA LOSS     ") && text.contains("; DATA LOSS: "),
        "{text}"
    );
    let (text, _, _) = described(
        "",
        "[[event]]\nat = '10s'\nslow = { disk = 2, factor = 3, for = '5s' }\n",
        &[],
    );
    assert!(
        text.contains("at 10 s, disk 2 becomes 3 times slower for 5 s"),
        "{text}"
    );
}

#[test]
fn shares_of_writes_from_a_cache_are_not_said_to_be_of_requests() {
    let of = |more: &str| {
        let (text, error, _) = described("", more, &["--set", "load.read_share=0"]);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(text.contains("read-modify-write"), "{text}{error}");
        words.join(" ")
    };
    assert!(of("").contains(" partial-stripe disk writes) "));
    let cached = of("[controller]\ncache = '1MiB'\n");
    let whose = "partial-stripe disk writes that destage the cache or bypass it)";
    assert!(cached.contains(whose), "{cached}");
}
