//! The one table of requests that have been handed over and are not complete.

use iosonar_trace::Request;
use iosonar_units::Nanos;

/// A request at the device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) request: Request,
    /// When it should have been handed over.
    pub(crate) planned: Nanos,
    /// When it was.
    pub(crate) handed: Nanos,
}

/// A fixed number of places; claiming and releasing one allocates nothing.
pub(crate) struct InFlight {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl InFlight {
    pub(crate) fn new(places: u32) -> Self {
        Self {
            entries: vec![Entry::default(); places as usize],
            // The lowest first, so that few buffers are used while few requests are in flight.
            free: (0..places).rev().collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    #[inline]
    pub(crate) fn claim(&mut self, request: Request, planned: Nanos) -> Option<u32> {
        let slot = self.free.pop()?;
        self.entries[slot as usize] = Entry {
            request,
            planned,
            handed: Nanos::ZERO,
        };
        Some(slot)
    }

    /// Notes when a request was handed over; returns when that was planned.
    #[inline]
    pub(crate) fn handed_over(&mut self, slot: u32, now: Nanos) -> Nanos {
        let entry = &mut self.entries[slot as usize];
        entry.handed = now;
        entry.planned
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: u32) -> Entry {
        debug_assert!(!self.free.contains(&slot), "a request completes once");
        self.free.push(slot);
        self.entries[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_takes_no_more_until_a_place_is_released() {
        let mut table = InFlight::new(2);
        let claim = |table: &mut InFlight| table.claim(Request::default(), Nanos::ZERO);
        let (a, b) = (claim(&mut table).unwrap(), claim(&mut table).unwrap());
        assert_eq!((a, b, table.is_full()), (0, 1, true));
        assert_eq!(claim(&mut table), None);
        table.release(a);
        assert_eq!(claim(&mut table), Some(a));
    }
}
