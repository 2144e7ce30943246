//! What must hold between simulations, whatever their numbers: the two ways to compute the same one agree
//! to the bit, and a change of the system moves the result in the only possible direction.

use std::path::Path;

use iosonar_scenario::{Method, Overrides, Prepared, SimulationResult, Stability, Warmup};

const PROFILE: &str = "seagate-st3500630ns";

fn scenario(array: &str, load: &str, disk: &str) -> Prepared {
    let text = format!(
        "seed = 7\nreplications = 4\nwarmup_requests = 500\n[load]\nrequests = 10000\n{load}\n\
         [array]\n{array}\n[disk]\nprofile = '{PROFILE}'\n{disk}\n"
    );
    Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(array: &str, load: &str, disk: &str) -> SimulationResult {
    scenario(array, load, disk).run(2, None).unwrap()
}

fn poisson(per_s: f64, size: &str) -> String {
    format!("arrivals = {{ poisson_per_s = {per_s:?} }}\nsize = {{ {size} }}")
}

/// Everything that a result has, but for the time on the wall.
fn all_of(result: &SimulationResult) -> String {
    let mut result = result.clone();
    result.elapsed = std::time::Duration::ZERO;
    format!("{result:?}")
}

#[test]
fn with_events_and_without_is_the_same_to_the_bit() {
    let reads = &poisson(60.0, "geometric_mean_blocks = 3.0");
    let writes = &format!("{reads}\nread_share = 0.0");
    let mixed = &format!("{reads}\nread_share = 0.6\nbatch = {{ geometric_mean = 2.0 }}");
    let bursty = "arrivals = { phases = [{ per_s = 200.0, mean_s = 0.5 }, { per_s = 5.0, mean_s = 2.0 }] }\n\
                  size = { table = [{ blocks = 1, share = 0.7 }, { blocks = 6, share = 0.3 }] }";
    let classes = "[[load.class]]\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 2 }\n\
                   [[load.class]]\narrivals = { constant_per_s = 10.0 }\nsize = { blocks = 1 }\nread_share = 0.0";
    for (array, load) in [
        ("level = 'raid0'\ndisks = 5", mixed.as_str()),
        ("level = 'raid0'\ndisks = 5\nplacement = 'addressed'", mixed),
        (
            "level = 'raid0'\ndisks = 4\nmode = 'split-merge'",
            &poisson(20.0, "blocks = 6"),
        ),
        ("level = 'raid01'\ndisks = 4", mixed),
        (
            "level = 'raid01'\ndisks = 4\nmirror_read = 'random-per-block'",
            bursty,
        ),
        (
            "level = 'raid10'\ndisks = 6\nmirror_read = 'turns'\ncopies = 3",
            mixed,
        ),
        ("level = 'raid10'\ndisks = 6\nfailed = [2]", classes),
        ("level = 'raid1'\ndisks = 2", &poisson(40.0, "blocks = 1")),
        ("level = 'raid5'\ndisks = 4", reads),
        (
            "level = 'raid5'\ndisks = 4\nfailed = [1]",
            &poisson(20.0, "blocks = 2"),
        ),
        ("level = 'raid5'\ndisks = 4\nplacement = 'addressed'", reads),
        (
            "level = 'raid5'\ndisks = 4",
            &format!("{}\nread_share = 0.0", poisson(20.0, "blocks = 6")),
        ),
        (
            "level = 'raid6'\ndisks = 6",
            &format!("{}\nread_share = 0.5", poisson(20.0, "blocks = 4")),
        ),
        ("level = 'raid50'\ndisks = 8", reads),
        ("level = 'concat'\ndisks = 3", writes),
        ("level = 'jbod'\ndisks = 3", mixed),
    ] {
        let mut simulation = scenario(array, load, "");
        simulation = simulation.with_split(true);
        let short = simulation.run(1, None).unwrap();
        simulation = simulation.with_method(Method::Events);
        let long = simulation.run(2, None).unwrap();
        assert_eq!(all_of(&short), all_of(&long), "{array}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let load = &format!(
        "{}\nread_share = 0.3",
        poisson(15.0, "geometric_mean_blocks = 3.0")
    );
    let mut simulation = scenario("level = 'raid5'\ndisks = 5", load, "");
    simulation = simulation.with_replications(40).with_precision(Some(0.02));
    let one = simulation.run(1, None).unwrap();
    assert!(
        (10..40).contains(&one.replications),
        "it stops when it is precise enough"
    );
    assert!(one.mean_ms.half_width_95() <= 0.02 * one.mean_ms.mean);
    for threads in [2, 8] {
        assert_eq!(
            all_of(&one),
            all_of(&simulation.run(threads, None).unwrap())
        );
    }
}

#[test]
fn disks_with_a_choice_are_the_same_by_themselves_and_with_events() {
    let reads = &poisson(60.0, "geometric_mean_blocks = 3.0");
    let mixed = &format!("{reads}\nread_share = 0.6\nbatch = {{ geometric_mean = 2.0 }}");
    for (array, load, disk) in [
        ("level = 'raid01'\ndisks = 4", reads, "scheduler = 'rpo'"),
        ("level = 'raid10'\ndisks = 6", mixed, "scheduler = 'rpo'"),
        (
            "level = 'raid5'\ndisks = 4",
            reads,
            "scheduler = 'rpo'\nrpo_count = 'excluding'",
        ),
        (
            "level = 'raid0'\ndisks = 4\nplacement = 'addressed'",
            mixed,
            "model = 'positional'\nscheduler = 'sptf'\nqueue_depth = 8",
        ),
        (
            "level = 'raid5'\ndisks = 5\nplacement = 'addressed'",
            &poisson(150.0, "blocks = 2"),
            "model = 'positional'\nscheduler = 'look'",
        ),
    ] {
        let simulation = scenario(array, load, disk).with_split(true);
        let by_themselves = simulation.run(1, None).unwrap();
        let simulation = simulation.with_method(Method::Events);
        let with_events = simulation.run(2, None).unwrap();
        assert_eq!(all_of(&by_themselves), all_of(&with_events), "{array}");
    }
}

#[test]
fn one_run_is_the_same_on_any_number_of_threads() {
    let reads = &poisson(60.0, "geometric_mean_blocks = 8.0");
    let closed = "closed = { outstanding = 8 }\nsize = { blocks = 2 }".to_owned();
    for (array, load, disk) in [
        ("level = 'raid5'\ndisks = 16", reads, ""),
        ("level = 'raid10'\ndisks = 8", reads, "scheduler = 'rpo'"),
        (
            "level = 'raid0'\ndisks = 6\nplacement = 'addressed'",
            &poisson(200.0, "blocks = 2"),
            "model = 'positional'\nscheduler = 'sptf'",
        ),
        (
            "level = 'raid0'\ndisks = 4\nmode = 'split-merge'",
            &poisson(5.0, "blocks = 3"),
            "",
        ),
        ("level = 'raid0'\ndisks = 3", &closed, ""),
    ] {
        let mut simulation = scenario(array, load, disk).with_replications(1);
        simulation = simulation.with_split(true);
        let one = all_of(&simulation.run(1, None).unwrap());
        for threads in [2, 4] {
            let several = simulation.run(threads, None).unwrap();
            assert_eq!(one, all_of(&several), "{array} on {threads} threads");
        }
        let warmed_up = simulation.with_warmup(Warmup::Requests(4321));
        let one = all_of(&warmed_up.run(1, None).unwrap());
        assert_eq!(one, all_of(&warmed_up.run(2, None).unwrap()), "{array}");
    }
}

/// Asserts that the mean of `a` is not above that of `b`, but for chance.
fn assert_not_slower(a: &SimulationResult, b: &SimulationResult) {
    let off = (a.mean_ms.mean - b.mean_ms.mean) / a.mean_ms.stderr.hypot(b.mean_ms.stderr);
    assert!(off < 3.0, "{:?} against {:?}", a.mean_ms, b.mean_ms);
}

#[test]
fn more_disks_are_not_slower_where_a_block_is_a_request() {
    for level in ["raid0", "raid01"] {
        let of = |disks| {
            let array = format!("level = '{level}'\ndisks = {disks}");
            run(&array, &poisson(40.0, "blocks = 1"), "")
        };
        assert_not_slower(&of(4), &of(2));
        assert_not_slower(&of(8), &of(4));
    }
}

#[test]
fn rpo_is_not_slower() {
    for rate in [5.0, 20.0, 50.0] {
        let array = "level = 'raid01'\ndisks = 4";
        let load = &poisson(rate, "blocks = 4");
        let fcfs = run(array, load, "");
        assert_not_slower(&run(array, load, "scheduler = 'rpo'"), &fcfs);
    }
}

#[test]
fn a_failed_disk_does_not_make_reads_faster() {
    for array in [
        "level = 'raid5'\ndisks = 4",
        "level = 'raid6'\ndisks = 6",
        "level = 'raid10'\ndisks = 4",
        "level = 'raid50'\ndisks = 6",
    ] {
        let load = &poisson(15.0, "blocks = 2");
        let degraded = run(&format!("{array}\nfailed = [1]"), load, "");
        assert_not_slower(&run(array, load, ""), &degraded);
        assert_eq!(
            degraded.utilisation[1].mean, 0.0,
            "nothing goes to the lost disk"
        );
    }
}

#[test]
fn a_mirror_read_by_its_queue_is_not_slower_than_one_at_random() {
    let of = |read| {
        let array = format!("level = 'raid1'\ndisks = 2\nmirror_read = '{read}'");
        run(&array, &poisson(80.0, "blocks = 1"), "")
    };
    let (shorter, random) = (of("shorter-queue"), of("random"));
    assert!(shorter.mean_ms.mean + 5.0 * shorter.mean_ms.stderr < random.mean_ms.mean);
}

#[test]
fn what_the_controller_takes_is_added() {
    let array = "level = 'raid5'\ndisks = 4";
    let load = &format!("{}\nread_share = 0.0", poisson(1e-3, "blocks = 1"));
    let plain = run(array, load, "");
    let with = |controller: &str| run(array, load, &format!("[controller]\n{controller}"));
    // Nothing waits at this rate. Each request of one block is a read-modify-write: two pre-reads and two
    // writes; 3 units of 128 KiB go through the exclusive-or.
    let command = with("command_us = 500.0").mean_ms.mean - plain.mean_ms.mean;
    assert!((command - 0.5).abs() < 1e-4, "{command}");
    let xor = with("xor_ns_per_byte = 1.0").mean_ms.mean - plain.mean_ms.mean;
    assert!((xor - 3.0 * 131_072.0 / 1e6).abs() < 1e-4, "{xor}");
    // On the bus the pre-reads come one by one; the two writes go one behind the other.
    let unit_ms = 131_072.0 / 100e6 * 1e3;
    let bus = with("bus_mb_per_s = 100.0").mean_ms.mean - plain.mean_ms.mean;
    assert!(
        bus > 2.0 * unit_ms && bus < 4.0 * unit_ms,
        "{bus} against {unit_ms}"
    );
}

#[test]
fn writes_into_a_cache_are_complete_when_their_data_are_there_until_it_is_full() {
    let array = "level = 'raid5'\ndisks = 4";
    let load = &format!("{}\nread_share = 0.0", poisson(5.0, "blocks = 1"));
    let roomy = run(
        array,
        load,
        "[controller]\ncache = '1GiB'\ncommand_us = 100.0",
    );
    // The command, and 128 KiB over eight lanes of PCIe 3.0; the next may come meanwhile.
    assert_eq!(roomy.response_time.moments.min().unwrap().get(), 116_640);
    assert!(
        roomy.utilisation[0].mean > 0.05,
        "they come to the disks all the same"
    );
    let narrow = run(
        array,
        load,
        "[controller]\ncache = '256KiB'\ncommand_us = 100.0",
    );
    let none = run(array, load, "[controller]\ncommand_us = 100.0");
    assert!(narrow.mean_ms.mean > roomy.mean_ms.mean);
    assert!(narrow.mean_ms.mean < none.mean_ms.mean);
    let lazy = "[controller]\ncache = '64MiB'\ndestage_above = 0.8\ndestage_below = 0.2";
    let lazy = run(array, load, lazy);
    assert_eq!(lazy.response_time.count(), 40_000, "none is forgotten");
}

#[test]
fn a_rebuild_comes_to_its_end_and_takes_longer_under_load() {
    let array = "level = 'raid5'\ndisks = 4\nfailed = [2]\nplacement = 'addressed'";
    let rebuild = "[rebuild]\nstripes = 1000";
    let time = |per_s| {
        let result = run(array, &poisson(per_s, "blocks = 1"), rebuild);
        let done = &result.rebuild[0];
        assert_eq!((done.stripes, done.of), (1000, 3_815_520));
        assert!(result.utilisation[4].mean > 0.0, "the spare is written");
        let whole = done.time_to_rebuild().unwrap().as_secs_f64();
        let part = done.elapsed.as_secs_f64();
        assert!(
            (whole / part / 3815.52 - 1.0).abs() < 1e-9,
            "at the same pace"
        );
        part
    };
    let (idle, loaded) = (time(0.1), time(20.0));
    // Idle: the largest of three reads, then a write, about 19.2 + 16.1 ms.
    assert!((idle / 35.3 - 1.0).abs() < 0.02, "{idle}");
    assert!(loaded > 1.1 * idle, "{loaded}");
    let slow = format!("{rebuild}\nstripes_per_s = 10.0");
    let slow = run(array, &poisson(0.1, "blocks = 1"), &slow);
    let slow = slow.rebuild[0].elapsed.as_secs_f64();
    assert!((slow / 100.0 - 1.0).abs() < 0.01, "{slow}");
}

#[test]
fn a_closed_loop_of_one_has_no_queue_and_more_users_more_throughput() {
    let array = "level = 'raid0'\ndisks = 4";
    let of = |users: u32| {
        let load = format!(
            "closed = {{ outstanding = {users}, think_ms = 5.0 }}\nsize = {{ blocks = 1 }}"
        );
        run(array, &load, "")
    };
    let one = of(1);
    // One request at a time: the mean service time, 15.510578 ms.
    let off = (one.mean_ms.mean - 15.510_578) / one.mean_ms.stderr;
    assert!(off.abs() < 4.0, "{off}");
    // Little's law over the loop: N = X (R + Z).
    let users = one.throughput_per_s.mean * (one.mean_ms.mean + 5.0) / 1000.0;
    assert!((users - 1.0).abs() < 0.01, "{users}");
    let eight = of(8);
    assert_eq!(eight.most_in_flight, 8);
    assert!(eight.throughput_per_s.mean > 3.0 * one.throughput_per_s.mean);
}

#[test]
fn a_stream_of_reads_is_as_fast_whatever_the_scheduler_and_the_number_of_users() {
    let throughput = |scheduler: &str, users: u32, size: &str| {
        let text = format!(
            "[load]\nrequests = 2000\nclosed = {{ outstanding = {users} }}\nsize = \"{size}\"\n\
             addresses = {{ sequential_run = inf }}\n[array]\nlevel = \"raid0\"\ndisks = 1\n[disk]\nprofile = \"exos-x18\"\nscheduler = \"{scheduler}\"\n"
        );
        let scenario = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        let result = scenario.unwrap_or_else(|e| panic!("{e}")).run(1, None);
        result.unwrap().throughput_per_s.mean
    };
    for size in ["4KiB", "64KiB", "512KiB"] {
        let in_order = throughput("fcfs", 2, size);
        for scheduler in ["fcfs", "sstf", "look", "c-look", "sptf"] {
            for users in [2, 3, 8] {
                let found = throughput(scheduler, users, size);
                assert!(
                    (found / in_order - 1.0).abs() < 0.02,
                    "{size} {scheduler} {users}: {found}/s, in order {in_order}/s"
                );
            }
        }
    }
}

#[test]
fn times_scaled_by_1024_scale_the_mean() {
    let profile = |scale: f64| {
        format!(
            "description = 'x'\ncylinders = 60801\nrevolution_ms = {:?}\ncapacity_sectors = 976773168\n\
             [transfer]\noutermost_ms_per_sector = {:?}\ninnermost_ms_per_sector = {:?}\n\
             [seek.read]\ntrack_to_track_ms = {:?}\nfull_stroke_ms = {:?}\n\
             [seek.write]\ntrack_to_track_ms = {:?}\nfull_stroke_ms = {:?}\n",
            8.33 * scale,
            0.005_976 * scale,
            0.012_064 * scale,
            0.8 * scale,
            17.0 * scale,
            1.0 * scale,
            18.0 * scale
        )
    };
    let dir = std::env::temp_dir().join(format!("iosonar-relations-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mean = |scale: f64| {
        std::fs::write(dir.join("drive.toml"), profile(scale)).unwrap();
        let rate = 20.0 / scale;
        let text = format!(
            "seed = 3\n[load]\nrequests = 20000\narrivals = {{ poisson_per_s = {rate:?} }}\n\
             size = {{ blocks = 2 }}\nread_share = 0.5\n[array]\nlevel = 'raid5'\ndisks = 4\n\
             [disk]\nprofile = 'drive.toml'\n"
        );
        let path = dir.join("x.toml");
        let simulation = Prepared::from_toml(&text, &path, &Overrides::default()).unwrap();
        simulation.run(1, None).unwrap().mean_ms.mean
    };
    let ratio = mean(1024.0) / mean(1.0) / 1024.0;
    std::fs::remove_dir_all(&dir).unwrap();
    assert!((ratio - 1.0).abs() < 1e-5, "{ratio}");
}

#[test]
fn an_automatic_warm_up_leaves_out_the_beginning() {
    let load = &poisson(50.0, "blocks = 4");
    let mut simulation = scenario("level = 'raid01'\ndisks = 4", load, "");
    simulation = simulation.with_warmup(Warmup::Auto);
    let result = simulation.run(2, None).unwrap();
    assert_eq!(result.response_time.count(), 40_000);
    assert!(result.warmup_requests < 5_000, "{}", result.warmup_requests);
}

#[test]
fn the_offered_load_is_what_the_disks_then_do() {
    for (array, load) in [
        ("level = 'raid0'\ndisks = 4", poisson(20.0, "blocks = 4")),
        (
            "level = 'raid5'\ndisks = 4",
            poisson(20.0, "geometric_mean_blocks = 5.0"),
        ),
        (
            "level = 'raid10'\ndisks = 4",
            format!("{}\nread_share = 0.5", poisson(20.0, "blocks = 2")),
        ),
        (
            "level = 'raid5'\ndisks = 4\nfailed = [0]",
            poisson(10.0, "blocks = 2"),
        ),
    ] {
        let simulation = scenario(array, &load, "");
        let (offered, result) = (
            simulation.offered().unwrap(),
            simulation.run(2, None).unwrap(),
        );
        for (o, seen) in offered.iter().zip(&result.utilisation) {
            assert!(
                (o.upper - o.lower) < 1e-9,
                "{array}: nothing depends on the state"
            );
            let off = (seen.mean - o.lower).abs();
            assert!(
                off <= 5.0 * seen.stderr.hypot(o.stderr),
                "{array}, {o:?}: {}",
                seen.mean
            );
        }
    }
    // Where the work depends on the state, it lies between.
    let load = format!("{}\nread_share = 0.0", poisson(10.0, "blocks = 1"));
    for (array, disk) in [
        ("level = 'raid5'\ndisks = 4", ""),
        (
            "level = 'raid01'\ndisks = 4",
            "scheduler = 'rpo'\nrpo_most = 8",
        ),
    ] {
        let simulation = scenario(array, &load, disk);
        let (offered, result) = (
            simulation.offered().unwrap(),
            simulation.run(2, None).unwrap(),
        );
        for (o, seen) in offered.iter().zip(&result.utilisation) {
            assert!(
                o.lower < seen.mean && seen.mean < o.upper * 1.02,
                "{o:?}: {}",
                seen.mean
            );
        }
    }
    let flooded = scenario(
        "level = 'raid0'\ndisks = 4",
        &poisson(500.0, "blocks = 1"),
        "",
    );
    let (busiest, stability) = flooded.busiest().unwrap();
    assert!(busiest.lower > 1.5 && stability == Stability::Unstable);
    let fine = scenario(
        "level = 'raid0'\ndisks = 4",
        &poisson(200.0, "blocks = 1"),
        "",
    );
    assert_eq!(fine.busiest().unwrap().1, Stability::Stable);
    let load = format!("{}\nread_share = 0.0", poisson(30.0, "blocks = 1"));
    let doubtful = scenario("level = 'raid5'\ndisks = 4", &load, "");
    assert_eq!(doubtful.busiest().unwrap().1, Stability::Stable);
    let load = format!("{}\nread_share = 0.0", poisson(70.0, "blocks = 1"));
    let doubtful = scenario("level = 'raid5'\ndisks = 4", &load, "");
    assert_eq!(doubtful.busiest().unwrap().1, Stability::Doubtful);
}

#[test]
fn what_is_explained_means_the_same() {
    for (array, load, disk) in [
        ("level = 'raid5'\ndisks = 5\njoin = 'disk-first'", poisson(5.0, "geometric_mean_blocks = 3.0"), ""),
        (
            "level = 'raid10'\ndisks = 6\ncopies = 3\nfailed = [1]",
            "arrivals = { on_off = { per_s = 100.0, on_s = 0.5, off_s = 2.0, pareto_shape = 1.5 } }\n\
             size = { table = [{ blocks = 1, share = 0.5 }, { blocks = 3, share = 0.5 }] }\n\
             addresses = { hot = { space = 0.1, requests = 0.9 } }"
                .to_owned(),
            "scheduler = 'rpo'\nrpo_most = 16\nzoning = 'time-per-sector-linear'",
        ),
        (
            "level = 'raid60'\ndisks = 8\nplacement = 'addressed'\nlayout = 'right-asymmetric'",
            "closed = { outstanding = 3, think_ms = 1.5 }\nsize = { blocks = 2 }\nread_share = 0.4\n\
             addresses = { zipf = 0.8 }"
                .to_owned(),
            "[controller]\ncommand_us = 20.0\ncache = '32MiB'\ndestage_above = 0.5\nbus_mb_per_s = 320.0",
        ),
    ] {
        let simulation = scenario(array, &load, disk);
        let text = simulation.explain();
        let again = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.explain(), text);
        let (a, b) = (simulation.run(2, None).unwrap(), again.run(2, None).unwrap());
        assert_eq!(all_of(&a), all_of(&b), "{text}");
    }
}

#[test]
fn disks_of_an_array_may_differ() {
    // The same drive with half the revolution and half of all seeks.
    let quick = "description = 'quick'\ncylinders = 60801\nrevolution_ms = 4.165\n\
                 capacity_sectors = 500000000\n[transfer]\noutermost_ms_per_sector = 0.002988\n\
                 innermost_ms_per_sector = 0.006032\n[seek.read]\ntrack_to_track_ms = 0.4\n\
                 full_stroke_ms = 8.5\n[seek.write]\ntrack_to_track_ms = 0.5\nfull_stroke_ms = 9.0\n";
    let dir = std::env::temp_dir().join(format!("iosonar-others-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("quick.toml"), quick).unwrap();
    let of = |others: &str| {
        let text = format!(
            "replications = 4\n[load]\nrequests = 20000\n{}\n[array]\nlevel = 'raid0'\ndisks = 4\n\
             [disk]\nprofile = '{PROFILE}'\n{others}",
            poisson(1.0, "blocks = 1")
        );
        let path = dir.join("x.toml");
        Prepared::from_toml(&text, &path, &Overrides::default())
    };
    let one = of("[[disk.other]]\ndisks = [1]\nprofile = 'quick.toml'\n").unwrap();
    let (offered, result) = (one.offered().unwrap(), one.run(2, None).unwrap());
    let again = Prepared::from_toml(&one.explain(), &dir.join("y.toml"), &Overrides::default());
    let again = again.unwrap().run(2, None).unwrap();
    let wrong = of("[[disk.other]]\ndisks = [4]\nprofile = 'quick.toml'\n");
    std::fs::remove_dir_all(&dir).unwrap();
    // Three of four requests at 15.510578 ms, one at half of that (nothing waits at this rate).
    let off = (result.mean_ms.mean - 15.510_578 * 0.875) / result.mean_ms.stderr;
    assert!(off.abs() < 4.0, "{:?}", result.mean_ms);
    assert!((offered[1].lower / offered[0].lower - 0.5).abs() < 0.05);
    assert_eq!(all_of(&again), all_of(&result), "explained, it is the same");
    assert_eq!(
        one.array().disk_sectors(),
        500_000_000,
        "the smallest counts"
    );
    assert!(wrong.unwrap_err().to_string().contains("disks from 0 to 3"));
}
