//! `iosonar model`: scenarios in, what theory says of them out.

mod networked;
mod scenarios;

use std::path::Path;
use std::thread::available_parallelism;

use anyhow::Context;
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::{Overrides, ScenarioError, System};

use crate::exit::{Ending, Usage, check_tables};
use crate::low::Model;
use crate::render::picture;
use iosonar_trace::apart;

pub(crate) fn run(args: &Model) -> anyhow::Result<Ending> {
    check_outputs(args)?;
    let systems: Vec<System> = args
        .files
        .iter()
        .map(System::named)
        .collect::<Result<_, ScenarioError>>()?;
    let is_networked = |of: &System| NetworkedRaid::is_meant(of.text());
    match systems.as_slice() {
        [only] if is_networked(only) => networked::run(args, only),
        all if all.iter().any(is_networked) => {
            let problem = "a networked system is analysed on its own: give one file at a time";
            Err(Usage(problem.to_owned()).into())
        }
        _ => {
            let only = |given: bool, option: &str| match given {
                true => Err(Usage(format!(
                    "{option} needs a networked system, but {} is a scenario",
                    args.files[0].display()
                ))),
                false => Ok(()),
            };
            only(
                args.curve.is_some(),
                "--curve (unlike plan --curve and sim --curve)",
            )?;
            only(args.vary.is_some(), "--vary (unlike sim --vary)")?;
            only(args.at.is_some(), "--at")?;
            only(args.budget.is_some(), "--budget")?;
            scenarios::run(args, &systems)
        }
    }
}

fn overrides(args: &Model) -> Overrides {
    Overrides {
        seed: args.common.seed,
        replications: args.replications,
        set: args.common.set.clone(),
        memory: args.common.memory.at_start(),
        ..Overrides::default()
    }
}

/// How many threads.
pub(crate) fn threads(given: Option<u16>) -> usize {
    given.map_or_else(
        || available_parallelism().map_or(1, usize::from),
        usize::from,
    )
}

/// Does `work` with this number of threads.
pub(crate) fn with_threads<T: Send>(
    given: Option<u16>,
    work: impl FnOnce() -> T + Send,
) -> anyhow::Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(given))
        .build()
        .context("cannot create threads")?;
    Ok(pool.install(work))
}

/// The files that are written.
fn outputs(args: &Model) -> Vec<&Path> {
    let all = [&args.cdf, &args.curve, &args.csv];
    all.into_iter().filter_map(Option::as_deref).collect()
}

/// What can be said against the outputs before anything is read.
fn check_outputs(args: &Model) -> anyhow::Result<()> {
    for pictures in args.cdf.iter().chain(&args.curve) {
        picture::check(pictures, args.pixels)?;
    }
    check_tables(&args.csv)?;
    let inputs = args.files.iter().chain(&args.measured);
    let inputs: Vec<_> = inputs.collect();
    apart::refuse_unusable(&inputs, &outputs(args))?;
    if let Some(budget) = args.budget
        && !(budget >= 0.0 && budget.is_finite())
    {
        return Err(Usage(format!("--budget must be at least 0 (got {budget})")).into());
    }
    Ok(())
}
