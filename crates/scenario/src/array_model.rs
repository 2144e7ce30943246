//! The array that a scenario means, with every default filled in.

use std::fmt::Display;
use std::sync::Arc;

use iosonar_disk_model::{DiskProfile, Queueing, Scheduler};
use iosonar_raid::rules::Rules;
use iosonar_raid::{
    Arrangement, ArrayShape, Controller, CopyLayout, DeviceEvent, GeometryError, Grouped, Level,
    Linear, LinuxMd, Lost, MdLevel, MdMirrors, MdParity, MirrorRead, Mirrored, Parity,
    ParityLayout, Placement, Planner, RandomLayout, Rebuild, StripeHandling, Striped,
};
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{BytesAtStart, Parameters, SsdProfile};
use iosonar_units::Sectors;
use iosonar_workload::TimeLaw;

use crate::file::ControllerLike;
use crate::registry::LevelShape;
use crate::{RegisteredDevices, RegisteredLevel};

/// A RAID level with the options that belong to it.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelOptions {
    /// RAID 0.
    Striped,
    /// RAID 1, 10 and 01.
    Mirrored {
        /// How the copies lie.
        arrangement: Arrangement,
        /// How many there are.
        copies: usize,
        /// Which is read.
        read: MirrorRead,
    },
    /// RAID 5, 6, 50 and 60.
    Parity {
        /// Parity units of a stripe.
        parities: u8,
        /// Groups, of which each has its own parity.
        groups: usize,
        /// Where parity and data lie by addresses.
        layout: ParityLayout,
        /// Where they lie at random.
        random: RandomLayout,
    },
    /// One disk after the other; `true`: just a bunch of disks.
    Linear {
        /// What it is called.
        bunch: bool,
    },
    /// A level from elsewhere.
    Registered(RegisteredLevel),
}

/// An array of disks.
#[derive(Clone, Debug)]
pub struct ArrayModel {
    /// The RAID level.
    pub level: LevelOptions,
    /// How many disks, spares not counted.
    pub disks: usize,
    /// The disks that have failed before the run.
    pub failed: Vec<usize>,
    /// What happens to disks during a run.
    pub events: Vec<DeviceEvent>,
    /// The stripe unit.
    pub stripe_unit: Sectors,
    /// Where requests go.
    pub placement: Placement,
    /// Whether it is laid out and served as Linux does it.
    pub md: Option<MdOptions>,
    /// How requests are carried out.
    pub rules: Rules,
    /// What lies between the host and the disks.
    pub controller: Controller,
    /// Which kind of controller the scenario names.
    pub controller_like: Option<ControllerLike>,
    /// The rebuild of the failed disks.
    pub rebuild: Option<Rebuild>,
    /// What it is an array of.
    pub devices: Devices,
}

/// What Linux's software RAID adds to a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdOptions {
    /// Where the data begin on each disk.
    pub data_offset: Sectors,
    /// The chunk of the write-intent bitmap.
    pub bitmap: Option<Sectors>,
    /// How the copies of RAID 10 lie; `None` for other levels.
    pub copies: Option<CopyLayout>,
    /// How RAID 5 and 6 handle their stripes.
    pub handling: StripeHandling,
}

/// What an array is an array of.
#[derive(Clone, Debug)]
pub enum Devices {
    /// Disks.
    Disks(Box<DiskSet>),
    /// SSDs, all alike.
    Ssds(SsdSet),
    /// Servers whose services follow a law, all alike.
    Servers(Servers),
    /// Devices of a model from elsewhere, all alike.
    Registered(RegisteredDevices),
}

/// Disks.
#[derive(Clone, Debug)]
pub struct DiskSet {
    /// The drive.
    pub profile: DiskProfile,
    /// Drives of other kinds, with the disks that they are.
    pub others: Vec<(Vec<usize>, DiskProfile)>,
    /// How they work.
    pub model: DiskModel,
}

/// SSDs.
#[derive(Clone, Debug)]
pub struct SsdSet {
    /// What the scenario and the profile say.
    pub profile: Box<SsdProfile>,
    /// The same, checked.
    pub parameters: Arc<Parameters>,
    /// What the scenario changes of the profile.
    pub changes: toml::Table,
}

/// Servers: what an access takes does not depend on its place, length or kind.
#[derive(Clone, Debug)]
pub struct Servers {
    /// The law of the services.
    pub service: TimeLaw,
    /// How many sectors of 512 B each holds.
    pub sectors: u64,
}

impl Devices {
    /// How many sectors each disk gives: those of the smallest, as its maker says, or as its geometry has.
    pub fn disk_sectors(&self) -> u64 {
        let disks = match self {
            Self::Ssds(ssds) => return ssds.parameters.capacity_sectors,
            Self::Registered(devices) => return devices.sectors,
            Self::Servers(servers) => return servers.sectors,
            Self::Disks(disks) => disks,
        };
        let of = |profile: &DiskProfile| match disks.model {
            DiskModel::Sampled(_) => profile.capacity_sectors,
            DiskModel::Positional(_) => profile.addressable_sectors(),
        };
        disks.kinds().map(of).min().unwrap_or(0)
    }

    /// Whether they are SSDs.
    pub fn is_of_ssds(&self) -> bool {
        matches!(self, Self::Ssds(_))
    }

    /// Whether what an access costs depends on its address and on those before it.
    pub(crate) fn are_positional(&self) -> bool {
        match self {
            Self::Disks(disks) => matches!(disks.model, DiskModel::Positional(_)),
            Self::Ssds(_) | Self::Servers(_) | Self::Registered(_) => true,
        }
    }
}

impl DiskSet {
    /// The kinds of drives.
    pub fn kinds(&self) -> impl Iterator<Item = &DiskProfile> {
        std::iter::once(&self.profile).chain(self.others.iter().map(|(_, profile)| profile))
    }

    /// The number of a disk's kind among [`kinds`](Self::kinds).
    pub fn kind_of(&self, disk: usize) -> usize {
        let other = self
            .others
            .iter()
            .position(|(disks, _)| disks.contains(&disk));
        other.map_or(0, |other| other + 1)
    }
}

/// How disks work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskModel {
    /// Every place is random; what each disk does with waiting jobs.
    Sampled(Scheduler),
    /// With an arm and an angle.
    Positional(Queueing),
}

/// The most disks of an array, as of its parts.
const MOST_DISKS: usize = 1024;

impl ArrayModel {
    /// The name of the level in scenario files, and in text.
    pub(crate) fn level_names(&self) -> (&str, &str) {
        match &self.level {
            LevelOptions::Striped => ("raid0", "RAID 0"),
            LevelOptions::Mirrored {
                arrangement: Arrangement::Sides,
                ..
            } => ("raid01", "RAID 01"),
            LevelOptions::Mirrored { .. } if self.md.is_some_and(|md| md.copies.is_some()) => {
                ("raid10", "RAID 10")
            }
            LevelOptions::Mirrored { copies, .. } if *copies == self.disks => ("raid1", "RAID 1"),
            LevelOptions::Mirrored { .. } => ("raid10", "RAID 10"),
            LevelOptions::Parity {
                parities, groups, ..
            } => match (parities, groups) {
                (1, 1) => ("raid5", "RAID 5"),
                (_, 1) => ("raid6", "RAID 6"),
                (1, _) => ("raid50", "RAID 50"),
                (_, _) => ("raid60", "RAID 60"),
            },
            LevelOptions::Linear { bunch: true } => ("jbod", "JBOD"),
            LevelOptions::Linear { bunch: false } => ("concat", "concatenation"),
            LevelOptions::Registered(level) => (&level.name, &level.name),
        }
    }
}

impl Display for ArrayModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, name) = self.level_names();
        match &self.devices {
            Devices::Ssds(ssds) if self.is_one_device() => {
                write!(f, "{}", ssds.profile.description)?;
            }
            Devices::Ssds(ssds) => {
                write!(f, "{name} of {} x {}", self.disks, ssds.profile.description)?;
            }
            Devices::Servers(_) => write!(f, "{name} of {} x server", self.disks)?,
            Devices::Registered(devices) => {
                write!(f, "{name} of {} x {}", self.disks, devices.name)?;
            }
            Devices::Disks(disks) => {
                write!(
                    f,
                    "{name} of {} x {}",
                    self.disks, disks.profile.description
                )?;
                for (disks, profile) in &disks.others {
                    write!(f, " (disks {disks:?}: {})", profile.description)?;
                }
            }
        }
        if self.md.is_some() {
            write!(f, ", like Linux md")?;
        }
        match self.failed.as_slice() {
            [] => Ok(()),
            [one] => write!(f, ", disk {one} failed"),
            many => write!(f, ", disks {many:?} failed"),
        }
    }
}

impl ArrayModel {
    /// The planner of the level.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn planner(&self, seed: &Seed) -> Result<Level, GeometryError> {
        let disks = self.disks;
        let shape = ArrayShape {
            disks,
            stripe_unit: self.stripe_unit,
            disk_sectors: self.disk_sectors(),
            placement: self.placement,
        };
        if let Some(&beyond) = self.failed.iter().find(|&&disk| disk >= disks) {
            return Err(GeometryError::NoSuchDisk {
                seen: beyond,
                disks,
            });
        }
        if let Some(md) = &self.md {
            return Ok(Level::LinuxMd(Box::new(self.linux_md(md, shape, seed)?)));
        }
        Ok(match self.level {
            LevelOptions::Registered(ref level) => self.registered(level, shape, seed)?,
            LevelOptions::Striped => {
                self.tolerates_no_loss("RAID 0")?;
                Level::Striped(Striped::new(shape, seed)?)
            }
            LevelOptions::Linear { .. } => {
                self.tolerates_no_loss("a concatenation")?;
                Level::Linear(Linear::new(shape, seed)?)
            }
            LevelOptions::Mirrored {
                arrangement,
                copies,
                read,
            } => Level::Mirrored(Mirrored::new(
                arrangement,
                copies,
                shape,
                read,
                Lost::new(self.failed.clone()),
                seed,
            )?),
            LevelOptions::Parity {
                parities,
                groups: 1,
                layout,
                random,
            } => {
                let lost = Lost::new(self.failed.clone());
                Level::Parity(Parity::new(parities, shape, layout, random, lost, seed)?)
            }
            LevelOptions::Parity {
                parities,
                groups,
                layout,
                random,
            } => {
                let group = |shape, lost, seed: &Seed| {
                    Parity::new(parities, shape, layout, random, lost, seed)
                };
                self.grouped(groups, shape, seed, group)?
            }
        })
    }

    /// Groups with parity of their own.
    fn grouped(
        &self,
        groups: usize,
        shape: ArrayShape,
        seed: &Seed,
        group: impl Fn(ArrayShape, Lost, &Seed) -> Result<Parity, GeometryError>,
    ) -> Result<Level, GeometryError> {
        let disks = self.disks;
        if disks > MOST_DISKS {
            return Err(GeometryError::Disks {
                level: "a nested array",
                least: 6,
                seen: disks,
            });
        }
        if groups == 0 || !disks.is_multiple_of(groups) {
            return Err(GeometryError::UnequalGroups {
                groups,
                seen: disks,
            });
        }
        let each = disks / groups;
        let shape = ArrayShape {
            disks: each,
            ..shape
        };
        let group = |number: usize| {
            let mine = self.failed.iter().filter(|&&disk| disk / each == number);
            let lost = Lost::new(mine.map(|disk| disk % each).collect());
            group(shape, lost, &seed.within(&format!("group/{number}")))
        };
        let groups: Result<Vec<_>, _> = (0..groups).map(group).collect();
        let grouped = Grouped::new(groups?, self.placement, seed)?;
        Ok(Level::Grouped(grouped))
    }

    fn registered(
        &self,
        level: &RegisteredLevel,
        shape: ArrayShape,
        seed: &Seed,
    ) -> Result<Level, GeometryError> {
        self.tolerates_no_loss("a registered level")?;
        let shape = LevelShape::new(shape, seed);
        match level.model.build(&level.options, &shape) {
            Ok(planner) => Ok(Level::Registered(planner)),
            Err(error) => Err(GeometryError::Registered {
                level: level.name.clone(),
                problem: error.to_string(),
            }),
        }
    }

    fn linux_md(
        &self,
        md: &MdOptions,
        shape: ArrayShape,
        seed: &Seed,
    ) -> Result<LinuxMd, GeometryError> {
        let data_offset = u64::from(md.data_offset.get());
        let shape = ArrayShape {
            disk_sectors: shape.disk_sectors.saturating_sub(data_offset),
            ..shape
        };
        let lost = Lost::new(self.failed.clone());
        let level = match self.level {
            LevelOptions::Mirrored { .. } => {
                let rotating = !self.is_of_ssds();
                MdLevel::Mirrors(MdMirrors::new(shape, md.copies, rotating, lost)?)
            }
            LevelOptions::Parity {
                parities, layout, ..
            } => MdLevel::Parity(MdParity::new(parities, shape, layout, md.handling, lost)?),
            // Others are refused with 'array.like'.
            LevelOptions::Striped | LevelOptions::Linear { .. } | LevelOptions::Registered(_) => {
                self.tolerates_no_loss("RAID 0")?;
                MdLevel::Striped(Striped::new(shape, seed)?)
            }
        };
        let array = LinuxMd::new(level, data_offset);
        Ok(match md.bitmap {
            Some(chunk) => array.with_bitmap(chunk),
            None => array,
        })
    }

    fn tolerates_no_loss(&self, level: &'static str) -> Result<(), GeometryError> {
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(GeometryError::Lost {
            level,
            seen: self.failed.clone(),
            most: "no disk",
        })
    }

    /// How many sectors of data the array holds.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn data_sectors(&self) -> Result<u64, GeometryError> {
        Ok(self.planner(&Seed::new(1))?.data_sectors())
    }

    /// How many sectors each disk gives.
    pub fn disk_sectors(&self) -> u64 {
        self.devices.disk_sectors()
    }

    /// Whether it is just one device.
    pub fn is_one_device(&self) -> bool {
        self.disks == 1 && matches!(self.level, LevelOptions::Linear { .. })
    }

    /// What a device is called among stations: `disk/0`, `ssd/0`.
    pub fn station(&self, device: usize) -> String {
        match self.devices {
            Devices::Disks(_) => format!("disk/{device}"),
            Devices::Ssds(_) => format!("ssd/{device}"),
            Devices::Servers(_) | Devices::Registered(_) => format!("device/{device}"),
        }
    }

    /// Whether sub-requests have addresses on their devices, instead of places that are drawn at random.
    pub fn has_addresses(&self) -> bool {
        self.placement == Placement::Addressed
    }

    /// Whether it is an array of SSDs.
    pub fn is_of_ssds(&self) -> bool {
        self.devices.is_of_ssds()
    }

    /// The most memory that it takes before the first request, in bytes.
    pub(crate) fn bytes_at_start(&self) -> u64 {
        let devices = (self.disks as u64).saturating_add(self.spares() as u64);
        devices
            .saturating_mul(self.device_bytes().total())
            .saturating_add(self.bitmap_bytes())
    }

    /// What one of its devices takes, in bytes.
    pub(crate) fn device_bytes(&self) -> BytesAtStart {
        // A disk or a server with its queue, and what the array knows of a device.
        const STATION: u64 = 8192;
        let device = match &self.devices {
            Devices::Ssds(ssds) => ssds.parameters.bytes_at_start(),
            Devices::Disks(_) | Devices::Servers(_) | Devices::Registered(_) => {
                BytesAtStart::default()
            }
        };
        BytesAtStart {
            other: device.other + STATION + self.segment_bytes(),
            ..device
        }
    }

    /// What the segments of the buffer of a disk take, in bytes.
    pub(crate) fn segment_bytes(&self) -> u64 {
        const SEGMENT: u64 = 80;
        let Devices::Disks(disks) = &self.devices else {
            return 0;
        };
        if matches!(disks.model, DiskModel::Sampled(_)) {
            return 0;
        }
        let caches = disks.kinds().filter_map(|kind| kind.cache.as_ref());
        caches
            .map(|cache| SEGMENT * u64::from(cache.segments))
            .max()
            .unwrap_or(0)
    }

    /// The most memory that this number of arrays take together before the first request, in bytes: each of several has a
    /// thread and a queue of requests.
    pub(crate) fn bytes_together(&self, arrays: u32) -> u64 {
        const THREAD: u64 = 1 << 16;
        let more = if arrays > 1 { THREAD } else { 0 };
        let each = self.bytes_at_start().saturating_add(more);
        each.saturating_mul(u64::from(arrays))
    }

    /// What a write-intent bitmap takes, in bytes: a count for each chunk.
    pub(crate) fn bitmap_bytes(&self) -> u64 {
        let chunk = self.md.as_ref().and_then(|md| md.bitmap);
        let of_array = matches!(self.level, LevelOptions::Mirrored { .. });
        let disks = if of_array { self.disks as u64 } else { 1 };
        chunk.map_or(0, |chunk| {
            let sectors = self.disk_sectors().saturating_mul(disks);
            4 * sectors.div_ceil(u64::from(chunk.get()))
        })
    }

    /// How many spares the rebuild needs.
    pub fn spares(&self) -> usize {
        match self.rebuild {
            Some(_) => {
                let failures = self.events.iter().filter(|event| event.is_failure());
                self.failed.len() + failures.count()
            }
            None => 0,
        }
    }
}
