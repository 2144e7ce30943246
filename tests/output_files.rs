//! What outputs hold: every file that an option promises is there and says something, and says the same whichever way
//! the simulation takes.

mod scratch;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use scratch::{Scratch, err, hash, iosonar, out, sim};

/// Reads of RAID 0 need no events.
const SYNTHETIC: &str = "\
seed = 3
replications = 2
warmup_requests = 100
[load]
requests = 400
arrivals = { poisson_per_s = 60.0 }
size = { blocks = 3 }
[array]
level = 'raid0'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

const ARRAY: &str = "\
seed = 3
[array]
level = 'raid0'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

fn trace(scratch: &Scratch, seconds: u64) -> std::path::PathBuf {
    let mut text = String::from("time_ns,sector,sectors,op\n");
    for i in 0..200 {
        let op = if i % 3 == 0 { "write" } else { "read" };
        let start = i * seconds * 5_000_000;
        text += &format!(
            "{start},{},{},{op}\n",
            i * i * 977 % 3_000_000,
            8 + 8 * (i % 50)
        );
    }
    scratch.file("load.csv", text)
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().map(cells).collect()
}

fn column(rows: &[Vec<String>], name: &str) -> usize {
    rows[0].iter().position(|n| n == name).expect(name)
}

/// Whether a file says something: a picture, a table with rows, a trace with records, an object.
fn says_something(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    match path.extension().and_then(OsStr::to_str) {
        Some("png") => bytes.len() > 2_000,
        Some("json") => String::from_utf8(bytes).unwrap().contains("\"metrics\":[{"),
        _ => {
            let text = String::from_utf8(bytes).unwrap();
            text.lines().filter(|line| !line.starts_with('#')).count() > 100
                || text.lines().next().is_some_and(|l| l.contains("share"))
                    && text.lines().count() > 20
                || text.lines().next().is_some_and(|l| l.contains("mean_ms"))
                    && text.lines().count() > 2
        }
    }
}

#[test]
fn every_file_that_an_option_promises_says_something_or_is_refused() {
    let scratch = Scratch::new();
    let synthetic = scratch.file("synthetic.toml", SYNTHETIC);
    let replayed = scratch.file("replayed.toml", ARRAY);
    let load = trace(&scratch, 1);
    let vary = ["--vary", "array.disks=4,5"];
    // The option, its file, what it needs besides, whether a trace is refused.
    let options: [(&str, &str, &[&str], bool); 10] = [
        ("--records", "records.csv", &[], false),
        ("--records", "records-{replication}.csv", &[], false),
        ("--stages", "stages.csv", &[], false),
        ("--load-out", "load-out.csv", &[], true),
        ("--result", "result.json", &[], false),
        ("--cdf", "cdf.png", &[], false),
        ("--cdf-data", "cdf.csv", &[], false),
        ("--plot", "", &[], false),
        ("--csv", "vary.csv", &vary, false),
        ("--curve", "vary.png", &vary, false),
    ];
    for (option, name, more, no_trace) in options {
        for is_trace in [false, true] {
            let mut of_path: Vec<Vec<u8>> = Vec::new();
            for events in [false, true] {
                let what = format!("{option} {name}, trace {is_trace}, events {events}");
                let scenario = if is_trace { &replayed } else { &synthetic };
                let mut command = iosonar();
                command.arg("sim").arg(scenario).args(more);
                if is_trace {
                    command.arg("--trace").arg(&load);
                }
                if events {
                    command.arg("--events");
                }
                let file = if option == "--plot" {
                    let folder = scratch.path("pictures");
                    command.arg(format!("--plot={}", folder.display()));
                    let stem = if is_trace { "replayed" } else { "synthetic" };
                    folder.join(format!("{stem}.png"))
                } else {
                    command.arg(option).arg(scratch.path(name));
                    scratch.path(&name.replace("{replication}", "0"))
                };
                let _ = fs::remove_file(&file);
                let run = command.output().unwrap();
                if is_trace && no_trace {
                    assert_eq!(run.status.code(), Some(2), "{what}");
                    assert!(err(&run).contains(option), "{what}: {}", err(&run));
                    assert!(!file.exists(), "{what}");
                    continue;
                }
                assert_eq!(run.status.code(), Some(0), "{what}: {}", err(&run));
                assert!(says_something(&file), "{what}");
                of_path.push(fs::read(&file).unwrap());
            }
            if let [without, with] = of_path.as_slice() {
                assert!(
                    without == with,
                    "{option}, trace {is_trace}: both ways say the same"
                );
            }
        }
    }
}

#[test]
fn stages_and_records_agree_in_every_replication() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (stages, plain) = (scratch.path("stages.csv"), scratch.path("plain.csv"));
    let (records, stages) = (
        scratch.path("r-{replication}.csv"),
        stages.to_str().unwrap(),
    );
    let with = sim(
        &scenario,
        &["--records", records.to_str().unwrap(), "--stages", stages],
    );
    assert_eq!(with.status.code(), Some(0), "{}", err(&with));
    let first = sim(&scenario, &["--records", plain.to_str().unwrap()]);
    assert_eq!(
        out(&with),
        out(&first),
        "what is written besides changes no result"
    );
    assert!(
        err(&first).contains("first of 2 replications"),
        "{}",
        err(&first)
    );
    assert_eq!(rows(&plain)[1..], rows(&scratch.path("r-0.csv"))[1..]);

    let stages = rows(Path::new(stages));
    let number = |row: &[String], name: &str| row[column(&stages, name)].parse::<u64>();
    let mut seen: BTreeMap<(u64, u64), (u64, u64, u64)> = BTreeMap::new();
    for row in &stages[1..] {
        let get = |name| number(row, name).unwrap();
        assert!(
            number(row, "device_sector").is_err(),
            "places are random: there is no address"
        );
        let end = get("arrived_ns") + get("latency_ns");
        let parts = get("wait_ns") + get("positioning_ns") + get("transfer_ns");
        assert_eq!(parts, get("latency_ns"));
        let of = seen
            .entry((get("replication"), get("request")))
            .or_default();
        *of = (get("sector"), get("sectors"), of.2.max(end));
    }
    assert_eq!(seen.len(), 2 * 400);
    for replication in 0..2 {
        let records = rows(&scratch.path(&format!("r-{replication}.csv")));
        let number =
            |row: &[String], name: &str| row[column(&records, name)].parse::<u64>().unwrap();
        let of_records: BTreeSet<(u64, u64, u64)> = records[1..]
            .iter()
            .map(|row| {
                let end = number(row, "time_ns") + number(row, "latency_ns");
                (number(row, "sector"), number(row, "sectors"), end)
            })
            .collect();
        assert_eq!(of_records.len(), 500, "with the warm-up");
        let of_stages = seen.iter().filter(|((r, _), _)| *r == replication);
        for (request, found) in of_stages {
            assert!(of_records.contains(found), "{request:?}: {found:?}");
        }
    }
}

#[test]
fn with_addresses_stages_say_where_on_the_device() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", ARRAY);
    let (load, stages) = (trace(&scratch, 1), scratch.path("stages.csv"));
    let options = [
        "--trace",
        load.to_str().unwrap(),
        "--stages",
        stages.to_str().unwrap(),
    ];
    assert_eq!(sim(&scenario, &options).status.code(), Some(0));
    let stages = rows(&stages);
    let get = |row: &[String], name| row[column(&stages, name)].parse::<u64>().unwrap();
    let (mut whole, mut parts) = (BTreeMap::new(), BTreeMap::<u64, u64>::new());
    for row in &stages[1..] {
        whole.insert(get(row, "request"), get(row, "sectors"));
        *parts.entry(get(row, "request")).or_default() += get(row, "device_sectors");
    }
    assert_eq!(whole, parts, "the parts of a request are the request");
    assert!(stages[1..].iter().any(|row| get(row, "device_sector") > 0));
}

#[test]
fn the_distribution_is_there_as_numbers() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let path = scratch.path("cdf.csv");
    let options = [
        "--replications",
        "12",
        "--set",
        "load.requests=20000",
        "--cdf-data",
    ];
    let options = [&options[..], &[path.to_str().unwrap()]].concat();
    assert_eq!(sim(&scenario, &options).status.code(), Some(0));
    let rows = rows(&path);
    assert_eq!(
        rows[0],
        [
            "scenario",
            "response_time_s",
            "share",
            "share_low_95",
            "share_high_95"
        ]
    );
    let mut last = (0.0, 0.0);
    for row in &rows[1..] {
        let [time, share, low, high] = [1, 2, 3, 4].map(|i| row[i].parse::<f64>().unwrap());
        assert!(time > last.0 && share >= last.1, "{row:?}");
        assert!(
            (0.0..=share).contains(&low) && (share..=1.0).contains(&high),
            "{row:?}"
        );
        last = (time, share);
    }
    assert!(last.1 > 0.99);
}

#[test]
fn the_data_of_a_chart_have_units_and_no_column_twice() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    let (scenario, records) = (scratch.file("s.toml", ARRAY), scratch.path("r.csv"));
    let (load, records) = (load.to_str().unwrap(), records.to_str().unwrap());
    assert!(
        sim(&scenario, &["--trace", load, "--records", records])
            .status
            .success()
    );
    let data = |chart: &str| {
        let run = iosonar()
            .args(["plot", chart, records, "--data", "-"])
            .output();
        out(&run.unwrap())
    };
    let cdf = data("cdf");
    assert!(cdf.starts_with("mark,series,x_s,y_share"), "{cdf}");
    assert!(!cdf.contains("x_from"), "{cdf}");
    let throughput = data("throughput-intended");
    let header = throughput.lines().next().unwrap();
    assert!(header.contains("_s"), "{header}");
    for text in [cdf, throughput] {
        let width = |line: &str| line.split(',').count();
        let header = width(text.lines().next().unwrap());
        assert!(text.lines().count() > 10 && text.lines().all(|line| width(line) == header));
    }
}

#[test]
fn a_burst_is_seen_however_wide_the_windows_are() {
    let scratch = Scratch::new();
    // Twenty at once for 5 ms, and one request a second.
    let row = |start: f64| format!("{start} ; 0 ; 8 ; R ; 0.0 ; 0.005\n");
    let rows: String = (0..60).map(|s| row(f64::from(s))).collect();
    let rows = rows + &row(59.5).repeat(20);
    let records = scratch.file("r.load", rows);
    let plot = |options: &[&str]| {
        let mut plot = iosonar();
        plot.args(["plot", "in-flight", "--data", "-"])
            .arg(&records);
        plot.args(options).output().unwrap()
    };
    let most = |series: &str, options: &[&str]| {
        let csv = out(&plot(options));
        let rows = csv.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let of = rows.filter(|fields| fields[1] == series);
        let values = of.filter_map(|fields| fields[3].parse::<f64>().ok());
        values.fold(f64::NAN, f64::max)
    };
    let average = "average over the window";
    assert!(most(average, &["--window", "10s"]) < 0.1);
    assert_eq!(most("maximum", &["--window", "10s"]), 20.0);
    assert!((most(average, &["--window", "1ms"]) - 20.0).abs() < 1e-6);
    let refused = plot(&["--window", "100us"]);
    let message = err(&refused);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("expected at least 1ms"), "{message}");
}

#[test]
fn without_any_result_the_pictures_that_are_missing_are_named() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let files = ["v.csv", "c.png", "d.csv", "h.png"].map(|name| scratch.path(name));
    let [csv, curve, cdf_data, cdf] = files.each_ref().map(|path| path.to_str().unwrap());
    let with = |rates: &str| {
        let vary = format!("load.arrivals.poisson_per_s={rates}");
        let options = ["--csv", csv, "--curve", curve, "--cdf-data", cdf_data];
        sim(
            &scenario,
            &[&["--vary", &vary, "--cdf", cdf], &options[..]].concat(),
        )
    };
    let none = with("100000,200000");
    assert_eq!(none.status.code(), Some(3), "{}", err(&none));
    for missing in [curve, cdf_data, cdf] {
        let note = format!("{missing} was not written: no simulation has a result");
        assert!(err(&none).contains(&note), "{}", err(&none));
        assert!(!Path::new(missing).exists());
    }
    assert_eq!(rows(&files[0]).len(), 3, "the table says why");
    let one = with("50,100000");
    assert_eq!(one.status.code(), Some(0), "{}", err(&one));
    assert!(!err(&one).contains("was not written"), "{}", err(&one));
    assert!(files.iter().all(|file| file.exists()));
}

#[test]
fn quiet_means_results_and_nothing_else() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (scenario, load) = (scenario.to_str().unwrap(), trace(&scratch, 1));
    let (load, records) = (load.to_str().unwrap(), scratch.path("r.ios"));
    let records = records.to_str().unwrap();
    let page = scratch.path("page.html");
    let like = scratch.path("like.ios");
    let fitted = scratch.path("fitted.toml");
    let repeated: String = (0..1000_u32)
        .map(|i| {
            let latency = 1e-4 + f64::from(i % 50) * 1e-6;
            let start = f64::from(i) * 1e-3;
            format!("{start:.9} ; {} ; 8 ; R ; 0 ; {latency:.9}\n", i * 8)
        })
        .collect();
    let repeated = scratch.file("repeated.replay", repeated);
    let calibrate = [
        "calibrate",
        repeated.to_str().unwrap(),
        "--profile",
        "ssd",
        "-o",
        fitted.to_str().unwrap(),
    ];
    let positional = ["model", scenario, "--set", "disk.model=\"positional\""];
    let remarked = iosonar().args(positional).output().unwrap();
    assert!(
        out(&remarked).contains("note: no theory"),
        "{}",
        out(&remarked)
    );
    let commands: [(&[&str], bool); 14] = [
        (&calibrate, true),
        (&positional, true),
        (&["sim", scenario, "--records", records], true),
        (&["sim", scenario, "--json"], true),
        (&["sim", scenario, "--vary", "array.disks=4,5"], true),
        (&["sim", scenario, "--explain"], true),
        (&["model", scenario], true),
        (&["plan", scenario, "--target", "mean < 40ms"], true),
        (&["compare", records, records], true),
        (&["check", load, load], true),
        (&["info", load], true),
        (&["analyze", load], true),
        (
            &["generate", "like", load, "-o", like.to_str().unwrap()],
            true,
        ),
        (&["report", records, "-o", page.to_str().unwrap()], false),
    ];
    for (command, has_result) in commands {
        let run = iosonar().args(command).arg("-q").output().unwrap();
        assert!(
            matches!(run.status.code(), Some(0 | 3)),
            "{command:?}: {}",
            err(&run)
        );
        assert_eq!(!out(&run).is_empty(), has_result, "{command:?}");
        assert_eq!(err(&run), "", "{command:?}");
        assert!(!out(&run).contains("note:"), "{command:?}");
    }
}

#[test]
fn a_simulation_that_is_refused_leaves_no_empty_folder_behind() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let folder = scratch.path("pictures/of/s");
    let plot = format!("--plot={}", folder.display());
    let refused = sim(&scenario, &["--set", "array.disks=x", &plot]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(!scratch.path("pictures").exists());
    // What was there before stays.
    fs::create_dir(scratch.path("pictures")).unwrap();
    sim(&scenario, &["--set", "array.disks=x", &plot]);
    assert!(scratch.path("pictures").exists() && !scratch.path("pictures/of").exists());
    assert!(sim(&scenario, &[&plot]).status.success());
    assert!(folder.join("s.png").exists());
}

#[test]
fn a_folder_in_the_place_of_an_output_is_refused_before_any_work() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (scenario, load) = (scenario.to_str().unwrap(), trace(&scratch, 1));
    let load = load.to_str().unwrap();
    let folder = |name: &str| {
        let folder = scratch.path(name);
        fs::create_dir_all(&folder).unwrap();
        folder.display().to_string()
    };
    let [csv, png, html, toml] = ["a.csv", "a.png", "a.html", "a.toml"].map(folder);
    let vary = "--vary=array.disks=4,5";
    let target = "--target=mean < 1s";
    let commands: [&[&str]; 19] = [
        &["sim", scenario, "--records", &csv],
        &["sim", scenario, "--load-out", &csv],
        &["sim", scenario, "--stages", &csv],
        &["sim", scenario, "--result", &csv],
        &["sim", scenario, "--cdf", &png],
        &["sim", scenario, "--cdf-data", &csv],
        &["sim", scenario, vary, "--csv", &csv],
        &["sim", scenario, vary, "--curve", &png],
        &["sim", scenario, vary, "--cdf", "b.png", "--data", &csv],
        &["model", scenario, "--csv", &csv],
        &["plan", scenario, target, "--curve", &png],
        &["plot", "sizes", load, "-o", &png],
        &["plot", "sizes", load, "--data", &csv],
        &["report", load, "-o", &html],
        &["calibrate", load, "--profile", "ssd", "-o", &toml],
        &["convert", load, "-o", &csv],
        &["generate", "poisson", "--rate", "9", "-o", &csv],
        &["generate", "like", load, "-o", &csv],
        &["import", "disksim", load, "-o", &toml],
    ];
    for command in commands {
        let run = iosonar().args(command).output().unwrap();
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{command:?}: {message}");
        assert_eq!(out(&run), "", "{command:?}");
        assert!(message.contains("it is a folder"), "{command:?}: {message}");
    }
}

#[test]
fn what_cannot_become_a_file_is_refused_before_any_work() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (scenario, load) = (scenario.to_str().unwrap(), trace(&scratch, 1));
    let load = load.to_str().unwrap();
    std::os::unix::fs::symlink("absent.csv", scratch.path("link.csv")).unwrap();
    let inside = format!("{load}/x.csv");
    let absent = scratch.path("absent/x.csv").display().to_string();
    let link = scratch.path("link.csv").display().to_string();
    let slash = scratch.path("x.csv/").display().to_string();
    let cases: [(&str, &str); 6] = [
        (&slash, "the name ends in '/'"),
        (&absent, "absent does not exist"),
        (&inside, "load.csv is not a folder"),
        ("/proc/x.csv", "cannot create the file: "),
        (
            &link,
            "it is a symbolic link to absent.csv, where there is no file",
        ),
        ("/dev/null", "not a regular file"),
    ];
    for (output, problem) in cases {
        for command in [
            &["sim", scenario, "--cdf-data"][..],
            &["sim", scenario, "--vary=array.disks=4,5", "--csv"],
            &["model", scenario, "--csv"],
            &["plot", "sizes", load, "--data"],
            &["convert", load, "-o"],
            &["convert", load, "--split", "op", "-o"],
            &["generate", "poisson", "--rate", "9", "-o"],
            &["generate", "like", load, "-o"],
            &["import", "disksim", load, "-o"],
        ] {
            let run = iosonar().args(command).arg(output).output().unwrap();
            let message = err(&run);
            assert_eq!(run.status.code(), Some(2), "{command:?}: {message}");
            assert_eq!(out(&run), "", "{command:?}");
            assert!(message.contains(problem), "{command:?} {output}: {message}");
        }
    }
    // Folders that cannot be made, even by root.
    let inside = format!("--plot={load}/x");
    for command in [
        &["sim", scenario, &inside][..],
        &["sim", scenario, "--plot=/proc/x"],
        &["compare", load, load, "--plot", "/proc/x"],
        &["plot", "all", load, "-o", "/proc/x"],
        &["analyze", load, "--csv", "/proc/x"],
    ] {
        let run = iosonar().args(command).output().unwrap();
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{command:?}: {message}");
        assert_eq!(out(&run), "", "{command:?}");
        assert!(message.contains("cannot create the folder"), "{message}");
    }
    // A link to a file is one of its names.
    fs::write(scratch.path("absent.csv"), "before").unwrap();
    let run = iosonar()
        .args(["model", scenario, "--csv", &link])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    assert!(rows(&scratch.path("absent.csv")).len() > 1);
    assert!(scratch.path("link.csv").is_symlink());
}

#[test]
fn no_output_overwrites_another_whose_name_is_derived() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let load = trace(&scratch, 1);
    let folder = scratch.path("pictures");
    let plot = format!("--plot={}", folder.display());
    let picture = folder.join("s.png");
    let refused = |run: std::process::Output, problem: &str| {
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{message}");
        assert!(message.contains(problem), "{message}");
    };
    let with = |data: &Path| sim(&scenario, &[&plot, "--cdf-data", data.to_str().unwrap()]);
    refused(with(&picture), "two outputs have this name");
    assert!(!folder.exists());
    fs::create_dir_all(&picture).unwrap();
    refused(sim(&scenario, &[&plot]), "it is a folder");
    fs::remove_dir(&picture).unwrap();
    let elsewhere = with(&folder.join("s.csv"));
    assert!(elsewhere.status.success(), "{}", err(&elsewhere));
    // Of all charts, in the place of one.
    let charts = scratch.path("charts");
    fs::create_dir_all(charts.join("01-sonar.png")).unwrap();
    let all = iosonar()
        .args(["plot", "all", load.to_str().unwrap(), "-o"])
        .arg(&charts)
        .output()
        .unwrap();
    refused(all, "it is a folder");
}

#[test]
fn a_result_or_a_table_on_standard_output_is_alone_there() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let scenario = scenario.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let run = iosonar()
            .args(arguments)
            .current_dir(scratch.path("."))
            .output()
            .unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", err(&run));
        assert!(!scratch.path("-").exists(), "{arguments:?}");
        run
    };
    let result = run(&["sim", scenario, "--result", "-"]);
    assert!(serde_json::from_str::<serde_json::Value>(&out(&result)).is_ok());
    assert!(err(&result).contains("throughput"), "{}", err(&result));
    for (arguments, report) in [
        (&["sim", scenario, "--cdf-data", "-"][..], "throughput"),
        (
            &["sim", scenario, "--vary=array.disks=4,5", "--csv", "-"],
            "array.disks",
        ),
        (&["model", scenario, "--csv", "-"], "utilisation"),
    ] {
        let table = run(arguments);
        let text = out(&table);
        let cells = |line: &str| line.split(',').count();
        let columns = text.lines().next().map(cells);
        assert!(columns > Some(3), "{arguments:?}: {text}");
        assert!(
            text.lines().all(|line| Some(cells(line)) == columns),
            "{text}"
        );
        assert!(
            err(&table).contains(report),
            "{arguments:?}: {}",
            err(&table)
        );
    }
    let two = iosonar()
        .args(["sim", scenario, "--result", "-", "--cdf-data", "-"])
        .output()
        .unwrap();
    assert_eq!(two.status.code(), Some(2), "{}", err(&two));
    assert!(
        err(&two).contains("two outputs would go to standard output"),
        "{}",
        err(&two)
    );
}

#[test]
fn standard_output_is_no_folder() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (scenario, load) = (scenario.to_str().unwrap(), trace(&scratch, 1));
    let load = load.to_str().unwrap();
    for command in [
        &["sim", scenario, "--plot=-"][..],
        &["compare", load, load, "--plot", "-"],
        &["plot", "all", load, "--out", "-"],
        &["plot", "all", load, "--data", "-"],
        &["analyze", load, "--csv", "-"],
        &["man", "-"],
        &["demo", "--dir", "-"],
        &["sweep", scenario, "--dir", "-"],
    ] {
        let run = iosonar()
            .args(command)
            .current_dir(scratch.path("."))
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{command:?}: {}", err(&run));
        assert!(
            err(&run).contains("give the name of a folder"),
            "{command:?}: {}",
            err(&run)
        );
        assert!(!scratch.path("-").exists(), "{command:?}");
    }
}

#[test]
fn a_reader_that_goes_away_keeps_nothing_else_from_being_written() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SYNTHETIC);
    let load = trace(&scratch, 1);
    let unread = |arguments: &[&str]| {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("iosonar"))
            .args(arguments)
            .current_dir(load.parent().unwrap())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child.wait_with_output().unwrap()
    };
    for option in [
        "--cdf-data",
        "--result",
        "--records",
        "--stages",
        "--load-out",
    ] {
        let missed = ["sim", "s.toml", "--target", "p99 < 1ms", "--cdf", "c.png"];
        let run = unread(&[&missed[..], &[option, "-"]].concat());
        // The target is missed, even if the output is not read.
        assert_eq!(run.status.code(), Some(3), "{option}: {}", err(&run));
        fs::remove_file(scratch.path("c.png")).unwrap();
    }
    let simulated = ["replay", "load.csv", "--engine", "simulate"];
    let run = unread(&[&simulated[..], &["--skip-writes", "-o", "-"]].concat());
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    assert!(err(&run).contains("verdict"), "{}", err(&run));
    assert!(!err(&run).contains("LOST"), "{}", err(&run));
}

#[test]
fn a_trace_on_standard_output_is_alone_there() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let (scenario, load) = (scenario.to_str().unwrap(), trace(&scratch, 1));
    let load = load.to_str().unwrap();
    let simulated = ["replay", load, "--engine", "simulate", "--skip-writes"];
    let commands: [(&[&str], &str); 4] = [
        (
            &["generate", "like", load, "-o", "-"],
            "Generated load compared with the original",
        ),
        (&[&simulated[..], &["-o", "-"]].concat(), "verdict"),
        (&["sim", scenario, "--records", "-"], "throughput"),
        (&["sim", scenario, "--load-out", "-"], "throughput"),
    ];
    for (command, report) in commands {
        for (more, report) in [(&["-q"][..], report), (&["-q", "--json"], "\"metrics\":")] {
            let run = iosonar().args(command).args(more).output().unwrap();
            assert!(
                matches!(run.status.code(), Some(0 | 3)),
                "{command:?}: {}",
                err(&run)
            );
            assert!(err(&run).contains(report), "{command:?}: {}", err(&run));
            let read = iosonar()
                .args(["info", "-"])
                .write_stdin(run.stdout)
                .output()
                .unwrap();
            assert!(read.status.success(), "{command:?}: {}", err(&read));
        }
    }
}

#[test]
fn no_output_overwrites_the_trace_that_its_scenario_names() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    let before = fs::read(&load).unwrap();
    let driven = |name: &str| {
        let load = format!("[load]\ntrace = '{name}'\n");
        let text = ARRAY.replace("[array]", &format!("replications = 3\n{load}[array]"));
        scratch.file("driven.toml", text)
    };
    let refused = |scenario: &Path, options: &[&str]| {
        let run = sim(scenario, options);
        assert_eq!(run.status.code(), Some(2), "{options:?}: {}", err(&run));
        assert!(
            err(&run).contains("would overwrite its own input"),
            "{options:?}: {}",
            err(&run)
        );
    };
    let scenario = driven("load.csv");
    let itself = load.to_str().unwrap();
    for option in ["--records", "--stages", "--result", "--cdf-data"] {
        refused(&scenario, &[option, itself]);
    }
    refused(&scenario, &["--vary", "array.disks=4,5", "--csv", itself]);
    // As the records of a replication, by its name or by another.
    fs::copy(&load, scratch.path("r-2.csv")).unwrap();
    let numbered = scratch.path("r-{replication}.csv");
    let options = ["--records", numbered.to_str().unwrap()];
    refused(&driven("r-2.csv"), &options);
    fs::rename(scratch.path("r-2.csv"), scratch.path("r-3.csv")).unwrap();
    let beyond = sim(&driven("r-3.csv"), &options);
    assert!(beyond.status.success(), "{}", err(&beyond));
    fs::remove_file(scratch.path("r-1.csv")).unwrap();
    std::os::unix::fs::symlink(&load, scratch.path("r-1.csv")).unwrap();
    let scenario = driven("load.csv");
    refused(&scenario, &options);
    // A folder where the records of a replication would go, and both of its numbers.
    fs::remove_file(scratch.path("r-1.csv")).unwrap();
    fs::create_dir(scratch.path("1-r-1.csv")).unwrap();
    let twice = scratch.path("{replication}-r-{replication}.csv");
    let twice = ["--records", twice.to_str().unwrap()];
    let run = sim(&scenario, &twice);
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    assert!(
        err(&run).contains("1-r-1.csv: it is a folder"),
        "{}",
        err(&run)
    );
    fs::remove_dir(scratch.path("1-r-1.csv")).unwrap();
    assert!(sim(&scenario, &twice).status.success());
    assert!((0..3).all(|n| scratch.path(&format!("{n}-r-{n}.csv")).exists()));
    // Two outputs in one file.
    let result = scratch.path("r-0.csv");
    let two = [&options[..], &["--result", result.to_str().unwrap()]].concat();
    let run = sim(&scenario, &two);
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    assert!(
        err(&run).contains("would receive both the records of a replication and another output"),
        "{}",
        err(&run)
    );
    assert_eq!(fs::read(&load).unwrap(), before);
}

#[test]
fn no_output_overwrites_a_profile_or_a_trace_of_a_scenario() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    let profile = iosonar()
        .args(["profiles", "seagate-st3500630ns"])
        .output()
        .unwrap();
    let profile = scratch.file("p.toml", profile.stdout);
    let text = ARRAY.replace("seagate-st3500630ns", "p.toml");
    let text = text.replace("[array]", "[load]\ntrace = 'load.csv'\n[array]");
    let scenario = scratch.file("s.toml", text);
    let scenario = scenario.to_str().unwrap();
    let link = |name: &str, to: &Path| {
        let link = scratch.path(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(to, &link).unwrap();
        link.display().to_string()
    };
    let before = [&load, &profile].map(|file| fs::read(file).unwrap());
    let target = "--target=p99 < 1s";
    for input in [&load, &profile] {
        let [csv, png, html] = ["l.csv", "l.png", "l.html"].map(|name| link(name, input));
        let commands: [&[&str]; 7] = [
            &["sim", scenario, "--cdf", &png],
            &["sim", scenario, "--vary", "array.disks=4,5", "--csv", &csv],
            &["model", scenario, "--csv", &csv],
            &["choose", scenario, "intel-d7", target, "--csv", &csv],
            &["choose", scenario, "intel-d7", target, "--page", &html],
            &["choose", "load.csv", scenario, target, "--csv", &csv],
            &["plan", scenario, "--find", "disks", target, "--curve", &png],
        ];
        for command in commands {
            // The candidates have profiles of their own: that of the load's scenario is not read.
            if command[..2] == ["choose", scenario] && *input == profile {
                continue;
            }
            let run = iosonar()
                .args(command)
                .current_dir(scratch.path("."))
                .output()
                .unwrap();
            let message = err(&run);
            assert_eq!(run.status.code(), Some(2), "{command:?}: {message}");
            assert!(
                message.contains("would overwrite its own input"),
                "{command:?}: {message}"
            );
        }
    }
    assert!([&load, &profile].map(|file| fs::read(file).unwrap()) == before);
}

#[test]
fn no_output_overwrites_a_trace_that_a_networked_system_draws_from() {
    let scratch = Scratch::new();
    let rows: String = (1..=40)
        .map(|i| format!("{i}000000,0,8,read,{i}000000\n"))
        .collect();
    let rows = format!("time_ns,sector,sectors,op,think_ns\n{rows}");
    let think = scratch.file("think.csv", &rows);
    let example = "examples/networked-raid/paper.toml";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(example)).unwrap();
    let law = "think = { empirical = { trace = 'think.csv' } }";
    let system = scratch.file("n.toml", text.replace("think_s = 0.0", law));
    let system = system.to_str().unwrap();
    let picture = scratch.path("think.png");
    std::os::unix::fs::symlink("think.csv", &picture).unwrap();
    let picture = picture.to_str().unwrap();
    for command in [
        &["plan", system, "--most", "2", "--target", "mean < 600s"][..],
        &["model", system],
    ] {
        let run = iosonar().args(command).args(["--curve", picture]).output();
        let run = run.unwrap();
        assert_eq!(run.status.code(), Some(2), "{command:?}: {}", err(&run));
        assert!(
            err(&run).contains("would overwrite its own input"),
            "{}",
            err(&run)
        );
    }
    assert_eq!(fs::read_to_string(think).unwrap(), rows);
}

#[test]
fn records_are_of_as_many_replications_as_there_were() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let until_known = |records: &str| {
        let run = iosonar()
            .arg("sim")
            .arg(&scenario)
            .args(["--precision", "0.2", "--replications", "4294967295"])
            .args(["--json", "--records"])
            .arg(scratch.path(records))
            .timeout(std::time::Duration::from_secs(40))
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let replications = json["scenarios"][0]["replications"].as_u64().unwrap();
        (replications, err(&run))
    };
    let (replications, notes) = until_known("first.ios");
    assert!(
        notes.contains(&format!("the first of {replications} replications")),
        "{notes}"
    );
    let (replications, _) = until_known("of-{replication}.csv");
    let there = |n: u64| scratch.path(&format!("of-{n}.csv")).exists();
    assert!((0..replications).all(there) && !there(replications));
}

#[test]
fn a_part_of_a_trace_without_requests_is_an_error_that_says_so() {
    let scratch = Scratch::new();
    let (scenario, load) = (scratch.file("s.toml", ARRAY), trace(&scratch, 1));
    let load = load.to_str().unwrap();
    let run = sim(&scenario, &["--trace", load, "--from", "2h"]);
    assert_eq!(run.status.code(), Some(1));
    let message = err(&run);
    assert!(
        message.contains(load) && message.contains("--from"),
        "{message}"
    );
    assert!(message.contains("no requests to simulate"), "{message}");
}

#[test]
fn a_short_trace_has_no_dispersion_over_longer_times() {
    let scratch = Scratch::new();
    let analyzed = |seconds| {
        let load = trace(&scratch, seconds);
        let run = iosonar()
            .args(["analyze", "-q"])
            .arg(load)
            .output()
            .unwrap();
        out(&run)
    };
    let short = analyzed(1);
    assert!(
        short.contains("at most 200 in a second") && !short.contains("at 1 s"),
        "{short}"
    );
    assert!(analyzed(20).contains("at 1 s (Poisson: 1)"));
}

#[test]
fn a_name_need_not_be_utf8() {
    let scratch = Scratch::new();
    let (scenario, load) = (scratch.file("s.toml", SYNTHETIC), trace(&scratch, 1));
    for (option, name) in [
        ("--records", &b"r\xff.load"[..]),
        ("--records", b"r\xff-{replication}.csv"),
        ("--load-out", b"l\xfe.csv"),
        ("--cdf", b"c\xff.png"),
    ] {
        let path = scratch.path("x").with_file_name(OsStr::from_bytes(name));
        let run = iosonar()
            .arg("sim")
            .arg(&scenario)
            .arg(option)
            .arg(path)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0), "{option}: {}", err(&run));
    }
    let there = |name: &[u8]| {
        scratch
            .path("x")
            .with_file_name(OsStr::from_bytes(name))
            .exists()
    };
    assert!(there(b"r\xff.load") && there(b"r\xff-1.csv") && there(b"c\xff.png"));
    let path = scratch
        .path("x")
        .with_file_name(OsStr::from_bytes(b"s\xff.csv"));
    let mut convert = iosonar();
    convert
        .arg("convert")
        .arg(&load)
        .args(["--split", "op", "-o"])
        .arg(path);
    let run = convert.output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(there(b"s\xff-read.csv"));
}

/// Runs a line of shell with the command as `$0` and a trace as `$1`.
fn shell(line: &str, trace: &Path) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", line])
        .arg(assert_cmd::cargo::cargo_bin("iosonar"))
        .arg(trace)
        .output()
        .unwrap()
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    for line in [
        "\"$0\" convert \"$1\" -o - >&-",
        "\"$0\" convert \"$1\" -o - > /dev/full",
        "\"$0\" info \"$1\" >&-",
        "\"$0\" info --json \"$1\" > /dev/full",
        "\"$0\" --help > /dev/full",
        "\"$0\" sim --help >&-",
        "\"$0\" --version > /dev/full",
    ] {
        let run = shell(line, &load);
        assert_eq!(run.status.code(), Some(1), "{line}");
        assert!(err(&run).contains("os error"), "{line}: {}", err(&run));
    }
    for line in [
        "\"$0\" convert \"$1\" -q -o - > /dev/null",
        "\"$0\" --help > /dev/null",
        "{ \"$0\" convert \"$1\" -q -o -; echo $? >&2; } | true",
    ] {
        let run = shell(line, &load);
        assert_eq!(run.status.code(), Some(0), "{line}");
        assert!(
            ["", "0\n"].contains(&err(&run).as_str()),
            "{line}: {}",
            err(&run)
        );
    }
}

#[test]
fn standard_input_is_not_overwritten_while_it_is_read() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    let before = fs::read(&load).unwrap();
    for line in [
        "\"$0\" convert - --format csv -o \"$1\" < \"$1\"",
        "\"$0\" convert \"$1\" -o - >> \"$1\"",
    ] {
        let run = shell(line, &load);
        assert_eq!(run.status.code(), Some(2), "{line}: {}", err(&run));
        assert!(
            err(&run).contains("overwrite its own input"),
            "{line}: {}",
            err(&run)
        );
        assert_eq!(fs::read(&load).unwrap(), before, "{line}");
    }
}

#[test]
fn an_open_file_is_not_replaced_by_its_name() {
    let scratch = Scratch::new();
    let load = trace(&scratch, 1);
    let open = scratch.path("open.csv");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        for to in [">", ">>"] {
            let before = "before\n";
            let line = format!(
                "echo before > {0}; \"$0\" convert \"$1\" -o {name} {to} {0}",
                open.display()
            );
            let run = shell(&line, &load);
            let message = err(&run);
            assert_eq!(run.status.code(), Some(2), "{line}: {message}");
            assert!(
                message.contains("write '-' for standard output"),
                "{message}"
            );
            let expected = if to == ">" { "" } else { before };
            assert_eq!(fs::read_to_string(&open).unwrap(), expected, "{line}");
        }
    }
}

#[test]
fn no_cell_of_a_table_is_a_formula() {
    let scratch = Scratch::new();
    let scenario = scratch.file("=1+1.toml", SYNTHETIC);
    let csv = scratch.path("v.csv");
    let options = ["--vary", "array.disks=4,5", "--csv", csv.to_str().unwrap()];
    assert_eq!(sim(&scenario, &options).status.code(), Some(0));
    let rows = rows(&csv);
    assert_eq!(rows.len(), 3);
    for row in &rows[1..] {
        assert_eq!(row[0], "'=1+1");
        assert!(row[1].parse::<f64>().is_ok() && row[2].parse::<f64>().is_ok());
    }
}

#[test]
fn a_value_can_be_taken_away() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SYNTHETIC);
    let without = scratch.file("w.toml", SYNTHETIC.replace("warmup_requests = 100\n", ""));
    let removed = sim(&scenario, &["--set", "warmup_requests="]);
    assert_eq!(hash(&removed), hash(&sim(&without, &[])));
    let absent = sim(&scenario, &["--set", "array.failed="]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(err(&absent).contains("array.failed"), "{}", err(&absent));
}
