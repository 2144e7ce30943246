//! `iosonar check-model`: a load and a device in, how well a model of the device predicts it out.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iosonar_guard::Host;
use iosonar_replay::Summary;
use iosonar_report::{counted, grouped};
use iosonar_study::calibrate::{CalibrateError, Observed, Parallelism, Start};
use iosonar_study::check_model::{Fitted, ModelCheck, Rating, check_model, refuse_whole_runs};
use iosonar_trace::{Reading, apart, input};

use super::calibrate::warn_of_more_at_once;
use super::replay;
use crate::exit::{Ending, Usage, fail, note, print, print_data, warn, write_file};
use crate::low::{CheckModel, Replay};
use crate::render::check_model as render;
use crate::render::messages::codes;
use crate::render::{picture, remarks, replay as render_replay};

pub(crate) fn run(args: &CheckModel) -> anyhow::Result<Ending> {
    check(args)?;
    let start = Start::of(&args.profile)?;
    refuse_whole_runs(&start)?;
    if args.capacity.is_some() && !matches!(start, Start::Ssd) {
        let problem = "--capacity needs --profile ssd: a disk profile has its own capacity";
        return Err(Usage(problem.to_owned()).into());
    }
    // Goes away at the end, where the records are not kept.
    let scratch = tempfile::tempdir().context("cannot create a folder for the records")?;
    let kept = args.records.clone();
    let records = kept.unwrap_or_else(|| scratch.path().join("replayed.ios"));
    let (source, named, reading) = match args.replay(records.clone())? {
        Some(wanted) => {
            let summary = replayed(args, &wanted, &records)?;
            let ending = replay::ending(&summary);
            if !matches!(ending, Ending::Done | Ending::Flagged) {
                fail(None, &render_replay::why_not_done(&summary));
                return Ok(ending);
            }
            (records, replay_of(args), Reading::default())
        }
        None => (
            args.trace.clone(),
            args.trace.display().to_string(),
            args.reading.reading()?,
        ),
    };
    let check = judged(args, &source, &named, &reading, &start)?;
    if let Some(path) = &args.profile_out {
        let text = check.fitted.text(&named, &provenance(args, &check, &named));
        write_file(path, &text, "write the profile")?;
    }
    if let Some(path) = &args.out {
        let title = format!("{named}: device and model");
        picture::draw(&render::chart(&check, &title), path, args.pixels.scale())?;
    }
    match args.output.json {
        true => print_data(&render::as_json(&check).text())?,
        false => print(&render::text(&check))?,
    }
    if let Fitted::Ssd(fit) = &check.fitted
        && !args.output.quiet
        && fit.parallelism() == Parallelism::AtLeast
        && check.rating() == Rating::Good
    {
        warn_of_more_at_once(fit.service.channels);
    }
    Ok(match check.rating() {
        Rating::Good => Ending::Done,
        Rating::Poor | Rating::CannotTell(_) => Ending::Flagged,
    })
}

/// Replays the load, and reports on it in short.
fn replayed(args: &CheckModel, wanted: &Replay, out: &Path) -> anyhow::Result<Summary> {
    let spec = wanted.to_spec()?;
    replay::check_out(wanted, &spec, out)?;
    let summary = replay::record(wanted, &spec, Some(out), &Host::default())?;
    if !args.output.quiet {
        for text in &summary.notes {
            warn(codes::of_note(text), &render_replay::notes::of_replay(text));
        }
        note(&format!(
            "replayed: {} of {} requests completed, verdict: {}",
            grouped(summary.completed),
            grouped(summary.requests),
            summary.verdict
        ));
    }
    Ok(summary)
}

/// What the records of the replay are called.
fn replay_of(args: &CheckModel) -> String {
    let trace = args.trace.display();
    match args.targets.target.first() {
        Some(target) => format!("{trace} on {}", target.display()),
        None => format!("{trace} on a simulated device"),
    }
}

/// Fits the model to the records, and checks it.
fn judged(
    args: &CheckModel,
    source: &Path,
    named: &str,
    reading: &Reading,
    start: &Start,
) -> anyhow::Result<ModelCheck> {
    // Errors of reading name the file themselves.
    let located = |error| match error {
        CalibrateError::Records(what) => CalibrateError::Records(format!("{named}: {what}")),
        other => other,
    };
    let mut reader = input::open_changed(source, reading)?;
    let observed = Observed::read(&mut *reader).map_err(located);
    let observed = match (observed, args.targets.target.is_empty()) {
        (Err(error @ CalibrateError::Records(_)), true) => {
            return Err(anyhow::Error::from(error).context(
                "to replay the input first, give the device with --target; otherwise, the input must be the records \
                 of a replay",
            ));
        }
        (observed, _) => observed?,
    };
    remarks::print_of_records(reader.metadata(), args.output.quiet);
    if observed.without_time() > 0 && !args.output.quiet {
        note(&format!(
            "note: {} left out: a latency of 0 s is not plausible",
            counted(observed.without_time(), ["request is", "requests are"])
        ));
    }
    let capacity = args.capacity.map(iosonar_units::Bytes::get);
    Ok(check_model(&observed, reader.metadata(), start, capacity).map_err(located)?)
}

/// Where the profile comes from, and what is known of it.
fn provenance(args: &CheckModel, check: &ModelCheck, named: &str) -> String {
    format!(
        "Fitted by iosonar {} (check-model --profile {})\nto the first half of {} requests of {named}.\n{}.",
        env!("CARGO_PKG_VERSION"),
        args.profile,
        grouped(check.requests),
        render::sentence(check)
    )
}

/// What can be said against the outputs before anything is done.
fn check(args: &CheckModel) -> anyhow::Result<()> {
    if let Some(out) = &args.out {
        picture::check(out, args.pixels)?;
    }
    if let Some(out) = &args.profile_out
        && out.extension().is_none_or(|e| e != "toml")
    {
        let problem = format!("{}: the name of a profile must end in .toml", out.display());
        return Err(Usage(problem).into());
    }
    let profile = PathBuf::from(&args.profile);
    let outputs: Vec<&PathBuf> = [&args.out, &args.profile_out, &args.records]
        .into_iter()
        .flatten()
        .collect();
    let inputs = [&args.trace, &profile].into_iter();
    let inputs: Vec<_> = inputs.chain(&args.targets.target).collect();
    Ok(apart::refuse_unusable(&inputs, &outputs)?)
}
