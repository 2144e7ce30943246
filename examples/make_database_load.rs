//! Makes `fixtures/database-server.load.gz`: a load with the character of a database server.
//!
//! ```sh
//! cargo run --release --example make_database_load -- fixtures/database-server.load.gz
//! ```
//!
//! Five minutes on half a gigabyte, from five kinds of activity, each with random streams of its
//! own:
//!
//! - queries: reads of 8 and 16 KiB pages; three of four go to a hot twentieth of the data; they
//!   come at a rate that jumps between quiet and busy;
//! - the log: small synchronous writes one behind the other, two to six commits a burst;
//! - checkpoints: every 45 s some hundred dirty pages within two seconds, in ascending order;
//! - a report: now and then a table is read from end to end in pieces of 128 KiB;
//! - a backup, once: large reads, one behind the other.

use iosonar::sim_core::{Seed, Stream};
use iosonar::trace::{Batch, Flags, Metadata, Op, Record, Request, output};
use iosonar::units::{Nanos, Sector, Sectors};

const END_S: f64 = 300.0;
/// 512 MiB: the log lies in the first 32, tables in the rest.
const LOG_SECTORS: u64 = 1 << 16;
const ALL_SECTORS: u64 = 1 << 20;

fn request(start_s: f64, sector: u64, sectors: u32, op: Op, flags: Flags) -> Request {
    Request {
        start: Nanos::from_secs_f64(start_s),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op,
        flags,
        ..Request::default()
    }
}

/// A page of `sectors` somewhere in the tables, hot three times out of four.
fn page(address: &mut Stream, sectors: u64) -> u64 {
    let pages = (ALL_SECTORS - LOG_SECTORS) / sectors;
    let page = if address.chance(0.75) {
        // The hot twentieth lies in eight places, as the upper levels of indexes do.
        let island = address.below(8) * (pages / 8);
        island + address.below(pages / 160)
    } else {
        address.below(pages)
    };
    LOG_SECTORS + page * sectors
}

fn queries(seed: &Seed, all: &mut Vec<Request>) {
    let mut arrival = seed.stream("queries", "arrival");
    let mut mood = seed.stream("queries", "mood");
    let mut address = seed.stream("queries", "address");
    let mut size = seed.stream("queries", "size");
    let (mut t, mut until, mut busy) = (0.0, 0.0, false);
    loop {
        if t >= until {
            busy = !busy;
            until = t + mood.standard_exponential() * if busy { 3.0 } else { 9.0 };
        }
        t += arrival.standard_exponential() / if busy { 110.0 } else { 24.0 };
        if t > END_S {
            return;
        }
        let sectors = if size.chance(0.7) { 32 } else { 16 };
        let sector = page(&mut address, sectors);
        all.push(request(t, sector, sectors as u32, Op::Read, Flags::NONE));
    }
}

fn log(seed: &Seed, all: &mut Vec<Request>) {
    let mut arrival = seed.stream("log", "arrival");
    let mut size = seed.stream("log", "size");
    let (mut t, mut sector) = (0.0, 0);
    loop {
        t += arrival.standard_exponential() / 4.0;
        for commit in 0..=size.geometric(2.0).min(5) {
            let sectors = 8 * size.geometric(1.8).min(8);
            if sector + sectors > LOG_SECTORS {
                sector = 0;
            }
            let at = t + commit as f64 * 0.004;
            if at > END_S {
                return;
            }
            all.push(request(at, sector, sectors as u32, Op::Write, Flags::SYNC));
            sector += sectors;
        }
    }
}

fn checkpoints(seed: &Seed, all: &mut Vec<Request>) {
    let mut count = seed.stream("checkpoint", "count");
    let mut address = seed.stream("checkpoint", "address");
    let mut begin = 45.0;
    while begin < END_S {
        let mut pages: Vec<u64> = (0..240 + count.below(160))
            .map(|_| page(&mut address, 32))
            .collect();
        pages.sort_unstable();
        pages.dedup();
        let step = 2.0 / pages.len() as f64;
        for (i, sector) in pages.into_iter().enumerate() {
            let t = begin + i as f64 * step;
            all.push(request(t, sector, 32, Op::Write, Flags::NONE));
        }
        begin += 45.0;
    }
}

/// `pieces` sequential reads of `sectors` from `first` on, `per_s` a second.
fn scan(begin_s: f64, per_s: f64, pieces: u64, sectors: u32, first: u64, all: &mut Vec<Request>) {
    for i in 0..pieces {
        let sector = first + i * u64::from(sectors);
        let flags = if i == 0 {
            Flags::NONE
        } else {
            Flags::READ_AHEAD
        };
        let t = begin_s + i as f64 / per_s;
        all.push(request(t, sector, sectors, Op::Read, flags));
    }
}

fn main() {
    let path = std::env::args()
        .nth(1)
        .expect("usage: make_database_load OUT");
    let seed = Seed::new(2026);
    let mut all = Vec::new();
    queries(&seed, &mut all);
    log(&seed, &mut all);
    checkpoints(&seed, &mut all);
    for (begin, first) in [
        (30.0, 100_000),
        (92.0, 400_000),
        (150.5, 700_000),
        (228.0, 300_000),
    ] {
        scan(begin, 90.0, 400, 256, first, &mut all);
    }
    scan(262.0, 40.0, 1000, 1024, LOG_SECTORS / 2, &mut all);
    all.retain(|r| r.end().get() <= ALL_SECTORS);
    all.sort_by_key(|r| r.start);

    let notices = [
        "A load with the character of a database server, made by the iosonar project.",
        "Made with: cargo run --release --example make_database_load",
        "Licence: MIT OR Apache-2.0",
    ];
    let metadata = Metadata {
        notices: notices.map(str::to_owned).to_vec(),
        ..Metadata::default()
    };
    let mut writer = output::create(path.as_ref(), &metadata).expect("the output can be created");
    for chunk in all.chunks(Batch::ROWS) {
        let mut batch = Batch::default();
        for &request in chunk {
            batch.push(&Record {
                request,
                ..Record::default()
            });
        }
        writer.write(&batch).expect("the output can be written");
    }
    writer.finish().expect("the output can be completed");
    println!("{} requests", all.len());
}
