//! `iosonar compare`: records in, distances out.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iosonar_plot::{Chart, Size, Theme};
use iosonar_report::{
    Arrange, Measured, Quantity, SubmissionFlaw, find, joined, needs_of, verdicts,
};
use iosonar_stats::Estimate;
use iosonar_study::compare::{
    Class, Difference, PairError, Paired, Sample, metrics, paired, quantiles_against,
};
use iosonar_trace::transform::{Change, OnBackstep};
use iosonar_trace::{Reading, TraceReader, input};
use iosonar_units::Nanos;
use serde_json::{Value, json};

use crate::exit::{Ending, Usage, note, output_folder, print, print_data};
use crate::low::Compare;
use crate::render::looks::{self, Inputs};
use crate::render::objective;
use crate::render::picture;
use crate::render::table::{Cell, Table, significant};
use iosonar_stats::Output;
use iosonar_trace::apart;

const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// An interval that is wider than this factor only shows that the records are too short for one.
const WIDEST: f64 = 10.0;

const PICTURES: [&str; 3] = ["cdf.png", "qq.png", "sonar.png"];

pub(crate) fn run(args: &Compare) -> anyhow::Result<Ending> {
    if args.paired && args.inputs.len() != 2 {
        return Err(Usage("--paired needs exactly two files of records".to_owned()).into());
    }
    if let Some(dir) = &args.plot {
        // What had to be made is removed again at once, as it is empty.
        let _folder = output_folder(dir)?;
        let inputs: Vec<&Path> = args.inputs.iter().map(|input| &*input.path).collect();
        apart::refuse_unusable(&inputs, &PICTURES.map(|picture| dir.join(picture)))?;
    }
    let options = args.look.options();
    let quantity = options.quantity;
    let reading = args.reading.reading()?;
    let inputs = Inputs::of(&args.inputs)?;
    let mut samples = Vec::new();
    for (path, name) in inputs.paths.iter().zip(&inputs.names) {
        let mut sample = Sample::new(name);
        sample.read(&mut *input::open_changed(path, &reading)?, |o| {
            quantity.of(o)
        })?;
        sample.finish();
        if sample.classes()[0].times().count() == 0 {
            let path = path.display();
            let quantity = quantity.name();
            anyhow::bail!(
                "{path}: no successful read or write has a {quantity}; simulate or replay a load to get records \
                 ('iosonar info' shows what was measured)"
            );
        }
        samples.push(sample);
    }
    let pairs = if args.paired {
        Some(pair(&inputs.paths, &reading, quantity)?)
    } else {
        None
    };
    let judged = match options.targets.is_empty() {
        true => Vec::new(),
        false => looks::measure(&inputs, needs_of([]), false, &args.reading, &options, true)?,
    };
    if args.output.json {
        let mut json = as_json(&samples, quantity, pairs.as_ref());
        for input in &judged {
            for verdict in verdicts(input) {
                json.append("targets", objective::of_recording(&input.name, &verdict));
            }
        }
        print_data(&json.text())?;
    } else {
        print(&tables(&samples, quantity, pairs.as_ref()))?;
        for input in &judged {
            for verdict in verdicts(input) {
                print(&format!(
                    "{}: {}\n",
                    input.name,
                    objective::of_verdict(&verdict)
                ))?;
            }
        }
    }
    if !args.output.json {
        print(&conclusion(&samples, quantity, pairs.as_ref()))?;
    }
    if let Some(dir) = &args.plot {
        draw(args, &inputs, dir, &samples)?;
    }
    Ok(looks::ending(&judged))
}

fn pair(inputs: &[PathBuf], reading: &Reading, quantity: Quantity) -> anyhow::Result<Paired> {
    let sorted = |path: &Path| -> anyhow::Result<Box<dyn TraceReader>> {
        let mut reading = reading.clone();
        reading.changes.push(Change::OnBackstep(OnBackstep::Sort));
        Ok(input::open_changed(path, &reading)?)
    };
    let (mut first, mut second) = (sorted(&inputs[0])?, sorted(&inputs[1])?);
    match paired(&mut *first, &mut *second, |o| quantity.of(o)) {
        Ok(paired) => Ok(paired),
        Err(PairError::Trace(error)) => Err(error.into()),
        Err(error) => Err(Usage(error.to_string()).into()),
    }
}

/// A time with half the width of its interval, or the factor of an interval that is not symmetric: none goes below
/// zero.
fn time(before: &'static str, estimate: Estimate) -> Cell {
    let half = estimate.half_width_95();
    let after = match estimate.positive_interval_95() {
        Some(_) if half < estimate.mean => match 100.0 * half / estimate.mean {
            percent if percent < 0.01 => " ±<0.01 %".to_owned(),
            percent => format!(" ±{} %", significant(percent, 2)),
        },
        Some((_, upper)) if upper > WIDEST * estimate.mean => format!(" ×/÷ >{WIDEST}"),
        Some((_, upper)) => format!(" ×/÷ {}", significant(upper / estimate.mean, 2)),
        None => String::new(),
    };
    Cell::Time {
        before,
        time: Nanos::nearest(estimate.mean.max(0.0)),
        after,
    }
}

/// A difference, which may be below zero.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", Nanos::nearest(ns.abs()))
}

fn tables(samples: &[Sample], quantity: Quantity, pairs: Option<&Paired>) -> String {
    let mut text = String::new();
    let classes = samples[0].classes().len();
    let is_there = |class: usize| {
        samples
            .iter()
            .all(|s| s.classes()[class].times().count() > 0)
    };
    let sizes = (3..classes).filter(|&class| is_there(class)).count();
    for class in 0..classes {
        let is_all = class > 0 && {
            // A class equal to all requests adds no information.
            let n = |s: &Sample, c: usize| s.classes()[c].times().count();
            samples.iter().all(|s| n(s, class) == n(s, 0))
        };
        if !is_there(class) || is_all || (class >= 3 && sizes < 2) {
            continue;
        }
        text += &table(samples, quantity, class);
        for sample in &samples[1..] {
            text += &differences(&samples[0], sample, class);
        }
        text.push('\n');
    }
    if let Some(pairs) = pairs {
        text += &request_by_request(samples, pairs);
    }
    // Only what occurs above is explained.
    let legend = legend(&text);
    text + &legend
}

/// Times of a class of requests in all samples.
fn table(samples: &[Sample], quantity: Quantity, class: usize) -> String {
    let title = format!("{}, {}", quantity.name(), samples[0].classes()[class].name);
    let mut header = vec![title.as_str(), "n", "mean"];
    header.extend(QUANTILES.map(|(name, _)| name));
    header.push("max");
    let mut table = Table::new(&header);
    for sample in samples {
        let of = &sample.classes()[class];
        let mut row = vec![
            Cell::Text(sample.name.clone()),
            Cell::Text(iosonar_report::grouped(of.times().count())),
        ];
        row.push(time("", of.mean()));
        for (_, p) in QUANTILES {
            let weak = if of.times().histogram.supports_quantile(p) {
                ""
            } else {
                "~"
            };
            row.push(time(weak, of.quantile(p)));
        }
        row.push(Cell::Time {
            before: "",
            time: of.times().moments.max().unwrap_or_default(),
            after: String::new(),
        });
        table.cells(row);
    }
    table.text()
}

fn request_by_request(samples: &[Sample], pairs: &Paired) -> String {
    let half = pairs.difference_ns.half_width_95();
    let interval = if half.is_finite() {
        format!(" ± {}", Nanos::nearest(half))
    } else {
        " (too few requests for an interval)".to_owned()
    };
    format!(
        "  request by request, from {} to {}: {}{interval} on average; of {} pairs, {} were slower, {} faster and {} equal\n",
        samples[0].name,
        samples[1].name,
        signed(pairs.difference_ns.mean),
        iosonar_report::grouped(pairs.n),
        iosonar_report::grouped(pairs.longer),
        iosonar_report::grouped(pairs.shorter),
        iosonar_report::grouped(pairs.n - pairs.longer - pairs.shorter),
    )
}

/// How each input compares with the first, in a sentence.
fn conclusion(samples: &[Sample], quantity: Quantity, pairs: Option<&Paired>) -> String {
    let Some((first, others)) = samples.split_first() else {
        return String::new();
    };
    let quantity = quantity.name();
    let of = |other: &Sample| {
        let (a, b) = (&first.classes()[0], &other.classes()[0]);
        let of = Difference::between(a, b)?;
        let (mean, name) = (
            format!("The mean {quantity} of {}", other.name),
            &first.name,
        );
        let equal = format!("{mean} does not differ significantly from that of {name}");
        let doubt = match Chance::of(&of.mean_ns, pairs) {
            Chance::Contained => {
                return Some(format!("{equal}{}.\n", other_quantiles([a, b], &of, name)));
            }
            Chance::ContainedByPairs => {
                return Some(format!(
                    "{equal}: request by request, the 95 % interval of the difference contains zero{}.\n",
                    other_quantiles([a, b], &of, name)
                ));
            }
            Chance::Excluded => "",
            Chance::Unknown => {
                "There is no confidence interval for this difference: compare longer runs, or several.\n"
            }
        };
        let mut text = match pairs.filter(|pairs| pairs.n > 0) {
            Some(pairs) => format!(
                "{mean} is {}{}",
                factor(pairs.mean_ratio(), pairs.means_ns[1], name),
                of_pairs(pairs, [a, b])
            ),
            None => format!("{mean} is {}", factor(of.mean_ratio, b.mean().mean, name)),
        };
        let has_p99 = |class: &Class| class.times().histogram.supports_quantile(0.99);
        if has_p99(a) && has_p99(b) {
            let [_, p99] = of.quantile_ratios;
            let factor = factor(p99, b.quantile(0.99).mean, name);
            text += &format!(", and the p99 is {factor}");
        }
        Some(format!("{text}.\n{doubt}"))
    };
    let differences: String = others.iter().filter_map(of).collect();
    differences + &doubts(samples)
}

/// Which quantiles differ although the means do not, as the end of a sentence: those that are further apart than their
/// 95 % intervals explain.
fn other_quantiles([a, b]: [&Class; 2], of: &Difference, name: &str) -> String {
    let ratios = Difference::QUANTILES.into_iter().zip(of.quantile_ratios);
    let differing: Vec<String> = ratios
        .filter(|((_, p), _)| {
            let is_known = |class: &Class| class.times().histogram.supports_quantile(*p);
            let (from, to) = (a.quantile(*p), b.quantile(*p));
            let half = from.half_width_95().hypot(to.half_width_95());
            is_known(a) && is_known(b) && (to.mean - from.mean).abs() > half
        })
        .map(|((quantile, p), ratio)| {
            format!(
                "the {quantile} is {}",
                factor(ratio, b.quantile(p).mean, name)
            )
        })
        .collect();
    match differing.is_empty() {
        true => String::new(),
        false => format!(", but {}", joined(&differing)),
    }
}

/// Which requests a ratio of means of pairs is of, if not of all.
fn of_pairs(pairs: &Paired, [a, b]: [&Class; 2]) -> String {
    match pairs.n == a.times().count() && pairs.n == b.times().count() {
        true => String::new(),
        false => format!(
            " over the {} requests that completed in both",
            iosonar_report::grouped(pairs.n)
        ),
    }
}

/// What times of the inputs depend on besides their devices: loads that differ, and replays that did not keep up.
fn doubts(samples: &[Sample]) -> String {
    let mut text = String::new();
    for sample in samples {
        for fake in fakes(sample) {
            text += &format!("{fake}.\n");
        }
        if let Some((failed, of)) = sample.load.failed() {
            text += &format!(
                "Of {}, {} of {} requests failed, and are not in its times.\n",
                sample.name,
                iosonar_report::grouped(failed),
                iosonar_report::grouped(of)
            );
        }
        if let Some(flaw) = flawed(sample) {
            text += &format!("{flaw}, so its times are not those of the whole load as demanded.\n");
        }
    }
    let Some((first, others)) = samples.split_first() else {
        return text;
    };
    for other in others {
        let differences = first.load.differences(&other.load);
        if !differences.is_empty() {
            text += &format!(
                "The loads of {} and {} differ in {}, which may explain a difference in times.\n",
                first.name,
                other.name,
                joined(&differences)
            );
        }
    }
    text
}

/// That a replay did not submit its load as demanded, and in what; `None` if it did.
fn flawed(sample: &Sample) -> Option<String> {
    let words = |flaw: &SubmissionFlaw| match flaw {
        SubmissionFlaw::Late => "was late".to_owned(),
        SubmissionFlaw::Overloaded => "was overloaded".to_owned(),
        SubmissionFlaw::NeverSubmitted { .. } => "ended early".to_owned(),
    };
    let words: Vec<String> = sample.load.flaws().iter().map(words).collect();
    (!words.is_empty()).then(|| format!("The replay {} {}", sample.name, joined(&words)))
}

/// That the times of an input are not those of storage, and why.
fn fakes(sample: &Sample) -> impl Iterator<Item = String> {
    let fakes = sample.load.fakes().iter();
    fakes.map(|why| format!("The times of {} are FAKE: {why}", sample.name))
}

/// A flaw of a replay, for programs.
fn flaw_json(sample: &Sample, flaw: SubmissionFlaw) -> Value {
    let (name, requests) = match flaw {
        SubmissionFlaw::Late => ("late", None),
        SubmissionFlaw::Overloaded => ("overloaded", None),
        SubmissionFlaw::NeverSubmitted { requests } => ("ended early", Some(requests)),
    };
    json!({"input": sample.name, "flaw": name, "never_submitted": requests})
}

/// Marks a chart with the flaws of replays.
fn mark(chart: &mut Chart, samples: &[Sample]) {
    chart.warnings.extend(samples.iter().flat_map(fakes));
    chart.warnings.extend(samples.iter().filter_map(flawed));
}

/// Whether a difference of means may be chance.
#[derive(Debug, PartialEq, Eq)]
enum Chance {
    /// The interval does not contain zero.
    Excluded,
    /// The interval of independent means contains zero.
    Contained,
    /// The interval from pairs contains zero.
    ContainedByPairs,
    /// There is no interval.
    Unknown,
}

impl Chance {
    /// Of a difference; the interval from pairs decides where there is one, as it is the narrower one.
    fn of(mean_ns: &Estimate, pairs: Option<&Paired>) -> Self {
        let is_known = |of: &&Estimate| of.half_width_95().is_finite();
        let contains_zero = |of: &Estimate| of.mean.abs() <= of.half_width_95();
        let by_pairs = pairs.map(|pairs| &pairs.difference_ns).filter(is_known);
        match (by_pairs, Some(mean_ns).filter(is_known)) {
            (Some(of), _) if contains_zero(of) => Self::ContainedByPairs,
            (None, Some(of)) if contains_zero(of) => Self::Contained,
            (None, None) => Self::Unknown,
            _ => Self::Excluded,
        }
    }
}

/// How many times that of `name` a time is; the time itself, where that is zero.
fn factor(ratio: f64, time_ns: f64, name: &str) -> String {
    match ratio.is_nan() {
        false => format!("{} times that of {name}", significant(ratio, 3)),
        true => format!("{} (that of {name} is 0 s)", Nanos::nearest(time_ns)),
    }
}

/// What the signs in a text mean.
fn legend(text: &str) -> String {
    let mut notes = Vec::new();
    // As in the cells of a terminal without these signs, too.
    if text.contains('±') || text.contains("+/-") {
        notes.push("± is half the width of the 95 % interval, estimated from sections of each run");
    }
    if text.contains("×/÷") {
        notes.push("×/÷ gives the 95 % interval as a factor, estimated from sections of each run");
    }
    if text.contains("×/÷ >") {
        notes.push("×/÷ >10: the run is too uneven, or too short, for an interval");
    }
    if text.contains("KS ") {
        notes.push("KS: 0 for equal distributions, 1 for disjoint ones");
        notes.push("demerit: root mean square horizontal distance between the curves");
    }
    match notes.is_empty() {
        true => String::new(),
        false => format!("  {}\n", notes.join(";\n  ")),
    }
}

fn differences(reference: &Sample, other: &Sample, class: usize) -> String {
    let (a, b) = (&reference.classes()[class], &other.classes()[class]);
    let Some(difference) = Difference::between(a, b) else {
        return String::new();
    };
    let mut parts = Vec::new();
    let mean = difference.mean_ns;
    let half = mean.half_width_95();
    let interval = if half.is_finite() {
        format!(" ± {}", Nanos::nearest(half))
    } else {
        String::new()
    };
    // Of a mean of zero there is no share.
    let percent = match 100.0 * difference.mean_relative {
        percent if percent.is_finite() => format!(" ({percent:+.1} %)"),
        _ => String::new(),
    };
    parts.push(format!("mean {}{interval}{percent}", signed(mean.mean)));
    for ((name, _), of) in Difference::QUANTILES
        .into_iter()
        .zip(difference.quantiles_ns)
    {
        parts.push(format!("{name} {}", signed(of)));
    }
    let p = match difference.ks_p {
        p if p.is_nan() => String::new(),
        p if p < 1e-4 => " (p < 0.0001)".to_owned(),
        p => format!(" (p = {p:.3})"),
    };
    parts.push(format!("KS {:.3}{p}", difference.ks));
    let of_mean = match 100.0 * difference.demerit_relative {
        percent if percent.is_finite() => format!(" ({percent:.1} % of the mean)"),
        _ => String::new(),
    };
    let demerit = Nanos::nearest(difference.demerit_ns);
    parts.push(format!("demerit {demerit}{of_mean}"));
    format!(
        "  {} to {}: {}\n",
        reference.name,
        other.name,
        parts.join(", ")
    )
}

fn as_json(samples: &[Sample], quantity: Quantity, pairs: Option<&Paired>) -> Output {
    let mut json = Output::new("compare");
    json.metrics(metrics(samples, quantity, pairs));
    for sample in samples {
        for why in sample.load.fakes() {
            json.append("fakes", json!({"input": sample.name, "why": why}));
        }
        if let Some((failed, submitted)) = sample.load.failed() {
            json.append(
                "failed",
                json!({"input": sample.name, "failed": failed, "submitted": submitted}),
            );
        }
        for flaw in sample.load.flaws() {
            json.append("flaws", flaw_json(sample, flaw));
        }
    }
    json
}

fn draw(args: &Compare, inputs: &Inputs, dir: &Path, samples: &[Sample]) -> anyhow::Result<()> {
    let _folder = output_folder(dir)?;
    let chart = |name: &str| find(name).with_context(|| format!("unknown chart '{name}'"));
    let (cdf, sonar) = (chart("cdf")?, chart("sonar")?);
    let scale = args.pixels.scale();
    let options = args.look.options();
    let needs = needs_of([cdf, sonar]);
    let looks: Vec<Measured> = looks::measure(inputs, needs, false, &args.reading, &options, true)?;
    let mut cdf = cdf.charts(&looks, Arrange::default());
    cdf.iter_mut().for_each(|chart| mark(chart, samples));
    picture::save(
        &cdf.iter().collect::<Vec<_>>(),
        &dir.join("cdf.png"),
        Size::default().at(scale),
        Theme::Light,
    )?;
    let mut qq = quantiles_against(samples, options.quantity);
    mark(&mut qq, samples);
    picture::draw(&qq, &dir.join("qq.png"), scale)?;
    let mut sonar = sonar.charts(&looks, Arrange::Panels);
    match sonar.len() == samples.len() {
        // Each panel shows one input.
        true => {
            for (chart, sample) in sonar.iter_mut().zip(samples) {
                mark(chart, std::slice::from_ref(sample));
            }
        }
        false => sonar.iter_mut().for_each(|chart| mark(chart, samples)),
    }
    let usual = Size::default();
    let size = Size {
        height: usual.height.max(440 * sonar.len() as u32),
        ..usual
    };
    picture::save(
        &sonar.iter().collect::<Vec<_>>(),
        &dir.join("sonar.png"),
        size.at(scale),
        Theme::Light,
    )?;
    if !args.output.quiet {
        note(&format!(
            "pictures: {0}/cdf.png, {0}/qq.png, {0}/sonar.png",
            dir.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Batch, Metadata, Op, Outcome, Record, Request, Status, TraceError};
    use iosonar_units::Sectors;

    use super::*;

    fn estimate(mean: f64, stderr: f64) -> Estimate {
        Estimate {
            mean,
            stderr,
            values: 30,
        }
    }

    #[test]
    fn a_difference_is_chance_by_the_interval_that_is_known() {
        let pairs = |mean, stderr| Paired {
            n: 100,
            means_ns: [10.0, 20.0],
            difference_ns: estimate(mean, stderr),
            longer: 50,
            shorter: 40,
        };
        let unknown = estimate(10.0, f64::NAN);
        for (mean, pairs, expected) in [
            (unknown, None, Chance::Unknown),
            (unknown, Some(pairs(10.0, f64::NAN)), Chance::Unknown),
            (unknown, Some(pairs(10.0, 10.0)), Chance::ContainedByPairs),
            (unknown, Some(pairs(10.0, 1.0)), Chance::Excluded),
            (estimate(10.0, 1.0), None, Chance::Excluded),
            (estimate(10.0, 10.0), None, Chance::Contained),
            (
                estimate(10.0, 10.0),
                Some(pairs(10.0, 1.0)),
                Chance::Excluded,
            ),
        ] {
            assert_eq!(Chance::of(&mean, pairs.as_ref()), expected);
        }
    }

    #[test]
    fn pairs_decide_whether_means_differ() {
        let sample = |name, more_us: u64| {
            let mut sample = Sample::new(name);
            for i in 1..=20_000_u64 {
                // The finaliser of SplitMix64: independent values of up to 16 ms.
                let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let noise = z >> 50;
                sample.add(Op::Read, 8, Nanos::from_micros(noise + more_us));
            }
            sample.finish();
            sample
        };
        let samples = [sample("a", 0), sample("b", 20)];
        let text = |stderr| {
            let pairs = Paired {
                n: 20_000,
                means_ns: [20_000.0, 40_000.0],
                difference_ns: estimate(20_000.0, stderr),
                longer: 20_000,
                shorter: 0,
            };
            conclusion(&samples, Quantity::Latency, Some(&pairs))
        };
        let equal = "does not differ significantly";
        let unpaired = conclusion(&samples, Quantity::Latency, None);
        assert!(unpaired.contains(equal), "{unpaired}");
        let differ = text(100.0);
        assert!(
            !differ.contains(equal) && differ.contains("is 2.00 times that of a, and"),
            "{differ}"
        );
        // As in the inputs, but of the pairs alone.
        let pairs = Paired {
            n: 19_000,
            means_ns: [10_000.0, 30_000.0],
            difference_ns: estimate(20_000.0, 100.0),
            longer: 19_000,
            shorter: 0,
        };
        let some = conclusion(&samples, Quantity::Latency, Some(&pairs));
        assert!(
            some.contains("3.00 times that of a over the 19 000 requests that completed in both"),
            "{some}"
        );
        let chance = text(20_000.0);
        assert!(
            chance.contains("that of a: request by request, "),
            "{chance}"
        );
    }

    #[test]
    fn charts_and_json_say_which_replays_were_late() {
        let samples = [replayed("on-time", false), replayed("late", true)];
        let mut chart = quantiles_against(&samples, Quantity::Latency);
        mark(&mut chart, &samples);
        assert_eq!(chart.warnings, ["The replay late was late and ended early"]);
        let json: Value =
            serde_json::from_str(&as_json(&samples, Quantity::Latency, None).text()).unwrap();
        assert_eq!(
            json["flaws"],
            json!([
                {"input": "late", "flaw": "late", "never_submitted": null},
                {"input": "late", "flaw": "ended early", "never_submitted": 1},
            ])
        );
    }

    /// One batch of a replay.
    struct Replayed {
        batch: Option<Batch>,
        metadata: Metadata,
    }

    impl TraceReader for Replayed {
        fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
            *batch = self.batch.take().unwrap_or_default();
            Ok(batch.len())
        }

        fn metadata(&self) -> &Metadata {
            &self.metadata
        }
    }

    /// A replay that was on time, or one that was late and ended before its last request.
    fn replayed(name: &str, is_late: bool) -> Sample {
        let mut batch = Batch::default();
        for i in 0..=100 {
            let delay = Nanos::from_millis(if is_late { 5 } else { 0 });
            let outcome = Outcome {
                delay: Some(delay),
                ..Outcome::done(Nanos::ZERO, Nanos::from_micros(500))
            };
            let request = Request {
                start: Nanos::from_millis(i),
                sectors: Sectors::new(8),
                ..Request::default()
            };
            let outcome = match is_late && i == 100 {
                true => Outcome::untimed(Status::Missed),
                false => outcome,
            };
            batch.push(&Record { request, outcome });
        }
        let about = [("replayed".to_owned(), "a load".to_owned())].into();
        let mut reader = Replayed {
            batch: Some(batch),
            metadata: Metadata {
                about,
                ..Metadata::default()
            },
        };
        let mut sample = Sample::new(name);
        sample.read(&mut reader, |o| o.latency).unwrap();
        sample.finish();
        sample
    }
}
