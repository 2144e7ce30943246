//! `iosonar prepare`: fill a target with data, or read it once.

use iosonar_guard::Host;
use iosonar_replay::{Intent, Prepared, fill, slurp};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::Bytes;
use serde_json::json;

use crate::commands::replay::Shown;
use crate::exit::{Ending, Usage, note, print, print_data};
use crate::low::Prepare;
use crate::render::progress::bar;
use crate::signals;
use iosonar_stats::Output;
use iosonar_study::replay::open;

pub(crate) fn run(args: &Prepare) -> anyhow::Result<Ending> {
    let fills = args.what == "fill";
    if fills && !args.write {
        return Err(Usage(format!(
            "filling {} overwrites all data on it: confirm this with --write",
            args.target.display()
        ))
        .into());
    }
    let intent = Intent {
        write: fills,
        destroy: args.destroy.clone(),
        buffered: args.no_direct,
        only_existing: true,
        ..Intent::default()
    };
    let target = open(
        &args.target,
        &intent,
        &Host::default(),
        &Shown::new(args.output.quiet),
    )?;
    let (all, block) = (target.size(), target.block().get());
    let whole_blocks = Bytes::new(all.get() / block * block);
    if whole_blocks.get() == 0 {
        let shown = args.target.display();
        anyhow::bail!(
            "target {shown} holds {all}, less than one block of {block} B: enlarge it first"
        );
    }
    let rest = all.get() - whole_blocks.get();
    signals::watch()?;
    if !args.output.quiet {
        let shown = target.path().display();
        let verb = if fills { "OVERWRITING" } else { "reading" };
        note(&match rest {
            0 => format!("{verb} all {all} of {shown}"),
            _ => format!(
                "{verb} {whole_blocks} of {shown}; the last {rest} B are less than one block and are left out"
            ),
        });
    }
    let bar = bar(
        args.output.quiet,
        whole_blocks.get(),
        "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    )?;
    let progress = |done| {
        bar.set_position(done);
        signals::count() == 0
    };
    let prepared = if fills {
        fill(&target, args.compressible, progress)
    } else {
        slurp(&target, progress)
    }?;
    bar.finish_and_clear();
    show(args, &prepared, rest == 0)?;
    Ok(match prepared.is_whole {
        true => Ending::Done,
        false => Ending::Interrupted {
            signal: signals::last(),
        },
    })
}

/// How much was done and how fast; whether the target ends with a whole block.
fn show(args: &Prepare, prepared: &Prepared, ends_with_block: bool) -> anyhow::Result<()> {
    let seconds = prepared.elapsed.as_secs_f64().max(1e-9);
    let rate = prepared.bytes.get() as f64 / seconds;
    if args.output.json {
        let mut json = Output::new("prepare");
        json.set("what", json!(args.what));
        json.set("target", json!(args.target.display().to_string()));
        json.set("whole", json!(prepared.is_whole && ends_with_block));
        let none = Labels::default();
        json.figure(
            "bytes",
            &none,
            MetricUnit::Bytes,
            prepared.bytes.get() as f64,
        );
        json.figure("elapsed", &none, MetricUnit::Seconds, seconds);
        json.figure("rate", &none, MetricUnit::BytesPerSecond, rate);
        print_data(&json.text())?;
    } else {
        print(&format!(
            "{} {} in {}: {}/s\n",
            if args.what == "fill" { "wrote" } else { "read" },
            prepared.bytes,
            prepared.elapsed,
            Bytes::new(rate as u64)
        ))?;
    }
    Ok(())
}
