//! `iosonar targets`: block devices, and what iosonar would do with each.

use iosonar_guard::Host;
use iosonar_replay::{Listed, look_at};
use iosonar_report::counted;
use serde_json::{Value, json};

use crate::exit::{Ending, print, print_data};
use crate::low::Targets;
use crate::render::table::Table;
use iosonar_stats::Output;

pub(crate) fn run(args: &Targets) -> anyhow::Result<Ending> {
    let host = Host::default();
    let named = !args.devices.is_empty();
    let paths = if named {
        args.devices.clone()
    } else {
        host.block_devices()
    };
    let mut all = Vec::new();
    for path in paths {
        match look_at(&host, &path) {
            Ok(listed) => all.push(listed),
            // A device may go while we look; one that was named must be there.
            Err(_) if !named => {}
            Err(e) => return Err(anyhow::anyhow!("{}: {e}", path.display())),
        }
    }
    if !named {
        // What has no medium, as unused loop devices, says least.
        all.sort_by_key(|listed| listed.size.get() == 0);
    }
    if args.json {
        let mut json = Output::new("targets");
        json.set("targets", all.iter().map(to_json).collect());
        print_data(&json.text())?;
    } else {
        print(&describe(&all))?;
    }
    Ok(Ending::Done)
}

fn describe(all: &[Listed]) -> String {
    let mut table = Table::new(&[
        "device",
        "size",
        "medium",
        "reads",
        "writes",
        "block",
        "scheduler",
        "write cache",
    ])
    .split_before(5);
    let unknown = || "unknown".to_owned();
    for listed in all {
        let medium = match listed.rotational {
            Some(true) => "disk",
            Some(false) => "flash or memory",
            None => "unknown",
        };
        let allowed = |reason: &Option<String>| match reason {
            None => "yes".to_owned(),
            Some(_) => "no".to_owned(),
        };
        let writes = match (&listed.no_reads, &listed.no_writes) {
            (None, Some(_)) if listed.consent_helps => "--destroy".to_owned(),
            (Some(_), _) => "no".to_owned(),
            (None, reason) => allowed(reason),
        };
        let medium = match &listed.zoned {
            Some(model) => format!("{medium}, zoned ({model})"),
            None => medium.to_owned(),
        };
        table.row(vec![
            listed.path.display().to_string(),
            listed.size.to_string(),
            medium,
            allowed(&listed.no_reads),
            writes,
            listed.block.to_string(),
            listed.scheduler.clone().unwrap_or_else(unknown),
            listed.write_cache.clone().unwrap_or_else(unknown),
        ]);
    }
    let mut text = table.text();
    for listed in all {
        let reasons = match (&listed.no_reads, &listed.no_writes) {
            (Some(reason), _) => Some(reason.clone()),
            (None, Some(reason)) if listed.consent_helps => {
                Some(format!("{reason} (writes need --destroy)"))
            }
            (None, Some(reason)) => Some(reason.clone()),
            (None, None) => None,
        };
        if let Some(reason) = reasons {
            text += &format!("  {}: {reason}\n", listed.path.display());
        }
        if let Some(character) = &listed.character_device {
            text += &format!(
                "  {}: for NVMe commands that bypass the block layer, use {} with --engine passthrough\n",
                listed.path.display(),
                character.display()
            );
        }
        for fake in &listed.fakes {
            text += &format!("  {}: FAKE: {fake}\n", listed.path.display());
        }
    }
    if all.is_empty() {
        text += "  no block devices found; 'iosonar replay --create SIZE' creates a file to replay on\n";
        return text;
    }
    text + &conclusion(all)
}

/// How many devices a replay could use, of those that have a medium.
fn conclusion(all: &[Listed]) -> String {
    let with_medium = all.iter().filter(|of| of.size.get() > 0).count();
    let without = match all.len() - with_medium {
        0 => String::new(),
        count => format!("; {} no medium", counted(count as u64, ["has", "have"])),
    };
    let readable = all.iter().filter(|of| of.no_reads.is_none());
    let readable: Vec<_> = readable.collect();
    let writable = readable.iter().filter(|of| of.no_writes.is_none());
    let consent = readable
        .iter()
        .filter(|of| of.no_writes.is_some() && of.consent_helps);
    let consent = match consent.count() {
        0 => String::new(),
        count => format!(", {count} more with --destroy"),
    };
    format!(
        "{} of {} can be read, {} can be written{consent}{without}.\n",
        readable.len(),
        counted(with_medium as u64, ["device", "devices"]),
        match writable.count() {
            0 => "none".to_owned(),
            count => count.to_string(),
        }
    )
}

fn to_json(listed: &Listed) -> Value {
    json!({
        "device": listed.path.display().to_string(),
        "size_bytes": listed.size.get(),
        "block_bytes": listed.block.get(),
        "kind": listed.kind,
        "rotational": listed.rotational,
        "scheduler": listed.scheduler,
        "write_cache": listed.write_cache,
        "zoned": listed.zoned,
        "character_device": listed.character_device.as_ref().map(|path| path.display().to_string()),
        "no_reads": listed.no_reads,
        "no_writes": listed.no_writes,
        "fakes": listed.fakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
