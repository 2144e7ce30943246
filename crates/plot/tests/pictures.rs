//! Pictures as they should look: each is compared, made small, with what it was when somebody looked at it.
//!
//! `IOSONAR_BLESS=1 cargo test -p iosonar-plot --test pictures` takes today's pictures for right; look at them
//! first (they are written to the folder that `IOSONAR_PICTURES` names, if it names one).

use std::path::Path;

use iosonar_plot::{
    Axis, Band, Bars, Chart, Cloud, Colour, Format, Heat, Kind, Limit, Line, Mark, PixelScale,
    Shape, Size, Table, Theme, Unit, render,
};

const SIZE: Size = Size {
    width: 960,
    height: 540,
};
/// Each of these is the mean of a block of pixels.
const COLUMNS: u32 = 32;
const ROWS: u32 = 18;

/// Numbers from 0 to 1 from a fixed recurrence.
fn noise() -> impl FnMut() -> f64 {
    let mut state = 12_345_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn sonar(n: u32) -> Chart {
    let (x, y) = (Axis::time("time"), Axis::log("latency", Unit::Seconds));
    let kind = |name: &str, colour| Kind {
        name: name.to_owned(),
        label: name.to_owned(),
        colour,
    };
    let kinds = vec![
        kind("reads", Colour::Read),
        kind("writes", Colour::Write),
        kind("failed", Colour::Failed),
    ];
    let mut cloud = Cloud::new(x.grid(), y.grid(), kinds);
    let mut next = noise();
    for i in 0..n {
        let at = 60.0 * f64::from(i) / f64::from(n);
        let write = next() < 0.3;
        let band = if write { 4e-3 } else { 2e-4 };
        let lash = if (20.0..26.0).contains(&at) {
            40.0 * (at - 20.0).min(26.0 - at)
        } else {
            1.0
        };
        cloud.push(u8::from(write), at, band * lash.max(1.0) * (0.5 + next()));
        if i % (n / 40) == 7 {
            cloud.push(2, at, f64::INFINITY);
        }
        if i % (n / 100) == 3 {
            cloud.push(0, at, 0.0);
        }
    }
    // The needle.
    cloud.push(0, 45.0, 8.0);
    cloud.settle();
    Chart {
        title: "Sonar diagram: a test, µ and ✓".to_owned(),
        subtitle: "below the title".to_owned(),
        warnings: vec!["FAKE: made up".to_owned()],
        footer: "at the bottom".to_owned(),
        x,
        y,
        marks: vec![Mark::Cloud(cloud)],
        limit: Some(Limit {
            at: 5.0,
            text: "failed: 1 beyond 5 s".to_owned(),
            is_kept: false,
        }),
        ..Chart::default()
    }
}

fn lines() -> Chart {
    let mut next = noise();
    let points: Vec<(f64, f64)> = (0..120)
        .map(|i| (f64::from(i) * 3.0, 100.0 * next()))
        .collect();
    let band = points.iter().map(|p| (p.0, p.1 * 0.8, p.1 * 1.2)).collect();
    let cell = |text: &str| text.to_owned();
    Chart {
        title: cell("Lines"),
        x: Axis::time("time"),
        y: Axis::from_zero("requests per second", Unit::Number),
        marks: vec![
            Mark::Band(Band {
                label: cell("band"),
                colour: Colour::Curve(0),
                points: band,
                shape: Shape::Steps,
            }),
            Mark::Line(Line::steps("steps", Colour::Actual, points.clone())),
            Mark::Line(Line::new("dashes", Colour::Demanded, points).dashed()),
        ],
        table: Some(Table {
            header: vec![cell(""), cell("p50"), cell("p99")],
            rows: vec![vec![cell("reads"), cell("1 ms"), cell("2 ms")]],
        }),
        ..Chart::default()
    }
}

fn histogram() -> Chart {
    let bins: Vec<_> = (0..30)
        .map(|i| {
            let edge = |i: i32| 1e-5 * 1.3_f64.powi(i);
            (
                edge(i),
                edge(i + 1),
                0.0,
                f64::from((i - 12) * (i - 12)).recip().min(1.0) * 900.0,
            )
        })
        .collect();
    let cells = sonar(30_000).clouds().next().unwrap().merged(40, 20);
    Chart {
        title: "Bars".to_owned(),
        x: Axis::log("latency", Unit::Seconds),
        y: Axis::from_zero("requests", Unit::Number),
        marks: vec![Mark::Bars(Bars {
            name: "reads".to_owned(),
            label: "reads".to_owned(),
            colour: Colour::Read,
            bins,
        })],
        notes: vec![format!("a remark; {} cells", cells.len())],
        ..Chart::default()
    }
}

fn heat() -> Chart {
    Chart {
        title: "Heat".to_owned(),
        x: Axis::time("time"),
        y: Axis::log("latency", Unit::Seconds),
        marks: vec![Mark::Heat(Heat {
            label: "requests in a cell".to_owned(),
            cells: sonar(30_000).clouds().next().unwrap().merged(80, 30),
        })],
        ..Chart::default()
    }
}

/// The means of blocks of pixels, as text: a row a line, six digits a block.
fn small(png: &[u8]) -> Vec<Vec<[u8; 3]>> {
    let picture = image::load_from_memory(png).unwrap().to_rgb8();
    let (wide, high) = (SIZE.width / COLUMNS, SIZE.height / ROWS);
    let mean = |column: u32, row: u32| {
        let mut sum = [0_u32; 3];
        for x in 0..wide {
            for y in 0..high {
                let pixel = picture.get_pixel(column * wide + x, row * high + y);
                (0..3).for_each(|i| sum[i] += u32::from(pixel.0[i]));
            }
        }
        sum.map(|s| (s / (wide * high)) as u8)
    };
    (0..ROWS)
        .map(|row| (0..COLUMNS).map(|column| mean(column, row)).collect())
        .collect()
}

fn text(blocks: &[Vec<[u8; 3]>]) -> String {
    let block = |b: &[u8; 3]| format!("{:02x}{:02x}{:02x}", b[0], b[1], b[2]);
    let row = |row: &Vec<[u8; 3]>| row.iter().map(block).collect::<Vec<_>>().join(" ") + "\n";
    blocks.iter().map(row).collect()
}

fn compare(name: &str, chart: &Chart, theme: Theme) {
    let png = render(&[chart], Format::Png, SIZE, theme).unwrap();
    if let Some(folder) = std::env::var_os("IOSONAR_PICTURES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), &png).unwrap();
    }
    let blocks = small(&png);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pictures/{name}.txt"));
    if std::env::var_os("IOSONAR_BLESS").is_some() {
        std::fs::write(&path, text(&blocks)).unwrap();
        return;
    }
    let right = std::fs::read_to_string(&path).unwrap();
    let mut difference = 0.0;
    for (row, line) in blocks.iter().zip(right.lines()) {
        for (block, words) in row.iter().zip(line.split(' ')) {
            for (i, value) in block.iter().enumerate() {
                let right = u8::from_str_radix(&words[2 * i..2 * i + 2], 16).unwrap();
                let apart = f64::from(value.abs_diff(right));
                // A block that differs by a fifth of the scale shows something else.
                assert!(apart < 50.0, "{name}: a block is {value}, was {right}");
                difference += apart;
            }
        }
    }
    let mean = difference / f64::from(3 * COLUMNS * ROWS);
    assert!(
        mean < 2.0,
        "{name}: the blocks differ by {mean} in the mean"
    );
}

#[test]
fn pictures_look_as_they_did() {
    compare("sonar-of-points", &sonar(9_000), Theme::Light);
    compare("sonar-of-density", &sonar(200_000), Theme::Light);
    compare("sonar-dark", &sonar(200_000), Theme::Dark);
    compare("lines", &lines(), Theme::Light);
    compare("histogram", &histogram(), Theme::Light);
    compare("heat", &heat(), Theme::Dark);
}

fn pixels(chart: &Chart) -> image::RgbImage {
    let png = render(&[chart], Format::Png, Size::default(), Theme::Light).unwrap();
    image::load_from_memory(&png).unwrap().to_rgb8()
}

/// A chart of many reads in a band, and then some.
fn crowd(n: u32, more: &[(u8, f64, f64)]) -> Chart {
    let (x, y) = (Axis::time("time"), Axis::log("latency", Unit::Seconds));
    let kind = |colour| Kind {
        name: String::new(),
        label: String::new(),
        colour,
    };
    let kinds = vec![kind(Colour::Read), kind(Colour::Write)];
    let mut cloud = Cloud::new(x.grid(), y.grid(), kinds);
    for i in 0..n {
        let latency = 1e-4 * (1.0 + f64::from(i % 97) / 97.0);
        cloud.push(0, f64::from(i) * 1e-4, latency);
    }
    more.iter().for_each(|&(kind, x, y)| cloud.push(kind, x, y));
    cloud.settle();
    let marks = vec![Mark::Cloud(cloud)];
    Chart {
        x,
        y,
        marks,
        ..Chart::default()
    }
}

#[test]
fn a_needle_stays_visible_over_a_million_reads() {
    let red = |p: &image::Rgb<u8>| p.0[0] > 150 && p.0[1] < 140 && p.0[2] < 130;
    assert!(!pixels(&crowd(1_000_000, &[])).pixels().any(red));
    let picture = pixels(&crowd(1_000_000, &[(1, 50.0, 1.5e-4), (1, 60.0, 2.0)]));
    let high = picture
        .enumerate_pixels()
        .filter(|(_, y, p)| red(p) && *y < 300);
    assert!(high.count() >= 4, "the slow one, high up");
}

#[test]
fn an_svg_does_not_grow_with_the_number_of_points() {
    let svg = render(
        &[&crowd(2_000_000, &[])],
        Format::Svg,
        Size::default(),
        Theme::Light,
    );
    let svg = svg.unwrap();
    assert!(svg.len() < 400_000, "{}", svg.len());
    assert!(svg.starts_with(b"<svg"));
}

#[test]
fn few_points_and_none_can_be_drawn_in_every_form() {
    for n in [0, 1, 2, 1000] {
        let chart = crowd(n, &[]);
        for format in [Format::Png, Format::Svg] {
            for charts in [&[&chart][..], &[&chart, &chart]] {
                let size = Size {
                    width: 640,
                    height: 900,
                };
                let picture = render(charts, format, size, Theme::Dark).unwrap();
                assert!(picture.len() > 1000);
            }
        }
    }
}

#[test]
fn a_picture_too_small_for_a_chart_is_refused() {
    let size = |width, height| Size { width, height };
    let mut wordy = sonar(1000);
    wordy.warnings = vec!["FAKE: made up".to_owned(); 9];
    for size in [size(10, 10), size(320, 240)] {
        let refused = render(&[&wordy], Format::Png, size, Theme::Light);
        assert!(refused.unwrap_err().to_string().contains("pixels"));
    }
}

#[test]
fn a_bitmap_has_at_most_200_million_pixels_and_an_svg_is_not_counted_in_them() {
    let chart = histogram();
    let draw = |size: Size, scale: u32, format: Format| {
        let scale = PixelScale::new(scale).unwrap();
        render(&[&chart], format, size.at(scale), Theme::Light).map_err(|error| error.to_string())
    };
    let large = Size {
        width: 8000,
        height: 8000,
    };
    let refused = draw(large, 2, Format::Png).unwrap_err();
    assert!(
        refused
            .contains("16000 x 16000 pixels are too many: a picture may have at most 200 million"),
        "{refused}"
    );
    assert!(draw(large, 2, Format::Svg).is_ok());
    let wide = Size {
        width: u32::MAX,
        height: 300,
    };
    assert!(draw(wide, 4, Format::Png).is_err());
    let usual = draw(Size::default(), 3, Format::Png).unwrap();
    let picture = image::load_from_memory(&usual).unwrap();
    assert_eq!((picture.width(), picture.height()), (3840, 2160));
    assert_eq!(PixelScale::new(0), None);
    assert_eq!(PixelScale::new(PixelScale::MOST + 1), None);
}

#[test]
fn an_svg_says_in_words_what_it_shows() {
    let draw = |charts: &[&Chart]| {
        let svg = render(charts, Format::Svg, Size::default(), Theme::Light).unwrap();
        String::from_utf8(svg).unwrap()
    };
    let chart = Chart {
        title: "a < b & \"c\"".to_owned(),
        conclusion: "It is fast.".to_owned(),
        about: "Left is good.".to_owned(),
        ..lines()
    };
    let svg = draw(&[&chart]);
    for words in [
        "role=\"img\" aria-label=\"a &lt; b &amp; &quot;c&quot;\"",
        "<title>a &lt; b &amp; &quot;c&quot;</title>",
        "<desc>It is fast. Left is good.</desc>",
    ] {
        assert_eq!(svg.matches(words).count(), 1, "{words}: {}", &svg[..600]);
    }
    let other = Chart {
        title: "d".to_owned(),
        about: "Up is bad.".to_owned(),
        ..lines()
    };
    let both = draw(&[&chart, &other]);
    assert!(
        both.contains("&quot;c&quot;. d</title>")
            && both.contains("<desc>It is fast. Left is good. Up is bad.</desc>"),
        "{}",
        &both[..600]
    );
    let bare = draw(&[&Chart {
        title: String::new(),
        conclusion: String::new(),
        about: String::new(),
        ..lines()
    }]);
    assert!(!bare.contains("<desc>") && !bare.contains("<title>"));
}

/// Windows of a day that are far apart, as wide as `width`: at each of these minutes, a value.
fn busy(minutes: &[u32], width: f64, value: f64) -> Vec<(f64, f64)> {
    let windows = minutes.iter().flat_map(|minute| {
        let from = f64::from(*minute) * 60.0;
        [(from, value), (from + width, f64::NAN)]
    });
    let day = (86_400.0, f64::NAN);
    windows.chain([day]).collect()
}

/// In how many places, apart from each other along the x axis, this colour is seen.
fn places(picture: &image::RgbImage, colour: [u8; 3]) -> usize {
    let is_in = |x: u32| (0..picture.height()).any(|y| picture.get_pixel(x, y).0 == colour);
    let columns: Vec<bool> = (0..picture.width()).map(is_in).collect();
    columns.windows(2).filter(|w| !w[0] && w[1]).count()
}

#[test]
fn lines_in_turn_are_all_seen_however_short_their_pieces_are() {
    let colours = [0, 1, 2].map(|turn| Theme::Light.rgb(Colour::Curve(turn)));
    let minutes: Vec<u32> = (0..14).map(|i| 20 + i * 100).collect();
    let apart = |turn: u32| -> Vec<u32> { minutes.iter().map(|m| m + 30 * turn).collect() };
    for of in 1..4_u32 {
        // From less than a pixel to a few dashes.
        for width in [1.0, 60.0, 300.0, 900.0, 1500.0, 4000.0] {
            for is_same in [true, false] {
                let line = |turn: u32| {
                    let at = if is_same {
                        minutes.clone()
                    } else {
                        apart(turn)
                    };
                    let colour = Colour::Curve(turn as usize);
                    let value = if is_same {
                        50.0
                    } else {
                        50.0 + 10.0 * f64::from(turn)
                    };
                    let line = Line::steps("", colour, busy(&at, width, value));
                    Mark::Line(line.in_turn(turn as usize, of as usize))
                };
                let mut chart = lines();
                chart.marks = (0..of).map(line).collect();
                let picture = pixels(&chart);
                for (turn, colour) in colours.iter().enumerate().take(of as usize) {
                    let seen = places(&picture, *colour);
                    // Wide pieces that coincide share their dashes.
                    let least = if is_same && width > 60.0 { 6 } else { 14 };
                    assert!(
                        seen >= least,
                        "line {turn} of {of}, {width} s, {is_same}: {seen}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_lies_on_the_border_is_seen() {
    let orange = |p: &image::Rgb<u8>| p.0[0] > 200 && p.0[2] < 60;
    let of = |points: &[(f64, f64)]| {
        let marks = vec![Mark::Line(Line::steps("", Colour::Actual, points.to_vec()))];
        let mut chart = lines();
        chart.marks = marks;
        pixels(&chart).pixels().filter(|p| orange(p)).count()
    };
    let nan = f64::NAN;
    // Nothing at all happened; a single window at the beginning; one at the end.
    let zeros = of(&[(0.0, 0.0), (1e3, 0.0)]);
    assert!(zeros > 1800, "{zeros}");
    let first = of(&[(0.0, 0.6), (1.0, nan), (80_000.0, nan)]);
    assert!(first > 3, "{first}");
    let last = of(&[(0.0, nan), (80_000.0, 0.6)]);
    assert!(last > 3, "{last}");
}
