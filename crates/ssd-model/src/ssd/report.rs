//! What is measured of a device besides the times of its requests.

use iosonar_device::Usage;
use iosonar_units::Nanos;

use super::{Host, Ssd, Storage};
use crate::cache::CacheCounts;
use crate::flash::{FlashCounts, Wear};
use crate::ftl::FtlCounts;
use crate::limits::LimitCounts;
use crate::servers::Servers;

/// A queue with its servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// What it is: `driver`, `controller`, `data engine`, `channel/0`, `die/0` ...
    pub name: String,
    /// How many servers it has; of one that serves blocks, how many descriptors a block may have.
    pub servers: u32,
    /// The sum of the times that they were busy, in nanoseconds.
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
    /// The integral over time of the number of jobs.
    pub integral: u128,
}

/// The figures of a device over the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SsdReport {
    /// How long it was measured.
    pub measured: Nanos,
    /// The host's, the controller and the DMA engines, the storage's.
    pub stations: Vec<Station>,
    /// Block queue: how many blocks there were of each size.
    pub block_sizes: Vec<u64>,
    /// What was let through; `None` without limits.
    pub limits: Option<LimitCounts>,
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
    /// The check of the measurement.
    pub conservation: Conservation,
}

impl Station {
    /// Its kind, such as `channel`.
    pub fn kind(&self) -> &str {
        self.name.split('/').next().unwrap_or(&self.name)
    }
}

/// How busy the stations of a kind are, such as all channels.
#[derive(Clone, Debug, PartialEq)]
pub struct StationKind {
    /// The kind.
    pub name: String,
    /// How many stations.
    pub count: usize,
    /// The utilisation of the least used station.
    pub least: f64,
    /// The mean utilisation of the stations.
    pub mean: f64,
    /// The utilisation of the most used station.
    pub most: f64,
}

impl SsdReport {
    /// The stations of each kind.
    fn alike(&self) -> impl Iterator<Item = &[Station]> {
        self.stations.chunk_by(|a, b| a.kind() == b.kind())
    }

    /// The kinds of stations.
    pub fn kinds(&self) -> Vec<StationKind> {
        let of = |alike: &[Station]| {
            let utilisations = || alike.iter().map(|station| self.utilisation(station));
            StationKind {
                name: alike[0].kind().to_owned(),
                count: alike.len(),
                least: utilisations().fold(f64::INFINITY, f64::min),
                mean: utilisations().sum::<f64>() / alike.len() as f64,
                most: utilisations().fold(0.0, f64::max),
            }
        };
        self.alike().map(of).collect()
    }

    /// The share of the measured time that a station's servers were busy.
    pub fn utilisation(&self, station: &Station) -> f64 {
        station.busy as f64 / (self.measured.get() as f64 * f64::from(station.servers))
    }

    /// The share of the device's capacity that was used: the utilisation of its busiest kind of station, as all its
    /// channels or all its dies.
    pub fn capacity_used(&self) -> f64 {
        let used = self.alike().map(|alike| {
            let busy: u128 = alike.iter().map(|station| station.busy).sum();
            let servers: f64 = alike.iter().map(|station| f64::from(station.servers)).sum();
            busy as f64 / (self.measured.get() as f64 * servers)
        });
        used.fold(0.0, f64::max)
    }

    /// Adds the report of another run, or of another device of the same kind in the same run (`same_time`).
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
        if let (Some(mine), Some(other)) = (&mut self.limits, &other.limits) {
            mine.merge(other);
        }
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

    pub(super) fn add_station(&mut self, name: String, servers: u32, busy: u128) {
        self.stations.push(Station {
            name,
            servers,
            busy,
        });
    }

    pub(super) fn add_servers<T>(&mut self, name: String, servers: &Servers<T>, now: Nanos) {
        self.add_station(name, servers.count, servers.busy.until(now));
    }
}

impl<H: Host<S>, S: Storage> Ssd<H, S> {
    pub(super) fn measure_from(&mut self, now: Nanos) {
        self.jobs.measure_from(now);
        self.host.measure_from(now);
        self.controller.busy.measure_from(now);
        self.data_engines.busy.measure_from(now);
        self.descriptor_engine.busy.measure_from(now);
        self.storage.measure_from(now);
        self.failed_commands = 0;
        if let Some(limits) = &mut self.limits {
            limits.counts = LimitCounts::default();
        }
    }

    pub(super) fn end_measurement(&mut self, now: Nanos) {
        // It may have gone ahead with events that no job waits for.
        let now = now.max(self.agenda.now());
        self.measured = Some((self.jobs.usage_until(now), self.report_until(now)));
    }

    pub(super) fn usage(&self) -> Usage {
        match &self.measured {
            Some((usage, _)) => *usage,
            None => self.jobs.usage_until(self.agenda.now()),
        }
    }

    pub(super) fn report(&self) -> SsdReport {
        match &self.measured {
            Some((_, report)) => report.clone(),
            None => self.report_until(self.agenda.now()),
        }
    }

    fn report_until(&self, now: Nanos) -> SsdReport {
        let mut report = SsdReport {
            measured: now - self.jobs.measured_from,
            failed_commands: self.failed_commands,
            limits: self.limits.as_ref().map(|limits| limits.counts),
            conservation: self.jobs.conservation_until(now),
            ..SsdReport::default()
        };
        self.host.report_until(now, &mut report);
        report.add_servers("controller".to_owned(), &self.controller, now);
        report.add_servers("data engine".to_owned(), &self.data_engines, now);
        report.add_servers("descriptor engine".to_owned(), &self.descriptor_engine, now);
        self.storage.report_until(now, &mut report);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::Joined;

    fn station(name: &str, servers: u32, busy: u128) -> Station {
        Station {
            name: name.to_owned(),
            servers,
            busy,
        }
    }

    #[test]
    fn stations_are_used_by_kinds() {
        let report = SsdReport {
            measured: Nanos::new(1_024),
            stations: vec![
                station("controller", 1, 384),
                station("channel/0", 1, 256),
                station("channel/1", 1, 768),
                station("die/0", 2, 1_536),
                station("die/1", 2, 1_024),
            ],
            ..SsdReport::default()
        };
        let kind = |name: &str, count, [least, mean, most]: [f64; 3]| StationKind {
            name: name.to_owned(),
            count,
            least,
            mean,
            most,
        };
        let expected = [
            kind("controller", 1, [0.375; 3]),
            kind("channel", 2, [0.25, 0.5, 0.75]),
            kind("die", 2, [0.5, 0.625, 0.75]),
        ];
        assert_eq!(report.kinds(), expected);
        // One die is busier than all of them together.
        assert!((report.capacity_used() - 0.625).abs() < 1e-12);
    }

    /// A report whose sums are all in proportion to `n`, and each another number.
    fn report(n: u64) -> SsdReport {
        SsdReport {
            measured: Nanos::new(1_000 * n),
            stations: vec![
                station("controller", n as u32, u128::from(2 * n)),
                station("die/0", 3 * n as u32, u128::from(4 * n)),
            ],
            block_sizes: vec![n; n as usize],
            limits: Some(LimitCounts {
                passed: 5 * n,
                delayed: 6 * n,
                time: u128::from(7 * n),
                ios: 60 * n,
                bytes: 61 * n,
                written: 62 * n,
            }),
            interrupts: 8 * n,
            fetches: 9 * n,
            failed_commands: 10 * n,
            ftl: Some(FtlCounts {
                host_writes: 11 * n,
                copies: 12 * n,
                erases: 13 * n,
                levelled: 14 * n,
                discards: 15 * n,
            }),
            flash: FlashCounts {
                reads: 16 * n,
                programs: 17 * n,
                cleaning_reads: 18 * n,
                cleaning_programs: 19 * n,
                erases: 20 * n,
                refreshed: 21 * n,
                map_programs: 22 * n,
                suspensions: 23 * n,
                joined: Joined {
                    reads: 24 * n,
                    programs: 25 * n,
                    erases: 26 * n,
                },
            },
            wear: Wear {
                least: n as u32,
                most: n as u32,
                erases: 27 * n,
                blocks: 28 * n,
            },
            cache: Some(CacheCounts {
                writes: 29 * n,
                write_hits: 30 * n,
                read_hits: 31 * n,
                waits: 32 * n,
                flushes: 33 * n,
                flush_time: u128::from(34 * n),
            }),
            mapping: Some((35 * n, 36 * n)),
            conservation: Conservation::default(),
        }
    }

    #[test]
    fn reports_of_devices_and_of_runs_add_up() {
        for same_time in [true, false] {
            let mut merged = SsdReport::default();
            merged.merge(&report(2), same_time);
            assert_eq!(merged, report(2), "the first one is taken as it is");
            merged.merge(&report(3), same_time);
            let mut expected = report(5);
            expected.block_sizes = vec![5, 5, 3];
            (expected.wear.least, expected.wear.most) = (2, 3);
            if same_time {
                // More servers in the same time, ...
                expected.measured = report(2).measured;
            } else {
                // ... or the same servers for longer.
                let of_one = report(2).stations;
                for (station, of_one) in expected.stations.iter_mut().zip(of_one) {
                    station.servers = of_one.servers;
                }
            }
            assert_eq!(merged, expected, "at the same time: {same_time}");
        }
    }
}
