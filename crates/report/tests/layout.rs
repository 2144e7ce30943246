//! Where words stand on every chart of the catalogue, of one input and of many with long names: the legend takes at most an
//! eighth of a chart's height, no words touch each other or the data, none leaves the picture.

use iosonar_plot::{Chart, Layout, Part, PixelScale, Rectangle, Size, layout};
use iosonar_report::{
    Arrange, CATALOGUE, Group, Look, LookOptions, Measured, SelfCheckRow, find, needs_of,
};
use iosonar_trace::{Op, Outcome, Record, Request, Status};
use iosonar_units::{Nanos, Sector, Sectors};

/// The largest share of a chart's height that its legend may take.
const MOST_OF_LEGEND: f64 = 0.12;

/// Requests of an hour, reads and writes, some late, some held back, some that failed; each input is a little slower.
fn measured(number: u64, name: &str, options: &LookOptions) -> Measured {
    let mut look = Look::new(name, needs_of(CATALOGUE), options);
    for i in 0..900_u64 {
        let noise = (i * 7919 + number * 104_729) % 1009;
        let request = Request {
            start: Nanos::from_millis(i * 4000),
            sector: Sector::new(noise * 65_536),
            sectors: Sectors::new([8, 16, 64, 256][(noise % 4) as usize]),
            op: if i % 3 == 0 { Op::Write } else { Op::Read },
            ..Request::default()
        };
        let delay = Nanos::new(noise % 3 * 70_000);
        let latency = (200_000 + noise * noise * 200) * (number + 2) / 2;
        let mut outcome = Outcome::done(delay, Nanos::new(latency));
        outcome.pushed_back = i.is_multiple_of(50);
        if i % 77 == 8 {
            outcome = Outcome::untimed(Status::Dropped);
        }
        look.add(&Record { request, outcome });
    }
    let rows = (1..6_u32).map(|i| SelfCheckRow {
        end_s: f64::from(i) * 700.0,
        ahead: f64::from(i % 2 * 1_000_000),
        in_flight: f64::from(i),
        input_wait_s: 1e-6 * f64::from(i),
        answer_lag_s: 1e-3,
        answer_wait_s: 0.1,
    });
    look.self_check(rows.collect());
    look.finish()
}

fn options() -> LookOptions {
    let targets: iosonar_analysis::objective::Objectives =
        "p99 < 20ms, read latency p50 < 9ms, throughput > 3"
            .parse()
            .unwrap();
    LookOptions {
        bad_latency: Some(Nanos::from_millis(30)),
        bad_delay: Some(Nanos::from_micros(100)),
        targets: targets.0,
        group: Nanos::from_secs(600),
        ..LookOptions::default()
    }
}

fn long_name(i: u64) -> String {
    format!(
        "array number {i} of the long evaluation, with {} disks of 7200 rpm",
        4 + i
    )
}

fn inputs(n: u64) -> Vec<Measured> {
    let options = options();
    let one = |i| measured(i, &long_name(i), &options);
    (0..n).map(one).collect()
}

/// All pictures of these inputs, each with what it is and its size.
fn pictures(inputs: &[Measured]) -> Vec<(String, Vec<Chart>, Size)> {
    let mut pictures = Vec::new();
    for arrange in [Arrange::Panels, Arrange::Overlay] {
        for entry in CATALOGUE {
            let charts = entry.charts(inputs, arrange);
            let height = match charts.len() as u32 {
                0 => continue,
                1 => 720,
                n => 440 * n,
            };
            let what = format!("{} of {} inputs, {arrange:?}", entry.name, inputs.len());
            let size = Size {
                width: 1280,
                height,
            };
            pictures.push((what, charts, size));
        }
    }
    pictures
}

fn check_legend(layout: &Layout, what: &str) {
    let Layout { whole, legend, .. } = layout;
    let share = (legend.bottom - legend.top) / (whole.bottom - whole.top);
    assert!(
        share <= MOST_OF_LEGEND,
        "{what}: the legend takes {share:.3}"
    );
    for words in &layout.words {
        let is_of_legend = matches!(words.part, Part::Legend | Part::Verdict);
        assert!(
            !is_of_legend || legend.contains(&words.area),
            "{what}: {words:?}"
        );
    }
}

/// All words of a chart, with what they are, and the labels of ticks.
fn words_of(layout: &Layout) -> Vec<(String, Rectangle, bool)> {
    let words = layout.words.iter().map(|words| {
        let is_inside = words.part == Part::Callout;
        (
            format!("{:?} '{}'", words.part, words.text),
            words.area,
            is_inside,
        )
    });
    let ticks = layout.labels.iter();
    let ticks = ticks.map(|label| (format!("tick '{}'", label.text), label.area, false));
    words.chain(ticks).collect()
}

fn check_words(layout: &Layout, what: &str) {
    let all = words_of(layout);
    for (i, (a, area, is_inside)) in all.iter().enumerate() {
        assert!(
            layout.whole.contains(area),
            "{what}: {a} leaves the picture"
        );
        match is_inside {
            true => assert!(layout.plot.contains(area), "{what}: {a} leaves the plot"),
            false => assert!(!layout.plot.overlaps(area), "{what}: {a} is on the data"),
        }
        for (b, other, _) in &all[..i] {
            assert!(!area.overlaps(other), "{what}: {a} touches {b}");
        }
    }
    let has = |part: Part| layout.words.iter().any(|words| words.part == part);
    assert!(
        has(Part::Title) && has(Part::XName) && has(Part::YName),
        "{what}"
    );
    let high = (layout.plot.bottom - layout.plot.top) / (layout.whole.bottom - layout.whole.top);
    assert!(
        high >= 0.2,
        "{what}: only {high:.2} of the height are left for the data"
    );
}

#[test]
fn a_legend_takes_at_most_an_eighth_and_no_words_touch_on_any_chart() {
    let mut checked = 0;
    for n in [1, 2, 6, 12] {
        let inputs = inputs(n);
        for (what, charts, size) in pictures(&inputs) {
            let charts: Vec<&Chart> = charts.iter().collect();
            let layouts = layout(&charts, size).unwrap_or_else(|e| panic!("{what}: {e}"));
            for layout in &layouts {
                check_legend(layout, &what);
                check_words(layout, &what);
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn every_input_of_twelve_has_a_name_of_its_own_in_the_legend() {
    let inputs = inputs(12);
    let mut checked = 0;
    for (what, charts, size) in pictures(&inputs) {
        let [chart] = &charts[..] else { continue };
        for layout in layout(&[chart], size).unwrap() {
            let entries = layout
                .words
                .iter()
                .filter(|words| words.part == Part::Legend);
            let texts: Vec<&str> = entries.map(|words| words.text.as_str()).collect();
            for (i, text) in texts.iter().enumerate() {
                assert!(!texts[..i].contains(text), "{what}: {texts:?}");
                assert!(!text.starts_with("and "), "{what}: {texts:?}");
            }
            if chart.entries().len() >= 12 {
                assert!(texts.len() >= 11, "{what}: {texts:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn a_finer_bitmap_has_the_same_layout() {
    let scale = PixelScale::new(2).unwrap();
    let inputs = inputs(2);
    for (what, charts, size) in pictures(&inputs) {
        let charts: Vec<&Chart> = charts.iter().collect();
        let usual = layout(&charts, size).unwrap();
        let fine = layout(&charts, size.at(scale)).unwrap();
        for (a, b) in usual.iter().zip(&fine) {
            let (of_a, of_b) = (words_of(a), words_of(b));
            assert_eq!(of_a.len(), of_b.len(), "{what}");
            for ((said, usual, _), (finer, fine, _)) in of_a.iter().zip(&of_b) {
                assert_eq!(said, finer, "{what}");
                let apart = [
                    2.0 * usual.left - fine.left,
                    2.0 * usual.right - fine.right,
                    2.0 * usual.top - fine.top,
                    2.0 * usual.bottom - fine.bottom,
                ];
                // Edges are whole pixels, of which each of the two has its own.
                assert!(
                    apart.iter().all(|by| by.abs() <= 8.0),
                    "{what}: {said} {apart:?}"
                );
            }
        }
    }
}

#[test]
fn charts_over_time_have_the_same_axis_whatever_they_show() {
    let inputs = inputs(2);
    let said = |layout: &Layout| -> Vec<String> {
        let bottom = layout
            .labels
            .iter()
            .filter(|l| l.side == iosonar_plot::Side::Bottom);
        bottom.map(|label| label.text.clone()).collect()
    };
    let mut axes = Vec::new();
    for (what, charts, size) in pictures(&inputs) {
        let entry = find(&charts[0].name).unwrap();
        if charts[0].x.is_shared_time && entry.group != Group::SelfCheck {
            let charts: Vec<&Chart> = charts.iter().collect();
            let layouts = layout(&charts, size).unwrap();
            axes.extend(layouts.iter().map(|layout| (what.clone(), said(layout))));
        }
    }
    assert!(axes.len() > 40, "{}", axes.len());
    for (what, axis) in &axes {
        assert_eq!(axis, &axes[0].1, "{what}");
    }
    assert!(axes[0].1.contains(&"10 min".to_owned()), "{:?}", axes[0]);
}
