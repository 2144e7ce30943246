//! System calls that neither the standard library nor rustix offers as safe functions.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::major;
use rustix::ioctl::{Getter, Ioctl, IoctlOutput, Opcode, Setter, Updater, ioctl, opcode};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::nvme::{self, IDENTIFY_BYTES, NVME_IOCTL_ADMIN_CMD, NVME_IOCTL_ID};

/// `BLKROGET` of `linux/fs.h`: `_IO(0x12, 94)`.
const BLKROGET: Opcode = opcode::none(0x12, 94);
/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: Opcode = opcode::none(0x12, 119);
/// `BLKREPORTZONE` of `linux/blkzoned.h`: `_IOWR(0x12, 130, struct blk_zone_report)`.
const BLKREPORTZONE: Opcode = opcode::read_write::<[u64; 2]>(0x12, 130);
/// `BLKRESETZONE` of `linux/blkzoned.h`: `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: Opcode = opcode::write::<[u64; 2]>(0x12, 131);
/// `BLKGETNRZONES` of `linux/blkzoned.h`: `_IOR(0x12, 133, __u32)`.
const BLKGETNRZONES: Opcode = opcode::read::<u32>(0x12, 133);
/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: Opcode = 0x4c05;

/// Whether the block device `file` takes no writes.
///
/// # Errors
/// If it is not a block device.
pub fn is_read_only(file: &File) -> io::Result<bool> {
    // SAFETY: the call fills an int.
    let flag = unsafe { ioctl(file, Getter::<BLKROGET, i32>::new()) }?;
    Ok(flag != 0)
}

/// Lets the block device forget `length` bytes from `offset` on.
///
/// # Errors
/// If it cannot, or the range is not one of whole blocks.
pub fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    // SAFETY: the call reads two integers: where, and how much.
    Ok(unsafe { ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new([offset, length])) }?)
}

/// `struct loop_info64` in words; the first are the device number and the inode of the backing file, and its own device
/// number where it is a device.
pub type LoopInfo = [u64; 29];
/// The number of the driver of loop devices (Documentation/admin-guide/devices.txt).
const LOOP_MAJOR: u32 = 7;

/// What the kernel knows of the loop device `file`.
///
/// # Errors
/// If it is not a loop device, or has no backing file.
pub fn loop_info(file: &File) -> io::Result<LoopInfo> {
    // Another driver may mean something else by the number, which does not say how much is filled.
    let metadata = file.metadata()?;
    if !metadata.file_type().is_block_device() || major(metadata.rdev()) != LOOP_MAJOR {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call of a loop device fills a loop_info64, which has this size and no padding.
    Ok(unsafe { ioctl(file, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?)
}

/// How many zones the block device `file` has.
///
/// # Errors
/// If it is not a block device, or the kernel knows no zones.
pub fn zone_count(file: &File) -> io::Result<u32> {
    // SAFETY: the call fills an unsigned int.
    Ok(unsafe { ioctl(file, Getter::<BLKGETNRZONES, u32>::new()) }?)
}

/// The most zones that are reported at a time.
const MOST_ZONES: usize = 250;
/// Of a `struct blk_zone_report` before its zones, in words.
const REPORT_HEADER: usize = 2;

/// A `struct blk_zone` in words: start, length, write pointer, type and condition, capacity.
pub type ZoneWords = [u64; 8];

/// The next zones of a device.
#[derive(Clone, Debug)]
pub struct ZoneReport {
    /// The zones; none after the last.
    pub zones: Vec<ZoneWords>,
    /// `BLK_ZONE_REP_CAPACITY`: the zones have a capacity of their own.
    pub with_capacity: bool,
}

/// The zones of the block device `file` from this sector on, as many as are reported at a time.
///
/// # Errors
/// If it is not a zoned block device.
pub fn report_zones(file: &File, from: u64) -> io::Result<ZoneReport> {
    const WITH_CAPACITY: u64 = 1;
    let mut report = [0_u64; REPORT_HEADER + MOST_ZONES * size_of::<ZoneWords>() / 8];
    report[0] = from;
    report[1] = MOST_ZONES as u64;
    // SAFETY: the call takes a header with the number of zones that there is room for behind it, and fills those.
    unsafe { ioctl(file, Updater::<BLKREPORTZONE, _>::new(&mut report)) }?;
    let (reported, flags) = (report[1] & 0xffff_ffff, report[1] >> 32);
    let (zones, _) = report[REPORT_HEADER..].as_chunks();
    Ok(ZoneReport {
        zones: zones.iter().copied().take(reported as usize).collect(),
        with_capacity: flags & WITH_CAPACITY != 0,
    })
}

/// Resets the zones in a range of sectors.
///
/// # Errors
/// If it is not a zoned block device, or the range is not one of whole zones.
pub fn reset_zones(file: &File, start: u64, sectors: u64) -> io::Result<()> {
    let range = [start, sectors];
    // SAFETY: the call reads two integers: the first sector, and how many.
    Ok(unsafe { ioctl(file, Setter::<BLKRESETZONE, [u64; 2]>::new(range)) }?)
}

/// The number of an NVMe namespace, of its character device or its block device.
///
/// # Errors
/// If it is not one.
pub fn nvme_namespace(file: &File) -> io::Result<u32> {
    // SAFETY: the call takes no argument, and returns the number.
    Ok(unsafe { ioctl(file, NamespaceId) }?)
}

/// The call that returns the number of a namespace.
struct NamespaceId;

// SAFETY: the call neither reads nor writes memory.
unsafe impl Ioctl for NamespaceId {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        NVME_IOCTL_ID
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        returned: IoctlOutput,
        _: *mut c_void,
    ) -> rustix::io::Result<Self::Output> {
        // Errors are negative, and have been returned before.
        Ok(returned as u32)
    }
}

/// The Identify Namespace data structure of an NVMe namespace.
///
/// # Errors
/// If it is not one, or may not be asked (`CAP_SYS_ADMIN`).
pub fn nvme_identify(file: &File, namespace: u32) -> io::Result<Box<[u8; IDENTIFY_BYTES]>> {
    let mut answer = Box::new([0; IDENTIFY_BYTES]);
    let identify = nvme::Command {
        opcode: 0x06,
        namespace,
        bytes: IDENTIFY_BYTES as u32,
        words: [0; 6],
    };
    let mut command = identify.encoded(answer.as_mut_ptr() as u64);
    // SAFETY: the call takes this structure, and has the device write to the memory that it names, which is as large as
    // the answer and lives until the call returns.
    unsafe { ioctl(file, Updater::<NVME_IOCTL_ADMIN_CMD, _>::new(&mut command)) }?;
    Ok(answer)
}

/// `F_SETLEASE` and `F_GETLEASE` of `linux/fcntl.h`.
const F_SETLEASE: libc::c_int = 1024;
const F_GETLEASE: libc::c_int = 1025;
/// `F_SETSIG` there: which signal says that the lease is wanted. `SIGURG` is ignored unless a program asks for it.
const F_SETSIG: libc::c_int = 10;
/// `F_WRLCK` there: no other open file of it, even to read.
const F_WRLCK: libc::c_int = 1;

/// Takes a lease on a regular file that is open for writing (`fcntl(2)`, "Leases").
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another open file of it exists; others if the file system has no leases, or the file
/// belongs to another user.
pub fn take_lease(file: &File) -> io::Result<()> {
    // By default the kernel ends this process when another opens the file.
    fcntl(file, F_SETSIG, libc::SIGURG)?;
    fcntl(file, F_SETLEASE, F_WRLCK).map(drop)
}

/// Whether the lease that was taken on a file still holds, and is not to be given up.
///
/// # Errors
/// If the system does not say.
pub fn has_lease(file: &File) -> io::Result<bool> {
    fcntl(file, F_GETLEASE, 0).map(|held| held == F_WRLCK)
}

fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the commands above take an integer, and the descriptor is open.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// How the scheduler treats a thread (`sched(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Ahead of all that are not real-time (`SCHED_FIFO`).
    Fifo {
        /// Its real-time priority, from 1.
        priority: u32,
    },
    /// In turn with others (`SCHED_OTHER`).
    Other {
        /// From -20, the largest share, to 19.
        nice: i32,
        /// How long its turn is, in nanoseconds; kernels before 6.12 ignore it.
        slice: u64,
    },
}

/// Schedules the calling thread so (`sched_setattr(2)`).
///
/// # Errors
/// If it may not be.
pub fn schedule(scheduling: Scheduling) -> io::Result<()> {
    let (policy, priority, nice, slice) = match scheduling {
        Scheduling::Fifo { priority } => (libc::SCHED_FIFO, priority, 0, 0),
        Scheduling::Other { nice, slice } => (libc::SCHED_OTHER, 0, nice, slice),
    };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: priority,
        sched_runtime: slice,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the structure is read, and lives during the call; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the program that `command` starts get SIGTERM when the thread that starts it ends, even if it is killed.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec it makes one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) }
}

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look_at_stdout() {
    // SAFETY: it asks for the flags of a number, whether or not that is an open descriptor.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1 {
        STDOUT_WAS_CLOSED.store(true, Relaxed);
    }
}

// SAFETY: the loader calls the functions of this section one after the other before `main`; this one makes a system call
// and sets a flag, for which nothing has to be set up.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

/// Whether standard output was closed (`>&-`) when the process began: the standard library puts `/dev/null` in its place
/// before `main`, without a trace.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_have_the_kernels_numbers() {
        assert_eq!(BLKROGET, 0x125e);
        assert_eq!(BLKDISCARD, 0x1277);
        assert_eq!(BLKREPORTZONE, 0xc010_1282);
        assert_eq!(BLKRESETZONE, 0x4010_1283);
        assert_eq!(BLKGETNRZONES, 0x8004_1285);
    }

    #[test]
    fn a_file_is_no_device() {
        let file = tempfile::tempfile().unwrap();
        assert!(is_read_only(&file).is_err());
        assert!(discard(&file, 0, 4096).is_err());
        assert!(loop_info(&file).is_err());
        assert!(zone_count(&file).is_err());
        assert!(report_zones(&file, 0).is_err());
        assert!(reset_zones(&file, 0, 8).is_err());
        assert!(nvme_namespace(&file).is_err());
        assert!(nvme_identify(&file, 1).is_err());
    }

    #[test]
    fn a_thread_is_scheduled_as_asked() {
        // Less than before is always permitted.
        let scheduling = Scheduling::Other {
            nice: 7,
            slice: 1_000_000,
        };
        let nice = std::thread::spawn(move || {
            schedule(scheduling).unwrap();
            rustix::process::getpriority_process(None).unwrap()
        });
        assert_eq!(nice.join().unwrap(), 7);
    }

    #[test]
    fn the_standard_output_of_a_test_is_open() {
        assert!(!stdout_was_closed());
    }
}
