//! Setting a replay up, and putting together what it found out.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use iosonar_trace::fit::Fitter;
use iosonar_trace::transform::{Change, beginning};
use iosonar_trace::{Reading, TraceError, TraceWriter};
use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::engine::{self, Chosen, Setup, SimulatedDevice, ThreadPool};
use crate::error::Failure;
use crate::fake::{Fake, FakeOf};
use crate::feeder::{Fed, Feeder, Preparation, feeder};
use crate::lane::{Bounds, Lane, MOST_LANES, MOST_PLACES, Parts};
use crate::pacing::{self, Priority, Style, granted};
use crate::results::{Counts, results};
use crate::scan::LONGEST_REQUEST;
use crate::session::{Ended, Session, together};
use crate::shared::{Shared, Stop};
use crate::summary::TargetSummary;
use crate::verify::{Findings, TableLog, Verifier, new_run, run_on_target};
use crate::watch::Watch;
use crate::zones::Zones;
use crate::{
    EngineKind, InFlightLimit, Options, Progress, ReplayError, Scan, Summary, Target, Verdict,
    Writes,
};

/// Of two, four and sixteen threads that take turns, four are the fewest that are seldom late together.
const HELPERS: usize = 3;

/// What one target is given to do.
#[derive(Clone, Debug)]
pub struct Load {
    /// The trace.
    pub path: PathBuf,
    /// How it is read and changed. Time zero of the replay is the beginning of its window.
    pub reading: Reading,
    /// What is in it.
    pub scan: Scan,
}

impl Load {
    /// Reads the load at `path` once, to find out what is in it.
    ///
    /// # Errors
    /// As [`Scan::of`].
    pub fn scanned(path: &Path, reading: &Reading, writes: Writes) -> Result<Self, ReplayError> {
        Ok(Self {
            path: path.to_owned(),
            reading: reading.clone(),
            scan: Scan::of(path, reading, writes)?,
        })
    }

    /// The requests of the load at `path` that start within `most` of its beginning: those that a replay of that
    /// length can start. If there are more, the replay ends early ([`Scan::goes_on`]). A stream is not read
    /// beforehand, so it is not cut.
    ///
    /// # Errors
    /// As [`Scan::of`].
    pub fn scanned_within(
        path: &Path,
        reading: &Reading,
        writes: Writes,
        most: Nanos,
    ) -> Result<Self, ReplayError> {
        let end = beginning(&reading.changes).saturating_add(most);
        let scan = Scan::until(path, reading, writes, end)?;
        let mut reading = reading.clone();
        if scan.goes_on {
            reading.changes.push(Change::Select {
                from: Nanos::ZERO,
                until: end,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            reading,
            scan,
        })
    }
}

/// Replays each of `loads` on the target with the same index, all against one clock. [`Scan::fits`] has
/// found each fit. Records go to `records` in the order of completion, with the target's index as their device. `devices` are
/// those that [`EngineKind::Simulate`] asks, one for each target. The replay ends early when `stop` is
/// asked: what is in flight is waited for, and everything measured is kept.
///
/// # Errors
/// If the engine cannot be set up or fails, a load changed since it was scanned, or tables cannot be
/// kept. What was measured until then has been written if it could be.
#[allow(clippy::too_many_arguments, clippy::too_many_lines)] // From the targets to the summary, in order.
pub fn replay(
    loads: &[Load],
    targets: &[Target],
    devices: Vec<Box<dyn SimulatedDevice>>,
    options: &Options,
    records: Option<Box<dyn TraceWriter>>,
    stop: &Stop,
    progress: &Progress,
) -> Result<Summary, ReplayError> {
    check_counts(loads, targets, devices.len(), options)?;
    refuse_existing_logs(targets.len(), options)?;
    let engine_error = |action| move |source| of_all(targets, action, source);
    if options.engine.is_real() {
        targets.iter().try_for_each(Target::begin_zones)?;
    }
    let files: Vec<_> = targets.iter().filter_map(Target::file).collect();
    let (engine, engine_notes) = engine::resolve(options.engine, &files, options);
    let zero = beginning(&loads[0].reading.changes);
    let threads = threads(options, targets.len());
    let (collector, senders) = results(threads, zero);
    let mut notes = Vec::new();
    let (lanes, feeders) = laid_out(loads, targets, options, engine, threads, &mut notes)?;
    let places: Vec<_> = lanes
        .iter()
        .map(|(_, bounds)| (bounds.in_flight, options.in_flight_limit(engine, bounds)))
        .collect();
    let goes_on = loads.iter().any(|load| load.scan.goes_on);
    let discards = loads
        .iter()
        .any(|load| load.scan.discards > 0 || !load.scan.is_known);
    let shared = Shared::new(options, stop, progress, threads);
    let helpers = helpers(options, engine);
    let appends = targets.iter().map(Target::appends).collect();
    let dealt = deal(lanes, devices, &files, appends, threads).into_iter();
    let sessions = dealt
        .zip(senders)
        .enumerate()
        .map(|(number, (share, records))| {
            let setup = Setup {
                files: share.files,
                zones: share.appends,
                discards,
                in_flight: share.lanes.iter().map(|(_, bounds)| bounds.total).sum(),
                ring: options.ring,
                sync: options.sync,
                regions: share
                    .lanes
                    .iter()
                    .flat_map(|(lane, _)| lane.regions())
                    .collect(),
            };
            let lanes = share.lanes.into_iter().map(|(lane, _)| lane).collect();
            let pacing = options.pacing.of_thread(number, threads);
            let session = Session::new(&shared, pacing, lanes, goes_on, records, helpers);
            (session, setup, share.devices)
        });
    let sessions: Vec<_> = sessions.collect();

    let measured_from = zero.saturating_add(options.warmup);
    let collect = move || collector.run(records, measured_from, progress);
    let run = |sessions| run(sessions, engine, &shared, feeders, loads, collect);
    let Outcome {
        sessions,
        counts,
        written,
        fed,
    } = run(sessions).map_err(engine_error("start a thread"))?;
    let mut ended = Vec::with_capacity(threads);
    for outcome in sessions {
        let (outcome, of_thread) = outcome.map_err(engine_error("set up the engine"))?;
        outcome.map_err(|failure| broken_off(targets, failure))?;
        ended.push(of_thread);
    }
    let ended = together(ended);
    let mut summary = summarise(loads, targets, counts, ended, &places, fed);
    notes.extend(engine_notes);
    summary.notes.splice(0..0, notes);
    summary.warmup = options.warmup;
    for target in targets.iter().filter(|t| t.was_opened_by_another()) {
        summary.notes.push(format!(
            "another process wanted to open {} during the replay, and had to wait: it may hold it now",
            target.path().display()
        ));
    }
    summary.records_error = written.err().map(|e| e.to_string());
    let writes = |load: &Load| !load.scan.is_known || load.scan.harmless < load.scan.requests;
    summary.is_verified = options.verification.is_tagging() && loads.iter().any(writes);
    if summary.completed == 0 {
        summary.verdict = Verdict::NotJudged;
    }
    summary.max_dropped = options.max_dropped;
    if !options.engine.is_real() {
        let fake = Fake::NoTarget {
            engine: summary.engine,
        };
        summary.fakes.insert(0, FakeOf { target: None, fake });
    }
    Ok(summary)
}

/// How a replay went, thread by thread.
struct Outcome<'a> {
    sessions: Vec<std::io::Result<(Result<(), Failure>, Ended<'a>)>>,
    counts: Counts,
    written: Result<(), TraceError>,
    fed: Vec<Fed>,
}

/// A session with what its engine is set up for.
type Prepared<'s, 'a> = (Session<'s, 'a>, Setup<'s>, Vec<Box<dyn SimulatedDevice>>);

/// Runs all threads of a replay to their ends.
fn run<'a>(
    sessions: Vec<Prepared<'_, 'a>>,
    engine: EngineKind,
    shared: &Shared<'_>,
    feeders: Feeders,
    loads: &[Load],
    collect: impl FnOnce() -> (Counts, Result<(), TraceError>) + Send,
) -> std::io::Result<Outcome<'a>> {
    thread::scope(|scope| {
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let several = loads.len() > 1;
        let feeding = feeders
            .into_iter()
            .enumerate()
            .map(|(number, (feeder, preparation))| {
                let device = several.then_some(number as u16);
                // Who reads a stream may wait for it for ever, so nobody waits for him.
                thread("feeder").spawn(move || feeder.run(preparation, device))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let collecting = thread("collector").spawn_scoped(scope, collect)?;
        // They wait for each other. If one cannot be made, its part in the start is dropped, and the others end.
        let sessions: Vec<_> = sessions
            .into_iter()
            .map(|session| (session, shared.arrival()))
            .collect();
        let mut running = Vec::with_capacity(sessions.len());
        for ((session, setup, devices), arrival) in sessions {
            // Pinning and real-time scheduling are for these threads alone, and a ring is for the thread
            // that made it.
            running.push(thread("replay").spawn_scoped(scope, move || {
                let (outcome, mut ended) = match engine::set_up(engine, &setup, devices)? {
                    Chosen::Uring(engine) => session.run(*engine, arrival),
                    Chosen::Passthrough(engine) => session.run(*engine, arrival),
                    Chosen::Sync(engine) => session.run(engine, arrival),
                    Chosen::Threads(engine) => session.run(engine, arrival),
                    Chosen::Dry(engine) => session.run(engine, arrival),
                    Chosen::Simulated(engine) => session.run(engine, arrival),
                };
                // Without their receivers, the feeders end.
                ended.lanes.iter_mut().for_each(Lane::hang_up);
                Ok((outcome, ended))
            })?);
        }
        let sessions = running.into_iter().map(|thread| joined(thread.join()));
        let sessions = sessions.collect();
        let (counts, written) = joined(collecting.join());
        let fed = feeding
            .into_iter()
            .zip(loads)
            .map(|(feeder, load)| {
                if load.scan.is_known || feeder.is_finished() {
                    joined(feeder.join())
                } else {
                    Fed::default()
                }
            })
            .collect();
        Ok(Outcome {
            sessions,
            counts,
            written,
            fed,
        })
    })
}

/// An error that concerns all targets.
fn of_all(targets: &[Target], action: &'static str, source: std::io::Error) -> ReplayError {
    ReplayError::Engine {
        targets: targets.iter().map(|t| t.path().to_owned()).collect(),
        action,
        source,
    }
}

/// Why a session broke off, with the target that it is of.
fn broken_off(targets: &[Target], failure: Failure) -> ReplayError {
    match failure {
        Failure::Engine(source) => of_all(targets, "go on with the replay", source),
        Failure::Target {
            number,
            action,
            source,
        } => ReplayError::Io {
            path: targets[number as usize].path().to_owned(),
            action,
            source,
        },
        Failure::Load(error) => error.into(),
    }
}

/// The lanes of the targets, each with its bounds.
type Lanes<'a> = Vec<(Lane<'a>, Bounds)>;

/// What the threads that read the loads do.
type Feeders = Vec<(Feeder, Preparation)>;

/// A lane for each target, and who feeds it.
fn laid_out<'a>(
    loads: &[Load],
    targets: &[Target],
    options: &'a Options,
    engine: EngineKind,
    threads: usize,
    notes: &mut Vec<String>,
) -> Result<(Lanes<'a>, Feeders), ReplayError> {
    let (mut feeders, mut lanes) = (Vec::new(), Vec::new());
    let zero = beginning(&loads[0].reading.changes);
    let run = new_run();
    for (number, (load, target)) in loads.iter().zip(targets).enumerate() {
        let (feeder, feed) = feeder();
        let preparation = preparation(load, target, options, zero);
        let longest = preparation.longest.bytes().get() as usize;
        let bounds = bounds(options, engine, longest, loads.len(), notes);
        let run = run_on_target(run, number as u32);
        let verifier = verifier(target, options, run, number)?;
        let parts = Parts {
            target: number as u32,
            number: (number / threads) as u32,
            options,
            zero,
            bounds,
            feed,
            longest,
            writes: options.writes == Writes::Do && load.scan.harmless < load.scan.requests
                || !load.scan.is_known,
            verifier,
            zones: ordered_zones(target, options),
            is_stream: !load.scan.is_known,
            block_sectors: block_sectors(target),
            one_by_one: engine == EngineKind::Sync,
        };
        let lane = Lane::new(parts).map_err(|source| ReplayError::Io {
            path: target.path().to_owned(),
            action: "allocate memory for the requests' data",
            source,
        })?;
        lanes.push((lane, bounds));
        feeders.push((feeder, preparation));
    }
    Ok((lanes, feeders))
}

/// The zones of a target whose writes must be submitted one after the other. A device that is sent zone appends chooses the
/// places itself; but what is tagged carries its place, which must be known before.
fn ordered_zones(target: &Target, options: &Options) -> Option<Zones> {
    let plan = target.zone_plan()?;
    let chosen_by_the_device = plan.append && target.is_passthrough();
    (!chosen_by_the_device || options.verification.is_tagging()).then(|| plan.zones.clone())
}

/// How many threads submit: as many as there are targets, and a processor is left for what else there is to do.
fn threads(options: &Options, targets: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = options
        .threads
        .map_or(processors - 1, |threads| threads.get() as usize);
    threads.clamp(1, targets)
}

/// How many threads take turns with each that submits: some where it is not ahead of others, and is not waited for by a
/// ring, which wants to have one thread.
fn helpers(options: &Options, engine: EngineKind) -> usize {
    let pacing = &options.pacing;
    let helps = engine == EngineKind::Sync
        && pacing.style == Style::SleepThenSpin
        && matches!(granted(pacing), Priority::Slice | Priority::Normal);
    if helps { HELPERS } else { 0 }
}

/// What one thread does.
#[derive(Default)]
struct Share<'f, 'a> {
    lanes: Lanes<'a>,
    devices: Vec<Box<dyn SimulatedDevice>>,
    files: Vec<&'f File>,
    appends: Vec<Option<Zones>>,
}

/// Deals the targets to the threads in turn.
fn deal<'f, 'a>(
    lanes: Lanes<'a>,
    devices: Vec<Box<dyn SimulatedDevice>>,
    files: &[&'f File],
    appends: Vec<Option<Zones>>,
    threads: usize,
) -> Vec<Share<'f, 'a>> {
    let mut shares: Vec<Share<'f, 'a>> = (0..threads).map(|_| Share::default()).collect();
    for (number, file) in files.iter().enumerate() {
        shares[number % threads].files.push(file);
    }
    for (number, zones) in appends.into_iter().enumerate() {
        shares[number % threads].appends.push(zones);
    }
    for (number, lane) in lanes.into_iter().enumerate() {
        shares[number % threads].lanes.push(lane);
    }
    for (number, device) in devices.into_iter().enumerate() {
        shares[number % threads].devices.push(device);
    }
    shares
}

/// What a thread returned; its panic is ours.
fn joined<T>(outcome: thread::Result<T>) -> T {
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn check_counts(
    loads: &[Load],
    targets: &[Target],
    devices: usize,
    options: &Options,
) -> Result<(), ReplayError> {
    let refuse = |reason: &str| Err(ReplayError::Refused(reason.to_owned()));
    if loads.is_empty() || loads.len() != targets.len() {
        return refuse("a replay needs a target for each load, and at least one");
    }
    if loads.len() > MOST_LANES as usize {
        return Err(ReplayError::Refused(format!(
            "a replay drives at most {MOST_LANES} targets (got {}): leave some out, as with --max-targets {MOST_LANES}",
            loads.len()
        )));
    }
    if options.engine == EngineKind::Simulate && devices != targets.len() {
        return refuse("a simulated replay needs a device for each target");
    }
    pacing::check(&options.pacing).map_err(ReplayError::Refused)?;
    options.suit(targets)?;
    for (load, target) in loads.iter().zip(targets) {
        target.check_zone_plan(load, options)?;
    }
    if options.engine.is_real() && targets.iter().any(|target| target.file().is_none()) {
        return refuse("only the engines 'dry' and 'simulate' do without a target");
    }
    Ok(())
}

/// The target's blocks, in sectors.
fn block_sectors(target: &Target) -> u64 {
    (target.block().get() / SECTOR_BYTES).max(1)
}

/// What makes the requests of a load fit its target.
pub fn fitter(load: &Load, target: &Target, options: &Options) -> Fitter {
    Fitter::new(
        options.fit,
        target.size().get() / SECTOR_BYTES,
        block_sectors(target),
        if load.scan.is_known {
            load.scan.end.get()
        } else {
            u64::MAX
        },
    )
}

fn preparation(load: &Load, target: &Target, options: &Options, zero: Nanos) -> Preparation {
    let fitter = fitter(load, target, options);
    Preparation {
        path: load.path.clone(),
        reading: load.reading.clone(),
        scan: load.scan.clone(),
        writes: options.writes,
        longest: fitter.longest(load.scan.longest, LONGEST_REQUEST),
        fitter,
        block: block_sectors(target),
        appends: target
            .zone_plan()
            .filter(|plan| plan.append)
            .map(|plan| plan.zones.clone()),
        // All targets have one clock, wherever in its load each begins.
        later: beginning(&load.reading.changes).saturating_sub(zero),
        device: None,
    }
}

/// How many requests may be where, so that the buffers keep to their bound.
fn bounds(
    options: &Options,
    engine: EngineKind,
    longest: usize,
    lanes: usize,
    notes: &mut Vec<String>,
) -> Bounds {
    // What waits for a thread would look like a slow device.
    let places = match engine {
        EngineKind::Threads => (ThreadPool::MOST_THREADS / lanes as u32).max(1),
        _ => 1 << 16,
    };
    let most = options.in_flight.min(places);
    let total = options
        .in_flight_total
        .unwrap_or(most.saturating_mul(2))
        .clamp(1, places);
    // Reads and writes have buffers of their own.
    let kinds = if options.writes == Writes::Do { 2 } else { 1 };
    let each = kinds * longest.next_multiple_of(4096).max(4096) as u64;
    let fit =
        (options.buffer_memory.get() / lanes as u64 / each).clamp(1, u64::from(u32::MAX)) as u32;
    // Half of the places are for requests that were pushed back.
    let in_flight = most.min(total).min((fit / 2).max(1));
    if in_flight < most.min(total) {
        notes.push(format!(
            "at most {in_flight} requests are in flight instead of {most}: the longest takes {each} bytes, \
             and --buffer-memory is {}",
            options.buffer_memory
        ));
    }
    let total = total.min(fit).max(in_flight);
    let accepted = options
        .bottleneck
        .unwrap_or(in_flight.saturating_mul(8))
        .clamp(1, MOST_PLACES);
    Bounds {
        in_flight: in_flight.min(accepted),
        total,
        accepted: accepted.max(1),
    }
}

/// Where the log of tables of the target with this number is kept: several targets have one each.
fn log_path(path: &Path, number: usize) -> PathBuf {
    match number {
        0 => path.to_owned(),
        n => PathBuf::from(format!("{}.{n}", path.display())),
    }
}

fn log_exists(path: &Path) -> ReplayError {
    ReplayError::Refused(format!(
        "{} is there already, and a log of tables is a new file: take another name for it",
        path.display()
    ))
}

/// Refuses a replay one of whose logs of tables cannot be a new file, before any of them is created.
fn refuse_existing_logs(targets: usize, options: &Options) -> Result<(), ReplayError> {
    let Some(path) = &options.verification.keep_tables else {
        return Ok(());
    };
    let mut paths = (0..targets).map(|number| log_path(path, number));
    match paths.find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(log_exists(&path)),
        None => Ok(()),
    }
}

fn verifier(
    target: &Target,
    options: &Options,
    run: u64,
    number: usize,
) -> Result<Option<Verifier>, ReplayError> {
    let verification = &options.verification;
    if !verification.is_tagging() {
        return Ok(None);
    }
    let log = match &verification.keep_tables {
        None => None,
        Some(path) => {
            let path = log_path(path, number);
            let sectors = target.size().get() / SECTOR_BYTES;
            let log = TableLog::create(&path, run, sectors, verification.durable_tables);
            Some(log.map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => log_exists(&path),
                _ => ReplayError::Io {
                    path,
                    action: "begin a log of tables",
                    source,
                },
            })?)
        }
    };
    let write_through = target.is_write_through();
    Ok(Some(Verifier::new(verification, run, log, write_through)))
}

/// The summary of a target without its contents.
fn target_summary(target: &Target, verdict: Verdict, watch: &Watch, fed: Fed) -> TargetSummary {
    let [done, failed] = watch.done_and_failed();
    TargetSummary {
        path: target.path().to_owned(),
        verdict,
        done,
        failed,
        most_in_flight: watch.most_in_flight,
        most_pushed_back: watch.most_pushed_back,
        episodes: watch.episodes.clone(),
        overload_rate: watch.overload_rate(),
        fitted: fed.fitted,
        remarks: fed.remarks,
        findings: Findings::default(),
        tables: None,
        run: 0,
    }
}

#[allow(clippy::too_many_lines)] // A field a line.
fn summarise(
    loads: &[Load],
    targets: &[Target],
    counts: Counts,
    ended: Ended<'_>,
    places: &[(u32, Option<InFlightLimit>)],
    fed: Vec<Fed>,
) -> Summary {
    let Ended {
        engine,
        remarks,
        lanes,
        at,
        early,
        abandoned,
        record_stalls,
        processor_time,
        priority,
        interference,
        self_check,
    } = ended;
    let recorded = counts.completed
        + counts.skipped
        + counts.dropped
        + counts.cancelled
        + counts.errors
        + counts.short;
    let known = loads.iter().all(|load| load.scan.is_known);
    let requests = match known {
        true => loads.iter().map(|load| load.scan.requests).sum(),
        false => recorded + counts.missed,
    };
    let mut summary = Summary {
        engine,
        self_check,
        requests,
        completed: counts.completed,
        skipped: counts.skipped,
        dropped: counts.dropped,
        cancelled: counts.cancelled,
        missed: requests.saturating_sub(recorded),
        verify_failed: counts.verify_failed,
        warming_up: counts.warming_up,
        errors: counts.errors,
        first_errno: counts.first_error.map(|(errno, _)| errno),
        first_error_on: counts.first_error_on(targets.len()),
        short: counts.short,
        early,
        abandoned,
        record_stalls,
        processor_time,
        priority,
        interference,
        on_time: counts.on_time,
        intended: loads
            .iter()
            .map(|load| {
                load.scan
                    .last_start
                    .saturating_sub(beginning(&load.reading.changes))
            })
            .max()
            .unwrap_or_default(),
        sectors: counts.sectors,
        reads: counts.reads,
        writes: counts.writes,
        flushes: counts.flushes,
        others: counts.others,
        notes: remarks,
        ..Summary::default()
    };
    for ((i, mut lane), fed) in lanes.into_iter().enumerate().zip(fed) {
        let (most, limit) = places[i];
        let verdict = lane.watch.verdict(at, most as usize, limit);
        let watch = &lane.watch;
        summary.verdict = match i {
            0 => verdict,
            _ => summary.verdict.or(verdict),
        };
        summary.pushed_back += watch.pushed_back;
        summary.ordered_waits += watch.ordered_waits;
        summary.elapsed = summary.elapsed.max(watch.last_completion);
        summary.own_lateness.merge(&watch.own_lateness);
        summary
            .fakes
            .extend(target_fakes(&targets[i], &lane, targets.len()));
        let mut target = target_summary(&targets[i], verdict, watch, fed);
        if let Some(verifier) = lane.take_verifier() {
            let final_pass = verifier.has_final_pass();
            let (tables, findings, run, log_error) = verifier.into_parts();
            if let Some(e) = log_error {
                summary
                    .notes
                    .push(format!("the log of tables is not complete: {e}"));
                summary.tables_lost = true;
            }
            (target.findings, target.run) = (findings, run);
            target.tables = final_pass.then_some(tables);
        }
        summary.targets.push(target);
    }
    summary
}

fn target_fakes<'a>(
    target: &'a Target,
    lane: &Lane<'_>,
    targets: usize,
) -> impl Iterator<Item = FakeOf> + use<'a> {
    let zeros = lane
        .contents
        .only_zeros()
        .filter(|_| target.device_number().is_some());
    let zeros = zeros.map(|places| Fake::OnlyZeros { places });
    let of = (targets > 1).then(|| target.path().to_owned());
    let fakes = target.fakes().iter().copied().chain(zeros);
    fakes.map(move |fake| FakeOf {
        target: of.clone(),
        fake,
    })
}
