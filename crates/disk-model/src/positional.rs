//! The positional disk: the arm and the angle of the platter are state, and positioning follows from where
//! the head is and when.
//!
//! A request to the sector behind the last one costs its transfer only, if it comes in time; where a
//! request goes on from one track to the next, the head switches (or the arm moves on a cylinder) and
//! waits until the skewed track begins. There is no cache and no read-ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use iosonar_device::{Access, Job, Mechanism, Pace, ServiceTime};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::{Nanos, Sector};

use crate::geometry::{Geometry, Place};
use crate::{DiskProfile, SeekCurves};

/// Which of the waiting jobs of the highest priority is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArmScheduler {
    /// The one that came first.
    #[default]
    Fcfs,
    /// The one on the nearest cylinder.
    Sstf,
    /// The nearest one in the direction of the last seek; where there is none, the direction turns.
    Look,
    /// The nearest one inwards; where there is none, the outermost.
    CLook,
    /// The one with the shortest positioning time: seek and rotational latency.
    Sptf,
}

/// How a disk chooses among the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// By what.
    pub scheduler: ArmScheduler,
    /// Among how many, the first that came (the depth of the disk's queue).
    pub depth: usize,
    /// A job that has waited for longer is served at once, so that none starves.
    pub most_wait: Nanos,
}

impl Default for Queueing {
    fn default() -> Self {
        Self {
            scheduler: ArmScheduler::Fcfs,
            depth: usize::MAX,
            most_wait: Nanos::MAX,
        }
    }
}

/// What positional disks of a kind share.
#[derive(Debug)]
pub struct Mechanics {
    geometry: Geometry,
    revolution_ns: f64,
    seeks: SeekCurves,
    head_switch_ns: f64,
    cylinder_switch_ns: Option<f64>,
}

impl Mechanics {
    /// The mechanics of a drive.
    pub fn new(profile: &DiskProfile) -> Arc<Self> {
        Arc::new(Self {
            geometry: Geometry::new(profile),
            revolution_ns: profile.revolution_ms * 1e6,
            seeks: profile.seek_curves(),
            head_switch_ns: profile.geometry.head_switch_ms * 1e6,
            cylinder_switch_ns: profile.geometry.cylinder_switch_ms.map(|ms| ms * 1e6),
        })
    }

    /// The time to bring the head from one track to another.
    #[inline]
    fn seek_ns(&self, from: Track, to: &Place, access: Access) -> f64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let switch = if from.head == to.head {
            0.0
        } else {
            self.head_switch_ns
        };
        if distance == 0 {
            return switch;
        }
        let seek_ms = self.seeks.of(access).time_ms(f64::from(distance));
        (seek_ms * 1e6).max(switch)
    }

    /// The time to go on to the next track in the middle of a transfer.
    fn crossing_ns(&self, from: Track, to: &Place, access: Access) -> f64 {
        match self.cylinder_switch_ns {
            Some(switch) if from.cylinder != to.cylinder => switch,
            _ => self.seek_ns(from, to, access),
        }
    }
}

/// The track under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Track {
    cylinder: u32,
    head: u32,
}

type Waiting = iosonar_device::Waiting<Place>;

/// A disk with an arm and an angle. In a [`Station`](iosonar_device::Station) it is a device for an array.
#[derive(Clone, Debug)]
pub struct PositionalDisk {
    mechanics: Arc<Mechanics>,
    queueing: Queueing,
    /// The platter's angle in turns at the instant `clock`, when the last service began. Times are taken from
    /// there: since the beginning of a long run they would be too long for a float to tell nanoseconds.
    angle: f64,
    clock: Nanos,
    track: Track,
    inwards: bool,
}

/// Rounding to nanoseconds may bring a head to its sector this much too late: that costs no turn.
const ROUNDING_NS: f64 = 5.0;

impl PositionalDisk {
    /// An idle disk with its arm on the outermost cylinder, at an angle of its own.
    pub fn new(
        mechanics: &Arc<Mechanics>,
        queueing: Queueing,
        seed: &Seed,
        component: &str,
    ) -> Self {
        let mut phase: Stream = seed.stream(component, "phase");
        Self {
            mechanics: Arc::clone(mechanics),
            queueing,
            // Spindles are not synchronised.
            angle: phase.uniform(),
            clock: Nanos::ZERO,
            track: Track {
                cylinder: 0,
                head: 0,
            },
            inwards: true,
        }
    }

    /// How long after `at_ns`, counted from `clock`, the place `turn` comes under the head. If it has gone by by no more
    /// than rounding to nanoseconds explains, that: it is negative then.
    #[inline]
    fn latency_ns(&self, turn: f64, at_ns: f64) -> f64 {
        let revolution = self.mechanics.revolution_ns;
        let angle = at_ns / revolution + self.angle;
        let wait = turn - angle;
        let latency = (wait - wait.floor()) * revolution;
        if latency > revolution - ROUNDING_NS {
            latency - revolution
        } else {
            latency
        }
    }

    /// Seek and rotational latency to a place, if the arm sets out now.
    #[inline]
    fn positioning_ns(&self, place: &Place, access: Access, now: Nanos) -> f64 {
        let seek = self.mechanics.seek_ns(self.track, place, access);
        let begin = (now - self.clock).get() as f64;
        seek + self.latency_ns(place.turn, begin + seek)
    }
}

impl Mechanism for PositionalDisk {
    type Place = Place;

    #[inline]
    fn place(&self, job: &Job) -> Place {
        self.mechanics.geometry.place(job.sector.get())
    }

    #[inline]
    fn next(&self, queue: &VecDeque<Waiting>, now: Nanos) -> usize {
        let Queueing {
            scheduler,
            depth,
            most_wait,
        } = self.queueing;
        // Jobs wait in the order of their arrival, so the first has waited longest.
        if scheduler == ArmScheduler::Fcfs || queue[0].arrived.saturating_add(most_wait) <= now {
            return 0;
        }
        let arm = self.track.cylinder;
        let seen = || queue.iter().take(depth.max(1)).enumerate();
        let distance = |w: &Waiting| w.place.cylinder.abs_diff(arm);
        let nearest = |inwards: bool| {
            seen()
                .filter(|(_, w)| {
                    let ahead = w.place.cylinder.cmp(&arm);
                    ahead.is_eq() || ahead.is_gt() == inwards
                })
                .min_by_key(|(_, w)| distance(w))
        };
        let chosen = match scheduler {
            ArmScheduler::Fcfs => None,
            ArmScheduler::Sstf => seen().min_by_key(|(_, w)| distance(w)),
            ArmScheduler::Look => nearest(self.inwards).or_else(|| nearest(!self.inwards)),
            ArmScheduler::CLook => {
                nearest(true).or_else(|| seen().min_by_key(|(_, w)| w.place.cylinder))
            }
            ArmScheduler::Sptf => {
                let time = |w: &Waiting| self.positioning_ns(&w.place, w.job.access, now);
                let mut best: Option<(f64, (usize, &Waiting))> = None;
                for candidate in seen() {
                    let t = time(candidate.1);
                    if best.is_none_or(|(shortest, _)| t < shortest) {
                        best = Some((t, candidate));
                    }
                }
                best.map(|(_, candidate)| candidate)
            }
        };
        chosen.map_or(0, |(i, _)| i)
    }

    fn serves_in_order(&self) -> bool {
        self.queueing.scheduler == ArmScheduler::Fcfs
    }

    /// The arm is where the job ends.
    #[inline]
    fn serve(&mut self, waiting: &Waiting, now: Nanos, _: usize) -> ServiceTime {
        let Waiting { job, place, .. } = *waiting;
        let mechanics = Arc::clone(&self.mechanics);
        let turns = (now - self.clock).get() as f64 / mechanics.revolution_ns + self.angle;
        (self.angle, self.clock) = (turns - turns.floor(), now);
        let exact = self.positioning_ns(&place, job.access, now);
        let positioning = Nanos::nearest(exact);
        let inwards = place.cylinder.cmp(&self.track.cylinder);
        if inwards.is_ne() {
            self.inwards = inwards.is_gt();
        }
        // From where the head really is: what rounding adds to one request must not delay the next.
        let mut at = exact;
        let (mut place, mut left) = (place, job.sectors.get());
        loop {
            self.track = Track {
                cylinder: place.cylinder,
                head: place.head,
            };
            let here = left.min(place.sectors_per_track - place.sector);
            let per_sector = mechanics.revolution_ns / f64::from(place.sectors_per_track);
            at += f64::from(here) * per_sector;
            left -= here;
            if left == 0 {
                break;
            }
            place = mechanics.geometry.next_track(&place);
            at += mechanics.crossing_ns(self.track, &place, job.access);
            at += self.latency_ns(place.turn, at);
        }
        let transfer = Nanos::nearest(at).saturating_sub(positioning);
        ServiceTime {
            positioning,
            transfer,
            pace: Pace(transfer.get() as f64 / f64::from(job.sectors.get().max(1))),
        }
    }

    fn distance(&self, sector: Sector) -> u64 {
        let place = self.mechanics.geometry.place(sector.get());
        u64::from(place.cylinder.abs_diff(self.track.cylinder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_device::{Device, InOrder, Observable, RequestId, Station};
    use iosonar_stats::Moments;
    use iosonar_units::Sectors;
    use std::path::Path;

    fn disk(scheduler: ArmScheduler) -> PositionalDisk {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let queueing = Queueing {
            scheduler,
            ..Queueing::default()
        };
        PositionalDisk::new(&Mechanics::new(&profile), queueing, &Seed::new(1), "disk/0")
    }

    fn job(tag: u64, sector: u64, sectors: u32) -> Job {
        let (sector, sectors) = (Sector::new(sector), Sectors::new(sectors));
        Job {
            tag,
            ..Job::new(RequestId(tag), Access::Read, sector, sectors)
        }
    }

    #[test]
    fn what_follows_at_once_costs_its_transfer_only() {
        let mut disk = Station::new(disk(ArmScheduler::Fcfs));
        let mut now = disk.serve(job(0, 5_000_000, 100), Nanos::ZERO).ended();
        let (mut positioned, mut crossed) = (Nanos::ZERO, 0);
        for i in 1..1000 {
            let service = disk.serve(job(i, 5_000_000 + 100 * i, 100), now);
            now = service.ended();
            positioned += service.positioning;
            // A track crossing costs the skew, 0.8 ms, and no turn.
            crossed += u64::from(service.transfer > Nanos::from_micros(1300));
            assert!(
                service.transfer < Nanos::from_millis(2),
                "{:?}",
                service.transfer
            );
        }
        // Where a request begins with a track, the crossing is its positioning.
        assert!(positioned < Nanos::from_millis(3), "{positioned}");
        assert!((60..85).contains(&crossed), "{crossed} of 72 tracks");
    }

    #[test]
    fn a_moment_too_late_costs_a_turn() {
        let mut disk = Station::new(disk(ArmScheduler::Fcfs));
        let end = disk.serve(job(0, 1000, 8), Nanos::ZERO).ended();
        let late = disk.serve(job(1, 1008, 8), end + Nanos::from_micros(100));
        let turn = late.positioning + Nanos::from_micros(100);
        assert!(turn.get().abs_diff(8_330_000) < 100, "{turn}");
    }

    fn order(scheduler: ArmScheduler, sectors: &[u64]) -> Vec<u64> {
        let mut disk = Station::new(disk(scheduler));
        // The arm goes to the middle first.
        disk.submit(job(99, 500_000_000, 8), Nanos::ZERO);
        let mut end = disk.start_next(Nanos::ZERO).unwrap();
        for (i, &sector) in sectors.iter().enumerate() {
            disk.submit(job(i as u64, sector, 8), Nanos::ZERO);
        }
        disk.complete(end, end);
        let mut served = Vec::new();
        while let Some(next) = disk.start_next(end) {
            end = next;
            served.push(disk.complete(end, end).unwrap().job.tag);
        }
        served
    }

    #[test]
    fn each_scheduler_has_its_order() {
        let sectors = [
            900_000_000,
            480_000_000,
            100_000_000,
            600_000_000,
            450_000_000,
        ];
        assert_eq!(order(ArmScheduler::Fcfs, &sectors), [0, 1, 2, 3, 4]);
        assert_eq!(order(ArmScheduler::Sstf, &sectors), [1, 4, 3, 0, 2]);
        assert_eq!(order(ArmScheduler::Look, &sectors), [3, 0, 1, 4, 2]);
        assert_eq!(order(ArmScheduler::CLook, &sectors), [3, 0, 2, 4, 1]);
        assert_eq!(order(ArmScheduler::Sptf, &sectors).len(), 5);
    }

    /// The mean service time of a disk that always has 32 jobs to choose from.
    fn saturated(scheduler: ArmScheduler, most_wait: Nanos) -> (f64, Nanos) {
        let mut disk = disk(scheduler);
        disk.queueing.most_wait = most_wait;
        disk.queueing.depth = 32;
        let capacity = disk.mechanics.geometry.capacity() - 8;
        let mut disk = Station::new(disk);
        let mut stream = Seed::new(2).stream("test", "sector");
        let mut now = Nanos::ZERO;
        let (mut sample, mut longest) = (Moments::default(), Nanos::ZERO);
        for i in 0..20_000 {
            while disk.occupancy().waiting < 32 {
                disk.submit(job(i, stream.below(capacity), 8), now);
            }
            now = disk.start_next(now).unwrap();
            let service = disk.complete(now, now).unwrap();
            sample.push(now - service.started);
            longest = longest.max(service.started - service.arrived);
        }
        (sample.mean() / 1e6, longest)
    }

    #[test]
    fn sptf_is_the_fastest_and_ageing_bounds_the_wait() {
        let of = |scheduler| saturated(scheduler, Nanos::MAX);
        let (fcfs, _) = of(ArmScheduler::Fcfs);
        let (sstf, _) = of(ArmScheduler::Sstf);
        let (look, _) = of(ArmScheduler::Look);
        let (sptf, starved) = of(ArmScheduler::Sptf);
        assert!(
            sptf < sstf && sstf < fcfs && look < fcfs,
            "{sptf} {sstf} {look} {fcfs}"
        );
        let bound = Nanos::from_millis(500);
        let (aged, longest) = saturated(ArmScheduler::Sptf, bound);
        assert!(starved > Nanos::from_millis(1000), "{starved}");
        assert!(
            longest < Nanos::from_millis(600) && aged >= sptf,
            "{longest} {aged}"
        );
    }
}
