//! `iosonar explain`: what a warning or an error means, and what to do.

use crate::exit::{Ending, Usage, print};
use crate::low::Explain;
use crate::render::messages;

pub(crate) fn run(args: &Explain) -> anyhow::Result<Ending> {
    let Some(code) = &args.code else {
        print(&messages::listed())?;
        return Ok(Ending::Done);
    };
    // As it is shown: `[W012]`, or all of `warning[W012]:`.
    let within = code.split_once('[').map_or(code.as_str(), |(_, rest)| rest);
    let code = within.split(']').next().unwrap_or(within);
    let Some(message) = messages::find(code) else {
        let near = messages::nearest(code).map_or_else(String::new, |near| {
            format!("; the nearest is {} ({})", near.code, near.title)
        });
        return Err(Usage(format!(
            "'{code}' is not a message code{near}: 'iosonar explain' lists all codes"
        ))
        .into());
    };
    print(&messages::explained(message))?;
    Ok(Ending::Done)
}
