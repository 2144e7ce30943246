//! What a device was like, besides the times of its requests.

use iosonar_units::Nanos;

use super::{Host, Ssd, StorageState};
use crate::cache::CacheCounts;
use crate::flash::{FlashCounts, Wear};
use crate::ftl::FtlCounts;
use crate::parameters::{HostParameters, StorageParameters};

/// A queue with its servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// What it is: `driver`, `controller`, `data engine`, `channel/0`, `die/0` ...
    pub name: String,
    /// How many servers it has; of one that serves blocks, how many descriptors a block may have.
    pub servers: u32,
    /// How long they were busy, all together.
    pub busy: u128,
}

/// Sums that must be equal, in nanoseconds: the integral over time of the number of jobs, and the time that each
/// spent inside the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Over the jobs that are complete.
    pub job_time: u128,
    /// Over those that are still there.
    pub unfinished_time: u128,
    /// The integral.
    pub integral: u128,
}

/// A device, over the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SsdReport {
    /// How long it was measured.
    pub measured: Nanos,
    /// All stations.
    pub stations: Vec<Station>,
    /// Block queue: how many blocks there were of each size.
    pub block_sizes: Vec<u64>,
    /// NVMe: interrupts.
    pub interrupts: u64,
    /// NVMe: how often commands were fetched.
    pub fetches: u64,
    /// Commands that came back with an error.
    pub failed_commands: u64,
    /// The translation layer; `None` without flash.
    pub ftl: Option<FtlCounts>,
    /// Operations on flash.
    pub flash: FlashCounts,
    /// The erases of blocks since they were new.
    pub wear: Wear,
    /// The write cache; `None` without one.
    pub cache: Option<CacheCounts>,
    /// Hits and misses of the mapping cache.
    pub mapping: Option<(u64, u64)>,
    /// What must be equal.
    pub conservation: Conservation,
}

impl SsdReport {
    /// The share of the measured time that a station's servers were busy.
    pub fn utilisation(&self, station: &Station) -> f64 {
        station.busy as f64 / (self.measured.get() as f64 * f64::from(station.servers))
    }

    /// The share of the device's capacity that was used: the utilisation of its busiest kind of station, as all its
    /// channels or all its dies.
    pub fn capacity_used(&self) -> f64 {
        let kind = |station: &Station| station.name.split('/').next().map(str::to_owned);
        let kinds = self.stations.chunk_by(|a, b| kind(a) == kind(b));
        let used = kinds.map(|alike| {
            let busy: u128 = alike.iter().map(|station| station.busy).sum();
            let servers: f64 = alike.iter().map(|station| f64::from(station.servers)).sum();
            busy as f64 / (self.measured.get() as f64 * servers)
        });
        used.fold(0.0, f64::max)
    }

    /// Adds that of another run, or of another device of the same kind in the same run (`same_time`).
    pub fn merge(&mut self, other: &Self, same_time: bool) {
        if self.stations.is_empty() {
            self.clone_from(other);
            return;
        }
        if !same_time {
            self.measured += other.measured;
        }
        for (mine, other) in self.stations.iter_mut().zip(&other.stations) {
            mine.busy += other.busy;
            if same_time {
                mine.servers += other.servers;
            }
        }
        let sizes = self.block_sizes.len().max(other.block_sizes.len());
        self.block_sizes.resize(sizes, 0);
        for (mine, other) in self.block_sizes.iter_mut().zip(&other.block_sizes) {
            *mine += other;
        }
        self.interrupts += other.interrupts;
        self.fetches += other.fetches;
        self.failed_commands += other.failed_commands;
        if let (Some(mine), Some(other)) = (&mut self.ftl, &other.ftl) {
            mine.merge(other);
        }
        self.flash.merge(&other.flash);
        self.wear.merge(&other.wear);
        if let (Some(mine), Some(other)) = (&mut self.cache, &other.cache) {
            mine.merge(other);
        }
        if let (Some(mine), Some(other)) = (&mut self.mapping, other.mapping) {
            *mine = (mine.0 + other.0, mine.1 + other.1);
        }
    }
}

impl Ssd {
    pub(super) fn measure_stations_from(&mut self, now: Nanos) {
        match &mut self.host {
            Host::BlockQueue(host) => {
                host.driver.busy.measure_from(now);
                host.sizes.fill(0);
            }
            Host::Nvme(host) => {
                (host.interrupts, host.fetches) = (0, 0);
                for pair in &mut host.pairs {
                    pair.cpu.busy.measure_from(now);
                }
            }
        }
        self.controller.busy.measure_from(now);
        self.data_engines.busy.measure_from(now);
        self.descriptor_engine.busy.measure_from(now);
        match &mut self.storage {
            StorageState::Dram(channels) => {
                for channel in channels {
                    channel.busy.measure_from(now);
                }
            }
            StorageState::Flash(flash) => flash.measure_from(now),
            StorageState::Measured(servers) => servers.busy.measure_from(now),
            StorageState::Exponential(places) => places.measure_from(now),
        }
        if let Some(cache) = &mut self.cache {
            cache.measure_from(now);
        }
        if let Some(mapping) = &mut self.mapping {
            (mapping.hits, mapping.misses) = (0, 0);
        }
        self.failed_commands = 0;
        self.conservation = Conservation::default();
    }

    pub(super) fn report_until(&self, now: Nanos) -> SsdReport {
        let mut stations = Vec::new();
        let mut add = |name: &str, servers, busy| {
            stations.push(Station {
                name: name.to_owned(),
                servers,
                busy,
            });
        };
        let mut report = SsdReport {
            measured: now - self.measured_from,
            failed_commands: self.failed_commands,
            ..SsdReport::default()
        };
        let p = &self.p;
        match &self.host {
            Host::BlockQueue(host) => {
                add("driver", 1, host.driver.busy.until(now));
                report.block_sizes.clone_from(&host.sizes);
            }
            Host::Nvme(host) => {
                for (i, pair) in host.pairs.iter().enumerate() {
                    add(&format!("cpu/{i}"), 1, pair.cpu.busy.until(now));
                }
                (report.interrupts, report.fetches) = (host.interrupts, host.fetches);
            }
        }
        add(
            "controller",
            p.controller.commands,
            self.controller.busy.until(now),
        );
        add(
            "data engine",
            p.pcie.data_engines,
            self.data_engines.busy.until(now),
        );
        add(
            "descriptor engine",
            1,
            self.descriptor_engine.busy.until(now),
        );
        match &self.storage {
            StorageState::Dram(channels) => {
                for (i, channel) in channels.iter().enumerate() {
                    add(&format!("channel/{i}"), 1, channel.busy.until(now));
                }
            }
            StorageState::Flash(flash) => {
                let (channels, dies) = flash.busy(now);
                for (i, busy) in channels.into_iter().enumerate() {
                    add(&format!("channel/{i}"), 1, busy);
                }
                for (i, busy) in dies.into_iter().enumerate() {
                    add(&format!("die/{i}"), 1, busy);
                }
                report.ftl = Some(flash.ftl_counts());
                report.flash = flash.counts();
                report.wear = flash.wear();
            }
            StorageState::Measured(servers) => {
                if let StorageParameters::Measured { channels, .. } = &p.storage {
                    add("channels", *channels, servers.busy.until(now));
                }
            }
            StorageState::Exponential(places) => {
                if let HostParameters::BlockQueue(queue) = &p.host {
                    add("storage", queue.block, places.until(now));
                }
            }
        }
        if let Some(cache) = &self.cache {
            add("cache", 1, cache.memory.busy.until(now));
            report.cache = Some(cache.counts);
        }
        report.mapping = self.mapping.as_ref().map(|m| (m.hits, m.misses));
        report.stations = stations;
        report.conservation = Conservation {
            unfinished_time: self.unfinished_time(now),
            integral: self.in_system.until(now),
            ..self.conservation
        };
        report
    }

    /// The sum of the times that the jobs that are there have spent inside the measurement.
    pub(super) fn unfinished_time(&self, now: Nanos) -> u128 {
        let inside = |arrived: Nanos| now.saturating_sub(arrived.max(self.measured_from));
        let times = self.jobs.iter().map(|job| inside(job.arrived).get());
        times.map(u128::from).sum()
    }
}
