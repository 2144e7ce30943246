//! What needs unsafe code, behind functions that are safe to call.
//!
//! Two modules have all of it but one call:
//!
//! | module | what is in it |
//! |---|---|
//! | [`memory`] | memory that the kernel reads and writes: mappings, buffers, and the ring that buffers are lent to |
//! | [`calls`] | system calls that the standard library and rustix do not offer as safe functions |
//!
//! [`nvme`] has the layout of NVMe commands, which both submit.
//!
//! One function cannot be made safe, and is called by the replay: [`Loan::command`](memory::Loan::command) submits an NVMe
//! command as it is, and the device believes what the command says of its own length.

pub mod calls;
pub mod memory;
pub mod nvme;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
