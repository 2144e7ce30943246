//! Charts in a terminal: half blocks, each two pixels of their own colour; without colours, letters.

use std::fmt::Write;

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
    /// 1 000 x 500 characters, each is drawn for so many.
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
        let legend = chart.legend();
        let head = 1 + usize::from(!chart.subtitle.is_empty()) + chart.warnings.len();
        let below = 2 + legend.len() + usize::from(chart.limit.is_some());
        let height = lines.saturating_sub(head + below).max(5);
        let margin = 10;
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
        self.line(
            &mut text,
            &chart.title,
            columns,
            self.theme.palette().text,
            true,
        );
        if !chart.subtitle.is_empty() {
            self.line(
                &mut text,
                &chart.subtitle,
                columns,
                self.theme.palette().muted,
                false,
            );
        }
        for warning in &chart.warnings {
            self.line(
                &mut text,
                warning,
                columns,
                self.theme.palette().warning,
                true,
            );
        }
        let labels = row_labels(
            &y.ticks((height / 3).clamp(2, 10), chart.y.unit),
            &places,
            height,
        );
        for (row, label) in labels.iter().enumerate() {
            let _ = write!(text, "{label:>width$} ", width = margin - 2);
            text.push(if label.is_empty() { '│' } else { '┤' });
            self.row(&mut text, &canvas, row);
            text.push('\n');
        }
        let ticks = x.ticks(((columns - margin) / 14).clamp(2, 10), chart.x.unit);
        text += &foot(&ticks, &places, margin);
        self.line(
            &mut text,
            &format!("{:margin$}{}", "", chart.x.name),
            columns,
            self.theme.palette().muted,
            false,
        );
        for entry in &legend {
            let swatch = match entry.colour {
                Some(colour) if self.has_colour => {
                    format!("{}██\x1b[0m ", foreground(self.theme.rgb(colour)))
                }
                Some(colour) => format!("{}  ", letter(colour, 9.0)),
                None => String::new(),
            };
            text += &swatch;
            self.line(
                &mut text,
                &entry.text,
                columns.saturating_sub(3),
                self.theme.palette().text,
                false,
            );
        }
        if let Some(limit) = &chart.limit {
            let palette = self.theme.palette();
            let colour = if limit.is_kept {
                palette.good
            } else {
                palette.warning
            };
            self.line(&mut text, &limit.text, columns, colour, true);
        }
        text
    }

    fn line(&self, text: &mut String, words: &str, columns: usize, colour: Rgb, bold: bool) {
        let clean = words
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c });
        let words: String = clean.take(columns).collect();
        if self.has_colour {
            let weight = if bold { "\x1b[1m" } else { "" };
            let _ = writeln!(text, "{weight}{}{words}\x1b[0m", foreground(colour));
        } else {
            let _ = writeln!(text, "{words}");
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

fn foreground([r, g, b]: Rgb) -> String {
    format!("\x1b[38;2;{r};{g};{b}m")
}

fn behind([r, g, b]: Rgb) -> String {
    format!("\x1b[48;2;{r};{g};{b}m")
}

/// What stands for a colour where there is none: small for few, large for many.
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
