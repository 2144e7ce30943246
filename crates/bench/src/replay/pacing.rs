//! The least that a thread of this machine is late, with nothing else to do.

use std::time::{Duration, Instant};

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::{Delays, quantiles};

/// Waits for each of `starts`, sleeping until shortly before and then spinning, and does nothing. How late it
/// was: p50, p99, p99.9, largest.
pub(super) fn bare_loop(starts: &[Nanos]) -> Delays {
    const SPIN: Duration = Duration::from_micros(100);
    let starts = starts.to_vec();
    let measured = std::thread::spawn(move || {
        let mut late = Distribution::default();
        let epoch = Instant::now() + Duration::from_millis(50);
        for start in starts {
            let due = epoch + Duration::from(start);
            loop {
                let now = Instant::now();
                if now >= due {
                    late.push(Nanos::new((now - due).as_nanos() as u64));
                    break;
                }
                let left = due - now;
                if left > SPIN {
                    std::thread::sleep(left.saturating_sub(SPIN));
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        late
    });
    // A thread that only waits does not panic.
    let late = measured.join().unwrap_or_default();
    quantiles(&late.histogram, late.moments.max())
}
