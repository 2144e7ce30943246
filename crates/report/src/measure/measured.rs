//! What a look has seen.

use std::collections::BTreeMap;

use iosonar_analysis::objective::Attained;
use iosonar_analysis::{LoadSummary, OutcomeSummary, Timeline, TumblingPoint, name_of_others};
use iosonar_plot::{Cloud, grouped};
use iosonar_stats::{
    BandPoint, Distribution, Estimate, cdf_band, mean_of, quantile_interval, quantile_of,
};
use iosonar_trace::{Metadata, Notice};
use iosonar_units::Nanos;

use super::clouds::{Clouds, FAILED, HELD_READ, READ, WRITE};
use super::seen::{Beyond, Failure, Seen};
use super::{LookOptions, Origin, Quantity, View};
use crate::self_check::SelfCheckRow;
use crate::words::describe;

/// Why there is nothing to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingMeasured {
    /// How many records there were.
    pub records: u64,
    /// How many of them belong to requests that failed or were never submitted.
    pub not_done: u64,
}

impl std::fmt::Display for NothingMeasured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.records == 0 {
            return f.write_str("it has no requests, so there is nothing to draw");
        }
        if self.not_done == self.records {
            let all = match self.records {
                1 => "its only request failed or was never submitted".to_owned(),
                n => format!(
                    "all of its {} requests failed or were never submitted",
                    grouped(n)
                ),
            };
            return write!(f, "{all}, so there is nothing to draw");
        }
        let none = match self.records {
            1 => "its only request has no measured time".to_owned(),
            n => format!("none of its {} requests has a measured time", grouped(n)),
        };
        write!(
            f,
            "{none}, so there is nothing to draw: \
             it is a load. Simulate or replay it first and draw the records, or draw a chart of the load \
             itself: sizes, positions, repetition, working-set, working-set-log, span, sparsity, addresses, \
             throughput-intended, bandwidth-intended, turns-intended"
        )
    }
}

impl std::error::Error for NothingMeasured {}

/// What a look has seen.
pub struct Measured {
    /// What it is called.
    pub name: String,
    pub(super) options: LookOptions,
    pub(super) clouds: Clouds,
    pub(super) load: Option<LoadSummary>,
    pub(super) outcome: Option<OutcomeSummary>,
    pub(super) demand: Option<Timeline>,
    pub(super) tumbling: Option<Vec<Vec<TumblingPoint>>>,
    /// Parts of the run that may be taken as independent, of the quantity.
    pub(super) sections: Vec<Distribution>,
    /// What the targets have become, in their order.
    pub(super) attained: Vec<Option<Attained>>,
    pub(super) seen: Seen,
}

impl Measured {
    /// How it was looked at.
    pub fn options(&self) -> &LookOptions {
        &self.options
    }

    /// What the records say about themselves.
    pub fn metadata(&self) -> &Metadata {
        &self.seen.metadata
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.seen.records
    }

    /// When the first request should begin, the last should begin, and the last was complete.
    pub fn span(&self) -> (Nanos, Nanos, Nanos) {
        let first = self.seen.first_start.unwrap_or_default();
        (first, self.seen.last_start, self.seen.last_end)
    }

    /// A time of the reads.
    pub fn reads(&self, quantity: Quantity) -> &Distribution {
        &self.seen.times[quantity as usize][0]
    }

    /// A time of all other requests.
    pub fn writes(&self, quantity: Quantity) -> &Distribution {
        &self.seen.times[quantity as usize][1]
    }

    /// A time of all requests.
    pub fn all(&self, quantity: Quantity) -> Distribution {
        let mut all = self.reads(quantity).clone();
        all.merge(self.writes(quantity));
        all
    }

    /// The longest of a time, of all requests.
    pub fn longest(&self, quantity: Quantity) -> Option<Nanos> {
        let of = |distribution: &Distribution| distribution.moments.max();
        of(self.reads(quantity)).max(of(self.writes(quantity)))
    }

    /// Whether any request was submitted late: if all delays are zero there is nothing to draw.
    pub(crate) fn has_delays(&self) -> bool {
        self.longest(Quantity::Delay) > Some(Nanos::ZERO)
    }

    /// How many requests failed, by outcome.
    pub fn failures(&self) -> &BTreeMap<Failure, u64> {
        &self.seen.failures
    }

    /// What the load is like, if that was wanted.
    pub fn load(&self) -> Option<&LoadSummary> {
        self.load.as_ref()
    }

    /// What happened over time, if that was wanted and measured.
    pub fn outcome(&self) -> Option<&OutcomeSummary> {
        self.outcome.as_ref()
    }

    /// What was asked over time: known of loads, too.
    pub(crate) fn demand(&self) -> Option<&Timeline> {
        let of_outcome = self.outcome.as_ref().map(|outcome| &outcome.timeline);
        of_outcome.or(self.demand.as_ref())
    }

    pub(crate) fn tumbling(&self) -> Option<&[Vec<TumblingPoint>]> {
        self.tumbling.as_deref()
    }

    /// How sure the distribution function of the quantity is; empty where the run has too few independent sections.
    pub(crate) fn band(&self) -> Vec<BandPoint> {
        match self.sections.is_empty() {
            true => Vec::new(),
            false => cdf_band(&self.all(self.options.quantity), &self.sections, 200),
        }
    }

    /// The mean of the quantity in nanoseconds, of all requests, with its standard error where that is known.
    pub(crate) fn mean(&self) -> Estimate {
        mean_of(&self.all(self.options.quantity), &self.sections)
    }

    /// A quantile of the quantity in nanoseconds, of all requests, with its standard error where that is known.
    pub(crate) fn quantile(&self, p: f64) -> Estimate {
        quantile_of(&self.all(self.options.quantity), &self.sections, p)
    }

    /// The 95 % interval of a quantile of the quantity, where it is known.
    pub(crate) fn quantile_interval(&self, p: f64) -> Option<(Nanos, Nanos)> {
        let all = self.all(self.options.quantity);
        quantile_interval(&all, &self.sections, p)
    }

    /// The outcome of the targets, in their order; `None` where nothing was measured of one.
    pub fn attained(&self) -> &[Option<Attained>] {
        &self.attained
    }

    /// What requests other than reads are, in a word or three.
    pub(crate) fn name_of_others(&self) -> &'static str {
        name_of_others(self.seen.writes, self.seen.others)
    }

    /// How many requests were submitted, but not completed.
    pub(crate) fn failed(&self) -> u64 {
        let of = [Failure::Cancelled, Failure::Failed, Failure::Short];
        let counts = of.map(|failure| self.seen.failures.get(&failure).copied());
        counts.into_iter().flatten().sum()
    }

    /// Of how many requests the latency is known.
    pub(crate) fn timed(&self) -> u64 {
        self.reads(Quantity::Latency).count() + self.writes(Quantity::Latency).count()
    }

    /// Completed requests per second from the first intended start to the last completion; `None` where fewer than two
    /// were completed, as one takes its latency and has no rate.
    pub(crate) fn throughput(&self) -> Option<f64> {
        let duration = self.outcome()?.actual.as_secs_f64();
        let n = self.timed();
        (n > 1 && duration > 0.0).then(|| n as f64 / duration)
    }

    /// Where the records come from.
    pub(crate) fn origin(&self) -> &Origin {
        &self.seen.origin
    }

    /// Of how many requests the delay is known.
    pub(crate) fn delays(&self) -> u64 {
        self.seen.delays.count
    }

    pub(crate) fn self_check(&self) -> &[SelfCheckRow] {
        &self.seen.self_check
    }

    pub(crate) fn beyond(&self, quantity: Quantity) -> Beyond {
        self.seen.beyond[usize::from(quantity == Quantity::Delay)]
    }

    /// Of requests that were not held back: how many were more than 100 us, 1 ms, 1 s late; and of how many
    /// the delay is known.
    pub fn lateness(&self) -> ([u64; 3], u64) {
        (self.seen.delays.late, self.seen.delays.count)
    }

    /// The points of a view, labelled; `None` if they were not wanted.
    pub(crate) fn cloud(&self, view: View) -> Option<Cloud> {
        let mut cloud = self.clouds.of[view as usize].clone()?;
        cloud.settle();
        let quantity = match view {
            View::Delay | View::DelayNumber | View::DelayByLoad => Quantity::Delay,
            View::LatencyByLoad | View::LatencyByDelay | View::LatencyBySize => Quantity::Latency,
            _ => self.options.quantity,
        };
        let counts = cloud.counts().to_vec();
        if view == View::Addresses {
            for (kind, name) in [(READ, "reads"), (WRITE, self.name_of_others())] {
                let label = format!("{name}: {}", grouped(counts[usize::from(kind)]));
                cloud.set_label(kind, &label);
            }
            return Some(cloud);
        }
        cloud.set_label(READ, &describe("reads", self.reads(quantity)));
        let others = self.name_of_others();
        cloud.set_label(WRITE, &describe(others, self.writes(quantity)));
        for (kind, name) in [(HELD_READ, "reads"), (HELD_READ + 1, others)] {
            let n = grouped(counts[usize::from(kind)]);
            cloud.set_label(
                kind,
                &format!("of these, {n} {name} held back by other requests in flight"),
            );
        }
        cloud.set_label(
            FAILED,
            &format!("{} (drawn at the upper edge)", self.failures_in_words()),
        );
        Some(cloud)
    }

    /// What did not end well, in words.
    fn failures_in_words(&self) -> String {
        let failures = self.seen.failures.iter();
        let parts: Vec<String> = failures
            .filter(|(failure, _)| **failure != Failure::LeftOut)
            .map(|(failure, n)| format!("{} {}", grouped(*n), failure.name()))
            .collect();
        parts.join(", ")
    }

    /// How many requests of the load could not be held against a limit of this time, in words: those that did not
    /// end well, and those whose time was not measured. Empty without such requests.
    pub(crate) fn without_time(&self, quantity: Quantity) -> String {
        let mut words = self.failures_in_words();
        let wrong = self.seen.failures.get(&Failure::WrongContent);
        let not_done: u64 = self.seen.failures.values().sum();
        let timed = self.reads(quantity).count() + self.writes(quantity).count();
        let complete = self.seen.records - not_done + wrong.copied().unwrap_or_default();
        let unmeasured = complete.saturating_sub(timed);
        if unmeasured > 0 {
            let separator = if words.is_empty() { "" } else { ", " };
            let name = quantity.name();
            words += &format!(
                "{separator}{} without a measured {name}",
                grouped(unmeasured)
            );
        }
        words
    }

    /// What must be known before a picture is believed: results that are fake, a load that was changed.
    pub fn warnings(&self) -> Vec<String> {
        let fakes = self.fakes().map(|fake| format!("FAKE: {fake}"));
        let others = Notice::all(&self.seen.metadata.notices).filter_map(|notice| match notice {
            Notice::Warning(warning) => Some(warning.to_owned()),
            Notice::Fake(_) => None,
        });
        fakes.chain(others).collect()
    }

    /// Why the figures are not those of a device.
    pub(crate) fn fakes(&self) -> impl Iterator<Item = &str> {
        Notice::fakes(&self.seen.metadata.notices)
    }

    /// What is left out of a picture of times: requests that are not shown.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![self.left_out(), self.failures_in_words()];
        remarks.retain(|remark| !remark.is_empty());
        remarks
    }

    /// What was left out on purpose, in words.
    pub(crate) fn left_out(&self) -> String {
        let left_out = self.seen.failures.get(&Failure::LeftOut);
        left_out.map_or_else(String::new, |n| {
            format!("{} {}", grouped(*n), Failure::LeftOut.name())
        })
    }

    /// Whether any time was measured.
    ///
    /// # Errors
    /// [`NothingMeasured`] if not.
    pub fn check(&self) -> Result<(), NothingMeasured> {
        let quantity = self.options.quantity;
        if self.reads(quantity).count() + self.writes(quantity).count() == 0 {
            return Err(NothingMeasured {
                records: self.seen.records,
                not_done: self.seen.failures.values().sum(),
            });
        }
        Ok(())
    }
}
