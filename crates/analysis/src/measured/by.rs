//! Requests counted by device, operation or size.

use std::collections::BTreeMap;

use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Distribution, Labels, Metric};
use iosonar_trace::{Metadata, Op, Record};

/// What is counted of each key.
#[derive(Clone, Debug, Default)]
pub struct OfKey {
    /// How many.
    pub requests: u64,
    /// How many of them are reads.
    pub reads: u64,
    /// How long they are, together.
    pub sectors: u64,
    /// Their latencies, where these are known.
    pub latency: Distribution,
}

/// What requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The device that they go to.
    Device,
    /// Their operation.
    Op,
    /// Their size, up to the next power of two.
    Size,
}

/// Requests by a key.
#[derive(Clone, Debug)]
pub struct ByKey {
    by: By,
    keys: BTreeMap<u64, OfKey>,
}

/// What the class of requests of up to this length, and of more than half of it, is called. Flushes are in the first.
fn size_class(sectors: u64) -> String {
    match sectors {
        1 => "up to 1 sector".to_owned(),
        2 => "2 sectors".to_owned(),
        _ => format!("{} to {sectors} sectors", sectors / 2 + 1),
    }
}

impl ByKey {
    pub(super) fn new(by: By) -> Self {
        Self {
            by,
            keys: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, record: &Record) {
        let request = &record.request;
        let key = match self.by {
            By::Device => u64::from(request.device),
            By::Op => request.op as u64,
            By::Size => u64::from(request.sectors.get()).next_power_of_two(),
        };
        let of = self.keys.entry(key).or_default();
        of.requests += 1;
        of.reads += u64::from(request.op == Op::Read);
        of.sectors += u64::from(request.sectors.get());
        if let (Some(latency), true) = (record.outcome.latency, record.outcome.status.is_timed()) {
            of.latency.push(latency);
        }
    }

    /// What it is by.
    pub fn title(&self) -> &'static str {
        match self.by {
            By::Device => "device",
            By::Op => "op",
            By::Size => "size",
        }
    }

    /// What was counted, labelled with the keys' names.
    pub fn metrics<'a>(
        &'a self,
        labels: &'a Labels,
        metadata: &'a Metadata,
    ) -> impl Iterator<Item = Metric> + 'a {
        self.rows(metadata).flat_map(|(name, of)| {
            let labels = labels.with(self.title(), name);
            let (requests, sectors) = (of.requests as f64, of.sectors as f64);
            [
                Metric::figure("requests", &labels, MetricUnit::One, requests),
                Metric::figure("sectors", &labels, MetricUnit::Sectors, sectors),
                Metric::times("latency", &labels, &of.latency),
            ]
        })
    }

    /// The keys' names, with what was counted.
    pub fn rows<'a>(&'a self, metadata: &'a Metadata) -> impl Iterator<Item = (String, &'a OfKey)> {
        self.keys.iter().map(|(key, of)| {
            let name = match self.by {
                By::Device => metadata.device_name(*key as u16),
                By::Op => Op::ALL[*key as usize].name().to_owned(),
                By::Size => size_class(*key),
            };
            (name, of)
        })
    }
}
