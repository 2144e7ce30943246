//! The words for operations, flags and statuses.

use crate::text::{Line, direction};
use crate::{Flags, Op, Status, TraceError};

pub(super) fn op_named(text: &[u8]) -> Option<Op> {
    Op::ALL
        .into_iter()
        .find(|op| op.name().as_bytes().eq_ignore_ascii_case(text))
        .or_else(|| direction(text).filter(|_| text.len() > 1))
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
