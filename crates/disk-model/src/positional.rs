//! The positional disk: the arm and the angle of the platter are state, and positioning follows from where
//! the head is and when.
//!
//! A request to the sector behind the last one costs its transfer only, if it comes in time; where a
//! request goes on from one track to the next, the head switches (or the arm moves on a cylinder) and
//! waits until the skewed track begins.
//!
//! Without a `[cache]` in its profile a disk has no buffer and no read-ahead. With one it is a whole
//! drive: requests that wait are chosen by the same rules, but those that the buffer serves without the arm (reads
//! of what is there, writes for which there is room) go first, except in the order of arrival (FCFS).

use std::collections::VecDeque;
use std::sync::Arc;

use iosonar_device::{Access, Background, Job, Mechanism, MediaWork, Pace, ServiceTime};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::{Nanos, Sector};
use serde::{Deserialize, Serialize};

use crate::command::Electronics;
use crate::drive::{Drive, Machine};
use crate::geometry::Place;
use crate::mechanics::{Head, Mechanics, Track};
use crate::sptf::Start;

/// Which of the waiting jobs of the highest priority is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmScheduler {
    /// The one that came first.
    #[default]
    Fcfs,
    /// The one on the nearest cylinder.
    Sstf,
    /// The nearest one in the direction of the last seek; if there are no more, the direction turns.
    Look,
    /// The nearest one inwards; if there are no more, the outermost.
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

impl ArmScheduler {
    /// How long a job waits at most where this would let it starve: the nearest first leaves jobs at the edges waiting
    /// for as long as there are others.
    pub fn most_wait(self) -> Nanos {
        match self {
            Self::Sstf | Self::Sptf => Nanos::from_secs(2),
            Self::Fcfs | Self::Look | Self::CLook => Nanos::MAX,
        }
    }
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

type Waiting = iosonar_device::Waiting<Place>;

/// A disk with arm and rotation. In a [`Station`](iosonar_device::Station) it is a device for an array.
#[derive(Clone, Debug)]
pub struct PositionalDisk {
    mechanics: Arc<Mechanics>,
    queueing: Queueing,
    head: Head,
    inwards: bool,
    /// Lower bounds of the positioning times of the waiting jobs; only the memory is kept.
    least_times: Vec<u32>,
    /// The buffer and what goes on behind it, if the drive has one.
    drive: Option<Box<Drive>>,
    /// What it has done in the background, when the measurement is over.
    measured: Option<Background>,
}

impl PositionalDisk {
    /// An idle disk with its arm on the outermost cylinder, at an angle of its own.
    pub fn new(
        mechanics: &Arc<Mechanics>,
        queueing: Queueing,
        seed: &Seed,
        component: &str,
    ) -> Self {
        let mut phase: Stream = seed.stream(component, "phase");
        // Spindles are not synchronised.
        Self::at_angle(mechanics, queueing, phase.uniform())
    }

    /// An idle disk with its arm on the outermost cylinder, turned by `turns`, 0 to 1, from its index.
    pub fn at_angle(mechanics: &Arc<Mechanics>, queueing: Queueing, turns: f64) -> Self {
        Self {
            mechanics: Arc::clone(mechanics),
            queueing,
            head: Head {
                angle: turns,
                clock: Nanos::ZERO,
                track: Track {
                    cylinder: 0,
                    head: 0,
                },
            },
            inwards: true,
            least_times: Vec::new(),
            measured: None,
            drive: mechanics
                .electronics
                .as_ref()
                .map(|electronics| Box::new(Drive::new(mechanics, electronics))),
        }
    }

    /// Simulates every sector on its own, where many at once would give the same: for comparison.
    #[must_use]
    pub fn sector_by_sector(mut self) -> Self {
        if let Some(drive) = &mut self.drive {
            drive.media.sector_by_sector = true;
        }
        self
    }

    /// The cylinder and the head of the track that the arm is over at `now`, which is not before anything that the disk
    /// was given: with a buffer, read-ahead and cached writes go on until then.
    pub fn track_at(&mut self, now: Nanos) -> (u32, u32) {
        if let Some((drive, mut on)) = self.drive_on_machine() {
            drive.idle_until(&mut on, now);
        }
        (self.head.track.cylinder, self.head.track.head)
    }

    /// Seek and rotational latency to a place, if the arm sets out now.
    #[inline]
    fn positioning_ns(&self, place: &Place, access: Access, now: Nanos) -> f64 {
        let mechanics = &*self.mechanics;
        let seek = mechanics.seek_ns(self.head.track, place, access);
        let begin = (now - self.head.clock).get() as f64;
        seek + self
            .head
            .latency_ns(place.turn, begin + seek, mechanics.revolution_ns)
    }

    /// The job with the shortest positioning time, the first if there are several. See [`sptf`](crate::sptf).
    #[inline]
    fn shortest(&mut self, queue: &VecDeque<Waiting>, now: Nanos) -> usize {
        let mechanics = &*self.mechanics;
        let begin = (now - self.head.clock).get() as f64;
        let turns = begin / mechanics.revolution_ns + self.head.angle;
        let start = Start::new(mechanics, self.head.track.cylinder, turns);
        let (front, back) = queue.as_slices();
        let depth = self.queueing.depth.max(1);
        let front = &front[..front.len().min(depth)];
        let back = &back[..back.len().min(depth - front.len())];
        let least = move |w: &Waiting| start.least(&w.place, w.job.access);
        self.least_times.clear();
        self.least_times.extend(front.iter().map(least));
        self.least_times.extend(back.iter().map(least));
        let times = &self.least_times;
        let shortest = times.iter().fold(u32::MAX, |least, &time| least.min(time));
        let first = times.iter().position(|&time| time == shortest);
        let first = first.expect("at least one job waits");
        let exact = |i: usize| {
            (
                self.positioning_ns(&queue[i].place, queue[i].job.access, now),
                i,
            )
        };
        let mut best = exact(first);
        let mut limit = start.limit(best.0);
        for (i, &time) in times.iter().enumerate() {
            if time <= limit && i != first {
                let other = exact(i);
                if other < best {
                    best = other;
                    limit = start.limit(best.0);
                }
            }
        }
        best.1
    }

    /// The first sector of a job and the one behind its last, on the disk.
    fn span(&self, job: &Job) -> (u64, u64) {
        let capacity = self.mechanics.capacity();
        let sectors = u64::from(job.sectors.get()).clamp(1, capacity);
        let begin = job.sector.get().min(capacity - sectors);
        (begin, begin + sectors)
    }

    /// Where on the medium a job begins. Of a shingled drive that may change while the job waits.
    #[inline]
    fn at(&self, job: &Job) -> u64 {
        let sector = job.sector.get();
        let shingles = self.drive.as_ref().and_then(|d| d.shingles.as_ref());
        match (&self.mechanics.bands, shingles, job.access) {
            (Some(bands), Some(shingles), Access::Read) => shingles.locate(bands, sector).0,
            (Some(bands), Some(shingles), _) => shingles.append_at(bands),
            _ => sector,
        }
    }

    /// The first job that the buffer serves without the arm: it need not wait for those that do.
    fn served_by_buffer(&self, queue: &VecDeque<Waiting>) -> Option<usize> {
        self.first_of_drive(queue, |drive, electronics, job| {
            drive.takes_at_once(electronics, job.access, self.span(job))
        })
    }

    /// The first read that goes on with what the arm is reading. Where its sectors are says nothing of its time: the head has
    /// gone beyond them, or will soon.
    fn read_on(&self, queue: &VecDeque<Waiting>) -> Option<usize> {
        self.first_of_drive(queue, |drive, electronics, job| {
            job.access == Access::Read && drive.reads_on(electronics, self.span(job))
        })
    }

    /// The first job within the queue depth of which the drive says so; `None` of a disk that is an arm only.
    fn first_of_drive(
        &self,
        queue: &VecDeque<Waiting>,
        is_so: impl Fn(&Drive, &Electronics, &Job) -> bool,
    ) -> Option<usize> {
        let drive = self.drive.as_ref()?;
        let electronics = self.mechanics.electronics.as_ref()?;
        let mut seen = queue.iter().take(self.queueing.depth.max(1));
        seen.position(|waiting| is_so(drive, electronics, &waiting.job))
    }

    /// The electronics, with what they work on; `None` of a disk that is an arm only.
    #[inline]
    fn drive_on_machine(&mut self) -> Option<(&mut Drive, Machine<'_>)> {
        let on = Machine {
            mechanics: &self.mechanics,
            electronics: self.mechanics.electronics.as_ref()?,
            head: &mut self.head,
        };
        Some((self.drive.as_mut()?, on))
    }

    /// What a drive does behind its host's back goes on, if it is not serving.
    fn go_on_until(&mut self, now: Nanos) {
        if let Some((drive, mut on)) = self.drive_on_machine() {
            drive.go_on_until(&mut on, now);
        }
    }

    fn serve_by_drive(&mut self, job: &Job, now: Nanos) -> Option<ServiceTime> {
        let span = self.span(job);
        let (drive, mut on) = self.drive_on_machine()?;
        drive.idle_until(&mut on, now);
        let from = on.head.track.cylinder;
        let served = drive.serve(&mut on, job.access, span);
        let inwards = self.head.track.cylinder.cmp(&from);
        if inwards.is_ne() {
            self.inwards = inwards.is_gt();
        }
        let positioning = Nanos::nearest(served.data_ns);
        let transfer = Nanos::nearest(served.done_ns).saturating_sub(positioning);
        Some(ServiceTime {
            positioning,
            transfer,
            pace: Pace(transfer.get() as f64 / f64::from(job.sectors.get().max(1))),
        })
    }
}

impl Mechanism for PositionalDisk {
    type Place = Place;

    #[inline]
    fn place(&self, job: &Job) -> Place {
        self.mechanics.geometry.place(self.at(job))
    }

    #[inline]
    fn next(&mut self, queue: &VecDeque<Waiting>, now: Nanos) -> usize {
        let Queueing {
            scheduler,
            depth,
            most_wait,
        } = self.queueing;
        // Jobs wait in the order of their arrival, so the first has waited longest.
        if scheduler == ArmScheduler::Fcfs || queue[0].arrived.saturating_add(most_wait) <= now {
            return 0;
        }
        if let Some((drive, mut on)) = self.drive_on_machine() {
            drive.idle_until(&mut on, now);
            if let Some(first) = self.served_by_buffer(queue) {
                return first;
            }
        }
        let arm = self.head.track.cylinder;
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
                let read_on = self.read_on(queue);
                return read_on.unwrap_or_else(|| self.shortest(queue, now));
            }
        };
        chosen.map_or(0, |(i, _)| i)
    }

    fn serves_in_order(&self) -> bool {
        self.queueing.scheduler == ArmScheduler::Fcfs
    }

    /// The arm is where the job ends, or in a drive with a buffer where that is read or written.
    #[inline]
    fn serve(&mut self, waiting: &Waiting, now: Nanos, _: usize) -> ServiceTime {
        let Waiting { job, place, .. } = *waiting;
        if let Some(time) = self.serve_by_drive(&job, now) {
            return time;
        }
        self.head.wind(now, self.mechanics.revolution_ns);
        let exact = self.positioning_ns(&place, job.access, now);
        let positioning = Nanos::nearest(exact);
        let inwards = place.cylinder.cmp(&self.head.track.cylinder);
        if inwards.is_ne() {
            self.inwards = inwards.is_gt();
        }
        // From where the head really is: what rounding adds to one request must not delay the next.
        let (begin, sectors) = ((job.sector.get(), place), job.sectors.get());
        let head = &mut self.head;
        let at = self.mechanics.pass(head, job.access, begin, sectors, exact);
        let transfer = Nanos::nearest(at).saturating_sub(positioning);
        ServiceTime {
            positioning,
            transfer,
            pace: Pace(transfer.get() as f64 / f64::from(job.sectors.get().max(1))),
        }
    }

    fn measure_from(&mut self, now: Nanos) {
        self.go_on_until(now);
        if let Some(drive) = &mut self.drive {
            drive.forget_work();
        }
    }

    fn end_measurement(&mut self, now: Nanos) {
        self.go_on_until(now);
        self.measured = Some(self.background());
    }

    fn background(&self) -> Background {
        let Some(drive) = &self.drive else {
            return Background::default();
        };
        let shingles = self.mechanics.bands.as_ref().zip(drive.shingles.as_ref());
        self.measured.unwrap_or(Background {
            busy: drive.background(),
            media: shingles.map_or_else(MediaWork::default, |(bands, s)| s.work(bands)),
        })
    }

    fn distance(&self, sector: Sector) -> u64 {
        let at = match (&self.mechanics.bands, &self.drive) {
            (Some(bands), Some(_)) => bands.home(sector.get()).0,
            _ => sector.get(),
        };
        let place = self.mechanics.geometry.place(at);
        u64::from(place.cylinder.abs_diff(self.head.track.cylinder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskProfile;
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

    /// The first of the jobs with the shortest positioning time, from the times of all.
    fn first_of_shortest(disk: &PositionalDisk, queue: &VecDeque<Waiting>, now: Nanos) -> usize {
        let mut best = (f64::INFINITY, 0);
        for (i, w) in queue.iter().take(disk.queueing.depth).enumerate() {
            let time = disk.positioning_ns(&w.place, w.job.access, now);
            if time < best.0 {
                best = (time, i);
            }
        }
        best.1
    }

    #[test]
    fn few_exact_times_lead_to_the_shortest_of_all() {
        let mut stream = Seed::new(3).stream("test", "queue");
        for (name, _) in crate::BUILT_IN {
            let profile = DiskProfile::load(name, Path::new(".")).unwrap();
            let mechanics = Mechanics::new(&profile);
            let queueing = Queueing {
                scheduler: ArmScheduler::Sptf,
                depth: 40,
                most_wait: Nanos::MAX,
            };
            let mut disk = PositionalDisk::new(&mechanics, queueing, &Seed::new(1), "disk/0");
            // It is the arm's choice that counts here.
            disk.drive = None;
            let capacity = mechanics.geometry.capacity();
            let mut now = Nanos::ZERO;
            for _ in 0..1000 {
                // Far apart, or on few tracks; some jobs are the same, and some begin at the head.
                let width = capacity >> stream.below(28);
                let from = stream.below(capacity - width + 1);
                let jobs = (0..=stream.below(60)).map(|_| {
                    let access = [Access::Read, Access::Write, Access::Discard];
                    let access = access[stream.below(3) as usize];
                    let sector = Sector::new(from + stream.below(width.max(1)));
                    let job = Job::new(RequestId(0), access, sector, Sectors::new(8));
                    let place = disk.place(&job);
                    Waiting {
                        job,
                        arrived: Nanos::ZERO,
                        place,
                    }
                });
                let mut queue: VecDeque<Waiting> = jobs.collect();
                // Its memory wraps round.
                queue.rotate_left(stream.below(queue.len() as u64) as usize);
                let longest = 1 << (10 + stream.below(40));
                now += Nanos::new(stream.below(longest));
                let chosen = disk.next(&queue, now);
                assert_eq!(chosen, first_of_shortest(&disk, &queue, now), "{name}");
                if stream.below(2) == 0 {
                    let took = disk.serve(&queue[chosen], now, queue.len());
                    now += took.positioning + took.transfer;
                }
            }
        }
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

    #[test]
    fn only_fcfs_serves_in_order_and_only_the_nearest_first_lets_jobs_starve() {
        let two_seconds = Nanos::from_secs(2);
        for (scheduler, in_order, most_wait) in [
            (ArmScheduler::Fcfs, true, Nanos::MAX),
            (ArmScheduler::Sstf, false, two_seconds),
            (ArmScheduler::Look, false, Nanos::MAX),
            (ArmScheduler::CLook, false, Nanos::MAX),
            (ArmScheduler::Sptf, false, two_seconds),
        ] {
            assert_eq!(disk(scheduler).serves_in_order(), in_order, "{scheduler:?}");
            assert_eq!(scheduler.most_wait(), most_wait, "{scheduler:?}");
        }
    }

    fn waiting(disk: &PositionalDisk, job: Job, arrived: Nanos) -> Waiting {
        let place = disk.place(&job);
        Waiting {
            job,
            arrived,
            place,
        }
    }

    /// Serves 8 sectors, and gives when that ends.
    fn served(disk: &mut PositionalDisk, sector: u64, now: Nanos) -> Nanos {
        let waiting = waiting(disk, job(0, sector, 8), now);
        let time = disk.serve(&waiting, now, 1);
        now + time.positioning + time.transfer
    }

    #[test]
    fn the_arm_is_where_the_last_job_ended_and_far_from_the_others() {
        let mut disk = disk(ArmScheduler::Fcfs);
        let geometry = disk.mechanics.geometry().clone();
        let cylinder = |sector| u64::from(geometry.place(sector).cylinder);
        let (near, far) = (5_000_000, 900_000_000);
        assert_eq!(disk.distance(Sector::new(far)), cylinder(far));
        let ended = served(&mut disk, near, Nanos::ZERO);
        assert_eq!(disk.distance(Sector::new(near)), 0);
        assert_eq!(disk.distance(Sector::new(0)), cylinder(near));
        let between = cylinder(far) - cylinder(near);
        assert_eq!(disk.distance(Sector::new(far)), between);
        let last = geometry.place(near + 7);
        assert_eq!(disk.track_at(ended), (last.cylinder, last.head));
    }

    /// What is next of jobs at these sectors that came at these times, in milliseconds.
    fn next(mut disk: PositionalDisk, jobs: &[(u64, u64)], now_ms: u64) -> usize {
        let located = |&(sector, ms)| waiting(&disk, job(0, sector, 8), Nanos::from_millis(ms));
        let queue = jobs.iter().map(located).collect();
        disk.next(&queue, Nanos::from_millis(now_ms))
    }

    #[test]
    fn a_job_that_has_waited_for_long_enough_is_next() {
        let (far, near) = (900_000_000, 1000);
        for scheduler in [ArmScheduler::Sstf, ArmScheduler::Look] {
            let mut disk = disk(scheduler);
            disk.queueing.most_wait = Nanos::from_millis(500);
            let jobs = [(far, 100), (near, 200)];
            for (now, chosen) in [(300, 1), (599, 1), (600, 0), (2000, 0)] {
                assert_eq!(next(disk.clone(), &jobs, now), chosen, "at {now} ms");
            }
        }
    }

    #[test]
    fn jobs_beyond_the_depth_of_the_queue_are_not_seen() {
        let jobs = [(900_000_000, 0), (800_000_000, 0), (1000, 0), (2000, 0)];
        for scheduler in [ArmScheduler::Sstf, ArmScheduler::Look, ArmScheduler::CLook] {
            for (depth, chosen) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)] {
                let mut disk = disk(scheduler);
                disk.queueing.depth = depth;
                assert_eq!(next(disk, &jobs, 0), chosen, "{scheduler:?} {depth}");
            }
        }
    }

    #[test]
    fn the_arm_keeps_its_direction_for_as_long_as_there_are_jobs_ahead() {
        let (outer, middle, inner) = (100_000_000, 500_000_000, 900_000_000);
        for (scheduler, before, jobs, chosen) in [
            // It came from further in, so it goes on outwards, and turns where there is nothing.
            (ArmScheduler::Look, inner, &[(inner, 0), (outer, 0)][..], 1),
            (ArmScheduler::Look, inner, &[(inner, 0)], 0),
            (ArmScheduler::Look, outer, &[(outer, 0), (inner, 0)], 1),
            (ArmScheduler::Look, outer, &[(outer, 0)], 0),
            // What is on its own cylinder lies in either direction.
            (ArmScheduler::Look, inner, &[(inner, 0), (middle, 0)], 1),
            // Always inwards, and from the outermost again.
            (ArmScheduler::CLook, inner, &[(outer, 0), (inner, 0)], 1),
            (
                ArmScheduler::CLook,
                outer,
                &[(450_000_000, 0), (outer, 0)],
                1,
            ),
        ] {
            let mut disk = disk(scheduler);
            let now = served(&mut disk, before, Nanos::ZERO);
            let now = served(&mut disk, middle, now);
            let now_ms = now.get().div_ceil(1_000_000);
            assert_eq!(next(disk, jobs, now_ms), chosen, "{scheduler:?} {jobs:?}");
        }
    }

    #[test]
    fn a_drive_serves_at_least_one_sector_and_none_beyond_its_end() {
        let disk = disk(ArmScheduler::Fcfs);
        let end = disk.mechanics.capacity();
        for ((sector, sectors), span) in [
            ((100, 8), (100, 108)),
            ((100, 0), (100, 101)),
            ((end - 8, 8), (end - 8, end)),
            ((end - 3, 8), (end - 8, end)),
            ((end + 3, 8), (end - 8, end)),
        ] {
            assert_eq!(disk.span(&job(0, sector, sectors)), span);
        }
    }
}
