//! Simulated disks, and what they do with a request.

use std::collections::{HashMap, HashSet, VecDeque};

use iosonar_linux::memory::Buffer;
use iosonar_trace::Op;

use super::random::Random;
use super::scenario::{DiskPlan, Fault};
use super::world::Object;
use crate::engine::AccessKind;

pub(crate) const SECTOR: usize = 512;

/// Who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Ring {
        ring: usize,
        tag: u64,
    },
    /// A thread that waits for it.
    Thread(Object),
}

/// The memory of a request.
pub(crate) enum Memory {
    Lent(Buffer),
    Copied(Vec<u8>),
}

impl Memory {
    pub(crate) fn bytes(&mut self, length: usize) -> &mut [u8] {
        match self {
            Self::Lent(buffer) => &mut buffer[..length],
            Self::Copied(bytes) => &mut bytes[..length],
        }
    }
}

/// A request at a disk.
pub(crate) struct Operation {
    pub(crate) disk: usize,
    pub(crate) kind: AccessKind,
    pub(crate) sector: u64,
    pub(crate) sectors: u64,
    pub(crate) memory: Memory,
    pub(crate) owner: Owner,
    /// Its place among those that the disk has seen.
    pub(crate) seen: usize,
    /// How much of it is done with; in sectors.
    pub(crate) done: u64,
    pub(crate) fault: Fault,
    pub(crate) result: Option<i32>,
    /// Of a flush: what it brings to the medium.
    pub(crate) covered: Vec<(u64, u64, Vec<u8>)>,
}

/// What a disk has seen of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Its place in the load.
    pub(crate) request: usize,
    /// It reads what the request has written.
    pub(crate) is_read_back: bool,
    pub(crate) taken: u64,
    /// When the thread that asked looked at the clock again, if it asked for several since it did before.
    pub(crate) known: Option<u64>,
    pub(crate) done: Option<u64>,
    pub(crate) result: Option<i32>,
}

pub(crate) struct Disk {
    /// Of the target.
    pub(crate) descriptor: i32,
    pub(crate) cache: Vec<u8>,
    pub(crate) medium: Vec<u8>,
    pub(crate) version: Vec<u64>,
    on_medium: Vec<u64>,
    pub(crate) by_place: HashMap<(u64, u64), usize>,
    pub(crate) flushes: VecDeque<usize>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) in_flight: Vec<u64>,
    pub(crate) has_taken: Vec<bool>,
    pub(crate) has_read_back: Vec<bool>,
    pub(crate) stamps: HashSet<(u64, u64)>,
}

impl Disk {
    pub(crate) fn new(plan: &DiskPlan) -> Self {
        let n = plan.sectors as usize;
        let mut by_place = HashMap::new();
        let mut flushes = VecDeque::new();
        for (i, planned) in plan.requests.iter().enumerate() {
            let request = &planned.request;
            let place = (request.sector.get(), u64::from(request.sectors.get()));
            match request.op {
                Op::Flush => flushes.push_back(i),
                _ => drop(by_place.insert(place, i)),
            }
        }
        Self {
            descriptor: -1,
            cache: vec![0; n * SECTOR],
            medium: vec![0; n * SECTOR],
            version: vec![0; n],
            on_medium: vec![0; n],
            by_place,
            flushes,
            seen: Vec::new(),
            in_flight: Vec::new(),
            has_taken: vec![false; plan.requests.len()],
            has_read_back: vec![false; plan.requests.len()],
            stamps: HashSet::new(),
        }
    }

    pub(crate) fn persist(&mut self, sector: usize, version: u64, data: Option<&[u8]>) {
        if version <= self.on_medium[sector] {
            return;
        }
        self.on_medium[sector] = version;
        let range = sector * SECTOR..(sector + 1) * SECTOR;
        let data = data.unwrap_or(&self.cache[range.clone()]);
        self.medium[range].copy_from_slice(data);
    }

    pub(crate) fn dirty(&self) -> Vec<(u64, u64, Vec<u8>)> {
        let all = 0..self.version.len();
        let dirty = all.filter(|&i| self.version[i] > self.on_medium[i]);
        let copy = |i: usize| self.cache[i * SECTOR..(i + 1) * SECTOR].to_vec();
        dirty
            .map(|i| (i as u64, self.version[i], copy(i)))
            .collect()
    }
}

impl Operation {
    /// Does the sectors before `until` that have not been done.
    pub(crate) fn work(&mut self, disk: &mut Disk, until: u64, random: &mut Random) {
        let until = match self.fault {
            Fault::Lost => match self.kind {
                AccessKind::Read => return self.forget(),
                _ => return,
            },
            Fault::Short(share) => until.min(self.sectors * u64::from(share) / 1000),
            Fault::Errno(_) => until.min(self.sectors / 2),
            _ => until,
        };
        let length = (self.sectors * 512) as usize;
        while self.done < until {
            let sector = (self.sector + self.done) as usize;
            let range = sector * SECTOR..(sector + 1) * SECTOR;
            let at = self.done as usize * SECTOR;
            match self.kind {
                AccessKind::Read => {
                    let bytes = &mut self.memory.bytes(length)[at..at + SECTOR];
                    bytes.copy_from_slice(&disk.cache[range]);
                }
                AccessKind::Write { .. } => {
                    let bytes = &self.memory.bytes(length)[at..at + SECTOR];
                    disk.cache[range].copy_from_slice(bytes);
                    disk.version[sector] += 1;
                }
                AccessKind::Discard if random.chance(500) => {}
                AccessKind::Discard | AccessKind::WriteZeroes => {
                    disk.cache[range].fill(0);
                    disk.version[sector] += 1;
                }
                AccessKind::Flush => {}
            }
            self.done += 1;
        }
    }

    fn forget(&mut self) {
        let length = (self.sectors * 512) as usize;
        self.memory.bytes(length).fill(0);
    }
}
