//! What the replay takes from the operating system: time, threads, what they wait for, files that it writes, calls to
//! targets.
//!
//! Everything here is another name for what the standard library, crossbeam or the crate `linux` offer, or a call of
//! it, so it costs nothing. The simulator of the unit tests (`tests/sim`) puts a system of its own in the place of
//! [`linux`], in which the order of threads, the time, and what fails follow from a seed.

#[cfg_attr(test, allow(unused_imports))]
pub(crate) mod linux;

#[cfg(not(test))]
pub(crate) use self::linux::*;
#[cfg(test)]
pub(crate) use crate::sim::os::*;
