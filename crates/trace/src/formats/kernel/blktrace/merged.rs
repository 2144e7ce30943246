//! The events of all processors, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::super::event::{Event, Events};
use super::FileEvents;
use crate::{Metadata, Source, TraceError};

/// The number of events of each file that are sorted: CPUs write theirs nearly in order.
pub(super) const REORDERED: usize = 1024;

/// The events of several files, by time.
pub(super) struct Merged {
    files: Vec<FileEvents>,
    heap: BinaryHeap<Reverse<Waiting>>,
    number: u64,
    metadata: Metadata,
    lenient: bool,
    filled: bool,
}

/// An event with its place in the order: by time, then file, then as written.
pub(super) struct Waiting(u64, usize, u64, Event);

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1, self.2) == (other.0, other.1, other.2)
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1, self.2).cmp(&(other.0, other.1, other.2))
    }
}

impl Merged {
    pub(super) fn new(sources: Vec<Source>, lenient: bool) -> Self {
        let files: Vec<FileEvents> = sources
            .into_iter()
            .map(|source| FileEvents {
                input: io::BufReader::with_capacity(1 << 18, source.input),
                path: source.path,
                offset: 0,
                payload: Vec::new(),
                found: None,
                wall_clock: None,
            })
            .collect();
        let mut merged = Self {
            files,
            heap: BinaryHeap::new(),
            number: 0,
            metadata: Metadata::default(),
            lenient,
            filled: false,
        };
        merged
            .metadata
            .about
            .insert("files".to_owned(), merged.files.len().to_string());
        merged
    }

    fn pull(&mut self, file: usize) -> Result<(), TraceError> {
        if let Some(event) = self.files[file].next(&mut self.metadata, self.lenient)? {
            self.number += 1;
            self.heap
                .push(Reverse(Waiting(event.time, file, self.number, event)));
        }
        Ok(())
    }
}

impl Events for Merged {
    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        if !self.filled {
            self.filled = true;
            for file in 0..self.files.len() {
                for _ in 0..REORDERED {
                    self.pull(file)?;
                }
            }
        }
        let Some(Reverse(Waiting(_, file, _, event))) = self.heap.pop() else {
            return Ok(None);
        };
        self.pull(file)?;
        Ok(Some(event))
    }

    fn metadata(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn wall_clock(&self) -> Option<(u64, u64)> {
        self.files.iter().find_map(|file| file.wall_clock)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::event::Action;
    use super::*;
    use crate::{Flags, Op};

    #[test]
    fn waiting_events_are_ordered_by_time_then_file_then_as_written() {
        let event = Event {
            time: 1,
            action: Action::Queue,
            device: (8, 0),
            sector: 8,
            sectors: 1,
            op: Op::Read,
            flags: Flags::NONE,
            errno: 0,
            place: 0,
        };
        let waiting = |time, file, number| Waiting(time, file, number, event);
        let first = waiting(1, 2, 3);
        assert!(first == waiting(1, 2, 3));
        for later in [waiting(2, 0, 0), waiting(1, 3, 0), waiting(1, 2, 4)] {
            assert!(first != later && first < later);
        }
    }

    /// A record of version 8 in the byte order of large machines: a read of a sector that was queued.
    fn record(time: u64, sector: u64) -> Vec<u8> {
        let mut record = 0x6561_7408_u32.to_be_bytes().to_vec();
        record.extend(0_u32.to_be_bytes());
        record.extend(time.to_be_bytes());
        record.extend(sector.to_be_bytes());
        record.extend(512_u32.to_be_bytes());
        record.extend(0_u32.to_be_bytes());
        record.extend((1_u64 << 16 | 1).to_be_bytes());
        record.resize(64, 0);
        record
    }

    /// The times and sectors of the events of these files.
    fn merged(files: &[&[(u64, u64)]]) -> Vec<(u64, u64)> {
        let source = |records: &&[(u64, u64)]| Source {
            input: Box::new(io::Cursor::new(
                records
                    .iter()
                    .flat_map(|(time, sector)| record(*time, *sector))
                    .collect::<Vec<u8>>(),
            )),
            path: "x".into(),
            file: None,
            cut: crate::CutOff::default(),
        };
        let mut merged = Merged::new(files.iter().map(source).collect(), false);
        let next = || merged.next_event().unwrap();
        let all = std::iter::from_fn(next).map(|event| (event.time, event.sector));
        all.collect()
    }

    #[test]
    fn events_at_one_time_come_in_the_order_of_their_files_and_as_written() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for sector in (0..100).rev() {
            one.push((5, sector));
            other.push((5, 1000 + sector));
        }
        let expected = [&one[..], &other].concat();
        assert_eq!(merged(&[&one, &other]), expected);
        let times = merged(&[&[(1, 0), (4, 0)], &[(2, 0), (3, 0), (9, 0)], &[]]);
        assert_eq!(
            times.iter().map(|e| e.0).collect::<Vec<_>>(),
            [1, 2, 3, 4, 9]
        );
    }

    #[test]
    fn an_event_may_be_late_by_as_many_as_are_sorted() {
        for (late, first) in [(REORDERED - 1, 0), (REORDERED, 10)] {
            let mut file: Vec<(u64, u64)> = (0..late as u64).map(|i| (10 + i, 0)).collect();
            file.push((0, 0));
            let events = merged(&[&file]);
            assert_eq!(events.len(), late + 1);
            assert_eq!(events[0].0, first, "{late}");
        }
    }
}
