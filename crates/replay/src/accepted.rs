//! The table of a target's requests that have been accepted and are not complete.

use iosonar_trace::{Record, Request};
use iosonar_units::Nanos;

use crate::ideal::Start;

/// A request at the device, or waiting for submission because others are in its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) request: Request,
    /// When it should have been submitted.
    pub(crate) planned: Nanos,
    /// When a replay that is never late by its own fault would have done so; `None` of what was pushed back.
    pub(crate) ideal: Option<Nanos>,
    /// The same before it is submitted.
    pub(crate) start: Option<Start>,
    /// When it was.
    pub(crate) handed: Nanos,
    /// The engine has it.
    pub(crate) submitted: bool,
    /// Its number among the writes, where these are verified.
    pub(crate) number: u32,
    /// It had to wait for others that overlap it.
    pub(crate) pushed_back: bool,
    /// It is a write that is being read back; this is its record so far.
    pub(crate) reading_back: Option<Record>,
}

/// A fixed number of places; claiming and releasing one allocates nothing.
pub(crate) struct Accepted {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Accepted {
    pub(crate) fn new(places: u32) -> Self {
        let empty = Entry {
            request: Request::default(),
            planned: Nanos::ZERO,
            ideal: None,
            start: None,
            handed: Nanos::ZERO,
            submitted: false,
            number: 0,
            pushed_back: false,
            reading_back: None,
        };
        Self {
            entries: vec![empty; places as usize],
            // The lowest first: what was used lately is in the cache.
            free: (0..places).rev().collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// The slot that a request would get; `None` if all are taken.
    #[inline]
    pub(crate) fn next_free(&self) -> Option<u32> {
        self.free.last().copied()
    }

    #[inline]
    pub(crate) fn claim(&mut self, request: Request, planned: Nanos) -> Option<u32> {
        let slot = self.free.pop()?;
        let entry = &mut self.entries[slot as usize];
        entry.request = request;
        entry.planned = planned;
        entry.ideal = None;
        entry.start = None;
        entry.handed = planned;
        entry.submitted = false;
        entry.number = 0;
        entry.pushed_back = false;
        entry.reading_back = None;
        Some(slot)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: u32) -> Entry {
        debug_assert!(!self.free.contains(&slot), "a request completes once");
        self.free.push(slot);
        self.entries[slot as usize]
    }

    /// The slots that are taken, in no order.
    pub(crate) fn taken(&self) -> Vec<u32> {
        let mut free = vec![false; self.entries.len()];
        self.free
            .iter()
            .for_each(|&slot| free[slot as usize] = true);
        (0..self.entries.len() as u32)
            .filter(|&slot| !free[slot as usize])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_takes_no_more_until_a_place_is_released() {
        let mut table = Accepted::new(2);
        let claim = |table: &mut Accepted| table.claim(Request::default(), Nanos::ZERO);
        let (a, b) = (claim(&mut table).unwrap(), claim(&mut table).unwrap());
        assert_eq!((a, b, table.next_free()), (0, 1, None));
        assert_eq!(table.taken(), [0, 1]);
        assert_eq!(claim(&mut table), None);
        table.release(a);
        assert_eq!(claim(&mut table), Some(a));
    }

    #[test]
    fn a_table_is_empty_when_every_place_was_released() {
        let mut table = Accepted::new(2);
        assert!(table.is_empty());
        let claimed = [(); 2].map(|()| table.claim(Request::default(), Nanos::ZERO));
        assert!(!table.is_empty());
        for (slot, is_empty) in claimed.into_iter().flatten().zip([false, true]) {
            table.release(slot);
            assert_eq!(table.is_empty(), is_empty);
        }
        assert!(Accepted::new(0).is_empty());
    }
}
