//! What was measured, for people.

mod activity;

use std::fmt::Write;

use iosonar_analysis::{Burstiness, GAPS, LoadSummary, Measured, OutcomeSummary};
use iosonar_report::{counted, grouped};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use crate::commands::info::{amount, lines, percent, sectors};
use crate::render::table::Table;
use activity::activity;

pub(super) fn text(measured: &Measured) -> String {
    let mut text = format!("{}\n\n", measured.name);
    text += &load(&measured.load);
    if measured.left_out > 0 {
        text += &format!(
            "  left out      {} part of the load (use --include-skipped to include them)\n",
            counted(
                measured.left_out,
                [
                    "request was not submitted when the trace was recorded and is not",
                    "requests were not submitted when the trace was recorded and are not"
                ]
            )
        );
    }
    if let Some(by) = &measured.by {
        let mut table = Table::new(&[
            by.title(),
            "requests",
            "share",
            "reads",
            "sectors",
            "latency p50",
            "p99",
        ]);
        for (name, of) in by.rows(&measured.metadata) {
            let quantile = |p| {
                of.latency
                    .histogram
                    .quantile(p)
                    .map_or_else(String::new, |t: Nanos| t.to_string())
            };
            table.row(vec![
                name,
                grouped(of.requests),
                percent(of.requests, measured.load.requests()),
                percent(of.reads, of.requests),
                grouped(of.sectors),
                quantile(0.5),
                quantile(0.99),
            ]);
        }
        text += &format!("\nBy {}\n{}", by.title(), table.text());
    }
    match &measured.outcome {
        Some(outcome) => {
            text += "\n";
            let others = measured.load.name_of_others();
            text += &outcomes(outcome, others);
            text += "\n";
            text += &activity(&outcome.activity, others);
        }
        None => text += "\nThe trace has no latencies or outcomes.\n",
    }
    text.push('\n');
    text + &conclusion(measured)
}

/// What load this is and how it was served, in a sentence.
fn conclusion(measured: &Measured) -> String {
    let load = &measured.load;
    let all = load.requests();
    if all == 0 {
        return "There are no requests to measure.\n".to_owned();
    }
    let rate = match load.last > load.first {
        true => format!("{:.1} requests/s", load.requests_per_s),
        // Requests at one instant have no rate.
        false => format!(
            "{} request{}",
            grouped(all),
            if all == 1 { "" } else { "s" }
        ),
    };
    let mut text = format!(
        "{rate}, {} reads, on {} of distinct data",
        percent(load.reads.requests, all),
        Bytes::new(load.distinct_sectors.saturating_mul(SECTOR_BYTES))
    );
    if let Some(outcome) = &measured.outcome {
        for (name, of) in [
            ("reads", &outcome.reads),
            (load.name_of_others(), &outcome.writes),
        ] {
            let times = &of.response_time;
            let p99 = times.histogram.quantile(0.99);
            match p99.filter(|_| times.histogram.supports_quantile(0.99)) {
                Some(time) => _ = write!(text, "; p99 {time} of {name}"),
                None if times.count() > 0 => {
                    let mean = Nanos::nearest(times.moments.mean());
                    let _ = write!(text, "; mean {mean} of {name}");
                }
                None => {}
            }
        }
    }
    text + ".\n"
}

fn quantiles_of_distance(load: &LoadSummary) -> String {
    if load.successors == 0 {
        return String::new();
    }
    let quantile = |p| load.distance.quantile(p).map_or(0, Nanos::get);
    format!(
        "mean {}; p50 {}, p90 {}",
        counted(load.mean_distance.round() as u64, ["sector", "sectors"]),
        grouped(quantile(0.5)),
        grouped(quantile(0.9))
    )
}

/// How many requests in which time.
fn requests(load: &LoadSummary) -> String {
    match load.requests() {
        1 => "1".to_owned(),
        n if load.span() == Nanos::ZERO => format!("{}, all starting at once", grouped(n)),
        n => format!(
            "{} in {}, {:.1}/s, {:.1} sectors/s{}",
            grouped(n),
            load.span(),
            load.requests_per_s,
            load.sectors_per_s(),
            // Discards have sectors, too.
            if load.other.requests > 0 {
                " read or written"
            } else {
                ""
            }
        ),
    }
}

fn dispersions(b: &Burstiness) -> String {
    let slots = b.dispersions.iter().step_by(3);
    let several: Vec<String> = slots
        .map(|(slot, value)| format!("{value:.2} at {slot}"))
        .collect();
    match several.is_empty() {
        true => "the trace is too short to compute the dispersion of its arrivals".to_owned(),
        // The line before names it.
        false if b.dispersion.is_finite() => several.join(", "),
        false => format!("dispersion {}", several.join(", ")),
    }
}

fn hurst(b: &Burstiness) -> String {
    match b.hurst {
        None => "unknown: the trace is too short, or has too few requests".to_owned(),
        Some(h) => format!(
            "{:.2} (standard error of the fit {:.2}; independent arrivals: 0.5)",
            h.value, h.stderr
        ),
    }
}

fn overlaps(load: &LoadSummary) -> String {
    let within = GAPS.iter().zip(load.close_overlaps);
    let within: Vec<String> = within
        .map(|(gap, n)| format!("{} within {gap}", percent(n, load.requests())))
        .collect();
    within.join(", ") + " of an overlapping request (not counting reads that overlap reads)"
}

fn load(load: &LoadSummary) -> String {
    let b = &load.burstiness;
    let of = |a: iosonar_analysis::Amount| amount(a.requests, load.requests(), a.sectors);
    let of_successors = |n: u64, what: &str| match load.successors {
        0 => String::new(),
        all => format!("{} ({}) {what}", grouped(n), percent(n, all)),
    };
    let mut text = lines(
        "Load",
        &[
            ("requests", requests(load)),
            ("reads", of(load.reads)),
            ("writes", of(load.writes)),
            ("others", of(load.other)),
            (
                "length",
                match load.shortest == load.longest {
                    true => counted(load.longest.into(), ["sector", "sectors"]),
                    false => format!("{} to {} sectors", load.shortest, load.longest),
                },
            ),
            (
                "end",
                format!(
                    "sector {} ({})",
                    grouped(load.end_sector),
                    Bytes::new(load.end_sector.saturating_mul(SECTOR_BYTES))
                ),
            ),
            (
                "turns",
                of_successors(
                    load.turns,
                    "start at a lower sector than the previous request",
                ),
            ),
            (
                "sequential",
                of_successors(load.sequential, "start where the previous request ended"),
            ),
            ("distance", quantiles_of_distance(load)),
            ("interarrival", interarrival(b)),
            ("burstiness", burstiness(b)),
            ("", dispersions(b)),
            ("Hurst", hurst(b)),
            ("overlaps", overlaps(load)),
        ],
    );
    text += "\n";
    text += &working_set(load);
    text
}

fn working_set(load: &LoadSummary) -> String {
    let exact = load.sampling_rate >= 1.0;
    let mut text = lines(
        "Working set",
        &[
            (
                "distinct",
                format!(
                    "{}; {} of 4 KiB",
                    sectors(load.distinct_sectors),
                    counted(load.distinct_pages, ["page", "pages"])
                ),
            ),
            (
                "exactness",
                if exact {
                    String::new()
                } else {
                    format!(
                        "a sample of {:.3} % of the pages: standard error at most {:.2} %",
                        100.0 * load.sampling_rate,
                        100.0 * load.working_set_stderr
                    )
                },
            ),
            (
                "windows",
                if load.window_excess == Nanos::ZERO {
                    String::new()
                } else {
                    format!(
                        "up to {} longer than stated: requests were grouped to save memory",
                        load.window_excess
                    )
                },
            ),
        ],
    );
    let mut table = Table::new(&["window", "mean", "max", "mean span", "mean span / set"]);
    for of in load.window_sizes() {
        table.row(vec![
            of.name(),
            grouped(of.mean.round() as u64),
            grouped(of.max),
            grouped(of.mean_span.round() as u64),
            match of.span_per_sector() {
                ratio if ratio.is_finite() => format!("{ratio:.1}"),
                _ => String::new(),
            },
        ]);
    }
    text += &table.text();
    text += "  (sectors, at the end of each rate window)\n\n";
    text + &reuse(load)
}

fn reuse(load: &LoadSummary) -> String {
    if load.page_accesses == 0 {
        return "No page was accessed.\n".to_owned();
    }
    let f = &load.frequencies;
    lines(
        "Reuse of pages of 4 KiB",
        &[
            (
                "accesses",
                format!(
                    "{}; per page: mean {:.1}, p50 {}, p90 {}, p99 {}, max {}",
                    grouped(load.page_accesses),
                    f.mean,
                    f.median,
                    f.p90,
                    f.p99,
                    f.most
                ),
            ),
            (
                "hottest",
                load.hot
                    .iter()
                    .take(load.hot.len() - 1)
                    .rev()
                    .enumerate()
                    .map(|(i, h)| {
                        let (accesses, pages) = (100.0 * h.accesses, 100.0 * h.share);
                        match i {
                            0 => format!(
                                "{accesses:.1} % of the accesses go to {pages:.2} % of the pages"
                            ),
                            _ => format!("{accesses:.1} % to {pages:.2} %"),
                        }
                    })
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            ("miss ratio", miss_ratios(load)),
        ],
    )
}

fn miss_ratios(load: &LoadSummary) -> String {
    let of = |pages: &u64| {
        let size = Bytes::new(pages * 4096);
        format!("{size}: {:.1} %", 100.0 * load.curve.miss_ratio(*pages))
    };
    let curve: Vec<String> = load.cache_sizes().iter().map(of).collect();
    let first = format!("first accesses {:.1} %", 100.0 * load.curve.cold_share());
    if curve.is_empty() {
        return format!("{first}; all pages fit in a cache of 1 MiB");
    }
    format!("with an LRU cache of {}; {first}", curve.join(", "))
}

fn outcomes(outcome: &OutcomeSummary, others: &str) -> String {
    let mut text = String::from("Outcome\n");
    for (title, of) in [("response time", 0), ("latency", 1), ("delay", 2)] {
        let mut table = Table::of_times(title);
        for (name, outcomes) in [("reads", &outcome.reads), (others, &outcome.writes)] {
            let distribution = match of {
                0 => &outcomes.response_time,
                1 => &outcomes.latency,
                _ => &outcomes.delay,
            };
            if distribution.count() > 0 {
                table.times(name, distribution);
            }
        }
        text += &table.text();
    }
    let mut table = Table::of_times("latency by size");
    for (class, [reads, writes]) in &outcome.by_size {
        for (name, distribution) in [("reads", reads), (others, writes)] {
            if distribution.count() > 0 {
                let size = counted(u64::from(*class), ["sector", "sectors"]);
                table.times(&format!("{name} up to {size}"), distribution);
            }
        }
    }
    text += &table.text();
    if outcome.by_size.len() > 1 {
        text += "  (up to a size: longer than half of it)\n";
    }
    text + &in_flight(outcome)
}

/// What was in flight at once, and what was not served.
fn in_flight(outcome: &OutcomeSummary) -> String {
    let timed = outcome.reads.latency.count() + outcome.writes.latency.count();
    let [all, mixed, writes] = outcome.damaged;
    let known = |n: u64| match n {
        0 => String::new(),
        n => grouped(n),
    };
    let rows = lines(
        "",
        &[
            (
                "in flight",
                format!(
                    "mean {:.2}, at most {}",
                    outcome.in_flight, outcome.most_in_flight
                ),
            ),
            (
                "duration",
                match outcome.demanded {
                    Nanos::ZERO => format!("actual {}", outcome.actual),
                    demanded => format!(
                        "intended {demanded}, actual {}, ratio {:.4}",
                        outcome.actual,
                        outcome.duration_ratio()
                    ),
                },
            ),
            (
                "overlapping",
                format!(
                    "{} overlap with a request in flight; {} if one of the two must be a write, {} if both must",
                    percent(all, timed),
                    percent(mixed, timed),
                    percent(writes, timed)
                ),
            ),
            ("left out", known(outcome.skipped)),
            ("not measured", known(outcome.missing)),
            ("not completed", known(outcome.not_done - outcome.skipped)),
        ],
    );
    rows.trim_start_matches('\n').to_owned()
}

/// The times between starts, as far as there are several.
fn interarrival(of: &Burstiness) -> String {
    let (Some(median), Some(p99)) = (
        of.interarrival.quantile(0.5),
        of.interarrival.quantile(0.99),
    ) else {
        return String::new();
    };
    let mut text = format!("p50 {median}, p99 {p99}");
    if of.interarrival_cv.is_finite() {
        let _ = write!(text, "; coefficient of variation {:.2}", of.interarrival_cv);
    }
    text
}

/// How uneven arrivals are, as far as the trace is long enough to see it.
fn burstiness(of: &Burstiness) -> String {
    let mut text = format!("at most {} in a second", of.most_per_s);
    if of.dispersion.is_finite() {
        let _ = write!(
            text,
            ", {:.1} times the mean; dispersion {:.2} at 1 s (Poisson: 1)",
            of.peak_to_mean, of.dispersion
        );
    }
    text
}
