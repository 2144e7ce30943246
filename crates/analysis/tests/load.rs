//! Properties of a load that follow from how it is made.

use iosonar_analysis::{LoadMetrics, LoadOptions, LoadSummary, WindowSize, name_of_others};
use iosonar_stats::metric::{Label, Measure, MetricUnit};
use iosonar_stats::{Labels, Metric};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

fn request(start: Nanos, sector: u64, sectors: u32, op: Op) -> Request {
    Request {
        start,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op,
        ..Request::default()
    }
}

fn measured(options: LoadOptions, requests: impl IntoIterator<Item = Request>) -> LoadSummary {
    let mut metrics = LoadMetrics::new(options);
    requests.into_iter().for_each(|of| metrics.push(&of));
    metrics.finish().unwrap()
}

/// The metrics with this name: their labels and numbers.
fn figures(load: &LoadSummary, name: &str) -> Vec<(Labels, f64)> {
    let figure = |of: Metric| match of.measure {
        Measure::Figure { value, .. } => (of.labels, value),
        other => panic!("{name}: {other:?}"),
    };
    let all = load.metrics(&Labels::default(), 0).into_iter();
    all.filter(|of| of.name == name).map(figure).collect()
}

/// One read of each of the pages, a microsecond apart, `times` times.
fn pages(pages: u64, times: u64) -> impl Iterator<Item = Request> {
    (0..pages * times).map(move |i| {
        let start = Nanos::from_micros(i + 1);
        request(start, i % pages * 8, 8, Op::Read)
    })
}

#[test]
fn a_sample_of_pages_is_scaled_to_all_of_them_with_its_standard_error() {
    // No more than 512 pages are followed of 4096.
    let options = LoadOptions {
        memory: 0,
        ..LoadOptions::default()
    };
    for times in [1, 2] {
        let load = measured(options, pages(4096, times));
        let rate = load.sampling_rate;
        assert!([1.0 / 8.0, 1.0 / 16.0].contains(&rate), "{rate}");
        assert_eq!(load.page_accesses, 4096 * times);
        // Whole pages are in the sample, or not.
        assert_eq!(load.distinct_sectors, 8 * load.distinct_pages);
        let in_sample = load.distinct_sectors as f64 * rate;
        assert!(in_sample <= 8.0 * 512.0);
        let stderr = (8.0 * (1.0 - rate) / in_sample).sqrt();
        assert!((load.working_set_stderr / stderr - 1.0).abs() < 1e-12);
        let error = load.distinct_sectors as f64 / 32_768.0 - 1.0;
        assert!(error.abs() < 4.0 * stderr, "{error} of {stderr}");
        let (_, last) = load.series.last().unwrap();
        assert_eq!(last.working_set, [load.distinct_sectors; 5]);
        assert_eq!(last.span, [32_768; 5]);
        // The second time, each page comes again after all others.
        let cold = 1.0 / times as f64;
        for (size, misses) in [(2048, 1.0), (8192, cold)] {
            let found = load.curve.miss_ratio(size);
            assert!((found - misses).abs() < 0.1, "{size}: {found}");
        }
    }
    let exact = measured(LoadOptions::default(), pages(4096, 1));
    assert_eq!(exact.distinct_sectors, 32_768);
    assert_eq!((exact.sampling_rate, exact.working_set_stderr), (1.0, 0.0));
}

#[test]
fn caches_of_a_mebibyte_and_its_powers_of_four_are_looked_at_up_to_four_times_the_load() {
    let mut load = measured(LoadOptions::default(), pages(100, 1));
    for (pages, sizes) in [
        (64, &[][..]),
        (65, &[256]),
        (256, &[256]),
        (257, &[256, 1024]),
        (1025, &[256, 1024, 4096]),
    ] {
        load.distinct_pages = pages;
        assert_eq!(load.cache_sizes(), sizes, "{pages}");
    }
    // No cache has 2^50 pages.
    load.distinct_pages = 1 << 60;
    let sizes: Vec<u64> = (4..25).map(|n| 1 << (2 * n)).collect();
    assert_eq!(load.cache_sizes(), sizes);
    load.distinct_pages = 257;
    let bytes = |mib: u64| Labels::of("cache_bytes", mib << 20);
    assert_eq!(
        figures(&load, "miss_ratio"),
        [(bytes(1), 1.0), (bytes(4), 1.0)]
    );
}

#[test]
fn requests_other_than_reads_are_named_after_what_they_are() {
    let names = [
        ((0, 0), "writes"),
        ((3, 0), "writes"),
        ((0, 1), "others"),
        ((2, 1), "writes and others"),
    ];
    for ((writes, others), name) in names {
        assert_eq!(name_of_others(writes, others), name);
        let op = |n: u64, op| (0..n).map(move |_| request(Nanos::ZERO, 0, 8, op));
        let of = op(1, Op::Read)
            .chain(op(writes, Op::Write))
            .chain(op(others, Op::Discard));
        let load = measured(LoadOptions::default(), of);
        assert_eq!(load.name_of_others(), name);
        assert_eq!(load.requests(), 1 + writes + others);
    }
}

#[test]
fn dispersion_is_told_for_slots_of_a_second_and_the_powers_of_two_of_10_ms() {
    // Two requests every two seconds: whole slots from the first request on have two of them, or none. With a sum s in n
    // slots the variance over the mean is 2 - s / n.
    let pairs = (0..10).flat_map(|i| [request(Nanos::from_secs(2 * i), 100 * i, 8, Op::Write); 2]);
    let load = measured(LoadOptions::default(), pairs);
    let dispersion = figures(&load, "dispersion");
    let slots = [(20.0, 1801.0), (18.0, 900.0), (18.0, 450.0), (18.0, 225.0)];
    // The last slots of these are not whole.
    let long_slots = [(18.0, 112.0), (18.0, 56.0), (18.0, 28.0), (18.0, 14.0)];
    let expected: Vec<(f64, f64)> = [(1.0, (20.0, 19.0))]
        .into_iter()
        .chain(
            (0..)
                .zip(slots.into_iter().chain(long_slots))
                .map(|(level, of)| (0.01 * 2_f64.powi(level), of)),
        )
        .map(|(slot, (sum, n))| (slot, 2.0 - sum / n))
        .collect();
    assert_eq!(dispersion.len(), expected.len(), "{dispersion:?}");
    for (i, ((labels, value), (slot, expected))) in dispersion.iter().zip(expected).enumerate() {
        let (_, of) = labels.iter().find(|(key, _)| *key == "slot_s").unwrap();
        let Label::Number(of) = of else {
            panic!("{of:?}")
        };
        assert!((of / slot - 1.0).abs() < 1e-12, "{of}, expected {slot}");
        assert!((value - expected).abs() < 1e-12, "{slot}: {value}");
        assert_eq!(labels.text("levels").is_some(), i > 0);
    }
    // These are too few requests for a Hurst parameter.
    assert!(figures(&load, "hurst").is_empty() && load.burstiness.hurst.is_none());
    assert_eq!(load.burstiness.most_per_s, 2);
    let gaps = load.metrics(&Labels::default(), 0);
    let gaps = gaps.iter().find(|of| of.name == "interarrival").unwrap();
    let Measure::Times(gaps) = &gaps.measure else {
        panic!("{gaps:?}")
    };
    // Ten of 0 s, nine of 2 s.
    assert_eq!(gaps.n, 19);
    let quantile = |p: f64| load.burstiness.interarrival.quantile(p);
    assert_eq!(
        (quantile(0.5), quantile(1.0)),
        (Some(Nanos::ZERO), Some(Nanos::from_secs(2)))
    );
}

#[test]
fn the_hurst_parameter_is_told_with_its_standard_error() {
    let bursts = (0..600_u64).map(|i| request(Nanos::from_millis(i * i / 40), 8 * i, 8, Op::Read));
    let load = measured(LoadOptions::default(), bursts);
    let hurst = load.burstiness.hurst.unwrap();
    let metrics = load.metrics(&Labels::default(), 0);
    let metric = metrics.iter().find(|of| of.name == "hurst").unwrap();
    let unit = MetricUnit::One;
    let expected = Metric::figure("hurst", &Labels::default(), unit, hurst.value);
    assert_eq!(*metric, expected.with_stderr(hurst.stderr));
}

#[test]
fn a_load_of_flushes_is_nowhere() {
    let flushes = (0..3).map(|i| request(Nanos::from_secs(i), 77, 0, Op::Flush));
    let load = measured(LoadOptions::default(), flushes);
    assert_eq!((load.requests(), load.other.requests), (3, 3));
    assert_eq!((load.shortest, load.longest, load.end_sector), (0, 0, 0));
    assert_eq!(
        (load.distinct_pages, load.page_accesses, load.successors),
        (0, 0, 0)
    );
    assert!(load.sizes.is_empty() && load.positions.is_empty());
    let sizes = load.window_sizes();
    let names: Vec<String> = sizes.iter().map(WindowSize::name).collect();
    assert_eq!(names, ["1 s", "all"], "no longer windows than the load");
    for of in sizes {
        assert_eq!((of.mean, of.max, of.mean_span), (0.0, 0, 0.0));
        assert!(of.span_per_sector().is_nan());
    }
    // All at one instant: there is no rate.
    let instant = measured(
        LoadOptions::default(),
        [request(Nanos::SECOND, 0, 8, Op::Read)],
    );
    assert!(instant.sectors_per_s().is_nan());
}

#[test]
fn long_pauses_leave_working_sets_as_they_were_at_the_ends_of_the_joined_windows() {
    // 5 * 10^9 windows of a second would be too many.
    let starts = [1, 5_000_000_000, 5_000_000_001];
    let requests = (0..)
        .zip(starts)
        .map(|(i, s)| request(Nanos::from_secs(s), 100 * i, 8, Op::Read));
    let load = measured(LoadOptions::default(), requests);
    let (_, last) = load.series.last().unwrap();
    assert_eq!(last.working_set[4], 24);
    let all = load.series.iter().map(|(_, point)| point.working_set[4]);
    assert!(all.is_sorted());
    assert_eq!(load.series.iter().map(|(_, p)| p.reads).sum::<u64>(), 3);
}

#[test]
fn turns_and_sequential_requests_are_those_of_each_device() {
    // Each request of device 0 begins where the last one of it ended; device 3 goes back, and on.
    let places = [(0, 0), (3, 1000), (0, 8), (3, 992), (0, 16), (3, 2000)];
    let requests = (0..).zip(places).map(|(s, (device, sector))| Request {
        device,
        ..request(
            Nanos::from_secs(s),
            sector,
            8,
            if device == 0 { Op::Read } else { Op::Write },
        )
    });
    let load = measured(LoadOptions::default(), requests);
    assert_eq!((load.turns, load.sequential, load.successors), (1, 2, 4));
    // From the ends of the ones before: 0, 16, 0 and 1000 sectors.
    assert_eq!(load.mean_distance, 1016.0 / 4.0);
    let devices: Vec<_> = load
        .devices
        .iter()
        .map(|(device, of)| (*device, of.map(|amount| (amount.requests, amount.sectors))))
        .collect();
    assert_eq!(devices, [(0, [(3, 24), (0, 0)]), (3, [(0, 0), (3, 24)])]);
    let turns: Vec<u64> = load.series.iter().map(|(_, point)| point.turns).collect();
    assert_eq!(turns, [0, 0, 0, 1, 0, 0]);
}
