//! Small inputs cost little, whatever they ask for; and what would cost much is refused before it begins.

mod scratch;

use std::time::{Duration, Instant};

use scratch::{Scratch, err, iosonar, out, sim};

/// What takes longer hangs; how long it may take is a matter of the test.
const HANGS: Duration = Duration::from_secs(200);

fn run(arguments: &[&str]) -> std::process::Output {
    iosonar()
        .args(arguments)
        .timeout(HANGS)
        .output()
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}"))
}

/// How long it takes on this machine, which must succeed.
fn time_of(arguments: &[&str]) -> Duration {
    let begin = Instant::now();
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    begin.elapsed()
}

fn load(rows: impl Iterator<Item = (f64, u64, u64)>) -> String {
    let mut text = "start ; sector; length ; op ;  replay_delay ; replay_duration\n".to_owned();
    for (i, (start, sector, sectors)) in rows.enumerate() {
        let op = ["R", "W"][i % 2];
        text += &format!("{start:.9} ; {sector} ; {sectors} ; {op} ; 0.000000000 ; 0.001000000\n");
    }
    text
}

/// Times are compared with that of an ordinary load on the same machine at the same moment. Page by page, the
/// requests of a terabyte took 27 to 90 times as long; each second, the gap 2 to 4 times.
#[test]
fn requests_of_a_terabyte_and_gaps_of_centuries_are_analysed_soon() {
    let scratch = Scratch::new();
    let file = |name: &str, text: String| scratch.file(name, text).to_str().unwrap().to_owned();
    let rows = (0..200_000_u64).map(|i| (i as f64 * 1e-4, i * 0x9e37_79b9 % (1 << 33), 8));
    let ordinary = file("ordinary.load", load(rows));
    let rows = (0..50).map(|i| (f64::from(i) * 0.1, u64::from(i as u32) << 20, 1 << 31));
    let large = file("large.load", load(rows));
    let apart = file("apart.load", load([(0.0, 0, 8), (9e9, 800, 8)].into_iter()));
    let out = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    let (picture, page, like) = (out("x.svg"), out("x.html"), out("like.load"));
    for (command, options) in [
        (&["analyze"][..], &[][..]),
        (&["plot", "sparsity"], &["-o", &picture]),
        (&["report"], &["-o", &page]),
        (&["generate", "like"], &["-o", &like]),
    ] {
        let time = |input: &str| time_of(&[command, &[input], options].concat());
        let usual = time(&ordinary);
        for (input, most) in [(&large, 12 * usual), (&apart, usual)] {
            if command[0] == "generate" && *input == apart {
                // Two requests are too few to be like.
                continue;
            }
            // Once more where the machine was busy with something else.
            let mut times = Vec::new();
            while times.len() < 3 && times.iter().all(|time| *time > most) {
                times.push(time(input));
            }
            assert!(
                times.iter().any(|time| *time <= most),
                "{command:?} {input}: {times:?}, where {usual:?} is usual"
            );
        }
    }
}

#[test]
fn of_many_periods_the_busiest_are_shown() {
    let scratch = Scratch::new();
    // A request in each period of 20 minutes, and two in one of them.
    let analysed = |name: &str, periods: u32, busy: u32| {
        let rows = (0..periods).flat_map(|i| {
            let start = f64::from(i) * 1200.0;
            let second = (i == busy).then_some((start + 1.0, 64, 8));
            [(start, 0, 8)].into_iter().chain(second)
        });
        let file = scratch.file(name, load(rows));
        out(&run(&["analyze", file.to_str().unwrap()]))
    };
    let is_row = |line: &&str, begin: &str| line.trim_start().starts_with(begin);
    let text = analysed("long.load", 100, 90);
    assert!(
        text.contains("The 72 periods with the most requests, of 100."),
        "{text}"
    );
    // Of equally busy ones, the first; in the order of time.
    let from: Vec<&str> = text
        .lines()
        .filter(|line| is_row(line, "108000 s "))
        .collect();
    assert_eq!(from.len(), 1, "{text}");
    assert!(
        !text.lines().any(|line| is_row(&line, "109200 s ")),
        "{text}"
    );
    assert!(
        !text.lines().any(|line| is_row(&line, "85200 s ")),
        "{text}"
    );
    assert!(text.lines().any(|line| is_row(&line, "84000 s ")), "{text}");
    let text = analysed("day.load", 72, 3);
    assert!(!text.contains("with the most requests"), "{text}");
    assert!(text.lines().any(|line| is_row(&line, "85200 s ")), "{text}");
}

#[test]
fn the_rebuild_ends_with_the_load() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "s.toml",
        "[load]\nrequests = 100\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\nread_share = 0.5\n\
         block = '4KiB'\n[array]\nlevel = 'raid5'\ndisks = 5\nfailed = [1]\nplacement = 'addressed'\n\
         [controller]\ncache = '64MiB'\ndestage_above = 0.5\ndestage_below = 0.25\n[rebuild]\n\
         [disk]\nprofile = 'seagate-st3500630ns'\n",
    );
    let output = sim(&scenario, &[]);
    assert!(output.status.success(), "{}", err(&output));
    // The load takes 5 s, all of the rebuild 38 hours: what there was time for is reported, and no more simulated.
    let text = out(&output);
    assert!(
        text.contains(" of 3 815 520 stripes in 5.") && text.contains("hours at this pace"),
        "{text}"
    );
}

#[test]
fn what_would_take_too_much_is_refused_by_name() {
    let scratch = Scratch::new();
    let ssd = scratch.file(
        "ssd.toml",
        "[load]\nrequests = 500\nclosed = { outstanding = 4 }\nsize = { blocks = 1 }\n[ssd]\n\
         profile = 'nvme-gen4-tlc'\n",
    );
    let raid = scratch.file(
        "raid.toml",
        "[load]\nrequests = 100\narrivals = { poisson_per_s = 1000.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = 'raid5'\ndisks = 4\n[ssd]\nprofile = 'nvme-gen4-tlc'\n",
    );
    for (scenario, set, key) in [
        (&raid, "ssd.flash.overwrites=0.5", "ssd.flash.overwrites"),
        (&ssd, "load.requests=9223372036854775807", "load.requests"),
        (&ssd, "ssd.nvme.poll_us=nan", "nvme.poll_us"),
        (&raid, "array.stripe_unit=\"64KB\"", "write \"64KiB\""),
    ] {
        let output = sim(scenario, &["--set", set]);
        assert_eq!(output.status.code(), Some(2), "{set}: {}", err(&output));
        assert!(err(&output).contains(key), "{set}: {}", err(&output));
    }
    let zeros = run(&["sim", "/dev/zero"]);
    assert_eq!(zeros.status.code(), Some(2));
    assert!(err(&zeros).contains("character device"), "{}", err(&zeros));
}

#[test]
fn a_load_that_would_fill_the_disk_is_written_only_by_force() {
    let scratch = Scratch::new();
    let path = scratch.path("x.load");
    let path = path.to_str().unwrap();
    let output = run(&[
        "generate",
        "poisson",
        "--rate",
        "1000000",
        "--duration",
        "100000000s",
        "-o",
        path,
    ]);
    assert_eq!(output.status.code(), Some(2));
    let message = err(&output);
    assert!(
        message.contains("--force") && message.contains("is free"),
        "{message}"
    );
    assert!(!std::path::Path::new(path).exists() && !scratch.holds_a_part());
}

#[test]
fn a_load_that_is_repeated_for_ever_is_replayed_for_as_long_as_it_may() {
    let scratch = Scratch::new();
    let input = scratch.file("x.load", load((0..20).map(|i| (f64::from(i) * 0.01, 8, 8))));
    let replay = |times: &str| {
        run(&[
            "replay",
            input.to_str().unwrap(),
            "--engine",
            "simulate",
            "--skip-writes",
            "--json",
            "--max-runtime",
            "1",
            "--repeat",
            times,
            "-o",
            scratch.path(&format!("{times}.load")).to_str().unwrap(),
        ])
    };
    let endless = replay("18446744073709551615");
    assert!(!endless.status.success());
    assert!(
        err(&endless).contains("(got 18446744073709551615)"),
        "{}",
        err(&endless)
    );
    // It may be reported as ended early.
    let long = replay("1000000000");
    assert!(matches!(long.status.code(), Some(0 | 3)), "{}", err(&long));
    let summary: serde_json::Value = serde_json::from_str(&out(&long)).unwrap();
    let figure = |name: &str| {
        let metrics = summary["metrics"].as_array().unwrap();
        let found = metrics.iter().find(|m| m["name"] == name);
        found.and_then(|m| m["value"].as_f64()).unwrap() as u64
    };
    // Five rounds of 20 and a part of the sixth begin in the second, every other request a write.
    let (requests, skipped) = (figure("requests"), figure("skipped"));
    assert!((100..=120).contains(&requests), "{requests}");
    assert!((48..=60).contains(&skipped), "{skipped}");
    let completed = figure("completed") + figure("missed") + figure("cancelled");
    assert_eq!(completed + skipped, requests);
    assert!(figure("completed") > 10, "more than one round");
}

#[test]
fn a_repeated_load_that_max_runtime_cuts_off_is_reported() {
    let scratch = Scratch::new();
    // One request each 0.1 s for 10 s.
    let input = scratch.file("x.load", load((0..100).map(|i| (f64::from(i) * 0.1, 8, 8))));
    let replay = |options: &[&str]| {
        let mut words = vec!["replay", input.to_str().unwrap(), "--engine", "simulate"];
        words.extend(["--skip-writes", "--max-runtime", "0.35"]);
        run(&[&words, options].concat())
    };
    for options in [
        &[][..],
        &["--repeat", "1"],
        &["--shift", "10s", "--repeat", "3"],
        &["--shift", "10s", "--repeat", "1000000000"],
        &["--from", "2", "--repeat", "1000000000"],
        &["--select", "2..4", "--repeat", "1000000000"],
    ] {
        let ended = replay(options);
        let said = out(&ended);
        assert_eq!(
            ended.status.code(),
            Some(3),
            "{options:?}: {said}{}",
            err(&ended)
        );
        assert!(
            said.contains("ENDED EARLY") && said.contains("--max-runtime was reached"),
            "{options:?}: {said}"
        );
    }
    // A load that is over by then is not cut off.
    let short = scratch.file("s.load", load((0..4).map(|i| (f64::from(i) * 0.01, 8, 8))));
    let whole = run(&[
        "replay",
        short.to_str().unwrap(),
        "--engine",
        "simulate",
        "--skip-writes",
        "--max-runtime",
        "5",
        "--repeat",
        "2",
    ]);
    assert!(!out(&whole).contains("ENDED EARLY"), "{}", out(&whole));
}

#[test]
fn an_overload_that_max_runtime_cuts_off_is_longer_than_what_was_seen_of_it() {
    let scratch = Scratch::new();
    // A hundred requests a second for four seconds, of which the device does fifty.
    let input = scratch.file(
        "x.load",
        load((0..400).map(|i| (f64::from(i) * 0.01, 8, 8))),
    );
    let replay = |runtime: &str| {
        let device = [
            "--engine",
            "simulate",
            "--latency",
            "20ms",
            "--in-flight",
            "1",
        ];
        let words = ["replay", input.to_str().unwrap(), "--write"];
        out(&run(
            &[&words, &device[..], &["--max-runtime", runtime]].concat()
        ))
    };
    let cut_short = replay("3");
    assert!(cut_short.contains("delay of at least "), "{cut_short}");
    // Of a load that is replayed to its end, all is seen.
    let whole = replay("1000");
    assert!(whole.contains("delay up to "), "{whole}");
    assert!(!whole.contains("of at least "), "{whole}");
    // When the last one was due, half of them had not been submitted.
    let backlog = whole.lines().find(|line| line.contains(" behind")).unwrap();
    let behind = backlog.split("at least ").last().unwrap();
    let behind: u32 = behind.split(' ').next().unwrap().parse().unwrap();
    assert!((150..300).contains(&behind), "{whole}");
}

#[test]
fn very_many_runs_need_a_word() {
    let scratch = Scratch::new();
    scratch.file(
        "s.toml",
        "[load]\nrequests = 100\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = 'raid0'\ndisks = 2\n[disk]\nprofile = 'seagate-st3500630ns'\n",
    );
    let study = |to: u32| {
        let text = format!(
            "scenario = 's.toml'\n[vary]\n'load.requests' = {{ from = 1, to = {to}, step = 1 }}\n"
        );
        let path = scratch.file("study.toml", text);
        run(&["sweep", path.to_str().unwrap(), "--dry-run"])
    };
    let refused = study(900_000);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("900000") || err(&refused).contains("900 000"));
    assert!(study(50_000).status.success());
}

#[test]
fn an_assumed_geometry_is_reported() {
    let scratch = Scratch::new();
    let text = "[load]\nrequests = 100\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\n\
                [array]\nlevel = 'raid0'\ndisks = 2\n[disk]\nprofile = 'PROFILE'\nmodel = 'positional'\n";
    let with = scratch.file("with.toml", text.replace("PROFILE", "seagate-st3500630ns"));
    let profile =
        std::fs::read_to_string("crates/disk-model/profiles/seagate-st3500630ns.toml").unwrap();
    let end = profile.find("[geometry]").unwrap();
    scratch.file("bare.toml", &profile[..end]);
    let without = scratch.file("without.toml", text.replace("PROFILE", "bare.toml"));
    for (scenario, is_assumed) in [(&with, false), (&without, true)] {
        let run = sim(scenario, &[]);
        assert!(run.status.success(), "{}", err(&run));
        assert_eq!(
            err(&run).contains("no [geometry]"),
            is_assumed,
            "{}",
            err(&run)
        );
        let explained = sim(scenario, &["--explain"]);
        assert_eq!(out(&explained).contains("# Assumed: profile"), is_assumed);
        for options in [&["--json"][..], &["--json", "--explain"]] {
            let json = out(&sim(scenario, options));
            assert_eq!(
                json.contains("\"assumptions\""),
                is_assumed,
                "{options:?}: {json}"
            );
        }
    }
}

/// A whole drive is discarded when a file system is made on it. Page by page, this took 2.4 GB.
#[test]
fn a_discard_of_two_terabytes_takes_little_memory_and_a_read_of_as_much_is_refused() {
    let scratch = Scratch::new();
    let file = |op: &str| {
        let text = format!("time_ns,sector,sectors,op\n0,0,4294967295,{op}\n1,0,8,R\n");
        scratch.file(&format!("{op}.csv"), text)
    };
    let program = assert_cmd::cargo::cargo_bin!("iosonar");
    let sim = |system: &str, op: &str| {
        let output = std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -v 1500000; exec \"$0\" sim -q \"$1\" --trace \"$2\"",
            ])
            .arg(program)
            .arg(system)
            .arg(file(op))
            .output()
            .unwrap();
        (output.status.code(), out(&output) + &err(&output))
    };
    let (code, said) = sim("intel-d7", "D");
    assert_eq!(code, Some(0), "{said}");
    for system in ["intel-d7", "jbod:2xintel-d7", "raid0:2xintel-d7+unit=1GiB"] {
        for op in ["R", "W"] {
            let (code, said) = sim(system, op);
            assert_eq!(code, Some(1), "{system}: {said}");
            let words = format!(
                "{op}.csv:2: a request of 4294967295 sectors consists of 536 870 911 pages of 8 sectors, expected at most"
            );
            assert!(said.contains(&words), "{said}");
        }
    }
    for (system, pieces) in [
        ("exos-x18", "pieces"),
        ("jbod:2xexos-x18", "pieces"),
        ("raid0:2xexos-x18", "stripe units"),
    ] {
        let (code, said) = sim(system, "R");
        assert_eq!(code, Some(1), "{said}");
        let words = format!(" {pieces} of ");
        assert!(said.contains(&words) && said.contains("split it"), "{said}");
        let size = ["sim", "-q", system, "--set", "load.size=1TiB"];
        let others = ["--set", "load.requests=9", "--set", "load.rate_per_s=1"];
        let output = run(&[&size[..], &others].concat());
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        let words = "a request of 'load.size' of 2147483648 sectors consists of";
        assert!(err(&output).contains(words), "{}", err(&output));
    }
}

/// A queue that grows without end ends the program with an error, not the machine; and a system that would take much
/// memory before the first request is refused.
#[test]
fn a_simulation_takes_no_more_memory_than_it_may() {
    let scratch = Scratch::new();
    let load = "[load]\nsize = \"4KiB\"\narrivals = { poisson_per_s = 1e5 }\n";
    let overload = scratch.file(
        "overload.toml",
        format!(
            "{load}requests = 1_000_000_000\n[array]\nlevel = \"raid0\"\ndisks = 4\n[disk]\nprofile = \"exos-x18\"\n"
        ),
    );
    let records = scratch.path("out.ios");
    let output = iosonar()
        .args(["sim", "--unstable", "--memory", "100MiB", "--records"])
        .args([&records, &overload])
        .timeout(HANGS)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let message = err(&output);
    assert!(
        message.contains("error[E047]: the simulation needs more than the 100 MiB of --memory: simulate fewer requests"),
        "{message}"
    );
    assert_eq!(out(&output), "");
    let left = std::fs::read_dir(scratch.path("")).unwrap();
    let left: Vec<_> = left.map(|of| of.unwrap().file_name()).collect();
    assert_eq!(left, ["overload.toml"], "what is not whole is not there");

    let large = scratch.file(
        "large.toml",
        format!(
            "{load}requests = 100\n[array]\nlevel = \"raid0\"\ndisks = 1000\n[ssd]\nprofile = \"abstract\"\n\
             [ssd.block_queue]\nring = 1048576\n"
        ),
    );
    for command in ["sim", "model", "plan", "choose"] {
        let mut run = iosonar();
        run.arg(command);
        match command {
            "plan" => run.arg(&large).args(["--target", "p99 < 1s"]),
            "choose" => run
                .args(["--target", "p99 < 1s"])
                .arg(scratch.file("some.load", self::load([(0.0, 0, 8)].into_iter())))
                .arg(&large),
            _ => run.arg(&large),
        };
        let output = run.timeout(HANGS).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {}", err(&output));
        assert!(
            err(&output).contains("'ssd.block_queue.ring' is 1048576, which needs up to 7.8"),
            "{command}: {}",
            err(&output)
        );
    }
}
