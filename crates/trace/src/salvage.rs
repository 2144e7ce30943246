//! Reading what is left of a trace: a file that was cut off, compressed or not. A compressed stream that is damaged
//! stays an error: what came out of it before the damage was found may be wrong, and would look like records.
//!
//! A replay that is killed leaves its records in a `.part` file, which may even be complete; a copy that ran out of room, or a loss of power, leaves
//! files that end anywhere. With [`lenient`](crate::ReadOptions::lenient), everything before that place is read, and a
//! remark says how many records these were and where the file stops. Without it, such a file is an error.
//!
//! Three layers can find that the input stops early: the decompressor, the reader of the format, and the name of the
//! file. They share a [`CutOff`].

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use iosonar_units::Nanos;

use crate::decompress::end_of_stream;
use crate::error::Place;
use crate::{Batch, Metadata, Remark, RemarkKind, TraceError, TraceReader, whole_file};

/// Whether an input stops before its end, and where.
#[derive(Clone, Debug, Default)]
pub struct CutOff(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    /// The name is that of a file that was not completed.
    is_unfinished: AtomicBool,
    /// The format marks the end of a file, and it was reached.
    is_complete: AtomicBool,
    place: OnceLock<String>,
}

impl CutOff {
    /// Notes the place where the input stops; the first one counts.
    pub(crate) fn note(&self, place: impl FnOnce() -> String) {
        self.0.place.get_or_init(place);
    }

    /// Notes that the end of the input is marked as such.
    pub(crate) fn note_end(&self) {
        self.0.is_complete.store(true, Relaxed);
    }

    /// Whether the input is known to stop early. A row at its end without a line end is a part of one then.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_unfinished.load(Relaxed) || self.0.place.get().is_some()
    }
}

/// Refuses a file that was never completed, or notes it where that is allowed.
pub(crate) fn check_complete(path: &Path, lenient: bool, cut: &CutOff) -> Result<(), TraceError> {
    if whole_file::final_name(path).is_none() {
        return Ok(());
    }
    if lenient {
        cut.0.is_unfinished.store(true, Relaxed);
        return Ok(());
    }
    Err(TraceError::Damaged {
        place: Place::of(path, 0),
        problem: "the file is incomplete: its writer was killed or is still running; --lenient reads the part written \
            so far"
            .to_owned(),
    })
}

/// Bytes that end where the compressed stream is cut off.
pub(crate) struct UpToCut {
    pub(crate) input: Box<dyn Read + Send>,
    pub(crate) path: PathBuf,
    pub(crate) cut: CutOff,
}

impl Read for UpToCut {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.input.read(buffer);
        let Some(end) = outcome.as_ref().err().and_then(end_of_stream) else {
            return outcome;
        };
        self.cut.note(|| format!("{}: {end}", self.path.display()));
        Ok(0)
    }
}

/// Counts the records of a reader, and adds to its remarks where the input stops early.
pub(crate) struct Salvaged {
    inner: Box<dyn TraceReader>,
    cuts: Vec<CutOff>,
    records: u64,
    /// At the end of an input that stops early: what is known of the trace, with a remark on that.
    at_end: Option<Metadata>,
}

impl Salvaged {
    pub(crate) fn new(inner: Box<dyn TraceReader>, cuts: Vec<CutOff>) -> Self {
        Self {
            inner,
            cuts,
            records: 0,
            at_end: None,
        }
    }
}

// What a damaged file says of the rows to come is not relied on: `none_before` is not passed on.
impl TraceReader for Salvaged {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let n = self.inner.next_batch(batch)?;
        self.records += n as u64;
        if n == 0
            && self.at_end.is_none()
            && let Some(cut) = self.cuts.iter().find(|cut| cut.is_known())
        {
            let (kind, words) = match cut.0.place.get() {
                Some(place) => (
                    RemarkKind::CutOff,
                    SALVAGED.map(|words| format!("{words}: {place}")),
                ),
                None if cut.0.is_complete.load(Relaxed) => {
                    (RemarkKind::NotRenamed, COMPLETE.map(str::to_owned))
                }
                None => (RemarkKind::CutOff, SALVAGED.map(str::to_owned)),
            };
            let [what_of_one, what] = words;
            let mut metadata = self.inner.metadata().clone();
            metadata.remarks.push(Remark {
                kind,
                what,
                what_of_one,
                count: self.records,
                example: String::new(),
            });
            self.at_end = Some(metadata);
        }
        Ok(n)
    }

    fn metadata(&self) -> &Metadata {
        self.at_end
            .as_ref()
            .unwrap_or_else(|| self.inner.metadata())
    }

    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        self.inner.skip_before(start)
    }
}

const SALVAGED: [&str; 2] = [
    "record was read from a truncated file, and later ones may be missing",
    "records were read from a truncated file, and later ones may be missing",
];
const COMPLETE: [&str; 2] = [
    "record was read from a complete file that still has its temporary name",
    "records were read from a complete file that still has its temporary name",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Given;

    #[test]
    fn rows_may_be_skipped_but_no_times_are_relied_on() {
        let inner = Given::new([]);
        let skipped_before = Arc::clone(&inner.skipped_before);
        let mut reader = Salvaged::new(Box::new(inner), Vec::new());
        assert_eq!(reader.none_before(), Nanos::ZERO);
        reader.skip_before(Nanos::new(5)).unwrap();
        assert_eq!(skipped_before.load(Relaxed), 5);
    }

    /// Two reads, of a trace whose input these cuts were found in.
    fn salvaged(cuts: Vec<CutOff>) -> (Salvaged, Batch) {
        let rows = |starts: [u64; 1]| Given::reads(starts.map(|t| (t, crate::Status::Done)));
        let inner = Given::new([rows([1]), rows([2])]);
        (Salvaged::new(Box::new(inner), cuts), Batch::default())
    }

    #[test]
    fn where_an_input_stops_is_remarked_on_at_its_end_with_what_was_read() {
        let (whole, cut, unfinished, complete) = Default::default();
        let cuts: [CutOff; 4] = [whole, cut, unfinished, complete];
        cuts[1].note(|| "here".to_owned());
        cuts[1].note(|| "there".to_owned());
        cuts[2].0.is_unfinished.store(true, Relaxed);
        cuts[3].0.is_unfinished.store(true, Relaxed);
        cuts[3].note_end();
        let known: Vec<bool> = cuts.iter().map(CutOff::is_known).collect();
        assert_eq!(known, [false, true, true, true]);
        for (cut, remark) in cuts.iter().zip([
            None,
            Some((RemarkKind::CutOff, "later ones may be missing: here")),
            Some((RemarkKind::CutOff, "later ones may be missing")),
            Some((RemarkKind::NotRenamed, "still has its temporary name")),
        ]) {
            // The first that is known counts.
            let (mut reader, mut batch) = salvaged(vec![CutOff::default(), cut.clone()]);
            for rows in [1, 1, 0, 0] {
                assert!(reader.metadata().remarks.is_empty() || rows == 0);
                assert_eq!(reader.next_batch(&mut batch).unwrap(), rows);
            }
            let remarks = &reader.metadata().remarks;
            assert_eq!(remarks.len(), usize::from(remark.is_some()));
            if let Some((kind, words)) = remark {
                assert_eq!((remarks[0].kind, remarks[0].count), (kind, 2));
                assert!(remarks[0].what.ends_with(words), "{}", remarks[0].what);
            }
        }
    }
}
