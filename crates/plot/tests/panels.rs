//! Small multiples: side by side, on the same axes, with one legend.

use iosonar_plot::{
    Axis, Chart, Colour, Format, Line, Mark, Panels, Part, Rectangle, Side, Theme, Unit,
};

/// A number of panels, each with two curves; those of the last go ten times as high.
fn panels(n: usize) -> Panels {
    let chart = |i: usize| {
        let top = if i + 1 == n { 100.0 } else { 10.0 };
        let curve = |label: &str, turn, share: f64| {
            let points = vec![(0.0, 0.0), (4.0, top * share)];
            Mark::Line(Line::new(label, Colour::Curve(turn), points))
        };
        Chart {
            title: format!("disks = {i}"),
            x: Axis::linear("load", Unit::Number),
            y: Axis::from_zero("mean", Unit::Seconds),
            marks: vec![curve("slow", 0, 1.0), curve("fast", 1, 0.5)],
            ..Chart::default()
        }
    };
    Panels {
        head: Chart {
            title: "Means".to_owned(),
            notes: vec!["all of them".to_owned()],
            ..Chart::default()
        },
        charts: (0..n).map(chart).collect(),
    }
}

#[test]
fn panels_stand_apart_and_no_label_touches_another() {
    for n in 1..=12 {
        let panels = panels(n);
        let layout = panels.layout(panels.size()).unwrap();
        assert_eq!(layout.len(), n);
        let labels: Vec<(usize, &Rectangle)> = layout
            .iter()
            .enumerate()
            .flat_map(|(i, part)| part.labels.iter().map(move |label| (i, &label.area)))
            .collect();
        for (i, part) in layout.iter().enumerate() {
            for other in &layout[..i] {
                assert!(!part.whole.overlaps(&other.whole), "{n}: {i}");
            }
            assert!(part.whole.contains(&part.plot), "{n}: {i}");
            let width = part.plot.right - part.plot.left;
            assert!(width > 250.0 && part.plot.bottom - part.plot.top > 200.0);
        }
        for (i, (panel, label)) in labels.iter().enumerate() {
            assert!(layout[*panel].whole.contains(label), "{n}: {label:?}");
            let mut others = labels[..i].iter();
            assert!(
                !others.any(|(_, other)| label.overlaps(other)),
                "{n}: {label:?}"
            );
        }
    }
}

#[test]
fn panels_have_the_same_axes() {
    let panels = panels(5);
    let layout = panels.layout(panels.size()).unwrap();
    let said = |i: usize, side| -> Vec<&str> {
        let labels = layout[i].labels.iter().filter(|label| label.side == side);
        labels.map(|label| label.text.as_str()).collect()
    };
    for side in [Side::Left, Side::Bottom] {
        assert!(said(0, side).len() > 2, "{:?}", said(0, side));
        for i in 1..5 {
            assert_eq!(said(0, side), said(i, side), "{i}");
        }
    }
    assert!(
        said(0, Side::Left).contains(&"100 s"),
        "{:?}",
        said(0, Side::Left)
    );
}

#[test]
fn the_legend_is_written_once_and_axes_are_named_at_the_edges() {
    let panels = panels(5);
    let svg = panels
        .render(Format::Svg, panels.size(), Theme::Light)
        .unwrap();
    let svg = String::from_utf8(svg).unwrap();
    let count = |text: &str| svg.matches(text).count();
    for once in ["slow", "fast", "all of them", "disks = 3"] {
        assert_eq!(count(once), 1, "{once}");
    }
    // The description has the title, too.
    assert_eq!(count("Means"), 3);
    // Three columns, the last with one panel above an empty place; two rows.
    assert_eq!((count("load\n"), count("mean\n")), (3, 2));
}

/// The entries of a legend share lines, so that the data keep most of the picture.
#[test]
fn a_long_legend_shares_lines_and_takes_at_most_an_eighth_of_the_height() {
    let chart = |n: usize| Chart {
        marks: (0..n)
            .map(|i| {
                let points = vec![(0.0, 0.0), (1.0, i as f64)];
                let name = format!("level = raid10, disks = {i}, scheduler = nearest first");
                Mark::Line(Line::new(&name, Colour::Curve(i), points))
            })
            .collect(),
        ..Chart::default()
    };
    for n in [1, 2, 6, 12, 24] {
        let chart = chart(n);
        let size = iosonar_plot::Size::default();
        let layout = &iosonar_plot::layout(&[&chart], size).unwrap()[0];
        let high = layout.legend.bottom - layout.legend.top;
        assert!(high <= 0.12 * 720.0, "{n}: {high}");
        let shown = layout
            .words
            .iter()
            .filter(|words| words.part == Part::Legend);
        assert_eq!(shown.count(), n);
    }
    for n in [1, 4, 12] {
        let panels = Panels {
            charts: vec![chart(n); 4],
            ..panels(4)
        };
        let size = panels.size();
        let (words, legend) = panels.shared_words(size).unwrap();
        assert!(
            legend.bottom - legend.top <= 0.12 * f64::from(size.height),
            "{n}: {legend:?}"
        );
        let parts = panels.layout(size).unwrap();
        for (i, one) in words.iter().enumerate() {
            assert!(
                words[..i]
                    .iter()
                    .all(|other| !one.area.overlaps(&other.area)),
                "{one:?}"
            );
            assert!(
                parts.iter().all(|part| !part.plot.overlaps(&one.area)),
                "{one:?}"
            );
        }
    }
}

#[test]
fn ordered_curves_differ_from_each_other() {
    for theme in [Theme::Light, Theme::Dark] {
        for of in 2..=12 {
            let colours: Vec<_> = Colour::of_curves(of)
                .map(|colour| theme.rgb(colour))
                .collect();
            for (i, a) in colours.iter().enumerate() {
                for b in &colours[..i] {
                    let distance: i32 = (0..3)
                        .map(|k| (i32::from(a[k]) - i32::from(b[k])).abs())
                        .sum();
                    assert!(distance >= 30, "{theme:?} {of}: {a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn a_picture_has_no_character_that_xml_lacks() {
    let hostile = "a\u{1b}[2J\u{0}b\u{7}\u{9b}c\u{fffe}d\u{ffff}<&e";
    let mut panels = panels(2);
    panels.head.title = hostile.to_owned();
    for chart in &mut panels.charts {
        chart.title = hostile.to_owned();
        chart.x = Axis::linear(hostile, Unit::Number);
        chart.y = Axis::linear(hostile, Unit::Number);
        chart.notes = vec![hostile.to_owned()];
        let points = vec![(0.0, 0.0), (4.0, 2.0)];
        let curve = Line::new(hostile, Colour::Curve(0), points);
        chart.marks.push(Mark::Line(curve));
    }
    let svg = panels
        .render(Format::Svg, panels.size(), Theme::Light)
        .unwrap();
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.matches("\u{fffd}[2J\u{fffd}b").count() > 4, "{svg}");
    // XML 1.0, production 2.
    let is_xml = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    let others: Vec<char> = svg.chars().filter(|c| !is_xml(*c)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(!svg.contains("<&e"), "{svg}");
}
