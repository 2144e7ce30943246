//! The table `[controller]`.

use toml::Spanned;

use super::table_of_keys;
use crate::words::{Given, Word};

/// A kind of controller that people have: what the keys of `[controller]` are by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerLike {
    /// None: what it would take is not counted.
    Nothing,
    /// A host bus adapter: eight lanes of PCIe 3.0 and of 12 Gb/s SAS, no cache.
    Hba,
    /// A RAID card with the same lanes and 1 GiB of cache that survives a loss of power.
    RaidCard,
}

/// What the keys of `[controller]` are by default.
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

    /// What a scenario calls it.
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
    /// Those of a controller of this kind. What takes writes into a cache has a processor and a link to the host, of
    /// whatever kind it is.
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
        /// time from the arrival of a request until its data begin to cross the link to the host or its sub-requests
        /// are issued
        #[default = "0; with a `cache` 6.5"]
        #[comment = "time from arrival to issue"]
        pub command_us: Option<Spanned<f64>>,
        /// rate of the link to the host in each direction, in 10^6 bytes/s. The data of a write cross it before they
        /// reach the cache or the disks, and the data of a read before the read is complete
        #[default = "no link; with a `cache` 7877"]
        #[comment = "rate of the link to the host, each way"]
        pub host_mb_per_s: Option<Spanned<f64>>,
        /// time for the exclusive-or, per byte, before parity is written and when lost data are reconstructed
        #[default = "0"]
        #[comment = "time for the exclusive-or, per byte"]
        pub xor_ns_per_byte: Option<Spanned<f64>>,
        /// rate of a bus that all disks share, in 10^6 bytes/s
        #[default = "no bus"]
        #[comment = "rate of the bus shared by all disks"]
        pub bus_mb_per_s: Option<Spanned<f64>>,
        /// size of a write-back cache, such as `"64MiB"`, in which writes complete; `"0"` means no cache
        #[default = "none"]
        #[comment = "size of the write cache, in sectors of 512 B"]
        pub cache: Option<Spanned<String>>,
        /// the dirty share of the cache at which destaging begins
        #[default = "0: at once"]
        #[comment = "dirty share at which destaging starts"]
        pub destage_above: Option<Spanned<f64>>,
        /// the dirty share at which destaging ends
        #[default = "0"]
        #[comment = "dirty share at which destaging ends"]
        pub destage_below: Option<Spanned<f64>>,
    }
}
