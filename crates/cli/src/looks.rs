//! Files become what charts are made of.

use std::path::{Path, PathBuf};

use iosonar_report::{Look, LookOptions, Measured, Needs};
use iosonar_trace::{Metadata, Reading, TraceError, input};

use crate::args::{LookArgs, ReadArgs};
use crate::{in_order, progress, remarks};

/// Looks at the files, each for itself or all as one.
pub(crate) fn measure(
    inputs: &[PathBuf],
    needs: Needs,
    args: &LookArgs,
    reading: &ReadArgs,
    options: &LookOptions,
    quiet: bool,
) -> anyhow::Result<Vec<Measured>> {
    let groups: Vec<&[PathBuf]> = if args.merge {
        vec![inputs]
    } else {
        inputs.chunks(1).collect()
    };
    let names = distinct_names(inputs);
    let mut all = Vec::new();
    for (i, paths) in groups.into_iter().enumerate() {
        let name = if args.merge {
            names.join(" and ")
        } else {
            names[i].clone()
        };
        let reading = reading.reading()?;
        let (measured, metadata) = progress::while_reading(reading, quiet, |reading| {
            measure_one(paths, &name, needs, reading, options)
        })?;
        remarks::tell(&metadata, quiet);
        all.push(measured);
    }
    Ok(all)
}

fn measure_one(
    paths: &[PathBuf],
    name: &str,
    needs: Needs,
    reading: &Reading,
    options: &LookOptions,
) -> anyhow::Result<(Measured, Metadata)> {
    let look = |reader: &mut dyn iosonar_trace::TraceReader| -> Result<_, TraceError> {
        let mut look = Look::new(name, needs, options);
        look.read(reader)?;
        Ok((look.finish(), reader.metadata().clone()))
    };
    if let ([path], false) = (paths, needs.order()) {
        return Ok(look(&mut *input::open_changed(path, reading)?)?);
    }
    in_order::in_order(paths, reading, look)
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
fn name_of(path: &Path) -> String {
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
