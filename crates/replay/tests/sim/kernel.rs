//! The kernel between the replay and its disks: rings, and calls.
//!
//! A request takes effect at its disk in two parts, at any time between its beginning and its end, so that others may see
//! half of it, and so may a crash. What is wrong with what a disk is asked for is found here, when it is asked.

use std::collections::{BTreeMap, HashSet, VecDeque};

use iosonar_linux::memory::{Buffer, Region, RingSetup, Submission};
use iosonar_trace::Op;

use super::disk::{Disk, Memory, Operation, Owner, SECTOR, Seen};
use super::files::SimulatedFile;
use super::scenario::{Fault, Scenario};
use super::world::{Event, Object, State};
use crate::engine::AccessKind;

/// A ring of the kernel.
pub(crate) struct RingState {
    pub(crate) setup: RingSetup,
    pub(crate) disks: Vec<usize>,
    pub(crate) regions: Vec<Region>,
    pub(crate) submitted: VecDeque<(Submission, u64, Buffer)>,
    pub(crate) completed: VecDeque<(u64, i32, Buffer)>,
    /// Complete, and seen when the kernel is entered next.
    pub(crate) hidden: VecDeque<(u64, i32, Buffer)>,
    pub(crate) object: Object,
    /// The thread that submits.
    pub(crate) thread: usize,
    pub(crate) is_gone: bool,
    /// The kernel's thread that submits is awake until then.
    pub(crate) awake_until: u64,
    pub(crate) looks: bool,
}

impl RingState {
    pub(crate) fn is_full(&self) -> bool {
        self.submitted.len() >= self.setup.entries as usize
    }
}

/// What a crash leaves.
pub(crate) struct Crash {
    pub(crate) at: u64,
    /// The machine lost power; else only the process was killed.
    pub(crate) lost_power: bool,
    pub(crate) disks: Vec<Vec<u8>>,
    pub(crate) files: Vec<SimulatedFile>,
    /// Records that were written to the file, and flushed.
    pub(crate) records: (usize, usize),
}

#[derive(Default)]
pub(crate) struct Kernel {
    pub(crate) disks: Vec<Disk>,
    pub(crate) rings: Vec<RingState>,
    pub(crate) operations: BTreeMap<u64, Operation>,
    pub(crate) crashes: Vec<Crash>,
    pub(crate) kept: Vec<Buffer>,
    /// What threads have asked for since they looked at the clock: thread, disk, which.
    pub(crate) asked: Vec<(usize, usize, usize)>,
    /// Records that went to the file, and of these, how many it has been flushed with.
    pub(crate) records: (usize, usize),
}

impl Kernel {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            disks: scenario.disks.iter().map(Disk::new).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn picture(&self) -> String {
        let flying = self.operations.values();
        let flying: Vec<String> = flying
            .filter(|operation| operation.result.is_none())
            .map(|of| format!("{:?} {}+{} {:?}", of.kind, of.sector, of.sectors, of.fault))
            .collect();
        format!("in flight: {flying:?}")
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) disk: usize,
    pub(crate) kind: AccessKind,
    /// In bytes.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl State {
    /// A disk is asked for something by a thread. Returns the number of the operation.
    pub(crate) fn take(
        &mut self,
        thread: usize,
        wanted: Wanted,
        mut memory: Memory,
        owner: Owner,
    ) -> u64 {
        let id = self.object();
        let Wanted {
            disk: number,
            kind,
            offset,
            length,
        } = wanted;
        let (sector, sectors) = (offset / 512, length / 512);
        let Some((request, is_read_back)) = self.identify(&wanted) else {
            self.fail(|| format!("no load has {wanted:?}"));
            return id;
        };
        self.note(id ^ sector << 16 ^ sectors << 40);
        let planned = self.scenario.disks[number].requests[request];
        self.check_conflicts(number, request, is_read_back);
        if matches!(kind, AccessKind::Write { .. }) {
            self.check_data(number, sector, memory.bytes(length as usize));
        }
        self.check_log(number, kind, sector, sectors);
        let (takes, fault) = match is_read_back {
            true => (self.random.magnitude(1_000_000), Fault::None),
            false => (planned.takes, planned.fault),
        };
        let now = self.now;
        let disk = &mut self.kernel.disks[number];
        let covered = match kind {
            AccessKind::Flush => disk.dirty(),
            _ => Vec::new(),
        };
        let seen = disk.seen.len();
        disk.seen.push(Seen {
            request,
            is_read_back,
            taken: now,
            known: None,
            done: None,
            result: None,
        });
        disk.in_flight.push(id);
        self.kernel.asked.push((thread, number, seen));
        let operation = Operation {
            disk: number,
            kind,
            sector,
            sectors,
            memory,
            owner,
            seen,
            done: 0,
            fault,
            result: None,
            covered,
        };
        self.kernel.operations.insert(id, operation);
        let first = now + self.random.below(takes);
        let second = now + self.random.below(takes);
        self.at(first, Event::Effect(id));
        self.at(second, Event::Effect(id));
        if fault != Fault::Never || self.is_over {
            self.at(now + takes, Event::Complete(id));
        }
        id
    }

    /// Which request of the load it is, and whether it reads what that has written. Each comes once.
    fn identify(&mut self, wanted: &Wanted) -> Option<(usize, bool)> {
        let disk = &mut self.kernel.disks[wanted.disk];
        if wanted.kind == AccessKind::Flush {
            let request = disk.flushes.pop_front()?;
            disk.has_taken[request] = true;
            return Some((request, false));
        }
        let place = (wanted.offset / 512, wanted.length / 512);
        let request = *disk.by_place.get(&place)?;
        if !wanted.offset.is_multiple_of(512) || !wanted.length.is_multiple_of(512) {
            return None;
        }
        let options = &self.scenario.options;
        let planned = self.scenario.disks[wanted.disk].requests[request].request;
        let is_durable = planned.flags.contains(iosonar_trace::Flags::FUA)
            || options.sync != crate::Durability::None;
        let is_read_back = planned.op == Op::Write && wanted.kind == AccessKind::Read;
        let fits = match (planned.op, wanted.kind) {
            (Op::Read, AccessKind::Read) => true,
            (Op::Write, AccessKind::Write { durable }) => durable == is_durable,
            (Op::Write, AccessKind::Read) => {
                options.verification.level == crate::verify::Verify::Paranoid
                    && disk.has_taken[request]
            }
            (Op::Discard, AccessKind::Discard) => true,
            (Op::WriteZeroes, AccessKind::WriteZeroes) => true,
            _ => false,
        };
        let may_write = options.writes == crate::Writes::Do || planned.op.is_harmless();
        let before = match is_read_back {
            true => &mut disk.has_read_back[request],
            false => &mut disk.has_taken[request],
        };
        let is_new = !std::mem::replace(before, true);
        (fits && may_write && is_new).then_some((request, is_read_back))
    }

    /// Effects of a request at its disk, half or all of it.
    pub(crate) fn effect(&mut self, id: u64) {
        let half = self.random.chance(500);
        let Some(operation) = self.kernel.operations.get_mut(&id) else {
            return;
        };
        if operation.result.is_some() {
            return;
        }
        let disk = &mut self.kernel.disks[operation.disk];
        let until = match half {
            true => operation.sectors / 2,
            false => operation.sectors,
        };
        operation.work(disk, until, &mut self.random);
    }

    /// A request is complete.
    pub(crate) fn complete(&mut self, id: u64, time: u64) {
        let Some(operation) = self.kernel.operations.get_mut(&id) else {
            return;
        };
        let length = operation.sectors * 512;
        let result = match operation.fault {
            Fault::Errno(errno) => -errno,
            Fault::Short(share) => match operation.kind {
                AccessKind::Read | AccessKind::Write { .. } => {
                    (length * u64::from(share) / 1000) as i32
                }
                _ => 0,
            },
            _ => match operation.kind {
                AccessKind::Read | AccessKind::Write { .. } => length as i32,
                _ => 0,
            },
        };
        self.end(id, time, result);
    }

    /// A request ends with this result.
    pub(crate) fn end(&mut self, id: u64, time: u64, result: i32) {
        let Some(mut operation) = self.kernel.operations.remove(&id) else {
            return;
        };
        let number = operation.disk;
        let write_through = self.scenario.disks[number].write_through;
        let disk = &mut self.kernel.disks[number];
        if operation.fault == Fault::None {
            operation.work(disk, operation.sectors, &mut self.random);
        }
        if result >= 0 && operation.fault != Fault::Lost {
            for (sector, version, data) in operation.covered.drain(..) {
                disk.persist(sector as usize, version, Some(&data));
            }
            let durable = matches!(operation.kind, AccessKind::Write { durable: true });
            let is_write = !matches!(operation.kind, AccessKind::Read | AccessKind::Flush);
            if durable || write_through && is_write {
                for sector in operation.sector..operation.sector + operation.sectors {
                    let version = disk.version[sector as usize];
                    disk.persist(sector as usize, version, None);
                }
            }
        }
        let seen = &mut disk.seen[operation.seen];
        (seen.done, seen.result) = (Some(time), Some(result));
        disk.in_flight.retain(|other| *other != id);
        operation.result = Some(result);
        match operation.owner {
            Owner::Ring { ring, tag } => {
                let Memory::Lent(buffer) = operation.memory else {
                    unreachable!("a ring has buffers")
                };
                let ring = &mut self.kernel.rings[ring];
                if ring.is_gone {
                    self.kernel.kept.push(buffer);
                    return;
                }
                let setup = &ring.setup;
                match setup.cooperates || setup.defers || setup.polls {
                    true => ring.hidden.push_back((tag, result, buffer)),
                    false => ring.completed.push_back((tag, result, buffer)),
                }
                let object = ring.object;
                self.wake(object);
            }
            Owner::Thread(object) => {
                self.kernel.operations.insert(id, operation);
                self.wake(object);
            }
        }
    }

    /// The replay is over. Threads that wait for what is never complete may end, too.
    pub(crate) fn end_all(&mut self) {
        self.is_over = true;
        let never = self.kernel.operations.iter();
        let never = never.filter(|(_, operation)| operation.fault == Fault::Never);
        let never: Vec<u64> = never.map(|(id, _)| *id).collect();
        let now = self.now;
        for id in never {
            self.end(id, now, -libc::EIO);
        }
    }

    /// What a crash would leave now.
    pub(crate) fn crash(&mut self) {
        let lost_power = self.random.chance(500);
        let mut disks = Vec::new();
        for disk in &self.kernel.disks {
            let mut image = disk.cache.clone();
            for sector in 0..disk.version.len() {
                if lost_power && self.random.chance(500) {
                    let range = sector * SECTOR..(sector + 1) * SECTOR;
                    image[range.clone()].copy_from_slice(&disk.medium[range]);
                }
            }
            disks.push(image);
        }
        let mut files = self.files.all.clone();
        if lost_power {
            for file in &mut files {
                let more = file.bytes.len() - file.synced;
                let left = file.synced + self.random.below(more as u64 + 1) as usize;
                file.bytes.truncate(left);
                // The size of a file may be on the medium before its contents are.
                if left > file.synced && self.random.chance(500) {
                    let from =
                        file.synced + self.random.below((left - file.synced) as u64) as usize;
                    file.bytes[from..].fill(0);
                }
            }
        }
        self.kernel.crashes.push(Crash {
            at: self.now,
            lost_power,
            disks,
            files,
            records: self.kernel.records,
        });
    }

    /// The kernel's thread of a ring takes what was lent.
    pub(crate) fn thread_submits(&mut self, number: usize) {
        let ring = &mut self.kernel.rings[number];
        ring.looks = false;
        if ring.is_gone {
            return;
        }
        let waiting = ring.submitted.len() as u64;
        let most = 1 + self.random.below(2 * waiting + 1);
        for _ in 0..most.min(waiting) {
            self.take_next(number);
        }
        let now = self.now;
        let ring = &mut self.kernel.rings[number];
        ring.awake_until = now + 1_000_000_000;
        if !ring.submitted.is_empty() {
            self.thread_will_look(number);
        }
    }

    pub(crate) fn thread_will_look(&mut self, number: usize) {
        if !std::mem::replace(&mut self.kernel.rings[number].looks, true) {
            let after = self.random.magnitude(20_000);
            self.at(self.now + after, Event::Submit(number));
        }
    }

    /// The kernel takes the next entry of a ring.
    pub(crate) fn take_next(&mut self, number: usize) {
        let ring = &mut self.kernel.rings[number];
        let thread = ring.thread;
        let Some((submission, tag, buffer)) = ring.submitted.pop_front() else {
            return;
        };
        let owner = Owner::Ring { ring: number, tag };
        match decoded(ring, &submission, &buffer) {
            Ok(wanted) => {
                self.take(thread, wanted, Memory::Lent(buffer), owner);
            }
            Err(problem) => self.fail(|| format!("{problem}: {submission:?}")),
        }
    }

    /// The kernel shows a ring's thread what is complete.
    pub(crate) fn show_completed(&mut self, number: usize) {
        let ring = &mut self.kernel.rings[number];
        ring.completed.append(&mut ring.hidden);
    }

    /// A thread looks at the clock: submissions before are known to have been made by now.
    pub(crate) fn look_at_clock(&mut self, thread: usize) {
        let of_thread = |(of, ..): &&(usize, usize, usize)| *of == thread;
        // When other threads have submitted something is not known exactly either.
        let mut rings = self.kernel.rings.iter();
        let has_side = (0..self.kernel.disks.len()).any(|disk| !self.keeps_order(disk));
        let has_helper = rings.any(|ring| {
            ring.thread == thread && (ring.setup.submission_thread.is_some() || has_side)
        });
        let several = has_helper || self.kernel.asked.iter().filter(of_thread).count() > 1;
        let now = self.now;
        let disks = &mut self.kernel.disks;
        self.kernel.asked.retain(|&(of, disk, seen)| {
            if of == thread && several {
                disks[disk].seen[seen].known = Some(now);
            }
            of != thread
        });
    }

    pub(crate) fn has_taken(&self, disk: usize, request: usize) -> bool {
        self.kernel.disks[disk].has_taken[request]
    }

    pub(crate) fn stamps(&mut self, disk: usize) -> &mut HashSet<(u64, u64)> {
        &mut self.kernel.disks[disk].stamps
    }

    /// The requests of a disk that are at it.
    pub(crate) fn flying(&self, disk: usize) -> Vec<usize> {
        let disk = &self.kernel.disks[disk];
        let operations = disk.in_flight.iter();
        let seen = operations.filter_map(|id| self.kernel.operations.get(id));
        seen.map(|operation| disk.seen[operation.seen].request)
            .collect()
    }
}

/// What an entry asks for, as the kernel understands it.
fn decoded(ring: &RingState, entry: &Submission, buffer: &Buffer) -> Result<Wanted, String> {
    use io_uring::opcode;
    let disk = *ring
        .disks
        .get(entry.file as usize)
        .ok_or("no file has this number")?;
    let mut length = u64::from(entry.length);
    // RWF_DSYNC and RWF_SYNC
    let durable = entry.flags & 0b110 != 0;
    let kind = match entry.opcode {
        opcode::Read::CODE | opcode::ReadFixed::CODE => AccessKind::Read,
        opcode::Write::CODE | opcode::WriteFixed::CODE => AccessKind::Write { durable },
        opcode::Fsync::CODE => AccessKind::Flush,
        opcode::Fallocate::CODE => {
            let mode = std::mem::replace(&mut length, entry.address);
            match mode {
                // FALLOC_FL_KEEP_SIZE with FALLOC_FL_PUNCH_HOLE or FALLOC_FL_ZERO_RANGE
                0x03 => AccessKind::Discard,
                0x11 => AccessKind::WriteZeroes,
                _ => return Err("this mode is unknown".to_owned()),
            }
        }
        _ => return Err("this operation is unknown".to_owned()),
    };
    let is_fixed = matches!(
        entry.opcode,
        opcode::ReadFixed::CODE | opcode::WriteFixed::CODE
    );
    if is_fixed {
        let region = ring.regions.get(usize::from(entry.region));
        if !region.is_some_and(|region| region.holds(buffer)) {
            return Err("the buffer is not in this region".to_owned());
        }
    }
    if matches!(kind, AccessKind::Read | AccessKind::Write { .. })
        && (entry.address != buffer.as_ptr().addr() as u64 || length > buffer.len() as u64)
    {
        return Err("the memory is not that of the buffer".to_owned());
    }
    Ok(Wanted {
        disk,
        kind,
        offset: entry.offset,
        length: if kind == AccessKind::Flush { 0 } else { length },
    })
}
