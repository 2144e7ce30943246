//! What SSDs were like: stations, blocks, flash.

use std::fmt::Write;

use iosonar_raid::ResponseSplit;
use iosonar_report::{counted, grouped};
use iosonar_scenario::{NotCleaned, NotSteady, Prepared, SimulationResult};
use iosonar_ssd_model::{SsdReport, Stage};
use iosonar_units::Nanos;

use crate::render::messages::Warning;
use crate::render::not_cleaned;
use crate::render::on_credit;
use crate::render::table::Table;

/// A larger share of all erases makes a difference between what was begun and what was done.
const MUCH_UNFINISHED: f64 = 0.05;

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The lines for people.
pub(crate) fn describe(simulation: &Prepared, result: &SimulationResult) -> String {
    let Some(report) = &result.ssd else {
        return String::new();
    };
    let mut text = stations(report);
    text += &blocks(report);
    if let Some(per_interrupt) = result.requests_per_interrupt() {
        text += &format!(
            "  interrupts {}, {per_interrupt:.2} requests each; commands were fetched {}\n",
            grouped(report.interrupts),
            counted(report.fetches, ["time", "times"])
        );
    }
    if let Some(limits) = report.limits.filter(|limits| limits.passed > 0) {
        let waited = Nanos::new((limits.time / u128::from(limits.delayed.max(1))) as u64);
        text += &format!(
            "  limits            {} of {} throttled, for {waited} on average\n",
            grouped(limits.delayed),
            counted(limits.passed, ["request was", "requests were"])
        );
    }
    let is_said = matches!(result.not_steady, Some(NotSteady::CreditsFall { .. }));
    if let Some(credit) = simulation.on_credit(result).filter(|_| !is_said) {
        text += &format!(
            "  ON CREDIT         {}{}\n",
            on_credit::why(credit),
            Warning::CreditsFall.tag()
        );
    }
    if let Some(cache) = &report.cache {
        text += &format!(
            "  cache             {} pages written, {} of them already cached, {} waited for space; {} read from it\n",
            grouped(cache.writes),
            grouped(cache.write_hits),
            grouped(cache.waits),
            grouped(cache.read_hits)
        );
    }
    let flushes = report.cache.filter(|cache| cache.flushes > 0);
    if let Some(cache) = flushes {
        let mean = cache.flush_time / u128::from(cache.flushes);
        text += &format!(
            "  flushes           {}, {} on average until all data was on flash\n",
            grouped(cache.flushes),
            Nanos::new(mean as u64)
        );
    }
    if report.flash.map_programs > 0 {
        text += &format!(
            "  map               {} of the programmed pages hold parts of the mapping table\n",
            grouped(report.flash.map_programs)
        );
    }
    if let Some((hits, misses)) = report.mapping {
        text += &format!(
            "  mapping cache     {} of {} look-ups missed\n",
            grouped(misses),
            grouped(hits + misses)
        );
    }
    text += &flash(report, simulation.not_cleaned(result));
    if report.failed_commands > 0 {
        text += &format!(
            "  errors            {}; {} left out of all figures\n",
            counted(
                report.failed_commands,
                ["command returned an error", "commands returned an error"]
            ),
            counted(
                result.failed,
                ["measured request is", "measured requests are"]
            )
        );
    }
    text
}

/// How busy the stations of each kind are.
fn stations(report: &SsdReport) -> String {
    let mut text = String::new();
    // What is never used need not be there.
    for kind in report.kinds().into_iter().filter(|kind| kind.mean > 0.0) {
        let _ = write!(
            text,
            "  {:<17} utilisation {}",
            kind.name,
            percent(kind.mean)
        );
        if kind.count > 1 {
            let (least, most) = (percent(kind.least), percent(kind.most));
            let _ = write!(text, " (of {}: {least} to {most})", kind.count);
        }
        text.push('\n');
    }
    text
}

/// What the flash was asked for, and what cleaning adds to that.
fn flash(report: &SsdReport, not_cleaned: Option<NotCleaned>) -> String {
    let Some(ftl) = &report.ftl else {
        return String::new();
    };
    let flash = &report.flash;
    let mut text = format!(
        "  flash             {} pages read and {} programmed for the host, {} and {} by cleaning, {} blocks erased\n",
        grouped(flash.reads),
        grouped(flash.programs),
        grouped(flash.cleaning_reads),
        grouped(flash.cleaning_programs),
        grouped(flash.erases),
    );
    let joined = flash.joined;
    if joined.operations() > 0 {
        text += &format!(
            "  multi-plane       {} of the reads, {} of the programs, {} of the erases shared a command with another plane\n",
            grouped(joined.reads),
            grouped(joined.programs),
            grouped(joined.erases)
        );
    }
    if flash.refreshed > 0 {
        text += &format!(
            "  refreshed         {}, after many reads or long retention\n",
            counted(flash.refreshed, ["block", "blocks"])
        );
    }
    if flash.suspensions > 0 {
        text += &format!(
            "  suspensions       {} programs and erases were suspended for reads\n",
            grouped(flash.suspensions)
        );
    }
    let unfinished = ftl.erases.saturating_sub(flash.erases);
    if unfinished as f64 > MUCH_UNFINISHED * ftl.erases as f64 {
        text += &format!(
            "  unfinished        {} begun than completed: the lines below count what was begun, the lines above what was \
             completed\n",
            counted(unfinished, ["more erase was", "more erases were"])
        );
    }
    if flash.programs > 0 {
        if let Some(not_cleaned) = not_cleaned {
            text += &format!(
                "  NOT CLEANED       {}{}\n",
                not_cleaned::why(not_cleaned),
                Warning::NotCleaned.tag()
            );
        }
        text += &format!(
            "  write amplification {:.4}; {} logical pages written, {} copied\n",
            flash.write_amplification(),
            grouped(ftl.host_writes),
            grouped(ftl.copies)
        );
        let wear = &report.wear;
        text += &format!(
            "  erases per block  {} to {}, {:.2} on average\n",
            wear.least,
            wear.most,
            wear.mean()
        );
    }
    text
}

fn blocks(report: &SsdReport) -> String {
    let all: u64 = report.block_sizes.iter().sum();
    if all == 0 {
        return String::new();
    }
    let sizes = report.block_sizes.iter().enumerate();
    let descriptors: u64 = sizes.clone().map(|(size, &n)| size as u64 * n).sum();
    let mut often: Vec<(usize, u64)> = sizes
        .filter(|(_, n)| **n > 0)
        .map(|(s, &n)| (s, n))
        .collect();
    often.sort_by_key(|&(size, n)| (std::cmp::Reverse(n), size));
    let shares: Vec<String> = often
        .iter()
        .take(4)
        .map(|&(size, n)| format!("{size}: {}", percent(n as f64 / all as f64)))
        .collect();
    format!(
        "  blocks            {} with {:.2} descriptors on average; most frequent sizes {}\n",
        grouped(all),
        descriptors as f64 / all as f64,
        shares.join(", ")
    )
}

/// The rows of stages in the table of times.
pub(crate) fn add_stages(table: &mut Table, split: &ResponseSplit) {
    for (name, times) in Stage::NAMES.iter().zip(&split.stages) {
        table.times(&format!("  {name}"), times);
    }
}
