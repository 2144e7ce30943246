//! What must hold when a replay has ended.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use iosonar_trace::{Op, Record, Status};

use super::disk::{SECTOR, Seen};
use super::files::SimulatedFile;
use super::records::salvaged;
use super::scenario::Scenario;
use super::world::{State, World};
use crate::verify::{Contents, Expect, Findings, Tables, check_contents, read_log_from};
use crate::{EngineKind, ReplayError, Summary, TaskWork, Writes};

/// How the call ended that does everything.
pub(crate) enum Ended {
    Summary(Box<Summary>),
    Error(ReplayError),
    Panic(String),
}

pub(crate) type Problem = Result<(), String>;

/// Everything about a replay that has ended.
pub(crate) struct Ending<'a> {
    pub(crate) world: &'a Arc<World>,
    pub(crate) scenario: &'a Scenario,
    pub(crate) ended: &'a Ended,
    pub(crate) records: &'a [Record],
}

/// An image of a disk.
struct Image<'a> {
    block: u64,
    bytes: &'a [u8],
}

impl Contents for Image<'_> {
    fn block(&self) -> u64 {
        self.block
    }

    fn read(&self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let from = sector as usize * SECTOR;
        let range = self.bytes.get(from..from + data.len());
        data.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

fn tables() -> Tables {
    Tables::new(iosonar_units::Bytes::new(1 << 30), std::env::temp_dir())
}

pub(crate) fn must(holds: bool, problem: impl FnOnce() -> String) -> Problem {
    if holds { Ok(()) } else { Err(problem()) }
}

impl Ending<'_> {
    /// All of it.
    pub(crate) fn check(&self, seen: &mut super::Seen) -> Problem {
        let state = self.world.lock();
        match self.ended {
            Ended::Panic(text) => {
                must(
                    state.has_panicked && text == super::world::PLANNED_PANIC,
                    || format!("it panicked: {text}; {}", state.messages()),
                )?;
            }
            Ended::Error(e) => self.check_error(&state, e)?,
            Ended::Summary(_) => {}
        }
        if self.scenario.options.engine != EngineKind::Dry {
            self.check_records(&state)?;
        }
        if let Ended::Summary(summary) = self.ended {
            self.check_counts(&state, summary)?;
            self.check_final(&state, summary)?;
        }
        self.check_file(&state)?;
        self.check_logs(&state)?;
        for crash in &state.kernel.crashes {
            self.check_crash(crash, seen)?;
        }
        Ok(())
    }

    fn check_error(&self, state: &State, error: &ReplayError) -> Problem {
        let text = iosonar_units::with_causes(error);
        let is_cut = self.scenario.disks.iter().any(|disk| disk.cut.is_some());
        let is_expected = match error {
            ReplayError::Trace(_) => {
                is_cut || self.scenario.disks.iter().any(|disk| disk.is_stream)
            }
            ReplayError::Io { .. } => self.scenario.log_room.is_some(),
            ReplayError::Refused(_) => self.scenario.options.ring.poll_completions,
            // A kernel cannot do what is asked for explicitly.
            ReplayError::Engine { .. } => {
                let ring = &self.scenario.options.ring;
                let is_old = self.scenario.old_kernel[..2].contains(&true);
                ring.task_work == TaskWork::Deferred && (is_old || ring.submission_thread)
            }
            ReplayError::Busy { .. } => false,
        };
        must(is_expected || state.has_panicked, || {
            format!("it ended with: {text}")
        })
    }

    /// What the disk saw of each request: of the request itself, not what reads it back.
    fn seen(state: &State, disk: usize) -> HashMap<usize, Seen> {
        let seen = state.kernel.disks[disk].seen.iter();
        let own = seen.filter(|seen| !seen.is_read_back);
        own.map(|seen| (seen.request, *seen)).collect()
    }

    /// The place of a record's request in its load.
    fn place(&self, record: &Record, taken: &[Vec<u32>]) -> Option<(usize, usize)> {
        let disk = match self.scenario.disks.len() {
            1 => 0,
            _ => usize::from(record.request.device),
        };
        let plan = self.scenario.disks.get(disk)?;
        let is_it = |&i: &usize| {
            let request = plan.requests[i].request;
            let of = &record.request;
            (request.start, request.op, request.sector, request.sectors)
                == (of.start, of.op, of.sector, of.sectors)
                && request.flags == of.flags
        };
        let mut all = (0..plan.requests.len()).filter(is_it);
        // Of several flushes at one time each has its turn.
        let first = all.clone().next()?;
        Some((disk, all.find(|&i| taken[disk][i] == 0).unwrap_or(first)))
    }

    /// Each request has one record, which is true.
    fn check_records(&self, state: &State) -> Problem {
        let disks = &self.scenario.disks;
        let mut taken: Vec<Vec<u32>> = disks
            .iter()
            .map(|disk| vec![0; disk.requests.len()])
            .collect();
        let seen: Vec<_> = (0..disks.len())
            .map(|disk| Self::seen(state, disk))
            .collect();
        for record in self.records {
            let Some((disk, request)) = self.place(record, &taken) else {
                return Err(format!("no request has the record {record:?}"));
            };
            taken[disk][request] += 1;
            must(taken[disk][request] == 1, || {
                format!("there is a second {record:?}")
            })?;
            // Which of several flushes is which is not known where they may overtake each other.
            if record.request.op == Op::Flush && !state.keeps_order(disk) {
                continue;
            }
            let problem = self.check_record(state, record, seen[disk].get(&request));
            problem.map_err(|e| format!("{e}: {record:?}, seen {:?}", seen[disk].get(&request)))?;
        }
        if self.is_complete(state) {
            for (disk, taken) in taken.iter().enumerate() {
                for (request, count) in taken.iter().enumerate() {
                    must(*count == 1, || {
                        let request = disks[disk].requests[request].request;
                        format!("there is no record of {request:?}")
                    })?;
                }
            }
        }
        self.check_order(state)
    }

    /// Whether every request must have its record.
    fn is_complete(&self, state: &State) -> bool {
        let Ended::Summary(summary) = self.ended else {
            return false;
        };
        let is_stream = self.scenario.disks.iter().any(|disk| disk.is_stream);
        let is_cut = self.scenario.disks.iter().any(|disk| disk.cut.is_some());
        !is_stream && !is_cut && state.stopped.len() < 2 && summary.records_error.is_none()
    }

    fn check_record(&self, state: &State, record: &Record, seen: Option<&Seen>) -> Problem {
        let outcome = &record.outcome;
        let status = outcome.status;
        if matches!(status, Status::Skipped | Status::Dropped | Status::Missed) {
            return must(seen.is_none(), || "its disk has seen it".to_owned());
        }
        let abandoned = !matches!(self.ended, Ended::Summary(summary) if !summary.abandoned);
        let Some(seen) = seen else {
            return must(status == Status::Cancelled && abandoned, || {
                "its disk has not seen it".to_owned()
            });
        };
        let full = match record.request.op.moves_data() {
            true => record.request.sectors.bytes().get() as i32,
            false => 0,
        };
        let is_right = match (status, seen.result) {
            (Status::Done, Some(result)) => result == full,
            (Status::VerifyFailed, Some(result)) => result == full && self.scenario.has_lies(),
            (Status::Short, Some(result)) => (0..full).contains(&result),
            (Status::Error(errno), Some(result)) => result == -i32::from(errno),
            (Status::Cancelled, result) => result == Some(-libc::ECANCELED) || abandoned,
            _ => false,
        };
        // What reads back may be cancelled, too.
        let is_right = is_right || status == Status::Cancelled && state.stopped.len() > 1;
        must(is_right, || "its disk answered otherwise".to_owned())?;
        self.check_times(record, seen)
    }

    fn check_times(&self, record: &Record, seen: &Seen) -> Problem {
        let Ended::Summary(summary) = self.ended else {
            return Ok(());
        };
        let (Some(epoch), Some(delay)) = (summary.began_at, record.outcome.delay) else {
            return must(record.outcome.latency.is_none(), || {
                "it has no delay".to_owned()
            });
        };
        let planned = epoch.get() + record.request.start.get();
        must(seen.taken >= planned, || {
            format!("it began before {planned}")
        })?;
        let exact = seen.known.is_none();
        let handed = planned + delay.get();
        let latest = seen.known.unwrap_or(seen.taken);
        must(handed <= latest, || format!("it was submitted at {handed}"))?;
        let (Some(latency), Some(done)) = (record.outcome.latency, seen.done) else {
            return Ok(());
        };
        // Where several are submitted by one call, each has an estimate of its time.
        let slack = if exact { 0 } else { latest - seen.taken };
        let took = done - seen.taken;
        must(latency.get() + slack >= took, || {
            format!("its disk took {took} ns")
        })
    }

    /// What was never pushed back begins in the order of the load.
    fn check_order(&self, state: &State) -> Problem {
        let mut pushed_back: Vec<Vec<usize>> = vec![Vec::new(); self.scenario.disks.len()];
        let none: Vec<Vec<u32>> = (self.scenario.disks.iter())
            .map(|disk| vec![0; disk.requests.len()])
            .collect();
        for record in self
            .records
            .iter()
            .filter(|record| record.outcome.pushed_back)
        {
            if let Some((disk, request)) = self.place(record, &none) {
                pushed_back[disk].push(request);
            }
        }
        // Without their records it is not known which were pushed back.
        if !self.is_complete(state) {
            return Ok(());
        }
        for (disk, pushed_back) in pushed_back.iter().enumerate() {
            if !state.keeps_order(disk) {
                continue;
            }
            let seen = state.kernel.disks[disk].seen.iter();
            let in_turn =
                seen.filter(|seen| !seen.is_read_back && !pushed_back.contains(&seen.request));
            let in_turn: Vec<usize> = in_turn.map(|seen| seen.request).collect();
            must(in_turn.is_sorted(), || {
                format!("disk {disk} saw the order {in_turn:?}")
            })?;
        }
        Ok(())
    }

    fn check_counts(&self, state: &State, summary: &Summary) -> Problem {
        let Summary {
            completed,
            skipped,
            dropped,
            cancelled,
            errors,
            short,
            missed,
            requests,
            ..
        } = *summary;
        let all = completed + skipped + dropped + cancelled + errors + short + missed;
        must(all == requests, || {
            format!("{requests} requests, but {all} outcomes")
        })?;
        let known = self.scenario.disks.iter().all(|disk| !disk.is_stream);
        let planned: usize = self
            .scenario
            .disks
            .iter()
            .map(|disk| disk.requests.len())
            .sum();
        must(!known || requests == planned as u64, || {
            format!("{requests} requests of {planned}")
        })?;
        if summary.records_error.is_some() {
            return must(self.scenario.records_room.is_some(), || {
                "no records".to_owned()
            });
        }
        let count = |is_it: &dyn Fn(Status) -> bool| {
            let statuses = self.records.iter().map(|record| record.outcome.status);
            statuses.filter(|status| is_it(*status)).count() as u64
        };
        let counts = [
            (
                completed,
                count(&|s| matches!(s, Status::Done | Status::VerifyFailed)),
            ),
            (skipped, count(&|s| s == Status::Skipped)),
            (dropped, count(&|s| s == Status::Dropped)),
            (cancelled, count(&|s| s == Status::Cancelled)),
            (errors, count(&|s| matches!(s, Status::Error(_)))),
            (short, count(&|s| s == Status::Short)),
        ];
        must(counts.iter().all(|(a, b)| a == b), || {
            format!("{counts:?} counted and recorded")
        })?;
        must(
            skipped == 0 || self.scenario.options.writes == Writes::Skip,
            || "skipped".to_owned(),
        )?;
        let lies = self.scenario.has_lies();
        must(lies || summary.verify_failed == 0, || {
            "verification failed".to_owned()
        })?;
        let options = &self.scenario.options;
        let gone = self
            .scenario
            .faults()
            .any(|fault| fault == super::scenario::Fault::Errno(libc::ENODEV));
        let may_end = !state.stopped.is_empty()
            || options.max_runtime.is_some()
            || options.max_errors < u64::MAX
            || gone
            || state.has_panicked;
        must(summary.early.is_none() || may_end, || {
            format!("it ended early: {:?}", summary.early)
        })?;
        must(summary.early.is_some() || missed == 0 || !known, || {
            format!("{missed} were missed")
        })
    }

    /// All that was written is on the disks.
    fn check_final(&self, state: &State, summary: &Summary) -> Problem {
        for (disk, target) in summary.targets.iter().enumerate() {
            let lies = self.scenario.has_lies();
            must(lies || target.findings.faults() == 0, || {
                format!("faults were found: {:?}", target.findings.counts)
            })?;
            let Some(tables) = &target.tables else {
                continue;
            };
            if lies || self.scenario.options.engine == EngineKind::Dry {
                continue;
            }
            let expect = Expect {
                only_durable: false,
                all_known: true,
            };
            self.check_image(
                disk,
                &state.kernel.disks[disk].cache,
                target.run,
                (tables, expect),
            )
            .map_err(|e| format!("the final pass finds {e}"))?;
        }
        Ok(())
    }

    fn check_image(
        &self,
        disk: usize,
        bytes: &[u8],
        run: u64,
        (tables, expect): (&Tables, Expect),
    ) -> Problem {
        let block = self.scenario.disks[disk].block;
        let image = Image { block, bytes };
        let mut findings = Findings::default();
        let survival = check_contents(&image, run, tables, expect, &mut findings, |_| true);
        survival.map_err(|e| e.to_string())?;
        must(findings.faults() == 0, || {
            let first = findings.ranges().next().map(ToString::to_string);
            format!(
                "{:?} on disk {disk}: {}",
                findings.counts,
                first.unwrap_or_default()
            )
        })
    }

    /// The file of records holds them all.
    fn check_file(&self, state: &State) -> Problem {
        let Some(file) = state.files.find(Path::new(super::RECORDS)) else {
            return Ok(());
        };
        let whole =
            matches!(self.ended, Ended::Summary(summary) if summary.records_error.is_none());
        let rows = match salvaged(&file.bytes, !whole || self.was_cut(state)) {
            Ok(rows) => rows,
            Err(e) if file.bytes.len() < 64 => return must(!whole, || e.to_string()),
            Err(e) => return Err(format!("the records cannot be read: {e}")),
        };
        let n = rows.len();
        must(
            n <= self.records.len() && rows[..] == self.records[..n],
            || {
                format!(
                    "{n} records are in the file, and others of {}",
                    self.records.len()
                )
            },
        )?;
        let flushed = state.kernel.records.1;
        let least = if whole { self.records.len() } else { flushed };
        must(n >= least, || {
            format!("{n} of {least} records are in the file")
        })
    }

    /// Whether the file was not worth completing.
    fn was_cut(&self, state: &State) -> bool {
        matches!(self.ended, Ended::Summary(_))
            && (self.records.is_empty() || state.has_panicked || !state.stopped.is_empty())
    }

    fn check_logs(&self, state: &State) -> Problem {
        if self.scenario.options.engine == EngineKind::Dry {
            return Ok(());
        }
        for disk in 0..self.scenario.disks.len() {
            let Some(file) = state.log_of(disk) else {
                continue;
            };
            let cache = &state.kernel.disks[disk].cache;
            let complete = self.check_log(disk, file, cache, false)?;
            let is_over = matches!(self.ended, Ended::Summary(_)) && !file.has_failed;
            must(complete || !is_over, || {
                format!("the log of disk {disk} has no end")
            })?;
        }
        Ok(())
    }

    /// What a log claims is true of an image of its disk. Returns whether the log came to its end.
    pub(crate) fn check_log(
        &self,
        disk: usize,
        file: &SimulatedFile,
        image: &[u8],
        only_durable: bool,
    ) -> Result<bool, String> {
        // Nothing begins before the header is on its medium.
        if file.synced < 64 {
            return Ok(false);
        }
        let kept = read_log_from(&file.bytes[..], &file.path, tables())?;
        let expect = Expect {
            only_durable,
            all_known: kept.is_complete,
        };
        if !self.scenario.has_lies() {
            self.check_image(disk, image, kept.run, (&kept.tables, expect))
                .map_err(|e| format!("the log of disk {disk} claims what is not so: {e}"))?;
        }
        Ok(kept.is_complete)
    }
}
