//! A server of blocks: one exponential service for all descriptors of a block, whatever their number.
//!
//! Behind a ring and with Poisson arrivals this is the bulk-service queue M/M^\[a,b\]/1, which has exact theory.

use iosonar_sim_core::Stream;
use iosonar_units::Nanos;

use super::block_queue::{BlockQueue, BlockStorage};
use super::{Host, Never, Ssd, SsdReport, Storage};
use crate::servers::BusyTime;

#[derive(Clone, Debug)]
pub(super) struct BulkServer {
    mean: Nanos,
    services: Stream,
    /// How many descriptors a block may have.
    places: u32,
    /// Places of the block in service that are taken.
    taken: BusyTime,
}

impl BulkServer {
    pub(super) fn new(mean: Nanos, places: u32, services: Stream) -> Self {
        Self {
            mean,
            services,
            places,
            taken: BusyTime::default(),
        }
    }
}

impl BlockStorage for BulkServer {
    fn begin_block(&mut self, size: u64, now: Nanos) -> Option<Nanos> {
        self.taken.change(size as i64, now);
        Some(self.services.exponential(self.mean))
    }

    fn end_block(&mut self, size: u64, now: Nanos) {
        self.taken.change(-(size as i64), now);
    }

    fn take(_: &mut Ssd<BlockQueue, Self>, _: u32, _: Nanos) {}
}

impl Storage for BulkServer {
    type Event = Never;
    type Number = Never;

    fn serve<H: Host<Self>>(_: &mut Ssd<H, Self>, command: Never, _: Nanos) {
        match command {}
    }

    fn write<H: Host<Self>>(_: &mut Ssd<H, Self>, unit: Never, _: Nanos) {
        match unit {}
    }

    fn handle<H: Host<Self>>(_: &mut Ssd<H, Self>, event: Never, _: Nanos) {
        match event {}
    }

    fn measure_from(&mut self, now: Nanos) {
        self.taken.measure_from(now);
    }

    fn report_until(&self, now: Nanos, report: &mut SsdReport) {
        report.add_station("storage".to_owned(), self.places, self.taken.until(now));
    }
}
