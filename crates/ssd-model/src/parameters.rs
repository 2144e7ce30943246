//! What a profile means: every value checked, every duration rounded to nanoseconds once.

mod check;
mod flash;
mod host;
mod limits;
mod storage;

use iosonar_units::{Nanos, Sectors};

use crate::profile::{
    Checker, ControllerProfile, DriverProfile, Interface, PcieProfile, SsdProfile, SsdProfileError,
    Storage,
};
pub use flash::{FlashParameters, MOST_WORK_AT_START};
pub use host::{BlockQueueParameters, NvmeParameters};
pub use limits::{Limit, LimitsParameters};
pub use storage::{AccessTimes, CacheParameters, MemoryParameters};

/// A bio: the block queue's unit of transfer.
pub const BIO_SECTORS: u64 = 8;

/// An SSD with its driver, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The host's interface, and the storage.
    pub ends: Ends,
    /// The CPU time of the driver.
    pub driver: DriverParameters,
    /// From and to the host's memory.
    pub pcie: PcieParameters,
    /// What understands commands.
    pub controller: ControllerParameters,
    /// What is let through to it; `None`: everything.
    pub limits: Option<LimitsParameters>,
    /// How much the SSD holds.
    pub capacity_sectors: u64,
}

/// The two ends of an SSD.
#[derive(Clone, Debug, PartialEq)]
pub enum Ends {
    /// One ring, in blocks of descriptors.
    BlockQueue(BlockQueueParameters, StorageParameters),
    /// A ring in front of an exponential service of blocks, whatever their size, with this mean. No other interface
    /// has blocks.
    Bulk(BlockQueueParameters, Nanos),
    /// Pairs of submission and completion queues.
    Nvme(NvmeParameters, StorageParameters),
}

/// What lies behind a controller and serves commands.
#[derive(Clone, Debug, PartialEq)]
pub enum StorageParameters {
    /// Channels that are always ready.
    Memory(MemoryParameters),
    /// Channels of flash dies under a translation layer.
    Flash(Box<FlashParameters>),
}

/// The CPU time of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverParameters {
    /// To make a descriptor of a bio, or a command.
    pub submit: Nanos,
    /// To complete a bio or command.
    pub complete: Nanos,
    /// To handle an interrupt.
    pub interrupt: Nanos,
    /// To choose the next block.
    pub select: Nanos,
    /// To write the doorbell register.
    pub doorbell: Nanos,
}

/// The time of a DMA transfer: its setup, and each byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    setup_ns: f64,
    ns_per_byte: f64,
}

impl Transfer {
    /// How long a transfer of `bytes` takes.
    #[inline]
    pub fn time(&self, bytes: u64) -> Nanos {
        Nanos::nearest(self.setup_ns + self.ns_per_byte * bytes as f64)
    }

    /// Whether it takes no time.
    pub fn is_immediate(&self) -> bool {
        self.setup_ns == 0.0 && self.ns_per_byte == 0.0
    }

    /// How long it takes until the first byte moves.
    pub fn setup(&self) -> Nanos {
        Nanos::nearest(self.setup_ns)
    }
}

/// From and to the host's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieParameters {
    /// Descriptors or commands, from the host.
    pub fetch: Transfer,
    /// Descriptors or completions, to the host.
    pub post: Transfer,
    /// Data of reads.
    pub to_host: Transfer,
    /// Data of writes.
    pub from_host: Transfer,
    /// How many data transfers go on in parallel.
    pub data_engines: u32,
}

/// What understands commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerParameters {
    /// The time of a command that writes nothing.
    pub command: Nanos,
    /// The time of one that writes.
    pub write_command: Nanos,
    /// How many commands it handles in parallel.
    pub commands: u32,
    /// The time to start a return of descriptors, or a completion.
    pub post: Nanos,
    /// The probability that a command fails.
    pub error_probability: f64,
}

impl Parameters {
    /// Checks a profile.
    ///
    /// # Errors
    /// If a value is out of its range, or values contradict each other.
    pub fn new(profile: &SsdProfile) -> Result<Self, SsdProfileError> {
        let check = Checker {
            // That of a scenario has no name.
            origin: match profile.name.as_str() {
                "" => "[ssd]",
                name => name,
            },
            table: "",
        };
        let driver = driver(&check, &profile.driver)?;
        let controller = controller(&check, &profile.controller)?;
        // Both are checked, so that no value is accepted that would be refused where it is used.
        let block_queue = BlockQueueParameters::new(&check, &profile.block_queue)?;
        let nvme = NvmeParameters::new(&check, &profile.nvme)?;
        let limits = profile.limits.as_ref();
        let limits = limits.map(|limits| LimitsParameters::new(&check, limits));
        let limits = limits.transpose()?;
        check_unused(&check, profile)?;
        let (mut ends, capacity) = ends(&check, profile, block_queue, nvme)?;
        // Bios are whole.
        let capacity_sectors = match ends {
            Ends::BlockQueue(..) | Ends::Bulk(..) => capacity / BIO_SECTORS * BIO_SECTORS,
            Ends::Nvme(..) => capacity,
        };
        if capacity_sectors == 0 {
            let seen = format!("{capacity} sectors");
            return Err(check.wrong("flash", seen, "at least 4 KiB"));
        }
        let flash = ends.flash_mut();
        let cache = storage::cache(&check, profile, flash.as_deref())?;
        let pcie = pcie(&check, &profile.pcie)?;
        let given = profile.mapping_cache.as_ref();
        let mapping_cache = storage::mapping_cache(&check, given, flash.is_some())?;
        if let Some(flash) = flash {
            (flash.cache, flash.mapping_cache) = (cache, mapping_cache);
            if let Some(map) = mapping_cache.filter(|map| map.write_back) {
                flash.make_room_for_map(&check, map.entries_per_page)?;
            }
        }
        Ok(Self {
            ends,
            driver,
            pcie,
            controller,
            limits,
            capacity_sectors,
        })
    }

    /// Its flash, if it has some.
    pub fn flash(&self) -> Option<&FlashParameters> {
        match &self.ends {
            Ends::BlockQueue(_, StorageParameters::Flash(flash))
            | Ends::Nvme(_, StorageParameters::Flash(flash)) => Some(flash),
            _ => None,
        }
    }

    /// What is read and written as a whole: a logical page of flash, or 4 KiB.
    pub fn page(&self) -> Sectors {
        let sectors = self
            .flash()
            .map_or(8, FlashParameters::logical_page_sectors);
        Sectors::new(sectors as u32)
    }

    /// The most memory that a simulated SSD takes before the first request.
    pub fn bytes_at_start(&self) -> BytesAtStart {
        let mut bytes = BytesAtStart {
            // The SSD with its queues, all of which are empty.
            other: 8192,
            ..BytesAtStart::default()
        };
        match &self.ends {
            Ends::BlockQueue(queue, _) | Ends::Bulk(queue, _) => {
                bytes.ring = queue.bytes_at_start();
            }
            Ends::Nvme(nvme, _) => bytes.queues = nvme.bytes_at_start(),
        }
        if let Ends::BlockQueue(_, storage) | Ends::Nvme(_, storage) = &self.ends {
            match storage {
                StorageParameters::Memory(memory) => {
                    bytes.channels = 128 * u64::from(memory.channels);
                }
                StorageParameters::Flash(flash) => {
                    bytes.tables = flash.bytes_before_overwrites();
                    bytes.overwrites = flash.bytes_at_start() - bytes.tables;
                }
            }
        }
        bytes
    }

    /// Whether only the storage takes time, and no command fails.
    pub fn has_only_storage(&self) -> bool {
        let driver = &self.driver;
        let times = [
            driver.submit,
            driver.complete,
            driver.interrupt,
            driver.select,
            driver.doorbell,
            self.controller.command,
            self.controller.write_command,
            self.controller.post,
        ];
        let pcie = &self.pcie;
        let transfers = [pcie.fetch, pcie.post, pcie.to_host, pcie.from_host];
        times.iter().all(|time| *time == Nanos::ZERO)
            && transfers.iter().all(Transfer::is_immediate)
            && self.controller.error_probability == 0.0
            && self.limits.is_none()
            && self.flash().is_none_or(|flash| flash.cache.is_none())
    }

    /// The storage in a few words.
    pub fn storage(&self) -> String {
        let memory = match &self.ends {
            Ends::Bulk(_, mean) => {
                return format!("exponential service time per block, {mean} on average");
            }
            Ends::BlockQueue(_, StorageParameters::Memory(memory))
            | Ends::Nvme(_, StorageParameters::Memory(memory)) => memory,
            _ => return "flash".to_owned(),
        };
        let kind = match memory.times {
            AccessTimes::Dram { .. } => "DRAM",
            AccessTimes::Measured { .. } => "measured service times of commands",
        };
        let plural = if memory.channels == 1 { "" } else { "s" };
        format!("{kind}, {} channel{plural}", memory.channels)
    }
}

/// What a simulated SSD takes before the first request at most, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesAtStart {
    /// The ring of a block queue.
    pub ring: u64,
    /// Pairs of NVMe queues.
    pub queues: u64,
    /// Channels of memory.
    pub channels: u64,
    /// The mapping tables of flash.
    pub tables: u64,
    /// What the tables take besides, as pages were overwritten.
    pub overwrites: u64,
    /// Everything else.
    pub other: u64,
}

impl BytesAtStart {
    /// All of it.
    pub fn total(&self) -> u64 {
        let parts = [
            self.ring,
            self.queues,
            self.channels,
            self.tables,
            self.overwrites,
            self.other,
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl Ends {
    fn flash_mut(&mut self) -> Option<&mut FlashParameters> {
        match self {
            Self::BlockQueue(_, StorageParameters::Flash(flash))
            | Self::Nvme(_, StorageParameters::Flash(flash)) => Some(flash),
            _ => None,
        }
    }
}

fn driver(check: &Checker<'_>, p: &DriverProfile) -> Result<DriverParameters, SsdProfileError> {
    Ok(DriverParameters {
        submit: check.micros("driver.submit_us", p.submit_us)?,
        complete: check.micros("driver.complete_us", p.complete_us)?,
        interrupt: check.micros("driver.interrupt_us", p.interrupt_us)?,
        select: check.micros("driver.select_us", p.select_us)?,
        doorbell: check.micros("driver.doorbell_us", p.doorbell_us)?,
    })
}

fn controller(
    check: &Checker<'_>,
    p: &ControllerProfile,
) -> Result<ControllerParameters, SsdProfileError> {
    let error = "controller.error_probability";
    Ok(ControllerParameters {
        command: check.micros("controller.command_us", p.command_us)?,
        write_command: match p.write_command_us {
            Some(us) => check.micros("controller.write_command_us", us)?,
            None => check.micros("controller.command_us", p.command_us)?,
        },
        commands: check.count("controller.commands", p.commands, 1 << 16)?,
        post: check.micros("controller.return_us", p.return_us)?,
        error_probability: check.probability(error, p.error_probability)?,
    })
}

/// Checks the storage that a profile describes and does not use.
fn check_unused(check: &Checker<'_>, profile: &SsdProfile) -> Result<(), SsdProfileError> {
    if profile.storage != Storage::Dram
        && let Some(dram) = &profile.dram
    {
        check.micros("dram.read_us", dram.read_us)?;
        check.micros("dram.write_us", dram.write_us)?;
    }
    if profile.storage != Storage::Exponential
        && let Some(exponential) = &profile.exponential
    {
        check.micros("exponential.mean_us", exponential.mean_us)?;
    }
    if profile.storage != Storage::Flash
        && let Some(flash) = &profile.flash
    {
        FlashParameters::new(check, flash)?;
    }
    Ok(())
}

/// The host's interface with the storage, and the capacity in sectors; the caches of flash come later.
fn ends(
    check: &Checker<'_>,
    profile: &SsdProfile,
    queue: BlockQueueParameters,
    nvme: NvmeParameters,
) -> Result<(Ends, u64), SsdProfileError> {
    let missing = |kind: &str| {
        let expected = format!("an [ssd.{kind}] table as well");
        check.wrong("storage", format!("\"{kind}\""), expected)
    };
    let (storage, sectors) = match profile.storage {
        Storage::Dram => {
            let dram = profile.dram.as_ref().ok_or_else(|| missing("dram"))?;
            let (dram, sectors) = storage::dram(check, dram)?;
            (StorageParameters::Memory(dram), sectors)
        }
        Storage::Flash => {
            let flash = profile.flash.as_ref().ok_or_else(|| missing("flash"))?;
            let flash = Box::new(FlashParameters::new(check, flash)?);
            let sectors = flash.logical_pages() * flash.logical_page_sectors();
            (StorageParameters::Flash(flash), sectors)
        }
        Storage::Measured => {
            let given = profile.measured.as_ref();
            let given = given.ok_or_else(|| missing("measured"))?;
            if profile.interface == Interface::BlockQueue {
                let expected = "interface = \"nvme\", as measured storage serves commands";
                return Err(check.wrong("storage", "\"measured\"", expected));
            }
            let (measured, sectors) = storage::measured(check, given)?;
            (StorageParameters::Memory(measured), sectors)
        }
        Storage::Exponential => {
            let given = profile.exponential.as_ref();
            let given = given.ok_or_else(|| missing("exponential"))?;
            let is_whole = queue.prefetch == 0 && queue.subset.is_none();
            if profile.interface != Interface::BlockQueue || !is_whole {
                let expected = "interface = \"block-queue\" with whole blocks and no prefetch, as exponential storage \
                    serves blocks";
                return Err(check.wrong("storage", "\"exponential\"", expected));
            }
            let mean = check.micros("exponential.mean_us", given.mean_us)?;
            if mean == Nanos::ZERO {
                return Err(check.wrong("exponential.mean_us", given.mean_us, "0.001 to 1e7"));
            }
            let sectors = storage::capacity(check, "exponential.capacity", &given.capacity)?;
            return Ok((Ends::Bulk(queue, mean), sectors));
        }
    };
    let ends = match profile.interface {
        Interface::BlockQueue => Ends::BlockQueue(queue, storage),
        Interface::Nvme => Ends::Nvme(nvme, storage),
    };
    Ok((ends, sectors))
}

fn pcie(check: &Checker<'_>, pcie: &PcieProfile) -> Result<PcieParameters, SsdProfileError> {
    let to_host = check.ns_per_byte("pcie.to_host_mb_per_s", pcie.to_host_mb_per_s)?;
    let from_host = check.ns_per_byte("pcie.from_host_mb_per_s", pcie.from_host_mb_per_s)?;
    let transfer = |key, setup_us, ns_per_byte| {
        check.micros(key, setup_us).map(|_| Transfer {
            setup_ns: setup_us * 1e3,
            ns_per_byte,
        })
    };
    let setup = "pcie.descriptor_setup_us";
    let from_host_setup = "pcie.from_host_setup_us";
    Ok(PcieParameters {
        fetch: transfer(setup, pcie.descriptor_setup_us, from_host)?,
        post: transfer(setup, pcie.descriptor_setup_us, to_host)?,
        to_host: transfer("pcie.to_host_setup_us", pcie.to_host_setup_us, to_host)?,
        from_host: transfer(from_host_setup, pcie.from_host_setup_us, from_host)?,
        data_engines: check.count("pcie.data_engines", pcie.data_engines, 1 << 10)?,
    })
}
