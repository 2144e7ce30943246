//! Time series and distributions as tables.

use std::path::{Path, PathBuf};

use iosonar_trace::{TraceError, tables};
use iosonar_units::{Column, Nanos, Table};

use super::Measured;

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The folder cannot be created.
    #[error("{}: cannot create the folder: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TraceError),
}

/// Writes the files into `dir`, with names that end in `ending`.
pub(super) fn write(dir: &Path, ending: &str, measured: &Measured) -> Result<(), TablesError> {
    let path_of = |name: &str| dir.join(format!("{name}.{ending}"));
    tables::format_for(&path_of("load"))?;
    std::fs::create_dir_all(dir).map_err(|source| TablesError::Folder {
        path: dir.to_owned(),
        source,
    })?;
    for (name, table) in measured.tables() {
        let tool = format!("iosonar {}", env!("CARGO_PKG_VERSION"));
        let table = table
            .with("table", name)
            .with("tool", tool)
            .with("trace", &*measured.name);
        tables::write(&path_of(name), &table)?;
    }
    Ok(())
}

/// All tables with their names.
pub(super) fn all(measured: &Measured) -> Vec<(&'static str, Table)> {
    let mut all = vec![
        ("load", load(measured)),
        ("sizes", sizes(measured)),
        ("positions", positions(measured)),
        ("miss-ratio", miss_ratio(measured)),
    ];
    if measured.outcome.is_some() {
        all.extend([
            ("outcome", outcome(measured)),
            ("activity", activity(measured)),
            ("response-by-size", response_by_size(measured)),
            ("latency-by-load", latency_by_load(measured)),
        ]);
    }
    all
}

fn load(measured: &Measured) -> Table {
    let counts = "reads,writes,sectors_read,sectors_written,turns,\
                  working_set_1s,working_set_6s,working_set_60s,working_set_600s,working_set_all,\
                  span_1s,span_6s,span_60s,span_600s,span_all";
    let mut table = Table::new([Column::times("window_end_s")]);
    for name in counts.split(',') {
        table.push_column(Column::counts(name));
    }
    for (end, point) in &measured.load.series {
        table
            .row()
            .put(*end)
            .put(point.reads)
            .put(point.writes)
            .put(point.sectors_read)
            .put(point.sectors_written)
            .put(point.turns)
            .put_all(point.working_set.iter().chain(&point.span).copied());
    }
    table
}

fn sizes(measured: &Measured) -> Table {
    let mut table = Table::new(["sectors", "reads", "writes"].map(Column::counts));
    for (length, reads, writes) in &measured.load.sizes {
        table.row().put(*length).put(*reads).put(*writes);
    }
    table
}

fn positions(measured: &Measured) -> Table {
    let mut table = Table::new(["from_sector", "to_sector", "reads", "writes"].map(Column::counts));
    let width = measured.load.position_sectors;
    for (from, reads, writes) in &measured.load.positions {
        let to = from.saturating_add(width);
        table.row().put(*from).put(to).put(*reads).put(*writes);
    }
    table
}

fn miss_ratio(measured: &Measured) -> Table {
    let mut table = Table::new([
        Column::counts("cache_pages"),
        Column::counts("cache_bytes"),
        Column::numbers("miss_ratio"),
    ]);
    let curve = &measured.load.curve;
    // Sixteen sizes for each power of two.
    let mut pages = 1_u64;
    loop {
        let bytes = pages.saturating_mul(4096);
        table
            .row()
            .put(pages)
            .put(bytes)
            .put(curve.miss_ratio(pages));
        if pages > curve.longest() {
            return table;
        }
        pages += (pages / 16).max(1);
    }
}

fn outcome(measured: &Measured) -> Table {
    let columns = [Column::times("window_begin_s")].into_iter();
    let columns = columns
        .chain(
            [
                "demanded",
                "demanded_sectors",
                "completed",
                "completed_sectors",
            ]
            .map(Column::counts),
        )
        .chain(["in_flight", "delayed"].map(Column::numbers))
        .chain(["turns_intended", "turns_completed"].map(Column::counts));
    let mut table = Table::new(columns);
    for (begin, point) in measured.outcome.iter().flat_map(|o| o.timeline.points()) {
        let (demanded, completed) = (point.all_demanded(), point.all_completed());
        table
            .row()
            .put(begin)
            .put(demanded.requests)
            .put(demanded.sectors)
            .put(completed.requests)
            .put(completed.sectors)
            .put(point.in_flight)
            .put(point.delayed)
            .put_all(point.turns);
    }
    table
}

fn activity(measured: &Measured) -> Table {
    let counts =
        "requests,reads,writes,concurrency_p50,concurrency_p75,in_flight_p50,in_flight_p75";
    let numbers = "utilisation,utilisation_reads,utilisation_writes,busy";
    let times = "read_p50_ms,read_p75_ms,read_p95_ms,read_p99_ms,\
                 write_p50_ms,write_p75_ms,write_p95_ms,write_p99_ms";
    let columns = [Column::times("from_s")].into_iter();
    let columns = columns
        .chain(counts.split(',').map(Column::counts))
        .chain(numbers.split(',').map(Column::numbers))
        .chain(times.split(',').map(Column::times))
        .chain(["atomic", "atomic_reads", "atomic_writes"].map(Column::numbers))
        .chain([Column::times("second_io_ms")]);
    let mut table = Table::new(columns);
    for group in measured.outcome.iter().flat_map(|o| &o.activity.groups) {
        let mut row = table.row();
        row.put(group.begin)
            .put(group.requests.all)
            .put(group.requests.reads)
            .put(group.requests.writes)
            .put_all(group.concurrency)
            .put_all(group.in_flight)
            .put(group.utilisation.all)
            .put(group.utilisation.reads)
            .put(group.utilisation.writes)
            .put(group.busy);
        for of in [group.response_time.reads, group.response_time.writes] {
            row.put_all((0..4).map(|i| of.map(|quantiles| quantiles[i])));
        }
        row.put_all([group.atomic.all, group.atomic.reads, group.atomic.writes])
            .put(group.second_io);
    }
    table
}

fn response_by_size(measured: &Measured) -> Table {
    let mut table = Table::new([
        Column::counts("up_to_bytes"),
        Column::counts("reads"),
        Column::times("read_p50_ms"),
        Column::counts("writes"),
        Column::times("write_p50_ms"),
        Column::times("first_io_p50_ms"),
        Column::times("total_p50_ms"),
    ]);
    for class in measured.outcome.iter().flat_map(|o| &o.activity.sizes) {
        let (first, total): (Option<Nanos>, Option<Nanos>) = class.first_and_total.unzip();
        table
            .row()
            .put(class.up_to)
            .put(class.reads.0)
            .put(class.reads.1)
            .put(class.writes.0)
            .put(class.writes.1)
            .put(first)
            .put(total);
    }
    table
}

fn latency_by_load(measured: &Measured) -> Table {
    let mut table = Table::new([
        Column::counts("in_flight_up_to"),
        Column::counts("requests"),
        Column::times("latency_p50_ms"),
    ]);
    for (up_to, n, median) in measured.outcome.iter().flat_map(|o| &o.activity.by_load) {
        table.row().put(*up_to).put(*n).put(*median);
    }
    table
}
