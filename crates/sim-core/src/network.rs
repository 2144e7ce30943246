//! Queueing networks.
//!
//! Jobs come from a [source](Arrivals) or go round in closed chains; they pass stations with queues,
//! delays, routers, forks and joins, and end in a sink. Each node draws from streams of its own.
//!
//! ```text
//!   source ──► station ──► router ──┬──► delay ───► lap ──┐
//!                 ▲                 └──► fork ═══► join ──┤
//!                 └────────── (a loop) ◄─────────────────┴──► sink
//! ```
//!
//! Nodes of your own have a [`Behaviour`]. A [`Builder`] puts nodes together and checks that they make
//! a network; [`Network`] runs it, a step, a time or a number of jobs at once. A network can be cloned in the middle of a run, and the
//! clone goes on exactly as the original does: that is how a run is saved and restored.
//!
//! An M/M/1 queue:
//!
//! ```
//! use iosonar_sim_core::network::{Arrivals, Builder, Queue, Until};
//! use iosonar_sim_core::{Law, Seed};
//! use iosonar_units::Nanos;
//!
//! let mut b = Builder::new(Seed::new(1));
//! let source = b.source("arrivals", Arrivals::every(Law::Exponential(Nanos::from_millis(10))));
//! let server = b.station("server", Queue::fcfs(1, Law::Exponential(Nanos::from_millis(8))));
//! let sink = b.sink("done");
//! b.chain(&[source, server, sink]);
//! let mut mm1 = b.build().unwrap();
//! mm1.run(Until::Departures(200_000));
//! // 1 / (mu - lambda) = 40 ms.
//! assert!((mm1.response_time(sink).moments.mean() / 40e6 - 1.0).abs() < 0.1);
//! ```
//!
//! A fork-join of two servers:
//!
//! ```
//! # use iosonar_sim_core::network::{Arrivals, Builder, Queue, Until};
//! # use iosonar_sim_core::{Law, Seed};
//! # use iosonar_units::Nanos;
//! let mut b = Builder::new(Seed::new(1));
//! let service = Law::Exponential(Nanos::from_millis(1));
//! let source = b.source("arrivals", Arrivals::every(Law::Exponential(Nanos::from_millis(2))));
//! let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("done"));
//! for disk in ["disk/0", "disk/1"] {
//!     let disk = b.station(disk, Queue::fcfs(1, service.clone()));
//!     b.chain(&[fork, disk, join]);
//! }
//! b.chain(&[source, fork]).chain(&[join, sink]);
//! let mut network = b.build().unwrap();
//! network.run(Until::Departures(200_000));
//! // (12 - rho) / 8 / (mu - lambda) = 2.875 ms.
//! assert!((network.response_time(sink).moments.mean() / 2.875e6 - 1.0).abs() < 0.1);
//! ```
//!
//! A closed network: three jobs that think for 10 ms and then need a processor and a disk.
//!
//! ```
//! # use iosonar_sim_core::network::{Builder, Queue, Until};
//! # use iosonar_sim_core::{Law, Seed};
//! # use iosonar_units::Nanos;
//! let ms = |t| Law::Exponential(Nanos::from_millis(t));
//! let mut b = Builder::new(Seed::new(1));
//! let think = b.think("think", ms(10));
//! let cpu = b.station("cpu", Queue::fcfs(1, ms(2)));
//! let disk = b.station("disk", Queue::fcfs(1, ms(5)));
//! let lap = b.lap("response");
//! b.chain(&[think, cpu, disk, lap, think]).population(think, 3);
//! let mut network = b.build().unwrap();
//! network.run(Until::Departures(100_000));
//! assert_eq!(network.number_of_jobs(), 3);
//! assert!(network.station(disk).utilisation() > network.station(cpu).utilisation());
//! ```

mod agenda;
mod behaviour;
mod builder;
mod check;
pub(crate) mod context;
mod endless_loop;
mod error;
mod forwarding;
pub(crate) mod job;
mod line;
mod moving;
pub(crate) mod node;
mod paths;
mod patience;
mod probe;
mod queue;
mod run;
pub(crate) mod single;
mod station;
mod statistics;

pub use crate::arrivals::{Arrival, ArrivalProcess, Arrivals, BatchSize, Phase};
pub use behaviour::{Behaviour, CloneBehaviour, Here, JobId};
pub use builder::{Builder, NodeId, Route};
pub use endless_loop::EndlessLoop;
pub use error::BuildError;
pub use job::Class;
pub use probe::{NoProbe, Probe};
pub use queue::{Discipline, Queue};
pub use run::{Network, Stopped, Until};
pub use statistics::StationStatistics;
