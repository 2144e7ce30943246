//! A seek curve a + b sqrt(d), from how long positioning takes.
//!
//! Positioning over d cylinders takes x = a + b sqrt(d) + w, where the wait w for the sector is at least zero and
//! below one revolution R. So every request says that a + b sqrt(d) <= x and a + b sqrt(d) > x - R: two half-planes
//! of (a, b). What is common to all is a small polygon; its centre is the estimate.

/// A positioning: the root of the distance in cylinders, and how long it took, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positioning {
    pub(super) root: f64,
    pub(super) ms: f64,
}

/// A seek curve in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) a: f64,
    pub(super) b: f64,
    /// By how much the worst of the requests misses it, in milliseconds.
    pub(super) slack: f64,
}

type Polygon = Vec<(f64, f64)>;

/// The curve that all positionings allow; where none does, the one that the fewest microseconds have to be
/// forgiven for, as long as that is below a quarter of a revolution.
pub(super) fn curve(all: &[Positioning], revolution_ms: f64) -> Option<Curve> {
    let mut slack = 0.0005;
    while slack < revolution_ms / 4.0 {
        let polygon = common(all, revolution_ms, slack);
        if polygon.len() >= 3 {
            let (a, b) = centre(&polygon);
            return Some(Curve { a, b, slack });
        }
        slack *= 1.5;
    }
    None
}

/// What is common to all half-planes.
fn common(all: &[Positioning], revolution_ms: f64, slack: f64) -> Polygon {
    // No arm takes longer, nor less.
    let mut polygon = vec![(-5.0, 0.0), (50.0, 0.0), (50.0, 1.0), (-5.0, 1.0)];
    for Positioning { root, ms } in all {
        // a + b root <= ms, and -(a + b root) <= R - ms.
        polygon = clip(&polygon, 1.0, *root, ms + slack);
        polygon = clip(&polygon, -1.0, -root, revolution_ms - ms + slack);
        if polygon.len() < 3 {
            break;
        }
    }
    polygon
}

/// The part of a convex polygon where p a + q b <= limit (Sutherland and Hodgman 1974).
fn clip(polygon: &[(f64, f64)], p: f64, q: f64, limit: f64) -> Polygon {
    let excess = |&(a, b): &(f64, f64)| p * a + q * b - limit;
    if polygon.iter().all(|corner| excess(corner) <= 0.0) {
        return polygon.to_vec();
    }
    let mut clipped = Polygon::with_capacity(polygon.len() + 1);
    for (i, corner) in polygon.iter().enumerate() {
        let next = &polygon[(i + 1) % polygon.len()];
        let (here, there) = (excess(corner), excess(next));
        if here <= 0.0 {
            clipped.push(*corner);
        }
        if (here <= 0.0) != (there <= 0.0) {
            let share = here / (here - there);
            clipped.push((
                corner.0 + (next.0 - corner.0) * share,
                corner.1 + (next.1 - corner.1) * share,
            ));
        }
    }
    clipped
}

/// The centre of a polygon's area; of one without area that of its corners.
fn centre(polygon: &[(f64, f64)]) -> (f64, f64) {
    let (x0, y0) = polygon[0];
    let (mut area, mut x, mut y) = (0.0, 0.0, 0.0);
    for pair in polygon.windows(2) {
        let ((x1, y1), (x2, y2)) = (
            (pair[0].0 - x0, pair[0].1 - y0),
            (pair[1].0 - x0, pair[1].1 - y0),
        );
        let cross = x1 * y2 - x2 * y1;
        area += cross;
        x += cross * (x1 + x2) / 3.0;
        y += cross * (y1 + y2) / 3.0;
    }
    if area.abs() > 1e-30 {
        return (x0 + x / area, y0 + y / area);
    }
    let n = polygon.len() as f64;
    let sum = polygon
        .iter()
        .fold((0.0, 0.0), |s, c| (s.0 + c.0, s.1 + c.1));
    (sum.0 / n, sum.1 / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    fn positionings(n: usize, a: f64, b: f64, jitter_ms: f64) -> Vec<Positioning> {
        let mut stream = Seed::new(5).stream("x", "y");
        (0..n)
            .map(|_| {
                let root = (60_000.0 * stream.uniform()).sqrt().max(1.0);
                let wait = 8.33 * stream.uniform();
                Positioning {
                    root,
                    ms: a + b * root + wait + jitter_ms * stream.uniform(),
                }
            })
            .collect()
    }

    #[test]
    fn the_curve_lies_between_the_shortest_and_the_longest_waits() {
        let found = curve(&positionings(5000, 0.735, 0.0659, 0.0), 8.33).unwrap();
        // Errors fall as R / n, here 1.7 us, with a lever of some ten times that at the ends: 0.02 ms, and over the
        // root of 60 000 cylinders 0.00008.
        assert!(
            (found.a - 0.735).abs() < 0.02 && (found.b - 0.0659).abs() < 8e-5,
            "{found:?}"
        );
        assert!(found.slack < 0.001);
    }

    #[test]
    fn noise_is_forgiven_as_far_as_needed_and_nonsense_is_not() {
        let found = curve(&positionings(2000, 0.735, 0.0659, 0.2), 8.33).unwrap();
        assert!(
            (found.b - 0.0659).abs() < 3e-3 && found.slack < 0.3,
            "{found:?}"
        );
        assert_eq!(curve(&positionings(2000, 0.735, 0.0659, 30.0), 8.33), None);
    }
}
