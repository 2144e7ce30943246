//! What to do about words that the parser does not understand.

use std::error::Error as _;
use std::num::{ParseFloatError, ParseIntError};

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// `error` with a tip: where options belong, if one precedes its command and resembles none that may do so; or which kind of
/// number is expected.
pub(crate) fn explained(mut error: Error) -> Error {
    let Some(tip) = place(&error).or_else(|| number(&error)) else {
        return error;
    };
    let mut tips = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips.clone(),
        _ => Vec::new(),
    };
    tips.push(StyledStr::from(tip));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// Which kind of number is expected in the place of a value that the standard library could not read as one.
fn number(error: &Error) -> Option<String> {
    let source = error.source()?;
    let expected = if source.is::<ParseIntError>() {
        "a whole number of at least 0, such as 1000"
    } else if source.is::<ParseFloatError>() {
        "a number, such as 0.5"
    } else {
        return None;
    };
    Some(format!("expected {expected}"))
}

/// Where an option belongs that precedes its command.
fn place(error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some()
    {
        return None;
    }
    let usage = error.get(ContextKind::Usage)?.to_string();
    let path = usage.trim().strip_prefix("Usage: ")?;
    let path = path.strip_suffix(" [OPTIONS] <COMMAND>")?;
    let (what, name) = match path.ends_with(" generate") {
        true => ("the kind of load", "KIND"),
        false => ("the command", "COMMAND"),
    };
    Some(format!("options follow {what}: {path} {name} [OPTIONS]"))
}

#[cfg(test)]
mod tests {
    use crate::Build;
    use crate::low::command;

    #[test]
    fn of_a_value_that_is_no_number_the_expected_kind_of_number_is_named() {
        for (words, tip) in [
            (
                "sim x.toml --replications 1e3",
                Some("expected a whole number"),
            ),
            (
                "sim x.toml --replications 1.5",
                Some("expected a whole number"),
            ),
            (
                "model x.toml --budget a",
                Some("expected a number, such as"),
            ),
            ("sim x.toml --replications", None),
        ] {
            let words = ["iosonar"].into_iter().chain(words.split(' '));
            let error = command(80, Build::default())
                .try_get_matches_from(words)
                .unwrap_err();
            let text = super::explained(error).render().to_string();
            match tip {
                Some(tip) => assert!(text.contains(tip), "{text}"),
                None => assert!(!text.contains("tip: expected"), "{text}"),
            }
        }
    }
}
