//! Time series and distributions as CSV.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use iosonar_trace::output::WholeFile;
use iosonar_units::Nanos;

use super::Measured;

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {action}: {source}", path.display())]
pub struct CsvError {
    path: PathBuf,
    action: &'static str,
    source: std::io::Error,
}

/// Writes the files into `dir`.
pub(super) fn write(dir: &Path, measured: &Measured) -> Result<(), CsvError> {
    let failed = |path: &Path, action: &'static str| {
        let path = path.to_owned();
        move |source| CsvError {
            path,
            action,
            source,
        }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir, "create the folder"))?;
    let save = |name: &str, text: &str| {
        let path = dir.join(name);
        WholeFile::write_all(&path, text.as_bytes()).map_err(failed(&path, "write"))
    };
    save("load.csv", &load(measured))?;
    save("sizes.csv", &sizes(measured))?;
    save("positions.csv", &positions(measured))?;
    save("miss-ratio.csv", &miss_ratio(measured))?;
    if measured.outcome.is_some() {
        save("outcome.csv", &outcome(measured))?;
        save("activity.csv", &activity(measured))?;
        save("response-by-size.csv", &response_by_size(measured))?;
        save("latency-by-load.csv", &latency_by_load(measured))?;
    }
    Ok(())
}

fn load(measured: &Measured) -> String {
    let mut text = String::from(
        "window_end_s,reads,writes,sectors_read,sectors_written,turns,\
         working_set_1s,working_set_6s,working_set_60s,working_set_600s,working_set_all,\
         span_1s,span_6s,span_60s,span_600s,span_all\n",
    );
    for (end, point) in &measured.load.series {
        let _ = write!(
            text,
            "{},{},{},{},{},{}",
            end.as_secs_f64(),
            point.reads,
            point.writes,
            point.sectors_read,
            point.sectors_written,
            point.turns
        );
        for value in point.working_set.iter().chain(&point.span) {
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
    }
    text
}

fn sizes(measured: &Measured) -> String {
    let mut text = String::from("sectors,reads,writes\n");
    for (length, reads, writes) in &measured.load.sizes {
        let _ = writeln!(text, "{length},{reads},{writes}");
    }
    text
}

fn positions(measured: &Measured) -> String {
    let mut text = String::from("from_sector,to_sector,reads,writes\n");
    let width = measured.load.position_sectors;
    for (from, reads, writes) in &measured.load.positions {
        let _ = writeln!(
            text,
            "{from},{},{reads},{writes}",
            from.saturating_add(width)
        );
    }
    text
}

fn miss_ratio(measured: &Measured) -> String {
    let mut text = String::from("cache_pages,cache_bytes,miss_ratio\n");
    let curve = &measured.load.curve;
    // Sixteen sizes for each power of two.
    let mut pages = 1_u64;
    loop {
        let _ = writeln!(
            text,
            "{pages},{},{}",
            pages.saturating_mul(4096),
            curve.miss_ratio(pages)
        );
        if pages > curve.longest() {
            return text;
        }
        pages += (pages / 16).max(1);
    }
}

fn outcome(measured: &Measured) -> String {
    let mut text = String::from(
        "window_begin_s,demanded,demanded_sectors,completed,completed_sectors,in_flight,delayed,\
         turns_intended,turns_completed\n",
    );
    for (begin, point) in measured.outcome.iter().flat_map(|o| o.timeline.points()) {
        let (demanded, completed) = (point.all_demanded(), point.all_completed());
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{}",
            begin.as_secs_f64(),
            demanded.requests,
            demanded.sectors,
            completed.requests,
            completed.sectors,
            point.in_flight,
            point.delayed,
            point.turns[0],
            point.turns[1],
        );
    }
    text
}

fn activity(measured: &Measured) -> String {
    let mut text = String::from(
        "from_s,requests,reads,writes,concurrency_p50,concurrency_p75,in_flight_p50,in_flight_p75,utilisation,\
         utilisation_reads,utilisation_writes,busy,read_p50_ms,read_p75_ms,read_p95_ms,read_p99_ms,\
         write_p50_ms,write_p75_ms,write_p95_ms,write_p99_ms,atomic,atomic_reads,atomic_writes,second_io_ms\n",
    );
    for group in measured.outcome.iter().flat_map(|o| &o.activity.groups) {
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            group.begin.as_secs_f64(),
            group.requests.all,
            group.requests.reads,
            group.requests.writes,
            group.concurrency[0],
            group.concurrency[1],
            group.in_flight[0],
            group.in_flight[1],
            group.utilisation.all,
            group.utilisation.reads,
            group.utilisation.writes,
            group.busy
        );
        for of in [group.response_time.reads, group.response_time.writes] {
            for i in 0..4 {
                let _ = write!(
                    text,
                    ",{}",
                    of.map_or_else(String::new, |q| q[i].as_millis_f64().to_string())
                );
            }
        }
        for share in [group.atomic.all, group.atomic.reads, group.atomic.writes] {
            let _ = write!(
                text,
                ",{}",
                if share.is_nan() {
                    String::new()
                } else {
                    share.to_string()
                }
            );
        }
        let second = group
            .second_io
            .map_or_else(String::new, |t: Nanos| t.as_millis_f64().to_string());
        let _ = writeln!(text, ",{second}");
    }
    text
}

fn response_by_size(measured: &Measured) -> String {
    let mut text = String::from(
        "up_to_bytes,reads,read_p50_ms,writes,write_p50_ms,first_io_p50_ms,total_p50_ms\n",
    );
    let ms = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.as_millis_f64().to_string());
    for class in measured.outcome.iter().flat_map(|o| &o.activity.sizes) {
        let (first, total) = class.first_and_total.unzip();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            class.up_to,
            class.reads.0,
            ms(class.reads.1),
            class.writes.0,
            ms(class.writes.1),
            ms(first),
            ms(total)
        );
    }
    text
}

fn latency_by_load(measured: &Measured) -> String {
    let mut text = String::from("in_flight_up_to,requests,latency_p50_ms\n");
    for (up_to, n, median) in measured.outcome.iter().flat_map(|o| &o.activity.by_load) {
        let _ = writeln!(text, "{up_to},{n},{}", median.as_millis_f64());
    }
    text
}
