//! A RAID level of one's own over the built-in disks: every block on three of the disks in a row
//! ("chained declustering" with three copies), read from the one with the shortest queue.
//!
//! `cargo run --release --example custom_topology`

use std::convert::Infallible;
use std::path::Path;

use iosonar::device::{Access, Observable, Station};
use iosonar::disk_model::{DiskLaws, DiskProfile, SampledDisk};
use iosonar::raid::rules::Rules;
use iosonar::raid::{Array, Completion, CompletionSink, Planner, RequestPlan, RequestSource};
use iosonar::sim_core::Seed;
use iosonar::stats::Distribution;
use iosonar::trace::{Op, Request};
use iosonar::units::{Sector, Sectors};
use iosonar::workload::{Addresses, ArrivalLaw, Batch, Shape, Size, SyntheticLoad, Workload};

const UNIT: u64 = 256;
const COPIES: usize = 3;

/// Block k has its copies on the disks k, k + 1 and k + 2, modulo the number of disks.
struct Chained {
    disks: usize,
    shortest: bool,
}

impl Planner for Chained {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let access = match request.op {
            Op::Read => Access::Read,
            _ => Access::Write,
        };
        let (first, last) = (
            request.sector.get() / UNIT,
            (request.end().get() - 1) / UNIT,
        );
        for block in first..=last {
            let copies = (0..COPIES).map(|copy| (block as usize + copy) % self.disks);
            let sector = Sector::new(block / self.disks as u64 * UNIT);
            let sectors = Sectors::new(UNIT as u32);
            let jobs = |&disk: &usize| devices[disk].occupancy().jobs();
            match access {
                Access::Write | Access::Discard | Access::Flush => {
                    copies.for_each(|disk| plan.add(disk, sector, sectors));
                }
                Access::Read => {
                    let mut copies = copies;
                    let chosen = if self.shortest {
                        copies.min_by_key(jobs)
                    } else {
                        copies.next()
                    };
                    plan.add(chosen.expect("there are copies"), sector, sectors);
                }
            }
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.disks
    }

    fn data_sectors(&self) -> u64 {
        1 << 30
    }
}

/// So many requests of a load.
struct First(std::iter::Take<SyntheticLoad>);

impl RequestSource for First {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        Ok(self.0.next())
    }
}

#[derive(Default)]
struct Times(Distribution);

impl CompletionSink for Times {
    type Error = Infallible;

    fn completed(&mut self, completion: &Completion) -> Result<(), Infallible> {
        self.0.push(completion.response_time);
        Ok(())
    }
}

fn main() {
    let seed = Seed::new(1);
    let profile = DiskProfile::load("seagate-st3500630ns", Path::new("."));
    let laws = DiskLaws::new(&profile.expect("it is built in"));
    println!(
        "reads of 128 KiB, 240 per second, on six disks, half of them to a tenth of the blocks"
    );
    for (shortest, name) in [
        (false, "from the first copy"),
        (true, "from the shortest queue"),
    ] {
        let planner = Chained { disks: 6, shortest };
        let disk = |i| SampledDisk::new(&laws, &seed, &format!("disk/{i}"));
        let devices = (0..6).map(|i| Station::new(disk(i)));
        let load = Workload {
            arrivals: ArrivalLaw::Poisson { per_s: 240.0 },
            batch: Batch::One,
            shape: Shape {
                size: Size::Blocks(1),
                write_size: None,
                block: Sectors::new(UNIT as u32),
                read_share: 1.0,
                addresses: Addresses::Hot {
                    space: 0.1,
                    requests: 0.5,
                },
                address_space: planner.data_sectors(),
            },
        };
        let mut source = First(SyntheticLoad::new(vec![load], &seed).take(200_000));
        let mut times = Times::default();
        let array = Array::new(planner, devices.collect(), Rules::default());
        let Ok(_) = array.with_warmup(1_000).run(&mut source, &mut times);
        println!(
            "{name}: mean {:.2} ms, p99 {}",
            times.0.moments.mean() / 1e6,
            times.0.histogram.quantile(0.99).unwrap_or_default()
        );
    }
}
