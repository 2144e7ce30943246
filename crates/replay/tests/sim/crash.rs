//! What must hold after a crash: a kill of the process, or a loss of power.

use std::path::Path;

use super::files::SimulatedFile;
use super::kernel::Crash;
use super::outcome::{Ending, Problem, must};
use super::records::salvaged;
use crate::EngineKind;
use crate::verify::Verify;

impl Ending<'_> {
    /// What a crash has left.
    pub(crate) fn check_crash(&self, crash: &Crash, seen: &mut super::Seen) -> Problem {
        seen.crashes += 1;
        let options = &self.scenario.options;
        let context = |e: String| {
            let what = if crash.lost_power {
                "a loss of power"
            } else {
                "a kill"
            };
            format!("after {what} at {} ns: {e}", crash.at)
        };
        for file in &crash.files {
            if file.path == Path::new(super::RECORDS) {
                let least = match crash.lost_power {
                    false => crash.records.1,
                    true if self.scenario.durable_records => crash.records.1,
                    true => 0,
                };
                self.check_salvage(file, least).map_err(context)?;
                continue;
            }
            let logs = 0..self.scenario.disks.len();
            let Some(disk) = logs
                .into_iter()
                .find(|disk| super::log_path(*disk) == file.path)
            else {
                continue;
            };
            if options.engine == EngineKind::Dry
                || crash.lost_power && !options.verification.durable_tables
            {
                continue;
            }
            seen.logs += 1;
            self.check_log(
                disk,
                file,
                &crash.disks[disk],
                crash.lost_power || options.verification.level == Verify::Off,
            )
            .map_err(context)?;
        }
        Ok(())
    }

    fn check_salvage(&self, file: &SimulatedFile, least: usize) -> Problem {
        let rows = match salvaged(&file.bytes, true) {
            Ok(rows) => rows,
            // What was never flushed may be anything.
            Err(e) => return must(least == 0, || e.to_string()),
        };
        let n = rows.len();
        must(
            n <= self.records.len() && rows[..] == self.records[..n],
            || format!("{n} records were salvaged, and others"),
        )?;
        must(n >= least, || {
            format!("{n} of {least} records were salvaged")
        })
    }
}
