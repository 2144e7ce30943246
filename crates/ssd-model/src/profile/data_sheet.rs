//! An SSD from its data sheet: what a buyer knows, and how the rest follows from it.
//!
//! | parameter | formula |
//! |---|---|
//! | transfers | the sequential rates: what the drive moves, whatever its interface could |
//! | firmware, `controller.commands` servers | as many as fit into both latencies; a command takes `commands / IOPS` of reads, of writes |
//! | access to the write cache | what is left of the latency of writes |
//! | page reads | what is left of the latency of reads |
//! | page programs, erases | those of the kind of cells |
//! | channels, their rate | those of the interface's generation, at least twice the sequential rates together |
//! | planes | enough to program 1.1 times the sequential rate, and to be busy half of the time at the random reads |
//! | spare room | that at which cleaning leaves the sustained random writes, see [`spare`] |
//! | write cache | 512 KiB for each plane |
//! | SLC cache | a limit of writes: its credits last as long as the cache |
//!
//! Memory without erases (`3d-xpoint`) has no translation layer: each 4 KiB is accessed in place.
//!
//! What a sheet leaves out is assumed, and [`DataSheet::derivation`] says so.

mod check;
mod flash;
mod host;
mod spare;

use iosonar_device::{Derivation, Derived};
use serde::{Deserialize, Serialize};

use super::{
    Checker, ControllerProfile, DramProfile, Interface, LimitProfile, LimitsProfile,
    MappingCacheProfile, SsdProfile, SsdProfileError, Storage,
};
use flash::Flash;
use host::Host;

/// The figures of a data sheet of an SSD. Rates in 10^6 bytes per second, times in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DataSheet {
    /// The interface of the drive.
    pub interface: SheetInterface,
    /// The type of the cells.
    pub cell: Cell,
    /// The capacity in 10^9 bytes.
    pub capacity_gb: f64,
    /// The size of the flash divided by the capacity, minus 1.
    pub over_provisioning: Option<f64>,
    /// The latency of random reads of 4 KiB, one at a time.
    pub read_latency_us: Option<f64>,
    /// The latency of random writes of 4 KiB, one at a time.
    pub write_latency_us: Option<f64>,
    /// The IOPS of random reads of 4 KiB.
    pub read_iops: SheetIops,
    /// The IOPS of random writes of 4 KiB.
    pub write_iops: SheetIops,
    /// The rate of sequential reads.
    pub sequential_read: SheetRate,
    /// The rate of sequential writes.
    pub sequential_write: SheetRate,
    /// Whether the drive's memory holds the whole page map.
    #[serde(default = "yes")]
    pub dram: bool,
    /// Whether the contents of the write cache survive a power failure.
    #[serde(default)]
    pub write_cache: WriteCache,
    /// The size of the SLC cache, the fast part of the flash, in 10^9 bytes.
    pub slc_cache_gb: Option<f64>,
    /// The rate of sequential writes when the SLC cache is full.
    pub after_slc_mb_per_s: Option<f64>,
}

fn yes() -> bool {
    true
}

/// The interface of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SheetInterface {
    /// SATA 6 Gb/s.
    Sata,
    /// PCIe 3.0, four lanes.
    Pcie3X4,
    /// PCIe 4.0, four lanes.
    Pcie4X4,
    /// PCIe 5.0, four lanes.
    Pcie5X4,
}

/// The type of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// Flash with one bit per cell.
    Slc,
    /// Flash with two bits per cell.
    Mlc,
    /// Flash with three bits per cell.
    Tlc,
    /// Flash with four bits per cell.
    Qlc,
    /// Memory as in Optane drives, which is written in place, without erases.
    #[serde(rename = "3d-xpoint")]
    Xpoint,
}

/// The kind of write cache. A write completes when its data are in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// A power failure loses the contents of the cache.
    #[default]
    Volatile,
    /// Capacitors save the contents of the cache.
    Protected,
}

/// The IOPS of random requests of 4 KiB, and how they were measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SheetIops {
    /// The number of requests per second.
    pub iops: f64,
    /// The number of requests that each job keeps in flight.
    #[serde(default = "depth")]
    pub depth: u32,
    /// The number of concurrent jobs.
    #[serde(default = "super::one")]
    pub jobs: u32,
    /// Whether the figure was measured after long random writes; otherwise it is that of a drive with free spare
    /// blocks.
    #[serde(default)]
    pub sustained: bool,
}

impl SheetIops {
    /// The number of requests in flight.
    pub fn outstanding(&self) -> u32 {
        self.depth.saturating_mul(self.jobs)
    }
}

/// The rate of sequential requests, and how it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SheetRate {
    /// The rate in 10^6 bytes per second.
    pub mb_per_s: f64,
    /// The size of a request in KiB.
    #[serde(default = "block")]
    pub block_kib: u32,
    /// The number of requests in flight.
    #[serde(default = "depth")]
    pub depth: u32,
}

fn depth() -> u32 {
    32
}

fn block() -> u32 {
    128
}

/// The size of a random request of data sheets.
pub(crate) const RANDOM_BYTES: f64 = 4096.0;

impl DataSheet {
    /// The SSD; `origin` is for messages.
    ///
    /// # Errors
    /// If a figure cannot be that of a drive, or contradicts another.
    pub fn profile(&self, description: &str, origin: &str) -> Result<SsdProfile, SsdProfileError> {
        Ok(self.derive(description, origin)?.0)
    }

    /// What the parameters come from; nothing, if the figures contradict each other.
    pub fn derivation(&self) -> Vec<Derived> {
        self.derive("", "")
            .map_or_else(|_| Vec::new(), |found| found.1)
    }

    fn derive(
        &self,
        description: &str,
        origin: &str,
    ) -> Result<(SsdProfile, Vec<Derived>), SsdProfileError> {
        let check = Checker {
            origin,
            table: "from_data_sheet.",
        };
        self.check(&check)?;
        let mut found = Derivation::default();
        let host = Host::new(self, &mut found);
        let firmware = self.firmware(&check, &host, &mut found)?;
        let (storage, dram, flash) = match self.cell.times() {
            None => {
                let dram = self.xpoint(&firmware, &mut found);
                (Storage::Dram, Some(dram), None)
            }
            Some(cell) => {
                let flash = Flash::new(self, cell, &firmware, &mut found);
                (
                    Storage::Flash,
                    None,
                    Some(flash.profile(&check, &mut found)?),
                )
            }
        };
        let (flash, cache) = flash.unzip();
        let profile = SsdProfile {
            name: String::new(),
            description: description.to_owned(),
            provenance: None,
            data_sheet: Some(self.clone()),
            interface: Interface::Nvme,
            driver: host.driver,
            block_queue: super::BlockQueueProfile::default(),
            nvme: host.nvme,
            pcie: host.pcie,
            controller: firmware.controller,
            storage,
            dram,
            flash,
            exponential: None,
            measured: None,
            cache,
            mapping_cache: self.mapping_cache(&mut found),
            limits: self.limits(&mut found),
        };
        Ok((profile, found.0))
    }

    /// Splits the latencies between the firmware and what lies behind it, so that the firmware limits the IOPS.
    fn firmware(
        &self,
        check: &Checker<'_>,
        host: &Host,
        found: &mut Derivation,
    ) -> Result<Firmware, SsdProfileError> {
        let media = self.cell.times().map_or(0.0, |cell| mean(cell.times().0));
        let (read_us, write_us) = self.interface.firmware_us();
        let read = found.given_or(
            "read latency",
            self.read_latency_us,
            host.read_us + read_us + media,
            "host, transfer and typical firmware times, plus a page read of these cells",
        );
        let write = found.given_or(
            "write latency",
            self.write_latency_us,
            host.write_us + write_us,
            "host, transfer and typical firmware times",
        );
        let (read, write) = (read - host.read_us, write - host.write_us);
        let least = match self.cell.times() {
            Some(_) => flash::least_read_us(self),
            None => 0.0,
        };
        if read <= least {
            let needs = format!(
                "more than {:.2}, the host and transfer time",
                host.read_us + least
            );
            return Err(check.wrong("read_latency_us", read + host.read_us, needs));
        }
        if write <= 0.0 {
            let needs = format!("more than {:.2}, the host and transfer time", host.write_us);
            return Err(check.wrong("write_latency_us", write + host.write_us, needs));
        }
        let reads_us = 1e6 / self.read_iops.iops;
        let writes_us = 1e6 / self.burst_writes(found);
        let servers = ((read - least) / reads_us).min(write / writes_us);
        let commands = found.add(
            "controller.commands",
            servers.floor().clamp(1.0, 64.0),
            "the number that fits the latencies and IOPS of reads and writes",
        );
        let command_us = found.add(
            "controller.command_us",
            (commands * reads_us).min(read - least),
            "commands / read IOPS",
        );
        let write_command_us = found.add(
            "controller.write_command_us",
            (commands * writes_us).min(write),
            "commands / write IOPS",
        );
        let access = write - write_command_us;
        if self.cell != Cell::Xpoint && access > writes_us {
            let most = host.write_us + write_command_us + writes_us;
            let expected = format!(
                "at most {most:.1}, as a write completes in the cache, which takes {writes_us:.2} us at \
                 the write rate of the drive"
            );
            let seen = write + host.write_us;
            return Err(check.wrong("write_latency_us", format!("{seen:.1}"), expected));
        }
        Ok(Firmware {
            controller: ControllerProfile {
                command_us,
                write_command_us: Some(write_command_us),
                commands: commands as u32,
                return_us: 0.0,
                error_probability: 0.0,
            },
            read_us: read - command_us,
            write_us: access,
        })
    }

    /// Random writes while there are spare blocks.
    fn burst_writes(&self, found: &mut Derivation) -> f64 {
        let writes = self.write_iops;
        if !writes.sustained || self.cell == Cell::Xpoint {
            return writes.iops;
        }
        let rate = 1e6 * self.sequential_write.mb_per_s / RANDOM_BYTES;
        found.add(
            "random writes of a drive with spare blocks, per second",
            self.read_iops.iops.min(rate).max(writes.iops),
            "assumed: as for random reads, at most the sequential rate",
        )
    }

    /// Memory that is written in place.
    fn xpoint(&self, firmware: &Firmware, found: &mut Derivation) -> DramProfile {
        let read_us = found.add(
            "dram.read_us",
            firmware.read_us,
            "the read latency minus the host, transfer and firmware times",
        );
        let write_us = found.add(
            "dram.write_us",
            firmware.write_us,
            "the write latency minus the host, transfer and firmware times",
        );
        let units = |rate: SheetRate| 1e6 * rate.mb_per_s / RANDOM_BYTES;
        let busy = (units(self.sequential_read).max(self.read_iops.iops) * read_us)
            .max(units(self.sequential_write).max(self.write_iops.iops) * write_us);
        let channels = found.add(
            "dram.channels",
            (4.0 * busy / 1e6).ceil().clamp(8.0, 4096.0),
            "25 % utilisation at the stated rates, at least 8",
        );
        DramProfile {
            capacity: format!("{}", (self.capacity_gb * 1e9) as u64 / 4096 * 4096),
            channels: channels as u32,
            read_us,
            write_us,
        }
    }

    /// The part of the map in memory of a drive without DRAM of its own.
    fn mapping_cache(&self, found: &mut Derivation) -> Option<MappingCacheProfile> {
        /// 64 MiB of the host's memory, 4 B an entry.
        const ENTRIES: u32 = 16 << 20;
        if self.dram || self.cell == Cell::Xpoint {
            return None;
        }
        found.add(
            "mapping_cache.entries",
            f64::from(ENTRIES),
            "assumed: 64 MiB of host memory, 4 B per entry",
        );
        Some(MappingCacheProfile {
            entries: ENTRIES,
            entries_per_page: 1024,
            read_bytes: 4096,
            write_back: false,
        })
    }

    /// The fast part of the flash as a limit: writes at the full rate fill it as fast as the rest empties it.
    fn limits(&self, found: &mut Derivation) -> Option<LimitsProfile> {
        let (gb, after) = (self.slc_cache_gb?, self.after_slc_mb_per_s?);
        let rate = self.sequential_write.mb_per_s;
        found.add("limits.write_mb_per_s.baseline", after, "the data sheet");
        found.add("limits.write_mb_per_s.burst", rate, "sequential writes");
        let credits = found.add(
            "limits.write_mb_per_s.credits",
            1e3 * gb * (1.0 - after / rate),
            "SLC cache x (1 - baseline / burst): the burst lasts until the cache is full",
        );
        Some(LimitsProfile {
            write_mb_per_s: Some(LimitProfile {
                baseline: after,
                burst: Some(rate),
                credits: Some(credits),
            }),
            ..LimitsProfile::default()
        })
    }
}

/// The firmware, and what it leaves of the latencies.
struct Firmware {
    controller: ControllerProfile,
    read_us: f64,
    write_us: f64,
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}
