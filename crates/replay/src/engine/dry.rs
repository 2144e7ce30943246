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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_submitted_is_done_at_once_and_moves_its_data() {
        let mut engine = Dry::default();
        assert_eq!(engine.name(), "dry");
        let write = AccessKind::Write { durable: false };
        let kinds = [
            (AccessKind::Read, 4096),
            (write, 4096),
            (AccessKind::Write { durable: true }, 4096),
            (AccessKind::Flush, 0),
            (AccessKind::Discard, 0),
            (AccessKind::WriteZeroes, 0),
        ];
        for (slot, (kind, _)) in (7..).zip(kinds) {
            let access = IoAccess {
                kind,
                target: 0,
                offset: 0,
                buffer: Buffer::new(4096).unwrap(),
                region: 0,
                length: 4096,
            };
            engine.prepare(slot, access).unwrap();
        }
        let mut done = Vec::new();
        engine.reap(&mut done);
        assert!(done.is_empty(), "nothing begins before it is submitted");
        engine.submit().unwrap();
        // With something done, it does not wait.
        engine.wait(Nanos::from_secs(100_000)).unwrap();
        engine.reap(&mut done);
        let results: Vec<_> = done.iter().map(|done| (done.slot, done.result)).collect();
        let expected: Vec<_> = (7..).zip(kinds.map(|(_, moved)| moved)).collect();
        assert_eq!(results, expected);
    }

    #[test]
    fn with_nothing_done_it_sleeps_for_all_of_its_time() {
        let (began, time) = (pacing::monotonic(), Nanos::from_millis(2));
        Dry::default().wait(time).unwrap();
        assert!(pacing::monotonic() >= began + time);
    }
}
