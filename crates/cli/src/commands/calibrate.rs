//! `iosonar calibrate`: records of a device in, a profile of it out.

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use std::path::Path;

use anyhow::Context;
use iosonar_disk_model::{DiskProfile, SeekPoints};
use iosonar_plot::{Colour, Mark, Size, Theme};
use iosonar_report::{Quantity, cdf_of, curve, grouped};
use iosonar_study::calibrate::{
    CalibrateError, DiskFit, How, Observed, Quality, SsdFit, calibrate_disk, calibrate_ssd,
};
use iosonar_trace::output::WholeFile;
use iosonar_trace::{Op, input};
use iosonar_units::Nanos;
use serde_json::json;

use crate::exit::{Ending, Usage, note, print, print_beside};
use crate::files;
use crate::low::Calibrate;
use crate::render::json::Output;
use crate::render::picture;

/// Beyond this distance a fit is not worth its name.
pub(crate) const POOR: f64 = 0.1;
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
    held_out: Quality,
    /// How well the one before fits.
    before: Option<Quality>,
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
    if observed.without_time() > 0 && !args.quiet {
        note(&format!(
            "note: {} requests have a latency of 0 s, which no device has: they are left out",
            grouped(observed.without_time())
        ));
    }
    let mut fitted = match &start {
        Some(start) => fit_disk(args, &observed, start),
        None => fit_ssd(args, &observed),
    }
    .map_err(named)?;
    match &args.out {
        Some(out) => WholeFile::write_all(out, fitted.text.as_bytes())
            .with_context(|| format!("{}: cannot write the profile", out.display()))?,
        None => print(&fitted.text)?,
    }
    if let Some(path) = &args.cdf {
        draw(args, &fitted.held_out, path)?;
    }
    if args.json {
        fitted.json.set("requests", json!(observed.len()));
        print(&fitted.json.text())?;
    } else {
        // The profile itself, where no file is named for it, has standard output to itself.
        let out = args.out.as_deref().unwrap_or(Path::new("-"));
        print_beside(Some(out), &format!("{}\n", fitted.words))?;
    }
    if let Some(out) = args.out.as_ref().filter(|_| !args.quiet && !args.json) {
        let device = if start.is_some() { "disk" } else { "ssd" };
        note(&format!(
            "the profile is in {}; a scenario in the same folder uses it with\n  [{device}]\n  profile = \"{}\"",
            out.display(),
            file_name(args)
        ));
    }
    Ok(judge(args, &fitted.held_out, fitted.before.as_ref()))
}

fn fit_disk(
    args: &Calibrate,
    observed: &Observed,
    start: &DiskProfile,
) -> Result<Fitted, CalibrateError> {
    let fit = calibrate_disk(observed, start)?;
    Ok(Fitted {
        text: fit.text(&provenance(args, observed, &fit.held_out)),
        words: disk_words(start, &fit),
        json: disk_json(&fit),
        held_out: fit.held_out,
        before: Some(fit.before),
    })
}

fn fit_ssd(args: &Calibrate, observed: &Observed) -> Result<Fitted, CalibrateError> {
    let fit = calibrate_ssd(observed, args.capacity.map(iosonar_units::Bytes::get))?;
    let description = format!("as in {}", args.records.display());
    Ok(Fitted {
        text: fit.text(&provenance(args, observed, &fit.held_out), &description),
        words: ssd_words(&fit),
        json: ssd_json(&fit),
        held_out: fit.held_out,
        before: None,
    })
}

/// Draws the held-out half, recorded and simulated.
fn draw(args: &Calibrate, held_out: &Quality, path: &Path) -> anyhow::Result<()> {
    let recorded = curve("recorded", &held_out.recorded, Colour::Curve(0));
    let simulated = curve("simulated", &held_out.simulated, Colour::Curve(1)).dashed();
    let title = format!(
        "{}: the held-out half, recorded and simulated",
        args.records.display()
    );
    let marks = vec![Mark::Line(recorded), Mark::Line(simulated)];
    let mut chart = cdf_of(&title, Quantity::Latency, marks);
    chart.subtitle = quality_words(held_out);
    picture::save(&[&chart], path, Size::default(), Theme::Light)
}

/// Says whether the profile is worth keeping.
fn judge(args: &Calibrate, held_out: &Quality, before: Option<&Quality>) -> Ending {
    let is_worse = before.filter(|before| held_out.demerit_ms > WORSE * before.demerit_ms);
    if let Some(before) = is_worse {
        note(&format!(
            "WORSE: on the held-out half the profile fits worse than the one before, {}: demerit {} instead of {}. Keep the \
             one before, or calibrate with more requests, or with ones that are more alike in both halves",
            args.profile,
            Nanos::nearest(held_out.demerit_ms * 1e6),
            Nanos::nearest(before.demerit_ms * 1e6)
        ));
    }
    if held_out.ks > POOR {
        note(&format!(
            "note: a poor fit: the distributions on the held-out half are {:.3} apart; the device does something that this \
             model does not, or not all the time",
            held_out.ks
        ));
        return Ending::Flagged;
    }
    if is_worse.is_some() {
        return Ending::Flagged;
    }
    if let Some(remark) = demerit_words(held_out).filter(|_| !args.quiet) {
        note(remark);
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
        "note: most of the demerit is that of the longest 1 % of the requests"
    } else {
        "note: the demerit is more than half of the mean, and not only because of the longest 1 % of the requests: the \
         model's times differ from those recorded"
    })
}

/// What can be said against the outputs before anything is read.
fn check(args: &Calibrate) -> anyhow::Result<()> {
    if let Some(out) = &args.out {
        if out.extension().is_none_or(|e| e != "toml") {
            let problem = format!("{}: a profile's name ends in .toml", out.display());
            return Err(Usage(problem).into());
        }
        files::refuse_same(&args.records, out)?;
        files::refuse_same(Path::new(&args.profile), out)?;
        files::refuse_without_folder(out)?;
    }
    if let Some(cdf) = &args.cdf {
        picture::kind_of(cdf)?;
        files::refuse_same(&args.records, cdf)?;
        files::refuse_same(Path::new(&args.profile), cdf)?;
        files::refuse_without_folder(cdf)?;
    }
    if args.json && args.out.is_none() {
        return Err(Usage(
            "--json prints figures: say with --out where the profile goes".to_owned(),
        )
        .into());
    }
    Ok(())
}

/// The profile that is fitted; none for what serves several at a time.
fn start(args: &Calibrate) -> anyhow::Result<Option<DiskProfile>> {
    let start = match args.profile.as_str() {
        "ssd" => None,
        name if iosonar_ssd_model::BUILT_IN
            .iter()
            .any(|(known, _)| *known == name) =>
        {
            let problem =
                format!("--profile {name}: is of an SSD; say 'ssd', whose times are measured");
            return Err(Usage(problem).into());
        }
        name => {
            let profile = DiskProfile::load(name, Path::new("."));
            Some(profile.map_err(|e| {
                Usage(format!(
                    "--profile: {e}; or 'ssd' for what serves several at a time"
                ))
            })?)
        }
    };
    if args.capacity.is_some() && start.is_some() {
        return Err(Usage(
            "--capacity is for --profile ssd: a disk's profile has its own".to_owned(),
        )
        .into());
    }
    Ok(start)
}

fn quality_words(quality: &Quality) -> String {
    format!(
        "demerit {} ({:.1} % of the mean), KS {:.3}",
        Nanos::nearest(quality.demerit_ms * 1e6),
        100.0 * quality.relative,
        quality.ks
    )
}

/// Where a profile comes from.
fn provenance(args: &Calibrate, observed: &Observed, held_out: &Quality) -> String {
    format!(
        "Fitted by iosonar {} calibrate --profile {}\nto the first half of {} requests of {}.\n\
         On the other half: {}.",
        env!("CARGO_PKG_VERSION"),
        args.profile,
        grouped(observed.len() as u64),
        args.records.display(),
        quality_words(held_out)
    )
}

fn disk_words(start: &DiskProfile, fit: &DiskFit) -> String {
    let how = match fit.how {
        How::Angles {
            coherence,
            slack_ms,
        } => format!(
            "from when transfers end: they agree on the rotation to {coherence:.3} (1: exactly), and on the seek \
             curves within {}",
            Nanos::nearest(slack_ms * 1e6)
        ),
        How::Buffer { coherence } => format!(
            "from reads that the buffer served, and from when the other transfers end: they agree on the rotation to \
             {coherence:.3} (1: exactly)"
        ),
        How::Distribution { coherence } => format!(
            "from the distribution of latencies: places do not explain the times (agreement on a rotation {coherence:.3}, \
             1: exactly)"
        ),
        How::Unchanged => "nothing better was found: the profile stays what it was".to_owned(),
    };
    let curve = |op: Op, new: &SeekPoints, old: &SeekPoints| {
        let name = plural(op);
        // Its curve keeps its distance to the other one.
        if fit.learned_from[usize::from(op == Op::Write)] == 0 {
            return format!("  seek, {name:6} not measured: the training half holds no {name}\n");
        }
        format!(
            "  seek, {name:6} {:.4} to {:.4} ms (was {:.4} to {:.4})\n",
            new.track_to_track_ms, new.full_stroke_ms, old.track_to_track_ms, old.full_stroke_ms
        )
    };
    format!(
        "{how}\n  revolution   {:.6} ms, {:.1} per minute (was {:.6} ms)\n{}{}  use it with disk.model = \"{}\"\n  \
         training half: {}\n  held-out half: {}\n  before, held-out half: {}",
        fit.profile.revolution_ms,
        60_000.0 / fit.profile.revolution_ms,
        start.revolution_ms,
        curve(Op::Read, &fit.profile.seek.read, &start.seek.read),
        curve(Op::Write, &fit.profile.seek.write, &start.seek.write),
        fit.model,
        quality_words(&fit.training),
        quality_words(&fit.held_out),
        quality_words(&fit.before),
    )
}

fn ssd_words(fit: &SsdFit) -> String {
    let of = |op: Op, other: Op| {
        let (kind, name) = (usize::from(op == Op::Write), plural(op));
        if fit.learned_from[kind] == 0 {
            return format!(
                "  {name}: none in the training half, so their times are unknown; the profile uses those of {}\n",
                plural(other)
            );
        }
        let quantiles: &Vec<(f64, f64)> = &fit.service.quantiles[kind];
        let at = quantiles.iter().position(|q| q.0 >= 0.5).unwrap_or(0);
        format!(
            "  {name}: median {} and {} for each KiB, from {} requests\n",
            Nanos::nearest(quantiles[at].1 * 1e3),
            Nanos::nearest(fit.service.us_per_kib[kind] * 1e3),
            grouped(fit.learned_from[kind])
        )
    };
    format!(
        "  requests served at a time: {}\n{}{}  training half: {}\n  held-out half: {}",
        fit.service.channels,
        of(Op::Read, Op::Write),
        of(Op::Write, Op::Read),
        quality_words(&fit.training),
        quality_words(&fit.held_out),
    )
}

/// What requests of a kind are called.
fn plural(op: Op) -> &'static str {
    match op {
        Op::Write => "writes",
        _ => "reads",
    }
}

fn add_quality(json: &mut Output, half: &str, quality: &Quality) {
    let labels = Labels::of("half", half);
    json.figure(
        "demerit",
        &labels,
        MetricUnit::Milliseconds,
        quality.demerit_ms,
    );
    json.figure(
        "demerit_relative",
        &labels,
        MetricUnit::One,
        quality.relative,
    );
    json.figure("ks_distance", &labels, MetricUnit::One, quality.ks);
}

fn disk_json(fit: &DiskFit) -> Output {
    let mut json = Output::new("calibrate");
    let (how, coherence) = match fit.how {
        How::Angles { coherence, .. } => ("angles", Some(coherence)),
        How::Buffer { coherence } => ("buffer", Some(coherence)),
        How::Distribution { coherence } => ("distribution", Some(coherence)),
        How::Unchanged => ("unchanged", None),
    };
    json.set("how", json!(how));
    json.set("coherence", json!(coherence));
    json.set("model", json!(fit.model));
    let none = Labels::default();
    json.figure(
        "revolution",
        &none,
        MetricUnit::Milliseconds,
        fit.profile.revolution_ms,
    );
    for (op, points) in [
        ("read", &fit.profile.seek.read),
        ("write", &fit.profile.seek.write),
    ] {
        let labels = Labels::of("op", op);
        json.figure(
            "track_to_track",
            &labels,
            MetricUnit::Milliseconds,
            points.track_to_track_ms,
        );
        json.figure(
            "full_stroke",
            &labels,
            MetricUnit::Milliseconds,
            points.full_stroke_ms,
        );
    }
    add_quality(&mut json, "training", &fit.training);
    add_quality(&mut json, "held-out", &fit.held_out);
    add_quality(&mut json, "held-out, before", &fit.before);
    json
}

fn ssd_json(fit: &SsdFit) -> Output {
    let mut json = Output::new("calibrate");
    let channels = f64::from(fit.service.channels);
    json.figure("channels", &Labels::default(), MetricUnit::One, channels);
    for (kind, op) in ["read", "write"].into_iter().enumerate() {
        let labels = Labels::of("op", op);
        json.figure(
            "learned_from",
            &labels,
            MetricUnit::One,
            fit.learned_from[kind] as f64,
        );
        // What the training half does not hold has no figure.
        if fit.learned_from[kind] == 0 {
            continue;
        }
        json.figure(
            "us_per_kib",
            &labels,
            MetricUnit::Microseconds,
            fit.service.us_per_kib[kind],
        );
    }
    add_quality(&mut json, "training", &fit.training);
    add_quality(&mut json, "held-out", &fit.held_out);
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::Distribution;

    fn quality(relative: f64, by_kind_ms: f64) -> Quality {
        Quality {
            demerit_ms: 1.0,
            by_kind_ms,
            relative,
            ks: 0.05,
            recorded: Distribution::default(),
            simulated: Distribution::default(),
        }
    }

    #[test]
    fn a_large_demerit_is_blamed_on_the_longest_only_where_it_is_theirs() {
        let longest = "most of the demerit is that of the longest";
        assert_eq!(demerit_words(&quality(0.4, 0.1)), None);
        assert!(demerit_words(&quality(0.6, 0.1)).unwrap().contains(longest));
        let other = demerit_words(&quality(0.6, 0.9)).unwrap();
        assert!(!other.contains(longest), "{other}");
    }
}
