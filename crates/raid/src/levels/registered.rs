//! A level from elsewhere among the built-in ones.

use std::fmt;

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use crate::{Planner, RequestPlan};

/// A level that this crate does not know, behind a pointer: a simulation that chooses its level when it runs has one
/// type for all of them.
pub struct Registered {
    planner: Box<dyn AnyPlanner>,
    /// Empty between two plans; kept for its memory.
    devices: Vec<Place>,
}

/// Room for a reference to a device; references themselves would tie a level to its thread.
type Place = [usize; 2];

impl Registered {
    /// The level of this planner.
    pub fn new(planner: impl Planner + Send + 'static) -> Self {
        Self {
            planner: Box::new(planner),
            devices: Vec::new(),
        }
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("disks", &self.planner.disks())
            .finish_non_exhaustive()
    }
}

/// [`Planner`] without type parameters.
trait AnyPlanner: Send {
    fn plan(&mut self, request: &Request, devices: &[&dyn Observable], plan: &mut RequestPlan);
    fn disks(&self) -> usize;
    fn data_sectors(&self) -> u64;
    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool;
    fn stripes_to_rebuild(&self) -> u64;
    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan);
    fn rebuilt(&mut self, stripes: u64);
    fn fail(&mut self, disk: usize) -> bool;
}

impl<P: Planner + Send> AnyPlanner for P {
    fn plan(&mut self, request: &Request, devices: &[&dyn Observable], plan: &mut RequestPlan) {
        Planner::plan(self, request, devices, plan);
    }

    fn disks(&self) -> usize {
        Planner::disks(self)
    }

    fn data_sectors(&self) -> u64 {
        Planner::data_sectors(self)
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        Planner::issues_at_once(self, op, sectors)
    }

    fn stripes_to_rebuild(&self) -> u64 {
        Planner::stripes_to_rebuild(self)
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        Planner::plan_rebuild(self, stripe, plan);
    }

    fn rebuilt(&mut self, stripes: u64) {
        Planner::rebuilt(self, stripes);
    }

    fn fail(&mut self, disk: usize) -> bool {
        Planner::fail(self, disk)
    }
}

impl Planner for Registered {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        // The memory of the vector goes from one plan to the next, although the lives of its references do not.
        let memory = std::mem::take(&mut self.devices).into_iter();
        let mut seen: Vec<&dyn Observable> = memory.map(|_| unreachable!("it is empty")).collect();
        seen.extend(devices.iter().map(|device| device as &dyn Observable));
        self.planner.plan(request, &seen, plan);
        seen.clear();
        self.devices = seen
            .into_iter()
            .map(|_| unreachable!("it is empty"))
            .collect();
    }

    fn disks(&self) -> usize {
        self.planner.disks()
    }

    fn data_sectors(&self) -> u64 {
        self.planner.data_sectors()
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        self.planner.issues_at_once(op, sectors)
    }

    fn stripes_to_rebuild(&self) -> u64 {
        self.planner.stripes_to_rebuild()
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        self.planner.plan_rebuild(stripe, plan);
    }

    fn rebuilt(&mut self, stripes: u64) {
        self.planner.rebuilt(stripes);
    }

    fn fail(&mut self, disk: usize) -> bool {
        self.planner.fail(disk)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use super::*;
    use crate::{ArrayShape, Placement, Striped};
    use iosonar_sim_core::Seed;

    #[test]
    fn a_level_plans_the_same_behind_the_pointer() {
        let shape = ArrayShape {
            disks: 4,
            stripe_unit: Sectors::new(128),
            disk_sectors: 1 << 20,
            placement: Placement::Addressed,
        };
        let striped = || Striped::new(shape, &Seed::new(1)).unwrap();
        let (mut plain, mut behind) = (striped(), Registered::new(striped()));
        assert_eq!(Planner::disks(&behind), 4);
        assert_eq!(
            Planner::data_sectors(&behind),
            Planner::data_sectors(&plain)
        );
        for (sector, sectors) in [(0, 8), (120, 16), (1000, 2048), (77, 1)] {
            let one = plan_of(&mut plain, Op::Read, sector, sectors);
            let other = plan_of(&mut behind, Op::Read, sector, sectors);
            assert_eq!(one.sub_requests(), other.sub_requests());
            assert!(!one.is_empty());
        }
    }

    /// The device with the fewest jobs.
    struct Shortest;

    impl Planner for Shortest {
        fn plan<D: Observable>(
            &mut self,
            request: &Request,
            devices: &[D],
            plan: &mut RequestPlan,
        ) {
            let jobs = |disk: &usize| devices[*disk].occupancy().jobs();
            let disk = (0..devices.len()).min_by_key(jobs).unwrap();
            plan.add(disk, request.sector, request.sectors);
        }

        fn disks(&self) -> usize {
            3
        }

        fn data_sectors(&self) -> u64 {
            1000
        }
    }

    struct Queue(usize);

    impl Observable for Queue {
        fn occupancy(&self) -> iosonar_device::Occupancy {
            iosonar_device::Occupancy {
                waiting: self.0,
                ..Default::default()
            }
        }
    }

    #[test]
    fn it_sees_the_devices_and_keeps_its_memory() {
        let mut level = Registered::new(Shortest);
        let mut memory = None;
        for queues in [[3, 1, 2], [0, 5, 5], [2, 2, 1]] {
            let shortest = (0..3).min_by_key(|&i| queues[i]).unwrap();
            let devices = queues.map(Queue);
            let mut plan = RequestPlan::default();
            Planner::plan(&mut level, &Request::default(), &devices, &mut plan);
            assert_eq!(plan.sub_requests()[0].disk, shortest);
            let now = (level.devices.as_ptr(), level.devices.capacity());
            assert_eq!(*memory.get_or_insert(now), now, "memory was allocated anew");
        }
    }
}

/// Without the other trait in scope, whose methods have the same names.
#[cfg(test)]
mod tests_of_answers {
    use super::super::tests::plan_of;
    use super::{Observable, Op, Planner, Registered, Request, RequestPlan, Sectors};
    use iosonar_units::Sector;

    /// Answers with what it was asked.
    #[derive(Default)]
    struct Echo {
        lost: Vec<usize>,
        rebuilt: u64,
    }

    impl Planner for Echo {
        fn plan<D: Observable>(&mut self, _: &Request, _: &[D], plan: &mut RequestPlan) {
            for &disk in &self.lost {
                plan.add(disk, Sector::new(self.rebuilt), Sectors::new(1));
            }
        }

        fn disks(&self) -> usize {
            30
        }

        fn data_sectors(&self) -> u64 {
            1000
        }

        fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
            op == Op::Read && sectors == Some(Sectors::new(8))
        }

        fn stripes_to_rebuild(&self) -> u64 {
            77
        }

        fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
            plan.add(3, Sector::new(stripe), Sectors::new(4));
        }

        fn rebuilt(&mut self, stripes: u64) {
            self.rebuilt = stripes;
        }

        fn fail(&mut self, disk: usize) -> bool {
            self.lost.push(disk);
            disk < 20
        }
    }

    #[test]
    fn a_level_behind_the_pointer_is_asked_all_that_a_planner_is() {
        let mut level = crate::Level::Registered(Registered::new(Echo::default()));
        let eight = Some(Sectors::new(8));
        assert!(level.issues_at_once(Op::Read, eight));
        assert!(!level.issues_at_once(Op::Read, None));
        assert!(!level.issues_at_once(Op::Write, eight));
        assert_eq!(level.stripes_to_rebuild(), 77);
        assert_eq!((level.disks(), level.data_sectors()), (30, 1000));
        assert_eq!([19, 20].map(|disk| level.fail(disk)), [true, false]);
        level.rebuilt(55);
        let seen = plan_of(&mut level, Op::Read, 0, 8);
        let seen: Vec<_> = seen.sub_requests().iter().collect();
        assert_eq!([seen[0].disk, seen[1].disk], [19, 20]);
        assert_eq!(seen[0].sector.get(), 55);
        let mut plan = RequestPlan::default();
        level.plan_rebuild(9, &mut plan);
        assert_eq!((plan.len(), plan.sub_requests()[0].sector.get()), (1, 9));
        assert_eq!(
            format!("{level:?}"),
            "Registered(Registered { disks: 30, .. })"
        );
    }

    /// Says only what it must.
    struct Silent;

    impl Planner for Silent {
        fn plan<D: Observable>(&mut self, _: &Request, _: &[D], _: &mut RequestPlan) {}

        fn disks(&self) -> usize {
            1
        }

        fn data_sectors(&self) -> u64 {
            1
        }
    }

    #[test]
    fn a_planner_that_says_no_more_promises_and_tolerates_nothing() {
        let mut level = Silent;
        assert!(!level.issues_at_once(Op::Read, Some(Sectors::new(8))));
        assert_eq!(level.stripes_to_rebuild(), 0);
        assert!(!level.fail(0));
        let mut plan = RequestPlan::default();
        level.plan_rebuild(0, &mut plan);
        level.rebuilt(1);
        assert!(plan.is_empty() && plan.stages().is_empty());
    }
}
