//! What most simulations need, in one `use`.
//!
//! ```
//! use iosonar_sim_core::prelude::*;
//!
//! let mut b = Builder::new(Seed::new(1));
//! let source = b.source("source", Arrivals::every(Law::Exponential(Nanos::from_millis(10))));
//! let sink = b.sink("sink");
//! b.chain(&[source, sink]);
//! assert_eq!(b.build()?.run(Until::Departures(10)), Stopped::AsTold);
//! # Ok::<(), iosonar_sim_core::network::BuildError>(())
//! ```

pub use crate::network::{
    Arrival, ArrivalProcess, Arrivals, BatchSize, Behaviour, Builder, Class, Discipline, Here,
    JobId, Network, NodeId, Phase, Probe, Queue, Route, Stopped, Until,
};
pub use crate::stats::{Distribution, Moments, TimeWeighted};
pub use crate::{
    Calendar, EventId, EventPriority, Interval, Law, Nanos, Seed, Slab, Stream, replicate,
};
