//! Measured response times of a networked system.

use std::path::{Path, PathBuf};

use iosonar_units::read_text_file;

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// How many jobs.
    pub jobs: f64,
    /// Their mean response time, in seconds.
    pub response_s: f64,
    /// Its standard error, in seconds, if it is known.
    pub stderr_s: Option<f64>,
}

/// Why measured points cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// The system refuses the file.
    #[error("{}: cannot read the measured points: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not a table of them.
    #[error("{0}")]
    Content(String),
}

/// Reads measured points: CSV with a header.
///
/// # Errors
/// If it cannot be read, or is no such table.
pub fn measured(path: &Path) -> Result<Vec<MeasuredPoint>, MeasuredError> {
    let text = read_text_file(path).map_err(|source| MeasuredError::Io {
        path: path.to_owned(),
        source,
    })?;
    let wrong = |line: usize, problem: String| {
        MeasuredError::Content(format!("{}:{line}: {problem}", path.display()))
    };
    let empty = |what: &str| MeasuredError::Content(format!("{}: {what}", path.display()));
    let lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (first, header) = lines.next().ok_or_else(|| empty("the file is empty"))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let column = |name: &str| names.iter().position(|n| *n == name);
    let (Some(jobs), Some(response)) = (column("jobs"), column("response_s")) else {
        let expected = "expected a header with the columns jobs,response_s and optionally stderr_s";
        return Err(wrong(
            first,
            format!("the header is '{header}', {expected}"),
        ));
    };
    let stderr = column("stderr_s");
    let mut points = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let value = |column: usize| -> Result<f64, MeasuredError> {
            let seen = cells.get(column).copied().unwrap_or("");
            match seen.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
                _ => Err(wrong(
                    number,
                    format!(
                        "'{}' is '{seen}', expected a number of at least 0",
                        names[column]
                    ),
                )),
            }
        };
        if value(jobs)? == 0.0 {
            return Err(wrong(
                number,
                "'jobs' is 0, expected a number greater than 0".to_owned(),
            ));
        }
        points.push(MeasuredPoint {
            jobs: value(jobs)?,
            response_s: value(response)?,
            stderr_s: stderr.map(value).transpose()?,
        });
    }
    if points.is_empty() {
        return Err(empty("no points follow the header"));
    }
    points.sort_by(|a, b| a.jobs.total_cmp(&b.jobs));
    Ok(points)
}
