//! Draws from a stream that nothing else draws from, several at a time: faster, as a draw need not wait for the one
//! before, and the table that it looks into stays in the nearest cache. The values are the same.

use iosonar_sim_core::Stream;

const MOST: usize = 64;
const FIRST: usize = 4;

/// A stream, and the next values that were made of its draws.
#[derive(Clone)]
pub(crate) struct Ahead {
    stream: Stream,
    /// Of the first `drawn`, those from `used` on are still to be used.
    ready: [f64; MOST],
    used: usize,
    drawn: usize,
}

impl std::fmt::Debug for Ahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ahead").field(&self.stream).finish()
    }
}

impl Ahead {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            ready: [0.0; MOST],
            used: 0,
            drawn: 0,
        }
    }

    /// The next value; `draw` is always the same function.
    #[inline(always)]
    pub(crate) fn next(&mut self, draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        if self.used == self.drawn {
            self.draw_ahead(draw);
        }
        // The remainder is the number itself, and needs no check of the place.
        let value = self.ready[self.used % MOST];
        self.used += 1;
        value
    }

    /// The next values, as many as there is room for; `draw` is the same function as that of [`next`](Self::next).
    #[inline(always)]
    pub(crate) fn fill(&mut self, values: &mut [f64], mut draw: impl FnMut(&mut Stream) -> f64) {
        let ready = &self.ready[self.used..self.drawn];
        let (from_ready, drawn) = values.split_at_mut(ready.len().min(values.len()));
        from_ready.copy_from_slice(&ready[..from_ready.len()]);
        self.used += from_ready.len();
        // A copy, so that the generator's state stays in registers.
        let mut stream = self.stream.clone();
        for value in drawn {
            *value = draw(&mut stream);
        }
        self.stream = stream;
    }

    /// Draws more at a time the more have been needed.
    #[inline(never)]
    fn draw_ahead(&mut self, mut draw: impl FnMut(&mut Stream) -> f64) {
        self.used = 0;
        self.drawn = (2 * self.drawn).clamp(FIRST, MOST);
        // A copy, so that the generator's state stays in registers.
        let mut stream = self.stream.clone();
        for value in &mut self.ready[..self.drawn] {
            *value = draw(&mut stream);
        }
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn the_values_are_those_of_one_draw_at_a_time() {
        let stream = || Seed::new(1).stream("disk/0", "seek");
        let (mut ahead, mut one_by_one) = (Ahead::new(stream()), stream());
        for i in 0..500 {
            let value = ahead.next(|stream| stream.uniform() + 1.0);
            assert_eq!(value, one_by_one.uniform() + 1.0, "{i}");
            // Several, fewer or more than are ready.
            let mut several = vec![0.0; i * i % 91];
            ahead.fill(&mut several, |stream| stream.uniform() + 1.0);
            for value in several {
                assert_eq!(value, one_by_one.uniform() + 1.0, "{i}");
            }
            if i == 70 {
                // A copy goes on in the same way.
                ahead = ahead.clone();
            }
        }
    }

    #[test]
    fn its_debug_text_is_that_of_the_stream_and_not_of_what_was_drawn() {
        let stream = Seed::new(1).stream("disk/0", "seek");
        let expected = format!("Ahead({stream:?})");
        assert_eq!(format!("{:?}", Ahead::new(stream)), expected);
    }
}
