//! Writing, in the peer's own form: `%4lu.%09lu ; %10lld ; %3d ; %c ; %3lu.%09lu ; %3lu.%09lu`.

use std::io::Write;
use std::path::{Path, PathBuf};

use iosonar_units::Nanos;

use super::{FAILED, VERBS};
use crate::error::Place;
use crate::whole_file::Output;
use crate::{
    Batch, Flags, Metadata, Op, Outcome, Record, Request, Status, TraceError, TraceWriter,
};

const FLUSH_AT: usize = 64 * 1024;

pub(super) struct Writer {
    output: Box<dyn Output>,
    path: PathBuf,
    text: Vec<u8>,
}

impl Writer {
    pub(super) fn new(output: Box<dyn Output>, path: &Path, metadata: &Metadata) -> Self {
        let mut text = Vec::with_capacity(2 * FLUSH_AT);
        for notice in &metadata.notices {
            text.extend_from_slice(notice.as_bytes());
            text.push(b'\n');
        }
        text.extend_from_slice(b"start ; sector; length ; op ;  replay_delay ; replay_duration\n");
        Self {
            output,
            path: path.to_owned(),
            text,
        }
    }

    fn io_error(&self, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: self.path.clone(),
            action: "write",
            source,
        }
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let outcome = self.output.write_all(&self.text);
        outcome.map_err(|e| self.io_error(e))?;
        self.text.clear();
        Ok(())
    }

    fn unwritable(&self, request: &Request) -> TraceError {
        TraceError::Request {
            place: Place::line(&self.path, 0),
            problem: format!(
                "the blkreplay format cannot hold the operation {:?} at sector {}",
                request.op, request.sector
            ),
        }
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        for Record { request, outcome } in batch.records() {
            let op = letters(&request, &outcome).ok_or_else(|| self.unwritable(&request))?;
            if outcome.status == Status::Done {
                row(&mut self.text, &request, op, &outcome);
            } else {
                info(&mut self.text, &request, op, &outcome);
            }
            if self.text.len() >= FLUSH_AT {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        self.flush()?;
        let Self { output, path, .. } = *self;
        output.close().map_err(|source| TraceError::Io {
            path,
            action: "complete",
            source,
        })
    }
}

/// The operation as letters, padded with zeros.
type Letters = [u8; 8];

fn letters(request: &Request, outcome: &Outcome) -> Option<Letters> {
    let mut letters = [0; 8];
    let mut n = 0;
    let mut add = |letter| {
        letters[n] = letter;
        n += 1;
    };
    match (request.op, outcome.pushed_back) {
        (Op::Read, false) => add(b'R'),
        (Op::Read, true) => add(b'r'),
        (Op::Write, false) => add(b'W'),
        (Op::Write, true) => add(b'w'),
        (Op::Discard, pushed_back) => add(if pushed_back { b'd' } else { b'D' }),
        (Op::Flush, pushed_back) => add(if pushed_back { b'f' } else { b'F' }),
        (Op::WriteZeroes, _) => return None,
    }
    let flags = [
        (Flags::FUA, b'F'),
        (Flags::READ_AHEAD, b'A'),
        (Flags::SYNC, b'S'),
        (Flags::META, b'M'),
    ];
    for (flag, letter) in flags {
        if request.flags.contains(flag) {
            add(letter);
        }
    }
    Some(letters)
}

fn row(text: &mut Vec<u8>, request: &Request, op: Letters, outcome: &Outcome) {
    time(text, request.start, 4);
    text.extend_from_slice(b" ; ");
    number(text, request.sector.get(), 10, b' ');
    text.extend_from_slice(b" ; ");
    number(text, u64::from(request.sectors.get()), 3, b' ');
    text.extend_from_slice(b" ; ");
    text.extend(op.iter().filter(|&&b| b != 0));
    text.extend_from_slice(b" ; ");
    time(text, outcome.delay.unwrap_or_default(), 3);
    text.extend_from_slice(b" ; ");
    time(text, outcome.latency.unwrap_or_default(), 3);
    text.push(b'\n');
}

fn info(text: &mut Vec<u8>, request: &Request, op: Letters, outcome: &Outcome) {
    text.extend_from_slice(b"INFO: ");
    let verb = VERBS.iter().find(|(_, status)| *status == outcome.status);
    text.extend_from_slice(verb.map_or(FAILED, |(verb, _)| verb).as_bytes());
    text.extend_from_slice(b" block=");
    number(text, request.sector.get(), 0, b' ');
    text.extend_from_slice(b" len=");
    number(text, u64::from(request.sectors.get()), 0, b' ');
    text.extend_from_slice(b" mode=");
    text.extend(op.iter().filter(|&&b| b != 0));
    text.extend_from_slice(b" start=");
    time(text, request.start, 0);
    for (name, value) in [(" delay=", outcome.delay), (" latency=", outcome.latency)] {
        if let Some(value) = value {
            text.extend_from_slice(name.as_bytes());
            time(text, value, 0);
        }
    }
    if let Status::Error(errno) = outcome.status {
        text.extend_from_slice(b" errno=");
        number(text, u64::from(errno), 0, b' ');
    }
    text.push(b'\n');
}

fn time(text: &mut Vec<u8>, t: Nanos, width: usize) {
    number(text, t.get() / 1_000_000_000, width, b' ');
    text.push(b'.');
    number(text, t.get() % 1_000_000_000, 9, b'0');
}

fn number(text: &mut Vec<u8>, mut value: u64, width: usize, fill: u8) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    let digits = &digits[at..];
    text.resize(text.len() + width.saturating_sub(digits.len()), fill);
    text.extend_from_slice(digits);
}
