//! What the replay takes from the operating system: time, threads, what they wait for, files that it writes, calls to
//! targets.
//!
//! Everything here is another name for what the standard library, crossbeam or the crate `linux` offer, or a call of
//! it, so it costs nothing.

pub(crate) mod linux;

pub(crate) use self::linux::*;
