//! `iosonar calibrate`: records of a device in, a profile of it out.

mod words;

use std::path::Path;

use iosonar_disk_model::DiskProfile;
use iosonar_plot::{Colour, Mark};
use iosonar_report::{Quantity, cdf_of, counted, curve, grouped, show_quantiles};
use iosonar_ssd_model::SsdProfile;
use iosonar_study::calibrate::{
    CalibrateError, Missing, Observed, Parallelism, Quality, Start, calibrate_disk,
    calibrate_flash, calibrate_ssd,
};
use iosonar_study::check_model::closed_loop;
use iosonar_trace::input;
use iosonar_units::{Nanos, one_line};
use serde_json::json;

use crate::exit::{Ending, Usage, note, print_beside, print_data, warn, write_file};
use crate::low::Calibrate;
use crate::render::check_model::why_closed_loop;
use crate::render::messages::Warning;
use crate::render::{picture, remarks};
use iosonar_stats::Output;
use iosonar_trace::apart;
use words::{disk_json, disk_words, flash_json, flash_words, quality_words, ssd_json, ssd_words};

/// A profile whose demerit is this many times that of the one before fits worse; less is chance.
const WORSE: f64 = 1.05;
/// Beyond this share of the mean the demerit is that of a few very long requests.
const TAIL: f64 = 0.5;

/// A profile that was fitted, and how well it fits.
struct Fitted {
    /// The profile as a file.
    text: String,
    /// What is said of it.
    words: String,
    json: Output,
    verdict: Judged,
    /// How many are served at a time, and how much the records say of that; of what serves several at a time.
    parallelism: Option<(u32, Parallelism)>,
    /// The model of a disk with which the profile is to be used.
    model: Option<&'static str>,
    /// How fast the drive turns, per minute, where that is another drive than the profile's.
    other_speed: Option<f64>,
}

/// How good a fit is on the half of the records that it was not fitted to.
struct HeldOut {
    quality: Quality,
    /// How well the profile before fits, where there is one.
    before: Option<Quality>,
    /// The share of all requests that came when another one was complete, if that is known.
    at_completions: Option<f64>,
}

impl HeldOut {
    fn is_poor(&self) -> bool {
        self.quality.ks > Quality::POOR
    }
}

/// How good a fit is.
enum Judged {
    /// By the half of the records that it was not fitted to.
    HeldOut(Box<HeldOut>),
    /// The largest difference of the throughput over time, as a share; and what says that the device was not busy.
    Throughput(f64, Option<Missing>),
}

pub(crate) fn run(args: &Calibrate) -> anyhow::Result<Ending> {
    check(args)?;
    let start = start(args)?;
    let reading = args.reading.reading()?;
    // Errors of reading name the file themselves.
    let named = |error: CalibrateError| match error {
        CalibrateError::Records(what) => {
            CalibrateError::Records(format!("{}: {what}", args.records.display()))
        }
        other => other,
    };
    let mut reader = input::open_changed(&args.records, &reading)?;
    let observed = Observed::read(&mut *reader).map_err(named)?;
    remarks::print_of_records(reader.metadata(), args.output.quiet);
    if observed.without_time() > 0 && !args.output.quiet {
        warn(
            Warning::ImplausibleLatency,
            &format!(
                "{} left out: a latency of 0 s is not plausible",
                counted(observed.without_time(), ["request is", "requests are"])
            ),
        );
    }
    let mut fitted = match &start {
        Start::Disk(start) => fit_disk(args, &observed, start),
        Start::Flash(start) => fit_flash(args, &observed, start),
        Start::Ssd => fit_ssd(args, &observed),
    }
    .map_err(named)?;
    match &args.out {
        Some(out) => write_file(out, &fitted.text, "write the profile")?,
        None => print_data(&fitted.text)?,
    }
    if let (Some(path), Judged::HeldOut(of)) = (&args.cdf, &fitted.verdict) {
        draw(args, &of.quality, path)?;
    }
    if args.output.json {
        fitted.json.set("requests", json!(observed.len()));
        print_data(&fitted.json.clone().text())?;
    } else {
        // The profile itself, where no file is named for it, has standard output to itself.
        let out = args.out.as_deref().unwrap_or(Path::new("-"));
        print_beside(Some(out), &format!("{}\n", fitted.words))?;
    }
    if let Some(out) = args
        .out
        .as_ref()
        .filter(|_| !args.output.quiet && !args.output.json)
    {
        let device = match start {
            Start::Disk(_) => "disk",
            Start::Flash(_) | Start::Ssd => "ssd",
        };
        note(&format!(
            "profile written to {}; to use it in a scenario in the same folder, add\n  [{device}]\n  profile = \"{}\"{}",
            out.display(),
            file_name(args),
            fitted
                .model
                .map_or(String::new(), |model| format!("\n  model = \"{model}\""))
        ));
    }
    if let Some(per_minute) = fitted.other_speed {
        warn_of_another_drive(&args.profile, per_minute);
    }
    Ok(ending(args, &fitted))
}

/// Warns that a recording is of a drive with another speed than the profile that was given.
fn warn_of_another_drive(profile: &str, per_minute: f64) {
    warn(
        Warning::AnotherDrive,
        &format!(
            "the recording is of another drive than {profile}: it turns {per_minute:.0} times per minute. The \
             capacity, zones and surfaces of the new profile are those of {profile}, so addresses may be elsewhere on \
             the drive"
        ),
    );
}

/// Warns that a device may serve more requests at a time than it had.
pub(super) fn warn_of_more_at_once(channels: u32) {
    warn(
        Warning::MoreAtOnce,
        &format!(
            "in the training half, requests hardly ever waited for each other, so the device may be able to serve more than \
             {} at a time. With deeper queues, the model may be too slow",
            counted(channels.into(), ["request", "requests"])
        ),
    );
}

/// Says what is wrong with a fit, or that it is acceptable.
fn ending(args: &Calibrate, fitted: &Fitted) -> Ending {
    match fitted.parallelism {
        // A poor fit says nothing of how many are served at a time.
        Some(_) if matches!(&fitted.verdict, Judged::HeldOut(of) if of.is_poor()) => {}
        Some((channels, Parallelism::Unknown)) => {
            warn(
                Warning::ParallelismUnknown,
                &format!(
                    "the number of requests served at a time ({channels}) is not identifiable from this recording: hardly \
                     any request was at the device with few others, so serving and waiting look the same. Record a load \
                     whose queue depth varies, which includes single requests"
                ),
            );
            return Ending::Flagged;
        }
        Some((channels, Parallelism::AtLeast)) if !args.output.quiet => {
            warn_of_more_at_once(channels);
        }
        Some((_, Parallelism::Known | Parallelism::AtLeast)) | None => {}
    }
    match &fitted.verdict {
        Judged::HeldOut(of) => judge(args, of),
        Judged::Throughput(off, missing) => judge_throughput(*off, *missing),
    }
}

fn fit_disk(
    args: &Calibrate,
    observed: &Observed,
    start: &DiskProfile,
) -> Result<Fitted, CalibrateError> {
    let fit = calibrate_disk(observed, start)?;
    let other_speed = fit
        .is_another_drive()
        .then(|| fit.profile.revolutions_per_minute());
    Ok(Fitted {
        text: fit.text(
            &args.records.display().to_string(),
            &provenance(args, observed, &fit.held_out),
        ),
        words: disk_words(start, &fit),
        json: disk_json(start, &fit),
        verdict: Judged::HeldOut(Box::new(HeldOut {
            quality: fit.held_out,
            before: Some(fit.before),
            at_completions: observed.at_completions(),
        })),
        parallelism: None,
        model: Some(fit.model),
        other_speed,
    })
}

fn fit_ssd(args: &Calibrate, observed: &Observed) -> Result<Fitted, CalibrateError> {
    let fit = calibrate_ssd(observed, args.capacity.map(iosonar_units::Bytes::get))?;
    let description = one_line(&format!("as in {}", args.records.display()));
    Ok(Fitted {
        text: fit.text(&provenance(args, observed, &fit.held_out), &description),
        words: ssd_words(&fit),
        json: ssd_json(&fit),
        parallelism: Some((fit.service.channels, fit.parallelism())),
        model: None,
        other_speed: None,
        verdict: Judged::HeldOut(Box::new(HeldOut {
            quality: fit.held_out,
            before: None,
            at_completions: observed.at_completions(),
        })),
    })
}

fn fit_flash(
    args: &Calibrate,
    observed: &Observed,
    start: &SsdProfile,
) -> Result<Fitted, CalibrateError> {
    let fit = calibrate_flash(observed, start)?;
    let quality = format!(
        "the throughput over time is within {:.1} % of the recorded throughput",
        100.0 * fit.off()
    );
    let provenance = format!(
        "Fitted by iosonar {} (calibrate --profile {})\nto {} requests of {}: {quality}.",
        env!("CARGO_PKG_VERSION"),
        args.profile,
        grouped(observed.len() as u64),
        args.records.display(),
    );
    Ok(Fitted {
        text: fit.text(&args.records.display().to_string(), &provenance),
        words: flash_words(&fit),
        json: flash_json(&fit),
        verdict: Judged::Throughput(fit.off(), fit.program.err()),
        parallelism: None,
        model: None,
        other_speed: None,
    })
}

/// Says whether a profile reproduces throughput over time.
fn judge_throughput(off: f64, missing: Option<Missing>) -> Ending {
    if let Some(missing) = missing {
        warn(
            Warning::FlashNotFitted,
            &format!("flash was not fitted, so the profile is unchanged: {missing}"),
        );
        return Ending::Flagged;
    }
    if off <= Quality::POOR {
        return Ending::Done;
    }
    warn(
        Warning::PoorFit,
        &format!(
            "poor fit: the throughput is {:.0} % off in part of the run; the device behaves in a way that the \
             model does not cover, or it was not kept busy, or its initial state differed (flash.precondition)",
            100.0 * off
        ),
    );
    Ending::Flagged
}

/// Draws the held-out half, recorded and simulated.
fn draw(args: &Calibrate, held_out: &Quality, path: &Path) -> anyhow::Result<()> {
    let curves = [
        ("recorded", &held_out.recorded, Colour::Curve(0)),
        ("simulated", &held_out.simulated, Colour::Curve(1)),
    ];
    let [recorded, simulated] = curves.map(|(name, of, colour)| curve(name, of, colour));
    let title = format!(
        "{}: the held-out half, recorded and simulated",
        args.records.display()
    );
    let marks = vec![Mark::Line(recorded), Mark::Line(simulated.dashed())];
    let mut chart = cdf_of(&title, Quantity::Latency, marks);
    chart.subtitle = quality_words(held_out);
    show_quantiles(&mut chart, &curves);
    picture::draw(&chart, path, args.pixels.scale())
}

/// Says whether the profile is worth keeping.
fn judge(args: &Calibrate, of: &HeldOut) -> Ending {
    let held_out = &of.quality;
    let before = of.before.as_ref();
    let is_worse = before.filter(|before| held_out.demerit_ms > WORSE * before.demerit_ms);
    if let Some(before) = is_worse {
        warn(
            Warning::WorseFit,
            &format!(
                "WORSE: on the held-out half the new profile fits worse than {}: demerit {} instead of {}. Keep the \
             previous profile, or calibrate with more requests, or with a recording whose halves are more alike",
                args.profile,
                Nanos::nearest(held_out.demerit_ms * 1e6),
                Nanos::nearest(before.demerit_ms * 1e6)
            ),
        );
    }
    if of.is_poor() {
        let why = match closed_loop(of.at_completions) {
            Some(share) => why_closed_loop(share),
            None => "at least some of the time, the device behaves in a way that the model does not cover"
                .to_owned(),
        };
        let ks = held_out.ks;
        warn(
            Warning::PoorFit,
            &format!("poor fit: the KS distance on the held-out half is {ks:.3}; {why}"),
        );
        return Ending::Flagged;
    }
    if is_worse.is_some() {
        return Ending::Flagged;
    }
    if !args.output.quiet && !args.output.json {
        note(&format!(
            "acceptable fit: the KS distance on the held-out half is {:.3} (limit: {})",
            held_out.ks,
            Quality::POOR
        ));
        demerit_words(held_out).into_iter().for_each(note);
    }
    Ending::Done
}

/// The name of the profile's file without its folder.
fn file_name(args: &Calibrate) -> String {
    let name = args.out.as_deref().and_then(Path::file_name);
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Where a large demerit comes from, although the distributions are near each other.
fn demerit_words(held_out: &Quality) -> Option<&'static str> {
    if held_out.relative <= TAIL {
        return None;
    }
    // The demerit by kind leaves the longest 1 % out.
    Some(if held_out.by_kind_ms < 0.5 * held_out.demerit_ms {
        "note: most of the demerit comes from the slowest 1 % of the requests"
    } else {
        "note: the demerit is more than half of the mean, and not only because of the slowest 1 % of the requests: \
         the model's times differ from the recorded ones"
    })
}

/// What can be said against the outputs before anything is read.
fn check(args: &Calibrate) -> anyhow::Result<()> {
    if let Some(out) = &args.out
        && out.extension().is_none_or(|e| e != "toml")
    {
        let problem = format!("{}: the name of a profile must end in .toml", out.display());
        return Err(Usage(problem).into());
    }
    if let Some(cdf) = &args.cdf {
        picture::check(cdf, args.pixels)?;
    }
    let outputs: Vec<_> = args.out.iter().chain(&args.cdf).collect();
    apart::refuse_unusable(&[&args.records, Path::new(&args.profile)], &outputs)?;
    if args.output.json && args.out.is_none() {
        return Err(Usage(
            "--json prints figures only: give --out FILE for the profile".to_owned(),
        )
        .into());
    }
    Ok(())
}

/// What is fitted.
fn start(args: &Calibrate) -> anyhow::Result<Start> {
    let start = Start::of(&args.profile)?;
    if args.capacity.is_some() && !matches!(start, Start::Ssd) {
        return Err(Usage(
            "--capacity needs --profile ssd: a disk profile has its own capacity".to_owned(),
        )
        .into());
    }
    if args.cdf.is_some() && matches!(start, Start::Flash(_)) {
        return Err(Usage(
            "--cdf draws the latencies of the held-out half, but flash is fitted to the throughput of a whole run: \
             remove --cdf".to_owned(),
        )
        .into());
    }
    Ok(start)
}

/// Where a profile comes from.
fn provenance(args: &Calibrate, observed: &Observed, held_out: &Quality) -> String {
    format!(
        "Fitted by iosonar {} (calibrate --profile {})\nto the first half of {} requests of {}.\n\
         On the other half: {}.",
        env!("CARGO_PKG_VERSION"),
        args.profile,
        grouped(observed.len() as u64),
        args.records.display(),
        quality_words(held_out)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::Distribution;
    use iosonar_study::validate::Compared;

    fn quality(relative: f64, by_kind_ms: f64) -> Quality {
        Quality {
            demerit_ms: 1.0,
            by_kind_ms,
            relative,
            ks: 0.05,
            recorded: Distribution::default(),
            simulated: Distribution::default(),
            reads: Compared::default(),
            writes: Compared::default(),
        }
    }

    #[test]
    fn a_large_demerit_is_blamed_on_the_longest_only_where_it_is_theirs() {
        let longest = "most of the demerit comes from the slowest";
        assert_eq!(demerit_words(&quality(0.4, 0.1)), None);
        assert!(demerit_words(&quality(0.6, 0.1)).unwrap().contains(longest));
        let other = demerit_words(&quality(0.6, 0.9)).unwrap();
        assert!(!other.contains(longest), "{other}");
    }
}
