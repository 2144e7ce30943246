//! What was measured, for programs.

use iosonar_analysis::{Burstiness, Decomposition, Fit, GAPS, LoadSummary, WORKING_SET_WINDOWS};
use serde_json::{Value, json};

use super::Measured;
use super::tables::cache_sizes;
use crate::json::Output;

/// Makes the labels of a figure.
type Label<'a> = dyn Fn(&[(&str, Value)]) -> Value + 'a;

/// Adds the figures of a trace, labelled with its name where there are several.
pub(super) fn add(output: &mut Output, measured: &Measured, several: bool) {
    let label = |extra: &[(&str, Value)]| {
        let mut labels = serde_json::Map::new();
        if several {
            labels.insert("trace".to_owned(), json!(measured.name));
        }
        labels.extend(extra.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
        Value::Object(labels)
    };
    load(output, measured, &label);
    if let Some(by) = &measured.by {
        for (name, of) in by.rows(&measured.metadata) {
            let labels = label(&[(by.title(), json!(name))]);
            output.figure("requests", &labels, "1", of.requests as f64);
            output.figure("sectors", &labels, "sector", of.sectors as f64);
            output.times("latency", &labels, &of.latency, None);
        }
    }
    outcome(output, measured, &label);
}

fn load(output: &mut Output, measured: &Measured, label: &Label<'_>) {
    let load = &measured.load;
    for (op, amount) in [
        ("read", load.reads),
        ("write", load.writes),
        ("other", load.other),
    ] {
        let labels = label(&[("op", json!(op))]);
        output.figure("requests", &labels, "1", amount.requests as f64);
        output.figure("sectors", &labels, "sector", amount.sectors as f64);
    }
    let none = label(&[]);
    output.figure("not_submitted", &none, "1", measured.left_out as f64);
    let b = &load.burstiness;
    for (name, unit, value) in [
        ("first_start", "s", load.first.as_secs_f64()),
        ("last_start", "s", load.last.as_secs_f64()),
        ("requests_per_second", "1/s", load.requests_per_s),
        ("end_sector", "sector", load.end_sector as f64),
        ("shortest", "sector", f64::from(load.shortest)),
        ("longest", "sector", f64::from(load.longest)),
        ("turns", "1", load.turns as f64),
        ("sequential", "1", load.sequential as f64),
        ("mean_distance", "sector", load.mean_distance),
        ("most_per_second", "1", b.most_per_s as f64),
        ("peak_to_mean", "1", b.peak_to_mean),
        ("interarrival_cv", "1", b.interarrival_cv),
        ("distinct_pages", "1", load.distinct_pages as f64),
        ("page_accesses", "1", load.page_accesses as f64),
        ("sampling_rate", "1", load.sampling_rate),
        ("window_excess", "s", load.window_excess.as_secs_f64()),
        ("cold_share", "1", load.curve.cold_share()),
    ] {
        output.figure(name, &none, unit, value);
    }
    let distinct = load.distinct_sectors as f64;
    output.figure_with(
        "distinct_sectors",
        &none,
        "sector",
        distinct,
        distinct * load.working_set_stderr,
    );
    burstiness(output, b, label);
    for (gap, n) in GAPS.iter().zip(load.close_overlaps) {
        let labels = label(&[("within_s", json!(gap.as_secs_f64()))]);
        output.figure("overlaps", &labels, "1", n as f64);
    }
    reuse(output, load, label);
    working_sets(output, load, label);
}

/// How unevenly requests arrive.
fn burstiness(output: &mut Output, b: &Burstiness, label: &Label<'_>) {
    output.figure(
        "dispersion",
        &label(&[("slot_s", json!(1.0))]),
        "1",
        b.dispersion,
    );
    for (slot, value) in &b.dispersions {
        let labels = label(&[
            ("slot_s", json!(slot.as_secs_f64())),
            ("levels", json!("powers of two of 10 ms")),
        ]);
        output.figure("dispersion", &labels, "1", *value);
    }
    if let Some(hurst) = b.hurst {
        output.figure_with("hurst", &label(&[]), "1", hurst.value, hurst.stderr);
    }
}

/// How often pages are accessed again.
fn reuse(output: &mut Output, load: &LoadSummary, label: &Label<'_>) {
    for pages in cache_sizes(load) {
        let labels = label(&[("cache_bytes", json!(pages * 4096))]);
        output.figure("miss_ratio", &labels, "1", load.curve.miss_ratio(pages));
    }
    for hot in &load.hot {
        let labels = label(&[("accesses", json!(hot.accesses))]);
        output.figure("hot_pages", &labels, "1", hot.pages as f64);
        output.figure("hot_share", &labels, "1", hot.share);
    }
}

fn working_sets(output: &mut Output, load: &LoadSummary, label: &Label<'_>) {
    let names: Vec<String> = WORKING_SET_WINDOWS
        .iter()
        .map(|w| format!("{} s", w.get() / 1_000_000_000))
        .chain(["all".to_owned()])
        .collect();
    if let Some((_, last)) = load.series.last() {
        for (i, name) in names.iter().enumerate() {
            let most = load.series.iter().map(|(_, p)| p.working_set[i]).max();
            let labels = label(&[("window", json!(name))]);
            output.figure(
                "working_set_last",
                &labels,
                "sector",
                last.working_set[i] as f64,
            );
            output.figure(
                "working_set_max",
                &labels,
                "sector",
                most.unwrap_or(0) as f64,
            );
        }
    }
}

fn outcome(output: &mut Output, measured: &Measured, label: &Label<'_>) {
    let Some(outcome) = &measured.outcome else {
        return;
    };
    for (op, of) in [("read", &outcome.reads), ("write", &outcome.writes)] {
        let labels = label(&[("op", json!(op))]);
        output.times("response_time", &labels, &of.response_time, None);
        output.times("latency", &labels, &of.latency, None);
        output.times("delay", &labels, &of.delay, None);
    }
    let none = label(&[]);
    let [all, mixed, writes] = outcome.damaged;
    for (name, unit, value) in [
        ("in_flight", "1", outcome.in_flight),
        ("in_flight_max", "1", outcome.most_in_flight as f64),
        ("demanded_duration", "s", outcome.demanded.as_secs_f64()),
        ("actual_duration", "s", outcome.actual.as_secs_f64()),
        ("damaged", "1", mixed as f64),
        ("damaged_any", "1", all as f64),
        ("damaged_writes", "1", writes as f64),
        ("not_measured", "1", outcome.untimed as f64),
        ("not_done", "1", outcome.not_done as f64),
    ] {
        output.figure(name, &none, unit, value);
    }
    let activity = &outcome.activity;
    let mut decomposition = |when: &str, op: &str, of: &Decomposition| {
        let labels = label(&[("op", json!(op)), ("when", json!(when))]);
        // Not known is null.
        let (io_ms, overhead_ms) = of.parts().map_or((f64::NAN, f64::NAN), |parts| {
            (parts.io_ms, parts.overhead_ms)
        });
        output.figure("io_median", &labels, "ms", io_ms);
        output.figure("overhead_median", &labels, "ms", overhead_ms);
        if let Some(fit) = of.fit.filter(Fit::explains) {
            output.figure_with("io_fit", &labels, "ms", fit.io_ms, fit.io_stderr_ms);
            output.figure_with(
                "overhead_fit",
                &labels,
                "ms",
                fit.overhead_ms,
                fit.overhead_stderr_ms,
            );
        }
    };
    decomposition("all", "read", &activity.decomposition.reads);
    decomposition("all", "write", &activity.decomposition.writes);
    if let Some(peak) = &activity.peak {
        decomposition("peak", "read", &peak.decomposition.reads);
        decomposition("peak", "write", &peak.decomposition.writes);
    }
    for device in &activity.devices {
        let labels = label(&[(
            "device",
            json!(measured.metadata.device_name(device.device)),
        )]);
        output.figure("utilisation", &labels, "1", device.utilisation);
    }
    for group in &activity.groups {
        let labels = label(&[("from_s", json!(group.begin.as_secs_f64()))]);
        output.figure("requests", &labels, "1", group.requests.all as f64);
        output.figure("concurrency_p50", &labels, "1", group.concurrency[0] as f64);
        output.figure("concurrency_p75", &labels, "1", group.concurrency[1] as f64);
        output.figure("utilisation", &labels, "1", group.utilisation.all);
        output.figure("busy", &labels, "1", group.busy);
    }
}
