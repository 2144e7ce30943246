//! Settings of the targets' queues that hold during a replay, and are put back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iosonar_guard::{Host, QueueCounters};
use iosonar_replay::verify::Verify;
use iosonar_replay::{Merges, ReplaySpec, Summary, Target};
use iosonar_report::grouped;

use super::originals::{Kept, Left, Originals, active};
use super::{ReplayPlan, usage};
use crate::exit::note;

/// A setting that was changed.
struct Changed {
    path: PathBuf,
    before: String,
    /// Where the original stands for the next run, if this one is killed.
    kept: Option<Kept>,
}

/// A setting that is to hold during the replay, also if it was made before.
struct Wanted {
    attribute: &'static str,
    path: PathBuf,
    value: String,
    /// The target.
    shown: String,
}

impl Wanted {
    /// What to say if it holds no longer; which requests ran without it is unknown.
    fn lost(&self) -> Option<String> {
        let now = fs::read_to_string(&self.path);
        let now = now.map_or_else(|e| e.to_string(), |text| active(text.trim()));
        (now != self.value).then(|| {
            format!(
                "{} of {} was '{}' for a part of the replay only, and is '{now}' now: another process changed it, such \
                 as a replay on the same disk that ended{}",
                self.attribute,
                self.shown,
                self.value,
                match self.attribute {
                    "nomerges" => "; since then the kernel could merge requests",
                    _ => "",
                }
            )
        })
    }
}

/// What was changed, and how it was before.
pub(super) struct Settings {
    before: Vec<Changed>,
    wanted: Vec<Wanted>,
    originals: Originals,
    counters: Vec<(u64, QueueCounters)>,
    /// Whether iosonar reads what was written again, with requests of its own.
    reads_again: bool,
    host: Host,
}

impl Settings {
    /// Restores what a replay that was killed has left changed, then makes the settings that the user wants.
    pub(super) fn apply(
        plan: &ReplayPlan,
        spec: &ReplaySpec,
        host: &Host,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let mut settings = Self {
            before: Vec::new(),
            wanted: Vec::new(),
            originals: Originals::of_system(),
            counters: Vec::new(),
            reads_again: plan.options.verification.level >= Verify::Final,
            host: host.clone(),
        };
        for target in &plan.targets {
            let queue = target.device_number().filter(|_| !target.is_passthrough());
            let Some(device) = queue else {
                if spec.scheduler.is_some() || spec.merges == Merges::Forbid {
                    return Err(usage(&format!(
                        "{} is no block device: it has no scheduler and merges nothing itself",
                        target.path().display()
                    )));
                }
                continue;
            };
            for attribute in ["scheduler", "nomerges"] {
                if let Some(path) = host.queue_file(device, attribute)
                    && let Some(left) = settings.originals.restore(&path)
                    && !quiet
                {
                    note(&format!(
                        "note: {}",
                        describe(&left, attribute, target, &path)
                    ));
                }
            }
            if let Some(name) = &spec.scheduler {
                settings.set(target, device, "scheduler", name)?;
            }
            if spec.merges == Merges::Forbid {
                settings.set(target, device, "nomerges", "2")?;
            }
            if let Some(counters) = host.queue_counters(device) {
                settings.counters.push((device, counters));
            }
        }
        Ok(settings)
    }

    fn set(
        &mut self,
        target: &Target,
        device: u64,
        attribute: &'static str,
        value: &str,
    ) -> anyhow::Result<()> {
        let shown = target.path().display();
        let path = self
            .host
            .queue_file(device, attribute)
            .with_context(|| format!("{shown} has no queue/{attribute}"))?;
        let before =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let active = active(before.trim());
        if self.wanted.iter().all(|wanted| wanted.path != path) {
            self.wanted.push(Wanted {
                attribute,
                path: path.clone(),
                value: value.to_owned(),
                shown: shown.to_string(),
            });
        }
        if active == value {
            return Ok(());
        }
        let kept = self.originals.keep(&path, &active, value);
        if let Err(e) = &kept {
            note(&format!(
                "note: the original {attribute} of {shown} ('{active}') cannot be kept in a file: {e}; if this replay is \
                 killed, it is not restored"
            ));
        }
        let kept = kept.ok();
        if let Err(e) = fs::write(&path, value) {
            if let Some(kept) = kept {
                kept.remove();
            }
            return Err(usage(&format!(
                "{shown} takes no {attribute} '{value}': {e} (it has: {})",
                before.trim()
            )));
        }
        self.before.push(Changed {
            path,
            before: active,
            kept,
        });
        Ok(())
    }

    /// Reports what does not hold any more, and whether the kernel merged or split requests, as far as its counters show.
    pub(super) fn tell(&self, summary: &mut Summary) {
        let lost = self.wanted.iter().filter_map(Wanted::lost);
        let notes = summary.notes.len();
        summary.notes.extend(lost);
        summary.setting_lost |= summary.notes.len() > notes;
        for (device, before) in &self.counters {
            let Some(after) = self.host.queue_counters(*device) else {
                continue;
            };
            let merged = after.merges.saturating_sub(before.merges);
            let done = after.requests.saturating_sub(before.requests);
            if merged > 0 {
                summary.notes.push(format!(
                    "the kernel merged {} requests into others: the device saw fewer and longer ones \
                     (--merges forbid)",
                    grouped(merged)
                ));
            } else if self.counters.len() == 1 && !self.reads_again {
                summary.notes.extend(surplus(done, summary));
            }
        }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for Changed { path, before, kept } in self.before.drain(..).rev() {
            match (fs::write(&path, &before), kept) {
                (Ok(()), Some(kept)) => kept.remove(),
                (Ok(()), None) => {}
                // The next run tries again.
                (Err(e), _) => note(&format!(
                    "{} could not be restored to '{before}': {e}",
                    path.display()
                )),
            }
        }
    }
}

/// What a replay that was killed has left, and what was done about it.
fn describe(left: &Left, attribute: &str, target: &Target, path: &Path) -> String {
    let shown = target.path().display();
    match left {
        Left::Restored { to, from } => format!(
            "{attribute} of {shown} was restored to '{to}': an earlier replay had set it to '{from}' and was killed"
        ),
        Left::OfAnother { value, before } => format!(
            "{attribute} of {shown} is '{value}', perhaps because an earlier replay was killed: on another device of \
             this name it was '{before}' before. To restore it: echo {before} > {}",
            path.display()
        ),
        Left::Stuck { before, why } => format!(
            "{attribute} of {shown} cannot be restored to '{before}', as before an earlier replay that was killed: {why}. \
             To restore it, as root: echo {before} > {}",
            path.display()
        ),
        Left::Damaged { file, value } => format!(
            "{attribute} of {shown} is '{value}', perhaps because an earlier replay was killed: {}, which should hold \
             what it was before, is empty, damaged or unreadable. Set it as it should be, then remove that file",
            file.display()
        ),
    }
}

/// A note if the device did clearly more requests than were submitted, whether or not those succeeded.
fn surplus(done: u64, summary: &Summary) -> Option<String> {
    let failed = summary.errors + summary.short + summary.cancelled;
    let submitted = summary.completed + failed;
    (done > submitted + submitted / 100 + 16).then(|| {
        format!(
            "the device did {} requests, and {} were submitted to it ({} completed, {} failed): the kernel split \
             long ones or repeated failed ones, or another process used the device",
            grouped(done),
            grouped(submitted),
            grouped(summary.completed),
            grouped(failed)
        )
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
        let text = surplus(25_000, &summary).unwrap();
        for part in [
            grouped(25_000),
            grouped(20_000),
            grouped(12_809),
            grouped(7_191),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
    }
}
