//! When jobs come from outside.

use std::sync::Arc;

use iosonar_units::Nanos;
use rand::distr::Distribution;

use crate::law::Draws;
use crate::network::Class;
use crate::{Law, LawError, Sampler, Stream};

/// One or several jobs that come at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Nanos,
    /// Of which class.
    pub class: Class,
    /// How many.
    pub jobs: u32,
}

/// A source of one's own, such as a trace. Times must not go back.
pub trait ArrivalProcess: Send {
    /// The next arrival after the last one returned; `None` at the end.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// A copy in the same state, for a copy of the network.
    fn boxed_clone(&self) -> Box<dyn ArrivalProcess>;
}

impl<I> ArrivalProcess for I
where
    I: Iterator<Item = Arrival> + Clone + Send + 'static,
{
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next()
    }

    fn boxed_clone(&self) -> Box<dyn ArrivalProcess> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn ArrivalProcess> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// How many jobs come at once.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchSize {
    /// Always as many.
    Constant(u32),
    /// Geometric on 1, 2, ... with this mean.
    Geometric(f64),
    /// One of these, each with its share; the shares sum to 1.
    Table(Arc<[(f64, u32)]>),
    /// Numbers from a function.
    Custom(Sampler<u32>),
}

impl BatchSize {
    /// Numbers from a function, which draws from the stream and from nothing else, so that runs can be repeated.
    ///
    /// # Panics
    /// Drawing does, if the function gives 0.
    pub fn from_fn(draw: impl Fn(&mut Stream) -> u32 + Send + Sync + 'static) -> Self {
        Self::Custom(Sampler::new(draw))
    }

    /// Numbers from a distribution of the `rand` crates, rounded to whole ones.
    ///
    /// ```
    /// use iosonar_sim_core::arrivals::BatchSize;
    ///
    /// let jobs = BatchSize::sampled(rand_distr::Triangular::new(1.0, 9.0, 2.0)?);
    /// # Ok::<(), rand_distr::TriangularError>(())
    /// ```
    ///
    /// # Panics
    /// Drawing does, if the distribution gives less than half a job or no number.
    pub fn sampled(distribution: impl Distribution<f64> + Send + Sync + 'static) -> Self {
        Self::from_fn(move |stream| {
            let jobs = distribution.sample(stream);
            assert!(
                jobs >= 0.5,
                "a distribution of batch sizes gave {jobs}, expected at least 1"
            );
            jobs.round() as u32
        })
    }

    /// How many jobs come now.
    ///
    /// # Panics
    /// If a function of one's own gives 0.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        match self {
            Self::Constant(jobs) => *jobs,
            Self::Geometric(mean) => u32::try_from(stream.geometric(*mean)).unwrap_or(u32::MAX),
            Self::Table(table) => {
                let mut left = stream.uniform();
                let drawn = table.iter().find(|(share, _)| {
                    left -= share;
                    left < 0.0
                });
                // What rounding leaves over is of the last row.
                drawn.or(table.last()).map_or(1, |(_, jobs)| *jobs)
            }
            Self::Custom(sampler) => {
                let jobs = sampler.draw(stream);
                assert!(
                    jobs > 0,
                    "a function of batch sizes gave 0, expected at least 1"
                );
                jobs
            }
        }
    }
}

/// A phase of a modulated Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// The mean distance of arrivals while it lasts; `None` if none come.
    pub distance: Option<Nanos>,
    /// How long it lasts on average; its length is exponential. The phases follow each other in a
    /// circle.
    pub sojourn: Nanos,
}

/// What a source does.
#[derive(Clone)]
pub struct Arrivals {
    process: Process,
    batch: BatchSize,
    class: Class,
}

#[derive(Clone)]
enum Process {
    Renewal(Law),
    OnOff { on: Law, off: Law, distance: Law },
    Modulated(Vec<Phase>),
    Own(Box<dyn ArrivalProcess>),
}

impl Arrivals {
    fn of(process: Process) -> Self {
        Self {
            process,
            batch: BatchSize::Constant(1),
            class: Class::default(),
        }
    }

    /// Arrivals at independent distances; exponential ones make a Poisson process.
    pub fn every(distance: impl Into<Law>) -> Self {
        Self::of(Process::Renewal(distance.into()))
    }

    /// A source that is on and off in turn, and lets jobs come at `distance`s while it is on.
    pub fn on_off(on: Law, off: Law, distance: Law) -> Self {
        Self::of(Process::OnOff { on, off, distance })
    }

    /// A Poisson process whose rate changes from phase to phase (MMPP).
    pub fn modulated(phases: Vec<Phase>) -> Self {
        Self::of(Process::Modulated(phases))
    }

    /// A process of one's own, such as the arrivals of a trace: any iterator that can be cloned.
    pub fn from_process(process: impl ArrivalProcess + 'static) -> Self {
        Self::of(Process::Own(Box::new(process)))
    }

    /// Jobs come in batches. A process of one's own says itself how many come.
    #[must_use]
    pub fn in_batches(self, batch: BatchSize) -> Self {
        Self { batch, ..self }
    }

    /// The class of the jobs. A process of one's own says itself.
    #[must_use]
    pub fn of_class(self, class: Class) -> Self {
        Self { class, ..self }
    }

    /// The class of all jobs; `None` if a process of one's own says of each.
    pub(crate) fn class(&self) -> Option<Class> {
        match self.process {
            Process::Own(_) => None,
            _ => Some(self.class),
        }
    }

    /// The distance of arrivals, if one job comes at a time and the distances are independent.
    pub(crate) fn distance(&self) -> Option<&Law> {
        match (&self.process, &self.batch) {
            (Process::Renewal(distance), BatchSize::Constant(1)) => Some(distance),
            _ => None,
        }
    }

    /// Whether it is a process.
    ///
    /// # Errors
    /// If a distribution in it is invalid.
    pub fn check(&self) -> Result<(), LawError> {
        let takes_time = |law: &Law| match law.is_zero() {
            true => Err(LawError::NoTime),
            false => law.check(),
        };
        match &self.process {
            Process::Renewal(law) => takes_time(law),
            Process::OnOff { on, off, distance } => {
                takes_time(on).and(off.check()).and(takes_time(distance))
            }
            Process::Modulated(phases)
                if phases.iter().any(|phase| phase.sojourn == Nanos::ZERO) =>
            {
                Err(LawError::NoTime)
            }
            Process::Modulated(phases) if phases.is_empty() => Err(LawError::Phases),
            Process::Modulated(_) | Process::Own(_) => Ok(()),
        }
    }
}

/// A source in the middle of a run: an iterator of arrivals in the order of time.
#[derive(Clone)]
pub struct Source {
    arrivals: Arrivals,
    stream: Stream,
    batches: Stream,
    clock: Nanos,
    /// The phase of a modulated process and when it ends, or the end of an on-off source's on time.
    phase: usize,
    phase_end: Option<Nanos>,
}

impl Source {
    /// A source at time zero that draws its times from `stream` and the sizes of batches from `batches`.
    pub fn new(arrivals: Arrivals, stream: Stream, batches: Stream) -> Self {
        Self {
            arrivals,
            stream,
            batches,
            clock: Nanos::ZERO,
            phase: 0,
            phase_end: None,
        }
    }

    fn next_while_on(&mut self) {
        let Process::OnOff { on, off, distance } = &self.arrivals.process else {
            return;
        };
        let stream = &mut self.stream;
        let mut end = match self.phase_end {
            Some(end) => end,
            None => on.draw(stream),
        };
        let mut at = self.clock.saturating_add(distance.draw(stream));
        // What does not fit into the on time comes in the next one, a distance after its beginning.
        while at > end && at < Nanos::MAX {
            let begin = end.saturating_add(off.draw(stream));
            end = begin.saturating_add(on.draw(stream));
            at = begin.saturating_add(distance.draw(stream));
        }
        self.phase_end = Some(end);
        self.clock = at;
    }

    fn next_modulated(&mut self) -> Option<()> {
        let Process::Modulated(phases) = &self.arrivals.process else {
            return None;
        };
        if phases.iter().all(|phase| phase.distance.is_none()) {
            return None;
        }
        let stream = &mut self.stream;
        let mut end = match self.phase_end {
            Some(end) => end,
            None => stream.exponential(phases[0].sojourn),
        };
        let mut now = self.clock;
        loop {
            if let Some(distance) = phases[self.phase].distance {
                let at = now.saturating_add(stream.exponential(distance));
                if at <= end {
                    (self.clock, self.phase_end) = (at, Some(end));
                    return Some(());
                }
            }
            // A Poisson process has no memory: in the next phase its distance is drawn anew.
            now = end;
            if now == Nanos::MAX {
                return None;
            }
            self.phase = (self.phase + 1) % phases.len();
            end = now.saturating_add(stream.exponential(phases[self.phase].sojourn));
        }
    }
}

impl Iterator for Source {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        match &mut self.arrivals.process {
            Process::Renewal(law) => {
                self.clock = self.clock.saturating_add(law.draw(&mut self.stream));
            }
            Process::OnOff { .. } => self.next_while_on(),
            Process::Modulated(_) => self.next_modulated()?,
            Process::Own(process) => {
                let arrival = process.next_arrival()?;
                assert!(arrival.at >= self.clock, "arrivals come in order of time");
                self.clock = arrival.at;
                return Some(arrival);
            }
        }
        if self.clock == Nanos::MAX {
            return None;
        }
        let jobs = self.arrivals.batch.draw(&mut self.batches);
        Some(Arrival {
            at: self.clock,
            class: self.arrivals.class,
            jobs,
        })
    }
}

/// A source of one job at a time, at independent distances, in the middle of a run: the same as a [`Source`] of
/// [`Arrivals::every`], and faster.
#[derive(Clone)]
pub(crate) struct Renewal {
    distances: Draws,
    clock: Nanos,
    pub(crate) class: Class,
}

impl Renewal {
    /// A source at time zero.
    pub(crate) fn new(distances: Draws, class: Class) -> Self {
        let clock = Nanos::ZERO;
        Self {
            distances,
            clock,
            class,
        }
    }

    /// When the next job comes, unless it is at the end of time.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Nanos> {
        self.clock = self.clock.saturating_add(self.distances.draw());
        (self.clock < Nanos::MAX).then_some(self.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn rate_per_ms(arrivals: Arrivals, n: u32) -> f64 {
        let seed = Seed::new(1);
        let mut source = Source::new(arrivals, seed.stream("s", "a"), seed.stream("s", "b"));
        let mut jobs = 0.0;
        for _ in 0..n {
            jobs += f64::from(source.next().unwrap().jobs);
        }
        jobs / source.clock.as_millis_f64()
    }

    #[test]
    fn the_rate_of_a_modulated_process_is_the_mean_of_its_phases() {
        let phase = |distance: Option<u64>, sojourn| Phase {
            distance: distance.map(Nanos::from_micros),
            sojourn: Nanos::from_millis(sojourn),
        };
        // 10 per ms for 2 ms, none for 6 ms, 1 per ms for 2 ms: 2.2 per ms.
        let phases = vec![phase(Some(100), 2), phase(None, 6), phase(Some(1000), 2)];
        let rate = rate_per_ms(Arrivals::modulated(phases), 400_000);
        // Some 18 000 rounds, whose length and number of arrivals have a coefficient of variation
        // near one: 3 standard errors are some 4 %.
        assert!((rate / 2.2 - 1.0).abs() < 0.04, "{rate}");
    }

    #[test]
    fn an_on_off_source_sends_while_it_is_on_only() {
        let ms = Nanos::from_millis;
        let constant = |t| Law::Constant(ms(t));
        let seed = Seed::new(1);
        let arrivals = Arrivals::on_off(constant(10), constant(90), constant(3));
        let mut source = Source::new(arrivals, seed.stream("s", "a"), seed.stream("s", "b"));
        let times: Vec<u64> = (0..7)
            .map(|_| source.next().unwrap().at.get() / 1_000_000)
            .collect();
        assert_eq!(times, [3, 6, 9, 103, 106, 109, 203]);
    }

    #[test]
    fn batches_have_their_mean() {
        let arrivals = Arrivals::every(Law::Constant(Nanos::MILLISECOND));
        let rate = rate_per_ms(arrivals.in_batches(BatchSize::Geometric(3.0)), 200_000);
        // Variance q / (1 - q)^2 = 6.
        assert!(
            (rate - 3.0).abs() < 3.0 * 6.0_f64.sqrt() / 200_000_f64.sqrt(),
            "{rate}"
        );
    }

    #[test]
    fn an_iterator_is_a_source() {
        let arrival = |i: u64| Arrival {
            at: Nanos::new(i * i),
            class: Class(1),
            jobs: 2,
        };
        let seed = Seed::new(1);
        let arrivals = Arrivals::from_process((0..3).map(arrival));
        let mut source = Source::new(arrivals, seed.stream("s", "a"), seed.stream("s", "b"));
        let mut copy = source.clone();
        let all: Vec<_> = std::iter::from_fn(|| source.next()).collect();
        assert_eq!(all, (0..3).map(arrival).collect::<Vec<_>>());
        assert_eq!(copy.next(), Some(arrival(0)), "a copy is a copy");
    }

    #[test]
    fn batches_of_a_table_come_as_often_as_it_says() {
        let sizes = BatchSize::Table([(0.25, 1), (0.5, 3), (0.25, 7)].into());
        let seed = Seed::new(1);
        let (mut stream, mut same) = (seed.stream("s", "b"), seed.stream("s", "b"));
        for _ in 0..1_000 {
            let expected = match same.uniform() {
                0.0..0.25 => 1,
                0.25..0.75 => 3,
                _ => 7,
            };
            assert_eq!(sizes.draw(&mut stream), expected);
        }
        // Of shares that rounding has made too small the last row has the rest.
        let short = BatchSize::Table([(0.5, 1), (0.25, 2)].into());
        let large = (0..1_000).filter(|_| short.draw(&mut stream) == 2).count();
        // Half of them, within four standard deviations.
        assert!(large.abs_diff(500) < 64, "{large}");
    }
}
