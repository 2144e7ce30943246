//! `iosonar replay`: loads and targets in, records and a verdict out.

mod find_rate;
mod model;
mod plan;
mod queue;
mod report;
mod run;
mod screen;

use iosonar_replay::safety::{Host, free_space};
use iosonar_replay::{EndedEarly, Summary};
use iosonar_report::grouped;
use iosonar_trace::output;
use iosonar_units::Bytes;

use crate::args::Replay;
use crate::exit::{Ending, Usage, note, print};
use crate::files;
use crate::signals;

pub(crate) use find_rate::Limit;
pub(crate) use plan::{Plan, create};
pub(crate) use report::{findings_json, findings_text};
pub(crate) use run::{Results, carry_out};

pub(crate) fn run(args: &Replay) -> anyhow::Result<Ending> {
    if let Some(out) = &args.out {
        output::format_for(out)?;
        let mapped: Vec<_> = args
            .targets
            .map
            .iter()
            .map(|(_, target)| target.into())
            .collect();
        for input in args
            .traces
            .iter()
            .chain(&args.targets.target)
            .chain(&mapped)
        {
            files::refuse_same(input, out)?;
        }
    }
    let host = Host::default();
    if let Some(limit) = args.find.find_rate {
        signals::watch()?;
        return find_rate::run(args, limit, &host);
    }
    let plan = Plan::of(args, &host)?;
    refuse_without_room(args, &plan)?;
    if !args.quiet {
        plan.announce();
    }
    let results = Results {
        out: args.out.as_deref(),
        out_from: args.out_from,
        quiet: args.quiet,
        watch: args.watch,
    };
    signals::watch()?;
    // Put back however the replay ends.
    let queues = queue::Settings::apply(&plan, &args.targets, &host)?;
    let mut summary = carry_out(&plan, &results)?;
    queues.tell(&mut summary);
    drop(queues);
    if args.json {
        print(&report::json(&summary).text())?;
    } else if !args.quiet {
        print(&report::text(&summary))?;
    }
    let ending = ending(&summary);
    if args.quiet && ending != Ending::Done {
        note(&format!("iosonar: {}", report::why_not_done(&summary)));
    }
    Ok(ending)
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
fn refuse_without_room(args: &Replay, plan: &Plan) -> anyhow::Result<()> {
    /// Of packed records, and of rows of text: on the safe side.
    const BYTES: [u64; 2] = [16, 80];
    let Some(out) = args.out.as_ref().filter(|out| out.as_os_str() != "-") else {
        return Ok(());
    };
    let requests: u64 = plan.loads.iter().map(|load| load.scan.requests).sum();
    let is_packed = out
        .extension()
        .is_none_or(|e| ["ios", "gz", "zst"].iter().any(|p| e == *p));
    let needed = requests.saturating_mul(BYTES[usize::from(!is_packed)]);
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
