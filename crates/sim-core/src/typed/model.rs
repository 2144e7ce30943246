//! Open and closed networks, before and in a run.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::part::{Next, Numbers, Part, Run, Running, connect};
use crate::arrivals::Renewal;
use crate::law::Draws;
use crate::network::node::Sink;
use crate::network::{
    Arrivals, BuildError, Builder, Class, NoProbe, NodeId, Probe, StationStatistics, Stopped, Until,
};
use crate::{CompletionHash, Law, Seed};

/// A whole network before its run.
pub trait Model: Sized {
    /// The same in a run.
    type Running: RunningModel;

    /// The same nodes in a [`Builder`], in the order in which they are written. Its network has the same results to the
    /// bit.
    fn builder(&self, seed: Seed) -> Builder;

    /// Begins a run, after the checks of [`Builder::build`].
    #[doc(hidden)]
    fn start(self, seed: &Seed) -> Self::Running;

    /// The network, at time zero.
    ///
    /// # Errors
    /// If the nodes do not make a network.
    fn build(self, seed: Seed) -> Result<Network<Self>, BuildError> {
        self.build_with(seed, NoProbe)
    }

    /// The network, at time zero, watched by `probe`.
    ///
    /// # Errors
    /// If the nodes do not make a network.
    fn build_with<P: Probe>(self, seed: Seed, probe: P) -> Result<Network<Self, P>, BuildError> {
        let names = self.builder(seed).into_names()?;
        let mut run = Run::new(probe);
        let mut model = self.start(&seed);
        model.begin(&mut run);
        Ok(Network { names, model, run })
    }
}

/// A [`Model`] in the middle of a run.
pub trait RunningModel: Clone {
    /// Plans the first arrival, or brings the jobs of a population to their places.
    fn begin<P: Probe>(&mut self, run: &mut Run<P>);

    /// The next event, if it happens until `end`; returns whether there was one.
    fn advance<P: Probe>(&mut self, end: Nanos, run: &mut Run<P>) -> bool;

    /// How many jobs there are.
    fn jobs(&self) -> usize;

    /// The statistics of the station with this number.
    fn station(&self, number: u32) -> Option<&StationStatistics>;

    /// The sink or lap with this number.
    fn sink(&self, number: u32) -> Option<&Sink>;

    /// Forgets all statistics.
    fn restart(&mut self, now: Nanos);
}

/// Jobs that come one at a time at independent distances.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    distance: Law,
    class: Class,
}

impl Source {
    /// A source of jobs of class 0. Exponential distances make a Poisson process.
    pub fn new(name: impl Into<String>, distance: impl Into<Law>) -> Self {
        Self {
            name: name.into(),
            distance: distance.into(),
            class: Class::default(),
        }
    }

    /// The class of the jobs.
    #[must_use]
    pub fn of_class(self, class: Class) -> Self {
        Self { class, ..self }
    }
}

/// A network whose jobs come from a source, take a way, and leave.
#[derive(Clone, Debug)]
pub struct Open<W> {
    source: Source,
    way: W,
    sink: String,
}

impl<W: Part> Open<W> {
    /// A source, a way, and the name of the sink at its end.
    pub fn new(source: Source, way: W, sink: impl Into<String>) -> Self {
        Self {
            source,
            way,
            sink: sink.into(),
        }
    }
}

impl<W: Part> Model for Open<W> {
    type Running = RunningOpen<W::Running>;

    fn builder(&self, seed: Seed) -> Builder {
        let mut b = Builder::new(seed);
        let Source {
            name,
            distance,
            class,
        } = &self.source;
        let source = b.source(name, Arrivals::every(distance.clone()).of_class(*class));
        let ends = self.way.add(&mut b, &[source]);
        let sink = b.sink(&self.sink);
        connect(&mut b, &ends, sink);
        b
    }

    fn start(self, seed: &Seed) -> Self::Running {
        let mut numbers = Numbers::default();
        numbers.next();
        let stream = seed.stream(&self.source.name, "arrival");
        let distances = Draws::new(self.source.distance, stream);
        RunningOpen {
            source: Renewal::new(distances, self.source.class),
            arrival: Next::NEVER,
            way: self.way.start(seed, &mut numbers),
            number: numbers.next(),
            sink: Sink::default(),
        }
    }
}

/// An [`Open`] network in the middle of a run.
#[derive(Clone)]
pub struct RunningOpen<W> {
    source: Renewal,
    arrival: Next,
    way: W,
    /// Of the sink.
    number: u32,
    sink: Sink,
}

impl<W> RunningOpen<W> {
    #[inline(always)]
    fn plan_arrival<P>(&mut self, run: &mut Run<P>) {
        let at = self.source.next();
        self.arrival = at.map_or(Next::NEVER, |at| run.plan(at));
    }
}

impl<W: Running> RunningModel for RunningOpen<W> {
    fn begin<P: Probe>(&mut self, run: &mut Run<P>) {
        self.plan_arrival(run);
    }

    #[inline(always)]
    fn advance<P: Probe>(&mut self, end: Nanos, run: &mut Run<P>) -> bool {
        let next = self.way.next();
        if self.arrival.comes_before(next) {
            if !run.begin(self.arrival, end) {
                return false;
            }
            self.plan_arrival(run);
            let job = run.record.create(self.source.class, run.now);
            if let Some(job) = self.way.enter(job, run) {
                self.sink.take(self.number, &job, run.now, &mut run.record);
            }
        } else {
            if !run.begin(next, end) {
                return false;
            }
            if let Some(job) = self.way.end(next.slot, run) {
                self.sink.take(self.number, &job, run.now, &mut run.record);
            }
            self.way.resume(next.slot, run);
        }
        true
    }

    fn jobs(&self) -> usize {
        self.way.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.way.station(number)
    }

    fn sink(&self, number: u32) -> Option<&Sink> {
        let here = (number == self.number).then_some(&self.sink);
        here.or_else(|| self.way.lap(number))
    }

    fn restart(&mut self, now: Nanos) {
        self.way.restart(now);
        self.sink = Sink::default();
    }
}

/// A network in which a number of jobs go round for ever.
#[derive(Clone, Debug)]
pub struct Closed<W> {
    way: W,
    jobs: u32,
}

impl<W: Part> Closed<W> {
    /// This number of jobs, which take the way again and again and are at its beginning at time zero.
    pub fn new(way: W, jobs: u32) -> Self {
        Self { way, jobs }
    }
}

impl<W: Part> Model for Closed<W> {
    type Running = RunningClosed<W::Running>;

    fn builder(&self, seed: Seed) -> Builder {
        let mut b = Builder::new(seed);
        let beginning = b.next_node();
        let ends = self.way.add(&mut b, &[]);
        connect(&mut b, &ends, beginning);
        b.population(beginning, self.jobs);
        b
    }

    fn start(self, seed: &Seed) -> Self::Running {
        RunningClosed {
            way: self.way.start(seed, &mut Numbers::default()),
            population: self.jobs,
        }
    }
}

/// A [`Closed`] network in the middle of a run.
#[derive(Clone)]
pub struct RunningClosed<W> {
    way: W,
    population: u32,
}

impl<W: Running> RunningModel for RunningClosed<W> {
    fn begin<P: Probe>(&mut self, run: &mut Run<P>) {
        for _ in 0..self.population {
            let mut on_its_way = Some(run.record.create(Class::default(), Nanos::ZERO));
            while let Some(job) = on_its_way {
                on_its_way = self.way.enter(job, run);
            }
        }
    }

    #[inline(always)]
    fn advance<P: Probe>(&mut self, end: Nanos, run: &mut Run<P>) -> bool {
        let next = self.way.next();
        if !run.begin(next, end) {
            return false;
        }
        let mut on_its_way = self.way.end(next.slot, run);
        while let Some(job) = on_its_way {
            on_its_way = self.way.enter(job, run);
        }
        self.way.resume(next.slot, run);
        true
    }

    fn jobs(&self) -> usize {
        self.way.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.way.station(number)
    }

    fn sink(&self, number: u32) -> Option<&Sink> {
        self.way.lap(number)
    }

    fn restart(&mut self, now: Nanos) {
        self.way.restart(now);
    }
}

/// A network that is a type, in the middle of a run. It has the methods of a [network of
/// nodes](crate::network::Network), except that nodes have names instead of identifiers.
pub struct Network<M: Model, P = NoProbe> {
    names: Vec<String>,
    model: M::Running,
    run: Run<P>,
}

impl<M: Model, P: Clone> Clone for Network<M, P> {
    fn clone(&self) -> Self {
        Self {
            names: self.names.clone(),
            model: self.model.clone(),
            run: self.run.clone(),
        }
    }
}

impl<M: Model, P: Probe> Network<M, P> {
    /// The clock.
    pub fn now(&self) -> Nanos {
        self.run.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.run.happened
    }

    /// How many jobs have left the network or finished a lap.
    pub fn departures(&self) -> u64 {
        self.run.record.departures
    }

    /// How many jobs are in the network. A forked job counts with its children.
    pub fn number_of_jobs(&self) -> usize {
        self.model.jobs()
    }

    /// The fingerprint of the run: (job, node, start, end) of all services.
    pub fn hash(&self) -> CompletionHash {
        self.run.record.hash
    }

    /// The probe that looks on.
    pub fn probe(&self) -> &P {
        &self.run.record.probe
    }

    /// The probe that looks on, for instance to empty it.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.run.record.probe
    }

    /// The node with this name, as probes see it, if one has it.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let number = self.names.iter().position(|other| other == name);
        number.map(|number| NodeId(number as u32))
    }

    /// The statistics of a station up to now.
    ///
    /// # Panics
    /// If no station has this name.
    pub fn station(&self, name: &str) -> StationStatistics {
        let statistics = self.node(name).and_then(|node| self.model.station(node.0));
        let Some(statistics) = statistics else {
            panic!("no station is called '{name}'")
        };
        let mut statistics = statistics.clone();
        statistics.close(self.run.now);
        statistics
    }

    fn sink(&self, name: &str) -> &Sink {
        let sink = self.node(name).and_then(|node| self.model.sink(node.0));
        sink.unwrap_or_else(|| panic!("neither a sink nor a lap is called '{name}'"))
    }

    /// The response times that were taken at the sink or at a lap.
    ///
    /// # Panics
    /// If neither has this name.
    pub fn response_time(&self, name: &str) -> &Distribution {
        &self.sink(name).response_time
    }

    /// Forgets all statistics: the warm-up is over. The hash goes on.
    pub fn measure_from_now(&mut self) {
        self.model.restart(self.run.now);
    }

    /// One event; returns whether there was one.
    #[inline]
    pub fn step(&mut self) -> bool {
        self.model.advance(Nanos::MAX, &mut self.run)
    }

    /// Runs the network.
    pub fn run(&mut self, until: Until) -> Stopped {
        let (mut end, mut departures, mut events) = (Nanos::MAX, u64::MAX, u64::MAX);
        match until {
            Until::Time(time) => end = time,
            Until::Departures(more) => departures = self.departures().saturating_add(more),
            Until::Events(more) => events = self.events().saturating_add(more),
            Until::End => {}
        }
        while self.departures() < departures
            && self.events() < events
            && self.model.advance(end, &mut self.run)
        {}
        let as_told = match until {
            Until::Time(_) => {
                self.run.now = self.run.now.max(end);
                true
            }
            Until::Departures(_) => self.departures() >= departures,
            Until::Events(_) => self.events() >= events,
            Until::End => false,
        };
        match self.number_of_jobs() {
            _ if as_told => Stopped::AsTold,
            0 => Stopped::Drained,
            jobs => Stopped::Stuck { jobs },
        }
    }
}
