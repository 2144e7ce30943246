//! Plausible choices that a scenario does not make, or makes otherwise: what `sim --sensitivity` simulates beside it.

use iosonar_disk_model::{ArmScheduler, Queueing};
use iosonar_raid::Placement;
use iosonar_trace::transform::{Change, Scatter};
use iosonar_units::Bytes;

use crate::words::Word;
use crate::{ControllerLike, Devices, DiskModel, DiskSet, LoadModel, Prepared};

/// What is chosen otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What the load touches lies all over the disks, and not in one part of them.
    Scattered,
    /// The disk is the papers', where every access goes to a random place, in the order of arrival, without a buffer.
    PapersDisk,
    /// An arm goes where each address says, instead of a random place as in the papers.
    GivenPlaces,
    /// The disk serves its requests in the order of arrival.
    InOrder,
    /// The disk serves the request with the shortest positioning of 32.
    ShortestPositioning,
    /// The disk has no buffer.
    NoBuffer,
    /// The disk's buffer is for reads only: a write is complete when it is on the medium.
    WriteThrough,
    /// There is a controller of this kind.
    Controller(ControllerLike),
    /// The SSD has no write cache.
    NoWriteCache,
}

/// One choice, and what it changes in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// What is chosen otherwise.
    pub choice: Choice,
    /// Keys that it leaves out, where they are there.
    pub without: Vec<String>,
    /// Keys and their values in TOML.
    pub set: Vec<(String, String)>,
    /// What changes the load of a trace.
    pub change: Option<Change>,
}

impl Prepared {
    /// The choices that could plausibly be others, each by itself.
    pub fn alternatives(&self) -> Vec<Alternative> {
        let mut alternatives = match &self.array.devices {
            Devices::Disks(disks) => {
                let has_arm = matches!(disks.model, DiskModel::Positional(_));
                let scattered = self.scattered().filter(|_| has_arm);
                let mut all: Vec<_> = scattered.into_iter().collect();
                all.extend(of_disks(disks, self.array.placement));
                all
            }
            Devices::Servers(_) | Devices::Registered(_) => Vec::new(),
            Devices::Ssds(ssds) => {
                let size = ssds
                    .profile
                    .cache
                    .as_ref()
                    .map(|cache| cache.size.parse::<Bytes>());
                match size {
                    Some(Ok(size)) if size.get() > 0 && ssds.profile.flash.is_some() => {
                        let set = [("ssd.cache.size", "\"0\"")];
                        vec![alternative(Choice::NoWriteCache, &[], set)]
                    }
                    _ => Vec::new(),
                }
            }
        };
        alternatives.extend(self.other_controller());
        alternatives
    }
}

/// Chunks in which a load is scattered: what file systems and databases allocate at a time, or more.
const CHUNK_SECTORS: u64 = 2048;
/// Requests that begin in the last chunk end before the end of the array.
const LONGEST_SECTORS: u64 = 1 << 16;

/// The keys whose defaults follow from the kind of the controller.
const OF_THE_CONTROLLER: [&str; 6] = [
    "controller.command_us",
    "controller.host_mb_per_s",
    "controller.bus_mb_per_s",
    "controller.cache",
    "controller.destage_above",
    "controller.destage_below",
];

impl Prepared {
    /// What scatters a load over all data of the array.
    pub fn scatter(&self) -> Option<Scatter> {
        let sectors = self.array.data_sectors().ok()?;
        Scatter::new(sectors.checked_sub(LONGEST_SECTORS)?, CHUNK_SECTORS).ok()
    }

    /// The load of a trace scattered over all data of positional disks.
    fn scattered(&self) -> Option<Alternative> {
        let LoadModel::Trace { .. } = &self.load else {
            return None;
        };
        let scatter = self.scatter()?;
        Some(Alternative {
            change: Some(Change::Scatter(scatter)),
            ..alternative::<0>(Choice::Scattered, &[], [] as [(&str, String); 0])
        })
    }

    /// One with a cache in place of one without, and the other way round. Linux's software RAID works in the host, where
    /// there is no RAID card in front of it.
    fn other_controller(&self) -> Option<Alternative> {
        let kind = match (&self.array.controller.cache, &self.array.md) {
            (Some(_), _) => ControllerLike::Hba,
            (None, None) => ControllerLike::RaidCard,
            (None, Some(_)) => return None,
        };
        let set = [("controller.like", kind.quoted())];
        let choice = Choice::Controller(kind);
        Some(alternative(choice, &OF_THE_CONTROLLER, set))
    }
}

fn of_disks(disks: &DiskSet, placement: Placement) -> Vec<Alternative> {
    let DiskModel::Positional(Queueing { scheduler, .. }) = disks.model else {
        // Without addresses there is no other place to go to.
        let has_places = placement == Placement::Addressed;
        return has_places.then(given_places).into_iter().collect();
    };
    // A shingled drive is nothing without an arm and a buffer.
    let shingled = disks.kinds().any(|profile| profile.shingled.is_some());
    let mut alternatives = Vec::new();
    let papers = alternative(
        Choice::PapersDisk,
        &[
            "disk.scheduler",
            "disk.queue_depth",
            "disk.most_wait_ms",
            "disk.buffer",
            "disk.write_back",
        ],
        [("disk.model", "\"sampled\"")],
    );
    alternatives.extend(Some(papers).filter(|_| !shingled));
    if scheduler != ArmScheduler::Fcfs {
        let set = [("disk.scheduler", "\"fcfs\"")];
        alternatives.push(alternative(Choice::InOrder, &["disk.queue_depth"], set));
    }
    if scheduler != ArmScheduler::Sptf {
        let set = [("disk.scheduler", "\"sptf\""), ("disk.queue_depth", "32")];
        alternatives.push(alternative(Choice::ShortestPositioning, &[], set));
    }
    if let Some(cache) = &disks.profile.cache {
        let set = [("disk.buffer", "false")];
        let none = alternative(Choice::NoBuffer, &["disk.write_back"], set);
        alternatives.extend(Some(none).filter(|_| !shingled));
        if cache.fast_writes {
            let set = [("disk.write_back", "false")];
            alternatives.push(alternative(Choice::WriteThrough, &[], set));
        }
    }
    alternatives
}

fn given_places() -> Alternative {
    let of_sampled_disks = [
        "disk.scheduler",
        "disk.rpo_count",
        "disk.rpo_most",
        "array.full_turn",
        "array.transfer_memory",
    ];
    let set = [("disk.model", "\"positional\"")];
    alternative(Choice::GivenPlaces, &of_sampled_disks, set)
}

fn alternative<const N: usize>(
    choice: Choice,
    without: &[&str],
    set: [(&str, impl Into<String>); N],
) -> Alternative {
    let set = set
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()));
    Alternative {
        choice,
        without: without.iter().map(|&key| key.to_owned()).collect(),
        set: set.collect(),
        change: None,
    }
}
