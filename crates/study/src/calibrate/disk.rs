//! A disk: its rotation and its seek curves.

use std::fmt::Write;

use iosonar_disk_model::{DiskProfile, Geometry, SeekPoints};
use iosonar_trace::Op;
use iosonar_units::{SECTOR_BYTES, one_line};

use super::drive::{DriveFigures, drive};
use super::figure::{Missing, Parameter, provenance as provenance_of};
use super::observed::Served;
use super::rotation::{End, RANGE_MS, Rotation, rotation};
use super::seek::{Curve, Positioning, curve};
use super::simplex::minimum;
use super::{CalibrateError, Observed, Quality, Trial};

/// How the parameters were found.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    /// From when transfers end: the places of sectors on the platter explain the times.
    Angles {
        /// How well all transfers agree on the rotation, 0 to 1.
        coherence: f64,
        /// By how much the worst request misses the seek curve, in milliseconds.
        slack_ms: f64,
    },
    /// From hits in the buffer, and from when the other transfers end.
    Buffer {
        /// How well transfers from the medium agree on the rotation, 0 to 1.
        coherence: f64,
    },
    /// From the distribution of latencies: the places do not explain the times.
    Distribution {
        /// How well transfers agreed.
        coherence: f64,
    },
    /// The profile that was given is better than all that was found.
    Unchanged,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct DiskFit {
    /// The profile.
    pub profile: DiskProfile,
    /// What the profile that was given is called, and how long its revolution takes, in milliseconds.
    pub start_name: String,
    /// See [`start_name`](Self::start_name).
    pub start_revolution_ms: f64,
    /// How it was found.
    pub how: How,
    /// What the records say about the electronics and the buffer, or what they lack.
    pub drive: Result<DriveFigures, Missing>,
    /// With which model of the disk it is to be used: `"positional"` or `"sampled"`.
    pub model: &'static str,
    /// How many reads and writes it rests on: those of the training half. The seek curve of a kind without any keeps its
    /// distance to the other, or with [`How::Buffer`] stays as it was.
    pub learned_from: [u64; 2],
    /// The profile that was given, on the held-out half.
    pub before: Quality,
    /// What was found, on the training half.
    pub training: Quality,
    /// The same on the held-out half.
    pub held_out: Quality,
}

/// Below this the angles are of another disk.
const COHERENT: f64 = 0.5;
/// The number of requests simulated for each candidate of a search.
const SEARCHED: usize = 20_000;

/// Fits the rotation and the seek curves of `start`; its geometry (cylinders, zones, surfaces) is taken as it is.
///
/// # Errors
/// If the records do not fit the disk, or a candidate cannot be simulated.
pub fn calibrate_disk(observed: &Observed, start: &DiskProfile) -> Result<DiskFit, CalibrateError> {
    let room = room(observed, start)?;
    let device = |model: &str| device(model, observed.end(), room);
    let (training, held_out) = observed.halves();
    let learned_from = [Op::Read, Op::Write].map(|op| training.count(op));
    let learn = Trial::new(&training)?;
    let judge = Trial::new(&held_out)?;
    let mut candidates = vec![
        (start.clone(), "positional", How::Unchanged),
        (start.clone(), "sampled", How::Unchanged),
    ];
    let found = drive(&training, start);
    if let Ok(found) = &found {
        let coherence = found.rotation.coherence;
        let profile = found.profile.clone();
        candidates.push((profile, "positional", How::Buffer { coherence }));
    }
    let (rotation, by_angles) = by_angles(&training, start);
    let coherence = rotation.map_or(0.0, |rotation| rotation.coherence);
    match by_angles {
        Some((profile, slack_ms)) if coherence >= COHERENT => {
            let how = How::Angles {
                coherence,
                slack_ms,
            };
            candidates.push((profile, "positional", how));
        }
        _ if found.is_ok() => {}
        _ => {
            let profile = by_distribution(&training, start, observed.end(), room)?;
            candidates.push((profile, "sampled", How::Distribution { coherence }));
        }
    }
    let mut best: Option<(DiskProfile, &'static str, How, Quality)> = None;
    let mut before: Option<(&'static str, f64)> = None;
    let mut refused = None;
    for (profile, model, how) in candidates {
        let quality = match learn.quality(&trial_text(&profile, room), &device(model)) {
            Err(error @ CalibrateError::Scenario(_)) => {
                refused.get_or_insert(error);
                continue;
            }
            quality => quality?,
        };
        if how == How::Unchanged && before.is_none_or(|(_, d)| quality.by_kind_ms < d) {
            before = Some((model, quality.by_kind_ms));
        }
        if best
            .as_ref()
            .is_none_or(|(.., b)| quality.by_kind_ms < b.by_kind_ms)
        {
            best = Some((profile, model, how, quality));
        }
    }
    let (Some((profile, model, how, training)), Some((model_before, _))) = (best, before) else {
        let nothing = || {
            CalibrateError::Records("the records contain no requests to fit a model to".to_owned())
        };
        return Err(refused.unwrap_or_else(nothing));
    };
    Ok(DiskFit {
        learned_from,
        start_name: start.name.clone(),
        start_revolution_ms: start.revolution_ms,
        before: judge.quality(&trial_text(start, room), &device(model_before))?,
        held_out: judge.quality(&trial_text(&profile, room), &device(model))?,
        profile,
        how,
        drive: found.map(|found| found.figures),
        model,
        training,
    })
}

/// How many sectors there are for the records.
fn room(observed: &Observed, start: &DiskProfile) -> Result<u64, CalibrateError> {
    if start.shingled.is_some() {
        return Err(CalibrateError::Profile(format!(
            "shingled drives cannot be fitted, and the profile '{}' describes one: use a profile without a [shingled] \
             table",
            start.name
        )));
    }
    let room = start.capacity_sectors.max(Geometry::new(start).capacity());
    if observed.end() > room {
        return Err(CalibrateError::Records(format!(
            "the records extend to sector {}, but the profile '{}' has only {}: the profile describes a different disk",
            observed.end(),
            start.name,
            room
        )));
    }
    Ok(room)
}

/// A profile for a trial: the sampled model has no more than the stated capacity, the positional one what its zones
/// hold. With a layout both are the same.
fn trial_text(profile: &DiskProfile, room: u64) -> String {
    let capacity_sectors = match profile.layout {
        Some(_) => profile.capacity_sectors,
        None => room + (1 << 11),
    };
    text_of(
        &DiskProfile {
            capacity_sectors,
            ..profile.clone()
        },
        "",
    )
}

/// The tables of a scenario with one disk, which holds `end` sectors of `room`. Its stripe units are as large as they can
/// be, so that hardly a request lies on two.
fn device(model: &str, end: u64, room: u64) -> String {
    let units = (11..=21).rev().map(|power| 1_u64 << power);
    let unit = units.into_iter().find(|unit| room / unit * unit >= end);
    let bytes = unit.unwrap_or(1 << 11) * SECTOR_BYTES;
    format!(
        "[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"{bytes}\"\n[disk]\nprofile = \"profile.toml\"\n\
         model = \"{model}\""
    )
}

/// With another revolution; sectors per track stay what they are.
pub(super) fn turning(start: &DiskProfile, revolution_ms: f64, skews_turn: bool) -> DiskProfile {
    let factor = revolution_ms / start.revolution_ms;
    let mut profile = start.clone();
    profile.revolution_ms = revolution_ms;
    profile.transfer.outermost_ms_per_sector *= factor;
    profile.transfer.innermost_ms_per_sector *= factor;
    if skews_turn {
        profile.geometry.track_skew_ms *= factor;
        profile.geometry.cylinder_skew_ms *= factor;
    }
    profile
}

/// From when transfers end: the rotation, and if the seek curves make a drive, too, a profile and how much the
/// curves had to be forgiven.
fn by_angles(
    observed: &Observed,
    start: &DiskProfile,
) -> (Option<Rotation>, Option<(DiskProfile, f64)>) {
    let geometry = Geometry::new(start);
    let served = observed.served();
    let fits = |s: &&Served| s.sector + u64::from(s.sectors) <= geometry.capacity();
    let shape = &start.geometry;
    let per_cylinder = shape.cylinder_skew_ms + f64::from(shape.surfaces - 1) * shape.track_skew_ms;
    // Skews are times, as profiles have them, or angles, as drives are formatted.
    let ends = |skews_turn: bool| -> Vec<End> {
        let end = |s: &Served| {
            let place = geometry.place(s.sector + u64::from(s.sectors) - 1);
            let at_ms = s.done.as_millis_f64();
            let of_track = 1.0 / f64::from(place.sectors_per_track);
            if skews_turn {
                return End {
                    at_ms,
                    turn: place.turn + of_track,
                };
            }
            let skew = f64::from(place.cylinder) * per_cylinder
                + f64::from(place.head) * shape.track_skew_ms;
            End {
                at_ms: at_ms - skew,
                turn: f64::from(place.sector + 1) * of_track,
            }
        };
        served.iter().filter(fits).map(end).collect()
    };
    let mut found = rotation(&ends(true)).map(|rotation| (rotation, true));
    if per_cylinder > 0.0
        && let Some(other) = rotation(&ends(false))
        && found.is_none_or(|(first, _)| other.coherence > first.coherence)
    {
        found = Some((other, false));
    }
    let Some((rotation, skews_turn)) = found else {
        return (None, None);
    };
    let mut profile = turning(start, rotation.revolution_ms, skews_turn);
    let mut slack: f64 = 0.0;
    let mut curves = [None, None];
    for (number, op) in [Op::Read, Op::Write].into_iter().enumerate() {
        let all = positionings(served, &geometry, rotation.revolution_ms, op);
        if all.len() >= Observed::FEWEST / 2 {
            let Some(found) = curve(&all, rotation.revolution_ms) else {
                return (Some(rotation), None);
            };
            slack = slack.max(found.slack);
            curves[number] = Some(found);
        }
    }
    set_curves(&mut profile, curves);
    let is_drive = DiskProfile::parse(&text_of(&profile, ""), "candidate").is_ok();
    (Some(rotation), is_drive.then_some((profile, slack)))
}

/// How long positionings took, and over what distance: of requests that lie on one track, on another cylinder than
/// the one before. The disk serves one at a time, whichever it chooses, and is not idle while one waits.
fn positionings(
    served: &[Served],
    geometry: &Geometry,
    revolution_ms: f64,
    op: Op,
) -> Vec<Positioning> {
    let mut by_end: Vec<&Served> = served.iter().collect();
    by_end.sort_by_key(|s| s.done);
    let mut all = Vec::new();
    for pair in by_end.windows(2) {
        let (before, now) = (pair[0], pair[1]);
        let last = now.sector + u64::from(now.sectors) - 1;
        if now.op != op || last >= geometry.capacity() || before.sector >= geometry.capacity() {
            continue;
        }
        let end_before =
            (before.sector + u64::from(before.sectors) - 1).min(geometry.capacity() - 1);
        let (from, to, end) = (
            geometry.place(end_before),
            geometry.place(now.sector),
            geometry.place(last),
        );
        let distance = from.cylinder.abs_diff(to.cylinder);
        if distance == 0 || (to.cylinder, to.head) != (end.cylinder, end.head) {
            continue;
        }
        let transfer = f64::from(now.sectors) / f64::from(to.sectors_per_track) * revolution_ms;
        let begun = now.came.max(before.done);
        all.push(Positioning {
            root: f64::from(distance).sqrt(),
            ms: (now.done - begun).as_millis_f64() - transfer,
        });
    }
    all
}

/// Sets the curves that were found. One of only the other kind of requests moves by as much.
fn set_curves(profile: &mut DiskProfile, curves: [Option<Curve>; 2]) {
    let stroke = f64::from(profile.cylinders - 1).sqrt();
    let points = |c: Curve| SeekPoints {
        track_to_track_ms: c.a + c.b,
        full_stroke_ms: c.a + c.b * stroke,
        measured: Vec::new(),
    };
    let old = profile.seek.clone();
    let moved = |other: &SeekPoints, from: &SeekPoints, to: &SeekPoints| SeekPoints {
        track_to_track_ms: (other.track_to_track_ms + to.track_to_track_ms
            - from.track_to_track_ms)
            .max(0.01),
        full_stroke_ms: other.full_stroke_ms + to.full_stroke_ms - from.full_stroke_ms,
        measured: Vec::new(),
    };
    let found = curves.map(|c| c.map(points));
    if found.iter().any(Option::is_some) {
        // They replace what reads and writes had in common.
        (profile.seek.curve, profile.seek.write_settle_ms) = (None, 0.0);
    }
    match found {
        [Some(read), Some(write)] => {
            profile.seek.read = read;
            profile.seek.write = write;
        }
        [Some(read), None] => {
            profile.seek.write = moved(&old.write, &old.read, &read);
            profile.seek.read = read;
        }
        [None, Some(write)] => {
            profile.seek.read = moved(&old.read, &old.write, &write);
            profile.seek.write = write;
        }
        [None, None] => {}
    }
}

/// From the distribution of latencies alone: the smallest demerit of the sampled model.
fn by_distribution(
    observed: &Observed,
    start: &DiskProfile,
    end: u64,
    room: u64,
) -> Result<DiskProfile, CalibrateError> {
    const TRIES: usize = 250;
    let some = observed.beginning(SEARCHED);
    let trial = Trial::new(&some)?;
    let writes = some.latencies(Op::Write).count() >= Observed::FEWEST as u64 / 2;
    let reads = some.latencies(Op::Read).count() >= Observed::FEWEST as u64 / 2;
    let with = |x: &[f64]| -> DiskProfile {
        let mut profile = turning(start, x[0], true);
        // The shape of a curve, and its height for reads and for writes.
        let curve = |points: &SeekPoints, least: f64, most: f64| SeekPoints {
            track_to_track_ms: points.track_to_track_ms * least,
            full_stroke_ms: points.full_stroke_ms * most,
            measured: Vec::new(),
        };
        profile.seek.read = curve(&start.seek.read, x[1], x[2]);
        let (least, most) = if reads && writes {
            (x[3], x[4])
        } else {
            (x[1], x[2])
        };
        profile.seek.write = curve(&start.seek.write, least, most);
        profile
    };
    let mut first = vec![start.revolution_ms, 1.0, 1.0];
    if reads && writes {
        first.extend([1.0, 1.0]);
    }
    let value = |x: &[f64]| -> Result<f64, CalibrateError> {
        // No drive turns faster or slower.
        if !(RANGE_MS.0..=RANGE_MS.1).contains(&x[0]) {
            return Ok(f64::INFINITY);
        }
        let text = trial_text(&with(x), room);
        if DiskProfile::parse(&text, "candidate").is_err() {
            return Ok(f64::INFINITY);
        }
        Ok(trial
            .quality(&text, &device("sampled", end, room))?
            .by_kind_ms)
    };
    let (best, _) = minimum(&first, 0.15, TRIES, value)?;
    Ok(with(&best))
}

impl DiskFit {
    /// What the records say about the buffer and the electronics, if the profile has them from there.
    pub fn parameters(&self) -> Vec<Parameter> {
        match (&self.drive, &self.how) {
            (Ok(figures), How::Buffer { .. }) => figures.parameters(),
            _ => Vec::new(),
        }
    }

    /// Whether the drive turns at another speed than that of the profile it was fitted from, beyond the tolerance of a
    /// motor: then capacity, zones and surfaces are those of another drive, too.
    pub fn is_another_drive(&self) -> bool {
        const TOLERANCE: f64 = 0.02;
        (self.profile.revolution_ms / self.start_revolution_ms - 1.0).abs() > TOLERANCE
    }

    /// The profile as a file; `records` names the recording, `provenance` says more, in lines.
    pub fn text(&self, records: &str, provenance: &str) -> String {
        let mut profile = DiskProfile {
            provenance: Some(provenance_of(records, &self.parameters())),
            ..self.profile.clone()
        };
        if self.is_another_drive() {
            profile.description = format!(
                "as in {}: {:.0} rpm, with the geometry of {}",
                one_line(records),
                profile.revolutions_per_minute(),
                self.start_name
            );
        }
        text_of(&profile, provenance)
    }
}

/// A profile as a file.
fn text_of(profile: &DiskProfile, provenance: &str) -> String {
    let mut text = String::new();
    for line in provenance.lines() {
        let _ = writeln!(text, "# {line}");
    }
    text + &profile.to_toml()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_shingled_drive_is_refused_by_name() {
        let profile = DiskProfile::load("seagate-archive-8tb", Path::new(".")).unwrap();
        let error = calibrate_disk(&Observed::default(), &profile).unwrap_err();
        assert!(
            matches!(&error, CalibrateError::Profile(what) if what.contains("shingled")),
            "{error}"
        );
    }

    #[test]
    fn a_whole_drive_keeps_its_tables() {
        let profile = DiskProfile::load("hp-c2247a", Path::new(".")).unwrap();
        let read = DiskProfile::parse(&text_of(&profile, "one line"), "x").unwrap();
        assert_eq!(
            DiskProfile {
                name: profile.name.clone(),
                ..read
            },
            profile
        );
    }

    #[test]
    fn a_profile_that_is_written_is_read_as_the_same() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let text = text_of(&profile, "two\nlines");
        assert!(text.starts_with("# two\n# lines\n"));
        let read = DiskProfile::parse(&text, "x").unwrap();
        assert_eq!(
            DiskProfile {
                name: profile.name.clone(),
                ..read
            },
            profile
        );
    }
}
