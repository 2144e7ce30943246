//! What a profile means: every value checked, every duration rounded to nanoseconds once.

mod check;
mod flash;

use std::fmt::{self, Display, Formatter};

use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use crate::mapping_cache::MappingCacheParameters;
use crate::measured::MeasuredService;
use crate::profile::{
    Arbitration, Assignment, BlockQueueProfile, Dispatch, Interface, Notification, ReturnStrategy,
    SsdProfile, SsdProfileError, Storage,
};
use check::Checker;
pub use flash::{FlashParameters, ServerOf};

/// A bio: the block queue's unit of transfer.
pub const BIO_SECTORS: u64 = 8;

/// An SSD with its driver, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// How the host hands requests over.
    pub host: HostParameters,
    /// The driver's part.
    pub driver: DriverParameters,
    /// From and to the host's memory.
    pub pcie: PcieParameters,
    /// What understands commands.
    pub controller: ControllerParameters,
    /// What lies behind the controller.
    pub storage: StorageParameters,
    /// A write cache in front of flash.
    pub cache: Option<CacheParameters>,
    /// The part of the page map that is in the device's memory; `None`: all of it.
    pub mapping_cache: Option<MappingCacheParameters>,
    /// How much it holds.
    pub capacity_sectors: u64,
}

impl Parameters {
    /// Whether nothing but the storage takes time, and nothing fails.
    pub fn has_only_storage(&self) -> bool {
        let driver = &self.driver;
        let times = [
            driver.submit,
            driver.complete,
            driver.interrupt,
            driver.select,
            driver.doorbell,
            self.controller.command,
            self.controller.post,
        ];
        let pcie = &self.pcie;
        let transfers = [pcie.fetch, pcie.post, pcie.to_host, pcie.from_host];
        times.iter().all(|time| *time == Nanos::ZERO)
            && transfers.iter().all(Transfer::is_immediate)
            && self.controller.error_probability == 0.0
            && self.cache.is_none()
    }
}

/// How the host submits requests.
#[derive(Clone, Debug, PartialEq)]
pub enum HostParameters {
    /// One ring, in blocks of descriptors.
    BlockQueue(BlockQueueParameters),
    /// Pairs of queues.
    Nvme(NvmeParameters),
}

/// The ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockQueueParameters {
    /// Descriptors of the ring.
    pub ring: u32,
    /// When a block goes to the device.
    pub dispatch: Dispatch,
    /// Its size, or the largest.
    pub block: u32,
    /// How many descriptors go back together; `None`: the whole block.
    pub subset: Option<u32>,
    /// Whether they go back by an engine of their own.
    pub descriptor_engine: bool,
    /// How many are fetched ahead.
    pub prefetch: u32,
    /// Whether blocks wrap around the ring's end.
    pub wrap: bool,
    /// The size of a descriptor.
    pub descriptor_bytes: u32,
}

/// The queue pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmeParameters {
    /// How many commands each takes.
    pub depth: u32,
    /// Which pair a request goes to.
    pub assign: Assignment,
    /// How many commands are fetched from each queue at a time.
    pub bursts: Vec<u32>,
    /// How many commands the device has at most.
    pub most_commands: u32,
    /// The largest command.
    pub most_sectors: u64,
    /// How the host learns of completions.
    pub notification: Notification,
    /// An interrupt waits for so many completions ...
    pub coalesce: u32,
    /// ... but no longer than this; zero: it does not wait.
    pub coalesce_for: Nanos,
    /// How often the host looks; zero: all the time.
    pub poll: Nanos,
    /// The size of a command.
    pub command_bytes: u32,
    /// The size of a completion.
    pub completion_bytes: u32,
}

/// What the driver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverParameters {
    /// To make a descriptor of a bio.
    pub submit: Nanos,
    /// To complete a bio.
    pub complete: Nanos,
    /// To handle an interrupt.
    pub interrupt: Nanos,
    /// To choose the next block.
    pub select: Nanos,
    /// To write the doorbell register.
    pub doorbell: Nanos,
}

/// A transfer: what it takes to begin, and then for each byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    setup_ns: f64,
    ns_per_byte: f64,
}

impl Transfer {
    /// How long so many bytes take.
    #[inline]
    pub fn time(&self, bytes: u64) -> Nanos {
        Nanos::nearest(self.setup_ns + self.ns_per_byte * bytes as f64)
    }

    /// Whether it takes no time.
    fn is_immediate(&self) -> bool {
        self.setup_ns == 0.0 && self.ns_per_byte == 0.0
    }

    /// How long it takes to begin.
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
    /// How many data transfers there are at once.
    pub data_engines: u32,
}

/// What understands commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerParameters {
    /// A command.
    pub command: Nanos,
    /// How many in parallel.
    pub commands: u32,
    /// A return.
    pub post: Nanos,
    /// The probability of an error.
    pub error_probability: f64,
}

/// What lies behind the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum StorageParameters {
    /// Channels of memory, and the time of an access of a read and of a write.
    Dram {
        /// How many.
        channels: u32,
        /// 4 KiB for a read.
        read: Nanos,
        /// 4 KiB for a write.
        write: Nanos,
    },
    /// Flash.
    Flash(Box<FlashParameters>),
    /// Servers of commands whose times were measured.
    Measured {
        /// How many.
        channels: u32,
        /// The time of a read.
        read: MeasuredService,
        /// The time of a write.
        write: MeasuredService,
    },
    /// An exponential service of a block.
    Exponential {
        /// Its mean.
        mean: Nanos,
    },
}

/// A write cache, in logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheParameters {
    /// How many it holds.
    pub pages: u64,
    /// When more are dirty, writing to flash begins ...
    pub high: u64,
    /// ... and goes on until no more are.
    pub low: u64,
    /// An access.
    pub access: Nanos,
}

impl Parameters {
    /// Checks a profile.
    ///
    /// # Errors
    /// If a value makes no SSD, or things do not go together.
    pub fn new(profile: &SsdProfile) -> Result<Self, SsdProfileError> {
        let check = Checker {
            origin: &profile.name,
        };
        let driver = DriverParameters {
            submit: check.micros("driver.submit_us", profile.driver.submit_us)?,
            complete: check.micros("driver.complete_us", profile.driver.complete_us)?,
            interrupt: check.micros("driver.interrupt_us", profile.driver.interrupt_us)?,
            select: check.micros("driver.select_us", profile.driver.select_us)?,
            doorbell: check.micros("driver.doorbell_us", profile.driver.doorbell_us)?,
        };
        let controller = ControllerParameters {
            command: check.micros("controller.command_us", profile.controller.command_us)?,
            commands: check.count("controller.commands", profile.controller.commands, 1 << 16)?,
            post: check.micros("controller.return_us", profile.controller.return_us)?,
            error_probability: check.probability(
                "controller.error_probability",
                profile.controller.error_probability,
            )?,
        };
        // Both are checked, so that no value is accepted that is out of the question.
        let (block_queue, nvme) = (
            block_queue(&check, &profile.block_queue)?,
            nvme(&check, profile)?,
        );
        let host = match profile.interface {
            Interface::BlockQueue => HostParameters::BlockQueue(block_queue),
            Interface::Nvme => HostParameters::Nvme(nvme),
        };
        check_unused(&check, profile)?;
        let (storage, capacity, logical_page) = storage(&check, profile, &host)?;
        // Bios are whole.
        let capacity_sectors = match host {
            HostParameters::BlockQueue(_) => capacity / BIO_SECTORS * BIO_SECTORS,
            HostParameters::Nvme(_) => capacity,
        };
        if capacity_sectors == 0 {
            return Err(check.wrong(
                "flash",
                format!("{capacity} sectors"),
                "room for 4 KiB at least",
            ));
        }
        let cache = cache(&check, profile, logical_page)?;
        if let (StorageParameters::Flash(flash), Some(cache)) = (&storage, &cache) {
            // Pages wait until others fill their flash page: there must be room for one that does.
            let open = u64::from(flash.planes) * u64::from(flash.plane.slots_per_page - 1);
            if cache.high + open >= cache.pages {
                let least = (cache.high + open + 1) * logical_page;
                let expected = format!(
                    "at least {} for what may be dirty and for a part of a flash page of each plane",
                    Bytes::new(least)
                );
                let seen = profile.cache.as_ref().map_or("", |cache| &cache.size);
                return Err(check.wrong("cache.size", seen, expected));
            }
        }
        if let StorageParameters::Flash(flash) = &storage
            && flash.plane.slots_per_page > 1
            && cache.is_none()
        {
            return Err(check.wrong(
                "flash.mapping_unit",
                profile.flash.as_ref().and_then(|f| f.mapping_unit.as_ref()).cloned().unwrap_or_default(),
                "the size of a flash page, or a [ssd.cache] where logical pages wait until one is full",
            ));
        }
        Ok(Self {
            host,
            driver,
            pcie: pcie(&check, profile)?,
            controller,
            storage,
            cache,
            mapping_cache: mapping_cache(&check, profile)?,
            capacity_sectors,
        })
    }
}

/// Checks the storage that a profile describes and does not use.
fn check_unused(check: &Checker<'_>, profile: &SsdProfile) -> Result<(), SsdProfileError> {
    if let (true, Some(dram)) = (profile.storage != Storage::Dram, &profile.dram) {
        check.micros("dram.read_us", dram.read_us)?;
        check.micros("dram.write_us", dram.write_us)?;
    }
    if let (true, Some(mean)) = (
        profile.storage != Storage::Exponential,
        &profile.exponential,
    ) {
        check.micros("exponential.mean_us", mean.mean_us)?;
    }
    if let (true, Some(flash)) = (profile.storage != Storage::Flash, &profile.flash) {
        FlashParameters::new(check, flash)?;
    }
    Ok(())
}

impl Parameters {
    /// What a simulated SSD takes in memory before the first request, at most, in bytes.
    pub fn bytes_at_start(&self) -> u64 {
        match &self.storage {
            StorageParameters::Flash(flash) => flash.bytes_at_start(),
            _ => 0,
        }
    }
}

fn pcie(check: &Checker<'_>, profile: &SsdProfile) -> Result<PcieParameters, SsdProfileError> {
    let pcie = &profile.pcie;
    let to_host = check.ns_per_byte("pcie.to_host_mb_per_s", pcie.to_host_mb_per_s)?;
    let from_host = check.ns_per_byte("pcie.from_host_mb_per_s", pcie.from_host_mb_per_s)?;
    let transfer = |key, setup_us, ns_per_byte| {
        check.micros(key, setup_us).map(|_| Transfer {
            setup_ns: setup_us * 1e3,
            ns_per_byte,
        })
    };
    let setup = "pcie.descriptor_setup_us";
    Ok(PcieParameters {
        fetch: transfer(setup, pcie.descriptor_setup_us, from_host)?,
        post: transfer(setup, pcie.descriptor_setup_us, to_host)?,
        to_host: transfer("pcie.to_host_setup_us", pcie.to_host_setup_us, to_host)?,
        from_host: transfer(
            "pcie.from_host_setup_us",
            pcie.from_host_setup_us,
            from_host,
        )?,
        data_engines: check.count("pcie.data_engines", pcie.data_engines, 1 << 10)?,
    })
}

fn block_queue(
    check: &Checker<'_>,
    queue: &BlockQueueProfile,
) -> Result<BlockQueueParameters, SsdProfileError> {
    if !queue.ring.is_power_of_two() || queue.ring > 1 << 20 {
        return Err(check.wrong("block_queue.ring", queue.ring, "a power of two up to 2^20"));
    }
    if !(1..=queue.ring).contains(&queue.block) {
        let expected = format!("1 to {}, the size of the ring", queue.ring);
        return Err(check.wrong("block_queue.block", queue.block, expected));
    }
    if queue.prefetch > queue.block {
        let expected = format!("at most {}, the size of a block", queue.block);
        return Err(check.wrong("block_queue.prefetch", queue.prefetch, expected));
    }
    let subset = match queue.strategy {
        ReturnStrategy::CompleteBlock => None,
        ReturnStrategy::OneByOne => Some(1),
        ReturnStrategy::Subsets => {
            Some(check.count("block_queue.subset", queue.subset, queue.block)?)
        }
    };
    Ok(BlockQueueParameters {
        ring: queue.ring,
        dispatch: queue.dispatch,
        block: queue.block,
        subset,
        descriptor_engine: queue.descriptor_engine,
        prefetch: queue.prefetch,
        wrap: queue.wrap,
        descriptor_bytes: check.count(
            "block_queue.descriptor_bytes",
            queue.descriptor_bytes,
            1 << 16,
        )?,
    })
}

fn nvme(check: &Checker<'_>, profile: &SsdProfile) -> Result<NvmeParameters, SsdProfileError> {
    let nvme = &profile.nvme;
    let queues = check.count("nvme.queues", nvme.queues, 1 << 12)?;
    let burst = check.count("nvme.burst", nvme.burst, 1 << 16)?;
    let bursts = match nvme.arbitration {
        Arbitration::RoundRobin => vec![burst; queues as usize],
        Arbitration::Weighted => nvme.weights.clone(),
    };
    if bursts.len() != queues as usize || bursts.contains(&0) {
        let expected = format!("{queues} weights from 1 on, one for each queue");
        return Err(check.wrong("nvme.weights", format!("{:?}", nvme.weights), expected));
    }
    let most_sectors = check.bytes("nvme.most_transfer", &nvme.most_transfer)? / SECTOR_BYTES;
    if !(8..1 << 20).contains(&most_sectors) {
        let expected = "4KiB to 512MiB";
        return Err(check.wrong("nvme.most_transfer", &nvme.most_transfer, expected));
    }
    Ok(NvmeParameters {
        depth: check.count("nvme.depth", nvme.depth, 1 << 16)?,
        assign: nvme.assign,
        bursts,
        most_commands: check.count("nvme.most_commands", nvme.most_commands, 1 << 24)?,
        most_sectors,
        notification: nvme.notification,
        coalesce: check.count("nvme.coalesce", nvme.coalesce, 1 << 16)?,
        coalesce_for: check.micros("nvme.coalesce_us", nvme.coalesce_us)?,
        poll: check.micros("nvme.poll_us", nvme.poll_us)?,
        command_bytes: check.count("nvme.command_bytes", nvme.command_bytes, 1 << 16)?,
        completion_bytes: check.count("nvme.completion_bytes", nvme.completion_bytes, 1 << 16)?,
    })
}

/// The storage, its capacity in sectors and its logical page in bytes.
fn storage(
    check: &Checker<'_>,
    profile: &SsdProfile,
    host: &HostParameters,
) -> Result<(StorageParameters, u64, u64), SsdProfileError> {
    let missing = |table: &str| {
        let kind = table.trim_matches(['[', ']']).to_owned();
        check.wrong(
            "storage",
            format!("\"{kind}\""),
            format!("a table [ssd.{kind}] to go with it"),
        )
    };
    let capacity = |key, text: &str| {
        let sectors = check.bytes(key, text)? / SECTOR_BYTES;
        if !(BIO_SECTORS..1 << 40).contains(&sectors) {
            return Err(check.wrong(key, text, "4KiB to 512 TiB"));
        }
        Ok(sectors)
    };
    match profile.storage {
        Storage::Dram => {
            let dram = profile.dram.as_ref().ok_or_else(|| missing("dram"))?;
            let storage = StorageParameters::Dram {
                channels: check.count("dram.channels", dram.channels, 1 << 12)?,
                read: check.micros("dram.read_us", dram.read_us)?,
                write: check.micros("dram.write_us", dram.write_us)?,
            };
            Ok((storage, capacity("dram.capacity", &dram.capacity)?, 4096))
        }
        Storage::Exponential => {
            let exponential = profile
                .exponential
                .as_ref()
                .ok_or_else(|| missing("exponential"))?;
            match host {
                HostParameters::BlockQueue(queue)
                    if queue.prefetch == 0 && queue.subset.is_none() => {}
                _ => {
                    return Err(check.wrong(
                        "storage",
                        "\"exponential\"",
                        "interface = \"block-queue\" with whole blocks and no prefetch: it is a service of blocks",
                    ));
                }
            }
            let mean = check.micros("exponential.mean_us", exponential.mean_us)?;
            if mean == Nanos::ZERO {
                let seen = exponential.mean_us;
                return Err(check.wrong("exponential.mean_us", seen, "0.001 to 1e7"));
            }
            let storage = StorageParameters::Exponential { mean };
            let sectors = capacity("exponential.capacity", &exponential.capacity)?;
            Ok((storage, sectors, 4096))
        }
        Storage::Measured => {
            let measured = profile
                .measured
                .as_ref()
                .ok_or_else(|| missing("measured"))?;
            if matches!(host, HostParameters::BlockQueue(_)) {
                let expected = "interface = \"nvme\": it is a service of commands";
                return Err(check.wrong("storage", "\"measured\"", expected));
            }
            let storage = StorageParameters::Measured {
                channels: check.count("measured.channels", measured.channels, 1 << 16)?,
                read: measured_law(
                    check,
                    "read",
                    &measured.read_quantiles,
                    measured.read_us_per_kib,
                )?,
                write: measured_law(
                    check,
                    "write",
                    &measured.write_quantiles,
                    measured.write_us_per_kib,
                )?,
            };
            let sectors = capacity("measured.capacity", &measured.capacity)?;
            Ok((storage, sectors, 4096))
        }
        Storage::Flash => {
            let flash = profile.flash.as_ref().ok_or_else(|| missing("flash"))?;
            let flash = FlashParameters::new(check, flash)?;
            let sectors = flash.logical_pages() * flash.logical_page_bytes / SECTOR_BYTES;
            let page = flash.logical_page_bytes;
            Ok((StorageParameters::Flash(Box::new(flash)), sectors, page))
        }
    }
}

impl Display for StorageParameters {
    /// What it is, in a few words.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plural = |n: &u32| if *n == 1 { "" } else { "s" };
        match self {
            Self::Dram { channels, .. } => {
                write!(f, "DRAM, {channels} channel{}", plural(channels))
            }
            Self::Flash(_) => f.write_str("flash"),
            Self::Exponential { mean } => {
                write!(f, "exponential service of a block, {mean} on average")
            }
            Self::Measured { channels, .. } => write!(
                f,
                "measured service times of commands, {channels} channel{}",
                plural(channels)
            ),
        }
    }
}

/// A law of measured times.
fn measured_law(
    check: &Checker<'_>,
    op: &str,
    quantiles: &[(f64, f64)],
    us_per_kib: f64,
) -> Result<MeasuredService, SsdProfileError> {
    let ascends = quantiles
        .windows(2)
        .all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
    let ends = quantiles.first().is_some_and(|q| q.0 == 0.0)
        && quantiles.last().is_some_and(|q| q.0 == 1.0);
    let times = quantiles.iter().all(|q| (0.0..=1e7).contains(&q.1));
    if quantiles.len() < 2 || !ascends || !ends || !times {
        return Err(check.wrong(
            &format!("measured.{op}_quantiles"),
            format!("a list of {}", quantiles.len()),
            "[probability, microseconds], both ascending, probabilities from 0.0 to 1.0, times 0 to 1e7",
        ));
    }
    check.micros(&format!("measured.{op}_us_per_kib"), us_per_kib)?;
    let in_ns = quantiles.iter().map(|&(p, us)| (p, us * 1e3)).collect();
    let ns_per_sector = us_per_kib * 1e3 * SECTOR_BYTES as f64 / 1024.0;
    Ok(MeasuredService::new(in_ns, ns_per_sector))
}

fn cache(
    check: &Checker<'_>,
    profile: &SsdProfile,
    logical_page: u64,
) -> Result<Option<CacheParameters>, SsdProfileError> {
    // A profile's cache can be taken out again: it has no size then.
    let Some(cache) = profile.cache.as_ref().filter(|cache| cache.size != "0") else {
        return Ok(None);
    };
    if profile.storage != Storage::Flash {
        return Err(check.wrong("cache", "given", "no cache: it is for storage = \"flash\""));
    }
    let bytes = check.bytes("cache.size", &cache.size)?;
    let pages = bytes / logical_page;
    if !(1..1 << 31).contains(&pages) {
        let expected = "at least one logical page, and at most 2^31 of them";
        return Err(check.wrong("cache.size", &cache.size, expected));
    }
    let above = check.probability("cache.destage_above", cache.destage_above)?;
    let below = check.probability("cache.destage_below", cache.destage_below)?;
    if below > above {
        let expected = "at most cache.destage_above";
        return Err(check.wrong("cache.destage_below", below, expected));
    }
    let share = |share: f64| ((share * pages as f64) as u64).min(pages - 1);
    Ok(Some(CacheParameters {
        pages,
        high: share(above),
        low: share(below),
        access: check.micros("cache.access_us", cache.access_us)?,
    }))
}

fn mapping_cache(
    check: &Checker<'_>,
    profile: &SsdProfile,
) -> Result<Option<MappingCacheParameters>, SsdProfileError> {
    let Some(cache) = profile
        .mapping_cache
        .as_ref()
        .filter(|cache| cache.entries > 0)
    else {
        return Ok(None);
    };
    if profile.storage != Storage::Flash {
        return Err(check.wrong(
            "mapping_cache",
            "given",
            "none: it is for storage = \"flash\"",
        ));
    }
    let most = 1 << 30;
    Ok(Some(MappingCacheParameters {
        entries: check.count("mapping_cache.entries", cache.entries, most)?,
        entries_per_page: check.count(
            "mapping_cache.entries_per_page",
            cache.entries_per_page,
            most,
        )?,
        read_bytes: check.count("mapping_cache.read_bytes", cache.read_bytes, 1 << 24)?,
    }))
}
