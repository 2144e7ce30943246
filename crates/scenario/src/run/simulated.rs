//! The kinds of devices, and how arrays of them are simulated.

use std::marker::PhantomData;

use iosonar_device::{Device, Mechanism, Station};
use iosonar_raid::{Array, Level, RequestSource, RunSummary};
use iosonar_ssd_model::{AnySsd, SsdReport};

use super::outputs::Sink;
use crate::ScenarioError;

/// How a run is computed; its result does not depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Whether the load and the level need no events.
    pub(super) without_events: bool,
    /// On how many threads.
    pub(super) threads: usize,
}

/// How arrays of devices of a kind are simulated.
pub(crate) trait Simulated {
    type Device: Device;

    /// Carries out a run in this way, as far as the devices allow it.
    fn run(
        array: Array<Level, Self::Device>,
        way: Way,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        sink: &mut Sink<'_, '_>,
    ) -> Result<(RunSummary, Option<SsdReport>), ScenarioError>;
}

/// Devices that serve one job at a time.
pub(super) struct Stations<M>(PhantomData<M>);

impl<M: Mechanism<Place: Send> + Send> Simulated for Stations<M> {
    type Device = Station<M>;

    fn run(
        array: Array<Level, Station<M>>,
        way: Way,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        sink: &mut Sink<'_, '_>,
    ) -> Result<(RunSummary, Option<SsdReport>), ScenarioError> {
        let run = if way.without_events && array.needs_no_events() {
            array.run_without_events_on(way.threads, source, sink)
        } else {
            array.run(source, sink)
        };
        Ok((run?, None))
    }
}

/// The same, where a device must stay on one thread.
pub(crate) struct LocalStations<M>(PhantomData<M>);

impl<M: Mechanism> Simulated for LocalStations<M> {
    type Device = Station<M>;

    fn run(
        array: Array<Level, Station<M>>,
        way: Way,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        sink: &mut Sink<'_, '_>,
    ) -> Result<(RunSummary, Option<SsdReport>), ScenarioError> {
        let run = if way.without_events && array.needs_no_events() {
            array.run_without_events(source, sink)
        } else {
            array.run(source, sink)
        };
        Ok((run?, None))
    }
}

/// Devices with queues of their own.
pub(crate) struct Queues<D>(PhantomData<D>);

impl<D: Device> Simulated for Queues<D> {
    type Device = D;

    fn run(
        array: Array<Level, D>,
        _: Way,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        sink: &mut Sink<'_, '_>,
    ) -> Result<(RunSummary, Option<SsdReport>), ScenarioError> {
        Ok((array.run(source, sink)?, None))
    }
}

pub(super) struct Ssds;

impl Simulated for Ssds {
    type Device = AnySsd;

    fn run(
        array: Array<Level, AnySsd>,
        _: Way,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        sink: &mut Sink<'_, '_>,
    ) -> Result<(RunSummary, Option<SsdReport>), ScenarioError> {
        let (run, devices) = array.run_to_the_end(source, sink)?;
        let mut all = SsdReport::default();
        for report in devices.iter().map(AnySsd::report) {
            let used = report.capacity_used();
            sink.replication.capacity_used.push(used);
            all.merge(&report, true);
        }
        Ok((run, Some(all)))
    }
}
