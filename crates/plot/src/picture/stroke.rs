//! Lines thicker than a pixel, on a bitmap.
//!
//! plotters makes a polygon of a thick line. Where the line turns back at an acute angle the polygon's inner
//! corner lies far away, however short the parts beside it are: a spike becomes a stroke across the picture. Here
//! a pixel is covered as far as it is near to the line, so that no pixel is farther from it than half its width.

use super::clip::Pixel;

/// The pixels near a path, with how much of each is covered, from 0 to 1.
pub(super) struct Stroke {
    left: i32,
    top: i32,
    width: usize,
    covered: Vec<f32>,
}

impl Stroke {
    /// A path of this width in pixels, with square ends and round corners, within a picture of this size.
    pub(super) fn new(path: &[Pixel], thickness: u32, (width, height): (u32, u32)) -> Self {
        let half = f64::from(thickness) / 2.0;
        let reach = half.ceil() as i32 + 1;
        let range = |of: fn(&Pixel) -> i32, size: u32| {
            let least = path.iter().map(of).min().unwrap_or(0) - reach;
            let most = path.iter().map(of).max().unwrap_or(-1) + reach;
            (least.max(0), most.min(size as i32 - 1))
        };
        let ((left, right), (top, bottom)) = (range(|p| p.0, width), range(|p| p.1, height));
        let (columns, rows) = (
            (right - left + 1).max(0) as usize,
            (bottom - top + 1).max(0) as usize,
        );
        let mut stroke = Self {
            left,
            top,
            width: columns,
            covered: vec![0.0; columns * rows],
        };
        // An even number of pixels has its middle between two of them.
        let middle = if thickness.is_multiple_of(2) {
            -0.5
        } else {
            0.0
        };
        let at = |p: Pixel| (f64::from(p.0) + middle, f64::from(p.1) + middle);
        let last = path.len().saturating_sub(2);
        for (i, ends) in path.windows(2).enumerate() {
            let is_end = (i == 0, i == last);
            stroke.cover(at(ends[0]), at(ends[1]), half, is_end);
        }
        stroke
    }

    /// Covers a straight part of the path: row by row, or column by column where it is flat.
    fn cover(&mut self, a: (f64, f64), b: (f64, f64), half: f64, is_end: (bool, bool)) {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length = dx.hypot(dy);
        if length == 0.0 || self.covered.is_empty() {
            return;
        }
        let is_steep = dy.abs() > dx.abs();
        let (along, across) = if is_steep { (dy, dx) } else { (dx, dy) };
        let (from, to, beside) = if is_steep {
            (a.1, b.1, a.0)
        } else {
            (a.0, b.0, a.1)
        };
        let reach = half + 0.5;
        let rows = self.covered.len() / self.width;
        let (columns_end, rows_end) = (self.left + self.width as i32, self.top + rows as i32);
        let (lines, across_range) = if is_steep {
            (self.top..rows_end, self.left..columns_end)
        } else {
            (self.left..columns_end, self.top..rows_end)
        };
        let first = ((from.min(to) - reach).ceil() as i32).max(lines.start);
        let last = ((from.max(to) + reach).floor() as i32).min(lines.end - 1);
        let span = reach * length / along.abs();
        let cap = reach * (1.0 + (across / along).abs());
        for line in first..=last {
            let way = ((f64::from(line) - from) / along).clamp(0.0, 1.0);
            let middle = beside + way * across;
            let span = if way > 0.0 && way < 1.0 { span } else { cap };
            let begin = ((middle - span).ceil() as i32).max(across_range.start);
            let end = ((middle + span).floor() as i32).min(across_range.end - 1);
            for place in begin..=end {
                let (x, y) = if is_steep {
                    (place, line)
                } else {
                    (line, place)
                };
                let (px, py) = (f64::from(x) - a.0, f64::from(y) - a.1);
                let on = (px * dx + py * dy) / length;
                let away = ((px * dy - py * dx) / length).abs();
                let beyond = if on < 0.0 {
                    -on
                } else {
                    (on - length).max(0.0)
                };
                let at_end = if on < 0.0 { is_end.0 } else { is_end.1 };
                let cover = if at_end && beyond > 0.0 {
                    (half + 0.5 - away).clamp(0.0, 1.0) * (0.5 - beyond).clamp(0.0, 1.0)
                } else {
                    (half + 0.5 - away.hypot(beyond)).clamp(0.0, 1.0)
                };
                let index = (y - self.top) as usize * self.width + (x - self.left) as usize;
                self.covered[index] = self.covered[index].max(cover as f32);
            }
        }
    }

    /// The pixels that are covered.
    pub(super) fn pixels(&self) -> impl Iterator<Item = (Pixel, f64)> + '_ {
        let place = |i: usize| {
            (
                self.left + (i % self.width) as i32,
                self.top + (i / self.width) as i32,
            )
        };
        let covered = self.covered.iter().enumerate();
        covered
            .filter(|(_, cover)| **cover > 0.0)
            .map(move |(i, cover)| (place(i), f64::from(*cover)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pixel_is_farther_from_the_line_than_half_its_width() {
        // Reversals at acute angles, as of a load that goes back and forth within few columns.
        for path in [
            vec![(50, 50), (51, 10), (52, 50), (53, 10), (54, 51)],
            vec![(10, 10), (90, 11), (10, 12)],
            vec![(10, 10), (90, 90), (11, 10)],
            vec![(20, 20), (20, 20), (21, 20)],
        ] {
            for thickness in [2, 3, 5] {
                let stroke = Stroke::new(&path, thickness, (200, 200));
                for ((x, y), _) in stroke.pixels() {
                    let near = path.windows(2).any(|ends| {
                        let reach = thickness as i32 / 2 + 1;
                        let within = |v: i32, a: i32, b: i32| {
                            (a.min(b) - reach..=a.max(b) + reach).contains(&v)
                        };
                        within(x, ends[0].0, ends[1].0) && within(y, ends[0].1, ends[1].1)
                    });
                    assert!(near, "{path:?} {x} {y}");
                }
            }
        }
    }

    #[test]
    fn a_straight_line_of_two_pixels_is_sharp() {
        let stroke = Stroke::new(&[(10, 20), (30, 20)], 2, (100, 100));
        let rows: Vec<i32> = stroke.pixels().map(|((_, y), _)| y).collect();
        assert!(rows.iter().all(|y| [19, 20].contains(y)), "{rows:?}");
        let full = stroke.pixels().filter(|(_, cover)| *cover == 1.0).count();
        assert!(full >= 2 * 19, "{full}");
    }

    #[test]
    fn what_lies_outside_the_picture_costs_nothing() {
        let stroke = Stroke::new(&[(-50, -50), (-10, -20)], 2, (100, 100));
        assert_eq!(stroke.pixels().count(), 0);
        assert_eq!(Stroke::new(&[], 2, (100, 100)).pixels().count(), 0);
    }
}
