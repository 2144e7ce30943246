//! What a machine offers to a replay: the kernel's interfaces, permissions, limits.
//!
//! ```text
//!  Machine::examine ──► facts ──► checks (pure) ──► one verdict per subject
//! ```
//!
//! Nothing is changed, and nothing is written: `io_uring` is probed with a ring of its own, and a priority with a thread
//! that ends at once.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use io_uring::{IoUring, Probe, opcode};
use iosonar_guard::{Host, free_space};
use iosonar_linux::memory::{Buffer, Ring};
use iosonar_units::{Bytes, Nanos};
use rustix::process::{Resource, geteuid, getrlimit};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::engine::{MOST_REGISTERED, ring_is_permitted};
use crate::pacing::{Pacing, ThreadPriority, granted};
use crate::{Listed, look_at};

/// `CAP_IPC_LOCK` of `linux/capability.h`: no limit on locked memory.
const CAP_IPC_LOCK: u32 = 14;
/// A wake-up that is later than this is seen in start delays.
const EXACT_SLACK: Nanos = Nanos::from_micros(1);
/// Below this a demo or a long trace soon fills the file system.
const AMPLE_SPACE: Bytes = Bytes::new(1 << 30);

/// The facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `io_uring`, or why it is not available.
    pub ring: Result<RingFacts, String>,
    /// Whether the user is root.
    pub is_root: bool,
    /// Whether the user may lock any amount of memory (`CAP_IPC_LOCK`).
    pub locks_freely: bool,
    /// How much memory the user may lock; `None` without a limit.
    pub lockable: Option<Bytes>,
    /// The priority that a pacing thread gets.
    pub priority: ThreadPriority,
    /// The highest real-time priority without privileges (`ulimit -r`); `None` without a limit.
    pub real_time_priority: Option<u64>,
    /// How late a pacing thread may be woken; `None` if the system does not say.
    pub timer_slack: Option<Nanos>,
    /// Processors that this process may use.
    pub processors: usize,
    /// How the processor's frequency is governed; `None` if the kernel does not say, as in most virtual machines.
    pub governor: Option<String>,
    /// Block devices with a medium, and whether a replay could read each.
    pub devices: Vec<(PathBuf, DeviceAccess)>,
    /// Room in the folder for results; `None` if the system does not say.
    pub free_space: Option<Bytes>,
}

/// Whether a replay can read a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAccess {
    /// It can.
    Readable,
    /// It is in use, such as by a mounted file system.
    InUse,
    /// This user may not.
    Denied,
}

/// What the kernel's `io_uring` can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingFacts {
    /// The operations of a replay that it lacks, by the kernel's names.
    pub lacking: Vec<&'static str>,
    /// Why buffers cannot be registered; `None` if they can.
    pub unregistered: Option<String>,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// `io_uring`: operations and registered buffers.
    Ring,
    /// Locked memory, for registered buffers.
    LockedMemory,
    /// Root, who may open any device and record.
    Root,
    /// Block devices that can be read.
    Devices,
    /// The priority of pacing threads.
    Priority,
    /// The timer slack of pacing threads.
    TimerSlack,
    /// The number of processors.
    Processors,
    /// The governor of the processor's frequency.
    Governor,
    /// Room for results.
    FreeSpace,
}

impl Subject {
    /// All of them, in the order in which they are reported, with their names.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Ring, "io_uring"),
        (Self::LockedMemory, "locked_memory"),
        (Self::Root, "root"),
        (Self::Devices, "block_devices"),
        (Self::Priority, "priority"),
        (Self::TimerSlack, "timer_slack"),
        (Self::Processors, "processors"),
        (Self::Governor, "governor"),
        (Self::FreeSpace, "free_space"),
    ];
}

/// How good something is for replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// As it should be.
    Good,
    /// It works, with less accuracy, speed or choice.
    Limited,
    /// What needs it does not work.
    Missing,
}

impl Machine {
    /// Looks at this machine; results would go to `folder`.
    pub fn examine(host: &Host, folder: &Path) -> Self {
        let limit = |resource| getrlimit(resource).current;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let devices = host.block_devices().into_iter();
        Self {
            ring: ring_facts().map_err(|error| error.to_string()),
            is_root: geteuid().is_root(),
            locks_freely: has_capability(&status, CAP_IPC_LOCK),
            lockable: limit(Resource::Memlock).map(Bytes::new),
            priority: granted(&Pacing::default()),
            real_time_priority: limit(Resource::Rtprio),
            timer_slack: least_slack(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            governor: host.frequency_governor(),
            devices: devices.filter_map(|path| accessed(host, path)).collect(),
            free_space: free_space(&folder.join("results")),
        }
    }

    /// How each subject stands.
    pub fn checks(&self) -> impl Iterator<Item = (Subject, Standing)> {
        Subject::ALL
            .into_iter()
            .map(|(subject, _)| (subject, self.standing(subject)))
    }

    /// How `subject` stands.
    pub fn standing(&self, subject: Subject) -> Standing {
        use Standing::{Good, Limited, Missing};
        let good_if = |is_good: bool| if is_good { Good } else { Limited };
        match subject {
            Subject::Ring => match &self.ring {
                Err(_) => Missing,
                Ok(ring) => good_if(ring.lacking.is_empty() && ring.unregistered.is_none()),
            },
            Subject::LockedMemory => {
                let is_enough = |limit: Bytes| limit.get() >= MOST_REGISTERED as u64;
                good_if(self.locks_freely || self.lockable.is_none_or(is_enough))
            }
            Subject::Root => good_if(self.is_root),
            Subject::Devices => {
                let has = |access| self.devices.iter().any(|(_, of)| *of == access);
                match (has(DeviceAccess::Readable), has(DeviceAccess::Denied)) {
                    (true, is_denied) => good_if(!is_denied),
                    // Only those that are in use: another one, or a file, would do.
                    (false, false) if !self.devices.is_empty() => Limited,
                    (false, _) => Missing,
                }
            }
            Subject::Priority => good_if(self.priority == ThreadPriority::Fifo),
            Subject::TimerSlack => good_if(self.timer_slack.is_some_and(|t| t <= EXACT_SLACK)),
            Subject::Processors => good_if(self.processors > 1),
            Subject::Governor => {
                good_if(self.governor.as_deref().is_none_or(|g| g == "performance"))
            }
            Subject::FreeSpace => good_if(self.free_space.is_none_or(|free| free >= AMPLE_SPACE)),
        }
    }
}

/// Whether a replay may read the device at `path`, as `iosonar targets` has it; `None` where it has no medium, or is gone.
fn accessed(host: &Host, path: PathBuf) -> Option<(PathBuf, DeviceAccess)> {
    let access = access_to(&look_at(host, &path).ok()?)?;
    Some((path, access))
}

/// Whether it may read this device; `None` without a medium.
fn access_to(listed: &Listed) -> Option<DeviceAccess> {
    let access = match listed.no_reads {
        None => DeviceAccess::Readable,
        Some(_) if listed.is_in_use => DeviceAccess::InUse,
        Some(_) => DeviceAccess::Denied,
    };
    (listed.size.get() > 0).then_some(access)
}

/// Probes `io_uring` for what a replay submits.
fn ring_facts() -> io::Result<RingFacts> {
    ring_is_permitted()?;
    let queues: IoUring = IoUring::new(2)?;
    let mut probe = Probe::new();
    queues.submitter().register_probe(&mut probe)?;
    let needed = [
        (opcode::Read::CODE, "IORING_OP_READ"),
        (opcode::Write::CODE, "IORING_OP_WRITE"),
        (opcode::ReadFixed::CODE, "IORING_OP_READ_FIXED"),
        (opcode::WriteFixed::CODE, "IORING_OP_WRITE_FIXED"),
        (opcode::Fsync::CODE, "IORING_OP_FSYNC"),
        (opcode::Fallocate::CODE, "IORING_OP_FALLOCATE"),
        (opcode::UringCmd80::CODE, "IORING_OP_URING_CMD"),
    ];
    let lacking = needed
        .into_iter()
        .filter(|(code, _)| !probe.is_supported(*code));
    let lacking = lacking.map(|(_, name)| name).collect();
    let buffer = Buffer::new(4096)?;
    let registered = Ring::new(queues, 1).register(&[buffer.region()]);
    Ok(RingFacts {
        lacking,
        unregistered: registered.err().map(|error| error.to_string()),
    })
}

/// The least timer slack that a thread can get.
fn least_slack() -> Option<Nanos> {
    let tried = std::thread::Builder::new().spawn(|| {
        // Refused, the slack stays what it is.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        current_timer_slack().ok()
    });
    tried.ok()?.join().ok()?.map(Nanos::new)
}

/// Whether the effective capabilities in the text of `/proc/self/status` include this one.
fn has_capability(status: &str, capability: u32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> capability & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::Standing::{Good, Limited, Missing};
    use super::*;

    fn ample() -> Machine {
        Machine {
            ring: Ok(RingFacts::default()),
            is_root: true,
            locks_freely: false,
            lockable: None,
            priority: ThreadPriority::Fifo,
            real_time_priority: None,
            timer_slack: Some(Nanos::new(1)),
            processors: 8,
            governor: Some("performance".to_owned()),
            devices: vec![("/dev/sda".into(), DeviceAccess::Readable)],
            free_space: Some(Bytes::new(100 << 30)),
        }
    }

    /// The subjects that do not stand well.
    fn amiss(machine: &Machine) -> Vec<(Subject, Standing)> {
        machine
            .checks()
            .filter(|(_, standing)| *standing != Good)
            .collect()
    }

    #[test]
    fn a_machine_with_everything_has_nothing_amiss() {
        assert_eq!(amiss(&ample()), []);
    }

    #[test]
    fn each_shortcoming_is_found_and_only_that() {
        type Change = fn(&mut Machine);
        let lacking: Change = |m| m.ring.as_mut().unwrap().lacking = vec!["IORING_OP_URING_CMD"];
        let unregistered: Change =
            |m| m.ring.as_mut().unwrap().unregistered = Some("no memory".into());
        let unreadable: Change = |m| m.devices[0].1 = DeviceAccess::Denied;
        let in_use: Change = |m| m.devices[0].1 = DeviceAccess::InUse;
        let one_unreadable: Change = |m| m.devices.push(("/dev/sdb".into(), DeviceAccess::Denied));
        let slow_timer: Change = |m| m.timer_slack = Some(Nanos::from_micros(50));
        let cases: [(Change, Subject, Standing); 15] = [
            (
                |m| m.ring = Err("not permitted".into()),
                Subject::Ring,
                Missing,
            ),
            (lacking, Subject::Ring, Limited),
            (unregistered, Subject::Ring, Limited),
            (
                |m| m.lockable = Some(Bytes::new(1 << 20)),
                Subject::LockedMemory,
                Limited,
            ),
            (|m| m.is_root = false, Subject::Root, Limited),
            (|m| m.devices.clear(), Subject::Devices, Missing),
            (unreadable, Subject::Devices, Missing),
            (in_use, Subject::Devices, Limited),
            (one_unreadable, Subject::Devices, Limited),
            (
                |m| m.priority = ThreadPriority::Nice,
                Subject::Priority,
                Limited,
            ),
            (slow_timer, Subject::TimerSlack, Limited),
            (|m| m.timer_slack = None, Subject::TimerSlack, Limited),
            (|m| m.processors = 1, Subject::Processors, Limited),
            (
                |m| m.governor = Some("powersave".into()),
                Subject::Governor,
                Limited,
            ),
            (
                |m| m.free_space = Some(Bytes::new(1 << 20)),
                Subject::FreeSpace,
                Limited,
            ),
        ];
        for (change, subject, standing) in cases {
            let mut machine = ample();
            change(&mut machine);
            assert_eq!(amiss(&machine), [(subject, standing)], "{machine:?}");
        }
    }

    #[test]
    fn a_disk_in_use_beside_one_that_can_be_read_is_no_shortcoming() {
        let mut machine = ample();
        let root = ("/dev/vda".into(), DeviceAccess::InUse);
        machine.devices.push(root);
        assert_eq!(amiss(&machine), []);
    }

    #[test]
    fn a_limit_on_locked_memory_does_not_matter_to_who_may_lock_freely() {
        let machine = Machine {
            lockable: Some(Bytes::new(0)),
            locks_freely: true,
            ..ample()
        };
        assert_eq!(machine.standing(Subject::LockedMemory), Good);
    }

    #[test]
    fn what_the_kernel_does_not_say_is_no_shortcoming() {
        let machine = Machine {
            governor: None,
            free_space: None,
            ..ample()
        };
        assert_eq!(amiss(&machine), []);
    }

    #[test]
    fn capabilities_are_bits_of_a_number() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000804000\n";
        assert!(has_capability(status, CAP_IPC_LOCK));
        assert!(has_capability(status, 23));
        assert!(!has_capability(status, 21));
        assert!(!has_capability("CapPrm:\t0000000000004000\n", CAP_IPC_LOCK));
    }

    #[test]
    fn every_subject_has_a_place_and_a_name_of_its_own() {
        let machine = ample();
        let names: std::collections::BTreeSet<_> =
            Subject::ALL.iter().map(|(_, name)| name).collect();
        assert_eq!((machine.checks().count(), names.len()), (9, 9));
    }

    #[test]
    fn this_machine_can_be_examined() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::examine(&Host::default(), folder.path());
        assert!(machine.processors > 0);
        assert_eq!(machine.is_root, geteuid().is_root());
        assert!(machine.free_space.is_some());
        // A thread may always ask for less slack.
        assert_eq!(machine.timer_slack, Some(Nanos::new(1)));
    }

    #[test]
    fn a_ring_that_is_permitted_reads_writes_and_syncs() {
        let facts = ring_facts();
        assert_eq!(facts.is_ok(), ring_is_permitted().is_ok());
        // All kernels that permit one have these; commands came later.
        let later = |name: &&str| *name == "IORING_OP_URING_CMD";
        if let Ok(facts) = facts {
            assert!(facts.lacking.iter().all(later), "{facts:?}");
        }
    }

    #[test]
    fn a_device_with_a_medium_is_readable_in_use_or_denied() {
        let why = || Some("it is mounted".to_owned());
        for (bytes, no_reads, is_in_use, access) in [
            (512, None, false, Some(DeviceAccess::Readable)),
            (512, why(), true, Some(DeviceAccess::InUse)),
            (512, why(), false, Some(DeviceAccess::Denied)),
            (0, why(), false, None),
            (0, None, false, None),
        ] {
            let listed = Listed {
                path: "/dev/sda".into(),
                size: Bytes::new(bytes),
                block: Bytes::new(512),
                kind: "disk",
                rotational: None,
                scheduler: None,
                write_cache: None,
                zoned: None,
                character_device: None,
                no_reads,
                is_in_use,
                no_writes: None,
                consent_helps: false,
                fakes: Vec::new(),
            };
            assert_eq!(access_to(&listed), access, "{bytes} {is_in_use}");
        }
    }
}
