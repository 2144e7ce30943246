//! A load for one device, without an array.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod times;

use std::sync::Arc;

use iosonar_device::{
    Access, Device, Job, PaceOf, Pipelined, Positioning, Priority, RequestId, Service,
};
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{AnySsd, Parameters, SsdProfile, SsdReport, Stage};
use iosonar_units::{Nanos, Sector, Sectors};

/// A built-in profile with changes, as TOML.
pub(crate) fn parameters(name: &str, changes: &str) -> Arc<Parameters> {
    parameters_of(name, &toml::from_str(changes).unwrap())
}

pub(crate) fn parameters_of(name: &str, changes: &toml::Table) -> Arc<Parameters> {
    let profile = SsdProfile::load(name, ".".as_ref(), changes).unwrap();
    Arc::new(Parameters::new(&profile).unwrap_or_else(|e| panic!("{e}")))
}

pub(crate) fn job(number: u64, access: Access, sector: u64, sectors: u32) -> Job {
    Job {
        request: RequestId(number),
        tag: number,
        access,
        priority: Priority::Normal,
        positioning: Positioning::Fresh,
        pace: PaceOf::NewPlace,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        class: 0,
    }
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) services: Vec<(Service, Vec<Nanos>)>,
    pub(crate) end: Nanos,
    pub(crate) report: SsdReport,
    pub(crate) submitted: u64,
    pub(crate) stuck: Option<String>,
    pub(crate) ssd: AnySsd,
}

impl Outcome {
    /// Requests per second between two completions.
    pub(crate) fn throughput(&self, from: usize, to: usize) -> f64 {
        let at = |i: usize| self.services[i].0.ended();
        (to - from) as f64 / (at(to) - at(from)).as_secs_f64()
    }

    pub(crate) fn mean_response_ns(&self, skip: usize) -> f64 {
        let times = self.services[skip..]
            .iter()
            .map(|(s, _)| (s.ended() - s.arrived).get() as f64);
        times.sum::<f64>() / (self.services.len() - skip) as f64
    }

    pub(crate) fn mean_stage_ns(&self, stage: Stage) -> f64 {
        let times = self
            .services
            .iter()
            .map(|(_, stages)| stages[stage as usize].get() as f64);
        times.sum::<f64>() / self.services.len() as f64
    }
}

/// Runs `threads` clients who send the next job when the last is done, `requests` in all; or, with arrivals, open.
pub(crate) struct Load<'a> {
    pub(crate) threads: usize,
    pub(crate) requests: u64,
    /// The measurement begins with this request.
    pub(crate) warmup: u64,
    pub(crate) job: &'a mut dyn FnMut(u64) -> Job,
    /// Times of arrivals in place of threads.
    pub(crate) arrivals: Option<&'a mut dyn FnMut() -> Nanos>,
}

impl Load<'_> {
    pub(crate) fn run(self, p: &Arc<Parameters>) -> Outcome {
        let ssd = AnySsd::new(p, &Seed::new(1), "ssd/0").unwrap();
        self.run_on(ssd)
    }

    pub(crate) fn run_on(self, mut ssd: AnySsd) -> Outcome {
        let Load {
            threads,
            requests,
            warmup,
            job,
            mut arrivals,
        } = self;
        let mut told: Vec<Nanos> = Vec::new();
        let mut services = Vec::new();
        let (mut sent, mut now) = (0, Nanos::ZERO);
        let mut next_arrival = arrivals.as_mut().map(|next| next());
        let mut send = |ssd: &mut AnySsd, told: &mut Vec<Nanos>, at: Nanos| {
            if sent == warmup {
                ssd.measure_from(at);
            }
            if sent < requests {
                ssd.submit(job(sent), at);
                sent += 1;
                told.extend(ssd.start_next(at));
            }
            sent
        };
        let mut submitted = 0;
        if next_arrival.is_none() {
            for _ in 0..threads {
                submitted = send(&mut ssd, &mut told, now);
            }
        }
        loop {
            let wake = told.last().copied();
            match (wake, next_arrival) {
                (None, None) => break,
                (wake, Some(at)) if wake.is_none_or(|wake| at < wake) => {
                    now = at;
                    submitted = send(&mut ssd, &mut told, now);
                    next_arrival = arrivals.as_mut().map(|next| now + next());
                    if submitted == requests {
                        next_arrival = None;
                    }
                }
                _ => {
                    now = told.pop().unwrap();
                    let until = match next_arrival {
                        Some(at) => at.min(told.last().copied().unwrap_or(Nanos::MAX)),
                        None => told.last().copied().unwrap_or(Nanos::MAX),
                    };
                    if let Some(service) = ssd.complete(now, until) {
                        services.push((service, ssd.stage_times().to_vec()));
                        if arrivals.is_none() {
                            submitted = send(&mut ssd, &mut told, now);
                        }
                    }
                    told.extend(ssd.start_next(now));
                }
            }
        }
        ssd.end_measurement(now);
        Outcome {
            services,
            end: now,
            report: ssd.report(),
            submitted,
            stuck: ssd.why_stuck(),
            ssd,
        }
    }
}
