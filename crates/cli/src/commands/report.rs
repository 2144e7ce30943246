//! `iosonar report`: records in, a page out.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, anyhow};
use iosonar_plot::Resolution;
use iosonar_report::{CATALOGUE, LookOptions, Measured, Page, counted, needs_of, verdicts};
use iosonar_study::sweep::is_tree;
use iosonar_trace::ReadOptions;
use iosonar_trace::input::open_with;

use crate::commands::sweep;
use crate::desktop;
use crate::exit::{Ending, Usage, note, print, warn, write_file};
use crate::low::{Named, Report};
use crate::render::looks::{self, Inputs};
use crate::render::messages::Warning;
use crate::render::objective;
use iosonar_trace::apart;

/// What is found in a folder is taken for records if its name ends so.
const RECORDS: [&str; 7] = [
    ".ios",
    ".replay",
    ".replay.gz",
    ".load",
    ".load.gz",
    ".csv",
    ".csv.gz",
];

pub(crate) fn run(args: &Report) -> anyhow::Result<Ending> {
    if args
        .out
        .extension()
        .is_none_or(|e| e != "html" && e != "htm")
    {
        let problem = format!(
            "{}: the name of a page must end in .html",
            args.out.display()
        );
        return Err(Usage(problem).into());
    }
    if let [tree] = args.inputs.as_slice()
        && is_tree(&tree.path)
    {
        return of_tree(args, tree);
    }
    let inputs = Inputs::of(&found(&args.inputs)?)?;
    apart::refuse_unusable(&inputs.paths, &[&args.out])?;
    let begin = Instant::now();
    let options = of_page(args.look.options());
    let needs = needs_of(CATALOGUE);
    let looks = looks::measure(
        &inputs,
        needs,
        args.look.merge(),
        &args.reading,
        &options,
        args.output.quiet,
    )?;
    if looks.iter().all(|look| look.records() == 0) {
        return Err(anyhow!(
            "{}: there are no requests to report",
            inputs.paths[0].display()
        ));
    }
    let names: Vec<&str> = looks.iter().map(|look| look.name.as_str()).collect();
    let title = args.title.clone().unwrap_or_else(|| names.join(", "));
    let page = Page {
        title: &title,
        inputs: &looks,
        is_all: args.all,
    };
    let page = page.text();
    write_file(&args.out, &page, "write the page")?;
    if !args.output.quiet {
        let records: u64 = looks.iter().map(Measured::records).sum();
        note(&format!(
            "{} reported in {} ({:.1} MB, {:.2} s)",
            counted(records, ["request", "requests"]),
            args.out.display(),
            page.len() as f64 / 1e6,
            begin.elapsed().as_secs_f64(),
        ));
    }
    for look in &looks {
        for verdict in verdicts(look) {
            print(&format!(
                "{}: {}\n",
                look.name,
                objective::of_verdict(&verdict)
            ))?;
        }
    }
    if args.open {
        desktop::show(&args.out);
    }
    Ok(looks::ending(&looks))
}

/// The page of the runs of a sweep.
fn of_tree(args: &Report, tree: &Named) -> anyhow::Result<Ending> {
    apart::refuse_unusable(&[] as &[&Path], &[&args.out])?;
    let title = args.title.as_deref().or(tree.name.as_deref());
    let targets = &args.look.options().targets;
    let runs = sweep::write_page(&tree.path, &args.out, title, targets)?;
    if !args.output.quiet {
        note(&format!(
            "{} reported in {}",
            counted(runs as u64, ["run", "runs"]),
            args.out.display()
        ));
    }
    if args.open {
        desktop::show(&args.out);
    }
    Ok(Ending::Done)
}

/// Options for what is drawn on a page.
pub(crate) fn of_page(options: LookOptions) -> LookOptions {
    LookOptions {
        // Finer than a picture's, for one can zoom.
        resolution: Resolution {
            columns: 1 << 20,
            cells: 1 << 19,
            ..Resolution::default()
        },
        ..options
    }
}

/// The files that are meant: of a folder those that hold records, in the order of their names.
fn found(inputs: &[Named]) -> anyhow::Result<Vec<Named>> {
    let mut files = Vec::new();
    for input in inputs {
        if !input.path.is_dir() {
            files.push(input.clone());
            continue;
        }
        let mut here = records_in(&input.path)?;
        // The name of a folder is that of its only file, or stands before the names of all.
        let is_one = here.len() == 1;
        for file in &mut here {
            file.name = input.name.as_ref().map(|name| match is_one {
                true => name.clone(),
                false => format!("{name}: {}", looks::name_of(&file.path)),
            });
        }
        files.append(&mut here);
    }
    Ok(files)
}

/// The files in a folder that hold records.
fn records_in(folder: &Path) -> anyhow::Result<Vec<Named>> {
    let is_record = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && RECORDS.iter().any(|ending| name.ends_with(ending))
    };
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{}: cannot read the folder", folder.display()))?;
    let entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = entries.filter(|path| is_record(path)).collect();
    paths.sort();
    // What lies beside records may look like them, and be none.
    paths.retain(|path| match open_with(path, &ReadOptions::default()) {
        Ok(_) => true,
        Err(error) => {
            warn(Warning::InputLeftOut, &format!("left out: {error}"));
            false
        }
    });
    if paths.is_empty() {
        let problem = format!(
            "{}: the folder has no records (files whose names end in {})",
            folder.display(),
            RECORDS.join(", ")
        );
        return Err(Usage(problem).into());
    }
    Ok(paths
        .into_iter()
        .map(|path| Named { name: None, path })
        .collect())
}
