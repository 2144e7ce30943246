//! The binary format (`.ios`): columns of up to 65 536 records in blocks, bit-packed, with checksums and
//! an index. `docs/src/ios.md` describes it byte by byte.

mod block;
mod frame;
mod growing;
mod packing;
mod reader;
#[cfg(test)]
mod testing;
mod writer;

pub(crate) use block::{BlockColumns, BlockDecoder, Encoder};
pub(crate) use growing::Growing;

use crate::{
    Format, Metadata, ReadOptions, Sink, Source, TraceError, TraceReader, TraceWriter, WriteOptions,
};

/// The binary format.
pub(crate) struct Ios;

impl Format for Ios {
    fn name(&self) -> &'static str {
        "ios"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ios"]
    }

    fn description(&self) -> &'static str {
        "iosonar's binary format: compact and fast, with checksums and a time index"
    }

    fn columns(&self) -> &'static str {
        "all fields of a record: start, sector, sectors, op, flags, device, class, group, delay, latency, think, \
         status, pushed_back; times in ns"
    }

    fn loses(&self) -> Option<&'static str> {
        Some("nothing")
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&frame::MAGIC)
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
        _: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        Ok(Box::new(writer::Writer::new(sink, metadata)?))
    }
}
