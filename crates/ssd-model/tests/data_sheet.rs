//! SSDs from data sheets: what follows from the figures, which contradict each other, and which the model cannot reach.

use iosonar_device::SheetFigure;
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError, Storage};

const SHEET: &str = "
description = \"an SSD\"
[from_data_sheet]
interface = \"pcie3-x4\"
cell = \"tlc\"
capacity_gb = 500
read_latency_us = 80
write_latency_us = 20
read_iops = { iops = 300_000, depth = 32, jobs = 2 }
write_iops = { iops = 250_000, depth = 32, jobs = 2 }
sequential_read = { mb_per_s = 2500 }
sequential_write = { mb_per_s = 1500 }
";

/// The sheet with other figures.
fn sheet(changes: &str) -> Result<SsdProfile, SsdProfileError> {
    let changes = format!("from_data_sheet = {{ {changes} }}");
    SsdProfile::parse(SHEET, "the sheet", &toml::from_str(&changes).unwrap())
}

fn figures(profile: &SsdProfile) -> Vec<SheetFigure> {
    profile.data_sheet_test().unwrap().unwrap()
}

fn not_reached(profile: &SsdProfile) -> Vec<String> {
    let figures = figures(profile).into_iter();
    let missed = figures.filter(|figure| !figure.is_reached());
    missed.map(|figure| figure.name).collect()
}

/// These changes make an error about a key, with these words.
fn assert_refused(changes: &str, key: &str, expected: &str) {
    let error = sheet(changes).unwrap_err().to_string();
    let names = format!("the sheet: 'ssd.from_data_sheet.{key}' is ");
    assert!(
        error.starts_with(&names) && error.contains(expected),
        "{changes}: {error}"
    );
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    for (changes, key, expected) in [
        (
            "sequential_read = { mb_per_s = 4500 }",
            "sequential_read.mb_per_s",
            "the rate of PCIe 3.0 x4",
        ),
        (
            "interface = \"sata\"",
            "sequential_read.mb_per_s",
            "1 to 600, the rate of SATA 6 Gb/s",
        ),
        (
            "read_iops = { iops = 900_000 }",
            "read_iops.iops",
            "the sequential rate in requests of 4 KiB",
        ),
        (
            "read_latency_us = 500",
            "read_iops.iops",
            "at most 128000, the rate of 64 outstanding requests (depth x jobs) with a latency of 500 us",
        ),
        (
            "write_iops = { iops = 400_000 }",
            "write_iops.iops",
            "the sequential rate in requests of 4 KiB",
        ),
        (
            "read_iops = { iops = 5000 }",
            "read_iops.iops",
            "at least 12500, the rate of one request at a time",
        ),
        (
            "read_latency_us = 4.5",
            "read_latency_us",
            "4.5, expected more than 10.28, the host and transfer",
        ),
        (
            "write_latency_us = 4.5",
            "write_latency_us",
            "4.5, expected more than 5.08, the host and transfer",
        ),
        // 5.08 us of the host, 20 commands at a time, and one in the cache.
        (
            "write_latency_us = 200",
            "write_latency_us",
            "200.0, expected at most 89.1, as a write completes in the cache, which takes 4.00 us",
        ),
        (
            "write_iops = { iops = 100_000, sustained = true }, over_provisioning = 0.3",
            "over_provisioning",
            "MB/s in sequential writes, not the 1500 of sequential_write",
        ),
        // 3 229 blocks, of which 3 226 are 77 % valid: 1 / (1 - v) where (1 - v) / -ln v is 0.77. Then of 2 505.
        (
            "write_iops = { iops = 100_000, sustained = true }, over_provisioning = 0.3",
            "over_provisioning",
            "a lower value, or none: at this value, cleaning programs 2.4 pages per random write",
        ),
        (
            "write_iops = { iops = 200_000, sustained = true }, over_provisioning = 0.01",
            "over_provisioning",
            "cleaning programs 58.5 pages per random write",
        ),
        // Less spare flash makes cleaning dearer: a lower value would not help.
        (
            "write_iops = { iops = 200_000, sustained = true }, over_provisioning = 0.01",
            "over_provisioning",
            "a higher value, or none",
        ),
    ] {
        assert_refused(changes, key, expected);
    }
}

#[test]
fn figures_that_no_such_drive_has_are_refused() {
    for (changes, key, expected) in [
        ("capacity_gb = 0.1", "capacity_gb", "1 to 1000000"),
        ("over_provisioning = 0.0", "over_provisioning", "0.01 to 5"),
        (
            "sequential_read = { mb_per_s = 0.9 }",
            "sequential_read.mb_per_s",
            "1 to 3938, the rate of PCIe 3.0 x4",
        ),
        (
            "sequential_write = { block_kib = 2 }",
            "sequential_write.block_kib",
            "4 to 65536",
        ),
        (
            "sequential_read = { depth = 0 }",
            "sequential_read.depth",
            "1 to 65536 outstanding requests on PCIe 3.0 x4",
        ),
        (
            "write_iops = { jobs = 5000 }",
            "write_iops.jobs",
            "1 to 4096",
        ),
        (
            "read_iops = { depth = 2048, jobs = 64 }",
            "read_iops.depth",
            "1 to 65536 outstanding",
        ),
        (
            "slc_cache_gb = 501, after_slc_mb_per_s = 500",
            "slc_cache_gb",
            "0.001 to 500",
        ),
        (
            "slc_cache_gb = 20, after_slc_mb_per_s = 0.5",
            "after_slc_mb_per_s",
            "at least 1 and less than sequential_write (1500)",
        ),
        (
            "after_slc_mb_per_s = 500",
            "slc_cache_gb",
            "must be given together",
        ),
        (
            "cell = \"3d-xpoint\", slc_cache_gb = 20, after_slc_mb_per_s = 500",
            "slc_cache_gb",
            "written in place",
        ),
        (
            "slc_cache_gb = 20",
            "after_slc_mb_per_s",
            "must be given together",
        ),
        (
            "slc_cache_gb = 20, after_slc_mb_per_s = 1500",
            "after_slc_mb_per_s",
            "less than",
        ),
        ("cell = \"3d-xpoint\", dram = false", "dram", "no page map"),
        (
            "cell = \"3d-xpoint\", over_provisioning = 0.1",
            "over_provisioning",
            "written in place",
        ),
        (
            "interface = \"sata\", sequential_read = { mb_per_s = 550 }, sequential_write = { mb_per_s = 520 }, \
             read_iops = { iops = 90_000, depth = 64, jobs = 1 }",
            "read_iops.depth",
            "1 to 32 outstanding requests on SATA 6 Gb/s",
        ),
    ] {
        assert_refused(changes, key, expected);
    }
}

#[test]
fn figures_may_contradict_each_other_by_rounding() {
    for (changes, beyond) in [
        // 1 000 MB/s are 244 140 requests of 4 KiB.
        (
            "sequential_read = { mb_per_s = 1000 }, read_iops = { iops = 256_000 }",
            "sequential_read = { mb_per_s = 1000 }, read_iops = { iops = 257_000 }",
        ),
        // 64 at a time, of 500 us.
        (
            "read_latency_us = 500, read_iops = { iops = 134_000 }",
            "read_latency_us = 500, read_iops = { iops = 135_000 }",
        ),
        // One at a time, of 80 us.
        (
            "read_iops = { iops = 11_910 }, write_iops = { iops = 60_000 }",
            "read_iops = { iops = 11_890 }, write_iops = { iops = 60_000 }",
        ),
    ] {
        assert!(sheet(changes).is_ok(), "{changes}");
        assert_refused(beyond, "read_iops.iops", "expected at ");
    }
    // Other writes than those of the latency.
    assert!(sheet("write_iops = { iops = 20_000, sustained = true }").is_ok());
    assert_refused(
        "write_iops = { iops = 20_000 }",
        "write_iops.iops",
        "at least 50000",
    );
}

#[test]
fn a_figure_that_the_model_cannot_reach_is_not_reached() {
    // Real drives read ahead; one request at a time waits for a page each time here.
    let profile = sheet("sequential_read = { depth = 1 }").unwrap();
    assert_eq!(not_reached(&profile), ["sequential reads of 128 KiB, QD 1"]);
}

#[test]
fn a_drive_without_dram_has_its_figures_within_its_map() {
    let profile = sheet("dram = false").unwrap();
    assert!(profile.mapping_cache.is_some());
    assert_eq!(not_reached(&profile), Vec::<String>::new());
}

#[test]
fn spare_room_follows_from_sustained_writes_or_program_times_from_both() {
    let derived = sheet("write_iops = { iops = 60_000, sustained = true }").unwrap();
    let over = derived.flash.as_ref().unwrap().over_provisioning;
    // 60,000 writes are 246 MB/s of the 1,500 and more that are programmed.
    assert!((0.05..0.15).contains(&over), "{over}");
    let given = sheet("write_iops = { iops = 60_000, sustained = true }, over_provisioning = 0.06");
    let given = given.unwrap();
    let program =
        |profile: &SsdProfile| profile.flash.as_ref().unwrap().program_us.clone().unwrap();
    assert!(program(&given) < program(&derived));
    for profile in [derived, given] {
        assert_eq!(not_reached(&profile), Vec::<String>::new());
    }
}

/// What a key of the profile was found to be.
fn found(profile: &SsdProfile, key: &str) -> f64 {
    let sheet = profile.data_sheet.as_ref().unwrap();
    let derivation = sheet.derivation();
    let found = derivation.iter().find(|d| d.key == key);
    found.unwrap_or_else(|| panic!("{key}")).value
}

fn assert_found(profile: &SsdProfile, expected: &[(&str, f64)]) {
    for &(key, value) in expected {
        let found = found(profile, key);
        assert!((found - value).abs() < 1e-6 * value, "{key}: {found}");
    }
}

#[test]
fn parameters_follow_from_the_figures() {
    let profile = sheet("").unwrap();
    let expected = [
        ("pcie.to_host_mb_per_s", 2_500.0),
        ("pcie.from_host_mb_per_s", 1_500.0),
        ("driver (per request)", 2.1),
        ("nvme.queues", 4.0),
        // Of the latency of reads the host, two setups of 0.1 us, 64 B of command, 16 B of completion and 4 KiB of data
        // take 3.987467 us, and command and data on the flash channel and at least 2 us in the die 6.296 us: that is
        // enough for 20.9 commands at a time. Of the writes' the host takes 5.079733 us: that is enough for 3.7.
        ("controller.commands", 3.0),
        ("controller.command_us", 10.0),
        ("controller.write_command_us", 12.0),
        // 2 x (2 500 + 1 500) / 8 is more than a channel of this generation has.
        ("flash.channels", 8.0),
        ("flash.channel_mb_per_s", 1_000.0),
        // What is left of the latencies.
        (
            "flash.read_us, on average",
            80.0 - 3.987_466_667 - 10.0 - 0.2 - 4.096,
        ),
        ("cache.access_us", 20.0 - 5.079_733_333 - 12.0),
        // 1.1 x 1 500 MB/s of pages of 16 KiB that take 660 us, 16.584 us on the channel and 1/128 of an erase keep 70.9
        // planes busy, of 8 x 4 for each die of a channel.
        ("flash.planes", 4.0),
        ("flash.dies", 3.0),
        // 317 892 pages of 16 KiB in each of 96 planes are 2 483 blocks, and 2 657 with 7 % more.
        ("flash.pages", 128.0),
        ("flash.over_provisioning", 0.07),
        ("flash.program_us", 660.0),
        ("cache.size, in MiB", 48.0),
    ];
    assert_found(&profile, &expected);
    let flash = profile.flash.as_ref().unwrap();
    assert_eq!((flash.channels, flash.dies, flash.planes), (8, 3, 4));
    assert_eq!((flash.blocks, flash.pages), (2_657, 128));
    let slots = 2_657.0 * 128.0 * 4.0;
    assert!((flash.over_provisioning - (slots / 1_271_568.5 - 1.0)).abs() < 1e-12);
    let capacity = Parameters::new(&profile).unwrap().capacity_sectors * 512;
    // All of it, and less than a page for each plane more.
    assert!((500_000_000_000..500_001_572_864).contains(&capacity));
    // Pages of these cells differ by as much as usual: 55, 75 and 95 us, with another mean.
    let mean = found(&profile, "flash.read_us, on average");
    let reads = flash.read_us.as_ref().unwrap();
    for (us, of_75) in reads.iter().zip([55.0, 75.0, 95.0]) {
        assert!((us - mean * of_75 / 75.0).abs() < 1e-9, "{reads:?}");
    }
    assert_eq!((profile.nvme.queues, profile.nvme.depth), (4, 1024));
}

#[test]
fn dies_suffice_for_the_reads_as_well() {
    let profile = sheet(
        "read_iops = { iops = 600_000 }, write_iops = { iops = 100_000 }, sequential_write = { mb_per_s = 600 }",
    );
    // 600 000 reads of 74.5 us keep 44.7 planes busy, and there are twice as many; the writes need 28.5.
    assert_found(&profile.unwrap(), &[("flash.dies", 3.0)]);
}

#[test]
fn small_drives_have_small_blocks_and_large_ones_an_end() {
    let of = |gb: u32| sheet(&format!("capacity_gb = {gb}"));
    // With blocks of 128 pages a plane of 96 would have 2 483, 149 and 50 of them.
    for (gb, pages) in [(500, 128.0), (30, 64.0), (10, 16.0)] {
        assert_found(&of(gb).unwrap(), &[("flash.pages", pages)]);
    }
    // 2^31 pages of 4 KiB on each of 96 planes, of which 1 / 1.07 hold data.
    let expected = "at most 789182 with 96 planes";
    assert_refused("capacity_gb = 1_000_000", "capacity_gb", expected);
}

#[test]
fn interfaces_have_their_channels_and_firmware() {
    for (interface, channels, rate) in [
        ("sata", 4.0, 400.0),
        ("pcie3-x4", 8.0, 800.0),
        ("pcie4-x4", 16.0, 1_200.0),
        ("pcie5-x4", 16.0, 2_400.0),
    ] {
        let figures = "cell = \"tlc\"\ncapacity_gb = 500\nread_iops = { iops = 60_000 }\nwrite_iops = { iops = 50_000 }\n\
             sequential_read = { mb_per_s = 400 }\nsequential_write = { mb_per_s = 320 }\n";
        let table = toml::from_str(&format!("interface = \"{interface}\"\n{figures}")).unwrap();
        let profile = SsdProfile::from_data_sheet(&table, "the sheet", &toml::Table::new());
        let profile = profile.unwrap();
        // The host and the setups, 64 B at 320 MB/s and 16 B at 400 MB/s, and 4 KiB at either rate.
        let host = 2.1 + 0.2 + 0.2 + 0.04;
        let is_sata = interface == "sata";
        let (read, write) = if is_sata { (20.0, 30.0) } else { (8.0, 12.0) };
        let expected = [
            ("flash.channels", channels),
            ("flash.channel_mb_per_s", rate),
            ("read latency", host + 10.24 + read + 75.0),
            ("write latency", host + 12.8 + write),
        ];
        assert_found(&profile, &expected);
        let pairs = (profile.nvme.queues, profile.nvme.depth);
        assert_eq!(pairs, if is_sata { (1, 32) } else { (4, 1024) });
    }
    // 2.5 x 1 000 000 requests of 2.1 us of CPU time.
    let fast = sheet(
        "interface = \"pcie4-x4\", read_iops = { iops = 1_000_000, depth = 64 }, sequential_read = { mb_per_s = 6000 }",
    );
    assert_found(&fast.unwrap(), &[("nvme.queues", 6.0)]);
}

#[test]
fn writes_are_as_fast_as_reads_while_there_are_spare_blocks() {
    let key = "random writes of a drive with spare blocks, per second";
    let sustained = "write_iops = { iops = 60_000, sustained = true }";
    let profile = sheet(sustained).unwrap();
    assert_found(&profile, &[(key, 300_000.0)]);
    // But not faster than those in sequence.
    let profile = sheet(&format!("{sustained}, read_iops = {{ iops = 500_000 }}")).unwrap();
    assert_found(&profile, &[(key, 1.5e9 / 4_096.0)]);
}

/// The random writes per second that cleaning leaves, with `fewer` blocks less in each plane: pages of victims are
/// valid with probability v, where the mean over all pages is (1 - v) / -ln v, and a block takes the programs, the reads
/// of its pages of which something is valid, the copies and an erase.
fn sustained_writes(profile: &SsdProfile, fewer: u32) -> f64 {
    let flash = profile.flash.as_ref().unwrap();
    let planes = f64::from(flash.channels * flash.dies * flash.planes);
    let (pages, channel) = (f64::from(flash.pages), flash.channel_mb_per_s);
    let mean = |times: &Option<Vec<f64>>| {
        let times = times.as_ref().unwrap();
        times.iter().sum::<f64>() / times.len() as f64
    };
    // The reserve and half of two open blocks hold nothing.
    let full = f64::from(flash.blocks - fewer) - 3.0;
    let share = (5e11 / (planes * 16_384.0)).ceil() / (full * pages);
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    for _ in 0..100 {
        let v = f64::midpoint(low, high);
        if (1.0 - v) / -f64::ln(v) < share {
            low = v;
        } else {
            high = v;
        }
    }
    let v = low;
    let program_us = mean(&flash.program_us) + 0.2 + 16_384.0 / channel;
    let read_us = (1.0 - (1.0 - v).powi(4)) * (mean(&flash.read_us) + 0.2);
    let page_us = program_us + read_us + 4.0 * v * 4_096.0 / channel;
    let block_us = pages * page_us + 3_500.0 + 0.2;
    // They wait for each other 3 % of the time.
    0.97 * planes * 4.0 * pages * (1.0 - v) * 1e6 / block_us
}

#[test]
fn sustained_writes_are_what_cleaning_leaves() {
    for iops in [20_000.0, 60_000.0, 120_000.0] {
        let writes = format!("write_iops = {{ iops = {iops}, sustained = true }}");
        let derived = sheet(&writes).unwrap();
        // As few blocks as suffice.
        let (enough, too_few) = (sustained_writes(&derived, 0), sustained_writes(&derived, 1));
        let over = derived.flash.as_ref().unwrap().over_provisioning;
        let found = found(&derived, "flash.over_provisioning");
        assert!((found - over).abs() < 1e-5, "{iops}: {found} {over}");
        assert!(
            enough >= iops && too_few < iops,
            "{iops}: {enough} {too_few}"
        );
    }
    for (iops, over) in [(40_000.0, 0.06), (60_000.0, 0.07)] {
        let writes = format!("write_iops = {{ iops = {iops}, sustained = true }}");
        let given = sheet(&format!("{writes}, over_provisioning = {over}")).unwrap();
        let sustained = sustained_writes(&given, 0);
        assert!((sustained / iops - 1.0).abs() < 1e-6, "{iops}: {sustained}");
        let blocks = given.flash.as_ref().unwrap().blocks;
        assert_eq!(blocks, (2_483.53 * (1.0_f64 + over)).round() as u32);
    }
}

#[test]
fn the_slc_cache_is_filled_as_much_faster_than_it_is_emptied() {
    let profile = sheet("slc_cache_gb = 20, after_slc_mb_per_s = 500").unwrap();
    // 20 GB at 1 500 - 500 MB/s last for 20 s, in which 30 GB are written, 10 of them past the cache.
    let limit = profile.limits.unwrap().write_mb_per_s.unwrap();
    assert_eq!((limit.baseline, limit.burst), (500.0, Some(1_500.0)));
    assert!((limit.burst_s().unwrap() - 20.0 * 1_000.0 / 1_500.0).abs() < 1e-9);
}

#[test]
fn memory_that_is_written_in_place_has_no_translation_layer() {
    let profile = sheet("cell = \"3d-xpoint\", read_latency_us = 12").unwrap();
    assert_eq!(profile.storage, Storage::Dram);
    assert!(profile.flash.is_none() && profile.cache.is_none());
    assert!(Parameters::new(&profile).unwrap().flash().is_none());
    // 8.0125 us of the latency of reads are left for two commands at a time, and 14.92 us of that of writes for three.
    let read = 12.0 - 3.987_466_667 - 2.0 / 0.3;
    let write = 20.0 - 5.079_733_333 - 2.0 * 4.0;
    let expected = [
        ("controller.commands", 2.0),
        ("controller.command_us", 2.0 / 0.3),
        ("controller.write_command_us", 8.0),
        ("dram.read_us", read),
        ("dram.write_us", write),
        // 1 500 MB/s of writes of 4 KiB keep 2.53 channels busy, and there are four times as many.
        ("dram.channels", 11.0),
    ];
    assert_found(&profile, &expected);
    let bytes = Parameters::new(&profile).unwrap().capacity_sectors * 512;
    assert_eq!(bytes, 500_000_000_000 / 4_096 * 4_096);
}

#[test]
fn values_of_the_profile_may_be_changed_after_the_derivation() {
    let changes = toml::from_str("controller = { commands = 2 }\nflash = { reserve = 5 }").unwrap();
    let profile = SsdProfile::parse(SHEET, "the sheet", &changes).unwrap();
    assert_eq!(profile.controller.commands, 2);
    assert_eq!(profile.flash.as_ref().unwrap().reserve, 5);
    assert!(profile.data_sheet.is_some());
    let keys: Vec<&str> = profile
        .data_sheet
        .unwrap()
        .derivation()
        .iter()
        .map(|d| d.key)
        .collect();
    for key in [
        "controller.commands",
        "flash.dies",
        "flash.over_provisioning",
        "cache.size, in MiB",
    ] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    let unknown = toml::from_str("from_data_sheet = { speed = 7 }").unwrap();
    let error = SsdProfile::parse(SHEET, "the sheet", &unknown)
        .unwrap_err()
        .to_string();
    assert!(error.contains("speed"), "{error}");
}

#[test]
fn a_sheet_that_is_accepted_makes_a_drive() {
    let mut random = Seed::new(3).stream("sheets", "figures");
    let mut accepted = 0;
    for _ in 0..16_000 {
        // Evenly spread orders of magnitude.
        let mut value = |low: f64, high: f64| low * (high / low).powf(random.uniform());
        let (reads, writes) = (value(1e2, 3e6), value(1e2, 3e6));
        let mut changes = format!(
            "capacity_gb = {}, read_latency_us = {}, write_latency_us = {}, read_iops = {{ iops = {reads}, depth = {} }}, \
             write_iops = {{ iops = {writes}, sustained = {} }}, sequential_read = {{ mb_per_s = {} }}, \
             sequential_write = {{ mb_per_s = {} }}",
            value(1.0, 1e5),
            value(2.0, 1e3),
            value(2.0, 1e3),
            value(1.0, 300.0) as u32,
            value(1.0, 4.0) > 2.0,
            value(50.0, 8_000.0),
            value(50.0, 8_000.0),
        );
        if value(1.0, 4.0) > 2.0 {
            changes += &format!(", over_provisioning = {}", value(0.01, 1.0));
        }
        let kind = value(1.0, 20.0) as usize;
        let interface = ["sata", "pcie3-x4", "pcie4-x4", "pcie5-x4"][kind % 4];
        let cell = ["slc", "mlc", "tlc", "qlc"][kind / 4 % 4];
        changes += &format!(", interface = \"{interface}\", cell = \"{cell}\"");
        match sheet(&changes) {
            Ok(profile) => {
                accepted += 1;
                let made = Parameters::new(&profile);
                assert!(made.is_ok(), "{changes}: {}", made.unwrap_err());
            }
            Err(error) => assert!(
                error
                    .to_string()
                    .starts_with("the sheet: 'ssd.from_data_sheet."),
                "{changes}: {error}"
            ),
        }
    }
    assert!(accepted > 150, "{accepted}");
}
