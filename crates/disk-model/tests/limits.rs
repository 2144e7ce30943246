//! Which values make a drive: each limit of each key, at it and just beyond it.

use std::path::Path;

use iosonar_disk_model::{BUILT_IN, DataSheet, DiskProfile, Geometry, ProfileError, SeekLaw};
use toml::{Table, Value};

/// A drive with every table. Its two zones have 4 and 5 cylinders of 2 tracks of 20 sectors.
const DRIVE: &str = "
description = 'made up'
cylinders = 20
revolution_ms = 10.0
capacity_sectors = 360
transfer = { outermost_ms_per_sector = 0.5, innermost_ms_per_sector = 0.5 }
seek = { curve = { kind = 'constant', seek_ms = 1.0 } }
geometry = { surfaces = 2, head_switch_ms = 0.0, track_skew_ms = 0.0, cylinder_skew_ms = 0.0 }
cache = { segments = 4, segment_sectors = 100, write_segments = 2 }
overheads = { extra_write_disconnect = {} }
bus = {}
[layout]
[[layout.zones]]
first_cylinder = 0
last_cylinder = 3
sectors_per_track = 20
[[layout.zones]]
first_cylinder = 5
last_cylinder = 9
sectors_per_track = 20
";

/// The same without a layout, so that seeks or bands can be its own.
fn plain() -> Table {
    let mut drive: Table = DRIVE.parse().unwrap();
    drive.remove("layout");
    drive
}

/// Sets the value of a key such as `layout.zones.1.spares`.
fn set(table: &mut Table, key: &str, value: Value) {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    if rest.is_empty() {
        table.insert(first.to_owned(), value);
        return;
    }
    let inner = table
        .entry(first)
        .or_insert_with(|| Value::Table(Table::new()));
    match inner {
        Value::Array(entries) => {
            let (number, rest) = rest.split_once('.').unwrap();
            let entry = &mut entries[number.parse::<usize>().unwrap()];
            set(entry.as_table_mut().unwrap(), rest, value);
        }
        inner => set(inner.as_table_mut().unwrap(), rest, value),
    }
}

/// A value as it stands in a file.
fn value(text: &str) -> Value {
    let table: Table = format!("x = {text}").parse().unwrap();
    table["x"].clone()
}

/// The key that is refused in a drive with these changes, if one is. What its zones hold is not looked at.
fn refused(drive: &Table, changes: &[(&str, &str)]) -> Option<&'static str> {
    let mut changed = drive.clone();
    for (key, to) in changes {
        set(&mut changed, key, value(to));
    }
    match DiskProfile::parse(&toml::to_string(&changed).unwrap(), "x.toml") {
        Ok(_) | Err(ProfileError::Capacity { .. }) => None,
        Err(ProfileError::Value { key, .. }) => Some(key),
        Err(error) => panic!("{changes:?}: {error}"),
    }
}

type Limits<'a> = (&'static str, &'a [&'a str], &'a [&'a str]);

/// For each key, the values that it may have, and those that it may not; `entry` says where the key is if it is in an
/// array.
fn check(drive: &Table, changes: &[(&str, &str)], limits: &[Limits<'_>]) {
    for &(key, inside, beyond) in limits {
        let at = key.replace("layout.zones.", "layout.zones.1.");
        let with = |text| [changes, &[(at.as_str(), text)]].concat();
        for text in inside {
            assert_eq!(
                refused(drive, &with(text)),
                None,
                "{key} = {text}, {changes:?}"
            );
        }
        for text in beyond {
            let seen = refused(drive, &with(text));
            assert_eq!(seen, Some(key), "{key} = {text}, {changes:?}");
        }
    }
}

#[test]
fn a_buffer_has_at_least_a_segment_and_no_more_than_2_to_the_40_sectors() {
    let drive: Table = DRIVE.parse().unwrap();
    let one_write_segment = ("cache.write_segments", "1");
    let most = 1_u64 << 40;
    let (half, all) = ((most / 2).to_string(), most.to_string());
    let (more_than_half, more) = ((most / 2 + 1).to_string(), (most + 1).to_string());
    check(
        &drive,
        &[one_write_segment],
        &[("cache.segments", &["1", "65536"], &["0", "65537"])],
    );
    check(
        &drive,
        &[one_write_segment, ("cache.segments", "1")],
        &[("cache.segment_sectors", &["1", &all], &["0", &more])],
    );
    for (sectors, key) in [
        (&half, None),
        (
            &more_than_half,
            Some("cache.segments x cache.segment_sectors"),
        ),
    ] {
        let changes = [("cache.segments", "2"), ("cache.segment_sectors", sectors)];
        assert_eq!(refused(&drive, &changes), key, "{sectors}");
    }
    check(
        &drive,
        &[],
        &[
            ("cache.write_segments", &["1", "4"], &["0", "5"]),
            ("cache.minimum_read_ahead_sectors", &["0", "100"], &["101"]),
            ("cache.maximum_read_ahead_sectors", &["0", "100"], &["101"]),
        ],
    );
    for (segments, beyond) in [("1", &["true"][..]), ("2", &[])] {
        let changes = [one_write_segment, ("cache.segments", segments)];
        let inside: &[&str] = if beyond.is_empty() {
            &["true", "false"]
        } else {
            &["false"]
        };
        check(
            &drive,
            &changes,
            &[("cache.separate_write_segment", inside, beyond)],
        );
    }
}

#[test]
fn water_marks_are_shares_and_overheads_no_longer_than_a_quarter_of_an_hour() {
    let drive: Table = DRIVE.parse().unwrap();
    let share: (&[&str], &[&str]) = (&["0.0", "1.0"], &["-0.01", "1.01", "nan"]);
    let per_sector: (&[&str], &[&str]) = (&["0.0", "100.0"], &["-0.01", "100.1", "nan"]);
    for (key, (inside, beyond)) in [
        ("bus.read_water_mark", share),
        ("bus.write_water_mark", share),
        ("bus.read_ms_per_sector", per_sector),
        ("bus.write_ms_per_sector", per_sector),
    ] {
        check(&drive, &[], &[(key, inside, beyond)]);
    }
    let keys = [
        "overheads.per_request_ms",
        "overheads.read_hit_after_read_ms",
        "overheads.read_hit_after_write_ms",
        "overheads.read_miss_after_read_ms",
        "overheads.read_miss_after_write_ms",
        "overheads.write_hit_after_read_ms",
        "overheads.write_hit_after_write_ms",
        "overheads.write_miss_after_read_ms",
        "overheads.write_miss_after_write_ms",
        "overheads.read_completion_ms",
        "overheads.write_completion_ms",
        "overheads.data_preparation_ms",
        "overheads.first_reselect_ms",
        "overheads.other_reselect_ms",
        "overheads.read_disconnect_after_read_ms",
        "overheads.read_disconnect_after_write_ms",
        "overheads.write_disconnect_ms",
        "overheads.minimum_write_seek_ms",
        "overheads.extra_write_disconnect.command_ms",
        "overheads.extra_write_disconnect.disconnect_ms",
        "overheads.extra_write_disconnect.between_ms",
        "overheads.extra_write_disconnect.second_disconnect_ms",
        "overheads.extra_write_disconnect.seek_delta_ms",
    ];
    for key in keys {
        check(
            &drive,
            &[],
            &[(key, &["0.0", "1e6"], &["-1e-9", "1.1e6", "nan"])],
        );
    }
}

#[test]
fn zones_lie_on_cylinders_of_the_disk_and_do_not_overlap() {
    let drive: Table = DRIVE.parse().unwrap();
    let skew: (&[&str], &[&str]) = (&["-1e6", "1e6"], &["-1.1e6", "1.1e6", "nan"]);
    check(
        &drive,
        &[],
        &[
            ("layout.range_cylinders", &["1", "9"], &["0"]),
            ("layout.zones.last_cylinder", &["5", "19"], &["4", "20"]),
            (
                "layout.zones.sectors_per_track",
                &["1", "1048576"],
                &["0", "1048577"],
            ),
            ("layout.zones.offset_sectors", skew.0, skew.1),
            ("layout.zones.track_skew_sectors", skew.0, skew.1),
            ("layout.zones.cylinder_skew_sectors", skew.0, skew.1),
            ("layout.zones.skipped_sectors", &["0", "199"], &["200"]),
        ],
    );
    for (first, key) in [("4", None), ("3", Some("layout.zones"))] {
        assert_eq!(
            refused(&drive, &[("layout.zones.1.first_cylinder", first)]),
            key
        );
    }
    // One that holds nothing.
    let mut one_zone = drive.clone();
    let zones = one_zone["layout"]["zones"].as_array_mut().unwrap();
    zones.remove(0);
    for (spares, key) in [("99", None), ("100", Some("layout.zones"))] {
        let changes = [
            ("layout.sparing", "'zone'"),
            ("layout.zones.0.skipped_sectors", "100"),
            ("layout.zones.0.spares", spares),
        ];
        assert_eq!(refused(&one_zone, &changes), key, "{spares}");
    }
}

#[test]
fn spares_leave_a_sector_in_each_unit_and_slips_lie_in_the_zone() {
    let drive: Table = DRIVE.parse().unwrap();
    for (sparing, fits, beyond) in [
        ("'track'", "19", &["20"][..]),
        ("'cylinder'", "39", &["40"]),
        ("'cylinder-front'", "39", &["40"]),
        ("'range'", "79", &["80"]),
        ("'tracks'", "9", &["10"]),
        ("'zone'", "199", &["200"]),
        ("'disk'", "199", &["200"]),
        ("'none'", "1000", &[]),
    ] {
        let changes = [("layout.sparing", sparing), ("layout.range_cylinders", "2")];
        check(
            &drive,
            &changes,
            &[("layout.zones.spares", &[fits], beyond)],
        );
    }
    for (sparing, last, beyond) in [("'zone'", 199, 200), ("'tracks'", 9, 10)] {
        let changes = [("layout.sparing", sparing), ("layout.zones.1.spares", "1")];
        let slips = |place: u64| format!("[{place}]");
        let remaps = |place: u64| format!("[[0, {place}]]");
        check(
            &drive,
            &changes,
            &[
                ("layout.zones.slips", &[&slips(last)], &[&slips(beyond)]),
                ("layout.zones.remaps", &[&remaps(last)], &[&remaps(beyond)]),
            ],
        );
    }
}

#[test]
fn a_range_is_one_cylinder_unless_it_says_more() {
    let mut drive: Table = DRIVE.parse().unwrap();
    set(&mut drive, "layout.sparing", value("'range'"));
    set(&mut drive, "layout.zones.1.spares", value("1"));
    // Each of the five cylinders has a spare.
    set(&mut drive, "capacity_sectors", value("355"));
    let profile = DiskProfile::parse(&toml::to_string(&drive).unwrap(), "x.toml").unwrap();
    assert_eq!(profile.layout.unwrap().range_cylinders, 1);
}

#[test]
fn the_points_of_a_seek_curve_ascend_and_its_times_are_those_of_an_arm() {
    let drive = plain();
    check(
        &drive,
        &[],
        &[(
            "seek.write_settle_ms",
            &["-1e6", "0.0", "1e3"],
            &["-1.1e6", "nan"],
        )],
    );
    let two_points = "{ track_to_track_ms = 1.0, full_stroke_ms = 2.0 }";
    let mut without_curve = drive.clone();
    without_curve["seek"]
        .as_table_mut()
        .unwrap()
        .remove("curve");
    set(&mut without_curve, "seek.read", value(two_points));
    set(&mut without_curve, "seek.write", value(two_points));
    check(
        &without_curve,
        &[],
        &[("seek.write_settle_ms", &["0.0"], &["0.1", "-0.1"])],
    );
    // a + b sqrt(d) is 0 at a distance of 0 where the full stroke of 19 cylinders takes sqrt(19) = 4.3589 times as long.
    for key in ["seek.read.full_stroke_ms", "seek.write.full_stroke_ms"] {
        check(
            &without_curve,
            &[],
            &[(key, &["1.0", "4.3588"], &["0.99", "4.359", "1.1e6"])],
        );
    }
    // Points between the ends, of a drive whose curve must not rise above zero from there.
    for (points, fits) in [
        ("[[1.1, 1.05]]", true),
        ("[[18.9, 1.5]]", true),
        ("[[2.0, 1.0], [3.0, 1e6]]", true),
        ("[[2.0, 0.0]]", true),
        // The line through the first two is below zero at a distance of 0.
        ("[[1.1, 1.5]]", false),
        ("[[2.0, 1.3], [2.1, 1.4]]", true),
        ("[[1.0, 1.5]]", false),
        ("[[19.0, 1.5]]", false),
        ("[[2.0, -0.1]]", false),
        ("[[2.0, 1.1e6]]", false),
        ("[[2.0, 1.5], [2.0, 1.5]]", false),
        ("[[3.0, 1.5], [2.0, 1.5]]", false),
    ] {
        for key in ["seek.read.measured", "seek.write.measured"] {
            let refused = refused(&without_curve, &[(key, points)]);
            assert_eq!(refused.is_none(), fits, "{key} = {points}: {refused:?}");
        }
    }
    for (points, fits) in [
        ("[[1.0, 1.0]]", true),
        ("[[0.0, 1.0], [1.0, 1.0]]", true),
        ("[[1.0, 0.0], [19.0, 1e6]]", true),
        ("[]", false),
        ("[[-1.0, 1.0]]", false),
        ("[[1.0, -0.1]]", false),
        ("[[2.0, 1.1e6], [3.0, 1.0], [19.0, 1.0]]", false),
        ("[[2.0, 1.0], [2.0, 2.0]]", false),
        ("[[3.0, 1.0], [2.0, 2.0]]", false),
    ] {
        let curve = format!("{{ kind = 'measured', points = {points} }}");
        let seen = refused(&drive, &[("seek.curve", &curve)]);
        let expected = (!fits).then_some("seek.curve.points");
        assert_eq!(seen, expected, "{points}");
    }
}

#[test]
fn the_two_pieces_of_a_seek_curve_have_coefficients_within_limits() {
    let drive = plain();
    let curve = |first: &str, line_from: &str, root: &str, line: &str| {
        format!(
            "{{ kind = 'two-piece', first_ms = {first}, line_from_cylinders = {line_from}, root_ms = {root}, \
             line_ms = {line} }}"
        )
    };
    for (curve, expected) in [
        (curve("[0.0, 1e6]", "9.0", "[1.0, 1.0]", "[1.0, 1.0]"), None),
        (curve("[]", "1e6", "[1.0, 1.0]", "[-1e6, 1e6]"), None),
        (curve("[]", "-1e6", "[-1e6, 1e6]", "[1.0, 1.0]"), None),
        (
            curve("[]", "1.1e6", "[1.0, 1.0]", "[1.0, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[]", "-1.1e6", "[1.0, 1.0]", "[1.0, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[]", "9.0", "[-1.1e6, 1.0]", "[1.0, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[1.0]", "9.0", "[1.0, -1.1e6]", "[1.0, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[]", "9.0", "[1.0, 1.0]", "[-1.1e6, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[]", "90.0", "[1.0, 1.0]", "[1.0, -1.1e6]"),
            Some("seek.curve"),
        ),
        (
            curve("[1.0, -0.1]", "9.0", "[1.0, 1.0]", "[1.0, 1.0]"),
            Some("seek.curve.first_ms"),
        ),
        (
            curve("[1.0, 1.1e6]", "9.0", "[1.0, 1.0]", "[1.0, 1.0]"),
            Some("seek.curve.first_ms"),
        ),
        // -2e6 ms to the next cylinder; the same over all of them.
        (
            curve("[]", "9.0", "[-1e6, -1e6]", "[1.0, 1.0]"),
            Some("seek.curve"),
        ),
        (
            curve("[]", "9.0", "[1.0, 1.0]", "[1.0, -1e6]"),
            Some("seek.curve"),
        ),
    ] {
        assert_eq!(
            refused(&drive, &[("seek.curve", &curve)]),
            expected,
            "{curve}"
        );
    }
}

#[test]
fn a_shingled_drive_has_bands_and_a_media_cache_that_it_can_clean() {
    let mut drive = plain();
    // 20 cylinders of 2 tracks of 400 sectors.
    for (key, to) in [
        (
            "geometry.zones",
            "[{ first_cylinder = 0, sectors_per_track = 400 }]",
        ),
        ("shingled.band_tracks", "4"),
        ("shingled.media_cache_gb", "0.002"),
        ("shingled.media_cache_place", "'outer'"),
        ("shingled.map_entries", "100"),
        ("shingled.stream_sectors", "1000"),
        ("shingled.cleaning", "'lazy'"),
    ] {
        set(&mut drive, key, value(to));
    }
    check(
        &drive,
        &[],
        &[
            ("shingled.band_tracks", &["1", "100000"], &["0", "100001"]),
            (
                "shingled.map_entries",
                &["4", "100000000"],
                &["3", "100000001"],
            ),
            ("shingled.map_record_revolutions", &["0", "1000"], &["1001"]),
            (
                "shingled.stream_sectors",
                &["1", "1000000000000"],
                &["0", "1000000000001"],
            ),
            (
                "shingled.idle_ms",
                &["0.0", "1e9"],
                &["-0.1", "1.1e9", "nan"],
            ),
            // Two segments of 100 sectors are 102,400 B, all tracks 8,192,000 B.
            (
                "shingled.media_cache_gb",
                &["0.0001025", "0.0081919"],
                &["1e-7", "1.1e4", "nan", "0.0001023", "0.008192001"],
            ),
        ],
    );
    let layout =
        "{ zones = [{ first_cylinder = 0, last_cylinder = 19, sectors_per_track = 400 }] }";
    assert_eq!(refused(&drive, &[("layout", layout)]), Some("shingled"));
    let text = toml::to_string(&drive).unwrap();
    let profile = DiskProfile::parse(&text, "x.toml").unwrap();
    // 2,000,000 B are 3906.25 sectors.
    assert_eq!(profile.addressable_sectors(), 20 * 2 * 400 - 3906);
    let whole = DiskProfile {
        shingled: None,
        ..profile
    };
    assert_eq!(whole.addressable_sectors(), 20 * 2 * 400);
}

/// The refused key of a data sheet with these changes; figures that contradict each other do not count.
fn refused_sheet(changes: &[(&str, &str)]) -> Option<&'static str> {
    let mut sheet: Table =
        "description = 'made up'\nfrom_data_sheet = { capacity_gb = 1000.0, rpm = 7200.0, \
        outer_mb_per_s = 150.0, read_seek_ms = 8.0 }"
            .parse()
            .unwrap();
    for (key, to) in changes {
        set(&mut sheet, key, value(to));
    }
    match DiskProfile::parse(&toml::to_string(&sheet).unwrap(), "x.toml") {
        Err(ProfileError::Value { key, .. }) => Some(key),
        _ => None,
    }
}

#[test]
fn each_figure_of_a_data_sheet_has_its_limits() {
    for (key, inside, beyond) in [
        (
            "from_data_sheet.capacity_gb",
            &["0.01", "1e6"][..],
            &["0.0099", "1.1e6", "nan"][..],
        ),
        (
            "from_data_sheet.rpm",
            &["100.0", "1e5"],
            &["99.0", "100001.0"],
        ),
        (
            "from_data_sheet.outer_mb_per_s",
            &["0.1", "5e3"],
            &["0.09", "5001.0"],
        ),
        (
            "from_data_sheet.inner_mb_per_s",
            &["0.1", "150.0"],
            &["0.09", "150.1"],
        ),
        (
            "from_data_sheet.read_seek_ms",
            &["0.01", "1e3"],
            &["0.009", "1001.0"],
        ),
        (
            "from_data_sheet.write_seek_ms",
            &["8.0", "1e3"],
            &["7.9", "1001.0"],
        ),
        (
            "from_data_sheet.track_to_track_ms",
            &["0.001", "8.0"],
            &["0.0009", "8.1"],
        ),
        ("from_data_sheet.heads", &["1", "64"], &["0", "65"]),
        ("from_data_sheet.cache_mib", &["0", "65536"], &["65537"]),
        (
            "from_data_sheet.interface_mb_per_s",
            &["0.1", "1e5"],
            &["0.09", "100001.0"],
        ),
    ] {
        for text in inside {
            assert_eq!(refused_sheet(&[(key, text)]), None, "{key} = {text}");
        }
        for text in beyond {
            assert_eq!(refused_sheet(&[(key, text)]), Some(key), "{key} = {text}");
        }
    }
}

#[test]
fn what_follows_from_a_sheet_is_refused_as_figures_that_contradict_each_other() {
    let message = |changes: &[(&str, &str)]| {
        let text = "description = 'made up'\nfrom_data_sheet = { capacity_gb = 1000.0, rpm = 7200.0, \
            outer_mb_per_s = 150.0, cache_mib = 64 }\n[shingled]\nband_tracks = 20\nmedia_cache_gb = 20.0\n\
            media_cache_place = 'outer'\nmap_entries = 1000\nstream_sectors = 1000\ncleaning = 'lazy'\n";
        let mut sheet: Table = text.parse().unwrap();
        for (key, to) in changes {
            set(&mut sheet, key, value(to));
        }
        DiskProfile::parse(&toml::to_string(&sheet).unwrap(), "x.toml").map_err(|e| e.to_string())
    };
    assert!(message(&[]).is_ok());
    // 1 MB/s on 10^6 GB: more cylinders than any drive has.
    let slow = message(&[
        ("from_data_sheet.capacity_gb", "1e6"),
        ("from_data_sheet.outer_mb_per_s", "0.1"),
    ]);
    let slow = slow.unwrap_err();
    assert!(
        slow.contains("contradict each other: they result in 'cylinders'"),
        "{slow}"
    );
    // What the file says itself is refused as it is there: a segment of 1 MiB, twice, is more than 1 MB.
    let small = message(&[("shingled.media_cache_gb", "0.001")]).unwrap_err();
    assert!(
        small.contains("'shingled.media_cache_gb' is 0.001"),
        "{small}"
    );
    assert!(!small.contains("contradict"), "{small}");
    for cache in ["0", "1"] {
        let bare = message(&[("from_data_sheet.cache_mib", cache)]);
        assert_eq!(bare.is_err(), cache == "0", "{bare:?}");
    }
}

#[test]
fn drives_of_data_sheets_hold_what_their_sheets_say_beside_the_media_cache() {
    for (name, _) in BUILT_IN {
        let profile = DiskProfile::load(name, Path::new(".")).unwrap();
        let Some(DataSheet { capacity_gb, .. }) = profile.data_sheet else {
            continue;
        };
        let stated = (capacity_gb * 1e9 / 512.0) as u64;
        assert_eq!(profile.capacity_sectors, stated, "{name}");
        // The last cylinder of each zone is rounded up.
        let held = profile.addressable_sectors();
        let rounding = Geometry::new(&profile).capacity() / 1000;
        assert!(
            (stated..stated + rounding).contains(&held),
            "{name}: {held} {stated}"
        );
    }
}

#[test]
fn the_points_of_reads_and_writes_follow_from_a_curve_unless_they_are_given() {
    let mut drive = plain();
    set(&mut drive, "cylinders", value("101"));
    set(&mut drive, "seek.write_settle_ms", value("0.5"));
    let curve = "{ kind = 'measured', points = [[1.0, 2.0], [10.0, 5.0], [50.0, 7.0]] }";
    set(&mut drive, "seek.curve", value(curve));
    let parsed =
        |drive: &Table| DiskProfile::parse(&toml::to_string(drive).unwrap(), "x.toml").unwrap();
    let profile = parsed(&drive);
    // The line through the last two points goes on: 0.05 ms for each cylinder, 9.5 ms over 100.
    let read = &profile.seek.read;
    assert_eq!((read.track_to_track_ms, read.full_stroke_ms), (2.0, 9.5));
    assert_eq!(read.measured, [(10.0, 5.0), (50.0, 7.0)]);
    let write = &profile.seek.write;
    assert_eq!((write.track_to_track_ms, write.full_stroke_ms), (2.5, 10.0));
    assert_eq!(write.measured, [(10.0, 5.5), (50.0, 7.5)]);
    // What follows is not written; what is given is kept.
    let text = profile.to_toml();
    assert!(
        !text.contains("[seek.read]") && !text.contains("track_to_track_ms"),
        "{text}"
    );
    set(
        &mut drive,
        "seek.read",
        value("{ track_to_track_ms = 1.0, full_stroke_ms = 2.0 }"),
    );
    let given = parsed(&drive);
    assert_eq!(given.seek.read.full_stroke_ms, 2.0);
    assert_eq!(given.seek.write, profile.seek.write);
    assert_eq!(parsed(&given.to_toml().parse().unwrap()).seek, given.seek);
    assert!(matches!(given.seek.curve, Some(SeekLaw::Measured { .. })));
}
