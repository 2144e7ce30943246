//! A load that makes a disk drive show its parameters: one request at a time, each chosen so that its response time
//! depends on a parameter that random reads leave open.
//!
//! | requests | show |
//! |---|---|
//! | reads anywhere, of several sizes | the rotation, long seeks |
//! | reads near the one before | short seeks, the overhead of a command |
//! | reads of what was read 1 to 64 requests ago | how many segments the buffer has |
//! | reads a little before and behind what was just read | read-ahead, the size of a segment |
//! | short sequential runs | read-ahead over tracks, the bus |
//! | long ones, and a read somewhere within | the size of a segment |
//! | writes anywhere | whether the buffer holds writes, the overhead of a write |

use std::collections::VecDeque;

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

/// What a probing load is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeShape {
    /// From one request to the next on average; each distance is 0.1 to 1.9 times this.
    pub spacing: Nanos,
    /// Places and sizes are multiples of this; requests have 1, 2, 4, 8 or 16 of it.
    pub block: Sectors,
    /// The share of writes.
    pub write_share: f64,
    /// Requests lie within this number of sectors.
    pub space: u64,
}

/// How many requests back a re-read goes at most.
const HISTORY: usize = 64;
/// The longest request, in blocks.
pub(crate) const LONGEST_BLOCKS: u64 = 16;
/// The shortest distance of a short seek, in sectors.
const NEAR: f64 = 512.0;
/// The longest sequential run, in requests.
const LONGEST_RUN: f64 = 64.0;
/// How far before and behind the last request is probed, in sectors.
const AROUND: f64 = 4096.0;

/// An endless probing load, in the order of time.
#[derive(Clone)]
pub struct ProbeLoad {
    shape: ProbeShape,
    now: Nanos,
    /// The last requests as sectors [begin, end), the newest first.
    before: VecDeque<(u64, u64)>,
    /// Requests of the sequential run at hand that are still to come, and their blocks.
    run: (u64, u64),
    /// Where the long run at hand began.
    long: Option<u64>,
    draws: Stream,
    times: Stream,
}

impl ProbeLoad {
    /// A load that has not begun. The space must hold the longest request, of 16 blocks.
    pub fn new(shape: ProbeShape, seed: &Seed) -> Self {
        Self {
            shape,
            now: Nanos::ZERO,
            before: VecDeque::with_capacity(HISTORY),
            run: (0, 0),
            long: None,
            draws: seed.stream("load", "address"),
            times: seed.stream("load", "arrival"),
        }
    }

    /// The least space that holds every request, in sectors.
    pub fn least_space(block: Sectors) -> u64 {
        LONGEST_BLOCKS * u64::from(block.get())
    }

    /// A number from 1 to `most`, each power of two as likely.
    fn logarithmic(&mut self, most: f64) -> f64 {
        most.max(1.0).powf(self.draws.uniform())
    }

    /// The same with a sign.
    fn either_way(&mut self, most: f64) -> i64 {
        let distance = self.logarithmic(most) as i64;
        match self.draws.chance(0.5) {
            true => distance,
            false => -distance,
        }
    }

    /// The sector that a read begins with, and its blocks.
    fn read(&mut self) -> (u64, u64) {
        let blocks = 1 << self.draws.below(5);
        let Some(&(begin, end)) = self.before.front() else {
            return (self.anywhere(), blocks);
        };
        if self.run.0 > 0 {
            self.run.0 -= 1;
            return (end, self.run.1);
        }
        if let Some(from) = self.long.take() {
            return (from + self.draws.below((end - from).max(1)), blocks);
        }
        let sector = match self.draws.below(60) {
            0..12 => self.anywhere(),
            12..36 => {
                let most = self.shape.space as f64 / 2.0 / NEAR;
                // Short seeks are short: they must be known better.
                let share = self.draws.uniform().powf(1.5);
                let distance = (NEAR * most.max(1.0).powf(share)) as i64;
                let sign = if self.draws.chance(0.5) { 1 } else { -1 };
                end.saturating_add_signed(sign * distance)
            }
            36..49 => {
                let back = self.logarithmic(self.before.len() as f64) as usize - 1;
                let (begin, end) = self.before[back];
                match self.draws.below(2) {
                    0 => begin,
                    _ => end,
                }
            }
            49..55 => end.saturating_add_signed(self.either_way(AROUND)),
            55..57 => begin.saturating_add_signed(-(self.logarithmic(AROUND) as i64)),
            57..59 => {
                self.run = (2 + self.draws.below(14), blocks);
                self.anywhere()
            }
            _ => {
                let from = self.anywhere();
                self.run = (self.logarithmic(LONGEST_RUN) as u64, LONGEST_BLOCKS);
                self.long = Some(from);
                from
            }
        };
        (sector, blocks)
    }

    fn anywhere(&mut self) -> u64 {
        self.draws.below(self.shape.space)
    }
}

impl Iterator for ProbeLoad {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let block = u64::from(self.shape.block.get());
        let writes =
            self.run.0 == 0 && self.long.is_none() && self.draws.chance(self.shape.write_share);
        let (sector, blocks) = match writes {
            true => (self.anywhere(), 1 << self.draws.below(5)),
            false => self.read(),
        };
        let sectors = blocks * block;
        let begin = (sector / block * block).min((self.shape.space - sectors) / block * block);
        self.before.truncate(HISTORY - 1);
        self.before.push_front((begin, begin + sectors));
        let start = self.now;
        let factor = 0.1 + 1.8 * self.times.uniform();
        let gap = Nanos::new((self.shape.spacing.get() as f64 * factor) as u64);
        self.now = self.now.saturating_add(gap);
        Some(Request {
            start,
            sector: Sector::new(begin),
            sectors: Sectors::new(sectors as u32),
            op: if writes { Op::Write } else { Op::Read },
            ..Request::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(write_share: f64) -> Vec<Request> {
        let shape = ProbeShape {
            spacing: Nanos::from_millis(50),
            block: Sectors::new(2),
            write_share,
            space: 100_000,
        };
        ProbeLoad::new(shape, &Seed::new(1)).take(20_000).collect()
    }

    #[test]
    fn requests_lie_within_the_space_in_whole_blocks_and_in_the_order_of_time() {
        let all = load(0.1);
        assert!(all.is_sorted_by_key(|r| r.start));
        assert!(all.iter().all(|r| r.end().get() <= 100_000));
        assert!(all.iter().all(|r| r.sector.get() % 2 == 0));
        let mean = all[all.len() - 1].start.as_secs_f64() / all.len() as f64;
        // Uniform from 0.1 to 1.9: a standard deviation of 0.52 of the mean.
        assert!((mean / 0.05 - 1.0).abs() < 4.0 * 0.52 / (all.len() as f64).sqrt());
    }

    #[test]
    fn every_distance_of_a_reread_comes_and_writes_have_their_share() {
        let all = load(0.1);
        let writes = all.iter().filter(|r| r.op == Op::Write).count() as f64;
        // Runs hold no writes: 0.05 of the episodes have 8.5 or 15 further reads each.
        assert!(
            (0.05..0.09).contains(&(writes / all.len() as f64)),
            "{writes}"
        );
        assert!(load(0.0).iter().all(|r| r.op == Op::Read));
        let mut seen = [0_u32; HISTORY];
        for i in HISTORY..all.len() {
            if let Some(back) = (0..HISTORY).find(|k| all[i - 1 - k].sector == all[i].sector) {
                seen[back] += 1;
            }
        }
        assert!(seen[..32].iter().all(|&n| n >= 5), "{seen:?}");
    }
}
