//! Random scenarios.

#![allow(dead_code, reason = "each test uses some of it")]

use std::fmt::Write as _;
use std::path::Path;

use iosonar_scenario::theory::Theory;
use iosonar_scenario::{Overrides, Prepared};
use iosonar_sim_core::Stream;

/// One of them.
pub(crate) fn pick<'a, T>(stream: &mut Stream, of: &'a [T]) -> &'a T {
    &of[stream.below(of.len() as u64) as usize]
}

/// True with this probability.
pub(crate) fn chance(stream: &mut Stream, p: f64) -> bool {
    stream.uniform() < p
}

/// A random array of disks, without a load.
#[allow(clippy::too_many_lines)] // A key a draw.
pub(crate) fn disks(stream: &mut Stream) -> String {
    let level = *pick(
        stream,
        &[
            "raid0", "raid1", "raid10", "raid01", "raid5", "raid5", "raid5", "raid6", "raid6",
            "raid50", "raid60", "jbod", "concat",
        ],
    );
    let disks: u64 = match level {
        "raid0" | "jbod" | "concat" => 1 + stream.below(5),
        "raid1" => 2 + stream.below(2),
        "raid10" | "raid01" => 2 * (1 + stream.below(3)),
        "raid5" => 3 + stream.below(5),
        "raid6" => 4 + stream.below(5),
        "raid50" => 6 + 2 * stream.below(2),
        _ => 8 + 2 * stream.below(2),
    };
    let mut text = format!("[array]\nlevel = '{level}'\ndisks = {disks}\n");
    let unit = pick(
        stream,
        &["16KiB", "64KiB", "128KiB", "128KiB", "512KiB", "1MiB"],
    );
    let _ = writeln!(text, "stripe_unit = '{unit}'");
    let addressed = chance(stream, 0.3);
    if addressed {
        text += "placement = 'addressed'\n";
    }
    let option = |text: &mut String, stream: &mut Stream, key: &str, values: &[&str]| {
        if chance(stream, 0.5) {
            let _ = writeln!(text, "{key} = '{}'", pick(stream, values));
        }
    };
    option(
        &mut text,
        stream,
        "transfer_memory",
        &["one-per-request", "last-access"],
    );
    if level.starts_with("raid5") || level.starts_with("raid6") {
        if addressed {
            let layouts = [
                "left-symmetric",
                "left-asymmetric",
                "right-symmetric",
                "right-asymmetric",
            ];
            option(&mut text, stream, "layout", &layouts);
        } else {
            option(
                &mut text,
                stream,
                "write_start",
                &["array-first", "random", "after-parity"],
            );
            option(
                &mut text,
                stream,
                "read_layout",
                &["restart", "wrap", "continue"],
            );
        }
        option(&mut text, stream, "join", &["disk-first", "writes-first"]);
        option(&mut text, stream, "preread_seek", &["write", "read"]);
        option(
            &mut text,
            stream,
            "full_turn",
            &["less-transfer", "revolution"],
        );
        if chance(stream, 0.15) {
            let _ = writeln!(text, "failed = [{}]", stream.below(disks));
        }
    } else if level.starts_with("raid1") || level == "raid01" {
        let reads = [
            "halves",
            "round-robin",
            "alternating-rows",
            "random-per-block",
            "random",
        ];
        option(&mut text, stream, "mirror_read", &reads);
    }
    if chance(stream, 0.15) {
        text += "mode = 'split-merge'\n";
    }
    text += "[disk]\nprofile = 'seagate-st3500630ns'\n";
    if chance(stream, 0.15) {
        text += "scheduler = 'rpo'\n";
    }
    text
}

/// One SSD, or an array of two or three, with exponential service.
pub(crate) fn ssds(stream: &mut Stream) -> String {
    let count = *pick(stream, &[1, 1, 2, 2, 3]);
    let array = match count {
        1 => String::new(),
        _ => format!("[array]\nlevel = 'raid0'\ndisks = {count}\nstripe_unit = '4KiB'\n"),
    };
    let block = *pick(stream, &[1, 1, 2, 4, 8, 16]);
    format!(
        "{array}[ssd]\nprofile = 'abstract'\nexponential.mean_us = {}\nblock_queue.dispatch = '{}'\n\
         block_queue.block = {block}\n",
        pick(stream, &[20.0, 100.0, 400.0]),
        pick(stream, &["dynamic", "static"]),
    )
}

/// What requests are like, but for when they come.
pub(crate) fn shape(stream: &mut Stream) -> String {
    let blocks = 1 + stream.below(12);
    let mut shape = match stream.below(4) {
        0 => format!(
            "size = {{ geometric_mean_blocks = {:.1} }}\n",
            1.0 + 3.0 * stream.uniform()
        ),
        1 => format!(
            "size = {{ table = [{{ blocks = 1, share = 0.5 }}, {{ blocks = {blocks}, share = 0.5 }}] }}\n"
        ),
        _ => format!("size = {{ blocks = {blocks} }}\n"),
    };
    let reads = *pick(stream, &[0.0, 0.0, 0.0, 0.5, 1.0]);
    let _ = writeln!(shape, "read_share = {reads:?}");
    if chance(stream, 0.2) {
        let _ = writeln!(
            shape,
            "block = '{}'",
            pick(stream, &["4KiB", "16KiB", "64KiB"])
        );
    }
    shape
}

/// What a scenario means, if anything.
pub(crate) fn resolved(text: &str) -> Option<Prepared> {
    Prepared::from_toml(text, Path::new("random.toml"), &Overrides::default()).ok()
}

/// A scenario under a load of this utilisation.
pub(crate) fn at_utilisation(
    system: &str,
    shape: &str,
    utilisation: f64,
) -> Option<(String, Theory)> {
    let with = |rate: f64| {
        format!(
            "[load]\nrequests = REQUESTS\narrivals = {{ poisson_per_s = {rate:?} }}\n{shape}{system}"
        )
    };
    let theory_of = |text: &str| Some(resolved(&text.replace("REQUESTS", "1000"))?.theory());
    let capacity = theory_of(&with(1e-3))?.capacity_per_s?;
    let text = with(utilisation * capacity);
    let theory = theory_of(&text)?;
    Some((text, theory))
}
