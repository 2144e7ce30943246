//! What cannot be known of a trace is left out, or explained: no infinite rate, no time below zero.

mod scratch;

use scratch::{Scratch, err, iosonar, out};

fn run(scratch: &Scratch, args: &[&str], files: &[(&str, &str)]) -> String {
    let paths = files.iter().map(|(name, text)| scratch.file(name, text));
    let run = iosonar().args(args).arg("-q").args(paths).output().unwrap();
    assert!(run.status.success(), "{}", err(&run));
    out(&run)
}

#[test]
fn a_load_without_duration_has_no_rates() {
    let scratch = Scratch::new();
    for (text, expected) in [
        (
            "0;0;8;R;0;0.001\n0;8;8;R;0;0.001\n",
            "requests      2, all starting at once\n",
        ),
        ("0;0;4294967295;R\n", "requests      1\n"),
        ("1;5;8;R\n", "requests      1\n"),
        ("1;5;0;F\n", "requests      1\n"),
    ] {
        let text = run(&scratch, &["analyze"], &[("x.load", text)]);
        assert!(text.contains(expected), "{text}");
        for never in ["inf", "NaN"] {
            let mut words = text.split([' ', '/', '\n', ',']);
            assert!(!words.any(|word| word == never), "{never}: {text}");
        }
    }
}

#[test]
fn two_requests_have_no_hurst_parameter() {
    let scratch = Scratch::new();
    let text = run(
        &scratch,
        &["analyze"],
        &[("x.load", "0;0;8;R\n1000;64;8;R\n")],
    );
    assert!(text.contains("Hurst         unknown"), "{text}");
    // Many do.
    let rows: String = (0..2000)
        .map(|i| {
            format!(
                "{};0;8;R\n",
                f64::from(i * i % 977) / 977.0 + f64::from(i / 20)
            )
        })
        .collect();
    let text = run(
        &scratch,
        &["analyze", "--on-backstep", "sort"],
        &[("many.load", &rows)],
    );
    assert!(text.contains("standard error of the fit"), "{text}");
}

#[test]
fn a_load_that_fits_into_the_smallest_cache_has_no_list_of_caches() {
    let scratch = Scratch::new();
    let text = run(
        &scratch,
        &["analyze"],
        &[("x.load", "0;0;8;R\n1;8;8;R\n2;16;8;R\n")],
    );
    assert!(
        text.contains("miss ratio  first accesses 100.0 %; all pages fit in a cache of 1 MiB\n"),
        "{text}"
    );
}

#[test]
fn no_time_is_below_zero_and_no_peak_outlasts_its_load() {
    let scratch = Scratch::new();
    let rows: String = (0..100)
        .map(|i| match i % 2 {
            0 => format!("{i};0;16;W;0;0.106627\n"),
            _ => format!("{i};64;32;W;0;1.083179\n"),
        })
        .collect();
    let files = [("x.load", rows.as_str())];
    let text = run(&scratch, &["analyze"], &files);
    assert!(
        text.contains(
            "latency does not depend on the request size; over all sizes: no significant dependence on the request size\n"
        ),
        "{text}"
    );
    assert!(!text.contains("peak"), "{text}");
    let json = run(&scratch, &["analyze", "--json"], &files);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for metric in json["metrics"].as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        if ["io_median", "overhead_median", "io_fit", "overhead_fit"].contains(&name) {
            assert!(metric["value"].is_null(), "{metric}");
        }
    }
}

#[test]
fn records_that_are_not_sorted_have_no_longest_gap() {
    let scratch = Scratch::new();
    // In the order of completions.
    let unsorted = "9;0;8;R;0;0.1\n1;0;8;R;0;9\n2;0;8;R;0;9\n10;0;8;R;0;9\n";
    let text = run(&scratch, &["info"], &[("unsorted.load", unsorted)]);
    assert!(
        text.contains("NOT sorted") && !text.contains("gap"),
        "{text}"
    );
    let sorted = "1;0;8;R;0;9\n2;0;8;R;0;9\n9;0;8;R;0;0.1\n10;0;8;R;0;9\n";
    let text = run(&scratch, &["info"], &[("sorted.load", sorted)]);
    assert!(text.contains("longest gap    7 s from 2 s\n"), "{text}");
    let at_once = "1;0;8;R;0;9\n1;8;8;R;0;9\n";
    let text = run(&scratch, &["info"], &[("at-once.load", at_once)]);
    assert!(!text.contains("gap"), "{text}");
}

#[test]
fn compare_explains_only_what_it_prints() {
    let scratch = Scratch::new();
    let text = run(
        &scratch,
        &["compare"],
        &[
            ("a.load", "0;0;8;R;0;0.1\n1;0;8;R;0;0.2\n"),
            ("b.load", "0;0;8;R;0;0.1\n1;0;8;R;0;0.3\n"),
        ],
    );
    assert!(!text.contains('±') && text.contains("KS: 0"), "{text}");
    let rows = |step: u32| -> String {
        let row = |i: u32| format!("{i};0;8;R;0;0.0{}\n", 10 + i * step % 37);
        (0..20_000).map(row).collect()
    };
    let text = run(
        &scratch,
        &["compare"],
        &[("c.load", &rows(7)), ("d.load", &rows(11))],
    );
    assert!(
        text.contains("± is half the width of the 95 % interval"),
        "{text}"
    );
}
