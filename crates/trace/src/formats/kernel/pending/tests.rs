use proptest::prelude::*;

use super::super::event::Action;
use super::*;
use crate::Flags;

#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Issue,
    Requeue { begins_with_issue: bool },
    Merge { front: bool },
    Complete { errno: u16 },
    Compact,
    Pop,
    GiveUp,
}

fn event((sector, sectors): (u64, u32), op: Op, errno: u16) -> Event {
    Event {
        time: 0,
        action: Action::Queue,
        device: (8, 0),
        sector,
        sectors,
        op,
        flags: Flags::default(),
        errno,
        place: 0,
    }
}

/// Many begin, so that some searches look at more requests than those that stay one by one.
fn steps(places: u64, longest: u32) -> impl Strategy<Value = Vec<(Step, Event)>> {
    let step = prop_oneof![
        40 => Just(Step::Begin),
        12 => Just(Step::Issue),
        3 => any::<bool>().prop_map(|begins_with_issue| Step::Requeue { begins_with_issue }),
        6 => any::<bool>().prop_map(|front| Step::Merge { front }),
        12 => Just(Step::Complete { errno: 0 }),
        2 => Just(Step::Complete { errno: 5 }),
        1 => Just(Step::Compact),
        4 => Just(Step::Pop),
        4 => Just(Step::GiveUp),
    ];
    let sectors = prop_oneof![
        8 => 1..=longest,
        1 => Just(0),
        1 => prop_oneof![Just(1000), Just(u32::MAX)],
    ];
    let base = prop_oneof![4 => Just(0), 1 => Just(u64::MAX - 10)];
    let place = (
        0..places,
        sectors,
        prop_oneof![9 => Just(Op::Write), 1 => Just(Op::Read)],
    );
    let steps = (base, prop::collection::vec((step, place), 1..600));
    steps.prop_map(|(base, steps)| {
        let step = |(step, (sector, sectors, op))| {
            let errno = match step {
                Step::Complete { errno } => errno,
                _ => 0,
            };
            (
                step,
                event((base.saturating_add(sector), sectors), op, errno),
            )
        };
        steps.into_iter().map(step).collect()
    })
}

/// Does all steps with both, and compares what comes out.
fn is_the_same(steps: &[(Step, Event)], split_at_issue: bool) -> Result<(), TestCaseError> {
    let mut this = Pending::new(split_at_issue);
    let mut that = one_by_one::Pending::new(split_at_issue);
    for (time, (step, event)) in (1..).map(Nanos::new).zip(steps) {
        match *step {
            Step::Begin => {
                prop_assert_eq!(this.begin(event, time, 0), that.begin(event, time, 0));
            }
            Step::Issue => {
                this.issue(event, time, 0);
                that.issue(event, time, 0);
            }
            Step::Requeue { begins_with_issue } => {
                this.requeue(event, 0, begins_with_issue);
                that.requeue(event, 0, begins_with_issue);
            }
            Step::Merge { front } => {
                this.merge(event, 0, front);
                that.merge(event, 0, front);
            }
            Step::Complete { .. } => {
                let nothing = |completed| matches!(completed, Completed::Nothing);
                let expected = nothing(that.complete(event, time, 0));
                prop_assert_eq!(nothing(this.complete(event, time, 0)), expected);
            }
            Step::Compact => {
                this.compact();
                that.compact();
            }
            Step::Pop | Step::GiveUp => {
                is_popped_from_both(&mut this, &mut that, matches!(step, Step::GiveUp))?;
            }
        }
        prop_assert_eq!(this.len(), that.len());
        prop_assert_eq!(this.oldest(), that.oldest());
    }
    while this.len() > 0 {
        is_popped_from_both(&mut this, &mut that, true)?;
    }
    Ok(())
}

fn is_popped_from_both(
    this: &mut Pending,
    that: &mut one_by_one::Pending,
    anyway: bool,
) -> Result<(), TestCaseError> {
    let seen = this.pop(anyway);
    let seen = seen.map(|(slot, done)| (slot.record, slot.withdrawn, done));
    let expected = that.pop(anyway);
    let expected = expected.map(|(slot, done)| (slot.record, slot.withdrawn, done));
    prop_assert_eq!(seen, expected);
    Ok(())
}

proptest! {
    #[test]
    fn requests_are_paired_as_by_a_look_at_each(
        steps in prop_oneof![steps(3, 2), steps(12, 6), steps(2000, 40)],
        split_at_issue: bool,
    ) {
        is_the_same(&steps, split_at_issue)?;
    }
}

/// Enough that searches which looked at each request would take far longer than all other tests.
const MANY: u64 = 100_000;

fn begun(events: impl Iterator<Item = Event>) -> Pending {
    let mut pending = Pending::new(true);
    for event in events {
        pending.begin(&event, Nanos::ZERO, 0);
    }
    pending
}

fn all_complete(mut pending: Pending) {
    for _ in 0..MANY {
        let (slot, done) = pending.pop(false).expect("it is complete");
        assert!(done && slot.issued.is_some());
    }
    assert_eq!(pending.len(), 0);
}

#[test]
fn equal_requests_take_no_quadratic_time() {
    let equal = event((1000, 8), Op::Write, 0);
    let mut pending = begun((0..MANY).map(|_| equal));
    for _ in 0..MANY {
        pending.issue(&equal, Nanos::ZERO, 0);
    }
    for _ in 0..MANY {
        pending.complete(&equal, Nanos::ZERO, 0);
    }
    all_complete(pending);
}

#[test]
fn flushes_take_no_quadratic_time() {
    let flush = event((0, 0), Op::Flush, 0);
    let mut pending = begun((0..MANY).map(|_| flush));
    for _ in 0..MANY {
        pending.issue(&flush, Nanos::ZERO, 0);
    }
    for _ in 0..MANY {
        assert!(pending.pop(true).is_some());
    }
    assert_eq!(pending.len(), 0);
}

#[test]
fn short_requests_with_a_long_one_take_no_quadratic_time() {
    let long = event((0, u32::MAX), Op::Write, 0);
    let short = (1..MANY).map(|at| event((4 * at, 2), Op::Write, 0));
    let mut pending = begun(std::iter::once(long).chain(short.clone()));
    pending.issue(&long, Nanos::ZERO, 0);
    for event in short.clone() {
        pending.issue(&event, Nanos::ZERO, 0);
        // Nothing that was not issued is left here.
        pending.issue(&event, Nanos::ZERO, 0);
        // And nothing ends or begins between the requests.
        let gap = Event {
            sector: event.sector - 1,
            sectors: 1,
            ..event
        };
        pending.merge(
            &Event {
                sector: gap.sector + 2,
                ..gap
            },
            0,
            false,
        );
        pending.merge(
            &Event {
                sector: gap.sector,
                ..gap
            },
            0,
            true,
        );
    }
    for event in short {
        pending.complete(&event, Nanos::ZERO, 0);
    }
    pending.complete(&long, Nanos::ZERO, 0);
    all_complete(pending);
}
