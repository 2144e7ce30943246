//! Arrays of which it is known what the kernel does, the requests to them, and the comparison of its sub-requests with
//! the planner's.

#![allow(dead_code, unreachable_pub)] // Each of the test binaries uses a part of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use iosonar_device::{Access, Observable, Occupancy};
use iosonar_raid::{
    ArrayShape, CopyLayout, LinuxMd, Lost, MdLevel, MdMirrors, MdParity, ParityLayout, Placement,
    Planner, RequestPlan, RmwLevel, Stage, StageKind, StripeHandling, Striped,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

/// Sectors of a member.
pub const MEMBER: u64 = 2 << 20;
/// Where the data begin on a member.
pub const DATA_OFFSET: u64 = 2048;
/// Reads of a burst, and how many there are in all of a case.
pub const BURST: usize = 6;
const IN_BURSTS: usize = 300;
/// Sectors of members for bursts.
const SMALL_MEMBER: u64 = 128 << 10;
/// Requests of a case.
pub const REQUESTS: usize = 1000;
/// The sectors to which a case confines its requests so that they find each other's rows in the stripe cache.
const HOT: u64 = 12 << 10;

/// An array.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub level: Level,
    pub disks: usize,
    pub chunk_kib: u32,
    /// Members that are taken away before the requests.
    pub lost: &'static [usize],
    /// `rmw_level`, of RAID 5 and 6.
    pub rmw_level: u8,
    /// Whether requests are few rows apart.
    pub hot: bool,
    /// Whether the members say that they rotate.
    pub rotating: bool,
    /// Whether reads come in bursts, to members that take long to answer.
    pub bursts: bool,
    /// The chunk of the write-intent bitmap; 0: there is none.
    pub bitmap_kib: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Level {
    Raid0,
    Raid1,
    Raid10(usize, usize, bool),
    Parity(u8, ParityLayout),
}

use Level::{Parity, Raid0, Raid1, Raid10};
use ParityLayout::{LeftAsymmetric, LeftSymmetric, RightAsymmetric, RightSymmetric};

const fn case(name: &'static str, level: Level, disks: usize) -> Case {
    Case {
        name,
        level,
        disks,
        chunk_kib: 64,
        lost: &[],
        rmw_level: 1,
        hot: false,
        rotating: true,
        bursts: false,
        bitmap_kib: 0,
    }
}

impl Case {
    const fn without(self, lost: &'static [usize]) -> Self {
        Self { lost, ..self }
    }

    const fn rmw_level(self, rmw_level: u8) -> Self {
        Self { rmw_level, ..self }
    }

    const fn hot(self) -> Self {
        Self { hot: true, ..self }
    }

    const fn chunk_kib(self, chunk_kib: u32) -> Self {
        Self { chunk_kib, ..self }
    }

    const fn bitmap_kib(self, bitmap_kib: u32) -> Self {
        Self { bitmap_kib, ..self }
    }

    const fn bursts(self) -> Self {
        Self {
            bursts: true,
            ..self
        }
    }

    const fn of_ssds(self) -> Self {
        Self {
            rotating: false,
            ..self
        }
    }
}

/// All of them.
pub const CASES: [Case; 41] = [
    case("raid0", Raid0, 4),
    case("raid1", Raid1, 3),
    case("raid1, disk 0 lost", Raid1, 3).without(&[0]),
    case("raid1, bitmap of 64M", Raid1, 3).bitmap_kib(65_536),
    case("raid10 near 2", Raid10(2, 1, false), 4),
    case("raid10 near 2, odd", Raid10(2, 1, false), 5),
    case("raid10 near 2, disk 2 lost", Raid10(2, 1, false), 4).without(&[2]),
    case("raid10 near 2, SSDs", Raid10(2, 1, false), 4).of_ssds(),
    case("raid10 near 2, bitmap of 128K", Raid10(2, 1, false), 4).bitmap_kib(128),
    case("raid10 far 2", Raid10(1, 2, false), 4),
    case("raid10 far 2, odd", Raid10(1, 2, false), 5),
    case("raid10 far 2, SSDs", Raid10(1, 2, false), 4).of_ssds(),
    case("raid10 offset 2", Raid10(1, 2, true), 4),
    case("raid10 offset 2, odd", Raid10(1, 2, true), 5),
    case("raid1, bursts", Raid1, 3).bursts(),
    case("raid1, bursts, SSDs", Raid1, 3).bursts().of_ssds(),
    case("raid10 near 2, bursts", Raid10(2, 1, false), 4).bursts(),
    case("raid10 near 2, bursts, SSDs", Raid10(2, 1, false), 4)
        .bursts()
        .of_ssds(),
    case("raid10 far 2, bursts, SSDs", Raid10(1, 2, false), 4)
        .bursts()
        .of_ssds(),
    case("raid5 left-symmetric", Parity(1, LeftSymmetric), 5),
    case("raid5 left-asymmetric", Parity(1, LeftAsymmetric), 5),
    case("raid5 right-symmetric", Parity(1, RightSymmetric), 5),
    case("raid5 right-asymmetric", Parity(1, RightAsymmetric), 5),
    case("raid5 of 3, chunk 512K", Parity(1, LeftSymmetric), 3).chunk_kib(512),
    case("raid5 of 4, rmw_level 2", Parity(1, LeftSymmetric), 4).rmw_level(2),
    case("raid5, rmw_level 0", Parity(1, LeftSymmetric), 5).rmw_level(0),
    case("raid5, hot", Parity(1, LeftSymmetric), 5).hot(),
    case("raid5, bitmap of 1M", Parity(1, LeftSymmetric), 5).bitmap_kib(1024),
    case("raid5, disk 1 lost", Parity(1, LeftSymmetric), 5).without(&[1]),
    case("raid5, disk 1 lost, hot", Parity(1, LeftSymmetric), 5)
        .without(&[1])
        .hot(),
    case("raid6 left-symmetric", Parity(2, LeftSymmetric), 7),
    case("raid6 left-asymmetric", Parity(2, LeftAsymmetric), 7),
    case("raid6 right-symmetric", Parity(2, RightSymmetric), 7),
    case("raid6 right-asymmetric", Parity(2, RightAsymmetric), 7),
    case("raid6, rmw_level 0", Parity(2, LeftSymmetric), 7).rmw_level(0),
    case(
        "raid6, disk 1 lost, bitmap of 64K",
        Parity(2, LeftSymmetric),
        7,
    )
    .without(&[1])
    .bitmap_kib(64),
    case("raid6, hot", Parity(2, LeftSymmetric), 7).hot(),
    case("raid6, disk 1 lost", Parity(2, LeftSymmetric), 7).without(&[1]),
    case("raid6, disks 1 and 4 lost", Parity(2, LeftSymmetric), 7).without(&[1, 4]),
    case(
        "raid6, disks 1 and 4 lost, rmw_level 0",
        Parity(2, LeftSymmetric),
        7,
    )
    .without(&[1, 4])
    .rmw_level(0),
    case(
        "raid6, disks 1 and 4 lost, hot",
        Parity(2, LeftSymmetric),
        7,
    )
    .without(&[1, 4])
    .hot(),
];

impl Case {
    /// What mdadm needs to create it.
    pub fn mdadm(&self) -> String {
        let bitmap = match (self.level, self.bitmap_kib) {
            (Raid0, _) => String::new(),
            (_, 0) => " --bitmap=none".to_owned(),
            (_, kib) => format!(" --bitmap=internal --bitmap-chunk={kib}K"),
        };
        self.level_options() + &bitmap
    }

    fn level_options(&self) -> String {
        let chunk = format!("--chunk={}", self.chunk_kib);
        match self.level {
            Raid0 => format!("--level=0 {chunk}"),
            Raid1 => "--level=1".to_owned(),
            Raid10(near, 1, _) => format!("--level=10 --layout=n{near} {chunk}"),
            Raid10(_, far, false) => format!("--level=10 --layout=f{far} {chunk}"),
            Raid10(_, far, true) => format!("--level=10 --layout=o{far} {chunk}"),
            Parity(parities, layout) => {
                let layout = match layout {
                    LeftSymmetric => "left-symmetric",
                    LeftAsymmetric => "left-asymmetric",
                    RightSymmetric => "right-symmetric",
                    RightAsymmetric => "right-asymmetric",
                };
                format!("--level={} --layout={layout} {chunk}", 4 + parities)
            }
        }
    }

    pub fn planner(&self) -> LinuxMd {
        let shape = ArrayShape {
            disks: self.disks,
            stripe_unit: Sectors::new(self.chunk_kib * 2),
            disk_sectors: if self.bursts { SMALL_MEMBER } else { MEMBER } - DATA_OFFSET,
            placement: Placement::Addressed,
        };
        let lost = Lost::new(self.lost.to_vec());
        let mirrors = |layout, lost| MdMirrors::new(shape, layout, self.rotating, lost).unwrap();
        let level = match self.level {
            Raid0 => MdLevel::Striped(Striped::new(shape, &Seed::new(1)).unwrap()),
            Raid1 => MdLevel::Mirrors(mirrors(None, lost)),
            Raid10(near, far, offset) => {
                MdLevel::Mirrors(mirrors(Some(CopyLayout { near, far, offset }), lost))
            }
            Parity(parities, layout) => {
                let handling = StripeHandling {
                    rmw_level: match self.rmw_level {
                        0 => RmwLevel::Never,
                        1 => RmwLevel::Allowed,
                        _ => RmwLevel::Preferred,
                    },
                    ..StripeHandling::default()
                };
                let level = MdParity::new(parities, shape, layout, handling, lost);
                MdLevel::Parity(level.unwrap())
            }
        };
        let array = LinuxMd::new(level, DATA_OFFSET);
        if self.bitmap_kib == 0 {
            array
        } else {
            array.with_bitmap(Sectors::new(self.bitmap_kib * 2))
        }
    }

    /// Its requests, the same each time: small ones in pages, some that begin and end anywhere, some of many chunks.
    pub fn requests(&self) -> Vec<Request> {
        let mut random = Random(1);
        let end = self.planner().data_sectors();
        let end = if self.hot { end.min(HOT) } else { end };
        if self.bursts {
            let mut next = 0;
            let read = |_| {
                // Some go on with the one before.
                let begin = match random.below(4) {
                    0 if next + 8 <= end => next,
                    _ => random.below(end / 8) * 8,
                };
                next = begin + 8;
                Request {
                    sector: Sector::new(begin),
                    sectors: Sectors::new(8),
                    ..Request::default()
                }
            };
            return (0..IN_BURSTS).map(read).collect();
        }
        let request = |_| {
            let op = if random.below(5) < 2 {
                Op::Read
            } else {
                Op::Write
            };
            let (align, sectors) = match random.below(20) {
                0..15 => {
                    let pages = [1, 1, 1, 2, 4, 8, 16, 20];
                    (8, 8 * pages[random.below(8) as usize])
                }
                15..19 => (1, 1 + random.below(100)),
                _ => (128, 128 * (1 + random.below(6))),
            };
            Request {
                op,
                sector: Sector::new(random.below((end - sectors) / align + 1) * align),
                sectors: Sectors::new(sectors as u32),
                ..Request::default()
            }
        };
        (0..REQUESTS).map(request).collect()
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// What a request comes to: operation (`r` or `w`), member, sector from the data offset on, and length; or `b`, member,
/// sector from the begin of the member on, and length: the bitmap.
pub type Accesses = Vec<(char, usize, u64, u64)>;

/// An access to a sector of a member.
pub fn access(op: char, member: usize, sector: u64, sectors: u64) -> (char, usize, u64, u64) {
    match sector.checked_sub(DATA_OFFSET) {
        Some(sector) => (op, member, sector, sectors),
        None => ('b', member, sector, sectors),
    }
}

/// Makes one access of those that follow on each other on one member, and sorts them by their places.
pub fn merged(mut accesses: Accesses) -> Accesses {
    accesses.sort_unstable();
    let mut merged = Accesses::with_capacity(accesses.len());
    for access in accesses {
        match merged.last_mut() {
            Some(last) if (last.0, last.1, last.2 + last.3) == (access.0, access.1, access.2) => {
                last.3 += access.3;
            }
            _ => merged.push(access),
        }
    }
    merged.sort_unstable_by_key(|&(op, member, sector, sectors)| (sector, sectors, op, member));
    merged
}

/// One line: `r3r4w3w4@1871440+8` for each place; the sector counts from the one of the place before.
pub fn line_of(accesses: &Accesses) -> String {
    let mut line = String::new();
    let mut before = 0;
    for place in accesses.chunk_by(|a, b| (a.2, a.3) == (b.2, b.3)) {
        let (_, _, sector, sectors) = place[0];
        let blank = if line.is_empty() { "" } else { " " };
        let members = place.iter().map(|(op, member, ..)| format!("{op}{member}"));
        let members: String = members.collect();
        write!(line, "{blank}{members}@{}+{sectors}", sector - before).unwrap();
        before = sector;
    }
    line
}

/// A device with so many jobs.
#[derive(Clone, Copy, Default)]
pub struct Busy(usize);

impl Observable for Busy {
    fn occupancy(&self) -> Occupancy {
        Occupancy {
            waiting: self.0,
            ..Occupancy::default()
        }
    }
}

/// What the planner makes of a request, in the same form.
pub fn planned(
    planner: &mut LinuxMd,
    request: &Request,
    devices: &mut [Busy],
    plan: &mut RequestPlan,
) -> Accesses {
    plan.clear();
    planner.plan(request, devices, plan);
    for sub in plan.sub_requests() {
        devices[sub.disk].0 += 1;
    }
    let mut accesses = Accesses::new();
    for stage in plan.stages() {
        let Stage {
            kind, first, then, ..
        } = stage.clone();
        let direct = match kind {
            StageKind::Direct(Access::Write) | StageKind::Ahead => 'w',
            _ => 'r',
        };
        for (op, range) in [(direct, first), ('w', then)] {
            let subs = plan.sub_requests()[range].iter();
            accesses.extend(
                subs.map(|sub| {
                    access(op, sub.disk, sub.sector.get(), u64::from(sub.sectors.get()))
                }),
            );
        }
    }
    merged(accesses)
}

/// How many requests there were, and which of them the planner did not know.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    pub reads: usize,
    pub writes: usize,
    pub unequal: Vec<Request>,
}

impl Compared {
    pub fn unequal_reads(&self) -> usize {
        let reads = self.unequal.iter().filter(|r| r.op == Op::Read);
        reads.count()
    }
}

/// Compares what the kernel did with the first requests of a case, a line each, with the plans. Prints the first that
/// differ.
pub fn compare(case: &Case, lines: &[&str]) -> Compared {
    let (mut planner, mut plan) = (case.planner(), RequestPlan::default());
    let mut compared = Compared::default();
    let mut devices = vec![Busy(0); case.disks];
    for (number, (request, &kernel)) in case.requests().iter().zip(lines).enumerate() {
        if !case.bursts || number % BURST == 0 {
            devices.fill(Busy(0));
        }
        let planned = line_of(&planned(&mut planner, request, &mut devices, &mut plan));
        match request.op {
            Op::Read => compared.reads += 1,
            _ => compared.writes += 1,
        }
        if planned == kernel {
            continue;
        }
        if compared.unequal.len() < 3 {
            let (op, begin, length) = (request.op, request.sector, request.sectors);
            println!("{}: request {number}, {op:?} {begin} + {length}", case.name);
            println!("  kernel:  {kernel}\n  planner: {planned}");
        }
        compared.unequal.push(*request);
    }
    compared
}

/// Compares, and checks that requests are equal but for those of which it is known why they are not:
///
/// - reads of RAID 10 that come to a column a second time, when the first part may or may not have ended;
/// - the same with a bitmap, where md's thread ends a write for its requester before it counts it as ended, so that
///   the next read finds the disk busy;
/// - the first write to an array with a bitmap, which is written once more with the superblock;
/// - what rows the stripe cache still holds, where requests are so near each other that the order matters in which
///   rows end.
pub fn check(case: &Case, lines: &[&str]) {
    let compared = compare(case, lines);
    let (all, unequal) = (lines.len(), compared.unequal.len());
    let (reads, writes) = (compared.reads, compared.writes);
    let unequal_reads = compared.unequal_reads();
    println!(
        "{}: equal are {} of {reads} reads, {} of {writes} writes",
        case.name,
        reads - unequal_reads,
        writes + unequal_reads - unequal
    );
    if case.hot {
        assert!(
            unequal <= 3 + 3 * all / 100,
            "{}: {unequal} of {all}",
            case.name
        );
        return;
    }
    for request in &compared.unequal {
        let finds_another_busy = match case.level {
            Raid10(near, ..) => {
                let chunks = request.end().get().div_ceil(u64::from(case.chunk_kib) * 2)
                    - request.sector.get() / (u64::from(case.chunk_kib) * 2);
                let again = chunks as usize * near > case.disks;
                request.op == Op::Read && (again || case.bitmap_kib > 0)
            }
            _ => false,
        };
        let requests = case.requests();
        let first_write = requests.iter().find(|r| r.op == Op::Write);
        let begins = case.bitmap_kib > 0 && first_write == Some(request);
        assert!(finds_another_busy || begins, "{}: {request:?}", case.name);
    }
    assert!(
        unequal <= 3 + 2 * all / 100,
        "{}: {unequal} of {all}",
        case.name
    );
}

/// The lines of each case in a recording.
pub fn by_case(recording: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut cases = BTreeMap::<&str, Vec<&str>>::new();
    let mut lines: Option<&mut Vec<&str>> = None;
    for line in recording.lines() {
        match (line.strip_prefix("# "), &mut lines) {
            (Some(name), _) => lines = Some(cases.entry(name).or_default()),
            (None, Some(lines)) => lines.push(line),
            (None, None) => panic!("a recording begins with the name of a case"),
        }
    }
    cases
}
