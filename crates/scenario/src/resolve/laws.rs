//! The laws of a synthetic load: arrivals, batches, sizes, addresses.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Batch as Rows, Op, Reading, TraceError, input};
use iosonar_units::{Nanos, Sectors, Share};
use iosonar_workload::{
    Addresses, ArrivalLaw, Batch, Intervals, LoadPhase, Renewal, Shape, TimeLaw, Workload,
};
use toml::Spanned;

use super::check::Checker;
use super::sizes::{Kind, size_laws};
use crate::ScenarioError;
use crate::file::{
    AddressesFile, ArrivalsFile, BatchFile, ClassFile, ClosedFile, EmpiricalFile, HotFile,
    LoadFile, MixedFile, PhaseFile, SizeFile, TimeLawFile,
};

/// What a class has for arrivals.
const NOT_ALONE: &str = "a distribution: \"alone\" needs a load without classes";

/// The laws of a class as they are written, and the name of their table.
pub(super) struct Laws<'a> {
    table: &'static str,
    arrivals: Option<&'a Spanned<ArrivalsFile>>,
    rate_per_s: Option<&'a Spanned<f64>>,
    batch: Option<&'a Spanned<BatchFile>>,
    size: Option<&'a Spanned<SizeFile>>,
    read_share: Option<&'a Spanned<Share>>,
    addresses: Option<&'a Spanned<AddressesFile>>,
}

pub(super) fn laws(load: &LoadFile) -> Laws<'_> {
    Laws {
        table: "load",
        arrivals: load.arrivals.as_ref(),
        rate_per_s: load.rate_per_s.as_ref(),
        batch: load.batch.as_ref(),
        size: load.size.as_ref(),
        read_share: load.read_share.as_ref(),
        addresses: load.addresses.as_ref(),
    }
}

pub(super) fn laws_of_class(class: &ClassFile) -> Laws<'_> {
    Laws {
        table: "load.class",
        arrivals: class.arrivals.as_ref(),
        rate_per_s: class.rate_per_s.as_ref(),
        batch: class.batch.as_ref(),
        size: class.size.as_ref(),
        read_share: class.read_share.as_ref(),
        addresses: class.addresses.as_ref(),
    }
}

impl Laws<'_> {
    pub(super) fn any(&self) -> bool {
        self.arrivals.is_some()
            || self.rate_per_s.is_some()
            || self.batch.is_some()
            || self.size.is_some()
            || self.read_share.is_some()
            || self.addresses.is_some()
    }

    fn missing(&self, check: &Checker<'_>, key: &str) -> ScenarioError {
        let table = self.table;
        check.incomplete(&format!(
            "'{table}.{key}' is missing; a synthetic load has 'requests', 'arrivals' and 'size' \
             (or give a trace: 'load.trace', or --trace FILE)"
        ))
    }

    /// The laws of requests that come by themselves.
    pub(super) fn workload(
        &self,
        check: &Checker<'_>,
        block: Sectors,
        data_sectors: u64,
    ) -> Result<Workload, ScenarioError> {
        let arrivals = self.arrival_law(check)?;
        self.size.ok_or_else(|| self.missing(check, "size"))?;
        Ok(Workload {
            arrivals,
            batch: self.batch.map_or(Ok(Batch::One), |b| batch_law(check, b))?,
            shape: self.shape(check, block, data_sectors)?,
        })
    }

    /// When requests come: the law, or its short form.
    fn arrival_law(&self, check: &Checker<'_>) -> Result<ArrivalLaw, ScenarioError> {
        match (self.arrivals, self.rate_per_s) {
            (Some(arrivals), None) => arrivals_law(check, arrivals),
            (None, Some(rate)) if is_rate(*rate.get_ref()) => Ok(ArrivalLaw::Poisson {
                per_s: *rate.get_ref(),
            }),
            (None, Some(rate)) => {
                Err(check.wrong(rate, "load.rate_per_s", format!("{:?}", rate.get_ref()), RATE))
            }
            (None, None) => Err(self.missing(check, "arrivals")),
            (Some(_), Some(_)) => Err(check.incomplete(&format!(
                "[{}] has both 'arrivals' and 'rate_per_s' (short for arrivals = {{ poisson_per_s = ... }}): remove \
                 one of them",
                self.table
            ))),
        }
    }

    /// What requests are like.
    pub(super) fn shape(
        &self,
        check: &Checker<'_>,
        block: Sectors,
        data_sectors: u64,
    ) -> Result<Shape, ScenarioError> {
        let size = self.size.ok_or_else(|| self.missing(check, "size"))?;
        let blocks = data_sectors / u64::from(block.get());
        let (size, write_size) = size_laws(check, size, block, blocks)?;
        Ok(Shape {
            size,
            write_size,
            block,
            read_share: self.read_share.map_or(Ok(1.0), |s| read_share(check, s))?,
            addresses: self
                .addresses
                .map_or(Ok(Addresses::Uniform), |a| addresses(check, a))?,
            address_space: data_sectors,
        })
    }
}

/// What a rate may be.
const RATE: &str = "a rate of 1e-9 to 1e9 requests per second";

fn is_rate(per_s: f64) -> bool {
    (1e-9..=1e9).contains(&per_s)
}

/// Checks the values of a law.
pub(super) struct LawCheck<'a, T> {
    pub(super) check: &'a Checker<'a>,
    pub(super) given: &'a Spanned<T>,
    pub(super) key: &'static str,
}

impl<T> LawCheck<'_, T> {
    fn wrong(&self, seen: String, expected: &str) -> ScenarioError {
        self.check.wrong(self.given, self.key, seen, expected)
    }

    fn refuse<V>(&self, seen: String, expected: &str) -> Result<V, ScenarioError> {
        Err(self.wrong(seen, expected))
    }

    fn rate(&self, per_s: f64) -> Result<f64, ScenarioError> {
        if is_rate(per_s) {
            return Ok(per_s);
        }
        self.refuse(format!("per_s = {per_s:?}"), RATE)
    }

    fn time(&self, name: &str, seconds: f64) -> Result<f64, ScenarioError> {
        if (1e-9..=1e9).contains(&seconds) {
            return Ok(seconds);
        }
        let expected = "a time greater than 0, in seconds (at most 1e9)";
        self.refuse(format!("{name} = {seconds}"), expected)
    }

    pub(super) fn cv(&self, cv: f64) -> Result<f64, ScenarioError> {
        if (0.01..=100.0).contains(&cv) {
            return Ok(cv);
        }
        let expected = "a coefficient of variation of 0.01 to 100: 1 is that of an exponential law";
        self.refuse(format!("cv = {cv}"), expected)
    }

    fn shape(
        &self,
        shape: f64,
        range: RangeInclusive<f64>,
        expected: &str,
    ) -> Result<f64, ScenarioError> {
        match range.contains(&shape) {
            true => Ok(shape),
            false => self.refuse(format!("shape = {shape}"), expected),
        }
    }

    /// Independent intervals, within bounds in milliseconds.
    fn renewal(
        &self,
        per_s: f64,
        intervals: Intervals,
        bounds_ms: (Option<f64>, Option<f64>),
    ) -> Result<ArrivalLaw, ScenarioError> {
        let times = self.times(self.rate(per_s)?, intervals, bounds_ms)?;
        Ok(ArrivalLaw::Renewal(times))
    }

    /// Independent times of a law with a mean of `1 / per_s`, within bounds in milliseconds.
    fn times(
        &self,
        per_s: f64,
        intervals: Intervals,
        (least_ms, most_ms): (Option<f64>, Option<f64>),
    ) -> Result<Renewal, ScenarioError> {
        for (name, bound) in [("at_least_ms", least_ms), ("at_most_ms", most_ms)] {
            if let Some(bound) = bound
                && !(0.0..=1e12).contains(&bound)
            {
                return self.refuse(format!("{name} = {bound}"), "0 to 1e12 ms");
            }
        }
        let bounds = (least_ms.is_some() || most_ms.is_some()).then(|| {
            let most = most_ms.map_or(Nanos::from_secs_f64(1e9), Nanos::from_millis_f64);
            (Nanos::from_millis_f64(least_ms.unwrap_or(0.0)), most)
        });
        if let Some((least, most)) = bounds
            && least > most
        {
            let seen = format!("times from {least} to {most}");
            return self.refuse(seen, "at_least_ms to be at most at_most_ms");
        }
        Renewal::new(per_s, intervals, bounds)
            .map_err(|error| self.wrong(error.to_string(), "another mean, law or bounds"))
    }

    pub(super) fn weibull(&self, shape: f64) -> Result<Intervals, ScenarioError> {
        let shape = self.shape(shape, 0.2..=50.0, "0.2 to 50")?;
        Ok(Intervals::Weibull { shape })
    }

    pub(super) fn pareto(&self, shape: f64) -> Result<Intervals, ScenarioError> {
        let expected = "1.05 to 100: closer to 1 the mean converges too slowly";
        let shape = self.shape(shape, 1.05..=100.0, expected)?;
        Ok(Intervals::Pareto { shape })
    }

    /// The intervals of a recording.
    fn empirical(&self, given: &EmpiricalFile) -> Result<ArrivalLaw, ScenarioError> {
        let folder = self.check.path.parent().unwrap_or(Path::new(""));
        let trace = folder.join(&given.trace);
        let Recorded { times, mean_s } = Recorded::intervals(&trace)?;
        if mean_s.is_nan() || mean_s == 0.0 {
            let seen = format!("no time between the requests of {}", trace.display());
            return self.refuse(
                seen,
                "a recording of at least two requests at different times",
            );
        }
        let per_s = given.per_s.unwrap_or(1.0 / mean_s);
        self.renewal(per_s, Intervals::Empirical { trace, times }, (None, None))
    }

    /// A mean in milliseconds.
    fn mean_ms(&self, name: &str, ms: f64) -> Result<Nanos, ScenarioError> {
        match (0.0..=1e9).contains(&ms) {
            true => Ok(Nanos::from_millis_f64(ms)),
            false => self.refuse(format!("{name} = {ms:?}"), "a mean of 0 to 1e9 ms"),
        }
    }

    /// A law of times, with those of a recording for an empirical one.
    fn time_law(
        &self,
        law: &TimeLawFile,
        recorded: impl Fn(&Path) -> Result<Recorded, TraceError>,
    ) -> Result<TimeLaw, ScenarioError> {
        match law {
            TimeLawFile::ExponentialMs(ms) => {
                let mean = self.mean_ms("exponential_ms", *ms)?;
                Ok(TimeLaw::Exponential(mean))
            }
            TimeLawFile::ConstantMs(ms) => {
                let time = self.mean_ms("constant_ms", *ms)?;
                Ok(TimeLaw::Constant(time))
            }
            TimeLawFile::Gamma(given) => {
                let cv = self.cv(given.cv)?;
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, Intervals::Gamma { cv }, bounds)
            }
            TimeLawFile::LogNormal(given) => {
                let cv = self.cv(given.cv)?;
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, Intervals::LogNormal { cv }, bounds)
            }
            TimeLawFile::Weibull(given) => {
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, self.weibull(given.shape)?, bounds)
            }
            TimeLawFile::Pareto(given) => {
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, self.pareto(given.shape)?, bounds)
            }
            TimeLawFile::Empirical(given) => {
                let folder = self.check.path.parent().unwrap_or(Path::new(""));
                let trace = folder.join(&given.trace);
                let Recorded { times, mean_s } = recorded(&trace)?;
                if mean_s.is_nan() || mean_s == 0.0 {
                    let seen = format!("no such times in {}", trace.display());
                    let expected = "a recording of them: a CSV file with a column think_ms for think times, records with \
                                    latencies for services";
                    return self.refuse(seen, expected);
                }
                let mean_ms = given.mean_ms.unwrap_or(1e3 * mean_s);
                self.other_law(mean_ms, Intervals::Empirical { trace, times }, (None, None))
            }
        }
    }

    fn other_law(
        &self,
        mean_ms: f64,
        intervals: Intervals,
        bounds_ms: (Option<f64>, Option<f64>),
    ) -> Result<TimeLaw, ScenarioError> {
        if self.mean_ms("mean_ms", mean_ms)? == Nanos::ZERO {
            let expected = "a mean of at least 1e-6 ms";
            return self.refuse(format!("mean_ms = {mean_ms:?}"), expected);
        }
        let times = self.times(1e3 / mean_ms, intervals, bounds_ms)?;
        Ok(TimeLaw::Other { mean_ms, times })
    }

    /// A law with too few arrivals per span of time would search for the next one forever.
    fn often(&self, per_span: f64, what: &str) -> Result<(), ScenarioError> {
        if per_span >= 1e-3 {
            return Ok(());
        }
        let seen = format!("{per_span} arrivals in {what} on average");
        self.refuse(seen, "at least 0.001")
    }
}

/// Times of a recording.
pub(super) struct Recorded {
    /// All of them, or a random sample of a long recording.
    pub(super) times: Arc<[Nanos]>,
    /// The mean of all.
    pub(super) mean_s: f64,
}

impl Recorded {
    /// The times between requests.
    fn intervals(trace: &Path) -> Result<Self, TraceError> {
        let mut last = None;
        Self::of(trace, |rows, row| {
            let start = rows.request(row).start;
            let before = last.replace(start)?;
            Some(start - before)
        })
    }

    /// The times that users thought before requests.
    fn think_times(trace: &Path) -> Result<Self, TraceError> {
        Self::of(trace, Rows::think)
    }

    /// The latencies of requests.
    fn latencies(trace: &Path) -> Result<Self, TraceError> {
        Self::of(trace, |rows, row| rows.outcome(row).latency)
    }

    /// The sizes of requests that move data, of this kind: a nanosecond is a byte.
    pub(super) fn sizes(trace: &Path, kind: Option<Kind>) -> Result<Self, TraceError> {
        Self::of(trace, |rows, row| {
            let request = rows.request(row);
            let is_wanted = match kind {
                None => matches!(request.op, Op::Read | Op::Write),
                Some(kind) => kind.has(request.op),
            };
            is_wanted.then(|| Nanos::new(request.sectors.bytes().get()))
        })
    }

    fn of(
        trace: &Path,
        mut time: impl FnMut(&Rows, usize) -> Option<Nanos>,
    ) -> Result<Self, TraceError> {
        let mut reader = input::open_load(trace, &Reading::default())?;
        let mut batch = Rows::default();
        let mut sample = Sample::new();
        let mut sum = 0_u128;
        while reader.next_batch(&mut batch)? > 0 {
            for time in (0..batch.len()).filter_map(|row| time(&batch, row)) {
                sum += u128::from(time.get());
                sample.push(time);
            }
        }
        // Of intervals, the sum is the span of the recording.
        let sum = Nanos::new(u64::try_from(sum).unwrap_or(u64::MAX));
        Ok(Self {
            mean_s: sum.as_secs_f64() / sample.seen as f64,
            times: sample.times.into(),
        })
    }
}

/// A random sample of times (Vitter 1985, algorithm R).
struct Sample {
    times: Vec<Nanos>,
    seen: u64,
    random: Stream,
}

impl Sample {
    /// 8 MB.
    const MOST: usize = 1 << 20;

    fn new() -> Self {
        Self {
            times: Vec::new(),
            seen: 0,
            random: Seed::new(0).stream("recorded intervals", "reservoir"),
        }
    }

    fn push(&mut self, time: Nanos) {
        self.seen += 1;
        // Each is as likely to be kept as the others.
        match self.random.below(self.seen) as usize {
            _ if self.times.len() < Self::MOST => self.times.push(time),
            place if place < Self::MOST => self.times[place] = time,
            _ => {}
        }
    }
}

/// How long the users of a closed load think.
pub(super) fn think_time(
    check: &Checker<'_>,
    closed: &Spanned<ClosedFile>,
) -> Result<TimeLaw, ScenarioError> {
    let key = "load.closed";
    match closed.get_ref() {
        ClosedFile {
            think: None,
            think_ms,
            ..
        } => {
            let law = LawCheck {
                check,
                given: closed,
                key,
            };
            let mean = law.mean_ms("think_ms", think_ms.unwrap_or(0.0))?;
            Ok(TimeLaw::Exponential(mean))
        }
        ClosedFile {
            think: Some(think),
            think_ms: None,
            ..
        } => think_law(check, closed, key, think),
        _ => Err(check.incomplete(
            "load.closed has both 'think_ms' and 'think' (think_ms = 5.0 is short for \
             think = { exponential_ms = 5.0 }): remove one of them",
        )),
    }
}

/// A law of think times, in the value `given` of `key`.
pub(crate) fn think_law<T>(
    check: &Checker<'_>,
    given: &Spanned<T>,
    key: &'static str,
    think: &TimeLawFile,
) -> Result<TimeLaw, ScenarioError> {
    let law = LawCheck { check, given, key };
    law.time_law(think, Recorded::think_times)
}

/// How long services take that do not depend on the place.
pub(super) fn service_time(
    check: &Checker<'_>,
    service: &Spanned<TimeLawFile>,
) -> Result<TimeLaw, ScenarioError> {
    let law = LawCheck {
        check,
        given: service,
        key: "device.service",
    };
    let times = law.time_law(service.get_ref(), Recorded::latencies)?;
    if times.mean() == Nanos::ZERO {
        return law.refuse("no time".to_owned(), "a mean of at least 1e-6 ms");
    }
    Ok(times)
}

fn arrivals_law(
    check: &Checker<'_>,
    arrivals: &Spanned<ArrivalsFile>,
) -> Result<ArrivalLaw, ScenarioError> {
    let law = LawCheck {
        check,
        given: arrivals,
        key: "load.arrivals",
    };
    Ok(match arrivals.get_ref() {
        ArrivalsFile::Alone => return law.refuse("\"alone\"".into(), NOT_ALONE),
        ArrivalsFile::PoissonPerS(per_s) => ArrivalLaw::Poisson {
            per_s: law.rate(*per_s)?,
        },
        ArrivalsFile::ConstantPerS(per_s) => ArrivalLaw::Constant {
            per_s: law.rate(*per_s)?,
        },
        ArrivalsFile::Phases(phases) => modulated(&law, phases)?,
        ArrivalsFile::OnOff(given) => {
            if let Some(shape) = given.pareto_shape
                && !(1.05..=100.0).contains(&shape)
            {
                let expected = "1.05 to 100: closer to 1 the mean converges too slowly";
                return law.refuse(format!("pareto_shape = {shape}"), expected);
            }
            let (per_s, on_s) = (law.rate(given.per_s)?, law.time("on_s", given.on_s)?);
            law.often(per_s * on_s, "an on time")?;
            ArrivalLaw::OnOff {
                per_s,
                on_s,
                off_s: law.time("off_s", given.off_s)?,
                shape: given.pareto_shape,
            }
        }
        ArrivalsFile::BModel(given) => {
            if !(0.5..=1.0).contains(&given.bias) || given.levels > 40 {
                let seen = format!("bias = {}, levels = {}", given.bias, given.levels);
                return law.refuse(seen, "a bias of 0.5 to 1, at most 40 levels");
            }
            let per_s = law.rate(given.per_s)?;
            let window_s = law.time("window_s", given.window_s)?;
            law.often(per_s * window_s, "a window")?;
            ArrivalLaw::BModel {
                per_s,
                bias: given.bias,
                window_s,
                levels: given.levels,
            }
        }
        ArrivalsFile::Noise(given) => {
            if !(0.5..1.0).contains(&given.hurst) || !(0.0..=1.0).contains(&given.variation) {
                let seen = format!("hurst = {}, variation = {}", given.hurst, given.variation);
                let expected = "a Hurst parameter from 0.5 to below 1, a variation of 0 to 1";
                return law.refuse(seen, expected);
            }
            let (per_s, bin_s) = (law.rate(given.per_s)?, law.time("bin_s", given.bin_s)?);
            law.often(per_s * bin_s, "a bin")?;
            ArrivalLaw::Noise {
                per_s,
                hurst: given.hurst,
                variation: given.variation,
                bin_s,
            }
        }
        ArrivalsFile::Gamma(given) => {
            let cv = law.cv(given.cv)?;
            law.renewal(given.per_s, Intervals::Gamma { cv }, given.bounds_ms())?
        }
        ArrivalsFile::LogNormal(given) => {
            let cv = law.cv(given.cv)?;
            law.renewal(given.per_s, Intervals::LogNormal { cv }, given.bounds_ms())?
        }
        ArrivalsFile::Weibull(given) => {
            law.renewal(given.per_s, law.weibull(given.shape)?, given.bounds_ms())?
        }
        ArrivalsFile::Pareto(given) => {
            law.renewal(given.per_s, law.pareto(given.shape)?, given.bounds_ms())?
        }
        ArrivalsFile::Empirical(given) => law.empirical(given)?,
    })
}

fn modulated(
    law: &LawCheck<'_, ArrivalsFile>,
    phases: &[PhaseFile],
) -> Result<ArrivalLaw, ScenarioError> {
    for phase in phases {
        law.time("mean_s", phase.mean_s)?;
        if phase.per_s != 0.0 {
            law.rate(phase.per_s)?;
        }
    }
    if phases.iter().all(|phase| phase.per_s == 0.0) {
        let expected = "a phase with a rate greater than 0";
        return law.refuse("phases without arrivals".into(), expected);
    }
    let expected = phases.iter().map(|p| p.per_s * p.mean_s).sum();
    law.often(expected, "a cycle of the phases")?;
    let phase = |p: &PhaseFile| LoadPhase {
        per_s: p.per_s,
        mean_s: p.mean_s,
    };
    Ok(ArrivalLaw::Modulated(phases.iter().map(phase).collect()))
}

/// The shares of a table with their numbers, normed; else what is wrong with it.
pub(super) fn table(
    rows: impl Iterator<Item = (f64, u32)> + Clone,
    number: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<Vec<(f64, u32)>, String> {
    let sum: f64 = rows.clone().map(|(share, _)| share).sum();
    if let Some((_, n)) = rows.clone().find(|(_, n)| !fits(f64::from(*n))) {
        return Err(format!("{number} = {n}"));
    }
    let shares = rows.clone().all(|(share, _)| (0.0..=1.0).contains(&share));
    if shares && (sum - 1.0).abs() < 1e-6 {
        return Ok(rows.map(|(share, n)| (share / sum, n)).collect());
    }
    Err(format!("a table whose shares sum to {sum}"))
}

fn batch_law(check: &Checker<'_>, batch: &Spanned<BatchFile>) -> Result<Batch, ScenarioError> {
    let fits = |requests: f64| (1.0..=1e6).contains(&requests);
    let seen = match batch.get_ref() {
        BatchFile::Requests(n) if fits(f64::from(*n)) => return Ok(Batch::Requests(*n)),
        BatchFile::GeometricMean(mean) if fits(*mean) => {
            return Ok(Batch::Geometric { mean: *mean });
        }
        BatchFile::Table(rows) => {
            let rows = rows.iter().map(|row| (row.share.get(), row.requests));
            match table(rows, "requests", fits) {
                Ok(table) => return Ok(Batch::Table(table.into())),
                Err(seen) => seen,
            }
        }
        BatchFile::Requests(n) => n.to_string(),
        BatchFile::GeometricMean(mean) => mean.to_string(),
    };
    Err(check.wrong(
        batch,
        "load.batch",
        seen,
        "{ requests = 3 }, { geometric_mean = 3.0 } or { table = [{ requests = 1, share = 1.0 }] }, 1 to a \
         million, shares that sum to 1",
    ))
}

fn read_share(check: &Checker<'_>, given: &Spanned<Share>) -> Result<f64, ScenarioError> {
    let share = given.get_ref().get();
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    // Below that it may have been a percentage above 100 %.
    let expected = if (10.0..=100.0).contains(&share) {
        format!(
            "0 to 1, or percent: write {}, or \"{share}%\"",
            share / 100.0
        )
    } else {
        "0 to 1, such as 0.7, or percent, such as \"70%\"".to_owned()
    };
    Err(check.wrong(given, "load.read_share", share, expected))
}

fn addresses(
    check: &Checker<'_>,
    given: &Spanned<AddressesFile>,
) -> Result<Addresses, ScenarioError> {
    let seen = match *given.get_ref() {
        AddressesFile::SequentialRun(run) if run >= 1.0 => {
            return Ok(Addresses::Sequential { run });
        }
        AddressesFile::Zipf(theta) if theta > 0.0 && theta <= 10.0 => {
            return Ok(Addresses::Zipf { theta });
        }
        AddressesFile::Hot(HotFile { space, requests }) => {
            let (space, requests) = (space.get(), requests.get());
            if space > 0.0 && space <= 1.0 && (0.0..=1.0).contains(&requests) {
                return Ok(Addresses::Hot { space, requests });
            }
            format!("hot = {{ space = {space}, requests = {requests} }}")
        }
        AddressesFile::Mixed(MixedFile { follow, zipf, used }) => {
            let (follow, used) = (follow.get(), used.get());
            if (0.0..=1.0).contains(&follow)
                && (0.0..=10.0).contains(&zipf)
                && used > 0.0
                && used <= 1.0
            {
                return Ok(Addresses::Mixed {
                    follow,
                    theta: zipf,
                    used,
                });
            }
            format!("mixed = {{ follow = {follow}, zipf = {zipf}, used = {used} }}")
        }
        AddressesFile::SequentialRun(run) => format!("sequential_run = {run}"),
        AddressesFile::Zipf(theta) => format!("zipf = {theta}"),
    };
    Err(check.wrong(
        given,
        "load.addresses",
        seen,
        "{ sequential_run = 16.0 } (at least 1, or inf), { zipf = 0.9 } (greater than 0, at most 10) or \
         { mixed = { follow = 0.3, zipf = 0.9 } } (a share; 0 to 10) or { hot = { space = 0.1, requests = 0.9 } } \
         (shares)",
    ))
}
