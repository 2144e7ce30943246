//! What requests become: all plans with their probabilities.

use std::collections::BTreeMap;

use iosonar_analytic::open::BatchLaw;
use iosonar_device::Access;
use iosonar_raid::rules::{PrereadSeek, TransferMemory};
use iosonar_raid::{Level, Placement, Planner, RequestPlan, StageKind};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};
use iosonar_workload::{Addresses, ClosedLoad, Shape};

use crate::offered::Idle;
use crate::{ArrayModel, LevelOptions};

/// An access to a disk: what, how much.
pub(super) type Job = (Access, u32);

/// Where the accesses of a request to one disk lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Places {
    /// Each at a place of its own, with the pace of its zone.
    #[default]
    Many,
    /// All on one track: one pace counts for all of them.
    One,
}

impl Places {
    /// Of the accesses of such a request.
    pub(super) fn of(array: &ArrayModel, writes: bool) -> Self {
        match array.rules.transfer {
            TransferMemory::OnePerRequest if writes => Self::One,
            TransferMemory::OnePerRequest | TransferMemory::LastAccess => Self::Many,
        }
    }
}

/// What a request asks of one disk: accesses, each so often. They are served one after the other, so that
/// their order does not matter for their end.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visit {
    accesses: BTreeMap<(bool, u32), u32>,
    places: Places,
}

impl Visit {
    /// Without accesses so far.
    pub(super) fn at(places: Places) -> Self {
        Self {
            accesses: BTreeMap::new(),
            places,
        }
    }

    pub(super) fn add(&mut self, (access, sectors): Job) {
        let key = (access != Access::Read, sectors);
        *self.accesses.entry(key).or_insert(0) += 1;
    }

    /// The accesses with their numbers.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (Job, u32)> {
        self.accesses.iter().map(|(&(writes, sectors), &count)| {
            let access = if writes { Access::Write } else { Access::Read };
            ((access, sectors), count)
        })
    }

    /// Where they lie.
    pub(super) fn places(&self) -> Places {
        self.places
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// How many accesses.
    pub(super) fn len(&self) -> u32 {
        self.accesses.values().sum()
    }

    /// What all accesses transfer.
    pub(super) fn sectors(&self) -> u64 {
        let each = self.jobs();
        each.map(|((_, sectors), count)| u64::from(sectors) * u64::from(count))
            .sum()
    }
}

/// A partly written stripe: pre-reads, then writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Partial {
    /// Whether it is a read-modify-write, rather than a reconstruct-write.
    pub(super) modifies: bool,
    /// What is read first: disk and sectors.
    pub(super) reads: Vec<(usize, u32)>,
    /// What is written then.
    pub(super) writes: Vec<(usize, u32)>,
}

/// A way in which a request may go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    /// Whether it is a write.
    pub(super) writes: bool,
    /// What is issued at once and waits for nothing, disk by disk.
    pub(super) direct: BTreeMap<usize, Visit>,
    /// Partly written stripes.
    pub(super) partial: Vec<Partial>,
}

impl Pattern {
    fn of(array: &ArrayModel, plan: &RequestPlan, op: Op) -> Option<Self> {
        let mut pattern = Self {
            writes: op != Op::Read,
            direct: BTreeMap::new(),
            partial: Vec::new(),
        };
        let nothing = Visit::at(Places::of(array, pattern.writes));
        let add = |direct: &mut BTreeMap<usize, Visit>, disk: usize, job: Job| {
            direct
                .entry(disk)
                .or_insert_with(|| nothing.clone())
                .add(job);
        };
        for stage in plan.stages() {
            let subs = |range: &std::ops::Range<usize>| {
                let subs = plan.sub_requests()[range.clone()].iter();
                subs.map(|s| (s.disk, s.sectors.get())).collect::<Vec<_>>()
            };
            match stage.kind {
                StageKind::Direct(access) => {
                    for (disk, sectors) in subs(&stage.first) {
                        add(&mut pattern.direct, disk, (access, sectors));
                    }
                }
                // Where there is nothing to read, the writes go at once.
                StageKind::ReadModifyWrite | StageKind::ReconstructWrite
                    if stage.first.is_empty() =>
                {
                    for (disk, sectors) in subs(&stage.then) {
                        add(&mut pattern.direct, disk, (Access::Write, sectors));
                    }
                }
                StageKind::ReadModifyWrite | StageKind::ReconstructWrite => {
                    pattern.partial.push(Partial {
                        modifies: stage.kind == StageKind::ReadModifyWrite,
                        reads: subs(&stage.first),
                        writes: subs(&stage.then),
                    });
                }
                StageKind::Copy | StageKind::Ahead => return None,
            }
        }
        Some(pattern)
    }

    /// What it asks of a disk at once that waits for nothing.
    pub(super) fn direct_visit(&self, array: &ArrayModel, disk: usize) -> Visit {
        let known = self.direct.get(&disk).cloned();
        known.unwrap_or_else(|| Visit::at(Places::of(array, self.writes)))
    }

    /// Whether its zero-load response is computed exactly: one partial stripe at most, of disks that do the
    /// same, and no write whose track depends on which of several accesses it follows on.
    pub(super) fn is_simple(&self) -> bool {
        match self.partial.as_slice() {
            [] => true,
            [only] if only.modifies => self.is_simple_modify(only),
            [only] => self.is_simple_reconstruct(only),
            _ => false,
        }
    }

    /// Each disk writes what it read, and all do the same.
    fn is_simple_modify(&self, partial: &Partial) -> bool {
        let sorted = |parts: &[(usize, u32)]| {
            let mut parts = parts.to_vec();
            parts.sort_unstable();
            parts
        };
        let reads = sorted(&partial.reads);
        let mut asked = reads
            .iter()
            .map(|(disk, sectors)| (self.direct.get(disk), sectors));
        let first = asked.next();
        let distinct = reads.windows(2).all(|pair| pair[0].0 != pair[1].0);
        distinct && reads == sorted(&partial.writes) && asked.all(|other| Some(other) == first)
    }

    /// No disk both reads and writes, or writes twice, and a write follows on one access of its request, or on any
    /// of one track.
    fn is_simple_reconstruct(&self, partial: &Partial) -> bool {
        let written = |disk: usize| partial.writes.iter().filter(|(d, _)| *d == disk).count();
        let apart = partial.reads.iter().all(|(disk, _)| written(*disk) == 0);
        let follows_one = |(disk, _): &(usize, u32)| {
            let before = self.direct.get(disk);
            let one = |visit: &Visit| visit.len() == 1 || visit.places() == Places::One;
            written(*disk) == 1 && before.is_none_or(one)
        };
        apart && partial.writes.iter().all(follows_one)
    }

    /// All disks that it goes to.
    pub(super) fn disks(&self) -> Vec<usize> {
        let partial = self.partial.iter();
        let of_partial = partial.flat_map(|p| p.reads.iter().chain(&p.writes));
        let mut all: Vec<usize> = self
            .direct
            .keys()
            .copied()
            .chain(of_partial.map(|(disk, _)| *disk))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What a request wants of a disk at once, and the write that it comes back with.
pub(super) type FirstVisit = (Visit, Option<HighJob>);

/// The write of a partial stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HighJob {
    pub(super) sectors: u32,
    /// Whether it ends a read-modify-write.
    pub(super) modifies: bool,
    /// Of how many writes it is one.
    pub(super) of: u32,
    /// Whether another access of its request came to the disk before, other than its own pre-read.
    pub(super) follows: bool,
}

pub(super) fn preread_access(array: &ArrayModel) -> Access {
    match array.rules.preread_seek {
        PrereadSeek::Read => Access::Read,
        PrereadSeek::Write => Access::Write,
    }
}

/// What a request asks of a disk at once: accesses that wait for nothing, and pre-reads.
pub(super) fn first_visit(array: &ArrayModel, pattern: &Pattern, disk: usize) -> Visit {
    let mut visit = pattern.direct_visit(array, disk);
    for partial in &pattern.partial {
        for &(_, sectors) in partial.reads.iter().filter(|(d, _)| *d == disk) {
            visit.add((preread_access(array), sectors));
        }
    }
    visit
}

/// The writes that come later, with their disks.
pub(super) fn high_jobs(pattern: &Pattern) -> Vec<(usize, HighJob)> {
    let mut all = Vec::new();
    for partial in &pattern.partial {
        for &(disk, sectors) in &partial.writes {
            let job = high_job(pattern, partial, (disk, sectors));
            all.push((disk, job));
        }
    }
    all
}

pub(super) fn high_job(
    pattern: &Pattern,
    partial: &Partial,
    (disk, sectors): (usize, u32),
) -> HighJob {
    HighJob {
        sectors,
        modifies: partial.modifies,
        of: partial.writes.len() as u32,
        follows: pattern.direct.contains_key(&disk),
    }
}

/// What a pattern asks of a disk: the group that the disk belongs to, what is direct, and its parts in
/// partial stripes (which, whether it is a write, sectors).
type Asked = (usize, Visit, Vec<(usize, bool, u32)>);

impl Pattern {
    /// The pattern without the numbers of its disks: patterns with the same key are alike to disks that are
    /// alike within their groups.
    pub(super) fn key(&self, group: impl Fn(usize) -> usize) -> (Vec<Asked>, Vec<bool>) {
        let asked = |disk: usize| {
            let direct = self.direct.get(&disk).cloned().unwrap_or_default();
            let mut parts = Vec::new();
            for (i, partial) in self.partial.iter().enumerate() {
                for (writes, all) in [(false, &partial.reads), (true, &partial.writes)] {
                    let own = all.iter().filter(|(d, _)| *d == disk);
                    parts.extend(own.map(|&(_, sectors)| (i, writes, sectors)));
                }
            }
            (group(disk), direct, parts)
        };
        let mut all: Vec<Asked> = self.disks().into_iter().map(asked).collect();
        all.sort();
        (all, self.partial.iter().map(|p| p.modifies).collect())
    }
}

/// A class of requests with its patterns. Rates are per millisecond.
pub(super) struct Class {
    /// Arrivals: of batches, where there are some.
    pub(super) rate: f64,
    pub(super) batch: BatchLaw,
    pub(super) patterns: Vec<(f64, Pattern)>,
}

impl Class {
    /// Its requests.
    pub(super) fn requests(&self) -> f64 {
        self.rate * self.batch.mean()
    }

    pub(super) fn is_single(&self) -> bool {
        self.batch == BatchLaw::Constant(1)
    }

    pub(super) fn goes_to_one_disk(&self) -> bool {
        let one = |(_, p): &(f64, Pattern)| p.direct.len() <= 1 && p.partial.is_empty();
        self.patterns.iter().all(one)
    }

    pub(super) fn has_partial(&self) -> bool {
        self.patterns.iter().any(|(_, p)| !p.partial.is_empty())
    }
}

/// The patterns of a class.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    /// With their probabilities, which sum to 1.
    pub(super) all: Vec<(f64, Pattern)>,
    /// Whether they were gone through, rather than drawn.
    pub(super) is_exact: bool,
    /// How many were drawn.
    pub(super) drawn: usize,
}

/// The most outcomes that are gone through, and how many are drawn where there are more.
const MOST_OUTCOMES: u64 = 200_000;
const DRAWN: usize = 20_000;
/// The most accesses of all of them.
const MOST_ACCESSES: usize = 500_000;

impl Patterns {
    /// Of the requests of a class on this array; `None` if requests go on as steps that theory does not
    /// know.
    pub(super) fn new(array: &ArrayModel, shape: &Shape, seed: &Seed) -> Option<Self> {
        let mut found: BTreeMap<Pattern, f64> = BTreeMap::new();
        let mut planner = array.planner(seed).ok()?;
        let mut add = |probability: f64, request: &Request, planner: &mut Level| {
            let pattern = plan(array, planner, request)?;
            *found.entry(pattern).or_insert(0.0) += probability;
            Some(())
        };
        let outcomes = outcomes(array, shape, &planner);
        let is_exact = outcomes.is_some();
        let mut drawn = 0;
        if let Some(outcomes) = outcomes {
            for (probability, request, chosen) in outcomes {
                if let Some(chosen) = chosen {
                    planner.fix_choices(chosen);
                }
                add(probability, &request, &mut planner)?;
            }
        } else {
            let unit = u64::from(array.stripe_unit.get());
            let mut accesses = 0;
            let mut load = ClosedLoad::new(shape, 1, Nanos::ZERO, seed);
            for _ in 0..DRAWN {
                let request = load.after(Nanos::ZERO);
                add(1.0, &request, &mut planner)?;
                drawn += 1;
                accesses += u64::from(request.sectors.get()).div_ceil(unit) as usize;
                if accesses > MOST_ACCESSES && drawn >= 100 {
                    break;
                }
            }
        }
        let total: f64 = found.values().sum();
        let all = found.into_iter().map(|(pattern, p)| (p / total, pattern));
        Some(Self {
            all: all.collect(),
            is_exact,
            drawn,
        })
    }
}

fn plan(array: &ArrayModel, planner: &mut Level, request: &Request) -> Option<Pattern> {
    let idle: Vec<Idle> = (0..array.disks + array.spares()).map(|_| Idle).collect();
    let mut plan = RequestPlan::default();
    planner.plan(request, &idle, &mut plan);
    if array.rules.coalesce {
        plan.coalesce();
    }
    Pattern::of(array, &plan, request.op)
}

/// A request with its probability, and the choices that it meets.
type Weighted = (f64, Request, Option<[u64; 2]>);

/// All outcomes, where they can be gone through.
fn outcomes(array: &ArrayModel, shape: &Shape, planner: &Level) -> Option<Vec<Weighted>> {
    let block = u64::from(shape.block.get());
    let ops = [
        (Op::Read, shape.read_share),
        (Op::Write, 1.0 - shape.read_share),
    ];
    let ops = ops.into_iter().filter(|(_, share)| *share > 0.0);
    let sizes = ops.flat_map(|(op, share)| {
        let sizes = shape.size_of(op).distribution().into_iter();
        sizes.map(move |(of_size, blocks)| (op, share * of_size, blocks))
    });
    let sizes: Vec<(Op, f64, u64)> = sizes.collect();
    // Where it may lie, or what may be chosen for it.
    let places: Vec<(u64, Option<[u64; 2]>)> = match array.placement {
        Placement::Random => {
            let [first, second] = planner.choices()?;
            let both = (0..first).flat_map(|a| (0..second).map(move |b| (0, Some([a, b]))));
            both.collect()
        }
        Placement::Addressed if shape.addresses == Addresses::Uniform => {
            let period = period(array)?;
            let starts = period / block;
            if !period.is_multiple_of(block) || starts > 4096 {
                return None;
            }
            (0..starts).map(|i| (i * block, None)).collect()
        }
        Placement::Addressed => return None,
    };
    let too_many = |op: Op| {
        let sizes = || sizes.iter().filter(|size| size.0 == op).map(|size| size.2);
        let count = (places.len() * sizes().count()) as u64;
        let blocks: u64 = sizes().sum();
        count > MOST_OUTCOMES || blocks * places.len() as u64 > 10 * MOST_ACCESSES as u64
    };
    if too_many(Op::Read)
        || too_many(Op::Write)
        || sizes
            .iter()
            .any(|(_, _, n)| n * block > u64::from(u32::MAX))
    {
        return None;
    }
    let mut all = Vec::new();
    for (op, share, blocks) in sizes {
        for &(sector, chosen) in &places {
            let request = Request {
                op,
                sector: Sector::new(sector),
                sectors: Sectors::new((blocks * block) as u32),
                ..Request::default()
            };
            all.push((share / places.len() as f64, request, chosen));
        }
    }
    Some(all)
}

/// After how many sectors of addresses the layout repeats itself; `None` where it depends on more.
fn period(array: &ArrayModel) -> Option<u64> {
    let (disks, unit) = (array.disks as u64, u64::from(array.stripe_unit.get()));
    match array.level {
        LevelOptions::Striped => Some(disks * unit),
        LevelOptions::Parity {
            parities,
            groups: 1,
            ..
        } => Some(disks * (disks - u64::from(parities)) * unit),
        _ => None,
    }
}
