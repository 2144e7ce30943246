//! What of a path or an area lies within a rectangle.

/// A point in pixels.
pub(super) type Pixel = (i32, i32);

/// A rectangle of pixels, all four edges within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clip {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

impl Clip {
    /// The same without a border of this width.
    pub(super) fn inset(self, by: i32) -> Self {
        Self {
            left: self.left + by,
            top: self.top + by,
            right: self.right - by,
            bottom: self.bottom - by,
        }
    }

    pub(super) fn contains(self, (x, y): Pixel) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The nearest pixel within.
    pub(super) fn nearest(self, (x, y): Pixel) -> Pixel {
        (
            x.clamp(self.left, self.right),
            y.clamp(self.top, self.bottom),
        )
    }

    /// The part of a line from `a` to `b`, as shares of it (Liang and Barsky, 1984).
    fn part(self, a: Pixel, b: Pixel) -> Option<(f64, f64)> {
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        let (dx, dy) = (f64::from(b.0 - a.0), f64::from(b.1 - a.1));
        for (slope, room) in [
            (-dx, f64::from(a.0 - self.left)),
            (dx, f64::from(self.right - a.0)),
            (-dy, f64::from(a.1 - self.top)),
            (dy, f64::from(self.bottom - a.1)),
        ] {
            if slope == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if slope < 0.0 {
                from = from.max(room / slope);
            } else {
                to = to.min(room / slope);
            }
        }
        (from <= to).then_some((from, to))
    }

    /// The pieces of a path that lie within.
    pub(super) fn path(self, path: &[Pixel]) -> Vec<Vec<Pixel>> {
        if path.iter().all(|p| self.contains(*p)) {
            return vec![path.to_vec()];
        }
        let mut pieces: Vec<Vec<Pixel>> = Vec::new();
        let mut is_open = false;
        for ends in path.windows(2) {
            let (a, b) = (ends[0], ends[1]);
            let Some((from, to)) = self.part(a, b) else {
                is_open = false;
                continue;
            };
            let at = |share: f64| {
                let between =
                    |a: i32, b: i32| (f64::from(a) + share * f64::from(b - a)).round() as i32;
                self.nearest((between(a.0, b.0), between(a.1, b.1)))
            };
            match pieces.last_mut() {
                Some(piece) if is_open => piece.push(at(to)),
                _ => pieces.push(vec![at(from), at(to)]),
            }
            is_open = to >= 1.0;
        }
        for piece in &mut pieces {
            piece.dedup();
        }
        // What only touches the border is not within.
        pieces.retain(|piece| piece.len() > 1);
        pieces
    }

    /// The part of a polygon that lies within (Sutherland and Hodgman, 1974).
    pub(super) fn polygon(self, corners: Vec<Pixel>) -> Vec<Pixel> {
        let mut corners = corners;
        for (is_x, bound, sign) in [
            (true, self.left, 1),
            (true, self.right, -1),
            (false, self.top, 1),
            (false, self.bottom, -1),
        ] {
            let of = |p: Pixel| if is_x { p.0 } else { p.1 };
            let inside = |p: Pixel| sign * (of(p) - bound) >= 0;
            let cross = |a: Pixel, b: Pixel| {
                let share = f64::from(bound - of(a)) / f64::from(of(b) - of(a));
                let between =
                    |a: i32, b: i32| (f64::from(a) + share * f64::from(b - a)).round() as i32;
                if is_x {
                    (bound, between(a.1, b.1))
                } else {
                    (between(a.0, b.0), bound)
                }
            };
            let mut kept = Vec::with_capacity(corners.len());
            for (i, &b) in corners.iter().enumerate() {
                let a = corners[(i + corners.len() - 1) % corners.len()];
                if inside(a) != inside(b) {
                    kept.push(cross(a, b));
                }
                if inside(b) {
                    kept.push(b);
                }
            }
            corners = kept;
        }
        corners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIP: Clip = Clip {
        left: 0,
        top: 0,
        right: 100,
        bottom: 50,
    };

    #[test]
    fn a_path_keeps_its_direction_where_it_leaves() {
        let pieces = CLIP.path(&[(50, 25), (150, 75), (150, 0), (50, 0)]);
        assert_eq!(pieces, [vec![(50, 25), (100, 50)], vec![(100, 0), (50, 0)]]);
        let whole = vec![(1, 1), (1, 1), (99, 49)];
        assert_eq!(CLIP.path(&whole), [whole]);
    }

    #[test]
    fn a_path_outside_leaves_nothing() {
        assert!(CLIP.path(&[(-5, -5), (-5, 60), (200, 60)]).is_empty());
        assert!(
            CLIP.path(&[(-10, 10), (10, -10)]).is_empty(),
            "touches a corner"
        );
    }

    #[test]
    fn a_polygon_is_cut_at_the_edges() {
        let cut = CLIP.polygon(vec![(-50, 10), (150, 10), (150, 40), (-50, 40)]);
        let mut cut = cut;
        cut.sort_unstable();
        cut.dedup();
        assert_eq!(cut, [(0, 10), (0, 40), (100, 10), (100, 40)]);
        assert!(CLIP.polygon(vec![(-5, 0), (-1, 5), (-5, 10)]).is_empty());
    }
}
