//! Settings of the targets' queues that hold during a replay, and are put back.

mod originals;

use std::fs;
use std::path::{Path, PathBuf};

use iosonar_guard::{Host, QueueCounters};

use crate::note::QueueNote;
use crate::verify::Verify;
use crate::{Merges, Note, Options, Summary, Target};
use originals::{Kept, Originals, active};

pub use originals::Left;

/// A setting of the queue of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSetting {
    /// The I/O scheduler.
    Scheduler,
    /// Which requests are not merged.
    NoMerges,
}

impl QueueSetting {
    /// Its name in sysfs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::NoMerges => "nomerges",
        }
    }
}

/// What happened to a setting that was put back, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restoring {
    /// An earlier replay was killed, and had left a setting changed.
    OfEarlier {
        /// The setting.
        setting: QueueSetting,
        /// The target.
        target: PathBuf,
        /// The file of the setting.
        path: PathBuf,
        /// What was found.
        left: Left,
    },
    /// The original cannot be kept in a file: if this replay is killed, it is lost.
    NotKept {
        /// The setting.
        setting: QueueSetting,
        /// The target.
        target: PathBuf,
        /// The original.
        before: String,
        /// Why.
        error: String,
    },
    /// The original could not be restored.
    Failed {
        /// The file of the setting.
        path: PathBuf,
        /// The original.
        before: String,
        /// Why.
        error: String,
    },
}

/// Why a queue cannot be set as is wanted.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The target is not a block device.
    #[error("{} is not a block device: it has no I/O scheduler and does not merge requests", target.display())]
    NoQueue {
        /// The target.
        target: PathBuf,
    },
    /// The device has no such setting.
    #[error("{} has no queue/{}", target.display(), setting.name())]
    NoSetting {
        /// The target.
        target: PathBuf,
        /// The setting.
        setting: QueueSetting,
    },
    /// The setting cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The device does not take the value.
    #[error("{} does not support {} '{value}': {source} (supported: {choices})", target.display(), setting.name())]
    Refused {
        /// The target.
        target: PathBuf,
        /// The setting.
        setting: QueueSetting,
        /// The value.
        value: String,
        /// What it takes.
        choices: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A setting that was changed.
struct Changed {
    path: PathBuf,
    before: String,
    /// Where the original stands for the next run, if this one is killed.
    kept: Option<Kept>,
}

/// A setting that is to hold during the replay, also if it was made before.
struct Wanted {
    setting: QueueSetting,
    path: PathBuf,
    value: String,
    target: PathBuf,
}

impl Wanted {
    /// What it is if it holds no longer; which requests ran without it is unknown.
    fn lost(&self) -> Option<QueueNote> {
        let now = fs::read_to_string(&self.path);
        let now = now.map_or_else(|e| e.to_string(), |text| active(text.trim()));
        (now != self.value).then(|| QueueNote::SettingLost {
            setting: self.setting,
            target: self.target.clone(),
            wanted: self.value.clone(),
            now,
        })
    }
}

/// The settings of the targets' queues during a replay. When it is dropped, they are as they were before.
pub struct QueueSettings {
    before: Vec<Changed>,
    wanted: Vec<Wanted>,
    originals: Originals,
    counters: Vec<(u64, QueueCounters)>,
    /// Whether the replay reads what was written again, with requests of its own.
    reads_again: bool,
    host: Host,
    report: fn(&Restoring),
}

impl QueueSettings {
    /// Restores what a replay that was killed has left changed, then sets the scheduler and whether the kernel may merge
    /// requests. Reports what happens to originals, which may be as late as when this is dropped.
    ///
    /// # Errors
    /// If a target has no such setting, or does not take the value.
    pub fn apply(
        targets: &[Target],
        (scheduler, merges): (Option<&str>, Merges),
        options: &Options,
        host: &Host,
        report: fn(&Restoring),
    ) -> Result<Self, QueueError> {
        let mut settings = Self {
            before: Vec::new(),
            wanted: Vec::new(),
            originals: Originals::of_system(),
            counters: Vec::new(),
            reads_again: options.verification.level >= Verify::Final,
            host: host.clone(),
            report,
        };
        for target in targets {
            let queue = target.device_number().filter(|_| !target.is_passthrough());
            let Some(device) = queue else {
                if scheduler.is_some() || merges == Merges::Forbid {
                    let target = target.path().to_owned();
                    return Err(QueueError::NoQueue { target });
                }
                continue;
            };
            for setting in [QueueSetting::Scheduler, QueueSetting::NoMerges] {
                if let Some(path) = host.queue_file(device, setting.name())
                    && let Some(left) = settings.originals.restore(&path)
                {
                    let target = target.path().to_owned();
                    report(&Restoring::OfEarlier {
                        setting,
                        target,
                        path,
                        left,
                    });
                }
            }
            if let Some(name) = scheduler {
                settings.set(target.path(), device, QueueSetting::Scheduler, name)?;
            }
            if merges == Merges::Forbid {
                settings.set(target.path(), device, QueueSetting::NoMerges, "2")?;
            }
            if let Some(counters) = host.queue_counters(device) {
                settings.counters.push((device, counters));
            }
        }
        Ok(settings)
    }

    fn set(
        &mut self,
        target: &Path,
        device: u64,
        setting: QueueSetting,
        value: &str,
    ) -> Result<(), QueueError> {
        let path = self.host.queue_file(device, setting.name());
        let target = target.to_owned();
        let Some(path) = path else {
            return Err(QueueError::NoSetting { target, setting });
        };
        let before = match fs::read_to_string(&path) {
            Ok(before) => before,
            Err(source) => return Err(QueueError::Unreadable { path, source }),
        };
        let active = active(before.trim());
        if self.wanted.iter().all(|wanted| wanted.path != path) {
            self.wanted.push(Wanted {
                setting,
                path: path.clone(),
                value: value.to_owned(),
                target: target.clone(),
            });
        }
        if active == value {
            return Ok(());
        }
        let kept = self.originals.keep(&path, &active, value);
        if let Err(e) = &kept {
            (self.report)(&Restoring::NotKept {
                setting,
                target: target.clone(),
                before: active.clone(),
                error: e.to_string(),
            });
        }
        let kept = kept.ok();
        if let Err(source) = fs::write(&path, value) {
            if let Some(kept) = kept {
                kept.remove();
            }
            return Err(QueueError::Refused {
                target,
                setting,
                value: value.to_owned(),
                choices: before.trim().to_owned(),
                source,
            });
        }
        self.before.push(Changed {
            path,
            before: active,
            kept,
        });
        Ok(())
    }

    /// Notes what does not hold any more, and whether the kernel merged or split requests, as far as its counters show.
    pub fn note(&self, summary: &mut Summary) {
        let lost: Vec<_> = self.wanted.iter().filter_map(Wanted::lost).collect();
        summary.setting_lost |= !lost.is_empty();
        summary.notes.extend(lost.into_iter().map(Note::from));
        for (device, before) in &self.counters {
            let Some(after) = self.host.queue_counters(*device) else {
                continue;
            };
            let requests = after.merges.saturating_sub(before.merges);
            let done = after.requests.saturating_sub(before.requests);
            let note = match requests {
                1.. => Some(QueueNote::Merged { requests }),
                0 if self.counters.len() == 1 && !self.reads_again => surplus(done, summary),
                0 => None,
            };
            summary.notes.extend(note.map(Note::from));
        }
    }
}

impl Drop for QueueSettings {
    fn drop(&mut self) {
        for Changed { path, before, kept } in self.before.drain(..).rev() {
            match (fs::write(&path, &before), kept) {
                (Ok(()), Some(kept)) => kept.remove(),
                (Ok(()), None) => {}
                // The next run tries again.
                (Err(e), _) => (self.report)(&Restoring::Failed {
                    path,
                    before,
                    error: e.to_string(),
                }),
            }
        }
    }
}

/// A note if the device did clearly more requests than were submitted, whether or not those succeeded.
fn surplus(done: u64, summary: &Summary) -> Option<QueueNote> {
    let failed = summary.errors + summary.short + summary.cancelled;
    let submitted = summary.completed + failed;
    (done > submitted + submitted / 100 + 16).then_some(QueueNote::Surplus {
        done,
        completed: summary.completed,
        failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_failed_are_no_surplus() {
        let summary = Summary {
            completed: 12_809,
            errors: 7_000,
            short: 100,
            cancelled: 91,
            // Never submitted.
            skipped: 5_000,
            dropped: 5_000,
            missed: 5_000,
            ..Summary::default()
        };
        assert_eq!(surplus(20_000, &summary), None);
        let expected = QueueNote::Surplus {
            done: 25_000,
            completed: 12_809,
            failed: 7_191,
        };
        assert_eq!(surplus(25_000, &summary), Some(expected));
    }
}
