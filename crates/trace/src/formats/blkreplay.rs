//! The text format of blkreplay (`*.load`, `*.replay`).
//!
//! A data row is `start ; sector ; sectors ; op ; delay ; latency`, times in seconds, lengths in
//! sectors of 512 bytes. Delay and latency may be missing; both zero means "not measured". The
//! operation is letters as blkparse prints them: R or W decides, others set flags (A read-ahead,
//! S sync, M meta, F flush or FUA), D alone is a discard, F alone a flush; lower case marks a
//! request that was pushed back. A header may stand above the rows, or be repeated. Text
//! above the header is kept as notices and written back. Between rows only blank lines, comments (`#`),
//! messages (`INFO: ...`) and further headers, with the notices above them, may stand: anything else is a
//! damaged row, and so is a last row that the file ends within.
//!
//! What a row cannot hold stands in comment lines, which other readers of the format skip:
//! `INFO: dropping block=8 len=16 mode=W` is the peer's own line for a dropped request, and we
//! write the like for requests that failed or never submitted, with `start=`, `delay=`, `latency=`,
//! `errno=` where there is such a thing.
//!
//! Not held by this format: the device and the class of a request, write-zeroes, and the
//! difference between "not measured" and "took no time at all".

mod reader;
mod row;
mod usual;
mod writer;

use crate::{
    Format, Metadata, ReadOptions, Sink, Source, Status, TraceError, TraceReader, TraceWriter,
    WriteOptions,
};

/// The text format of blkreplay.
pub(crate) struct Blkreplay;

impl Format for Blkreplay {
    fn name(&self) -> &'static str {
        "blkreplay"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["load", "replay"]
    }

    fn description(&self) -> &'static str {
        "text, one request per line: start ; sector ; sectors ; op ; delay ; latency"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.split(|&b| b == b'\n')
            .any(|line| row::is_data(line) || row::is_our_header(line))
    }

    fn columns(&self) -> &'static str {
        "start (s, 9 decimals), sector, sectors, op with flags, delay (s), latency (s)"
    }

    fn holds_devices(&self) -> bool {
        false
    }

    fn loses(&self) -> Option<&'static str> {
        Some(
            "device, class, group and think time; write-zeroes; the distinction between zero and unmeasured times; \
             wall clock and device names",
        )
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(Box::new(reader::Reader::new(source, options)?))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        Ok(Box::new(writer::Writer::new(sink, metadata, options)))
    }
}

/// The verbs of the `INFO:` lines, for what a data row cannot hold.
const VERBS: [(&str, Status); 6] = [
    ("dropping", Status::Dropped),
    ("skipping", Status::Skipped),
    ("missing", Status::Missed),
    ("cancelling", Status::Cancelled),
    ("short", Status::Short),
    ("verify-failed", Status::VerifyFailed),
];
/// The verb of a failed request; the line has an `errno=` as well.
const FAILED: &str = "failing";
