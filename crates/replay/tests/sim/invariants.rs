//! What must hold whenever a disk is asked for something.

use iosonar_guard::tag::{self, Found};
use iosonar_trace::Op;

use super::files::SimulatedFile;
use super::world::State;
use crate::conflicts::do_conflict;
use crate::engine::AccessKind;
use crate::{Conflicts, Data, EngineKind, Writes};

/// The header of a log of tables, and a record of it, in bytes.
const LOG_HEADER: usize = 64;
const LOG_RECORD: usize = 32;

impl State {
    /// Whether requests reach a disk in the order in which they are submitted.
    pub(crate) fn keeps_order(&self, disk: usize) -> bool {
        let scenario = &self.scenario;
        let has_side =
            scenario.options.ring.poll_completions || scenario.disks[disk].is_block_device;
        match scenario.options.engine {
            EngineKind::IoUring => !has_side,
            engine => engine == EngineKind::Sync,
        }
    }

    /// No two requests that conflict are at the disk together, and none overtakes another where that is promised.
    pub(crate) fn check_conflicts(&mut self, disk: usize, request: usize, is_read_back: bool) {
        let scenario = std::sync::Arc::clone(&self.scenario);
        let options = &scenario.options;
        let all = &scenario.disks[disk].requests;
        let this = all[request].request;
        let (mode, strong) = (options.conflicts, options.strong);
        let flying = self.flying(disk);
        let now = self.now;
        let bound = options.in_flight_total.unwrap_or(2 * options.in_flight);
        if flying.len() >= bound as usize {
            self.fail(|| {
                format!(
                    "{} requests are at the disk, at most {bound} may",
                    flying.len() + 1
                )
            });
        }
        for other in flying {
            let that = all[other].request;
            let is_barrier = mode == Conflicts::Order && [this.op, that.op].contains(&Op::Flush);
            let meet = mode != Conflicts::Allow && do_conflict(strong, &this, &that);
            if other == request || is_barrier || meet {
                self.fail(|| format!("at {now} ns {this:?} meets {that:?} at the disk"));
            }
        }
        if is_read_back {
            return;
        }
        let all_in_order =
            matches!(mode, Conflicts::Order | Conflicts::Allow) && self.keeps_order(disk);
        let conflicts_in_order = matches!(mode, Conflicts::Order | Conflicts::Partial);
        for (earlier, planned) in all[..request].iter().enumerate() {
            let that = planned.request;
            let is_left_out = options.writes == Writes::Skip && !that.op.is_harmless();
            if is_left_out || self.has_taken(disk, earlier) {
                continue;
            }
            if all_in_order || conflicts_in_order && do_conflict(strong, &this, &that) {
                self.fail(|| format!("at {now} ns {this:?} overtakes {that:?}"));
            }
        }
    }

    /// What is written carries its tags, or is like nothing else that was written.
    pub(crate) fn check_data(&mut self, disk: usize, sector: u64, data: &[u8]) {
        let options = &self.scenario.options;
        if options.verification.is_tagging() {
            let mut write = None;
            for (place, data) in (sector..).zip(data.chunks(512)) {
                let Found::Tagged(tag) = tag::read(data) else {
                    return self.fail(|| format!("sector {place} is written without a tag"));
                };
                let is_right = tag.sector == place
                    && tag.run & 0xffff == disk as u64
                    && *write.get_or_insert((tag.run, tag.number)) == (tag.run, tag.number);
                if !is_right {
                    return self
                        .fail(|| format!("sector {place} of disk {disk} is written with {tag:?}"));
                }
            }
            let write = write.unwrap_or_default();
            if !self.stamps(disk).insert(write) {
                self.fail(|| format!("two writes have the number {write:?}"));
            }
            return;
        }
        let word = |at: usize| {
            data[at..at + 8]
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        match options.data {
            Data::Zero if data.iter().any(|byte| *byte != 0) => {
                self.fail(|| "no zeros are written".to_owned());
            }
            Data::Zero => {}
            Data::Random { .. } => {
                if !self.stamps(disk).insert((word(0), word(8))) {
                    self.fail(|| format!("the same is written twice, now to sector {sector}"));
                }
            }
        }
    }

    /// The log of tables of a disk, if it is kept.
    pub(crate) fn log_of(&self, disk: usize) -> Option<&SimulatedFile> {
        self.files.find(&super::log_path(disk))
    }

    /// The log knows of whatever ends that contents are sure, before the disk does.
    pub(crate) fn check_log(&mut self, disk: usize, kind: AccessKind, sector: u64, sectors: u64) {
        let op = match kind {
            AccessKind::Discard => Op::Discard,
            AccessKind::WriteZeroes => Op::WriteZeroes,
            _ => return,
        };
        let verification = &self.scenario.options.verification;
        if verification.keep_tables.is_none() {
            return;
        }
        let durable = verification.durable_tables;
        let Some(file) = self.log_of(disk) else {
            return self.fail(|| "there is no log".to_owned());
        };
        let until = if durable {
            file.synced
        } else {
            file.bytes.len()
        };
        let records = file.bytes[..until].get(LOG_HEADER..).unwrap_or_default();
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |n, byte| n << 8 | u64::from(*byte))
        };
        let is_it = |record: &[u8]| {
            record[0] == 1
                && record[1] == op as u8
                && number(&record[4..8]) == sectors
                && number(&record[16..24]) == sector
        };
        if !records.chunks_exact(LOG_RECORD).any(is_it) {
            self.fail(|| {
                format!("the log does not know of {op:?} of {sectors} sectors at {sector}")
            });
        }
    }

    /// A thread that writes a log waits for more: what was urgent is on its medium.
    pub(crate) fn check_synced(&mut self, thread: usize) {
        if !self.scenario.options.verification.durable_tables {
            return;
        }
        let is_of_thread = |file: &&SimulatedFile| file.writer == Some(thread) && !file.has_failed;
        let Some(file) = self.files.all.iter().find(is_of_thread) else {
            return;
        };
        let pending = &file.bytes[file.synced..];
        let is_urgent =
            |record: &[u8]| record[0] == 2 && (record[1] == Op::Flush as u8 || record[2] & 2 != 0);
        if pending.chunks_exact(LOG_RECORD).any(is_urgent) {
            self.fail(|| "what the log says of a flush is not on its medium".to_owned());
        }
    }
}
