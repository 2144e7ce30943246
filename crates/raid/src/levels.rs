//! RAID levels: what a request becomes.

mod grouped;
mod linear;
mod lost;
mod md;
mod mirrored;
mod parity;
mod registered;
mod striped;

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

pub use grouped::Grouped;
pub use linear::Linear;
pub use lost::Lost;
pub use md::{Bitmap, CopyLayout, LinuxMd, MdLevel, MdMirrors, MdParity, RmwLevel, StripeHandling};
pub use mirrored::{Arrangement, MirrorRead, Mirrored};
pub use parity::{Parity, ParityLayout, RandomLayout, ReadLayout, WriteStart};
pub use registered::Registered;
pub use striped::{Striped, access_of};

use crate::{Planner, RequestPlan};

/// Any of the built-in levels, or a registered one.
#[derive(Debug)]
pub enum Level {
    /// RAID 0.
    Striped(Striped),
    /// RAID 1, 10 and 01.
    Mirrored(Mirrored),
    /// RAID 5 and 6.
    Parity(Parity),
    /// Disks one after the other.
    Linear(Linear),
    /// RAID 50 and 60.
    Grouped(Grouped),
    /// Linux's software RAID.
    LinuxMd(Box<LinuxMd>),
    /// One from elsewhere.
    Registered(Registered),
}

impl Level {
    /// How many outcomes its two random choices have with random placement, all alike; `None` where it
    /// chooses more often, or by the state.
    pub fn choices(&self) -> Option<[u64; 2]> {
        match self {
            Self::Striped(level) => Some(level.choices()),
            Self::Mirrored(level) => level.choices(),
            Self::Parity(level) => Some(level.choices()),
            Self::Linear(level) => Some(level.choices()),
            Self::Grouped(_) | Self::LinuxMd(_) | Self::Registered(_) => None,
        }
    }

    /// From now on every request has these outcomes, so that all plans can be gone through.
    pub fn fix_choices(&mut self, outcomes: [u64; 2]) {
        match self {
            Self::Striped(level) => level.fix_choices(outcomes),
            Self::Mirrored(level) => level.fix_choices(outcomes),
            Self::Parity(level) => level.fix_choices(outcomes),
            Self::Linear(level) => level.fix_choices(outcomes),
            Self::Grouped(_) | Self::LinuxMd(_) | Self::Registered(_) => {}
        }
    }
}

/// `each!(level, planner => expression)`: the expression for whatever level it is.
macro_rules! each {
    ($level:expr, $planner:ident => $expression:expr) => {
        match $level {
            Self::Striped($planner) => $expression,
            Self::Mirrored($planner) => $expression,
            Self::Parity($planner) => $expression,
            Self::Linear($planner) => $expression,
            Self::Grouped($planner) => $expression,
            Self::LinuxMd($planner) => $expression,
            Self::Registered($planner) => $expression,
        }
    };
}

impl Planner for Level {
    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        each!(self, level => level.plan(request, devices, plan));
    }

    fn disks(&self) -> usize {
        each!(self, level => level.disks())
    }

    fn data_sectors(&self) -> u64 {
        each!(self, level => level.data_sectors())
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        each!(self, level => level.issues_at_once(op, sectors))
    }

    fn stripes_to_rebuild(&self) -> u64 {
        each!(self, level => level.stripes_to_rebuild())
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        each!(self, level => level.plan_rebuild(stripe, plan));
    }

    fn rebuilt(&mut self, stripes: u64) {
        each!(self, level => level.rebuilt(stripes));
    }

    fn fail(&mut self, disk: usize) -> bool {
        each!(self, level => level.fail(disk))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::positioning::tests::Answers;
    use crate::{ArrayShape, Placement, StageKind, SubRequest};
    use iosonar_sim_core::Seed;
    use iosonar_units::Sector;
    use std::collections::BTreeMap;

    /// The plan of a request to an array without anything to look at.
    pub(crate) fn plan_of(
        planner: &mut impl Planner,
        op: Op,
        sector: u64,
        sectors: u32,
    ) -> RequestPlan {
        let request = Request {
            op,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        };
        let mut plan = RequestPlan::default();
        planner.plan(&request, &[] as &[Answers], &mut plan);
        plan
    }

    const UNIT: u32 = 8;

    fn shape(disks: usize, placement: Placement) -> ArrayShape {
        ArrayShape {
            disks,
            stripe_unit: Sectors::new(UNIT),
            disk_sectors: 1 << 20,
            placement,
        }
    }

    fn striped(disks: usize, placement: Placement) -> Striped {
        Striped::new(shape(disks, placement), &Seed::new(1)).unwrap()
    }

    fn mirrored(placement: Placement, read: MirrorRead, lost: &[usize]) -> Level {
        let (kind, lost) = (Arrangement::Sides, Lost::new(lost.to_vec()));
        let shape = shape(6, placement);
        Level::Mirrored(Mirrored::new(kind, 2, shape, read, lost, &Seed::new(1)).unwrap())
    }

    fn parity(parities: u8, disks: usize, placement: Placement) -> Parity {
        let (layout, random) = (ParityLayout::default(), RandomLayout::default());
        let shape = shape(disks, placement);
        Parity::new(parities, shape, layout, random, Lost::none(), &Seed::new(1)).unwrap()
    }

    fn linear(disks: usize, placement: Placement) -> Level {
        Level::Linear(Linear::new(shape(disks, placement), &Seed::new(1)).unwrap())
    }

    fn grouped(placement: Placement) -> Level {
        let groups = (0..3).map(|_| parity(1, 4, placement)).collect();
        Level::Grouped(Grouped::new(groups, placement, &Seed::new(1)).unwrap())
    }

    fn md(level: MdLevel, has_bitmap: bool) -> Level {
        let md = LinuxMd::new(level, 2048);
        Level::LinuxMd(Box::new(match has_bitmap {
            true => md.with_bitmap(Sectors::new(1 << 10)),
            false => md,
        }))
    }

    fn md_levels() -> [MdLevel; 4] {
        let shape = shape(4, Placement::Addressed);
        let near = CopyLayout {
            near: 2,
            far: 1,
            offset: false,
        };
        let mirrors =
            |layout| MdLevel::Mirrors(MdMirrors::new(shape, layout, true, Lost::none()).unwrap());
        let (layout, handling) = (ParityLayout::default(), StripeHandling::default());
        let parity = MdParity::new(1, shape, layout, handling, Lost::none()).unwrap();
        [
            MdLevel::Striped(striped(4, Placement::Addressed)),
            mirrors(None),
            mirrors(Some(near)),
            MdLevel::Parity(parity),
        ]
    }

    type Places = Vec<(usize, u64, u32)>;
    type MakeLevel = fn() -> Level;

    /// How often a level draws its choices.
    const DRAWS: u32 = 2000;

    fn places(plan: &RequestPlan) -> Places {
        let place = |s: &SubRequest| (s.disk, s.sector.get(), s.sectors.get());
        plan.sub_requests().iter().map(place).collect()
    }

    /// Each of `choices` outcomes once, against what a level draws.
    #[test]
    fn the_outcomes_of_the_choices_give_all_plans_of_a_level_and_each_as_often_as_it_is_drawn() {
        use MirrorRead::{AlternatingRows, Halves, RoundRobin};
        use Placement::Random;
        let levels: [(MakeLevel, [u64; 2]); 7] = [
            (|| Level::Striped(striped(5, Random)), [5, 1]),
            (|| mirrored(Random, Halves, &[]), [3, 2]),
            (|| mirrored(Random, RoundRobin, &[]), [3, 2]),
            (|| mirrored(Random, AlternatingRows, &[]), [3, 2]),
            (|| Level::Parity(parity(1, 4, Random)), [4, 4]),
            (|| Level::Parity(parity(2, 5, Random)), [5, 5]),
            (|| linear(3, Random), [3, 1]),
        ];
        for (level, choices) in levels {
            assert_eq!(level().choices(), Some(choices));
            for (op, blocks) in [(Op::Read, 1), (Op::Read, 7), (Op::Write, 1), (Op::Write, 4)] {
                let mut given: BTreeMap<Places, f64> = BTreeMap::new();
                for first in 0..choices[0] {
                    for second in 0..choices[1] {
                        let mut level = level();
                        level.fix_choices([first, second]);
                        let plan = places(&plan_of(&mut level, op, 0, blocks * UNIT));
                        let again = plan_of(&mut level, op, 0, blocks * UNIT);
                        assert_eq!(plan, places(&again), "fixed for every request");
                        *given.entry(plan).or_default() += 1.0;
                    }
                }
                let mut drawn: BTreeMap<Places, f64> = BTreeMap::new();
                let mut level = level();
                for _ in 0..DRAWS {
                    let plan = plan_of(&mut level, op, 0, blocks * UNIT);
                    *drawn.entry(places(&plan)).or_default() += 1.0;
                }
                assert!(given.keys().eq(drawn.keys()), "{level:?} {op:?} {blocks}");
                let outcomes = (choices[0] * choices[1]) as f64;
                for (plan, times) in given {
                    let p = times / outcomes;
                    let expected = f64::from(DRAWS) * p;
                    let deviation = (expected * (1.0 - p)).sqrt();
                    assert!((drawn[&plan] - expected).abs() <= 5.0 * deviation);
                }
            }
        }
    }

    #[test]
    fn levels_that_choose_by_block_or_by_state_have_no_outcomes_to_go_through() {
        use Placement::Random;
        for read in [
            MirrorRead::RandomPerBlock,
            MirrorRead::Random,
            MirrorRead::Turns,
            MirrorRead::ShorterQueue,
            MirrorRead::NearerArm,
        ] {
            assert_eq!(mirrored(Random, read, &[]).choices(), None, "{read:?}");
        }
        assert_eq!(mirrored(Random, MirrorRead::Halves, &[1]).choices(), None);
        let [md_level, ..] = md_levels();
        for mut level in [
            grouped(Random),
            md(md_level, false),
            Level::Registered(Registered::new(striped(2, Random))),
        ] {
            assert_eq!(level.choices(), None);
            level.fix_choices([0, 0]);
        }
    }

    /// A level says that a request is issued at once exactly where no request of this kind looks at the devices or
    /// has a second stage, wherever it lies.
    #[test]
    fn a_request_is_issued_at_once_if_it_looks_at_nothing_and_has_nothing_to_wait_for() {
        use Placement::{Addressed, Random};
        let mut levels = vec![];
        for placement in [Addressed, Random] {
            levels.push((Level::Striped(striped(3, placement)), false));
            levels.push((linear(3, placement), false));
            levels.push((Level::Parity(parity(1, 4, placement)), false));
            levels.push((Level::Parity(parity(2, 6, placement)), false));
            levels.push((grouped(placement), false));
            for (read, looks) in [
                (MirrorRead::Halves, false),
                (MirrorRead::RandomPerBlock, false),
                (MirrorRead::Turns, false),
                (MirrorRead::ShorterQueue, true),
                (MirrorRead::NearerArm, true),
            ] {
                levels.push((mirrored(placement, read, &[]), looks));
            }
            let registered = Registered::new(parity(1, 4, placement));
            levels.push((Level::Registered(registered), false));
        }
        for has_bitmap in [false, true] {
            for level in md_levels() {
                let looks = matches!(level, MdLevel::Mirrors(_));
                levels.push((md(level, has_bitmap), looks));
            }
        }
        for (mut level, looks) in levels {
            for op in [Op::Read, Op::Write, Op::WriteZeroes, Op::Flush, Op::Discard] {
                let mut always = true;
                for blocks in 1..=13 {
                    let looks = looks && op == Op::Read;
                    let direct = |sector| {
                        // A bitmap waits for the first write to a chunk.
                        let sector = sector + (u64::from(blocks) << 12) + ((op as u64) << 17);
                        !looks && {
                            let plan = plan_of(&mut level, op, sector, blocks * UNIT);
                            let stages = plan.stages().iter();
                            stages
                                .map(|stage| stage.kind)
                                .all(|kind| matches!(kind, StageKind::Direct(_)))
                        }
                    };
                    let at_once = (0..8).map(|at| at * u64::from(UNIT)).all(direct);
                    let sectors = Some(Sectors::new(blocks * UNIT));
                    let said = level.issues_at_once(op, sectors);
                    assert_eq!(said, at_once, "{op:?} of {blocks} units: {level:?}");
                    always &= at_once;
                }
                assert_eq!(level.issues_at_once(op, None), always, "{op:?}: {level:?}");
            }
        }
    }
}
