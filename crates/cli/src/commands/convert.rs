//! `iosonar convert`: a trace in, a trace out.

use std::time::Instant;

use iosonar_report::grouped;
use iosonar_trace::{Batch, TraceReader, Transformed, input, output};

use crate::args::Convert;
use crate::exit::{Ending, note};
use crate::files;

pub(crate) fn run(args: &Convert) -> anyhow::Result<Ending> {
    let begin = Instant::now();
    files::refuse_same(&args.input, &args.out)?;
    let selection = args.window.selection()?;
    // Records may come in any order, so the window does not end the reading.
    let mut reader = Transformed::new(input::open(&args.input)?, selection.transforms());
    let mut writer = output::create(&args.out, reader.metadata())?;
    let (mut batch, mut records) = (Batch::default(), 0);
    while reader.next_batch(&mut batch)? > 0 {
        writer.write(&batch)?;
        records += batch.len() as u64;
    }
    writer.finish()?;
    if !args.quiet {
        note(&format!(
            "{} records written to {} in {:.2} s",
            grouped(records),
            args.out.display(),
            begin.elapsed().as_secs_f64()
        ));
    }
    Ok(Ending::Done)
}
