//! Some devices of a trace of several.

use std::path::{Path, PathBuf};

use iosonar_units::Nanos;

use crate::{Batch, Metadata, TraceError, TraceReader};

/// Passes only the requests to some devices.
pub(crate) struct OnlyDevices {
    inner: Box<dyn TraceReader>,
    path: PathBuf,
    wanted: Vec<String>,
    /// Whether a device passes, by number, once that is known.
    passes: Vec<Option<bool>>,
    any: bool,
}

impl OnlyDevices {
    pub(crate) fn new(inner: Box<dyn TraceReader>, path: &Path, wanted: &[String]) -> Self {
        Self {
            inner,
            path: path.to_owned(),
            wanted: wanted.to_vec(),
            passes: Vec::new(),
            any: false,
        }
    }
}

impl TraceReader for OnlyDevices {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        while self.inner.next_batch(batch)? > 0 {
            let metadata = self.inner.metadata();
            let (passes, wanted) = (&mut self.passes, &self.wanted);
            batch.retain(|record| {
                let number = record.request.device;
                let index = usize::from(number);
                if passes.len() <= index {
                    passes.resize(index + 1, None);
                }
                *passes[index].get_or_insert_with(|| {
                    let name = metadata.device_name(number);
                    // A number means the number where it is not a name.
                    let is_numbered = name.parse::<u64>().is_err();
                    wanted.contains(&name) || is_numbered && wanted.contains(&number.to_string())
                })
            });
            if !batch.is_empty() {
                self.any = true;
                return Ok(batch.len());
            }
        }
        if self.any {
            return Ok(0);
        }
        let metadata = self.inner.metadata();
        let seen: Vec<String> = (0..self.passes.len())
            .filter(|i| self.passes[*i].is_some())
            .take(20)
            .map(|i| metadata.device_name(i as u16))
            .collect();
        Err(TraceError::Option(format!(
            "{}: has no requests to the device {}; its devices are: {}",
            self.path.display(),
            self.wanted.join(", "),
            seen.join(", ")
        )))
    }

    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn none_before(&mut self) -> Nanos {
        self.inner.none_before()
    }

    fn skip_before(&mut self, start: iosonar_units::Nanos) -> Result<(), TraceError> {
        self.inner.skip_before(start)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::testing::Given;

    #[test]
    fn what_the_reader_below_knows_of_times_is_passed_on() {
        let inner = Given::new([]);
        let skipped_before = std::sync::Arc::clone(&inner.skipped_before);
        let wanted = ["sda".to_owned()];
        let mut reader = OnlyDevices::new(Box::new(inner), Path::new("x"), &wanted);
        assert_eq!(reader.none_before(), Nanos::new(3));
        reader.skip_before(Nanos::new(5)).unwrap();
        assert_eq!(skipped_before.load(Relaxed), 5);
    }

    #[test]
    fn what_the_reader_below_knows_of_the_trace_is_passed_on() {
        let wanted = ["sda".to_owned()];
        let reader = OnlyDevices::new(Box::new(Given::new([])), Path::new("x"), &wanted);
        assert_eq!(reader.metadata().devices, ["sda"]);
    }
}
