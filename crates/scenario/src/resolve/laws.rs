//! The laws of a synthetic load: arrivals, batches, sizes, addresses.

mod check;
mod recorded;

use iosonar_units::{Nanos, Sectors, Share};
use iosonar_workload::{
    Addresses, ArrivalLaw, Batch, Intervals, LoadPhase, Shape, TimeLaw, Workload,
};
use toml::Spanned;

use super::check::Checker;
use super::sizes::size_laws;
use crate::ScenarioError;
use crate::file::{
    AddressesFile, ArrivalsFile, BatchFile, ClassFile, ClosedFile, HotFile, LoadFile, MixedFile,
    PhaseFile, SizeFile, TimeLawFile,
};

pub(super) use check::LawCheck;
use check::{RATE, is_rate};
pub(super) use recorded::Recorded;

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
                let expected = "1.05 to 100, as means converge too slowly for shapes near 1";
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
                return law.refuse(seen, "a bias of 0.5 to 1, and at most 40 levels");
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
                let expected =
                    "a Hurst parameter of at least 0.5 and below 1, and a variation of 0 to 1";
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
    law.often(expected, "a full cycle of the phases")?;
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
        "{ requests = 3 }, { geometric_mean = 3.0 } or { table = [{ requests = 1, share = 1.0 }] }, \
         with 1 to a million requests per batch, and shares that sum to 1",
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
            "0 to 1, or a percentage: write {}, or \"{share}%\"",
            share / 100.0
        )
    } else {
        "0 to 1, such as 0.7, or a percentage, such as \"70%\"".to_owned()
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
