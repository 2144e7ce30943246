//! How help is laid out.
//!
//! The options and their texts stand beside the fields that they fill. This adds what concerns the whole: the groups of
//! commands, the few options that `-h` shows, and the examples that `--help` begins with. An option that
//! [`pages`] does not list is in `--help` only.

#[cfg(test)]
mod manual;
mod pages;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Arguments;
use crate::{Build, completion};
use pages::{Example, GROUPS, Page, page_of};

/// The last heading of the help: options for what is printed, and how.
const OUTPUT: &str = "Output";
/// Wider lines are harder to read.
const WIDEST: usize = 100;

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";
const TEMPLATE_OF_ALL: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}";

const NOTE: &str = "'iosonar COMMAND -h' shows a command's options, 'iosonar --help' all commands.";
/// Notes on all commands.
pub(crate) const NOTES: &str = "Run 'iosonar COMMAND --help' for a command's options and examples, and 'iosonar \
    COMMAND -h' for the most common options. 'iosonar -V' prints the version; 'iosonar --version' adds details of the \
    build.\n\
    \n\
    TIME is a number with a unit: 60s, 1.5ms, 20us, 250ns, 2min, 1h. A number without a unit is in seconds.\n\
    SIZE is in bytes: 4096, 128KiB, 128K, 1MB, 2GiB. The unit s stands for sectors of 512 B: 8s is 4096 bytes.\n\
    \n\
    Exit status: 0 success, 1 failure, 2 usage error or refusal, 3 finished with a missed target or a flagged result, \
    130 interrupted.";

/// The command line of this build with its help, for a terminal of `width` columns.
pub(crate) fn command(width: usize, build: Build) -> Command {
    let width = width.min(WIDEST);
    let command = arranged(Arguments::command(), "", width).long_version(build.to_string());
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let listed = |is_complete: bool, footer: &str| {
        let mut text = String::new();
        for group in &GROUPS {
            let (first, others) = group.commands.split_at(group.common);
            let (shown, more) = match is_complete || others.is_empty() {
                true => (group.commands, String::new()),
                false => (first, format!(" (and {})", others.join(", "))),
            };
            // The end of the line before belongs to the heading: what wraps lines would take both for one.
            let before = if text.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{header}{before}{}{more}:{header:#}", group.heading);
            for name in shown {
                let about = command.find_subcommand(name).and_then(Command::get_about);
                let about = about.map(ToString::to_string).unwrap_or_default();
                let _ = write!(text, "\n  {literal}{name:<11}{literal:#}  {about}");
            }
            text.push_str(if is_complete { "\n" } else { "" });
        }
        StyledStr::from(format!("{}\n\n{footer}", text.trim_end()))
    };
    let (brief, complete) = (listed(false, NOTE), listed(true, NOTES));
    command
        .help_template(TEMPLATE_OF_ALL)
        .after_help(brief)
        .after_long_help(complete)
}

/// `command` and those below it, whose names follow `path`.
fn arranged(command: Command, path: &str, width: usize) -> Command {
    let page = page_of(path);
    let brief = page.map_or(&[][..], |page| page.brief);
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help_heading(OUTPUT)
        .help("Print this summary; --help prints all options")
        .long_help("Print this help; -h prints a summary");
    let mut command = command
        .disable_help_flag(true)
        .arg(help)
        .term_width(width)
        .mut_args(completion::offered)
        .mut_args(|arg| match is_brief(&arg, brief) {
            true => arg,
            false => arg.hide_short_help(true),
        });
    if !path.is_empty() {
        command = command.help_template(TEMPLATE);
    }
    if let Some(examples) = page.map(|page| examples(&command, page)) {
        command = command.before_long_help(examples);
    }
    let path = path.to_owned();
    command.mut_subcommands(move |below| {
        let path = format!("{path} {}", below.get_name());
        arranged(below, path.trim_start(), width)
    })
}

/// The examples of the command at `path`.
pub(crate) fn examples_of(path: &str) -> &'static [Example] {
    page_of(path).map_or(&[], |page| page.examples)
}

/// Whether `-h` shows an option.
fn is_brief(arg: &Arg, brief: &[&str]) -> bool {
    arg.is_positional() || arg.get_id() == "help" || brief.contains(&arg.get_id().as_str())
}

fn examples(command: &Command, page: &Page) -> StyledStr {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = format!("{header}Examples:{header:#}\n");
    for Example { what, lines } in page.examples {
        let _ = writeln!(text, "  {what}:");
        for (place, line) in lines.iter().enumerate() {
            let indent = if place == 0 { 4 } else { 6 };
            let _ = writeln!(text, "{:indent$}{literal}{line}{literal:#}", "");
        }
    }
    StyledStr::from(text.trim_end().to_owned())
}
