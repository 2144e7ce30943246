//! What is read is what was written last, whatever has failed and however much of it has been rebuilt: plans of every
//! level are carried out, one after the other, on disks with contents.
//!
//! A sector of data holds the number of the write that wrote it, a sector of parity those of all data sectors of its
//! row. Any as many sectors of a row as it has data sectors give all of it (the codes of RAID 5 and 6 are
//! maximum distance separable; Plank, "A tutorial on Reed-Solomon coding for fault-tolerance in RAID-like systems",
//! 1997).

use std::collections::{BTreeMap, BTreeSet};

use iosonar_device::{Access, Observable, Occupancy};
use iosonar_raid::{
    Arrangement, ArrayShape, CopyLayout, Grouped, Level, LinuxMd, Lost, MdLevel, MdMirrors,
    MdParity, MirrorRead, Mirrored, Parity, ParityLayout, Placement, Planner, RandomLayout,
    RequestPlan, RmwLevel, Stage, StageKind, StripeHandling,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

const UNIT: u64 = 16;
const DISK_SECTORS: u64 = 6 * UNIT;

/// A device of which only the queue is seen.
#[derive(Clone, Copy)]
struct Idle;

impl Observable for Idle {
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
}

/// A level that the test goes through.
#[derive(Clone, Debug)]
enum Kind {
    Mirrored(Arrangement, usize, usize, MirrorRead),
    Parity(u8, usize, ParityLayout),
    Grouped(u8, usize),
    MdMirrors(usize, Option<CopyLayout>),
    MdParity(u8, usize, ParityLayout, RmwLevel),
}

fn planner(kind: &Kind) -> Level {
    let shape = |disks| ArrayShape {
        disks,
        stripe_unit: Sectors::new(UNIT as u32),
        disk_sectors: DISK_SECTORS,
        placement: Placement::Addressed,
    };
    let (seed, lost, random) = (Seed::new(1), Lost::none(), RandomLayout::default());
    let md = |level| Level::LinuxMd(Box::new(LinuxMd::new(level, 0)));
    match *kind {
        Kind::Mirrored(arrangement, copies, disks, read) => Level::Mirrored(
            Mirrored::new(arrangement, copies, shape(disks), read, lost, &seed).unwrap(),
        ),
        Kind::Parity(parities, disks, layout) => {
            Level::Parity(Parity::new(parities, shape(disks), layout, random, lost, &seed).unwrap())
        }
        Kind::Grouped(parities, disks) => {
            let group = |_| {
                let (layout, lost) = (ParityLayout::default(), Lost::none());
                Parity::new(parities, shape(disks), layout, random, lost, &seed).unwrap()
            };
            let groups = (0..2).map(group).collect();
            Level::Grouped(Grouped::new(groups, Placement::Addressed, &seed).unwrap())
        }
        Kind::MdMirrors(disks, layout) => md(MdLevel::Mirrors(
            MdMirrors::new(shape(disks), layout, false, lost).unwrap(),
        )),
        Kind::MdParity(parities, disks, layout, rmw_level) => {
            let handling = StripeHandling {
                rmw_level,
                cache_rows: 1,
            };
            let level = MdParity::new(parities, shape(disks), layout, handling, lost);
            md(MdLevel::Parity(level.unwrap()))
        }
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    use ParityLayout::{LeftAsymmetric, LeftSymmetric, RightAsymmetric, RightSymmetric};
    let layout = prop::sample::select(vec![
        LeftSymmetric,
        LeftAsymmetric,
        RightSymmetric,
        RightAsymmetric,
    ]);
    let read = prop::sample::select(vec![
        MirrorRead::Random,
        MirrorRead::Halves,
        MirrorRead::RandomPerBlock,
        MirrorRead::Turns,
        MirrorRead::ShorterQueue,
    ]);
    let (sides, next) = (Arrangement::Sides, Arrangement::Neighbours);
    let mirrors = prop::sample::select(vec![
        (sides, 2, 4),
        (sides, 3, 6),
        (next, 2, 4),
        (next, 3, 3),
    ]);
    let copies = |near, far, offset| Some(CopyLayout { near, far, offset });
    let md_mirrors = prop::sample::select(vec![
        (3, None),
        (4, copies(2, 1, false)),
        (5, copies(3, 1, false)),
        (4, copies(1, 2, false)),
        (4, copies(1, 2, true)),
    ]);
    let rmw = prop::sample::select(vec![
        RmwLevel::Never,
        RmwLevel::Allowed,
        RmwLevel::Preferred,
    ]);
    let parity = || (1..3_u8, 0..4_usize, layout.clone());
    prop_oneof![
        (mirrors, read)
            .prop_map(|((kind, copies, disks), read)| Kind::Mirrored(kind, copies, disks, read)),
        parity().prop_map(|(p, more, layout)| Kind::Parity(p, 2 + usize::from(p) + more, layout)),
        (1..3_u8, 0..3_usize).prop_map(|(p, more)| Kind::Grouped(p, 2 + usize::from(p) + more)),
        md_mirrors.prop_map(|(disks, layout)| Kind::MdMirrors(disks, layout)),
        (parity(), rmw).prop_map(|((p, more, layout), rmw)| {
            Kind::MdParity(p, 2 + usize::from(p) + more, layout, rmw)
        }),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Read(u64, u32),
    Write(u64, u32),
    Fail(usize),
    Rebuild(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || (0..u64::MAX, 1..100_u32);
    let step = prop_oneof![
        4 => place().prop_map(|(sector, sectors)| Step::Read(sector, sectors)),
        6 => place().prop_map(|(sector, sectors)| Step::Write(sector, sectors)),
        1 => (0..usize::MAX).prop_map(Step::Fail),
        3 => (1..5_u64).prop_map(Step::Rebuild),
    ];
    prop::collection::vec(step, 1..60)
}

/// A sector of a disk of the array, wherever it is kept.
type Place = (usize, u64);

/// The sectors that are kept together: the data, by sector of the array, and what makes up for their loss.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    data: Vec<(u64, Place)>,
    /// Parity, or copies of the only data sector.
    redundant: Vec<Place>,
}

impl Row {
    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let data = self.data.iter().map(|(_, place)| *place);
        data.chain(self.redundant.iter().copied())
    }
}

/// The contents of a sector.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Data(u64),
    /// Of all data of its row.
    Parity(Vec<u64>),
}

struct Shadow {
    planner: Level,
    mirrors: bool,
    rows: Vec<Row>,
    /// The row of each place, and which of its data it is, if it is data.
    row_of: BTreeMap<Place, (usize, Option<usize>)>,
    /// By sector of the array: its row, and which of its data it is.
    sectors: Vec<(usize, usize)>,
    /// What the last write of each sector was.
    expected: Vec<u64>,
    contents: BTreeMap<Place, Content>,
    /// What Linux may have in its stripe cache, and need not read again.
    cached: Option<BTreeSet<Place>>,
    /// The failed disks, each with the stripes that have been rebuilt of it.
    lost: Vec<(usize, u64)>,
    /// The next stripe to rebuild.
    next: u64,
    writes: u64,
}

impl Shadow {
    /// The layout is what the level does with single sectors while all disks are well; other tests compare that with
    /// the literature and the kernel.
    fn new(kind: &Kind) -> Self {
        let mut planner = planner(kind);
        let mirrors = matches!(kind, Kind::Mirrored(..) | Kind::MdMirrors(..));
        let mut rows: Vec<Row> = Vec::new();
        let mut of_redundant: BTreeMap<Vec<Place>, usize> = BTreeMap::new();
        let mut sectors = Vec::new();
        for sector in 0..planner.data_sectors() {
            let read = plan(&mut planner, Op::Read, sector, 1);
            let write = plan(&mut planner, Op::Write, sector, 1);
            let place = (
                read.sub_requests()[0].disk,
                read.sub_requests()[0].sector.get(),
            );
            let written = write.stages().iter().flat_map(Stage::last);
            let written: BTreeSet<Place> = written
                .map(|sub| write.sub_requests()[sub])
                // Linux writes the page around it.
                .map(|sub| (sub.disk, if mirrors { sub.sector.get() } else { place.1 }))
                .collect();
            assert!(
                written.contains(&place),
                "a write goes where a read comes from"
            );
            let (place, redundant): (Place, Vec<Place>) = if mirrors {
                let mut copies = written.into_iter();
                (copies.next().unwrap(), copies.collect())
            } else {
                (
                    place,
                    written
                        .into_iter()
                        .filter(|other| *other != place)
                        .collect(),
                )
            };
            let row = *of_redundant.entry(redundant.clone()).or_insert_with(|| {
                rows.push(Row {
                    data: Vec::new(),
                    redundant,
                });
                rows.len() - 1
            });
            sectors.push((row, rows[row].data.len()));
            rows[row].data.push((sector, place));
        }
        let mut row_of = BTreeMap::new();
        let mut contents = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let nothing = vec![0; row.data.len()];
            for (i, (_, place)) in row.data.iter().enumerate() {
                assert!(row_of.insert(*place, (number, Some(i))).is_none());
                contents.insert(*place, Content::Data(0));
            }
            for place in &row.redundant {
                assert!(row_of.insert(*place, (number, None)).is_none());
                let content = if mirrors {
                    Content::Data(0)
                } else {
                    Content::Parity(nothing.clone())
                };
                contents.insert(*place, content);
            }
        }
        let caches = matches!(kind, Kind::MdParity(..));
        Self {
            // One that has not seen all this.
            planner: self::planner(kind),
            cached: caches.then(BTreeSet::new),
            mirrors,
            expected: vec![0; sectors.len()],
            rows,
            row_of,
            sectors,
            contents,
            lost: Vec::new(),
            next: 0,
            writes: 0,
        }
    }

    fn is_there(&self, (disk, sector): Place) -> bool {
        self.lost
            .iter()
            .all(|&(lost, rebuilt)| lost != disk || sector / UNIT < rebuilt)
    }

    /// The place that a device has in the plan: a spare has that of the disk it stands for.
    fn place(&self, device: usize, sector: u64) -> Place {
        match device.checked_sub(self.planner.disks()) {
            None => (device, sector),
            Some(spare) => (self.lost[spare].0, sector),
        }
    }

    /// The places of some sub-requests.
    fn places(&self, plan: &RequestPlan, subs: std::ops::Range<usize>) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        for sub in &plan.sub_requests()[subs] {
            for i in 0..u64::from(sub.sectors.get()) {
                let (disk, sector) = self.place(sub.disk, sub.sector.get() + i);
                let is_spare = sub.disk >= self.planner.disks();
                let was_lost = self.lost.iter().any(|(lost, _)| *lost == disk);
                assert_eq!(
                    is_spare, was_lost,
                    "the spare of a lost disk, and only of one"
                );
                places.insert((disk, sector));
            }
        }
        places
    }

    fn reads(&self, plan: &RequestPlan, subs: std::ops::Range<usize>) -> BTreeSet<Place> {
        let places = self.places(plan, subs);
        for place in &places {
            assert!(self.is_there(*place), "{place:?} is read, which is lost");
            if let Some((row, data)) = self.row_of.get(place) {
                assert_eq!(
                    self.contents[place],
                    self.should_hold(*row, *data),
                    "stale at {place:?}"
                );
            }
        }
        places
    }

    /// What a place of a row is to hold.
    fn should_hold(&self, row: usize, data: Option<usize>) -> Content {
        let versions = self.rows[row]
            .data
            .iter()
            .map(|(sector, _)| self.expected[*sector as usize]);
        let versions: Vec<u64> = versions.collect();
        match data {
            Some(i) => Content::Data(versions[i]),
            None if self.mirrors => Content::Data(versions[0]),
            None => Content::Parity(versions),
        }
    }

    /// Whether what was read of a row gives all of it.
    fn gives_all(&self, row: usize, read: &BTreeSet<Place>) -> bool {
        let row = &self.rows[row];
        row.places().filter(|place| read.contains(place)).count() >= row.data.len()
    }

    /// These sectors go through the stripe cache, and so does what can be made of them.
    fn keep(&mut self, places: &BTreeSet<Place>) {
        let Some(mut cached) = self.cached.take() else {
            return;
        };
        cached.extend(places);
        let rows = places.iter().filter_map(|place| self.row_of.get(place));
        let rows: BTreeSet<usize> = rows.map(|(row, _)| *row).collect();
        for row in rows {
            if self.gives_all(row, &cached) {
                cached.extend(self.rows[row].places());
            }
        }
        self.cached = Some(cached);
    }

    fn read(&mut self, sector: u64, sectors: u32) {
        let plan = plan(&mut self.planner, Op::Read, sector, sectors);
        let mut read = self.cached.clone().unwrap_or_default();
        for stage in plan.stages() {
            assert_eq!(stage.kind, StageKind::Direct(Access::Read));
            read.extend(self.reads(&plan, stage.first.clone()));
        }
        for sector in sector..sector + u64::from(sectors) {
            let (row, i) = self.sectors[sector as usize];
            let direct = read.contains(&self.rows[row].data[i].1);
            assert!(
                direct || self.gives_all(row, &read),
                "sector {sector} is not read"
            );
        }
        if !self.lost.is_empty() {
            // Otherwise Linux reads past the cache.
            self.keep(&read);
        }
    }

    fn write(&mut self, sector: u64, sectors: u32) {
        let plan = plan(&mut self.planner, Op::Write, sector, sectors);
        self.writes += 1;
        let new = sector..sector + u64::from(sectors);
        let changes = |at: &u64| new.contains(at);
        // All that is read is read before the new data are expected.
        let known: Vec<_> = plan
            .stages()
            .iter()
            .map(|stage| {
                let mut known = self.cached.clone().unwrap_or_default();
                if !stage.then.is_empty() {
                    known.extend(self.reads(&plan, stage.first.clone()));
                }
                known
            })
            .collect();
        for at in new.clone() {
            self.expected[at as usize] = self.writes;
        }
        for (stage, known) in plan.stages().iter().zip(known) {
            for place in self.places(&plan, stage.last()) {
                assert!(self.is_there(place), "{place:?} is written, which is lost");
                let (row, data) = self.row_of[&place];
                let all = self.gives_all(row, &known);
                let row_data = || self.rows[row].data.iter();
                let can_be_known = match data {
                    _ if self.mirrors => row_data().all(|(sector, _)| changes(sector)),
                    // Linux writes whole pages.
                    Some(i) => changes(&self.rows[row].data[i].0) || all || known.contains(&place),
                    None => {
                        let by_data =
                            || row_data().all(|(sector, at)| changes(sector) || known.contains(at));
                        let by_change = || {
                            known.contains(&place)
                                && row_data()
                                    .all(|(sector, at)| !changes(sector) || known.contains(at))
                        };
                        all || by_data() || by_change()
                    }
                };
                assert!(
                    can_be_known,
                    "{:?}: what is written to {place:?} is not known",
                    stage.kind
                );
                let content = self.should_hold(row, data);
                self.contents.insert(place, content);
            }
            self.keep(&known);
            let written = self.places(&plan, stage.last());
            self.keep(&written);
        }
        for at in new {
            let row = self.sectors[at as usize].0;
            for place in self.rows[row]
                .places()
                .filter(|place| self.is_there(*place))
            {
                let (_, data) = self.row_of[&place];
                assert_eq!(
                    self.contents[&place],
                    self.should_hold(row, data),
                    "not written: {place:?}"
                );
            }
        }
    }

    /// Returns whether the array goes on.
    fn fail(&mut self, disk: usize) -> bool {
        if self.lost.iter().any(|(lost, _)| *lost == disk) {
            return true;
        }
        self.lost.push((disk, 0));
        let enough = |row: &Row| {
            row.places().filter(|place| self.is_there(*place)).count() >= row.data.len()
        };
        let expected = self.rows.iter().all(enough);
        assert_eq!(
            self.planner.fail(disk),
            expected,
            "disk {disk} after {:?}",
            self.lost
        );
        self.contents.retain(|place, _| place.0 != disk);
        self.next = 0;
        expected
    }

    fn rebuild(&mut self, steps: u64) {
        for _ in 0..steps {
            if self.next == self.planner.stripes_to_rebuild() {
                return;
            }
            let stripe = self.next;
            let mut plan = RequestPlan::default();
            self.planner.plan_rebuild(stripe, &mut plan);
            for stage in plan.stages() {
                assert_eq!(stage.kind, StageKind::Copy);
                let known = self.reads(&plan, stage.first.clone());
                for place in self.places(&plan, stage.then.clone()) {
                    assert!(!self.is_there(place), "{place:?} is rebuilt twice");
                    let Some(&(row, data)) = self.row_of.get(&place) else {
                        continue;
                    };
                    assert!(
                        self.gives_all(row, &known),
                        "{place:?} is rebuilt from too little"
                    );
                    let content = self.should_hold(row, data);
                    self.contents.insert(place, content);
                }
            }
            self.next += 1;
            for (_, rebuilt) in &mut self.lost {
                *rebuilt = self.next.max(*rebuilt);
            }
            self.planner.rebuilt(self.next);
        }
        // What the spares hold is all that they should.
        for (place, (row, data)) in &self.row_of {
            if self.is_there(*place) {
                assert_eq!(
                    self.contents.get(place),
                    Some(&self.should_hold(*row, *data))
                );
            }
        }
    }
}

fn plan(planner: &mut Level, op: Op, sector: u64, sectors: u32) -> RequestPlan {
    let request = Request {
        start: Nanos::ZERO,
        op,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    };
    let mut plan = RequestPlan::default();
    planner.plan(&request, &[Idle; 32], &mut plan);
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_read_is_what_was_written_last(kind in kinds(), steps in steps()) {
        let mut shadow = Shadow::new(&kind);
        let all = shadow.planner.data_sectors();
        for step in steps {
            let fit = |sector: u64, sectors: u32| {
                let sector = sector % all;
                (sector, sectors.min((all - sector) as u32))
            };
            match step {
                Step::Read(sector, sectors) => {
                    let (sector, sectors) = fit(sector, sectors);
                    shadow.read(sector, sectors);
                }
                Step::Write(sector, sectors) => {
                    let (sector, sectors) = fit(sector, sectors);
                    shadow.write(sector, sectors);
                }
                Step::Fail(disk) => {
                    let disk = disk % shadow.planner.disks();
                    if !shadow.fail(disk) {
                        return Ok(());
                    }
                }
                Step::Rebuild(steps) => shadow.rebuild(steps),
            }
        }
    }
}
