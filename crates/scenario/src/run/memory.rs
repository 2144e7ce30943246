//! The memory that the simulations of this process begin with: those that take much of it wait for each other, whichever
//! study runs them at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// What simulations hold that run now, in bytes.
static HELD: Pool = Pool {
    held: Mutex::new(0),
    changed: Condvar::new(),
};

/// Less than this is not worth waiting for.
const LITTLE: u64 = 1 << 20;

#[derive(Debug)]
struct Pool {
    held: Mutex<u64>,
    changed: Condvar,
}

/// What one simulation holds, until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    bytes: u64,
    pool: &'static Pool,
}

impl Share {
    /// Waits until others leave these bytes of `most`. One that takes more than that runs alone.
    ///
    /// Who has a share does not wait for another, so that none waits for ever.
    pub(super) fn wait(bytes: u64, most: u64) -> Self {
        Self::of(&HELD, bytes, most)
    }

    fn of(pool: &'static Pool, bytes: u64, most: u64) -> Self {
        let bytes = if bytes < LITTLE { 0 } else { bytes };
        if bytes > 0 {
            let held = pool.held.lock().unwrap_or_else(PoisonError::into_inner);
            let is_full = |held: &mut u64| *held > 0 && held.saturating_add(bytes) > most;
            let mut held = pool
                .changed
                .wait_while(held, is_full)
                .unwrap_or_else(PoisonError::into_inner);
            *held = held.saturating_add(bytes);
        }
        Self { bytes, pool }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut held = self
                .pool
                .held
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *held -= self.bytes;
            self.pool.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn simulations_at_once_hold_no_more_than_they_may() {
        static POOL: Pool = Pool {
            held: Mutex::new(0),
            changed: Condvar::new(),
        };
        const MOST: u64 = 10 * LITTLE;
        let (now, peak, overlaps) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for n in 0..16_u64 {
                let (now, peak, overlaps) = (&now, &peak, &overlaps);
                scope.spawn(move || {
                    // Two that fit together, and one that is larger than all.
                    let bytes = if n == 7 {
                        2 * MOST
                    } else {
                        (1 + n % 5) * LITTLE
                    };
                    for _ in 0..20 {
                        let share = Share::of(&POOL, bytes, MOST);
                        let others = now.fetch_add(bytes, Ordering::SeqCst);
                        if bytes > MOST {
                            assert_eq!(others, 0, "it runs alone");
                        } else {
                            peak.fetch_max(others + bytes, Ordering::SeqCst);
                        }
                        overlaps.fetch_add(u64::from(others > 0), Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(bytes, Ordering::SeqCst);
                        drop(share);
                        // A share below LITTLE does not wait.
                        drop(Share::of(&POOL, LITTLE - 1, 0));
                    }
                });
            }
        });
        assert!(peak.into_inner() <= MOST);
        assert!(overlaps.into_inner() > 0, "those that fit run at once");
        assert_eq!(*POOL.held.lock().unwrap(), 0);
    }
}
