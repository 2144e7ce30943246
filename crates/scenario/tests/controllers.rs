//! Kinds of controllers: what they set, what overrides it, and what is said about it.

use std::path::Path;

use iosonar_raid::Controller;
use iosonar_scenario::sensitivity::Choice;
use iosonar_scenario::{ControllerLike, Overrides, Prepared};
use iosonar_units::{Nanos, Sectors};

fn overrides(set: &[(&str, &str)]) -> Overrides {
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Overrides {
        set: set.collect(),
        ..Overrides::default()
    }
}

fn text(array: &str, controller: &str) -> String {
    format!(
        "[load]\nrequests = 100\narrivals = {{ poisson_per_s = 10.0 }}\nsize = {{ blocks = 1 }}\nread_share = 0.0\n\
         [array]\n{array}\n{controller}\n[disk]\nprofile = 'seagate-st3500630ns'\n"
    )
}

fn prepared(controller: &str) -> Result<Prepared, String> {
    let text = text("level = 'raid5'\ndisks = 4", controller);
    Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default())
        .map_err(|error| error.to_string())
}

fn controller(text: &str) -> Controller {
    prepared(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .array()
        .controller
}

/// The rate of a link or bus, from the time of its sectors.
fn mb_per_s(sector_ns: f64) -> f64 {
    512_000.0 / sector_ns
}

#[test]
fn a_kind_of_controller_gives_the_keys_their_defaults() {
    let none = Controller::default();
    assert_eq!(controller(""), none);
    assert_eq!(controller("[controller]\nlike = 'none'"), none);

    let hba = controller("[controller]\nlike = 'hba'");
    assert_eq!((hba.command, hba.cache), (Nanos::new(1_500), None));
    assert!((mb_per_s(hba.host_ns_per_sector) - 7877.0).abs() < 1e-9);
    assert!((mb_per_s(hba.bus_ns_per_sector) - 9600.0).abs() < 1e-9);

    let card = controller("[controller]\nlike = 'raid-card-1GiB-bbu'");
    assert_eq!(card.command, Nanos::new(6_500));
    let cache = card.cache.unwrap();
    assert_eq!(cache.capacity, Sectors::new(1 << 21));
    assert_eq!((cache.high, cache.low), (Sectors::new(0), Sectors::new(0)));

    // What is said explicitly holds, and nothing else changes.
    let other = controller(
        "[controller]\nlike = 'raid-card-1GiB-bbu'\ncommand_us = 50.0\nhost_mb_per_s = 3938.0\ncache = '512MiB'",
    );
    assert_eq!(other.command, Nanos::new(50_000));
    assert!((mb_per_s(other.host_ns_per_sector) - 3938.0).abs() < 1e-9);
    assert_eq!(other.cache.unwrap().capacity, Sectors::new(1 << 20));
    assert_eq!(other.bus_ns_per_sector, card.bus_ns_per_sector);
    let off = controller("[controller]\nlike = 'raid-card-1GiB-bbu'\ncache = '0'");
    assert_eq!(
        off,
        Controller {
            cache: None,
            ..card
        }
    );
}

#[test]
fn a_cache_of_whatever_controller_is_behind_a_command_and_a_link() {
    let card = controller("[controller]\nlike = 'raid-card-1GiB-bbu'");
    for like in ["", "like = 'none'\n"] {
        let cached = controller(&format!("[controller]\n{like}cache = '1GiB'"));
        assert_eq!(
            cached,
            Controller {
                bus_ns_per_sector: 0.0,
                ..card
            }
        );
    }
    let free = controller("[controller]\ncache = '1GiB'\ncommand_us = 0.0");
    assert_eq!(free.command, Nanos::ZERO);
    assert_eq!(free.host_ns_per_sector, card.host_ns_per_sector);
}

#[test]
fn the_explanation_says_what_is_of_the_kind_and_means_the_same() {
    for (given, of_the_kind, not) in [
        (
            "[controller]\nlike = 'raid-card-1GiB-bbu'\ncommand_us = 20.0",
            &[
                "host_mb_per_s = 7877.0",
                "bus_mb_per_s = 9600.0",
                "cache = ",
            ][..],
            &["command_us", "destage_above"][..],
        ),
        (
            "[controller]\nlike = 'hba'\nbus_mb_per_s = 4800.0",
            &["command_us = 1.5", "host_mb_per_s"],
            &["bus_mb_per_s"],
        ),
        (
            "[controller]\nlike = 'raid-card-1GiB-bbu'\ncache = '0'",
            &["command_us = 6.5"],
            &["cache = "],
        ),
    ] {
        let first = prepared(given).unwrap();
        let explained = first.explain();
        let line = |key: &str| {
            explained
                .lines()
                .find(|line| line.starts_with(key))
                .unwrap()
        };
        for key in of_the_kind {
            assert!(line(key).contains("of like = "), "{given}: {}", line(key));
        }
        for key in not {
            assert!(!line(key).contains("of like = "), "{given}: {}", line(key));
        }
        let again = Prepared::from_toml(&explained, Path::new("y.toml"), &Overrides::default());
        let again = again.unwrap_or_else(|e| panic!("{e}: {explained}"));
        assert_eq!(again.array().controller, first.array().controller);
        assert_eq!(again.explain(), explained);
    }
    let cached = prepared("[controller]\ncache = '64MiB'").unwrap().explain();
    assert!(
        cached.contains("from arrival to issue; default with a cache"),
        "{cached}"
    );
}

#[test]
fn what_does_not_go_with_a_controller_is_refused() {
    for (given, complaint) in [
        (
            "like = 'raid-card'",
            "expected one of \"none\", \"hba\", \"raid-card-1GiB-bbu\"",
        ),
        (
            "host_mb_per_s = 0.0",
            "x.toml:10: 'controller.host_mb_per_s' is 0, expected a rate",
        ),
        (
            "cache = '100'",
            "expected a size such as \"64MiB\", a whole number of sectors",
        ),
        (
            "like = 'hba'\ndestage_above = 0.5",
            "need a write-back cache",
        ),
        (
            "cache = '0'\ndestage_above = 0.5",
            "need a write-back cache",
        ),
    ] {
        let error = prepared(&format!("[controller]\n{given}")).unwrap_err();
        assert!(error.contains(complaint), "{given}: {error}");
    }
}

/// The alternative with another controller, and what it makes of the scenario.
fn other(text: &str, set: &[(&str, &str)]) -> Option<(ControllerLike, Prepared)> {
    let mut overrides = overrides(set);
    let path = Path::new("x.toml");
    let given = Prepared::from_toml(text, path, &overrides).unwrap();
    let mut all = given.alternatives().into_iter();
    let other = all.find(|of| matches!(of.choice, Choice::Controller(_)))?;
    let Choice::Controller(kind) = other.choice else {
        unreachable!("it was looked for");
    };
    overrides.alternative = Some(other);
    Some((kind, Prepared::from_toml(text, path, &overrides).unwrap()))
}

#[test]
fn another_controller_replaces_every_key_of_this_one() {
    let card = controller("[controller]\nlike = 'raid-card-1GiB-bbu'");
    let hba = controller("[controller]\nlike = 'hba'");
    let raid5 = |controller| text("level = 'raid5'\ndisks = 4", controller);
    // Without a table, with one, and with values that were set on the command line.
    let (kind, with) = other(&raid5(""), &[]).unwrap();
    assert_eq!(
        (kind, with.array().controller),
        (ControllerLike::RaidCard, card)
    );
    let (_, with) = other(
        &raid5("[controller]\ncommand_us = 9.0"),
        &[("controller.bus_mb_per_s", "5")],
    )
    .unwrap();
    assert_eq!(with.array().controller, card);
    let lazy = "[controller]\ncache = '64MiB'\ndestage_above = 0.5\ndestage_below = 0.2";
    let (kind, without) = other(&raid5(lazy), &[("controller.command_us", "7")]).unwrap();
    assert_eq!(
        (kind, without.array().controller),
        (ControllerLike::Hba, hba)
    );
    // Linux's software RAID is in the host.
    let md = text(
        "level = 'raid5'\ndisks = 4\nlike = 'linux-md'\nplacement = 'addressed'",
        "",
    );
    assert!(other(&md, &[]).is_none());
}
