//! A `dm_mech_g1`: the rotation, the heads, and the curve of the seek type.

use crate::SeekLaw;
use crate::disksim::error::{DiskSimError, Warning, WarningAbout};
use crate::disksim::files::Files;
use crate::disksim::parameters::{Reader, as_number, unsupported, warning};
use crate::disksim::seek_file::seek_file;
use crate::disksim::tree::Block;

pub(super) struct MechanicalModel {
    pub(super) seek: SeekLaw,
    pub(super) write_settle_ms: f64,
    pub(super) head_switch_ms: f64,
    pub(super) rpm: f64,
}

pub(super) fn mechanical_model(
    block: &Block,
    files: &Files<'_>,
    cylinders: u32,
    warnings: &mut Vec<Warning>,
) -> Result<MechanicalModel, DiskSimError> {
    let read = Reader::new(block);
    let (access, at) = read.word("Access time type", "trackSwitchPlusRotation")?;
    if access != "trackSwitchPlusRotation" {
        let key = "Access time type";
        let instead = "trackSwitchPlusRotation is, with the actual rotation";
        return Err(match access {
            "constant" | "averageRotation" => {
                unsupported(key, at, format_args!("'{access}'"), instead)
            }
            _ => read.refused(key, "constant, averageRotation or trackSwitchPlusRotation"),
        });
    }
    let seek = seek_law(&read, files, cylinders, warnings)?;
    let model = MechanicalModel {
        seek,
        write_settle_ms: read.number("Add. write settling delay", -1e6, 1e6)?,
        head_switch_ms: read.ms("Head switch time")?,
        rpm: read.number("Rotation speed (in rpms)", 1.0, 1e7)?,
    };
    read.finish(warnings);
    Ok(model)
}

/// The curve of the seek type.
fn seek_law(
    read: &Reader<'_>,
    files: &Files<'_>,
    cylinders: u32,
    warnings: &mut Vec<Warning>,
) -> Result<SeekLaw, DiskSimError> {
    const TYPES: &str = "constant, linear, curve, hpl, hplplus10 or extracted";
    let (kind, _) = read.word("Seek type", TYPES)?;
    warn_of_other_seeks(read, kind, warnings);
    let three = || -> Result<[f64; 3], DiskSimError> {
        Ok([
            read.ms("Single cylinder seek time")?,
            read.ms("Average seek time")?,
            read.ms("Full strobe seek time")?,
        ])
    };
    Ok(match kind {
        "constant" => SeekLaw::Constant {
            seek_ms: read.ms("Constant seek time")?,
        },
        "linear" => {
            let [one, average, full] = three()?;
            let (third, last) = (f64::from(cylinders) / 3.0, f64::from(cylinders - 1));
            let mut points = vec![(1.0, one)];
            if third > 1.0 && last > third {
                points.push((third, average));
            }
            points.push((last, full));
            SeekLaw::Measured { points }
        }
        "curve" => {
            let [track_to_track_ms, average_ms, full_stroke_ms] = three()?;
            SeekLaw::ThreePoint {
                track_to_track_ms,
                average_ms,
                full_stroke_ms,
            }
        }
        "hpl" | "hplplus10" => two_piece(read, kind)?,
        "extracted" => {
            let (name, at) = read.word("Full seek curve", "a file of distances and times")?;
            SeekLaw::Measured {
                points: seek_file(&files.find(name, at)?)?,
            }
        }
        _ => {
            return Err(read.refused("Seek type", TYPES));
        }
    })
}

/// The six values of the equation, and the times of the shortest seeks.
fn two_piece(read: &Reader<'_>, kind: &str) -> Result<SeekLaw, DiskSimError> {
    let numbers = |key: &'static str, count: usize, least: f64, expected: &'static str| {
        let items = read.list(key, expected)?;
        if items.len() != count {
            return Err(read.refused(key, expected));
        }
        items
            .iter()
            .map(|item| as_number(key, item, least, 1e9))
            .collect::<Result<Vec<f64>, _>>()
    };
    let values = numbers("HPL seek equation values", 6, -1e9, "a list of six numbers")?;
    let first_ms = match kind {
        "hplplus10" => {
            let expected = "a list of ten times in milliseconds";
            numbers("First ten seek times", 10, 0.0, expected)?
        }
        _ if values[5] == -1.0 => Vec::new(),
        _ => vec![values[5]],
    };
    Ok(SeekLaw::TwoPiece {
        first_ms,
        line_from_cylinders: values[0],
        root_ms: (values[1], values[2]),
        line_ms: (values[3], values[4]),
    })
}

/// Warns of parameters of other types of seek: files often have what is left of them.
fn warn_of_other_seeks(read: &Reader<'_>, kind: &str, warnings: &mut Vec<Warning>) {
    let own: &[&str] = match kind {
        "constant" => &["Constant seek time"],
        "linear" | "curve" => &[
            "Single cylinder seek time",
            "Average seek time",
            "Full strobe seek time",
        ],
        "hpl" => &["HPL seek equation values", "Single cylinder seek time"],
        "hplplus10" => &["HPL seek equation values", "First ten seek times"],
        _ => &["Full seek curve"],
    };
    for key in [
        "Constant seek time",
        "Single cylinder seek time",
        "Average seek time",
        "Full strobe seek time",
        "HPL seek equation values",
        "First ten seek times",
        "Full seek curve",
    ] {
        if let Some(item) = read.find(key)
            && !own.contains(&key)
        {
            warnings.push(warning(item, key, WarningAbout::OtherSeekType));
        }
    }
}
