//! What a user can say about a replay.

use std::num::NonZeroU32;
use std::path::PathBuf;

use iosonar_units::{Bytes, Nanos};

use crate::conflicts::{Conflicts, Strong};
use crate::engine::{Durability, RingOptions};
use crate::verify::Verification;
use crate::zones::ZoneOptions;
use crate::{EngineKind, Fit, Pacing, ReplayError, Target};

/// What happens to the requests of a load that would change the target's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// A load that has any is refused.
    #[default]
    Refuse,
    /// They are left out, and recorded as skipped.
    Skip,
    /// They are done.
    Do,
}

/// What may be done to a target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// Whether it is written to.
    pub write: bool,
    /// The targets whose contents may be lost.
    pub destroy: Vec<PathBuf>,
    /// Whether the page cache may be used (results are fake then).
    pub buffered: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Random data, no two pages the same, of which so many percent compress to nothing.
    Random {
        /// 0 to 100.
        compressible_percent: u8,
    },
    /// Zeros, as blkreplay writes them: thin volumes, compression and deduplication fake results then.
    Zero,
}

impl Default for Data {
    fn default() -> Self {
        Self::Random {
            compressible_percent: 0,
        }
    }
}

/// How a load is replayed.
#[derive(Clone, Debug)]
pub struct Options {
    /// What happens to writes.
    pub writes: Writes,
    /// What happens to requests that do not fit the target.
    pub fit: Fit,
    /// The most ordinary requests at a device at once; as many that were pushed back may be there too.
    pub in_flight: u32,
    /// The most requests of both kinds at a device at once.
    pub in_flight_total: Option<u32>,
    /// The most requests of a device that are accepted and not complete, those pushed back included
    /// [default: eight times `in_flight`].
    pub bottleneck: Option<u32>,
    /// The most memory for the requests' data: fewer are in flight if the longest do not fit.
    pub buffer_memory: Bytes,
    /// How requests are handed over.
    pub engine: EngineKind,
    /// How a ring is set up.
    pub ring: RingOptions,
    /// How many threads submit, each for its share of the targets [default: one for each target, and a processor is
    /// left free].
    pub threads: Option<NonZeroU32>,
    /// How the time of a start is waited for.
    pub pacing: Pacing,
    /// Time between the first requests' arrival from the file and time zero, to fill the queues.
    pub start_grace: Nanos,
    /// Time zero, in nanoseconds since 1970 by this machine's clock, instead of `start_grace` from now; one that is
    /// past is now.
    pub begin_at: Option<Nanos>,
    /// A replay that lasts longer is ended; what is left is missed.
    pub max_runtime: Option<Nanos>,
    /// Requests that should start before this time of the replay are in no statistic.
    pub warmup: Nanos,
    /// What happens to overlapping requests in flight.
    pub conflicts: Conflicts,
    /// Which overlaps count.
    pub strong: Strong,
    /// The share of requests that may be dropped before the replay is flagged.
    pub max_dropped: f64,
    /// What is written.
    pub data: Data,
    /// Whether writes wait for the medium.
    pub sync: Durability,
    /// How zones that must be written in order are written.
    pub zones: ZoneOptions,
    /// What is checked of the target's contents.
    pub verification: Verification,
    /// How many failed requests are borne; one more ends the run.
    pub max_errors: u64,
}

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
                    "{} takes NVMe commands, and {} does not: replay on each of them separately",
                    one.path().display(),
                    other.path().display()
                ));
            }
            (Auto | Passthrough, ..) | (_, None, _) => {}
            (_, Some(one), _) => {
                return refuse(format!(
                    "{} takes NVMe commands only: --engine passthrough (or auto), or its block device (/dev/nvme...)",
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
                "--iopoll needs the poll queues of a block device, and the file system of {} names none that it is on: \
                 leave it out, or give the block device itself",
                target.path().display()
            ));
        }
        match targets.iter().find(|t| t.has_poll_queues() == Some(false)) {
            None => Ok(()),
            Some(target) => refuse(format!(
                "--iopoll needs poll queues, which {} does not have (queue/io_poll is 0): leave it out, or for NVMe load \
                 the driver with nvme.poll_queues=2 (kernel command line, or options nvme poll_queues=2 in \
                 /etc/modprobe.d)",
                target.path().display()
            )),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            writes: Writes::Refuse,
            fit: Fit::default(),
            in_flight: 1024,
            in_flight_total: None,
            bottleneck: None,
            buffer_memory: Bytes::new(1 << 30),
            engine: EngineKind::Auto,
            ring: RingOptions::default(),
            threads: None,
            pacing: Pacing::default(),
            start_grace: Nanos::from_millis(200),
            begin_at: None,
            max_runtime: None,
            warmup: Nanos::ZERO,
            conflicts: Conflicts::default(),
            strong: Strong::default(),
            max_dropped: 0.05,
            data: Data::default(),
            sync: Durability::None,
            zones: ZoneOptions::default(),
            verification: Verification::default(),
            max_errors: 0,
        }
    }
}
