//! What helps a user before the first run: help, version, completions, manual pages, the check of the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
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

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|found| found.status.success())
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
fn no_character_of_help_or_of_an_error_is_replaced() {
    for colour in ["always", "never"] {
        for arguments in [
            &["--help"][..],
            &["replay", "--help"],
            &["info", "--nope"],
            &["info"],
            &["plot", "x", "y", "--colour", "loud"],
            &["sim", "x", "--set", "y"],
        ] {
            let output = iosonar(&[&["--colour", colour], arguments].concat());
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8(text).unwrap();
            assert!(
                !text.is_empty() && !text.contains('\u{fffd}'),
                "{arguments:?}: {text:?}"
            );
        }
    }
}

#[test]
fn examples_stand_before_the_options() {
    let text = out(&iosonar(&["replay", "--help"]));
    let place = |of: &str| text.find(of).unwrap_or_else(|| panic!("no {of}"));
    assert!(place("\nExamples:") < place("\nArguments:"));
    assert!(place("\nArguments:") < place("\nTargets:"));
    assert!(!out(&iosonar(&["replay", "-h"])).contains("Examples:"));
}

/// Those that need no files.
#[test]
fn examples_of_commands_without_inputs_can_be_run() {
    let mut run = 0;
    for command in ["profiles", "formats", "explain", "completions", "targets"] {
        let help = out(&iosonar(&[command, "--help"]));
        let examples = help.split("\nArguments:").next().unwrap_or_default();
        let examples = examples.split("\nExamples:").nth(1).unwrap_or_default();
        let typed = examples
            .lines()
            .filter_map(|line| line.strip_prefix("    iosonar "));
        for typed in typed.filter(|typed| !typed.contains(['>', '/', '|'])) {
            out(&iosonar(&typed.split(' ').collect::<Vec<_>>()));
            run += 1;
        }
    }
    assert!(run >= 4, "{run}");
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

/// What bash offers for the last of these words.
fn candidates(words: &[&str]) -> BTreeSet<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let script = format!(
        "source <(iosonar completions bash)\n\
         COMP_WORDS=({}); COMP_CWORD={last}; COMP_TYPE=9\n\
         _clap_complete_iosonar iosonar \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        last.saturating_sub(1)
    );
    let folder = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-c", &script]);
    bash.env("PATH", format!("{}:{path}", folder.display()));
    out(&bash.output().unwrap())
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_accepts_the_script_and_completes_options_charts_and_profiles() {
    if !is_installed("bash") {
        return eprintln!("skipped: no bash");
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("iosonar.bash");
    fs::write(&script, out(&iosonar(&["completions", "bash"]))).unwrap();
    let checked = Command::new("bash")
        .arg("-n")
        .arg(&script)
        .output()
        .unwrap();
    assert!(
        checked.status.success() && checked.stderr.is_empty(),
        "{checked:?}"
    );

    let options = candidates(&["iosonar", "plot", "--"]);
    assert!(
        options.contains("--terminal") && options.contains("--target"),
        "{options:?}"
    );
    assert!(!options.contains("--skip-writes"), "{options:?}");
    let charts = candidates(&["iosonar", "plot", "son"]);
    assert!(
        charts.iter().all(|chart| chart.starts_with("son")),
        "{charts:?}"
    );
    let listed = out(&iosonar(&["plot", "--list"]));
    let known = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let known: BTreeSet<String> = known
        .filter(|name| name.starts_with("son"))
        .map(str::to_owned)
        .collect();
    assert_eq!(charts, known);
    let profiles = candidates(&["iosonar", "calibrate", "--profile", "seagate-st35"]);
    assert_eq!(profiles, BTreeSet::from(["seagate-st3500630ns".to_owned()]));
    assert!(candidates(&["iosonar", "convert", "--to", ""]).contains("blkreplay"));
    assert_eq!(
        candidates(&["iosonar", "replay", "--verify", "pa"]),
        BTreeSet::from(["paranoid".to_owned()])
    );
}

#[test]
fn every_shell_has_a_script_that_it_accepts() {
    let dir = tempfile::tempdir().unwrap();
    let mut scripts = BTreeSet::new();
    for (shell, check) in [
        ("bash", "-n"),
        ("zsh", "-n"),
        ("fish", "--no-execute"),
        ("elvish", ""),
        ("powershell", ""),
    ] {
        let script = out(&iosonar(&["completions", shell]));
        assert!(script.contains("IOSONAR_COMPLETE"), "{shell}: {script}");
        let file = dir.path().join(shell);
        fs::write(&file, &script).unwrap();
        if !check.is_empty() && is_installed(shell) {
            let checked = Command::new(shell).arg(check).arg(&file).output().unwrap();
            assert!(checked.status.success(), "{shell}: {checked:?}");
        }
        scripts.insert(script);
    }
    assert_eq!(scripts.len(), 5);
    let refused = iosonar(&["completions", "tcsh"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// The commands that the help lists, and those below them.
fn commands() -> Vec<String> {
    let listed = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        let named = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        named
            .filter_map(|line| line.split("  ").next())
            .map(str::to_owned)
            .collect()
    };
    let mut all = listed(&out(&iosonar(&["--help"])));
    for above in ["generate", "import"] {
        let below = out(&iosonar(&[above, "-h"]));
        let below = below
            .split("Commands:")
            .nth(1)
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap()
            .to_owned();
        let below = listed(&below).into_iter().filter(|name| name != "help");
        all.extend(below.map(|name| format!("{above} {name}")));
    }
    all
}

#[test]
fn every_command_has_a_manual_page_that_groff_takes() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    out(&iosonar(&["man", pages.to_str().unwrap()]));
    let commands = commands();
    assert!(commands.len() > 35, "{commands:?}");
    let mut expected: BTreeSet<String> = commands
        .iter()
        .map(|name| format!("iosonar-{}.1", name.replace(' ', "-")))
        .collect();
    expected.insert("iosonar.1".to_owned());
    let written = fs::read_dir(&pages)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(written.collect::<BTreeSet<_>>(), expected);

    let replay = fs::read_to_string(pages.join("iosonar-replay.1")).unwrap();
    for section in [
        "NAME",
        "SYNOPSIS",
        "EXAMPLES",
        "TARGETS",
        "PACING",
        "\"SEE ALSO\"",
    ] {
        assert!(
            replay.contains(&format!(".SH {section}\n")),
            "{section}:\n{replay}"
        );
    }
    assert!(
        !replay.contains('\u{1b}'),
        "colours have no place in a manual page"
    );
    if !is_installed("groff") {
        return eprintln!("skipped: no groff");
    }
    for name in expected {
        let rendered = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(pages.join(&name))
            .output()
            .unwrap();
        assert!(
            rendered.status.success() && rendered.stderr.is_empty(),
            "{name}: {rendered:?}"
        );
    }
}

#[test]
fn a_folder_for_manual_pages_that_cannot_be_made_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let failed = iosonar(&["man", file.path().join("man1").to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("cannot create the folder"));
}

/// The state and what was found of a check.
fn check(json: &str, name: &str) -> (String, String) {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["usable"], true);
    let checks = json["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    let text = |key: &str| check[key].as_str().unwrap().to_owned();
    (text("state"), text("found"))
}

#[test]
fn the_doctor_finds_what_is_taken_away() {
    let (state, _) = check(&out(&iosonar(&["doctor", "--json"])), "simulation");
    assert_eq!(state, "good");
    // Without privileges only limits count; a user who has none needs nothing to be rid of them.
    let unprivileged = "ulimit -r 0; ulimit -l 64; \
        if [ \"$(id -u)\" = 0 ]; then exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" doctor --json; fi; \
        exec \"$0\" doctor --json";
    let limited = Command::new("bash")
        .args(["-c", unprivileged, PROGRAM])
        .output()
        .unwrap();
    if !limited.status.success() {
        return eprintln!("skipped: privileges cannot be dropped here: {limited:?}");
    }
    let limited = out(&limited);
    assert_eq!(
        check(&limited, "locked_memory"),
        ("limited".to_owned(), "at most 64 KiB".to_owned())
    );
    let (state, found) = check(&limited, "priority");
    assert_eq!(state, "limited");
    assert!(
        found.ends_with("(ulimit -r: 0)") && !found.starts_with("fifo"),
        "{found}"
    );
}

#[test]
fn the_doctor_ends_with_a_sentence() {
    let text = out(&iosonar(&["doctor"]));
    assert!(
        text.trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("Simulation and charts work; "),
        "{text}"
    );
}

/// How many devices a replay can read, of how many with a medium, by `targets`.
fn readable_devices() -> (usize, usize) {
    let json = out(&iosonar(&["targets", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json["targets"].as_array().unwrap().iter();
    let all: Vec<_> = all.filter(|of| of["size_bytes"] != 0).collect();
    let readable = all.iter().filter(|of| of["no_reads"].is_null()).count();
    (readable, all.len())
}

#[test]
fn the_check_of_the_machine_counts_the_devices_that_targets_lists_as_readable() {
    // Other tests may attach and detach devices meanwhile.
    let is_same = || {
        let (readable, all) = readable_devices();
        let said = out(&iosonar(&["doctor"]));
        // Of a machine whose only disks are in use it says that.
        said.contains(&format!(" {readable} of {all} can be read"))
            || readable == 0 && said.contains("no unused device; in use: ")
    };
    assert!((0..10).any(|_| is_same()), "{:?}", readable_devices());
}

#[test]
fn devices_without_a_medium_are_listed_last() {
    let json = out(&iosonar(&["targets", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json["targets"].as_array().unwrap().iter();
    let is_empty: Vec<_> = all.map(|of| of["size_bytes"] == 0).collect();
    assert!(is_empty.is_sorted(), "{json}");
}
