//! The words for operations, flags and statuses.

use crate::text::Line;
use crate::{Flags, Op, Status, TraceError};

pub(super) fn op_named(text: &[u8]) -> Option<Op> {
    Op::ALL
        .into_iter()
        .find(|op| op.name().as_bytes().eq_ignore_ascii_case(text))
}

const FLAG_NAMES: [(&str, Flags); 4] = [
    ("sync", Flags::SYNC),
    ("fua", Flags::FUA),
    ("meta", Flags::META),
    ("read-ahead", Flags::READ_AHEAD),
];

pub(super) fn flags_named(line: &Line<'_>, name: &str, text: &[u8]) -> Result<Flags, TraceError> {
    text.split(|&b| b == b'+')
        .try_fold(Flags::NONE, |flags, word| {
            let known = FLAG_NAMES.iter().find(|(n, _)| n.as_bytes() == word);
            match known {
                Some((_, flag)) => Ok(flags.with(*flag)),
                None => Err(line.wrong(name, word, "sync, fua, meta and read-ahead, joined by +")),
            }
        })
}

/// Flags in words: `sync+fua`; empty for none.
pub fn flags_text(flags: Flags) -> String {
    let set = FLAG_NAMES.iter().filter(|(_, f)| flags.contains(*f));
    set.map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

const STATUS_NAMES: [(&str, Status); 7] = [
    ("done", Status::Done),
    ("short", Status::Short),
    ("dropped", Status::Dropped),
    ("skipped", Status::Skipped),
    ("missed", Status::Missed),
    ("cancelled", Status::Cancelled),
    ("verify", Status::VerifyFailed),
];

/// The word for an error, with its number behind a colon.
const ERROR: &str = "error:";

pub(super) fn status_named(line: &Line<'_>, name: &str, text: &[u8]) -> Result<Status, TraceError> {
    if let Some(number) = text.strip_prefix(ERROR.as_bytes()) {
        let errno = line.number_up_to(name, number, u64::from(u16::MAX))?;
        return Ok(Status::Error(errno as u16));
    }
    let known = STATUS_NAMES.iter().find(|(n, _)| n.as_bytes() == text);
    known.map(|(_, status)| *status).ok_or_else(|| {
        line.wrong(
            name,
            text,
            "done, error:ERRNO, short, dropped, skipped, missed, cancelled or verify",
        )
    })
}

/// A status in a word: `done`, `error:5`.
pub fn status_text(status: Status) -> String {
    match status {
        Status::Error(errno) => format!("{ERROR}{errno}"),
        status => {
            let known = STATUS_NAMES.iter().find(|(_, s)| *s == status);
            known.map_or("done", |(name, _)| name).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_its_name_in_any_case_and_no_letter() {
        for op in Op::ALL {
            assert_eq!(op_named(op.name().as_bytes()), Some(op));
            assert_eq!(
                op_named(op.name().to_ascii_uppercase().as_bytes()),
                Some(op)
            );
        }
        for other in ["r", "W", "re", "reads", ""] {
            assert_eq!(op_named(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn flags_are_joined_by_plus() {
        let named = |text: &str| {
            let line = Line {
                bytes: text.as_bytes(),
                number: 1,
                path: std::path::Path::new("x"),
            };
            flags_named(&line, "flags", line.bytes).ok()
        };
        for bits in 1..16 {
            let flags = Flags::from_bits(bits);
            assert_eq!(named(&flags_text(flags)), Some(flags), "{bits}");
        }
        assert_eq!(flags_text(Flags::NONE), "");
        for other in ["", "sync+", "sync,fua", "Sync", "read_ahead"] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
