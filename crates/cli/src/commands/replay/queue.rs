//! Settings of the targets' queues that hold during a replay, and are put back.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use iosonar_replay::safety::{Host, QueueCounters};
use iosonar_replay::{Summary, Target};
use iosonar_report::grouped;

use super::{Plan, usage};
use crate::args::TargetArgs;
use crate::exit::note;

/// What was changed, and how it was before.
pub(super) struct Settings {
    before: Vec<(PathBuf, String)>,
    counters: Vec<(u64, QueueCounters)>,
    host: Host,
}

impl Settings {
    /// Makes the settings that the user wants.
    pub(super) fn apply(plan: &Plan, args: &TargetArgs, host: &Host) -> anyhow::Result<Self> {
        let mut settings = Self {
            before: Vec::new(),
            counters: Vec::new(),
            host: host.clone(),
        };
        for target in &plan.targets {
            let Some(device) = target.device_number() else {
                if args.scheduler.is_some() || args.merges == "forbid" {
                    return Err(usage(&format!(
                        "{} is no block device: it has no scheduler and merges nothing itself",
                        target.path().display()
                    )));
                }
                continue;
            };
            if let Some(name) = &args.scheduler {
                settings.set(target, device, "scheduler", name)?;
            }
            if args.merges == "forbid" {
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
        attribute: &str,
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
        if active == value {
            return Ok(());
        }
        fs::write(&path, value).map_err(|e| {
            usage(&format!(
                "{shown} takes no {attribute} '{value}': {e} (it has: {})",
                before.trim()
            ))
        })?;
        self.before.push((path, active));
        Ok(())
    }

    /// Says whether the kernel merged or split requests, as far as its counters tell.
    pub(super) fn tell(&self, summary: &mut Summary) {
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
            } else if self.counters.len() == 1
                && done > summary.completed + summary.completed / 100 + 16
            {
                summary.notes.push(format!(
                    "the device did {} requests for the {} of the load: the kernel split long ones, or \
                     somebody else used it",
                    grouped(done),
                    grouped(summary.completed)
                ));
            }
        }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (path, value) in self.before.drain(..).rev() {
            if let Err(e) = fs::write(&path, &value) {
                note(&format!(
                    "{} could not be set back to '{value}': {e}",
                    path.display()
                ));
            }
        }
    }
}

/// Of `none [mq-deadline] kyber`, the one in brackets; of anything else, all of it.
fn active(text: &str) -> String {
    match (text.find('['), text.find(']')) {
        (Some(from), Some(to)) if from < to => text[from + 1..to].to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_scheduler_is_the_one_in_brackets() {
        assert_eq!(active("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(active("0"), "0");
    }
}
