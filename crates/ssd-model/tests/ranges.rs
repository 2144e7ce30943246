//! Values at the ends of their ranges make an SSD; beyond them they are refused, with the range.

use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError};

fn load(name: &str, changes: &str) -> Result<Parameters, SsdProfileError> {
    let changes: toml::Table = toml::from_str(changes).unwrap();
    let profile = SsdProfile::load(name, ".".as_ref(), &changes).unwrap();
    Parameters::new(&profile)
}

#[track_caller]
fn assert_taken(name: &str, changes: &[&str]) {
    for changes in changes {
        let made = load(name, changes);
        assert!(made.is_ok(), "{changes}: {}", made.unwrap_err());
    }
}

/// Each of these changes makes an error about a key, with these words.
#[track_caller]
fn assert_refused(name: &str, cases: &[(&str, &str, &str)]) {
    for (changes, key, expected) in cases {
        let error = match load(name, changes) {
            Ok(_) => panic!("{changes} is taken"),
            Err(error) => error.to_string(),
        };
        let names = format!("{name}: 'ssd.{key}' is ");
        assert!(
            error.starts_with(&names) && error.contains(expected),
            "{changes}: {error}"
        );
    }
}

#[test]
fn pages_are_whole_sectors_and_of_whole_logical_pages() {
    let name = "nvme-gen4-tlc";
    let page = "a multiple of 512 bytes up to 16MiB";
    let unit = "a multiple of 512 bytes up to 1MiB, with 1 to 64 units per page";
    assert_refused(
        name,
        &[
            ("flash = { page = \"0\" }", "flash.page", page),
            ("flash = { page = \"4000\" }", "flash.page", page),
            ("flash = { page = \"32MiB\" }", "flash.page", page),
            (
                "flash = { mapping_unit = \"0\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { mapping_unit = \"6KiB\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { mapping_unit = \"32KiB\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { page = \"1536\", mapping_unit = \"768\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { page = \"64KiB\", mapping_unit = \"512\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { page = \"4MiB\", mapping_unit = \"2MiB\" }",
                "flash.mapping_unit",
                unit,
            ),
            (
                "flash = { read_unwritten = true, map_unwritten = true, mapping_unit = \"4KiB\" }",
                "flash.map_unwritten",
                "false where mapping_unit is smaller",
            ),
            (
                "flash = { page = \"64KiB\", mapping_unit = \"64KiB\", partial_pages = true }",
                "flash.partial_pages",
                "more than 64 sectors",
            ),
            (
                "flash = { mapping_unit = \"4KiB\", reserve = 0 }",
                "flash.reserve",
                "2 or more where mapping_unit is smaller",
            ),
            (
                "flash = { mapping_unit = \"4KiB\" }\ncache = { size = \"0\" }",
                "flash.mapping_unit",
                "the size of a flash page, or an [ssd.cache]",
            ),
        ],
    );
    let whole = "flash = { mapping_unit = \"16KiB\", reserve = 0 }\ncache = { size = \"0\" }";
    assert_taken(
        name,
        &[
            "flash = { page = \"32KiB\", mapping_unit = \"512\", pages = 64 }",
            "flash = { page = \"1MiB\", mapping_unit = \"1MiB\" }",
            "flash = { page = \"32KiB\", mapping_unit = \"32KiB\", partial_pages = true }",
            whole,
        ],
    );
}

#[test]
fn flash_has_times_and_room() {
    let name = "nvme-gen4-tlc";
    let over = "from 0.0001 to 5; 0.15 means 15 %";
    assert_refused(
        name,
        &[
            (
                "flash = { over_provisioning = 5.1 }",
                "flash.over_provisioning",
                over,
            ),
            (
                "flash = { over_provisioning = 0.00009 }",
                "flash.over_provisioning",
                over,
            ),
            (
                "flash = { planes = 4, multi_plane = 3, parallelism = \"die\" }",
                "flash.multi_plane",
                "a divisor of flash.planes, which is 4",
            ),
            // 50 000 logical pages: more than 10^8 page writes.
            (
                "flash = { channels = 1, dies = 1, planes = 1, blocks = 1000, pages = 100, page = \"4KiB\", \
                 over_provisioning = 1.0, overwrites = 6001.0 }",
                "flash.overwrites",
                " (the work of 10^8 page writes; the write amplification is ",
            ),
            (
                "flash = { overwrites = -0.1 }",
                "flash.overwrites",
                "0 to 1e9",
            ),
            ("flash = { dies = 1025 }", "flash.dies", "1 to 1024"),
            ("flash = { channels = 0 }", "flash.channels", "1 to 1024"),
            ("flash = { planes = 65 }", "flash.planes", "1 to 64"),
            (
                "flash = { read_us = [] }",
                "flash.read_us",
                "times, or a value of flash.cell",
            ),
            (
                "flash = { read_us = [10.0, -1.0] }",
                "flash.read_us",
                "a time in microseconds",
            ),
            (
                "flash = { blocks = 4 }",
                "flash.blocks",
                "a plane with enough spare space (",
            ),
        ],
    );
    assert_taken(
        name,
        &[
            "flash = { over_provisioning = 5.0 }",
            "flash = { planes = 4, multi_plane = 2, parallelism = \"die\" }",
        ],
    );
    // Without a kind of cells to derive them from, all times are needed.
    let times = "read_us = [50.0]\nprogram_us = [500.0]\nerase_us = 3000.0\n";
    let flash = |times: &str| {
        format!(
            "storage = \"flash\"\n[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\n\
             page = \"4KiB\"\nchannel_mb_per_s = 1000.0\nover_provisioning = 0.5\n{times}"
        )
    };
    assert_taken("abstract", &[&flash(times), &flash("cell = \"qlc\"\n")]);
    for (line, key) in [
        ("read_us = [50.0]\n", "flash.read_us"),
        ("program_us = [500.0]\n", "flash.program_us"),
        ("erase_us = 3000.0\n", "flash.erase_us"),
    ] {
        let without = flash(&times.replace(line, ""));
        assert_refused("abstract", &[(&without, key, "a value of flash.cell")]);
    }
}

#[test]
fn quantiles_ascend_from_the_least_time_to_the_most() {
    let measured = |op: &str, quantiles: &str| {
        let text = "storage = \"measured\"\ncache = { size = \"0\" }\n[measured]\ncapacity = \"1GiB\"\nchannels = 4\n\
                    read_quantiles = [[0.0, 1.0], [1.0, 9.0]]\nwrite_quantiles = [[0.0, 1.0], [1.0, 9.0]]\n";
        text.replace(
            &format!("{op}_quantiles = [[0.0, 1.0], [1.0, 9.0]]"),
            &format!("{op}_quantiles = {quantiles}"),
        )
    };
    for op in ["read", "write"] {
        for quantiles in [
            "[]",
            "[[0.0, 5.0]]",
            "[[1.0, 5.0]]",
            // Not from the least to the most.
            "[[0.1, 5.0], [1.0, 9.0]]",
            "[[0.0, 5.0], [0.9, 9.0]]",
            // One of the two goes back.
            "[[0.0, 5.0], [0.5, 4.0], [1.0, 9.0]]",
            "[[0.0, 1.0], [0.6, 2.0], [0.5, 3.0], [1.0, 9.0]]",
            // No time, or too long a one.
            "[[0.0, -1.0], [1.0, 9.0]]",
            "[[0.0, 1.0], [1.0, 1.1e7]]",
        ] {
            let (text, key) = (measured(op, quantiles), format!("measured.{op}_quantiles"));
            let expected = "at least two pairs [probability, microseconds]";
            assert_refused("nvme-gen4-tlc", &[(&text, &key, expected)]);
        }
        for quantiles in [
            "[[0.0, 0.0], [1.0, 1e7]]",
            "[[0.0, 5.0], [1.0, 5.0]]",
            "[[0.0, 1.0], [0.5, 2.0], [0.5, 3.0], [1.0, 9.0]]",
        ] {
            assert_taken("nvme-gen4-tlc", &[&measured(op, quantiles)]);
        }
    }
}

#[test]
fn caches_have_room_for_what_stays_in_them() {
    // A plane, whose flash pages hold four logical ones: three wait for a fourth.
    let flash = "[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\npage = \"16KiB\"\n\
                 mapping_unit = \"4KiB\"\nover_provisioning = 0.5\n[cache]\n";
    let with = |cache: &str| format!("{flash}{cache}\n");
    let size = "for dirty and pinned data and a partial flash page per plane";
    let room = "more than a partial flash page per plane";
    assert_taken(
        "nvme-gen4-tlc",
        &[
            &with("size = \"16KiB\""),
            // Half of 16 pages are dirty, and with three more there is room for four; a quarter stays.
            &with("size = \"64KiB\"\ndestage_above = 0.5\ndestage_below = 0.5"),
            &with("size = \"64KiB\"\ndestage_above = 0.5\nhold_ms = 1.0\nhold_share = 0.25"),
            // 25 sectors, for 24 are those of three logical pages.
            &with("size = \"64KiB\"\nin_flight = \"12800\""),
        ],
    );
    let cases = [
        (with("size = \"12KiB\""), "cache.size", "at least 16 KiB "),
        (
            with("size = \"2KiB\""),
            "cache.size",
            "at least one logical page",
        ),
        (
            with("size = \"64KiB\"\ndestage_above = 0.85"),
            "cache.size",
            size,
        ),
        (
            with("size = \"64KiB\"\ndestage_above = 0.5\nhold_ms = 1.0\nhold_share = 0.35"),
            "cache.size",
            "at least 68 KiB ",
        ),
        (
            with("size = \"64KiB\"\ndestage_above = 0.4\ndestage_below = 0.5"),
            "cache.destage_below",
            "at most cache.destage_above",
        ),
        (
            with("size = \"64KiB\"\nin_flight = \"12KiB\""),
            "cache.in_flight",
            room,
        ),
    ];
    for (text, key, expected) in &cases {
        assert_refused("nvme-gen4-tlc", &[(text, key, expected)]);
    }
}

#[test]
fn hosts_have_queues_of_a_size() {
    assert_refused(
        "block-queue-gen2x4",
        &[
            (
                "block_queue = { ring = 100 }",
                "block_queue.ring",
                "a power of two",
            ),
            (
                "block_queue = { ring = 2097152 }",
                "block_queue.ring",
                "up to 2^20",
            ),
            ("block_queue = { block = 0 }", "block_queue.block", "1 to "),
            (
                "block_queue = { ring = 16, block = 17 }",
                "block_queue.block",
                "1 to 16, the size of the ring",
            ),
            (
                "block_queue = { block = 8, prefetch = 9 }",
                "block_queue.prefetch",
                "at most 8",
            ),
            (
                "block_queue = { block = 8, return = \"subsets\", subset = 9 }",
                "block_queue.subset",
                "1 to 8",
            ),
        ],
    );
    assert_taken(
        "block-queue-gen2x4",
        &[
            "block_queue = { ring = 1048576 }",
            "block_queue = { ring = 16, block = 16 }",
            "block_queue = { block = 8, prefetch = 8 }",
            "block_queue = { block = 8, return = \"subsets\", subset = 8 }",
            "block_queue = { block = 8, return = \"one-by-one\", subset = 9 }",
        ],
    );
    assert_refused(
        "nvme-gen4-tlc",
        &[
            ("nvme = { queues = 4097 }", "nvme.queues", "1 to 4096"),
            ("nvme = { depth = 65537 }", "nvme.depth", "1 to 65536"),
            (
                "nvme = { queues = 2, arbitration = \"weighted\", weights = [1] }",
                "nvme.weights",
                "2 weights of at least 1",
            ),
            (
                "nvme = { queues = 2, arbitration = \"weighted\", weights = [1, 0] }",
                "nvme.weights",
                "2 weights of at least 1",
            ),
            (
                "nvme = { most_transfer = \"2KiB\" }",
                "nvme.most_transfer",
                "4KiB to 512MiB",
            ),
            (
                "nvme = { most_transfer = \"512MiB\" }",
                "nvme.most_transfer",
                "4KiB to 512MiB",
            ),
        ],
    );
    assert_taken("nvme-gen4-tlc", &["nvme = { most_transfer = \"4KiB\" }"]);
}

#[test]
fn storage_is_that_of_the_interface_and_has_a_table() {
    let dram = "storage = \"dram\"\ncache = { size = \"0\" }\n";
    let table = "dram = { channels = 1, read_us = 1.0, write_us = 1.0, capacity = ";
    let of = |capacity: &str| format!("{dram}{table}\"{capacity}\" }}");
    assert_taken("nvme-gen4-tlc", &[&of("4KiB"), &of("511TiB")]);
    let capacity = "at least 4 KiB and less than 512 TiB";
    for size in ["2KiB", "512TiB"] {
        assert_refused("nvme-gen4-tlc", &[(&of(size), "dram.capacity", capacity)]);
    }
    let map = format!(
        "{}\nmapping_cache = {{ entries = 8, entries_per_page = 8, read_bytes = 512 }}",
        of("1GiB")
    );
    let cached = of("1GiB").replace("\"0\"", "\"1MiB\"");
    let whole = "interface = \"block-queue\" with whole blocks and no prefetch";
    assert_refused(
        "nvme-gen4-tlc",
        &[
            (dram, "storage", "an [ssd.dram] table as well"),
            (
                "storage = \"measured\"",
                "storage",
                "an [ssd.measured] table",
            ),
            (&map, "mapping_cache", "needs storage = \"flash\""),
            (&cached, "cache", "a cache needs storage = \"flash\""),
        ],
    );
    let measured = "storage = \"measured\"\n[measured]\ncapacity = \"1GiB\"\nchannels = 4\n\
                    read_quantiles = [[0.0, 1.0], [1.0, 9.0]]\nwrite_quantiles = [[0.0, 1.0], [1.0, 9.0]]\n";
    assert_refused(
        "abstract",
        &[
            ("interface = \"nvme\"", "storage", whole),
            ("block_queue = { prefetch = 1 }", "storage", whole),
            (
                "block_queue = { return = \"one-by-one\" }",
                "storage",
                whole,
            ),
            (
                "exponential = { mean_us = 0.0 }",
                "exponential.mean_us",
                "0.001 to 1e7",
            ),
            (measured, "storage", "interface = \"nvme\""),
        ],
    );
    // What is there but not used is checked as well.
    let unused = "exponential = { mean_us = -1.0, capacity = \"1GiB\" }";
    assert_refused(
        "nvme-gen4-tlc",
        &[
            (unused, "exponential.mean_us", "a time"),
            (
                "dram = { channels = 1, read_us = -1.0, write_us = 1.0, capacity = \"1GiB\" }",
                "dram.read_us",
                "a time",
            ),
            (
                "dram = { channels = 1, read_us = 1.0, write_us = 1.1e7, capacity = \"1GiB\" }",
                "dram.write_us",
                "0 to 1e7",
            ),
        ],
    );
}

#[test]
fn times_rates_and_probabilities_have_ends() {
    assert_refused(
        "nvme-gen4-tlc",
        &[
            (
                "driver = { submit_us = -0.1 }",
                "driver.submit_us",
                "0 to 1e7",
            ),
            (
                "controller = { commands = 0 }",
                "controller.commands",
                "1 to 65536",
            ),
            (
                "controller = { error_probability = 1.1 }",
                "controller.error_probability",
                "0 to 1",
            ),
            (
                "controller = { write_command_us = -1.0 }",
                "controller.write_command_us",
                "0 to 1e7",
            ),
            (
                "pcie = { data_engines = 0 }",
                "pcie.data_engines",
                "1 to 1024",
            ),
            (
                "pcie = { to_host_mb_per_s = 0.9 }",
                "pcie.to_host_mb_per_s",
                "at least 1",
            ),
        ],
    );
    assert_taken(
        "nvme-gen4-tlc",
        &[
            "driver = { submit_us = 1e7 }",
            "controller = { error_probability = 1.0 }",
            "pcie = { to_host_mb_per_s = 1.0 }",
        ],
    );
}
