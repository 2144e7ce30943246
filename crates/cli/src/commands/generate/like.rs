//! `iosonar generate like`: a load that is like a real one, and how alike they are.

use iosonar_stats::{Labels, Output};
use iosonar_study::likeness::{FittedLoad, Row};
use iosonar_trace::{apart, input};
use iosonar_units::Nanos;
use iosonar_workload::{Addresses, ArrivalLaw, Workload};
use serde_json::json;

use super::write;
use crate::exit::{Ending, Usage, print_beside, print_data_beside};
use crate::low::generate::Like;
use crate::render::table::Table;
use crate::render::{progress, remarks};

pub(super) fn run(args: &Like) -> anyhow::Result<Ending> {
    apart::refuse_unusable(&[&args.trace], &[&args.to.out])?;
    let reading = args.reading.reading()?;
    let (fitted, metadata) = progress::while_reading(reading, args.output.quiet, |reading| {
        FittedLoad::of(&mut *input::open_load(&args.trace, reading)?)
    })?;
    remarks::print(&metadata, args.output.quiet);
    let Some(fitted) = fitted else {
        return Err(Usage(format!(
            "{}: too few requests to derive a load from; expected at least 16 reads or writes that do not all start \
             at once",
            args.trace.display()
        ))
        .into());
    };
    let length = args.length.unwrap_or(fitted.span);
    let load = fitted.load(args.seed, length);
    write(load, &args.to, args.seed, fitted.requests(length))?.report(args.output.quiet);
    let Some(rows) = fitted.compared(fitted.load(args.seed, length)) else {
        return Err(Usage("the generated load is empty: use a longer --length".to_owned()).into());
    };
    print_likeness(args, &fitted.workloads, &rows)?;
    Ok(Ending::Done)
}

/// Prints the laws of the load, and how it differs from the real one.
fn print_likeness(args: &Like, workloads: &[Workload], rows: &[Row]) -> anyhow::Result<()> {
    if args.output.json {
        let mut output = Output::new("generate");
        output.set("seed", json!(args.seed));
        output.set(
            "laws",
            json!(workloads.iter().map(describe).collect::<Vec<_>>()),
        );
        for row in rows {
            for (load, value) in [("real", row.real), ("made", row.made)] {
                output.figure(row.name, &Labels::of("load", load), row.unit.clone(), value);
            }
        }
        print_data_beside(Some(&args.to.out), &output.text())
    } else {
        let mut text = String::from("Laws\n");
        for workload in workloads {
            text += &format!("  {}\n", describe(workload));
        }
        text += "\nGenerated load compared with the original\n";
        let mut table = Table::new(&["metric", "original", "generated", "generated / original"]);
        for row in rows {
            table.row(vec![
                row.title.to_owned(),
                short(row.real),
                short(row.made),
                if row.is_distance || !(row.made / row.real).is_finite() {
                    String::new()
                } else {
                    format!("{:.2}", row.made / row.real)
                },
            ]);
        }
        print_beside(Some(&args.to.out), &(text + &table.text()))
    }
}

fn short(value: f64) -> String {
    if value.is_nan() {
        "-".to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if value.abs() >= 1000.0 {
        iosonar_report::grouped(value.round() as u64)
    } else {
        let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", decimals as usize)
    }
}

fn describe(workload: &Workload) -> String {
    let shape = &workload.shape;
    let kind = if shape.read_share == 1.0 {
        "reads"
    } else {
        "writes"
    };
    let arrivals = match &workload.arrivals {
        ArrivalLaw::OnOff {
            per_s, on_s, off_s, ..
        } => format!(
            "on for {} and off for {} on average, {per_s:.1}/s while on",
            Nanos::from_secs_f64(*on_s),
            Nanos::from_secs_f64(*off_s)
        ),
        law => format!("Poisson, {:.2}/s", law.per_s()),
    };
    let addresses = match shape.addresses {
        Addresses::Mixed {
            follow,
            theta,
            used,
        } => format!(
            "{:.1} % continue the previous request, the rest follow Zipf's law with exponent {theta:.2} over {} \
             positions",
            100.0 * follow,
            iosonar_report::grouped(
                (used * shape.address_space as f64 / f64::from(shape.block.get())) as u64
            )
        ),
        _ => "anywhere".to_owned(),
    };
    format!(
        "{kind}: {arrivals}; {:.1} sectors on average; {addresses}",
        shape.size.mean() * f64::from(shape.block.get())
    )
}
