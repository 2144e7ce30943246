//! Working sets as blkreplay's graph.sh counts them: the distinct first sectors of each window, windows that
//! follow each other. It takes memory for each distinct first sector of the load.

use std::collections::HashSet;

use iosonar_units::Nanos;

/// Distinct first sectors in windows that follow each other.
#[derive(Debug)]
pub struct Tumbling {
    windows: Vec<Window>,
}

#[derive(Debug)]
struct Window {
    /// `None`: all of the load.
    length: Option<Nanos>,
    end: Nanos,
    sectors: HashSet<u64>,
    span: Option<(u64, u64)>,
    points: Vec<TumblingPoint>,
}

/// The end of a window, its distinct first sectors, and how far they are apart.
pub type TumblingPoint = (Nanos, u64, u64);

/// Of more windows, the larger of each two is kept.
const MOST_POINTS: usize = 1 << 17;

impl Tumbling {
    /// Windows of these lengths, and one over everything that is looked at as often as the first.
    pub fn new(lengths: &[Nanos]) -> Self {
        let window = |length: Option<Nanos>| Window {
            length,
            end: Nanos::ZERO,
            sectors: HashSet::new(),
            span: None,
            points: Vec::new(),
        };
        let lengths = lengths.iter().copied().map(Some).chain([None]);
        Self {
            windows: lengths.map(window).collect(),
        }
    }

    /// A request begins at `start` with this sector.
    pub fn push(&mut self, start: Nanos, sector: u64) {
        for window in &mut self.windows {
            let step = window.length.unwrap_or(Nanos::SECOND);
            if window.end == Nanos::ZERO {
                window.end = after(start, step);
            } else if start >= window.end {
                window.close();
                window.end = after(start, step);
            }
            window.sectors.insert(sector);
            let (low, high) = window.span.unwrap_or((sector, sector));
            window.span = Some((low.min(sector), high.max(sector)));
        }
    }

    /// Of each length, and of everything, the windows with requests.
    pub fn finish(mut self) -> Vec<Vec<TumblingPoint>> {
        self.windows.iter_mut().for_each(Window::close);
        self.windows.into_iter().map(|w| w.points).collect()
    }
}

fn after(start: Nanos, step: Nanos) -> Nanos {
    let step = step.get().max(1);
    Nanos::new((start.get() / step + 1).saturating_mul(step))
}

impl Window {
    fn close(&mut self) {
        let span = self.span.map_or(0, |(low, high)| high - low);
        if self.end == Nanos::ZERO {
            return;
        }
        self.points
            .push((self.end, self.sectors.len() as u64, span));
        if self.points.len() > MOST_POINTS {
            let larger = |pair: &[TumblingPoint]| pair.iter().copied().max_by_key(|p| p.1);
            self.points = self.points.chunks(2).filter_map(larger).collect();
        }
        if self.length.is_some() {
            self.sectors.clear();
            self.span = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_each_other_and_count_first_sectors() {
        let mut tumbling = Tumbling::new(&[Nanos::SECOND]);
        for (ms, sector) in [(0, 10), (500, 10), (900, 30), (1000, 50), (2500, 10)] {
            tumbling.push(Nanos::from_millis(ms), sector);
        }
        let points = tumbling.finish();
        let s = Nanos::from_secs;
        assert_eq!(points[0], [(s(1), 2, 20), (s(2), 1, 0), (s(3), 1, 0)]);
        assert_eq!(points[1], [(s(1), 2, 20), (s(2), 3, 40), (s(3), 3, 40)]);
    }
}
