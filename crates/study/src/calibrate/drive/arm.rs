//! The arm: how long commands and seeks take, from reads that found it at rest.

use iosonar_disk_model::{DiskProfile, OverheadsProfile, SeekPoints};

use super::Requests;
use crate::calibrate::figure::{Figure, Found, Missing};
use crate::calibrate::hits::Line;
use crate::calibrate::rotation::Rotation;
use crate::calibrate::windows::{self, Knot, Wait};

/// How long commands and seeks take.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) command: [Figure; 2],
    knots: Vec<Knot>,
    /// The electronics of the profile before.
    before: OverheadsProfile,
}

impl Arm {
    pub(super) fn of(requests: &Requests<'_>, tracks: &[(u32, u32)], rotation: &Rotation) -> Self {
        let revolution = rotation.revolution_ms;
        let waits = requests.waits(tracks, rotation);
        let after_reads: Vec<Wait> = waits.iter().copied().filter(|w| w.after == 0).collect();
        let switch_ms = requests.start.geometry.head_switch_ms;
        let near = after_reads.iter().filter(|w| w.cylinders == 0);
        let near: Vec<f64> = near
            .map(|w| w.ms - if w.other_head { switch_ms } else { 0.0 })
            .collect();
        let knots = windows::knots(&after_reads, revolution);
        let after_read = command(near, revolution)
            .map(|found| time(found.value, found.value - found.low, found.requests))
            .ok_or(Missing::ShortSeeks);
        let shift: Vec<f64> = waits
            .iter()
            .filter(|w| w.after == 1 && w.cylinders > 0)
            .map(|w| w.ms - windows::at(&knots, f64::from(w.cylinders)))
            .collect();
        let after_write = match (after_read, command(shift, revolution)) {
            (Ok(read), Some(shift)) => Ok(Found {
                value: (read.value + shift.value).max(0.0),
                low: (read.value + shift.low).max(0.0),
                high: (read.value + shift.high).max(0.0),
                ..shift
            }),
            (Err(missing), _) => Err(missing),
            (_, None) => Err(Missing::Writes),
        };
        Self {
            command: [after_read, after_write],
            knots,
            before: requests.start.overheads.clone().unwrap_or_default(),
        }
    }

    /// The command after a read; where that is not known it is what it was, and the rest is taken for the seek.
    fn command_ms(&self) -> f64 {
        self.command[0].map_or(self.before.read_miss_after_read_ms, |found| found.value)
    }

    /// The points of the seek curve.
    pub(super) fn points(&self) -> Vec<(f64, Found)> {
        let command = self.command_ms();
        let point = |knot: &Knot| {
            let value = knot.ms - command;
            (knot.cylinders, time(value, knot.error_ms, knot.requests))
        };
        self.knots.iter().map(point).collect()
    }

    /// The ends of the curve, with the errors of the points next to them.
    pub(super) fn ends(&self, profile: &DiskProfile) -> [Figure; 2] {
        let seek = &profile.seek.read;
        let end = |ms: f64, knot: Option<&Knot>| {
            let knot = knot.ok_or(Missing::ShortSeeks)?;
            Ok(time(ms, knot.error_ms, knot.requests))
        };
        [
            end(seek.track_to_track_ms, self.knots.first()),
            end(seek.full_stroke_ms, self.knots.last()),
        ]
    }

    /// The curve of a profile with this number of cylinders.
    fn curve(&self, cylinders: u32) -> SeekPoints {
        let (command, last) = (self.command_ms(), f64::from(cylinders - 1));
        let at = |d: f64| (windows::at(&self.knots, d) - command).max(1e-3);
        let first = at(1.0);
        let inside = self
            .knots
            .iter()
            .map(|k| k.cylinders)
            .filter(|d| *d > 1.0 && *d < last);
        SeekPoints {
            track_to_track_ms: first,
            full_stroke_ms: at(last).max(first),
            measured: inside.map(|d| (d, at(d))).collect(),
        }
    }

    /// Sets what is known; the rest is unchanged.
    pub(super) fn set(&self, profile: &mut DiskProfile, reads: &Line, writes: Option<&Line>) {
        if !self.knots.is_empty() {
            // A curve of both is given by points too, those of writes among them.
            (profile.seek.curve, profile.seek.write_settle_ms) = (None, 0.0);
            profile.seek.read = self.curve(profile.cylinders);
        }
        profile.overheads = Some(self.overheads(reads, writes));
    }

    fn overheads(&self, reads: &Line, writes: Option<&Line>) -> OverheadsProfile {
        let mut all = self.before.clone();
        let reading = reads.command.iter().chain(&self.command);
        if reading.clone().any(Result::is_ok) {
            // They are parts of the commands as measured.
            all = OverheadsProfile {
                per_request_ms: 0.0,
                read_completion_ms: 0.0,
                data_preparation_ms: 0.0,
                first_reselect_ms: 0.0,
                read_disconnect_after_read_ms: 0.0,
                read_disconnect_after_write_ms: 0.0,
                ..all
            };
        }
        let writing = writes.map_or([Err(Missing::Writes); 2], |line| line.command);
        if writing.iter().any(Result::is_ok) {
            all = OverheadsProfile {
                write_completion_ms: 0.0,
                other_reselect_ms: 0.0,
                write_disconnect_ms: 0.0,
                minimum_write_seek_ms: 0.0,
                extra_write_disconnect: None,
                ..all
            };
        }
        let figures = reading.chain(&writing).chain(&writing);
        let keys = [
            &mut all.read_hit_after_read_ms,
            &mut all.read_hit_after_write_ms,
            &mut all.read_miss_after_read_ms,
            &mut all.read_miss_after_write_ms,
            &mut all.write_hit_after_read_ms,
            &mut all.write_hit_after_write_ms,
            &mut all.write_miss_after_read_ms,
            &mut all.write_miss_after_write_ms,
        ];
        for (key, figure) in keys.into_iter().zip(figures) {
            if let Ok(found) = figure {
                *key = found.value;
            }
        }
        all
    }
}

/// A time and its error, none of them below zero.
fn time(value: f64, error: f64, requests: u64) -> Found {
    Found {
        value: value.max(0.0),
        low: (value - error).max(0.0),
        high: (value + error).max(0.0),
        requests,
    }
}

/// An offset from enough times.
fn command(times: Vec<f64>, revolution_ms: f64) -> Option<Found> {
    const FEWEST: usize = 12;
    let requests = times.len() as u64;
    (times.len() >= FEWEST).then(|| {
        let (value, error) = windows::offset(times, revolution_ms);
        Found {
            value,
            low: value - error,
            high: value + error,
            requests,
        }
    })
}
