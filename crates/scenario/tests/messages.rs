//! Messages about values that do not do: the value, what would do, and where.

use std::path::Path;

use iosonar_scenario::{Overrides, Prepared};

const TEXT: &str = "[load]\nrequests = 100\narrivals = { poisson_per_s = 10.0 }\nsize = { blocks = 1 }\n\
                    [array]\nlevel = 'raid1'\ndisks = 4\n[disk]\nprofile = 'seagate-st3500630ns'\n";

fn message(set: &[(&str, &str)]) -> String {
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    let prepared = Prepared::from_toml(TEXT, Path::new("x.toml"), &overrides);
    prepared.map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn the_least_and_the_most_are_those_of_the_level() {
    for (set, expected) in [
        (
            &[("array.disks", "4294967295")][..],
            "'array.disks' is 4294967295, expected 2 to 1024 for RAID 1",
        ),
        (
            &[("array.disks", "1")],
            "'array.disks' is 1, expected at least 2 for RAID 1",
        ),
        (
            &[
                ("array.level", "raid10"),
                ("array.copies", "3"),
                ("array.disks", "3000"),
            ],
            "'array.disks' is 3000, expected 3 to 1024 for RAID 10",
        ),
        (
            &[("array.level", "raid5"), ("array.groups", "2")],
            "'array.groups' is 2, expected no value, as 'groups' applies to RAID 50 and 60",
        ),
        (
            &[("array.level", "raid50"), ("array.groups", "1")],
            "'array.groups' is 1, expected at least 2",
        ),
        (
            &[("array.stripe_unit", "1TiB")],
            "'array.stripe_unit' is '1TiB', expected at most the size of a disk, 976773168 sectors of 512 B",
        ),
        (
            &[("array.stripe_unit", "2TiB")],
            "'array.stripe_unit' is '2TiB', expected less than 2 TiB, 2^32 sectors of 512 B",
        ),
        (
            &[("array.stripe_unit", "'1000'")],
            "'array.stripe_unit' is '1000', expected a whole number of sectors of 512 B",
        ),
    ] {
        let message = message(set);
        assert!(message.contains(expected), "{set:?}: {message}");
    }
}

#[test]
fn wrong_words_and_what_is_no_word_name_the_words() {
    for (key, words) in [
        ("array.level", &["raid0", "raid60", "concat"][..]),
        ("array.like", &["linux-md"]),
        ("array.mode", &["fork-join", "split-merge"]),
        ("array.placement", &["random", "addressed"]),
        ("array.join", &["writes-first", "disk-first"]),
        ("controller.like", &["none", "hba", "raid-card-1GiB-bbu"]),
        ("disk.scheduler", &["fcfs", "c-look", "sptf"]),
        ("disk.model", &["sampled", "positional"]),
        ("disk.zoning", &["time-per-sector-linear"]),
        ("load.beyond", &["refuse", "fit", "wrap", "clip"]),
    ] {
        for value in ["5", "true", "[1]", "{ a = 1 }"] {
            let message = message(&[(key, value)]);
            assert!(
                message.contains(&format!("'{key}' is ")) && message.contains("expected"),
                "{key} = {value}: {message}"
            );
            for word in words {
                assert!(
                    message.contains(&format!("\"{word}\"")),
                    "{key} = {value}: {message}"
                );
            }
        }
        let message = message(&[(key, "no-such-word")]);
        assert!(
            message.contains(&format!("'{key}' is \"no-such-word\"")),
            "{key}: {message}"
        );
        for word in words {
            assert!(message.contains(&format!("\"{word}\"")), "{key}: {message}");
        }
    }
    // In the file they are named with their line.
    let text = TEXT.replace("level = 'raid1'", "level = 1");
    let error = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("x.toml:6: ") && error.contains("one of \"raid0\""),
        "{error}"
    );
}
