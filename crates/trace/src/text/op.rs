//! Operations as letters, as the kernel's tools print them.

use crate::{Flags, Op};

/// What letters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letters {
    pub(crate) op: Op,
    pub(crate) flags: Flags,
    /// A letter was lower case: blkreplay's mark of a request that was held back.
    pub(crate) pushed_back: bool,
}

/// Operation and flags from letters such as `R`, `WS`, `RA`, `FWFS`, `D`.
///
/// R or W decides; D alone is a discard, F alone a flush, Z with W or alone write-zeroes; A read-ahead,
/// S sync, M meta; F beside W is FUA or a flush in front; `None` for anything else.
#[inline]
pub(crate) fn op_of_letters(letters: &[u8]) -> Option<Letters> {
    // By far the most common ones first.
    let simple = |op| {
        Some(Letters {
            op,
            flags: Flags::NONE,
            pushed_back: false,
        })
    };
    match letters {
        b"R" => return simple(Op::Read),
        b"W" => return simple(Op::Write),
        _ => {}
    }
    let mut op = None;
    let mut flags = Flags::NONE;
    let (mut discard, mut flush, mut zeroes, mut pushed_back) = (false, false, false, false);
    for &letter in letters {
        match letter {
            b'R' | b'r' if op != Some(Op::Write) => op = Some(Op::Read),
            b'W' | b'w' if op != Some(Op::Read) => op = Some(Op::Write),
            b'D' | b'd' => discard = true,
            b'F' | b'f' => flush = true,
            b'Z' | b'z' => zeroes = true,
            b'A' => flags = flags.with(Flags::READ_AHEAD),
            b'S' => flags = flags.with(Flags::SYNC),
            b'M' => flags = flags.with(Flags::META),
            // No data; secure (of an erase); an atomic write's U.
            b'N' | b'E' | b'U' => {}
            _ => return None,
        }
        pushed_back |= letter.is_ascii_lowercase();
    }
    let op = match op {
        Some(Op::Write) | None if zeroes => Op::WriteZeroes,
        Some(op) => {
            if flush {
                flags = flags.with(Flags::FUA);
            }
            op
        }
        None if discard => Op::Discard,
        None if flush => Op::Flush,
        None => return None,
    };
    Some(Letters {
        op,
        flags,
        pushed_back,
    })
}

/// The operation that a word means: `R`, `read`, `Write`, `w`.
pub(crate) fn direction(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
        _ if word.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ if word.eq_ignore_ascii_case(b"write") => Some(Op::Write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_say_what_a_request_is_about() {
        let (none, sync) = (Flags::NONE, Flags::SYNC);
        for (letters, expected) in [
            ("R", Some((Op::Read, none, false))),
            ("W", Some((Op::Write, none, false))),
            ("r", Some((Op::Read, none, true))),
            ("w", Some((Op::Write, none, true))),
            ("RR", Some((Op::Read, none, false))),
            ("WW", Some((Op::Write, none, false))),
            ("RW", None),
            ("WR", None),
            ("wr", None),
            ("RS", Some((Op::Read, sync, false))),
            ("SR", Some((Op::Read, sync, false))),
            ("RA", Some((Op::Read, Flags::READ_AHEAD, false))),
            ("WM", Some((Op::Write, Flags::META, false))),
            ("FWFS", Some((Op::Write, sync.with(Flags::FUA), false))),
            ("RF", Some((Op::Read, Flags::FUA, false))),
            ("D", Some((Op::Discard, none, false))),
            ("dS", Some((Op::Discard, sync, true))),
            ("DE", Some((Op::Discard, none, false))),
            ("DF", Some((Op::Discard, none, false))),
            ("DW", Some((Op::Write, none, false))),
            ("F", Some((Op::Flush, none, false))),
            ("FN", Some((Op::Flush, none, false))),
            ("f", Some((Op::Flush, none, true))),
            ("Z", Some((Op::WriteZeroes, none, false))),
            ("WZS", Some((Op::WriteZeroes, sync, false))),
            ("RZ", Some((Op::Read, none, false))),
            ("WU", Some((Op::Write, none, false))),
            ("N", None),
            ("S", None),
            ("s", None),
            ("X", None),
            ("", None),
        ] {
            let seen = op_of_letters(letters.as_bytes());
            let seen = seen.map(|of| (of.op, of.flags, of.pushed_back));
            assert_eq!(seen, expected, "{letters}");
        }
    }

    #[test]
    fn a_direction_is_a_letter_or_a_word_in_any_case() {
        for (word, expected) in [
            ("R", Some(Op::Read)),
            ("r", Some(Op::Read)),
            ("READ", Some(Op::Read)),
            ("W", Some(Op::Write)),
            ("w", Some(Op::Write)),
            ("wRite", Some(Op::Write)),
            ("re", None),
            ("rw", None),
            ("", None),
        ] {
            assert_eq!(direction(word.as_bytes()), expected, "{word}");
        }
    }
}
