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
