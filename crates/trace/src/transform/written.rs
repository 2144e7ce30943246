//! Changes as they are written on a command line and in files: a name and a value for each.

use std::error::Error;
use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

use iosonar_units::{Nanos, Share};

use super::{Change, OnBackstep, Repeat, Rounds};
use crate::Op;

/// The names of all changes, as options of a command line and as keys of a file.
pub const CHANGE_NAMES: [&str; 22] = [
    "from",
    "until",
    "duration",
    "select",
    "speed",
    "ops",
    "shift",
    "zero",
    "repeat",
    "repeat_offset",
    "scale_load",
    "on_backstep",
    "sort",
    "slip",
    "subst",
    "spread",
    "scatter",
    "resize",
    "reverse",
    "ramp_load",
    "cmd",
    "sample",
];

/// What is wrong with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The value does not fit the change.
    Value {
        /// The change.
        name: String,
        /// What was written.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// 'from' and 'until' leave nothing.
    Empty {
        /// The first start that is kept.
        from: Nanos,
        /// The first start that is not.
        until: Nanos,
    },
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value {
                name,
                value,
                expected,
            } => write!(f, "'{name}' is '{value}', {expected}"),
            Self::Empty { from, until } => {
                write!(f, "the window from {from} to {until} is empty")
            }
        }
    }
}

impl Error for ChangeError {}

/// From and until, written `A..B`; either end may be omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first start that is kept.
    pub from: Nanos,
    /// The first start that is not.
    pub until: Nanos,
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected A..B, such as 10s..2min; either end may be omitted".to_owned();
        let (from, until) = text.split_once("..").ok_or_else(expected)?;
        let time = |text: &str, missing| match text.trim() {
            "" => Ok(missing),
            text => text.parse::<Nanos>().map_err(|e| e.to_string()),
        };
        let (from, until) = (time(from, Nanos::ZERO)?, time(until, Nanos::MAX)?);
        if from < until {
            Ok(Self { from, until })
        } else {
            Err("expected a window that ends after it starts".to_owned())
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.until == Nanos::MAX {
            String::new()
        } else {
            self.until.exact()
        };
        write!(f, "{}..{end}", self.from.exact())
    }
}

/// Operations, written with commas between their names or first letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ops(pub Vec<Op>);

impl FromStr for Ops {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ops = text.split(',').map(|word| op(word.trim()));
        ops.collect::<Result<_, _>>().map(Self)
    }
}

/// An operation and what replaces it, written `W=R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// What is replaced.
    pub from: Op,
    /// By what.
    pub to: Op,
}

impl FromStr for Substitution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once('=').ok_or("expected OP=OP, such as W=R")?;
        let (from, to) = (op(from.trim())?, op(to.trim())?);
        Ok(Self { from, to })
    }
}

fn op(text: &str) -> Result<Op, String> {
    let known = Op::ALL.into_iter().find(|op| {
        let name = op.name();
        text.eq_ignore_ascii_case(name)
            || text.len() == 1 && text.eq_ignore_ascii_case(&name[..1]) && *op != Op::WriteZeroes
    });
    known.ok_or_else(|| "expected read, write, discard, flush or write-zeroes".to_owned())
}

/// By how many requests per second a load grows each second.
///
/// # Errors
/// If it is not a number above 0.
pub fn ramp(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(r) if (1e-6..=1e9).contains(&r) => Ok(r),
        _ => Err("expected a number greater than 0".to_owned()),
    }
}

/// The probability that a request is kept.
///
/// # Errors
/// If it is not a probability, or 0.
pub fn probability(text: &str) -> Result<f64, String> {
    let above_zero = (Bound::Excluded(0.0), Bound::Included(1.0));
    let expected = "a probability greater than 0 and at most 1, such as 0.1 or 10%";
    Share::within(text, above_zero, expected)
}

/// The changes that names and values say, in their order. `from`, `until` and `duration` are one window, at the place
/// of the first of them; a value `true` is the usual one.
///
/// # Errors
/// What is wrong with which.
///
/// # Panics
/// If a name is not one of [`CHANGE_NAMES`].
pub fn changes_of(written: &[(String, String)]) -> Result<Vec<Change>, ChangeError> {
    let last = |name: &str| {
        let found = written.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let offset = match last("repeat_offset") {
        Some(value) => offset_of("repeat_offset", value)?,
        None => 0,
    };
    let mut changes = Vec::new();
    let mut has_window = false;
    for (name, value) in written {
        match name.as_str() {
            "repeat_offset" => {}
            "from" | "until" | "duration" if has_window => {}
            "from" | "until" | "duration" => {
                has_window = true;
                changes.push(window(last("from"), last("until"), last("duration"))?);
            }
            "sort" | "reverse" if value == "false" => {}
            _ => changes.push(change(name, value, offset)?),
        }
    }
    Ok(changes)
}

/// A value of its type.
fn parsed<T: FromStr<Err: fmt::Display>>(name: &str, value: &str) -> Result<T, ChangeError> {
    value
        .parse()
        .map_err(|error: T::Err| wrong(name, value, &error))
}

fn wrong(name: &str, value: &str, expected: &dyn fmt::Display) -> ChangeError {
    ChangeError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
        expected: expected.to_string(),
    }
}

/// The shift per round, in sectors.
fn offset_of(name: &str, value: &str) -> Result<u64, ChangeError> {
    match parsed(name, value)? {
        offset @ ..=0x3fff_ffff_ffff_ffff => Ok(offset),
        _ => Err(wrong(name, value, &"expected fewer than 2^62 sectors")),
    }
}

fn window(
    from: Option<&str>,
    until: Option<&str>,
    duration: Option<&str>,
) -> Result<Change, ChangeError> {
    let from: Nanos = from.map_or(Ok(Nanos::ZERO), |from| parsed("from", from))?;
    let until = match (until, duration) {
        (Some(until), _) => parsed("until", until)?,
        (None, Some(duration)) => from.saturating_add(parsed("duration", duration)?),
        (None, None) => Nanos::MAX,
    };
    if until <= from {
        return Err(ChangeError::Empty { from, until });
    }
    Ok(Change::Select { from, until })
}

/// A change of a single name and value.
fn change(name: &str, value: &str, offset: u64) -> Result<Change, ChangeError> {
    let usual = |text: &'static str| if value == "true" { text } else { value };
    Ok(match name {
        "select" => {
            let Window { from, until } = parsed(name, value)?;
            Change::Select { from, until }
        }
        "speed" => Change::Speed(parsed(name, value)?),
        "ops" => Change::Ops(parsed::<Ops>(name, value)?.0),
        "shift" => Change::Shift(parsed(name, value)?),
        "zero" if value == "first" => Change::ZeroFirst,
        "zero" => return Err(wrong(name, value, &"expected first")),
        // As [`written`] writes it: with an offset of its own.
        "repeat" => Change::Repeat(match value.split_once(',') {
            Some((rounds, offset)) => Repeat {
                rounds: parsed(name, rounds)?,
                offset: offset_of(name, offset)?,
            },
            None => Repeat {
                rounds: parsed(name, value)?,
                offset,
            },
        }),
        "scale_load" => Change::ScaleLoad(parsed(name, value)?),
        "on_backstep" => Change::OnBackstep(parsed(name, value)?),
        "sort" if value == "true" => Change::OnBackstep(OnBackstep::Sort),
        "reverse" if value == "true" => Change::Reverse,
        "sort" | "reverse" => return Err(wrong(name, value, &"expected true or false")),
        "slip" => Change::Slip(parsed(name, usual("32768,256"))?),
        "subst" => {
            let Substitution { from, to } = parsed(name, value)?;
            Change::Substitute { from, to }
        }
        "spread" => Change::Spread(parsed(name, usual("2.0,8,0"))?),
        "scatter" => Change::Scatter(parsed(name, value)?),
        "resize" => Change::Resize(parsed(name, usual("2.0,0,65536"))?),
        "ramp_load" => {
            let per_s2 = ramp(usual("10")).map_err(|e| wrong(name, value, &e))?;
            Change::RampLoad { per_s2 }
        }
        "cmd" => Change::Command(value.to_owned()),
        "sample" => {
            let share = probability(value).map_err(|e| wrong(name, value, &e))?;
            Change::Sample { share }
        }
        _ => unreachable!("'{name}' is not the name of a change"),
    })
}

/// The name and the value of a change, from which [`changes_of`] makes the same again.
pub fn written(change: &Change) -> (&'static str, String) {
    match change {
        &Change::Select { from, until } => ("select", Window { from, until }.to_string()),
        Change::Ops(ops) => {
            let names: Vec<&str> = ops.iter().map(|op| op.name()).collect();
            ("ops", names.join(","))
        }
        Change::Repeat(Repeat { rounds, offset }) => {
            let rounds = match rounds {
                Rounds::Times(n) => n.to_string(),
                Rounds::Until(t) => t.exact(),
            };
            ("repeat", format!("{rounds},{offset}"))
        }
        Change::ScaleLoad(copies) => ("scale_load", copies.get().to_string()),
        Change::OnBackstep(OnBackstep::Error) => ("on_backstep", "error".to_owned()),
        Change::OnBackstep(OnBackstep::Shift) => ("on_backstep", "shift".to_owned()),
        Change::OnBackstep(OnBackstep::Sort) => ("sort", "true".to_owned()),
        Change::Slip(slip) => ("slip", format!("{},{}", slip.every, slip.increment)),
        Change::Substitute { from, to } => ("subst", format!("{}={}", from.name(), to.name())),
        Change::Spread(spread) => {
            let (factor, align) = (spread.factor, spread.align);
            ("spread", format!("{factor},{align},{}", spread.offset))
        }
        Change::Scatter(scatter) => ("scatter", format!("{},{}", scatter.over(), scatter.chunk())),
        Change::Resize(resize) => {
            let (factor, min) = (resize.factor, resize.min);
            ("resize", format!("{factor},{min},{}", resize.max))
        }
        Change::Reverse => ("reverse", "true".to_owned()),
        Change::Speed(ratio) => ("speed", ratio.to_string()),
        Change::Shift(t) => ("shift", t.exact()),
        Change::ZeroFirst => ("zero", "first".to_owned()),
        Change::RampLoad { per_s2 } => ("ramp_load", per_s2.to_string()),
        Change::Command(command) => ("cmd", command.clone()),
        Change::Sample { share } => ("sample", share.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(written: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        written.iter().map(owned).collect()
    }

    #[test]
    fn what_is_written_of_a_change_is_read_as_the_same() {
        let all = pairs(&[
            ("from", "1500us"),
            ("speed", "1.25"),
            ("select", "..3s"),
            ("ops", "r,write-zeroes"),
            ("duration", "2min"),
            ("shift", "1ns"),
            ("zero", "first"),
            ("repeat", "3"),
            ("repeat", "2h"),
            ("repeat_offset", "8"),
            ("scale_load", "12"),
            ("on_backstep", "shift"),
            ("on_backstep", "error"),
            ("sort", "true"),
            ("slip", "true"),
            ("subst", "W=R"),
            ("spread", "1.5,8,16"),
            ("scatter", "1000000000,2048"),
            ("resize", "0.5,1,9"),
            ("reverse", "true"),
            ("reverse", "false"),
            ("ramp_load", "true"),
            ("cmd", "sort -n"),
            ("sample", "0.1"),
        ]);
        let changes = changes_of(&all).unwrap();
        // One window of 'from' and 'duration'; no change for 'repeat_offset' and what is false.
        assert_eq!(changes.len(), all.len() - 3);
        assert_eq!(
            changes[0],
            Change::Select {
                from: Nanos::from_micros(1500),
                until: Nanos::from_micros(120_001_500),
            }
        );
        let again: Vec<(String, String)> = changes
            .iter()
            .map(|change| {
                let (name, value) = written(change);
                (name.to_owned(), value)
            })
            .collect();
        assert_eq!(changes_of(&again).unwrap(), changes);
    }

    #[test]
    fn a_value_that_is_none_is_refused_with_its_name() {
        for (name, value, problem) in [
            ("speed", "fast", "'speed' is 'fast', expected a number"),
            ("select", "3s..1s", "a window that ends after it starts"),
            ("zero", "last", "expected first"),
            ("select", "3s..3s", "a window that ends after it starts"),
            ("sort", "yes", "expected true or false"),
            ("reverse", "yes", "expected true or false"),
            ("repeat", "0", "at least 1 round"),
            ("repeat", "0s", "a number of rounds, or a time with a unit"),
            ("sample", "0", "a probability greater than 0"),
            ("scale_load", "0", "copies from 1 to 1000"),
            ("scale_load", "1001", "copies from 1 to 1000"),
            ("scale_load", "1.5", "a whole number of copies"),
            ("slip", "0,1", "EVERY,INCREMENT"),
        ] {
            let error = changes_of(&pairs(&[(name, value)]))
                .unwrap_err()
                .to_string();
            assert!(error.contains(problem), "{error}");
        }
        let empty = changes_of(&pairs(&[("from", "2s"), ("until", "1s")]));
        assert_eq!(
            empty.unwrap_err().to_string(),
            "the window from 2 s to 1 s is empty"
        );
    }

    #[test]
    fn an_operation_is_a_name_or_its_first_letter() {
        for (text, expected) in [
            ("read", Some(Op::Read)),
            ("R", Some(Op::Read)),
            ("w", Some(Op::Write)),
            ("Write", Some(Op::Write)),
            ("d", Some(Op::Discard)),
            ("f", Some(Op::Flush)),
            ("write-zeroes", Some(Op::WriteZeroes)),
            ("re", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(op(text).ok(), expected, "{text}");
        }
        let several = "r, flush,WRITE-ZEROES".parse();
        assert_eq!(several, Ok(Ops(vec![Op::Read, Op::Flush, Op::WriteZeroes])));
        let (from, to) = (Op::Discard, Op::Write);
        assert_eq!("d = W".parse(), Ok(Substitution { from, to }));
    }

    #[test]
    fn an_offset_per_round_is_below_2_to_62_sectors() {
        for (text, offset) in [
            ("0", Some(0)),
            ("8", Some(8)),
            ("4611686018427387903", Some((1 << 62) - 1)),
            ("4611686018427387904", None),
            ("-1", None),
        ] {
            let changes = changes_of(&pairs(&[("repeat", "2"), ("repeat_offset", text)]));
            let expected = offset.map(|offset| {
                let rounds = Rounds::Times(2);
                vec![Change::Repeat(Repeat { rounds, offset })]
            });
            assert_eq!(changes.ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_ramp_is_a_number_above_0() {
        for (text, rate) in [
            ("0.000001", Some(1e-6)),
            ("2.5", Some(2.5)),
            ("1e9", Some(1e9)),
            ("0", None),
            ("-1", None),
            ("9e-7", None),
            ("1.1e9", None),
            ("nan", None),
            ("x", None),
        ] {
            assert_eq!(ramp(text).ok(), rate, "{text}");
        }
    }
}
