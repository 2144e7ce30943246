//! `iosonar completions`: the script that lets a shell complete command lines.

use anyhow::Context;

use crate::completion;
use crate::exit::{Ending, print_data};
use crate::low::Completions;

pub(crate) fn run(args: &Completions) -> anyhow::Result<Ending> {
    let script = completion::script(args.shell).context("cannot generate the script")?;
    print_data(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
