//! A figure that a command prints as text is also in what it prints with `--json`.
//!
//! Each command runs twice, and each number of three or more digits in its text is looked up, with its unit and to the
//! precision in which it is printed, among all numbers of its JSON. Commands whose outcome differs from run to run, such
//! as replays, are left out.

mod scratch;

use std::path::Path;

use scratch::{SCENARIO, Scratch, err, iosonar, out, replay_on_file};
use serde_json::Value;

const COMMANDS: &[&str] = &[
    "sim -q s.toml",
    "sim -q s.toml --split --target mean<1ms,p99<100s",
    "sim -q s.toml --vary array.disks=4..5 --target p99<1s",
    "sim -q s.toml --sensitivity",
    "sim -q s.toml --set array.count=3 --set replications=1",
    "sim -q s.toml --seed 5 --set load.size.blocks=7 --set load.read_share=0.3",
    "sim -q fails.toml --set load.requests=3000",
    "sim -q ssd.toml --set load.requests=5000",
    "model -q s.toml",
    "model -q s.toml --with-sim",
    "model -q n.toml",
    "plan -q s.toml --find rate --target p99<100ms",
    "plan -q s.toml --find rate --target p99<100ms --vary array.disks=4,5",
    "choose -q db.load.gz candidate.toml --duration 20s --fit --target p99<1s",
    "info l.ios",
    "info db.load.gz",
    "analyze -q db.load.gz",
    "analyze -q r.ios",
    "analyze -q db.ios",
    "info db.ios",
    "compare -q db.ios db6.ios",
    "sim -q s.toml --trace db.load.gz --fit",
    "profiles samsung-970-evo-plus-1tb --check",
    "check -q l.ios r.ios",
    "check-model -q r.ios",
    "compare -q r.ios s.ios",
    "calibrate -q one.ios --profile seagate-st3500630ns -o fitted-N.toml",
    "validate -q hp-c2247a hp.trace",
];

/// Lines that describe what was asked for: their numbers are of the scenario, the profile or the option, or the limits of
/// a method.
const DESCRIPTIONS: &[&str] = &[
    // The name of a drive or of a file.
    "Samsung 970 EVO Plus",
    "HP C2247A",
    "x Seagate Barracuda ES",
    // The capacity that the candidate's scenario has.
    "candidate.toml",
    // An event of the scenario.
    "disk 3 fails at 120 s",
    // How much a method needs.
    "a confidence interval needs",
    "requests are needed to judge the profile",
    // How activity is measured.
    "Disk activity (intervals of",
    // A row of a data sheet.
    "sequential reads of 128 KiB",
    "sequential writes of 128 KiB",
];

/// A number in a text.
#[derive(Debug, PartialEq)]
struct Printed {
    value: f64,
    /// Half of the last digit.
    tolerance: f64,
    unit: String,
}

/// The numbers of a line that are long enough to be looked up.
fn printed(line: &str) -> Vec<Printed> {
    let chars: Vec<char> = line.chars().collect();
    let digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let follows = at > 0 && (chars[at - 1].is_alphanumeric() || ".#_/".contains(chars[at - 1]));
        // The digits of a word, such as p99, are no number; nor are those behind a second point.
        if !digit(at) || follows {
            let is_part_of_a_word = digit(at);
            at += 1;
            while is_part_of_a_word && digit(at) {
                at += 1;
            }
            continue;
        }
        // The half width of an interval follows from the standard error and the number of runs, which are in the JSON.
        let before: String = chars[..at].iter().collect();
        let is_half_width = before.trim_end().ends_with('±');
        let (mut text, mut decimals, mut is_fraction) = (String::new(), 0, false);
        loop {
            let is_group = !is_fraction
                && matches!(chars.get(at), Some(' ' | '\u{202f}' | '\u{a0}'))
                && (1..4).all(|i| digit(at + i))
                && !digit(at + 4)
                && !matches!(chars.get(at + 4), Some('.' | '/' | ':'));
            if digit(at) {
                text.push(chars[at]);
                decimals += i32::from(is_fraction);
            } else if is_group {
                // The digits follow.
            } else if chars.get(at) == Some(&'.') && digit(at + 1) && !is_fraction {
                text.push('.');
                is_fraction = true;
            } else {
                break;
            }
            at += 1;
        }
        let rest: String = chars[at..].iter().collect();
        let unit = rest.strip_prefix(' ').unwrap_or(&rest);
        // The unit of a value with an interval follows the interval.
        let unit = match unit.strip_prefix("± ") {
            Some(rest) => rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .trim_start(),
            None => unit,
        };
        let unit = unit.chars().take_while(|c| c.is_alphabetic() || *c == '%');
        let unit = unit.collect();
        let significant = text.trim_start_matches(['0', '.']).replace('.', "").len();
        if significant >= 3 && !is_half_width {
            found.push(Printed {
                value: text.parse().unwrap(),
                tolerance: 0.5 * 10_f64.powi(-decimals),
                unit,
            });
        }
    }
    found
}

/// What a number of JSON may be multiplied by to be in this unit.
fn factors(unit: &str) -> Vec<f64> {
    // From nanoseconds, microseconds, milliseconds and seconds.
    let of_seconds = |one: f64| [1e-9, 1e-6, 1e-3, 1.0].map(|from| from / one).to_vec();
    // From bytes and sectors, and from text in the same unit.
    let of_bytes = |one: f64| vec![1.0 / one, 512.0 / one, 1.0];
    match unit {
        "ns" => of_seconds(1e-9),
        "µs" | "us" => of_seconds(1e-6),
        "ms" => of_seconds(1e-3),
        "s" => of_seconds(1.0),
        "min" => of_seconds(60.0),
        "h" | "hours" => of_seconds(3600.0),
        "%" => vec![100.0, 1.0],
        "B" => of_bytes(1.0),
        "KiB" => of_bytes(1024.0),
        "MiB" => of_bytes(1024.0 * 1024.0),
        "GiB" => of_bytes(1024.0 * 1024.0 * 1024.0),
        "TiB" => of_bytes(1024.0 * 1024.0 * 1024.0 * 1024.0),
        "GB" => of_bytes(1e9),
        "TB" => of_bytes(1e12),
        "MB" => vec![1.0, 1e-6],
        // The rates of networked models are per hour, also in columns, where no unit follows.
        "" | "jobs" => vec![1.0, 3600.0],
        _ => vec![1.0],
    }
}

/// All numbers of a value, also those within its strings.
fn numbers(json: &Value, found: &mut Vec<f64>) {
    match json {
        Value::Number(number) => found.extend(number.as_f64().map(f64::abs)),
        Value::String(text) => found.extend(printed(text).iter().map(|of| of.value)),
        Value::Array(all) => all.iter().for_each(|of| numbers(of, found)),
        Value::Object(all) => all.iter().for_each(|(key, of)| {
            found.extend(key.parse::<f64>());
            numbers(of, found);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The numbers of a text that are not among these, each with its line.
fn missing(text: &str, numbers: &[f64]) -> Vec<String> {
    let mut missing = Vec::new();
    for line in text.lines() {
        if DESCRIPTIONS.iter().any(|part| line.contains(part)) {
            continue;
        }
        // A share in brackets behind the count that it is the share of.
        let mut count = None;
        for of in printed(line) {
            // A time is rounded to whole nanoseconds first.
            let is_near = |value: f64| (value - of.value).abs() <= of.tolerance * 1.1;
            let factors = factors(&of.unit);
            let known = |n: &f64| factors.iter().any(|factor| is_near(n * factor));
            let share = |n: &f64| count.is_some_and(|count| is_near(100.0 * count / n));
            let is_share = of.unit == "%" && numbers.iter().any(share);
            if !numbers.iter().any(known) && !is_share {
                missing.push(format!("{} {}: {}", of.value, of.unit, line.trim()));
            }
            count = (of.unit != "%").then_some(of.value);
        }
    }
    missing
}

fn prepare(scratch: &Scratch) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    scratch.file("s.toml", SCENARIO);
    let (_, array) = SCENARIO.split_once("[array]").unwrap();
    scratch.file("candidate.toml", format!("[array]{array}"));
    for (name, of) in [
        ("n.toml", "examples/networked-raid/paper.toml"),
        ("fails.toml", "examples/disk-fails.toml"),
        ("ssd.toml", "examples/ssd-steady-state.toml"),
        ("db.load.gz", "fixtures/database-server.load.gz"),
    ] {
        std::os::unix::fs::symlink(root.join(of), scratch.path(name)).unwrap();
    }
    let hp = "R Miss 564347 2 14095.370 13876.270\nR Hit 564349 2 1414.270 18746.770\n\
              R Hit 564351 2 1476.750 9632.520\nW Doub 1194877 15 17221.000 21894.380\n";
    scratch.file("hp.trace", hp);
    for arguments in [
        "generate poisson --rate 200 --duration 2s --space 64MiB --read-share 1 -q -o l.ios",
        "sim -q s.toml --records s.ios",
        "sim -q s.toml --trace db.load.gz --fit --set replications=1 --records db.ios",
        "sim -q s.toml --trace db.load.gz --fit --set replications=1 --set array.disks=6 --records db6.ios",
        "sim -q s.toml --set array.level=raid0 --set array.disks=1 --set replications=1 --records one.ios",
    ] {
        let run = iosonar()
            .args(arguments.split(' '))
            .current_dir(scratch.path("."))
            .output()
            .unwrap();
        assert!(run.status.success(), "{arguments}: {}", err(&run));
    }
    let target = scratch.path("target");
    std::fs::File::create(&target)
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let records = scratch.path("r.ios").display().to_string();
    let replayed = replay_on_file(&scratch.path("l.ios"), &target, &["-q", "-o", &records]);
    // 3: on a busy machine, some requests are submitted late.
    let code = replayed.status.code();
    assert!(matches!(code, Some(0 | 3)), "{}", err(&replayed));
}

#[test]
fn every_printed_figure_is_in_the_json() {
    let scratch = Scratch::new();
    prepare(&scratch);
    let mut complaints = String::new();
    for (i, arguments) in COMMANDS.iter().enumerate() {
        let run = |json: bool| {
            let name = format!("{}{}", 2 * i, u8::from(json));
            let arguments = arguments.replace('N', &name);
            let mut command = iosonar();
            command.args(arguments.split(' '));
            if json {
                command.arg("--json");
            }
            command.current_dir(scratch.path(".")).output().unwrap()
        };
        let (text, json) = (run(false), run(true));
        assert!(
            matches!(json.status.code(), Some(0 | 1 | 3)),
            "{arguments}: {}",
            err(&json)
        );
        let mut all = Vec::new();
        let parsed: Value = serde_json::from_slice(&json.stdout).unwrap();
        numbers(&parsed, &mut all);
        let text = out(&text);
        let looked_up: usize = text.lines().map(|line| printed(line).len()).sum();
        assert!(looked_up > 2, "{arguments}: {text}");
        for figure in missing(&text, &all) {
            complaints += &format!("{arguments}\n    {figure}\n");
        }
    }
    assert!(complaints.is_empty(), "not in the JSON:\n{complaints}");
}

#[test]
fn a_figure_that_is_missing_is_found() {
    let text = "reads  1 234 (61.7 %), mean 12.34 ms, p99 1.235 s\nspace  37.5 MiB ± 0.111 MiB";
    let all = [1234.0, 2000.0, 12.344, 1_234_567_890.0, 76_800.0];
    assert_eq!(missing(text, &all), Vec::<String>::new());
    for i in 0..all.len() {
        let others: Vec<f64> = all
            .iter()
            .enumerate()
            .filter(|(k, _)| *k != i)
            .map(|(_, v)| *v)
            .collect();
        assert!(
            !missing(text, &others).is_empty(),
            "{} was not missed",
            all[i]
        );
    }
    // Another unit, or another last digit.
    assert_eq!(missing("mean 12.35 ms", &all).len(), 1);
    assert_eq!(missing("mean 12.34 min", &all).len(), 1);
}
