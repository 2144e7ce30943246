//! `iosonar import`: parameter files of another simulator in, a profile out.

use iosonar_disk_model::Arrival;
use iosonar_disk_model::disksim::{BusTimes, DiskSimError, import};

use crate::exit::{Ending, Usage, hint, note, print_data, warn, write_file};
use crate::low::{ArrivalArg, Import, ImportDisksim, ImportFrom};
use crate::render::messages::codes;
use iosonar_trace::apart;

pub(crate) fn run(args: &Import) -> anyhow::Result<Ending> {
    match &args.from {
        ImportFrom::Disksim(args) => disksim(args),
    }
}

fn disksim(args: &ImportDisksim) -> anyhow::Result<Ending> {
    let out: Vec<_> = args.out.iter().collect();
    apart::refuse_unusable(&args.files, &out)?;
    let bus = BusTimes {
        read_ms: args.bus_read_ms,
        write_ms: args.bus_write_ms,
    };
    let mut imported =
        import(&args.files, args.disk.as_deref(), bus).map_err(|error| match error {
            // The choice is the user's, not the file's.
            DiskSimError::WhichDrive { .. } => Usage(error.to_string()).into(),
            error => anyhow::Error::from(error),
        })?;
    let reads_on_arrival = imported
        .profile
        .cache
        .as_mut()
        .filter(|cache| cache.immediate_reads || cache.free_blocks);
    match (reads_on_arrival, args.arrival) {
        (Some(cache), ArrivalArg::AsDocumented) => cache.arrival = Arrival::AsDocumented,
        (Some(_), ArrivalArg::AsDisksim) if !args.output.quiet => hint(
            "this drive reads as soon as its head arrives at a track, which DiskSim 4.0 does not simulate; if \
             you have a recording of the drive, 'iosonar validate' shows whether --arrival as-documented fits better",
        ),
        _ => {}
    }
    if !args.output.quiet {
        for warning in &imported.warnings {
            warn(codes::of_disksim(warning.about), &warning.to_string());
        }
    }
    let sources: Vec<String> = imported
        .files
        .iter()
        .map(|path| {
            path.file_name()
                .unwrap_or(path.as_os_str())
                .display()
                .to_string()
        })
        .collect();
    let text = format!(
        "# Imported by iosonar {} from {}.\n{}",
        env!("CARGO_PKG_VERSION"),
        sources.join(", "),
        imported.profile.to_toml()
    );
    let Some(out) = &args.out else {
        print_data(&text)?;
        return Ok(Ending::Done);
    };
    // With those that they include.
    apart::refuse_overwritten(&imported.files, &[out])?;
    write_file(out, &text, "write the profile")?;
    if !args.output.quiet {
        let profile = &imported.profile;
        note(&format!(
            "{}: {}, {} sectors; use it in a scenario with '[disk] profile = \"{0}\"', or test it with 'iosonar \
             validate {0} TRACE'",
            out.display(),
            profile.description,
            iosonar_report::grouped(profile.capacity_sectors)
        ));
    }
    Ok(Ending::Done)
}
