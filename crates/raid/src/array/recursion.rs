//! The simulation without events, disk by disk.
//!
//! Where each request is issued as a whole when it comes, disks do not influence each other: all that a disk has to
//! know is which jobs come to it, and when. So requests are taken in blocks:
//!
//! ```text
//!                      ┌► disk 0: its jobs ─► their ends ─┐
//!  source ──► planning ┼► disk 1 ...                      ┼► joining ──► sink
//!             (a block)└► disk n ...                      ┘  (order of completion)
//! ```
//!
//! - A disk that serves in the order of arrival has a recursion (Lindley's): a job's service begins when it comes, or
//!   when the one before it ends.
//! - A disk whose services depend on what waits is simulated by itself: it has no more than one event to come.
//!
//! A request is complete when the last of its jobs ends. Completions are put in order as soon as all that happens
//! before the next arrival is known.

mod crew;
mod joining;
mod lane;
mod planning;
mod rounds;

use iosonar_device::InOrder;
use iosonar_units::Nanos;

use super::measurement::Measurement;
use super::window::Window;
use super::{Array, CompletionSink, RequestSource, RunSummary};
use crate::Planner;
use joining::Joining;
use lane::{Disk, Times};
use planning::{Block, Planning};

/// Requests of a block on one thread: enough that a disk goes on for a while, and few enough that they stay in the
/// nearest cache.
const BLOCK: usize = 128;

/// A run that is about to begin.
struct Parts<'a, P, D, R, S> {
    planning: Planning<'a, P, R>,
    disks: Vec<Disk<D>>,
    joining: Joining<'a, S>,
    one_at_a_time: bool,
}

impl<'a, P, D, R, S> Parts<'a, P, D, R, S>
where
    P: Planner,
    D: InOrder,
    R: RequestSource<Error = S::Error>,
    S: CompletionSink,
{
    fn of(array: Array<P, D>, source: &'a mut R, sink: &'a mut S) -> Self {
        let window = Window::new(array.warmup, false);
        let measurement = Measurement::new(window, array.split, sink.takes_services());
        let disks = array.devices.into_iter().enumerate();
        Self {
            planning: Planning::new(array.planner, array.rules, array.warmup, source),
            disks: disks.map(|(i, device)| Disk::new(i, device)).collect(),
            joining: Joining::new(sink, measurement),
            one_at_a_time: array.controller.one_at_a_time,
        }
    }
}

pub(super) fn run<P: Planner, D: InOrder, S: CompletionSink>(
    array: Array<P, D>,
    source: &mut impl RequestSource<Error = S::Error>,
    sink: &mut S,
) -> Result<RunSummary, S::Error> {
    let Parts {
        mut planning,
        mut disks,
        mut joining,
        one_at_a_time,
    } = Parts::of(array, source, sink);
    let most = if one_at_a_time { 1 } else { BLOCK };
    let mut block = Block::of_disks(disks.len());
    let mut last_arrival = Nanos::ZERO;
    while !block.is_last {
        let filled = planning.fill::<D>(&mut block, most);
        let times = block.times(joining.takes_services(), last_arrival);
        last_arrival = times.until;
        serve(&mut disks, &mut block, &times);
        joining.join(&block)?;
        if one_at_a_time {
            block.not_before = block.end();
        }
        filled?;
    }
    end(disks, block, joining, last_arrival)
}

/// The same on several threads.
pub(super) fn run_on<P, D, R, S>(
    threads: usize,
    array: Array<P, D>,
    source: &mut R,
    sink: &mut S,
) -> Result<RunSummary, S::Error>
where
    P: Planner + Send,
    D: InOrder + Send,
    R: RequestSource<Error = S::Error> + Send,
    S: CompletionSink<Error: Send>,
{
    // Where there is one request at a time, there is nothing to do at the same time.
    if threads < 2 || array.controller.one_at_a_time {
        return run(array, source, sink);
    }
    let parts = Parts::of(array, source, sink);
    let mut joining = parts.joining;
    let loaded = rounds::run(threads, parts.planning, parts.disks, &mut joining)?;
    end(loaded.disks, loaded.block, joining, loaded.last_arrival)
}

/// The disks serve the jobs of a block.
fn serve<D: InOrder>(disks: &mut [Disk<D>], block: &mut Block, times: &Times) {
    if times.measured_from.is_some() || disks.iter().any(Disk::takes_all_blocks) {
        for (disk, lane) in disks.iter_mut().zip(&mut block.lanes) {
            disk.serve(lane, times);
        }
        return;
    }
    for &disk in &block.used {
        disks[disk as usize].serve(&mut block.lanes[disk as usize], times);
    }
}

/// All requests have arrived, the last at `last_arrival`.
fn end<D: InOrder, S: CompletionSink>(
    mut disks: Vec<Disk<D>>,
    mut block: Block,
    mut joining: Joining<'_, S>,
    last_arrival: Nanos,
) -> Result<RunSummary, S::Error> {
    let devices = disks.iter_mut().map(|disk| &mut disk.device);
    joining.measurement.end_of_load(devices, true, last_arrival);
    // No more jobs come.
    block.clear();
    let times = block.times(joining.takes_services(), Nanos::MAX);
    serve(&mut disks, &mut block, &times);
    joining.join(&block)?;
    joining.release_until(Nanos::MAX)?;
    joining.flush()?;
    let devices = disks.iter_mut().map(|disk| &mut disk.device);
    let Joining {
        mut measurement,
        last,
        ..
    } = joining;
    measurement.end(devices, last);
    let mut services = 0;
    for disk in &disks {
        measurement.summary.hash.add_all(disk.hash);
        services += disk.services;
    }
    let events = measurement.summary.requests + services;
    Ok(measurement.finish(events))
}
