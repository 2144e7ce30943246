//! Traces on the command line: convert, info, analyze, generate, formats.

mod scratch;

use std::fs;

use scratch::Scratch;
use serde_json::Value;

const LOAD: &str = "0 ; 0 ; 8 ; R\n1 ; 8 ; 8 ; W\n2 ; 100 ; 16 ; R\n3 ; 0 ; 8 ; W\n4 ; 8 ; 8 ; R\n";

fn iosonar(scratch: &Scratch, arguments: &str) -> assert_cmd::assert::Assert {
    let mut command = scratch::iosonar();
    command.current_dir(scratch.path("."));
    command.args(arguments.split_whitespace()).assert()
}

fn output(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

fn complaint(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

/// Start in ms, sector and operation of each row.
fn rows(scratch: &Scratch, arguments: &str) -> Vec<String> {
    let assert = iosonar(
        scratch,
        &format!("convert x.load -o - --to csv {arguments}"),
    )
    .success();
    let text = output(&assert);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let ms = fields[0].parse::<u64>().unwrap() / 1_000_000;
        format!("{ms} {} {}", fields[1], fields[3])
    };
    text.lines().skip(1).map(row).collect()
}

fn metrics(text: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(text).unwrap();
    json["metrics"].as_array().unwrap().clone()
}

#[test]
fn changes_apply_in_the_order_in_which_they_are_typed() {
    let scratch = Scratch::new();
    scratch.file("x.load", LOAD);
    assert_eq!(
        rows(&scratch, "--from 2s --speed 2"),
        ["1000 100 read", "1500 0 write", "2000 8 read"]
    );
    assert_eq!(rows(&scratch, "--speed 2 --from 2s"), ["2000 8 read"]);
    assert_eq!(
        rows(&scratch, "--ops write --subst W=R"),
        ["1000 8 read", "3000 0 read"]
    );
    assert_eq!(rows(&scratch, "--subst W=R --ops write"), [] as [&str; 0]);
    assert_eq!(
        rows(&scratch, "--select 1..2 --shift 1s --slip=1,1000"),
        ["2000 1008 write"]
    );
    assert_eq!(rows(&scratch, "--duration 1s --from 3s"), ["3000 0 write"]);
    assert_eq!(
        rows(&scratch, "--from 2s --until 4s --zero first"),
        ["0 100 read", "1000 0 write"]
    );
    assert_eq!(rows(&scratch, "--reverse --select 0..1"), ["0 8 read"]);
}

#[test]
fn the_same_options_hold_for_a_simulation() {
    let scratch = Scratch::new();
    scratch.file("x.load", LOAD);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/raid5-mysql.toml");
    let arguments =
        format!("sim {scenario} --trace x.load --subst W=R --repeat 3 --json --replications 1");
    let assert = iosonar(&scratch, &arguments).success();
    let response = metrics(&output(&assert))
        .into_iter()
        .find(|m| m["name"] == "response_time" && m["labels"]["op"].is_null())
        .unwrap();
    assert_eq!(response["n"], 15);
}

#[test]
fn a_trace_is_told_at_a_glance() {
    let scratch = Scratch::new();
    scratch.file("x.load", LOAD);
    let text = output(&iosonar(&scratch, "info x.load").success());
    assert!(
        text.contains("5, 1.2/s") && text.contains("sorted by start"),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&output(&iosonar(&scratch, "info --json x.load").success())).unwrap();
    let trace = &json["traces"][0];
    assert_eq!(
        (&trace["records"], &trace["ops"]["read"]["sectors"]),
        (&Value::from(5), &Value::from(32))
    );
    scratch.file("back.load", "1 ; 0 ; 8 ; R\n0 ; 0 ; 8 ; R\n");
    let text = output(&iosonar(&scratch, "info back.load").success());
    assert!(text.contains("NOT sorted"), "{text}");
}

#[test]
fn unsorted_records_are_sorted_before_they_are_measured() {
    let scratch = Scratch::new();
    scratch.file(
        "x.replay",
        "1 ; 0 ; 8 ; R ; 0 ; 0.5\n0 ; 64 ; 8 ; W ; 0.25 ; 2\n",
    );
    let text = output(&iosonar(&scratch, "analyze --json -q x.replay").success());
    let find = |name: &str| {
        metrics(&text)
            .into_iter()
            .find(|m| m["name"] == name)
            .unwrap()
    };
    // In flight from 0.25 to 2.25 s, and from 1 to 1.5 s.
    assert_eq!(find("in_flight")["value"], 1.25);
    assert_eq!(find("actual_duration")["value"], 2.25);
    assert_eq!(find("turns")["value"], 1.0);
    let complaint = complaint(&iosonar(&scratch, "sim x.toml --trace x.replay").code(2));
    assert!(complaint.contains("x.toml"), "{complaint}");
    let files = [
        "load.csv",
        "outcome.csv",
        "activity.csv",
        "miss-ratio.csv",
        "sizes.csv",
        "positions.csv",
    ];
    iosonar(&scratch, "analyze x.replay --csv out -q").success();
    for name in files {
        let text = fs::read_to_string(scratch.path("out").join(name)).unwrap();
        let fields = text.lines().next().unwrap().split(',').count();
        assert!(
            text.lines().all(|line| line.split(',').count() == fields),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_trace_is_split_and_put_together_again() {
    let scratch = Scratch::new();
    scratch.file(
        "x.csv",
        "time_s,device,sector,sectors,op\n0,a/b,0,8,read\n1,a-b,8,8,write\n2,a/b,16,8,read\n",
    );
    iosonar(&scratch, "convert x.csv -o part.ios --split device").success();
    // Both names are the same in a file's name: none is lost.
    iosonar(&scratch, "convert part-a-b.ios part-a-b-2.ios -o whole.csv").success();
    let whole = fs::read_to_string(scratch.path("whole.csv")).unwrap();
    let devices: Vec<&str> = whole
        .lines()
        .skip(1)
        .map(|l| l.split(',').nth(5).unwrap())
        .collect();
    assert_eq!(devices, ["a/b", "a-b", "a/b"]);
    iosonar(&scratch, "convert x.csv -o op.csv --split op").success();
    assert!(scratch.path("op-read.csv").exists() && scratch.path("op-write.csv").exists());
    let words = "convert x.csv -o d.load --derive --piece 1s --parts 2";
    let derived = complaint(&iosonar(&scratch, words).success());
    // The third request is in a piece that no other follows.
    assert!(
        derived.contains("1 record of the incomplete last piece was left out"),
        "{derived}"
    );
    assert!(scratch.path("d-000.of.2.load").exists() && scratch.path("d-001.of.2.load").exists());
}

#[test]
fn damage_is_refused_or_told() {
    let scratch = Scratch::new();
    scratch.file(
        "x.csv",
        "time_s,sector,sectors,op\n0,0,8,read\n1,nan,8,read\n2,8,0,read\n3,8,8,flush\n",
    );
    let strict = complaint(&iosonar(&scratch, "convert x.csv -o y.load").code(1));
    assert!(
        strict.contains("x.csv:3") && strict.contains("'nan'"),
        "{strict}"
    );
    assert!(!scratch.path("y.load").exists() && !scratch.holds_a_part());
    let lenient = complaint(&iosonar(&scratch, "convert x.csv -o y.load --lenient").success());
    assert!(lenient.contains("2 rows could not be read"), "{lenient}");
    let named = complaint(&iosonar(&scratch, "convert x.csv -o - --format nonsense").code(2));
    assert!(
        named.contains("nonsense") && named.contains("blktrace"),
        "{named}"
    );
}

#[test]
fn loads_are_generated_alike_for_a_seed() {
    let scratch = Scratch::new();
    for kind in [
        "poisson --rate 50 --addresses zipf=0.9",
        "constant --rate 50 --size geometric=3",
        "on-off --rate 200 --pareto 1.5 --batch 2",
        "b-model --rate 50 --addresses mixed=0.3:0.8",
        "noise --rate 50 --addresses hot=0.1:0.9",
        "bursts --slope 2 --seconds 10",
        "sweep --ways 1",
        "impulse --burst 10 --impulses 3",
    ] {
        let make = |name: &str| {
            iosonar(&scratch, &format!("generate {kind} -q --seed 7 -o {name}")).success()
        };
        make("a.ios");
        make("b.csv");
        iosonar(&scratch, "convert -q a.ios -o a.csv").success();
        let (a, b) = (
            fs::read(scratch.path("a.csv")).unwrap(),
            fs::read(scratch.path("b.csv")).unwrap(),
        );
        assert!(a == b && a.len() > 200, "{kind}");
        let _ = fs::remove_file(scratch.path("a.csv"));
    }
    iosonar(&scratch, "generate poisson --size 1:0.5 -o x.ios").code(2);
}

#[test]
fn a_load_like_another_has_its_rate_and_its_reads() {
    let scratch = Scratch::new();
    iosonar(
        &scratch,
        "generate on-off --rate 400 --on 500ms --off 2s --duration 20min --addresses mixed=0.2:0.8 --read-share 0.25 -q -o x.ios",
    )
    .success();
    let text = output(&iosonar(&scratch, "generate like x.ios --json -q -o y.ios").success());
    let value = |name: &str, load: &str| {
        let found = metrics(&text)
            .into_iter()
            .find(|m| m["name"] == name && m["labels"]["load"] == load);
        found.unwrap()["value"].as_f64().unwrap()
    };
    // Some 480 cycles of on and off: rates are known to 2 / sqrt(480) = 9 %, in both.
    let ratio = |name| value(name, "made") / value(name, "real");
    assert!((ratio("requests_per_second") - 1.0).abs() < 0.3, "{text}");
    assert!((ratio("read_share") - 1.0).abs() < 0.3, "{text}");
    assert!((ratio("mean_length") - 1.0).abs() < 0.01, "{text}");
    assert!((ratio("dispersion_10ms") - 1.0).abs() < 0.3, "{text}");
}

#[test]
fn formats_are_listed() {
    let scratch = Scratch::new();
    let json: Value =
        serde_json::from_str(&output(&iosonar(&scratch, "formats --json").success())).unwrap();
    let formats = json["formats"].as_array().unwrap();
    // With Parquet, Arrow and Feather, which the command line of tests has.
    assert_eq!(formats.len(), 22);
    assert_eq!(formats.iter().filter(|f| f["write"] == true).count(), 8);
}

#[test]
fn the_list_of_formats_is_broken_at_the_width_of_the_terminal_only_once() {
    let list = |columns: &str| {
        let mut command = scratch::iosonar();
        let output = command.env("COLUMNS", columns).arg("formats").output();
        scratch::out(&output.unwrap())
    };
    for columns in [50, 80, 100] {
        let text = list(&columns.to_string());
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            // A line that goes on ends where the next word has no room.
            if let Some(word) = lines.get(n + 1).and_then(|next| next.strip_prefix("    "))
                && n > 1
            {
                let word = word.split(' ').next().unwrap().chars().count();
                assert!(
                    line.chars().count() + 1 + word > columns,
                    "{columns}: {line}"
                );
            }
        }
    }
    assert_eq!(list("500"), list("100"));
}

#[test]
fn an_option_before_the_kind_of_load_is_refused_with_where_it_belongs() {
    for (words, tip) in [
        (
            &["generate", "-q", "poisson", "-o", "x.load"][..],
            "tip: options follow the kind of load: iosonar generate KIND [OPTIONS]",
        ),
        (
            &["generate", "--rate", "5", "poisson"],
            "tip: options follow the kind of load",
        ),
        (
            &["-q", "sim", "x.toml"],
            "tip: options follow the command: iosonar COMMAND [OPTIONS]",
        ),
    ] {
        let run = scratch::iosonar().args(words).output().unwrap();
        assert_eq!(run.status.code(), Some(2));
        assert!(scratch::err(&run).contains(tip), "{}", scratch::err(&run));
    }
    for words in [
        &["generate", "poisson", "--unknown"][..],
        &["generate", "--hepl"],
        &["sim", "--unknown"],
    ] {
        let run = scratch::iosonar().args(words).output().unwrap();
        assert_eq!(run.status.code(), Some(2));
        assert!(!scratch::err(&run).contains("options follow"), "{words:?}");
    }
}

#[test]
fn shares_are_numbers_or_percentages_in_every_option() {
    let scratch = Scratch::new();
    let generate = |share: &str, out: &str| {
        let options = "--requests 200 --read-share";
        iosonar(
            &scratch,
            &format!("generate poisson {options} {share} -o {out}"),
        )
        .success();
        std::fs::read_to_string(scratch.path(out)).unwrap()
    };
    let rows = |text: String| {
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        rows(generate("0.25", "number.load")),
        rows(generate("25%", "percent.load"))
    );
    let kept = |share: &str| {
        let command = format!("convert number.load --sample {share} -o -");
        output(&iosonar(&scratch, &command).success())
    };
    assert_eq!(kept("0.5"), kept("50%"));
    for (command, expected) in [
        (
            "plan x.toml --target p99<1s --within 10",
            "such as 0.01 or 1%",
        ),
        (
            "plan x.toml --target p99<1s --within 100%",
            "such as 0.01 or 1%",
        ),
        ("sim x.toml --precision 0%", "such as 0.01 or 1%"),
        (
            "generate poisson --read-share 101% -o x",
            "such as 0.7 or 70%",
        ),
        ("generate b-model --bias 40% -o x", "such as 0.7 or 70%"),
        (
            "generate noise --rate 1e-6 -o x.ios",
            "expected at least 0.001",
        ),
        (
            "generate b-model --rate 1 --window 1us -o x.ios",
            "expected at least 0.001",
        ),
        (
            "generate poisson --rate 1e-6 --requests 100000 -o x.ios",
            "292 years",
        ),
        ("convert number.load --sample 0% -o x", "such as 0.1 or 10%"),
        ("replay number.load --max-dropped 101%", "such as 5 or 5%"),
    ] {
        let refused = iosonar(&scratch, command).code(2);
        let why = complaint(&refused);
        assert!(why.contains(expected), "{command}: {why}");
    }
    // Not refused for its form, but since there is no such scenario.
    for command in [
        "plan x.toml --target p99<1s --within 10%",
        "sim x.toml --precision 1%",
        "choose x.load nvme-gen4-tlc --target p99<1s --growth --within 5%",
        "replay x.load --target y --max-dropped 5%",
    ] {
        let refused = iosonar(&scratch, command).failure();
        let why = complaint(&refused);
        assert!(!why.contains("invalid value"), "{command}: {why}");
    }
}

#[test]
fn empty_periods_are_not_among_the_busiest() {
    let scratch = Scratch::new();
    let rows =
        "time_s,op,sector,sectors,latency_s\n0,R,0,8,0.001\n1,R,8,8,0.001\n864000,R,16,8,0.001\n";
    scratch.file("gap.csv", rows);
    let text = output(&iosonar(&scratch, "analyze -q gap.csv").success());
    let said = text.lines().find(|line| line.contains("Use --csv for all"));
    let said = said.unwrap_or_else(|| panic!("{text}"));
    assert!(
        said.starts_with("  The 2 periods with requests, of "),
        "{said}"
    );
}

#[test]
fn sectors_of_discards_are_not_read_or_written() {
    let scratch = Scratch::new();
    let header = "time_s,op,sector,sectors\n";
    scratch.file("discards.csv", format!("{header}1,D,8,8\n2,D,16,8\n"));
    scratch.file("reads.csv", format!("{header}1,R,8,8\n2,R,16,8\n"));
    let text = |file: &str| output(&iosonar(&scratch, &format!("analyze -q {file}")).success());
    let discards = text("discards.csv");
    assert!(
        discards.contains(", 0.0 sectors/s read or written\n"),
        "{discards}"
    );
    assert!(text("reads.csv").contains(", 16.0 sectors/s\n"));
}

#[test]
fn a_load_that_is_scattered_is_not_to_be_scattered_again() {
    let scratch = Scratch::new();
    scratch.file("one.csv", "time_s,op,sector,sectors\n1.5,R,100,8\n");
    scratch.file(
        "disks.toml",
        "[load]\nrequests = 100\nrate = 20.0\nsize = '8KiB'\nread_share = 0.7\n[array]\nlevel = 'raid5'\ndisks = 4\n\
         [disk]\nprofile = 'seagate-cheetah-15k7-600gb'\n",
    );
    let text = |options: &str| {
        let arguments = format!("sim -q disks.toml --trace one.csv {options}");
        output(&iosonar(&scratch, &arguments).success())
    };
    let advised = text("");
    let (_, over) = advised.split_once("--scatter ").expect(&advised);
    let over = over.split_whitespace().next().unwrap();
    let followed = text(&format!("--scatter {over}"));
    assert!(followed.contains("  reach "), "{followed}");
    assert!(!followed.contains("spreads the load"), "{followed}");
}

#[test]
fn a_load_without_duration_is_not_repeated() {
    let scratch = Scratch::new();
    scratch.file("x.load", "1.5 ; 8 ; 8 ; R\n1.5 ; 16 ; 8 ; R\n");
    for times in ["10s", "3"] {
        let words = format!("convert x.load -o y.load --repeat {times}");
        let refused = complaint(&iosonar(&scratch, &words).failure());
        assert!(
            refused.contains("start at the same time") && refused.contains("remove --repeat"),
            "{refused}"
        );
        assert!(!scratch.path("y.load").exists());
    }
    iosonar(&scratch, "convert x.load -o y.load --repeat 1").success();
}

#[test]
fn what_a_log_of_fio_cannot_hold_is_reported() {
    let scratch = Scratch::new();
    // The range ends at 2^64 bytes.
    scratch.file(
        "huge.csv",
        "time_s,op,sector,sectors\n0,R,36028797018963960,8\n",
    );
    iosonar(&scratch, "convert huge.csv -o huge.fio").failure();
    assert!(!scratch.path("huge.fio").exists() && !scratch.holds_a_part());
    scratch.file(
        "x.csv",
        "time_s,op,sector,sectors,latency_s\n0,R,8,8,0.001\n1,R,8,8,0.001\n",
    );
    let lost = complaint(&iosonar(&scratch, "convert x.csv -o x.fio").success());
    assert!(lost.contains("latencies were left out"), "{lost}");
    let kept = complaint(&iosonar(&scratch, "convert x.csv -o x.ios").success());
    assert!(!kept.contains("latencies were left out"), "{kept}");
}
