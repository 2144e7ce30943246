//! What may be written in the file of a networked system.

use iosonar_units::{Bytes, text_in_one_line};
use serde::Deserialize;
use toml::Spanned;

use iosonar_workload::TimeLaw;

use super::{Division, Job, Link, NetworkedLevel, NetworkedRaid, Server, ServerDisk, Upgrade};
use crate::ScenarioError;
use crate::file::TimeLawFile;
use crate::resolve::check::Checker;
use crate::resolve::laws::think_law;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// The independent runs of a simulation by default.
const REPLICATIONS: u32 = 10;

/// The most that the file may ask for.
const MOST_REPLICATIONS: u32 = 100_000;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkedFile {
    seed: Option<u64>,
    replications: Option<Spanned<u32>>,
    jobs: JobsFile,
    raid: RaidFile,
    central: ServerFile,
    storage: StorageFile,
    network: NetworkFile,
    #[serde(default)]
    upgrade: Vec<UpgradeFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobsFile {
    operation: Option<Operation>,
    bytes: Option<Spanned<String>>,
    most: Option<Spanned<u32>>,
    think_s: Option<Spanned<f64>>,
    think: Option<Spanned<TimeLawFile>>,
    class: Option<Vec<JobFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobFile {
    #[serde(deserialize_with = "text_in_one_line")]
    name: String,
    operation: Operation,
    bytes: Spanned<String>,
    jobs: Spanned<u32>,
    think_s: Option<Spanned<f64>>,
    think: Option<Spanned<TimeLawFile>>,
}

/// The mean think time in seconds, and its law if that is given.
fn think(
    check: &Checker<'_>,
    [mean_key, law_key]: [&'static str; 2],
    mean: Option<&Spanned<f64>>,
    law: Option<&Spanned<TimeLawFile>>,
) -> Result<(f64, Option<TimeLaw>), ScenarioError> {
    let mean_s = mean.map_or(Ok(0.0), |v| from_zero(check, mean_key, v))?;
    let Some(law) = law else {
        return Ok((mean_s, None));
    };
    if mean_s > 0.0 {
        return Err(check.incomplete(&format!(
            "both '{mean_key}' and '{law_key}' are given: remove one of them"
        )));
    }
    let think = think_law(check, law, law_key, law.get_ref())?;
    Ok((think.mean().as_secs_f64(), Some(think)))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RaidFile {
    level: NetworkedLevel,
    stripe_unit: Spanned<String>,
    storage_servers: Spanned<u32>,
    stations_of: Option<Spanned<u32>>,
    division: Option<Division>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerFile {
    cpu_ms_per_stripe_unit: Spanned<f64>,
    cpu_ms_per_packet: Spanned<f64>,
    cpu_speed: Option<Spanned<f64>>,
    cache_hit: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StorageFile {
    cpu_ms_per_stripe_unit: Spanned<f64>,
    cpu_ms_per_packet: Spanned<f64>,
    cpu_speed: Option<Spanned<f64>>,
    cache_hit: Option<Spanned<f64>>,
    disk: DiskFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DiskFile {
    seek_ms: Spanned<f64>,
    latency_ms: Spanned<f64>,
    mb_per_s: Spanned<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    mbit_per_s: Spanned<f64>,
    nic_mbit_per_s: Option<Spanned<f64>>,
    segment_bytes: Option<Spanned<u32>>,
    frame_bytes: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpgradeFile {
    #[serde(deserialize_with = "text_in_one_line")]
    name: String,
    cost: Spanned<f64>,
    set: toml::Table,
}

/// The most jobs: as many as mean value analysis goes through one by one in a moment.
const MOST_JOBS: u32 = 10_000;
/// The most jobs times stations.
const MOST_QUEUES: u64 = 10_000_000;
/// The most storage servers.
const MOST_SERVERS: u32 = 1024;

/// A number within limits.
fn within(
    check: &Checker<'_>,
    key: &'static str,
    value: &Spanned<f64>,
    (least, most): (f64, f64),
    expected: &str,
) -> Result<f64, ScenarioError> {
    let seen = *value.get_ref();
    if (least..=most).contains(&seen) {
        return Ok(seen);
    }
    // As short as can be: 1e300 has three hundred digits.
    Err(check.wrong(value, key, format!("{seen:?}"), expected))
}

fn above_zero(
    check: &Checker<'_>,
    key: &'static str,
    value: &Spanned<f64>,
) -> Result<f64, ScenarioError> {
    within(
        check,
        key,
        value,
        (1e-9, 1e12),
        "a number greater than 0 (at most 1e12)",
    )
}

fn from_zero(
    check: &Checker<'_>,
    key: &'static str,
    value: &Spanned<f64>,
) -> Result<f64, ScenarioError> {
    within(check, key, value, (0.0, 1e12), "a number from 0 to 1e12")
}

fn probability(
    check: &Checker<'_>,
    key: &'static str,
    value: Option<&Spanned<f64>>,
) -> Result<f64, ScenarioError> {
    let expected = "a probability, 0 to 1";
    value.map_or(Ok(0.0), |v| within(check, key, v, (0.0, 1.0), expected))
}

fn count(
    check: &Checker<'_>,
    key: &'static str,
    value: &Spanned<u32>,
    (least, most): (u32, u32),
) -> Result<u32, ScenarioError> {
    let seen = *value.get_ref();
    if (least..=most).contains(&seen) {
        return Ok(seen);
    }
    Err(check.wrong(value, key, seen, format!("a number from {least} to {most}")))
}

/// The keys of a server.
const CENTRAL: [&str; 4] = [
    "central.cpu_ms_per_stripe_unit",
    "central.cpu_ms_per_packet",
    "central.cpu_speed",
    "central.cache_hit",
];
const STORAGE: [&str; 4] = [
    "storage.cpu_ms_per_stripe_unit",
    "storage.cpu_ms_per_packet",
    "storage.cpu_speed",
    "storage.cache_hit",
];

/// A server, from the values of its keys in their order.
fn server(
    check: &Checker<'_>,
    keys: [&'static str; 4],
    [unit, packet]: [&Spanned<f64>; 2],
    [speed, hit]: [Option<&Spanned<f64>>; 2],
) -> Result<Server, ScenarioError> {
    Ok(Server {
        cpu_ms_per_stripe_unit: from_zero(check, keys[0], unit)?,
        cpu_ms_per_packet: from_zero(check, keys[1], packet)?,
        cpu_speed: speed.map_or(Ok(1.0), |v| above_zero(check, keys[2], v))?,
        cache_hit: probability(check, keys[3], hit)?,
    })
}

fn bytes(
    check: &Checker<'_>,
    key: &'static str,
    text: &Spanned<String>,
) -> Result<f64, ScenarioError> {
    match text.get_ref().parse::<Bytes>() {
        Ok(bytes) if bytes.get() > 0 => Ok(bytes.get() as f64),
        _ => {
            let seen = format!("'{}'", text.get_ref());
            Err(check.wrong(text, key, seen, "a size such as \"16KiB\" or \"200MB\""))
        }
    }
}

impl NetworkedFile {
    pub(super) fn resolve(&self, check: &Checker<'_>) -> Result<NetworkedRaid, ScenarioError> {
        let least = match self.raid.level {
            NetworkedLevel::Raid0 => 1,
            NetworkedLevel::Raid1 | NetworkedLevel::Raid10 => 2,
            NetworkedLevel::Raid5 => 3,
            NetworkedLevel::Raid6 => 4,
        };
        let servers = &self.raid.storage_servers;
        let storage_servers = count(
            check,
            "raid.storage_servers",
            servers,
            (least, MOST_SERVERS),
        )?;
        let stations_of = match &self.raid.stations_of {
            Some(given) => count(check, "raid.stations_of", given, (1, storage_servers))?,
            None => storage_servers,
        };
        let rate = above_zero(check, "network.mbit_per_s", &self.network.mbit_per_s)?;
        let nic_rate = match &self.network.nic_mbit_per_s {
            Some(given) => above_zero(check, "network.nic_mbit_per_s", given)?,
            None => rate,
        };
        let size = |key, value: &Option<Spanned<u32>>, usual: u32| {
            let checked = value.as_ref().map(|v| count(check, key, v, (1, 1 << 24)));
            checked.unwrap_or(Ok(usual)).map(f64::from)
        };
        let replications = match &self.replications {
            Some(given) => count(check, "replications", given, (2, MOST_REPLICATIONS))?,
            None => REPLICATIONS,
        };
        let (central, storage, disk) = (&self.central, &self.storage, &self.storage.disk);
        let system = NetworkedRaid {
            seed: self.seed.unwrap_or(1),
            replications,
            classes: self.jobs.resolve(check)?,
            level: self.raid.level,
            stripe_unit_bytes: bytes(check, "raid.stripe_unit", &self.raid.stripe_unit)?,
            storage_servers,
            stations_of,
            division: self.raid.division.unwrap_or_default(),
            central: server(
                check,
                CENTRAL,
                [&central.cpu_ms_per_stripe_unit, &central.cpu_ms_per_packet],
                [central.cpu_speed.as_ref(), central.cache_hit.as_ref()],
            )?,
            storage: server(
                check,
                STORAGE,
                [&storage.cpu_ms_per_stripe_unit, &storage.cpu_ms_per_packet],
                [storage.cpu_speed.as_ref(), storage.cache_hit.as_ref()],
            )?,
            disk: ServerDisk {
                seek_ms: from_zero(check, "storage.disk.seek_ms", &disk.seek_ms)?,
                latency_ms: from_zero(check, "storage.disk.latency_ms", &disk.latency_ms)?,
                mb_per_s: above_zero(check, "storage.disk.mb_per_s", &disk.mb_per_s)?,
            },
            link: Link {
                mbit_per_s: rate,
                nic_mbit_per_s: nic_rate,
                segment_bytes: size("network.segment_bytes", &self.network.segment_bytes, 1460)?,
                frame_bytes: size("network.frame_bytes", &self.network.frame_bytes, 1518)?,
            },
            upgrades: self
                .upgrade
                .iter()
                .map(|upgrade| {
                    let cost = from_zero(check, "upgrade.cost", &upgrade.cost)?;
                    Ok(Upgrade::new(upgrade.name.clone(), cost, &upgrade.set))
                })
                .collect::<Result<_, ScenarioError>>()?,
        };
        self.check(check, &system)?;
        Ok(system)
    }

    /// Whether its parts go together.
    fn check(&self, check: &Checker<'_>, system: &NetworkedRaid) -> Result<(), ScenarioError> {
        if let Some(given) = &self.network.segment_bytes
            && system.link.segment_bytes > system.link.frame_bytes
        {
            let frame = system.link.frame_bytes;
            let expected = format!("at most {frame}, the size of the frame that carries it");
            return Err(check.wrong(given, "network.segment_bytes", given.get_ref(), expected));
        }
        let stations = u64::from(3 + 3 * system.stations_of);
        if u64::from(system.most_jobs()) * stations > MOST_QUEUES {
            return Err(check.incomplete(&format!(
                "{} jobs at {stations} stations are too many for an exact analysis (their product must \
                 be at most {MOST_QUEUES}): use fewer jobs, or raid.stations_of",
                system.most_jobs()
            )));
        }
        let names = |n: usize| system.classes[..n].iter().map(|job| &job.name);
        for (n, job) in system.classes.iter().enumerate() {
            if names(n).any(|name| *name == job.name) {
                return Err(check.incomplete(&format!(
                    "two classes of jobs have the name '{}': give them different names",
                    job.name
                )));
            }
        }
        for job in &system.classes {
            if system.demands(job).is_empty() {
                return Err(check.incomplete(&format!(
                    "{} need no station: every access hits the cache and the CPUs \
                     take no time, so there is nothing to compute",
                    job.name
                )));
            }
        }
        Ok(())
    }
}

impl JobsFile {
    fn resolve(&self, check: &Checker<'_>) -> Result<Vec<Job>, ScenarioError> {
        let alone = self.operation.is_some()
            || self.bytes.is_some()
            || self.most.is_some()
            || self.think_s.is_some()
            || self.think.is_some();
        match &self.class {
            Some(_) if alone => Err(check.incomplete(
                "[jobs] has both classes and 'operation', 'bytes', 'most', 'think_s' or 'think': move these into a \
                 [[jobs.class]] table",
            )),
            Some(classes) if classes.is_empty() || classes.len() > 32 => {
                Err(check.incomplete("[jobs] must have 1 to 32 classes"))
            }
            Some(classes) => classes
                .iter()
                .map(|class| {
                    let keys = ["jobs.class.think_s", "jobs.class.think"];
                    let (think_s, think) =
                        think(check, keys, class.think_s.as_ref(), class.think.as_ref())?;
                    Ok(Job {
                        name: class.name.clone(),
                        operation: class.operation,
                        bytes: bytes(check, "jobs.class.bytes", &class.bytes)?,
                        think_s,
                        think,
                        jobs: count(check, "jobs.class.jobs", &class.jobs, (1, MOST_JOBS))?,
                    })
                })
                .collect(),
            None => {
                let missing = |key: &str| check.incomplete(&format!("'jobs.{key}' is missing"));
                let operation = self.operation.ok_or_else(|| missing("operation"))?;
                let size = self.bytes.as_ref().ok_or_else(|| missing("bytes"))?;
                let most = self.most.as_ref().ok_or_else(|| missing("most"))?;
                let keys = ["jobs.think_s", "jobs.think"];
                let (think_s, think) =
                    think(check, keys, self.think_s.as_ref(), self.think.as_ref())?;
                Ok(vec![Job {
                    name: "jobs".to_owned(),
                    operation,
                    bytes: bytes(check, "jobs.bytes", size)?,
                    think_s,
                    think,
                    jobs: count(check, "jobs.most", most, (1, MOST_JOBS))?,
                }])
            }
        }
    }
}
