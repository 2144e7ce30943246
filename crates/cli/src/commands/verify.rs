//! `iosonar verify`: what a replay wrote is read again, and compared with the log that it kept.

use iosonar_guard::Host;
use iosonar_replay::Intent;
use iosonar_replay::verify::{
    Expect, Findings, KeptTables, Survival, Tables, check_again, read_log,
};
use iosonar_report::{counted, grouped};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::SECTOR_BYTES;
use serde_json::json;

use crate::commands::replay::Shown;
use crate::exit::{Ending, Usage, note, print, print_data};
use crate::low::Verify;
use crate::render::progress::verifying;
use crate::render::replay::{findings_json, findings_text};
use crate::render::style::Tone;
use crate::signals;
use iosonar_stats::Output;
use iosonar_study::replay::open;

pub(crate) fn run(args: &Verify) -> anyhow::Result<Ending> {
    let directory = args.table_dir.clone().unwrap_or_else(std::env::temp_dir);
    let kept = read_log(&args.tables, Tables::new(args.table_memory, directory))
        .map_err(|problem| anyhow::anyhow!(problem))?;
    let intent = Intent {
        buffered: args.no_direct,
        ..Intent::default()
    };
    let target = open(
        &args.target,
        &intent,
        &Host::default(),
        &Shown::new(args.output.quiet),
    )?;
    let sectors = target.size().get() / SECTOR_BYTES;
    if sectors != kept.sectors {
        return Err(Usage(format!(
            "{} has {sectors} sectors, but the tables are of a target with {} sectors: use the target of the replay",
            args.target.display(),
            kept.sectors
        ))
        .into());
    }
    if !args.output.quiet {
        announce(&kept);
    }
    signals::watch()?;
    let mut findings = Findings::default();
    let expect = Expect {
        only_durable: args.after_crash,
        all_known: kept.is_complete,
    };
    let (survival, whole) = verifying(args.output.quiet, |progress| {
        check_again(
            &target,
            kept.run,
            &kept.tables,
            expect,
            &mut findings,
            progress,
        )
    })?;
    let survival = survival?;
    if args.output.json {
        print_data(&to_json(&kept, &findings, &survival, args).text())?;
    } else {
        let text = describe(&kept, &findings, &survival, args.after_crash, whole);
        print(&text)?;
    }
    Ok(match (whole, findings.checked, findings.faults()) {
        (false, ..) => Ending::Interrupted {
            signal: signals::last(),
        },
        // What checked nothing found nothing: that is not a success.
        (true, 0, _) => Ending::Flagged,
        (true, _, 0) => Ending::Done,
        (true, ..) => Ending::Flagged,
    })
}

fn announce(kept: &KeptTables) {
    note(&format!(
        "the log has {} and {}",
        counted(kept.writes, ["write", "writes"]),
        counted(kept.flushes, ["flush", "flushes"])
    ));
    let cut_off = counted(kept.cut_off, ["byte", "bytes"]);
    match (kept.cut_off, kept.not_read) {
        (0, _) => {}
        (_, 0) => note(&format!(
            "the last {cut_off} of the log are no whole record: the log was cut off there"
        )),
        (_, records) => note(&format!(
            "the log is damaged: its last {cut_off} were not read, among them {}",
            counted(records, ["whole record", "whole records"])
        )),
    }
}

fn describe(
    kept: &KeptTables,
    findings: &Findings,
    survival: &Survival,
    after_crash: bool,
    whole: bool,
) -> String {
    let mut text = findings_text(findings);
    let none_checked = findings.checked == 0 && whole;
    if none_checked {
        text += &format!(
            "  contents NOT CHECKED: the log has {}, but does not contain the expected contents of any sector\n",
            counted(kept.writes, ["write", "writes"])
        );
    }
    if !kept.is_complete {
        text += "  log           not closed: the replay failed or was killed, or the power failed; writes after the \
                 end of the log are not checked\n";
    }
    text += &format!(
        "  newest        {} last completed write, or a later one\n",
        counted(survival.newest, ["sector holds its", "sectors hold their"])
    );
    if after_crash {
        text += &format!(
            "  not guaranteed  {} an older write: no flush had made the last completed write durable, \
             so this is not a fault\n",
            counted(survival.not_guaranteed, ["sector holds", "sectors hold"])
        );
        if survival.never_arrived > 0 {
            text += &format!(
                "  never arrived   {} of zeros: no flush had made any write there durable, so this is not a fault\n",
                sectors(survival.never_arrived)
            );
        }
        let verdict = match none_checked {
            true => "no verdict: no sector was checked".to_owned(),
            false => verdict(findings, survival, whole, kept.may_lack_discards()),
        };
        text += &format!("  verdict       {verdict}\n");
    } else if findings.checked > 0 {
        let checked = sectors(findings.checked);
        text += &match (findings.faults(), whole) {
            (0, true) => format!("{}: none of {checked} is wrong.\n", Tone::Good.of("Passed")),
            (0, false) => format!("Interrupted: none of {checked} checked so far is wrong.\n"),
            (wrong, _) => format!(
                "{}: {} of {checked} failed the check.\n",
                Tone::Bad.of("Failed"),
                grouped(wrong)
            ),
        };
    }
    text
}

/// `n` sectors.
fn sectors(n: u64) -> String {
    counted(n, ["sector", "sectors"])
}

/// What is said after a crash. What was not checked is not vouched for.
fn verdict(
    findings: &Findings,
    survival: &Survival,
    whole: bool,
    may_lack_discards: bool,
) -> String {
    // What nothing had made durable cannot be lost, even where the device cannot read it.
    let lost = findings.faults() - survival.unreadable_not_durable - survival.damaged_not_durable;
    let unclear = match may_lack_discards {
        true => survival.durable_zeros,
        false => 0,
    };
    let lost = lost - unclear;
    let durable = survival.durable;
    let text = match (lost, durable, whole) {
        (1.., ..) => {
            let (are, they) = if lost == 1 {
                ("is", "it was")
            } else {
                ("are", "they were")
            };
            format!("{} {are} LOST although {they} durable", sectors(lost))
        }
        (0, ..) if unclear > 0 => "no verdict".to_owned(),
        (0, _, false) => format!(
            "no verdict: interrupted after checking {} durable sectors, none of which were lost",
            grouped(durable)
        ),
        (0, 0, true) => {
            "no verdict: no flush had made any sector durable, so no durable data could be lost"
                .to_owned()
        }
        (0, _, true) => "no durable data was lost".to_owned(),
    };
    let not_durable = [
        (survival.unreadable_not_durable, "cannot be read"),
        (
            survival.damaged_not_durable,
            "contained data that no write produced",
        ),
    ];
    let text = match unclear {
        0 => text,
        _ => format!(
            "{text}; {} durable and now zero, but discards may be missing at the end of the log, \
             which is damaged or was written without --durable-tables",
            counted(unclear, ["sector was", "sectors were"])
        ),
    };
    let notes = not_durable.iter().filter(|(n, _)| *n > 0);
    notes.fold(text, |text, (n, what)| {
        format!(
            "{text}; {} that no flush had made durable {what}",
            sectors(*n)
        )
    })
}

fn to_json(kept: &KeptTables, findings: &Findings, survival: &Survival, args: &Verify) -> Output {
    let mut json = Output::new("verify");
    json.set("target", json!(args.target.display().to_string()));
    json.set("after_crash", json!(args.after_crash));
    json.set("log_closed", json!(kept.is_complete));
    json.set("log_may_lack_discards", json!(kept.may_lack_discards()));
    json.set("contents", findings_json(findings));
    let none = Labels::default();
    for (name, value) in [
        ("writes", kept.writes),
        ("flushes", kept.flushes),
        ("cut_off_bytes", kept.cut_off),
        ("not_read_records", kept.not_read),
        ("newest_sectors", survival.newest),
        ("durable_sectors", survival.durable),
        ("durable_zero_sectors", survival.durable_zeros),
        ("not_guaranteed_sectors", survival.not_guaranteed),
        ("never_arrived_sectors", survival.never_arrived),
        (
            "unreadable_not_durable_sectors",
            survival.unreadable_not_durable,
        ),
        ("damaged_not_durable_sectors", survival.damaged_not_durable),
        ("wrong_sectors", findings.faults()),
    ] {
        json.figure(name, &none, MetricUnit::One, value as f64);
    }
    json
}

#[cfg(test)]
mod tests {
    use iosonar_replay::verify::Kind;

    use super::*;

    fn found(lost: u64, durable: u64, unreadable_not_durable: u64) -> (Findings, Survival) {
        let mut findings = Findings::default();
        for (kind, n) in [
            (Kind::Older, lost),
            (Kind::Unreadable, unreadable_not_durable),
        ] {
            if n > 0 {
                findings.counts.insert(kind, n);
            }
        }
        let survival = Survival {
            durable,
            unreadable_not_durable,
            ..Survival::default()
        };
        (findings, survival)
    }

    #[test]
    fn a_crash_is_survived_only_where_all_that_was_durable_was_checked() {
        let survived = "no durable data was lost";
        let of = |lost, durable, unreadable, whole| {
            let (findings, survival) = found(lost, durable, unreadable);
            verdict(&findings, &survival, whole, false)
        };
        assert_eq!(of(0, 8, 0, true), survived);
        for (lost, durable, whole, says) in [
            (1, 8, true, "1 sector is LOST although it was durable"),
            (1, 8, false, "1 sector is LOST"),
            (2, 8, true, "2 sectors are LOST although they were durable"),
            (0, 0, true, "no verdict: no flush"),
            (0, 8, false, "no verdict: interrupted after checking 8"),
        ] {
            let text = of(lost, durable, 0, whole);
            assert!(text.starts_with(says) && text != survived, "{text}");
        }
    }

    #[test]
    fn what_no_flush_had_made_durable_is_not_lost_where_it_cannot_be_read() {
        for (lost, durable, starts) in [
            (0, 0, "no verdict: no flush had made any sector durable"),
            (0, 8, "no durable data was lost"),
            (2, 8, "2 sectors are LOST"),
        ] {
            let (findings, survival) = found(lost, durable, 1);
            let text = verdict(&findings, &survival, true, false);
            assert!(
                text.starts_with(starts)
                    && text.ends_with("; 1 sector that no flush had made durable cannot be read"),
                "{text}"
            );
        }
    }

    #[test]
    fn zeros_are_lost_data_only_where_no_discard_can_have_left_them() {
        let (mut findings, mut survival) = (Findings::default(), Survival::default());
        findings.counts.insert(Kind::Zeros, 3);
        survival.durable = 8;
        survival.durable_zeros = 3;
        let of = |findings: &Findings, may_lack_discards| {
            verdict(findings, &survival, true, may_lack_discards)
        };
        let lost = of(&findings, false);
        assert_eq!(lost, "3 sectors are LOST although they were durable");
        let unclear = of(&findings, true);
        assert!(
            unclear.starts_with("no verdict; 3 sectors were durable and now zero, but discards")
                && unclear.ends_with("without --durable-tables"),
            "{unclear}"
        );
        // An older version is no work of a discard.
        findings.counts.insert(Kind::Older, 1);
        let both = of(&findings, true);
        assert!(
            both.starts_with("1 sector is LOST although it was durable; 3 sectors were"),
            "{both}"
        );
    }
}
