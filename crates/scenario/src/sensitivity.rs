//! Plausible choices that a scenario does not make, or makes otherwise: what `sim --sensitivity` simulates beside it.

use iosonar_disk_model::{ArmScheduler, Queueing};
use iosonar_units::Bytes;

use crate::{Devices, DiskModel, DiskSet, Prepared};

/// What is chosen otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every access goes to a random place, as in the papers, instead of where its address says.
    RandomPlaces,
    /// The disk serves its requests in the order of arrival.
    InOrder,
    /// The disk serves the request with the shortest positioning of 32.
    ShortestPositioning,
    /// The disk has no buffer.
    NoBuffer,
    /// The disk's buffer is for reads only: a write is complete when it is on the medium.
    WriteThrough,
    /// The controller has a protected write-back cache of 1 GiB.
    ControllerCache,
    /// The controller has no cache.
    NoControllerCache,
    /// The SSD has no write cache.
    NoWriteCache,
}

/// One choice, and what it sets in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What is chosen otherwise.
    pub choice: Choice,
    /// Keys and their values in TOML; an empty value removes the key.
    pub set: Vec<(String, String)>,
}

impl Prepared {
    /// The choices that could plausibly be others, each by itself.
    pub fn alternatives(&self) -> Vec<Alternative> {
        let mut alternatives = match &self.array.devices {
            Devices::Disks(disks) => of_disks(disks),
            Devices::Ssds(ssds) => {
                let size = ssds
                    .profile
                    .cache
                    .as_ref()
                    .map(|cache| cache.size.parse::<Bytes>());
                match size {
                    Some(Ok(size)) if size.get() > 0 && ssds.profile.flash.is_some() => {
                        vec![alternative(
                            Choice::NoWriteCache,
                            &[("ssd.cache.size", "\"0\"")],
                        )]
                    }
                    _ => Vec::new(),
                }
            }
        };
        alternatives.push(match self.array.controller.cache {
            None => alternative(
                Choice::ControllerCache,
                &[
                    ("controller.cache", "\"1GiB\""),
                    ("controller.destage_above", "0.2"),
                    ("controller.destage_below", "0.1"),
                ],
            ),
            Some(_) => alternative(
                Choice::NoControllerCache,
                &[
                    ("controller.cache", ""),
                    ("controller.destage_above", ""),
                    ("controller.destage_below", ""),
                ],
            ),
        });
        alternatives
    }
}

fn of_disks(disks: &DiskSet) -> Vec<Alternative> {
    let DiskModel::Positional(Queueing { scheduler, .. }) = disks.model else {
        return Vec::new();
    };
    let mut alternatives = vec![alternative(
        Choice::RandomPlaces,
        &[
            ("disk.model", "\"sampled\""),
            ("disk.scheduler", ""),
            ("disk.queue_depth", ""),
            ("disk.most_wait_ms", ""),
            ("disk.buffer", ""),
            ("disk.write_back", ""),
        ],
    )];
    if scheduler != ArmScheduler::Fcfs {
        let set = [("disk.scheduler", "\"fcfs\""), ("disk.queue_depth", "")];
        alternatives.push(alternative(Choice::InOrder, &set));
    }
    if scheduler != ArmScheduler::Sptf {
        let set = [("disk.scheduler", "\"sptf\""), ("disk.queue_depth", "32")];
        alternatives.push(alternative(Choice::ShortestPositioning, &set));
    }
    if let Some(cache) = &disks.profile.cache {
        let set = [("disk.buffer", "false"), ("disk.write_back", "")];
        alternatives.push(alternative(Choice::NoBuffer, &set));
        if cache.fast_writes {
            let set = [("disk.write_back", "false")];
            alternatives.push(alternative(Choice::WriteThrough, &set));
        }
    }
    alternatives
}

fn alternative(choice: Choice, set: &[(&str, &str)]) -> Alternative {
    let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut all = Vec::with_capacity(set.len());
    for &(key, value) in set {
        // Only a key that is there can be removed.
        if value.is_empty() {
            all.push(owned(key, "0"));
        }
        all.push(owned(key, value));
    }
    Alternative { choice, set: all }
}
