//! What is in the recordings, counted independently of the project (a union of ranges, sliding windows).

use std::path::Path;

use iosonar_analysis::{LoadMetrics, LoadOptions, LoadSummary};
use iosonar_trace::{Batch, TraceReader, input};
use iosonar_units::Nanos;

fn measured(name: &str, window: Nanos) -> Option<LoadSummary> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/traces")
        .join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    let mut reader = input::open(&path).unwrap();
    let mut metrics = LoadMetrics::new(LoadOptions {
        window,
        ..LoadOptions::default()
    });
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch).unwrap() > 0 {
        batch.requests().for_each(|r| metrics.push(&r));
    }
    metrics.finish()
}

/// Of the working set with window number `window`, at whole multiples of `every` seconds below the last
/// start.
fn working_sets(load: &LoadSummary, window: usize, every: u64) -> Vec<u64> {
    let at =
        |t: &Nanos| t.get() > 0 && t.get().is_multiple_of(every * 1_000_000_000) && *t <= load.last;
    let points = load.series.iter().filter(|(t, _)| at(t));
    points.map(|(_, p)| p.working_set[window]).collect()
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn the_mysql_recording() {
    let Some(load) = measured("linux-mysql.load.gz", Nanos::from_secs(60)) else {
        return;
    };
    assert_eq!(
        (load.requests(), load.reads.requests, load.writes.requests),
        (80_794, 7_187, 73_607)
    );
    assert_eq!(
        (load.reads.sectors, load.writes.sectors),
        (161_928, 2_151_328)
    );
    assert_eq!(
        (load.last.get(), load.end_sector),
        (3_599_890_074_831, 63_587_888)
    );
    assert_eq!((load.shortest, load.longest), (1, 488));
    assert_eq!(
        (load.distinct_sectors, load.distinct_pages),
        (1_140_481, 142_563)
    );
    assert_eq!(load.burstiness.most_per_s, 489);
    assert_eq!((load.turns, load.sequential), (30_702, 8_372));
    let minute = working_sets(&load, 2, 60);
    assert!(
        (mean(&minute) - 35_467.017).abs() < 0.0005,
        "{}",
        mean(&minute)
    );
    assert_eq!(minute.iter().max(), Some(&113_129));
    assert_eq!(
        working_sets(&load, 3, 600),
        [279_305, 215_729, 380_113, 231_241, 236_769]
    );
    assert!(
        (load.burstiness.dispersion - 62.3638).abs() < 0.00005,
        "{}",
        load.burstiness.dispersion
    );
}

#[test]
fn the_windows_recording() {
    let Some(load) = measured("windows-shared-server.load.gz", Nanos::from_secs(60)) else {
        return;
    };
    assert_eq!(
        (load.requests(), load.reads.requests, load.writes.requests),
        (1_371, 0, 1_371)
    );
    assert_eq!((load.reads.sectors, load.writes.sectors), (0, 10_543));
    assert_eq!(
        (load.last.get(), load.end_sector),
        (3_597_137_874_735, 6_293_920)
    );
    assert_eq!((load.shortest, load.longest), (1, 16));
    assert_eq!((load.distinct_sectors, load.distinct_pages), (2_121, 266));
    assert_eq!(load.burstiness.most_per_s, 5);
    assert_eq!((load.turns, load.sequential), (966, 2));
    let minute = working_sets(&load, 2, 60);
    assert!((mean(&minute) - 87.542).abs() < 0.0005, "{}", mean(&minute));
    assert_eq!(minute.iter().max(), Some(&105));
    assert_eq!(working_sets(&load, 3, 600), [410, 382, 403, 399, 404]);
    assert!(
        (load.burstiness.dispersion - 2.0865).abs() < 0.00005,
        "{}",
        load.burstiness.dispersion
    );
}
