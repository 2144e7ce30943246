//! The file of records: the real writer of the format, on a simulated file.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use iosonar_trace::output::Output;
use iosonar_trace::{
    Batch, Metadata, ReadOptions, Record, Sink, TraceError, TraceWriter, WriteOptions, formats,
    input,
};

use super::world::{Current, current};

/// What came to the writer.
pub(crate) type Written = Arc<Mutex<Vec<Record>>>;

pub(crate) struct Writer {
    inner: Option<Box<dyn TraceWriter>>,
    written: Written,
}

/// A file with a buffer in the process, as [`iosonar_trace::output`] makes them.
struct Buffered {
    file: usize,
    buffer: Vec<u8>,
    durable: bool,
}

impl Buffered {
    fn write_out(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.buffer);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let Some(Current { world, thread }) = current() else {
                return Ok(());
            };
            world.step(thread);
            let mut state = world.lock();
            let most = 1 + state.random.below(4096) as usize;
            let taken = state.files.write(self.file, rest, most)?;
            rest = &rest[taken..];
        }
        if self.durable
            && let Some(Current { world, thread }) = current()
        {
            world.sleep(thread, 100_000);
            world.lock().files.sync(self.file);
        }
        Ok(())
    }
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > 1 << 16 {
            self.write_out()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out()
    }
}

impl Output for Buffered {
    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.write_out()
    }
}

/// A writer of records in the world of the calling thread.
pub(crate) fn writer(path: &Path, written: &Written) -> Result<Writer, TraceError> {
    let Some(Current { world, .. }) = current() else {
        unreachable!("the caller is part of a world")
    };
    let (file, durable) = {
        let mut state = world.lock();
        let room = state.scenario.records_room;
        let file = state.files.create(path, room);
        (
            file.expect("the file is new"),
            state.scenario.durable_records,
        )
    };
    let buffered = Buffered {
        file,
        buffer: Vec::new(),
        durable,
    };
    let sink = Sink {
        output: Box::new(buffered),
        path: path.to_owned(),
    };
    let format = formats::by_format_name("ios")?;
    let inner = format.writer(sink, &Metadata::default(), &WriteOptions::default())?;
    Ok(Writer {
        inner: Some(inner),
        written: Arc::clone(written),
    })
}

impl Writer {
    fn count(&self, is_flushed: bool) {
        if let Some(Current { world, .. }) = current() {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            let mut state = world.lock();
            state.kernel.records.0 = written.len();
            if is_flushed {
                state.kernel.records.1 = written.len();
            }
        }
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend(batch.records());
        drop(written);
        self.count(false);
        let inner = self.inner.as_mut().expect("it has not ended");
        inner.write(batch)
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let inner = self.inner.as_mut().expect("it has not ended");
        inner.flush()?;
        self.count(true);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        let inner = self.inner.take().expect("it ends once");
        inner.finish()?;
        self.count(true);
        Ok(())
    }
}

/// The records that can be read of a file, which may be cut off if that is `allowed`.
pub(crate) fn salvaged(bytes: &[u8], allowed: bool) -> Result<Vec<Record>, TraceError> {
    let input = Box::new(io::Cursor::new(bytes.to_vec()));
    let options = ReadOptions {
        lenient: allowed,
        ..ReadOptions::default()
    };
    let mut reader = input::read_from(input, Path::new("records.ios"), &options)?;
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while reader.next_batch(&mut batch)? > 0 {
        all.extend(batch.records());
    }
    Ok(all)
}
