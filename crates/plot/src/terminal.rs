//! Charts in a terminal: half blocks, each two pixels of their own colour; without colours, letters.

use std::fmt::Write;

use iosonar_units::one_line;

use crate::chart::{Chart, Line, Mark, Shape};
use crate::cloud::Cloud;
use crate::extent::{Bands, Extent, scale};
use crate::scale::{Scale, Tick};
use crate::theme::{Rgb, Theme, blend, mixed, on_ramp};

/// How a terminal is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub lines: usize,
    /// Whether it shows colours (of 24 bits).
    pub has_colour: bool,
    /// On dark or on light.
    pub theme: Theme,
}

/// What stands in a pixel: its colour, and a letter where there are no colours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pixel {
    colour: Rgb,
    letter: char,
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Option<Pixel>>,
}

impl Canvas {
    fn put(&mut self, x: usize, y: usize, pixel: Pixel) {
        if x < self.width && y < self.height {
            self.pixels[y * self.width + x] = Some(pixel);
        }
    }
}

/// Values to pixels, with a row or column of its own for what is not on an axis.
struct Places {
    x: Scale,
    y: Scale,
    bands: Bands,
    is_log: [bool; 2],
    width: usize,
    height: usize,
}

impl Places {
    fn x(&self, value: f64) -> Option<usize> {
        let left = usize::from(self.bands.left);
        if self.is_log[0] && value <= 0.0 {
            return Some(0);
        }
        let share = self.x.share(value);
        let room = (self.width - left) as f64;
        (0.0..=1.0)
            .contains(&share)
            .then(|| left + ((share * room) as usize).min(self.width - left - 1))
    }

    /// Two pixels, a line, for each band, so that it is a line of its own.
    fn y(&self, value: f64) -> Option<usize> {
        let (top, bottom) = (
            2 * usize::from(self.bands.top),
            2 * usize::from(self.bands.bottom),
        );
        if value == f64::INFINITY {
            return Some(0);
        }
        if self.is_log[1] && value <= 0.0 {
            return Some(self.height - 1);
        }
        let share = self.y.share(value);
        let room = self.height - top - bottom;
        (0.0..=1.0)
            .contains(&share)
            .then(|| top + (((1.0 - share) * room as f64) as usize).min(room - 1))
    }
}

impl Terminal {
    /// Draws charts as lines of text, one below the other on the same axes. With fewer than 40 x 10 or more than
    /// 1 000 x 500 characters, each is drawn for that size.
    pub fn draw(&self, charts: &[&Chart]) -> String {
        let extents = charts.iter().map(|chart| Extent::of(chart));
        let Some(extent) = extents.reduce(Extent::union) else {
            return String::new();
        };
        let each = |chart: &&Chart| self.draw_one(chart, &extent, self.lines / charts.len());
        charts.iter().map(each).collect()
    }

    fn draw_one(&self, chart: &Chart, extent: &Extent, lines: usize) -> String {
        let (columns, lines) = (self.columns.clamp(40, 1000), lines.clamp(10, 500));
        let (x, y) = (
            scale(&chart.x, extent.x(), 1.0),
            scale(&chart.y, extent.y(), 1.0),
        );
        let palette = self.theme.palette();
        let head = std::iter::once((&chart.title, palette.text, true))
            .chain([(&chart.subtitle, palette.muted, false)])
            .chain(chart.warnings.iter().map(|w| (w, palette.warning, true)))
            .filter(|(words, ..)| !words.is_empty());
        let head: Vec<Row> = head
            .flat_map(|(words, colour, is_bold)| wrapped(words, columns, colour, is_bold))
            .collect();
        let below = self.legend(chart, columns);
        let height = lines.saturating_sub(head.len() + 3 + below.len()).max(5);
        let y_ticks = y.ticks((height / 3).clamp(2, 10), chart.y.unit);
        let widest = y_ticks.iter().filter_map(|tick| tick.label.as_ref());
        let widest = widest.map(|label| label.chars().count()).max();
        let margin = (widest.unwrap_or(0) + 2).max(10);
        let mut canvas = Canvas {
            width: columns - margin,
            height: 2 * height,
            pixels: vec![None; (columns - margin) * 2 * height],
        };
        let places = Places {
            x,
            y,
            bands: extent.bands,
            is_log: [chart.x.is_log, chart.y.is_log],
            width: canvas.width,
            height: canvas.height,
        };
        for mark in &chart.marks {
            self.mark(mark, &places, &mut canvas);
        }
        let mut text = String::new();
        head.iter().for_each(|row| self.line(&mut text, row));
        let labels = row_labels(&y_ticks, &places, height);
        for (row, label) in labels.iter().enumerate() {
            let _ = write!(text, "{label:>width$} ", width = margin - 2);
            text.push(if label.is_empty() { '│' } else { '┤' });
            self.row(&mut text, &canvas, row);
            text.push('\n');
        }
        let ticks = x.ticks(((columns - margin) / 14).clamp(2, 10), chart.x.unit);
        text += &foot(&ticks, &places, margin);
        let name: String = chart.x.name.chars().take(columns - margin).collect();
        self.line(
            &mut text,
            &Row {
                words: format!("{:margin$}{name}", ""),
                ..Row::plain(palette.muted)
            },
        );
        below.iter().for_each(|row| self.line(&mut text, row));
        text
    }

    /// The lines below the axes: what the colours mean, and what came of the limit.
    fn legend(&self, chart: &Chart, columns: usize) -> Vec<Row> {
        const SWATCH: usize = 3;
        let palette = self.theme.palette();
        let mut rows = Vec::new();
        for entry in chart.legend() {
            let Some(colour) = entry.colour else {
                rows.extend(wrapped(&entry.text, columns, palette.text, false));
                continue;
            };
            let mut first = true;
            for row in wrapped(&entry.text, columns - SWATCH, palette.text, false) {
                let swatch = match (std::mem::take(&mut first), self.has_colour) {
                    (true, true) => format!("{}██\x1b[0m ", foreground(self.theme.rgb(colour))),
                    (true, false) => format!("{}  ", letter(colour, 9.0)),
                    (false, _) => " ".repeat(SWATCH),
                };
                rows.push(Row { swatch, ..row });
            }
        }
        if let Some(limit) = &chart.limit {
            let colour = if limit.is_kept {
                palette.good
            } else {
                palette.warning
            };
            rows.extend(wrapped(&limit.text, columns, colour, true));
        }
        rows
    }

    fn line(&self, text: &mut String, row: &Row) {
        *text += &row.swatch;
        if self.has_colour {
            let weight = if row.is_bold { "\x1b[1m" } else { "" };
            let _ = writeln!(
                text,
                "{weight}{}{}\x1b[0m",
                foreground(row.colour),
                row.words
            );
        } else {
            let _ = writeln!(text, "{}", row.words);
        }
    }

    fn mark(&self, mark: &Mark, places: &Places, canvas: &mut Canvas) {
        match mark {
            Mark::Cloud(cloud) => self.cloud(cloud, places, canvas),
            Mark::Line(line) => self.curve(line, places, canvas),
            Mark::Band(band) => {
                let colour = self.theme.rgb(band.colour);
                let pixel = Pixel {
                    colour: mixed(colour, self.theme.palette().background, 0.7),
                    letter: '.',
                };
                for &(x, low, high) in &band.points {
                    let (Some(x), Some(low), Some(high)) =
                        (places.x(x), places.y(low), places.y(high))
                    else {
                        continue;
                    };
                    (high..=low).for_each(|y| canvas.put(x, y, pixel));
                }
            }
            Mark::Bars(bars) => {
                let pixel = Pixel {
                    colour: self.theme.rgb(bars.colour),
                    letter: letter(bars.colour, 9.0),
                };
                let base = places.height - 1;
                for &(from, to, low, high) in bars.bins.iter().filter(|bin| bin.3 > bin.2) {
                    let (Some(from), Some(to)) = (places.x(from), places.x(to)) else {
                        continue;
                    };
                    let (top, bottom) =
                        (places.y(high).unwrap_or(0), places.y(low).unwrap_or(base));
                    for x in from..to.max(from + 1) {
                        (top..=bottom).for_each(|y| canvas.put(x, y, pixel));
                    }
                }
            }
            Mark::Estimates(of) => {
                let pixel = Pixel {
                    colour: self.theme.rgb(of.colour),
                    letter: letter(of.colour, 9.0),
                };
                for &(x, value, low, high) in &of.points {
                    let (Some(x), Some(at)) = (places.x(x), places.y(value)) else {
                        continue;
                    };
                    let (low, high) = (places.y(low), places.y(high));
                    let bar = high.unwrap_or(at).min(at)..=low.unwrap_or(at).max(at);
                    bar.for_each(|y| canvas.put(x, y, pixel));
                }
            }
            Mark::Heat(heat) => {
                let most = heat.cells.iter().map(|c| c.count).max().unwrap_or(1);
                for cell in &heat.cells {
                    let middle = |(a, b): (f64, f64)| f64::midpoint(a, b);
                    let share = f64::from(cell.count).ln_1p() / f64::from(most).ln_1p();
                    if let (Some(x), Some(y)) = (places.x(middle(cell.x)), places.y(middle(cell.y)))
                    {
                        let pixel = Pixel {
                            colour: on_ramp(&self.theme.palette().heat, share),
                            letter: [' ', '.', ':', '+', '#'][(share * 4.0).round() as usize],
                        };
                        canvas.put(x, y, pixel);
                    }
                }
            }
        }
    }

    fn cloud(&self, cloud: &Cloud, places: &Places, canvas: &mut Canvas) {
        let kinds = cloud.kinds().len();
        let mut counts = vec![0.0_f32; canvas.width * canvas.height * kinds];
        let mut add = |x: f64, y: f64, kind: u8, count: u32| {
            if let (Some(x), Some(y)) = (places.x(x), places.y(y)) {
                counts[(y * canvas.width + x) * kinds + usize::from(kind)] += count as f32;
            }
        };
        for p in cloud.points().unwrap_or_default() {
            add(p.x, p.y, p.kind, 1);
        }
        for cell in cloud.cells() {
            add(
                f64::midpoint(cell.x.0, cell.x.1),
                f64::midpoint(cell.y.0, cell.y.1),
                cell.kind,
                cell.count,
            );
        }
        let total = |of: &[f32]| of.iter().sum::<f32>();
        let most = counts.chunks(kinds).map(total).fold(1.0_f32, f32::max);
        let scale = 1.0 / f64::from(1.0 + most).ln();
        let ramps = cloud.ramps(self.theme.palette());
        for (i, here) in counts
            .chunks(kinds)
            .enumerate()
            .filter(|(_, c)| total(c) > 0.0)
        {
            let strongest = (0..kinds).max_by(|&a, &b| here[a].total_cmp(&here[b]));
            let kind = &cloud.kinds()[strongest.unwrap_or(0)];
            let pixel = Pixel {
                colour: blend(here, &ramps, scale),
                letter: letter(kind.colour, total(here)),
            };
            canvas.pixels[i] = Some(pixel);
        }
    }

    fn curve(&self, line: &Line, places: &Places, canvas: &mut Canvas) {
        let pixel = Pixel {
            colour: self.theme.rgb(line.colour()),
            letter: letter(line.colour(), 1.0),
        };
        let mut before: Option<(usize, usize)> = None;
        for &(x, y) in &line.points {
            let (Some(x), Some(y)) = (places.x(x), places.y(y)) else {
                before = None;
                continue;
            };
            let (from, level) = before.unwrap_or((x, y));
            let wide = (x.max(from) - from).max(1);
            for column in from..=x {
                let at = |column: usize| match line.shape {
                    Shape::Steps if column < x => level,
                    Shape::Steps => y,
                    Shape::Straight => {
                        let way = (column - from) as f64 / wide as f64;
                        (level as f64 + (y as f64 - level as f64) * way).round() as usize
                    }
                };
                let here = at(column);
                let last = if column == from {
                    level
                } else {
                    at(column - 1)
                };
                (here.min(last)..=here.max(last)).for_each(|row| canvas.put(column, row, pixel));
            }
            before = Some((x, y));
        }
    }

    fn row(&self, text: &mut String, canvas: &Canvas, row: usize) {
        let mut last: Option<(Option<Rgb>, Option<Rgb>)> = None;
        for x in 0..canvas.width {
            let upper = canvas.pixels[2 * row * canvas.width + x];
            let lower = canvas.pixels[(2 * row + 1) * canvas.width + x];
            if !self.has_colour {
                text.push(upper.or(lower).map_or(' ', |p| p.letter));
                continue;
            }
            let colours = (upper.map(|p| p.colour), lower.map(|p| p.colour));
            if last != Some(colours) {
                text.push_str("\x1b[0m");
                match colours {
                    (Some(up), Some(down)) => *text += &(foreground(up) + &behind(down)),
                    (Some(one), None) | (None, Some(one)) => *text += &foreground(one),
                    (None, None) => {}
                }
                last = Some(colours);
            }
            text.push(match colours {
                (Some(_), _) => '▀',
                (None, Some(_)) => '▄',
                (None, None) => ' ',
            });
        }
        if self.has_colour {
            text.push_str("\x1b[0m");
        }
    }
}

/// A line of words.
struct Row {
    /// What stands before them, with its own colour.
    swatch: String,
    words: String,
    colour: Rgb,
    is_bold: bool,
}

impl Row {
    fn plain(colour: Rgb) -> Self {
        Self {
            swatch: String::new(),
            words: String::new(),
            colour,
            is_bold: false,
        }
    }
}

/// A text in lines of at most `columns` columns, broken between words where that is possible.
fn wrapped(text: &str, columns: usize, colour: Rgb, is_bold: bool) -> Vec<Row> {
    let mut lines = vec![Vec::new()];
    for word in one_line(text).split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let line = lines.last().map_or(0, Vec::len);
        if line > 0 && line + 1 + word.len() > columns {
            lines.push(Vec::new());
        } else if line > 0 {
            word.insert(0, ' ');
        }
        for c in word {
            if lines.last().is_none_or(|line| line.len() >= columns) {
                lines.push(Vec::new());
            }
            lines.last_mut().expect("a line was begun").push(c);
        }
    }
    let row = |line: Vec<char>| Row {
        words: line.into_iter().collect(),
        is_bold,
        ..Row::plain(colour)
    };
    lines.into_iter().map(row).collect()
}

fn foreground([r, g, b]: Rgb) -> String {
    format!("\x1b[38;2;{r};{g};{b}m")
}

fn behind([r, g, b]: Rgb) -> String {
    format!("\x1b[48;2;{r};{g};{b}m")
}

/// The letters that replace colours: small for few, large for many.
fn letter(colour: crate::Colour, count: f32) -> char {
    use crate::Colour::{Curve, Failed, HeldRead, HeldWrite, Read, Write};
    let letter = match colour {
        Read | HeldRead => 'r',
        Write | HeldWrite => 'w',
        Failed => 'x',
        Curve(n) => char::from(b'a' + (n % 7) as u8),
        _ => 'o',
    };
    if count > 3.0 {
        letter.to_ascii_uppercase()
    } else {
        letter
    }
}

/// The label of each line.
fn row_labels(ticks: &[Tick], places: &Places, height: usize) -> Vec<String> {
    let mut labels = vec![String::new(); height];
    for tick in ticks {
        if let (Some(y), Some(label)) = (places.y(tick.value), &tick.label) {
            labels[y / 2].clone_from(label);
        }
    }
    if places.bands.bottom {
        "0".clone_into(&mut labels[height - 1]);
    }
    if places.bands.top {
        "none".clone_into(&mut labels[0]);
    }
    labels
}

/// The horizontal axis with its labels.
fn foot(ticks: &[Tick], places: &Places, margin: usize) -> String {
    let mut line = vec!['─'; places.width];
    let mut words: Vec<char> = vec![' '; margin + places.width];
    let mut end = 0;
    for tick in ticks {
        let (Some(x), Some(label)) = (places.x(tick.value), &tick.label) else {
            continue;
        };
        line[x] = '┬';
        let from = (margin + x).saturating_sub(label.chars().count() / 2);
        if from >= end && from + label.chars().count() <= words.len() {
            for (i, c) in label.chars().enumerate() {
                words[from + i] = c;
            }
            end = from + label.chars().count() + 1;
        }
    }
    let line: String = line.into_iter().collect();
    let words: String = words.into_iter().collect();
    format!("{}└{line}\n{}\n", " ".repeat(margin - 1), words.trim_end())
}
