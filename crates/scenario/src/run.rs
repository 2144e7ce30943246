//! Carrying a simulation out: replications on threads, results in the order of their numbers.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use iosonar_disk_model::{DiskStation, SampledDisk};
use iosonar_raid::{Array, Completion, CompletionSink, Planner, RequestSource};
use iosonar_sim_core::Seed;
use iosonar_trace::{Batch, Outcome, Record, TraceWriter};
use iosonar_units::Nanos;
use iosonar_workload::SyntheticLoad;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::resolve::{Level, Load, Simulation};
use crate::result::Accumulator;
use crate::source::{Synthetic, Trace};
use crate::{Replication, ScenarioError, SimulationResult};

impl Simulation {
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
        let begin = Instant::now();
        let mut total = Accumulator::default();
        let records = Mutex::new(records);
        let replication = |number: u32| {
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            let mine = if number == 0 { records.take() } else { None };
            drop(records);
            self.replication(number, mine)
        };
        // A few at a time, so that memory does not grow with their number.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let step = 4 * threads.clamp(1, 1024) as u32;
        let mut next = 0;
        while next < self.replications {
            let some = next..next.saturating_add(step).min(self.replications);
            next = some.end;
            let runs: Vec<Replication> = match &pool {
                Ok(pool) => pool.install(|| {
                    let some = some.into_par_iter();
                    some.map(replication).collect::<Result<_, _>>()
                })?,
                // No threads to be had: one after the other gives the same result.
                Err(_) => some.map(replication).collect::<Result<_, _>>()?,
            };
            runs.iter().for_each(|run| total.add(run));
        }
        Ok(total.finish(begin.elapsed()))
    }

    fn replication(
        &self,
        number: u32,
        records: Option<&mut dyn TraceWriter>,
    ) -> Result<Replication, ScenarioError> {
        let seed = Seed::new(self.seed).replication(u64::from(number));
        // The shape was checked when the scenario was resolved.
        match self.level {
            Level::Raid0 => self.drive(self.raid0(&seed).expect("checked"), &seed, records),
            Level::Raid01(read) => {
                self.drive(self.raid01(read, &seed).expect("checked"), &seed, records)
            }
            Level::Raid5(layout, random) => self.drive(
                self.raid5(layout, random, &seed).expect("checked"),
                &seed,
                records,
            ),
        }
    }

    fn drive<P: Planner>(
        &self,
        planner: P,
        seed: &Seed,
        records: Option<&mut dyn TraceWriter>,
    ) -> Result<Replication, ScenarioError> {
        let devices = (0..self.disks)
            .map(|i| SampledDisk::new(&self.profile, seed, &format!("disk/{i}")))
            .map(|disk| DiskStation::new(disk, self.scheduler))
            .collect();
        let data_sectors = planner.data_sectors();
        let array = Array::new(planner, devices, self.rules);
        match &self.load {
            Load::Synthetic { workload, requests } => self.collect(
                array,
                Synthetic {
                    load: SyntheticLoad::new(*workload, seed),
                    left: self.warmup_requests.saturating_add(*requests),
                },
                records,
            ),
            Load::Trace { path, selection } => {
                let source = Trace::open(path, selection, data_sectors, self.stripe_unit)?;
                self.collect(array, source, records)
            }
        }
    }

    fn collect<P: Planner>(
        &self,
        array: Array<P, DiskStation>,
        mut source: impl RequestSource<Error = ScenarioError>,
        records: Option<&mut dyn TraceWriter>,
    ) -> Result<Replication, ScenarioError> {
        let mut sink = Sink {
            replication: Replication::default(),
            records: records.map(|writer| (writer, Batch::default())),
        };
        let run = array.run(&mut source, &mut sink, self.warmup_requests)?;
        sink.flush()?;
        if sink.replication.reads.count() + sink.replication.writes.count() == 0 {
            return Err(ScenarioError::NothingMeasured {
                requests: run.requests,
                warmup: self.warmup_requests.min(run.requests),
            });
        }
        Ok(Replication {
            run,
            ..sink.replication
        })
    }
}

/// Statistics of the measured requests, and records of all.
struct Sink<'a> {
    replication: Replication,
    records: Option<(&'a mut dyn TraceWriter, Batch)>,
}

impl Sink<'_> {
    fn flush(&mut self) -> Result<(), ScenarioError> {
        if let Some((writer, batch)) = &mut self.records {
            writer.write(batch)?;
            batch.clear();
        }
        Ok(())
    }
}

impl CompletionSink for Sink<'_> {
    type Error = ScenarioError;

    #[inline]
    fn completed(&mut self, completion: &Completion) -> Result<(), ScenarioError> {
        if completion.measured {
            self.replication
                .push(completion.request.op, completion.response_time);
        }
        if let Some((_, batch)) = &mut self.records {
            batch.push(&Record {
                request: completion.request,
                outcome: Outcome::done(Nanos::ZERO, completion.response_time),
            });
            if batch.len() == Batch::ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }
}
