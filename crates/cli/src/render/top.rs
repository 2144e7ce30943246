//! What devices do: as a screen that is drawn over and over, as lines, and as JSON.

use std::fmt::Write as _;

use iosonar_analysis::{Echo, EchoKind, OpKind, RecentInterval, RecentUse};
use iosonar_plot::{
    Axis, Chart, Cloud, Colour, Kind, Mark, Terminal, Unit, counted, grouped, seconds,
};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Distribution, Labels, Metric, Output};
use iosonar_units::Nanos;
use serde_json::json;

use super::messages::Warning;
use super::style::{Tone, width};

/// An interval with what is known besides.
pub(crate) struct Shown<'a> {
    /// The devices, each in one line.
    pub(crate) names: &'a [String],
    pub(crate) interval: &'a RecentInterval,
    /// Events that were lost so far.
    pub(crate) lost: u64,
    /// For how long the oldest request has been in flight, and which device has it.
    pub(crate) oldest: Option<(Nanos, usize)>,
    /// Where the live page is.
    pub(crate) url: Option<&'a str>,
}

/// A request that has been in flight for longer is mentioned.
const LONG: Nanos = Nanos::SECOND;
/// The columns of the wide table; narrower terminals get the other one.
const WIDE: usize = 80;
/// Where fewer lines are left, there is no diagram.
const LEAST_DIAGRAM: usize = 10;

/// `1:02:03` since the beginning, with tenths where they count.
fn clock(time: Nanos, interval: Nanos) -> String {
    let tenths = time.get() / 100_000_000;
    let (s, tenth) = (tenths / 10, tenths % 10);
    let mut text = format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    if !interval.get().is_multiple_of(Nanos::SECOND.get()) {
        let _ = write!(text, ".{tenth}");
    }
    text
}

/// A rate in at most seven characters.
fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 99.95 => format!("{v:.1}"),
        v if v < 999_999.5 => grouped(v.round() as u64),
        v => format!("{:.1} M", v / 1e6),
    }
}

/// A quantile in at most eight characters: marked with `~` if it rests on too few samples.
fn quantile(of: &Distribution, p: f64) -> String {
    let mark = match of.histogram.supports_quantile(p) || p == 1.0 {
        true => "",
        false => "~",
    };
    let time = of.histogram.quantile(p);
    time.map_or_else(
        || "-".to_owned(),
        |time| format!("{mark}{}", seconds(time.as_secs_f64())),
    )
}

/// The quantiles that are shown.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

impl Shown<'_> {
    fn megabytes(&self, of: &RecentUse) -> f64 {
        self.interval.rate(of.bytes) / 1e6
    }

    /// All devices with their names, the total first if there are several.
    fn devices(&self) -> Vec<(&str, [RecentUse; 3])> {
        let mut all = Vec::new();
        if self.names.len() > 1 {
            all.push(("all devices", self.interval.total()));
        }
        let names = self.names.iter().map(String::as_str);
        all.extend(names.zip(self.interval.devices.iter().cloned()));
        all
    }

    /// The kinds that a table has, with the names of their rows: reads and writes always.
    fn rows(kinds: &[RecentUse; 3]) -> impl Iterator<Item = (&'static str, &RecentUse)> {
        let names = ["reads", "writes", "other"];
        let is_shown = |of: &RecentUse| of.minute.count() > 0 || of.in_flight > 0;
        names
            .into_iter()
            .zip(kinds)
            .filter(move |(name, of)| *name != "other" || is_shown(of))
    }

    /// What deserves attention.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((age, device)) = self.oldest.filter(|(age, _)| *age > LONG) {
            remarks.push(format!(
                "oldest request in flight: {} ({})",
                seconds(age.as_secs_f64()),
                self.names[device]
            ));
        }
        if self.lost > 0 {
            remarks.push(format!(
                "{} lost, so the rates are too low{}",
                counted(self.lost, ["event", "events"]),
                Warning::EventsLost.tag()
            ));
        }
        remarks
    }

    /// A line for each device and kind of request that did something, and the remarks.
    pub(crate) fn lines(&self) -> String {
        let time = clock(self.interval.end, self.interval.length());
        let mut text = String::new();
        for (name, kinds) in self.devices() {
            let is_active = |of: &RecentUse| of.completed > 0 || of.time_in_flight > 0;
            let mut is_idle = true;
            for (row, of) in Self::rows(&kinds).filter(|(_, of)| is_active(of)) {
                is_idle = false;
                let times = |of: &Distribution| {
                    let times = QUANTILES.map(|(name, p)| format!("{name} {}", quantile(of, p)));
                    times.join(", ")
                };
                let _ = writeln!(
                    text,
                    "{time} {name} {row}: {}/s, {} MB/s, {} in flight, {}; last minute {}",
                    rate(self.interval.rate(of.completed)),
                    rate(self.megabytes(of)),
                    rate(self.interval.mean_in_flight(of)),
                    times(&of.latency),
                    times(&of.minute)
                );
            }
            if is_idle {
                let _ = writeln!(text, "{time} {name}: idle");
            }
        }
        for remark in self.remarks() {
            let _ = writeln!(text, "{time} {remark}");
        }
        text
    }

    /// A screen of the terminal's size, with the diagram of these completions.
    pub(crate) fn screen(
        &self,
        echoes: impl Iterator<Item = Echo>,
        terminal: &Terminal,
        is_ascii: bool,
    ) -> String {
        let length = self.interval.length();
        let fit = |line: &str| line.chars().take(terminal.columns).collect::<String>();
        let mut lines = vec![fit(&format!(
            "iosonar top  {}  q: quit  ~: too few requests to be sure",
            clock(self.interval.end, length)
        ))];
        lines.extend(self.url.map(|url| fit(&format!("live page: {url}"))));
        lines.extend(self.remarks().iter().map(|remark| {
            let text = fit(remark);
            match terminal.has_colour {
                true => Tone::Doubtful.of(&text),
                false => text,
            }
        }));
        let is_wide = terminal.columns >= WIDE;
        lines.extend(match is_wide {
            true => wide_header(length),
            false => vec![narrow_header()],
        });
        let devices = self.devices();
        for (i, (name, kinds)) in devices.iter().enumerate() {
            let mut block = vec![match terminal.has_colour {
                true => Tone::Strong.of(&fit(name)),
                false => fit(name),
            }];
            for (row, of) in Self::rows(kinds) {
                match is_wide {
                    true => block.push(self.wide_row(row, of)),
                    false => block.extend(self.narrow_rows(row, of)),
                }
            }
            // The last line is for those that have no room.
            let room = terminal.lines.saturating_sub(lines.len() + 1);
            if block.len() > room {
                let left = devices.len() - i;
                lines.push(fit(&format!(
                    "{}: the terminal has too few lines",
                    counted(left as u64, ["more device", "more devices"])
                )));
                break;
            }
            lines.extend(block);
        }
        lines.truncate(terminal.lines.max(1));
        let mut text = lines.join("\n");
        text.push('\n');
        let room = terminal.lines.saturating_sub(lines.len());
        if room >= LEAST_DIAGRAM {
            let diagram = Terminal {
                lines: room,
                has_colour: terminal.has_colour && !is_ascii,
                ..*terminal
            };
            text += &diagram.draw(&[&self.diagram(echoes)]);
        }
        debug_assert!(
            text.lines()
                .all(|line| width(line) <= terminal.columns.max(40)),
            "{text}"
        );
        text
    }

    fn wide_row(&self, name: &str, of: &RecentUse) -> String {
        let mut row = format!(
            "{name:<6}{:>8}{:>7}{:>7}",
            rate(self.interval.rate(of.completed)),
            rate(self.megabytes(of)),
            rate(self.interval.mean_in_flight(of))
        );
        for times in [&of.latency, &of.minute] {
            for (column, (_, p)) in QUANTILES.into_iter().enumerate() {
                let width = if column == 2 { 8 } else { 9 };
                let _ = write!(row, "{:>width$}", quantile(times, p));
            }
        }
        row
    }

    /// Rates, then the latencies of both spans of time.
    fn narrow_rows(&self, name: &str, of: &RecentUse) -> [String; 3] {
        let times = |span: &str, of: &Distribution| {
            let times = QUANTILES.map(|(_, p)| format!("{:>9}", quantile(of, p)));
            format!("  {span:<10}{}", times.concat())
        };
        [
            format!(
                "{name:<12}{:>9}{:>9}{:>9}",
                rate(self.interval.rate(of.completed)),
                rate(self.megabytes(of)),
                rate(self.interval.mean_in_flight(of))
            ),
            times("interval", &of.latency),
            times("minute", &of.minute),
        ]
    }

    /// The sonar diagram: completions of the last minute by their latencies.
    fn diagram(&self, echoes: impl Iterator<Item = Echo>) -> Chart {
        let name = "completion, relative to now (y axis: latency)";
        let x = Axis {
            include: vec![-60.0, 0.0],
            range: Some((-60.0, 0.0)),
            ..Axis::linear(name, Unit::Seconds)
        };
        // An idle device has an axis, too.
        let y = Axis {
            include: vec![1e-4, 1e-2],
            ..Axis::log("latency", Unit::Seconds)
        };
        let kind = |name: &str, colour| Kind {
            name: name.to_owned(),
            label: String::new(),
            colour,
        };
        let kinds = vec![
            kind("reads", Colour::Read),
            kind("writes", Colour::Write),
            kind("other", Colour::Sum),
            kind("failed", Colour::Failed),
        ];
        let names: Vec<String> = kinds.iter().map(|kind| kind.name.clone()).collect();
        let mut cloud = Cloud::new(x.grid(), y.grid(), kinds);
        let echoes: Vec<Echo> = echoes.collect();
        let all: u64 = echoes.iter().map(|echo| u64::from(echo.count)).sum();
        let share = all.div_ceil(MOST_POINTS).max(1) as u32;
        let now = self.interval.end.as_secs_f64();
        for echo in echoes {
            let x = (echo.time.as_secs_f64() - now).clamp(-60.0, 0.0);
            let kind = match echo.kind {
                EchoKind::Done(of) => of as u8,
                EchoKind::Failed => 3,
            };
            for _ in 0..echo.count.div_ceil(share) {
                cloud.push(kind, x, echo.latency.as_secs_f64());
            }
        }
        for (kind, name) in (0..).zip(&names) {
            if cloud.counts()[usize::from(kind)] > 0 {
                cloud.set_label(kind, name);
            }
        }
        cloud.settle();
        Chart {
            x,
            y,
            marks: vec![Mark::Cloud(cloud)],
            ..Chart::default()
        }
    }

    /// The interval for programs. `origin_ns` is the beginning, in nanoseconds since 1970.
    pub(crate) fn json(&self, origin_ns: u64) -> String {
        let mut json = Output::new("top");
        let interval = self.interval;
        let (begin, end) = (interval.begin.as_secs_f64(), interval.end.as_secs_f64());
        json.set("begin_s", json!(begin));
        json.set("end_s", json!(end));
        json.set("time_s", json!(origin_ns as f64 / 1e9 + end));
        json.set("devices", json!(self.names));
        let none = Labels::default();
        json.figure("lost_events", &none, MetricUnit::One, self.lost as f64);
        let oldest = self.oldest.map_or(f64::NAN, |(age, _)| age.as_secs_f64());
        json.figure("oldest_in_flight", &none, MetricUnit::Seconds, oldest);
        self.add_kinds(&mut json, &none, &interval.total());
        for (name, kinds) in self.names.iter().zip(&interval.devices) {
            self.add_kinds(&mut json, &Labels::of("device", name), kinds);
        }
        json.text()
    }

    fn add_kinds(&self, json: &mut Output, labels: &Labels, kinds: &[RecentUse; 3]) {
        let interval = self.interval;
        for (kind, of) in OpKind::ALL.into_iter().zip(kinds) {
            let labels = labels.with("op", kind.name());
            for (what, count) in [
                ("begun", of.begun),
                ("completed", of.completed),
                ("failed", of.failed),
                ("withdrawn", of.withdrawn),
                ("given-up", of.given_up),
                ("unmatched", of.unmatched),
            ] {
                let labels = labels.with("kind", what);
                json.figure("requests", &labels, MetricUnit::One, count as f64);
            }
            let rate = interval.rate(of.completed);
            json.figure("throughput", &labels, MetricUnit::PerSecond, rate);
            let (unit, megabytes) = (MetricUnit::MegabytesPerSecond, self.megabytes(of));
            json.figure("megabytes_per_second", &labels, unit, megabytes);
            let mean = interval.mean_in_flight(of);
            for (when, value) in [("mean", mean), ("end", of.in_flight as f64)] {
                let labels = labels.with("of", when);
                json.figure("in_flight", &labels, MetricUnit::One, value);
            }
            for (span, times) in [("interval", &of.latency), ("minute", &of.minute)] {
                let labels = labels.with("over", span);
                json.metric(Metric::times("latency", &labels, times));
            }
        }
    }
}

/// A diagram of more completions is drawn of this number of them, in proportion.
const MOST_POINTS: u64 = 20_000;

fn wide_header(interval: Nanos) -> Vec<String> {
    let last = format!("last {interval}");
    let over = format!("{:>28}{last:>26}{:>26}", "in ", "last minute");
    let mut names = format!("{:>14}{:>7}{:>7}", "req/s", "MB/s", "flight");
    for _ in 0..2 {
        let _ = write!(names, "{:>9}{:>9}{:>8}", "p50", "p99", "max");
    }
    vec![over, names]
}

fn narrow_header() -> String {
    format!("{:>21}{:>9}{:>9}", "req/s", "MB/s", "flight")
}

#[cfg(test)]
mod tests;
