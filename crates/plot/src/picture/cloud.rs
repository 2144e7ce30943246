//! Points, and the density of too many of them.
//!
//! A single slow request ("needle") must not drown beside millions of others: the slowest of each few
//! columns of pixels are drawn as dots over the density, and so is whatever lies alone.

use super::frame::Frame;
use super::raster::Raster;
use crate::cloud::{Cell, Cloud};
use crate::theme::{Palette, blend};

/// The side of a cell of the density picture in pixels, at the usual size.
const CELL: f64 = 2.0;
/// The number of pixel columns of which the slowest point is drawn as a dot.
const NEEDLE_COLUMN: f64 = 4.0;
/// The largest number of points in a cell and its neighbours for which they count as isolated.
const LONELY: f32 = 2.5;

/// Where a value stands on the raster; what has none stands in a band.
struct Places<'a> {
    frame: &'a Frame<'a>,
}

impl Places<'_> {
    fn x(&self, value: f64) -> f64 {
        let plot = &self.frame.plot;
        if value <= 0.0 && self.frame.chart.x.is_log {
            return f64::from(plot.band_left) / 2.0;
        }
        plot.x(self.frame.x.scale.share(value)) - f64::from(plot.left)
    }

    fn y(&self, value: f64) -> f64 {
        let plot = &self.frame.plot;
        if value == f64::INFINITY {
            return f64::from(plot.band_top) / 2.0;
        }
        if value <= 0.0 && self.frame.chart.y.is_log {
            return f64::from(plot.height()) - f64::from(plot.band_bottom) / 2.0;
        }
        plot.y(self.frame.y.scale.share(value)) - f64::from(plot.top)
    }
}

pub(super) fn draw(cloud: &Cloud, raster: &mut Raster, frame: &Frame<'_>) {
    if cloud.points().is_some() {
        draw_points(cloud, raster, frame);
    } else {
        draw_density(cloud, raster, frame);
    }
}

fn draw_points(cloud: &Cloud, raster: &mut Raster, frame: &Frame<'_>) {
    let points = cloud.points().unwrap_or_default();
    let (radius, opacity) = match points.len() {
        0..200 => (3.5, 0.85),
        200..3_000 => (2.2, 0.75),
        3_000..12_000 => (1.6, 0.55),
        _ => (1.25, 0.5),
    };
    let places = Places { frame };
    let colours = cloud
        .kinds()
        .iter()
        .map(|kind| frame.palette().rgb(kind.colour));
    let colours: Vec<_> = colours.collect();
    for layer in layers(cloud) {
        for point in points.iter().filter(|p| layer.contains(&p.kind)) {
            let (x, y) = (places.x(point.x), places.y(point.y));
            let colour = colours[usize::from(point.kind)];
            raster.disc(x, y, radius * frame.zoom, colour, opacity);
        }
    }
}

/// Whatever comes later lies on top: much rarer kinds come last, so that they stay visible; kinds that are
/// about as frequent are drawn as they come, so that neither hides the other.
fn layers(cloud: &Cloud) -> Vec<Vec<u8>> {
    let mut layers: Vec<Vec<u8>> = Vec::new();
    let mut before = 0;
    for kind in rarest_last(cloud) {
        let count = cloud.counts()[usize::from(kind)];
        match layers.last_mut() {
            Some(layer) if before < 4 * count => layer.push(kind),
            _ => layers.push(vec![kind]),
        }
        before = count;
    }
    layers
}

fn rarest_last(cloud: &Cloud) -> Vec<u8> {
    let mut order: Vec<u8> = (0..cloud.kinds().len() as u8).collect();
    order.sort_by_key(|kind| std::cmp::Reverse(cloud.counts()[usize::from(*kind)]));
    order
}

/// Counts by cell of the picture and kind; a cell of the cloud that lies in several is shared out, so that
/// its grid makes no pattern with the picture's.
struct Counts {
    columns: usize,
    rows: usize,
    kinds: usize,
    side: f64,
    of: Vec<f32>,
}

impl Counts {
    fn new(raster: &Raster, kinds: usize, side: f64) -> Self {
        let cells = |pixels: usize| (pixels as f64 / side).ceil() as usize + 1;
        let (columns, rows) = (cells(raster.width()), cells(raster.height()));
        Self {
            columns,
            rows,
            kinds,
            side,
            of: vec![0.0; columns * rows * kinds],
        }
    }

    fn add(&mut self, x: (f64, f64), y: (f64, f64), kind: u8, count: u32) {
        let pieces = |(from, to): (f64, f64), most: usize| {
            let (from, to) = (from / self.side, to / self.side);
            let first = from.floor().clamp(0.0, most as f64 - 1.0) as usize;
            let last = (to.ceil() - 1.0).clamp(first as f64, most as f64 - 1.0) as usize;
            let width = (to - from).max(1e-12);
            (first..=last).map(move |i| {
                let part = (to.min(i as f64 + 1.0) - from.max(i as f64)) / width;
                (
                    i,
                    if first == last {
                        1.0
                    } else {
                        part.clamp(0.0, 1.0)
                    },
                )
            })
        };
        let (kinds, rows) = (self.kinds, self.rows);
        for (column, across) in pieces(x, self.columns) {
            for (row, up) in pieces(y, rows) {
                let at = (column * rows + row) * kinds + usize::from(kind);
                self.of[at] += count as f32 * (across * up) as f32;
            }
        }
    }

    fn at(&self, column: usize, row: usize) -> &[f32] {
        let at = (column * self.rows + row) * self.kinds;
        &self.of[at..at + self.kinds]
    }

    fn total(&self, column: usize, row: usize) -> f32 {
        self.at(column, row).iter().sum()
    }

    /// Of a cell and its eight neighbours.
    fn around(&self, column: usize, row: usize) -> f32 {
        let near = |at: usize, most: usize| at.saturating_sub(1)..(at + 2).min(most);
        let mut sum = 0.0;
        for column in near(column, self.columns) {
            for row in near(row, self.rows) {
                sum += self.total(column, row);
            }
        }
        sum
    }
}

fn draw_density(cloud: &Cloud, raster: &mut Raster, frame: &Frame<'_>) {
    let places = Places { frame };
    let (kinds, palette) = (cloud.kinds().len(), frame.palette());
    let mut counts = Counts::new(raster, kinds, CELL * frame.zoom);
    let mut slowest = Slowest::new(raster, kinds, NEEDLE_COLUMN * frame.zoom);
    for cell in cloud.cells() {
        let Cell { x, y, kind, count } = cell;
        let (left, right) = (places.x(x.0), places.x(x.1));
        let (bottom, top) = (places.y(y.0), places.y(y.1));
        let outside = right < 0.0
            || left > raster.width() as f64
            || bottom < 0.0
            || top > raster.height() as f64;
        if outside {
            continue;
        }
        counts.add((left, right), (top, bottom), kind, count);
        let centre = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        if y.0.is_finite() && frame.chart.y.is_log {
            slowest.add(kind, centre);
        }
    }
    let ramps = cloud.ramps(palette);
    let most = (0..counts.columns * counts.rows)
        .map(|i| counts.of[i * kinds..(i + 1) * kinds].iter().sum::<f32>())
        .fold(1.0_f32, f32::max);
    let scale = 1.0 / f64::from(1.0 + most).ln();
    let mut lonely = Vec::new();
    for column in 0..counts.columns {
        for row in 0..counts.rows {
            let here = counts.at(column, row);
            let total: f32 = here.iter().sum();
            if total <= 0.0 {
                continue;
            }
            if total < LONELY && counts.around(column, row) < LONELY {
                lonely.push((column, row));
            }
            let colour = blend(here, &ramps, scale);
            let edge = |i: usize| (i as f64 * counts.side).round() as i64;
            raster.fill(
                (edge(column), edge(column + 1)),
                (edge(row), edge(row + 1)),
                colour,
            );
        }
    }
    for (column, row) in lonely {
        let here = counts.at(column, row);
        let strongest = (0..kinds)
            .max_by(|&a, &b| here[a].total_cmp(&here[b]))
            .unwrap_or(0);
        let colour = palette.rgb(cloud.kinds()[strongest].colour);
        let middle = |i: usize| (i as f64 + 0.5) * counts.side;
        raster.disc(middle(column), middle(row), 1.4 * frame.zoom, colour, 0.8);
    }
    slowest.draw(cloud, palette, raster, 1.8 * frame.zoom);
}

/// The highest of each kind in each few columns of pixels.
struct Slowest {
    width: f64,
    columns: usize,
    highest: Vec<Option<(f64, f64)>>,
}

impl Slowest {
    fn new(raster: &Raster, kinds: usize, width: f64) -> Self {
        let columns = (raster.width() as f64 / width).ceil() as usize + 1;
        Self {
            width,
            columns,
            highest: vec![None; columns * kinds],
        }
    }

    fn add(&mut self, kind: u8, (x, y): (f64, f64)) {
        let column = ((x / self.width).max(0.0) as usize).min(self.columns - 1);
        let highest = &mut self.highest[usize::from(kind) * self.columns + column];
        if highest.is_none_or(|(_, before)| y < before) {
            *highest = Some((x, y));
        }
    }

    fn draw(&self, cloud: &Cloud, palette: &Palette, raster: &mut Raster, radius: f64) {
        for kind in rarest_last(cloud) {
            let colour = palette.rgb(cloud.kinds()[usize::from(kind)].colour);
            let from = usize::from(kind) * self.columns;
            for (x, y) in self.highest[from..from + self.columns].iter().flatten() {
                raster.disc(*x, *y, radius, colour, 0.95);
            }
        }
    }
}
