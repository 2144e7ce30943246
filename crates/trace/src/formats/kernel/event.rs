//! One event of the block layer.

use crate::text::{Letters, op_of_letters};
use crate::{Flags, Metadata, Op, TraceError};

/// What happened. Anything else is of no matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Queue,
    BackMerge,
    FrontMerge,
    Get,
    Insert,
    Issue,
    /// The driver gave it back: it will be issued again.
    Requeue,
    Complete,
}

/// An event that has to do with a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// In nanoseconds, of whatever clock.
    pub(super) time: u64,
    pub(super) action: Action,
    /// Major and minor number.
    pub(super) device: (u32, u32),
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) op: Op,
    pub(super) flags: Flags,
    pub(super) errno: u16,
    /// Where it stands in its file.
    pub(super) place: u64,
}

/// A source of events in the order of their times.
pub(super) trait Events: Send {
    fn next_event(&mut self) -> Result<Option<Event>, TraceError>;

    /// What begins the requests of a device, where that is known and differs from device to device.
    fn begins(&self, device: (u32, u32)) -> Option<Action> {
        let _ = device;
        None
    }

    /// Whether the next event has not happened yet.
    fn would_wait(&self) -> bool {
        false
    }

    /// Notices, remarks, and the wall clock of the time `origin.0`, in nanoseconds since 1970.
    fn metadata(&mut self) -> &mut Metadata;

    /// A time of the events' clock, and the nanoseconds since 1970 at that moment.
    fn wall_clock(&self) -> Option<(u64, u64)> {
        None
    }

    /// Whether times count from the recording's beginning, and stay as they are.
    fn counts_from_beginning(&self) -> bool {
        false
    }
}

impl Action {
    pub(super) fn of_letter(letters: &[u8]) -> Option<Self> {
        Some(match letters {
            b"Q" => Self::Queue,
            b"M" => Self::BackMerge,
            b"F" => Self::FrontMerge,
            b"G" => Self::Get,
            b"I" => Self::Insert,
            b"D" => Self::Issue,
            b"R" => Self::Requeue,
            b"C" => Self::Complete,
            _ => return None,
        })
    }
}

/// What an event is about, from its letters and its length; `None` for a command that moves no data.
pub(super) fn op_of_event(letters: &[u8], sectors: u32) -> Option<(Op, Flags)> {
    // Kernels before 7.0 print write-zeroes, which has a length, like commands, which have none.
    let nothing = letters.iter().all(|b| matches!(b, b'N' | b'S' | b'M'));
    if nothing && letters.contains(&b'N') && sectors > 0 {
        return Some((Op::WriteZeroes, Flags::NONE));
    }
    // B: the barrier of old kernels.
    let without_barrier: Vec<u8> = letters.iter().copied().filter(|&b| b != b'B').collect();
    let Letters { op, flags, .. } = op_of_letters(&without_barrier)?;
    match (op, sectors) {
        (Op::Flush, _) => Some((Op::Flush, flags)),
        // An empty write that carries a flush is a flush.
        (_, 0) if flags.contains(Flags::FUA) => Some((Op::Flush, flags.without(Flags::FUA))),
        (_, 0) => None,
        (op, _) => Some((op, flags)),
    }
}

/// The error number of a completion: positive, negative, or as 16 bits of a negative number.
pub(super) fn errno_of(number: i64) -> u16 {
    match number {
        0 => 0,
        n @ 0x8000..=0xffff => (0x1_0000 - n) as u16,
        n => u16::try_from(n.unsigned_abs()).unwrap_or(u16::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_lengths_tell_what_an_event_is_about() {
        let op = |letters: &str, n| op_of_event(letters.as_bytes(), n).map(|(op, _)| op);
        assert_eq!(op("WS", 8), Some(Op::Write));
        assert_eq!(op("FWS", 0), Some(Op::Flush));
        assert_eq!(op("FWFSM", 8), Some(Op::Write));
        assert_eq!(op("FF", 0), Some(Op::Flush));
        assert_eq!(op("FN", 0), Some(Op::Flush));
        assert_eq!(op("DE", 8), Some(Op::Discard));
        assert_eq!(op("N", 0), None);
        assert_eq!(op("NS", 8), Some(Op::WriteZeroes));
        assert_eq!(
            [op("S", 8), op("M", 8), op("", 8), op("FN", 8)],
            [None, None, None, Some(Op::Flush)]
        );
        assert_eq!(op("WZS", 8), Some(Op::WriteZeroes));
        assert_eq!(op("RA", 8), Some(Op::Read));
        assert_eq!(op("R", 0), None);
        assert_eq!(
            [errno_of(65531), errno_of(-5), errno_of(5), errno_of(0)],
            [5, 5, 5, 0]
        );
    }

    #[test]
    fn an_action_has_a_letter_of_its_own() {
        for (letter, action) in [
            ("Q", Some(Action::Queue)),
            ("M", Some(Action::BackMerge)),
            ("F", Some(Action::FrontMerge)),
            ("G", Some(Action::Get)),
            ("I", Some(Action::Insert)),
            ("D", Some(Action::Issue)),
            ("R", Some(Action::Requeue)),
            ("C", Some(Action::Complete)),
            ("UT", None),
            ("q", None),
            ("", None),
        ] {
            assert_eq!(Action::of_letter(letter.as_bytes()), action, "{letter}");
        }
    }
}
