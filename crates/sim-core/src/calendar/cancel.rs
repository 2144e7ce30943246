//! Which events have been cancelled.

/// What is needed to cancel an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    slot: u32,
    generation: u32,
}

impl EventId {
    pub(super) fn slot(self) -> u32 {
        self.slot
    }
}

/// The slot of an event that cannot be cancelled.
pub(super) const NOT_CANCELLABLE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    ToCome,
    Cancelled,
    Free,
}

/// A slot for each cancellable event that is to come. A slot's generation grows each time it is
/// freed, so an old [`EventId`] does not cancel the slot's next event.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancellations {
    slots: Vec<(u32, State)>,
    free: Vec<u32>,
    cancelled: usize,
}

impl Cancellations {
    /// How many cancelled events are in the calendar still.
    #[inline]
    pub(super) fn cancelled(&self) -> usize {
        self.cancelled
    }

    pub(super) fn claim(&mut self) -> EventId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, State::Free));
            let slot = u32::try_from(self.slots.len() - 1).unwrap_or(NOT_CANCELLABLE);
            assert_ne!(slot, NOT_CANCELLABLE, "fewer than 2^32 - 1 events at once");
            slot
        });
        let (generation, state) = &mut self.slots[slot as usize];
        *state = State::ToCome;
        EventId {
            slot,
            generation: *generation,
        }
    }

    pub(super) fn cancel(&mut self, id: EventId) -> bool {
        let (generation, state) = &mut self.slots[id.slot as usize];
        if *generation != id.generation || *state != State::ToCome {
            return false;
        }
        *state = State::Cancelled;
        self.cancelled += 1;
        true
    }

    /// If the event of `slot` was cancelled, frees the slot and says so: it leaves the calendar.
    pub(super) fn forget(&mut self, slot: u32) -> bool {
        if slot == NOT_CANCELLABLE || self.slots[slot as usize].1 != State::Cancelled {
            return false;
        }
        self.cancelled -= 1;
        self.release(slot);
        true
    }

    /// The event of `slot` happened.
    pub(super) fn happened(&mut self, slot: u32) {
        self.release(slot);
    }

    fn release(&mut self, slot: u32) {
        let (generation, state) = &mut self.slots[slot as usize];
        *generation = generation.wrapping_add(1);
        *state = State::Free;
        self.free.push(slot);
    }
}
