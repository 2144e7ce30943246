//! What a station is like: its servers, their order of service, and its room.

use super::Class;
use crate::Law;

/// Which of the waiting jobs is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// The one that came first.
    #[default]
    Fcfs,
    /// The one that came last.
    Lifo,
    /// Any.
    Random,
    /// The first of the class with the highest priority; a job in service is finished first.
    Priority,
    /// The same, but a job of higher priority interrupts one in service, which later goes on where
    /// it was interrupted.
    PreemptiveResume,
    /// All at once, each as fast as its share of the servers (one at most).
    ProcessorSharing,
}

/// What a station is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    pub(super) servers: u32,
    pub(super) discipline: Discipline,
    pub(super) service: Law,
    /// Where classes differ.
    pub(super) by_class: Vec<(Class, Law)>,
    /// The rank of each class from 0 on, the smaller first. Classes beyond have their own number.
    ranks: Vec<u8>,
    pub(super) batch: (u32, u32),
    pub(super) room: Option<u32>,
    pub(super) patience: Option<Law>,
}

impl Queue {
    /// `servers` servers, first come first served.
    pub fn fcfs(servers: u32, service: impl Into<Law>) -> Self {
        Self {
            servers,
            discipline: Discipline::Fcfs,
            service: service.into(),
            by_class: Vec::new(),
            ranks: Vec::new(),
            batch: (1, 1),
            room: None,
            patience: None,
        }
    }

    /// With another order of service.
    #[must_use]
    pub fn with(self, discipline: Discipline) -> Self {
        Self { discipline, ..self }
    }

    /// Jobs of `class` are served by a law of their own.
    #[must_use]
    pub fn service_of(mut self, class: Class, service: impl Into<Law>) -> Self {
        self.by_class.push((class, service.into()));
        self
    }

    /// The rank of each class from 0 on; smaller ranks are served first. Without it the rank of a
    /// class is its number.
    #[must_use]
    pub fn ranks(self, ranks: Vec<u8>) -> Self {
        Self { ranks, ..self }
    }

    /// A server takes up to `most` jobs at once, as soon as there are `least`; they have one service
    /// time together (the queue `M/M^[a,b]/1` has least = a, most = b).
    #[must_use]
    pub fn in_batches(self, least: u32, most: u32) -> Self {
        Self {
            batch: (least, most),
            ..self
        }
    }

    /// No more than `jobs` at the station, in service included. A job that comes from a source and
    /// finds no room is lost; one that comes from another station stays on its server, which is
    /// blocked until there is room (blocking after service).
    #[must_use]
    pub fn room_for(self, jobs: u32) -> Self {
        Self {
            room: Some(jobs),
            ..self
        }
    }

    /// Jobs do not wait longer than a time that is drawn from this law when they begin to wait: then they leave
    /// [unserved](super::Builder::unserved). A job whose service has begun stays.
    #[must_use]
    pub fn patience(self, law: impl Into<Law>) -> Self {
        Self {
            patience: Some(law.into()),
            ..self
        }
    }

    pub(super) fn patience_law(&self) -> Option<&Law> {
        self.patience.as_ref()
    }

    pub(super) fn is_finite(&self) -> bool {
        self.room.is_some()
    }

    pub(super) fn has_room_for(&self, jobs: u32) -> bool {
        self.room.is_none_or(|room| jobs <= room)
    }

    pub(super) fn laws(&self) -> impl Iterator<Item = &Law> {
        let by_class = self.by_class.iter().map(|(_, law)| law);
        std::iter::once(&self.service)
            .chain(by_class)
            .chain(&self.patience)
    }

    /// The law of the service of a class.
    #[inline]
    pub(super) fn law_of(&self, class: Class) -> &Law {
        let own = self.by_class.iter().find(|(of, _)| *of == class);
        own.map_or(&self.service, |(_, law)| law)
    }

    /// How many classes from 0 on may be served differently from each other and from all beyond.
    pub(super) fn classes(&self) -> usize {
        let numbers = self.by_class.iter().map(|(of, _)| usize::from(of.0) + 1);
        numbers.max().unwrap_or(0)
    }

    /// Whether it has one server, an unlimited queue of jobs that are all alike, and nothing else.
    pub(super) fn is_simple(&self) -> bool {
        self.is_plain() && self.servers == 1 && self.room.is_none() && self.by_class.is_empty()
    }

    /// Whether no more has to be done when a job begins its service than to take the first one.
    pub(super) fn is_plain(&self) -> bool {
        self.batch.1 == 1 && self.discipline == Discipline::Fcfs && self.patience.is_none()
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        let preempts = matches!(
            self.discipline,
            Discipline::PreemptiveResume | Discipline::ProcessorSharing
        );
        if self.servers == 0 {
            Err("it needs at least one server")
        } else if self.batch.0 == 0 || self.batch.1 < self.batch.0 {
            Err(
                "a batch must have at least one job, and the maximum batch size must not be below the minimum",
            )
        } else if self.batch != (1, 1) && preempts {
            Err("batches support neither processor sharing nor preemption")
        } else if self.room.is_some_and(|room| room < self.batch.0) {
            Err("the queue is smaller than a batch")
        } else if self.patience.is_some() && self.discipline == Discipline::ProcessorSharing {
            Err("no job waits under processor sharing, so patience has no effect")
        } else {
            Ok(())
        }
    }

    pub(super) fn rank(&self, class: Class) -> u8 {
        *self.ranks.get(usize::from(class.0)).unwrap_or(&class.0)
    }
}
