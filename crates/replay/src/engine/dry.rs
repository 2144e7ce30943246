//! Nothing is submitted: measures the replayer itself.

use std::io;

use iosonar_linux::memory::Buffer;
use iosonar_units::Nanos;

use super::access::{AccessKind, Done, Engine, IoAccess};
use crate::os::thread;
use crate::pacing;

/// Every access is complete when it is submitted.
#[derive(Default)]
pub(crate) struct Dry {
    prepared: Vec<(u32, i32, Buffer)>,
    done: Vec<(u32, i32, Buffer)>,
}

impl Engine for Dry {
    fn name(&self) -> &'static str {
        "dry"
    }

    #[inline]
    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()> {
        let moved = match access.kind {
            AccessKind::Read | AccessKind::Write { .. } => access.length as i32,
            _ => 0,
        };
        self.prepared.push((slot, moved, access.buffer));
        Ok(())
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        self.done.append(&mut self.prepared);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        if self.done.is_empty() {
            return;
        }
        let at = pacing::monotonic();
        done.extend(
            self.done
                .drain(..)
                .map(|(slot, result, buffer)| Done::of(slot, result, at, buffer)),
        );
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        if self.done.is_empty() {
            thread::sleep(timeout.into());
        }
        Ok(())
    }
}
