//! The gate against the definitions, on devices that complete in any order.

use proptest::prelude::*;

use super::*;
use crate::testing::request;
use crate::zones::{Writable, Zone};

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![
        4 => Just(Op::Read),
        4 => Just(Op::Write),
        1 => Just(Op::Discard),
        1 => Just(Op::Flush)
    ];
    let one = (op, 0..60_u64, 1..12_u32).prop_map(|(op, sector, n)| match op {
        Op::Flush => request(op, 0, 0),
        _ => request(op, sector, n),
    });
    prop::collection::vec(one, 1..120)
}

/// What happens to a device whose requests complete in an order of chance.
#[derive(Default)]
struct World {
    /// (request, its place in the load), at the device.
    flying: Vec<(u32, usize)>,
    /// Pushed back.
    waiting: Vec<(u32, usize)>,
    started: Vec<usize>,
    dropped: Vec<usize>,
}

const SLOTS: u32 = 24;

/// A gate in front of the device.
struct Gated<'a> {
    load: &'a [Request],
    mode: Conflicts,
    strong: Strong,
    gate: Gate,
    free: Vec<u32>,
    in_slot: Vec<usize>,
    /// The next request of the load that arrives.
    next: usize,
    world: World,
}

impl<'a> Gated<'a> {
    fn new(load: &'a [Request], mode: Conflicts, strong: Strong) -> Self {
        Self {
            load,
            mode,
            strong,
            gate: Gate::new(mode, strong, SLOTS),
            free: (0..SLOTS).collect(),
            in_slot: vec![usize::MAX; SLOTS as usize],
            next: 0,
            world: World::default(),
        }
    }

    /// A request goes to the device: what it may not overlap or overtake is not there.
    fn start(&mut self, slot: u32, i: usize) -> Result<(), TestCaseError> {
        let (load, strong) = (self.load, self.strong);
        for (_, j) in &self.world.flying {
            if self.mode != Conflicts::Allow {
                prop_assert!(
                    !do_conflict(strong, &load[i], &load[*j]),
                    "{:?} starts while {:?} is in flight",
                    load[i],
                    load[*j]
                );
            }
        }
        if self.mode == Conflicts::Partial {
            for (_, j) in self.world.waiting.iter().filter(|(_, j)| *j < i) {
                prop_assert!(!do_conflict(strong, &load[i], &load[*j]), "overtaken");
            }
        }
        self.world.flying.push((slot, i));
        self.world.started.push(i);
        Ok(())
    }

    /// One that was pushed back may start, if nothing else has come in between.
    fn restart(&mut self, slot: u32) -> Result<(), TestCaseError> {
        let i = self.in_slot[slot as usize];
        if self.gate.restart(slot, &self.load[i]) {
            self.start(slot, i)?;
            self.world.waiting.retain(|(s, _)| *s != slot);
        }
        Ok(())
    }

    /// Requests arrive as long as there are slots. Gives whether the next one is held back.
    fn arrive(&mut self) -> Result<bool, TestCaseError> {
        while self.next < self.load.len() && !self.free.is_empty() {
            let (r, next) = (self.load[self.next], self.next);
            let slot = self.free[self.free.len() - 1];
            match self.gate.arrives(&r, !self.world.flying.is_empty()) {
                Admission::Start => {
                    if self.mode == Conflicts::Order {
                        let last = self.world.started.last().copied();
                        prop_assert!(last.is_none_or(|last| last + 1 == next));
                    }
                    self.start(slot, next)?;
                    self.gate.start(slot, &r);
                    self.in_slot[slot as usize] = next;
                    self.free.pop();
                }
                Admission::PushBack(blocker) => {
                    self.gate.push_back(slot, &r, blocker);
                    self.world.waiting.push((slot, next));
                    self.in_slot[slot as usize] = next;
                    self.free.pop();
                }
                Admission::Drop => {
                    let mut others = self.world.flying.iter().map(|(_, j)| &self.load[*j]);
                    prop_assert!(others.any(|o| do_conflict(self.strong, &r, o)));
                    self.world.dropped.push(next);
                }
                Admission::Hold => return Ok(true),
            }
            self.next += 1;
        }
        Ok(false)
    }
}

fn run(
    load: &[Request],
    mode: Conflicts,
    strong: Strong,
    choices: &[prop::sample::Index],
) -> Result<World, TestCaseError> {
    let mut gated = Gated::new(load, mode, strong);
    let mut ready = VecDeque::new();
    let mut choice = choices.iter().cycle();
    loop {
        while let Some(slot) = ready.pop_front() {
            gated.restart(slot)?;
        }
        let held = gated.arrive()?;
        let world = &mut gated.world;
        if world.flying.is_empty() {
            prop_assert!(!held, "held although nothing is in flight");
            prop_assert!(world.waiting.is_empty(), "pushed back for ever");
            prop_assert_eq!(gated.next, load.len());
            return Ok(gated.world);
        }
        let which = choice.next().unwrap().index(world.flying.len());
        let (slot, i) = world.flying.swap_remove(which);
        let in_slot = &gated.in_slot;
        let request_in = |slot: u32| load[in_slot[slot as usize]];
        gated.gate.completed(slot, &load[i], &mut ready, request_in);
        gated.free.push(slot);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_forbidden_is_in_flight_nothing_is_lost_and_nothing_waits_for_ever(
        load in requests(),
        mode in prop::sample::select(Conflicts::ALL.map(|(mode, ..)| mode).to_vec()),
        strong in prop::sample::select(vec![Strong::Writes, Strong::ButReads, Strong::Every]),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 50),
    ) {
        let world = run(&load, mode, strong, &choices)?;
        let mut all: Vec<usize> = world.started.iter().chain(&world.dropped).copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..load.len()).collect::<Vec<_>>(), "each once");
        if mode != Conflicts::Drop {
            prop_assert!(world.dropped.is_empty());
        }
        // Those that overlap start in the order of the load, unless overtaking is allowed.
        if matches!(mode, Conflicts::Partial | Conflicts::Order) {
            let mut rank = vec![0; load.len()];
            for (at, i) in world.started.iter().enumerate() {
                rank[*i] = at;
            }
            for i in 0..load.len() {
                for j in i + 1..load.len() {
                    if do_conflict(strong, &load[i], &load[j]) {
                        prop_assert!(rank[i] < rank[j], "{:?} overtook {:?}", load[j], load[i]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_thousand_writes_to_one_sector_wait_in_a_chain() {
    let write = request(Op::Write, 8, 8);
    let mut gate = Gate::new(Conflicts::Partial, Strong::ButReads, 1000);
    gate.start(0, &write);
    for slot in 1..1000 {
        let Admission::PushBack(blocker) = gate.arrives(&write, true) else {
            panic!("it conflicts")
        };
        assert_eq!(blocker, slot - 1, "each watches the one before it");
        gate.push_back(slot, &write, blocker);
    }
    let mut ready = VecDeque::new();
    for slot in 0..999 {
        gate.completed(slot, &write, &mut ready, |_| write);
        assert_eq!(ready.pop_front(), Some(slot + 1));
        assert!(ready.is_empty());
    }
}

#[test]
fn writes_to_a_sequential_zone_keep_their_order_and_nothing_else_waits_for_them() {
    let zone = |start: u64, writable| Zone {
        start,
        next: start + 100,
        end: start + 100,
        writable,
        is_active: false,
    };
    let zones = vec![
        zone(0, Writable::Anywhere),
        zone(100, Writable::At(100)),
        zone(200, Writable::At(200)),
    ];
    let mut gate = Gate::new(Conflicts::Partial, Strong::ButReads, 8)
        .with_zones(Some(Zones::new(zones, None, 1)));
    let write = |sector| request(Op::Write, sector, 8);
    let load = [write(100), write(108), write(116)];
    gate.start(0, &load[0]);
    assert_eq!(gate.arrives(&load[1], true), Admission::PushBack(0));
    gate.push_back(1, &load[1], 0);
    assert_eq!(gate.arrives(&load[2], true), Admission::PushBack(1));
    gate.push_back(2, &load[2], 1);
    for other in [request(Op::Read, 160, 8), write(200), write(0), write(8)] {
        assert_eq!(gate.arrives(&other, true), Admission::Start);
    }
    let mut ready = VecDeque::new();
    for slot in 0..2 {
        gate.completed(slot, &load[slot as usize], &mut ready, |slot| {
            load[slot as usize]
        });
        assert_eq!(ready.pop_front(), Some(slot + 1));
        assert!(ready.is_empty());
        assert!(matches!(
            gate.arrives(&write(140), true),
            Admission::PushBack(_)
        ));
    }
    gate.completed(2, &load[2], &mut ready, |_| load[2]);
    assert_eq!(gate.arrives(&write(140), true), Admission::Start);
}

#[test]
fn a_flush_is_a_barrier_where_order_matters() {
    let (read, flush) = (request(Op::Read, 0, 8), request(Op::Flush, 0, 0));
    let mut gate = Gate::new(Conflicts::Order, Strong::ButReads, 4);
    gate.start(0, &read);
    assert_eq!(gate.arrives(&flush, true), Admission::Hold);
    gate.completed(0, &read, &mut VecDeque::new(), |_| read);
    assert_eq!(gate.arrives(&flush, false), Admission::Start);
    gate.start(1, &flush);
    assert_eq!(gate.arrives(&read, true), Admission::Hold);
    gate.completed(1, &flush, &mut VecDeque::new(), |_| read);
    assert_eq!(gate.arrives(&read, false), Admission::Start);
}

#[test]
fn a_flush_is_in_no_requests_way_wherever_it_is_said_to_be() {
    let flush = request(Op::Flush, 0, 16);
    for strong in [Strong::Writes, Strong::ButReads, Strong::Every] {
        let mut gate = Gate::new(Conflicts::Partial, strong, 4);
        gate.start(0, &flush);
        for op in [Op::Read, Op::Write, Op::Discard, Op::Flush] {
            let admitted = gate.arrives(&request(op, 8, 8), true);
            assert_eq!(admitted, Admission::Start, "{strong:?} {op:?}");
        }
    }
}

#[test]
fn modes_are_called_as_they_are_written() {
    for (mode, name, peer) in Conflicts::ALL {
        assert_eq!(mode.name(), name);
        assert_eq!(serde_json::to_value(mode).unwrap(), name);
        assert_eq!([name, peer].map(str::parse), [Ok(mode), Ok(mode)]);
    }
}
