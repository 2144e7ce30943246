//! Blocks of requests, and what they ask of each disk.

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::lane::{Coming, Lane, Times};
use crate::array::RequestSource;
use crate::rules::{Rules, TransferMemory};
use crate::{Planner, RequestPlan, StageKind};

/// A block ends early where its requests have more jobs than this on average, so that its size is bounded.
const JOBS_PER_REQUEST: usize = 16;

/// Requests that are planned, served and released together, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The number of the first request.
    pub(super) first: u64,
    pub(super) requests: Vec<Request>,
    /// How many jobs each request has.
    pub(super) jobs: Vec<u32>,
    /// Disk by disk.
    pub(super) lanes: Vec<Lane>,
    /// The disks that have jobs.
    pub(super) used: Vec<u32>,
    pub(super) begins_measurement: bool,
    /// Whether these are the last.
    pub(super) is_last: bool,
    /// When requests are issued at the earliest.
    pub(super) not_before: Nanos,
}

impl Block {
    pub(super) fn of_disks(disks: usize) -> Self {
        Self {
            lanes: std::iter::repeat_with(Lane::default).take(disks).collect(),
            ..Self::default()
        }
    }

    /// An empty block after this one.
    pub(super) fn clear(&mut self) {
        self.first += self.requests.len() as u64;
        self.begins_measurement = false;
        self.requests.clear();
        self.jobs.clear();
        for lane in &mut self.lanes {
            lane.clear();
        }
        self.used.clear();
    }

    /// When all its jobs are over.
    pub(super) fn end(&self) -> Nanos {
        let ends = self.lanes.iter().filter_map(|lane| lane.ended.last());
        let issued = self.requests.last().map_or(Nanos::ZERO, |r| r.start);
        ends.map(|ended| ended.at)
            .fold(issued.max(self.not_before), Nanos::max)
    }

    /// What holds for all its lanes, if the last request before it arrived at `last`.
    pub(super) fn times(&self, services: bool, last: Nanos) -> Times {
        let (from, until) = match (self.requests.first(), self.requests.last()) {
            (Some(first), Some(last)) => (first.start, last.start),
            _ => (last, last),
        };
        Times {
            first: self.first,
            measured_from: self.begins_measurement.then_some(from),
            from,
            until,
            services,
        }
    }
}

/// Where blocks come from.
pub(super) struct Planning<'a, P, R> {
    planner: P,
    rules: Rules,
    source: &'a mut R,
    plan: RequestPlan,
    /// The first request that is measured.
    warmup: u64,
    /// How many requests have been planned.
    planned: u64,
}

impl<'a, P: Planner, R: RequestSource> Planning<'a, P, R> {
    pub(super) fn new(planner: P, rules: Rules, warmup: u64, source: &'a mut R) -> Self {
        Self {
            planner,
            rules,
            source,
            plan: RequestPlan::default(),
            warmup,
            planned: 0,
        }
    }

    /// Fills a block with the next requests, at most `most`, or fewer if they are large. If the source fails, it has those
    /// before.
    pub(super) fn fill<D: Observable>(
        &mut self,
        block: &mut Block,
        most: usize,
    ) -> Result<(), R::Error> {
        block.clear();
        block.first = self.planned;
        let mut jobs = 0;
        while block.requests.len() < most && jobs < JOBS_PER_REQUEST * most {
            // The measurement begins with a block, as the disks do not look at the numbers of requests.
            if self.planned == self.warmup && !block.requests.is_empty() {
                break;
            }
            let next = self.source.next_request();
            let Ok(Some(request)) = next else {
                block.is_last = true;
                return next.map(drop);
            };
            block.begins_measurement |= self.planned == self.warmup;
            self.plan::<D>(&request, block);
            jobs += self.plan.len();
            self.planned += 1;
        }
        Ok(())
    }

    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, block: &mut Block) {
        let Self {
            planner,
            plan,
            rules,
            ..
        } = self;
        plan.clear();
        // Planners that issue all at once do not look at the devices.
        planner.plan(request, &[] as &[D], plan);
        if rules.coalesce {
            plan.coalesce();
        }
        let one_place = rules.transfer == TransferMemory::OnePerRequest && request.op != Op::Read;
        let number = block.requests.len() as u32;
        for stage in plan.stages() {
            let StageKind::Direct(access) = stage.kind else {
                panic!("a request that is issued in two steps needs events")
            };
            for sub in &plan.sub_requests()[stage.first.clone()] {
                let lane = &mut block.lanes[sub.disk];
                if lane.coming.is_empty() {
                    block.used.push(sub.disk as u32);
                }
                lane.coming.push(Coming {
                    at: request.start.max(block.not_before),
                    sector: sub.sector,
                    sectors: sub.sectors,
                    request: number,
                    class: request.class,
                    access,
                    one_place,
                });
            }
        }
        block.jobs.push(plan.len() as u32);
        block.requests.push(*request);
    }
}
