//! `iosonar replay --find-rate`: the highest rate that a target sustains within a limit.

use iosonar_guard::Host;
use iosonar_replay::ReplaySpec;
use iosonar_study::highest_rate::{Answer, Limit, Search};
use iosonar_study::replay::{ReplayPlan, Tries};

use super::announce::{Shown, announce};
use super::{carry_out, usage};
use crate::exit::{Ending, note, print, print_data};
use crate::low::Replay;
use crate::render::highest_rate::{Found, outcome_name};
use crate::signals;

pub(super) fn run(
    args: &Replay,
    spec: &ReplaySpec,
    limit: Limit,
    host: &Host,
) -> anyhow::Result<Ending> {
    let shown = Shown::new(args.output.quiet);
    let plan = ReplayPlan::of(spec, None, host, &shown)?;
    Tries::check(&plan, spec)?;
    if args.out.is_some() || plan.options.verification.is_tagging() {
        return Err(usage(
            "--find-rate cannot be combined with -o, --verify, --tag or --keep-tables: find the rate without them, \
             then use them in a replay at that rate",
        ));
    }
    if args.live.serve.is_some() {
        return Err(usage(
            "--serve cannot be combined with --find-rate: find the rate first, then serve a replay at that rate",
        ));
    }
    if !args.output.quiet {
        announce(&plan);
        note(&format!("searching for the highest rate with {limit}"));
    }
    let tries = Tries::new(&plan, spec, limit, args.find.find_time, host)?;
    // Put back however the search ends.
    let queues = super::queue_settings(&plan, spec, host, args.output.quiet)?;
    drop(plan);
    let mut search = Search {
        slowest: tries.slowest(),
        attempt: |factor| -> anyhow::Result<_> {
            let attempt =
                tries.attempt(factor, &shown, |plan| carry_out(plan, None, true, false))?;
            if !args.output.quiet {
                note(&format!(
                    "  {:.1} requests/s wanted, {:.1} achieved: {}, {}",
                    attempt.wanted,
                    attempt.reached,
                    attempt.value,
                    outcome_name(attempt.outcome)
                ));
            }
            Ok(attempt)
        },
        is_over: || signals::count() > 0,
        tries: Vec::new(),
    };
    let answer = search.search()?;
    drop(queues);
    let found = Found {
        limit,
        own_speed: tries.own_speed(),
        answer: &answer,
        tries: &search.tries,
    };
    if args.output.json {
        print_data(&found.json().text())?;
    } else {
        print(&found.text())?;
    }
    Ok(match answer {
        Answer::Interrupted => Ending::Interrupted {
            signal: signals::last(),
        },
        Answer::Highest(_) => Ending::Done,
        _ => Ending::Flagged,
    })
}
