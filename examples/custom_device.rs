//! A device of one's own under a built-in RAID level: a memory that answers in a fixed time, now and then
//! interrupted by a pause, as flash is by its garbage collection.
//!
//! `cargo run --release --example custom_device`

use std::convert::Infallible;

use iosonar::device::{Job, Mechanism, Pace, ServiceTime, Station, Waiting};
use iosonar::raid::rules::Rules;
use iosonar::raid::{
    Array, ArrayShape, Completion, CompletionSink, Placement, RequestSource, Striped,
};
use iosonar::sim_core::{Seed, Stream};
use iosonar::stats::Distribution;
use iosonar::trace::Request;
use iosonar::units::{Nanos, Sectors};
use iosonar::workload::{Addresses, ArrivalLaw, Batch, Shape, Size, SyntheticLoad, Workload};

/// First come, first served; one access in a hundred waits for a pause.
struct Flash {
    pauses: Stream,
}

impl Mechanism for Flash {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn serve(&mut self, waiting: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        let pause = self.pauses.chance(0.01);
        let pace = Pace(100.0);
        ServiceTime {
            positioning: Nanos::from_micros(if pause { 3_000 } else { 80 }),
            transfer: pace.time(waiting.job.sectors),
            pace,
        }
    }
}

/// The first requests of a load.
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
    let unit = Sectors::new(64);
    println!("requests of 128 KiB, 1 500 per second, striped over devices in units of 32 KiB");
    for disks in [1, 2, 4] {
        let shape = ArrayShape {
            disks,
            stripe_unit: unit,
            disk_sectors: 1 << 30,
            placement: Placement::Addressed,
        };
        let raid = Striped::new(shape, &seed).expect("the array has a shape");
        let device = |i| {
            let pauses = seed.stream(&format!("flash/{i}"), "pause");
            Station::new(Flash { pauses })
        };
        let load = Workload {
            arrivals: ArrivalLaw::Poisson { per_s: 1_500.0 },
            batch: Batch::One,
            shape: Shape {
                size: Size::Blocks(4),
                write_size: None,
                block: unit,
                read_share: 1.0,
                addresses: Addresses::Uniform,
                address_space: 1 << 30,
            },
        };
        let mut source = First(SyntheticLoad::new(vec![load], &seed).take(200_000));
        let mut times = Times::default();
        let array = Array::new(raid, (0..disks).map(device).collect(), Rules::default());
        let Ok(summary) = array.run(&mut source, &mut times);
        let quantile = |p| times.0.histogram.quantile(p).unwrap_or_default();
        println!(
            "{disks} devices: median {}, p99 {}, busy {:.0} %",
            quantile(0.5),
            quantile(0.99),
            100.0 * summary.utilisation(0)
        );
    }
}
