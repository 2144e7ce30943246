//! What the engine for NVMe commands, polled completions and zones need, and the refusals where it is missing. The devices
//! themselves are in the lab. Where there is no root or no loop device, a test says so and skips.

mod scratch;

use std::process::Output;

use scratch::{Loop, Scratch, assert_refused, iosonar};

const WRITES: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; W\n";
const READS: &str = "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; R\n";

fn replay(scratch: &Scratch, load: &str, target: &std::path::Path, options: &[&str]) -> Output {
    let load = scratch.file("x.load", load);
    let mut command = iosonar();
    command.arg("replay").args(options);
    command.arg("--target").args([target, &load]);
    command.output().unwrap()
}

#[test]
fn commands_need_the_character_device_of_a_namespace() {
    let scratch = Scratch::new();
    let file = scratch.file("disk.img", vec![1; 1 << 20]);
    let options = ["--engine", "passthrough", "--no-direct"];
    let refused = replay(&scratch, READS, &file, &options);
    assert_refused(&refused, "--engine passthrough needs the character device");
    let refused = replay(&scratch, READS, "/dev/zero".as_ref(), &[]);
    assert_refused(
        &refused,
        "/dev/zero is a character device, but not that of an NVMe namespace",
    );
}

#[test]
fn a_device_without_poll_queues_is_refused_with_iopoll() {
    let scratch = Scratch::new();
    let backing = scratch.file("disk.img", vec![1; 1 << 20]);
    let Some(device) = Loop::over(&backing) else {
        return eprintln!("skipped: no loop device can be set up here");
    };
    let refused = replay(&scratch, READS, &device.0, &["--iopoll"]);
    assert_refused(&refused, "--iopoll needs poll queues");
    assert_refused(&refused, "nvme.poll_queues=2");
    let refused = replay(
        &scratch,
        READS,
        &device.0,
        &["--iopoll", "--engine", "sync"],
    );
    assert_refused(
        &refused,
        "--iopoll needs --engine io_uring, passthrough or auto",
    );
}

#[test]
fn zones_are_asked_for_only_where_there_are_some() {
    let scratch = Scratch::new();
    let file = scratch.file("disk.img", vec![0; 1 << 20]);
    for option in ["--zone-append", "--reset-zones"] {
        let options = ["--write", "--no-direct", option];
        let refused = replay(&scratch, WRITES, &file, &options);
        assert_refused(&refused, "has no zones that must be written sequentially");
    }
}
