//! Looking on while a network runs.

use iosonar_units::Nanos;

use super::{Class, NodeId};

/// Is notified of what happens in a network. All methods do nothing unless they are implemented, and a
/// network without a probe is compiled without the calls.
pub trait Probe {
    /// Job `job` came to station `node` and found `number` others there.
    #[inline]
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        let _ = (node, job, class, number, now);
    }

    /// Its service began.
    #[inline]
    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        let _ = (node, job, now);
    }

    /// Its service ended.
    #[inline]
    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        let _ = (node, job, now);
    }

    /// It left the network, or finished a lap, at `node` after `response_time`.
    #[inline]
    fn departed(&mut self, node: NodeId, job: u64, response_time: Nanos, now: Nanos) {
        let _ = (node, job, response_time, now);
    }
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {}
