//! The system that the replay sees in unit tests: of a thread of a simulation the simulated one, of any other the real
//! one.

pub(crate) mod channel;
pub(crate) mod fs;
mod ring;
pub(crate) mod sync;
pub(crate) mod thread;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use iosonar_linux::calls::Scheduling;
use iosonar_trace::{Batch, Metadata, Reading, Record, TraceError, TraceReader};
use rustix::io::ReadWriteFlags;

use super::disk::{Memory, Owner};
use super::kernel::Wanted;
use super::world::{Current, current};
use crate::engine::{AccessKind, IoAccess};
use crate::os::linux;
pub(crate) use ring::Ring;

/// Clocks.
pub(crate) mod time {
    use std::cmp::Ordering;
    use std::ops::Add;
    use std::time::Duration;

    use iosonar_units::Nanos;

    use super::super::world::{Current, current};
    use crate::os::linux;

    pub(crate) fn monotonic() -> Nanos {
        let Some(Current { world, thread }) = current() else {
            return linux::time::monotonic();
        };
        world.step(thread);
        let mut state = world.lock();
        state.look_at_clock(thread);
        Nanos::new(state.now)
    }

    pub(crate) fn since_1970() -> Nanos {
        match current() {
            Some(Current { world, .. }) => {
                let state = world.lock();
                Nanos::new(state.now.saturating_add_signed(state.time_of_day))
            }
            None => linux::time::since_1970(),
        }
    }

    pub(crate) fn of_processor() -> Nanos {
        match current() {
            Some(Current { world, .. }) => Nanos::new(world.lock().steps * 100),
            None => linux::time::of_processor(),
        }
    }

    /// A time of the monotonic clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct Instant(Nanos);

    impl Instant {
        pub(crate) fn now() -> Self {
            Self(monotonic())
        }

        pub(crate) fn checked_sub(self, time: Duration) -> Option<Self> {
            let time = u64::try_from(time.as_nanos()).ok()?;
            self.0
                .get()
                .checked_sub(time)
                .map(|at| Self(Nanos::new(at)))
        }

        pub(crate) fn elapsed(self) -> Duration {
            monotonic().saturating_sub(self.0).into()
        }

        pub(crate) fn left(self) -> Duration {
            match self.0.cmp(&monotonic()) {
                Ordering::Less => Duration::ZERO,
                _ => self.0.saturating_sub(monotonic()).into(),
            }
        }

        pub(crate) fn nanos(self) -> u64 {
            self.0.get()
        }
    }

    impl Add<Duration> for Instant {
        type Output = Self;

        fn add(self, time: Duration) -> Self {
            Self(self.0.saturating_add(Nanos::new(time.as_nanos() as u64)))
        }
    }
}

pub(crate) fn schedule(scheduling: Scheduling) -> io::Result<()> {
    match current() {
        Some(Current { world, .. }) => match world.lock().scenario.may_be_prioritised {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::EPERM)),
        },
        None => linux::schedule(scheduling),
    }
}

/// The reader of a load whose rows come as the scenario says.
struct Rows {
    current: Current,
    disk: usize,
    path: PathBuf,
    batch: usize,
    row: usize,
    metadata: Metadata,
}

impl TraceReader for Rows {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        let Current { world, thread } = &self.current;
        let scenario = {
            let state = world.lock();
            if state.is_over {
                return Ok(0);
            }
            state.scenario.clone()
        };
        let plan = &scenario.disks[self.disk];
        let wait = plan.batches.get(self.batch).map_or(0, |(_, wait)| *wait);
        world.step(*thread);
        if wait > 0 {
            world.sleep(*thread, wait);
        }
        if plan.cut.is_some_and(|cut| self.row >= cut) {
            return Err(TraceError::Io {
                path: self.path.clone(),
                action: "read the load",
                source: io::ErrorKind::UnexpectedEof.into(),
            });
        }
        let rows = plan.batches.get(self.batch).map_or(0, |(rows, _)| *rows);
        for planned in &plan.requests[self.row..self.row + rows] {
            batch.push(&Record {
                request: planned.request,
                ..Record::default()
            });
        }
        self.batch += 1;
        self.row += rows;
        Ok(rows)
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

pub(crate) fn open_load(
    path: &Path,
    reading: &Reading,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let Some(current) = current() else {
        return linux::open_load(path, reading);
    };
    let name = path.to_string_lossy();
    let disk = name
        .rsplit('.')
        .next()
        .and_then(|number| number.parse().ok());
    Ok(Box::new(Rows {
        current,
        disk: disk.expect("loads are numbered"),
        path: path.to_owned(),
        batch: 0,
        row: 0,
        metadata: Metadata::default(),
    }))
}

/// A target, as engines access it.
pub(crate) enum TargetFile {
    Real(File),
    Simulated(usize),
}

pub(crate) fn open_again(file: &File) -> io::Result<TargetFile> {
    match current() {
        Some(Current { world, .. }) => Ok(TargetFile::Simulated(disk_of(&world, file.as_raw_fd()))),
        None => linux::open_again(file).map(TargetFile::Real),
    }
}

fn disk_of(world: &super::world::World, descriptor: i32) -> usize {
    let state = world.lock();
    let mut disks = state.kernel.disks.iter();
    let disk = disks.position(|disk| disk.descriptor == descriptor);
    disk.expect("the file is that of a target")
}

pub(crate) fn is_block_device(file: &TargetFile) -> bool {
    match file {
        TargetFile::Real(file) => linux::is_block_device(file),
        TargetFile::Simulated(disk) => {
            current().is_some_and(|c| c.world.lock().scenario.disks[*disk].is_block_device)
        }
    }
}

pub(crate) fn unique() -> u64 {
    match current() {
        Some(Current { world, .. }) => world.lock().scenario.schedule,
        None => linux::unique(),
    }
}

pub(crate) fn has_kernel_workers() -> bool {
    current().is_none() && linux::has_kernel_workers()
}

/// Does one access, and waits for it.
pub(crate) fn access(
    file: &TargetFile,
    access: &mut IoAccess,
    flags: ReadWriteFlags,
) -> io::Result<usize> {
    let disk = match file {
        TargetFile::Real(file) => return linux::access(file, access, flags),
        TargetFile::Simulated(disk) => *disk,
    };
    let Some(Current { world, thread }) = current() else {
        return Err(io::Error::other("the simulation is over"));
    };
    world.step(thread);
    let mut state = world.lock();
    let refusals = state.scenario.refusals;
    if state.random.chance(refusals) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let durable = flags.intersects(ReadWriteFlags::DSYNC | ReadWriteFlags::SYNC);
    let kind = match access.kind {
        AccessKind::Write { .. } => AccessKind::Write { durable },
        kind => kind,
    };
    let moves_data = matches!(kind, AccessKind::Read | AccessKind::Write { .. });
    let length = access.length as usize;
    let data = match moves_data {
        true => access.buffer[..length].to_vec(),
        false => Vec::new(),
    };
    let wanted = Wanted {
        disk,
        kind,
        offset: access.offset,
        length: if kind == AccessKind::Flush {
            0
        } else {
            access.length
        },
    };
    let object = state.object();
    let id = state.take(thread, wanted, Memory::Copied(data), Owner::Thread(object));
    drop(state);
    loop {
        let mut state = world.lock();
        let operation = state.kernel.operations.get(&id);
        if let Some(result) = operation.and_then(|operation| operation.result) {
            if let Some(operation) = state.kernel.operations.remove(&id)
                && kind == AccessKind::Read
                && let Memory::Copied(data) = operation.memory
            {
                access.buffer[..length].copy_from_slice(&data);
            }
            return match usize::try_from(result) {
                Ok(moved) => Ok(moved),
                Err(_) => Err(io::Error::from_raw_os_error(-result)),
            };
        }
        drop(state);
        world.block(thread, object, None);
    }
}
