//! `iosonar man`: a manual page for each command.

use std::io;
use std::path::Path;

use anyhow::Context;
use clap::Command;
use clap_mangen::Man as Page;
use roff::{Roff, bold, roman};

use crate::exit::{Ending, output_folder, print, write_file};
use crate::low::{self, Man};

/// Pages are for any terminal; their text is wrapped by what shows them.
const COLUMNS: usize = 100;

pub(crate) fn run(args: &Man, build: crate::Build) -> anyhow::Result<Ending> {
    let dir = &args.dir;
    let _folder = output_folder(dir)?;
    let mut root = low::command(COLUMNS, build).disable_help_subcommand(true);
    root.build();
    let written = write_all(&root, "", dir)?;
    print(&format!(
        "{written} manual pages in {}; to read one: man -l {}\n",
        dir.display(),
        dir.join("iosonar.1").display()
    ))?;
    Ok(Ending::Done)
}

/// Writes the page of `command` and those of the commands below it; returns how many.
fn write_all(command: &Command, path: &str, dir: &Path) -> anyhow::Result<usize> {
    let page = Page::new(command.clone())
        .manual("iosonar manual")
        .source(format!("iosonar {}", env!("CARGO_PKG_VERSION")));
    let file = dir.join(page.get_filename());
    let text = rendered(&page, command, path).context("cannot render the page")?;
    write_file(&file, &text, "write the manual page")?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        written += write_all(below, path.trim_start(), dir)?;
    }
    Ok(written)
}

fn rendered(page: &Page, command: &Command, path: &str) -> io::Result<String> {
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    examples(path).to_writer(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    notes(command, path).to_writer(&mut text)?;
    see_also(path).to_writer(&mut text)?;
    if path.is_empty() {
        page.render_version_section(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn examples(path: &str) -> Roff {
    let mut section = Roff::new();
    let examples = low::examples_of(path);
    if examples.is_empty() {
        return section;
    }
    section.control("SH", ["EXAMPLES"]);
    for example in examples {
        section.control("PP", []);
        section.text([roman(format!("{}:", example.what))]);
        section.control("PP", []);
        section.control("RS", ["4"]);
        section.control("nf", []);
        for line in example.lines {
            section.text([bold(*line)]);
        }
        section.control("fi", []);
        section.control("RE", []);
    }
    section
}

/// What stands below the options in the help.
fn notes(command: &Command, path: &str) -> Roff {
    let mut section = Roff::new();
    let text = match path {
        // Its list of commands has a section of its own.
        "" => Some(low::NOTES.to_owned()),
        _ => command.get_after_long_help().map(ToString::to_string),
    };
    if let Some(text) = text {
        section.control("SH", ["NOTES"]);
        for paragraph in text.split("\n\n") {
            section.control("PP", []);
            for line in paragraph.lines() {
                section.text([roman(line)]);
                section.control("br", []);
            }
        }
    }
    section
}

fn see_also(path: &str) -> Roff {
    let mut section = Roff::new();
    let above = path.rsplit_once(' ').map_or("", |(above, _)| above);
    if !path.is_empty() {
        let name = format!("iosonar {above}").trim_end().replace(' ', "-");
        section.control("SH", ["SEE ALSO"]);
        section.text([bold(name), roman("(1)")]);
    }
    section
}
