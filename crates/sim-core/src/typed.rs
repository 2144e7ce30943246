//! Networks as types, for models that are fixed when a program is compiled.
//!
//! **When you need it.** A network of [nodes](crate::network) is put together while a program runs, and knows everything
//! there is about queues. It is fast enough for nearly all purposes: begin there. What is here is for a model whose nodes
//! are known when it is compiled, and that runs for hours: the compiler sees the whole model at once, so that no event
//! has to find its node. That saves a fifth to a third of the time, and costs generality. There are:
//!
//! - [`Station`]: one server, first come first served, unlimited room;
//! - [`Delay`]: as many servers as jobs, also for think times;
//! - [`Fork`]: parts of a job beside each other, and their join;
//! - [`Router`]: one of several branches, by chance, by class or in turn;
//! - [`Feedback`]: a part to which jobs may return;
//! - [`Lap`]: a place where response times are taken.
//!
//! # Parts
//!
//! Each of these is a [`Part`] with one beginning and one end, and so is a part that stands [behind](Part::then) another
//! one. The branches of forks and routers are parts, too, in an array if they are all alike, or in a tuple. A part
//! becomes a [`Model`] as the way of an [`Open`] network, between a [`Source`] and a sink, or of a [`Closed`] one, whose
//! jobs take it again and again. A model is built with a seed:
//!
//! ```
//! use iosonar_sim_core::prelude::*;
//! use iosonar_sim_core::typed::{Fork, Model, Open, Part, Source, Station};
//!
//! let ms = |t| Law::Exponential(Nanos::from_millis_f64(t));
//! let disks = [0, 1, 2, 3].map(|i| Station::new(format!("disk/{i}"), ms(0.5)));
//! let way = Station::new("controller", ms(0.2)).then(Fork::new("fork", "join", disks));
//! let model = Open::new(Source::new("requests", ms(1.0)), way, "done");
//! let mut network = model.clone().build(Seed::new(1))?;
//! network.run(Until::Departures(20_000));
//! println!("{:.3} ms", network.response_time("done").moments.mean() / 1e6);
//! println!("{:.3}", network.station("disk/0").utilisation());
//!
//! // The same as nodes: to the bit.
//! let mut nodes = model.builder(Seed::new(1)).build()?;
//! nodes.run(Until::Departures(20_000));
//! assert_eq!(nodes.hash(), network.hash());
//! # Ok::<(), iosonar_sim_core::network::BuildError>(())
//! ```
//!
//! # Errors and names
//!
//! A model is checked as its [builder](Model::builder) is: names must differ, laws must be valid, and loops must take
//! time. Random streams follow from the names, so a model and the same one of nodes draw the same times, plan the same
//! events in the same order and have the same [hash](Network::hash).
//!
//! A closed network, with its jobs at the first part at time zero:
//!
//! ```
//! use iosonar_sim_core::prelude::*;
//! use iosonar_sim_core::typed::{Closed, Delay, Feedback, Lap, Model, Part, Station};
//!
//! let ms = |t| Law::Exponential(Nanos::from_millis(t));
//! let visits = Station::new("cpu", ms(2)).then(Station::new("disk", ms(5)));
//! let way = Delay::think("think", ms(100))
//!     .then(Feedback::new("again", 0.5, visits))
//!     .then(Lap::new("response"));
//! let mut network = Closed::new(way, 10).build(Seed::new(1))?;
//! network.run(Until::Departures(10_000));
//! assert!(network.station("disk").utilisation() > network.station("cpu").utilisation());
//! # Ok::<(), iosonar_sim_core::network::BuildError>(())
//! ```

mod branches;
mod delay;
mod lap;
mod model;
mod part;
mod station;
mod then;

pub use branches::{Branches, Fork, Router};
pub use delay::Delay;
pub use lap::Lap;
pub use model::{Closed, Model, Network, Open, Source};
pub use part::Part;
pub use station::Station;
pub use then::{Feedback, Then};
