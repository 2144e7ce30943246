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
