//! A replay that goes on.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use iosonar_replay::StopRequest;
use iosonar_trace::{Batch, TraceWriter};
use iosonar_units::Nanos;

use super::host::{Event, lag, theirs};
use super::{Connected, HostOutcome, HostsError, HostsOutcome, LOOK, Loss, Seen, Start, zero_of};
use crate::Tally;
use crate::clock::{Clock, Sample, monotonic};
use crate::message::{Report, Running, ToAgent};

/// How often the time is asked for before the start, and at the end.
const QUESTIONS: u32 = 40;
/// What is left after the slowest connection until the start.
const LEAD: Nanos = Nanos::from_millis(100);
/// How long records wait for the file.
const FLUSH: Duration = Duration::from_millis(500);
/// How often the progress is shown.
const SHOW: Duration = Duration::from_millis(100);

/// How far a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It replays.
    Replays,
    /// It has reported its results, and its clock is asked for a last time.
    Measured,
    /// It is dismissed, or lost.
    Over,
}

/// What is known of a host.
struct State {
    phase: Phase,
    tally: Tally,
    running: Running,
    before: Option<Sample>,
    after: Option<Sample>,
    report: Option<Report>,
    loss: Option<Loss>,
}

/// A replay under way.
struct Run<'a> {
    connected: Connected,
    states: Vec<State>,
    sink: Sink,
    stop: &'a StopRequest,
    see: &'a mut dyn FnMut(Seen<'_>),
    /// How often the hosts were asked to stop.
    stopped: u32,
}

pub(super) fn replay(connected: Connected, start: Start<'_>) -> Result<HostsOutcome, HostsError> {
    let zero = connected.hosts.first().map(|host| zero_of(&host.member));
    let states = connected.hosts.iter().map(|host| State {
        phase: Phase::Replays,
        tally: Tally::of(host.member.load.scan.requests),
        running: Running::default(),
        before: None,
        after: None,
        report: None,
        loss: None,
    });
    let mut run = Run {
        states: states.collect(),
        connected,
        sink: Sink {
            records: start.records,
            zero: start.zero.or(zero).unwrap_or_default(),
            due: None,
            error: None,
        },
        stop: start.stop,
        see: start.see,
        stopped: 0,
    };
    run.send_loads()?;
    run.measure_all()?;
    let at = run.agree(start.grace);
    run.go_on()?;
    Ok(run.outcome(at))
}

impl Run<'_> {
    /// Has the first part of each load sent.
    fn send_loads(&mut self) -> Result<(), HostsError> {
        for number in 0..self.states.len() {
            let host = &self.connected.hosts[number];
            if let Err(e) = host.send_load() {
                self.lose(number, Loss::Failed(e.to_string()));
            }
        }
        self.wait(|event| matches!(event, Event::LoadSent))
    }

    /// Measures all clocks. As messages keep their order, the load has arrived by then.
    fn measure_all(&mut self) -> Result<(), HostsError> {
        self.connected
            .hosts
            .iter()
            .for_each(|host| host.measure(QUESTIONS));
        self.wait(|event| matches!(event, Event::Measured))?;
        for number in 0..self.states.len() {
            let best = self.connected.hosts[number].best();
            self.states[number].before = best;
            if best.is_none() && self.states[number].phase != Phase::Over {
                let silent = self.connected.hosts[number].silent_for();
                self.lose(number, Loss::Silent(silent));
            }
        }
        Ok(())
    }

    /// Waits until there was such an event of each host that is not lost.
    fn wait(&mut self, is_it: impl Fn(&Event) -> bool) -> Result<(), HostsError> {
        let mut seen: Vec<bool> = self.states.iter().map(|_| false).collect();
        let is_waited_for = |run: &Self, seen: &[bool]| {
            let mut hosts = run.states.iter().zip(seen);
            hosts.any(|(state, seen)| state.phase != Phase::Over && !seen)
        };
        while is_waited_for(self, &seen) {
            if self.stop.is_asked() {
                return Err(HostsError::Interrupted);
            }
            match self.connected.events.recv_timeout(LOOK) {
                Ok((number, event)) if is_it(&event) => seen[number] = true,
                Ok((number, event)) => self.take(number, event)?,
                Err(_) => self.lose_silent(),
            }
        }
        Ok(())
    }

    /// Agrees with all hosts on an instant of our clock.
    fn agree(&mut self, grace: Nanos) -> Nanos {
        let errors = self.states.iter().filter_map(|state| state.before);
        let slowest = errors.map(|sample| sample.error).max().unwrap_or(0);
        let lead = (LEAD + Nanos::new(4 * slowest)).max(grace);
        let at = Nanos::new(monotonic()) + lead;
        for (host, state) in self.connected.hosts.iter().zip(&self.states) {
            if let Some(before) = &state.before {
                let at = theirs(at, before);
                host.send(ToAgent::Start { at });
            }
        }
        at
    }

    /// Takes what comes until all hosts are dismissed or lost.
    fn go_on(&mut self) -> Result<(), HostsError> {
        let mut shown = Instant::now();
        while self.states.iter().any(|state| state.phase != Phase::Over) {
            let (events, due) = (&self.connected.events, self.sink.due);
            let wait = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
            match events.recv_timeout(wait.min(LOOK)) {
                Ok((number, event)) => self.take(number, event)?,
                Err(RecvTimeoutError::Timeout) => self.lose_silent(),
                Err(RecvTimeoutError::Disconnected) => unreachable!("each host has an end"),
            }
            self.sink.flush_if_due();
            self.pass_stop_on();
            if shown.elapsed() >= SHOW {
                shown = Instant::now();
                let hosts: Vec<Running> = self.states.iter().map(|state| state.running).collect();
                let records = self.states.iter().map(|state| state.tally.records()).sum();
                (self.see)(Seen::Running {
                    hosts: &hosts,
                    records,
                });
            }
        }
        Ok(())
    }

    /// Takes an event of a host into account.
    fn take(&mut self, number: usize, event: Event) -> Result<(), HostsError> {
        let state = &mut self.states[number];
        if state.phase == Phase::Over {
            return Ok(());
        }
        match event {
            Event::Records(mut batch) if state.phase == Phase::Replays => {
                batch.records().for_each(|record| state.tally.add(&record));
                if state.tally.records() > state.tally.planned {
                    let problem = "more records than planned requests".to_owned();
                    self.lose(number, Loss::Garbled(problem));
                    return Ok(());
                }
                self.sink.take(&mut batch, number);
            }
            Event::Running(running) => state.running = running,
            Event::Ended(report) if state.phase == Phase::Replays => {
                let (sent, came) = (report.records, state.tally.records());
                state.report = Some(*report);
                state.phase = Phase::Measured;
                if sent != came {
                    self.lose(number, Loss::Miscounted { sent, came });
                    return Ok(());
                }
                self.connected.hosts[number].measure(QUESTIONS);
            }
            Event::Measured if state.phase == Phase::Measured => {
                let host = &self.connected.hosts[number];
                state.after = host.best();
                state.phase = Phase::Over;
                host.dismiss();
            }
            Event::Failed(problem) => self.lose(number, Loss::Failed(problem)),
            Event::LoadFailed(error) => return Err(error.into()),
            // It has reported all that there is.
            Event::Lost(_) if state.phase == Phase::Measured => state.phase = Phase::Over,
            Event::Lost(loss) => self.lose(number, loss),
            Event::Measured | Event::LoadSent => {}
            other => {
                let loss = other.unexpected();
                self.lose(number, loss);
            }
        }
        Ok(())
    }

    fn lose(&mut self, number: usize, loss: Loss) {
        let host = &mut self.connected.hosts[number];
        let loss = host.explained(loss);
        host.end();
        let state = &mut self.states[number];
        state.phase = Phase::Over;
        (self.see)(Seen::Lost {
            name: &host.member.name,
            loss: &loss,
        });
        state.loss = Some(loss);
    }

    /// Gives hosts up that have been silent for too long. Nothing waits to be taken when this is called.
    fn lose_silent(&mut self) {
        let most = self.connected.patience.silence;
        for number in 0..self.states.len() {
            let silent = self.connected.hosts[number].silent_for();
            if self.states[number].phase != Phase::Over && silent >= most {
                self.lose(number, Loss::Silent(most));
            }
        }
    }

    fn pass_stop_on(&mut self) {
        let wanted = u32::from(self.stop.is_asked()) + u32::from(self.stop.is_urgent());
        while self.stopped < wanted {
            self.stopped += 1;
            for (host, state) in self.connected.hosts.iter().zip(&self.states) {
                if state.phase == Phase::Replays {
                    host.stop();
                }
            }
        }
    }

    fn outcome(self, at: Nanos) -> HostsOutcome {
        let hosts = self.connected.hosts.iter().zip(self.states);
        let hosts = hosts.map(|(host, state)| {
            let clock = host.clock();
            let State { before, after, .. } = state;
            let began = state.report.as_ref().and_then(|report| report.began_at);
            HostOutcome {
                name: host.member.name.clone(),
                tally: state.tally,
                loss: state.loss,
                before,
                after,
                ahead: before.and_then(|before| clock.ahead_since_1970(&before)),
                drift: before
                    .zip(after)
                    .and_then(|(before, after)| Clock::drift(&before, &after)),
                largest_error: clock.largest_error(),
                start_lag: began
                    .zip(before)
                    .map(|(began, before)| lag(began, &before, at.get())),
                report: state.report,
            }
        });
        HostsOutcome {
            hosts: hosts.collect(),
            records_error: self.sink.end(),
            is_interrupted: self.stop.is_asked(),
        }
    }
}

/// Where the records of all hosts go.
struct Sink {
    records: Option<Box<dyn TraceWriter>>,
    /// Time zero in the records.
    zero: Nanos,
    /// When they are flushed.
    due: Option<Instant>,
    error: Option<String>,
}

impl Sink {
    /// Writes the records of a host.
    fn take(&mut self, batch: &mut Batch, number: usize) {
        let Some(records) = &mut self.records else {
            return;
        };
        batch.set_devices(number as u16);
        // A host that sends the last possible time does not end the records of the others.
        for start in batch.starts_mut() {
            *start = start.saturating_add(self.zero).min(Batch::LATEST);
        }
        let written = records.write(batch);
        self.check(written);
        self.due.get_or_insert_with(|| Instant::now() + FLUSH);
        self.flush_if_due();
    }

    fn flush_if_due(&mut self) {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.due = None;
        if let Some(records) = &mut self.records {
            let flushed = records.flush();
            self.check(flushed);
        }
    }

    /// After a failure nothing more is written: the file stays under its temporary name.
    fn check(&mut self, outcome: Result<(), iosonar_trace::TraceError>) {
        if let Err(e) = outcome {
            self.error = Some(e.to_string());
            self.records = None;
        }
    }

    fn end(self) -> Option<String> {
        let finished = self.records.map(TraceWriter::finish);
        let failed = finished.and_then(Result::err).map(|e| e.to_string());
        self.error.or(failed)
    }
}
