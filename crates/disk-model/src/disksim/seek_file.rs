//! Files of measured seeks.

use std::path::Path;

use super::error::DiskSimError;
use super::files::read;

/// The points of a seek file: `Seek distances measured: N`, then `distance, ms[, standard deviation]` on each of N lines,
/// ascending in distance.
pub(crate) fn seek_file(path: &Path) -> Result<Vec<(f64, f64)>, DiskSimError> {
    const COUNT: &str = "Seek distances measured:";
    let text = read(path)?;
    let mut stated: Option<(usize, usize)> = None;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let refused = |key: &str, seen: &str, expected: &str| DiskSimError::Value {
            at: format!("{}:{}", path.display(), number + 1),
            key: key.to_owned(),
            seen: format!("'{seen}'"),
            expected: expected.to_owned(),
        };
        if let Some(count) = line.strip_prefix(COUNT) {
            let count = count.trim();
            let parsed = count.parse().map_err(|_| {
                refused("Seek distances measured", count, "the number of distances")
            })?;
            stated = Some((number + 1, parsed));
        } else if !line.is_empty() {
            let last = points.last().map(|&(distance, _)| distance);
            let point = seek_point(line, last);
            let point = point.map_err(|expected| refused("seek distance, time", line, expected))?;
            points.push(point);
        }
    }
    if points.is_empty() {
        return Err(DiskSimError::Syntax {
            at: format!("{}:1", path.display()),
            seen: "no distances".to_owned(),
            expected: "lines with a distance in cylinders, a comma and a time in milliseconds",
        });
    }
    match stated {
        Some((line, count)) if count != points.len() => Err(DiskSimError::Value {
            at: format!("{}:{line}", path.display()),
            key: "Seek distances measured".to_owned(),
            seen: count.to_string(),
            expected: format!(
                "{}, the number of lines that follow: the file has been truncated or changed",
                points.len()
            ),
        }),
        _ => Ok(points),
    }
}

/// A line of a seek file, after a distance; or what was expected there.
fn seek_point(line: &str, last: Option<f64>) -> Result<(f64, f64), &'static str> {
    let mut fields = line
        .split([',', ' ', '\t'])
        .filter(|field| !field.is_empty());
    let point = (
        fields.next().and_then(|d| d.parse::<u32>().ok()),
        fields.next().and_then(|t| t.parse::<f64>().ok()),
    );
    let (Some(distance), Some(ms)) = point else {
        return Err("a distance in cylinders, a comma, a time in milliseconds");
    };
    let distance = f64::from(distance);
    if !(0.0..=1e6).contains(&ms) {
        return Err("a time from 0 to 1e6 ms");
    }
    if last.is_some_and(|last| last >= distance) {
        return Err("a distance greater than that on the previous line");
    }
    Ok((distance, ms))
}
