//! Every chart of the catalogue, drawn from data that are hard to draw: no data outside the plotting area, no
//! label that touches another or is clipped, in both formats.

use iosonar_plot::{
    Chart, Format, Layout, Rectangle, Side, Size, Theme, layout, render, render_frame,
};
use iosonar_report::{Arrange, CATALOGUE, Look, LookOptions, Measured, SelfCheckRow, needs_of};
use iosonar_trace::{Op, Outcome, Record, Request, Status};
use iosonar_units::{Nanos, Sector, Sectors};

/// Small, but lines are thicker than a pixel.
const SMALL: Size = Size {
    width: 960,
    height: 540,
};

/// A request, where, how long, when it was submitted and how long it took, in nanoseconds.
fn record(start: u64, sector: u64, sectors: u32, delay: u64, latency: u64) -> Record {
    let request = Request {
        start: Nanos::new(start),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op: if start.is_multiple_of(3) {
            Op::Write
        } else {
            Op::Read
        },
        ..Request::default()
    };
    let outcome = Outcome::done(Nanos::new(delay), Nanos::new(latency));
    Record { request, outcome }
}

const SECOND: u64 = 1_000_000_000;

/// Values that leap from one end of their range to the other, within columns of pixels and across them.
fn spikes() -> Vec<Record> {
    let record = |i: u64| {
        let is_high = (i * 7919).is_multiple_of(5);
        let (latency, delay) = if is_high {
            (600 * SECOND, 60 * SECOND)
        } else {
            (i % 7, i % 2)
        };
        let sector = if i.is_multiple_of(2) { 0 } else { 1 << 40 };
        let sectors = if is_high { 1 << 12 } else { 1 };
        record(
            i * i * 1_300_001 % (90 * SECOND),
            sector,
            sectors,
            delay,
            latency,
        )
    };
    let mut records: Vec<Record> = (0..1500).map(record).collect();
    records.sort_by_key(|r| r.request.start);
    records
}

/// Each quantity over its whole range, with failures and waiting in between.
fn huge() -> Vec<Record> {
    let of = |i: u64| {
        let power = |most: u64| 1_u64 << (i * 31 % most);
        let (sectors, delay, latency) = (power(12) as u32, power(38), power(40));
        let mut record = record(i * power(31), power(50), sectors, delay, latency);
        record.outcome.pushed_back = i.is_multiple_of(5);
        if i % 11 == 3 {
            record.outcome = Outcome::untimed(Status::Dropped);
        }
        record
    };
    let mut records: Vec<Record> = (0..300).map(of).collect();
    records.sort_by_key(|r| r.request.start);
    records
}

/// A load that leaps to and fro, as `linux-mysql` does: most seconds within a few sectors, some far apart.
fn to_and_fro() -> Vec<Record> {
    let of = |i: u64| {
        let far = if i.is_multiple_of(17) {
            i * 7919 % 63_000_000
        } else {
            i % 40 * 8
        };
        record(i * 40_000_000, far, 8, 0, 1_000_000)
    };
    (0..9000).map(of).collect()
}

fn inputs() -> Vec<(&'static str, Vec<Record>)> {
    let load = |records: Vec<Record>| -> Vec<Record> {
        let bare = |mut record: Record| {
            record.outcome = Outcome::default();
            record
        };
        records.into_iter().map(bare).collect()
    };
    vec![
        ("spikes", spikes()),
        ("huge", huge()),
        ("to and fro", to_and_fro()),
        ("a load", load(to_and_fro())),
        ("one", vec![record(0, 8, 8, 0, 51_000)]),
        ("one late", vec![record(77 * SECOND, 8, 8, 5, 0)]),
        (
            "zeros",
            (0..50).map(|i| record(i * SECOND, 8, 8, 0, 0)).collect(),
        ),
        (
            "an hour",
            (0..3601)
                .map(|i| record(i * SECOND, i * 8, 8, i % 2, 50_000 + i % 3 * 1000))
                .collect(),
        ),
        (
            "since 1970",
            (0..40)
                .map(|i| record(1_700_000_000 * SECOND + i * 1_000, i, 1, 1, 2 + i % 2))
                .collect(),
        ),
    ]
}

fn measured(name: &str, records: &[Record], options: &LookOptions) -> Measured {
    let mut look = Look::new(name, needs_of(CATALOGUE), options);
    records.iter().for_each(|record| look.add(record));
    let rows = (1..6_u32).map(|i| SelfCheckRow {
        end_s: f64::from(i),
        ahead: f64::from(i % 2 * 1_000_000),
        in_flight: f64::from(i),
        input_wait_s: 1e-9 * 10_f64.powi(2 * i as i32),
        answer_lag_s: f64::from(i % 2) * 1e-3,
        answer_wait_s: 0.1,
    });
    look.self_check(rows.collect());
    look.finish()
}

/// Every chart that there is of these inputs.
fn charts(inputs: &[Measured], arrange: Arrange) -> Vec<Vec<Chart>> {
    let of = CATALOGUE.iter().map(|entry| entry.charts(inputs, arrange));
    of.filter(|charts| !charts.is_empty()).collect()
}

/// All sets of charts that are drawn together, with what they are of.
fn pictures() -> Vec<(String, Vec<Chart>)> {
    let mut pictures = Vec::new();
    let with_limits = LookOptions {
        bad_latency: Some(Nanos::from_millis(1)),
        bad_delay: Some(Nanos::new(1)),
        ..LookOptions::default()
    };
    let inputs = inputs();
    for (i, (name, records)) in inputs.iter().enumerate() {
        let options = if i % 2 == 0 {
            &with_limits
        } else {
            &LookOptions::default()
        };
        let alone = [measured(name, records, options)];
        for charts in charts(&alone, Arrange::Panels) {
            pictures.push((format!("{name}: {}", charts[0].name), charts));
        }
    }
    let two = [0, 1].map(|i| measured(inputs[i].0, &inputs[i].1, &with_limits));
    for charts in charts(&two, Arrange::Overlay) {
        pictures.push((format!("two: {}", charts[0].name), charts));
    }
    pictures
}

#[test]
fn labels_have_room_on_every_chart() {
    for (what, charts) in pictures() {
        let charts: Vec<&Chart> = charts.iter().collect();
        for size in [
            SMALL,
            Size::default(),
            Size {
                width: 2560,
                height: 1440,
            },
        ] {
            let layouts = match layout(&charts, size) {
                Ok(layouts) => layouts,
                // Where tables and legends leave no room, it says so.
                Err(_) if size == SMALL => continue,
                Err(e) => panic!("{what}: {e}"),
            };
            for Layout {
                whole,
                labels,
                plot,
                ..
            } in layouts
            {
                assert!(whole.contains(&plot), "{what}");
                for (i, a) in labels.iter().enumerate() {
                    assert!(whole.contains(&a.area), "{what}: {a:?} leaves {whole:?}");
                    for b in labels[i + 1..].iter().filter(|b| b.side == a.side) {
                        assert!(!a.area.overlaps(&b.area), "{what}: {a:?} {b:?}");
                    }
                }
                for side in [Side::Bottom, Side::Left] {
                    let n = labels.iter().filter(|label| label.side == side).count();
                    assert!(n >= 2, "{what}: {labels:?}");
                }
            }
        }
    }
}

fn pixels(png: &[u8]) -> image::RgbImage {
    image::load_from_memory(png).unwrap().to_rgb8()
}

/// What differs between a picture and the same without its data are the data.
#[test]
fn no_pixel_of_the_data_lies_outside_the_plotting_area() {
    let mut drawn = 0;
    // Drawing takes time: a load has the same lines with outcomes.
    let is_drawn = |what: &str| {
        !["a load", "one late"]
            .iter()
            .any(|name| what.starts_with(name))
    };
    for (what, charts) in pictures().into_iter().filter(|p| is_drawn(&p.0)) {
        let charts: Vec<&Chart> = charts.iter().collect();
        let Ok(layouts) = layout(&charts, SMALL) else {
            continue;
        };
        let whole = render(&charts, Format::Png, SMALL, Theme::Light).unwrap();
        let frame = render_frame(&charts, Format::Png, SMALL, Theme::Light).unwrap();
        let (whole, frame) = (pixels(&whole), pixels(&frame));
        let mut inside = 0;
        for (x, y, pixel) in whole.enumerate_pixels() {
            if pixel == frame.get_pixel(x, y) {
                continue;
            }
            let (left, top) = (f64::from(x), f64::from(y));
            let at = Rectangle {
                left,
                top,
                right: left,
                bottom: top,
            };
            let is_inside = layouts.iter().any(|layout| layout.plot.contains(&at));
            assert!(
                is_inside,
                "{what}: a pixel of the data at {x}, {y}: {layouts:?}"
            );
            inside += 1;
        }
        assert!(inside > 1, "{what}: nothing was drawn");
        drawn += 1;
    }
    assert!(drawn > 200, "{drawn}");
}

/// The numbers of an attribute of an element.
fn numbers(element: &str, name: &str) -> Vec<f64> {
    let Some((_, rest)) = element.split_once(&format!(" {name}=\"")) else {
        return Vec::new();
    };
    let value = rest.split('"').next().unwrap();
    let parts = value.split([',', ' ']).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap()).collect()
}

#[test]
fn no_line_of_an_svg_lies_outside_the_plotting_area() {
    let (mut drawn, mut elements) = (0, 0);
    for (what, charts) in pictures() {
        let charts: Vec<&Chart> = charts.iter().collect();
        let Ok(layouts) = layout(&charts, SMALL) else {
            continue;
        };
        drawn += 1;
        let text = |svg: Vec<u8>| String::from_utf8(svg).unwrap();
        let whole = text(render(&charts, Format::Svg, SMALL, Theme::Light).unwrap());
        let frame = text(render_frame(&charts, Format::Svg, SMALL, Theme::Light).unwrap());
        assert!(
            whole.starts_with("<svg stroke-linejoin=\"bevel\""),
            "{what}"
        );
        let frame: std::collections::HashSet<&str> = frame.lines().collect();
        for element in whole.lines().filter(|line| !frame.contains(line)) {
            elements += 1;
            // Half the thickness of a line lies on each side of it.
            let half = numbers(element, "stroke-width")
                .first()
                .map_or(0.0, |w| w / 2.0);
            let half = if element.contains("fill=\"none\"") {
                half
            } else {
                0.0
            };
            let mut corners: Vec<(f64, f64)> = numbers(element, "points")
                .chunks(2)
                .flat_map(|p| [(p[0] - half, p[1] - half), (p[0] + half, p[1] + half)])
                .collect();
            if let ([x], [y]) = (&numbers(element, "x")[..], &numbers(element, "y")[..]) {
                corners.push((*x, *y));
                if let ([w], [h]) = (
                    &numbers(element, "width")[..],
                    &numbers(element, "height")[..],
                ) {
                    corners.push((x + w, y + h));
                }
            }
            for (x, y) in corners {
                let at = Rectangle {
                    left: x,
                    top: y,
                    right: x,
                    bottom: y,
                };
                let is_inside = layouts.iter().any(|layout| layout.plot.contains(&at));
                assert!(is_inside, "{what}: {x}, {y} in {element:.200}: {layouts:?}");
            }
        }
    }
    assert!(drawn > 200 && elements > 10 * drawn, "{drawn} {elements}");
}
