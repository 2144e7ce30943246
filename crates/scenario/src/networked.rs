//! Networked RAID: a closed network of servers, their network, and their disks.
//!
//! A central server runs RAID over virtual disks that live on storage servers. N jobs circulate: each
//! moves a number of bytes and then, after a think time, moves them again. Source: Cui, Liu, Wang, Liu, "Study on I/O
//! response time bounds of networked storage systems", 2006.
//!
//! - [`NetworkedRaid`]: the system of a TOML file, checked;
//! - [`NetworkedRaid::demands`]: seconds of service that a job needs at each station;
//! - [`NetworkedRaid::analyse`]: bounds and mean value analysis;
//! - [`elasticities`](NetworkedRaid::elasticities), [`upgrades`](NetworkedRaid::upgrades): what to change;
//! - [`NetworkedRaid::simulate`]: the same network with events.

mod analyse;
mod demands;
mod file;
mod metrics;
mod sensitivity;
mod simulate;
mod upgrade;

use std::path::Path;

pub use analyse::{ClassAnalysis, NetworkAnalysis, NetworkPoint};
pub use demands::{Division, StationDemand};
use file::NetworkedFile;
pub use file::Operation;
use iosonar_workload::TimeLaw;
pub use sensitivity::{Elasticity, Lever};
pub use simulate::{NetworkSimulation, Services, Structure};
pub use upgrade::{Purchase, Upgrade};

use crate::resolve::Overrides;
use crate::resolve::check::Checker;
use crate::resolve::set;
use crate::{ScenarioError, read_text};

/// RAID levels over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkedLevel {
    /// No redundancy.
    Raid0,
    /// Everything twice.
    Raid1,
    /// Everything twice, striped.
    Raid10,
    /// One parity unit a stripe.
    Raid5,
    /// Two.
    Raid6,
}

/// A server's processor and cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// Processor time of a stripe unit, in milliseconds.
    pub cpu_ms_per_stripe_unit: f64,
    /// Processor time of a packet, in milliseconds.
    pub cpu_ms_per_packet: f64,
    /// How much faster its processor is than the one that these times are of.
    pub cpu_speed: f64,
    /// The probability that its cache has what is asked for.
    pub cache_hit: f64,
}

/// The disk of a storage server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerDisk {
    /// Mean seek time, in milliseconds.
    pub seek_ms: f64,
    /// Mean rotational latency, in milliseconds.
    pub latency_ms: f64,
    /// Sustained rate, in millions of bytes per second.
    pub mb_per_s: f64,
}

/// What connects them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The rate of the network, in millions of bits per second.
    pub mbit_per_s: f64,
    /// The rate of the network interfaces (NIC) of all servers, in millions of bits per second.
    pub nic_mbit_per_s: f64,
    /// The largest TCP segment, in bytes.
    pub segment_bytes: f64,
    /// The size of the frame that carries it, in bytes.
    pub frame_bytes: f64,
}

/// What jobs are like.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What it is called.
    pub name: String,
    /// Read or write.
    pub operation: Operation,
    /// How much it moves.
    pub bytes: f64,
    /// How long it thinks on average before it begins again, in seconds. Theory needs no more.
    pub think_s: f64,
    /// The law of these think times, for simulations; exponential if it is not given.
    pub think: Option<TimeLaw>,
    /// How many there are (of a single class: at most).
    pub jobs: u32,
}

/// A networked RAID system.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkedRaid {
    /// Where all randomness of its simulation comes from.
    pub seed: u64,
    /// How many independent runs a simulation has: at least 2.
    pub replications: u32,
    /// Its classes of jobs, at least one.
    pub classes: Vec<Job>,
    /// The RAID level.
    pub level: NetworkedLevel,
    /// The stripe unit of the central server, in bytes.
    pub stripe_unit_bytes: f64,
    /// Storage servers, and stripe units of a stripe.
    pub storage_servers: u32,
    /// As how many storage servers' stations the network is built: all by default.
    pub stations_of: u32,
    /// How the formulas divide among them.
    pub division: Division,
    /// The server that runs the RAID.
    pub central: Server,
    /// Each storage server.
    pub storage: Server,
    /// Its disk.
    pub disk: ServerDisk,
    /// The network.
    pub link: Link,
    /// What could be bought.
    pub upgrades: Vec<Upgrade>,
}

impl NetworkedRaid {
    /// The files that it is read from besides its own: the recordings that its think times are drawn from.
    pub fn inputs(&self) -> Vec<&Path> {
        let thinks = self.classes.iter().filter_map(|job| job.think.as_ref());
        thinks.filter_map(TimeLaw::trace).collect()
    }

    /// Whether the text of a file describes a networked system rather than an array: it has a table
    /// `[central]` or `[jobs]`, which scenarios have not.
    pub fn is_meant(text: &str) -> bool {
        let document = text.parse::<toml::Table>();
        document.is_ok_and(|table| table.contains_key("central") || table.contains_key("jobs"))
    }

    /// Reads the system of the file at `path`, with the values of `overrides` that are set.
    ///
    /// # Errors
    /// If the file cannot be read or means no system.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        Self::from_toml(&read_text(path)?, path, overrides)
    }

    /// The system of this text; `path` is for messages.
    ///
    /// # Errors
    /// If the text means no system.
    pub fn from_toml(
        text: &str,
        path: &Path,
        overrides: &Overrides,
    ) -> Result<Self, ScenarioError> {
        let original = text;
        let (text, file) = set::read::<NetworkedFile>(text, path, &overrides.set)?;
        let checker = Checker {
            path,
            text: &text,
            set: &overrides.set,
        };
        let mut system = file.resolve(&checker)?;
        system.seed = overrides.seed.unwrap_or(system.seed);
        system.replications = overrides.replications.unwrap_or(system.replications);
        for upgrade in &mut system.upgrades {
            upgrade.check(original, path, overrides)?;
        }
        Ok(system)
    }

    /// The most jobs that are looked at: those of all classes.
    pub fn most_jobs(&self) -> u32 {
        self.classes.iter().map(|job| job.jobs).sum()
    }

    /// A line that says what it is.
    pub fn headline(&self) -> String {
        let level = match self.level {
            NetworkedLevel::Raid0 => "RAID 0",
            NetworkedLevel::Raid1 => "RAID 1",
            NetworkedLevel::Raid10 => "RAID 10",
            NetworkedLevel::Raid5 => "RAID 5",
            NetworkedLevel::Raid6 => "RAID 6",
        };
        let up_to = if self.classes.len() == 1 { "1 to " } else { "" };
        let jobs: Vec<String> = self.classes.iter().map(Job::headline).collect();
        format!(
            "{level} over {} storage servers; {up_to}{}",
            self.storage_servers,
            jobs.join("; ")
        )
    }
}

impl Job {
    fn headline(&self) -> String {
        let operation = match self.operation {
            Operation::Read => "reads",
            Operation::Write => "writes",
        };
        let think = if self.think_s > 0.0 {
            format!(", with a think time of {} s", self.think_s)
        } else {
            String::new()
        };
        format!(
            "{} {operation} of {} MB{think}",
            self.jobs,
            self.bytes / 1e6
        )
    }
}
