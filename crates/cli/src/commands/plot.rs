//! `iosonar plot`: records in, pictures out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::anyhow;
use iosonar_plot::{Chart, Terminal, Theme};
use iosonar_report::{
    CATALOGUE, Entry, Group, Measured, counted, find, grouped, nearest, needs_of,
};
use iosonar_units::{Nanos, OutputFolder};
use rayon::prelude::*;

use crate::exit::{
    Ending, Usage, check_tables, hint, note, output_folder, print, print_data, print_picture,
    write_table,
};
use crate::low::Plot;
use crate::render::looks::{self, Inputs};
use crate::render::screen::screen;
use crate::render::{picture, terminal};
use iosonar_trace::{TraceError, apart};

pub(crate) fn run(args: &Plot) -> anyhow::Result<Ending> {
    if args.list {
        print(&list())?;
        return Ok(Ending::Done);
    }
    let name = args.chart.as_deref().unwrap_or_default();
    if args.inputs.is_empty() {
        return Err(without_inputs(name).into());
    }
    match name {
        "all" => all(args),
        name => one(args, entry(name)?),
    }
}

/// That a word alone is no picture: it is a chart without records, or records without a chart.
fn without_inputs(word: &str) -> Usage {
    let is_chart = word == "all" || find(word).is_some();
    Usage(match !is_chart && Path::new(word).exists() {
        true => format!(
            "no chart is named: write its name before the file, as in 'iosonar plot sonar {word}' or 'iosonar plot all \
             {word}' ('iosonar plot --list' lists the charts); 'iosonar report {word}' writes a page with all of them"
        ),
        false if is_chart => format!(
            "the records to draw are missing: name a recording, simulation or replay, as in 'iosonar plot {word} \
             replayed.ios'"
        ),
        false => match entry(word) {
            Err(unknown) => return unknown,
            Ok(_) => "name a chart and a file of records".to_owned(),
        },
    })
}

/// The chart of this name, or a refusal that suggests the nearest.
fn entry(name: &str) -> Result<&'static Entry, Usage> {
    find(name).ok_or_else(|| {
        let hint = match nearest(name) {
            Some(near) => format!("did you mean '{near}'? "),
            None if Path::new(name).exists() => {
                format!(
                    "the name of the chart comes before the inputs: iosonar plot sonar {name}; "
                )
            }
            None => String::new(),
        };
        Usage(format!(
            "unknown chart '{name}': {hint}'iosonar plot --list' lists them"
        ))
    })
}

/// Every chart in a sentence.
fn list() -> String {
    let mut text = String::new();
    let mut group = None;
    for entry in CATALOGUE {
        if group != Some(entry.group) {
            text += &format!("\n{}\n", entry.group.name());
            group = Some(entry.group);
        }
        let peer = if entry.peer.is_empty() {
            String::new()
        } else {
            format!(" (graph.sh: {})", entry.peer)
        };
        let words = format!("{}{peer}", entry.about);
        text += &format!("  {:20} {}\n", entry.name, wrapped(&words, 23, 100));
    }
    text.trim_start().to_owned()
}

/// Words in lines of at most `width`, all but the first indented.
fn wrapped(words: &str, indent: usize, width: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for word in words.split(' ') {
        let length = word.chars().count() + 1;
        if column + length > width && column > indent {
            text += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            text.push(' ');
        }
        text += word;
        column += length;
    }
    text
}

fn measure(args: &Plot, entries: &[&Entry]) -> anyhow::Result<Vec<Measured>> {
    let options = args.look.options();
    let needs = needs_of(entries.iter().copied());
    let inputs = looks::measure(
        &Inputs::of(&args.inputs)?,
        needs,
        args.look.merge(),
        &args.reading,
        &options,
        args.output.quiet,
    )?;
    if !args.output.quiet {
        tell_of_overlap(&inputs);
    }
    Ok(inputs)
}

fn one(args: &Plot, entry: &'static Entry) -> anyhow::Result<Ending> {
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.png", entry.name)));
    if !args.terminal {
        picture::check(&out, args.pixels)?;
    }
    check_tables(&args.data)?;
    if args.terminal && args.data.as_deref() == Some(Path::new("-")) {
        let problem = "--terminal and --data - would both write to standard output: name a file";
        return Err(Usage(problem.to_owned()).into());
    }
    // If only numbers are requested, no unnamed picture is written.
    let draws = !args.terminal && (args.out.is_some() || args.data.is_none());
    let written = args.data.iter().chain(draws.then_some(&out));
    refuse_unusable(args, &written.collect::<Vec<_>>())?;
    let begin = Instant::now();
    let inputs = measure(args, &[entry])?;
    let read = begin.elapsed();
    let charts = charts_of(args, entry, &inputs);
    if charts.is_empty() {
        return Err(nothing(entry, args, &inputs));
    }
    let charts: Vec<&Chart> = charts.iter().collect();
    if let Some(path) = &args.data {
        save_data(&charts, path)?;
        if !draws && !args.terminal {
            return Ok(Ending::Done);
        }
    }
    if args.terminal {
        let (theme, out) = (Theme::Dark, screen().out);
        let (columns, lines) = terminal::size();
        let terminal = Terminal {
            columns,
            lines: lines.saturating_sub(2),
            has_colour: out.has_colour && !out.is_ascii,
            theme,
        };
        print_picture(&terminal.draw(&charts))?;
        return Ok(Ending::Done);
    }
    picture::save(&charts, &out, args.size(charts.len()), args.theme())?;
    if !args.output.quiet {
        let records: u64 = inputs.iter().map(Measured::records).sum();
        let (read, all) = (read.as_secs_f64(), begin.elapsed().as_secs_f64());
        note(&format!(
            "{} drawn from {} ({all:.2} s; {} requests/s read)",
            out.display(),
            counted(records, ["request", "requests"]),
            grouped((records as f64 / read.max(1e-9)) as u64),
        ));
    }
    Ok(Ending::Done)
}

/// The charts of an entry, as they are asked for.
fn charts_of(args: &Plot, entry: &Entry, inputs: &[Measured]) -> Vec<Chart> {
    let mut charts = entry.charts(inputs, args.arrange());
    if args.linear_x {
        charts.iter_mut().for_each(Chart::make_x_linear);
    }
    charts
}

/// Notes how to draw the common part of the inputs, if it is small.
fn tell_of_overlap(inputs: &[Measured]) {
    let spans = || inputs.iter().map(Measured::span);
    let from = spans().map(|s| s.0).max().unwrap_or_default();
    let until = spans().map(|s| s.1).min().unwrap_or_default();
    let all = spans().map(|s| s.1).max().unwrap_or_default();
    let all = all.saturating_sub(spans().map(|s| s.0).min().unwrap_or_default());
    let common = until.saturating_sub(from);
    if inputs.len() > 1 && common > Nanos::ZERO && common.get() < all.get() / 2 {
        let (from, until) = (from.as_secs_f64().floor(), until.as_secs_f64().ceil());
        hint(&format!(
            "the inputs overlap for only {common}: to draw just that part, use --from {from}s --until {until}s"
        ));
    }
}

/// Why a chart has nothing to show.
fn nothing(entry: &Entry, args: &Plot, inputs: &[Measured]) -> anyhow::Error {
    for (input, named) in inputs.iter().zip(&args.inputs) {
        let is_of_load = entry.group == Group::Load && entry.name != "turns-completed";
        if let (Err(e), false) = (input.check(), is_of_load) {
            return anyhow!("{}: {e}", named.path.display());
        }
    }
    let why = match entry.name {
        "model-ratio" => "it compares two or more inputs, but only one was given",
        "delay" | "delay-number" | "delay-histogram" | "delay-by-load" | "latency-by-delay"
        | "lateness" | "lateness-cumulated" => {
            "no request was submitted late, or start delays were not recorded"
        }
        "pushback-level" => "no request was held back by another",
        "atomic-share" => {
            "every request is a single I/O (the trace does not show which I/Os belong together)"
        }
        name if ["submit-ahead", "input-wait", "answer-"]
            .iter()
            .any(|of| name.starts_with(of)) =>
        {
            "only a replay with --self-check records its values"
        }
        _ if entry.group == Group::Load => "no read or write has a position and a size",
        _ => "the time that it shows is missing or zero for every request",
    };
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    anyhow!(
        "{}: the chart '{}' would be empty, as {why}",
        names.join(", "),
        entry.name
    )
}

/// Refuses outputs that are inputs, or that cannot be written.
fn refuse_unusable(args: &Plot, outputs: &[&PathBuf]) -> Result<(), TraceError> {
    let inputs: Vec<&Path> = args.inputs.iter().map(|input| &*input.path).collect();
    apart::refuse_unusable(&inputs, outputs)
}

/// The folder for all charts.
fn folder(args: &Plot) -> Result<PathBuf, Usage> {
    if args.terminal {
        return Err(Usage(
            "--terminal draws a single chart, not 'all'".to_owned(),
        ));
    }
    let dir = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("iosonar-charts"));
    if dir.extension().is_some_and(|e| e == "png" || e == "svg") {
        return Err(Usage(format!(
            "{}: 'all' writes several pictures; give the name of a folder, and select the format with --pictures",
            dir.display()
        )));
    }
    Ok(dir)
}

/// A file of a chart. Its number is its place in the catalogue, whatever was measured: sets can be compared.
fn path_of(dir: &Path, entry: &Entry, ending: &str) -> PathBuf {
    let number = CATALOGUE.iter().position(|e| e.name == entry.name);
    let number = number.unwrap_or_default() + 1;
    dir.join(format!("{number:02}-{}.{ending}", entry.name))
}

fn all(args: &Plot) -> anyhow::Result<Ending> {
    picture::check_kind(args.format(), args.pixels, "--pictures svg")?;
    let dir = folder(args)?;
    let begin = Instant::now();
    let entries: Vec<&Entry> = CATALOGUE.iter().collect();
    check_files(args, &dir, &entries)?;
    let inputs = measure(args, &entries)?;
    if inputs.iter().all(|input| input.records() == 0) {
        return Err(nothing(entries[0], args, &inputs));
    }
    let read = begin.elapsed();
    let _folders = folders(args, &dir)?;
    let draw = |entry: &&Entry| -> anyhow::Result<bool> {
        let charts = charts_of(args, entry, &inputs);
        if charts.is_empty() {
            return Ok(false);
        }
        let charts: Vec<&Chart> = charts.iter().collect();
        let path = path_of(&dir, entry, args.format().extension());
        picture::save(&charts, &path, args.size(charts.len()), args.theme())?;
        if let Some(data) = &args.data {
            save_data(&charts, &path_of(data, entry, &args.tables))?;
        }
        Ok(true)
    };
    // One that cannot be drawn takes none of the others with it.
    let results: Vec<anyhow::Result<bool>> = entries.par_iter().map(draw).collect();
    let (mut drawn, mut failed) = (Vec::new(), None);
    for (entry, result) in entries.iter().zip(results) {
        drawn.push(matches!(result, Ok(true)));
        if let Err(error) = result {
            let error = error.context(format!("chart '{}'", entry.name));
            failed = failed.or(Some(error));
        }
    }
    if !args.output.quiet {
        let without: Vec<&str> = entries
            .iter()
            .zip(&drawn)
            .filter(|(_, drawn)| !**drawn)
            .map(|(entry, _)| entry.name)
            .collect();
        let n = drawn.iter().filter(|drawn| **drawn).count();
        let records: u64 = inputs.iter().map(Measured::records).sum();
        note(&format!(
            "{} of {} in {} ({:.2} s, of which {:.2} s for reading)",
            counted(n as u64, ["chart", "charts"]),
            counted(records, ["request", "requests"]),
            dir.display(),
            begin.elapsed().as_secs_f64(),
            read.as_secs_f64(),
        ));
        if !without.is_empty() && failed.is_none() {
            note(&format!(
                "these charts have no data and were not drawn: {}",
                without.join(", ")
            ));
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(Ending::Done)
}

/// The folders that all charts and their numbers are written to.
fn folders(args: &Plot, dir: &PathBuf) -> Result<Vec<OutputFolder>, Usage> {
    let folders = args.data.iter().chain([dir]);
    let folders: Result<Vec<_>, _> = folders.map(|folder| output_folder(folder)).collect();
    let mut folders = folders?;
    // The last one may be in what was made for the first: it is removed before.
    folders.reverse();
    Ok(folders)
}

/// Refuses files of all charts that cannot be written.
fn check_files(args: &Plot, dir: &PathBuf, entries: &[&Entry]) -> anyhow::Result<()> {
    // What had to be made is removed again at once, as it is empty.
    let _folders = folders(args, dir)?;
    for entry in entries {
        let picture = path_of(dir, entry, args.format().extension());
        let data = args
            .data
            .as_ref()
            .map(|data| path_of(data, entry, &args.tables));
        check_tables(&data)?;
        refuse_unusable(args, &data.iter().chain([&picture]).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Writes the numbers of charts.
fn save_data(charts: &[&Chart], path: &Path) -> anyhow::Result<()> {
    let table = iosonar_plot::table_of(charts);
    if path.as_os_str() == "-" {
        return print_data(&table.csv());
    }
    Ok(write_table(path, table)?)
}
