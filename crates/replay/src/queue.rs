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
    use crate::target::imagined::Disk;

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

    const SCHEDULERS: (&str, &str) = ("queue/scheduler", "none [mq-deadline] kyber");

    /// Settings of a disk, of which none is changed yet.
    fn settings(disk: &Disk) -> QueueSettings {
        QueueSettings {
            before: Vec::new(),
            wanted: Vec::new(),
            originals: Originals::in_folder(disk.path("kept")),
            counters: Vec::new(),
            reads_again: false,
            host: disk.host(),
            report: |restoring| panic!("{restoring:?}"),
        }
    }

    fn set(settings: &mut QueueSettings, scheduler: &str) -> Result<(), QueueError> {
        let setting = QueueSetting::Scheduler;
        settings.set(Path::new("x"), Disk::NUMBER, setting, scheduler)
    }

    #[test]
    fn a_setting_is_put_back_at_the_end() {
        let disk = Disk::new(&[SCHEDULERS]);
        let mut settings = settings(&disk);
        set(&mut settings, "kyber").unwrap();
        assert_eq!(disk.read("queue/scheduler"), "kyber");
        let kept = disk.path("kept/scheduler-imagined");
        assert!(fs::read_to_string(&kept).unwrap().contains("mq-deadline"));
        drop(settings);
        assert_eq!(disk.read("queue/scheduler"), "mq-deadline");
        assert!(!kept.exists());
    }

    #[test]
    fn a_setting_that_is_right_is_not_touched() {
        let disk = Disk::new(&[SCHEDULERS]);
        let mut settings = settings(&disk);
        // As for two partitions of the disk.
        for _ in 0..2 {
            set(&mut settings, "mq-deadline").unwrap();
        }
        assert_eq!((settings.wanted.len(), settings.before.len()), (1, 0));
        drop(settings);
        assert_eq!(disk.read("queue/scheduler"), SCHEDULERS.1);
        assert!(!disk.path("kept").exists());
    }

    #[test]
    fn a_setting_that_the_device_does_not_have_is_named() {
        let disk = Disk::new(&[SCHEDULERS]);
        let settings = &mut settings(&disk);
        let error = settings.set(Path::new("x"), Disk::NUMBER, QueueSetting::NoMerges, "2");
        assert_eq!(error.unwrap_err().to_string(), "x has no queue/nomerges");
    }

    #[test]
    fn a_setting_that_another_process_changed_is_lost() {
        let disk = Disk::new(&[SCHEDULERS]);
        let mut settings = settings(&disk);
        set(&mut settings, "mq-deadline").unwrap();
        let mut summary = Summary::default();
        settings.note(&mut summary);
        assert!(!summary.setting_lost && summary.notes.is_empty());
        disk.write("queue/scheduler", "[none] mq-deadline kyber");
        settings.note(&mut summary);
        assert!(summary.setting_lost);
        let lost = QueueNote::SettingLost {
            setting: QueueSetting::Scheduler,
            target: PathBuf::from("x"),
            wanted: "mq-deadline".to_owned(),
            now: "none".to_owned(),
        };
        assert_eq!(summary.notes, [Note::Queue(lost)]);
        // What was lost once stays lost.
        disk.write("queue/scheduler", SCHEDULERS.1);
        settings.note(&mut summary);
        assert!(summary.setting_lost);
        fs::remove_file(disk.path("queue/scheduler")).unwrap();
        let mut summary = Summary::default();
        settings.note(&mut summary);
        assert!(summary.setting_lost);
    }

    #[test]
    fn counters_show_what_became_of_requests() {
        let before = QueueCounters {
            requests: 100,
            merges: 5,
        };
        // Reads, merged reads and two more numbers, then the same of the writes.
        let (as_many, more, merged) = ("60 5 0 0 140 0", "600 5 0 0 500 0", "60 6 0 0 140 2");
        let surplus = QueueNote::Surplus {
            done: 1000,
            completed: 100,
            failed: 0,
        };
        for (stat, devices, reads_again, expected) in [
            (as_many, 1, false, None),
            (more, 1, false, Some(&surplus)),
            // Which requests are whose is not known.
            (more, 2, false, None),
            (more, 1, true, None),
            (more, 2, true, None),
            (merged, 1, true, Some(&QueueNote::Merged { requests: 3 })),
            ("", 1, false, None),
        ] {
            let disk = Disk::new(&[("stat", stat)]);
            let mut settings = settings(&disk);
            settings.counters = vec![(Disk::NUMBER, before); devices];
            settings.reads_again = reads_again;
            let mut summary = Summary {
                completed: 100,
                ..Summary::default()
            };
            settings.note(&mut summary);
            let expected: Vec<_> = expected.cloned().map(Note::Queue).into_iter().collect();
            assert_eq!(summary.notes, expected, "{stat} {devices} {reads_again}");
        }
    }

    fn apply(
        disk: &Disk,
        target: Target,
        wanted: (Option<&str>, Merges),
        level: Verify,
    ) -> Result<QueueSettings, QueueError> {
        let mut options = Options::default();
        options.verification.level = level;
        QueueSettings::apply(&[target], wanted, &options, &disk.host(), |restoring| {
            panic!("{restoring:?}")
        })
    }

    #[test]
    fn only_a_block_device_has_a_queue() {
        use iosonar_units::Bytes;
        let disk = Disk::new(&[("queue/scheduler", "[none]"), ("queue/nomerges", "2")]);
        let file = || Target::imaginary(Bytes::new(4096), Bytes::new(512));
        let commands = || Disk::target(8).with_commands(8);
        for (wanted, needs_a_queue) in [
            ((None, Merges::Allow), false),
            ((Some("none"), Merges::Allow), true),
            ((None, Merges::Forbid), true),
            ((Some("none"), Merges::Forbid), true),
        ] {
            for (target, has_queue) in [
                (file(), false),
                (commands(), false),
                (Disk::target(8), true),
            ] {
                let applied = apply(&disk, target, wanted, Verify::Off).err();
                let is_refused = matches!(applied, Some(QueueError::NoQueue { .. }));
                assert_eq!(is_refused, needs_a_queue && !has_queue, "{wanted:?}");
            }
        }
    }

    #[test]
    fn what_is_wanted_is_set_and_watched() {
        let (scheduler, merges) = (QueueSetting::Scheduler, QueueSetting::NoMerges);
        let disk = Disk::new(&[
            ("queue/scheduler", "[none] kyber"),
            ("queue/nomerges", "2"),
            ("stat", "1 2 3 4 5 6"),
        ]);
        let counters = QueueCounters {
            requests: 6,
            merges: 8,
        };
        for (wanted, expected) in [
            ((None, Merges::Allow), &[][..]),
            ((Some("none"), Merges::Allow), &[scheduler]),
            ((None, Merges::Forbid), &[merges]),
            ((Some("none"), Merges::Forbid), &[scheduler, merges]),
        ] {
            let settings = apply(&disk, Disk::target(8), wanted, Verify::Off).unwrap();
            let watched: Vec<_> = settings.wanted.iter().map(|w| w.setting).collect();
            assert_eq!(watched, expected);
            assert_eq!(settings.counters, [(Disk::NUMBER, counters)]);
        }
    }

    #[test]
    fn a_final_pass_reads_with_requests_of_its_own() {
        let disk = Disk::new(&[]);
        for (level, reads_again) in [
            (Verify::Off, false),
            (Verify::Reads, false),
            (Verify::Final, true),
            (Verify::Paranoid, true),
        ] {
            let nothing = (None, Merges::Allow);
            let settings = apply(&disk, Disk::target(8), nothing, level).unwrap();
            assert_eq!(settings.reads_again, reads_again, "{level:?}");
        }
    }
}
