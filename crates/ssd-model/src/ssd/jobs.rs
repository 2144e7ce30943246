//! The jobs of the array in the device, and what is measured of them.

use std::collections::VecDeque;

use iosonar_device::{Job, Pace, RequestId, Service, Usage};
use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use super::Conservation;
use crate::servers::BusyTime;
use crate::stages::StageTimes;

#[derive(Clone, Debug)]
pub(super) struct JobState {
    pub(super) job: Job,
    pub(super) arrived: Nanos,
    /// Bios or commands that are not complete.
    pub(super) left: u32,
    failed: bool,
}

/// A job that is complete.
#[derive(Clone, Copy, Debug)]
struct Finished {
    service: Service,
    /// The stages of the bio or command that was complete last.
    stages: StageTimes,
}

/// The jobs in the device, and those that are complete and not yet returned to the array.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    pub(super) present: Slab<JobState>,
    finished: VecDeque<Finished>,
    pub(super) last_served: Option<RequestId>,
    pub(super) last_stages: StageTimes,
    in_system: BusyTime,
    /// 1 while there are jobs, or 0.
    working: BusyTime,
    /// The usage by the jobs that were complete inside the measurement.
    done: Usage,
    pub(super) measured_from: Nanos,
}

impl Jobs {
    pub(super) fn arrive(&mut self, job: Job, now: Nanos) -> u32 {
        if self.present.is_empty() {
            self.working.change(1, now);
        }
        self.in_system.change(1, now);
        self.present.insert(JobState {
            job,
            arrived: now,
            left: 0,
            failed: false,
        })
    }

    /// One of a job's bios or commands is complete; with the last one the job is.
    pub(super) fn command_complete(
        &mut self,
        slot: u32,
        failed: bool,
        stages: StageTimes,
        now: Nanos,
    ) {
        let state = &mut self.present[slot];
        state.failed |= failed;
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        let (arrived, stay) = (state.arrived, now - state.arrived);
        debug_assert_eq!(stages.total(), stay, "every instant belongs to a stage");
        let service = Service {
            job: state.job,
            arrived,
            started: arrived,
            positioning: Nanos::ZERO,
            transfer: stay,
            pace: Pace(0.0),
            failed: state.failed,
        };
        let inside = now - arrived.max(self.measured_from);
        self.present.release(slot);
        self.in_system.change(-1, now);
        self.done.jobs_done += 1;
        self.done.stay_time += u128::from(stay.get());
        self.done.stay_edge += i128::from(inside.get()) - i128::from(stay.get());
        if self.present.is_empty() {
            self.working.change(-1, now);
        }
        self.finished.push_back(Finished { service, stages });
    }

    /// When the first of the complete jobs ended.
    pub(super) fn next_finished(&self) -> Option<Nanos> {
        Some(self.finished.front()?.service.ended())
    }

    /// The first of the jobs that were complete by `now`.
    pub(super) fn take_finished(&mut self, now: Nanos) -> Option<Service> {
        if self.next_finished()? > now {
            return None;
        }
        let finished = self.finished.pop_front()?;
        self.last_served = Some(finished.service.job.request);
        self.last_stages = finished.stages;
        Some(finished.service)
    }

    pub(super) fn measure_from(&mut self, now: Nanos) {
        self.measured_from = now;
        self.in_system.measure_from(now);
        self.working.measure_from(now);
        self.done = Usage::default();
    }

    pub(super) fn usage_until(&self, now: Nanos) -> Usage {
        Usage {
            busy: Nanos::new(self.working.until(now) as u64),
            jobs_time: self.in_system.until(now),
            stay_edge: self.done.stay_edge + self.unfinished_time(now) as i128,
            ..self.done
        }
    }

    pub(super) fn conservation_until(&self, now: Nanos) -> Conservation {
        Conservation {
            job_time: (self.done.stay_time as i128 + self.done.stay_edge) as u128,
            unfinished_time: self.unfinished_time(now),
            integral: self.in_system.until(now),
        }
    }

    /// The sum of the times that the jobs in the device have spent inside the measurement.
    fn unfinished_time(&self, now: Nanos) -> u128 {
        let inside = |arrived: Nanos| now.saturating_sub(arrived.max(self.measured_from));
        let times = self.present.iter().map(|job| inside(job.arrived).get());
        times.map(u128::from).sum()
    }
}
