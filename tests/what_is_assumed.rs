//! The line of assumptions names the controller and what stands behind the drives, and `--sensitivity` changes both.

mod scratch;

use scratch::{Scratch, err, iosonar, out};
use serde_json::Value;

/// Single writes and reads of 4 KiB, 50 ms apart, over 8 GB.
fn trace(scratch: &Scratch) {
    let mut text = String::from("time_ns,sector,sectors,op\n");
    for i in 0..400_u64 {
        let op = if i % 2 == 0 { "write" } else { "read" };
        text += &format!("{},{},8,{op}\n", i * 50_000_000, i * 7_919 * 8 % 16_000_000);
    }
    scratch.file("load.csv", &text);
}

fn scenario(scratch: &Scratch, more: &str) -> std::path::PathBuf {
    let text =
        format!("[load]\ntrace = \"load.csv\"\n[array]\nlevel = \"raid1\"\ndisks = 2\n{more}\n");
    scratch.file("a.toml", text)
}

fn sim(file: &std::path::Path, options: &[&str]) -> String {
    let mut command = iosonar();
    let printed = command.arg("sim").arg(file).args(options).output().unwrap();
    assert!(printed.status.success(), "{options:?}: {}", err(&printed));
    out(&printed)
}

#[test]
fn the_controller_is_named_with_its_cache() {
    let scratch = Scratch::new();
    trace(&scratch);
    for (controller, expected) in [
        ("", "; controller without cache\n"),
        (
            "[controller]\nlike = \"none\"",
            "; controller without cache\n",
        ),
        (
            "[controller]\nlike = \"hba\"",
            "; controller hba without cache\n",
        ),
        (
            "[controller]\nlike = \"raid-card-1GiB-bbu\"",
            "; controller raid-card-1GiB-bbu with 1 GiB write-back cache\n",
        ),
        (
            "[controller]\nlike = \"raid-card-1GiB-bbu\"\ncache = \"0\"",
            "; controller raid-card-1GiB-bbu without cache\n",
        ),
        (
            "[controller]\ncache = \"64MiB\"",
            "; controller with 64 MiB write-back cache\n",
        ),
    ] {
        let file = scenario(
            &scratch,
            &format!("[disk]\nprofile = \"ibm-18es\"\n{controller}"),
        );
        let text = sim(&file, &["-q"]);
        assert!(text.contains(expected), "{controller}: {text}");
    }
}

#[test]
fn a_cached_write_takes_its_command_and_the_link() {
    let scratch = Scratch::new();
    trace(&scratch);
    let card = "[disk]\nprofile = \"ibm-18es\"\n[controller]\nlike = \"raid-card-1GiB-bbu\"";
    let json: Value = serde_json::from_str(&sim(&scenario(&scratch, card), &["--json"])).unwrap();
    let mut metrics = json["metrics"].as_array().unwrap().iter();
    let writes = metrics.find(|m| m["name"] == "response_time" && m["labels"]["op"] == "write");
    let writes = writes.unwrap_or_else(|| panic!("{json}"));
    // 6.5 us, and 4,096 bytes at 7,877 MB/s: 0.52 us. None comes while another is on the link.
    for figure in ["min", "max"] {
        assert_eq!(
            writes[figure].as_f64(),
            Some(0.007_02),
            "{figure}: {writes}"
        );
    }
}

#[test]
fn drives_are_validated_only_as_they_were() {
    let scratch = Scratch::new();
    trace(&scratch);
    for (override_, is_validated) in [
        ("", true),
        ("disk.scheduler=sptf", true),
        ("controller.like=hba", true),
        ("disk.write_back=false", false),
        ("disk.buffer=false", false),
        ("disk.model=sampled", false),
        ("disk.zoning=sectors-per-track-linear", false),
    ] {
        let file = scenario(&scratch, "[disk]\nprofile = \"ibm-18es\"");
        let set = [&["-q"][..], &["--set", override_]].concat();
        let text = sim(&file, if override_.is_empty() { &["-q"] } else { &set });
        assert_eq!(
            text.contains("validated drives"),
            is_validated,
            "{override_}: {text}"
        );
        assert_eq!(
            text.contains("drives from a profile"),
            !is_validated,
            "{override_}: {text}"
        );
    }
}

#[test]
fn sensitivity_names_the_other_controller_and_the_other_places() {
    let scratch = Scratch::new();
    trace(&scratch);
    let has_all = |text: &str| {
        !text
            .lines()
            .any(|row| row.trim_end().ends_with("no result"))
    };
    let of = |disk: &str, options: &[&str]| {
        let file = scenario(&scratch, disk);
        sim(&file, &[&["-q", "--sensitivity"], options].concat())
    };
    let text = of("[disk]\nprofile = \"ibm-18es\"", &[]);
    assert!(
        text.contains("controller raid-card-1GiB-bbu") && text.contains("papers' disk"),
        "{text}"
    );
    // Keys that were set on the command line do not survive in a controller without them.
    let cached = [
        "--set",
        "controller.cache=64MiB",
        "--set",
        "controller.destage_above=0.5",
    ];
    let text = of("[disk]\nprofile = \"ibm-18es\"", &cached);
    assert!(text.contains("controller hba (no cache)"), "{text}");
    assert!(has_all(&text), "{text}");
    // A trace has addresses, whatever the papers' disk makes of them.
    let text = of(
        "[disk]\nprofile = \"seagate-st3500630ns\"\nscheduler = \"rpo\"\nrpo_most = 4",
        &[],
    );
    assert!(
        text.contains("addresses as they are (positional disk)"),
        "{text}"
    );
    assert!(has_all(&text), "{text}");
}
