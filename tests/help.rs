//! What helps a user before the first run: help and version.

use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_iosonar");

fn iosonar(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .env_remove("COLUMNS")
        .args(arguments)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn without_a_terminal_help_has_80_columns_and_with_a_width_that_many() {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let usual = out(&iosonar(&["analyze", "--help"]));
    assert!((71..=80).contains(&widest(&usual)), "{}", widest(&usual));
    let narrow = Command::new(PROGRAM)
        .env("COLUMNS", "70")
        .args(["analyze", "--help"])
        .output()
        .unwrap();
    assert!(widest(&out(&narrow)) <= 70);
}

#[test]
fn examples_stand_before_the_options() {
    let text = out(&iosonar(&["replay", "--help"]));
    let place = |of: &str| text.find(of).unwrap_or_else(|| panic!("no {of}"));
    assert!(place("\nExamples:") < place("\nArguments:"));
    assert!(place("\nArguments:") < place("\nTargets:"));
    assert!(!out(&iosonar(&["replay", "-h"])).contains("Examples:"));
}

#[test]
fn the_short_version_is_a_line_and_the_long_one_says_how_the_binary_was_built() {
    let version = format!("iosonar {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(out(&iosonar(&["-V"])), version);
    let long = out(&iosonar(&["--version"]));
    assert!(long.starts_with(&version), "{long}");
    for line in ["commit:   ", "target:   ", "profile:  ", "features: "] {
        assert_eq!(long.matches(&format!("\n{line}")).count(), 1, "{long}");
    }
    assert!(long.contains(std::env::consts::ARCH), "{long}");
}
