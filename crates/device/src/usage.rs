//! What a station was used for, in the window of the measurement.

use iosonar_units::Nanos;

use crate::{Service, Usage};

/// A job's time at the station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) arrived: Nanos,
    pub(crate) started: Nanos,
    pub(crate) ended: Nanos,
}

impl Stay {
    fn of(service: &Service) -> Self {
        Self {
            arrived: service.arrived,
            started: service.started,
            ended: service.ended(),
        }
    }
}

/// Sums up services. Of one that began before the window or ends after it, the part within it counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter {
    from: Nanos,
    is_over: bool,
    usage: Usage,
    /// How many jobs are there, where each comes and goes at its time.
    present: u64,
    since: Nanos,
    /// Announced services, in the order of their ends: those that are not over, and some that are. They are counted
    /// as if they were over.
    announced: Vec<Stay>,
}

impl UsageMeter {
    /// A job comes.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Nanos) {
        self.pass(now);
        self.present += 1;
    }

    /// Its service has ended.
    #[inline]
    pub(crate) fn leave(&mut self, service: &Service) {
        let stay = Stay::of(service);
        self.pass(stay.ended);
        self.present -= 1;
        self.count(stay);
    }

    #[inline]
    fn pass(&mut self, now: Nanos) {
        if !self.is_over {
            let span = u128::from((now - self.since).get());
            self.usage.jobs_time += u128::from(self.present) * span;
            self.since = now;
        }
    }

    /// Announces a service that ends later, and after all that were announced before it.
    #[inline]
    pub(crate) fn announce(&mut self, service: &Service) {
        let stay = Stay::of(service);
        self.announced.push(stay);
        self.count_announced(stay);
    }

    /// Begins to announce services, of which those that end by `until` are over before anything else is asked.
    #[inline]
    pub(crate) fn announce_until(&mut self, until: Nanos) -> Announced<'_> {
        Announced {
            meter: self,
            until,
            jobs: 0,
            stay_time: 0,
            service_time: 0,
        }
    }

    #[inline]
    fn count_announced(&mut self, stay: Stay) {
        if !self.is_over {
            self.usage.jobs_time += u128::from((stay.ended - stay.arrived.max(self.from)).get());
        }
        self.count(stay);
    }

    /// Of the announced services, those that end by `now` are over, and can be forgotten.
    pub(crate) fn has_come_to(&mut self, now: Nanos) {
        let over = self.announced.partition_point(|stay| stay.ended <= now);
        self.announced.drain(..over);
    }

    /// A job is done.
    #[inline]
    fn count(&mut self, stay: Stay) {
        if self.is_over {
            return;
        }
        let usage = &mut self.usage;
        usage.jobs_done += 1;
        usage.busy += stay.ended - stay.started.max(self.from);
        usage.stay_time += u128::from((stay.ended - stay.arrived).get());
        usage.service_time += u128::from((stay.ended - stay.started).get());
        if stay.arrived < self.from {
            usage.stay_edge -= i128::from((self.from - stay.arrived).get());
            usage.service_edge -= i128::from(self.from.saturating_sub(stay.started).get());
        }
    }

    /// An announced job is not over when the window ends.
    fn discount(&mut self, stay: Stay) {
        let mut counted = Self {
            from: self.from,
            ..Self::default()
        };
        counted.count_announced(stay);
        let (usage, counted) = (&mut self.usage, counted.usage);
        usage.jobs_done -= counted.jobs_done;
        usage.busy = usage.busy - counted.busy;
        usage.jobs_time -= counted.jobs_time;
        usage.stay_time -= counted.stay_time;
        usage.service_time -= counted.service_time;
        usage.stay_edge -= counted.stay_edge;
        usage.service_edge -= counted.service_edge;
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.has_come_to(now);
        self.pass(now);
        self.from = now;
        self.usage = Usage::default();
        for i in 0..self.announced.len() {
            self.count_announced(self.announced[i]);
        }
    }

    /// The window ends, while these jobs are there: one in service, and those that wait, by their arrival.
    pub(crate) fn end(
        &mut self,
        now: Nanos,
        current: Option<&Service>,
        waiting: impl Iterator<Item = Nanos>,
    ) {
        self.has_come_to(now);
        self.pass(now);
        for stay in std::mem::take(&mut self.announced) {
            self.discount(stay);
            let inside = now.saturating_sub(stay.arrived.max(self.from));
            self.usage.jobs_time += u128::from(inside.get());
            self.remain(stay.arrived, Some(stay.started), now);
        }
        if let Some(service) = current {
            self.remain(service.arrived, Some(service.started), now);
        }
        for arrived in waiting {
            self.remain(arrived, None, now);
        }
        self.is_over = true;
    }

    /// A job is there when the window ends.
    fn remain(&mut self, arrived: Nanos, started: Option<Nanos>, now: Nanos) {
        let inside = now.saturating_sub(arrived.max(self.from));
        self.usage.stay_edge += i128::from(inside.get());
        if let Some(started) = started {
            let inside = now.saturating_sub(started.max(self.from));
            self.usage.busy += inside;
            self.usage.service_edge += i128::from(inside.get());
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }
}

/// Services that are announced one after the other, summed up apart: most of them lie in the window.
pub(crate) struct Announced<'a> {
    meter: &'a mut UsageMeter,
    until: Nanos,
    jobs: u64,
    stay_time: u128,
    service_time: u128,
}

impl Announced<'_> {
    /// Announces the next one, which ends after those before it.
    #[inline]
    pub(crate) fn add(&mut self, stay: Stay) {
        if stay.ended > self.until {
            self.meter.announced.push(stay);
        }
        if self.meter.is_over || stay.arrived < self.meter.from {
            self.meter.count_announced(stay);
            return;
        }
        self.jobs += 1;
        self.stay_time += u128::from((stay.ended - stay.arrived).get());
        self.service_time += u128::from((stay.ended - stay.started).get());
    }

    /// All are announced.
    #[inline]
    pub(crate) fn end(self) {
        let usage = &mut self.meter.usage;
        usage.jobs_done += self.jobs;
        usage.jobs_time += self.stay_time;
        usage.stay_time += self.stay_time;
        usage.service_time += self.service_time;
        usage.busy += Nanos::new(self.service_time as u64);
    }
}
