//! What drives a simulation: the table `[load]`.

use std::path::{Path, PathBuf};

use iosonar_raid::Placement;
use iosonar_trace::fit::{Beyond, Fit, Fitter};
use iosonar_trace::{Batch as Rows, Op, Reading, input};
use iosonar_units::{Nanos, Sectors};
use iosonar_workload::{Addresses, ArrivalLaw, Batch, LoadPhase, Size, Workload};
use toml::Spanned;

use super::check::Checker;
use super::{Overrides, Warmup};
use crate::file::{
    AddressesFile, ArrivalsFile, BatchFile, BatchRowFile, ClassFile, HotFile, LoadFile, MixedFile,
    PhaseFile, ScenarioFile, SizeFile, SizeRowFile,
};
use crate::{ArrayModel, ScenarioError};

/// What drives a simulation.
#[derive(Clone, Debug)]
pub enum Load {
    /// Laws.
    Synthetic {
        /// The laws of each class.
        classes: Vec<Workload>,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// Requests that never meet: each starts when the one before is complete and the system is idle.
    Alone {
        /// What requests are like; the arrival law is not looked at.
        workload: Workload,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// Users who wait for their requests.
    Closed {
        /// What requests are like; the arrival law is not looked at.
        workload: Workload,
        /// How many users there are, each with one request at a time.
        outstanding: u32,
        /// The mean of their exponential think times.
        think: Nanos,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// A recording.
    Trace {
        /// The file.
        path: PathBuf,
        /// Which part of it, and how fast.
        reading: Box<Reading>,
        /// What happens to requests beyond the end of the array.
        fitter: Fitter,
    },
}

impl Load {
    /// Mean requests per second; `None` where they are not given beforehand.
    pub fn requests_per_s(&self) -> Option<f64> {
        match self {
            Self::Synthetic { classes, .. } => {
                Some(classes.iter().map(Workload::requests_per_s).sum())
            }
            Self::Alone { .. } | Self::Closed { .. } | Self::Trace { .. } => None,
        }
    }
}

/// What makes the requests of a trace fit the array.
fn fitter(
    check: &Checker<'_>,
    path: &Path,
    overrides: &Overrides,
    data_sectors: u64,
) -> Result<Fitter, ScenarioError> {
    let load_end = match overrides.beyond {
        Beyond::Scale => {
            if path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
                return Err(check.incomplete(
                    "--fit must know how far the load reaches, and so reads it twice: store it in a file",
                ));
            }
            end_of(path, &overrides.reading)?
        }
        Beyond::Refuse | Beyond::Wrap | Beyond::Clip => u64::MAX,
    };
    let fit = Fit {
        beyond: overrides.beyond,
        align: false,
    };
    Ok(Fitter::new(fit, data_sectors, 1, load_end))
}

/// Where the highest request of a load ends.
fn end_of(path: &Path, reading: &Reading) -> Result<u64, ScenarioError> {
    let mut reader = input::open_load(path, reading)?;
    let (mut rows, mut end) = (Rows::default(), 0);
    while reader.next_batch(&mut rows)? > 0 {
        // A flush means the whole device, wherever it is said to be.
        let placed = rows.requests().filter(|request| request.op != Op::Flush);
        end = placed.fold(end, |end, request| end.max(request.end().get()));
    }
    Ok(end)
}

/// The longest run: leaves room for queues in the 584 years that 64 bits of nanoseconds hold.
const LONGEST_RUN_S: f64 = 100.0 * 365.25 * 86_400.0;

/// How many requests of each user of a closed loop are measured at least before its times are taken to be those of a
/// steady state: the first of each finds fewer others than those that follow.
pub const REQUESTS_PER_USER: u64 = 10;

/// The most requests of a run: weeks on the fastest machine.
const MOST_REQUESTS: u64 = 1_000_000_000_000;

/// The most classes: as many as a request's number of its class can tell apart, and be looked at.
const MOST_CLASSES: usize = 1000;

/// What is for traces is refused where the load is synthetic.
fn check_no_changes(check: &Checker<'_>, overrides: &Overrides) -> Result<(), ScenarioError> {
    if !overrides.reading.changes.is_empty() {
        return Err(check.incomplete(
            "--from, --until, --speed and the other changes of a load are for traces, and the load is \
             synthetic: leave them out, or give a --trace",
        ));
    }
    if overrides.beyond != Beyond::Refuse {
        return Err(check.incomplete(
            "--fit, --wrap and --clip are for traces, and the load is synthetic, so it lies within the array: \
             leave them out, or give a --trace",
        ));
    }
    Ok(())
}

/// All users of a closed loop must start.
fn check_users(
    check: &Checker<'_>,
    load: &Load,
    file: &ScenarioFile,
    warmup: Warmup,
) -> Result<(), ScenarioError> {
    let given = file.load.as_ref().and_then(|l| l.requests.as_ref());
    let (
        Load::Closed {
            outstanding,
            requests,
            ..
        },
        Some(given),
    ) = (load, given)
    else {
        return Ok(());
    };
    // The length of a warm-up that is yet to be found is not relied on.
    let certain = match warmup {
        Warmup::Requests(n) => requests.saturating_add(n),
        Warmup::Auto => *requests,
    };
    if certain >= u64::from(*outstanding) {
        return Ok(());
    }
    Err(check.wrong(
        given,
        "load.requests",
        requests,
        format!(
            "at least one for each of the {outstanding} users of load.closed.outstanding, or some would never start, \
             and better {REQUESTS_PER_USER} for each: raise load.requests, or lower load.closed.outstanding"
        ),
    ))
}

pub(super) fn load(
    check: &Checker<'_>,
    file: &ScenarioFile,
    overrides: &Overrides,
    trace: Option<PathBuf>,
    array: &ArrayModel,
    data_sectors: u64,
    warmup: Warmup,
) -> Result<Load, ScenarioError> {
    if let Some(path) = trace {
        let synthetic = |load: &LoadFile| {
            load.requests.is_some()
                || load.closed.is_some()
                || load.class.is_some()
                || laws(load).any()
        };
        if overrides.trace.is_none() && file.load.as_ref().is_some_and(synthetic) {
            return Err(check.incomplete(
                "[load] has a 'trace' and the laws of a synthetic load: leave one out",
            ));
        }
        let fitter = fitter(check, &path, overrides, data_sectors)?;
        return Ok(Load::Trace {
            path,
            reading: Box::new(overrides.reading.clone()),
            fitter,
        });
    }
    let Some(load) = &file.load else {
        return Err(check.incomplete(
            "there is no load: write a table [load] with 'trace' (or give sim a --trace FILE), or with \
             'requests', 'arrivals' and 'size'",
        ));
    };
    check_no_changes(check, overrides)?;
    let block = match &load.block {
        None if array.is_of_ssds() => super::ssd::BLOCK,
        None => array.stripe_unit,
        Some(block) if array.placement == Placement::Random => {
            let expected = "no value: with random placement sizes are counted in stripe units";
            return Err(check.wrong(block, "load.block", block.get_ref(), expected));
        }
        Some(block) => super::array::sectors(check, "load.block", block)?,
    };
    if u64::from(block.get()) > data_sectors {
        return Err(check.incomplete("'load.block' is larger than the array"));
    }
    let load = synthetic(check, load, block, data_sectors)?;
    if matches!(load, Load::Alone { .. }) && array.rebuild.is_some() {
        return Err(check.incomplete(
            "[load] has arrivals = \"alone\" and there is a [rebuild]: the array is not idle while it rebuilds, \
             leave one out",
        ));
    }
    let requests = match &load {
        Load::Synthetic { requests, .. }
        | Load::Alone { requests, .. }
        | Load::Closed { requests, .. } => *requests,
        Load::Trace { .. } => 0,
    };
    let all = match warmup {
        Warmup::Requests(n) => requests.saturating_add(n),
        Warmup::Auto => requests.saturating_mul(2),
    };
    if all > MOST_REQUESTS
        && let Some(given) = file.load.as_ref().and_then(|l| l.requests.as_ref())
    {
        let expected = "at most 10^12, with the requests of the warm-up";
        return Err(match (warmup, &file.warmup_requests) {
            (Warmup::Requests(n), Some(given)) if requests <= MOST_REQUESTS => {
                check.wrong(given, "warmup_requests", n, expected)
            }
            _ => check.wrong(
                given,
                "load.requests",
                format!("{all} with the warm-up"),
                expected,
            ),
        });
    }
    check_users(check, &load, file, warmup)?;
    // Of a closed loop at least the think times pass.
    let slowest = match &load {
        Load::Closed {
            outstanding, think, ..
        } if *think > Nanos::ZERO => Some(f64::from(*outstanding) / think.as_secs_f64()),
        load => load.requests_per_s(),
    };
    if let (Some(rate), Some(given)) = (
        slowest,
        file.load.as_ref().and_then(|l| l.requests.as_ref()),
    ) && all as f64 / rate > LONGEST_RUN_S
    {
        return Err(check.wrong(
            given,
            "load.requests",
            format!("{all} with the warm-up"),
            "so few that the run takes less than 100 years at this rate",
        ));
    }
    Ok(load)
}

/// What a class has for arrivals.
const NOT_ALONE: &str =
    "a law: requests of classes meet each other; \"alone\" is for a load without classes";

/// The arrival law of a load whose requests follow on each other.
const UNUSED: ArrivalLaw = ArrivalLaw::Poisson { per_s: 1.0 };

/// The laws of a class, and the name of their table.
struct Laws<'a> {
    table: &'static str,
    arrivals: Option<&'a Spanned<ArrivalsFile>>,
    batch: Option<&'a Spanned<BatchFile>>,
    size: Option<&'a Spanned<SizeFile>>,
    read_share: Option<&'a Spanned<f64>>,
    addresses: Option<&'a Spanned<AddressesFile>>,
}

fn laws(load: &LoadFile) -> Laws<'_> {
    Laws {
        table: "load",
        arrivals: load.arrivals.as_ref(),
        batch: load.batch.as_ref(),
        size: load.size.as_ref(),
        read_share: load.read_share.as_ref(),
        addresses: load.addresses.as_ref(),
    }
}

fn laws_of_class(class: &ClassFile) -> Laws<'_> {
    Laws {
        table: "load.class",
        arrivals: class.arrivals.as_ref(),
        batch: class.batch.as_ref(),
        size: class.size.as_ref(),
        read_share: class.read_share.as_ref(),
        addresses: class.addresses.as_ref(),
    }
}

impl Laws<'_> {
    fn any(&self) -> bool {
        self.arrivals.is_some()
            || self.batch.is_some()
            || self.size.is_some()
            || self.read_share.is_some()
            || self.addresses.is_some()
    }

    /// The workload, with these arrivals if the class has none of its own.
    fn workload(
        &self,
        check: &Checker<'_>,
        arrivals: Option<ArrivalLaw>,
        block: Sectors,
        data_sectors: u64,
    ) -> Result<Workload, ScenarioError> {
        let missing = |key| {
            let table = self.table;
            check.incomplete(&format!(
                "'{table}.{key}' is missing; a synthetic load has 'requests', 'arrivals' and 'size' \
                 (or give a trace: 'load.trace', or --trace FILE)"
            ))
        };
        let arrivals = match arrivals {
            Some(law) => law,
            None => arrivals_law(check, self.arrivals.ok_or_else(|| missing("arrivals"))?)?,
        };
        let size = self.size.ok_or_else(|| missing("size"))?;
        Ok(Workload {
            arrivals,
            batch: self.batch.map_or(Ok(Batch::One), |b| batch_law(check, b))?,
            size: size_law(check, size, data_sectors / u64::from(block.get()))?,
            block,
            read_share: self.read_share.map_or(Ok(1.0), |s| read_share(check, s))?,
            addresses: self
                .addresses
                .map_or(Ok(Addresses::Uniform), |a| addresses(check, a))?,
            address_space: data_sectors,
        })
    }
}

/// The laws of a synthetic load in blocks of `block`, for an array of `data_sectors`.
fn synthetic(
    check: &Checker<'_>,
    load: &LoadFile,
    block: Sectors,
    data_sectors: u64,
) -> Result<Load, ScenarioError> {
    let requests = match &load.requests {
        None => {
            return Err(check.incomplete(
                "'load.requests' is missing; a synthetic load has 'requests', 'arrivals' and 'size' \
                 (or give a trace: 'load.trace', or --trace FILE)",
            ));
        }
        Some(n) if *n.get_ref() == 0 => {
            return Err(check.wrong(n, "load.requests", 0, "at least 1"));
        }
        Some(n) => *n.get_ref(),
    };
    if let Some(closed) = &load.closed {
        if load.arrivals.is_some() || load.batch.is_some() || load.class.is_some() {
            return Err(check.incomplete(
                "[load] has 'closed' and 'arrivals', 'batch' or classes: users who wait for their \
                 requests have neither",
            ));
        }
        let given = *closed.get_ref();
        let think_ms = given.think_ms.unwrap_or(0.0);
        if !(1..=1_000_000).contains(&given.outstanding) || !(0.0..=1e9).contains(&think_ms) {
            return Err(check.wrong(
                closed,
                "load.closed",
                format!("outstanding = {}, think_ms = {think_ms}", given.outstanding),
                "1 to a million users, and a think time of 0 to 1e9 ms",
            ));
        }
        return Ok(Load::Closed {
            workload: laws(load).workload(check, Some(UNUSED), block, data_sectors)?,
            outstanding: given.outstanding,
            think: Nanos::from_millis_f64(think_ms),
            requests,
        });
    }
    if let Some(arrivals) = &load.arrivals
        && matches!(arrivals.get_ref(), ArrivalsFile::Alone)
        && load.class.is_none()
    {
        if load.batch.is_some() {
            return Err(check.incomplete(
                "[load] has arrivals = \"alone\" and 'batch': requests of a batch meet each other, leave one out",
            ));
        }
        return Ok(Load::Alone {
            workload: laws(load).workload(check, Some(UNUSED), block, data_sectors)?,
            requests,
        });
    }
    let classes = match &load.class {
        None => vec![laws(load).workload(check, None, block, data_sectors)?],
        Some(_) if laws(load).any() => {
            return Err(check.incomplete(
                "[load] has laws of its own and classes: move the laws into a [[load.class]]",
            ));
        }
        Some(classes) if classes.is_empty() || classes.len() > MOST_CLASSES => {
            return Err(check.incomplete("[load] takes 1 to 1000 classes"));
        }
        Some(classes) => classes
            .iter()
            .map(|class| laws_of_class(class).workload(check, None, block, data_sectors))
            .collect::<Result<_, _>>()?,
    };
    Ok(Load::Synthetic { classes, requests })
}

/// Checks the values of an arrival law.
struct ArrivalsCheck<'a> {
    check: &'a Checker<'a>,
    arrivals: &'a Spanned<ArrivalsFile>,
}

impl ArrivalsCheck<'_> {
    fn wrong(&self, seen: String, expected: &str) -> ScenarioError {
        self.check
            .wrong(self.arrivals, "load.arrivals", seen, expected)
    }

    fn refuse<T>(&self, seen: String, expected: &str) -> Result<T, ScenarioError> {
        Err(self.wrong(seen, expected))
    }

    fn rate(&self, per_s: f64) -> Result<f64, ScenarioError> {
        if (1e-9..=1e9).contains(&per_s) {
            return Ok(per_s);
        }
        let expected = "a rate of 1e-9 to 1e9 requests per second";
        self.refuse(format!("per_s = {per_s:?}"), expected)
    }

    fn time(&self, name: &str, seconds: f64) -> Result<f64, ScenarioError> {
        if (1e-9..=1e9).contains(&seconds) {
            return Ok(seconds);
        }
        let expected = "a time above zero, in seconds (at most 1e9)";
        self.refuse(format!("{name} = {seconds}"), expected)
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

fn arrivals_law(
    check: &Checker<'_>,
    arrivals: &Spanned<ArrivalsFile>,
) -> Result<ArrivalLaw, ScenarioError> {
    let law = ArrivalsCheck { check, arrivals };
    Ok(match arrivals.get_ref() {
        ArrivalsFile::Alone => return law.refuse("\"alone\"".into(), NOT_ALONE),
        ArrivalsFile::PoissonPerS(per_s) => ArrivalLaw::Poisson {
            per_s: law.rate(*per_s)?,
        },
        ArrivalsFile::ConstantPerS(per_s) => ArrivalLaw::Constant {
            per_s: law.rate(*per_s)?,
        },
        ArrivalsFile::Phases(phases) => {
            for phase in phases {
                law.time("mean_s", phase.mean_s)?;
                if phase.per_s != 0.0 {
                    law.rate(phase.per_s)?;
                }
            }
            if phases.iter().all(|phase| phase.per_s == 0.0) {
                let expected = "a phase with a rate above zero";
                return law.refuse("phases without arrivals".into(), expected);
            }
            let expected = phases.iter().map(|p| p.per_s * p.mean_s).sum();
            law.often(expected, "a round of the phases")?;
            let phase = |p: &PhaseFile| LoadPhase {
                per_s: p.per_s,
                mean_s: p.mean_s,
            };
            ArrivalLaw::Modulated(phases.iter().map(phase).collect())
        }
        ArrivalsFile::OnOff(given) => {
            if let Some(shape) = given.pareto_shape
                && !(1.05..=100.0).contains(&shape)
            {
                let expected = "1.05 to 100: nearer to 1 the mean is hardly ever reached";
                return law.refuse(format!("pareto_shape = {shape}"), expected);
            }
            law.rate(given.per_s)?;
            law.time("on_s", given.on_s)?;
            law.often(given.per_s * given.on_s, "an on time")?;
            ArrivalLaw::OnOff {
                per_s: law.rate(given.per_s)?,
                on_s: law.time("on_s", given.on_s)?,
                off_s: law.time("off_s", given.off_s)?,
                shape: given.pareto_shape,
            }
        }
        ArrivalsFile::BModel(given) => {
            if !(0.5..=1.0).contains(&given.bias) || given.levels > 40 {
                let seen = format!("bias = {}, levels = {}", given.bias, given.levels);
                return law.refuse(seen, "a bias of 0.5 to 1, at most 40 levels");
            }
            law.rate(given.per_s)?;
            law.time("window_s", given.window_s)?;
            law.often(given.per_s * given.window_s, "a window")?;
            ArrivalLaw::BModel {
                per_s: law.rate(given.per_s)?,
                bias: given.bias,
                window_s: law.time("window_s", given.window_s)?,
                levels: given.levels,
            }
        }
        ArrivalsFile::Noise(given) => {
            if !(0.5..1.0).contains(&given.hurst) || !(0.0..=1.0).contains(&given.variation) {
                let seen = format!("hurst = {}, variation = {}", given.hurst, given.variation);
                let expected = "a Hurst parameter from 0.5 to below 1, a variation of 0 to 1";
                return law.refuse(seen, expected);
            }
            law.rate(given.per_s)?;
            law.time("bin_s", given.bin_s)?;
            law.often(given.per_s * given.bin_s, "a bin")?;
            ArrivalLaw::Noise {
                per_s: law.rate(given.per_s)?,
                hurst: given.hurst,
                variation: given.variation,
                bin_s: law.time("bin_s", given.bin_s)?,
            }
        }
    })
}

fn batch_law(check: &Checker<'_>, batch: &Spanned<BatchFile>) -> Result<Batch, ScenarioError> {
    let fits = |requests: f64| (1.0..=1e6).contains(&requests);
    let seen = match batch.get_ref() {
        BatchFile::Requests(n) if fits(f64::from(*n)) => return Ok(Batch::Requests(*n)),
        BatchFile::GeometricMean(mean) if fits(*mean) => {
            return Ok(Batch::Geometric { mean: *mean });
        }
        BatchFile::Table(rows) => {
            let sum: f64 = rows.iter().map(|row| row.share).sum();
            let shares = rows.iter().all(|row| (0.0..=1.0).contains(&row.share));
            if let Some(row) = rows.iter().find(|row| !fits(f64::from(row.requests))) {
                format!("requests = {}", row.requests)
            } else if shares && (sum - 1.0).abs() < 1e-6 {
                let row = |row: &BatchRowFile| (row.share / sum, row.requests);
                return Ok(Batch::Table(rows.iter().map(row).collect()));
            } else {
                format!("a table whose shares sum to {sum}")
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

/// `most` is how many blocks the array holds.
fn size_law(
    check: &Checker<'_>,
    size: &Spanned<SizeFile>,
    most: u64,
) -> Result<Size, ScenarioError> {
    let fits = |blocks: f64| (1.0..=1e6).contains(&blocks) && blocks <= most as f64;
    let seen = match size.get_ref() {
        SizeFile::Blocks(blocks) if fits(f64::from(*blocks)) => return Ok(Size::Blocks(*blocks)),
        SizeFile::GeometricMeanBlocks(mean) if fits(*mean) => {
            return Ok(Size::GeometricBlocks { mean: *mean });
        }
        SizeFile::Blocks(blocks) => blocks.to_string(),
        SizeFile::GeometricMeanBlocks(mean) => mean.to_string(),
        SizeFile::Table(rows) => {
            let sum: f64 = rows.iter().map(|row| row.share).sum();
            let shares = rows.iter().all(|row| (0.0..=1.0).contains(&row.share));
            if let Some(row) = rows.iter().find(|row| !fits(f64::from(row.blocks))) {
                format!("blocks = {}", row.blocks)
            } else if shares && (sum - 1.0).abs() < 1e-6 {
                let row = |row: &SizeRowFile| (row.share / sum, row.blocks);
                return Ok(Size::Table(rows.iter().map(row).collect()));
            } else {
                format!("a table whose shares sum to {sum}")
            }
        }
    };
    Err(check.wrong(
        size,
        "load.size",
        seen,
        "{ blocks = 4 }, { geometric_mean_blocks = 4.0 } or { table = [{ blocks = 1, share = 1.0 }] }, \
         at least 1 block, at most a million and what the array holds, shares that sum to 1",
    ))
}

fn read_share(check: &Checker<'_>, share: &Spanned<f64>) -> Result<f64, ScenarioError> {
    if (0.0..=1.0).contains(share.get_ref()) {
        Ok(*share.get_ref())
    } else {
        Err(check.wrong(share, "load.read_share", share.get_ref(), "0 to 1"))
    }
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
        AddressesFile::Hot(HotFile { space, requests })
            if space > 0.0 && space <= 1.0 && (0.0..=1.0).contains(&requests) =>
        {
            return Ok(Addresses::Hot { space, requests });
        }
        AddressesFile::Mixed(MixedFile { follow, zipf, used })
            if (0.0..=1.0).contains(&follow)
                && (0.0..=10.0).contains(&zipf)
                && used > 0.0
                && used <= 1.0 =>
        {
            return Ok(Addresses::Mixed {
                follow,
                theta: zipf,
                used,
            });
        }
        AddressesFile::Mixed(MixedFile { follow, zipf, used }) => {
            format!("mixed = {{ follow = {follow}, zipf = {zipf}, used = {used} }}")
        }
        AddressesFile::SequentialRun(run) => format!("sequential_run = {run}"),
        AddressesFile::Zipf(theta) => format!("zipf = {theta}"),
        AddressesFile::Hot(HotFile { space, requests }) => {
            format!("hot = {{ space = {space}, requests = {requests} }}")
        }
    };
    Err(check.wrong(
        given,
        "load.addresses",
        seen,
        "{ sequential_run = 16.0 } (at least 1, or inf), { zipf = 0.9 } (above 0, at most 10) or \
         { mixed = { follow = 0.3, zipf = 0.9 } } (a share; 0 to 10) or { hot = { space = 0.1, requests = 0.9 } } \
         (shares)",
    ))
}
