//! Artificial loads that ask a device one question each: bursts that grow, bursts of a moment, sweeps,
//! impulses.

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

/// A load with a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Artificial {
    /// At every whole second s a burst of `max(1, slope * s)` requests to random places, `spacing` apart:
    /// the load grows until the device no longer follows. With 1 ns and alternating operations this is
    /// blkreplay's `bursts-ultrafine`.
    Bursts {
        /// Requests per second, more each second.
        slope: f64,
        /// From one request of a burst to the next.
        spacing: Nanos,
        /// The last burst is at this second.
        seconds: u64,
    },
    /// Over the whole space from the lowest to the highest address and back, at a constant rate, with a step
    /// between requests: reads one way, writes the other, unless the share of reads is 0 or 1.
    Sweep {
        /// Requests per second.
        per_s: f64,
        /// From one request to the next, in sectors; at least the length.
        step: u64,
        /// How many ways, there or back.
        ways: u64,
    },
    /// A number of requests at once, and nothing for a period: shows how long a queue takes to drain.
    Impulse {
        /// Requests at a moment.
        requests: u64,
        /// From one impulse to the next.
        period: Nanos,
        /// How many impulses.
        impulses: u64,
    },
}

/// What the requests of an artificial load are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArtificialShape {
    /// How long they are.
    pub sectors: Sectors,
    /// The share of reads; `None` alternates, beginning with a read.
    pub read_share: Option<f64>,
    /// The space of the requests, in sectors.
    pub space: u64,
    /// Places are multiples of this, in sectors.
    pub align: u64,
}

/// The requests of an artificial load, in the order of time.
#[derive(Clone)]
pub struct ArtificialLoad {
    plan: Artificial,
    shape: ArtificialShape,
    /// The burst, way or impulse at hand, and the request in it.
    round: u64,
    within: u64,
    number: u64,
    places: Stream,
    ops: Stream,
}

impl Artificial {
    /// About how many requests a load with this plan has.
    pub fn requests(&self, shape: &ArtificialShape) -> f64 {
        match *self {
            Self::Bursts { slope, seconds, .. } => {
                let seconds = seconds as f64;
                seconds + slope * seconds * seconds / 2.0
            }
            Self::Sweep { step, ways, .. } => (shape.space / step.max(1)) as f64 * ways as f64,
            Self::Impulse {
                requests, impulses, ..
            } => requests as f64 * impulses as f64,
        }
    }
}

impl ArtificialLoad {
    /// A load that has not begun.
    pub fn new(plan: Artificial, shape: ArtificialShape, seed: &Seed) -> Self {
        Self {
            plan,
            shape,
            round: 0,
            within: 0,
            number: 0,
            places: seed.stream("load", "address"),
            ops: seed.stream("load", "op"),
        }
    }

    /// Places for a request.
    fn room(&self) -> u64 {
        let room = self
            .shape
            .space
            .saturating_sub(u64::from(self.shape.sectors.get()));
        room / self.shape.align.max(1) + 1
    }

    fn anywhere(&mut self) -> u64 {
        let room = self.room();
        self.places.below(room) * self.shape.align.max(1)
    }

    fn op(&mut self) -> Op {
        let reads = match self.shape.read_share {
            None => self.number.is_multiple_of(2),
            Some(share) => self.ops.chance(share),
        };
        if reads { Op::Read } else { Op::Write }
    }

    /// The requests of the round at hand.
    fn in_round(&self) -> u64 {
        match self.plan {
            Artificial::Bursts { slope, .. } => ((slope * self.round as f64) as u64).max(1),
            Artificial::Sweep { step, .. } => {
                let span = self
                    .shape
                    .space
                    .saturating_sub(u64::from(self.shape.sectors.get()));
                span / step.max(1) + 1
            }
            Artificial::Impulse { requests, .. } => requests,
        }
    }

    fn is_over(&self) -> bool {
        match self.plan {
            Artificial::Bursts { seconds, .. } => self.round > seconds,
            Artificial::Sweep { ways, .. } => self.round >= ways,
            Artificial::Impulse { impulses, .. } => self.round >= impulses,
        }
    }
}

impl Iterator for ArtificialLoad {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if self.within == self.in_round() {
            self.round += 1;
            self.within = 0;
        }
        if self.is_over() {
            return None;
        }
        let (start, sector, op) = match self.plan {
            Artificial::Bursts { spacing, .. } => {
                let begin = Nanos::from_secs(self.round);
                let start =
                    begin.saturating_add(Nanos::new(spacing.get().saturating_mul(self.within)));
                (start, self.anywhere(), self.op())
            }
            Artificial::Sweep { per_s, step, .. } => {
                let start = Nanos::from_secs_f64(self.number as f64 / per_s);
                let back = self.round % 2 == 1;
                let k = if back {
                    self.in_round() - 1 - self.within
                } else {
                    self.within
                };
                let op = match self.shape.read_share {
                    Some(share) if share == 0.0 || share == 1.0 => self.op(),
                    _ if back => Op::Write,
                    _ => Op::Read,
                };
                (start, k * step, op)
            }
            Artificial::Impulse { period, .. } => {
                let start = Nanos::new(period.get().saturating_mul(self.round));
                (start, self.anywhere(), self.op())
            }
        };
        self.within += 1;
        self.number += 1;
        Some(Request {
            start,
            sector: Sector::new(sector),
            sectors: self.shape.sectors,
            op,
            ..Request::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(read_share: Option<f64>) -> ArtificialShape {
        ArtificialShape {
            sectors: Sectors::new(2),
            read_share,
            space: 1000,
            align: 1,
        }
    }

    #[test]
    fn bursts_grow_by_the_slope_each_second() {
        let plan = Artificial::Bursts {
            slope: 10.0,
            spacing: Nanos::new(1),
            seconds: 300,
        };
        let all: Vec<_> = ArtificialLoad::new(plan, shape(None), &Seed::new(1)).collect();
        // The peer's own file of this kind has so many.
        assert_eq!(all.len(), 451_501);
        assert!(all.is_sorted_by_key(|r| r.start));
        assert!(
            all.iter()
                .enumerate()
                .all(|(i, r)| (r.op == Op::Read) == i.is_multiple_of(2))
        );
        assert_eq!(
            all.iter()
                .filter(|r| r.start.get() / 1_000_000_000 == 7)
                .count(),
            70
        );
        assert!(all.iter().all(|r| r.end().get() <= 1000));
    }

    #[test]
    fn a_sweep_goes_there_and_back() {
        let plan = Artificial::Sweep {
            per_s: 10.0,
            step: 100,
            ways: 2,
        };
        let all: Vec<_> = ArtificialLoad::new(plan, shape(None), &Seed::new(1)).collect();
        let sectors: Vec<u64> = all.iter().map(|r| r.sector.get()).collect();
        let there: Vec<u64> = (0..10).map(|i| i * 100).collect();
        let back: Vec<u64> = there.iter().rev().copied().collect();
        assert_eq!(sectors, [there, back].concat());
        assert!(
            all[..10].iter().all(|r| r.op == Op::Read)
                && all[10..].iter().all(|r| r.op == Op::Write)
        );
        assert_eq!(all[19].start, Nanos::from_millis(1900));
    }

    #[test]
    fn impulses_come_at_once() {
        let plan = Artificial::Impulse {
            requests: 5,
            period: Nanos::SECOND,
            impulses: 3,
        };
        let all: Vec<_> = ArtificialLoad::new(plan, shape(Some(1.0)), &Seed::new(1)).collect();
        let starts: Vec<u64> = all.iter().map(|r| r.start.get() / 1_000_000_000).collect();
        assert_eq!(starts, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
        assert!(all.iter().all(|r| r.op == Op::Read));
    }
}
