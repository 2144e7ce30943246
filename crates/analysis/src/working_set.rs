//! The working set: the number of distinct sectors accessed within the last N seconds.

use std::collections::VecDeque;

use iosonar_units::Nanos;

/// Sectors of a page of 4 KiB.
pub(crate) const PAGE: u64 = 8;

/// Of a page's sectors, the moment of the last touch plus one; zero for never.
pub(crate) type Touched = [u32; PAGE as usize];

/// The number of moments that are distinguished before neighbours are merged.
const MOST_MOMENTS: usize = 1 << 20;

/// Sliding windows over the touches of sectors, and one over all of them.
///
/// At time T a window of length d holds the sectors of requests with `T - d < start <= T`.
#[derive(Debug)]
pub(crate) struct Windows {
    lengths: Vec<Nanos>,
    /// Of each window, its sectors, and the first moment in it.
    sizes: Vec<u64>,
    begins: Vec<u64>,
    all: u64,
    /// Touches that are not counted yet, of sectors that were touched last at the same moment: that moment as in
    /// [`Touched`], and how many they are.
    run: (u32, u64),
    log: VecDeque<Moment>,
    /// The number of the first of them.
    first: u64,
    /// The number of the current moment; requests that are taken together, as a power of two.
    now: u64,
    requests: u64,
    together: u32,
    /// So that pairs begin with the first moment of the log whenever moments are taken together.
    offset: u64,
    parity: u64,
    most: usize,
    /// The most time between the first and the last request of a moment.
    widest: Nanos,
}

/// One request, or some behind each other.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// The starts of the first and the last of them.
    opened: Nanos,
    last: Nanos,
    /// The sectors whose last touch this is.
    live: u64,
}

impl Windows {
    pub(crate) fn new(lengths: &[Nanos]) -> Self {
        Self {
            lengths: lengths.to_vec(),
            sizes: vec![0; lengths.len()],
            begins: vec![0; lengths.len()],
            all: 0,
            run: (0, 0),
            log: VecDeque::new(),
            first: 0,
            now: 0,
            requests: 0,
            together: 0,
            offset: 0,
            parity: 0,
            most: MOST_MOMENTS,
            widest: Nanos::ZERO,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// A request begins at `time`: what left the windows is forgotten.
    pub(crate) fn begin(&mut self, time: Nanos) {
        self.advance(time);
        self.now = (self.requests + self.offset) >> self.together;
        // A moment that has left a window must not come back.
        if self.begins.iter().any(|begin| *begin > self.now) {
            let within = (self.requests + self.offset) & ((1 << self.together) - 1);
            self.offset += (1 << self.together) - within;
            self.now += 1;
        }
        self.requests += 1;
        if self.first + self.log.len() as u64 > self.now {
            if let Some(moment) = self.log.back_mut() {
                moment.last = time;
                self.widest = self.widest.max(time.saturating_sub(moment.opened));
            }
            return;
        }
        if self.log.is_empty() {
            self.first = self.now;
        }
        self.log.push_back(Moment {
            opened: time,
            last: time,
            live: 0,
        });
    }

    /// Time goes on to `time`, without a request.
    pub(crate) fn advance(&mut self, time: Nanos) {
        let end = self.first + self.log.len() as u64;
        for ((length, size), begin) in self
            .lengths
            .iter()
            .zip(&mut self.sizes)
            .zip(&mut self.begins)
        {
            *begin = (*begin).max(self.first);
            while *begin < end {
                let Moment { last, live, .. } = self.log[(*begin - self.first) as usize];
                if last.saturating_add(*length) > time {
                    break;
                }
                *size -= live;
                *begin += 1;
            }
        }
        let oldest = self.begins.iter().copied().min().unwrap_or(end);
        while self.first < oldest && self.log.len() > 1 {
            self.log.pop_front();
            self.first += 1;
        }
    }

    /// Sectors `low` to `high` of a page are touched now. They count from the next [`settle`](Self::settle) on.
    #[inline]
    pub(crate) fn touch(&mut self, touched: &mut Touched, low: usize, high: usize) {
        let now = self.now as u32 + 1;
        // Most requests are of whole pages, with sectors that were touched together before.
        if (low, high) == (0, touched.len()) && *touched == [touched[0]; PAGE as usize] {
            self.replace(touched[0], PAGE);
            *touched = [now; PAGE as usize];
            return;
        }
        for touched in &mut touched[low..high] {
            self.replace(*touched, 1);
            *touched = now;
        }
    }

    #[inline]
    fn replace(&mut self, before: u32, n: u64) {
        if self.run.0 != before {
            self.settle();
            self.run.0 = before;
        }
        self.run.1 += n;
    }

    /// Counts the touches of a request.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let (before, n) = std::mem::take(&mut self.run);
        if n == 0 {
            return;
        }
        if let Some(moment) = self.log.back_mut() {
            moment.live += n;
        }
        if before == 0 {
            self.all += n;
            self.sizes.iter_mut().for_each(|size| *size += n);
            return;
        }
        let moment = u64::from(before - 1);
        for (size, begin) in self.sizes.iter_mut().zip(&self.begins) {
            *size += if moment < *begin { n } else { 0 };
        }
        if let Some(index) = moment.checked_sub(self.first)
            && let Some(moment) = self.log.get_mut(index as usize)
        {
            moment.live -= n;
        }
    }

    /// A page leaves the sample.
    pub(crate) fn forget(&mut self, touched: &Touched) {
        for t in touched.iter().filter(|t| **t > 0) {
            let moment = u64::from(t - 1);
            self.all -= 1;
            for (size, begin) in self.sizes.iter_mut().zip(&self.begins) {
                *size -= u64::from(moment >= *begin);
            }
            if let Some(index) = moment.checked_sub(self.first)
                && let Some(moment) = self.log.get_mut(index as usize)
            {
                moment.live -= 1;
            }
        }
    }

    /// Whether there are more moments than there may be.
    pub(crate) fn must_coarsen(&self) -> bool {
        self.log.len() > self.most || self.now >= u64::from(u32::MAX - 2)
    }

    /// Takes each two neighbouring moments together. The moments of pages must be changed as
    /// [`coarser`](Self::coarser) says.
    pub(crate) fn coarsen(&mut self) {
        // What left the log must not be taken together with what is in it.
        self.parity = self.first & 1;
        self.offset += self.parity << self.together;
        self.together += 1;
        let mut coarse: VecDeque<Moment> = VecDeque::with_capacity(self.log.len() / 2 + 1);
        let mut before = None;
        for (i, fine) in self.log.iter().enumerate() {
            let number = (self.first + i as u64 + self.parity) >> 1;
            match coarse.back_mut() {
                Some(moment) if before == Some(number) => {
                    moment.last = fine.last;
                    moment.live += fine.live;
                    self.widest = self.widest.max(moment.last.saturating_sub(moment.opened));
                }
                _ => coarse.push_back(*fine),
            }
            before = Some(number);
        }
        self.log = coarse;
        self.first = (self.first + self.parity) >> 1;
        self.now = (self.now + self.parity) >> 1;
        // A window that began between two of them begins with both: what had left comes back.
        for (size, begin) in self.sizes.iter_mut().zip(&mut self.begins) {
            *begin = (*begin + self.parity) >> 1;
            let index = begin.saturating_sub(self.first) as usize;
            *size = self.log.iter().skip(index).map(|m| m.live).sum();
        }
    }

    /// The moment `touched` of a page, after [`coarsen`](Self::coarsen).
    pub(crate) fn coarser(&self, touched: u32) -> u32 {
        match touched {
            0 => 0,
            t => ((u64::from(t - 1) + self.parity) >> 1) as u32 + 1,
        }
    }

    /// The distinct sectors of each window.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The distinct sectors of the whole load.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// How much longer than stated a window may be, because requests were merged.
    pub(crate) fn widest(&self) -> Nanos {
        if self.together == 0 {
            Nanos::ZERO
        } else {
            self.widest
        }
    }
}

/// The lowest and the highest sector within sliding windows.
#[derive(Debug)]
pub(crate) struct Spans {
    lengths: Vec<Nanos>,
    /// Of each window: candidates for the lowest first sector, and for the highest end.
    lows: Vec<VecDeque<(Nanos, u64)>>,
    highs: Vec<VecDeque<(Nanos, u64)>>,
    all: Option<(u64, u64)>,
    most: usize,
}

impl Spans {
    pub(crate) fn new(lengths: &[Nanos]) -> Self {
        Self {
            lengths: lengths.to_vec(),
            lows: vec![VecDeque::new(); lengths.len()],
            highs: vec![VecDeque::new(); lengths.len()],
            all: None,
            most: 1 << 16,
        }
    }

    pub(crate) fn push(&mut self, time: Nanos, from: u64, to: u64) {
        self.advance(time);
        for lows in &mut self.lows {
            while lows.back().is_some_and(|(_, low)| *low >= from) {
                lows.pop_back();
            }
            lows.push_back((time, from));
            thin_out(lows, self.most);
        }
        for highs in &mut self.highs {
            while highs.back().is_some_and(|(_, high)| *high <= to) {
                highs.pop_back();
            }
            highs.push_back((time, to));
            thin_out(highs, self.most);
        }
        let (low, high) = self.all.unwrap_or((from, to));
        self.all = Some((low.min(from), high.max(to)));
    }

    pub(crate) fn advance(&mut self, time: Nanos) {
        for (i, length) in self.lengths.iter().enumerate() {
            for candidates in [&mut self.lows[i], &mut self.highs[i]] {
                while candidates
                    .front()
                    .is_some_and(|(at, _)| at.saturating_add(*length) <= time)
                {
                    candidates.pop_front();
                }
            }
        }
    }

    /// The sectors between the lowest and the highest of each window; zero for an empty one.
    pub(crate) fn spans(&self) -> impl Iterator<Item = u64> + '_ {
        self.lows
            .iter()
            .zip(&self.highs)
            .map(|(lows, highs)| match (lows.front(), highs.front()) {
                (Some((_, low)), Some((_, high))) => high - low,
                _ => 0,
            })
    }

    pub(crate) fn all(&self) -> u64 {
        self.all.map_or(0, |(low, high)| high - low)
    }
}

/// Takes each two candidates together where there are too many: the extreme of the first stays until the
/// time of the second has passed.
fn thin_out(candidates: &mut VecDeque<(Nanos, u64)>, most: usize) {
    if candidates.len() <= most {
        return;
    }
    let pairs: Vec<(Nanos, u64)> = candidates.drain(..).collect();
    candidates.extend(
        pairs
            .chunks(2)
            .map(|pair| (pair[pair.len() - 1].0, pair[0].1)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(of: &[(u64, u64)]) -> VecDeque<(Nanos, u64)> {
        of.iter()
            .map(|&(at, sector)| (Nanos::new(at), sector))
            .collect()
    }

    #[test]
    fn too_many_candidates_are_taken_together_in_pairs() {
        let five = [(1, 10), (2, 11), (3, 12), (4, 13), (5, 14)];
        let mut few = candidates(&five);
        thin_out(&mut few, 5);
        assert_eq!(few, candidates(&five));
        let mut many = candidates(&five);
        thin_out(&mut many, 4);
        assert_eq!(many, candidates(&[(2, 10), (4, 12), (5, 14)]));
    }

    #[test]
    fn spans_with_few_candidates_are_no_narrower_than_those_of_all() {
        let lengths = [Nanos::new(20), Nanos::new(90)];
        let (mut all, mut few) = (Spans::new(&lengths), Spans::new(&lengths));
        few.most = 4;
        let mut differ = 0;
        for i in 0..200_u64 {
            // Ever higher first sectors and ever lower ends, so that none makes another needless, and back again.
            let (from, to) = (i % 40 * 10, 2000 - i % 40 * 10);
            all.push(Nanos::new(i), from, to);
            few.push(Nanos::new(i), from, to);
            for (exact, wide) in all.spans().zip(few.spans()) {
                assert!(exact <= wide && wide <= 2000, "{exact} {wide}");
                differ += u64::from(exact < wide);
            }
            let most = few.lows.iter().chain(&few.highs).map(VecDeque::len).max();
            assert!(most <= Some(4), "{most:?}");
        }
        assert!(differ > 0);
        assert_eq!((all.all(), few.all()), (2000, 2000));
    }
}
