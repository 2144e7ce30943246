//! Drawings of varied scenarios: targets as lines, and what has no result.

use iosonar_analysis::objective::Objective;
use iosonar_plot::{Chart, Mark};
use iosonar_scenario::{Overrides, Prepared};
use iosonar_study::vary::{
    Curves, Drawing, Key, Picture, Roles, Varied, Wanted, combinations, simulate,
};

const SCENARIO: &str = "seed = 3\nreplications = 4\n\
    [load]\nrequests = 4000\nrate_per_s = 50.0\nread_share = 0.5\nsize = { blocks = 1 }\n\
    [array]\nlevel = \"raid5\"\ndisks = 4\nstripe_unit = \"64KiB\"\n\
    [disk]\nprofile = \"seagate-cheetah-15k7-600gb\"\n";

fn varied(rates: &[&str], shown: &str, targets: &[String]) -> (Varied, Curves, Roles) {
    let targets: Vec<Objective> = targets.iter().map(|text| text.parse().unwrap()).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.toml");
    std::fs::write(&path, SCENARIO).unwrap();
    let rates = rates.iter().map(|&rate| rate.to_owned()).collect();
    let keys: Vec<Key> = vec![("load.rate_per_s".to_owned(), rates)];
    let prepared = combinations(&keys).into_iter().map(|values| {
        let overrides = Overrides {
            set: vec![(keys[0].0.clone(), values[0].clone())],
            ..Overrides::default()
        };
        let simulation = Prepared::read(&path, &overrides).unwrap();
        ("s".to_owned(), simulation, values)
    });
    let curves: Curves = shown.parse().unwrap();
    let wanted = Wanted {
        curves: Some(curves.clone()),
        targets: targets.clone(),
        ..Wanted::default()
    };
    let points = simulate(&keys, prepared.collect(), &wanted, &|| {}).unwrap();
    let roles = Roles::of_curves(1, &keys, None, curves.shown.len()).unwrap();
    let scenarios = vec!["s".to_owned()];
    let varied = Varied {
        scenarios,
        keys,
        targets,
        points,
    };
    (varied, curves, roles)
}

fn chart(drawing: &Drawing) -> Chart {
    match drawing.picture() {
        Picture::One(chart) => *chart,
        Picture::Panels(_) => panic!("one chart"),
    }
}

#[test]
fn a_target_is_a_line_that_says_where_it_is_met() {
    let rates = ["50", "100", "200"];
    let (plain, ..) = varied(&rates, "read p99,mean", &[]);
    let quantiles: Vec<(f64, (f64, f64))> = plain
        .points
        .iter()
        .map(|point| {
            let found = point.result.as_ref().unwrap();
            let p99 = found.reads.quantiles.iter().find(|q| q.p == 0.99);
            p99.map(|p99| (p99.ms, p99.ms_95)).unwrap()
        })
        .collect();
    assert!(quantiles.is_sorted_by(|a, b| a.0 < b.0), "{quantiles:?}");
    let (value, (_, high)) = quantiles[0];
    for (limit, met) in [
        (0.5 * value, 0),
        // The value is within the limit, and not the whole interval.
        (f64::midpoint(value, high), 0),
        (1.05 * high, 1),
        (2.0 * quantiles[2].1.1, 3),
    ] {
        // A target of something else is not a line here.
        let targets = [
            format!("read p99 < {limit}ms"),
            "write p50 < 1ms".to_owned(),
        ];
        let (varied, curves, roles) = varied(&rates, "read p99,mean", &targets);
        let chart = chart(&varied.curves(&curves, &roles));
        let lines = chart.marks.iter().filter_map(|mark| match mark {
            Mark::Line(line) if line.label.starts_with("target") => Some(line),
            _ => None,
        });
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 1);
        let said = format!("met at {met} of 3 points");
        assert!(lines[0].label.ends_with(&said), "{} {said}", lines[0].label);
        assert!(
            lines[0]
                .points
                .iter()
                .all(|(_, y)| (y * 1e3 / limit - 1.0).abs() < 1e-6)
        );
        assert_eq!((lines[0].points[0].0, lines[0].points[1].0), (50.0, 200.0));
    }
}

/// Far too much load has no steady state: a gap with its reason, and no picture of nothing else.
#[test]
fn a_point_without_a_result_is_a_gap_that_says_why() {
    let (some, curves, roles) = varied(&["50", "5000"], "p50", &[]);
    let drawing = some.curves(&curves, &roles);
    assert!(!drawing.is_empty());
    let data = drawing.data().csv();
    assert_eq!(data.lines().count(), 3);
    assert!(
        data.lines().any(|row| row == ",s,simulation,5000,,,,"),
        "{data}"
    );
    assert!(
        chart(&drawing)
            .notes
            .iter()
            .any(|note| note.starts_with("no result"))
    );
    let csv = some.csv();
    let rows: Vec<usize> = csv.lines().map(|row| row.split(',').count()).collect();
    assert_eq!(rows[0], rows[1], "{csv}");
    assert!(
        csv.lines().nth(2).unwrap().starts_with("s,5000,,,,"),
        "{csv}"
    );
    let (none, curves, roles) = varied(&["5000", "6000"], "p50", &["p50 < 1s".to_owned()]);
    assert!(none.curves(&curves, &roles).is_empty());
}
