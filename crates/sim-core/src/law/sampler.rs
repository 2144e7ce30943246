//! A law that is a function.

use std::fmt;
use std::sync::Arc;

use iosonar_units::Nanos;

use crate::Stream;

/// Draws times by a function of one's own. Equal are a sampler and its clones.
#[derive(Clone)]
pub struct Sampler(Arc<dyn Fn(&mut Stream) -> Nanos + Send + Sync>);

impl Sampler {
    pub(super) fn new(draw: impl Fn(&mut Stream) -> Nanos + Send + Sync + 'static) -> Self {
        Self(Arc::new(draw))
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Nanos {
        (self.0)(stream)
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}

impl PartialEq for Sampler {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
