//! Discrete-event simulation: queueing networks, and the event calendar and random streams below them.
//!
//! # The life of a job
//!
//! A *job* is whatever is served: a call, a packet, a request. It comes from a source, or is there from the beginning as
//! one of a *population*. Then it goes from node to node of a [`Network`]:
//!
//! ```text
//!   source ──► station ──► router ──┬──► delay ───► lap ──┐
//!                 ▲                 └──► fork ═══► join ──┤
//!                 └────────── (a loop) ◄─────────────────┴──► sink
//! ```
//!
//! At a *station* it waits for a server, is served for a time that is drawn from a [`Law`], and goes on. If the next
//! station has no room, it stays and blocks its server, or goes [elsewhere](network::Builder::unserved); if it loses
//! [patience](network::Queue::patience), it leaves the queue. A *fork* splits it into parts, which a *join* makes one job
//! again. At a *sink* it ends, and the time since it came is recorded as its response time; a *lap* records the time and
//! lets it pass.
//!
//! The nodes are put together by a [`Builder`](network::Builder). It refuses what cannot work, for all ways that a job of
//! a class may take: a source without a way to a sink, a loop that takes no time, parts that cannot be joined, jobs that
//! would have to wait where nothing can wait. The [error](network::BuildError) names the node.
//!
//! ```
//! use iosonar_sim_core::prelude::*;
//!
//! let mut b = Builder::new(Seed::new(1));
//! let source = b.source("calls", Arrivals::every(Law::Exponential(Nanos::from_secs(20))));
//! let centre = b.station("centre", Queue::fcfs(10, Law::Exponential(Nanos::from_secs(180))));
//! b.chain(&[source, centre, centre]);
//! let error = b.build().map(|_| ()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "no path leads from the source 'calls' to a sink: connect one, or use a population for jobs that stay"
//! );
//! ```
//!
//! What no built-in node does, a node with a [`Behaviour`](network::Behaviour) of your own does: it gets jobs, keeps them,
//! plans events and sends jobs on. A [`Probe`](network::Probe) sees every arrival, service and departure, and writes it
//! wherever you like.
//!
//! # The clock
//!
//! Time is a whole number of [`Nanos`]econds since the beginning, so that sums of times are exact and 584 years fit. The
//! clock jumps from one event to the next. Events of one instant happen in the order of their priority, then in the order in
//! which they were scheduled; nothing depends on the order of a hash table. Laws round their times to nanoseconds: use a
//! unit that is large enough, such as milliseconds, for times that have none.
//!
//! A model that is no network has a [`Calendar`] and a loop of its own, and any `Copy` type as its events:
//!
//! ```
//! use iosonar_sim_core::prelude::*;
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
//!
//! # Determinism
//!
//! All randomness comes from a [`Seed`]. Each node draws from [`Stream`]s of its own, which follow from the seed and the
//! node's *name*; so another node, or another order of nodes, does not change the draws of the others, and two variants of
//! a model meet the same arrivals (common random numbers). Logarithms and powers are those of the `libm` crate and not
//! the system's: the same seed gives the same result on every machine. Each run has a fingerprint, its [`CompletionHash`],
//! over all services with their times; two runs with the same hash were the same run.
//!
//! A network can be cloned at any time, and the clone goes on exactly as the original does: to save a run, or to try two
//! futures of one past.
//!
//! # Warm-up
//!
//! A network begins empty, and its first jobs are served faster than later ones. Let it run until that is forgotten, then
//! call [`measure_from_now`](Network::measure_from_now), which resets all statistics and nothing else. How long that takes
//! depends on the load: some thousand jobs at 80 %, ten times as many at 95 %. [`stats::mser_5`] finds a
//! length from the response times of a trial run.
//!
//! # Confidence
//!
//! The response times of one run are not independent: a job that waits long is followed by jobs that wait long. A standard
//! error from them is far too small. Independent are whole runs with different seeds: [`replicate`] makes as many as the
//! wanted precision takes, on all cores, and returns the mean with its confidence interval:
//!
//! ```
//! # use iosonar_sim_core::prelude::*;
//! # let simulate = |seed: Seed| 2.0 + seed.stream("", "").uniform();
//! let [mean] = replicate(Seed::new(1)).until(0.05, 0.95, |seed| [simulate(seed)]);
//! println!("{mean}");
//! assert!(mean.reached && mean.contains(2.5));
//! ```
//!
//! For a single long run, [`stats`] has batch means and intervals of quantiles.
//!
//! # What is where
//!
//! - [`prelude`]: what most simulations need.
//! - [`network`]: nodes, their builder, runs. [`arrivals`]: sources, which can be used alone.
//! - [`typed`]: networks as types, for models that are compiled.
//! - [`Law`]: distributions of times, those of `rand_distr` and functions included.
//! - [`replicate`]: replications with a target. [`stats`]: moments, histograms, estimates.
//! - [`Calendar`], [`Slab`], [`Seed`], [`Stream`]: what networks are made of, for models of your own.

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
pub mod typed;
mod unit;
mod ziggurat;

pub use calendar::{Calendar, EventId, EventPriority, NextEvent, PlacedCalendar};
pub use completion_hash::CompletionHash;
pub use iosonar_stats as stats;
pub use iosonar_units::Nanos;
pub use law::{Law, LawError, Sampler};
pub use network::Network;
pub use rand_xoshiro::rand_core;
pub use replicate::{Interval, Replications, replicate};
pub use slab::Slab;
pub use stream::{Geometric, Seed, Stream, hashed_bits};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
