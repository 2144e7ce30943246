//! `iosonar analyze`: a load measured, and its outcome.

mod tables;

use std::path::{Path, PathBuf};
use std::time::Instant;

use iosonar_analysis::measure;
use iosonar_report::grouped;
use serde_json::json;

use crate::exit::{Ending, note, output_folder, print, print_data, refuse_several_stdin};
use crate::low::Analyze;
use crate::render::{progress, remarks};
use iosonar_stats::Output;
use iosonar_trace::input::in_order;

pub(crate) fn run(args: &Analyze) -> anyhow::Result<Ending> {
    refuse_several_stdin(&args.inputs)?;
    let inputs: Vec<Vec<PathBuf>> = if args.merge {
        vec![args.inputs.clone()]
    } else {
        args.inputs.iter().map(|path| vec![path.clone()]).collect()
    };
    // It is removed again if nothing is put into it.
    let _folder = args.csv.as_deref().map(output_folder).transpose()?;
    let mut output = Output::new("analyze");
    let several = inputs.len() > 1;
    for (i, paths) in inputs.iter().enumerate() {
        let begin = Instant::now();
        let reading = args.reading.reading()?;
        let measured = progress::while_reading(reading, args.output.quiet, |reading| {
            let options = args.options(reading);
            in_order(paths, reading, |reader| measure(paths, &options, reader))
        })?;
        remarks::print_of_records(&measured.metadata, args.output.quiet);
        if let Some(dir) = &args.csv {
            let dir = if several {
                dir.join(format!("{}-{}", i + 1, stem(&paths[0])))
            } else {
                dir.clone()
            };
            measured.write_tables(&dir, &args.tables)?;
        }
        if args.output.json {
            output.metrics(measured.metrics(several));
            output.append("traces", json!({ "file": measured.name }));
        } else {
            print(&tables::text(&measured))?;
        }
        if !args.output.quiet {
            let seconds = begin.elapsed().as_secs_f64();
            let rate = measured.load.requests() as f64 / seconds.max(1e-9);
            note(&format!(
                "measured in {seconds:.2} s ({} requests/s)",
                grouped(rate as u64)
            ));
        }
    }
    if args.output.json {
        print_data(&output.text())?;
    }
    Ok(Ending::Done)
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or("trace").to_owned()
}
