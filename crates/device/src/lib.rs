//! What an array sees of a device.
//!
//! An array submits [`Job`]s to devices and learns when they are done; it never looks inside. A
//! device is one server with a queue: jobs wait, high priority first and in order within a
//! priority, one is in service at a time and is never interrupted.
//!
//! To put a device of your own under an array, implement
//!
//! - [`Mechanism`], if it serves one job at a time: a [`Station`] adds the queue and the statistics;
//! - otherwise [`Device`], and [`Observable`], by which planners choose a mirror and the rules for partial-stripe
//!   writes find out who was served last.
//!
//! What only some devices can do are traits of their own: [`InOrder`], for arrays that are computed without a
//! calendar, and [`Pipelined`].

mod background;
mod catalogue;
mod provenance;
mod sheet;
mod station;
mod usage;
mod waiting;

use iosonar_units::{Nanos, Sector, Sectors};

pub use background::{Background, MediaWork};
pub use catalogue::{NoProfile, find_profile, instead_of_profile, profile_text, similar_profiles};
pub use provenance::{CalibratedParameter, NotIdentified, Provenance};
pub use sheet::{Derivation, Derived, SheetFigure};
pub use station::{Mechanism, ServiceTime, Station};
pub use waiting::Waiting;

/// A request to the array, over its whole life; no two of a run are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// Whether a job moves data from or to the medium (it decides which seek curve holds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From the medium.
    Read,
    /// To the medium.
    Write,
    /// Neither: the data are needed no more.
    Discard,
    /// Neither: everything whose writing was complete is to be on the medium.
    Flush,
}

/// Who goes first. Non-preemptive: a job in service is finished first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before all others.
    High,
    /// In the order of arrival.
    Normal,
    /// When nothing else waits: rebuilding, emptying a cache.
    Low,
}

/// How a disk comes to the right place before it transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positioning {
    /// A new seek and a rotational latency.
    Fresh,
    /// A rotational latency; the arm is already in place.
    RotationOnly,
    /// Exactly one revolution: the place has just gone by.
    FullTurn,
    /// One revolution less the transfer of the job itself: its end has just gone by.
    TurnLessTransfer,
    /// Nothing: the job follows on the one before.
    None,
}

/// How fast data pass under the head at the place of an access: nanoseconds per sector.
///
/// A later access of the same request to the same track has the same pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(pub f64);

impl Pace {
    /// How long `sectors` take.
    #[inline]
    pub fn time(self, sectors: Sectors) -> Nanos {
        Nanos::nearest(self.0 * f64::from(sectors.get()))
    }
}

/// Which pace a job has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PaceOf {
    /// That of its own, new place.
    NewPlace,
    /// That of an earlier access to the same track.
    Track(Pace),
    /// The one of all accesses of its request to this device.
    Request,
}

/// One access to one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The array's request that it is part of.
    pub request: RequestId,
    /// The array's own word for the job, handed back when it is done.
    pub tag: u64,
    /// What it does with the data.
    pub access: Access,
    /// Its place in the queue.
    pub priority: Priority,
    /// How the device comes to the place.
    pub positioning: Positioning,
    /// How fast the data pass.
    pub pace: PaceOf,
    /// The first sector on the device. Models that draw their places at random do not look at it.
    pub sector: Sector,
    /// Its length.
    pub sectors: Sectors,
    /// The class of its request.
    pub class: u16,
}

impl Job {
    /// An ordinary job: in the order of arrival, at a new place, of class 0.
    #[inline]
    pub fn new(request: RequestId, access: Access, sector: Sector, sectors: Sectors) -> Self {
        Self {
            request,
            tag: 0,
            access,
            priority: Priority::Normal,
            positioning: Positioning::Fresh,
            pace: PaceOf::NewPlace,
            sector,
            sectors,
            class: 0,
        }
    }
}

/// A job that has been served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// The job.
    pub job: Job,
    /// When it came to the device.
    pub arrived: Nanos,
    /// When its service began.
    pub started: Nanos,
    /// Seek and rotational latency.
    pub positioning: Nanos,
    /// The time that the data took.
    pub transfer: Nanos,
    /// The pace at its place.
    pub pace: Pace,
    /// Whether it came back with an error.
    pub failed: bool,
}

impl Service {
    /// When it was done. Saturates: an absurd disk under an absurd load reaches the end of time.
    #[inline]
    pub fn ended(&self) -> Nanos {
        self.started
            .saturating_add(self.positioning)
            .saturating_add(self.transfer)
    }
}

/// What planners and the rules of partial-stripe writes may look at.
pub trait Observable {
    /// Who is being served, and how many wait.
    fn occupancy(&self) -> Occupancy;

    /// How far the arm is from the place of `sector`, in cylinders; for the choice of a mirror. Devices without an
    /// arm are near everywhere.
    fn distance(&self, sector: Sector) -> u64 {
        let _ = sector;
        0
    }
}

impl<T: Observable + ?Sized> Observable for &T {
    #[inline]
    fn occupancy(&self) -> Occupancy {
        (**self).occupancy()
    }

    fn distance(&self, sector: Sector) -> u64 {
        (**self).distance(sector)
    }
}

/// The jobs at a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// The request whose job is in service, and the pace of its data; `None` of a device that works on many jobs at
    /// a time.
    pub in_service: Option<(RequestId, Pace)>,
    /// The request whose job was served last.
    pub last_served: Option<RequestId>,
    /// How many jobs wait; or all of them, of a device that works on many at a time.
    pub waiting: usize,
}

impl Occupancy {
    /// How many jobs are there.
    #[inline]
    pub fn jobs(&self) -> usize {
        self.waiting + usize::from(self.in_service.is_some())
    }
}

/// A server with a queue; or several in one device, which works on many jobs at a time.
///
/// [`start_next`](Self::start_next) says when [`complete`](Self::complete) is to be called, which gives a job only if
/// one is done then: a [pipelined](Pipelined) device has steps of its own between the beginning of a job and its end.
pub trait Device: Observable {
    /// Takes a job into the queue.
    fn submit(&mut self, job: Job, now: Nanos);

    /// If the device is free and a job waits, starts its service. Gives the instant at which
    /// [`complete`](Self::complete) is to be called next, unless an instant was given that comes no later.
    fn start_next(&mut self, now: Nanos) -> Option<Nanos>;

    /// [Takes](Self::submit) a job, and [starts](Self::start_next) a service if it can.
    #[inline]
    fn submit_and_start(&mut self, job: Job, now: Nanos) -> Option<Nanos> {
        self.submit(job, now);
        self.start_next(now)
    }

    /// Whether it never gives an instant while one that it gave before is still to come: it serves one job at a time, and
    /// has no steps of its own. Such a device can be simulated without a calendar.
    fn has_one_instant(&self) -> bool {
        false
    }

    /// Goes on to `now`, an instant that was given. If a job is done it is returned; there may be more of them,
    /// as [`start_next`](Self::start_next) says.
    ///
    /// Nothing will be submitted before `until` but at `now`, after this job's completion: a device with steps of
    /// its own may go on up to there, if no job is done.
    ///
    /// # Panics
    /// May panic if nothing is in service or `now` was not given.
    fn complete(&mut self, now: Nanos, until: Nanos) -> Option<Service>;

    /// From now on services that begin take `factor` times as long as they would. Returns `false` if the device cannot
    /// do that, and nothing changes.
    fn slow_down(&mut self, factor: f64) -> bool {
        let _ = factor;
        false
    }

    /// Forgets the statistics so far: the warm-up is over.
    fn measure_from(&mut self, now: Nanos);

    /// The measurement is over: the figures that are asked for later are those of now.
    fn end_measurement(&mut self, now: Nanos);

    /// What the device was used for between [`measure_from`](Self::measure_from) and
    /// [`end_measurement`](Self::end_measurement), or until now.
    fn usage(&self) -> Usage;

    /// The device as one of many steps, if it is.
    #[inline]
    fn pipelined(&mut self) -> Option<&mut dyn Pipelined> {
        None
    }
}

/// A device that takes many jobs at a time through stages of its own, discards and flushes too. To others these cost
/// nothing.
pub trait Pipelined {
    /// How long each stage of the job took that was completed last.
    fn stage_times(&self) -> &[Nanos];

    /// Whether a flush costs it something; no other device is sent one.
    fn takes_flushes(&self) -> bool {
        false
    }

    /// No job will be submitted any more unless one is done: what waits for more waits no longer.
    fn drain(&mut self, now: Nanos);

    /// Why jobs are in the device although nothing will happen any more.
    fn why_stuck(&self) -> Option<String>;
}

/// A device that may serve jobs of one priority strictly in the order of arrival, so that the end of each is known
/// when it comes. It is used either by this trait or by [`Device`], from its beginning. One that does not serve in
/// order, but has [one instant](Device::has_one_instant) to come at most, is simulated by itself as a [`Device`].
pub trait InOrder: Device {
    /// Whether it does.
    fn serves_in_order(&self) -> bool;

    /// Submits a job and gives its service, which may lie in the future: it begins when all jobs before have ended.
    /// Only for devices that [serve in order](Self::serves_in_order).
    fn serve(&mut self, job: Job, now: Nanos) -> Service;

    /// Serves jobs in the order in which they come, as [`serve`](Self::serve) does, and gives the request of each with
    /// the beginning and the end of its service to `served`. The simulation [comes to](Self::has_come_to) no instant
    /// before `until` later.
    fn serve_each(
        &mut self,
        jobs: impl Iterator<Item = (Job, Nanos)> + Clone,
        until: Nanos,
        served: impl FnMut(RequestId, Nanos, Nanos),
    ) where
        Self: Sized;

    /// The simulation has come to `now`: of services that were announced, those that end by then are over.
    /// Needed from time to time only, so that a device need not remember them all.
    fn has_come_to(&mut self, now: Nanos);
}

/// What a device was used for in the window of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How long it was serving.
    pub busy: Nanos,
    /// The integral of the number of jobs, waiting and in service, in nanoseconds.
    pub jobs_time: u128,
    /// Jobs that were done in the window, whenever they came.
    pub jobs_done: u64,
    /// The sum of the times from arrival to end of these jobs, in nanoseconds.
    pub stay_time: u128,
    /// The same from the beginning of their service; zero where a device works on many jobs at a time.
    pub service_time: u128,
    /// What jobs that were still there at the window's end had spent in it, less what those that were there at its
    /// beginning had spent before. By Little's law `stay_time + stay_edge` is `jobs_time`.
    pub stay_edge: i128,
    /// The same of services: `service_time + service_edge` is `busy`.
    pub service_edge: i128,
    /// What it did besides, and behind, its services.
    pub background: Background,
}

impl Usage {
    /// How long it worked: for a job in service, or behind the services.
    pub fn worked(&self) -> Nanos {
        self.busy + self.background.busy
    }

    /// Adds that of another run.
    pub fn merge(&mut self, other: &Self) {
        self.busy += other.busy;
        self.jobs_time += other.jobs_time;
        self.jobs_done += other.jobs_done;
        self.stay_time += other.stay_time;
        self.service_time += other.service_time;
        self.stay_edge += other.stay_edge;
        self.service_edge += other.service_edge;
        self.background.busy += other.background.busy;
        self.background.media.merge(&other.background.media);
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
