//! An SSD whose ends a profile chooses.

use std::fmt::Debug;

use iosonar_device::{Device, Job, Observable, Occupancy, Pipelined, Service, Usage};
use iosonar_sim_core::Seed;
use iosonar_units::Nanos;

use super::{BlockQueue, BulkServer, FlashStorage, Memory, Nvme, Ssd, SsdReport, Storage as _};
use crate::ftl::ShapeError;
use crate::parameters::{Ends, Parameters, StorageParameters};

/// An SSD with its driver.
///
/// Which one it is matters at the calls of [`Device`] only: between them each kind runs code of its own.
#[derive(Clone, Debug)]
pub struct AnySsd(Kind);

#[derive(Clone, Debug)]
enum Kind {
    BlockQueueMemory(Box<Ssd<BlockQueue, Memory>>),
    BlockQueueFlash(Box<Ssd<BlockQueue, FlashStorage>>),
    BlockQueueBulk(Box<Ssd<BlockQueue, BulkServer>>),
    NvmeMemory(Box<Ssd<Nvme, Memory>>),
    NvmeFlash(Box<Ssd<Nvme, FlashStorage>>),
}

/// `each!(any, ssd => expression)`: the expression for whatever kind it is.
macro_rules! each {
    ($any:expr, $ssd:ident => $expression:expr) => {
        match $any {
            Kind::BlockQueueMemory($ssd) => $expression,
            Kind::BlockQueueFlash($ssd) => $expression,
            Kind::BlockQueueBulk($ssd) => $expression,
            Kind::NvmeMemory($ssd) => $expression,
            Kind::NvmeFlash($ssd) => $expression,
        }
    };
}

impl AnySsd {
    /// An SSD that has nothing to do; `component` names its random streams.
    ///
    /// # Errors
    /// If its flash cannot have this shape; never with [`Parameters`] that were checked.
    pub fn new(p: &Parameters, seed: &Seed, component: &str) -> Result<Self, ShapeError> {
        let stream = |name: &str| seed.stream(component, name);
        let errors = stream("errors");
        let flash = |p| FlashStorage::new(p, &mut stream("preconditioning"));
        let memory = |p| Memory::new(p, stream("service"));
        let block_queue = |queue: &_| BlockQueue::new(*queue, p.driver);
        let nvme = |queues| Nvme::new(queues, p.driver);
        let kind = match &p.ends {
            Ends::BlockQueue(queue, StorageParameters::Memory(storage)) => {
                Kind::BlockQueueMemory(Ssd::new(p, block_queue(queue), memory(storage), errors))
            }
            Ends::BlockQueue(queue, StorageParameters::Flash(storage)) => {
                Kind::BlockQueueFlash(Ssd::new(p, block_queue(queue), flash(storage)?, errors))
            }
            Ends::Bulk(queue, mean) => {
                let server = BulkServer::new(*mean, queue.block, stream("service"));
                Kind::BlockQueueBulk(Ssd::new(p, block_queue(queue), server, errors))
            }
            Ends::Nvme(queues, StorageParameters::Memory(storage)) => {
                Kind::NvmeMemory(Ssd::new(p, nvme(queues), memory(storage), errors))
            }
            Ends::Nvme(queues, StorageParameters::Flash(storage)) => {
                Kind::NvmeFlash(Ssd::new(p, nvme(queues), flash(storage)?, errors))
            }
        };
        Ok(Self(kind))
    }

    /// The report of the time from the beginning of the measurement until its end, or until the last event if it
    /// has not ended.
    pub fn report(&self) -> SsdReport {
        each!(&self.0, ssd => ssd.report())
    }
}

impl Device for AnySsd {
    fn submit(&mut self, job: Job, now: Nanos) {
        each!(&mut self.0, ssd => ssd.submit(job, now));
    }

    fn start_next(&mut self, _: Nanos) -> Option<Nanos> {
        each!(&mut self.0, ssd => ssd.next_wake_up())
    }

    fn complete(&mut self, now: Nanos, until: Nanos) -> Option<Service> {
        each!(&mut self.0, ssd => ssd.complete(now, until))
    }

    fn measure_from(&mut self, now: Nanos) {
        each!(&mut self.0, ssd => ssd.measure_from(now));
    }

    fn end_measurement(&mut self, now: Nanos) {
        each!(&mut self.0, ssd => ssd.end_measurement(now));
    }

    fn usage(&self) -> Usage {
        each!(&self.0, ssd => ssd.usage())
    }

    fn pipelined(&mut self) -> Option<&mut dyn Pipelined> {
        Some(self)
    }
}

impl Observable for AnySsd {
    fn occupancy(&self) -> Occupancy {
        each!(&self.0, ssd => Occupancy {
            in_service: None,
            last_served: ssd.jobs.last_served,
            waiting: ssd.jobs.present.len(),
        })
    }
}

impl Pipelined for AnySsd {
    fn stage_times(&self) -> &[Nanos] {
        each!(&self.0, ssd => &ssd.jobs.last_stages.times)
    }

    fn takes_flushes(&self) -> bool {
        each!(&self.0, ssd => ssd.storage.takes_flushes())
    }

    fn drain(&mut self, now: Nanos) {
        each!(&mut self.0, ssd => ssd.drain(now));
    }

    fn why_stuck(&self) -> Option<String> {
        each!(&self.0, ssd => ssd.why_stuck())
    }
}
