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
}
