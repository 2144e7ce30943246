//! Parameter files of DiskSim: both styles, what files may leave out or bring along, and what is refused.

#[path = "import/files.rs"]
mod files;

use std::path::{Path, PathBuf};

use iosonar_disk_model::disksim::{BusTimes, IRRELEVANT, Imported, Warning, WarningAbout, import};
use iosonar_disk_model::{
    Arrival, BusProfile, CacheProfile, DiskProfile, ExtraDisconnect, Geometry, HeadOrder,
    LayoutZone, OverheadsProfile, ReadAhead, Requested, SeekLaw, Sparing, WaterMarkOf,
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

/// What is left of the warnings of these files.
fn warnings(files: &[(&str, &str)]) -> Vec<(String, WarningAbout)> {
    let imported = imported(folder(files).path(), "drive.parv");
    let of = |warning: Warning| (warning.key, warning.about);
    imported.warnings.into_iter().map(of).collect()
}

#[test]
fn a_parameter_is_warned_of_if_it_is_unknown_or_has_no_effect_although_it_is_on() {
    // What the plain files have left of another type of seek.
    let left = ("Average seek time".to_owned(), WarningAbout::OtherSeekType);
    assert_eq!(warnings(&[]), std::slice::from_ref(&left));
    let unknown = MODEL.replace("Block count = 8000", "Block cuont = 8000");
    let expected = ("Block cuont".to_owned(), WarningAbout::Unknown);
    assert_eq!(
        warnings(&[("drive.model", &unknown)]),
        [expected, left.clone()]
    );
    for (key, most) in [
        ("Allow sneaky full read hits", 1),
        ("Allow sneaky partial read hits", 1),
        ("Allow sneaky intermediate read hits", 1),
        ("Allow write prebuffering", 1),
        ("Preseeking level", 2),
    ] {
        for value in 1..=most {
            let text = specs(&[(key, &value.to_string())]);
            let expected = (key.to_owned(), WarningAbout::OwnRules);
            assert_eq!(
                warnings(&[("drive.diskspecs", &text)]),
                [left.clone(), expected]
            );
        }
        let message = disk_error(key, &(most + 1).to_string());
        assert!(
            message.contains(&format!("expected 0 to {most}")),
            "{message}"
        );
    }
    for (about, text) in [
        (WarningAbout::Unknown, "not a parameter of DiskSim: ignored"),
        (
            WarningAbout::DefinedBefore,
            "defined twice: the first definition is used",
        ),
        (
            WarningAbout::OtherSeekType,
            "belongs to a different seek type: ignored",
        ),
        (
            WarningAbout::OwnRules,
            "has no effect: requests queued in the drive follow",
        ),
        (WarningAbout::NoBus, "the files do not include a .parv"),
    ] {
        let warning = Warning {
            at: "x.parv:7".to_owned(),
            key: "Some key".to_owned(),
            about,
        };
        let expected = format!("x.parv:7: 'Some key': {text}");
        assert!(warning.to_string().starts_with(&expected), "{warning}");
    }
}

#[test]
fn files_are_read_once_in_whatever_order_they_are_given() {
    let dir = folder(&[]);
    let path = |name: &str| dir.path().join(name);
    let alone = imported(dir.path(), "drive.parv");
    assert_eq!(alone.profile.description, "DRIVE, from DiskSim parameters");
    let names = ["drive.model", "drive.parv", "drive.diskspecs", "drive.seek"];
    for turn in 0..4 {
        // The last one twice.
        let files: Vec<PathBuf> = (0..5).map(|i| path(names[(i + turn) % 4])).collect();
        let imported = import(&files, None, BusTimes::default()).unwrap();
        assert_eq!(imported.profile, alone.profile);
        assert_eq!(imported.warnings, alone.warnings);
        assert_eq!(imported.files, alone.files);
    }
    // One that no other includes is read as well.
    let apart = specs(&[]).replace("Model = source drive.model", "Model = DRIVE.model");
    std::fs::write(path("apart.diskspecs"), apart).unwrap();
    let files = [path("drive.model"), path("apart.diskspecs")];
    assert!(import(&files, None, BusTimes::default()).is_ok());
    // Without the widest, those that are left.
    let files = [path("drive.model"), path("drive.diskspecs")];
    let two = import(&files, None, BusTimes::default()).unwrap();
    assert!(two.profile.cache.is_some());
    assert_eq!(two.files, [path("drive.diskspecs"), path("drive.model")]);
}

#[test]
fn of_several_drives_the_one_that_is_named_or_used_is_taken() {
    let other = specs(&[("Segment size (in blks)", "32")]).replace("DRIVE {", "OTHER {");
    let both = format!("{}{}", specs(&[]), other)
        .replace("Model = source drive.model", "Model = DRIVE.model");
    let both = format!("source drive.model\n{both}");
    let dir = folder(&[("drive.diskspecs", &both)]);
    let segment = |drive: Option<&str>, name: &str| {
        let imported = import(&[dir.path().join(name)], drive, BusTimes::default());
        imported
            .map(|imported| imported.profile.cache.unwrap().segment_sectors)
            .map_err(|error| error.to_string())
    };
    for name in ["drive.parv", "drive.diskspecs"] {
        assert_eq!(segment(Some("DRIVE"), name), Ok(64));
        assert_eq!(segment(Some("OTHER"), name), Ok(32));
        let unknown = segment(Some("NONE"), name).unwrap_err();
        assert!(
            unknown.contains(
                "there is no drive named 'NONE', expected --disk with one of: DRIVE, OTHER"
            ),
            "{unknown}"
        );
    }
    // The system is made of the first one only.
    assert_eq!(segment(None, "drive.parv"), Ok(64));
    let several = segment(None, "drive.diskspecs").unwrap_err();
    assert!(several.contains("the file has several drives"), "{several}");
}

/// The buffer of a drive with these parameters.
fn cache(changes: &[(&str, &str)]) -> CacheProfile {
    let dir = folder(&[("drive.diskspecs", &specs(changes))]);
    imported(dir.path(), "drive.parv").profile.cache.unwrap()
}

#[test]
fn each_level_of_the_buffer_has_its_meaning() {
    for (level, read_ahead) in [
        ("0", ReadAhead::None),
        ("1", ReadAhead::Track),
        ("2", ReadAhead::Cylinder),
        ("3", ReadAhead::Maximum),
        ("4", ReadAhead::NextTrack),
    ] {
        assert_eq!(
            cache(&[("Buffer continuous read", level)]).read_ahead,
            read_ahead
        );
    }
    for (value, requested) in [
        ("-1", Requested::DroppedWhenSent),
        ("-0.6", Requested::DroppedWhenSent),
        ("-0.5", Requested::Kept),
        ("0", Requested::Kept),
        ("0.5", Requested::Kept),
        ("0.6", Requested::PushedOut),
        ("1.0", Requested::PushedOut),
    ] {
        assert_eq!(
            cache(&[("Read-ahead over requested", value)]).requested,
            requested,
            "{value}"
        );
    }
    for (level, on) in [("0", false), ("1", true), ("2", true)] {
        assert_eq!(cache(&[("Enable caching in buffer", level)]).keeps_data, on);
        assert_eq!(cache(&[("Fast write level", level)]).fast_writes, on);
        assert_eq!(
            cache(&[("Immediate buffer read", level)]).immediate_reads,
            on
        );
    }
    let plain = cache(&[]);
    assert_eq!(
        (plain.segments, plain.segment_sectors, plain.write_segments),
        (3, 64, 1)
    );
    assert_eq!(
        (
            plain.minimum_read_ahead_sectors,
            plain.maximum_read_ahead_sectors
        ),
        (0, 32)
    );
    assert_eq!(plain.arrival, Arrival::AsDisksim);
    assert!(plain.writes_wait_for_medium);
}

type Switch = (&'static str, fn(&CacheProfile) -> bool);

#[test]
fn each_switch_of_the_buffer_is_off_or_on() {
    let switches: [Switch; 10] = [
        ("Use separate write segment", |c| c.separate_write_segment),
        ("Allow read hits on write data", |c| c.read_hits_on_written),
        ("Allow almost read hits", |c| c.almost_read_hits),
        ("Read-ahead on idle hit", |c| c.read_ahead_on_hit),
        ("Stop prefetch in sector", |c| c.stop_in_sector),
        ("Disconnect write if seek", |c| c.finish_step),
        ("Read any free blocks", |c| c.free_blocks),
        ("Read directly to buffer", |c| c.reads_directly),
        ("Immed transfer partial hit", |c| c.sends_partial_hits),
        ("Combine seq writes", |c| c.combine_writes),
    ];
    for (key, of) in switches {
        assert!(
            !of(&cache(&[(key, "0")])) && of(&cache(&[(key, "1")])),
            "{key}"
        );
    }
    // Reads need a segment, too.
    let two = [
        ("Number of buffer segments", "2"),
        ("Use separate write segment", "1"),
    ];
    assert!(cache(&two).separate_write_segment);
    let one = specs(&[
        ("Number of buffer segments", "1"),
        ("Use separate write segment", "1"),
    ]);
    let message = refused(&[("drive.diskspecs", &one)], "drive.parv");
    assert!(
        message.contains("'Use separate write segment' is 1, expected 0 with one"),
        "{message}"
    );
}

#[test]
fn overheads_are_scaled_and_the_shortest_seek_is_not() {
    let keys = [
        "Per-request overhead time",
        "Read hit over. after read",
        "Read hit over. after write",
        "Read miss over. after read",
        "Read miss over. after write",
        "Write hit over. after read",
        "Write hit over. after write",
        "Write miss over. after read",
        "Write miss over. after write",
        "Read completion overhead",
        "Write completion overhead",
        "Data preparation overhead",
        "First reselect overhead",
        "Other reselect overhead",
        "Read disconnect afterread",
        "Read disconnect afterwrite",
        "Write disconnect overhead",
        "Minimum seek delay",
        "Extradisc command overhead",
        "Extradisc disconnect overhead",
        "Extradisc inter-disconnect delay",
        "Extradisc 2nd disconnect overhead",
        "Extradisc seek delta",
    ];
    // 1, 2, 3, ... ms.
    let values: Vec<String> = (1..=keys.len()).map(|ms| format!("{ms}.0")).collect();
    for (scale, by) in [("1.0", 1.0), ("2.0", 2.0), ("0.0", 0.0)] {
        for extra in [false, true] {
            let mut changes: Vec<(&str, &str)> = keys
                .into_iter()
                .zip(values.iter().map(String::as_str))
                .collect();
            changes.push(("Time scale for overheads", scale));
            changes.push(("Extra write disconnect", if extra { "1" } else { "0" }));
            let dir = folder(&[("drive.diskspecs", &specs(&changes))]);
            let seen = imported(dir.path(), "drive.parv")
                .profile
                .overheads
                .unwrap();
            let expected = OverheadsProfile {
                per_request_ms: by,
                read_hit_after_read_ms: 2.0 * by,
                read_hit_after_write_ms: 3.0 * by,
                read_miss_after_read_ms: 4.0 * by,
                read_miss_after_write_ms: 5.0 * by,
                write_hit_after_read_ms: 6.0 * by,
                write_hit_after_write_ms: 7.0 * by,
                write_miss_after_read_ms: 8.0 * by,
                write_miss_after_write_ms: 9.0 * by,
                read_completion_ms: 10.0 * by,
                write_completion_ms: 11.0 * by,
                data_preparation_ms: 12.0 * by,
                first_reselect_ms: 13.0 * by,
                other_reselect_ms: 14.0 * by,
                read_disconnect_after_read_ms: 15.0 * by,
                read_disconnect_after_write_ms: 16.0 * by,
                write_disconnect_ms: 17.0 * by,
                minimum_write_seek_ms: 18.0,
                extra_write_disconnect: extra.then_some(ExtraDisconnect {
                    command_ms: 19.0 * by,
                    disconnect_ms: 20.0 * by,
                    between_ms: 21.0 * by,
                    second_disconnect_ms: 22.0 * by,
                    seek_delta_ms: 23.0 * by,
                }),
            };
            assert_eq!(seen, expected);
        }
    }
}

#[test]
fn the_bus_is_as_slow_as_the_slowest_on_the_way_to_the_drive() {
    let times = |changes: &[(&str, &str)], given: BusTimes| {
        let parv = changes.iter().fold(PARV.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let dir = folder(&[("drive.parv", &parv)]);
        let files = [dir.path().join("drive.parv")];
        let bus = import(&files, None, given).unwrap().profile.bus.unwrap();
        (bus.read_ms_per_sector, bus.write_ms_per_sector)
    };
    let plain = BusTimes::default();
    // Its own bulk time is 0.1 ms, the bus above it takes 0.15 and 0.3.
    assert_eq!(times(&[], plain), (0.15, 0.3));
    let controller = (
        "Bulk sector transfer time = 0.0",
        "Bulk sector transfer time = 0.2",
    );
    assert_eq!(times(&[controller], plain), (0.2, 0.3));
    // On a bus and under a controller of its own; what is beside is not on the way.
    let topology = (
        "disksim_disk disk0 [], disksim_disk disk1 [] ]",
        "disksim_ctlr slow [], disksim_bus host [ disksim_disk disk1 [] ] ]",
    );
    let slow = (
        "source drive.diskspecs",
        "CTLR0 SLOW { Bulk sector transfer time = 9.0 } source drive.diskspecs instantiate [ slow ] as SLOW\n\
         instantiate [ host ] as HOSTBUS",
    );
    assert_eq!(times(&[topology, slow], plain), (0.1, 0.1));
    // What is given counts instead, down to the bulk time.
    let given = |read_ms, write_ms| BusTimes { read_ms, write_ms };
    assert_eq!(times(&[], given(Some(0.5), None)), (0.5, 0.3));
    assert_eq!(times(&[], given(None, Some(0.01))), (0.15, 0.1));
    let held = specs(&[
        ("Hold bus entire read xfer", "1"),
        ("High (read) water mark", "0.25"),
        ("Low (write) water mark", "0.75"),
        ("Set watermark by reqsize", "0"),
    ]);
    let dir = folder(&[("drive.diskspecs", &held)]);
    let bus = imported(dir.path(), "drive.parv").profile.bus.unwrap();
    assert_eq!(
        (bus.hold_reads, bus.hold_writes, bus.never_disconnect),
        (true, false, false)
    );
    assert_eq!((bus.read_water_mark, bus.write_water_mark), (0.25, 0.75));
    assert_eq!(bus.water_mark_of, WaterMarkOf::Segment);
}

/// The first zone of a model of which something is replaced.
fn first_zone(changes: &[(&str, &str)]) -> LayoutZone {
    let model = changes.iter().fold(MODEL.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let dir = folder(&[("drive.model", &model)]);
    let profile = imported(dir.path(), "drive.parv").profile;
    profile.layout.unwrap().zones.swap_remove(0)
}

#[test]
fn skews_are_in_whole_sectors_or_in_revolutions() {
    let skews = |changes: &[(&str, &str)]| {
        let zone = first_zone(changes);
        [
            zone.offset_sectors,
            zone.track_skew_sectors,
            zone.cylinder_skew_sectors,
        ]
    };
    let fractions = [
        ("block = 3.700000", "block = 0.25"),
        ("switch = 5.900000", "switch = -0.5"),
        ("switch = 7.000000", "switch = 1.5"),
    ];
    let scheme = "LBN-to-PBN mapping scheme = 1,";
    let of_all = |unit: &str| format!("{scheme} Skew units = {unit},");
    let of_zone = |unit: &str| format!("Blocks per track = 24, Skew units = {unit},");
    assert_eq!(skews(&[]), [3.0, 5.0, 7.0]);
    // Of tracks of 24 sectors.
    let turns = [6.0, -12.0, 36.0];
    for (all, zone, expected) in [
        ("sectors", None, [0.0, 0.0, 1.0]),
        ("revolutions", None, turns),
        ("sectors", Some("revolutions"), turns),
        ("revolutions", Some("sectors"), [0.0, 0.0, 1.0]),
    ] {
        let (all, zone) = (of_all(all), zone.map(of_zone));
        let mut changes = fractions.to_vec();
        changes.push((scheme, &all));
        if let Some(zone) = &zone {
            changes.push(("Blocks per track = 24,", zone));
        }
        assert_eq!(skews(&changes), expected);
    }
    for unit in ["degrees", "1"] {
        let message = model_error(scheme, &of_all(unit));
        assert!(
            message.contains("expected sectors or revolutions"),
            "{message}"
        );
    }
}

#[test]
fn a_whole_number_may_have_a_decimal_point_up_to_10_to_the_15() {
    assert_eq!(
        first_zone(&[("track = 24,", "track = 24.0,")]).sectors_per_track,
        24
    );
    for (spares, expected) in [
        ("24.5", "is 24.5, expected a whole number"),
        ("1e15", "is 1000000000000000, expected a whole number"),
        ("-1e15", "is -1000000000000000, expected a whole number"),
        ("-2.0", "'Number of spares' is -2, expected 0 to"),
        // A whole number, but more than there are sectors.
        (
            "9e14",
            "'layout.zones.spares' is 900000000000000, expected less",
        ),
        (
            "[ 1 ]",
            "'Number of spares' is a list of 1, expected a whole number",
        ),
    ] {
        let spares = format!("Number of spares = {spares}");
        let message = model_error("Number of spares = 10", &spares);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_block_may_be_given_by_its_name() {
    let (before, mechanics) = MODEL.split_once("Mechanical Model = dm_mech_g1 {").unwrap();
    let (mechanics, after) = mechanics.split_once("},").unwrap();
    let named = |name: &str| {
        format!(
            "dm_mech_g1 MECHANICS {{ {mechanics} }}\n{before} Mechanical Model = {name}, {after}"
        )
    };
    let by_name = specs(&[]).replace("Model = source drive.model", "Model = DRIVE.model");
    let by_name = format!("source drive.model\n{by_name}");
    let plain = imported(folder(&[]).path(), "drive.parv").profile;
    let mechanics = named("MECHANICS");
    let files = [
        ("drive.diskspecs", by_name.as_str()),
        ("drive.model", &mechanics),
    ];
    assert_eq!(imported(folder(&files).path(), "drive.parv").profile, plain);
    for (name, seen) in [("OTHERS", "'OTHERS'"), ("7", "7")] {
        let files = [
            ("drive.diskspecs", by_name.as_str()),
            ("drive.model", &named(name)),
        ];
        let message = refused(&files, "drive.parv");
        let expected = format!("'Mechanical Model' is {seen}, expected a dm_mech_g1 block");
        assert!(message.contains(&expected), "{message}");
    }
    // DRIVE.model is not one of mechanics.
    let other = MODEL.replace(
        "Layout Model = dm_layout_g1 {",
        "Layout Model = dm_mech_g1 {",
    );
    let message = refused(&[("drive.model", &other)], "drive.parv");
    assert!(
        message.contains("'Layout Model' is 'dm_mech_g1', which is not simulated"),
        "{message}"
    );
}

/// The law of seeks of this type, of a drive of 100 cylinders.
fn seek_law(kind: &str, parameters: &str) -> SeekLaw {
    let model = MODEL
        .replace("extracted", kind)
        .replace("Average seek time = 99.0,", "")
        .replace("Full seek curve = drive.seek", parameters);
    let dir = folder(&[("drive.model", &model)]);
    imported(dir.path(), "drive.parv")
        .profile
        .seek
        .curve
        .unwrap()
}

#[test]
fn each_type_of_seek_has_its_curve() {
    let three =
        "Single cylinder seek time = 1.0, Average seek time = 4.0, Full strobe seek time = 9.0";
    assert_eq!(
        seek_law("constant", "Constant seek time = 2.5"),
        SeekLaw::Constant { seek_ms: 2.5 }
    );
    let points = vec![(1.0, 1.0), (100.0 / 3.0, 4.0), (99.0, 9.0)];
    assert_eq!(seek_law("linear", three), SeekLaw::Measured { points });
    let law = SeekLaw::ThreePoint {
        track_to_track_ms: 1.0,
        average_ms: 4.0,
        full_stroke_ms: 9.0,
    };
    assert_eq!(seek_law("curve", three), law);
    let two_piece = |first_ms: &[f64]| SeekLaw::TwoPiece {
        first_ms: first_ms.to_vec(),
        line_from_cylinders: 30.0,
        root_ms: (1.0, 0.3),
        line_ms: (2.0, 0.01),
    };
    // The last value is the time of the shortest seek, or -1 for that of the equation.
    let hpl =
        |last: &str| format!("HPL seek equation values = [ 30, 1.0, 0.3, 2.0, 0.01, {last} ]");
    assert_eq!(seek_law("hpl", &hpl("-1.0")), two_piece(&[]));
    assert_eq!(seek_law("hpl", &hpl("-1")), two_piece(&[]));
    assert_eq!(seek_law("hpl", &hpl("0.5")), two_piece(&[0.5]));
    let ten = "First ten seek times = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5 ]";
    let first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.5];
    let plus = seek_law("hplplus10", &format!("{}, {ten}", hpl("0.5")));
    assert_eq!(plus, two_piece(&first));
    let extracted = vec![(2.0, 1.5), (3.0, 1.2), (10.0, 3.0), (40.0, 5.0)];
    assert_eq!(
        seek_law("extracted", "Full seek curve = drive.seek"),
        SeekLaw::Measured { points: extracted }
    );
}

#[test]
fn lists_of_seek_times_are_complete_and_a_third_of_few_cylinders_is_left_out() {
    for (kind, parameters, expected) in [
        (
            "hpl",
            "HPL seek equation values = [ 1, 2, 3, 4, 5 ]",
            "is a list of 5, expected a list of six",
        ),
        (
            "hpl",
            "HPL seek equation values = [ 1, 2, 3, 4, 5, 6, 7 ]",
            "is a list of 7, expected a list of six",
        ),
        (
            "hpl",
            "HPL seek equation values = 1",
            "is 1, expected a list of six",
        ),
        (
            "hplplus10",
            "HPL seek equation values = [ 1, 2, 3, 4, 5, 6 ], First ten seek times = [ 1 ]",
            "is a list of 1, expected a list of ten",
        ),
        (
            "hplplus10",
            "HPL seek equation values = [ 1, 2, 3, 4, 5, 6 ], First ten seek times = [ 1, 1, 1, 1, 1, 1, 1, 1, 1, -1 ]",
            "'First ten seek times' is -1, expected 0 to",
        ),
    ] {
        let model = MODEL
            .replace("extracted", kind)
            .replace("Full seek curve = drive.seek", parameters);
        let message = refused(&[("drive.model", &model)], "drive.parv");
        assert!(message.contains(expected), "{message}");
    }
    for (cylinders, points) in [
        // A disk has at least three.
        (1, vec![(1.0, 1.0), (2.0, 9.0)]),
        (3, vec![(1.0, 1.0), (2.0, 9.0)]),
        (4, vec![(1.0, 1.0), (4.0 / 3.0, 4.0), (3.0, 9.0)]),
    ] {
        let model = format!(
            "dm_disk SMALL {{ Number of data surfaces = 2, Number of cylinders = {cylinders},\n\
             Mechanical Model = dm_mech_g1 {{ Access time type = trackSwitchPlusRotation, Seek type = linear,\n\
             Single cylinder seek time = 1.0, Average seek time = 4.0, Full strobe seek time = 9.0,\n\
             Add. write settling delay = 0.0, Head switch time = 0.5, Rotation speed (in rpms) = 6000 }},\n\
             Layout Model = dm_layout_g1 {{ LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0, Zones = [\n\
             dm_layout_g1_zone {{ First cylinder number = 0, Last cylinder number = 0, Blocks per track = 30,\n\
             Empty space at zone front = 0, Number of spares = 0 }} ] }} }}"
        );
        let dir = folder(&[("small.model", &model)]);
        let Imported {
            profile, warnings, ..
        } = imported(dir.path(), "small.model");
        assert_eq!(profile.cylinders, cylinders.max(3));
        assert_eq!(profile.capacity_sectors, 60);
        assert_eq!(profile.revolution_ms, 10.0);
        assert_eq!(profile.geometry.head_switch_ms, 0.5);
        let TransferTimes(outer, inner) = TransferTimes::of(&profile);
        assert_eq!((outer, inner), (10.0 / 30.0, 10.0 / 30.0));
        assert_eq!(profile.seek.curve, Some(SeekLaw::Measured { points }));
        assert_eq!(warnings, []);
    }
    // More cylinders in the zones than the model counts.
    let few = MODEL.replace("Number of cylinders = 100", "Number of cylinders = 50");
    let dir = folder(&[("drive.model", &few)]);
    let profile = imported(dir.path(), "drive.parv").profile;
    assert_eq!(profile.cylinders, 100);
    let TransferTimes(outer, inner) = TransferTimes::of(&profile);
    assert_eq!((outer, inner), (10.0 / 24.0, 10.0 / 20.0));
}

/// The times of a sector at the two ends of the disk.
struct TransferTimes(f64, f64);

impl TransferTimes {
    fn of(profile: &DiskProfile) -> Self {
        let transfer = profile.transfer;
        Self(
            transfer.outermost_ms_per_sector,
            transfer.innermost_ms_per_sector,
        )
    }
}

#[test]
fn a_line_of_a_seek_file_is_a_distance_and_a_time() {
    for (line, fits) in [
        ("99, 0.0", true),
        ("99 6.0", true),
        ("99\t6.0 # as measured", true),
        ("99, 1e6, 0.3", true),
        ("", true),
        ("# nothing", true),
        ("99, -0.1", false),
        ("99, 1.1e6", false),
        ("99, nan", false),
        ("99", false),
        ("-99, 6.0", false),
        ("99.5, 6.0", false),
        ("40, 6.0", false),
    ] {
        // Without the number of lines, any number will do.
        let text = format!("2, 1.5\n40, 5.0\n{line}\n");
        let dir = folder(&[("drive.seek", &text)]);
        let seen = import(&[dir.path().join("drive.parv")], None, BusTimes::default());
        match seen {
            Ok(_) => assert!(fits, "{line}"),
            Err(error) => {
                let message = error.to_string();
                assert!(!fits, "{line}: {message}");
                assert!(
                    message.contains("drive.seek:3: 'seek distance, time' is"),
                    "{message}"
                );
            }
        }
    }
}
