//! The times of requests, one by one, and everything else that needs no other request.

use iosonar_analysis::objective::OnRecording;
use iosonar_stats::Sections;
use iosonar_trace::{Metadata, Op, Record, Status};
use iosonar_units::SECTOR_BYTES;

use super::LookOptions;
use crate::measure::clouds::{Clouds, FAILED, kind_of};
use crate::measure::seen::{Failure, Seen};
use crate::measure::{Quantity, View};

/// What is known of each request by itself.
#[derive(Clone)]
pub(super) struct Times {
    pub(super) options: LookOptions,
    pub(super) clouds: Clouds,
    pub(super) sections: Option<Box<Sections>>,
    pub(super) targets: OnRecording,
    pub(super) seen: Seen,
}

impl Times {
    /// Looks at one record.
    pub(super) fn push(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        let seen = &mut self.seen;
        seen.records += 1;
        match record.request.op {
            Op::Read => {}
            Op::Write => seen.writes += 1,
            Op::Discard | Op::Flush | Op::WriteZeroes => seen.others += 1,
        }
        seen.first_start = Some(
            seen.first_start
                .map_or(request.start, |f| f.min(request.start)),
        );
        seen.last_start = seen.last_start.max(request.start);
        if let Some(failure) = Failure::of(outcome.status) {
            *seen.failures.entry(failure).or_default() += 1;
        }
        self.add_times(record);
    }

    fn add_times(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        let is_of_the_load = self.options.is_of_the_load(record);
        let (seen, clouds) = (&mut self.seen, &mut self.clouds);
        let is_read = request.op == Op::Read;
        let kind = kind_of(is_read, outcome.pushed_back);
        let start = request.start.as_secs_f64();
        if clouds.of[View::Addresses as usize].is_some()
            && request.sectors.get() > 0
            && is_of_the_load
        {
            let at = request.sector.get() as f64 * SECTOR_BYTES as f64;
            clouds.push(View::Addresses, kind_of(is_read, false), start, at);
        }
        if !outcome.status.is_timed() {
            if outcome.status != Status::Skipped {
                for view in View::ALL.into_iter().filter(|v| v.shows_failures()) {
                    clouds.push(view, FAILED, start, f64::INFINITY);
                }
            }
            return;
        }
        self.targets.add(record);
        let direction = usize::from(!is_read);
        if let Some(latency) = outcome.latency {
            seen.times[0][direction].push(latency);
            seen.beyond[0].push(latency, self.options.bad_latency, request.start);
            let bytes = f64::from(request.sectors.get()) * SECTOR_BYTES as f64;
            clouds.push(View::LatencyBySize, kind, bytes, latency.as_secs_f64());
        }
        if let Some(delay) = outcome.delay {
            seen.times[1][direction].push(delay);
            seen.beyond[1].push(delay, self.options.bad_delay, request.start);
            clouds.push(View::Delay, kind, start, delay.as_secs_f64());
            seen.delays.push(delay, outcome.pushed_back);
        }
        if let (Some(delay), Some(latency)) = (outcome.delay, outcome.latency) {
            let (delay, latency) = (delay.as_secs_f64(), latency.as_secs_f64());
            clouds.push(View::LatencyByDelay, kind, delay, latency);
        }
        if let Some(time) = outcome.response_time()
            && self.options.quantity == Quantity::ResponseTime
        {
            seen.times[2][direction].push(time);
        }
        if let Some(latency) = outcome.latency {
            let from = request
                .start
                .saturating_add(outcome.delay.unwrap_or_default());
            seen.last_end = seen.last_end.max(from.saturating_add(latency));
        }
        let Some(time) = self.options.quantity.of(outcome) else {
            return;
        };
        if let Some(sections) = &mut self.sections {
            sections.push(time);
        }
        let time = time.as_secs_f64();
        let handed_over = start + outcome.delay.unwrap_or_default().as_secs_f64();
        let complete = handed_over + outcome.latency.unwrap_or_default().as_secs_f64();
        clouds.push(View::Started, kind, handed_over, time);
        clouds.push(View::Intended, kind, start, time);
        clouds.push(View::Completed, kind, complete, time);
    }

    /// What the records say about themselves.
    pub(super) fn about(&mut self, metadata: &Metadata) {
        let mine = &mut self.seen.metadata;
        mine.notices.extend(metadata.notices.iter().cloned());
        mine.notices.dedup();
        for (key, value) in &metadata.about {
            mine.about
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        if mine.devices.is_empty() {
            mine.devices.clone_from(&metadata.devices);
        }
        mine.origin_ns = mine.origin_ns.or(metadata.origin_ns);
        mine.add_remarks(metadata);
    }
}
