//! Systems that are typed in place of a scenario file, in all commands that take one.

mod scratch;

use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

const LOAD: &str = "[load]\nrequests = 2000\nrate_per_s = 20.0\nsize = '4KiB'\n";

const SET: [&str; 6] = [
    "--set",
    "load.requests=2000",
    "--set",
    "load.rate_per_s=20.0",
    "--set",
    "load.size=4KiB",
];

/// The same system as `raid5:6xexos-x18+cache=1GiB`.
const ARRAY: &str = "[array]\nlevel = 'raid5'\ndisks = 6\n[disk]\nprofile = 'seagate-exos-x18-18tb'\n\
    [controller]\ncache = '1GiB'\n";

fn run(scratch: &Scratch, words: &[&str]) -> Output {
    let mut command = iosonar();
    command.current_dir(scratch.path(""));
    command.args(words).output().unwrap()
}

#[test]
fn plan_and_model_take_what_sim_takes() {
    let scratch = Scratch::new();
    scratch.file("array.toml", format!("{LOAD}{ARRAY}"));
    let plan = ["plan", "-q", "--target", "mean < 20ms"];
    let varied = ["--vary", "array.stripe_unit=64KiB,256KiB"];
    for command in [
        &["model", "-q"][..],
        &plan,
        &[&plan[..], &varied].concat(),
        &["sim", "-q"],
    ] {
        let of = |system: &str, more: &[&str]| {
            let printed = run(&scratch, &[command, more, &[system]].concat());
            assert!(printed.status.success(), "{command:?}: {}", err(&printed));
            out(&printed).replace(system, "SYSTEM")
        };
        let typed = of("raid5:6xexos-x18+cache=1GiB", &SET);
        let in_file = of("array.toml", &[]).replace("array:", "SYSTEM:");
        assert_eq!(typed, in_file, "{command:?}");
        let error = |system: &str, more: &[&str]| {
            let printed = run(&scratch, &[command, more, &[system]].concat());
            assert_eq!(printed.status.code(), Some(2), "{command:?}");
            err(&printed)
        };
        let refused = error("raid5:2xexos-x18", &SET);
        assert!(refused.contains("raid5:2xexos-x18: 'array.disks' is 2"));
        let refused = error("raid5:6xexos-x18", &[]);
        assert!(refused.contains("raid5:6xexos-x18: the system has no load"));
        let refused = error("exos", &SET);
        assert!(
            refused.contains("'exos' is ambiguous: it matches"),
            "{refused}"
        );
    }
}

#[test]
fn sweep_takes_what_sim_takes() {
    let scratch = Scratch::new();
    scratch.file("array.toml", ARRAY);
    let set = "[set]\nload.requests = 200\nload.rate_per_s = 20.0\nload.size = '4KiB'\n";
    let result = |name: &str, system: &str, values: &str| {
        let study = format!("scenario = '{system}'\n{set}[vary]\n{values}\n");
        let study = scratch.file(&format!("{name}.toml"), study);
        // From another folder: the files of the study are beside it.
        let mut command = iosonar();
        let printed = command.arg("sweep").arg(study).output().unwrap();
        assert!(printed.status.success(), "{}", err(&printed));
        std::fs::read_to_string(scratch.path(name).join("runs.csv")).unwrap()
    };
    let disks = "array.disks = [4, 6]";
    let typed = result("typed", "raid5:6xexos-x18+cache=1GiB", disks);
    assert!(typed.lines().count() > 2, "{typed}");
    assert_eq!(typed, result("file", "array.toml", disks));
    let profile = run(&scratch, &["profiles", "exos-x18"]);
    scratch.file("mine.toml", &profile.stdout);
    let cache = "controller.cache = ['1MiB', '2MiB']";
    assert_eq!(
        result("of-file", "calibrated:mine.toml", cache),
        result("built-in", "raid0:1xexos-x18", cache)
    );
    scratch.file("wrong.toml", format!("scenario = 'exos'\n{set}"));
    let refused = run(&scratch, &["sweep", "wrong.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("'exos' is ambiguous: it matches"));
}

#[test]
fn a_replay_by_a_model_takes_a_system_of_one_disk() {
    let scratch = Scratch::new();
    scratch.file("a.csv", "time_ns,sector,sectors,op\n0,0,8,read\n");
    let replay = |model: &str| {
        let words = "replay a.csv --engine simulate --model";
        let words: Vec<_> = words.split(' ').chain([model]).collect();
        run(&scratch, &words)
    };
    for model in ["raid0:1xexos-x18", "profile:exos-x18"] {
        let printed = replay(model);
        // On a busy machine it may be late (3).
        assert!(
            matches!(printed.status.code(), Some(0 | 3)),
            "{}",
            err(&printed)
        );
    }
    let refused = err(&replay("raid5:6xexos-x18"));
    assert!(
        refused.contains("'raid5:6xexos-x18' is not a single disk"),
        "{refused}"
    );
}

#[test]
fn a_file_goes_before_a_profile_in_sim_and_in_choose() {
    let scratch = Scratch::new();
    scratch.file("exos-x18", format!("{LOAD}{ARRAY}"));
    scratch.file("load.toml", LOAD);
    std::fs::create_dir(scratch.path("intel-d7")).unwrap();
    let sim = |system: &str| out(&run(&scratch, &[&["sim", "-q", system], &SET[..]].concat()));
    let choose = |system: &str| {
        let words = ["choose", "-q", "load.toml", system, "--target", "p99 < 9s"];
        out(&run(&scratch, &words))
    };
    assert!(sim("exos-x18").contains("RAID 5 of 6 x"));
    // Of 6 disks of 16.4 TiB, one for the parity; a single one has 16.37 TiB.
    assert!(
        choose("exos-x18").contains("81.8"),
        "{}",
        choose("exos-x18")
    );
    assert!(!sim("profile:exos-x18").contains("RAID 5"));
    assert!(choose("profile:exos-x18").contains("16.37 TiB"));
    // A folder is no scenario.
    assert!(sim("intel-d7").contains("Intel SSD D7-P5500"));
    assert!(choose("intel-d7").contains("3.49 TiB"));
}

#[test]
fn a_cache_of_size_0_is_no_cache() {
    let scratch = Scratch::new();
    let sim = |system: &str, more: &[&str]| {
        run(&scratch, &[&["sim", "-q", system], &SET[..], more].concat())
    };
    let without = sim("raid5:6xexos-x18", &[]);
    let typed = sim("raid5:6xexos-x18+cache=0", &[]);
    assert!(typed.status.success(), "{}", err(&typed));
    assert_eq!(out(&typed).replace("+cache=0", ""), out(&without),);
    let set = sim("raid5:6xexos-x18", &["--set", "controller.cache=0"]);
    assert!(
        err(&set).contains(
            "'controller.cache' is 0, expected a quoted string; write a size with a unit, such as \"64MiB\", or \"0\" \
             for no cache"
        ),
        "{}",
        err(&set)
    );
}

#[test]
fn a_warm_up_of_all_requests_is_an_error_that_says_so() {
    let scratch = Scratch::new();
    scratch.file(
        "a.csv",
        "time_ns,sector,sectors,op\n0,0,8,read\n9000,8,8,read\n",
    );
    let sim = |warmup: &str| {
        let words = [
            "sim", "intel-d7", "--trace", "a.csv", "--fit", "--set", warmup,
        ];
        run(&scratch, &words)
    };
    let refused = sim("warmup_requests=1000");
    let advice = "lower 'warmup_requests', as in --set warmup_requests=0";
    assert!(err(&refused).contains(advice), "{}", err(&refused));
    assert!(sim("warmup_requests=0").status.success());
}
