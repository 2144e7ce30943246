//! The largest values that a trace can hold go through all commands that read one, without a panic.
//!
//! The tests are built with checks for overflow, so a sum that does not fit ends a command. Larger values are refused by each
//! format, in its own tests.

mod scratch;

use std::fmt::Write as _;
use std::process::Output;

use iosonar::sim_core::{Seed, Stream};
use scratch::{Scratch, err, iosonar, out};

/// Values at the limits of times and sectors, of bytes in 64 bits, and of exact floating-point numbers.
const VALUES: [u64; 9] = [
    0,
    1,
    511,
    1_000_000_000,
    1 << 32,
    1 << 53,
    1 << 55,
    (1 << 63) - 2,
    (1 << 63) - 1,
];
const LENGTHS: [u64; 4] = [1, 8, 1 << 20, (1 << 32) - 1];

/// What is done with a trace `x.csv`; `%` is a chart.
const COMMANDS: [&str; 17] = [
    "info x.csv",
    "analyze x.csv",
    "check x.csv x.csv",
    "report x.csv -o x.html",
    "compare x.csv x.csv",
    "plot sonar x.csv -o x.png",
    "plot % x.csv -o x.png",
    "convert x.csv --sort -o x.ios",
    "convert x.csv -o x.fio",
    "convert x.csv -o x.load",
    "convert x.csv -o x.jsonl",
    "convert x.csv -o x.parquet",
    "generate like x.csv -o like.ios",
    "calibrate x.csv --profile exos-x18 -o x.toml",
    "sim -q exos-x18 --trace x.csv",
    "sim -q exos-x18 --set load.beyond=wrap --trace x.csv",
    "sim -q intel-d7 --trace x.csv",
];

/// A trace of a few rows with such values, in order of start.
fn trace(draws: &mut Stream) -> String {
    let mut rows: Vec<_> = (0..=draws.below(20))
        .map(|_| {
            let mut of = |values: &[u64]| values[draws.below(values.len() as u64) as usize];
            let times = [of(&VALUES), of(&VALUES), of(&VALUES)];
            let (sector, sectors) = (of(&VALUES), of(&LENGTHS));
            let op = ["R", "W", "D"][draws.below(3) as usize];
            (times, sector, sectors, op)
        })
        .collect();
    rows.sort_by_key(|([start, ..], ..)| *start);
    let mut text = "time_ns,delay_ns,latency_ns,sector,sectors,op\n".to_owned();
    for ([start, delay, latency], sector, sectors, op) in rows {
        writeln!(text, "{start},{delay},{latency},{sector},{sectors},{op}").unwrap();
    }
    text
}

fn run(scratch: &Scratch, command: &str) -> Output {
    iosonar()
        .args(command.split(' '))
        .current_dir(scratch.path("."))
        .output()
        .unwrap()
}

fn charts(scratch: &Scratch) -> Vec<String> {
    let list = out(&run(scratch, "plot --list"));
    let names = list
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next());
    let charts: Vec<_> = names.map(str::to_owned).collect();
    assert!(charts.len() > 40, "{charts:?}");
    charts
}

#[test]
fn the_largest_values_of_a_trace_go_through_all_commands() {
    let scratch = Scratch::new();
    let charts = charts(&scratch);
    let mut draws = Seed::new(1).stream("extreme", "values");
    for round in 0..8 {
        let text = trace(&mut draws);
        scratch.file("x.csv", &text);
        for command in COMMANDS {
            let chart = &charts[draws.below(charts.len() as u64) as usize];
            let command = command.replace('%', chart);
            let output = run(&scratch, &command);
            let wrong = err(&output);
            // 101 is a panic, and what a signal ends has no code.
            let code = output.status.code();
            let is_proper = matches!(code, Some(0..=3)) && !wrong.contains("panicked");
            assert!(is_proper, "round {round}, {command}: {wrong}\n{text}");
            if code != Some(0) {
                let is_said = wrong.contains("error") || !out(&output).is_empty();
                assert!(is_said, "round {round}, {command}: no reason\n{text}");
            }
        }
    }
}
