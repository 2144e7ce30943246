//! Files become what charts are made of.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use iosonar_report::{
    Look, LookOptions, Measured, Needs, Origin, SELF_CHECK_ENDING, SelfCheckRow, Word,
    read_self_check, verdicts,
};
use iosonar_trace::{Metadata, Reading, TraceError, input};

use crate::exit::{Ending, Usage, refuse_several_stdin};
use crate::low::{Named, ReadArgs};
use crate::render::{progress, remarks};
use iosonar_trace::input::in_order;
use iosonar_units::with_ending;

/// Files, and what each is called.
pub(crate) struct Inputs {
    pub(crate) paths: Vec<PathBuf>,
    /// As many as there are paths, all different.
    pub(crate) names: Vec<String>,
}

impl Inputs {
    /// Files have the names that are given, or those of their paths as far as that leaves them different.
    ///
    /// # Errors
    /// If two have the same name, or are standard input.
    pub(crate) fn of(inputs: &[Named]) -> Result<Self, Usage> {
        let paths: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
        refuse_several_stdin(&paths)?;
        let of_paths = distinct_names(&paths);
        let name = |(input, of_path): (&Named, &String)| {
            input.name.clone().unwrap_or_else(|| of_path.clone())
        };
        let names: Vec<String> = inputs.iter().zip(&of_paths).map(name).collect();
        for (i, name) in names.iter().enumerate() {
            // The same path twice is the same input twice, and has the same name.
            if names[..i].contains(name) && inputs[i].name.is_some() {
                return Err(Usage(format!(
                    "{name}={}: another input has this name; give each a different name",
                    paths[i].display()
                )));
            }
        }
        Ok(Self { paths, names })
    }
}

/// How a command ends that has compared inputs with their targets.
pub(crate) fn ending(inputs: &[Measured]) -> Ending {
    let misses = |input| verdicts(input).iter().any(|of| of.word == Word::Misses);
    match inputs.iter().any(misses) {
        true => Ending::Flagged,
        false => Ending::Done,
    }
}

/// Looks at the files, each for itself or all as one.
pub(crate) fn measure(
    Inputs {
        paths: inputs,
        names,
    }: &Inputs,
    needs: Needs,
    merge: bool,
    reading: &ReadArgs,
    options: &LookOptions,
    quiet: bool,
) -> anyhow::Result<Vec<Measured>> {
    let groups: Vec<&[PathBuf]> = if merge {
        vec![inputs]
    } else {
        inputs.chunks(1).collect()
    };
    let mut all = Vec::new();
    for (i, paths) in groups.into_iter().enumerate() {
        let name = if merge {
            names.join(" and ")
        } else {
            names[i].clone()
        };
        let reading = reading.reading()?;
        let (measured, metadata) = progress::while_reading(reading, quiet, |reading| {
            measure_one(paths, &name, needs, reading, options)
        })?;
        remarks::print(&metadata, quiet);
        all.push(measured);
    }
    Ok(all)
}

/// Looks at files as one.
pub(crate) fn measure_one(
    paths: &[PathBuf],
    name: &str,
    needs: Needs,
    reading: &Reading,
    options: &LookOptions,
) -> anyhow::Result<(Measured, Metadata)> {
    let rows = self_checks(paths)?;
    let options = &LookOptions {
        include_unsubmitted: reading.options.include_unsubmitted,
        ..options.clone()
    };
    let format = |path: &PathBuf| {
        (
            path.display().to_string(),
            input::format_at(path, &reading.options),
        )
    };
    let origin = Origin {
        files: paths.iter().map(format).collect(),
        changes: reading.changes_in_words(),
    };
    let look = |reader: &mut dyn iosonar_trace::TraceReader| -> Result<_, TraceError> {
        let mut look = Look::new(name, needs, options);
        look.origin(origin.clone());
        look.self_check(rows.clone());
        look.read(reader)?;
        Ok((look.finish(), reader.metadata().clone()))
    };
    if let ([path], false) = (paths, needs.order()) {
        return Ok(look(&mut *input::open_changed(path, reading)?)?);
    }
    Ok(in_order(paths, reading, look)?)
}

/// What replays wrote of themselves beside their records.
fn self_checks(paths: &[PathBuf]) -> anyhow::Result<Vec<SelfCheckRow>> {
    let mut rows = Vec::new();
    for path in paths {
        let beside = with_ending(path, SELF_CHECK_ENDING);
        // Hardly any records have such a file.
        let Ok(text) = std::fs::read_to_string(&beside) else {
            continue;
        };
        let read = read_self_check(&text).map_err(|e| anyhow!("{}: {e}", beside.display()))?;
        rows.extend(read);
    }
    Ok(rows)
}

/// The names of files without their folders and endings, as far as that leaves them different.
fn distinct_names(paths: &[PathBuf]) -> Vec<String> {
    let short: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    let is_twice = |name: &String| short.iter().filter(|n| *n == name).count() > 1;
    let name = |(path, short): (&PathBuf, &String)| {
        if is_twice(short) {
            path.display().to_string()
        } else {
            short.clone()
        }
    };
    paths.iter().zip(&short).map(name).collect()
}

/// The name of a file without its endings.
pub(crate) fn name_of(path: &Path) -> String {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let mut name = name.as_ref();
    for ending in [".gz", ".zst", ".replay", ".load", ".ios", ".csv"] {
        name = name
            .strip_suffix(ending)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(name);
    }
    name.to_owned()
}
