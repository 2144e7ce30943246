//! The load several times, one round behind the other.

use std::str::FromStr;

use iosonar_units::{Nanos, Sector};

use super::Spill;
use super::spool::{Cursor, Spool};
use super::time::possible;
use crate::limits::LIMIT;
use crate::{Batch, Metadata, TraceError, TraceReader};

/// How often a load is said: round r has `t + r (t_last - t_first)` and `sector + r * offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// How many rounds.
    pub rounds: Rounds,
    /// The shift per round, in sectors.
    pub offset: u64,
}

/// How many rounds a load is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// This number of rounds.
    Times(u64),
    /// Until starts reach this time.
    Until(Nanos),
}

impl FromStr for Rounds {
    type Err = String;

    /// A whole number of rounds, or a time with its unit.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u64>() {
            Ok(0) => Err("expected at least 1 round".to_owned()),
            Ok(n) => Ok(Self::Times(n)),
            // 2.5 is neither.
            Err(_) => match text.parse::<Nanos>() {
                Ok(t) if t > Nanos::ZERO && text.ends_with(char::is_alphabetic) => {
                    Ok(Self::Until(t))
                }
                _ => {
                    Err("expected a number of rounds, or a time with a unit such as 2h".to_owned())
                }
            },
        }
    }
}

/// More rounds of even the shortest load are never over.
const MOST_ROUNDS: u64 = 1_000_000_000;

pub(super) struct Repeated {
    inner: Box<dyn TraceReader>,
    repeat: Repeat,
    spool: Spool,
    round: u64,
    cursor: Cursor,
    /// The earliest and the latest start.
    first: Option<Nanos>,
    last: Nanos,
    ended: bool,
}

impl Repeated {
    pub(super) fn new(inner: Box<dyn TraceReader>, repeat: Repeat, spill: &Spill) -> Self {
        Self {
            inner,
            repeat,
            spool: Spool::new(spill),
            round: 0,
            cursor: Cursor::default(),
            first: None,
            last: Nanos::ZERO,
            ended: false,
        }
    }

    /// The next rows as they are in the load.
    fn raw(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        if self.round == 0 {
            if self.inner.next_batch(batch)? > 0 {
                self.spool.push(batch)?;
                for start in batch.starts() {
                    self.first = Some(self.first.map_or(*start, |first| first.min(*start)));
                    self.last = self.last.max(*start);
                }
                return Ok(());
            }
            self.spool.end_block()?;
            self.check_rounds()?;
            self.next_round();
        }
        while !self.ended {
            self.cursor.next_batch(&self.spool, batch)?;
            if !batch.is_empty() {
                return Ok(());
            }
            self.next_round();
        }
        Ok(())
    }

    /// Refuses rounds that would begin beyond all times, before the first of those that would not.
    fn check_rounds(&self) -> Result<(), TraceError> {
        // A round begins when the one before ends, which is at once.
        if self.span() == 0 && self.spool.rows() > 0 && self.repeat.rounds != Rounds::Times(1) {
            return Err(TraceError::Option(
                "--repeat needs a load that takes some time, but all requests of this one start at the same time, so \
                 all rounds would, too: remove --repeat, or give the requests different start times"
                    .to_owned(),
            ));
        }
        // A single round changes nothing.
        let Rounds::Times(n @ 2..) = self.repeat.rounds else {
            return Ok(());
        };
        let (span, last) = (u128::from(self.span()), u128::from(self.last.get()));
        let end = last + span * u128::from(n - 1);
        if end < u128::from(LIMIT) && n <= MOST_ROUNDS {
            return Ok(());
        }
        let most = match span {
            0 => u128::from(MOST_ROUNDS),
            span => (u128::saturating_sub(u128::from(LIMIT) - 1, last) / span + 1)
                .min(u128::from(MOST_ROUNDS)),
        };
        Err(TraceError::Option(format!(
            "--repeat must be at most {most} for this load, so that it ends within 292 years (got {n}); or give a time, \
             such as --repeat 2h"
        )))
    }

    fn next_round(&mut self) {
        self.round += 1;
        self.cursor = Cursor::over(0, self.spool.blocks());
        let first = self.first.unwrap_or_default();
        let begin = first.saturating_add(Nanos::new(self.span().saturating_mul(self.round)));
        let is_over = match self.repeat.rounds {
            Rounds::Times(n) => self.round >= n,
            Rounds::Until(until) => begin >= until,
        };
        self.ended = is_over || self.spool.rows() == 0;
    }

    fn span(&self) -> u64 {
        self.last
            .saturating_sub(self.first.unwrap_or_default())
            .get()
    }
}

impl Repeated {
    /// Moves rows to where they are in the round at hand.
    fn move_on(&self, batch: &mut Batch) -> Result<(), TraceError> {
        let round = self.round;
        if round == 0 {
            return Ok(());
        }
        let by = self.span().saturating_mul(round);
        for start in batch.starts_mut() {
            *start = possible(start.get().checked_add(by), "--repeat")?;
        }
        let offset = self.repeat.offset.saturating_mul(round);
        for sector in batch.sector_column_mut() {
            let moved = sector.get().saturating_add(offset);
            if moved >= LIMIT {
                return Err(TraceError::Option(format!(
                    "round {round} of --repeat would move the request at sector {sector} beyond sector \
                     2^63 - 1: use a smaller --repeat-offset"
                )));
            }
            *sector = Sector::new(moved);
        }
        Ok(())
    }
}

impl TraceReader for Repeated {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while !self.ended {
            self.raw(batch)?;
            if batch.is_empty() {
                break;
            }
            self.move_on(batch)?;
            if let Rounds::Until(until) = self.repeat.rounds
                && batch.starts().iter().any(|start| *start >= until)
            {
                batch.retain(|r| r.request.start < until);
            }
            if !batch.is_empty() {
                break;
            }
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Status;
    use crate::testing::Given;

    /// The starts of a load of these batches, repeated.
    fn repeated(rounds: Rounds, load: &[&[u64]]) -> Result<Vec<u64>, TraceError> {
        let batches = load
            .iter()
            .map(|starts| Given::reads(starts.iter().map(|start| (*start, Status::Done))));
        let given = Box::new(Given::new(batches));
        let repeat = Repeat { rounds, offset: 0 };
        let mut reader = Repeated::new(given, repeat, &Spill::default());
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        while reader.next_batch(&mut batch)? > 0 {
            starts.extend(batch.starts().iter().map(|start| start.get()));
        }
        Ok(starts)
    }

    #[test]
    fn a_load_that_takes_no_time_can_be_said_once() {
        let until = Rounds::Until(Nanos::new(9));
        for rounds in [Rounds::Times(1), Rounds::Times(2), until] {
            let of_one_time = repeated(rounds, &[&[7, 7]]);
            if let Rounds::Times(1) = rounds {
                assert_eq!(of_one_time.unwrap(), [7, 7]);
            } else {
                let error = of_one_time.unwrap_err().to_string();
                assert!(error.contains("start at the same time"), "{error}");
            }
            assert!(repeated(rounds, &[]).unwrap().is_empty(), "{rounds:?}");
        }
    }

    #[test]
    fn rounds_are_a_whole_number_or_a_time_with_a_unit() {
        for (text, rounds) in [
            ("2", Some(Rounds::Times(2))),
            ("2.5s", Some(Rounds::Until(Nanos::from_millis(2_500)))),
            ("2h", Some(Rounds::Until(Nanos::from_secs(7_200)))),
            ("2.5", None),
            ("0", None),
            ("0s", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Rounds>().ok(), rounds, "{text:?}");
        }
    }

    #[test]
    fn rounds_until_a_time_have_no_request_at_it_or_after() {
        let until = |t| Rounds::Until(Nanos::new(t));
        for (load, end, expected) in [
            // Round r starts at 5 + 10 r.
            (&[&[5_u64, 15][..]][..], 25, &[5_u64, 15, 15][..]),
            (&[&[5, 15]], 26, &[5, 15, 15, 25, 25]),
            (&[&[5], &[20]], 20, &[5]),
            (&[&[5], &[30], &[6]], 20, &[5, 6]),
            (&[&[5, 15]], 5, &[]),
        ] {
            assert_eq!(repeated(until(end), load).unwrap(), expected, "{end}");
        }
    }
}
