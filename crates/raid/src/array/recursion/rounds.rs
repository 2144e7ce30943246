//! One run on several threads: three blocks at a time.
//!
//! ```text
//!  round    │ k           k + 1       k + 2
//!  ─────────┼──────────────────────────────────
//!  planned  │ block k     block k+1   block k+2
//!  served   │ block k-1   block k     block k+1    (disk by disk)
//!  joined   │ block k-2   block k-1   block k
//! ```
//!
//! All tasks of a round are independent of each other, and any thread may carry them out: what a disk does with its
//! jobs depends on nothing else. So the result does not depend on the number of threads.

use std::thread;

use iosonar_device::InOrder;
use iosonar_units::Nanos;

use super::crew::{Crew, EndOf, Task};
use super::joining::Joining;
use super::lane::{Disk, Lane, Times};
use super::planning::{Block, Planning};
use crate::Planner;
use crate::array::{CompletionSink, RequestSource};

/// Requests of a block. A round of them takes far longer than waking a thread.
const BLOCK: usize = 4096;

/// A part of a round.
enum Part<'a, P, D, R: RequestSource> {
    Planning(Box<Filling<'a, P, R>>),
    Serving(Serving<D>),
}

struct Filling<'a, P, R: RequestSource> {
    planning: Planning<'a, P, R>,
    block: Block,
    outcome: Result<(), R::Error>,
}

struct Serving<D> {
    number: usize,
    disk: Disk<D>,
    lane: Lane,
    times: Times,
}

impl<P, D, R> Task for Part<'_, P, D, R>
where
    P: Planner + Send,
    D: InOrder + Send,
    R: RequestSource<Error: Send> + Send,
{
    fn carry_out(&mut self) {
        match self {
            Self::Planning(filling) => {
                let Filling {
                    planning,
                    block,
                    outcome,
                } = &mut **filling;
                *outcome = planning.fill::<D>(block, BLOCK);
            }
            Self::Serving(serving) => serving.disk.serve(&mut serving.lane, &serving.times),
        }
    }
}

/// The end of the load.
pub(super) struct Loaded<D> {
    /// In their order.
    pub(super) disks: Vec<Disk<D>>,
    /// The last block.
    pub(super) block: Block,
    pub(super) last_arrival: Nanos,
}

/// Takes all blocks through the stages.
pub(super) fn run<P, D, R, S>(
    threads: usize,
    planning: Planning<'_, P, R>,
    disks: Vec<Disk<D>>,
    joining: &mut Joining<'_, S>,
) -> Result<Loaded<D>, S::Error>
where
    P: Planner + Send,
    D: InOrder + Send,
    R: RequestSource<Error = S::Error> + Send,
    S: CompletionSink<Error: Send>,
{
    let crew = Crew::new();
    thread::scope(|scope| {
        let _end = EndOf(&crew);
        for _ in 1..threads {
            // With fewer threads the result is the same.
            let helper = thread::Builder::new().name("disks".to_owned());
            if helper.spawn_scoped(scope, || crew.help()).is_err() {
                break;
            }
        }
        let rounds = Rounds {
            crew: &crew,
            finished: Vec::new(),
            planned: None,
            last_arrival: Nanos::ZERO,
        };
        rounds.run(planning, disks, joining)
    })
}

struct Rounds<'c, 'a, P, D, R: RequestSource> {
    crew: &'c Crew<Part<'a, P, D, R>>,
    finished: Vec<Part<'a, P, D, R>>,
    /// The next block, when the round is over.
    planned: Option<Box<Filling<'a, P, R>>>,
    last_arrival: Nanos,
}

impl<'a, P, D, R> Rounds<'_, 'a, P, D, R>
where
    P: Planner + Send,
    D: InOrder + Send,
    R: RequestSource<Error: Send> + Send,
{
    fn run<S: CompletionSink<Error = R::Error>>(
        mut self,
        planning: Planning<'a, P, R>,
        mut disks: Vec<Disk<D>>,
        joining: &mut Joining<'_, S>,
    ) -> Result<Loaded<D>, R::Error> {
        let mut filling = Box::new(Filling {
            planning,
            block: Block::of_disks(disks.len()),
            outcome: Ok(()),
        });
        let (mut spare, mut served) = (Block::of_disks(disks.len()), None);
        filling.outcome = filling.planning.fill::<D>(&mut filling.block, BLOCK);
        loop {
            // What was planned is served now, and what was served is joined.
            let mut block = std::mem::replace(&mut filling.block, spare);
            let outcome = std::mem::replace(&mut filling.outcome, Ok(()));
            let is_last = block.is_last;
            let times = block.times(joining.takes_services(), self.last_arrival);
            self.last_arrival = times.until;
            let lanes = std::mem::take(&mut block.lanes);
            let serving = disks.into_iter().zip(lanes).enumerate();
            let serving = serving.map(|(number, (disk, lane))| {
                Part::Serving(Serving {
                    number,
                    disk,
                    lane,
                    times,
                })
            });
            let next = (!is_last).then_some(Part::Planning(filling));
            self.crew.begin(serving.chain(next));
            let joined = served.as_ref().map_or(Ok(()), |block| joining.join(block));
            self.crew.finish(&mut self.finished);
            joined?;
            disks = self.collect(&mut block);
            let Some(next) = self.planned.take() else {
                joining.join(&block)?;
                outcome?;
                return Ok(Loaded {
                    disks,
                    block,
                    last_arrival: self.last_arrival,
                });
            };
            filling = next;
            spare = served
                .replace(block)
                .unwrap_or_else(|| Block::of_disks(disks.len()));
        }
    }

    /// Puts the lanes back into the served block, and keeps the one that was planned; gives the disks in their order.
    fn collect(&mut self, block: &mut Block) -> Vec<Disk<D>> {
        let mut served = Vec::with_capacity(self.finished.len());
        for part in self.finished.drain(..) {
            match part {
                Part::Planning(filling) => self.planned = Some(filling),
                Part::Serving(serving) => served.push(serving),
            }
        }
        served.sort_unstable_by_key(|serving| serving.number);
        let (disks, lanes) = served.into_iter().map(|s| (s.disk, s.lane)).unzip();
        block.lanes = lanes;
        disks
    }
}
