//! What an SSD takes before the first request. Memory is that of the process, so no other test runs beside this one.

mod bench;

use std::sync::Arc;

use bench::parameters;
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{AnySsd, Parameters};

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    4096 * pages
}

/// How much memory SSDs take that are just made, each.
fn taken(p: &Arc<Parameters>, ssds: u64) -> u64 {
    let before = resident();
    let made: Vec<_> = (0..ssds)
        .map(|n| AnySsd::new(p, &Seed::new(1), &format!("ssd/{n}")).unwrap())
        .collect();
    let taken = resident().saturating_sub(before);
    // What is freed would be used again for the next ones.
    std::mem::forget(made);
    taken / ssds
}

#[test]
fn an_ssd_takes_no_more_memory_than_it_says() {
    let small = "[flash]\nchannels = 2\ndies = 2\nplanes = 2\nblocks = 2048\npages = 64\npage = \"4KiB\"\n\
                 mapping_unit = \"4KiB\"\nover_provisioning = 0.28\n";
    let steady = &format!("{small}precondition = \"steady-state\"\n");
    let overwritten = &format!("{small}overwrites = 0.02\n");
    let old = &format!("{small}read_disturb_limit = 1000\nretention_h = 100\nreserve = 4\n");
    let ring = "[block_queue]\nring = 1048576\nblock = 1048576\n";
    let queues = "[nvme]\nqueues = 4096\n";
    let channels = "storage = \"dram\"\ncache = { size = \"0\" }\n\
                    dram = { capacity = \"1GiB\", channels = 4096, read_us = 5.0, write_us = 7.0 }\n";
    // Zeros are not there until they are written to. Where nearly all of it is, it says not much more than it takes.
    for (profile, changes, ssds, written) in [
        ("abstract", "", 64, true),
        ("abstract", ring, 2, false),
        ("nvme-gen4-tlc", small, 64, false),
        ("nvme-gen4-tlc", steady, 64, false),
        ("nvme-gen4-tlc", overwritten, 16, true),
        ("nvme-gen4-tlc", old, 64, false),
        ("nvme-gen4-tlc", queues, 8, false),
        ("nvme-gen4-tlc", channels, 64, true),
        ("nvme-gen4-tlc", "", 1, false),
        (
            "intel-d7",
            "flash = { precondition = \"steady-state\" }",
            1,
            false,
        ),
        ("mqsim-default", "", 2, false),
    ] {
        let p = parameters(profile, changes);
        let says = p.bytes_at_start().total();
        let taken = taken(&p, ssds);
        // The allocator takes memory in pieces of 128 KiB.
        let about = says + says / 50 + 256 * 1024 / ssds;
        assert!(
            taken <= about,
            "{profile}, {changes}: {taken} B, says {says}"
        );
        let least = if written { says / 2 } else { says / 8 };
        assert!(
            taken + 65_536 >= least,
            "{profile}, {changes}: {taken} B, says {says}"
        );
    }
}
