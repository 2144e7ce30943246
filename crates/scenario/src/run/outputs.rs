//! What runs write while they go on: records, and times by stage.

use std::sync::atomic::Ordering::Relaxed;

use iosonar_raid::{Completion, CompletionSink, Served};
use iosonar_trace::{Batch, Outcome, Record, Status, TraceWriter};
use iosonar_units::Nanos;

use super::Watch;
use crate::{GiveUp, Replication, ScenarioError};

/// Takes what response times are made of, sub-request by sub-request.
pub trait StageSink: Send {
    /// A sub-request of replication `replication` that a device has served, and the times of its
    /// [stages](crate::Prepared::stage_names). Replications come one after the other, the sub-requests of each in the
    /// order of their ends.
    ///
    /// # Errors
    /// If it cannot be written.
    fn served(&mut self, replication: u32, served: &Served<'_>) -> Result<(), ScenarioError>;
}

/// Takes the records of all replications, each in a trace of its own.
pub trait RecordFiles: Send {
    /// Where the records of `replication` go; those of the replications before are complete.
    ///
    /// # Errors
    /// If the trace of the replication before cannot be completed, or this one cannot be created.
    fn begin(&mut self, replication: u32) -> Result<&mut dyn TraceWriter, ScenarioError>;
}

/// Which replications' records are written, and where to.
#[derive(Default)]
pub enum Records<'a> {
    /// None.
    #[default]
    None,
    /// Those of the first; of arrays that share a trace those of all, with their devices. While the trace is read, the
    /// writer is given the trace's metadata by [`update`](TraceWriter::update), as devices turn up.
    OfFirst(&'a mut dyn TraceWriter),
    /// Those of all, not of arrays that share a trace.
    OfAll(&'a mut dyn RecordFiles),
}

/// Where requests and what they are made of go.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Records, the warm-up included, in the order of completion; of arrays that share a trace in that order within rounds of
    /// some ten thousand requests.
    pub records: Records<'a>,
    /// What the response times of the measured requests of all replications are made of.
    pub stages: Option<&'a mut dyn StageSink>,
}

impl Outputs<'_> {
    pub(super) fn are_of_all(&self) -> bool {
        self.stages.is_some() || matches!(self.records, Records::OfAll(_))
    }

    /// Those of a replication. They are asked for in the order of replications.
    pub(super) fn of(&mut self, replication: u32) -> Result<RunOutputs<'_>, ScenarioError> {
        let writer: Option<&mut dyn TraceWriter> = match &mut self.records {
            Records::OfFirst(writer) if replication == 0 => Some(&mut **writer),
            Records::OfAll(files) => Some(files.begin(replication)?),
            Records::OfFirst(_) | Records::None => None,
        };
        let records = writer.map(|writer| RecordsOut {
            writer,
            rows: Batch::ROWS,
        });
        let stages: Option<&mut dyn StageSink> = match &mut self.stages {
            Some(sink) => Some(&mut **sink),
            None => None,
        };
        Ok(RunOutputs {
            replication,
            records,
            stages,
        })
    }
}

/// Where the records of one replication go.
pub(super) struct RecordsOut<'a> {
    pub(super) writer: &'a mut dyn TraceWriter,
    /// How many are written together.
    pub(super) rows: usize,
}

/// The outputs of one replication.
#[derive(Default)]
pub(super) struct RunOutputs<'a> {
    pub(super) replication: u32,
    pub(super) records: Option<RecordsOut<'a>>,
    pub(super) stages: Option<&'a mut dyn StageSink>,
}

/// Statistics of the measured requests, and records of all.
pub(crate) struct Sink<'w, 'c> {
    pub(super) replication: Replication,
    pub(super) records: Option<(RecordsOut<'w>, Batch)>,
    pub(super) stages: Option<&'w mut dyn StageSink>,
    /// The number of the replication.
    pub(super) number: u32,
    /// All threads count here, so each does it seldom.
    pub(super) watch: &'c Watch,
    pub(super) uncounted: u64,
    pub(super) give_up: Vec<GiveUp>,
}

impl Sink<'_, '_> {
    pub(super) fn flush(&mut self) -> Result<(), ScenarioError> {
        if let Some((out, batch)) = &mut self.records {
            out.writer.write(batch)?;
            batch.clear();
        }
        Ok(())
    }
}

/// EIO.
pub(super) const INPUT_OUTPUT_ERROR: u16 = 5;

impl CompletionSink for Sink<'_, '_> {
    type Error = ScenarioError;

    fn takes_services(&self) -> bool {
        self.stages.is_some()
    }

    fn served(&mut self, served: &Served<'_>) -> Result<(), ScenarioError> {
        let Some(sink) = &mut self.stages else {
            return Ok(());
        };
        if served.stages.is_empty() {
            let service = served.service;
            let wait = service.started - service.arrived;
            let stages = &[wait, service.positioning, service.transfer];
            return sink.served(self.number, &Served { stages, ..*served });
        }
        sink.served(self.number, served)
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) -> Result<(), ScenarioError> {
        if completion.measured && completion.failed {
            self.replication.failed += 1;
        } else if completion.measured {
            let op = completion.request.op;
            self.replication.push(op, completion.response_time);
            for (limit, give_up) in self.give_up.iter_mut().enumerate() {
                if completion.response_time > give_up.above && give_up.requests.include(op) {
                    let Some(left) = give_up.most.checked_sub(1) else {
                        return Err(ScenarioError::GivenUp { limit });
                    };
                    give_up.most = left;
                }
            }
        }
        self.uncounted += 1;
        if self.uncounted == 1 << 14 {
            self.watch.completed.fetch_add(self.uncounted, Relaxed);
            self.uncounted = 0;
            if self.watch.stop.load(Relaxed) {
                return Err(ScenarioError::Interrupted);
            }
        }
        if let Some((out, batch)) = &mut self.records {
            let mut outcome = Outcome::done(Nanos::ZERO, completion.response_time);
            if completion.failed {
                outcome.status = Status::Error(INPUT_OUTPUT_ERROR);
            }
            batch.push(&Record {
                request: completion.request,
                outcome,
            });
            if batch.len() == out.rows {
                self.flush()?;
            }
        }
        Ok(())
    }
}
