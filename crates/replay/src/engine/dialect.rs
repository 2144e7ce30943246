//! What is put into a ring, and what comes back.

use std::io;

use io_uring::squeue;
use iosonar_linux::memory::{Buffer, Completed, Completion, Loan};

use super::access::{IoAccess, Setup};
use crate::note::EngineNote;

/// What a completion says.
pub(crate) struct Answer {
    pub(crate) slot: u32,
    /// Bytes moved, or a negative `errno`.
    pub(crate) result: i32,
    /// The logical block that a zone append went to.
    pub(crate) place: Option<u64>,
}

/// What is put into a ring, and what comes back.
pub(crate) trait Dialect: Sized {
    /// What the engine is called.
    const NAME: &'static str;
    /// Whether entries can name registered memory.
    const REGISTERS: bool;
    type Sqe: squeue::EntryMarker + 'static;
    type Cqe: Completed;

    fn new(setup: &Setup<'_>) -> io::Result<Self>;

    /// Whether the ring, which may poll for its completions, has to leave this to threads.
    fn is_for_the_side(&self, access: &IoAccess, polled: bool) -> bool;

    /// What is put into the ring for an access, whose buffer may lie in registered memory; or the `errno` that it fails
    /// with, and its buffer.
    fn loan(
        &mut self,
        slot: u32,
        access: IoAccess,
        registered: bool,
    ) -> Result<Loan<Self::Sqe>, (i32, Buffer)>;

    /// What the completion of the loan with this tag says.
    fn completed(&mut self, tag: u64, completion: Completion) -> Answer;

    /// What the user should know about how it went.
    fn notes(&self) -> Vec<EngineNote>;
}
