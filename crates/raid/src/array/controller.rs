//! What lies between the host and the disks.

use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sectors};

/// What the array's controller costs. By default nothing, and nothing waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Controller {
    /// Between the arrival of a request and the issue of its sub-requests.
    pub command: Nanos,
    /// Nanoseconds that a sector takes on the link between host and controller, whose two directions are apart. The
    /// data of one request cross it at a time, in the order in which they come to it: of a write after its command,
    /// when there is room for them, before they are in the cache or go to the disks; of a read when it has joined.
    /// Zero: there is no link to wait for.
    pub host_ns_per_sector: f64,
    /// Nanoseconds that a sector takes on its way through the exclusive-or: before parity is
    /// written, and after the reads that a lost unit is made of.
    pub xor_ns_per_sector: f64,
    /// Nanoseconds that a sector takes on the one bus between controller and disks; data of one
    /// sub-request cross it at a time, in the order in which they come to it: before they are written,
    /// after they were read. Zero: there is no bus to wait for.
    pub bus_ns_per_sector: f64,
    /// Only one request at a time: the next one is issued when the last has joined (split-merge).
    pub one_at_a_time: bool,
    /// A cache for writes.
    pub cache: Option<WriteBack>,
}

/// A write-back cache that does not lose its contents. A write is complete when its data are in the cache; if
/// there is no room, it waits for it. Reads go to the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// How much it holds.
    pub capacity: Sectors,
    /// When this much is dirty, writing to the disks begins ...
    pub high: Sectors,
    /// ... and goes on until no more than this is.
    pub low: Sectors,
}

impl Controller {
    /// Whether requests are issued as they come and complete as they join.
    pub fn is_immediate(&self) -> bool {
        self.command == Nanos::ZERO
            && self.host_ns_per_sector == 0.0
            && self.xor_ns_per_sector == 0.0
            && self.bus_ns_per_sector == 0.0
            && self.cache.is_none()
    }

    /// Whether the exclusive-or takes time.
    #[inline]
    pub(super) fn xor_takes_time(&self) -> bool {
        self.xor_ns_per_sector > 0.0
    }

    #[inline]
    pub(super) fn xor(&self, sectors: u64) -> Nanos {
        Nanos::nearest(self.xor_ns_per_sector * sectors as f64)
    }

    /// How long the data of a request are on the link to the host; zero if it has none.
    #[inline]
    pub fn host(&self, request: &Request) -> Nanos {
        if self.host_ns_per_sector == 0.0 {
            return Nanos::ZERO;
        }
        match request.op {
            Op::Read | Op::Write => {
                Nanos::nearest(self.host_ns_per_sector * f64::from(request.sectors.get()))
            }
            Op::Discard | Op::Flush | Op::WriteZeroes => Nanos::ZERO,
        }
    }

    #[inline]
    pub(super) fn bus(&self, sectors: Sectors) -> Nanos {
        Nanos::nearest(self.bus_ns_per_sector * f64::from(sectors.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_controller_does_to_sectors_takes_time_for_each() {
        let free = Controller::default();
        assert!(free.is_immediate() && !free.xor_takes_time());
        let controller = Controller {
            xor_ns_per_sector: 1.5,
            bus_ns_per_sector: 2.5,
            host_ns_per_sector: 3.5,
            ..Controller::default()
        };
        assert!(controller.xor_takes_time() && !controller.is_immediate());
        assert_eq!(controller.xor(8), Nanos::new(12));
        assert_eq!(controller.bus(Sectors::new(8)), Nanos::new(20));
        let request = |op| Request {
            op,
            sectors: Sectors::new(8),
            ..Request::default()
        };
        assert_eq!(controller.host(&request(Op::Write)), Nanos::new(28));
        // A discard names sectors whose data do not travel.
        assert_eq!(controller.host(&request(Op::Discard)), Nanos::ZERO);
    }
}
