//! `iosonar formats`: which traces can be read and written.

use iosonar_trace::formats::all;
use serde_json::json;

use crate::exit::{Ending, print, print_data};
use crate::low::Formats;
use crate::render::screen::screen;
use crate::render::style::width;
use iosonar_stats::Output;

pub(crate) fn run(args: &Formats) -> anyhow::Result<Ending> {
    if args.json {
        let mut output = Output::new("formats");
        let formats: Vec<_> = all()
            .into_iter()
            .map(|format| {
                json!({
                    "name": format.name(),
                    "extensions": format.extensions(),
                    "description": format.description(),
                    "columns": format.columns(),
                    "read": true,
                    "write": format.loses().is_some(),
                    "loses": format.loses(),
                })
            })
            .collect();
        output.set("formats", json!(formats));
        print_data(&output.text())?;
        return Ok(Ending::Done);
    }
    let mut text = String::from(
        "Traces are recognised by their content, even when compressed (gzip, zstd, xz, bzip2).\n",
    );
    for format in all() {
        let endings: Vec<String> = format
            .extensions()
            .iter()
            .map(|e| format!(".{e}"))
            .collect();
        let endings = match endings.as_slice() {
            [] => String::new(),
            all => format!(" ({})", all.join(", ")),
        };
        let can = if format.loses().is_some() {
            "read, write"
        } else {
            "read"
        };
        text += &format!(
            "\n{}{endings}: {can}\n{}",
            format.name(),
            wrapped("", format.description())
        );
        text += &wrapped("columns: ", format.columns());
        if let Some(lost) = format.loses() {
            text += &wrapped("cannot represent: ", lost);
        }
    }
    print(&text)?;
    Ok(Ending::Done)
}

/// An indented paragraph, as wide as the terminal, and at most 100 columns.
fn wrapped(label: &str, text: &str) -> String {
    const WIDEST: usize = 100;
    let columns = screen().out.columns;
    let columns = columns.map_or(WIDEST, |columns| columns.min(WIDEST));
    let mut lines = vec![format!("  {label}")];
    for word in text.split_whitespace() {
        let line = lines
            .last_mut()
            .filter(|line| width(line) + width(word) < columns);
        match line {
            Some(line) if line.ends_with(' ') => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(format!("    {word}")),
        }
    }
    lines.join("\n") + "\n"
}
