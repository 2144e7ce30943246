//! What response times are made of.

use iosonar_device::Service;
use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// The parts of the time between a sub-request's issue and the completion of its request, over all
/// measured sub-requests. For each of them wait + positioning + transfer + join delay is that time, but
/// for the pre-reads of partial writes, which are followed by writes, and for what the controller
/// takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseSplit {
    /// In the queue of the disk.
    pub wait: Distribution,
    /// Seek and rotational latency.
    pub positioning: Distribution,
    /// The data pass under the head.
    pub transfer: Distribution,
    /// From the end of a sub-request to the end of the last one that it is joined with: of its
    /// request, or of the pre-reads of its stripe.
    pub join_delay: Distribution,
    /// The stages of a [pipelined](iosonar_device::Pipelined) device, which make up its time; empty for others.
    pub stages: Vec<Distribution>,
}

impl ResponseSplit {
    #[inline]
    pub(super) fn service(&mut self, service: &Service, stages: &[Nanos]) {
        if self.stages.len() < stages.len() {
            self.stages.resize_with(stages.len(), Distribution::default);
        }
        for (all, &time) in self.stages.iter_mut().zip(stages) {
            all.push(time);
        }
        self.wait.push(service.started - service.arrived);
        self.positioning.push(service.positioning);
        self.transfer.push(service.transfer);
    }

    #[inline]
    pub(super) fn joined(&mut self, ends: impl Iterator<Item = Nanos>, now: Nanos) {
        for end in ends {
            self.join_delay.push(now - end);
        }
    }

    /// Adds the parts of another run.
    pub fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.positioning.merge(&other.positioning);
        self.transfer.merge(&other.transfer);
        self.join_delay.merge(&other.join_delay);
        if self.stages.len() < other.stages.len() {
            self.stages
                .resize_with(other.stages.len(), Distribution::default);
        }
        for (mine, other) in self.stages.iter_mut().zip(&other.stages) {
            mine.merge(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use iosonar_device::{Access, Job, Pace, RequestId};
    use iosonar_units::{Sector, Sectors};

    use super::*;

    #[test]
    fn the_parts_of_several_runs_are_those_of_all_their_sub_requests() {
        let job = Job::new(RequestId(1), Access::Read, Sector::new(0), Sectors::new(8));
        let service = |at: u64| Service {
            job,
            arrived: Nanos::new(at),
            started: Nanos::new(at + 5),
            positioning: Nanos::new(30 * at),
            transfer: Nanos::new(7 * at),
            pace: Pace(1.0),
            failed: false,
        };
        let add = |split: &mut ResponseSplit, at: u64, stages: &[u64]| {
            let stages: Vec<Nanos> = stages.iter().copied().map(Nanos::new).collect();
            split.service(&service(at), &stages);
            let ends = [Nanos::new(10 * at), Nanos::new(20 * at)];
            split.joined(ends.into_iter(), Nanos::new(20 * at));
        };
        let (mut one, mut other, mut both) =
            <(ResponseSplit, ResponseSplit, ResponseSplit)>::default();
        add(&mut one, 1, &[3]);
        add(&mut other, 2, &[4, 5]);
        add(&mut both, 1, &[3]);
        add(&mut both, 2, &[4, 5]);
        one.merge(&other);
        assert_eq!(one, both);
        let mean = |part: &Distribution| (part.count(), part.moments.mean());
        assert_eq!(mean(&both.wait), (2, 5.0));
        assert_eq!(
            (mean(&both.positioning), mean(&both.transfer)),
            ((2, 45.0), (2, 10.5))
        );
        assert_eq!(mean(&both.join_delay), (4, 7.5));
        assert_eq!(
            (mean(&both.stages[0]), mean(&both.stages[1])),
            ((2, 3.5), (1, 5.0))
        );
    }
}
