//! Writing, in the peer's own form: `%4lu.%09lu ; %10lld ; %3d ; %c ; %3lu.%09lu ; %3lu.%09lu`.

use super::{FAILED, VERBS, row};
use crate::text::{TextSink, number, seconds as time};
use crate::{
    Batch, Flags, Metadata, Op, Outcome, Record, Request, Sink, Status, TraceError, TraceWriter,
    WriteOptions,
};

pub(super) struct Writer {
    text: TextSink,
    lossy: bool,
    left_out: u64,
}

impl Writer {
    pub(super) fn new(sink: Sink, metadata: &Metadata, options: &WriteOptions) -> Self {
        let mut sink = TextSink::new(sink);
        for line in metadata
            .notices
            .iter()
            .flat_map(|notice| notice.split(['\n', '\r']))
        {
            // What would be read as something else is a comment.
            if !row::stays_a_notice(line.as_bytes()) {
                sink.text.extend_from_slice(b"# ");
            }
            sink.text.extend_from_slice(line.as_bytes());
            sink.text.push(b'\n');
        }
        sink.text
            .extend_from_slice(b"start ; sector; length ; op ;  replay_delay ; replay_duration\n");
        Self {
            text: sink,
            lossy: options.lossy,
            left_out: 0,
        }
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        for Record { request, outcome } in batch.records() {
            let Some(op) = letters(&request, &outcome) else {
                if !self.lossy {
                    return Err(self.text.cannot_hold("blkreplay", &request));
                }
                self.left_out += 1;
                continue;
            };
            let text = &mut self.text.text;
            if outcome.status == Status::Done {
                row(text, &request, op, &outcome);
            } else {
                info(text, &request, op, &outcome);
            }
            self.text.flush_if_full()?;
        }
        Ok(())
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.text.flush_all()
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.text.finish()
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
