//! How well a model predicts a device: the verdict in a sentence, the tables, the picture.

use iosonar_plot::{Chart, Colour, Mark};
use iosonar_report::{Quantity, cdf_of, curve, grouped, show_quantiles};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Output};
use iosonar_study::calibrate::{Parallelism, Quality};
use iosonar_study::check_model::{Fitted, MOST_DELAYED, ModelCheck, Rating, Unjudged};
use iosonar_study::validate::{Compared, Fit};
use serde_json::json;

use super::style::Tone;
use super::table::{Table, significant};

/// The quantiles at which device and model are compared.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Where the model is beside the device, as a share of the device's value: "3.1 % above" the device's.
fn beside(share: f64) -> String {
    let percent = significant(100.0 * share.abs(), 2);
    match share {
        share if share.abs() < 0.0005 => "within 0.1 % of".to_owned(),
        share if share > 0.0 => format!("{percent} % above"),
        _ => format!("{percent} % below"),
    }
}

/// A deviation as a share, for a table.
fn signed(share: f64) -> String {
    match share.is_nan() {
        true => "-".to_owned(),
        false => format!("{:+.1} %", 100.0 * share),
    }
}

/// What the verdict is called for programs and in pages.
pub(crate) fn name(verdict: Rating) -> &'static str {
    match verdict {
        Rating::Good => "good",
        Rating::Poor => "poor",
        Rating::CannotTell(_) => "cannot tell",
    }
}

/// The verdict with its error, in a sentence.
pub(crate) fn sentence(check: &ModelCheck) -> String {
    let (_, all) = &check.classes()[0];
    let errors = || {
        format!(
            "on the held-out half, the model's p50 is {} and its p99 {} the device's; KS {:.3}",
            beside(all.error_at(0.5)),
            beside(all.error_at(0.99)),
            all.ks()
        )
    };
    match check.rating() {
        Rating::Good => format!("GOOD: {}", errors()),
        Rating::Poor => format!("POOR: {}{}{}", errors(), why_poor(check), changed(check)),
        Rating::CannotTell(Unjudged::TooFew { held_out }) => format!(
            "CANNOT TELL: the held-out half has only {} requests with a latency, and at least {} are needed. Replay \
             more of the load",
            grouped(held_out),
            grouped(Quality::FEWEST)
        ),
        Rating::CannotTell(Unjudged::Late(of)) => format!(
            "CANNOT TELL: {} of the requests were submitted more than {} late (the limit is {}), so the latencies \
             include delays of this machine. Replay when it is idle, or at a lower rate",
            percent(of.late),
            of.limit,
            percent(MOST_DELAYED)
        ),
        Rating::CannotTell(Unjudged::HeldBack(of)) => format!(
            "CANNOT TELL: {} of the requests waited because the queue was full (the limit is {}), so their submission \
             times depend on the device. Replay at a lower rate, with more --in-flight, or with --engine io_uring",
            percent(of.held_back),
            percent(MOST_DELAYED)
        ),
        Rating::CannotTell(Unjudged::ParallelismUnknown { channels }) => format!(
            "CANNOT TELL: the model fits, but hardly any request was {}, so the records do not show whether the device \
             serves {channels} requests at a time or lets them wait. Record a load whose queue depth varies, which \
             includes single requests",
            match (channels / 2).max(1) - 1 {
                0 => "alone at the device".to_owned(),
                1 => "at the device with only one other".to_owned(),
                others => format!("at the device with only {others} others"),
            }
        ),
        Rating::CannotTell(Unjudged::ClosedLoop { at_completions }) => format!(
            "CANNOT TELL: {}, but {}{}",
            errors(),
            why_closed_loop(at_completions),
            changed(check)
        ),
        Rating::CannotTell(Unjudged::Correlated { effective }) => format!(
            "CANNOT TELL: {}, but the held-out half amounts to only {} independent requests, as in a device near \
             saturation, so chance explains this. Replay more of the load, or at a lower rate",
            errors(),
            grouped(effective)
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 2))
}

/// Why a model need not fit the records of a closed loop, as the end of a sentence.
pub(crate) fn why_closed_loop(at_completions: f64) -> String {
    format!(
        "{} of the requests were submitted as soon as another one completed, as in a closed loop. The model receives them at the \
         recorded times, whether or not it has completed the ones before. Record a load whose arrivals do not depend on \
         completions",
        percent(at_completions)
    )
}

/// What makes a fit poor, as the end of a sentence.
fn why_poor(check: &ModelCheck) -> String {
    let Some((name, of)) = check.poor() else {
        return String::new();
    };
    let (ks, tail) = (of.ks(), signed(of.error_at(0.99)));
    match (name, ks > Quality::POOR) {
        ("all", true) => format!(", more than {}", Quality::POOR),
        ("all", false) => format!(
            "; its p99 is more than {} off",
            percent(Quality::tail_limit(&of))
        ),
        (name, true) => format!("; KS of {name} {ks:.3}, more than {}", Quality::POOR),
        (name, false) => format!(
            "; p99 of {name} {tail}, more than {} off",
            percent(Quality::tail_limit(&of))
        ),
    }
}

/// That the device was not the same in both halves, so that no model of the first could be good, as the end of a sentence.
fn changed(check: &ModelCheck) -> String {
    match check.has_changed() {
        true => format!(
            ". The KS distance between the two halves of the device's own records is {:.3}: its load, its state or \
             other activity on the machine changed",
            check.halves_apart
        ),
        false => String::new(),
    }
}

/// What the records say of the number of requests that are served at a time, for programs.
pub(crate) fn parallelism_name(of: Parallelism) -> &'static str {
    match of {
        Parallelism::Known => "known",
        Parallelism::AtLeast => "at least",
        Parallelism::Unknown => "unknown",
    }
}

/// What was fitted, in a line.
pub(crate) fn model(fitted: &Fitted) -> String {
    match fitted {
        Fitted::Disk(fit) => format!(
            "a disk ({}), {:.1} revolutions per minute",
            fit.model,
            fit.profile.revolutions_per_minute()
        ),
        Fitted::Ssd(fit) => match (fit.parallelism(), fit.service.channels) {
            (Parallelism::Known, 1) => "serves one request at a time".to_owned(),
            (Parallelism::Known, n) => format!("serves {n} requests at a time"),
            (Parallelism::AtLeast, n) => format!("serves {n} or more requests at a time"),
            (Parallelism::Unknown, n) => {
                format!("serves {n} requests at a time (not identifiable from this recording)")
            }
        },
    }
}

/// The tables, and the verdict as the last line.
pub(crate) fn text(check: &ModelCheck) -> String {
    let classes = check.classes();
    // Of one kind alone, all says the same.
    let is_both = classes.iter().all(|(_, of)| of.measured.count() > 0);
    let present = || classes.iter().filter(|(name, _)| is_both || *name == "all");
    let mut times = Table::of_times("latency, held-out half");
    for (name, of) in present() {
        times.times(&format!("{name}, device"), &of.measured);
        times.times(&format!("{name}, model"), &of.simulated);
    }
    let mut header = vec!["model error", "mean"];
    header.extend(QUANTILES.map(|(name, _)| name));
    header.extend(["KS", "fit"]);
    let mut errors = Table::new(&header);
    for (name, of) in present() {
        let mut row = vec![(*name).to_owned(), signed(of.error_of_mean())];
        row.extend(QUANTILES.map(|(_, p)| signed(of.error_at(p))));
        row.extend([format!("{:.3}", of.ks()), fit(of).to_owned()]);
        errors.row(row);
    }
    let submission = match check.submission {
        Some(of) => format!(
            "  submitted more than {} late: {:.2} % of the requests; waited because the queue was full: {:.2} %\n",
            of.limit,
            100.0 * of.late,
            100.0 * of.held_back
        ),
        None => String::new(),
    };
    format!(
        "{}\n{}\n  model: {}, fitted to the first half of {} requests\n  the device's own halves: KS {:.3}\n{submission}{}\n",
        times.text(),
        errors.text(),
        model(&check.fitted),
        grouped(check.requests),
        check.halves_apart,
        toned(check)
    )
}

/// The sentence with its verdict in colour.
fn toned(check: &ModelCheck) -> String {
    let sentence = sentence(check);
    let tone = match check.rating() {
        Rating::Good => Tone::Good,
        Rating::Poor => Tone::Bad,
        Rating::CannotTell(_) => Tone::Doubtful,
    };
    match sentence.split_once(':') {
        Some((verdict, errors)) => format!("{}:{errors}", tone.of(verdict)),
        None => sentence,
    }
}

/// What is said of a class.
fn fit(of: &Compared) -> &'static str {
    match Quality::fit_of(of) {
        Fit::Good => "good",
        Fit::Poor => "poor",
        Fit::TooFew => "too few",
    }
}

/// The results for programs.
pub(crate) fn as_json(check: &ModelCheck) -> Output {
    let mut json = Output::new("check-model");
    let verdict = check.rating();
    json.set("verdict", json!(name(verdict)));
    json.set(
        "why",
        match verdict {
            Rating::CannotTell(Unjudged::TooFew { .. }) => json!("too few requests"),
            Rating::CannotTell(Unjudged::Late(_)) => json!("submitted late"),
            Rating::CannotTell(Unjudged::HeldBack(_)) => json!("waited for a place"),
            Rating::CannotTell(Unjudged::ParallelismUnknown { .. }) => {
                json!("queue depth hardly varies")
            }
            Rating::CannotTell(Unjudged::ClosedLoop { .. }) => json!("closed loop"),
            Rating::CannotTell(Unjudged::Correlated { .. }) => json!("correlated requests"),
            Rating::Good | Rating::Poor => json!(null),
        },
    );
    json.set("sentence", json!(sentence(check)));
    json.set("requests", json!(check.requests));
    if let Fitted::Ssd(fit) = &check.fitted {
        json.set("parallelism", json!(parallelism_name(fit.parallelism())));
        let channels = f64::from(fit.service.channels);
        json.figure("channels", &Labels::default(), MetricUnit::One, channels);
    }
    let none = Labels::default();
    if let Some(of) = check.submission {
        let limit_ms = of.limit.as_millis_f64();
        json.figure("late_limit", &none, MetricUnit::Milliseconds, limit_ms);
        json.figure("share_late", &none, MetricUnit::One, of.late);
        json.figure("share_held_back", &none, MetricUnit::One, of.held_back);
    }
    if let Some(share) = check.at_completions {
        json.figure("share_at_completions", &none, MetricUnit::One, share);
    }
    json.figure("halves_apart", &none, MetricUnit::One, check.halves_apart);
    for (name, of) in check.classes() {
        if of.measured.count() == 0 {
            continue;
        }
        let class = Labels::of("class", name);
        let figures = [("mean_error", of.error_of_mean()), ("ks_distance", of.ks())];
        for (figure, value) in figures {
            json.figure(figure, &class, MetricUnit::One, value);
        }
        for (quantile, p) in QUANTILES {
            let labels = class.clone().with("quantile", quantile);
            json.figure("quantile_error", &labels, MetricUnit::One, of.error_at(p));
        }
        for (source, times) in [("measured", &of.measured), ("simulated", &of.simulated)] {
            json.times("latency", &class.clone().with("source", source), times);
        }
    }
    json
}

/// The distributions on the held-out half, of device and model; of reads and writes where both are many.
pub(crate) fn chart(check: &ModelCheck, title: &str) -> Chart {
    let [all, reads, writes] = check.classes();
    let is_both = [&reads, &writes]
        .iter()
        .all(|(_, of)| of.measured.count() >= Quality::FEWEST);
    let shown = match is_both {
        true => vec![reads, writes],
        false => vec![all],
    };
    let (mut marks, mut names) = (Vec::new(), Vec::new());
    for (i, (name, of)) in shown.iter().enumerate() {
        let name = |source: &str| match is_both {
            true => format!("{source}, {name}"),
            false => source.to_owned(),
        };
        let colour = |source| Colour::Curve(2 * i + source);
        marks.push(Mark::Line(curve(&name("device"), &of.measured, colour(0))));
        let model = curve(&name("model"), &of.simulated, colour(1));
        marks.push(Mark::Line(model.dashed()));
        names.push((name("device"), &of.measured, colour(0)));
        names.push((name("model"), &of.simulated, colour(1)));
    }
    let mut chart = cdf_of(title, Quantity::Latency, marks);
    chart.subtitle = sentence(check);
    let curves: Vec<_> = names
        .iter()
        .map(|(name, of, colour)| (name.as_str(), *of, *colour))
        .collect();
    show_quantiles(&mut chart, &curves);
    chart
}
