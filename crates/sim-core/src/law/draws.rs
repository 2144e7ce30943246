//! Times drawn ahead.

use iosonar_units::Nanos;

use super::Law;
use crate::Stream;

const MOST: usize = 64;
const FIRST: usize = 8;

/// The times of a law, from a stream that nothing else draws from. So they can be drawn several at a time, which is
/// faster, as a draw need not wait for the one before. Their values are the same.
#[derive(Clone)]
pub(crate) struct Draws {
    law: Law,
    stream: Stream,
    /// Of the first `drawn`, those from `used` on are still to be used.
    ready: [Nanos; MOST],
    used: usize,
    drawn: usize,
}

impl Draws {
    pub(crate) fn new(law: Law, stream: Stream) -> Self {
        Self {
            law,
            stream,
            ready: [Nanos::ZERO; MOST],
            used: 0,
            drawn: 0,
        }
    }

    /// The next time.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> Nanos {
        if self.used == self.drawn {
            self.draw_ahead();
        }
        let time = self.ready[self.used % MOST];
        self.used += 1;
        time
    }

    /// Draws more at a time the more have been needed. A function of one's own is called when its value is needed, as it
    /// may panic, and a truncated law may need many draws for a value.
    #[inline(never)]
    fn draw_ahead(&mut self) {
        self.used = 0;
        self.drawn = match self.law {
            Law::Custom(_) | Law::Truncated { .. } => 1,
            _ => (2 * self.drawn).clamp(FIRST, MOST),
        };
        let ready = &mut self.ready[..self.drawn];
        match self.law {
            Law::Exponential(mean) => self.stream.fill_exponential(mean, ready),
            _ => ready.fill_with(|| self.law.draw(&mut self.stream)),
        }
    }
}
