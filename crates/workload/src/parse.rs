//! Laws as people write them: `geometric=5`, `1:0.7,8:0.3`, `zipf=0.9`.

use std::str::FromStr;

use crate::{Addresses, Batch, Size};

/// A text that is not a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLawError {
    expected: &'static str,
}

impl std::fmt::Display for ParseLawError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for ParseLawError {}

/// What both sizes and batches may be besides a number.
enum Law {
    Number(u32),
    Geometric(f64),
    Table(Vec<(f64, u32)>),
}

/// A number from 1 to a million, the mean of a geometric law, or a table.
fn law(text: &str) -> Option<Law> {
    if let Some(mean) = text.strip_prefix("geometric=") {
        let mean = mean.parse().ok()?;
        return (1.0..=1e6).contains(&mean).then_some(Law::Geometric(mean));
    }
    if text.contains(':') {
        return table(text).map(Law::Table);
    }
    let number = text.parse().ok()?;
    (1..=1_000_000)
        .contains(&number)
        .then_some(Law::Number(number))
}

/// Numbers with their shares, `1:0.7,8:0.3`; the shares sum to 1.
fn table(text: &str) -> Option<Vec<(f64, u32)>> {
    let row = |row: &str| -> Option<(f64, u32)> {
        let (number, share) = row.split_once(':')?;
        let (number, share) = (number.trim().parse().ok()?, share.trim().parse().ok()?);
        ((1..=1_000_000).contains(&number) && (0.0..=1.0).contains(&share))
            .then_some((share, number))
    };
    let table: Vec<(f64, u32)> = text.split(',').map(row).collect::<Option<_>>()?;
    let sum: f64 = table.iter().map(|(share, _)| share).sum();
    ((sum - 1.0).abs() < 1e-9).then_some(table)
}

impl FromStr for Size {
    type Err = ParseLawError;

    fn from_str(text: &str) -> Result<Self, ParseLawError> {
        match law(text) {
            Some(Law::Number(blocks)) => Ok(Self::Blocks(blocks)),
            Some(Law::Geometric(mean)) => Ok(Self::GeometricBlocks { mean }),
            Some(Law::Table(table)) => Ok(Self::Table(table)),
            None => Err(ParseLawError {
                expected: "a number of blocks from 1 to a million, geometric=MEAN, or a table with shares that sum to \
                    1, such as 1:0.7,8:0.3",
            }),
        }
    }
}

impl FromStr for Batch {
    type Err = ParseLawError;

    fn from_str(text: &str) -> Result<Self, ParseLawError> {
        match law(text) {
            Some(Law::Number(1)) => Ok(Self::One),
            Some(Law::Number(n)) => Ok(Self::Requests(n)),
            Some(Law::Geometric(mean)) => Ok(Self::Geometric { mean }),
            Some(Law::Table(table)) => Ok(Self::Table(table.into())),
            None => Err(ParseLawError {
                expected: "a number from 1 to a million, geometric=MEAN, or a table with shares that sum to 1, such as \
                    1:0.7,8:0.3",
            }),
        }
    }
}

impl FromStr for Addresses {
    type Err = ParseLawError;

    fn from_str(text: &str) -> Result<Self, ParseLawError> {
        let (law, values) = text.split_once('=').unwrap_or((text, ""));
        let values: Vec<f64> = values.split(':').filter_map(|v| v.parse().ok()).collect();
        let share = |s: f64| (0.0..=1.0).contains(&s);
        Ok(match (law, values.as_slice()) {
            ("uniform", []) => Self::Uniform,
            ("sequential", []) => Self::Sequential { run: f64::INFINITY },
            ("sequential", &[run]) if run >= 1.0 => Self::Sequential { run },
            ("zipf", &[theta]) if theta > 0.0 && theta <= 10.0 => Self::Zipf { theta },
            ("hot", &[space, requests]) if share(space) && space > 0.0 && share(requests) => {
                Self::Hot { space, requests }
            }
            ("mixed", &[follow, theta]) if share(follow) && (0.0..=10.0).contains(&theta) => {
                Self::Mixed {
                    follow,
                    theta,
                    used: 1.0,
                }
            }
            _ => {
                return Err(ParseLawError {
                    expected: "uniform, sequential, sequential=RUN (at least 1), zipf=EXPONENT \
                 (greater than 0, at most 10), hot=SPACE:REQUESTS (shares), or mixed=FOLLOW:EXPONENT",
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_read_as_it_is_written() {
        assert_eq!("8".parse(), Ok(Size::Blocks(8)));
        assert_eq!("1".parse(), Ok(Batch::One));
        assert_eq!(
            "geometric=5".parse(),
            Ok(Size::GeometricBlocks { mean: 5.0 })
        );
        let table = Size::Table(vec![(0.7, 1), (0.3, 8)]);
        assert_eq!("1:0.7,8:0.3".parse(), Ok(table));
        assert_eq!("zipf=0.9".parse(), Ok(Addresses::Zipf { theta: 0.9 }));
        for wrong in ["0", "geometric=0.5", "1:0.7", "1000001", ""] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
            assert!(wrong.parse::<Batch>().is_err(), "{wrong}");
        }
        for wrong in ["zipf=0", "hot=2:0.5", "elsewhere", "sequential=0.5"] {
            assert!(wrong.parse::<Addresses>().is_err(), "{wrong}");
        }
    }
}
