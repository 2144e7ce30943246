//! `iosonar top`: what block devices do, while they do it.

use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;

use iosonar_analysis::{Recent, RecentInterval};
use iosonar_guard::Host;
use iosonar_plot::{Terminal, Theme};
use iosonar_recorder::{Seen, Watch, WatchOptions};
use iosonar_report::{counted as in_number, grouped};
use iosonar_serve::Stop;
use iosonar_trace::{Batch, LiveStep, Metadata, TraceWriter};
use iosonar_units::{Nanos, one_line};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::SIGINT;

use crate::beside::{Working, beside};
use crate::exit::{Ending, note, warn};
use crate::live::{EVERY, Feed, Live, Tee, yield_to_others};
use crate::low::{ServeArgs, Top};
use crate::render::full_screen::FullScreen;
use crate::render::messages::Warning;
use crate::render::screen::screen;
use crate::render::terminal;
use crate::render::top::Shown;
use crate::{signals, stdout};

/// How often the devices are asked.
const ROUND: std::time::Duration = std::time::Duration::from_millis(20);

pub(crate) fn run(args: &Top) -> anyhow::Result<Ending> {
    let options = WatchOptions {
        devices: args.devices.clone(),
        buffer: args.buffer,
    };
    signals::watch()?;
    let watch = Watch::start(&options, &Host::default())?;
    let names = args
        .devices
        .iter()
        .map(|of| one_line(&of.to_string_lossy()));
    let names: Vec<String> = names.collect();
    let metadata = Metadata {
        devices: names.clone(),
        origin_ns: Some(watch.origin_ns()),
        ..Metadata::default()
    };
    let mut top = Session {
        recent: Recent::new(names.len(), args.interval),
        watch,
        names,
        args,
        url: None,
        page: None,
        counted: Counted::default(),
    };
    let cpu = process_time();
    match args.live.serve {
        None => top.go_on()?,
        Some(_) => served(&args.live, &metadata, &top.names.join(", "), |url, page| {
            (top.url, top.page) = (Some(url), Some(page));
            let outcome = top.go_on();
            // The page sees that this is the end.
            top.page = None;
            outcome
        })??,
    }
    let share = (process_time() - cpu).as_secs_f64() / top.watch.elapsed().as_secs_f64();
    Ok(top.conclude(share))
}

fn process_time() -> Nanos {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Does `work`, which passes records on, beside a live page.
fn served<T>(
    args: &ServeArgs,
    metadata: &Metadata,
    title: &str,
    work: impl FnOnce(String, Box<dyn TraceWriter>) -> T,
) -> anyhow::Result<T> {
    let address = args.serve.expect("--serve is given");
    let interrupt = || signal_hook::low_level::raise(SIGINT).is_ok();
    let stop = args.control.then(|| Box::new(interrupt) as Stop);
    let mut live = Live::start(title, address, stop)?;
    let url = live.url();
    let (tee, passing) = Tee::new(title);
    let page = tee.before(None, metadata);
    let watcher = move |working: &Working| {
        yield_to_others();
        let mut feed = Feed::of_passing(passing);
        while working.goes_on(EVERY) {
            live.follow(&mut feed);
        }
        live.end(&mut feed);
    };
    Ok(beside(watcher, || work(url, page)))
}

/// Where intervals are shown.
enum Output {
    /// On a screen that is drawn over and over: only the last one counts.
    Screen(FullScreen),
    /// As lines, one after the other.
    Lines,
    /// As JSON.
    Json,
}

/// What came of the requests so far.
#[derive(Default)]
struct Counted {
    intervals: u64,
    completed: u64,
    given_up: u64,
    unmatched: u64,
}

struct Session<'a> {
    args: &'a Top,
    names: Vec<String>,
    watch: Watch,
    recent: Recent,
    url: Option<String>,
    page: Option<Box<dyn TraceWriter>>,
    counted: Counted,
}

impl Session<'_> {
    /// Shows intervals until it is to end.
    fn go_on(&mut self) -> anyhow::Result<()> {
        let mut output = match (self.args.json, screen().out.can_redraw) {
            (true, _) => Output::Json,
            (false, true) => Output::Screen(FullScreen::enter()?),
            (false, false) => Output::Lines,
        };
        loop {
            if self.round(&mut output)?.is_break() || signals::count() > 0 {
                return Ok(());
            }
            match &mut output {
                Output::Screen(screen) => {
                    if let Some(b'q' | b'Q') = screen.key_within(ROUND)? {
                        return Ok(());
                    }
                }
                Output::Lines | Output::Json => std::thread::sleep(ROUND),
            }
        }
    }

    /// Takes what has happened, and shows the intervals that are over.
    fn round(&mut self, output: &mut Output) -> anyhow::Result<ControlFlow<()>> {
        let Self {
            watch,
            recent,
            counted,
            args,
            ..
        } = self;
        let mut shown = Showing {
            is_screen: matches!(output, Output::Screen(_)),
            is_json: args.json,
            names: &self.names,
            lost: watch.lost(),
            oldest: watch.oldest(),
            origin_ns: watch.origin_ns(),
            most: args.count.unwrap_or(u64::MAX),
            until: args.duration.unwrap_or(Nanos::MAX),
            counted,
            last: None,
            outcome: Ok(ControlFlow::Continue(())),
        };
        let mut batch = Batch::default();
        let settled = watch.advance(|Seen { time, device, step }| {
            while let Some(interval) = recent.until(time) {
                shown.show(interval);
            }
            recent.take(time, device, &step);
            shown.counted.add(&step);
            if let LiveStep::Completed(record) = &step
                && self.page.is_some()
            {
                batch.push(record);
            }
        })?;
        while let Some(interval) = recent.until(settled) {
            shown.show(interval);
        }
        let (last, outcome) = (shown.last.take(), shown.outcome?);
        if let (Some(page), false) = (&mut self.page, batch.is_empty()) {
            page.write(&batch)?;
        }
        if let (Output::Screen(screen), Some(interval)) = (output, last) {
            self.draw(screen, &interval)?;
        }
        let is_over = self.args.duration.is_some_and(|most| settled >= most);
        Ok(match is_over {
            true => ControlFlow::Break(()),
            false => outcome,
        })
    }

    fn draw(&self, full: &FullScreen, interval: &RecentInterval) -> anyhow::Result<()> {
        let out = screen().out;
        let (columns, lines) = terminal::size();
        let terminal = Terminal {
            columns,
            lines,
            has_colour: out.has_colour,
            theme: Theme::Dark,
        };
        let age = |(begin, device)| (interval.end.saturating_sub(begin), device);
        let shown = Shown {
            names: &self.names,
            interval,
            lost: self.watch.lost(),
            oldest: self.watch.oldest().map(age),
            url: self.url.as_deref(),
        };
        let text = shown.screen(self.recent.echoes(), &terminal, out.is_ascii);
        Ok(full.draw(&out.picture(&text), lines)?)
    }

    /// What it was, when it is over.
    fn conclude(&self, processor_share: f64) -> Ending {
        let Self { counted, watch, .. } = self;
        if !self.args.output.quiet {
            note(&format!(
                "{} ({}, {} lost) in {}; watching used {:.2} % of a CPU",
                in_number(counted.completed, ["request", "requests"]),
                in_number(watch.events(), ["event", "events"]),
                grouped(watch.lost()),
                watch.elapsed(),
                100.0 * processor_share
            ));
        }
        if watch.lost() == 0 {
            return Ending::Done;
        }
        warn(
            Warning::EventsLost,
            &format!(
                "{} lost, so the rates shown were too low; the outcome of {} is unknown, and {} no matching request. \
                 Use a larger --buffer",
                in_number(watch.lost(), ["event was", "events were"]),
                in_number(counted.given_up, ["request", "requests"]),
                in_number(counted.unmatched, ["completion has", "completions have"])
            ),
        );
        Ending::Flagged
    }
}

impl Counted {
    fn add(&mut self, step: &LiveStep) {
        match step {
            LiveStep::Completed(_) => self.completed += 1,
            LiveStep::GivenUp(_) => self.given_up += 1,
            LiveStep::Unmatched => self.unmatched += 1,
            LiveStep::Begun(_) | LiveStep::Withdrawn(_) => {}
        }
    }
}

/// Intervals on their way to the output, within a round.
struct Showing<'a> {
    is_screen: bool,
    is_json: bool,
    names: &'a [String],
    lost: u64,
    oldest: Option<(Nanos, usize)>,
    origin_ns: u64,
    most: u64,
    until: Nanos,
    counted: &'a mut Counted,
    /// The last one, which a screen shows.
    last: Option<RecentInterval>,
    outcome: anyhow::Result<ControlFlow<()>>,
}

impl Showing<'_> {
    fn show(&mut self, interval: RecentInterval) {
        let is_over = !matches!(self.outcome, Ok(ControlFlow::Continue(())));
        if is_over || interval.end > self.until {
            return;
        }
        self.counted.intervals += 1;
        if self.counted.intervals >= self.most {
            self.outcome = Ok(ControlFlow::Break(()));
        }
        if self.is_screen {
            self.last = Some(interval);
            return;
        }
        let age = |(begin, device)| (interval.end.saturating_sub(begin), device);
        let shown = Shown {
            names: self.names,
            interval: &interval,
            lost: self.lost,
            oldest: self.oldest.map(age),
            url: None,
        };
        let text = match self.is_json {
            true => shown.json(self.origin_ns),
            false => screen().out.shown(&shown.lines()),
        };
        match stdout::itself().and_then(|mut out| out.write_all(text.as_bytes())) {
            Ok(()) => {}
            // Its reader has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.outcome = Ok(ControlFlow::Break(()));
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                self.outcome = Err(error.context("cannot write to standard output"));
            }
        }
    }
}
