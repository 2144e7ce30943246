//! Whether the target holds what was written to it.
//!
//! Each sector written carries a tag ([`tag`](self)): the run, the number of the write, its own
//! sector number, a checksum. Tables by sector remember which writes were started and which must
//! have arrived. So every read can be checked: it must show the last write that was complete when
//! the read began, or a later one that was started by its end; anything else is a fault of the
//! storage.
//!
//! ```text
//!  write ─► tag ─► device          tables ◄─ write starts, ends; flush starts, ends ─► log file
//!  read  ◄─ check ◄─ device           └────► final pass, `verify` after a crash ◄──────────┘
//! ```

mod findings;
mod log;
mod pass;
mod tables;

use std::io;
use std::path::PathBuf;

use iosonar_guard::tag::{self, Found, Tag};
use iosonar_trace::{Op, Request};
use iosonar_units::Bytes;
use serde::{Deserialize, Serialize};

pub use findings::{Finding, Findings, Kind};
pub(crate) use log::TableLog;
#[cfg(test)]
pub(crate) use log::read_log_from;
pub use log::{KeptTables, read_log};
#[cfg(test)]
pub(crate) use pass::{Contents, check_contents};
pub use pass::{Expect, PassProgress, Survival, check_again};
pub use tables::Tables;

/// How much is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Nothing.
    #[default]
    Off,
    /// Reads of what was written before.
    Reads,
    /// At the end everything written is read again, too.
    Final,
    /// Each write is read back at once, too.
    Paranoid,
}

impl Verify {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Off, "off"),
        (Self::Reads, "reads"),
        (Self::Final, "final"),
        (Self::Paranoid, "paranoid"),
    ];
}

/// What is checked, and with which means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verification {
    /// How much.
    #[serde(rename = "verify")]
    pub level: Verify,
    /// Writes carry tags although nothing is checked.
    pub tag: bool,
    /// Where the log of writes is kept, for a check after a crash.
    pub keep_tables: Option<PathBuf>,
    /// The log is on its medium before a flush counts.
    pub durable_tables: bool,
    /// Where tables go that outgrow `table_memory`.
    pub table_dir: PathBuf,
    /// How much memory tables may take.
    pub table_memory: Bytes,
}

impl Default for Verification {
    fn default() -> Self {
        Self {
            level: Verify::Off,
            tag: false,
            keep_tables: None,
            durable_tables: false,
            table_dir: std::env::temp_dir(),
            table_memory: Bytes::new(1 << 30),
        }
    }
}

impl Verification {
    /// Whether writes carry tags.
    pub fn is_tagging(&self) -> bool {
        self.tag || self.level > Verify::Off || self.keep_tables.is_some()
    }
}

/// What one target's replay checks.
pub(crate) struct Verifier {
    level: Verify,
    run: u64,
    tables: Tables,
    log: Option<TableLog>,
    findings: Findings,
    /// What must have arrived when the read in a slot began; its length is that of the read.
    snapshots: Vec<Snapshot>,
    /// Every write is on the medium when it completes.
    write_through: bool,
}

#[derive(Clone, Default)]
struct Snapshot {
    floors: Vec<u32>,
    disturbances: u64,
}

impl Verifier {
    pub(crate) fn new(
        verification: &Verification,
        run: u64,
        log: Option<TableLog>,
        write_through: bool,
    ) -> Self {
        Self {
            level: verification.level,
            run,
            tables: Tables::new(verification.table_memory, verification.table_dir.clone()),
            log,
            findings: Findings::default(),
            snapshots: Vec::new(),
            write_through,
        }
    }

    /// Whether writes are read back at once.
    pub(crate) fn reads_back(&self) -> bool {
        self.level == Verify::Paranoid
    }

    pub(crate) fn has_final_pass(&self) -> bool {
        self.level >= Verify::Final
    }

    /// A request is submitted; `data` is what it writes. Returns its number among the writes.
    ///
    /// # Errors
    /// If there have been too many writes to count, or the tables cannot grow.
    pub(crate) fn starts(
        &mut self,
        slot: u32,
        request: &Request,
        data: &mut [u8],
    ) -> io::Result<u32> {
        let number = match request.op {
            Op::Read => {
                if self.level >= Verify::Reads {
                    self.remember(slot, request);
                }
                return Ok(0);
            }
            Op::Flush => self.tables.flush_starts(),
            _ => {
                let number = self.tables.write_starts(request)?;
                if request.op == Op::Write {
                    tag::write(data, self.run, number, request.sector.get());
                }
                number
            }
        };
        if let Some(log) = &mut self.log {
            log.started(number, request)?;
        }
        Ok(number)
    }

    /// Notes what must have arrived now that a read in `slot` begins.
    pub(crate) fn remember(&mut self, slot: u32, request: &Request) {
        let slot = slot as usize;
        if self.snapshots.len() <= slot {
            self.snapshots.resize(slot + 1, Snapshot::default());
        }
        let snapshot = &mut self.snapshots[slot];
        snapshot.floors.clear();
        snapshot.disturbances = self.tables.disturbances();
        let range = request.sector.get()..request.end().get();
        self.tables
            .entries(range, |_, entry| snapshot.floors.push(entry.floor));
    }

    /// A write, discard or flush that began with `number` is over; whether it was done.
    pub(crate) fn ends(&mut self, number: u32, request: &Request, done: bool, durable: bool) {
        let durable = durable || self.write_through;
        match request.op {
            Op::Read => return,
            Op::Flush if done => self.tables.flush_ends(number),
            Op::Flush => {}
            _ => self.tables.write_ends(number, request, done, durable),
        }
        if let Some(log) = &mut self.log {
            log.ended(number, request, done, durable);
        }
    }

    /// Checks what the read in `slot` found; whether it is right.
    pub(crate) fn check_read(&mut self, slot: u32, request: &Request, data: &[u8]) -> bool {
        if self.level == Verify::Off {
            return true;
        }
        let snapshot = &self.snapshots[slot as usize];
        if snapshot.disturbances != self.tables.disturbances() {
            return true;
        }
        let range = request.sector.get()..request.end().get();
        let (findings, run) = (&mut self.findings, self.run);
        let mut faults = 0;
        let (mut data, mut floors) = (data.chunks_exact(512), snapshot.floors.iter());
        self.tables.entries(range, |sector, entry| {
            let (Some(data), Some(&floor)) = (data.next(), floors.next()) else {
                return;
            };
            // A write that is under way, or was during the read, may show in half a sector.
            let changing = entry.started != entry.floor || entry.floor != floor;
            if changing && matches!(found(data), Found::Damaged(_)) {
                findings.pass_over();
            } else if floor > 0 && entry.floor > 0 {
                let bounds = floor..=entry.started;
                faults += u64::from(!findings.examine(data, run, sector, &bounds));
            } else {
                findings.pass_over();
            }
        });
        findings.end_of_read();
        faults == 0
    }

    /// What remains for a final pass: tables, findings until now, and the outcome of the log.
    pub(crate) fn into_parts(self) -> (Tables, Findings, u64, Option<io::Error>) {
        let failed = self.log.and_then(TableLog::finish);
        (self.tables, self.findings, self.run, failed)
    }
}

/// What a sector holds, as a tag or something else.
pub(crate) fn found(data: &[u8]) -> Found {
    tag::read(data)
}

/// The lowest bits of a run's number are that of the target, so that its tags show which target they were written for.
const TARGET_BITS: u32 = 16;

/// The number of the replay `run` on its target with this number.
pub(crate) fn run_on_target(run: u64, target: u32) -> u64 {
    debug_assert!(target < 1 << TARGET_BITS, "a replay has fewer targets");
    run << TARGET_BITS | u64::from(target)
}

/// Whether both are of one replay, if perhaps of different targets.
fn is_of_same_replay(a: u64, b: u64) -> bool {
    a >> TARGET_BITS == b >> TARGET_BITS
}

/// A number for a replay that no other has: tags of other replays are recognised by it.
pub(crate) fn new_run() -> u64 {
    crate::os::unique() | 1
}

#[cfg(test)]
mod tests;
