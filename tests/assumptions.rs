//! What a simulation assumes of its drives: by default, from a data sheet, and how much an answer depends on it.

mod scratch;

use scratch::{Scratch, err, iosonar, out};
use serde_json::Value;

/// Requests of 4 KiB at 50 a second, half of them writes, all over 100 GB.
fn trace(scratch: &Scratch) -> std::path::PathBuf {
    let mut text = String::from("time_ns,sector,sectors,op\n");
    let mut x: u64 = 1;
    for i in 0..2_000_u64 {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let sector = (x >> 20) % 195_000_000 / 8 * 8;
        let op = if (x >> 60).is_multiple_of(2) {
            "read"
        } else {
            "write"
        };
        text += &format!("{},{sector},8,{op}\n", i * 20_000_000);
    }
    scratch.file("load.csv", &text)
}

fn scenario(disk: &str) -> String {
    format!("[load]\ntrace = \"load.csv\"\n[array]\nlevel = \"raid10\"\ndisks = 4\n{disk}")
}

#[test]
fn a_trace_runs_on_the_drive_s_own_queue_and_buffer_and_says_so() {
    let scratch = Scratch::new();
    trace(&scratch);
    for (disk, expected) in [
        (
            "[disk]\nprofile = \"seagate-exos-x18-18tb\"\n",
            "drives from a data sheet, positional, SPTF (queue depth 32), 256 MiB write-back cache for 64 writes; controller without cache",
        ),
        (
            "[disk]\nprofile = \"seagate-exos-x18-18tb\"\nwrite_back = false\nscheduler = \"look\"\n[controller]\ncache = \"64MiB\"\n",
            "positional, LOOK (queue depth 32), 256 MiB write-through cache; controller with 64 MiB write-back cache",
        ),
        (
            "[disk]\nprofile = \"seagate-exos-x18-18tb\"\nbuffer = false\n",
            "SPTF (queue depth 32), no drive cache; controller without",
        ),
        (
            "[disk]\nprofile = \"quantum-atlas-10k\"\n",
            "validated drives, positional, FCFS, 1.83 MiB write-back cache",
        ),
        // The results of papers are those of random places.
        (
            "[disk]\nprofile = \"seagate-st3500630ns\"\n",
            "drives from a paper, sampled, FCFS, no drive cache",
        ),
    ] {
        let file = scratch.file("a.toml", scenario(disk));
        let printed = iosonar()
            .arg("sim")
            .arg(&file)
            .args(["--wrap", "-q"])
            .output()
            .unwrap();
        assert!(printed.status.success(), "{disk}: {}", err(&printed));
        let text = out(&printed);
        assert!(text.contains(expected), "{disk}: {text}");
        // Those who wait first, and all of them last.
        let at = |row: &str| text.find(row).unwrap();
        assert!(
            at("\n  reads ") < at("\n  writes ") && at("\n  writes ") < at("\n  all "),
            "{text}"
        );
    }
}

#[test]
fn a_data_sheet_in_the_scenario_makes_a_drive() {
    let scratch = Scratch::new();
    trace(&scratch);
    let sheet = "[disk.from_data_sheet]\ncapacity_gb = 4000\nrpm = 7200\nouter_mb_per_s = 175\ncache_mib = 64\n";
    let file = scratch.file("a.toml", scenario(sheet));
    let simulate =
        |file: &std::path::Path| iosonar().arg("sim").arg(file).arg("-q").output().unwrap();
    let printed = simulate(&file);
    assert!(printed.status.success(), "{}", err(&printed));
    assert!(
        out(&printed).contains("4000 GB, 7200 rpm"),
        "{}",
        out(&printed)
    );

    // The explanation is a scenario that means the same, and says where numbers come from.
    let explained = iosonar()
        .arg("sim")
        .arg(&file)
        .args(["--explain", "-q"])
        .output()
        .unwrap();
    let text = out(&explained);
    assert!(
        text.contains("# revolution_ms = 8.33333: 60000 / rpm"),
        "{text}"
    );
    assert!(
        text.contains("assumed: typical of this rotational speed"),
        "{text}"
    );
    let again = simulate(&scratch.file("b.toml", &text));
    let hash = |text: &str| text[text.find("hash ").unwrap()..][..21].to_owned();
    assert_eq!(hash(&out(&printed)), hash(&out(&again)), "{}", err(&again));

    for (disk, complaint) in [
        (sheet.replace("7200", "0"), "'from_data_sheet.rpm' is 0, expected 100 to 100000"),
        (sheet.replace("cache_mib", "cash_mib"), "'disk.from_data_sheet.cash_mib' is not a key"),
        (sheet.replace("outer_mb_per_s = 175\n", ""), "'disk.from_data_sheet.outer_mb_per_s' is missing"),
        (format!("[disk]\nprofile = \"ibm-18es\"\n{sheet}"), "remove one of them"),
        ("[disk]\n".to_owned(), "[disk] has no 'profile'"),
        ("[disk]\nprofile = \"seagate-st3500630ns\"\nbuffer = true\n".to_owned(), "need model = \"positional\""),
        (
            "[disk]\nprofile = \"seagate-st3500630ns\"\nmodel = \"positional\"\nwrite_back = true\n".to_owned(),
            "'disk.write_back' is true, expected false, as the drive has no buffer",
        ),
    ] {
        let printed = simulate(&scratch.file("bad.toml", scenario(&disk)));
        assert_eq!(printed.status.code(), Some(2), "{disk}: {}", err(&printed));
        assert!(err(&printed).contains(complaint), "{disk}: {}", err(&printed));
    }
}

#[test]
fn sensitivity_finds_the_choice_that_an_answer_rests_on() {
    let scratch = Scratch::new();
    trace(&scratch);
    let disk = "[disk]\nprofile = \"seagate-exos-x18-18tb\"\n";
    let file = scratch.file("a.toml", scenario(disk));
    let sensitivity = |more: &[&str]| {
        let mut command = iosonar();
        command
            .arg("sim")
            .arg(&file)
            .arg("--sensitivity")
            .args(more);
        command.output().unwrap()
    };
    let printed = sensitivity(&["--json"]);
    assert!(printed.status.success(), "{}", err(&printed));
    let json: Value = serde_json::from_str(&out(&printed)).unwrap();
    let factor = |choice: &str| {
        let mut all = json["metrics"].as_array().unwrap().iter();
        let metric = all.find(|m| {
            m["name"] == "factor" && m["labels"]["choice"] == choice && m["labels"]["of"] == "mean"
        });
        metric.unwrap_or_else(|| panic!("{choice}: {json}"))["value"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(factor("as given"), 1.0);
    // Half of the requests are writes, which wait for nothing with a buffer.
    assert!(factor("write-through drive cache") > 1.2);
    assert!(factor("papers' disk: random, FCFS, no cache") > 1.2);
    // They lie in a part of the disks, where seeks are short.
    assert!(factor("data spread over the disks (--scatter)") > 1.2);
    // At 50 requests a second on four disks hardly anything waits, so there is little to choose from.
    let fcfs = factor("FCFS in the drive");
    assert!((0.8..1.25).contains(&fcfs), "{fcfs}");
    let text = out(&sensitivity(&["-q"]));
    assert!(
        text.contains("as given") && text.contains("by more than a factor of 2"),
        "{text}"
    );

    // What is the same everywhere moves nothing: reads of a load that never meets itself on sampled disks.
    let alone = "[load]\nrequests = 2000\narrivals = { poisson_per_s = 0.5 }\nsize = { blocks = 8 }\nread_share = 1.0\n\
                 [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n";
    let file = scratch.file("alone.toml", alone);
    let printed = iosonar()
        .arg("sim")
        .arg(&file)
        .args(["--sensitivity", "-q"])
        .output()
        .unwrap();
    let text = out(&printed);
    assert!(
        text.contains("the only other choice changes neither"),
        "{text}"
    );
    // Linux md has no card in front of it, and a device without parts leaves nothing to choose.
    let md = "[load]\nrequests = 2000\narrivals = { poisson_per_s = 50.0 }\nsize = { blocks = 8 }\nread_share = 1.0\n\
              addresses = { sequential_run = 1.0 }\n[array]\nlevel = \"raid0\"\ndisks = 2\nlike = \"linux-md\"\n\
              [ssd]\nprofile = \"abstract\"\n";
    let printed = iosonar()
        .arg("sim")
        .arg(scratch.file("md.toml", md))
        .args(["--sensitivity", "-q"])
        .output()
        .unwrap();
    assert_eq!(printed.status.code(), Some(3), "{}", err(&printed));
    assert!(
        out(&printed).contains("it is not known how much the answer depends on its assumptions"),
        "{}",
        out(&printed)
    );
    let refused = iosonar()
        .arg("sim")
        .arg(&file)
        .args(["--sensitivity", "--split"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
}

#[test]
fn profiles_say_what_stands_behind_them() {
    let listed = out(&iosonar().args(["profiles", "--json"]).output().unwrap());
    let json: Value = serde_json::from_str(&listed).unwrap();
    let profiles = json["profiles"].as_array().unwrap();
    let kind = |name: &str| {
        let profile = profiles.iter().find(|p| p["name"] == name).unwrap();
        (
            profile["kind"].as_str().unwrap(),
            profile["source"].as_str().unwrap_or("").to_owned(),
        )
    };
    assert_eq!(kind("seagate-st3500630ns").0, "paper");
    assert_eq!(kind("seagate-exos-x18-18tb").0, "data sheet");
    let (validated, source) = kind("quantum-atlas-10k");
    assert!(
        validated == "validated" && source.contains("demerit 0.159 ms"),
        "{source}"
    );
    let check = |name: &str| {
        iosonar()
            .args(["profiles", name, "--check"])
            .output()
            .unwrap()
    };
    let checked = check("seagate-cheetah-15k7-600gb");
    assert!(checked.status.success(), "{}", err(&checked));
    assert!(
        out(&checked).contains("sustained rate, innermost tracks"),
        "{}",
        out(&checked)
    );
    assert!(!out(&checked).contains("NOT REACHED"), "{}", out(&checked));
    assert_eq!(check("quantum-atlas-10k").status.code(), Some(2));
}
