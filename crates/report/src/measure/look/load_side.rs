//! The load alone, independent of its outcome.

use iosonar_analysis::{
    LoadMetrics, LoadOptions, LoadSummary, Tumbling, TumblingPoint, WORKING_SET_WINDOWS,
};
use iosonar_trace::{Batch, Record, Request};
use iosonar_units::Nanos;

use super::{LookOptions, WorkingSets};

/// The measures of the load alone.
pub(super) struct LoadSide {
    metrics: LoadMetrics,
    tumbling: Option<Tumbling>,
}

impl LoadSide {
    /// Nothing seen yet.
    pub(super) fn new(options: &LookOptions) -> Self {
        let tumbles = options.working_sets == WorkingSets::Tumbling;
        Self {
            metrics: LoadMetrics::new(LoadOptions {
                window: Nanos::from_millis(100),
                position_sectors: 1 << 11,
                ..LoadOptions::default()
            }),
            tumbling: tumbles.then(|| Tumbling::new(&WORKING_SET_WINDOWS)),
        }
    }

    /// Looks at one request of the load.
    pub(super) fn push(&mut self, request: &Request) {
        self.metrics.push(request);
        count_first_sector(&mut self.tumbling, request);
    }

    /// The two halves of [`push`](Self::push) for all records of the load in a batch, for two threads.
    pub(super) fn halves<'a>(
        &'a mut self,
        options: &'a LookOptions,
    ) -> (
        impl FnMut(&Batch) + Send + 'a,
        impl FnMut(&Batch) + Send + 'a,
    ) {
        let is_of_the_load = |record: &Record| options.is_of_the_load(record);
        let (demand, mut working_sets) = self.metrics.halves(is_of_the_load);
        let tumbling = &mut self.tumbling;
        (demand, move |batch: &Batch| {
            working_sets(batch);
            if tumbling.is_some() {
                let of_load = batch.records().filter(is_of_the_load);
                of_load.for_each(|record| count_first_sector(tumbling, &record.request));
            }
        })
    }

    /// What the load is like, and its working sets in windows that follow each other.
    pub(super) fn finish(self) -> (Option<LoadSummary>, Option<Vec<Vec<TumblingPoint>>>) {
        (self.metrics.finish(), self.tumbling.map(Tumbling::finish))
    }
}

fn count_first_sector(tumbling: &mut Option<Tumbling>, request: &Request) {
    if let Some(tumbling) = tumbling
        && request.sectors.get() > 0
    {
        tumbling.push(request.start, request.sector.get());
    }
}
