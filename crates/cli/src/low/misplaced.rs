//! Options that were typed before the command that they belong to.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// `error`, which also states where options belong if one precedes its command and resembles none that may do so.
pub(crate) fn explained(mut error: Error) -> Error {
    let Some(tip) = tip(&error) else {
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

fn tip(error: &Error) -> Option<String> {
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
