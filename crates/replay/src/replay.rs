//! Setting a replay up, and putting together what it found out.

mod outcome;
mod table_logs;

use std::fs::File;
use std::num::NonZeroUsize;

use iosonar_trace::transform::beginning;
use iosonar_trace::{TraceError, TraceWriter};
use iosonar_units::Nanos;

use crate::bounds::{Bounds, MOST_LANES};
use crate::engine::{self, Chosen, Setup, SimulatedDevice};
use crate::error::Failure;
use crate::feeder::{Fed, Feeder, Preparation, feeder};
use crate::lane::{Lane, Parts};
use crate::load::{block_sectors, fitter};
use crate::note::Note;
use crate::os::thread;
use crate::pacing::{self, Style, ThreadPriority, granted};
use crate::results::{Counts, results};
use crate::scan::LONGEST_REQUEST;
use crate::session::{Session, together};
use crate::shared::{Control, Shared};
use crate::verify::{new_run, run_on_target};
use crate::zone_plan::writes;
use crate::zones::Zones;
use crate::{EngineKind, Load, Options, ReplayError, Summary, Target};
use outcome::{ThreadsEnded, mark, summarise};
use table_logs::{refuse_existing_logs, verifier};

/// Of two, four and sixteen threads that take turns, four are the fewest that are seldom late together.
const HELPERS: usize = 3;

/// Replays each of `loads` on the target with the same index, all against one clock. [`Scan::fits`](crate::Scan::fits) has
/// found each fit. Records go to `records` in the order of completion, with the target's index as their device. `devices` are
/// those that [`EngineKind::Simulate`] asks, one for each target. The replay ends early when it is
/// asked to stop: what is in flight is waited for, and everything measured is kept.
///
/// # Errors
/// If the engine cannot be set up or fails, a load changed since it was scanned, or tables cannot be
/// kept. What was measured until then has been written if it could be.
pub fn replay(
    loads: &[Load],
    targets: &[Target],
    devices: Vec<Box<dyn SimulatedDevice>>,
    options: &Options,
    records: Option<Box<dyn TraceWriter>>,
    Control { stop, progress }: Control<'_>,
) -> Result<Summary, ReplayError> {
    check_counts(loads, targets, devices.len(), options)?;
    refuse_existing_logs(targets.len(), options)?;
    let engine_error = |action| move |source| of_all(targets, action, source);
    if options.engine.is_real() {
        targets.iter().try_for_each(Target::begin_zones)?;
    }
    let files: Vec<_> = targets.iter().filter_map(Target::file).collect();
    let (engine, engine_notes) = options.engine_for(&files);
    let zero = beginning(&loads[0].reading.changes);
    let threads = threads(options, targets.len());
    let (collector, senders) = results(threads, zero);
    let mut notes = Vec::new();
    let (lanes, feeders) = laid_out(loads, targets, options, engine, threads, &mut notes)?;
    let places: Vec<_> = lanes
        .iter()
        .map(|(_, bounds)| (bounds.in_flight, bounds.in_flight_limit(options, engine)))
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
            let (setup, lanes, devices) = share.set_up(options, discards);
            let pacing = options.pacing.of_thread(number, threads);
            let session = Session::new(&shared, pacing, lanes, goes_on, records, helpers);
            (session, setup, devices)
        });
    let sessions: Vec<_> = sessions.collect();

    let measured_from = zero.saturating_add(options.warmup);
    let collect = move || collector.run(records, measured_from, progress);
    let run = |sessions| run(sessions, engine, &shared, feeders, loads, collect);
    let ThreadsEnded {
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
    let began_at = shared.began_at();
    let mut summary = summarise(loads, targets, counts, ended, &places, fed);
    notes.extend(engine_notes);
    summary.notes.splice(0..0, notes);
    summary.began_at = began_at;
    summary.records_error = written.err().map(|e| e.to_string());
    mark(&mut summary, loads, targets, options);
    Ok(summary)
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
) -> std::io::Result<ThreadsEnded<'a>> {
    thread::scope(|scope| {
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let several = loads.len() > 1;
        let feeding = feeders
            .into_iter()
            .enumerate()
            .map(|(number, (feeder, preparation))| {
                let device = several.then_some(number as u16);
                // The reader of a stream may block for ever, so it is not waited for.
                thread("feeder").spawn(move || feeder.run(preparation, device))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let collecting = thread("collector").spawn_scoped(scope, || {
            let _breaks_off = shared.breaks_off_on_panic();
            collect()
        })?;
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
        Ok(ThreadsEnded {
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
        Failure::Engine(source) => of_all(targets, "continue the replay", source),
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
    notes: &mut Vec<Note>,
) -> Result<(Lanes<'a>, Feeders), ReplayError> {
    let (mut feeders, mut lanes) = (Vec::new(), Vec::new());
    let zero = beginning(&loads[0].reading.changes);
    let run = new_run();
    for (number, (load, target)) in loads.iter().zip(targets).enumerate() {
        let (feeder, feed) = feeder();
        let preparation = preparation(load, target, options, zero);
        let longest = preparation.longest.bytes().get() as usize;
        let bounds = Bounds::of(options, engine, longest, loads.len(), notes);
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
            writes: writes(load, options),
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
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
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
        && matches!(
            granted(pacing),
            ThreadPriority::Slice | ThreadPriority::Normal
        );
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

impl<'f, 'a> Share<'f, 'a> {
    /// What an engine is set up for, with the lanes that it serves and the devices that it asks.
    fn set_up(
        self,
        options: &Options,
        discards: bool,
    ) -> (Setup<'f>, Vec<Lane<'a>>, Vec<Box<dyn SimulatedDevice>>) {
        let regions = self.lanes.iter().flat_map(|(lane, _)| lane.regions());
        let setup = Setup {
            regions: regions.collect(),
            in_flight: self.lanes.iter().map(|(_, bounds)| bounds.total).sum(),
            files: self.files,
            zones: self.appends,
            discards,
            ring: options.ring,
            sync: options.sync,
        };
        let lanes = self.lanes.into_iter().map(|(lane, _)| lane).collect();
        (setup, lanes, self.devices)
    }
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
fn joined<T>(outcome: std::thread::Result<T>) -> T {
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
        return refuse("a replay needs at least one load, and exactly one target for each load");
    }
    if loads.len() > MOST_LANES as usize {
        return Err(ReplayError::Refused(format!(
            "a replay can have at most {MOST_LANES} targets (got {}): use fewer, for example with --max-targets \
             {MOST_LANES}",
            loads.len()
        )));
    }
    if options.engine == EngineKind::Simulate && devices != targets.len() {
        return refuse("a simulated replay needs exactly one simulated device for each target");
    }
    pacing::check(&options.pacing).map_err(ReplayError::Refused)?;
    options.suit(targets)?;
    for (load, target) in loads.iter().zip(targets) {
        target.check_zone_plan(load, options)?;
    }
    if options.engine.is_real() && targets.iter().any(|target| target.file().is_none()) {
        return refuse("only the engines 'dry' and 'simulate' need no target");
    }
    Ok(())
}

fn preparation(load: &Load, target: &Target, options: &Options, zero: Nanos) -> Preparation {
    let fitter = fitter(load, target, options);
    Preparation {
        path: load.path.clone(),
        reading: load.reading.clone(),
        arriving: load.arriving.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writes;
    use crate::zones::{Writable, Zone, ZonePlan};
    use iosonar_trace::Reading;
    use iosonar_units::Bytes;

    #[test]
    fn writes_to_zones_are_in_order_unless_the_device_chooses_their_places() {
        let zone = Zone {
            start: 0,
            next: 100,
            end: 100,
            writable: Writable::At(0),
            is_active: false,
        };
        for (append, takes_commands, tag, expected) in [
            (false, false, false, true),
            (false, true, false, true),
            (true, false, false, true),
            (true, true, false, false),
            // A tag carries the place of its sector.
            (true, true, true, true),
        ] {
            let mut target = Target::imaginary(Bytes::new(100 * 512), Bytes::new(512));
            if takes_commands {
                target = target.with_commands(8);
            }
            let mut options = Options::default();
            options.verification.tag = tag;
            assert!(
                ordered_zones(&target, &options).is_none(),
                "there is no plan"
            );
            target.zone_plan = Some(ZonePlan {
                zones: Zones::new(vec![zone], None, 1),
                reset: Vec::new(),
                append,
            });
            let is_ordered = ordered_zones(&target, &options).is_some();
            assert_eq!(is_ordered, expected, "{append} {takes_commands} {tag}");
        }
    }

    #[test]
    fn only_a_replay_that_writes_has_buffers_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.load");
        let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        let (reads, writes) = ("0 ; 0 ; 8 ; R\n", "0 ; 0 ; 8 ; R\n1 ; 0 ; 8 ; W\n");
        for (text, is_known, wanted, has_buffers) in [
            (reads, true, Writes::Refuse, false),
            (reads, true, Writes::Do, false),
            (writes, true, Writes::Skip, false),
            (writes, true, Writes::Do, true),
            // Of a stream, only what is done with its writes is known.
            (reads, false, Writes::Refuse, false),
            (reads, false, Writes::Skip, false),
            (reads, false, Writes::Do, true),
        ] {
            std::fs::write(&path, text).unwrap();
            let mut load = Load::scanned(&path, &Reading::default(), wanted).unwrap();
            load.scan.is_known = is_known;
            let options = Options {
                writes: wanted,
                in_flight: 4,
                engine: EngineKind::Dry,
                ..Options::default()
            };
            let targets = std::slice::from_ref(&target);
            let (engine, notes) = (EngineKind::Dry, &mut Vec::new());
            let laid_out = laid_out(&[load], targets, &options, engine, 1, notes);
            let (lanes, _) = laid_out.ok().unwrap();
            let [of_reads, of_writes] = lanes[0].0.regions().map(|region| region.bytes());
            assert_eq!(of_writes == of_reads, has_buffers, "{is_known} {wanted:?}");
        }
    }

    #[test]
    fn there_is_a_target_for_each_load_and_a_load_at_least() {
        let target = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        let load = || Load {
            path: "x.load".into(),
            reading: Reading::default(),
            scan: crate::Scan::default(),
            arriving: None,
        };
        let options = Options {
            engine: EngineKind::Dry,
            ..Options::default()
        };
        for (loads, targets, is_refused) in [
            (0, 0, true),
            (0, 1, true),
            (1, 0, true),
            (1, 1, false),
            (1, 2, true),
            (2, 1, true),
            (2, 2, false),
        ] {
            let (loads, targets): (Vec<_>, Vec<_>) = (
                (0..loads).map(|_| load()).collect(),
                (0..targets).map(|_| target()).collect(),
            );
            let checked = check_counts(&loads, &targets, 0, &options);
            assert_eq!(
                checked.is_err(),
                is_refused,
                "{} {}",
                loads.len(),
                targets.len()
            );
            let text = checked.err().map_or(String::new(), |e| e.to_string());
            assert!(
                text.is_empty() || text.contains("exactly one target"),
                "{text}"
            );
        }
    }
}
