use super::*;
use crate::render::layout::in_ascii;
use crate::render::style::stripped;
use iosonar_analysis::Recent;
use iosonar_plot::Theme;
use iosonar_trace::{LiveStep, Op, Outcome, Record, Request, Status};
use iosonar_units::{Sectors, one_line};
use serde_json::Value;

/// Devices that read at one rate and write at another for a minute and some seconds; the first has a request that
/// hangs.
fn watched(devices: usize, reads_per_s: u64) -> (RecentInterval, Vec<Echo>) {
    let mut recent = Recent::new(devices, Nanos::SECOND);
    let request = |op, device: usize| Request {
        op,
        sectors: Sectors::new(8),
        device: device as u16,
        ..Request::default()
    };
    recent.take(Nanos::ZERO, 0, &LiveStep::Begun(request(Op::Read, 0)));
    let mut last = None;
    for i in 0..65 * reads_per_s {
        let time = Nanos::new(i * 1_000_000_000 / reads_per_s);
        while let Some(interval) = recent.until(time) {
            last = Some(interval);
        }
        for device in 0..devices {
            // Each fifth is a write, and each thousandth fails.
            let op = if i % 5 == 4 { Op::Write } else { Op::Read };
            let request = request(op, device);
            recent.take(time, device, &LiveStep::Begun(request));
            let latency = Nanos::from_micros(50 + i * 7919 % 1000 * (1 + device as u64));
            let mut outcome = Outcome::done(Nanos::ZERO, latency);
            if i % 1000 == 999 {
                outcome.status = Status::Error(5);
            }
            let done = LiveStep::Completed(Record { request, outcome });
            recent.take(time, device, &done);
        }
    }
    while let Some(interval) = recent.until(Nanos::from_secs(65)) {
        last = Some(interval);
    }
    (last.unwrap(), recent.echoes().collect())
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| one_line(name)).collect()
}

fn shown<'a>(names: &'a [String], interval: &'a RecentInterval) -> Shown<'a> {
    Shown {
        names,
        interval,
        lost: 0,
        oldest: None,
        url: None,
    }
}

fn terminal(columns: usize, lines: usize) -> Terminal {
    Terminal {
        columns,
        lines,
        has_colour: false,
        theme: Theme::Dark,
    }
}

#[test]
fn a_screen_fits_terminals_of_every_size() {
    let (interval, echoes) = watched(2, 500);
    let names = names(&[
        "/dev/nvme0n1",
        &format!("/dev/mapper/{}", "long".repeat(60)),
    ]);
    for has_colour in [false, true] {
        for (columns, lines) in [(40, 24), (40, 60), (79, 24), (80, 24), (80, 5), (200, 50)] {
            let terminal = Terminal {
                has_colour,
                ..terminal(columns, lines)
            };
            let of = Shown {
                lost: 1234,
                oldest: Some((Nanos::from_secs(65), 1)),
                url: Some("http://127.0.0.1:40123/0123456789abcdef0123456789abcdef/"),
                ..shown(&names, &interval)
            };
            let text = of.screen(echoes.iter().copied(), &terminal, false);
            let rows: Vec<String> = text.lines().map(stripped).collect();
            assert!(rows.len() <= lines, "{columns} x {lines}:\n{text}");
            for row in rows {
                let width = row.chars().count();
                assert!(width <= columns, "{columns} x {lines}: {width}: {row}");
            }
        }
    }
}

#[test]
fn eighty_columns_have_rates_and_quantiles_of_both_spans_and_the_diagram() {
    let (interval, echoes) = watched(1, 1000);
    let names = names(&["/dev/sda"]);
    let text = shown(&names, &interval).screen(echoes.into_iter(), &terminal(80, 24), false);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "iosonar top  0:01:05  q: quit  ~: too few requests to be sure",
        "                         in                   last 1 s               last minute",
        "         req/s   MB/s flight      p50      p99     max      p50      p99     max",
        "/dev/sda",
    ];
    assert_eq!(lines[..4], expected, "{text}");
    // 800 reads and 200 writes per second of 4 KiB, one of which failed; one read hangs.
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(lines[4])[..4], ["reads", "800", "3.3", "1.0"]);
    assert_eq!(words(lines[5])[..4], ["writes", "200", "0.8", "0"]);
    let latency = &interval.devices[0][0].latency.histogram;
    let p50 = seconds(latency.quantile(0.5).unwrap().as_secs_f64());
    assert!(lines[4].contains(&p50), "{p50}: {text}");
    // Of 800 requests, 1 % are not enough; of a minute's they are.
    assert_eq!(lines[4].matches('~').count(), 1, "{text}");
    let diagram = lines[6..].join("\n");
    assert!(
        diagram.contains('R') && diagram.contains('W') && diagram.contains("-60 s"),
        "{text}"
    );
    assert_eq!(lines.len(), 24, "{text}");
}

#[test]
fn forty_columns_have_the_same_figures() {
    let (interval, echoes) = watched(1, 1000);
    let names = names(&["/dev/sda"]);
    let wide = shown(&names, &interval).screen(echoes.iter().copied(), &terminal(80, 9), false);
    let narrow = shown(&names, &interval).screen(echoes.into_iter(), &terminal(40, 24), false);
    let figures = |text: &str, rows: std::ops::Range<usize>| {
        let lines = text.lines().skip(rows.start).take(rows.len());
        let words = lines.flat_map(str::split_whitespace);
        let words = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let of_wide = figures(&wide, 4..6);
    assert_eq!(of_wide.len(), 18, "{wide}");
    assert_eq!(figures(&narrow, 3..9), of_wide, "{narrow}");
}

#[test]
fn a_terminal_without_utf8_gets_ascii_and_one_with_few_lines_says_what_is_missing() {
    let (interval, echoes) = watched(3, 200);
    let names = names(&["/dev/sda", "/dev/sdb", "/dev/sdc"]);
    let text = shown(&names, &interval).screen(echoes.iter().copied(), &terminal(80, 24), true);
    assert!(in_ascii(&text).is_ascii(), "{text}");
    let few = shown(&names, &interval).screen(echoes.into_iter(), &terminal(80, 11), false);
    assert!(
        few.contains("/dev/sda\n") && !few.contains("/dev/sdb"),
        "{few}"
    );
    assert!(
        few.ends_with("2 more devices: the terminal has too few lines\n"),
        "{few}"
    );
}

#[test]
fn the_total_is_the_sum_of_the_devices_and_is_shown_where_there_are_several() {
    let (interval, _) = watched(2, 500);
    let two = names(&["/dev/sda", "/dev/sdb"]);
    let text = shown(&two, &interval).lines();
    let line = |begin: &str| {
        let begin = format!("0:01:05 {begin}");
        text.lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("{text}"))
    };
    assert!(
        line("all devices reads: 800/s, 3.3 MB/s, 1.0 in flight").contains("; last minute p50")
    );
    line("/dev/sda reads: 400/s, 1.6 MB/s, 1.0 in flight");
    line("/dev/sdb writes: 100/s, 0.4 MB/s, 0 in flight");
    let (one, _) = watched(1, 500);
    assert!(!shown(&two[..1], &one).lines().contains("all devices"));
}

#[test]
fn lost_events_and_requests_that_hang_are_reported() {
    let (interval, _) = watched(1, 500);
    let names = names(&["/dev/sda"]);
    let of = Shown {
        lost: 12_345,
        oldest: Some((Nanos::from_secs(65), 0)),
        ..shown(&names, &interval)
    };
    let text = of.lines();
    assert!(
        text.contains("12 345 events lost, so the rates are too low [W009]"),
        "{text}"
    );
    assert!(
        text.contains("oldest request in flight: 65 s (/dev/sda)"),
        "{text}"
    );
    let quiet = Shown {
        oldest: Some((Nanos::from_millis(3), 0)),
        ..shown(&names, &interval)
    };
    assert!(!quiet.lines().contains("oldest"));
}

#[test]
fn a_hostile_name_neither_draws_nor_counts_as_markup() {
    let (interval, echoes) = watched(1, 500);
    let hostile = names(&["/dev/\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\n\r\u{9b}31m"]);
    let of = shown(&hostile, &interval);
    let screen = of.screen(echoes.into_iter(), &terminal(80, 24), false);
    for text in [screen, of.lines()] {
        let is_kept = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(text.chars().all(is_kept), "{text:?}");
        assert!(text.contains("/dev/\u{fffd}[2J"), "{text:?}");
    }
    assert_eq!(of.lines().lines().count(), 2);
}

#[test]
fn the_json_has_each_device_each_kind_and_what_keeps_the_balance() {
    let (interval, _) = watched(2, 500);
    let names = names(&["/dev/sda", "/dev/sdb"]);
    let text = shown(&names, &interval).json(1_700_000_000_000_000_000);
    assert_eq!(text.lines().count(), 1);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["schema"], &json["command"]),
        (&1.into(), &"top".into())
    );
    assert_eq!(
        (json["begin_s"].as_f64(), json["end_s"].as_f64()),
        (Some(64.0), Some(65.0))
    );
    assert_eq!(json["time_s"].as_f64(), Some(1_700_000_065.0));
    let metrics = json["metrics"].as_array().unwrap();
    let value = |name: &str, labels: Value| {
        let found = metrics
            .iter()
            .find(|m| m["name"] == name && m["labels"] == labels);
        found.unwrap_or_else(|| panic!("{name} {labels}: {text}"))["value"].as_f64()
    };
    for device in ["/dev/sda", "/dev/sdb"] {
        let labels = |kind: &str| json!({"device": device, "op": "read", "kind": kind});
        assert_eq!(value("requests", labels("completed")), Some(400.0));
        assert_eq!(value("requests", labels("begun")), Some(400.0));
    }
    let labels = json!({"op": "read", "of": "end"});
    assert_eq!(value("in_flight", labels), Some(1.0));
    let latency = metrics.iter().find(|m| {
        m["name"] == "latency" && m["labels"] == json!({"op": "write", "over": "minute"})
    });
    assert_eq!(latency.unwrap()["n"], 60 * 2 * 100);
}

#[test]
fn a_device_without_requests_is_idle() {
    let mut recent = Recent::new(1, Nanos::from_millis(500));
    let interval = recent.until(Nanos::from_millis(500)).unwrap();
    let names = names(&["/dev/sda"]);
    assert_eq!(
        shown(&names, &interval).lines(),
        "0:00:00.5 /dev/sda: idle\n"
    );
    let text = shown(&names, &interval).screen(recent.echoes(), &terminal(80, 24), false);
    assert!(text.contains("completion, relative to now"), "{text}");
}
