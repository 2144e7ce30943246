//! `iosonar plot`: records in, a picture out.

use std::path::Path;

use anyhow::anyhow;
use iosonar_report::{Look, Quantity, cdf_chart, grouped};
use iosonar_trace::{Reading, input};

use crate::args::{ChartName, Plot};
use crate::exit::{Ending, note};
use crate::picture;

pub(crate) fn run(args: &Plot) -> anyhow::Result<Ending> {
    picture::kind_of(&args.out)?;
    let reading = args.reading.reading()?;
    let quantity = Quantity::from(args.quantity);
    let names: Vec<String> = args.inputs.iter().map(|path| name_of(path)).collect();
    let records = match args.chart {
        ChartName::Sonar => {
            let mut look = Look::new(&names.join(", "), quantity);
            for path in &args.inputs {
                add(&mut look, path, &reading)?;
            }
            check(&look, &args.inputs[0])?;
            let n = look.all().count();
            picture::save(&look.into_sonar(), &args.out, args.size)?;
            n
        }
        ChartName::Cdf => {
            let (mut curves, mut n, mut caveats) = (Vec::new(), 0, Vec::new());
            for (path, name) in args.inputs.iter().zip(&names) {
                let mut look = Look::new(name, quantity);
                add(&mut look, path, &reading)?;
                check(&look, path)?;
                n += look.all().count();
                curves.push(look.curve());
                if !look.caveats().is_empty() {
                    caveats.push(format!("{name}: {}", look.caveats()));
                }
            }
            let title = format!("Distribution of {}", quantity.name());
            let chart = cdf_chart(&title, quantity, curves).subtitle(&caveats.join("; "));
            picture::save(&chart, &args.out, args.size)?;
            n
        }
    };
    if !args.quiet {
        note(&format!(
            "{} requests drawn in {}",
            grouped(records),
            args.out.display()
        ));
    }
    Ok(Ending::Done)
}

fn add(look: &mut Look, path: &Path, reading: &Reading) -> anyhow::Result<()> {
    let mut reader = input::open_changed(path, reading)?;
    Ok(look.read(&mut reader)?)
}

fn check(look: &Look, path: &Path) -> anyhow::Result<()> {
    look.check().map_err(|e| anyhow!("{}: {e}", path.display()))
}

/// The name of a file without its endings.
fn name_of(path: &Path) -> String {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let name = name.trim_end_matches(".replay").trim_end_matches(".load");
    name.to_owned()
}
