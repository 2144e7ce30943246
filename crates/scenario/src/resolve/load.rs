//! What drives a simulation: the table `[load]`.

use std::path::{Path, PathBuf};

use iosonar_raid::Placement;
use iosonar_trace::fit::{Beyond, Fit, Fitter};
use iosonar_trace::transform::{Copies, Ratio};
use iosonar_trace::{Batch as Rows, Op, Reading, input};
use iosonar_units::{Nanos, Sectors};
use toml::Spanned;

use super::Overrides;
use super::check::Checker;
use super::laws::{laws, laws_of_class, think_time};
use crate::file::{ArrivalsFile, LoadFile, ScenarioFile};
use crate::source::Pieces;
use crate::words::{Given, Word};
use crate::{ArrayModel, Growth, LoadModel, ScenarioError, Warmup};

/// What makes the requests of a trace fit the array.
fn fitter(
    check: &Checker<'_>,
    path: &Path,
    reading: &Reading,
    beyond: Beyond,
    data_sectors: u64,
) -> Result<Fitter, ScenarioError> {
    let load_end = match beyond {
        Beyond::Scale => {
            if path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
                return Err(check.incomplete(
                    "--fit reads the trace twice, and thus needs a regular file; otherwise, use --wrap or --clip",
                ));
            }
            end_of(path, reading)?
        }
        Beyond::Refuse | Beyond::Wrap | Beyond::Clip => u64::MAX,
    };
    let fit = Fit {
        beyond,
        align: false,
    };
    Ok(Fitter::new(fit, data_sectors, 1, load_end))
}

/// What happens to requests beyond the end: what the command line says, or else the file.
fn beyond(file: &ScenarioFile, overrides: &Overrides) -> Beyond {
    let given = file.load.as_ref().and_then(|load| load.beyond.as_ref());
    match (overrides.beyond, given) {
        (Beyond::Refuse, Some(given)) => given.get_ref().0,
        (beyond, _) => beyond,
    }
}

/// How the file lets a trace grow.
fn growth(check: &Checker<'_>, file: &ScenarioFile) -> Result<Growth, ScenarioError> {
    let mut growth = Growth::default();
    let Some(load) = &file.load else {
        return Ok(growth);
    };
    if let Some(given) = &load.speed {
        let speed = *given.get_ref();
        // As `--speed` reads it, or to six decimals where there are more than that takes.
        let ratio = speed.to_string().parse().ok();
        growth.speed = Some(ratio.or_else(|| Ratio::nearest(speed)).ok_or_else(|| {
            let expected = "a number from 0.000001 to 1000000, such as 2 for twice as fast";
            check.wrong(given, "load.speed", speed, expected)
        })?);
    }
    if let Some(given) = &load.copies {
        let copies = *given.get_ref();
        growth.copies = Some(Copies::new(copies).ok_or_else(|| {
            let expected = format!("1 to {} copies of the trace", Copies::MOST);
            check.wrong(given, "load.copies", copies, expected)
        })?);
    }
    Ok(growth)
}

/// Where the highest request of a load ends.
pub(crate) fn end_of(path: &Path, reading: &Reading) -> Result<u64, ScenarioError> {
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

/// The most classes: as many as the class number of a request can distinguish.
const MOST_CLASSES: usize = 1000;

/// What is for traces is refused where the load is synthetic.
fn check_no_changes(
    check: &Checker<'_>,
    load: &LoadFile,
    overrides: &Overrides,
) -> Result<(), ScenarioError> {
    if let Some(beyond) = &load.beyond {
        let Given(seen) = beyond.get_ref();
        let expected = "no value, as a synthetic load always lies within the array";
        return Err(check.wrong(beyond, "load.beyond", seen.quoted(), expected));
    }
    let expected = "no value: to scale a synthetic load, change its arrival rate (load.rate_per_s or load.arrivals) \
                    or, for a closed load, its number of users (load.closed.outstanding)";
    if let Some(speed) = &load.speed {
        return Err(check.wrong(speed, "load.speed", speed.get_ref(), expected));
    }
    if let Some(copies) = &load.copies {
        return Err(check.wrong(copies, "load.copies", copies.get_ref(), expected));
    }
    if !overrides.reading.changes.is_empty() {
        return Err(check.incomplete(
            "--from, --until, --speed and similar options need a trace, but the load is synthetic: remove these \
             options, or add --trace",
        ));
    }
    if overrides.beyond != Beyond::Refuse {
        return Err(check.incomplete(
            "--fit, --wrap and --clip need a trace, but the load is synthetic: remove these options, or add --trace",
        ));
    }
    Ok(())
}

/// All users of a closed loop must start.
fn check_users(
    check: &Checker<'_>,
    given: &Spanned<u64>,
    outstanding: u32,
    warmup: Warmup,
) -> Result<(), ScenarioError> {
    let requests = *given.get_ref();
    // The length of a warm-up that is yet to be found is not relied on.
    let certain = match warmup {
        Warmup::Requests(n) => requests.saturating_add(n),
        Warmup::Auto => requests,
    };
    if certain >= u64::from(outstanding) {
        return Ok(());
    }
    Err(check.wrong(
        given,
        "load.requests",
        requests,
        format!(
            "at least one for each of the {outstanding} users of load.closed.outstanding, as otherwise some would \
             never start (preferably {REQUESTS_PER_USER} each): increase load.requests, or reduce \
             load.closed.outstanding"
        ),
    ))
}

/// What a load is for.
pub(super) struct Around<'a> {
    pub(super) array: &'a ArrayModel,
    /// How much that holds.
    pub(super) data_sectors: u64,
    pub(super) warmup: Warmup,
}

pub(super) fn load(
    check: &Checker<'_>,
    file: &ScenarioFile,
    overrides: &Overrides,
    trace: Option<PathBuf>,
    around: &Around<'_>,
) -> Result<LoadModel, ScenarioError> {
    let &Around {
        array,
        data_sectors,
        ..
    } = around;
    if let Some(path) = trace {
        let synthetic = |load: &LoadFile| {
            load.requests.is_some()
                || load.closed.is_some()
                || load.class.is_some()
                || laws(load).any()
        };
        if overrides.trace.is_none() && file.load.as_ref().is_some_and(synthetic) {
            return Err(check.incomplete(
                "[load] has both a 'trace' and keys of a synthetic load: remove one or the other",
            ));
        }
        let beyond = beyond(file, overrides);
        let growth = growth(check, file)?;
        let mut reading = overrides.reading.clone();
        reading.changes.splice(..0, growth.changes());
        let other = overrides.alternative.as_ref();
        reading
            .changes
            .extend(other.and_then(|other| other.change.clone()));
        let fitter = fitter(check, &path, &reading, beyond, data_sectors)?;
        return Ok(LoadModel::Trace {
            path,
            growth,
            reading: Box::new(reading),
            fitter,
        });
    }
    let Some(load) = &file.load else {
        return Err(ScenarioError::NoLoad {
            path: check.path.to_owned(),
        });
    };
    check_no_changes(check, load, overrides)?;
    let block = match &load.block {
        None if array.placement == Placement::Random => array.stripe_unit,
        None => match super::sizes::common_block(check, load)? {
            Some(block) => block,
            None if array.is_of_ssds() => super::ssd::BLOCK,
            None => array.stripe_unit,
        },
        Some(block) if array.placement == Placement::Random => {
            let expected = "no value, as sizes are in stripe units with random placement";
            return Err(check.wrong(block, "load.block", block.get_ref(), expected));
        }
        Some(block) => super::array::sectors(check, "load.block", block)?,
    };
    if u64::from(block.get()) > data_sectors {
        return Err(check.incomplete("'load.block' is larger than the array"));
    }
    let model = synthetic(check, load, block, data_sectors)?;
    check_sizes(check, &model, array)?;
    if matches!(model, LoadModel::Alone { .. }) && array.rebuild.is_some() {
        return Err(check.incomplete(
            "[load] has arrivals = \"alone\", but the array is never idle during a [rebuild]: remove one of the two",
        ));
    }
    if matches!(model, LoadModel::Alone { .. }) && !array.events.is_empty() {
        return Err(check.incomplete(
            "[[event]] cannot be used with arrivals = \"alone\", which has no clock: remove one of the two",
        ));
    }
    if let Some(given) = &load.requests {
        check_length(check, file, given, &model, around.warmup)?;
    }
    Ok(model)
}

/// Requests that are split into too many pieces take all memory.
fn check_sizes(
    check: &Checker<'_>,
    load: &LoadModel,
    array: &ArrayModel,
) -> Result<(), ScenarioError> {
    for shape in load.shapes() {
        for op in [Op::Read, Op::Write] {
            let mean = shape.size_of(op).mean() * f64::from(shape.block.get());
            if let Some(problem) = Pieces::of(array).problem(op, mean as u64) {
                let problem = format!("a request of 'load.size' of {problem}: use a smaller size");
                return Err(check.incomplete(&problem));
            }
        }
    }
    Ok(())
}

/// Runs must end, and within the time that 64 bits of nanoseconds hold.
fn check_length(
    check: &Checker<'_>,
    file: &ScenarioFile,
    given: &Spanned<u64>,
    load: &LoadModel,
    warmup: Warmup,
) -> Result<(), ScenarioError> {
    let requests = *given.get_ref();
    let all = match warmup {
        Warmup::Requests(n) => requests.saturating_add(n),
        Warmup::Auto => requests.saturating_mul(2),
    };
    let with_warmup = format!("{all} including the warm-up");
    if all > MOST_REQUESTS {
        let expected = "at most 10^12, including warm-up requests";
        return Err(match (warmup, &file.warmup_requests) {
            (Warmup::Requests(n), Some(given)) if requests <= MOST_REQUESTS => {
                check.wrong(given, "warmup_requests", n, expected)
            }
            _ => check.wrong(given, "load.requests", with_warmup, expected),
        });
    }
    let mut slowest = load.requests_per_s();
    if let LoadModel::Closed {
        outstanding, think, ..
    } = load
    {
        check_users(check, given, *outstanding, warmup)?;
        // Of a closed loop at least the think times pass.
        let think = think.mean();
        slowest = (think > Nanos::ZERO).then(|| f64::from(*outstanding) / think.as_secs_f64());
    }
    if slowest.is_some_and(|rate| all as f64 / rate > LONGEST_RUN_S) {
        let expected = "few enough for the run to take less than 100 years at this rate";
        return Err(check.wrong(given, "load.requests", with_warmup, expected));
    }
    Ok(())
}

/// The laws of a synthetic load in blocks of `block`, for an array of `data_sectors`.
fn synthetic(
    check: &Checker<'_>,
    load: &LoadFile,
    block: Sectors,
    data_sectors: u64,
) -> Result<LoadModel, ScenarioError> {
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
        let others = [
            ("arrivals", load.arrivals.is_some()),
            ("rate_per_s", load.rate_per_s.is_some()),
            ("batch", load.batch.is_some()),
            ("class", load.class.is_some()),
        ];
        if let Some((other, _)) = others.into_iter().find(|(_, is_there)| *is_there) {
            return Err(check.incomplete(&format!(
                "[load] combines 'closed' with '{other}': remove one of them (--set KEY= removes a key)"
            )));
        }
        let outstanding = closed.get_ref().outstanding;
        if !(1..=1_000_000).contains(&outstanding) {
            let seen = format!("outstanding = {outstanding}");
            return Err(check.wrong(closed, "load.closed", seen, "1 to a million users"));
        }
        return Ok(LoadModel::Closed {
            shape: laws(load).shape(check, block, data_sectors)?,
            outstanding,
            think: think_time(check, closed)?,
            requests,
        });
    }
    if let Some(arrivals) = &load.arrivals
        && matches!(arrivals.get_ref(), ArrivalsFile::Alone)
        && load.class.is_none()
    {
        if load.rate_per_s.is_some() {
            return Err(check.incomplete(
                "[load] has both arrivals = \"alone\" and 'rate_per_s', but requests that never overlap have no rate: \
                 remove one of the two",
            ));
        }
        if load.batch.is_some() {
            return Err(check.incomplete(
                "[load] has both arrivals = \"alone\" and 'batch', but the requests of a batch overlap: remove one of \
                 the two",
            ));
        }
        return Ok(LoadModel::Alone {
            shape: laws(load).shape(check, block, data_sectors)?,
            requests,
        });
    }
    let classes = match &load.class {
        None => vec![laws(load).workload(check, block, data_sectors)?],
        Some(_) if laws(load).any() => {
            return Err(check.incomplete(
                "[load] has both classes and keys of a single load: move these into a [[load.class]] table",
            ));
        }
        Some(classes) if classes.is_empty() || classes.len() > MOST_CLASSES => {
            return Err(check.incomplete("[load] must have 1 to 1000 classes"));
        }
        Some(classes) => classes
            .iter()
            .map(|class| laws_of_class(class).workload(check, block, data_sectors))
            .collect::<Result<_, _>>()?,
    };
    Ok(LoadModel::Synthetic { classes, requests })
}
