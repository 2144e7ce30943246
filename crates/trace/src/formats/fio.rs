//! The I/O logs of fio, versions 2 and 3.
//!
//! Version 3: `time_us file action [offset length]`, microseconds from the start. Version 2: `file add`,
//! `file open`, `file close`, `file action offset length`, and `file wait US 0`, where each wait counts
//! from the one before (so fio's manual; its code takes them for milliseconds since its own start, which is
//! why version 2 is not written). Offsets and lengths are in bytes; actions are read, write, trim, sync, datasync.

use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::text::{Context, Line, RowReader, Rows, TextSink, first_lines, number, possible, words};
use crate::{
    Batch, Format, Metadata, Op, ReadOptions, Record, Request, Sink, Source, TraceError,
    TraceReader, TraceWriter, WriteOptions,
};

/// The logs of fio.
pub(crate) struct Fio;

const V2: &[u8] = b"fio version 2 iolog";
const V3: &[u8] = b"fio version 3 iolog";

impl Format for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["fio", "iolog"]
    }

    fn description(&self) -> &'static str {
        "fio I/O logs, versions 2 and 3 (writes version 3, for --read_iolog of fio 3.31 or later)"
    }

    fn columns(&self) -> &'static str {
        "time (us), file, action (read, write, trim, sync, datasync), offset (B), length (B)"
    }

    fn loses(&self) -> Option<&'static str> {
        Some(
            "fractions of a microsecond (rounded); flags, class, group; outcomes and think time; requests that were \
             never submitted; the position of flushes; write-zeroes; wall clock and notices",
        )
    }

    fn holds_latencies(&self) -> bool {
        false
    }

    fn recognises(&self, head: &[u8]) -> bool {
        first_lines(head)
            .next()
            .is_some_and(|line| line.starts_with(b"fio version "))
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(Box::new(RowReader::new(
            source,
            options,
            Log::default(),
            "'fio version 3 iolog', then 'time_us file action offset length'",
        )))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        Ok(Box::new(Writer::new(sink, metadata, options)?))
    }
}

#[derive(Default)]
struct Log {
    version: u8,
    now: Nanos,
}

impl Log {
    fn request(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
        start: Nanos,
        [file, action, offset, length]: [&[u8]; 4],
    ) -> Result<Option<Record>, TraceError> {
        let op = match action {
            b"add" | b"open" | b"close" => return Ok(None),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" if self.version == 2 => {
                let wait = line.time("wait", offset, 1_000)?;
                self.now = self.now.saturating_add(wait);
                return Ok(None);
            }
            _ => {
                return Err(line.wrong(
                    "action",
                    action,
                    "add, open, close, read, write, trim, sync, datasync, or (in version 2) wait",
                ));
            }
        };
        let (sector, sectors) = if op == Op::Flush {
            Default::default()
        } else {
            context.range(line, ("offset", offset), ("length", length))?
        };
        let request = Request {
            start,
            sector,
            sectors,
            op,
            device: context.device(line, file)?,
            ..Request::default()
        };
        possible(line, &request, length)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}

impl Rows for Log {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        if text.starts_with(b"fio version ") {
            self.version = match text {
                _ if text == V2 => 2,
                _ if text == V3 => 3,
                _ => {
                    return Err(line.wrong(
                        "version",
                        text,
                        "'fio version 2 iolog' or 'fio version 3 iolog'",
                    ));
                }
            };
            return Ok(None);
        }
        let mut fields = words(text);
        let mut next = || fields.next().unwrap_or_default();
        let start = match self.version {
            3 => line.time("time", next(), 1_000)?,
            _ => self.now,
        };
        let fields = [next(), next(), next(), next()];
        let more = next();
        if !more.is_empty() {
            return Err(line.wrong("end of line", more, "the end of the line after the length"));
        }
        if fields[1].is_empty() {
            return Err(line.missing("action", "'time_us file action offset length'"));
        }
        self.request(line, context, start, fields)
    }
}

struct Writer {
    sink: TextSink,
    options: WriteOptions,
    devices: Vec<String>,
    /// Which files have been named in the log.
    added: Vec<bool>,
    last_us: u64,
    left_out: u64,
}

impl Writer {
    fn new(sink: Sink, metadata: &Metadata, options: &WriteOptions) -> Result<Self, TraceError> {
        let mut sink = TextSink::new(sink);
        sink.text.extend_from_slice(V3);
        sink.text.push(b'\n');
        let devices = &metadata.devices;
        if let Some(name) = devices
            .iter()
            .chain(&options.fio_file)
            .find(|name| name.contains([' ', '\t', '\n']) || name.is_empty())
        {
            return Err(TraceError::Option(format!(
                "fio's logs cannot represent the file name '{name}': use --fio-file to choose a name without spaces"
            )));
        }
        Ok(Self {
            sink,
            options: options.clone(),
            devices: devices.clone(),
            added: Vec::new(),
            last_us: 0,
            left_out: 0,
        })
    }

    fn name(&self, device: u16) -> String {
        if let Some(name) = &self.options.fio_file {
            return name.clone();
        }
        match self.devices.get(usize::from(device)) {
            Some(name) => name.clone(),
            None if device == 0 => "target".to_owned(),
            None => format!("target{device}"),
        }
    }

    /// Writes `name add` and `name open` before the first request to a file.
    fn introduce(&mut self, device: u16, name: &str, us: u64) {
        let index = if self.options.fio_file.is_some() {
            0
        } else {
            usize::from(device)
        };
        if self.added.len() <= index {
            self.added.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.added[index], true) {
            for action in ["add", "open"] {
                self.line(us, name, action, None);
            }
        }
    }

    fn line(&mut self, us: u64, name: &str, action: &str, range: Option<(u64, u64)>) {
        let text = &mut self.sink.text;
        number(text, us, 0, b' ');
        text.push(b' ');
        text.extend_from_slice(name.as_bytes());
        text.push(b' ');
        text.extend_from_slice(action.as_bytes());
        if let Some((offset, length)) = range {
            text.push(b' ');
            number(text, offset, 0, b' ');
            text.push(b' ');
            number(text, length, 0, b' ');
        }
        text.push(b'\n');
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        for Record { request, outcome } in batch.records() {
            // A log is a load, and cannot say of a request that it was never submitted.
            if !outcome.status.was_submitted() {
                self.left_out += 1;
                continue;
            }
            let action = match request.op {
                Op::Read => "read",
                Op::Write => "write",
                Op::Discard => "trim",
                Op::Flush => "sync",
                Op::WriteZeroes if self.options.lossy => {
                    self.left_out += 1;
                    continue;
                }
                Op::WriteZeroes => return Err(self.sink.cannot_hold("fio", &request)),
            };
            let length = request.sectors.bytes().get();
            // The reader refuses ranges that end at 2^64 bytes.
            let offset = request.sector.get().checked_mul(SECTOR_BYTES);
            let Some(offset) = offset.filter(|offset| offset.checked_add(length).is_some()) else {
                return Err(self.sink.cannot_hold("fio", &request));
            };
            let us = (request.start.get() + 500) / 1_000;
            let name = self.name(request.device);
            self.introduce(request.device, &name, us);
            self.last_us = self.last_us.max(us);
            self.line(us, &name, action, Some((offset, length)));
            self.sink.flush_if_full()?;
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        self.devices.clone_from(&metadata.devices);
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.sink.flush_all()
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        for index in 0..self.added.len() {
            if self.added[index] {
                let name = self.name(index as u16);
                self.line(self.last_us, &name, "close", None);
            }
        }
        self.sink.finish()
    }
}
