//! Between the application and the firmware: what no sheet states and all latencies contain.

use iosonar_device::Derivation;

use super::{DataSheet, RANDOM_BYTES, SheetInterface};
use crate::profile::{DriverProfile, NvmeProfile, PcieProfile};

/// The CPU time of a request: the kernel's block layer and driver.
const DRIVER: DriverProfile = DriverProfile {
    submit_us: 0.5,
    complete_us: 0.5,
    interrupt_us: 1.0,
    select_us: 0.0,
    doorbell_us: 0.1,
};
/// Until a DMA of a command or completion begins.
const SETUP_US: f64 = 0.1;
/// A command, and a completion.
const COMMAND_BYTES: f64 = 64.0;
const COMPLETION_BYTES: f64 = 16.0;

impl SheetInterface {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sata => "SATA 6 Gb/s",
            Self::Pcie3X4 => "PCIe 3.0 x4",
            Self::Pcie4X4 => "PCIe 4.0 x4",
            Self::Pcie5X4 => "PCIe 5.0 x4",
        }
    }

    /// Its rate after line coding: 8b/10b of 6 Gb/s; four lanes of 8, 16 and 32 GT/s with 128b/130b.
    pub fn mb_per_s(self) -> f64 {
        match self {
            Self::Sata => 600.0,
            Self::Pcie3X4 => 3_938.0,
            Self::Pcie4X4 => 7_877.0,
            Self::Pcie5X4 => 15_754.0,
        }
    }

    /// How many commands a drive has at most, if that is fewer than any sheet uses.
    pub fn most_outstanding(self) -> Option<u32> {
        match self {
            Self::Sata => Some(32),
            _ => None,
        }
    }

    /// The firmware's time for a read and a write where the sheet has no latency: of S4500 and PM983, less what the
    /// transfers and cells take.
    pub(super) fn firmware_us(self) -> (f64, f64) {
        match self {
            Self::Sata => (20.0, 30.0),
            _ => (8.0, 12.0),
        }
    }
}

/// The host's side.
pub(super) struct Host {
    pub(super) driver: DriverProfile,
    pub(super) nvme: NvmeProfile,
    pub(super) pcie: PcieProfile,
    /// What it takes of the latency of a read of 4 KiB, and of a write.
    pub(super) read_us: f64,
    pub(super) write_us: f64,
}

impl Host {
    pub(super) fn new(sheet: &DataSheet, found: &mut Derivation) -> Self {
        let to_host = sheet.sequential_read.mb_per_s;
        let from_host = sheet.sequential_write.mb_per_s;
        found.add("pcie.to_host_mb_per_s", to_host, "sequential reads");
        found.add("pcie.from_host_mb_per_s", from_host, "sequential writes");
        let cpu_us =
            DRIVER.submit_us + DRIVER.doorbell_us + DRIVER.interrupt_us + DRIVER.complete_us;
        found.add(
            "driver (per request)",
            cpu_us,
            "assumed: not stated in data sheets",
        );
        let iops = sheet.read_iops.iops.max(sheet.write_iops.iops);
        let queues = match sheet.interface.most_outstanding() {
            Some(depth) => {
                found.add(
                    "nvme.depth",
                    f64::from(depth),
                    "the depth of the SATA queue (NCQ), modelled as one queue pair",
                );
                1.0
            }
            None => found.add(
                "nvme.queues",
                (2.5 * iops * cpu_us / 1e6).ceil().clamp(4.0, 256.0),
                "assumed: enough CPUs for at most 40 % utilisation, at least 4",
            ),
        };
        let setups = 2.0 * SETUP_US + COMMAND_BYTES / from_host + COMPLETION_BYTES / to_host;
        Self {
            driver: DRIVER,
            nvme: NvmeProfile {
                queues: queues as u32,
                depth: sheet.interface.most_outstanding().unwrap_or(1024),
                most_commands: 1 << 16,
                ..NvmeProfile::default()
            },
            pcie: PcieProfile {
                descriptor_setup_us: SETUP_US,
                to_host_setup_us: 0.0,
                from_host_setup_us: 0.0,
                to_host_mb_per_s: to_host,
                from_host_mb_per_s: from_host,
                data_engines: 1,
            },
            read_us: cpu_us + setups + RANDOM_BYTES / to_host,
            write_us: cpu_us + setups + RANDOM_BYTES / from_host,
        }
    }
}
