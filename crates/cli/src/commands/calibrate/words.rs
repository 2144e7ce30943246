//! What `calibrate` says about a fit, and its JSON.

use iosonar_disk_model::{DiskProfile, SeekPoints};
use iosonar_report::grouped;
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};
use iosonar_study::calibrate::{DiskFit, FlashFit, How, Parallelism, Parameter, Quality, SsdFit};
use iosonar_trace::Op;
use iosonar_units::Nanos;
use serde_json::json;

use crate::render::check_model::parallelism_name;
use iosonar_stats::Output;

pub(super) fn quality_words(quality: &Quality) -> String {
    format!(
        "demerit {} ({:.1} % of the mean), KS {:.3}",
        Nanos::nearest(quality.demerit_ms * 1e6),
        100.0 * quality.relative,
        quality.ks
    )
}

pub(super) fn disk_words(start: &DiskProfile, fit: &DiskFit) -> String {
    let how = match fit.how {
        How::Angles {
            coherence,
            slack_ms,
        } => format!(
            "from transfer end times: rotational coherence {coherence:.3} (1 is exact), \
             seek curves within {}",
            Nanos::nearest(slack_ms * 1e6)
        ),
        How::Buffer { coherence } => format!(
            "from reads served by the buffer, and from the transfer end times of all other requests: rotational \
             coherence {coherence:.3} (1 is exact)"
        ),
        How::Distribution { coherence } => format!(
            "from the distribution of latencies, as positions do not explain the times (rotational coherence \
             {coherence:.3}, 1 is exact)"
        ),
        How::Unchanged => "no better fit was found: the profile is unchanged".to_owned(),
    };
    let curve = |op: Op, new: &SeekPoints, old: &SeekPoints| {
        let name = plural(op);
        // Its curve keeps its distance to the other one, or stays as it was.
        if fit.learned_from[usize::from(op == Op::Write)] == 0 {
            return format!("  seek, {name:6} not measured: the training half has no {name}\n");
        }
        format!(
            "  seek, {name:6} {:.4} to {:.4} ms (was {:.4} to {:.4})\n",
            new.track_to_track_ms, new.full_stroke_ms, old.track_to_track_ms, old.full_stroke_ms
        )
    };
    let drive = drive_words(fit);
    format!(
        "{how}\n{drive}  revolution   {:.6} ms, {:.1} per minute (was {:.6} ms)\n{}{}  use it with disk.model = \
         \"{}\"\n  training half: {}\n  held-out half: {}\n  held-out half, previous profile: {}",
        fit.profile.revolution_ms,
        fit.profile.revolutions_per_minute(),
        start.revolution_ms,
        curve(Op::Read, &fit.profile.seek.read, &start.seek.read),
        curve(Op::Write, &fit.profile.seek.write, &start.seek.write),
        fit.model,
        quality_words(&fit.training),
        quality_words(&fit.held_out),
        quality_words(&fit.before),
    )
}

/// What the records hold of the buffer and the electronics.
fn drive_words(fit: &DiskFit) -> String {
    match (&fit.drive, &fit.how) {
        (Ok(_), How::Buffer { .. }) => parameter_words(&fit.parameters()),
        (Ok(_), _) => {
            "  buffer       some reads are faster than the medium, but a profile with a buffer fits worse\n".to_owned()
        }
        (Err(missing), _) => format!("  buffer       not identifiable from this recording: {missing}\n"),
    }
}

/// A table of parameters: value, range, requests.
fn parameter_words(parameters: &[Parameter]) -> String {
    let mut text = format!(
        "  {:38} {:>12} {:>26} {:>10}\n",
        "parameter", "value", "range", "requests"
    );
    for Parameter { key, figure } in parameters {
        text += &match figure {
            Ok(found) => {
                let number = |x: f64| {
                    if x >= 1e4 {
                        grouped(x.round() as u64)
                    } else {
                        significant(x)
                    }
                };
                let range = format!("{} to {}", number(found.low), number(found.high));
                format!(
                    "  {key:38} {:>12} {range:>26} {:>10}\n",
                    number(found.value),
                    grouped(found.requests)
                )
            }
            Err(missing) => format!("  {key:38} not identifiable from this recording: {missing}\n"),
        };
    }
    text
}

/// Five significant digits at least.
fn significant(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.3}"),
        _ => format!("{x:.5}"),
    }
}

pub(super) fn flash_words(fit: &FlashFit) -> String {
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let or_not_seen = |value: Option<f64>| value.map_or("not seen".to_owned(), megabytes);
    let row = |name: &str, recorded: String, simulated: String| {
        format!("  {name:38} {recorded:>12} {simulated:>12}\n")
    };
    let (recorded, simulated) = (&fit.recorded, fit.simulated.as_ref());
    let rate =
        |rate: Option<f64>| rate.map_or("not seen".to_owned(), |r| format!("{:.1} MB/s", r / 1e6));
    format!(
        "from the changes in throughput during {} of writes\n{}{}{}{}{}{}  in each of 20 parts of the run, the \
         profile's throughput is within {:.1} % of the recorded throughput",
        megabytes(recorded.bytes),
        row("the run", "recorded".to_owned(), "simulated".to_owned()),
        row(
            "initial burst",
            or_not_seen(recorded.burst_bytes),
            or_not_seen(simulated.and_then(|s| s.burst_bytes))
        ),
        row(
            "sustained",
            rate(Some(recorded.sustained)),
            rate(simulated.map(|s| s.sustained))
        ),
        row(
            "cleaning cliff after",
            or_not_seen(recorded.cliff_bytes),
            or_not_seen(simulated.and_then(|s| s.cliff_bytes))
        ),
        row(
            "after the cliff",
            rate(recorded.after),
            rate(simulated.and_then(|s| s.after))
        ),
        parameter_words(&fit.parameters()),
        100.0 * fit.off(),
    )
}

/// Parameters as JSON: those that are not identifiable have no value, but a reason.
fn parameters_json(parameters: &[Parameter]) -> serde_json::Value {
    let one = |p: &Parameter| match p.figure {
        Ok(found) => json!({
            "key": p.key, "value": found.value, "low": found.low, "high": found.high, "requests": found.requests,
        }),
        Err(missing) => json!({ "key": p.key, "value": null, "why": missing.to_string() }),
    };
    parameters.iter().map(one).collect()
}

pub(super) fn flash_json(fit: &FlashFit) -> Output {
    let mut json = Output::new("calibrate");
    json.set("how", json!("throughput"));
    json.set("parameters", parameters_json(&fit.parameters()));
    let simulated = fit.simulated.as_ref().map(|pace| ("simulated", pace));
    for (source, pace) in [("recorded", &fit.recorded)].into_iter().chain(simulated) {
        let labels = Labels::of("source", source);
        for (name, unit, value) in [
            ("burst", MetricUnit::Bytes, pace.burst_bytes),
            (
                "sustained",
                MetricUnit::BytesPerSecond,
                Some(pace.sustained),
            ),
            ("cliff", MetricUnit::Bytes, pace.cliff_bytes),
            ("after_cliff", MetricUnit::BytesPerSecond, pace.after),
        ] {
            if let Some(value) = value {
                json.figure(name, &labels, unit, value);
            }
        }
    }
    json.figure(
        "throughput_off",
        &Labels::default(),
        MetricUnit::One,
        fit.off(),
    );
    json
}

pub(super) fn ssd_words(fit: &SsdFit) -> String {
    let of = |op: Op, other: Op| {
        let (kind, name) = (usize::from(op == Op::Write), plural(op));
        if fit.learned_from[kind] == 0 {
            return format!(
                "  {name}: the training half has no {name}, so their times are unknown; the profile uses the times \
                 of {}\n",
                plural(other)
            );
        }
        let quantiles: &Vec<(f64, f64)> = &fit.service.quantiles[kind];
        let at = quantiles.iter().position(|q| q.0 >= 0.5).unwrap_or(0);
        let median = Nanos::nearest(quantiles[at].1 * 1e3);
        let requests = grouped(fit.learned_from[kind]);
        if fit.service.has_one_size[kind] {
            return format!(
                "  {name}: median {median}, from {requests} requests of the same size, so the time per KiB is unknown; \
                 the profile uses 0\n"
            );
        }
        format!(
            "  {name}: median {median}, plus {} per KiB, from {requests} requests\n",
            Nanos::nearest(fit.service.us_per_kib[kind] * 1e3),
        )
    };
    format!(
        "  requests served at a time: {}\n{}{}  training half: {}\n  held-out half: {}",
        at_a_time(fit),
        of(Op::Read, Op::Write),
        of(Op::Write, Op::Read),
        quality_words(&fit.training),
        quality_words(&fit.held_out),
    )
}

/// How many requests are served at a time, and how much the records say of that.
fn at_a_time(fit: &SsdFit) -> String {
    let channels = fit.service.channels;
    match fit.parallelism() {
        Parallelism::Known => channels.to_string(),
        Parallelism::AtLeast => format!("{channels} or more"),
        Parallelism::Unknown => format!("{channels} (not identifiable from this recording)"),
    }
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

/// What a profile says of the revolution and of seeks, under names with this prefix.
fn add_drive(json: &mut Output, prefix: &str, profile: &DiskProfile) {
    let mut add = |name: &str, labels: &Labels, unit, value| {
        json.metric(Metric::figure(
            format!("{prefix}{name}"),
            labels,
            unit,
            value,
        ));
    };
    let (ms, none) = (MetricUnit::Milliseconds, Labels::default());
    let revolution = profile.revolution_ms;
    add("revolution", &none, ms.clone(), revolution);
    let per_minute = profile.revolutions_per_minute();
    add("revolutions_per_minute", &none, MetricUnit::One, per_minute);
    for (op, points) in [("read", &profile.seek.read), ("write", &profile.seek.write)] {
        let labels = Labels::of("op", op);
        let (first, last) = (points.track_to_track_ms, points.full_stroke_ms);
        add("track_to_track", &labels, ms.clone(), first);
        add("full_stroke", &labels, ms.clone(), last);
    }
}

pub(super) fn disk_json(start: &DiskProfile, fit: &DiskFit) -> Output {
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
    json.set("parameters", parameters_json(&fit.parameters()));
    json.set(
        "buffer",
        json!(fit.drive.as_ref().err().map(ToString::to_string)),
    );
    add_drive(&mut json, "", &fit.profile);
    add_drive(&mut json, "previous_", start);
    add_quality(&mut json, "training", &fit.training);
    add_quality(&mut json, "held-out", &fit.held_out);
    add_quality(&mut json, "held-out, before", &fit.before);
    json
}

pub(super) fn ssd_json(fit: &SsdFit) -> Output {
    let mut json = Output::new("calibrate");
    let channels = f64::from(fit.service.channels);
    json.figure("channels", &Labels::default(), MetricUnit::One, channels);
    json.set("parallelism", json!(parallelism_name(fit.parallelism())));
    for (kind, op) in ["read", "write"].into_iter().enumerate() {
        let labels = Labels::of("op", op);
        json.figure(
            "learned_from",
            &labels,
            MetricUnit::One,
            fit.learned_from[kind] as f64,
        );
        // What the training half does not show has no figure.
        if fit.learned_from[kind] == 0 || fit.service.has_one_size[kind] {
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
