//! What is printed can be read where it is printed: in 80 columns, without colour, in ASCII, or aloud.

mod scratch;

use std::fs;
use std::path::Path;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

/// Commands of every kind. Words that begin with `@` are files of the project's examples.
const COMMANDS: &[&str] = &[
    "sim @raid10-database.toml --trace load.ios --records run.ios",
    "sim @raid5-mysql.toml --trace load.ios --records other.ios",
    "sim @raid10-database.toml --trace load.ios --target p99<50ms",
    "sim @raid10-database.toml --trace load.ios --vary array.disks=6,8",
    "info load.ios",
    "info run.ios",
    "analyze run.ios",
    "compare run.ios other.ios",
    "compare run.ios other.ios --paired",
    "choose load.ios raid10:8xexos-x18 nvme-gen4-tlc --target p99<50ms",
    "plan @raid10-database.toml --trace load.ios --target p99<50ms --within 0.2",
    "model @networked-raid/paper.toml",
    "model @networked-raid/paper.toml --vary jobs.think_s=0,1",
    "model @zoned-raid/figure-4-read.toml",
    "check-model run.ios",
    "calibrate run.ios --profile ssd -o ssd.toml",
    "generate poisson --rate 100 --duration 2s -o other.load",
    "convert load.ios -o load.csv",
    "formats",
    "profiles",
    "doctor",
    "explain",
    "explain W031",
];

/// Commands that fail, and say why.
const FAILURES: &[&str] = &[
    "info missing.ios",
    "sim @raid10-database.toml",
    "sim @raid10-database.toml --set array.disks=7 --trace load.ios",
    "sim @raid10-database.toml --unknown",
    "generate poisson --read-share 7 -o other.load",
];

/// A folder with a load and the records of two simulations of it.
fn folder() -> Scratch {
    let scratch = Scratch::new();
    for line in [
        "generate poisson --rate 100 --duration 30s -o load.ios",
        COMMANDS[0],
        COMMANDS[1],
    ] {
        let done = run(&scratch, line, &[], &[]);
        assert!(done.status.success(), "{line}: {}", err(&done));
    }
    scratch
}

/// Runs a line in the folder, without what earlier ones wrote to the same place.
fn run(scratch: &Scratch, line: &str, options: &[&str], variables: &[(&str, &str)]) -> Output {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let words = line.split(' ').map(|word| match word.strip_prefix('@') {
        Some(name) => examples.join(name).into_os_string(),
        None => word.into(),
    });
    for output in ["ssd.toml", "other.load", "load.csv"] {
        let _ = fs::remove_file(scratch.path(output));
    }
    let mut command = iosonar();
    command
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("IOSONAR_PLAIN")
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "80");
    let command = command.envs(variables.iter().copied());
    let command = command.current_dir(scratch.path("."));
    command.args(words).args(options).output().unwrap()
}

/// What a line prints on both streams; one of [`COMMANDS`] must have done its work.
fn printed(scratch: &Scratch, line: &str, options: &[&str], variables: &[(&str, &str)]) -> String {
    let line = line.split(" --records").next().unwrap();
    let done = run(scratch, line, options, variables);
    let code = done.status.code();
    match FAILURES.contains(&line) {
        true => assert!(matches!(code, Some(1 | 2)), "{line}: {code:?}"),
        // Of findings that deserve attention, 3.
        false => assert!(matches!(code, Some(0 | 3)), "{line}: {}", err(&done)),
    }
    let text = out(&done) + &err(&done);
    assert!(!text.trim().is_empty(), "{line} prints nothing");
    text
}

fn all() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().chain(FAILURES).copied()
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let scratch = folder();
    let mut broken = 0;
    for line in all() {
        let text = printed(&scratch, line, &[], &[]);
        for shown in text.lines() {
            let width = shown.chars().count();
            // The path of an example may be longer than any line.
            let has_path = shown.contains(env!("CARGO_MANIFEST_DIR"));
            assert!(width <= 80 || has_path, "{line}: {width}: {shown}");
        }
        let wide = printed(&scratch, line, &[], &[("COLUMNS", "200")]);
        broken += usize::from(wide.lines().any(|shown| shown.chars().count() > 80));
    }
    // Otherwise there is nothing to break, and this says nothing.
    assert!(broken >= 8, "{broken} commands have long lines");
}

#[test]
fn a_terminal_without_utf8_gets_ascii() {
    let scratch = folder();
    let mut has_signs = 0;
    for line in all() {
        let text = printed(&scratch, line, &[], &[("LC_ALL", "C")]);
        assert!(text.is_ascii(), "{line}: {text}");
        let utf8 = printed(&scratch, line, &[], &[]);
        has_signs += usize::from(!utf8.is_ascii());
    }
    assert!(has_signs >= 2, "{has_signs} commands print other signs");
}

#[test]
fn plain_text_needs_no_eyes() {
    let scratch = folder();
    for line in all() {
        let text = printed(&scratch, line, &["--plain"], &[("CLICOLOR_FORCE", "1")]);
        assert!(text.is_ascii() && !text.contains('\x1b'), "{line}: {text}");
        for shown in text.lines() {
            let is_aligned = shown.trim().contains("  ");
            // The parser's own errors show its options.
            assert!(!is_aligned || line.contains("--unknown"), "{line}: {shown}");
        }
    }
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let scratch = folder();
    let coloured = |line: &str, options: &[&str], variables: &[(&str, &str)]| {
        printed(&scratch, line, options, variables).contains('\x1b')
    };
    for line in [COMMANDS[2], "explain W031", "info missing.ios"] {
        assert!(coloured(line, &["--colour", "always"], &[]), "{line}");
        assert!(coloured(line, &[], &[("CLICOLOR_FORCE", "1")]), "{line}");
        assert!(!coloured(line, &[], &[]), "{line}: into a pipe");
        let forbidden = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!coloured(line, &[], &forbidden), "{line}");
        let never = ["--colour", "never"];
        assert!(
            !coloured(line, &never, &[("CLICOLOR_FORCE", "1")]),
            "{line}"
        );
        // Times and rates of the work differ from run to run.
        let steady = |text: String| -> Vec<String> {
            let is_of_work = |line: &str| line.contains(" in 0.") || line.ends_with("events/s");
            let lines = text.lines().filter(|line| !is_of_work(line));
            lines.map(str::to_owned).collect()
        };
        let shown = printed(&scratch, line, &["--colour", "always"], &[]);
        let bare = printed(&scratch, line, &never, &[]);
        assert_eq!(steady(without_colours(&shown)), steady(bare), "{line}");
    }
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or(part, |(_, rest)| rest)
    })
}

#[test]
fn an_answer_ends_with_a_sentence() {
    let scratch = folder();
    for line in [
        COMMANDS[0],
        COMMANDS[2],
        COMMANDS[3],
        "info run.ios",
        "analyze run.ios",
        "compare run.ios other.ios",
        "model @networked-raid/paper.toml",
        "model @networked-raid/paper.toml --vary jobs.think_s=0,1",
        "model @zoned-raid/figure-4-read.toml",
        "doctor",
    ] {
        let line = line.split(" --records").next().unwrap();
        let text = out(&run(&scratch, line, &[], &[("COLUMNS", "400")]));
        let last = text.trim_end().lines().last().unwrap();
        assert!(
            last.ends_with('.') && last.split(' ').count() >= 5 && !last.starts_with(' '),
            "{line}: {last}"
        );
    }
}
