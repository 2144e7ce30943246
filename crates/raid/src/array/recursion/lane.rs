//! The jobs of one disk in a block of requests, and their services.

use iosonar_device::{Access, InOrder, Job, PaceOf, RequestId, Service};
use iosonar_sim_core::CompletionHash;
use iosonar_units::{Nanos, Sector, Sectors};

/// A job that comes to a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// When its request is issued.
    pub(super) at: Nanos,
    pub(super) sector: Sector,
    pub(super) sectors: Sectors,
    /// The number of its request, counted from the first of the block.
    pub(super) request: u32,
    pub(super) class: u16,
    pub(super) access: Access,
    /// Whether all accesses of its request to the disk have one pace.
    pub(super) one_place: bool,
}

/// What becomes known of a request: one of its jobs ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) request: u64,
    pub(super) at: Nanos,
}

/// What a block has for a disk, and what the disk makes of it.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// In the order in which they come.
    pub(super) coming: Vec<Coming>,
    /// The ends that are known now, in their order. Jobs of earlier blocks may be among them.
    pub(super) ended: Vec<Ended>,
    /// The services that these are the ends of, if they are wanted.
    pub(super) services: Vec<Service>,
}

impl Lane {
    pub(super) fn clear(&mut self) {
        self.coming.clear();
        self.ended.clear();
        self.services.clear();
    }
}

/// What holds for all lanes of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The number of the first request.
    pub(super) first: u64,
    /// When the measurement begins, if it does so with the first request.
    pub(super) measured_from: Option<Nanos>,
    /// When the first request arrives; the one before has arrived by then, and no later one will come earlier.
    pub(super) from: Nanos,
    /// When the last one arrives; all that happens up to here is known then.
    pub(super) until: Nanos,
    /// Whether services are wanted, and not only their ends.
    pub(super) services: bool,
}

/// A disk on its own.
#[derive(Debug)]
pub(super) struct Disk<D> {
    pub(super) device: D,
    number: u32,
    in_order: bool,
    /// The end of the service in progress, where jobs are not served in order.
    end: Option<Nanos>,
    pub(super) hash: CompletionHash,
    pub(super) services: u64,
}

impl<D: InOrder> Disk<D> {
    pub(super) fn new(number: usize, device: D) -> Self {
        Self {
            in_order: device.serves_in_order(),
            device,
            number: number as u32,
            end: None,
            hash: CompletionHash::default(),
            services: 0,
        }
    }

    /// Whether it has to go through every block, not only those with jobs for it.
    pub(super) fn takes_all_blocks(&self) -> bool {
        !self.in_order
    }

    /// Serves the jobs of a block.
    pub(super) fn serve(&mut self, lane: &mut Lane, times: &Times) {
        if self.in_order {
            self.serve_in_order(lane, times);
        } else {
            self.serve_by_events(lane, times);
        }
    }

    /// Each job's end is known when it comes.
    fn serve_in_order(&mut self, lane: &mut Lane, times: &Times) {
        if let Some(from) = times.measured_from {
            self.device.measure_from(from);
        }
        self.device.has_come_to(times.from);
        let Lane {
            coming,
            ended,
            services,
        } = lane;
        let Self {
            device,
            number,
            hash,
            ..
        } = self;
        let jobs = coming
            .iter()
            .map(|coming| (job(coming, times.first), coming.at));
        let mut served = |request: RequestId, started, at| {
            hash.add(request.0, *number, started, at);
            ended.push(Ended {
                request: request.0,
                at,
            });
        };
        // Apart, so that the rest of a service is not even made where it is not wanted.
        if times.services {
            services.extend(jobs.map(|(job, at)| device.serve(job, at)));
            for service in &*services {
                served(service.job.request, service.started, service.ended());
            }
        } else {
            device.serve_each(jobs, times.until, served);
        }
        self.services += coming.len() as u64;
    }

    /// The disk has no more than one event to come: the end of the service in progress.
    fn serve_by_events(&mut self, lane: &mut Lane, times: &Times) {
        if let Some(from) = times.measured_from {
            self.go_on_until(from, lane, times);
            self.device.measure_from(from);
        }
        let mut last = None;
        for i in 0..lane.coming.len() {
            let coming = lane.coming[i];
            // Services end before requests arrive; the jobs of a request come at once.
            if last != Some(coming.request) {
                last = Some(coming.request);
                self.go_on_until(coming.at, lane, times);
            }
            self.device.submit(job(&coming, times.first), coming.at);
            if let Some(end) = self.device.start_next(coming.at) {
                self.end = Some(end);
            }
        }
        self.go_on_until(times.until, lane, times);
    }

    #[inline]
    fn go_on_until(&mut self, until: Nanos, lane: &mut Lane, times: &Times) {
        while let Some(now) = self.end.filter(|end| *end <= until) {
            if let Some(service) = self.device.complete(now, now) {
                let request = service.job.request.0;
                self.hash.add(request, self.number, service.started, now);
                self.services += 1;
                lane.ended.push(Ended { request, at: now });
                if times.services {
                    lane.services.push(service);
                }
            }
            self.end = self.device.start_next(now);
        }
    }
}

#[inline]
fn job(coming: &Coming, first: u64) -> Job {
    let id = RequestId(first + u64::from(coming.request));
    let mut job = Job::new(id, coming.access, coming.sector, coming.sectors);
    job.class = coming.class;
    if coming.one_place {
        job.pace = PaceOf::Request;
    }
    job
}
