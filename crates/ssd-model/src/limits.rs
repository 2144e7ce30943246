//! The stage in front of the device that lets requests through at a rate: token buckets.
//!
//! A bucket earns tokens at a rate, up to what it holds. A request passes when each of its buckets has the tokens that
//! it needs (or is full, where it needs more than there is room for), and takes them with it. A limit without bursts is a
//! bucket for one token; one with bursts is two buckets: one for a single token that earns the burst's rate, and one that
//! holds the credits and earns the baseline. So from full credits a load beyond the burst's rate has that rate for
//! credits / (burst - baseline) seconds, and the baseline from then on; both exactly, for tokens are counted in
//! 10^-9 of one.
//!
//! Source: Amazon EC2 user guide, "Amazon EBS volume types" and "I/O characteristics" (2023): credits, burst duration,
//! I/O size and merging.

use iosonar_device::{Access, Job};
use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::parameters::{Limit, LimitsParameters};

/// Parts of a token: a rate in tokens per second is this many parts per nanosecond.
const PARTS: i128 = 1_000_000_000;

/// What waited for limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Requests that were read or written.
    pub passed: u64,
    /// Those among them that waited.
    pub delayed: u64,
    /// How long they waited together, in nanoseconds.
    pub time: u128,
    /// The I/Os that they counted as.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of those that were written.
    pub written: u64,
}

impl LimitCounts {
    /// Adds the counts of another device.
    pub fn merge(&mut self, other: &Self) {
        self.passed += other.passed;
        self.delayed += other.delayed;
        self.time += other.time;
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.written += other.written;
    }
}

/// Tokens that come at a rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Parts per nanosecond.
    rate: i128,
    /// How many parts it holds.
    room: i128,
    /// Less than zero: a request took more than the room.
    level: i128,
    at: Nanos,
}

impl Bucket {
    /// A full one.
    fn new(per_s: u64, tokens: u64) -> Self {
        let room = i128::from(tokens) * PARTS;
        Self {
            rate: i128::from(per_s),
            room,
            level: room,
            at: Nanos::ZERO,
        }
    }

    /// When a request for this many tokens passes.
    fn earliest(&self, tokens: u64) -> Nanos {
        let needs = (i128::from(tokens) * PARTS).min(self.room);
        let missing = (needs - self.level).max(0);
        let wait = (missing + self.rate - 1) / self.rate;
        let wait = u64::try_from(wait).unwrap_or(u64::MAX);
        self.at.saturating_add(Nanos::new(wait))
    }

    fn take(&mut self, tokens: u64, now: Nanos) {
        let earned = i128::from((now - self.at).get()) * self.rate;
        // Time goes by in nanoseconds: what the last one brings beyond the room is kept, so that no part of it is lost.
        self.level = (self.level + earned).min(self.room + self.rate - 1);
        self.level -= i128::from(tokens) * PARTS;
        self.at = now;
    }
}

/// The buckets of a limit.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    rate: Bucket,
    credits: Option<Bucket>,
}

impl Buckets {
    fn new(limit: Limit) -> Self {
        match limit.burst {
            None => Self {
                rate: Bucket::new(limit.baseline, 1),
                credits: None,
            },
            Some((burst, credits)) => Self {
                rate: Bucket::new(burst, 1),
                credits: Some(Bucket::new(limit.baseline, credits)),
            },
        }
    }

    fn earliest(&self, tokens: u64) -> Nanos {
        let rate = self.rate.earliest(tokens);
        let credits = self.credits.map(|bucket| bucket.earliest(tokens));
        credits.map_or(rate, |at| at.max(rate))
    }

    fn take(&mut self, tokens: u64, now: Nanos) {
        self.rate.take(tokens, now);
        if let Some(bucket) = &mut self.credits {
            bucket.take(tokens, now);
        }
    }
}

/// Where the last I/O ended, and what it comes to with those that it goes on.
#[derive(Clone, Copy, Debug)]
struct Run {
    access: Access,
    end: u64,
    bytes: u64,
}

/// The limits of a device.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    io_bytes: u64,
    merge: bool,
    iops: Option<Buckets>,
    bytes: Option<Buckets>,
    written: Option<Buckets>,
    /// When the last request passes.
    last: Nanos,
    run: Option<Run>,
    pub(crate) counts: LimitCounts,
}

impl Limits {
    pub(crate) fn new(p: &LimitsParameters) -> Self {
        Self {
            io_bytes: p.io_bytes,
            merge: p.merge,
            iops: p.iops.map(Buckets::new),
            bytes: p.bytes.map(Buckets::new),
            written: p.written.map(Buckets::new),
            last: Nanos::ZERO,
            run: None,
            counts: LimitCounts::default(),
        }
    }

    /// When a request that comes now passes; not before those that came earlier.
    pub(crate) fn pass(&mut self, job: &Job, now: Nanos) -> Nanos {
        let is_write = job.access == Access::Write;
        if !is_write && job.access != Access::Read {
            return now;
        }
        self.counts.passed += 1;
        if self.iops.is_none() && self.bytes.is_none() && !is_write {
            return now;
        }
        let bytes = u64::from(job.sectors.get()) * SECTOR_BYTES;
        let ios = self.ios(job, bytes);
        let written = if is_write { bytes } else { 0 };
        let Self {
            iops,
            bytes: both,
            written: of_writes,
            ..
        } = self;
        let buckets = [(iops, ios), (both, bytes), (of_writes, written)];
        let mut at = self.last.max(now);
        for (bucket, tokens) in &buckets {
            if let Some(bucket) = bucket.as_ref().filter(|_| *tokens > 0) {
                at = at.max(bucket.earliest(*tokens));
            }
        }
        for (bucket, tokens) in buckets {
            if let Some(bucket) = bucket.as_mut().filter(|_| tokens > 0) {
                bucket.take(tokens, at);
            }
        }
        self.last = at;
        self.counts.ios += ios;
        self.counts.bytes += bytes;
        self.counts.written += written;
        self.counts.delayed += u64::from(at > now);
        self.counts.time += u128::from((at - now).get());
        at
    }

    /// As how many I/Os a request counts.
    fn ios(&mut self, job: &Job, bytes: u64) -> u64 {
        if !self.merge {
            return bytes.div_ceil(self.io_bytes).max(1);
        }
        let (first, end) = (
            job.sector.get(),
            job.sector.get() + u64::from(job.sectors.get()),
        );
        let before = match self.run {
            Some(run) if run.access == job.access && run.end == first => run.bytes,
            _ => 0,
        };
        let all = before + bytes;
        self.run = Some(Run {
            access: job.access,
            end,
            // Whole I/Os are counted already.
            bytes: all % self.io_bytes,
        });
        all.div_ceil(self.io_bytes) - before.div_ceil(self.io_bytes)
    }
}

#[cfg(test)]
mod tests {
    use iosonar_device::RequestId;
    use iosonar_sim_core::Seed;
    use iosonar_units::{Sector, Sectors};

    use super::*;

    #[test]
    fn no_window_has_more_than_credits_and_what_is_earned_in_it() {
        let (baseline, burst, credits) = (1_000_003, 7_000_001, 3_000_000);
        let limit = Limit {
            baseline,
            burst: Some((burst, credits)),
        };
        let mut limits = Limits::new(&LimitsParameters {
            io_bytes: u64::MAX,
            merge: false,
            iops: None,
            bytes: Some(limit),
            written: None,
        });
        let mut random = Seed::new(5).stream("limits", "arrivals");
        let mut now = Nanos::ZERO;
        let mut passed: Vec<(u64, u64)> = Vec::new();
        for i in 0..400 {
            now += random.exponential(Nanos::new(20_000_000));
            let sectors = 1 + (random.uniform() * 200.0) as u32;
            let job = Job::new(
                RequestId(i),
                Access::Read,
                Sector::new(0),
                Sectors::new(sectors),
            );
            let at = limits.pass(&job, now);
            assert!(at >= now);
            passed.push((at.get(), u64::from(sectors) * SECTOR_BYTES));
        }
        for from in 0..passed.len() {
            let mut bytes = 0;
            for to in from..passed.len() {
                let window = u128::from(passed[to].0 - passed[from].0);
                // The last one passes when it has its tokens.
                let earned = |rate: u64, room: u64| {
                    u128::from(room) + (window * u128::from(rate)).div_ceil(1_000_000_000) + 1
                };
                bytes += passed[to].1;
                assert!(
                    u128::from(bytes) <= earned(baseline, credits),
                    "{from} to {to}"
                );
                let before_the_last = bytes - passed[to].1;
                assert!(
                    u128::from(before_the_last) <= earned(burst, 1),
                    "{from} to {to}"
                );
            }
        }
        assert!(limits.counts.delayed > 100, "{:?}", limits.counts);
    }
}
