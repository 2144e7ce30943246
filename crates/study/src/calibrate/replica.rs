//! A profile under recorded requests, one at a time, with the platter where it was in the recording.

use iosonar_device::{Access, Job, Mechanism, RequestId, Waiting};
use iosonar_disk_model::{DiskProfile, Mechanics, PositionalDisk, Queueing};
use iosonar_trace::Op;
use iosonar_units::{Nanos, Sector, Sectors};

use super::observed::Served;
use super::rotation::Rotation;

/// Requests, and how the platter lay when the first came.
#[derive(Debug)]
pub(super) struct Replica<'a> {
    served: &'a [Served],
    turns: f64,
    /// By more than this a response is as wrong as can be: in milliseconds.
    most_ms: f64,
}

impl<'a> Replica<'a> {
    pub(super) fn new(served: &'a [Served], rotation: &Rotation) -> Self {
        let begin = served.first().map_or(Nanos::ZERO, |s| s.came);
        let turns = begin.as_millis_f64() / rotation.revolution_ms - rotation.phase;
        Self {
            served,
            turns: turns - turns.floor(),
            most_ms: rotation.revolution_ms / 4.0,
        }
    }

    /// The number of first requests.
    pub(super) fn beginning(&self, n: usize) -> Self {
        Self {
            served: &self.served[..n.min(self.served.len())],
            ..*self
        }
    }

    /// Serves the requests, and gives for each the track that the arm is over when the service begins, and the response
    /// time in milliseconds.
    pub(super) fn run(
        &self,
        profile: &DiskProfile,
        mut each: impl FnMut(&'a Served, (u32, u32), f64),
    ) {
        let mechanics = Mechanics::new(profile);
        let mut disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), self.turns);
        let begin = self.served.first().map_or(Nanos::ZERO, |s| s.came);
        let mut free = Nanos::ZERO;
        for served in self.served {
            let access = match served.op {
                Op::Write => Access::Write,
                _ => Access::Read,
            };
            let (sector, sectors) = (Sector::new(served.sector), Sectors::new(served.sectors));
            let came = served.came - begin;
            let now = came.max(free);
            let job = Job::new(RequestId(0), access, sector, sectors);
            let waiting = Waiting {
                job,
                arrived: came,
                place: disk.place(&job),
            };
            let track = disk.track_at(now);
            let service = disk.serve(&waiting, now, 1);
            free = now + service.positioning + service.transfer;
            each(served, track, (free - came).as_millis_f64());
        }
    }

    fn responses(&self, profile: &DiskProfile) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.served.len());
        self.run(profile, |_, _, ms| all.push(ms));
        all
    }

    /// How far a profile is from the recording, in requests that are as wrong as can be.
    pub(super) fn distance(&self, profile: &DiskProfile) -> f64 {
        let mut distance = 0.0;
        self.run(profile, |served, _, ms| {
            let off = (ms - (served.done - served.came).as_millis_f64()).abs();
            distance += off.min(self.most_ms) / self.most_ms;
        });
        distance
    }

    /// How many responses differ between two profiles.
    pub(super) fn differing(&self, one: &DiskProfile, other: &DiskProfile) -> u64 {
        let pairs = self.responses(one).into_iter().zip(self.responses(other));
        pairs.filter(|(a, b)| (a - b).abs() > 1e-3).count() as u64
    }
}
