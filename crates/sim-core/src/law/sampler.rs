//! A law that is a function.

use std::fmt;
use std::sync::Arc;

use iosonar_units::Nanos;

use crate::Stream;

/// Draws times, or numbers of jobs, by a function of one's own. Equal are a sampler and its clones.
pub struct Sampler<T = Nanos>(Arc<dyn Fn(&mut Stream) -> T + Send + Sync>);

impl<T> Sampler<T> {
    pub(crate) fn new(draw: impl Fn(&mut Stream) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(draw))
    }

    pub(crate) fn draw(&self, stream: &mut Stream) -> T {
        (self.0)(stream)
    }
}

impl<T> Clone for Sampler<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Sampler<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}

impl<T> PartialEq for Sampler<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
