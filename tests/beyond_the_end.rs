//! A trace that reaches beyond the end of the array: what every command advises works.

mod scratch;

use scratch::{Scratch, err, iosonar, out};

/// Two disks of 18,033,664 sectors, and a trace that goes beyond them.
fn files(scratch: &Scratch) {
    let mut trace = String::from("time_ns,sector,sectors,op\n");
    for i in 0..60_u64 {
        trace += &format!(
            "{},{},8,{}\n",
            i * 50_000_000,
            i * 800_000,
            ["read", "write"][i as usize % 2]
        );
    }
    scratch.file("big.csv", &trace);
    scratch.file(
        "s.toml",
        "[load]\ntrace = \"big.csv\"\n[array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"ibm-18es\"\n",
    );
    scratch.file(
        "study.toml",
        "scenario = \"s.toml\"\n[vary]\narray.disks = [1, 2]\n",
    );
}

/// Runs a command in the folder; what it printed, and whether all went well.
fn run(scratch: &Scratch, command: &[&str]) -> (bool, String) {
    let mut iosonar = iosonar();
    let printed = iosonar
        .current_dir(scratch.path(""))
        .args(command)
        .output()
        .unwrap();
    let text = out(&printed) + &err(&printed);
    (printed.status.success() && !text.contains("failed:"), text)
}

/// The options that a message advises to add: "--set load.beyond=fit (or wrap, or clip)".
fn advised(text: &str) -> Vec<String> {
    let at = text
        .find("add --set load.beyond=")
        .unwrap_or_else(|| panic!("no advice: {text}"));
    let words = text[at..].trim_start_matches("add --set load.beyond=");
    let (first, others) = words.split_once(" (or ").unwrap();
    let others = others.split_once(')').unwrap().0.split(", or ");
    std::iter::once(first)
        .chain(others)
        .map(|how| format!("load.beyond={how}"))
        .collect()
}

#[test]
fn what_is_advised_works_in_every_command_that_simulates() {
    let scratch = Scratch::new();
    files(&scratch);
    for command in [
        &["sim", "s.toml", "-q"][..],
        &["sim", "s.toml", "-q", "--vary", "array.disks=1,2"],
        &["sim", "s.toml", "-q", "--sensitivity"],
        &["sim", "s.toml", "-q", "--trace", "big.csv"],
        &["model", "s.toml", "--with-sim", "-q"],
        &["plan", "s.toml", "-q", "--target", "mean < 1000s"],
        &["sweep", "study.toml", "-q", "--dir", "study"],
    ] {
        let (done, text) = run(&scratch, command);
        assert!(!done, "{command:?}: {text}");
        let all = advised(&text);
        assert_eq!(
            all,
            ["load.beyond=fit", "load.beyond=wrap", "load.beyond=clip"]
        );
        for how in &all {
            let _ = std::fs::remove_dir_all(scratch.path("study"));
            let advised = [command, &["--set", how]].concat();
            let (done, text) = run(&scratch, &advised);
            assert!(done, "{advised:?}: {text}");
        }
    }
}

#[test]
fn a_key_means_what_the_option_means_and_the_option_holds() {
    let scratch = Scratch::new();
    files(&scratch);
    let hash = |options: &[&str]| {
        let (done, text) = run(&scratch, &[&["sim", "s.toml", "-q"], options].concat());
        assert!(done, "{options:?}: {text}");
        text[text.find("hash ").unwrap()..]
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let mut all = Vec::new();
    for (option, key) in [("--fit", "fit"), ("--wrap", "wrap"), ("--clip", "clip")] {
        let key = format!("load.beyond={key}");
        let by_key = hash(&["--set", &key]);
        assert_eq!(by_key, hash(&[option]));
        assert_eq!(hash(&[option, "--set", "load.beyond=clip"]), by_key);
        // The explanation keeps it.
        let (_, explained) = run(&scratch, &["sim", "s.toml", "-q", option, "--explain"]);
        scratch.file(
            "again.toml",
            &explained[..explained.find("\n# offered").unwrap_or(explained.len())],
        );
        assert!(
            explained.contains(&format!("beyond = \"{}\"", &option[2..])),
            "{explained}"
        );
        all.push(by_key);
    }
    all.dedup();
    assert_eq!(all.len(), 3, "they do different things");

    let synthetic = "[load]\nbeyond = \"fit\"\nrequests = 10\narrivals = { poisson_per_s = 1.0 }\nsize = { blocks = 1 }\n\
                     [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"ibm-18es\"\n";
    scratch.file("synthetic.toml", synthetic);
    let (done, text) = run(&scratch, &["sim", "synthetic.toml"]);
    assert!(
        !done && text.contains("synthetic.toml:2: 'load.beyond' is \"fit\", expected no value"),
        "{text}"
    );
}

#[test]
fn what_a_replay_advises_works_for_it_for_the_search_for_a_rate_and_in_sweeps() {
    let scratch = Scratch::new();
    // A read every 100 us, over 131 MB, on a target of 64 MiB.
    let mut trace = String::from("time_ns,sector,sectors,op\n");
    for i in 0..2_000_u64 {
        trace += &format!("{},{},8,read\n", i * 100_000, i * 128);
    }
    scratch.file("big.csv", &trace);
    scratch.file("target", vec![1_u8; 64 << 20]);
    let base = "replay big.csv --no-direct --engine sync --target target -q";
    let base: Vec<&str> = base.split(' ').collect();
    let find = ["--find-rate", "latency p99 < 1s", "--find-time", "100ms"];
    for (more, all) in [
        (&[][..], &["--wrap", "--clip", "--fit"][..]),
        (&find, &["--wrap"]),
    ] {
        let (done, text) = run(&scratch, &[&base, more].concat());
        assert!(
            !done && text.contains("or --wrap, --clip or --fit"),
            "{text}"
        );
        for how in all {
            let mut command = iosonar();
            command.current_dir(scratch.path("")).args(&base).args(more);
            let printed = command.arg(how).output().unwrap();
            // This machine may be busy, which is flagged.
            let code = printed.status.code();
            assert!(
                matches!(code, Some(0 | 3)),
                "{more:?} {how}: {}",
                err(&printed)
            );
        }
    }
    let study = "[replay]\nload = \"big.csv\"\ntarget = \"target\"\nno_direct = true\n\
                 [vary]\nin_flight = [1]\n";
    scratch.file("replays.toml", study);
    let sweep = ["sweep", "replays.toml", "-q", "--dir", "replays"];
    let (done, text) = run(&scratch, &sweep);
    assert!(
        !done && text.contains("in a sweep --set wrap=true, clip=true or fit=true"),
        "{text}"
    );
    for how in ["wrap=true", "clip=true", "fit=true"] {
        std::fs::remove_dir_all(scratch.path("replays")).unwrap();
        let (done, text) = run(&scratch, &[&sweep[..], &["--set", how]].concat());
        assert!(done, "{how}: {text}");
    }
}
