//! Looking on while a network runs.

use iosonar_units::Nanos;

use super::{Class, NodeId};

/// Is notified of what happens in a network. All methods do nothing unless they are implemented, and a
/// network without a probe is compiled without the calls.
///
/// A probe can write anywhere. This one writes a line of CSV for each service, and is borrowed so that the writer is
/// still there after the run:
///
/// ```
/// use std::io::Write;
/// use iosonar_sim_core::network::Probe;
/// use iosonar_sim_core::prelude::*;
///
/// struct Csv<W>(W);
///
/// impl<W: Write> Probe for Csv<W> {
///     fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
///         writeln!(self.0, "{job},{node:?},{}", now.get()).expect("memory can be written to");
///     }
/// }
///
/// let mut csv = Csv(Vec::new());
/// let mut b = Builder::new(Seed::new(1));
/// let source = b.source("source", Arrivals::every(Law::Exponential(Nanos::MILLISECOND)));
/// let (server, sink) = (b.station("server", Queue::fcfs(1, Nanos::from_micros(500))), b.sink("sink"));
/// b.chain(&[source, server, sink]);
/// b.build_with(&mut csv)?.run(Until::Departures(100));
/// assert_eq!(String::from_utf8(csv.0)?.lines().count(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Probe {
    /// Job `job` came to station `node`, or to a [node of your own](super::Behaviour), and found `number` others there.
    #[inline]
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        let _ = (node, job, class, number, now);
    }

    /// Its service began.
    #[inline]
    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        let _ = (node, job, now);
    }

    /// Its service ended, or a node of your own sent it on.
    #[inline]
    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        let _ = (node, job, now);
    }

    /// It was not served at station `node`: it found no room, or lost patience.
    #[inline]
    fn unserved(&mut self, node: NodeId, job: u64, now: Nanos) {
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

/// A borrowed probe: what it has seen outlives the network.
impl<P: Probe> Probe for &mut P {
    #[inline]
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        (**self).arrived(node, job, class, number, now);
    }

    #[inline]
    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        (**self).started(node, job, now);
    }

    #[inline]
    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        (**self).ended(node, job, now);
    }

    #[inline]
    fn unserved(&mut self, node: NodeId, job: u64, now: Nanos) {
        (**self).unserved(node, job, now);
    }

    #[inline]
    fn departed(&mut self, node: NodeId, job: u64, response_time: Nanos, now: Nanos) {
        (**self).departed(node, job, response_time, now);
    }
}

/// Two probes, one after the other.
impl<A: Probe, B: Probe> Probe for (A, B) {
    #[inline]
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        self.0.arrived(node, job, class, number, now);
        self.1.arrived(node, job, class, number, now);
    }

    #[inline]
    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.0.started(node, job, now);
        self.1.started(node, job, now);
    }

    #[inline]
    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.0.ended(node, job, now);
        self.1.ended(node, job, now);
    }

    #[inline]
    fn unserved(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.0.unserved(node, job, now);
        self.1.unserved(node, job, now);
    }

    #[inline]
    fn departed(&mut self, node: NodeId, job: u64, response_time: Nanos, now: Nanos) {
        self.0.departed(node, job, response_time, now);
        self.1.departed(node, job, response_time, now);
    }
}
