//! What the planners of Linux md know, recorded from the kernel itself: arrays in the lab (`tests/lab`), requests to
//! them one at a time, and what reaches their members. Where there is no lab, the tests say so and skip; the recording
//! in `crates/raid/tests/linux_md` is compared with the planners in any case, by that crate's tests.

mod scratch;

#[path = "../crates/raid/tests/linux_md/cases.rs"]
mod cases;
#[path = "lab/machine.rs"]
#[expect(dead_code, reason = "other scenarios need other machines")]
mod machine;

use std::fmt::Write;
use std::fs;

use cases::{Accesses, BURST, CASES, Case, MEMBER, REQUESTS};
use iosonar_trace::Op;
use machine::Machine;
use scratch::Scratch;

/// The most members of an array.
const MEMBERS: usize = 7;
/// The minor numbers of virtio disks are so far apart; the first two are not members.
const MINORS: usize = 16;
/// The members of bursts answer after 50 ms.
const BETWEEN_BURSTS_S: f64 = 0.2;
/// Where the superblock of a member is.
const SUPERBLOCK: u64 = 8;

/// Every third array: the emulated machine takes seconds to create one, and all are compared with the recording.
#[test]
fn the_kernel_does_what_the_planners_say() {
    let some: Vec<&Case> = CASES.iter().step_by(3).collect();
    let Some(seen) = record(&some, 100) else {
        return;
    };
    check(&some, &seen);
}

/// Writes the recording to the file `IOSONAR_MD_RECORDING`, if that is set; `zstd -19` makes the fixture of it.
#[test]
#[ignore = "1,000 requests to each of 41 arrays take seven minutes"]
fn the_kernel_does_what_the_planners_say_of_every_request() {
    let all: Vec<&Case> = CASES.iter().collect();
    let Some(seen) = record(&all, REQUESTS) else {
        return;
    };
    let mut recording = String::new();
    for (case, lines) in all.iter().zip(&seen) {
        writeln!(recording, "# {}\n{}", case.name, lines.join("\n")).unwrap();
    }
    if let Some(file) = std::env::var_os("IOSONAR_MD_RECORDING") {
        fs::write(file, recording).unwrap();
    }
    check(&all, &seen);
}

fn check(arrays: &[&Case], seen: &[Vec<String>]) {
    for (case, lines) in arrays.iter().zip(seen) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        cases::check(case, &lines);
    }
}

/// What the kernel does for the first requests of each case, a line each; `None` without a lab.
fn record(cases: &[&Case], requests: usize) -> Option<Vec<Vec<String>>> {
    let scratch = Scratch::new();
    // One processor waits for no other: with two, an emulated machine was seen to hang.
    let mut machine = Machine::new()?.qemu("-smp 1");
    let mut loads = String::new();
    for case in cases {
        let lost: Vec<String> = case.lost.iter().map(usize::to_string).collect();
        let (disks, rmw_level) = (case.disks, case.rmw_level);
        let (rotating, bursts) = (u8::from(case.rotating), u8::from(case.bursts));
        let (lost, options) = (lost.join(" "), case.mdadm());
        writeln!(
            loads,
            "case {disks} {rmw_level} {rotating} {bursts} {lost} | {options}"
        )
        .unwrap();
        for (number, request) in case.requests().iter().take(requests).enumerate() {
            let time = if case.bursts {
                (number / BURST) as f64 * BETWEEN_BURSTS_S
            } else {
                0.0
            };
            let op = if request.op == Op::Read { "R" } else { "W" };
            let (sector, sectors) = (request.sector.get(), request.sectors.get());
            writeln!(loads, "{time:.3} ; {sector} ; {sectors} ; {op}").unwrap();
        }
    }
    loads.extend(std::iter::repeat_n('\0', (4 << 20) - loads.len()));
    machine = machine.disk(&scratch.file("loads", loads), 4);
    let seen = scratch.path("seen");
    machine = machine.disk(&seen, 64);
    let member_mib = (MEMBER >> 11) as u32;
    for member in 0..MEMBERS {
        machine = machine.disk(&scratch.path(&format!("member{member}")), member_mib);
    }
    machine.run(&["linux_md"]);

    let seen = String::from_utf8(fs::read(seen).unwrap()).unwrap();
    let seen = seen.trim_end_matches('\0').split("case\n").skip(1);
    let seen: Vec<_> = seen
        .zip(cases)
        .map(|(seen, case)| lines(case, seen, requests))
        .collect();
    assert_eq!(seen.len(), cases.len());
    Some(seen)
}

/// The sub-requests of each request, from the trace of one array.
fn lines(case: &Case, seen: &str, requests: usize) -> Vec<String> {
    let mut of_requests: Vec<((char, u64, u64), Accesses)> = Vec::new();
    for line in seen.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: usize| fields[field].parse::<u64>().unwrap();
        let (major, minor) = fields[0].split_once(',').unwrap();
        let op = if fields[1].contains('W') { 'w' } else { 'r' };
        let (sector, sectors) = (number(2), number(3));
        if major == "9" {
            of_requests.push(((op, sector, sectors), Accesses::new()));
        } else if let Some((_, accesses)) = of_requests.last_mut()
            && sector != SUPERBLOCK
        {
            let minor = minor.parse::<usize>().unwrap();
            let member = if case.bursts {
                minor
            } else {
                minor / MINORS - 2
            };
            accesses.push(cases::access(op, member, sector, sectors));
        }
    }
    let requests = requests.min(case.requests().len());
    let before = of_requests
        .len()
        .checked_sub(requests)
        .expect("all requests reach the array");
    let (of_requests, expected) = (&of_requests[before..], case.requests());
    for (((op, sector, sectors), _), request) in of_requests.iter().zip(&expected) {
        let as_sent = if request.op == Op::Read { 'r' } else { 'w' };
        let (begin, length) = (request.sector.get(), u64::from(request.sectors.get()));
        assert_eq!(
            (*op, *sector, *sectors),
            (as_sent, begin, length),
            "{}",
            case.name
        );
    }
    let merged = of_requests
        .iter()
        .map(|(_, accesses)| cases::merged(accesses.clone()));
    merged.map(|accesses| cases::line_of(&accesses)).collect()
}
