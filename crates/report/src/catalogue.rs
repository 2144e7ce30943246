//! All charts: their names, what they show, how to read them.

use std::slice::from_ref;

use iosonar_plot::{Chart, Colour, Mark};

use crate::charts::{
    activity, devices, distribution, flight, histogram, names_in_title, overview, self_check,
    sonar, working_set,
};
use crate::findings;
use crate::measure::{Measured, Needs, View};
use crate::targets;
use crate::words::{joined, tool};

/// Charts that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Group {
    Overview,
    Sonar,
    Delay,
    Distribution,
    InFlight,
    Correlation,
    Load,
    Activity,
    SelfCheck,
}

impl Group {
    /// As a heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Sonar => "Sonar diagrams",
            Self::Delay => "Delays",
            Self::Distribution => "Distributions",
            Self::InFlight => "Requests in flight",
            Self::Correlation => "Relations",
            Self::Load => "The load",
            Self::Activity => "Disk activity",
            Self::SelfCheck => "Self-check: can the replay be trusted?",
        }
    }
}

/// How a chart is made.
#[derive(Clone, Copy)]
enum Make {
    /// One chart of each input, which can be laid over each other.
    Each(fn(&Measured) -> Option<Chart>),
    /// One chart of all inputs.
    Together(fn(&[Measured]) -> Option<Chart>),
}

/// How several inputs share a picture whose marks would hide each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrange {
    /// One below the other, on the same axes.
    #[default]
    Panels,
    /// Over each other, each input in a colour of its own.
    Overlay,
}

/// A chart of the catalogue.
pub struct Entry {
    /// What it is called.
    pub name: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// What blkreplay's graph.sh calls it; empty where it has none.
    pub peer: &'static str,
    /// What it shows and how to read it.
    pub about: &'static str,
    /// What must be looked at.
    pub needs: Needs,
    make: Make,
}

impl Entry {
    /// The charts of these inputs; none where nothing that it shows was measured.
    pub fn charts(&self, inputs: &[Measured], arrange: Arrange) -> Vec<Chart> {
        let time = time_of(inputs);
        let named = |(inputs, mut chart): (&[Measured], Chart)| {
            self.name.clone_into(&mut chart.name);
            self.about.clone_into(&mut chart.about);
            // The account of a replay may have a clock of its own.
            if chart.x.is_shared_time && self.group != Group::SelfCheck {
                chart.x.range = chart.x.range.or(time);
            }
            targets::mark(&mut chart, inputs);
            chart.set_markers();
            findings::conclude(&mut chart, inputs);
            chart
        };
        let charts: Vec<(&[Measured], Chart)> = match self.make {
            Make::Together(make) => make(inputs)
                .map(|chart| (inputs, chart))
                .into_iter()
                .collect(),
            Make::Each(make) if arrange == Arrange::Overlay && inputs.len() > 1 => {
                let of = |input| Some((input, make(input).filter(|chart| !chart.is_empty())?));
                overlaid(inputs.iter().filter_map(of).collect())
                    .map(|chart| (inputs, chart))
                    .into_iter()
                    .collect()
            }
            Make::Each(make) => {
                let of = |input| Some((from_ref(input), make(input)?));
                inputs.iter().filter_map(of).collect()
            }
        };
        charts
            .into_iter()
            .filter(|(_, chart)| !chart.is_empty())
            .map(named)
            .collect()
    }
}

/// From when to when there is anything of these inputs, in seconds, with a little room: all of their charts over time have this
/// axis, whatever they show. `None` if all happens at once.
fn time_of(inputs: &[Measured]) -> Option<(f64, f64)> {
    let ends = |input: &Measured| {
        let (first, last, end) = input.span();
        (first.as_secs_f64(), last.max(end).as_secs_f64())
    };
    let known = || inputs.iter().filter(|input| input.records() > 0);
    let starts = known().map(Measured::span);
    let starts = starts.map(|(first, last, _)| (first, last));
    let (first, last) = starts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let (from, until) = known()
        .map(ends)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let span = until - from;
    // A time that begins near zero begins there.
    let from = if from < 0.02 * span {
        0.0
    } else {
        from - 0.004 * span
    };
    (first < last).then_some((from, until + 0.004 * span))
}

/// Several charts of the same kind as one: each input gets a colour, and one entry of the legend.
fn overlaid(charts: Vec<(&Measured, Chart)>) -> Option<Chart> {
    let names: Vec<&str> = charts
        .iter()
        .map(|(input, _)| input.name.as_str())
        .collect();
    let all = charts.len();
    let mut whole: Option<Chart> = None;
    for (i, (input, mut chart)) in charts.into_iter().enumerate() {
        let labels = recoloured(&mut chart, input, (i, all));
        let label = |old: &String| format!("{}: {old}", input.name);
        let warnings = chart.warnings.iter().map(label).collect();
        match &mut whole {
            // What is said of one input alone does not hold for all.
            None => {
                whole = Some(Chart {
                    title: format!("{}: {}", title_kind(&chart.title), names_in_title(&names)),
                    subtitle: String::new(),
                    warnings,
                    footer: tool(),
                    notes: if labels.len() > 1 {
                        vec![format!("for each input: {}", joined(&labels))]
                    } else {
                        Vec::new()
                    },
                    limit: None,
                    table: None,
                    ..chart
                });
            }
            Some(whole) => {
                whole.marks.append(&mut chart.marks);
                whole.warnings.extend(warnings);
            }
        }
    }
    whole
}

/// Gives all marks of a chart of an input, which is the `i`-th of `all`, a colour of its own; the first of them stands for all
/// in the legend. What the entries of the legend were is returned.
fn recoloured(chart: &mut Chart, input: &Measured, (i, all): (usize, usize)) -> Vec<String> {
    let colour = Colour::Curve(i);
    let name = |old: &str| format!("{}: {old}", input.name);
    let mut labels: Vec<String> = Vec::new();
    let mut is_first = true;
    let mut relabel = |old: &mut String| {
        if !old.is_empty() {
            labels.push(std::mem::take(old));
            if std::mem::take(&mut is_first) {
                old.clone_from(&input.name);
            }
        }
    };
    for mark in &mut chart.marks {
        match mark {
            Mark::Cloud(cloud) => {
                let mut kinds: Vec<String> = Vec::new();
                for (kind, n) in cloud.kinds().iter().zip(cloud.counts()) {
                    let mut label = if *n > 0 {
                        kind.name.clone()
                    } else {
                        String::new()
                    };
                    relabel(&mut label);
                    kinds.push(label);
                }
                cloud.recolour(colour, |old| name(old));
                for (kind, label) in (0..).zip(&kinds) {
                    cloud.set_label(kind, label);
                }
            }
            Mark::Line(line) => {
                line.name = name(line.name());
                line.colour = Some(colour);
                let had_label = !line.label.is_empty();
                relabel(&mut line.label);
                line.is_thin = had_label && line.label.is_empty();
                *line = std::mem::take(line).in_turn(i, all);
            }
            Mark::Band(band) => (band.colour, band.label) = (colour, String::new()),
            Mark::Bars(bars) => {
                (bars.name, bars.colour) = (name(&bars.name), colour);
                relabel(&mut bars.label);
            }
            Mark::Estimates(of) => {
                (of.name, of.colour) = (name(&of.name), colour);
                relabel(&mut of.label);
            }
            Mark::Heat(_) => {}
        }
    }
    labels
}

/// What stands before the input's name in a title.
fn title_kind(title: &str) -> &str {
    title.split(':').next().unwrap_or(title)
}

const fn each(
    name: &'static str,
    group: Group,
    peer: &'static str,
    needs: Needs,
    make: fn(&Measured) -> Option<Chart>,
    about: &'static str,
) -> Entry {
    Entry {
        name,
        group,
        peer,
        about,
        needs,
        make: Make::Each(make),
    }
}

const fn together(
    name: &'static str,
    group: Group,
    peer: &'static str,
    needs: Needs,
    make: fn(&[Measured]) -> Option<Chart>,
    about: &'static str,
) -> Entry {
    Entry {
        name,
        group,
        peer,
        about,
        needs,
        make: Make::Together(make),
    }
}

use Group::{
    Activity, Correlation, Delay, Distribution, InFlight, Load, Overview, SelfCheck, Sonar,
};

const OUTCOME: Needs = Needs::OUTCOME;
const LOAD: Needs = Needs::LOAD;

const fn view(view: View) -> Needs {
    Needs::view(view)
}

/// All charts, in the order of a complete set.
#[rustfmt::skip] // A table.
pub const CATALOGUE: &[Entry] = &[
    each("sonar", Sonar, "latency.realtime", view(View::Started), sonar::started,
        "Every request as a point: x axis submission time, y axis latency. Horizontal bands are typical service times, \
         isolated points above them are slow requests, steep rises are bursts that fill the queue, and a rise that \
         never ends is an overload."),
    each("sonar-intended", Sonar, "latency.setpoint", view(View::Intended), sonar::intended,
        "The sonar diagram by intended start: requests submitted late appear at the time when they were due."),
    each("sonar-completed", Sonar, "latency.completed", view(View::Completed), sonar::completed,
        "The sonar diagram by time of completion: a pause of the device is a gap, and the requests delayed by it form \
         a line of slope one at its end."),
    each("sonar-number", Sonar, "latency.points", view(View::Number), sonar::number,
        "The sonar diagram by request number, in order of completion: busy periods take more space, idle ones none."),
    together("throughput", Overview, "overview.thrp", OUTCOME, overview::throughput,
        "Requests per second, as demanded by the load and as completed. Where fewer requests complete than are \
         demanded, the device or the replay is not keeping up; where more complete, a backlog is draining."),
    together("bandwidth", Overview, "overview.thrs", OUTCOME, overview::bandwidth,
        "Bytes per second, as demanded by the load and as completed."),
    each("throughput-intended", Overview, "thrp.setpoint", OUTCOME, overview::throughput_intended,
        "Requests per second by intended start, reads and writes separately: the offered load."),
    each("throughput-completed", Overview, "thrp.completed", OUTCOME, overview::throughput_completed,
        "Requests per second by time of completion, reads and writes separately: the achieved throughput."),
    each("bandwidth-intended", Overview, "thrs.setpoint", OUTCOME, overview::bandwidth_intended,
        "Bytes per second by intended start, reads and writes separately."),
    each("bandwidth-completed", Overview, "thrs.completed", OUTCOME, overview::bandwidth_completed,
        "Bytes per second by time of completion, reads and writes separately."),
    together("cdf", Distribution, "", Needs::BANDS, distribution::cdf,
        "The share of requests completed within a given time. Further left is faster, steeper is more uniform, and \
         each step is a different kind of request. Marks show the median and p99. Several inputs are compared with the \
         first: KS is the largest vertical distance, and the demerit is the root mean square horizontal distance."),
    together("ccdf", Distribution, "", Needs::NONE, distribution::ccdf,
        "The share of requests that took longer than a given time, on two logarithmic axes: the tail. A straight line \
         is a power law, a cliff is a timeout; 0.1 % is p99.9."),
    each("quantiles", Distribution, "", view(View::Started), distribution::quantiles,
        "Median, p90, p99 and maximum over time: the typical and the slowest requests."),
    each("heat-map", Distribution, "", view(View::Started), distribution::heat_map,
        "The number of requests by time and latency, for all operations together; the colour scale is logarithmic."),
    together("model-ratio", Distribution, "", Needs::NONE, distribution::model_ratio,
        "For two or more inputs: the ratio of each quantile to that of the first input. One means equal, above one \
         means slower."),
    each("latency-histogram", Distribution, "latency.bins", Needs::NONE, histogram::latency,
        "The number of requests by latency, in logarithmic bins, with reads and writes stacked; zeros have a separate \
         bin on the left."),
    each("delay", Delay, "delay.setpoint", view(View::Delay), sonar::delay,
        "The start delay of each request by its intended start. A faithful replay shows a thin band at the bottom; a \
         rise means that the device or the machine is not keeping up."),
    each("delay-number", Delay, "delay.points", view(View::DelayNumber), sonar::delay_number,
        "The start delay by request number, in order of completion."),
    each("delay-histogram", Delay, "delay.bins", Needs::NONE, histogram::delay,
        "The number of requests by start delay, in logarithmic bins; zeros have a separate bin on the left."),
    together("in-flight", InFlight, "latency.flying", OUTCOME, flight::in_flight,
        "Requests submitted but not yet completed: the queue depth at the device, averaged over a window, and its maximum."),
    together("delayed", InFlight, "delay.flying", OUTCOME, flight::delayed,
        "Requests that are due but not yet submitted: the backlog in front of the device."),
    each("latency-by-load", Correlation, "latency.xy", view(View::LatencyByLoad), flight::latency_by_load,
        "Latency against the requests in flight at submission, including the request itself. A rising edge shows \
         queueing; a flat band shows a device that works in parallel."),
    each("delay-by-load", Correlation, "delay.xy", view(View::DelayByLoad), flight::delay_by_load,
        "Start delay against the requests in flight at submission: delays while few requests are in flight are caused \
         by the replay itself."),
    each("latency-by-delay", Correlation, "latency.delay.xy", view(View::LatencyByDelay), flight::latency_by_delay,
        "Latency against start delay: shows whether late requests are also slow. Zeros have a separate band."),
    each("latency-by-size", Correlation, "", view(View::LatencyBySize), flight::latency_by_size,
        "Latency against request size: the flat part is positioning or overhead, the rising part is transfer."),
    each("addresses", Load, "", view(View::Addresses), working_set::addresses,
        "The start position of each request on the device over time. Lines are sequential streams, and clouds are \
         random accesses."),
    each("sizes", Load, "rqsize", LOAD, histogram::sizes,
        "The number of requests by size, with reads and writes stacked."),
    each("positions", Load, "rqpos", LOAD, histogram::positions,
        "The number of requests that start in each part of the device, with reads and writes stacked; the end of the \
         device is marked if it is known."),
    each("repetition", Load, "freq.bins", LOAD, histogram::repetition,
        "Pages of 4 KiB ranked by number of accesses, on logarithmic axes, with the share of accesses that go to the \
         hottest pages: the potential benefit of a cache."),
    each("working-set-log", Load, "ws_log", LOAD, working_set::logarithmic,
        "The distinct data accessed in the last 1, 6, 60 and 600 s and since the start of the load, on a \
         logarithmic axis."),
    each("working-set", Load, "ws_lin", LOAD, working_set::linear,
        "The working set on a linear axis: the size of a cache that would hold all the data in use."),
    each("span", Load, "sum_dist", LOAD, working_set::span,
        "The distance from the lowest to the highest sector accessed in the last 1, 6, 60 and 600 s and \
         since the start of the load: how far a disk arm must move."),
    each("sparsity", Load, "avg_dist", LOAD, working_set::sparsity,
        "The span divided by the number of distinct sectors: one means dense, a large number means scattered."),
    together("turns-intended", Load, "turns.setpoint", OUTCOME, flight::turns_intended,
        "The share of requests that start at a lower position than the previous one, in order of intended start: near \
         0 % is sequential, near 50 % is random."),
    together("turns-completed", Load, "turns.completed", OUTCOME, flight::turns_completed,
        "The share of requests that start at a lower position than the previous one, in order of completion. It \
         is smaller than in order of intended start if a scheduler or the drive reorders requests."),
    each("activity-requests", Activity, "", OUTCOME, activity::requests,
        "Requests per second by period, reads and writes separately: the daily pattern."),
    each("concurrency", Activity, "", OUTCOME, activity::concurrency,
        "The number of requests active in each interval of 2 ms, as quantiles by period, and the number in flight at \
         the start of each interval."),
    each("utilisation", Activity, "", OUTCOME, activity::utilisation,
        "The share of 2 ms intervals with an active request, by period, and the exact share of busy time. On fast \
         devices only the exact share is meaningful."),
    each("response-time", Activity, "", OUTCOME, activity::response_time,
        "Median, p75, p95 and p99 of the response time by period, reads and writes separately."),
    each("response-by-size", Activity, "", OUTCOME, activity::response_by_size,
        "The median response time by size, reads and writes separately; for requests that consist of several I/Os, \
         also the time until the first I/O completes."),
    each("atomic-share", Activity, "", OUTCOME, activity::atomic_share,
        "The share of requests served by a single I/O, over time: below 100 % only if the trace records which I/Os \
         belong together."),
    together("device-load", Activity, "", LOAD.and(OUTCOME), devices::device_load,
        "The share of time in which each device had at least one request in flight; for a single device, that share \
         over time. A device that serves several requests at a time is not necessarily saturated at 100 %; shares that \
         differ widely mean an unbalanced load."),
    together("lateness", SelfCheck, "submit_lag", OUTCOME, self_check::lateness,
        "The longest start delay in each window."),
    together("lateness-cumulated", SelfCheck, "submit_lag_cumul", OUTCOME, self_check::lateness_cumulated,
        "The cumulative start delay of all requests: a step shows an event that delayed many requests, a steady \
         slope a machine that is always late."),
    together("submit-level", SelfCheck, "submit_level", OUTCOME, self_check::submit_level,
        "The maximum number of requests in flight in each window: the same plateau in every busy window is the limit of the queue depth."),
    together("pushback-level", SelfCheck, "pushback_level", OUTCOME, self_check::pushback_level,
        "Requests held back because they overlap other requests in flight, averaged over a window."),
    each("submit-ahead", SelfCheck, "submit_ahead", Needs::NONE, self_check::submit_ahead,
        "The number of requests that the replay has read ahead (replay --self-check): if it is near zero, the replay \
         may have to wait for its input."),
    each("input-wait", SelfCheck, "input_wait", Needs::NONE, self_check::input_wait,
        "The time the replay waited for its input in each interval (replay --self-check): any wait delays requests."),
    each("input-wait-cumulated", SelfCheck, "input_wait_cumul", Needs::NONE, self_check::input_wait_cumulated,
        "The cumulative time the replay waited for its input."),
    each("answer-lag", SelfCheck, "answer_lag", Needs::NONE, self_check::answer_lag,
        "The longest time between two polls for completions while requests were in flight (replay --self-check): the \
         largest possible error in a measured latency."),
    each("answer-wait-cumulated", SelfCheck, "answer_wait_cumul", Needs::NONE, self_check::answer_wait_cumulated,
        "The sum of the times between polls for completions: the time that the replay spent on other work."),
];

/// The chart of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// The name that is nearest to what was typed, if any is near; what graph.sh calls a chart counts, too.
pub fn nearest(typed: &str) -> Option<&'static str> {
    let typed = typed.to_lowercase();
    // Longer names are not typing errors.
    if typed.chars().count() > 40 {
        return None;
    }
    let names = CATALOGUE.iter().flat_map(|entry| {
        let known = [entry.name, entry.peer].into_iter();
        known
            .filter(|name| !name.is_empty())
            .map(move |name| (name, entry.name))
    });
    let distance = |name: &str| strsim::damerau_levenshtein(name, &typed);
    let (known, name) = names.min_by_key(|(known, _)| distance(known))?;
    (distance(known) <= typed.chars().count().max(3) / 2).then_some(name)
}

/// What these charts need together.
pub fn needs_of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Needs {
    entries
        .into_iter()
        .fold(Needs::default(), |needs, entry| needs.and(entry.needs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_every_chart_of_graph_sh_has_one_of_ours() {
        for (i, entry) in CATALOGUE.iter().enumerate() {
            assert!(!CATALOGUE[..i].iter().any(|e| e.name == entry.name));
            assert!(entry.about.ends_with('.'), "{}", entry.name);
        }
        for peer in [
            "overview.thrp",
            "overview.thrs",
            "thrp.setpoint",
            "thrp.completed",
            "thrs.setpoint",
            "thrs.completed",
            "latency.realtime",
            "latency.setpoint",
            "latency.completed",
            "latency.points",
            "delay.setpoint",
            "delay.points",
            "latency.bins",
            "delay.bins",
            "rqsize",
            "rqpos",
            "freq.bins",
            "latency.flying",
            "delay.flying",
            "latency.xy",
            "delay.xy",
            "latency.delay.xy",
            "ws_log",
            "ws_lin",
            "sum_dist",
            "avg_dist",
            "turns.setpoint",
            "turns.completed",
            "submit_level",
            "submit_lag",
            "pushback_level",
            "submit_ahead",
            "input_wait",
            "answer_lag",
        ] {
            assert!(
                nearest(peer).is_some_and(|name| find(name).unwrap().peer == peer),
                "{peer}"
            );
        }
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_chart() {
        assert_eq!(nearest("sonr"), Some("sonar"));
        assert_eq!(nearest("workingset"), Some("working-set"));
        assert_eq!(nearest("SONAR"), Some("sonar"));
        assert_eq!(nearest("latency.realtme"), Some("sonar"));
        assert_eq!(nearest("qqqqqqqqqqqq"), None);
    }
}
