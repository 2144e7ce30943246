//! Carrying a simulation out: replications on threads, results in the order of their numbers.

mod files;
mod fleet;
mod memory;
mod outputs;
mod server;
mod simulated;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use iosonar_device::Station;
use iosonar_disk_model::{DiskLaws, Mechanics, PositionalDisk, Queueing, SampledDisk, Scheduler};
use iosonar_raid::{Array, Level, Planner, RequestSource};
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{AnySsd, Stage};
use iosonar_trace::fit::Fitter;
use iosonar_trace::{Batch, Op, Reading, TraceWriter};
use iosonar_units::Nanos;
use iosonar_workload::{ClosedLoad, Size, SyntheticLoad};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::prepared::{Fleet, Method, Prepared, Warmup};
use crate::result::Accumulator;
use crate::source::{Alone, Closed, Held, Pieces, Synthetic, Trace};
use crate::{
    ArrayModel, Devices, DiskModel, DiskSet, GiveUp, LoadModel, RegisteredDevices, Replication,
    ScenarioError, Servers, SimulationResult, SsdSet,
};
pub use files::{
    OutputFiles, REPLICATION, go_to as records_go_to, path_of as records_path_of,
    replaced_by as replaced_by_records,
};
use fleet::Feed;
use memory::Share;
pub use outputs::{Outputs, RecordFiles, Records, StageSink};
use outputs::{RecordsOut, RunOutputs, Sink};
use server::Server;
pub(crate) use simulated::{LocalStations, Queues, Simulated};
use simulated::{Ssds, Stations, Way};

impl Prepared {
    /// Runs all replications on `threads` threads. The records of the first replication, the
    /// warm-up included, go to `records` in the order of completion; the caller finishes it.
    ///
    /// # Errors
    /// If the trace that drives the simulation is damaged or does not fit the array, or the
    /// records cannot be written.
    pub fn run(
        &self,
        threads: usize,
        records: Option<&mut dyn TraceWriter>,
    ) -> Result<SimulationResult, ScenarioError> {
        let outputs = Outputs {
            records: records.map_or(Records::None, Records::OfFirst),
            stages: None,
        };
        self.run_watched(threads, outputs, &Watch::default())
    }

    /// The stages of a sub-request's time that a [`StageSink`] takes.
    pub fn stage_names(&self) -> &'static [&'static str] {
        match self.array.devices {
            Devices::Disks(_) | Devices::Servers(_) | Devices::Registered(_) => {
                &["wait", "positioning", "transfer"]
            }
            Devices::Ssds(_) => Stage::NAMES,
        }
    }

    /// The same, watched from another thread. With outputs of all replications these run one after the other.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if it is interrupted.
    pub fn run_watched(
        &self,
        threads: usize,
        outputs: Outputs<'_>,
        watch: &Watch,
    ) -> Result<SimulationResult, ScenarioError> {
        let begin = Instant::now();
        let kinds = DeviceKinds::new(&self.array);
        // What runs alone has all threads.
        let warmup = self.warmup_requests(&kinds, threads, watch)?;
        let mut total = Accumulator::new(warmup, self.fleet());
        if self.fleet() == Some(Fleet::OfTrace) {
            let total = self.run_fleet(&kinds, (threads, warmup), total, outputs.records, watch)?;
            return Ok(total.finish(begin.elapsed()));
        }
        let mut outputs = outputs;
        let runs = self.runs();
        if outputs.are_of_all() {
            for number in 0..runs {
                let mine = outputs.of(number)?;
                let around = self.around(number, warmup, threads, watch);
                total.add(self.replication(&kinds, mine, &around)?);
                if self.precision.is_some_and(|p| total.is_as_precise_as(p)) {
                    break;
                }
            }
            total.check()?;
            return Ok(total.finish(begin.elapsed()));
        }
        let at_once = self.at_once(threads, runs);
        let outputs = Mutex::new(Some(outputs));
        let replication = |number: u32| {
            let mut of_first = None;
            if number == 0 {
                let mut outputs = outputs.lock().unwrap_or_else(PoisonError::into_inner);
                of_first = outputs.take();
            }
            let mine = match &mut of_first {
                Some(outputs) => outputs.of(number)?,
                None => RunOutputs::default(),
            };
            let around = self.around(number, warmup, threads / at_once, watch);
            self.replication(&kinds, mine, &around)
        };
        // A few at a time, so that memory does not grow with their number.
        let pool =
            (at_once > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(at_once).build());
        let step = 4 * threads.clamp(1, 1024) as u32;
        let mut next = 0;
        while next < runs {
            let some = next..next.saturating_add(step).min(runs);
            next = some.end;
            let runs: Vec<Replication> = match &pool {
                // The first error in the order of their numbers, whichever run was the quickest to fail.
                Some(Ok(pool)) => pool
                    .install(|| some.into_par_iter().map(replication).collect::<Vec<_>>())
                    .into_iter()
                    .collect::<Result<_, _>>()?,
                // One after the other gives the same result, also if no threads can be created.
                _ => some.map(replication).collect::<Result<_, _>>()?,
            };
            // One by one, so that the runs that count do not depend on how many ran at once.
            for run in runs {
                total.add(run);
                if self.precision.is_some_and(|p| total.is_as_precise_as(p)) {
                    return Ok(total.finish(begin.elapsed()));
                }
            }
        }
        total.check()?;
        Ok(total.finish(begin.elapsed()))
    }

    /// How many of the replications run at once, so that together they begin with no more memory than they may.
    fn at_once(&self, threads: usize, runs: u32) -> usize {
        let fitting = match self.array.bytes_at_start() {
            0 => usize::MAX,
            bytes => (self.memory_of_several() / bytes) as usize,
        };
        threads.min(runs as usize).min(fitting).max(1)
    }

    /// What several runs at once may take together before their first requests, in bytes: a half, as all of them grow.
    fn memory_of_several(&self) -> u64 {
        self.memory.get() / 2
    }

    fn around<'a>(
        &'a self,
        number: u32,
        warmup: u64,
        threads: usize,
        watch: &'a Watch,
    ) -> Around<'a> {
        Around {
            seed: Seed::new(self.seed).replication(u64::from(number)),
            warmup,
            threads: threads.max(1),
            give_up: &self.give_up,
            watch,
            feed: None,
        }
    }

    fn replication(
        &self,
        kinds: &DeviceKinds<'_>,
        outputs: RunOutputs<'_>,
        around: &Around<'_>,
    ) -> Result<Replication, ScenarioError> {
        // Arrays that share a trace run together, and have one share.
        let _share = around
            .feed
            .is_none()
            .then(|| Share::wait(self.array.bytes_at_start(), self.memory_of_several()));
        // Short runs come to their end without looking, and others may have waited.
        if around.watch.stop.load(Relaxed) {
            return Err(ScenarioError::Interrupted);
        }
        let seed = around.seed;
        let component = |i: usize| self.array.station(i);
        let disks = 0..self.array.disks + self.array.spares();
        match kinds {
            DeviceKinds::Sampled(set, kinds, scheduler) => {
                let disk = |i| {
                    let laws = &kinds[set.kind_of(i)];
                    let disk = SampledDisk::new(laws, &seed, &component(i));
                    Station::new(disk.with_scheduler(*scheduler))
                };
                self.drive::<Stations<_>>(disks.map(disk).collect(), outputs, around)
            }
            DeviceKinds::Positional(set, kinds, queueing) => {
                let disk = |i| {
                    let mechanics = &kinds[set.kind_of(i)];
                    let name = component(i);
                    Station::new(PositionalDisk::new(mechanics, *queueing, &seed, &name))
                };
                self.drive::<Stations<_>>(disks.map(disk).collect(), outputs, around)
            }
            DeviceKinds::Ssds(set) => {
                let ssd = |i| AnySsd::new(&set.parameters, &seed, &component(i));
                let ssds = disks.map(ssd).collect::<Result<_, _>>()?;
                self.drive::<Ssds>(ssds, outputs, around)
            }
            DeviceKinds::Servers(servers) => {
                let law = servers.service.law();
                let server =
                    |i| Station::new(Server::new(&law, seed.stream(&component(i), "service")));
                self.drive::<Stations<_>>(disks.map(server).collect(), outputs, around)
            }
            DeviceKinds::Registered(devices) => devices.model.run(
                devices,
                RegisteredRun {
                    prepared: self,
                    outputs,
                    around: *around,
                },
            ),
        }
    }

    fn drive<S: Simulated>(
        &self,
        devices: Vec<S::Device>,
        outputs: RunOutputs<'_>,
        around: &Around<'_>,
    ) -> Result<Replication, ScenarioError> {
        let planner = self.array.planner(&around.seed)?;
        let without_events = self.method == Method::Fastest && self.issues_at_once(&planner);
        let mut array = Array::new(planner, devices, self.array.rules)
            .with_controller(self.array.controller)
            .with_device_events(self.array.events.clone())
            .with_warmup(around.warmup);
        if let Some(rebuild) = self.array.rebuild {
            array = array.with_rebuild(rebuild);
        }
        if self.split {
            array = array.with_split();
        }
        let run = Ready::<S> {
            way: Way {
                without_events,
                threads: around.threads,
            },
            array,
            sections: self.runs() == 1,
            may_fail: self.arrays > 1,
            around,
        };
        let left = around
            .warmup
            .saturating_add(self.load.requests().unwrap_or(0));
        match &self.load {
            LoadModel::Synthetic { classes, .. } => {
                let load = SyntheticLoad::new(classes.clone(), &around.seed);
                run.collect(&mut Synthetic { load, left }, outputs)
            }
            LoadModel::Alone { shape, .. } => {
                let load = ClosedLoad::new(shape, 1, Nanos::ZERO, &around.seed);
                run.collect(&mut Alone { load, left }, outputs)
            }
            LoadModel::Closed {
                shape,
                outstanding,
                think,
                ..
            } => {
                let load = ClosedLoad::thinking(shape, *outstanding, think, &around.seed);
                run.collect(&mut Closed { load, left }, outputs)
            }
            LoadModel::Trace {
                path,
                reading,
                fitter,
                ..
            } => {
                if let Some(feed) = around.feed {
                    let feed = feed.lock().unwrap_or_else(PoisonError::into_inner).take();
                    return run.collect(&mut feed.expect("an array runs once"), outputs);
                }
                let mut source = self.open_trace(path, reading, *fitter)?;
                let result = run.collect(&mut source, outputs);
                let (mut remarks, fitted) = source.notes();
                remarks.extend(source.devices_as_one());
                let replication = result.map_err(|error| match error {
                    ScenarioError::NothingMeasured { requests: 0, .. } => {
                        ScenarioError::NoRequests {
                            path: path.clone(),
                            changed: self.load.is_changed(),
                            left_out: fitted.left_out,
                        }
                    }
                    error => error,
                })?;
                Ok(Replication {
                    remarks,
                    fitted,
                    span: source.span(),
                    ..replication
                })
            }
        }
    }

    /// Opens the trace that drives this array, or all of several.
    fn open_trace(
        &self,
        path: &Path,
        reading: &Reading,
        fitter: Fitter,
    ) -> Result<Trace, ScenarioError> {
        let pieces = Pieces::of(&self.array);
        Trace::open(path, reading, fitter, Held::by(&self.array), pieces)
    }

    /// Whether all requests of the load are issued as a whole when they come.
    fn issues_at_once(&self, planner: &Level) -> bool {
        match &self.load {
            LoadModel::Closed { .. } | LoadModel::Alone { .. } => false,
            LoadModel::Trace { .. } => {
                planner.issues_at_once(Op::Read, None) && planner.issues_at_once(Op::Write, None)
            }
            LoadModel::Synthetic { classes, .. } => classes.iter().all(|class| {
                let shape = &class.shape;
                let sectors = |op| match shape.size_of(op) {
                    Size::Blocks(blocks) => blocks
                        .checked_mul(shape.block.get())
                        .map(iosonar_units::Sectors::new),
                    _ => None,
                };
                let at_once = |op| planner.issues_at_once(op, sectors(op));
                let reads = shape.read_share == 0.0 || at_once(Op::Read);
                let writes = shape.read_share == 1.0 || at_once(Op::Write);
                reads && writes
            }),
        }
    }

    /// How many requests of each run are not measured.
    fn warmup_requests(
        &self,
        kinds: &DeviceKinds<'_>,
        threads: usize,
        watch: &Watch,
    ) -> Result<u64, ScenarioError> {
        match self.warmup {
            Warmup::Requests(n) => Ok(n),
            Warmup::Auto => {
                // Its requests do not belong to the runs.
                let alone = Watch {
                    stop: Arc::clone(&watch.stop),
                    ..Watch::default()
                };
                let around = self.around(0, 0, threads, &alone);
                let pilot = self.replication(kinds, RunOutputs::default(), &around)?;
                pilot.start.transient().ok_or(ScenarioError::NoSteadyState {
                    requests: pilot.run.requests,
                })
            }
        }
    }
}

/// The devices, with what all disks of a kind share, kind by kind.
enum DeviceKinds<'a> {
    Sampled(&'a DiskSet, Vec<Arc<DiskLaws>>, Scheduler),
    Positional(&'a DiskSet, Vec<Arc<Mechanics>>, Queueing),
    Ssds(&'a SsdSet),
    Servers(&'a Servers),
    Registered(&'a RegisteredDevices),
}

impl<'a> DeviceKinds<'a> {
    fn new(array: &'a ArrayModel) -> Self {
        let disks = match &array.devices {
            Devices::Ssds(ssds) => return Self::Ssds(ssds),
            Devices::Servers(servers) => return Self::Servers(servers),
            Devices::Registered(devices) => return Self::Registered(devices),
            Devices::Disks(disks) => disks,
        };
        match disks.model {
            DiskModel::Sampled(scheduler) => {
                let laws = disks.kinds().map(DiskLaws::new).collect();
                Self::Sampled(disks, laws, scheduler)
            }
            DiskModel::Positional(queueing) => {
                let mechanics = disks.kinds().map(Mechanics::new).collect();
                Self::Positional(disks, mechanics, queueing)
            }
        }
    }
}

/// What a replication runs with.
#[derive(Clone, Copy)]
struct Around<'a> {
    seed: Seed,
    warmup: u64,
    /// How many threads it may use.
    threads: usize,
    give_up: &'a [GiveUp],
    watch: &'a Watch,
    /// Where its requests come from, if they are a part of a trace.
    feed: Option<&'a Mutex<Option<Feed>>>,
}

/// A replication on devices of a registered model, which it will make.
pub(crate) struct RegisteredRun<'a, 'o> {
    prepared: &'a Prepared,
    outputs: RunOutputs<'o>,
    around: Around<'a>,
}

impl RegisteredRun<'_, '_> {
    /// The numbers of the devices, spares included.
    pub(crate) fn places(&self) -> Range<usize> {
        let array = &self.prepared.array;
        0..array.disks + array.spares()
    }

    /// What a device is called among stations.
    pub(crate) fn station(&self, number: usize) -> String {
        self.prepared.array.station(number)
    }

    pub(crate) fn seed(&self) -> &Seed {
        &self.around.seed
    }

    pub(crate) fn carry_out<S: Simulated>(
        self,
        devices: Vec<S::Device>,
    ) -> Result<Replication, ScenarioError> {
        self.prepared
            .drive::<S>(devices, self.outputs, &self.around)
    }
}

/// A replication that is about to run.
struct Ready<'a, S: Simulated> {
    array: Array<Level, S::Device>,
    way: Way,
    /// Whether the run is cut into sections.
    sections: bool,
    /// Whether all requests may fail: of one array of several.
    may_fail: bool,
    around: &'a Around<'a>,
}

impl<S: Simulated> Ready<'_, S> {
    fn collect(
        self,
        source: &mut (impl RequestSource<Error = ScenarioError> + Send),
        outputs: RunOutputs<'_>,
    ) -> Result<Replication, ScenarioError> {
        let mut sink = Sink {
            replication: Replication::new(self.sections),
            records: outputs.records.map(|out| (out, Batch::default())),
            stages: outputs.stages,
            number: outputs.replication,
            watch: self.around.watch,
            uncounted: 0,
            give_up: self.around.give_up.to_vec(),
        };
        let (run, ssd) = S::run(self.array, self.way, source, &mut sink)?;
        sink.flush()?;
        let is_one_of_several = self.may_fail && sink.replication.failed > 0;
        if sink.replication.measured() == 0 && run.deadlock.is_none() && !is_one_of_several {
            return Err(ScenarioError::NothingMeasured {
                requests: run.requests,
                warmup: self.around.warmup.min(run.requests),
                failed: sink.replication.failed,
            });
        }
        Ok(Replication {
            ssd,
            run,
            ..sink.replication
        })
    }
}

/// A run as another thread sees it.
#[derive(Debug, Default)]
pub struct Watch {
    /// How many requests have been simulated, for a progress bar.
    pub completed: AtomicU64,
    /// Set, the run ends soon with [`ScenarioError::Interrupted`]. Several runs may share it.
    pub stop: Arc<AtomicBool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;

    #[test]
    fn replications_at_once_begin_with_no_more_memory_than_they_may() {
        let prepared = |disk: &str| {
            let text = format!(
                "[load]\nrequests = 100\narrivals = {{ poisson_per_s = 1.0 }}\nsize = \"4KiB\"\n{disk}"
            );
            Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default()).unwrap()
        };
        let disk = prepared("[array]\nlevel = 'raid0'\ndisks = 2\n[disk]\nprofile = 'exos-x18'");
        let most_bytes = disk.memory_of_several();
        assert!(disk.array.bytes_at_start() < 100_000);
        let small = prepared("[ssd]\nprofile = 'nvme-gen4-tlc'\n[ssd.flash]\nblocks = 40");
        let large =
            prepared("[ssd]\nprofile = 'intel-d7'\n[ssd.flash]\nprecondition = 'steady-state'");
        for (simulation, most) in [(&disk, 64), (&small, 64), (&large, 0)] {
            let bytes = simulation.array.bytes_at_start();
            let at_once = simulation.at_once(64, 100);
            assert!(
                bytes * at_once as u64 <= most_bytes || at_once == 1,
                "{at_once} x {bytes}"
            );
            if most > 0 {
                assert_eq!(at_once, most);
            } else {
                assert!(
                    at_once < 64 && bytes * (at_once as u64 + 1) > most_bytes,
                    "{at_once} x {bytes}"
                );
            }
            // Never more than threads or runs, and never none.
            assert_eq!(simulation.at_once(1, 100), 1);
            assert_eq!(simulation.at_once(64, 1), 1);
        }
    }
}
