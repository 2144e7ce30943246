//! Labels of axes: none touches another, none is clipped, and whole numbers are counted in whole numbers,
//! whatever the range.

use iosonar_plot::{
    Axis, Chart, Cloud, Colour, Kind, Layout, Line, Mark, Side, Size, Terminal, Theme, Unit, layout,
};

/// Numbers from 0 to 1 from a fixed recurrence.
fn noise() -> impl FnMut() -> f64 {
    let mut state = 2_463_534_242_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Every label stands apart from every other of its axis, and within the picture.
fn check(layouts: &[Layout], what: &str) {
    for Layout { whole, labels, .. } in layouts {
        for (i, a) in labels.iter().enumerate() {
            assert!(whole.contains(&a.area), "{what}: {a:?} in {whole:?}");
            for b in labels[i + 1..].iter().filter(|b| b.side == a.side) {
                assert!(!a.area.overlaps(&b.area), "{what}: {a:?} {b:?}");
            }
        }
        for side in [Side::Bottom, Side::Left] {
            let n = labels.iter().filter(|label| label.side == side).count();
            assert!(n >= 1, "{what}: an axis without a label");
        }
    }
}

const SIZES: [(u32, u32); 5] = [
    (640, 400),
    (700, 1000),
    (1280, 720),
    (1920, 500),
    (4000, 3000),
];

fn sizes() -> impl Iterator<Item = Size> {
    SIZES
        .into_iter()
        .map(|(width, height)| Size { width, height })
}

const UNITS: [Unit; 6] = [
    Unit::Number,
    Unit::Count,
    Unit::Seconds,
    Unit::Bytes,
    Unit::BytesPerSecond,
    Unit::Share,
];

#[test]
fn labels_have_room_on_axes_of_every_range_and_unit() {
    let mut next = noise();
    for i in 0..3000 {
        let (x_unit, y_unit) = (UNITS[i % 6], UNITS[i / 6 % 6]);
        let mut axis = |unit| {
            let mut range = || {
                let from = 10_f64.powf(next() * 24.0 - 9.0);
                // From a part in a billion to eighteen decades.
                let to = match (next() * 3.0) as u32 {
                    0 => from * (1.0 + 10_f64.powf(-9.0 * next())),
                    1 => from * 10_f64.powf(next() * 3.0),
                    _ => from * 10_f64.powf(next() * 18.0),
                };
                // There is less than one of nothing that is counted.
                if unit == Unit::Count {
                    (from.ceil(), to.ceil().max(from.ceil() + 1.0))
                } else {
                    (from, to)
                }
            };
            let (from, to) = range();
            let axis = if i % 2 == 0 {
                Axis::log("", unit)
            } else {
                Axis::linear("", unit)
            };
            (axis, from, to)
        };
        let ((x, x0, x1), (y, y0, y1)) = (axis(x_unit), axis(y_unit));
        let line = Line::new("", Colour::Actual, vec![(x0, y0), (x1, y1)]);
        let chart = Chart {
            x,
            y,
            marks: vec![Mark::Line(line)],
            ..Chart::default()
        };
        let size = sizes().nth(i % SIZES.len()).unwrap();
        let what = format!("{x_unit:?} {x0} to {x1}, {y_unit:?} {y0} to {y1}, {size:?}");
        check(&layout(&[&chart], size).unwrap(), &what);
    }
}

/// A cloud with a band at each side.
fn with_bands(points: &[(f64, f64)]) -> Chart {
    let (x, y) = (
        Axis::log("delay", Unit::Seconds),
        Axis::log("latency", Unit::Seconds),
    );
    let kind = Kind {
        name: String::new(),
        label: String::new(),
        colour: Colour::Read,
    };
    let mut cloud = Cloud::new(x.grid(), y.grid(), vec![kind]);
    for &(x, y) in points {
        cloud.push(0, x, y);
    }
    for (x, y) in [(0.0, 0.0), (1e-3, 0.0), (0.0, 1e-3), (1e-3, f64::INFINITY)] {
        cloud.push(0, x, y);
    }
    Chart {
        x,
        y,
        marks: vec![Mark::Cloud(cloud)],
        ..Chart::default()
    }
}

#[test]
fn the_zero_of_a_band_stands_apart_from_the_end_of_its_axis() {
    for points in [
        &[(51e-6, 52e-6)][..],
        &[(5e-5, 5e-5), (1.0, 10.0)],
        &[(1e-9, 1e-9), (1e5, 1e5)],
    ] {
        let chart = with_bands(points);
        for size in sizes() {
            for charts in [&[&chart][..], &[&chart, &chart]] {
                let layouts = match layout(charts, size) {
                    Ok(layouts) => layouts,
                    Err(_) if size.height == 400 => continue,
                    Err(e) => panic!("{e}"),
                };
                check(&layouts, &format!("{size:?}"));
                for Layout { labels, .. } in &layouts {
                    let said =
                        |side, text: &str| labels.iter().any(|l| l.side == side && l.text == text);
                    assert!(
                        said(Side::Left, "0") && said(Side::Left, "none"),
                        "{labels:?}"
                    );
                    assert!(said(Side::Bottom, "0"), "{labels:?}");
                    assert!(labels.len() >= 7, "{labels:?}");
                }
            }
        }
    }
}

#[test]
fn whole_numbers_have_whole_labels() {
    for most in [1.0, 2.0, 3.0, 7.0, 1_000.0] {
        for axis in [Axis::from_zero("", Unit::Count), Axis::log("", Unit::Count)] {
            let line = Line::new("", Colour::Actual, vec![(1.0, 1.0), (most, most)]);
            let chart = Chart {
                x: axis.clone(),
                y: axis,
                marks: vec![Mark::Line(line)],
                ..Chart::default()
            };
            for Layout { labels, .. } in layout(&[&chart], Size::default()).unwrap() {
                let whole = |text: &str| text.split(' ').next().unwrap().parse::<u64>().is_ok();
                assert!(labels.iter().all(|l| whole(&l.text)), "{labels:?}");
            }
        }
    }
}

#[test]
fn a_terminal_breaks_long_lines_of_the_legend_instead_of_cutting_them() {
    let label = "replayed on a device: 80 794 requests, median 3.2 ms, p99 55 ms, KS 0.123, demerit 1.2 ms to simulated";
    let line = Line::new(label, Colour::Curve(0), vec![(0.0, 1e-3), (1.0, 2.0)]);
    let chart = Chart {
        title: "A title that is longer than forty characters, as titles of several inputs are"
            .to_owned(),
        x: Axis::time("time"),
        y: Axis::log("latency", Unit::Seconds),
        marks: vec![Mark::Line(line)],
        ..Chart::default()
    };
    for columns in [40, 60, 80, 200] {
        for has_colour in [false, true] {
            let terminal = Terminal {
                columns,
                lines: 24,
                has_colour,
                theme: Theme::Dark,
            };
            let text = terminal.draw(&[&chart]);
            let plain: String = without_colours(&text);
            let words: Vec<&str> = plain.split_whitespace().collect();
            let said = words.join(" ");
            assert!(said.contains(label), "{plain}");
            assert!(said.contains(&chart.title), "{plain}");
            assert!(
                plain.lines().all(|l| l.chars().count() <= columns),
                "{plain}"
            );
            assert!(plain.lines().count() <= 24, "{plain}");
        }
    }
}

/// Without what sets colours.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
