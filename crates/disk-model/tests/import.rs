//! Parameter files of DiskSim: both styles, what files may leave out or bring along, and what is refused.

#[path = "import/files.rs"]
mod files;

use std::path::{Path, PathBuf};

use iosonar_disk_model::disksim::{BusTimes, IRRELEVANT, Imported, WarningAbout, import};
use iosonar_disk_model::{
    BusProfile, DiskProfile, Geometry, HeadOrder, ReadAhead, SeekLaw, Sparing,
};

use files::{MODEL, PARV, SEEK, specs};

/// A folder with these files, besides those above.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let plain = [
        ("drive.parv", PARV.to_owned()),
        ("drive.diskspecs", specs(&[])),
        ("drive.model", MODEL.to_owned()),
        ("drive.seek", SEEK.to_owned()),
    ];
    for (name, text) in plain {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn imported(dir: &Path, name: &str) -> Imported {
    import(&[dir.join(name)], None, BusTimes::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(files: &[(&str, &str)], name: &str) -> String {
    let dir = folder(files);
    let error = import(&[dir.path().join(name)], None, BusTimes::default()).unwrap_err();
    error
        .to_string()
        .replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_drive_is_imported_with_its_bus_and_its_seeks() {
    let dir = folder(&[]);
    let Imported {
        profile,
        warnings,
        files,
    } = imported(dir.path(), "drive.parv");
    assert_eq!(files.len(), 3);
    // The bus is the one above the drive, which inherits from another; the bulk time is the least.
    let BusProfile {
        read_ms_per_sector,
        write_ms_per_sector,
        ..
    } = profile.bus.clone().unwrap();
    assert_eq!((read_ms_per_sector, write_ms_per_sector), (0.15, 0.3));
    let layout = profile.layout.as_ref().unwrap();
    assert_eq!(
        (layout.heads, layout.sparing),
        (HeadOrder::SerpentineInZone, Sparing::Zone)
    );
    // In sectors, skews and offsets are whole.
    assert_eq!(
        (
            layout.zones[0].offset_sectors,
            layout.zones[0].track_skew_sectors
        ),
        (3.0, 5.0)
    );
    assert_eq!(layout.zones[0].slips, [4, 500, 700]);
    assert_eq!(layout.zones[0].remaps, [(9, 4790)]);
    assert_eq!(
        Geometry::new(&profile).capacity(),
        50 * 4 * 24 - 2 - 10 + 48 * 4 * 20
    );
    assert_eq!(
        profile.cache.as_ref().unwrap().read_ahead,
        ReadAhead::Maximum
    );
    let mechanics = iosonar_disk_model::Mechanics::new(&profile);
    let seek = |d| mechanics.seek_ms(d, false, iosonar_device::Access::Read);
    for (d, ms) in [(1, 0.75), (2, 1.5), (3, 1.2), (70, 7.0)] {
        assert!((seek(d) - ms).abs() < 1e-9, "{d}: {}", seek(d));
    }
    let settled = mechanics.seek_ms(2, false, iosonar_device::Access::Write);
    assert!((settled - 1.4).abs() < 1e-9);
    assert!(
        warnings
            .iter()
            .any(|w| w.about == WarningAbout::OtherSeekType && w.key == "Average seek time")
    );
    // What is written is what is read.
    let again = DiskProfile::parse(&profile.to_toml(), "again").unwrap();
    assert_eq!(
        DiskProfile {
            name: profile.name.clone(),
            ..again
        },
        profile
    );
}

#[test]
fn without_a_parv_the_bus_times_are_options() {
    let dir = folder(&[]);
    let specs = [dir.path().join("drive.diskspecs")];
    let bus = BusTimes {
        read_ms: Some(0.2),
        write_ms: Some(0.05),
    };
    let profile = import(&specs, None, bus).unwrap().profile;
    let bus = profile.bus.unwrap();
    assert_eq!(
        (bus.read_ms_per_sector, bus.write_ms_per_sector),
        (0.2, 0.1)
    );
    let alone = imported(dir.path(), "drive.diskspecs");
    assert!(
        alone
            .warnings
            .iter()
            .any(|w| w.about == WarningAbout::NoBus)
    );
    // Of a model alone there is no buffer.
    assert!(imported(dir.path(), "drive.model").profile.cache.is_none());
}

#[test]
fn files_that_are_given_are_found_in_other_folders() {
    let (dir, other) = (folder(&[]), tempfile::tempdir().unwrap());
    let moved: PathBuf = other.path().join("drive.diskspecs");
    std::fs::copy(dir.path().join("drive.diskspecs"), &moved).unwrap();
    let files = [
        moved,
        dir.path().join("drive.model"),
        dir.path().join("drive.seek"),
    ];
    assert!(import(&files, None, BusTimes::default()).is_ok());
}

#[test]
fn every_choice_of_the_format_is_taken() {
    for (key, values) in [
        (
            "Sparing scheme used = 9",
            ["0", "1", "2", "3", "5", "7", "8", "9"].as_slice(),
        ),
        ("LBN-to-PBN mapping scheme = 1", &["0", "1", "2"]),
    ] {
        for value in values {
            let (name, _) = key.split_once(" = ").unwrap();
            let model = MODEL.replace(key, &format!("{name} = {value}"));
            // Two spare tracks rather than ten.
            let model = model
                .replace("Number of spares = 10", "Number of spares = 3")
                .replace("defects = [ 9, 4790 ]", "defects = [ 9, 90 ]")
                .replace("4, 500, # a comment within\n              700", "4, 90");
            imported(folder(&[("drive.model", &model)]).path(), "drive.parv");
        }
    }
    for (kind, parameters) in [
        ("constant", "Constant seek time = 0.0"),
        (
            "linear",
            "Single cylinder seek time = 1, Full strobe seek time = 9.0",
        ),
        (
            "curve",
            "Single cylinder seek time = 1.0, Full strobe seek time = 9.0",
        ),
        (
            "hpl",
            "HPL seek equation values = [ 30, 1.0, 0.3, 2.0, 0.01, -1.0 ]",
        ),
        (
            "hplplus10",
            "HPL seek equation values = [ 30, 1.0, 0.3, 2.0, 0.01, 0.5 ], First ten seek times = [1,1,1,1,1,1,1,1,1,1]",
        ),
    ] {
        let model = MODEL
            .replace("extracted", kind)
            .replace("Full seek curve = drive.seek", parameters)
            .replace("Average seek time = 99.0", "Average seek time = 4.0");
        let profile = imported(folder(&[("drive.model", &model)]).path(), "drive.parv").profile;
        let law = profile.seek.curve.as_ref().unwrap();
        assert_eq!(
            matches!(law, SeekLaw::TwoPiece { .. }),
            kind.starts_with("hpl"),
            "{kind}"
        );
    }
    for key in IRRELEVANT
        .iter()
        .filter(|list| list.block == "disksim_disk")
        .flat_map(|list| list.keys)
    {
        if *key != "Scheduler" {
            let dir = folder(&[("drive.diskspecs", &specs(&[(key, "")]))]);
            imported(dir.path(), "drive.parv");
        }
    }
}

/// The refusal of a model of which something is replaced.
fn model_error(from: &str, to: &str) -> String {
    assert!(MODEL.contains(from), "{from}");
    refused(
        &[("drive.model", &MODEL.replacen(from, to, 1))],
        "drive.parv",
    )
}

fn disk_error(key: &str, value: &str) -> String {
    refused(
        &[("drive.diskspecs", &specs(&[(key, value)]))],
        "drive.parv",
    )
}

#[test]
fn wrong_values_are_refused_with_file_line_key_value_and_what_is_expected() {
    for (message, expected) in [
        (
            disk_error("Segment size (in blks)", "0"),
            "drive.diskspecs:21: 'Segment size (in blks)' is 0, expected 1 to ",
        ),
        (
            disk_error("Read completion overhead", "-1.0"),
            "'Read completion overhead' is -1, expected 0 to 1000000",
        ),
        (
            disk_error("Fast write level", ""),
            "drive.diskspecs:1: block 'disksim_disk DRIVE' has no parameter 'Fast write level'",
        ),
        (
            disk_error("Never disconnect", "2"),
            "'Never disconnect' is 2, expected 0 to 1",
        ),
        (
            disk_error("Segment size (in blks)", "1.5"),
            "is 1.5, expected a whole number",
        ),
        (
            model_error("Seek type = extracted", "Seek type = guessed"),
            "drive.model:7: 'Seek type' is 'guessed', expected constant, linear",
        ),
        (
            model_error("Sparing scheme used = 9", "Sparing scheme used = 4"),
            "'Sparing scheme used' is 4, which is not simulated",
        ),
        (
            model_error("trackSwitchPlusRotation", "averageRotation"),
            "'Access time type' is 'averageRotation', which is not simulated",
        ),
        (
            model_error("Last cylinder number = 49", "Last cylinder number = -1"),
            "'Last cylinder number' is -1, expected 0 to",
        ),
        (
            model_error("First cylinder number = 52", "First cylinder number = 40"),
            "'layout.zones' is 2, expected at least one zone",
        ),
        (
            model_error("defects = [ 9, 4790 ]", "defects = [ 9 ]"),
            "'defects' is a list of 1, expected pairs",
        ),
        (
            model_error(
                "Layout Model = dm_layout_g1 {",
                "Layout Model = dm_layout_g4 {",
            ),
            "'Layout Model' is 'dm_layout_g4', which is not simulated",
        ),
    ] {
        assert!(
            message.contains(expected),
            "{message}\n  has no: {expected}"
        );
    }
}

#[test]
fn wrong_texts_and_files_are_refused_with_their_place() {
    for (message, expected) in [
        (
            model_error("Number of cylinders = 100,", "Number of cylinders = 100"),
            "drive.model:4: found 'Block', expected ',' or '}'",
        ),
        (
            model_error("dm_disk DRIVE.model {", "dm_disk DRIVE.model"),
            "drive.model:1: found 'DRIVE.model'",
        ),
        (
            model_error("drive.seek", "other.seek"),
            "drive.model:9: cannot find 'other.seek'",
        ),
        (
            refused(&[("drive.seek", "1, 2.0\n1, 3.0\n")], "drive.parv"),
            "drive.seek:2: 'seek distance, time' is '1, 3.0', expected a distance greater than",
        ),
        (
            refused(&[("drive.seek", "x\n")], "drive.parv"),
            "drive.seek:1: ",
        ),
        (
            refused(&[("drive.seek", "")], "drive.parv"),
            "drive.seek:1: found no distances",
        ),
        (
            refused(&[("drive.model", "source drive.model\n")], "drive.parv"),
            "'drive.model' includes itself",
        ),
        (
            refused(&[("drive.parv", "source drive.parv\n")], "drive.parv"),
            "'drive.parv' includes itself",
        ),
        (
            refused(&[("drive.parv", "")], "drive.parv"),
            "drive.parv: the file has no drive",
        ),
        (
            refused(&[("drive.parv", "disksim_disk")], "drive.parv"),
            "drive.parv:1: found the end of the file, expected a name",
        ),
    ] {
        assert!(
            message.contains(expected),
            "{message}\n  has no: {expected}"
        );
    }
}

#[test]
fn text_of_any_kind_is_refused_without_a_panic() {
    let words = [
        "disksim_disk",
        "dm_disk",
        "A",
        "{",
        "}",
        "[",
        "]",
        ",",
        "=",
        "source",
        "topology",
        "instantiate",
        "as",
        "..",
        "a..b",
        "d1 .. d9",
        "1.5",
        "-",
        "0x1f",
        "9999999999999999999",
        "#",
        "\n",
        "drive.model",
        "Model",
        "\u{0}",
        "é",
    ];
    let dir = folder(&[]);
    let path = dir.path().join("any.parv");
    let mut random = 7_u64;
    for _ in 0..2000 {
        let mut text = String::new();
        for _ in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text += words[(random >> 33) as usize % words.len()];
            text.push(' ');
        }
        std::fs::write(&path, &text).unwrap();
        let _ = import(std::slice::from_ref(&path), None, BusTimes::default());
    }
    std::fs::write(&path, "a b { x = ".repeat(10_000)).unwrap();
    assert!(import(&[path], None, BusTimes::default()).is_err());
}

#[test]
fn a_seek_file_that_is_cut_off_is_refused() {
    for (seek, count, lines) in [
        (SEEK.replace("40, 5.0\n", ""), 4, 3),
        (SEEK.replace(": 4", ": 3"), 3, 4),
    ] {
        let dir = folder(&[("drive.seek", &seek)]);
        let message = import(&[dir.path().join("drive.parv")], None, BusTimes::default())
            .unwrap_err()
            .to_string();
        let expected = format!(
            "drive.seek:1: 'Seek distances measured' is {count}, expected {lines}, the number of lines that follow"
        );
        assert!(message.contains(&expected), "{message}");
    }
    let dir = folder(&[("drive.seek", &SEEK.replace(": 4", ": four"))]);
    let message = import(&[dir.path().join("drive.parv")], None, BusTimes::default())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("is 'four', expected the number of distances"),
        "{message}"
    );
}
