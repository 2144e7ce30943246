//! What commands make of traces that are damaged or hold nothing that can be read.

mod scratch;

use std::fs;

use scratch::{Scratch, err, iosonar, out};

/// A load of `n` requests with numbers of many digits.
fn load(scratch: &Scratch, n: u64) -> std::path::PathBuf {
    let rows: String = (0..n)
        .map(|i| {
            format!(
                "{}.{:09} ; {} ; 8 ; R\n",
                i / 1000,
                i * 7_919 % 1_000_000,
                i * 7_919_113 % 1_000_000_007
            )
        })
        .collect();
    scratch.file("x.load", rows)
}

#[test]
fn a_damaged_compressed_trace_is_refused_even_with_lenient() {
    let scratch = Scratch::new();
    let plain = load(&scratch, 5_000);
    for form in ["load.gz", "load.zst"] {
        let packed = scratch.path(&format!("y.{form}"));
        let made = iosonar()
            .args(["convert", "-q", "--sort", "-o"])
            .args([&packed, &plain])
            .output()
            .unwrap();
        assert_eq!(made.status.code(), Some(0), "{}", err(&made));
        let whole = fs::read(&packed).unwrap();
        // Damaged: refused, and nothing of it is printed.
        let mut bytes = whole.clone();
        for at in (1..10).map(|i| whole.len() * i / 10) {
            bytes[at] ^= 0x10;
        }
        fs::write(&packed, bytes).unwrap();
        let info = iosonar()
            .args(["info", "--lenient"])
            .arg(&packed)
            .output()
            .unwrap();
        assert_eq!(info.status.code(), Some(1), "{form}: {}", out(&info));
        assert_eq!(out(&info), "", "{form}");
        assert!(err(&info).contains("data are damaged"), "{}", err(&info));
        // Cut off: read up to there.
        fs::write(&packed, &whole[..whole.len() - 20]).unwrap();
        let info = iosonar()
            .args(["info", "--lenient"])
            .arg(&packed)
            .output()
            .unwrap();
        assert_eq!(info.status.code(), Some(0), "{form}: {}", err(&info));
        let said = err(&info) + &out(&info);
        assert!(said.contains("truncated after"), "{form}: {said}");
    }
}

#[test]
fn a_trace_of_which_nothing_can_be_read_is_not_converted_to_an_empty_one() {
    let scratch = Scratch::new();
    let plain = load(&scratch, 1_000);
    let whole = scratch.path("whole.ios");
    let made = iosonar()
        .args(["convert", "-q", "--sort", "-o"])
        .args([&whole, &plain])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let whole = fs::read(&whole).unwrap();
    let cut = scratch.file("cut.ios", &whole[..whole.len() / 3]);
    let rows = scratch.file("rows.load", "0.1 ; x ; 8 ; R\n0.2 ; y ; 8 ; R\n");
    for (input, name) in [
        (&cut, "e.ios"),
        (&cut, "e.load.gz"),
        (&cut, "e.csv.zst"),
        (&rows, "f.ios"),
    ] {
        let output = scratch.path(name);
        let run = iosonar()
            .args(["convert", "--lenient", "-o"])
            .args([&output, input])
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(1), "{name}: {}", err(&run));
        let said = err(&run);
        assert!(
            said.contains("the readable part contains no requests"),
            "{said}"
        );
        assert!(!output.exists() && !scratch.holds_a_part(), "{name}");
    }
    // What is empty and whole stays an empty trace.
    let none = scratch.path("none.ios");
    let run = iosonar()
        .args(["convert", "--lenient", "--sort", "--ops", "discard", "-o"])
        .args([&none, &plain])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(none.exists());
}
