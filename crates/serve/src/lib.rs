//! A page that grows while something is measured.
//!
//! The measurement publishes *states*: files under names, the whole of them, replaced each time. The server keeps the
//! latest, and informs viewers by server-sent events (`events`) that there is something new; they fetch what they show.
//! So no queue grows: a viewer that is slow misses states, and one that stops reading is disconnected.
//!
//! ```text
//!  measurement ──put, announce──► states (latest only) ◄──GET data── viewers
//!                                    │                                  ▲
//!                                    └────────── version ── events ─────┘
//! ```
//!
//! All requests are served by one thread of its own at the lowest priority (nice 19). Publishing takes a lock for as
//! long as a pointer is exchanged.
//!
//! A random token in the URL is the key: without it every answer is 403. So it is for a `Host` that is neither an
//! address nor a name of this machine: a page of another site that has its own name resolve to this address (DNS
//! rebinding) would send its own name.

mod body;
mod connection;
mod request;
mod server;
mod state;
mod token;

pub use server::{Server, Settings, Stop};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
