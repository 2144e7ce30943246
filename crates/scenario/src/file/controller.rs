//! The table `[controller]`.

use toml::Spanned;

use super::table_of_keys;
use crate::words::{Given, Word};

/// A common kind of controller, which sets the defaults of the keys of `[controller]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerLike {
    /// No controller: its times are not simulated.
    Nothing,
    /// A host bus adapter: eight lanes of PCIe 3.0 and of 12 Gb/s SAS, no cache.
    Hba,
    /// A RAID card with the same lanes and 1 GiB of cache that survives a power failure.
    RaidCard,
}

/// The default values of the keys of `[controller]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ControllerDefaults {
    pub(crate) command_us: f64,
    pub(crate) host_mb_per_s: Option<f64>,
    pub(crate) bus_mb_per_s: Option<f64>,
    pub(crate) cache: Option<&'static str>,
}

impl ControllerLike {
    /// Eight lanes of PCI Express 3.0: 8 GT/s of 128b/130b each (PCI Express Base Specification 3.0, 2010).
    const PCIE_MB_PER_S: f64 = 7877.0;
    /// Eight lanes of SAS-3: 12 Gb/s of 8b/10b each (INCITS 519-2014).
    const SAS_MB_PER_S: f64 = 9600.0;
    /// The command, the address of the data and the completion each cross PCI Express, in about 0.5 us (Neugebauer et
    /// al., "Understanding PCIe performance for end host networking", SIGCOMM 2018).
    const HOST_COMMAND_US: f64 = 1.5;
    /// A RAID processor of 1 GHz completes 200,000 requests of 4 KiB per second ("HP Smart Array controllers and basic
    /// RAID performance factors", technology brief, 2012): one in 5 us.
    const RAID_COMMAND_US: f64 = 5.0;

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        self.word()
    }

    pub(crate) fn defaults(self) -> ControllerDefaults {
        let hba = ControllerDefaults {
            command_us: Self::HOST_COMMAND_US,
            host_mb_per_s: Some(Self::PCIE_MB_PER_S),
            bus_mb_per_s: Some(Self::SAS_MB_PER_S),
            cache: None,
        };
        match self {
            Self::Nothing => ControllerDefaults::default(),
            Self::Hba => hba,
            Self::RaidCard => ControllerDefaults {
                command_us: Self::HOST_COMMAND_US + Self::RAID_COMMAND_US,
                cache: Some("1GiB"),
                ..hba
            },
        }
    }
}

impl ControllerDefaults {
    /// The defaults of this kind of controller. A controller with a cache always has a processor and a link to the
    /// host.
    pub(crate) fn of(like: Option<ControllerLike>, has_cache: bool) -> Self {
        match like.unwrap_or(ControllerLike::Nothing) {
            ControllerLike::Nothing if has_cache => Self {
                bus_mb_per_s: None,
                ..ControllerLike::RaidCard.defaults()
            },
            like => like.defaults(),
        }
    }
}

table_of_keys! {
    /// The table `[controller]`.
    #[derive(Default)]
    pub struct ControllerFile {
        /// a kind of controller, which sets the defaults of the keys below: `"none"`, `"hba"`, `"raid-card-1GiB-bbu"`
        /// ([values and sources](simulate.md#controllers))
        #[default = "none"]
        #[comment = "sets the defaults of the keys below"]
        pub like: Option<Spanned<Given<ControllerLike>>>,
        /// time from the arrival of a request until its data start to cross the link to the host, or until its
        /// sub-requests are issued
        #[default = "0, or 6.5 with a `cache`"]
        #[comment = "time from arrival to issue"]
        pub command_us: Option<Spanned<f64>>,
        /// rate of the link to the host in each direction, in 10^6 bytes/s. Write data cross the link before they reach
        /// the cache or the disks; read data cross it before the read completes
        #[default = "no link, or 7877 with a `cache`"]
        #[comment = "rate of the link to the host, each way"]
        pub host_mb_per_s: Option<Spanned<f64>>,
        /// time per byte for the exclusive-or, which is computed before parity is written and when lost data are
        /// reconstructed
        #[default = "0"]
        #[comment = "time for the exclusive-or, per byte"]
        pub xor_ns_per_byte: Option<Spanned<f64>>,
        /// rate of the bus that all disks share, in 10^6 bytes/s
        #[default = "no bus"]
        #[comment = "rate of the bus shared by all disks"]
        pub bus_mb_per_s: Option<Spanned<f64>>,
        /// size of the write-back cache, such as `"64MiB"`, or `"0"` for no cache; a write completes when its data are
        /// in the cache
        #[default = "none"]
        #[comment = "size of the write cache, in sectors of 512 B"]
        pub cache: Option<Spanned<String>>,
        /// the dirty share of the cache at which destaging begins
        #[default = "0: at once"]
        #[comment = "dirty share at which destaging starts"]
        pub destage_above: Option<Spanned<f64>>,
        /// the dirty share of the cache at which destaging ends
        #[default = "0"]
        #[comment = "dirty share at which destaging ends"]
        pub destage_below: Option<Spanned<f64>>,
    }
}
