//! A device of one's own under a built-in RAID level: a memory that answers in a fixed time, now and then
//! interrupted by a pause, as flash is by its garbage collection.
//!
//! `cargo run --release --example custom_device`

use std::collections::VecDeque;
use std::convert::Infallible;

use iosonar::device::{Device, Job, Pace, RequestId, Service, Usage};
use iosonar::raid::rules::Rules;
use iosonar::raid::{
    Array, ArrayShape, Completion, CompletionSink, Placement, RequestSource, Striped,
};
use iosonar::sim_core::{Seed, Stream};
use iosonar::stats::Distribution;
use iosonar::trace::Request;
use iosonar::units::{Nanos, Sectors};
use iosonar::workload::{Addresses, ArrivalLaw, Batch, Size, SyntheticLoad, Workload};

/// First come, first served; one access in a hundred waits for a pause.
struct Flash {
    waiting: VecDeque<(Job, Nanos)>,
    current: Option<Service>,
    last_served: Option<RequestId>,
    pauses: Stream,
    usage: Usage,
}

impl Flash {
    fn new(seed: &Seed, name: &str) -> Self {
        Self {
            waiting: VecDeque::new(),
            current: None,
            last_served: None,
            pauses: seed.stream(name, "pause"),
            usage: Usage::default(),
        }
    }
}

impl Device for Flash {
    fn submit(&mut self, job: Job, now: Nanos) {
        self.waiting.push_back((job, now));
    }

    fn start_next(&mut self, now: Nanos) -> Option<Nanos> {
        if self.current.is_some() {
            return None;
        }
        let (job, arrived) = self.waiting.pop_front()?;
        let pause = self.pauses.chance(0.01);
        let pace = Pace(100.0);
        let service = Service {
            job,
            arrived,
            started: now,
            positioning: Nanos::from_micros(if pause { 3_000 } else { 80 }),
            transfer: pace.time(job.sectors),
            pace,
            failed: false,
        };
        self.current = Some(service);
        Some(service.ended())
    }

    fn complete(&mut self, now: Nanos, _: Nanos) -> Option<Service> {
        let service = self.current.take()?;
        self.last_served = Some(service.job.request);
        self.usage.busy += now - service.started;
        self.usage.jobs_time += u128::from((now - service.arrived).get());
        Some(service)
    }

    fn busy_with(&self) -> Option<RequestId> {
        self.current.map(|service| service.job.request)
    }

    fn last_served(&self) -> Option<RequestId> {
        self.last_served
    }

    fn queue_length(&self) -> usize {
        self.waiting.len()
    }

    fn measure_from(&mut self, _: Nanos) {
        self.usage = Usage::default();
    }

    fn usage(&self) -> Usage {
        self.usage
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
        let devices = (0..disks).map(|i| Flash::new(&seed, &format!("flash/{i}")));
        let load = Workload {
            arrivals: ArrivalLaw::Poisson { per_s: 1_500.0 },
            batch: Batch::One,
            size: Size::Blocks(4),
            block: unit,
            read_share: 1.0,
            addresses: Addresses::Uniform,
            address_space: 1 << 30,
        };
        let mut source = First(SyntheticLoad::new(vec![load], &seed).take(200_000));
        let mut times = Times::default();
        let array = Array::new(raid, devices.collect(), Rules::default());
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
