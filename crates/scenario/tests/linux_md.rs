//! Scenarios of Linux's software RAID.

use std::path::Path;

use iosonar_scenario::{Overrides, Prepared};

/// A scenario with these keys of [array], a load with addresses, and a small positional disk.
fn scenario(array: &str) -> String {
    format!(
        "[load]\nrequests = 1000\narrivals = {{ poisson_per_s = 25.0 }}\nread_share = 0.5\nsize = {{ blocks = 16 }}\n\
         block = \"4KiB\"\n[disk]\nprofile = \"seagate-st3500630ns\"\nmodel = \"positional\"\n\
         [array]\n{array}\n"
    )
}

fn prepared(array: &str) -> Result<Prepared, String> {
    let text = scenario(array);
    Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default())
        .map_err(|e| e.to_string())
}

#[test]
fn every_level_runs_and_explains_itself() {
    for array in [
        "level = \"raid0\"\ndisks = 4\nlike = \"linux-md\"",
        "level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\nfailed = [0]\nmd.bitmap = \"64MiB\"",
        "level = \"raid10\"\ndisks = 2\nlike = \"linux-md\"\nmd.copies_lie = \"far\"",
        "level = \"raid10\"\ndisks = 5\nlike = \"linux-md\"\nmd = { copies_lie = \"offset\", data_offset = \"128MiB\" }",
        "level = \"raid5\"\ndisks = 5\nlike = \"linux-md\"\nstripe_unit = \"64KiB\"\nlayout = \"right-asymmetric\"\nmd.bitmap = \"64MiB\"",
        "level = \"raid6\"\ndisks = 7\nlike = \"linux-md\"\nfailed = [1, 4]\nmd = { rmw = \"never\", stripe_cache_size = 4096 }",
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nfailed = [2]\n[rebuild]\nstripes = 50",
    ] {
        let prepared = prepared(array).unwrap();
        let hash = |prepared: &Prepared| prepared.run(1, None).unwrap().hash;
        let again = prepared.explain();
        let again = Prepared::from_toml(&again, Path::new("y.toml"), &Overrides::default());
        assert_eq!(hash(&prepared), hash(&again.unwrap()), "{array}");
    }
}

#[test]
fn writes_wait_for_the_bitmap_and_reads_do_not() {
    let means_ms = |more: &str| {
        let array = format!("level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\n{more}");
        let text = scenario(&array).replace("poisson_per_s = 25.0", "constant_per_s = 2.0");
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        let result = prepared.unwrap().run(1, None).unwrap();
        (
            result.reads.moments.mean() / 1e6,
            result.writes.moments.mean() / 1e6,
        )
    };
    // 20 requests in 10 s hardly ever come to the same 64 MiB of 500 GB, but always to the same half.
    let (reads, without) = means_ms("");
    let (reads_too, with) = means_ms("md.bitmap = \"64MiB\"");
    let (_, half) = means_ms("md.bitmap = \"256GiB\"");
    assert!(with > 1.5 * without, "{with} ms, {without} ms without");
    assert!(
        (reads_too / reads - 1.0).abs() < 0.1,
        "{reads_too} and {reads} ms"
    );
    assert!(half < 1.1 * without, "{half} ms");
}

/// Keys of [array], the line of the error (0: it is about more than one), and a part of it. What has none is allowed.
const GIVEN: [(&str, usize, &str); 21] = [
    (
        "level = \"raid0\"\ndisks = 4\nlike = \"linux-md\"\nmd.bitmap = \"64MiB\"",
        14,
        "'array.md.bitmap' is '64MiB', expected no value for RAID 0",
    ),
    (
        "level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\nmd.bitmap = \"3MiB\"",
        14,
        "'array.md.bitmap' is '3MiB', expected the chunk size of a bitmap, a power of two",
    ),
    (
        "level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\nmd.bitmap = \"4KiB\"",
        14,
        "does not fit in the 1024 KiB before the data",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-dm\"",
        13,
        "linux-md",
    ),
    (
        "level = \"raid50\"\ndisks = 6\nlike = \"linux-md\"",
        13,
        "\"raid5\" or \"raid6\"",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nmd.rmw = \"never\"",
        0,
        "like = \"linux-md\"",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nstripe_unit = \"96KiB\"",
        14,
        "'array.stripe_unit' is '96KiB', expected a power of two, at least 4 KiB,",
    ),
    (
        "level = \"raid0\"\ndisks = 4\nlike = \"linux-md\"\nstripe_unit = \"2KiB\"",
        14,
        "'array.stripe_unit' is '2KiB', expected a multiple of 4 KiB",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nmd.data_offset = \"2TiB\"",
        14,
        "'array.md.data_offset' is '2TiB', expected",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nmd.data_offset = \"1000s\"",
        0,
        "",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nmd.stripe_cache_size = 16",
        14,
        "'array.md.stripe_cache_size' is 16, expected a number of rows of pages, 17 to 32768",
    ),
    (
        "level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\nmd.stripe_cache_size = 256",
        14,
        "the key applies to RAID 5 and 6",
    ),
    (
        "level = \"raid10\"\ndisks = 4\nlike = \"linux-md\"\nmd.rmw = \"allowed\"",
        14,
        "'array.md.rmw' is \"allowed\", expected no value",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nmd.copies_lie = \"far\"",
        14,
        "'array.md.copies_lie' is \"far\", expected no value",
    ),
    (
        "level = \"raid10\"\ndisks = 4\nlike = \"linux-md\"\nmd.copies_lie = \"up\"",
        14,
        "near",
    ),
    (
        "level = \"raid10\"\ndisks = 4\nlike = \"linux-md\"\ncopies = 5",
        0,
        "copies",
    ),
    (
        "level = \"raid5\"\ndisks = 129\nlike = \"linux-md\"",
        12,
        "at most 128",
    ),
    (
        "level = \"raid1\"\ndisks = 2\nlike = \"linux-md\"\nmirror_read = \"turns\"",
        0,
        "mirror_read",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nplacement = \"random\"",
        0,
        "addresses",
    ),
    (
        "level = \"raid5\"\ndisks = 4\nlike = \"linux-md\"\nfailed = [0, 1]",
        14,
        "tolerates (the loss of one disk)",
    ),
    (
        "level = \"raid10\"\ndisks = 4\nlike = \"linux-md\"\nfailed = [0]\n[rebuild]",
        0,
        "RAID 5 or 6",
    ),
];

#[test]
fn what_does_not_go_with_it_is_refused() {
    for (array, line, expected) in GIVEN {
        match prepared(array) {
            Err(error) => {
                assert!(error.contains(expected), "{array}\n{error}");
                if line > 0 {
                    let (colon, word) = (format!(":{line}:"), format!("line {line}"));
                    assert!(
                        error.contains(&colon) || error.contains(&word),
                        "{array}\n{error}"
                    );
                }
            }
            Ok(_) => assert_eq!(expected, "", "{array}"),
        }
    }
}
