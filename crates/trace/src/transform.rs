//! Transformations of loads: each is a [`Change`], and they compose in the order in which they are given.
//!
//! Those that need no more than the request at hand stream. Repeating, copying, reversing and sorting keep the
//! load packed in memory up to a limit, and in a temporary file beyond it ([`Spill`]).

mod command;
mod copies;
mod derive;
mod merge;
mod order;
mod place;
mod ratio;
mod repeat;
mod reverse;
mod select;
mod spool;
mod streamed;
mod time;
mod written;

use std::path::PathBuf;

use iosonar_units::{Bytes, Nanos};

pub use copies::Copies;
pub use derive::{Derived, derive};
pub use merge::{Extent, Merged, Pasted, extents_of};
pub use order::{OnBackstep, SortedByStart};
pub use place::{Resize, Scatter, Slip, Spread};
pub use ratio::Ratio;
pub use repeat::{Repeat, Rounds};
use streamed::Streamed;
pub use written::{
    CHANGE_NAMES, ChangeError, Ops, Substitution, Window, changes_of, probability, ramp, written,
};

use crate::{Op, TraceError, TraceReader};

/// One transformation.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Keeps the requests with `from <= start < until`, at their own times.
    Select {
        /// The first start that is kept.
        from: Nanos,
        /// The first start that is not.
        until: Nanos,
    },
    /// Keeps the requests with one of these operations.
    Ops(Vec<Op>),
    /// Says the whole load several times, one round behind the other.
    Repeat(Repeat),
    /// Merges independent copies of the load, shifted in time and space.
    ScaleLoad(Copies),
    /// What happens where time goes back.
    OnBackstep(OnBackstep),
    /// Moves requests further and further: request k, counted from 1, by `increment * floor(k / every)`.
    Slip(Slip),
    /// Replaces one operation by another.
    Substitute {
        /// What is replaced.
        from: Op,
        /// By what.
        to: Op,
    },
    /// Stretches positions.
    Spread(Spread),
    /// Places chunks elsewhere.
    Scatter(Scatter),
    /// Changes lengths.
    Resize(Resize),
    /// Keeps the times, and takes everything else in reverse order.
    Reverse,
    /// Divides times: 2 is twice as fast.
    Speed(Ratio),
    /// Adds to all times.
    Shift(Nanos),
    /// Subtracts the first request's start from all times: the load begins at zero.
    ZeroFirst,
    /// Replaces times by those of a load that grows: `t0 = 0, t(i+1) = t(i) + 1 / max(1, R t(i))`.
    RampLoad {
        /// R, in requests per second per second.
        per_s2: f64,
    },
    /// Pipes the text of the load through a shell command.
    Command(String),
    /// Keeps each request with this probability.
    Sample {
        /// The probability.
        share: f64,
    },
}

/// Where the transformations that need the whole load keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Spill {
    /// The folder for temporary files beyond `memory`; the system's if `None`.
    #[cfg_attr(feature = "serde", serde(rename = "spill_dir"))]
    pub dir: Option<PathBuf>,
    /// How many bytes of packed requests are kept in memory.
    #[cfg_attr(feature = "serde", serde(rename = "spill_memory"))]
    pub memory: Bytes,
}

impl Default for Spill {
    /// 64 MiB in memory, some ten million requests; the system's folder for temporary files.
    fn default() -> Self {
        Self {
            dir: None,
            memory: Bytes::new(64 << 20),
        }
    }
}

impl Change {
    /// What `inner` reads, changed. With `sorted`, the load is known to be sorted by start, and reading
    /// ends when a window has passed.
    ///
    /// # Errors
    /// If a command cannot be started.
    pub fn apply(
        &self,
        inner: Box<dyn TraceReader>,
        path: &std::path::Path,
        spill: &Spill,
        sorted: bool,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(match self {
            Self::Select { from, until } => Box::new(Streamed::new(
                inner,
                path,
                select::Window {
                    from: *from,
                    until: *until,
                    sorted,
                },
            )),
            Self::Ops(ops) => Box::new(Streamed::new(inner, path, select::OnlyOps(ops.clone()))),
            Self::Sample { share } => {
                Box::new(Streamed::new(inner, path, select::Sample::new(*share)))
            }
            Self::Repeat(repeat) => Box::new(repeat::Repeated::new(inner, *repeat, spill)),
            // One copy is the load itself.
            Self::ScaleLoad(copies) if copies.get() == 1 => inner,
            Self::ScaleLoad(copies) => {
                let sorted: Box<dyn TraceReader> = match sorted {
                    true => inner,
                    false => Box::new(order::Sorted::new(inner, path, spill)),
                };
                Box::new(copies::Scaled::new(sorted, *copies, spill))
            }
            Self::OnBackstep(OnBackstep::Error) => {
                Box::new(SortedByStart::new(inner, path.to_owned()))
            }
            Self::OnBackstep(OnBackstep::Shift) => {
                Box::new(Streamed::new(inner, path, order::ShiftBacksteps::default()))
            }
            Self::OnBackstep(OnBackstep::Sort) => Box::new(order::Sorted::new(inner, path, spill)),
            Self::Slip(slip) => Box::new(Streamed::new(inner, path, place::Slipping::new(*slip))),
            Self::Substitute { from, to } => Box::new(Streamed::new(
                inner,
                path,
                place::Substitute {
                    from: *from,
                    to: *to,
                },
            )),
            Self::Spread(spread) => Box::new(Streamed::new(inner, path, *spread)),
            Self::Scatter(scatter) => Box::new(Streamed::new(inner, path, *scatter)),
            Self::Resize(resize) => Box::new(Streamed::new(inner, path, *resize)),
            Self::Reverse => Box::new(reverse::Reversed::new(inner, spill)),
            Self::Speed(ratio) => Box::new(Streamed::new(inner, path, time::Speed(*ratio))),
            Self::Shift(by) => Box::new(Streamed::new(inner, path, time::Shift(*by))),
            Self::ZeroFirst => Box::new(Streamed::new(inner, path, time::ZeroFirst::default())),
            Self::RampLoad { per_s2 } => {
                Box::new(Streamed::new(inner, path, time::Ramp::new(*per_s2)))
            }
            Self::Command(command) => Box::new(command::piped(inner, path, command)?),
        })
    }
}

/// Where the beginning of a window lies when all `changes` have been made: a replay's time zero.
pub fn beginning(changes: &[Change]) -> Nanos {
    changes
        .iter()
        .fold(Nanos::ZERO, |zero, change| match change {
            Change::Select { from, .. } => zero.max(*from),
            Change::Speed(ratio) => ratio.divide(zero.get()).map_or(Nanos::MAX, Nanos::new),
            Change::Shift(by) => zero.saturating_add(*by),
            Change::RampLoad { .. } | Change::ZeroFirst => Nanos::ZERO,
            _ => zero,
        })
}

/// All of `changes`, one behind the other.
///
/// # Errors
/// As [`Change::apply`].
pub fn apply_all(
    changes: &[Change],
    mut reader: Box<dyn TraceReader>,
    path: &std::path::Path,
    spill: &Spill,
    sorted: bool,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let mut sorted = sorted;
    for change in changes {
        reader = change.apply(reader, path, spill, sorted)?;
        match change {
            Change::OnBackstep(_) => sorted = true,
            Change::ScaleLoad(copies) => sorted |= copies.get() > 1,
            Change::Command(_) => sorted = false,
            _ => {}
        }
    }
    Ok(reader)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::Given;
    use crate::{Batch, Status};

    fn given(starts: impl IntoIterator<Item = u64>) -> Box<dyn TraceReader> {
        let rows = starts.into_iter().map(|start| (start, Status::Done));
        Box::new(Given::new([Given::reads(rows)]))
    }

    /// The starts that a reader gives.
    fn starts(reader: &mut dyn TraceReader) -> Result<Vec<u64>, TraceError> {
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        while reader.next_batch(&mut batch)? > 0 {
            starts.extend(batch.starts().iter().map(|start| start.get()));
        }
        Ok(starts)
    }

    fn applied(
        change: &Change,
        load: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<u64>, TraceError> {
        let (path, spill) = (Path::new("x"), Spill::default());
        starts(&mut *change.apply(given(load), path, &spill, false)?)
    }

    #[test]
    fn a_changed_load_keeps_the_names_of_its_devices() {
        let repeat = Repeat {
            rounds: Rounds::Times(2),
            offset: 0,
        };
        for change in [
            Change::Reverse,
            Change::Repeat(repeat),
            Change::ScaleLoad(Copies::new(2).unwrap()),
            Change::OnBackstep(OnBackstep::Sort),
            Change::OnBackstep(OnBackstep::Shift),
            Change::OnBackstep(OnBackstep::Error),
            Change::ZeroFirst,
        ] {
            let (path, spill) = (Path::new("x"), Spill::default());
            let mut reader = change.apply(given([1, 2]), path, &spill, true).unwrap();
            assert_eq!(reader.metadata().devices, ["sda"], "{change:?}");
            starts(&mut *reader).unwrap();
            assert_eq!(reader.metadata().devices, ["sda"], "{change:?}");
        }
        let mut pasted = Pasted::new(vec![given([1]), given([2])]);
        starts(&mut pasted).unwrap();
        assert_eq!(pasted.metadata().devices, ["sda"]);
        let (piece, spill) = (Nanos::new(10), Spill::default());
        let derived = derive(given([1, 12, 13, 25]), Path::new("x"), piece, 1, &spill).unwrap();
        // The last piece is not known to be whole.
        assert_eq!(derived.pieces(), 2);
        assert_eq!(derived.metadata().devices, ["sda"]);
    }

    #[test]
    fn a_window_begins_where_the_changes_move_it() {
        let select = |from| Change::Select {
            from: Nanos::new(from),
            until: Nanos::MAX,
        };
        let speed = |ratio: &str| Change::Speed(ratio.parse().unwrap());
        let shift = |by| Change::Shift(Nanos::new(by));
        for (changes, begin) in [
            (vec![], 0),
            (vec![Change::Reverse], 0),
            (vec![select(7)], 7),
            (vec![select(7), select(5)], 7),
            (vec![select(8), speed("2")], 4),
            (vec![select(8), speed("0.5"), shift(3)], 19),
            (vec![shift(3), select(2)], 3),
            (vec![select(8), Change::ZeroFirst], 0),
            (vec![select(8), Change::RampLoad { per_s2: 1.0 }], 0),
            (vec![select(8), Change::ZeroFirst, shift(3)], 3),
            (vec![select(u64::MAX), speed("0.5")], u64::MAX),
        ] {
            assert_eq!(beginning(&changes), Nanos::new(begin), "{changes:?}");
        }
    }

    #[test]
    fn a_load_that_begins_at_zero_has_the_same_gaps() {
        assert_eq!(
            applied(&Change::ZeroFirst, [40, 45, 60]).unwrap(),
            [0, 5, 20]
        );
        let error = applied(&Change::ZeroFirst, [40, 39])
            .unwrap_err()
            .to_string();
        assert!(error.contains("sort the load first"), "{error}");
    }

    #[test]
    fn a_window_of_a_sorted_load_ends_the_reading() {
        let change = Change::Select {
            from: Nanos::new(10),
            until: Nanos::new(20),
        };
        let read = |sorted, batches: &[&[u64]]| {
            let batches = batches
                .iter()
                .map(|starts| Given::reads(starts.iter().map(|start| (*start, Status::Done))));
            let given = Box::new(Given::new(batches));
            let (path, spill) = (Path::new("x"), Spill::default());
            starts(&mut *change.apply(given, path, &spill, sorted).unwrap()).unwrap()
        };
        // 19 may be followed by more of the window, 20 may not, unless the load is not sorted.
        let batches: [&[u64]; 3] = [&[9, 10, 19], &[19, 20], &[12]];
        assert_eq!(read(true, &batches), [10, 19, 19]);
        assert_eq!(read(false, &batches), [10, 19, 19, 12]);
        assert_eq!(read(true, &[&[1, 2], &[15]]), [15]);
        assert_eq!(read(true, &[&[21], &[15]]), [0_u64; 0]);
    }

    #[test]
    fn rounds_that_would_end_beyond_all_times_are_refused_with_the_most() {
        let repeated = |rounds, load: [u64; 2]| {
            let repeat = Repeat {
                rounds: Rounds::Times(rounds),
                offset: 0,
            };
            applied(&Change::Repeat(repeat), load)
        };
        // Of a load from 2^60 to 2^61, round r ends at 2^61 + r 2^60, which is below 2^63 for r up to 5.
        let long = [1 << 60, 1 << 61];
        assert_eq!(repeated(6, long).unwrap().len(), 12);
        let error = repeated(7, long).unwrap_err().to_string();
        assert!(
            error.contains("at most 6 for this load") && error.contains("got 7"),
            "{error}"
        );
        // It may end in the last nanosecond, and no later.
        assert_eq!(repeated(2, [1, 1 << 62]).unwrap().len(), 4);
        let error = repeated(2, [0, 1 << 62]).unwrap_err().to_string();
        assert!(error.contains("at most 1 for this load"), "{error}");
        let error = repeated(1_000_000_001, [5, 6]).unwrap_err().to_string();
        assert!(
            error.contains("at most 1000000000 for this load"),
            "{error}"
        );
    }

    #[test]
    fn a_load_that_ends_beyond_all_times_can_be_said_once() {
        let repeated = |rounds| {
            let repeat = Repeat {
                rounds: Rounds::Times(rounds),
                offset: 0,
            };
            applied(&Change::Repeat(repeat), [0, 1 << 63])
        };
        assert_eq!(repeated(1).unwrap(), [0, 1 << 63]);
        let error = repeated(2).unwrap_err().to_string();
        assert!(error.contains("at most 1 for this load"), "{error}");
    }

    #[test]
    fn a_command_that_has_enough_ends_the_load() {
        // The header and a row, of more text than a pipe holds.
        let head = Change::Command("head -n 2".to_owned());
        assert_eq!(applied(&head, 0..5_000).unwrap(), [0]);
        let mut piped = head
            .apply(given([7]), Path::new("x"), &Spill::default(), true)
            .unwrap();
        assert!(piped.metadata().devices.is_empty(), "text knows no devices");
        assert_eq!(starts(&mut *piped).unwrap(), [7]);
    }

    #[test]
    fn a_window_behind_other_changes_ends_where_they_leave_a_sorted_load() {
        let window = Change::Select {
            from: Nanos::ZERO,
            until: Nanos::new(10),
        };
        let copies = |n| Change::ScaleLoad(Copies::new(n).unwrap());
        let read = |change: Change, sorted, load: &[&[u64]]| {
            let batches = load
                .iter()
                .map(|starts| Given::reads(starts.iter().map(|start| (*start, Status::Done))));
            let (given, changes) = (Box::new(Given::new(batches)), [change, window.clone()]);
            let reader = apply_all(&changes, given, Path::new("x"), &Spill::default(), sorted);
            starts(&mut *reader?)
        };
        let load: &[&[u64]] = &[&[5], &[20], &[3]];
        // What checks the order is not read on to its error.
        let checked = || Change::OnBackstep(OnBackstep::Error);
        assert_eq!(read(checked(), false, load).unwrap(), [5]);
        assert!(read(checked(), false, &[&[5], &[3]]).is_err());
        // A single copy is the load itself.
        assert_eq!(read(copies(1), true, load).unwrap(), [5]);
        assert_eq!(read(copies(1), false, load).unwrap(), [5, 3]);
    }

    #[test]
    fn a_load_behind_a_command_is_in_no_order() {
        let changes = [
            Change::Command("tail -n +2 | tac".to_owned()),
            Change::Select {
                from: Nanos::ZERO,
                until: Nanos::new(2),
            },
        ];
        // More than a batch of the reversed load is behind the window.
        let load = given(0..3 * Batch::ROWS as u64);
        let reader = apply_all(&changes, load, Path::new("x"), &Spill::default(), true);
        assert_eq!(starts(&mut *reader.unwrap()).unwrap(), [1, 0]);
    }

    #[test]
    fn no_change_has_more_rows_in_a_batch_than_any() {
        let most = Batch::ROWS;
        let rows = |n: usize| (0..n as u64).map(|start| (start, Status::Done));
        // All of a batch and one more.
        let load = || {
            Box::new(Given::new([
                Given::reads(rows(most)),
                Given::reads([(most as u64, Status::Done)]),
            ]))
        };
        let sizes = |mut reader: Box<dyn TraceReader>| {
            let (mut batch, mut sizes) = (Batch::default(), Vec::new());
            while reader.next_batch(&mut batch).unwrap() > 0 {
                sizes.push(batch.len());
            }
            sizes
        };
        let changed = |change: Change| {
            let (path, spill) = (Path::new("x"), Spill::default());
            sizes(change.apply(load(), path, &spill, true).unwrap())
        };
        let copies = Change::ScaleLoad(Copies::new(2).unwrap());
        assert_eq!(changed(copies), [most, most, 2]);
        let again = Repeat {
            rounds: Rounds::Times(2),
            offset: 0,
        };
        assert_eq!(changed(Change::Repeat(again)), [most, 1, most, 1]);
        assert_eq!(
            changed(Change::Reverse).into_iter().sum::<usize>(),
            most + 1
        );
        let two: Vec<Box<dyn TraceReader>> = vec![load(), load()];
        assert_eq!(sizes(Box::new(Merged::new(two))), [most, most, 2]);
    }

    #[test]
    fn a_pasted_trace_is_moved_if_it_begins_before_the_end_of_the_one_before() {
        let pasted = |loads: &[&[&[u64]]]| {
            let load = |batches: &&[&[u64]]| -> Box<dyn TraceReader> {
                let batches = batches
                    .iter()
                    .map(|starts| Given::reads(starts.iter().map(|start| (*start, Status::Done))));
                Box::new(Given::new(batches))
            };
            starts(&mut Pasted::new(loads.iter().map(load).collect())).unwrap()
        };
        for (loads, expected) in [
            (
                &[&[&[1_u64, 5][..], &[6]][..], &[&[2], &[3]]][..],
                &[1_u64, 5, 6, 8, 9][..],
            ),
            // On one axis of time already.
            (&[&[&[1, 5]], &[&[5], &[7]]], &[1, 5, 5, 7]),
            (
                &[&[&[1, 5]], &[&[4], &[7]], &[&[6], &[8]]],
                &[1, 5, 9, 12, 18, 20],
            ),
            // Only where the next one begins.
            (&[&[&[9], &[4]], &[&[4], &[3]]], &[9, 4, 4, 3]),
            (&[&[], &[&[4]]], &[4]),
        ] {
            assert_eq!(pasted(loads), expected, "{loads:?}");
        }
    }
}
