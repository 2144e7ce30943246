//! `iosonar replay`: loads and targets in, records and a verdict out.

mod find_rate;
mod model;
mod plan;
mod run;
mod screen;

use std::path::Path;

use anyhow::Context;
use iosonar_guard::{Host, free_space};
use iosonar_replay::{EndedEarly, QueueError, QueueSettings, ReplaySpec, Restoring, Summary};
use iosonar_report::{SELF_CHECK_ENDING, SELF_CHECK_HEADER, SelfCheckRow, grouped};
use iosonar_trace::output::{self, Largest, WholeFile};
use iosonar_trace::transform::beginning;
use iosonar_units::{Bytes, Nanos, with_ending};

use crate::exit::{Ending, Usage, note, print_beside};
use crate::low::Replay;
use crate::render::replay as render;
use crate::signals;
use iosonar_trace::apart;

pub(crate) use plan::{ReplayPlan, create};
pub(crate) use run::{Results, carry_out};

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
    let out = args.out.as_deref();
    let plan = ReplayPlan::of(&spec, out, &host, args.quiet)?;
    if let Some(out) = out {
        refuse_without_room(out, &plan)?;
    }
    if !args.quiet {
        plan.announce();
    }
    let results = Results {
        out,
        out_from: spec.records.out_from,
        quiet: args.quiet,
        watch: args.watch,
        durable: spec.is_durable(),
    };
    signals::watch()?;
    // Put back however the replay ends.
    let queues = queue_settings(&plan, &spec, &host, args.quiet)?;
    let mut summary = carry_out(&plan, &results)?;
    queues.note(&mut summary);
    drop(queues);
    if let Some(out) = out.filter(|_| spec.records.self_check) {
        write_self_check(out, spec.records.out_from, &plan, &summary)?;
    }
    if args.json {
        print_beside(out, &render::json(&summary).text())?;
    } else {
        print_beside(out, &render::text(&summary))?;
    }
    let ending = ending(&summary);
    if args.quiet && ending != Ending::Done {
        note(&format!("iosonar: {}", render::why_not_done(&summary)));
    }
    Ok(ending)
}

/// Makes the settings of the targets' queues that the user wants.
fn queue_settings(
    plan: &ReplayPlan,
    spec: &ReplaySpec,
    host: &Host,
    quiet: bool,
) -> Result<QueueSettings, QueueError> {
    let report = match quiet {
        false => |event: &Restoring| note(&render::notes::of_restoring(event)),
        true => |event: &Restoring| match event {
            Restoring::OfEarlier { .. } => {}
            lost => note(&render::notes::of_restoring(lost)),
        },
    };
    let wanted = (spec.scheduler.as_deref(), spec.merges);
    QueueSettings::apply(&plan.targets, wanted, &plan.options, host, report)
}

/// Refuses a place for the records where they cannot be kept as they should be, or would destroy something.
fn check_out(args: &Replay, spec: &ReplaySpec, out: &Path) -> anyhow::Result<()> {
    output::format_for(out)?;
    let account = with_ending(out, SELF_CHECK_ENDING);
    let is_stream = out.as_os_str() == "-";
    if spec.records.self_check && is_stream {
        return Err(usage(
            "--self-check: writes beside the records, which go to no file",
        ));
    }
    if spec.records.durable && is_stream {
        return Err(usage(
            "--durable syncs the file of records, and standard output is not a file: name one with -o",
        ));
    }
    if !spec.records.self_check && !args.quiet && account.exists() {
        warn(&format!(
            "{} is of an earlier replay, and pictures of these records would show it: remove it",
            account.display()
        ));
    }
    let mapped = spec.map.iter().map(|(_, target)| target);
    for input in spec.load.iter().chain(&spec.target).chain(mapped) {
        apart::refuse_same(input, out)?;
        apart::refuse_same(input, &account)?;
    }
    Ok(())
}

/// Writes the replay's account of itself beside the records, on their axis of time.
fn write_self_check(
    out: &Path,
    out_from: Option<Nanos>,
    plan: &ReplayPlan,
    summary: &Summary,
) -> anyhow::Result<()> {
    let beginning = plan
        .loads
        .first()
        .map(|load| beginning(&load.reading.changes));
    let zero = out_from.or(beginning).unwrap_or_default();
    let mut text = format!("{SELF_CHECK_HEADER}\n");
    for point in &summary.self_check {
        let row = SelfCheckRow {
            end_s: point.at.saturating_add(zero).as_secs_f64(),
            ahead: point.ahead as f64,
            in_flight: point.in_flight as f64,
            input_wait_s: point.input_wait.as_secs_f64(),
            answer_lag_s: point.answer_lag.as_secs_f64(),
            answer_wait_s: point.answer_wait.as_secs_f64(),
        };
        text += &row.line();
    }
    let path = with_ending(out, SELF_CHECK_ENDING);
    WholeFile::write_all(&path, text.as_bytes())
        .with_context(|| format!("{}: cannot write", path.display()))
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
    if !apart::takes_room(out) {
        return Ok(());
    }
    let scans = || plan.loads.iter().map(|load| &load.scan);
    let requests: u64 = scans().map(|scan| scan.requests).sum();
    let mut largest = scans().fold(Largest::default(), |all, scan| all.max(&scan.largest));
    // Records name the target where there are several.
    largest.device = largest.device.max(plan.targets.len() as u16 - 1);
    let Some(of_each) = output::bytes_per_record(out, &run::provenance(plan)?, &largest) else {
        return Ok(());
    };
    let needed = (requests as f64 * of_each).ceil() as u64;
    match free_space(out) {
        Some(free) if free.get() < needed => Err(usage(&format!(
            "the records of {} requests may take {}, and there is room for {free} at {}: write elsewhere",
            grouped(requests),
            Bytes::new(needed),
            out.display()
        ))),
        _ => Ok(()),
    }
}

/// What the command line says that the parser cannot check.
fn usage(problem: &str) -> anyhow::Error {
    Usage(problem.to_owned()).into()
}

/// Something to tell before the start.
fn warn(text: &str) {
    note(&format!("note: {text}"));
}
