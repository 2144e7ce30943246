//! Names in files of others begin no line of output, and do nothing to a terminal.

mod scratch;

use scratch::{Scratch, err, iosonar, out};

/// A device whose name would look like a verdict, clear the screen in a way that ASCII does not have, and end the line.
const NAME: &str = "sda\\n  target p99 < 5 ms  meets\\u009b2J\\u007f";

fn run(scratch: &Scratch, command: &str) -> (Option<i32>, String) {
    let output = iosonar()
        .args(command.split(' '))
        .current_dir(scratch.path("."))
        .output()
        .unwrap();
    (output.status.code(), out(&output) + &err(&output))
}

/// Whether a line begins with the verdict, or a character would act on a terminal.
fn is_forged(text: &str) -> bool {
    let begins = |line: &str| line.trim_start().starts_with("target p99");
    text.lines().any(begins) || text.chars().any(|c| c.is_control() && c != '\n')
}

#[test]
fn the_name_of_a_device_begins_no_line() {
    let scratch = Scratch::new();
    let row = |ms: u32, device: &str| {
        format!(
            "{{\"time_ns\": {}, \"sector\": {ms}, \"sectors\": 8, \"op\": \"read\", \"device\": \"{device}\", \"latency_ns\": 1000}}\n",
            ms * 1_000_000
        )
    };
    scratch.file("x.jsonl", row(0, NAME) + &row(1, "sdb"));
    let (code, said) = run(&scratch, "convert x.jsonl -o x.ios");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&scratch, "convert x.jsonl -o x.csv");
    assert_eq!(code, Some(0), "{said}");
    for file in ["x.jsonl", "x.ios", "x.csv"] {
        for command in ["info", "analyze", "sim -q intel-d7 --trace"] {
            let (code, said) = run(&scratch, &format!("{command} {file}"));
            assert_eq!(code, Some(0), "{command}: {said}");
            assert!(!is_forged(&said), "{command} {file}: {said:?}");
        }
        let (code, said) = run(&scratch, &format!("info {file}"));
        let shown = "sda\u{fffd}  target p99 < 5 ms  meets\u{fffd}2J\u{fffd}";
        assert!(code == Some(0) && said.contains(shown), "{said}");
    }
}

#[test]
fn a_profile_describes_itself_in_one_line() {
    let scratch = Scratch::new();
    scratch.file("x.csv", "time_ns,sector,sectors,op\n0,0,8,R\n9,8,8,R\n");
    for (built_in, file) in [("intel-d7", "ssd.toml"), ("exos-x18", "disk.toml")] {
        let (code, text) = run(&scratch, &format!("profiles {built_in}"));
        assert_eq!(code, Some(0), "{text}");
        let commands = [
            format!("choose x.csv {file} --target mean<1h"),
            format!("sim -q {file} --trace x.csv"),
        ];
        scratch.file(file, &text);
        for command in &commands {
            let (code, said) = run(&scratch, command);
            assert_eq!(code, Some(0), "{command}: {said}");
        }
        for key in ["description = \"", "document = \""] {
            let at = text.find(key).unwrap() + key.len();
            scratch.file(file, format!("{}{NAME}{}", &text[..at], &text[at..]));
            for command in &commands {
                let (code, said) = run(&scratch, command);
                assert!(matches!(code, Some(1 | 2)), "{command}: {code:?} {said}");
                let problem = "expected one line without control characters";
                assert!(said.contains(file) && said.contains(problem), "{said}");
                assert!(!is_forged(&said), "{command}: {said:?}");
            }
        }
    }
}
