//! `plot`, `convert` and `demo` from the outside.

mod scratch;

use scratch::{Scratch, err, iosonar};

const LOAD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/fixtures/database-server.load.gz"
);

#[test]
fn the_demo_does_everything_once() {
    let scratch = Scratch::new();
    let dir = scratch.path("demo");
    let assert = iosonar()
        .args(["demo", "--duration", "1s", "--dir"])
        .arg(&dir)
        .assert()
        .success();
    let stdout = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    for words in [
        "array, reads",
        "array, writes",
        "file, reads",
        "Two different devices: ",
        "iosonar record /dev/sdX -o mine.ios",
        "The demo is complete.\n",
    ] {
        assert!(stdout.contains(words), "{stdout}");
    }
    for name in [
        "cdf.png",
        "cdf.svg",
        "sonar-simulated.png",
        "sonar-replayed.png",
        "simulated.ios",
        "replayed.ios",
        "database-server.load.gz",
        "raid10-database.toml",
        "demo.html",
    ] {
        assert!(dir.join(name).metadata().unwrap().len() > 300, "{name}");
    }
    assert!(!dir.join("scratch").exists(), "the scratch file is removed");
}

#[test]
fn the_demo_leaves_other_peoples_folders_alone() {
    let scratch = Scratch::new();
    let mine = scratch.file("raid5.toml", "mine");
    let dir = mine.parent().unwrap();
    iosonar().args(["demo", "--dir"]).arg(dir).assert().code(2);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1);
}

#[test]
fn an_output_never_replaces_its_input() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", "0 ; 8 ; 8 ; R\n");
    let assert = iosonar()
        .arg("convert")
        .arg(&load)
        .arg("-o")
        .arg(&load)
        .assert()
        .code(2);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("would overwrite its own input"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&load).unwrap(), "0 ; 8 ; 8 ; R\n");
}

#[test]
fn the_fixture_is_what_its_readme_says() {
    let scratch = Scratch::new();
    let out = scratch.path("x.load");
    iosonar()
        .args(["convert", LOAD, "-o"])
        .arg(&out)
        .assert()
        .success();
    let text = std::fs::read_to_string(&out).unwrap();
    let rows: Vec<&str> = text
        .lines()
        .filter(|l| l.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert_eq!(rows.len(), 25_700);
    assert!(
        text.contains("made by the iosonar project"),
        "the notices are kept"
    );
}

#[test]
fn a_window_at_another_speed_goes_through_standard_input_and_output() {
    let rows = "0 ; 1 ; 8 ; R\n1 ; 2 ; 8 ; W\n2 ; 3 ; 8 ; R\n3 ; 4 ; 8 ; R\n";
    let assert = iosonar()
        .args([
            "convert", "-", "-o", "-", "-q", "--from", "1s", "--until", "3s", "--speed", "2",
        ])
        .write_stdin(rows)
        .assert()
        .success();
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "   0.500000000 ;          2 ;   8 ; W ;   0.000000000 ;   0.000000000",
            "   1.000000000 ;          3 ;   8 ; R ;   0.000000000 ;   0.000000000",
        ]
    );
}

#[test]
fn a_load_has_no_latencies_to_draw_and_says_what_to_do() {
    let scratch = Scratch::new();
    let picture = scratch.path("x.png");
    let assert = iosonar()
        .args(["plot", "sonar", LOAD, "-o"])
        .arg(&picture)
        .assert()
        .code(1);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(
        stderr.contains("none of its 25 700 requests has a measured time"),
        "{stderr}"
    );
    assert!(!picture.exists());
}

#[test]
fn a_picture_of_an_unknown_kind_is_refused_before_anything_is_read() {
    let assert = iosonar()
        .args(["plot", "cdf", "absent.load", "-o", "x.bmp"])
        .assert()
        .code(2);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("must end in .png or .svg"), "{stderr}");
}

#[test]
fn an_output_of_unknown_format_is_refused_with_the_endings_that_would_do() {
    let assert = iosonar()
        .args(["convert", LOAD, "-o", "x.load.xz"])
        .assert()
        .code(2);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains(".load, .replay"), "{stderr}");
}

#[test]
fn a_truncated_archive_is_an_error_and_leaves_no_output() {
    let scratch = Scratch::new();
    let whole = std::fs::read(LOAD).unwrap();
    let cut = scratch.file("cut.load.gz", &whole[..whole.len() / 2]);
    let out = scratch.path("out.load");
    let assert = iosonar()
        .arg("convert")
        .arg(&cut)
        .arg("-o")
        .arg(&out)
        .assert()
        .code(1);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(
        stderr.contains("cut.load.gz: the gzip data are truncated after"),
        "{stderr}"
    );
    assert!(!out.exists() && !scratch.holds_a_part());
}

#[test]
fn whoever_reads_only_the_beginning_causes_no_error() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["convert", LOAD, "-o", "-", "-q"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn a_file_without_a_chart_is_refused_with_the_commands_that_draw_it() {
    let scratch = Scratch::new();
    let file = scratch.file("x.load", "0.0 ; 0 ; 8 ; R\n");
    let name = file.display();
    let run = |word: &str| {
        let refused = iosonar().args(["plot", word]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{word}");
        err(&refused)
    };
    let said = run(&name.to_string());
    for way in [
        format!("iosonar plot sonar {name}"),
        format!("iosonar report {name}"),
    ] {
        assert!(
            said.contains("no chart is named") && said.contains(&way),
            "{said}"
        );
    }
    assert!(
        run("sonar").contains("the records to draw are missing"),
        "{}",
        run("sonar")
    );
    assert!(
        run("sonor").contains("did you mean 'sonar'?"),
        "{}",
        run("sonor")
    );
}
