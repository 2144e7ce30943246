//! How long the seeks of a profile take: points of reads and of writes, or a law of both.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::{Refuse, is_positive};
use crate::{DiskProfile, SeekCurve, SeekCurves};

/// The seek curves: one for reads and one for writes, or a common one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SeekProfile {
    /// Seeks before a read. May be left out if `curve` is given.
    #[serde(default, skip_serializing_if = "SeekPoints::are_left_out")]
    pub read: SeekPoints,
    /// Seeks before a write, for which the head must settle more precisely. May be left out if `curve` is given.
    #[serde(default, skip_serializing_if = "SeekPoints::are_left_out")]
    pub write: SeekPoints,
    /// A common curve for reads and writes, for the positional model.
    pub curve: Option<SeekLaw>,
    /// The additional settling time before a write, after a seek by the `curve` or a head switch.
    #[serde(default)]
    pub write_settle_ms: f64,
}

/// A seek curve: `a + b sqrt(distance)` through two points, or measured points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SeekPoints {
    /// The time of a seek to the next cylinder.
    pub track_to_track_ms: f64,
    /// The time of a seek across all cylinders.
    pub full_stroke_ms: f64,
    /// Measured points between these two, as `[cylinders, ms]`, in ascending order of cylinders. With them, the curve
    /// is interpolated between the points.
    #[serde(default)]
    pub measured: Vec<(f64, f64)>,
}

impl SeekPoints {
    fn are_left_out(&self) -> bool {
        *self == Self::default()
    }

    fn curve(&self, cylinders: u32) -> SeekCurve {
        let (first, last) = (self.track_to_track_ms, self.full_stroke_ms);
        if self.measured.is_empty() {
            return SeekCurve::new(first, last, cylinders);
        }
        let stroke = f64::from(cylinders - 1);
        let ends = [(1.0, first)]
            .into_iter()
            .chain(self.measured.iter().copied());
        SeekCurve::measured(ends.chain([(stroke, last)]).collect())
    }

    /// Whether the measured points lie between the ends, ascending.
    fn ascend(&self, cylinders: u32) -> bool {
        let stroke = f64::from(cylinders - 1);
        let inside = |&(d, ms): &(f64, f64)| d > 1.0 && d < stroke && (0.0..=1e6).contains(&ms);
        self.measured.iter().all(inside) && self.measured.windows(2).all(|w| w[0].0 < w[1].0)
    }
}

/// The seek times of reads and writes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekLaw {
    /// The same time for all distances.
    Constant {
        /// The time of a seek.
        seek_ms: f64,
    },
    /// Straight lines between the points, starting at (0, 0); the last line is extended beyond the last point. The
    /// times need not ascend.
    Measured {
        /// Pairs `[cylinders, ms]`, in ascending order of cylinders.
        points: Vec<(f64, f64)>,
    },
    /// `t1 + a sqrt(d - 1) + b (d - 1)` through the three times (Lee and Katz, "An analytic performance model of
    /// disk arrays", SIGMETRICS 1993).
    ThreePoint {
        /// The time of a seek to the next cylinder.
        track_to_track_ms: f64,
        /// The average time of a seek between two random cylinders.
        average_ms: f64,
        /// The time of a seek across all cylinders.
        full_stroke_ms: f64,
    },
    /// A square root for short seeks and a line for long ones (Ruemmler and Wilkes 1994).
    TwoPiece {
        /// The times of seeks over 1, 2, ... cylinders.
        #[serde(default)]
        first_ms: Vec<f64>,
        /// The distance from which the line applies.
        line_from_cylinders: f64,
        /// The coefficients a and b of `a + b sqrt(d)`, in milliseconds.
        root_ms: (f64, f64),
        /// The coefficients a and b of `a + b d`, in milliseconds.
        line_ms: (f64, f64),
    },
}

impl SeekLaw {
    /// The curve of a disk with this many cylinders.
    pub(crate) fn curve(&self, cylinders: u32) -> SeekCurve {
        match self {
            Self::Constant { seek_ms } => {
                SeekCurve::Measured([(0.0, *seek_ms), (1.0, *seek_ms)].into())
            }
            Self::Measured { points } => {
                let mut curve = vec![(0.0, 0.0)];
                curve.extend(points.iter().filter(|(d, _)| *d > 0.0));
                if curve.len() == 1 {
                    curve.push((1.0, 0.0));
                }
                SeekCurve::measured(curve)
            }
            &Self::ThreePoint {
                track_to_track_ms: min,
                average_ms: mean,
                full_stroke_ms: max,
            } => {
                let c = f64::from(cylinders);
                let a = (15.0 * mean - 10.0 * min - 5.0 * max) / (3.0 * c.sqrt());
                let b = (7.0 * min - 15.0 * mean + 8.0 * max) / (3.0 * c);
                let time = |d: f64| (d, (min + a * (d - 1.0).sqrt() + b * (d - 1.0)).max(0.0));
                let mut points = vec![(0.0, 0.0)];
                let mut d = 1.0_f64;
                while d < c {
                    points.push(time(d));
                    d = (d * 1.02).ceil().max(d + 1.0);
                }
                points.push(time(c));
                SeekCurve::measured(points)
            }
            Self::TwoPiece {
                first_ms,
                line_from_cylinders,
                root_ms,
                line_ms,
            } => SeekCurve::TwoPiece {
                first_ms: first_ms.clone().into(),
                line_from: *line_from_cylinders,
                root_ms: *root_ms,
                line_ms: *line_ms,
            },
        }
    }
}

impl DiskProfile {
    /// How long seeks of the positional model take.
    pub(crate) fn seeks(&self) -> SeekCurves {
        match &self.seek.curve {
            None => self.seek_curves(),
            Some(law) => SeekCurves {
                read: law.curve(self.cylinders),
                write: law.curve(self.cylinders),
            },
        }
    }

    /// The points of reads and writes that were left out, from the curve of both.
    pub(super) fn complete(&mut self) {
        let Some(law) = &self.seek.curve else { return };
        let points = |settle: f64| {
            let curve = law.curve(self.cylinders);
            let last = f64::from(self.cylinders.max(3) - 1);
            let at = |d: f64| (curve.time_ms(d) + settle).max(1e-6);
            let shortest = at(1.0);
            let mut measured: Vec<(f64, f64)> = Vec::new();
            if let SeekCurve::Measured(points) = &curve {
                let inside = points.iter().filter(|(d, _)| *d > 1.0 && *d < last);
                measured.extend(inside.map(|&(d, ms)| (d, (ms + settle).max(0.0))));
            } else {
                // The curves of formulas are smooth enough between places that lie ever farther apart.
                let mut d = 2.0_f64;
                while d < last {
                    measured.push((d, at(d)));
                    d = (d * 1.25).ceil();
                }
            }
            SeekPoints {
                track_to_track_ms: shortest,
                full_stroke_ms: at(last).max(shortest),
                measured,
            }
        };
        let (read, write) = (points(0.0), points(self.seek.write_settle_ms));
        let seek = &mut self.seek;
        if seek.read.are_left_out() {
            seek.read = read;
        }
        if seek.write.are_left_out() {
            seek.write = write;
        }
    }

    /// How long seeks of the sampled model take.
    pub fn seek_curves(&self) -> SeekCurves {
        SeekCurves {
            read: self.seek.read.curve(self.cylinders),
            write: self.seek.write.curve(self.cylinders),
        }
    }

    /// Whether the points of reads and of writes are those of a drive.
    pub(super) fn check_seek_points(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        for (key, points) in [
            ("seek.read.full_stroke_ms", &self.seek.read),
            ("seek.write.full_stroke_ms", &self.seek.write),
        ] {
            if !points.ascend(self.cylinders) {
                let key = "seek.read.measured or seek.write.measured";
                let expected = "pairs [cylinders, ms] in ascending order: above 1, below a full stroke; 0 to 1e6 ms";
                return refuse(key, points.measured.len() as f64, expected);
            }
            let full = points.full_stroke_ms;
            if !is_positive(full) || full < points.track_to_track_ms {
                return refuse(key, full, "at least the track-to-track time");
            }
            if self.seek.curve.is_none() && points.curve(self.cylinders).time_ms(0.0) < 0.0 {
                return refuse(
                    key,
                    full,
                    "a value for which a + b sqrt(d) stays above zero",
                );
            }
        }
        Ok(())
    }

    /// Whether the law of seeks is that of a drive.
    pub(super) fn check_seek_law(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        let settle = self.seek.write_settle_ms;
        if !(-1e6..=1e6).contains(&settle) {
            return refuse(
                "seek.write_settle_ms",
                settle,
                "a time in milliseconds, -1e6 to 1e6",
            );
        }
        let Some(law) = &self.seek.curve else {
            return match settle {
                0.0 => Ok(()),
                _ => refuse("seek.write_settle_ms", settle, "0 without 'seek.curve'"),
            };
        };
        if let SeekLaw::Measured { points } = law {
            let ascend = points.windows(2).all(|w| w[0].0 < w[1].0);
            let times = points
                .iter()
                .all(|&(d, t)| d >= 0.0 && (0.0..=1e6).contains(&t));
            if points.is_empty() || !ascend || !times {
                let expected = "at least one pair [cylinders, ms], in ascending order of cylinders, 0 to 1e6 ms";
                return refuse("seek.curve.points", points.len() as f64, expected);
            }
        }
        if let SeekLaw::TwoPiece {
            first_ms,
            line_from_cylinders,
            root_ms,
            line_ms,
        } = law
        {
            let numbers = [
                *line_from_cylinders,
                root_ms.0,
                root_ms.1,
                line_ms.0,
                line_ms.1,
            ];
            if let Some(wrong) = numbers.iter().find(|x| !(-1e6..=1e6).contains(*x)) {
                return refuse("seek.curve", *wrong, "numbers from -1e6 to 1e6");
            }
            if let Some(wrong) = first_ms.iter().find(|ms| !(0.0..=1e6).contains(*ms)) {
                return refuse(
                    "seek.curve.first_ms",
                    *wrong,
                    "times in milliseconds, 0 to 1e6",
                );
            }
        }
        let curve = law.curve(self.cylinders);
        for d in [1.0, f64::from(self.cylinders - 1)] {
            let t = curve.time_ms(d);
            if !(-1e6..=1e6).contains(&t) {
                return refuse("seek.curve", t, "times up to 1e6 ms");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_point_curve_is_that_of_lee_and_katz() {
        let (min, mean, max) = (1.5_f64, 8.0_f64, 16.0_f64);
        let law = SeekLaw::ThreePoint {
            track_to_track_ms: min,
            average_ms: mean,
            full_stroke_ms: max,
        };
        for cylinders in [3, 40, 1000, 10_000] {
            let c = f64::from(cylinders);
            let a = (15.0 * mean - 10.0 * min - 5.0 * max) / (3.0 * c.sqrt());
            let b = (7.0 * min - 15.0 * mean + 8.0 * max) / (3.0 * c);
            let exact = |d: f64| a * (d - 1.0).sqrt() + b * (d - 1.0) + min;
            let curve = law.curve(cylinders);
            for distance in 1..=cylinders {
                let d = f64::from(distance);
                let off = (curve.time_ms(d) - exact(d)).abs();
                // Each of the first cylinders is a point, and the last one.
                let most = if distance <= 51 || distance == cylinders {
                    1e-9
                } else {
                    1e-3
                };
                assert!(off < most, "{distance} of {cylinders}: {off}");
            }
            let SeekCurve::Measured(points) = curve else {
                panic!("points")
            };
            // A step of 2 % from 51 on: ln(10,000 / 51) / ln(1.02) = 267 of them.
            assert!(points.len() < 51 + 275, "{}", points.len());
            assert!(points.windows(2).all(|w| w[0].0 < w[1].0));
        }
        // Over all of many cylinders the longest, and between two random ones, at a distance of the density 2 (1 - x), the
        // mean.
        let curve = law.curve(1_000_000);
        assert!((curve.time_ms(1e6) - max).abs() < 1e-2);
        let steps = 1000;
        let at = |i: u32| (f64::from(i) + 0.5) / f64::from(steps);
        let times = (0..steps).map(|i| 2.0 * (1.0 - at(i)) * curve.time_ms(1e6 * at(i)));
        let average = times.sum::<f64>() / f64::from(steps);
        assert!((average - mean).abs() < 1e-2, "{average}");
    }

    #[test]
    fn a_constant_or_measured_curve_begins_at_no_distance() {
        let constant = SeekLaw::Constant { seek_ms: 2.5 }.curve(100);
        assert_eq!([1.0, 50.0, 99.0].map(|d| constant.time_ms(d)), [2.5; 3]);
        let measured = SeekLaw::Measured {
            points: vec![(0.0, 7.0), (2.0, 3.0), (4.0, 4.0)],
        };
        // Half of the way from (0, 0), and on beyond the last one.
        let curve = measured.curve(100);
        assert_eq!(
            [1.0, 2.0, 3.0, 10.0].map(|d| curve.time_ms(d)),
            [1.5, 3.0, 3.5, 7.0]
        );
        let nowhere = SeekLaw::Measured {
            points: vec![(0.0, 7.0)],
        };
        assert_eq!(nowhere.curve(100).time_ms(50.0), 0.0);
    }

    #[test]
    fn between_the_ends_the_points_of_a_formula_lie_ever_farther_apart() {
        let mut profile = DiskProfile::parse(crate::BUILT_IN[0].1, "x.toml").unwrap();
        profile.cylinders = 101;
        let law = SeekLaw::TwoPiece {
            first_ms: vec![0.5],
            line_from_cylinders: 30.0,
            root_ms: (1.0, 0.2),
            line_ms: (2.0, 0.01),
        };
        profile.seek.curve = Some(law);
        profile.seek.write_settle_ms = 0.25;
        (profile.seek.read, profile.seek.write) = Default::default();
        profile.complete();
        let exact = |d: f64| {
            if d < 30.0 {
                1.0 + 0.2 * d.sqrt()
            } else {
                2.0 + 0.01 * d
            }
        };
        let places = [2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 48, 60, 75, 94];
        for (points, settle) in [(&profile.seek.read, 0.0), (&profile.seek.write, 0.25)] {
            assert_eq!(points.track_to_track_ms, 0.5 + settle);
            assert_eq!(points.full_stroke_ms, exact(100.0) + settle);
            let expected = places.map(|d| (f64::from(d), exact(f64::from(d)) + settle));
            assert_eq!(points.measured, expected);
        }
    }

    #[test]
    fn measured_points_lie_between_the_next_cylinder_and_the_last() {
        let points = SeekPoints {
            track_to_track_ms: 1.0,
            full_stroke_ms: 10.0,
            measured: vec![(5.0, 3.0), (21.0, 5.0)],
        };
        // 100 cylinders are the longest way of 101.
        let curve = points.curve(101);
        for (cylinders, ms) in [
            (1.0, 1.0),
            (3.0, 2.0),
            (5.0, 3.0),
            (13.0, 4.0),
            (21.0, 5.0),
            (100.0, 10.0),
        ] {
            assert_eq!(curve.time_ms(cylinders), ms, "{cylinders}");
        }
        assert!((curve.time_ms(60.5) - 7.5).abs() < 1e-12);
    }
}
