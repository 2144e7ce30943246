//! Devices by their data sheets, from the outside: `iosonar profiles --check`, of the library and of files, and scenarios
//! that describe an SSD by its data sheet or take a volume with limits.

mod scratch;

use std::path::Path;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out, sim};
use serde_json::Value;

const SSD: &str = "
description = \"an SSD of mine\"
[from_data_sheet]
interface = \"pcie3-x4\"
cell = \"3d-xpoint\"
capacity_gb = 100
read_latency_us = 12
read_iops = { iops = 200_000, depth = 32 }
write_iops = { iops = 200_000, depth = 32 }
sequential_read = { mb_per_s = 2000 }
sequential_write = { mb_per_s = 1500 }
";

const DISK: &str = "
description = \"a disk of mine\"
[from_data_sheet]
capacity_gb = 2000
rpm = 7200
outer_mb_per_s = 200
read_seek_ms = 8.5
cache_mib = 64
";

fn check(profile: &Path, options: &[&str]) -> Output {
    let mut command = iosonar();
    command
        .arg("profiles")
        .arg(profile)
        .arg("--check")
        .args(options);
    command.output().unwrap()
}

#[test]
fn a_profile_in_a_file_is_checked_and_printed() {
    let scratch = Scratch::new();
    for (text, figure) in [
        (SSD, "random read of 4 KiB, QD 1"),
        (DISK, "outermost tracks"),
    ] {
        let file = scratch.file("mine.toml", text);
        let checked = check(&file, &[]);
        assert_eq!(checked.status.code(), Some(0), "{}", err(&checked));
        let table = out(&checked);
        assert!(
            table.contains(figure) && table.contains("figures are within 5 % of the data sheet."),
            "{table}"
        );
        let printed = iosonar().arg("profiles").arg(&file).output().unwrap();
        assert_eq!(out(&printed), text);
    }
}

#[test]
fn a_figure_that_is_not_reached_is_marked_and_sets_the_exit_code() {
    let scratch = Scratch::new();
    // One request at a time cannot fill the link; and a bus is slower than the tracks.
    let ssd = SSD.replace("mb_per_s = 2000", "mb_per_s = 2000, depth = 1");
    let disk = format!("{DISK}interface_mb_per_s = 100\n");
    for (text, missed) in [
        (ssd, "sequential reads of 128 KiB, QD 1 "),
        (disk, "outermost tracks"),
    ] {
        let file = scratch.file("mine.toml", text);
        let checked = check(&file, &[]);
        assert_eq!(checked.status.code(), Some(3), "{}", err(&checked));
        let table = out(&checked);
        let marked: Vec<&str> = table
            .lines()
            .filter(|l| l.contains("NOT REACHED"))
            .collect();
        assert!(marked.len() == 1 && marked[0].contains(missed), "{table}");
        assert!(
            table.contains("figures is more than 5 % off the data sheet."),
            "{table}"
        );
        let json: Value = serde_json::from_str(&out(&check(&file, &["--json"]))).unwrap();
        assert_eq!(json["reached"], false);
        let metrics = json["metrics"].as_array().unwrap();
        let off = metrics.iter().filter(|m| m["name"] == "difference");
        assert_eq!(
            off.filter(|m| m["value"].as_f64().unwrap() < -0.05).count(),
            1
        );
    }
}

#[test]
fn volumes_and_drives_of_the_library_are_checked() {
    for (name, figure) in [
        ("aws-gp2-100gib", "random reads of 4 KiB, length of a burst"),
        ("intel-optane-p4800x-375gb", "random writes of 4 KiB, QD 16"),
    ] {
        let checked = check(Path::new(name), &[]);
        assert_eq!(checked.status.code(), Some(0), "{}", out(&checked));
        assert!(out(&checked).contains(figure), "{}", out(&checked));
    }
    let none = check(Path::new("mqsim-default"), &[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        err(&none).contains("neither a data sheet nor limits"),
        "{}",
        err(&none)
    );
}

#[test]
fn a_file_that_is_no_profile_or_contradicts_itself_is_refused() {
    let scratch = Scratch::new();
    let refused = |text: &str, expected: &str| {
        let checked = check(&scratch.file("mine.toml", text), &[]);
        assert!(
            matches!(checked.status.code(), Some(1 | 2)),
            "{}",
            out(&checked)
        );
        assert!(
            err(&checked).contains(expected),
            "{}\n  has no: {expected}",
            err(&checked)
        );
    };
    refused("x = 1\n", "mine.toml: is not a device profile");
    refused(
        &SSD.replace("mb_per_s = 2000", "mb_per_s = 9000"),
        "mine.toml: 'ssd.from_data_sheet.sequential_read.mb_per_s' is 9000, expected 1 to 3938, the rate of PCIe 3.0 x4",
    );
    refused(
        &SSD.replace("cell", "sell"),
        "mine.toml: TOML parse error at line 5",
    );
    refused(
        &DISK.replace("7200", "7"),
        "'from_data_sheet.rpm' is 7, expected 100 to 100000",
    );
    let missing = check(&scratch.path("missing.toml"), &[]);
    assert_eq!(missing.status.code(), Some(2));
}

/// A scenario of an SSD.
fn scenario(ssd: &str) -> String {
    format!(
        "[load]\nrequests = 3000\nclosed = {{ outstanding = 8 }}\nsize = {{ blocks = 1 }}\nread_share = 0.5\n{ssd}"
    )
}

fn hash(output: &Output) -> String {
    let text = out(output);
    let at = text
        .find("hash ")
        .unwrap_or_else(|| panic!("{text}{}", err(output)));
    text[at..at + 21].to_owned()
}

#[test]
fn a_scenario_takes_a_data_sheet_and_explains_what_follows_from_it() {
    let scratch = Scratch::new();
    let sheet = SSD.replace("description = \"an SSD of mine\"\n", "");
    let sheet = sheet.replace("[from_data_sheet]", "[ssd.from_data_sheet]");
    let sheet = sheet
        .replace("\"3d-xpoint\"", "\"tlc\"")
        .replace("= 12\n", "= 80\n");
    let file = scratch.file("sheet.toml", scenario(&sheet));
    let run = sim(&file, &[]);
    assert!(
        out(&run).contains("assuming      drives from a data sheet, "),
        "{}{}",
        out(&run),
        err(&run)
    );
    let explained = out(&sim(&file, &["--explain"]));
    for line in [
        "# controller.command_us = ",
        ": commands / read IOPS",
        "# flash.over_provisioning = 0.07: assumed: ",
        "# read latency = 80: the data sheet",
    ] {
        assert!(explained.contains(line), "{explained}\n  has no: {line}");
    }
    // What is explained is the same simulation.
    let again = sim(&scratch.file("again.toml", &explained), &[]);
    assert_eq!(hash(&again), hash(&run));
    // A profile with the same sheet, too.
    scratch.file(
        "mine.toml",
        SSD.replace("\"3d-xpoint\"", "\"tlc\"")
            .replace("= 12\n", "= 80\n"),
    );
    let named = scenario("[ssd]\nprofile = \"mine.toml\"\n");
    let named = sim(&scratch.file("named.toml", named), &[]);
    assert_eq!(hash(&named), hash(&run));
    // The line of a figure that another contradicts.
    let wrong = scenario(&sheet.replace("= 80\n", "= 800\n"));
    let refused = sim(&scratch.file("wrong.toml", wrong), &[]);
    assert_eq!(refused.status.code(), Some(2));
    let expected = "wrong.toml:12: 'ssd.from_data_sheet.read_iops.iops' is 200000, expected at most 40000, the rate of 32 outstanding";
    assert!(err(&refused).contains(expected), "{}", err(&refused));
}

#[test]
fn a_volume_lets_its_burst_through_and_then_its_baseline() {
    let scratch = Scratch::new();
    let volume = |credits: &str| {
        let text = scenario("[ssd]\nprofile = \"aws-gp2-100gib\"\n");
        let file = scratch.file("volume.toml", text);
        sim(
            &file,
            &["--set", &format!("ssd.limits.iops.credits={credits}")],
        )
    };
    let throughput = |run: &Output| -> f64 {
        let text = out(run);
        let line = text
            .lines()
            .find(|line| line.contains("throughput"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let burst = volume("5400000");
    let line = "limited to 300 IOPS (bursts of 3000), limited to 134.217728 MB/s";
    assert!(out(&burst).contains(line), "{}{}", out(&burst), err(&burst));
    assert!(
        out(&burst).contains("requests were throttled"),
        "{}",
        out(&burst)
    );
    assert!(
        (throughput(&burst) / 3_000.0 - 1.0).abs() < 0.01,
        "{}",
        out(&burst)
    );
    // 3,000 requests with 10 credits: the baseline.
    assert!((throughput(&volume("10")) / 300.0 - 1.0).abs() < 0.01);
}

/// A part of a name stands for the profile wherever one is named, if no other name has it; several are listed.
#[test]
fn a_part_of_a_profiles_name_stands_for_it_in_every_command() {
    let run = |arguments: &[&str]| iosonar().args(arguments).output().unwrap();
    let whole = run(&["profiles", "seagate-exos-x18-18tb"]);
    assert_eq!(out(&run(&["profiles", "exos-x18"])), out(&whole));
    assert!(run(&["profiles", "exos-x18", "--check"]).status.success());
    for arguments in [
        &["profiles", "exos"][..],
        &["validate", "exos", "x.load"],
        &["calibrate", "x.load", "--profile", "exos"],
    ] {
        let refused = run(arguments);
        let listed = "'exos': write one of seagate-exos-7e8-8tb, seagate-exos-x18-18tb";
        assert!(err(&refused).contains(listed), "{}", err(&refused));
    }
    let scratch = Scratch::new();
    let scenario = |table: &str, profile: &str| {
        let load = "[load]\nrequests = 500\nrate_per_s = 20.0\nsize = '4KiB'\n";
        let array = "[array]\nlevel = 'raid0'\ndisks = 1\n";
        let text = format!("{load}{array}[{table}]\nprofile = '{profile}'\n");
        sim(&scratch.file("s.toml", text), &[])
    };
    for (table, part, name) in [
        ("disk", "exos-x18", "seagate-exos-x18-18tb"),
        ("ssd", "intel-d7", "intel-d7-p5500-3840gb"),
    ] {
        let (part, name) = (scenario(table, part), scenario(table, name));
        assert!(part.status.success(), "{}", err(&part));
        assert_eq!(out(&part), out(&name));
    }
    let wrong = scenario("disk", "intel-d7");
    assert!(
        err(&wrong).contains("which is the profile of an SSD"),
        "{}",
        err(&wrong)
    );
}

#[test]
fn an_ssd_as_the_model_of_a_replay_is_refused_as_one() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", "0.0 ; 0 ; 8 ; R\n");
    for name in ["nvme-gen4-tlc", "intel-d7"] {
        let mut command = iosonar();
        command.args(["replay", "--engine", "simulate", "--model", name]);
        let refused = command.arg(&load).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let problem = format!("--model: '{name}' is the profile of an SSD");
        let said = err(&refused);
        assert!(
            said.contains(&problem) && said.contains("iosonar sim"),
            "{said}"
        );
    }
}

#[test]
fn a_part_of_several_names_is_of_no_kind() {
    let scratch = Scratch::new();
    // Of one SSD, and of two disks.
    let scenario = scratch.file(
        "part.toml",
        "[load]\nrequests = 1000\nrate_per_s = 1.0\nsize = \"4KiB\"\n[array]\nlevel = \"raid0\"\ndisks = 1\n[disk]\n\
         profile = \"io\"\n",
    );
    let refused = sim(&scenario, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!err(&refused).contains("of an SSD"), "{}", err(&refused));
    assert!(err(&refused).contains("savvio"), "{}", err(&refused));
}
