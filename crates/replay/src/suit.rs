//! Whether targets can be accessed in the way that the options say.

use crate::options::Options;
use crate::{EngineKind, ReplayError, Target};

impl Options {
    /// Refuses targets that the engine cannot access, or not in the way that is wanted.
    ///
    /// # Errors
    /// [`ReplayError::Refused`], with the target and what to do.
    pub fn suit(&self, targets: &[Target]) -> Result<(), ReplayError> {
        use EngineKind::{Auto, IoUring, Passthrough};
        let refuse = |reason: String| Err(ReplayError::Refused(reason));
        if !self.engine.is_real() {
            return Ok(());
        }
        if matches!(self.engine, Auto | IoUring | Passthrough) {
            self.ring.check()?;
        }
        let first = |is_passthrough: bool| {
            let mut targets = targets.iter();
            targets.find(|target| target.is_passthrough() == is_passthrough)
        };
        match (self.engine, first(true), first(false)) {
            (Passthrough, _, Some(other)) => {
                return refuse(format!(
                    "--engine passthrough needs the character device of an NVMe namespace, such as /dev/ng0n1 (got {})",
                    other.path().display()
                ));
            }
            (Auto, Some(one), Some(other)) => {
                return refuse(format!(
                    "{} accepts NVMe commands, and {} does not: replay on each of them separately",
                    one.path().display(),
                    other.path().display()
                ));
            }
            (Auto | Passthrough, ..) | (_, None, _) => {}
            (_, Some(one), _) => {
                return refuse(format!(
                    "{} accepts NVMe commands only: use --engine passthrough (or auto), or its block device (/dev/nvme...)",
                    one.path().display()
                ));
            }
        }
        if !self.ring.poll_completions {
            return Ok(());
        }
        if !matches!(self.engine, Auto | IoUring | Passthrough) {
            return refuse("--iopoll needs --engine io_uring, passthrough or auto".to_owned());
        }
        let is_file =
            |target: &&Target| !target.is_passthrough() && target.device_number().is_none();
        let without_device =
            |target: &&Target| target.has_poll_queues().is_none() && is_file(target);
        if let Some(target) = targets.iter().find(without_device) {
            return refuse(format!(
                "--iopoll needs the poll queues of a block device, but the device behind the file system of {} is not \
                 known: remove the option, or replay on the block device itself",
                target.path().display()
            ));
        }
        match targets.iter().find(|t| t.has_poll_queues() == Some(false)) {
            None => Ok(()),
            Some(target) => refuse(format!(
                "--iopoll needs poll queues, which {} does not have (queue/io_poll is 0): remove the option, or, for \
                 NVMe, load the driver with nvme.poll_queues=2 (kernel command line, or options nvme poll_queues=2 in \
                 /etc/modprobe.d)",
                target.path().display()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RingOptions;
    use crate::target::imagined::Disk;
    use iosonar_units::Bytes;

    fn file() -> Target {
        Target::imaginary(Bytes::new(4096), Bytes::new(512))
    }

    fn options(engine: EngineKind, poll_completions: bool) -> Options {
        Options {
            engine,
            ring: RingOptions {
                poll_completions,
                ..RingOptions::default()
            },
            ..Options::default()
        }
    }

    #[test]
    fn commands_are_for_targets_that_take_them_and_for_no_others() {
        use EngineKind::{Auto, Dry, IoUring, Passthrough, Simulate, Sync, Threads};
        let commands = || file().with_commands(8);
        for (engine, of_files, of_commands, of_both) in [
            (Auto, true, true, false),
            (Passthrough, false, true, false),
            (IoUring, true, false, false),
            (Sync, true, false, false),
            (Threads, true, false, false),
            // They access none.
            (Dry, true, true, true),
            (Simulate, true, true, true),
        ] {
            let suits = |targets: &[Target]| options(engine, false).suit(targets).is_ok();
            assert_eq!(suits(&[file(), file()]), of_files, "{engine:?}");
            assert_eq!(suits(&[commands(), commands()]), of_commands, "{engine:?}");
            assert_eq!(suits(&[file(), commands()]), of_both, "{engine:?}");
        }
    }

    #[test]
    fn polling_needs_a_ring_and_queues_for_it() {
        use EngineKind::{Auto, IoUring, Passthrough, Sync};
        let queues = |has_them| Disk::target(8).with_poll_queues(has_them);
        let without_queues = "poll queues, which (none) does not have";
        for (engine, target, problem) in [
            (IoUring, queues(true), None),
            (Auto, queues(true), None),
            (IoUring, queues(false), Some(without_queues)),
            (Sync, queues(true), Some("needs --engine io_uring")),
            // The kernel does not say it of every device; then it is tried.
            (IoUring, Disk::target(8), None),
            (Passthrough, file().with_commands(8), None),
            (IoUring, file(), Some("is not known")),
            (IoUring, file().with_poll_queues(true), None),
            (
                IoUring,
                file().with_poll_queues(false),
                Some(without_queues),
            ),
        ] {
            let refused = options(engine, true).suit(&[target]).err();
            let text = refused.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(text.is_empty(), problem.is_none(), "{engine:?}: {text}");
            assert!(text.contains(problem.unwrap_or_default()), "{text}");
        }
    }
}
