//! What every discrete-event simulation needs, and nothing about disks or traces.
//!
//! - [`Calendar`]: the events to come, in a total order (time, then order of scheduling).
//! - [`Seed`] and [`Stream`]: every component and purpose draws from a random stream of its own,
//!   so that adding a component does not shift the draws of the others.
//! - [`Slab`]: things in flight, addressed by small indices, without allocation per thing.
//! - [`CompletionHash`]: a fingerprint of a run, to see that two runs are the same.
//!
//! Results are the same on every machine: times are integers, and the logarithm behind the
//! exponential distribution is the `libm` crate's, not the system's.
//!
//! An M/M/1 queue:
//!
//! ```
//! use iosonar_sim_core::{Calendar, Seed};
//! use iosonar_units::Nanos;
//!
//! #[derive(Clone, Copy)]
//! enum Event { Arrival, Departure }
//!
//! let seed = Seed::new(1);
//! let (mut arrival, mut service) = (seed.stream("source", "arrival"), seed.stream("server", "service"));
//! let (mut calendar, mut in_system, mut served) = (Calendar::default(), 0, 0);
//! calendar.schedule(Nanos::ZERO, Event::Arrival);
//! while served < 1000 {
//!     let (now, event) = calendar.pop().unwrap();
//!     let starts = match event {
//!         Event::Arrival => {
//!             calendar.schedule(now + arrival.exponential(Nanos::from_millis(10)), Event::Arrival);
//!             in_system += 1;
//!             in_system == 1
//!         }
//!         Event::Departure => {
//!             (in_system, served) = (in_system - 1, served + 1);
//!             in_system > 0
//!         }
//!     };
//!     if starts {
//!         calendar.schedule(now + service.exponential(Nanos::from_millis(8)), Event::Departure);
//!     }
//! }
//! ```

pub mod arrivals;
mod calendar;
mod completion_hash;
mod law;
pub mod network;
pub mod prelude;
mod replicate;
mod slab;
mod stream;
mod student;
mod unit;
mod ziggurat;

pub use calendar::{Calendar, EventId, EventPriority};
pub use completion_hash::CompletionHash;
pub use iosonar_stats as stats;
pub use iosonar_units::Nanos;
pub use law::{Law, LawError, Sampler};
pub use network::Network;
pub use rand_xoshiro::rand_core;
pub use replicate::{Interval, Replications, replicate};
pub use slab::Slab;
pub use stream::{Geometric, Seed, Stream, hashed_bits};
