//! Small inputs cost little, whatever they ask for; and what would cost much is refused before it begins.

mod scratch;

use std::time::{Duration, Instant};

use scratch::{Scratch, err, iosonar, out, sim};

/// Of a test on a busy machine; each of these takes a second or less.
const SOON: Duration = Duration::from_secs(40);

fn run(arguments: &[&str]) -> std::process::Output {
    let begin = Instant::now();
    let output = iosonar()
        .args(arguments)
        .timeout(SOON)
        .output()
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
    assert!(begin.elapsed() < SOON, "{arguments:?}");
    output
}

fn load(rows: impl Iterator<Item = (f64, u64, u64)>) -> String {
    let mut text = "start ; sector; length ; op ;  replay_delay ; replay_duration\n".to_owned();
    for (i, (start, sector, sectors)) in rows.enumerate() {
        let op = ["R", "W"][i % 2];
        text += &format!("{start:.9} ; {sector} ; {sectors} ; {op} ; 0.000000000 ; 0.001000000\n");
    }
    text
}

#[test]
fn requests_of_a_terabyte_and_gaps_of_centuries_are_analysed_soon() {
    let scratch = Scratch::new();
    let large = load((0..50).map(|i| (f64::from(i) * 0.1, u64::from(i as u32) << 20, 1 << 31)));
    let apart = load([(0.0, 0, 8), (9e9, 800, 8)].into_iter());
    for (name, text) in [("large.load", large), ("apart.load", apart)] {
        let input = scratch.file(name, text);
        let input = input.to_str().unwrap();
        let page = scratch.path("x.html");
        let picture = scratch.path("x.svg");
        for arguments in [
            vec!["analyze", input],
            vec!["plot", "sparsity", input, "-o", picture.to_str().unwrap()],
            vec!["report", input, "-o", page.to_str().unwrap()],
        ] {
            let output = run(&arguments);
            assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        }
    }
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
    let begin = Instant::now();
    let output = sim(&scenario, &[]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(begin.elapsed() < SOON);
    // The load takes 5 s, all of the rebuild 38 hours: what there was time for is reported.
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
        message.contains("--force") && message.contains("is free there"),
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
        err(&endless).contains("--repeat is 18446744073709551615"),
        "{}",
        err(&endless)
    );
    let long = replay("1000000000");
    assert_ne!(long.status.code(), Some(2), "{}", err(&long));
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
            said.contains("ENDED EARLY") && said.contains("--max-runtime is over"),
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
