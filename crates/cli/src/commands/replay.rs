//! `iosonar replay`: loads and targets in, records and a verdict out.

mod announce;
mod find_rate;
mod hosts;
mod run;
mod screen;

use std::path::Path;

use iosonar_guard::Host;
use iosonar_replay::{EndedEarly, QueueError, QueueSettings, ReplaySpec, Restoring, Summary};
use iosonar_report::{SELF_CHECK_ENDING, grouped};
use iosonar_study::replay::{RecordsTo, ReplayPlan};
use iosonar_trace::{TraceError, output};
use iosonar_units::with_ending;

use crate::exit::{Ending, Usage, fail, print_beside, print_data_beside, warn};
use crate::live::{self, Feed, Tee};
use crate::low::Replay;
use crate::render::messages::{Warning, codes};
use crate::render::replay as render;
use crate::signals;
use iosonar_trace::apart;

pub(crate) use announce::Shown;
use announce::announce;
pub(crate) use run::carry_out;
use run::carry_out_past;

pub(crate) fn run(args: &Replay) -> anyhow::Result<Ending> {
    let spec = args.to_spec()?;
    if let Some(out) = &args.out {
        check_out(args, &spec, out)?;
    }
    let host = Host::default();
    if let Some(limit) = args.find.find_rate {
        signals::watch()?;
        return find_rate::run(args, &spec, limit, &host);
    }
    if !args.hosts.hosts.is_empty() {
        return hosts::run(args, &spec, &host);
    }
    let out = args.out.as_deref();
    let summary = record(args, &spec, out, &host)?;
    if args.output.json {
        print_data_beside(out, &render::json(&summary).text())?;
    } else {
        print_beside(out, &render::text(&summary))?;
    }
    let ending = ending(&summary);
    if args.output.quiet && ending != Ending::Done {
        fail(None, &render::why_not_done(&summary));
    }
    Ok(ending)
}

/// Replays, with what is said before and while it runs; records go to `out`.
pub(crate) fn record(
    args: &Replay,
    spec: &ReplaySpec,
    out: Option<&Path>,
    host: &Host,
) -> anyhow::Result<Summary> {
    let plan = ReplayPlan::of(spec, out, host, &Shown::new(args.output.quiet))?;
    if let Some(out) = out {
        refuse_without_room(out, &plan)?;
    }
    if !args.output.quiet {
        announce(&plan);
    }
    let records = out.map(|path| RecordsTo {
        path,
        out_from: spec.records.out_from,
        durable: spec.is_durable(),
    });
    signals::watch()?;
    // Put back however the replay ends.
    let queues = queue_settings(&plan, spec, host, args.output.quiet)?;
    let mut summary = served(args, &plan, records.as_ref())?;
    queues.note(&mut summary);
    drop(queues);
    if let Some(records) = records.filter(|_| spec.records.self_check) {
        plan.write_self_check(&records, &summary)?;
    }
    Ok(summary)
}

/// Replays, with a live page where one is asked for: of the file of the records, or else of the records that pass by.
fn served(
    args: &Replay,
    plan: &ReplayPlan,
    records: Option<&RecordsTo<'_>>,
) -> anyhow::Result<Summary> {
    let title = plan.load_names();
    let file = records
        .map(|to| to.path)
        .filter(|path| *path != Path::new("-"));
    match file {
        Some(path) => live::during(&args.live, &title, live::of_records(path), || {
            carry_out(plan, records, args.output.quiet, args.watch)
        })?,
        None if args.live.serve.is_some() => {
            let (tee, passing) = Tee::new(&title);
            live::during(
                &args.live,
                &title,
                || Feed::of_passing(passing),
                || carry_out_past(Some(tee), plan, records, args.output.quiet, args.watch),
            )?
        }
        None => carry_out(plan, records, args.output.quiet, args.watch),
    }
}

/// Makes the settings of the targets' queues that the user wants.
pub(crate) fn queue_settings(
    plan: &ReplayPlan,
    spec: &ReplaySpec,
    host: &Host,
    quiet: bool,
) -> Result<QueueSettings, QueueError> {
    let report = match quiet {
        false => |event: &Restoring| restoring(event),
        true => |event: &Restoring| match event {
            Restoring::OfEarlier { .. } => {}
            lost => restoring(lost),
        },
    };
    let wanted = (spec.scheduler.as_deref(), spec.merges);
    QueueSettings::apply(&plan.targets, wanted, &plan.options, host, report)
}

/// Refuses a place for the records where they cannot be kept as they should be, or would destroy something.
pub(crate) fn check_out(args: &Replay, spec: &ReplaySpec, out: &Path) -> anyhow::Result<()> {
    output::format_for(out)?;
    let account = with_ending(out, SELF_CHECK_ENDING);
    let is_stream = out.as_os_str() == "-";
    if spec.records.self_check && is_stream {
        return Err(usage(
            "--self-check writes files next to the records: name a file for the records with -o",
        ));
    }
    if spec.records.durable && is_stream {
        return Err(usage(
            "--durable needs a file for the records: name one with -o",
        ));
    }
    if !spec.records.self_check && !args.output.quiet && account.exists() {
        warn(
            Warning::OldSelfCheck,
            &format!(
                "{} is left over from an earlier replay and would appear in charts of these records: remove it",
                account.display()
            ),
        );
    }
    let mapped = spec.map.iter().map(|(_, target)| target);
    for input in spec.load.iter().chain(&spec.target).chain(mapped) {
        apart::refuse_same(input, out)?;
        apart::refuse_same(input, &account)?;
    }
    // What the second is written to, the first has lost.
    if let Some(tables) = &spec.options.verification.keep_tables {
        for (i, output) in [out, account.as_path()].into_iter().enumerate() {
            if (i == 0 || spec.records.self_check) && apart::would_be_same(tables, output) {
                return Err(TraceError::SameOutput {
                    one: tables.clone(),
                    other: output.to_owned(),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// How the command ends after a replay with this outcome.
pub(crate) fn ending(summary: &Summary) -> Ending {
    match summary.early {
        _ if summary.records_error.is_some() => Ending::Failed,
        Some(EndedEarly::Errors | EndedEarly::DeviceGone) => Ending::Failed,
        Some(EndedEarly::Interrupted) => Ending::Interrupted {
            signal: signals::last(),
        },
        _ if summary.is_flagged() => Ending::Flagged,
        _ => Ending::Done,
    }
}

/// Records that do not fit their disk would be lost at the end.
fn refuse_without_room(out: &Path, plan: &ReplayPlan) -> anyhow::Result<()> {
    let Some(lacking) = plan.lacks_room(out)? else {
        return Ok(());
    };
    Err(usage(&format!(
        "the records of {} requests may take {}, but only {} is free at {}: write elsewhere",
        grouped(lacking.requests),
        lacking.needed,
        lacking.free,
        out.display()
    )))
}

/// What the command line says that the parser cannot check.
fn usage(problem: &str) -> anyhow::Error {
    Usage(problem.to_owned()).into()
}

fn restoring(event: &Restoring) {
    warn(
        codes::of_restoring(event),
        &render::notes::of_restoring(event),
    );
}
