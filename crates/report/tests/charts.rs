//! The data behind charts: all of them as they were when somebody looked at them, and some against brute force.
//!
//! `IOSONAR_BLESS=1 cargo test -p iosonar-report --test charts` takes today's data for right.

use std::path::Path;

use iosonar_plot::{Chart, Limit, Line, Mark};
use iosonar_report::{Arrange, CATALOGUE, Look, LookOptions, Measured, Quantity, find, needs_of};
use iosonar_trace::{Metadata, Op, Outcome, Record, Request, Status};
use iosonar_units::{Nanos, Sector, Sectors};

/// Records with everything in them: sizes, zeros, late ones, held ones, failed ones, a pause.
fn records() -> Vec<Record> {
    (0..400_u64)
        .map(|i| {
            let noise = i * 7919 % 1009;
            let pause = if i > 300 { 2_000_000_000 } else { 0 };
            let op = if i % 3 == 0 { Op::Write } else { Op::Read };
            let request = Request {
                start: Nanos::new(i * 10_000_000 + pause),
                sector: Sector::new(noise * 4096),
                sectors: Sectors::new([8, 16, 64, 256][(noise % 4) as usize]),
                op,
                ..Request::default()
            };
            let late = if i % 50 == 0 {
                30_000_000
            } else {
                noise % 2 * 500
            };
            let latency = if i % 97 == 5 {
                0
            } else {
                200_000 + noise * noise * 20
            };
            let mut outcome = Outcome::done(Nanos::new(late), Nanos::new(latency));
            outcome.pushed_back = i % 50 == 0;
            if i % 77 == 8 {
                outcome = Outcome::untimed(Status::Dropped);
            }
            Record { request, outcome }
        })
        .collect()
}

/// What can pass: all of them done.
fn done_records() -> Vec<Record> {
    let mut records = records();
    records.retain(|record| record.outcome.status == Status::Done);
    records
}

fn measured(options: &LookOptions) -> Measured {
    let mut look = Look::new("test", needs_of(CATALOGUE), options);
    records().iter().for_each(|record| look.add(record));
    look.finish()
}

fn chart(name: &str, inputs: &[Measured]) -> Chart {
    let mut charts = find(name).unwrap().charts(inputs, Arrange::default());
    charts.pop().unwrap_or_else(|| panic!("nothing in {name}"))
}

#[test]
fn the_data_of_every_chart_are_what_they_were() {
    let inputs = [measured(&LookOptions::default())];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for entry in CATALOGUE {
        let charts = entry.charts(&inputs, Arrange::default());
        let Some(chart) = charts.first() else {
            let of_its_own = ["submit-ahead", "input-wait", "answer"];
            if of_its_own.iter().any(|name| entry.name.starts_with(name)) {
                continue;
            }
            assert!(
                ["model-ratio", "atomic-share"].contains(&entry.name),
                "{}",
                entry.name
            );
            continue;
        };
        let path = folder.join(format!("{}.csv", entry.name));
        // Clouds of the same points differ in one axis; every tenth point tells.
        let csv = chart.csv();
        let every = if csv.lines().count() > 300 { 10 } else { 1 };
        let lines = csv.lines().step_by(every);
        let csv: String = lines.map(|line| format!("{line}\n")).collect();
        if std::env::var_os("IOSONAR_BLESS").is_some() {
            std::fs::write(&path, csv).unwrap();
            continue;
        }
        let right = std::fs::read_to_string(&path).unwrap();
        for (number, (line, right)) in csv.lines().zip(right.lines()).enumerate() {
            let close = line.split(',').zip(right.split(',')).all(|(a, b)| {
                match (a.parse::<f64>(), b.parse::<f64>()) {
                    (Ok(a), Ok(b)) => a == b || (a / b - 1.0).abs() < 1e-9,
                    _ => a == b,
                }
            });
            assert!(
                close,
                "{} line {}:\n{line}\n{right}",
                entry.name,
                number + 1
            );
        }
        assert_eq!(csv.lines().count(), right.lines().count(), "{}", entry.name);
    }
}

fn line<'a>(chart: &'a Chart, name: &str) -> &'a [(f64, f64)] {
    let of = |mark: &'a Mark| match mark {
        Mark::Line(line) if line.name() == name => Some(&line.points[..]),
        _ => None,
    };
    chart
        .marks
        .iter()
        .find_map(of)
        .unwrap_or_else(|| panic!("no line {name}"))
}

#[test]
fn a_window_that_the_load_begins_or_ends_in_is_no_shorter_than_others() {
    let options = LookOptions {
        window: Some(Nanos::from_secs(50)),
        ..LookOptions::default()
    };
    let mut look = Look::new("test", needs_of(CATALOGUE), &options);
    // Two requests each, a second apart, in the first and in the third window.
    for second in [48, 49, 100, 101] {
        let request = Request {
            start: Nanos::from_secs(second),
            sectors: Sectors::new(8),
            ..Request::default()
        };
        let outcome = Outcome::done(Nanos::ZERO, Nanos::MILLISECOND);
        look.add(&Record { request, outcome });
    }
    let inputs = [look.finish()];
    let chart = chart("throughput", &inputs);
    for name in ["demanded", "actual"] {
        let rates: Vec<f64> = line(&chart, name).iter().map(|point| point.1).collect();
        assert_eq!(rates, [0.04, 0.0, 0.04, 0.04], "{name}");
    }
}

/// The requests per second, by windows of 3 s, of requests with these starts, in milliseconds.
fn rates_of(starts: impl Iterator<Item = u64>) -> Vec<f64> {
    let options = LookOptions {
        window: Some(Nanos::from_secs(3)),
        ..LookOptions::default()
    };
    let mut look = Look::new("test", needs_of(CATALOGUE), &options);
    for start in starts {
        let request = Request {
            start: Nanos::from_millis(start),
            sectors: Sectors::new(8),
            ..Request::default()
        };
        let outcome = Outcome::done(Nanos::ZERO, Nanos::from_micros(500));
        look.add(&Record { request, outcome });
    }
    let inputs = [look.finish()];
    let rates = chart("throughput", &inputs);
    let rates = line(&rates, "demanded").iter().map(|point| point.1);
    rates.collect()
}

#[test]
fn a_steady_rate_does_not_fall_where_the_load_begins_or_ends_within_a_window() {
    // From 1 s to 9.7 s, a hundred a second.
    for rate in rates_of((100..=970).map(|i| 10 * i)) {
        assert!((rate / 100.0 - 1.0).abs() < 0.05, "{rate}");
    }
    // Nine requests in a part of a window are too few, ten are enough.
    let last = |n: u64| rates_of((0..30).chain(0..n).enumerate().map(|(i, _)| i as u64 * 100));
    assert_eq!(last(9).last(), Some(&3.0));
    let of_ten = last(10).last().copied().unwrap();
    assert!((of_ten / 10.0 - 1.0).abs() < 0.01, "{of_ten}");
}

#[test]
fn a_burst_at_the_end_of_a_load_is_no_high_rate() {
    let bursts = (0..=6).flat_map(|second| [second * 1000; 32]);
    let rates = rates_of(bursts);
    assert_eq!(rates[..2], [32.0, 32.0]);
    assert!((rates[2] - 32.0 / 3.0).abs() < 1e-9, "{rates:?}");
}

#[test]
fn throughput_is_that_of_brute_force() {
    let window = Nanos::from_millis(500);
    let inputs = [measured(&LookOptions {
        window: Some(window),
        ..LookOptions::default()
    })];
    let chart = chart("throughput", &inputs);
    let all = records();
    let ends = |r: &Record| Some(r.request.start + r.outcome.response_time()?);
    let last = all.iter().filter_map(ends).max().unwrap();
    let demanded = line(&chart, "demanded");
    for (i, &(begin, rate)) in demanded[..demanded.len() - 1].iter().enumerate() {
        let from = Nanos::from_millis(500 * i as u64);
        assert!((begin - from.as_secs_f64()).abs() < 1e-9);
        let until = from + window;
        let n = all
            .iter()
            .filter(|r| (from..until).contains(&r.request.start))
            .count();
        // The last window is covered in part.
        if until <= last {
            assert!(
                (rate - n as f64 / window.as_secs_f64()).abs() < 1e-6,
                "{begin} {rate} {n}"
            );
        }
    }
    let actual = line(&chart, "actual");
    let total: f64 = actual[..actual.len() - 2].iter().map(|p| p.1 * 0.5).sum();
    let before = Nanos::from_millis(500 * (actual.len() as u64 - 2));
    let done = all
        .iter()
        .filter_map(ends)
        .filter(|end| *end < before)
        .count();
    assert!((total - done as f64).abs() < 1e-6, "{total} {done}");
}

#[test]
fn a_sonar_diagram_holds_every_request_where_it_belongs() {
    let inputs = [measured(&LookOptions::default())];
    let chart = chart("sonar", &inputs);
    let points = chart.clouds().next().unwrap().points().unwrap().to_vec();
    assert_eq!(points.len(), 400);
    for (point, Record { request, outcome }) in points.iter().zip(records()) {
        let (x, y, kind) = match (outcome.delay, outcome.latency) {
            (Some(delay), Some(latency)) => {
                let direction = u8::from(request.op != Op::Read);
                let held = if outcome.pushed_back { 2 } else { 0 };
                (
                    (request.start + delay).as_secs_f64(),
                    latency.as_secs_f64(),
                    direction + held,
                )
            }
            _ => (request.start.as_secs_f64(), f64::INFINITY, 4),
        };
        assert!((point.x - x).abs() < 1e-9 && point.y == y && point.kind == kind);
    }
}

/// The charts' verdicts on these records.
fn limits(records: &[Record], options: &LookOptions, notice: Option<&str>) -> Vec<Limit> {
    let mut look = Look::new("test", needs_of(CATALOGUE), options);
    records.iter().for_each(|record| look.add(record));
    look.about(&Metadata {
        notices: notice.map(str::to_owned).into_iter().collect(),
        ..Metadata::default()
    });
    let inputs = [look.finish()];
    let charts = CATALOGUE.iter();
    charts
        .flat_map(|entry| entry.charts(&inputs, Arrange::default()))
        .filter_map(|chart| chart.limit)
        .collect()
}

fn bad(milliseconds: u64) -> LookOptions {
    LookOptions {
        bad_latency: Some(Nanos::from_millis(milliseconds)),
        bad_delay: Some(Nanos::from_millis(milliseconds)),
        ..LookOptions::default()
    }
}

#[test]
fn a_limit_says_whether_it_was_kept_and_since_when_not() {
    let all = done_records();
    let of = |milliseconds| limits(&all, &bad(milliseconds), None).remove(0);
    let kept = of(60_000);
    assert!(
        kept.is_kept && kept.text.starts_with("passed: none above 60 s"),
        "{}",
        kept.text
    );
    let exceeded = of(10);
    let beyond = |r: &&Record| {
        r.outcome
            .latency
            .is_some_and(|l| l > Nanos::from_millis(10))
    };
    let (n, first) = (
        all.iter().filter(beyond).count(),
        all.iter().find(beyond).unwrap(),
    );
    let expected = format!(
        "failed: {n} above 10 ms, first at {} s",
        first.request.start.as_secs_f64()
    );
    assert!(
        exceeded.text.starts_with(&expected),
        "{} {expected}",
        exceeded.text
    );
}

#[test]
fn without_a_limit_there_is_no_verdict_and_fake_figures_pass_none() {
    let all = done_records();
    assert!(limits(&all, &LookOptions::default(), None).is_empty());
    for (milliseconds, passes) in [(60_000, true), (10, false)] {
        let real = limits(&all, &bad(milliseconds), None);
        assert_eq!(real.len(), 6, "four sonar diagrams, two of delays");
        assert!(real.iter().all(|limit| limit.is_kept == passes));
        let notice = Some("# FAKE: the page cache answered");
        for limit in limits(&all, &bad(milliseconds), notice) {
            assert!(
                !limit.is_kept && !limit.text.contains("passed"),
                "{}",
                limit.text
            );
        }
    }
}

#[test]
fn requests_without_an_end_or_a_time_pass_no_limit() {
    let late = |status| Outcome {
        status,
        ..Outcome::done(Nanos::SECOND, Nanos::from_secs(30))
    };
    for (outcome, words) in [
        (late(Status::Error(5)), "1 failed"),
        (late(Status::Short), "1 short"),
        (late(Status::Cancelled), "1 cancelled"),
        (late(Status::VerifyFailed), "1 with wrong contents"),
        (Outcome::untimed(Status::Missed), "1 never submitted"),
        (Outcome::untimed(Status::Dropped), "1 dropped"),
        (Outcome::untimed(Status::Done), "1 without a measured "),
    ] {
        let mut all = done_records();
        all[200].outcome = outcome;
        let kept = limits(&all, &bad(60_000), None);
        assert_eq!(kept.len(), 6);
        for limit in kept {
            let begins = format!("not passed: {words}");
            assert!(
                !limit.is_kept && limit.text.starts_with(&begins),
                "{}",
                limit.text
            );
            assert!(limit.text.contains("none of the others above 60 s"));
        }
        for limit in limits(&all, &bad(10), None) {
            assert!(!limit.is_kept && limit.text.starts_with("failed: "));
            assert!(limit.text.contains(&format!("; also {words}")));
        }
    }
    // What was left out on purpose was not demanded of the device.
    let mut all = done_records();
    all[200].outcome = Outcome::untimed(Status::Skipped);
    assert!(limits(&all, &bad(60_000), None).iter().all(|l| l.is_kept));
}

#[test]
fn inputs_with_the_same_arrivals_are_all_seen() {
    let inputs: Vec<Measured> = (0..3)
        .map(|i| {
            let mut input = measured(&LookOptions::default());
            input.name = format!("input {i}");
            input
        })
        .collect();
    for entry in CATALOGUE {
        for chart in entry.charts(&inputs, Arrange::Overlay) {
            let lines = chart.marks.iter().filter_map(|mark| match mark {
                Mark::Line(line) => Some(line),
                _ => None,
            });
            // Every name begins with that of its input.
            let lines: Vec<&Line> = lines
                .filter(|line| line.name().starts_with("input"))
                .collect();
            for (i, a) in lines.iter().enumerate() {
                // Of lines on the same way, those before the last are seen through its gaps.
                let other = |b: &&&Line| b.points == a.points && b.name()[..7] != a.name()[..7];
                for b in lines[..i].iter().filter(other) {
                    let gaps = a.dash.is_some_and(|dash| dash.off > 0.0);
                    let is_same = b.dash.is_some() && a.dash == b.dash;
                    let (a, b) = (a.name(), b.name());
                    assert!(gaps && !is_same, "{}: {a} hides {b}", entry.name);
                }
            }
        }
    }
}

#[test]
fn several_inputs_are_panels_or_lie_over_each_other() {
    let inputs = || {
        let mut second = measured(&LookOptions::default());
        second.name = "other".to_owned();
        [measured(&LookOptions::default()), second]
    };
    let sonar = find("sonar").unwrap();
    assert_eq!(sonar.charts(&inputs(), Arrange::Panels).len(), 2);
    let over = sonar.charts(&inputs(), Arrange::Overlay);
    assert_eq!((over.len(), over[0].clouds().count()), (1, 2));
    assert!(over[0].csv().contains("point,other: reads,"));
    let cdf = find("cdf").unwrap().charts(&inputs(), Arrange::Panels);
    assert_eq!(cdf.len(), 1);
    let table = cdf[0].table.as_ref().unwrap();
    assert_eq!(table.header[9..], ["KS", "demerit"]);
    assert_eq!(table.rows[0][9..], ["-", "-"]);
    assert_eq!(table.rows[1][9..], ["0.000", "0 s"]);
}

#[test]
fn the_quantity_is_the_one_that_is_asked_for() {
    let options = LookOptions {
        quantity: Quantity::ResponseTime,
        ..LookOptions::default()
    };
    let chart = chart("cdf", &[measured(&options)]);
    let longest = records()
        .iter()
        .filter_map(|r| r.outcome.response_time())
        .max()
        .unwrap();
    let last = line(&chart, "all").last().unwrap().0;
    assert!((last / longest.as_secs_f64() - 1.0).abs() < 1e-12);
}

#[test]
fn a_load_has_the_charts_of_a_load() {
    let mut look = Look::new("load", needs_of(CATALOGUE), &LookOptions::default());
    for mut record in records() {
        record.outcome = Outcome::default();
        look.add(&record);
    }
    let inputs = [look.finish()];
    let drawn = CATALOGUE
        .iter()
        .filter(|e| !e.charts(&inputs, Arrange::default()).is_empty());
    let drawn: Vec<&str> = drawn.map(|entry| entry.name).collect();
    let expected = [
        "throughput-intended",
        "bandwidth-intended",
        "addresses",
        "sizes",
        "positions",
        "repetition",
        "working-set-log",
        "working-set",
        "span",
        "sparsity",
        "turns-intended",
    ];
    assert_eq!(drawn, expected);
    // The same as of the records.
    let of_records = [measured(&LookOptions::default())];
    let (a, b) = (
        chart("turns-intended", &inputs),
        chart("turns-intended", &of_records),
    );
    let name = "share of the requests in the window";
    let (a, b) = (line(&a, name), line(&b, name));
    for (a, b) in a[..a.len() - 2].iter().zip(b) {
        assert!(a.1 == b.1 || a.1.is_nan() && b.1.is_nan(), "{a:?} {b:?}");
    }
}
