use iosonar_trace::{Batch, TraceError, TraceReader};

/// How many rows there are to the end, all of which are possible.
pub(crate) fn count(mut reader: Box<dyn TraceReader>) -> Result<u64, TraceError> {
    let (mut batch, mut rows) = (Batch::default(), 0);
    loop {
        match reader.next_batch(&mut batch)? {
            0 => return Ok(rows),
            n => {
                assert!(batch.is_possible(), "a value beyond its limit: {batch:?}");
                rows += n as u64;
            }
        }
    }
}
