//! Networked RAID against independent reference numbers, and its simulation against its analysis.
//!
//! Reference, part 4: demands, mean value analysis and bounds computed apart from this project.

use std::path::Path;

use iosonar_scenario::Overrides;
use iosonar_scenario::networked::{Lever, NetworkedRaid, Services, Structure};

const PAPER: &str = include_str!("../../../examples/networked-raid/paper.toml");

fn system(set: &[(&str, &str)]) -> NetworkedRaid {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    NetworkedRaid::from_toml(PAPER, Path::new("paper.toml"), &overrides).unwrap()
}

fn refused(set: &[(&str, &str)]) -> String {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    let refused = NetworkedRaid::from_toml(PAPER, Path::new("paper.toml"), &overrides);
    refused.unwrap_err().to_string()
}

#[track_caller]
fn near(seen: f64, told: f64, relative: f64) {
    assert!(
        (seen - told).abs() <= relative * told.abs() + 1e-12,
        "{seen} against {told}"
    );
}

/// What is set, and what comes out.
type Case = (&'static [(&'static str, &'static str)], [f64; 6]);

#[test]
#[allow(clippy::too_many_lines)] // A row a case.
fn every_reading_has_the_demands_and_the_response_times_of_the_reference() {
    // D_sum, D_max, R(1), R(5), R(20), R(50).
    let cases: [Case; 8] = [
        (
            &[],
            [
                119.980_621_931_101_18,
                24.953_491_2,
                119.980_621_931_101_2,
                196.279_131_240_538_3,
                529.826_131_664_435_9,
                1_259.175_529_889_164_9,
            ],
        ),
        (
            &[("jobs.operation", "read")],
            [
                80.097_016_653_095_24,
                16.635_701_28,
                80.097_016_653_095_24,
                130.955_219_660_338_03,
                353.251_877_866_732_85,
                839.458_703_527_302_8,
            ],
        ),
        (
            &[("jobs.operation", "read"), ("central.cache_hit", "0.5")],
            [
                40.213_303_248_422_62,
                8.317_850_64,
                40.213_303_248_422_62,
                65.634_160_396_712_02,
                176.679_402_680_172_25,
                419.740_080_507_243_8,
            ],
        ),
        (
            &[("raid.stations_of", "1")],
            [
                79.013_328_006_200_4,
                24.953_491_2,
                79.013_328_006_200_4,
                163.704_199_716_646_85,
                519.479_719_855_560_3,
                1_256.805_261_027_025,
            ],
        ),
        (
            &[("raid.division", "once")],
            [
                242.882_503_705_803_54,
                51.013_881_138_392_854,
                242.882_503_705_803_57,
                407.857_817_180_353_15,
                1_137.114_659_976_784_4,
                2_658.533_607_921_570_4,
            ],
        ),
        (
            &[("jobs.bytes", "200MiB")],
            [
                125.808_714_881_904_76,
                26.165_583_84,
                125.808_714_881_904_75,
                205.813_448_277_460_82,
                555.562_417_301_396_5,
                1_320.339_421_181_373_2,
            ],
        ),
        (
            &[("raid.stripe_unit", "16KB")],
            [
                121.149_127_790_476_17,
                24.953_491_2,
                121.149_127_790_476_19,
                197.951_739_181_142_47,
                531.129_437_965_713_1,
                1_259.479_101_340_996_7,
            ],
        ),
        (
            &[("network.mbit_per_s", "800.0")],
            [
                69.868_215_531_101_2,
                17.004_627_046_130_953,
                69.868_215_531_101_2,
                129.309_917_476_469_14,
                377.316_594_423_556_9,
                885.543_870_521_649_1,
            ],
        ),
    ];
    for (set, [sum, largest, alone, five, twenty, fifty]) in cases {
        let analysis = system(set).analyse().unwrap();
        near(analysis.sum_s, sum, 1e-9);
        near(analysis.bottleneck.seconds, largest, 1e-9);
        for (jobs, response) in [(1, alone), (5, five), (20, twenty), (50, fifty)] {
            near(analysis.points[jobs - 1].response_s, response, 1e-9);
        }
    }
}

#[test]
fn bounds_are_those_of_the_reference_with_and_without_think_time() {
    // N, asymptotic lower and upper, balanced lower and upper, mean value analysis, throughput.
    let without = [
        (
            5,
            124.767_456,
            599.903_109_655_506,
            159.974_162_574_801_6,
            219.794_586_731_101_2,
            0.025_473_925_671_051_32,
        ),
        (
            20,
            499.069_824,
            2_399.612_438_622_024,
            499.069_824,
            594.096_954_731_101_2,
            0.037_748_232_495_008_29,
        ),
    ];
    let thinking = [
        (
            5,
            119.980_621_931_101_2,
            599.903_109_655_506,
            146.641_547_024_997_44,
            210.719_257_640_552_7,
            0.021_295_783_307_813_29,
        ),
        (
            20,
            439.069_824,
            2_399.612_438_622_024,
            439.069_824,
            582.531_319_624_808_8,
            0.037_171_317_544_640_56,
        ),
        (
            50,
            1_187.674_56,
            5_999.031_096_555_06,
            1_187.674_56,
            1_330.593_605_633_186_6,
            0.039_662_335_567_433_725,
        ),
    ];
    for (set, rows) in [
        (&[][..], &without[..]),
        (&[("jobs.think_s", "60.0")], &thinking),
    ] {
        let analysis = system(set).analyse().unwrap();
        for &(jobs, low, high, balanced_low, balanced_high, throughput) in rows {
            let point = &analysis.points[jobs - 1];
            near(point.asymptotic.lower, low, 1e-9);
            near(point.asymptotic.upper, high, 1e-9);
            near(point.balanced.lower, balanced_low, 1e-9);
            near(point.balanced.upper, balanced_high, 1e-9);
            near(point.throughput_per_s, throughput, 1e-9);
        }
    }
}

#[test]
fn elasticities_are_those_of_the_reference() {
    // At 1 and at 20 jobs: of the exact response time, and of the lower bound at 20.
    let rows = [
        (Lever::NetworkAndNics, -0.477_337_8, -0.891_404_9, -1.0),
        (Lever::Network, -0.200_032_5, -0.360_633_0, 0.0),
        (Lever::CentralCpu, -0.079_814_3, -0.005_528_1, 0.0),
        (Lever::StorageCpu, -0.017_663_1, -0.000_493_8, 0.0),
        (Lever::DiskRate, -0.023_813_4, -0.005_744_8, 0.0),
        (Lever::DiskPositioning, 0.401_371_4, 0.096_828_4, 0.0),
        (Lever::CentralMisses, 0.997_253_0, 0.999_809_7, 1.0),
        (Lever::JobSize, 1.0, 1.0, 1.0),
    ];
    let system = system(&[]);
    let (one, twenty) = (
        system.elasticities(1).unwrap(),
        system.elasticities(20).unwrap(),
    );
    let of = |all: &[iosonar_scenario::networked::Elasticity], lever| {
        *all.iter().find(|e| e.lever == lever).unwrap()
    };
    for (lever, at_one, at_twenty, of_bound) in rows {
        let (a, b) = (of(&one, lever), of(&twenty, lever));
        assert!((a.of_response - at_one).abs() < 2e-7, "{lever:?} {a:?}");
        assert!((b.of_response - at_twenty).abs() < 2e-7, "{lever:?} {b:?}");
        assert!(
            (b.of_lower_bound - of_bound).abs() < 1e-6,
            "{lever:?} {b:?}"
        );
    }
    assert!(one.is_sorted_by(|a, b| a.of_response.abs() >= b.of_response.abs()));
}

#[test]
fn theory_needs_only_the_mean_of_think_times() {
    let with = |set: &[(&str, &str)]| system(set).analyse().unwrap().points[9].response_s;
    let exponential = with(&[("jobs.think_s", "60.0")]);
    for law in [
        "{ exponential_ms = 60000.0 }",
        "{ constant_ms = 60000.0 }",
        "{ weibull = { mean_ms = 60000.0, shape = 0.5 } }",
    ] {
        near(with(&[("jobs.think", law)]), exponential, 1e-9);
    }
    assert!((with(&[("jobs.think", "{ constant_ms = 9000.0 }")]) / exponential - 1.0).abs() > 0.1);
    let both = refused(&[
        ("jobs.think_s", "1.0"),
        ("jobs.think", "{ constant_ms = 1.0 }"),
    ]);
    assert!(
        both.contains("both 'jobs.think_s' and 'jobs.think'"),
        "{both}"
    );
    let wrong = refused(&[("jobs.think", "{ gamma = { mean_ms = 1.0, cv = -1.0 } }")]);
    assert!(wrong.contains("cv = -1"), "{wrong}");
}

#[test]
fn the_simulation_agrees_with_mean_value_analysis() {
    // Three standard errors; ten replications, so a t-test of 9 degrees of freedom fails once in 67.
    for (set, jobs) in [
        (&[][..], 1),
        (&[], 5),
        (&[], 20),
        (&[("jobs.think_s", "60.0")], 10),
        // Of the think times only the mean matters.
        (&[("jobs.think", "{ constant_ms = 60000.0 }")], 10),
        (
            &[("jobs.think", "{ gamma = { mean_ms = 60000.0, cv = 3.0 } }")],
            10,
        ),
        (
            &[("jobs.operation", "read"), ("central.cache_hit", "0.5")],
            5,
        ),
    ] {
        let system = system(set);
        let exact = &system.analyse().unwrap().points[jobs as usize - 1];
        let (exponential, serial) = (Services::Exponential, Structure::Serial);
        let seen = system.simulate(jobs, exponential, serial, 5_000).unwrap();
        for (estimate, told) in [
            (seen.response_s[0], exact.response_s),
            (seen.throughput_per_s[0], exact.throughput_per_s),
        ] {
            let off = (estimate.mean - told) / estimate.stderr;
            assert!(
                off.abs() < 3.0,
                "{set:?} {jobs}: {estimate:?} against {told}"
            );
        }
    }
}

#[test]
fn several_classes_share_the_stations_as_mean_value_analysis_says() {
    let text = PAPER.replace(
        "operation = \"write\"\nbytes = \"200MB\"\nmost = 50\nthink_s = 0.0",
        "[[jobs.class]]\nname = \"backup\"\noperation = \"read\"\nbytes = \"100MB\"\njobs = 3\n\
         [[jobs.class]]\nname = \"restore\"\noperation = \"write\"\nbytes = \"200MB\"\njobs = 2\nthink_s = 30.0",
    );
    let text = &text[..text.find("# What could be bought").unwrap()];
    let system =
        NetworkedRaid::from_toml(text, Path::new("two.toml"), &Overrides::default()).unwrap();
    let exact = system.analyse_classes().unwrap();
    let seen = system
        .simulate(5, Services::Exponential, Structure::Serial, 5_000)
        .unwrap();
    for (class, estimate) in exact.iter().zip(&seen.response_s) {
        assert!(class.is_exact);
        let off = (estimate.mean - class.response_s) / estimate.stderr;
        assert!(
            off.abs() < 3.0,
            "{}: {estimate:?} against {}",
            class.name,
            class.response_s
        );
        assert!((class.schweitzer_s / class.response_s - 1.0).abs() < 0.1);
    }
}

#[test]
fn a_lone_job_of_constant_services_takes_the_sum_of_its_demands_and_parallel_servers_less() {
    let system = system(&[]);
    let alone = system
        .simulate(1, Services::Realistic, Structure::Serial, 1_000)
        .unwrap();
    let estimate = alone.response_s[0];
    assert!(
        (estimate.mean - 119.980_62).abs() < 3.0 * estimate.stderr,
        "{estimate:?}"
    );
    // Central and network, and the slowest of three servers: disks vary by a hundredth of a second or so.
    let parallel = system
        .simulate(1, Services::Realistic, Structure::ForkJoin, 1_000)
        .unwrap();
    let once = 9.5762 + 24.9535 + 24.0 + 0.7064 + 2.7726 + 17.0046;
    assert!(
        (parallel.response_s[0].mean - once).abs() < 0.2,
        "{parallel:?}"
    );
    // Exponential services: exactly what the analysis says for one job.
    let exponential = system
        .simulate(1, Services::Exponential, Structure::ForkJoin, 20_000)
        .unwrap();
    let told = system.analyse().unwrap().points[0].fork_join_s;
    let estimate = exponential.response_s[0];
    assert!(
        (estimate.mean - told).abs() < 3.0 * estimate.stderr + 1e-4 * told,
        "{estimate:?} {told}"
    );
}

#[test]
fn the_same_seed_gives_the_same_simulation() {
    let system = system(&[]);
    let run = || {
        system
            .simulate(7, Services::Realistic, Structure::ForkJoin, 500)
            .unwrap()
    };
    assert_eq!(run(), run());
}

#[test]
fn upgrades_are_ranked_alone_and_within_a_budget() {
    let system = system(&[]);
    let purchases = |jobs, budget| {
        let overrides = Overrides::default();
        system
            .purchases(jobs, budget, PAPER, Path::new("paper.toml"), &overrides)
            .unwrap()
    };
    let alone = purchases(50, None);
    assert_eq!(alone.len(), 5);
    // At fifty jobs the network rules, and then the cache (the spec's second finding).
    assert_eq!(alone[0].upgrades, ["central cache, half of all hits"]);
    assert_eq!(alone[1].upgrades, ["Gigabit Ethernet"]);
    assert!(alone.iter().all(|p| p.saved_s >= 0.0));
    let both = purchases(50, Some(2500.0));
    assert_eq!(
        both[0].upgrades,
        ["Gigabit Ethernet", "central cache, half of all hits"]
    );
    assert!(
        both.iter()
            .all(|p| p.upgrades.len() == 1 || p.cost <= 2500.0)
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    for (set, words) in [
        (("central.cache_hit", "1.5"), "0 to 1"),
        (("central.cache_hit", "-0.1"), "0 to 1"),
        (("storage.cache_hit", "nan"), "0 to 1"),
        (("jobs.most", "0"), "1 to 10000"),
        (("network.mbit_per_s", "0.0"), "greater than 0"),
        (("raid.storage_servers", "2"), "3 to 1024"),
        (("raid.stripe_unit", "much"), "16KiB"),
        (("raid.levle", "raid5"), "did you mean 'level'"),
        // Which is a key of a scenario, in another table.
        (("central.scheduler", "look"), "is not a key, expected"),
    ] {
        let text = refused(&[set]);
        assert!(text.contains(words), "{set:?}: {text}");
    }
    let nothing = refused(&[
        ("central.cache_hit", "1.0"),
        ("central.cpu_ms_per_stripe_unit", "0.0"),
    ]);
    assert!(nothing.contains("need no station"), "{nothing}");
    let text = PAPER.replace(
        "cache_hit = 0.0\n\n[storage]",
        "cache_hit = 2.0\n\n[storage]",
    );
    let refused = NetworkedRaid::from_toml(&text, Path::new("paper.toml"), &Overrides::default());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("paper.toml:24: 'central.cache_hit' is 2"),
        "{refused}"
    );
}

#[test]
fn a_system_that_takes_no_time_is_refused() {
    let disk = "{ seek_ms = 0.0, latency_ms = 0.0, mb_per_s = 1e12 }";
    let fast = system(&[
        ("jobs.bytes", "'4KiB'"),
        ("central.cpu_ms_per_stripe_unit", "0.0"),
        ("central.cpu_ms_per_packet", "0.0"),
        ("storage.cpu_ms_per_stripe_unit", "0.0"),
        ("storage.cpu_ms_per_packet", "0.0"),
        ("storage.disk", disk),
        ("network.mbit_per_s", "1e12"),
    ]);
    let error = fast
        .simulate(1, Services::Exponential, Structure::Serial, 100)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the time of a job in nanoseconds is 0, expected at least 1"
    );
}
