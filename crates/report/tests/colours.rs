//! Whether colours can be told apart by everybody, those included who lack one kind of cones.

mod vision;

use std::fmt::Debug;

use iosonar_plot::{Chart, Colour, Line, Mark, Rgb, Theme};
use iosonar_report::curves::{Series, Spot, Style, marks_of};
use iosonar_report::{Arrange, CATALOGUE, Look, LookOptions, Measured, needs_of};
use iosonar_trace::{Op, Outcome, Record, Request};
use iosonar_units::{Nanos, Sector, Sectors};
use vision::Vision;

const THEMES: [Theme; 2] = [Theme::Light, Theme::Dark];

/// The difference of colours that all viewers notice, as [`Vision::difference`] derives it.
const NOTICED: f64 = 1.0;

/// The colours of curves that differ in nothing but colour.
fn curves() -> Vec<Colour> {
    let is_curve = |n: &usize| Colour::of_curves(*n).all(|of| matches!(of, Colour::Curve(_)));
    let most = (1..100).take_while(is_curve).last().unwrap();
    assert!(most >= 6, "{most}");
    Colour::of_curves(most).collect()
}

fn pairs<T: Copy>(of: &[T]) -> Vec<(T, T)> {
    let after = |i: usize| of[i + 1..].iter().map(move |b| (of[i], *b));
    (0..of.len()).flat_map(after).collect()
}

/// The pairs of colours that are less than this different for some kind of vision.
fn too_alike<T: Copy + Debug>(
    pairs: &[(T, T)],
    least: f64,
    rgb: impl Fn(T) -> Rgb,
) -> Vec<(Vision, String)> {
    let mut found = Vec::new();
    for vision in Vision::ALL {
        for &(a, b) in pairs {
            let difference = vision.difference(rgb(a), rgb(b));
            if difference < least {
                found.push((vision, format!("{a:?}, {b:?}: {difference:.2}")));
            }
        }
    }
    found
}

#[test]
fn the_simulation_of_vision_is_that_of_the_papers() {
    // Known values of CIELAB.
    for (colour, known) in [
        ([255, 255, 255], [100.0, 0.0, 0.0]),
        ([255, 0, 0], [53.24, 80.09, 67.20]),
        ([0, 0, 255], [32.30, 79.19, -107.86]),
    ] {
        let lab = Vision::Normal.lab(colour);
        let near = lab.iter().zip(known).all(|(a, b)| (a - b).abs() < 0.05);
        assert!(near, "{colour:?}: {lab:?}");
    }
    // Greys are grey for everybody.
    for vision in Vision::ALL {
        for row in vision.matrix() {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{vision:?}");
        }
    }
    // A third of a degree: half of the viewers notice 7.3 of lightness, 10.0 from green to red, 14.0 from blue to yellow.
    let (black, grey) = ([0, 0, 0], [119, 119, 119]);
    let lightness = Vision::Normal.lab(grey)[0];
    let difference = Vision::Normal.difference(black, grey);
    assert!(
        (difference - lightness / 14.66).abs() < 0.01,
        "{difference}"
    );
}

#[test]
fn a_red_and_green_palette_is_found_out() {
    // Red and green of equal lightness, and the first colours of a palette that is widely used.
    let (red, green): (Rgb, Rgb) = ([220, 40, 40], [60, 140, 40]);
    let found = too_alike(&[(red, green)], NOTICED, |of| of);
    let visions: Vec<Vision> = found.iter().map(|(vision, _)| *vision).collect();
    assert_eq!(visions, [Vision::Deuteranopia], "{found:?}");
    let usual: [Rgb; 6] = [
        [228, 26, 28],
        [55, 126, 184],
        [77, 175, 74],
        [152, 78, 163],
        [255, 127, 0],
        [166, 86, 40],
    ];
    let found = too_alike(&pairs(&usual), NOTICED, |of| of);
    for vision in [Vision::Protanopia, Vision::Deuteranopia] {
        assert!(found.iter().any(|of| of.0 == vision), "{found:?}");
    }
    assert!(found.iter().all(|of| of.0 != Vision::Normal), "{found:?}");
}

#[test]
fn all_viewers_can_distinguish_the_colours_of_curves() {
    for theme in THEMES {
        let found = too_alike(&pairs(&curves()), NOTICED, |of| theme.rgb(of));
        assert!(found.is_empty(), "{theme:?}: {found:#?}");
    }
}

#[test]
fn all_viewers_can_distinguish_colours_with_a_meaning_that_charts_use_together() {
    let mut used = pairs(&[Colour::Read, Colour::Write, Colour::Sum]);
    let kinds = [
        Colour::Read,
        Colour::Write,
        Colour::HeldRead,
        Colour::HeldWrite,
        Colour::Failed,
    ];
    used.extend(pairs(&kinds));
    used.extend(pairs(&[Colour::Met, Colour::Missed, Colour::Muted]));
    used.push((Colour::Demanded, Colour::Actual));
    for theme in THEMES {
        let found = too_alike(&used, NOTICED, |of| theme.rgb(of));
        assert!(found.is_empty(), "{theme:?}: {found:#?}");
    }
}

#[test]
fn every_colour_stands_out_from_the_background() {
    for theme in THEMES {
        let (_, background) = theme.surfaces()[0];
        assert_eq!(theme.surfaces()[0].0, "background");
        let ordered = Colour::of_curves(20);
        for colour in Colour::NAMED.into_iter().chain(curves()).chain(ordered) {
            let of = [(theme.rgb(colour), background)];
            // Thin lines need more than markers do.
            let found = too_alike(&of, 1.5 * NOTICED, |of| of);
            assert!(found.is_empty(), "{theme:?} {colour:?}: {found:?}");
        }
    }
}

#[test]
fn scales_from_few_to_many_go_one_way_in_lightness() {
    for theme in THEMES {
        let ordered: Vec<Rgb> = Colour::of_curves(20).map(|of| theme.rgb(of)).collect();
        let ramps = [Colour::Read, Colour::Write].map(|of| theme.ramp(of).to_vec());
        let scales = ramps.into_iter().chain([theme.heat().to_vec(), ordered]);
        for (scale, vision) in scales.flat_map(|scale| Vision::ALL.map(|of| (scale.clone(), of))) {
            let steps: Vec<f64> = scale
                .windows(2)
                .map(|ends| vision.lab(ends[1])[0] - vision.lab(ends[0])[0])
                .collect();
            let rises = steps.iter().all(|step| *step > 0.0);
            let falls = steps.iter().all(|step| *step < 0.0);
            assert!(rises || falls, "{theme:?} {vision:?} {scale:?}: {steps:?}");
        }
    }
}

fn measured(number: u64) -> Measured {
    let name = format!("input {number}");
    let mut look = Look::new(&name, needs_of(CATALOGUE), &LookOptions::default());
    for i in 0..600_u64 {
        let noise = (i * 7919 + number * 104_729) % 1009;
        let request = Request {
            start: Nanos::from_millis(i * 20),
            sector: Sector::new(noise * 65_536),
            sectors: Sectors::new(8 << (noise % 4)),
            op: if i % 3 == 0 { Op::Write } else { Op::Read },
            ..Request::default()
        };
        let latency = (200_000 + noise * noise * 200) * (number + 2) / 2;
        let outcome = Outcome::done(Nanos::new(noise % 3 * 70_000), Nanos::new(latency));
        look.add(&Record { request, outcome });
    }
    look.finish()
}

/// The curves in a chart's legend that differ neither noticeably in colour nor in dash nor in marker.
fn confused(chart: &Chart) -> Vec<String> {
    let lines: Vec<&Line> = chart
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Line(line) if !line.label.is_empty() => Some(line),
            _ => None,
        })
        .collect();
    // Lines of one colour with one label each stand for the same.
    let alike = pairs(&lines)
        .into_iter()
        .filter(|(a, b)| a.dash.is_some() == b.dash.is_some() && a.marker == b.marker);
    let mut found = Vec::new();
    for (a, b) in alike {
        for theme in THEMES {
            let colours = [(a.colour(), b.colour())];
            for (vision, _) in too_alike(&colours, NOTICED, |of| theme.rgb(of)) {
                found.push(format!(
                    "{theme:?}, {vision:?}: {} and {}",
                    a.label, b.label
                ));
            }
        }
    }
    found
}

fn without_shapes(mut chart: Chart) -> Chart {
    for mark in &mut chart.marks {
        if let Mark::Line(line) = mark {
            (line.dash, line.marker) = (None, None);
        }
    }
    chart
}

#[test]
fn where_colours_repeat_charts_have_dashes_or_markers() {
    let all: Vec<Measured> = (0..16).map(measured).collect();
    let mut needed = 0;
    for inputs in [1, 2, 3, 8, 16] {
        for arrange in [Arrange::Panels, Arrange::Overlay] {
            for entry in CATALOGUE {
                for chart in entry.charts(&all[..inputs], arrange) {
                    let found = confused(&chart);
                    let what = format!("{} of {inputs}, {arrange:?}", entry.name);
                    assert!(found.is_empty(), "{what}: {found:#?}");
                    needed += usize::from(!confused(&without_shapes(chart)).is_empty());
                }
            }
        }
    }
    // By colour alone some of them would be confused.
    assert!(needed > 10, "{needed}");
}

#[test]
fn curves_of_studies_have_markers_where_there_are_several() {
    let series = |turn: usize, style| Series {
        label: format!("curve {turn}"),
        turn,
        style,
        points: vec![Spot::of_mean(1.0, 2.0, 0.1), Spot::of_mean(2.0, 3.0, 0.1)],
    };
    for style in [Style::Estimates, Style::Distribution] {
        // A page of a study draws at most 12.
        for of in [1, 3, 12, 16] {
            let all: Vec<Series> = (0..of).map(|turn| series(turn, style)).collect();
            let chart = Chart {
                marks: marks_of(&all, of),
                ..Chart::default()
            };
            assert_eq!(confused(&chart), [""; 0], "{style:?} {of}");
            let is_confused = !confused(&without_shapes(chart)).is_empty();
            assert_eq!(is_confused, of >= 12, "{style:?} {of}");
        }
    }
}
