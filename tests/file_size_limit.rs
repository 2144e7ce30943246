//! A limit on the size of files (`ulimit -f`) is like a full disk: an error, not the end of the program.

mod scratch;

use std::process::{Command, Output};

use scratch::{Scratch, err, out};

/// Runs the command with files of at most 32 KiB.
fn limited(line: &str, scratch: &Scratch) -> Output {
    Command::new("bash")
        .args(["-c", &format!("ulimit -f 32; \"$0\" {line}")])
        .arg(assert_cmd::cargo::cargo_bin!("iosonar"))
        .current_dir(scratch.path("."))
        .output()
        .unwrap()
}

fn load(scratch: &Scratch) {
    let rows: String = (0..20_000_u64)
        .map(|i| {
            format!(
                "{}.{:06} ; {} ; 8 ; R\n",
                i / 20_000,
                i * 50,
                i * i * i % 1_000_003 * 8
            )
        })
        .collect();
    scratch.file("x.load", rows);
}

#[test]
fn a_trace_that_is_larger_than_files_may_be_is_an_error() {
    let scratch = Scratch::new();
    load(&scratch);
    for name in ["y.load", "y.ios", "y.csv.gz", "y.jsonl.zst"] {
        let run = limited(&format!("convert x.load -o {name}"), &scratch);
        assert_eq!(run.status.code(), Some(1), "{name}: {:?}", run.status);
        assert!(
            err(&run).contains("File too large"),
            "{name}: {}",
            err(&run)
        );
        assert!(!scratch.path(name).exists(), "{name}");
    }
}

#[test]
fn a_replay_whose_records_are_larger_than_files_may_be_prints_its_summary() {
    let scratch = Scratch::new();
    load(&scratch);
    let run = limited("replay --engine simulate -o y.load x.load", &scratch);
    assert_eq!(run.status.code(), Some(1), "{:?} {}", run.status, err(&run));
    let summary = out(&run);
    for says in ["20 000 completed", "RECORDS LOST", "File too large"] {
        assert!(summary.contains(says), "{says}: {summary}");
    }
    assert!(scratch.holds_a_part());
}
