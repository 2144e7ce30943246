//! The sonar diagram: every request's latency over time, on a logarithmic axis.
//!
//! Up to 30 000 requests are drawn as points. Beyond that they are counted on a grid and drawn as
//! density: the more, the darker. So that a single slow request ("needle") does not drown beside
//! millions of others, the slowest of each column of the picture are drawn as points in any case.

use std::collections::BTreeMap;

use plotters::element::BitMapElement;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

use crate::canvas::{Area, Chart, PlotError};
use crate::density::Density;
use crate::frame::{Axis, Frame, Heading, LegendEntry, PlotArea};
use crate::raster::{Raster, on_ramp};
use crate::scale::Scale;
use crate::theme;

const MOST_POINTS: usize = 30_000;
/// The least side of a cell of the density picture in pixels.
const CELL: f64 = 2.0;
/// The slowest request of so many columns of pixels is drawn as a point.
const NEEDLE_COLUMN: i64 = 4;
/// Where zeros, which have no logarithm, are drawn: at the lower edge.
const ZERO_BAND: i64 = 6;

/// A kind of request, with its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Blue.
    Read,
    /// Red.
    Write,
}

impl Series {
    const ALL: [Self; 2] = [Self::Read, Self::Write];

    fn colour(self) -> RGBColor {
        match self {
            Self::Read => theme::READ,
            Self::Write => theme::WRITE,
        }
    }

    fn ramp(self) -> &'static theme::Ramp {
        match self {
            Self::Read => &theme::READ_RAMP,
            Self::Write => &theme::WRITE_RAMP,
        }
    }
}

/// The points of one kind of request.
#[derive(Clone, Debug, Default)]
struct Cloud {
    points: Vec<(f64, f64)>,
    density: Option<Density>,
    zeros: u64,
    legend: String,
}

/// A sonar diagram that takes any number of points.
#[derive(Clone, Debug)]
pub struct Sonar {
    heading: Heading,
    x_name: String,
    y_name: String,
    clouds: [Cloud; 2],
    time: (f64, f64),
    value: (f64, f64),
}

impl Sonar {
    /// An empty diagram. `x_name` is the name of the time axis with its unit, `y_name` that of the
    /// vertical one, whose ticks show units themselves.
    pub fn new(title: &str, x_name: &str, y_name: &str) -> Self {
        Self {
            heading: Heading {
                title: title.to_owned(),
                ..Heading::default()
            },
            x_name: x_name.to_owned(),
            y_name: y_name.to_owned(),
            clouds: Default::default(),
            time: (f64::INFINITY, f64::NEG_INFINITY),
            value: (f64::INFINITY, f64::NEG_INFINITY),
        }
    }

    /// A line below the title.
    #[must_use]
    pub fn subtitle(mut self, text: &str) -> Self {
        text.clone_into(&mut self.heading.subtitle);
        self
    }

    /// A line at the bottom: what was measured, with what.
    #[must_use]
    pub fn footer(mut self, text: &str) -> Self {
        text.clone_into(&mut self.heading.footer);
        self
    }

    /// What the legend says of a kind of request. Without text it does not appear.
    pub fn set_legend(&mut self, series: Series, text: &str) {
        text.clone_into(&mut self.clouds[series as usize].legend);
    }

    /// Adds a request: when, in seconds, and how long it took, in seconds. What is not finite or
    /// negative is ignored.
    pub fn push(&mut self, series: Series, time: f64, value: f64) {
        if !time.is_finite() || !value.is_finite() || value < 0.0 {
            return;
        }
        self.time = (self.time.0.min(time), self.time.1.max(time));
        let cloud = &mut self.clouds[series as usize];
        if value == 0.0 {
            cloud.zeros += 1;
        } else {
            self.value = (self.value.0.min(value), self.value.1.max(value));
        }
        match &mut cloud.density {
            Some(density) if value > 0.0 => density.push(time, value),
            Some(_) => {}
            None => {
                cloud.points.push((time, value));
                if self.count() > MOST_POINTS {
                    self.become_dense();
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.clouds.iter().map(|cloud| cloud.points.len()).sum()
    }

    fn become_dense(&mut self) {
        for cloud in &mut self.clouds {
            let density = cloud
                .density
                .get_or_insert_with(|| Density::new(self.time.0, self.time.1));
            for (time, value) in std::mem::take(&mut cloud.points) {
                if value > 0.0 {
                    density.push(time, value);
                }
            }
        }
    }

    /// Whether the picture shows density instead of points.
    fn is_dense(&self) -> bool {
        self.clouds.iter().any(|cloud| cloud.density.is_some())
    }

    fn frame(&self) -> Frame<'_> {
        let (from, to) = if self.time.0.is_finite() {
            self.time
        } else {
            (0.0, 1.0)
        };
        let (least, most) = if self.value.0.is_finite() {
            self.value
        } else {
            (1e-4, 1e-1)
        };
        // A little room, so that no point is cut off at the border.
        let room = 0.004 * (to - from);
        let x = Scale::linear(from - room, to + room);
        let y = Scale::log(least * 0.97, most * 1.03);
        let zeros: u64 = self.clouds.iter().map(|cloud| cloud.zeros).sum();
        let mut legend: Vec<_> = Series::ALL
            .into_iter()
            .map(|series| (series, &self.clouds[series as usize].legend))
            .filter(|(_, text)| !text.is_empty())
            .map(|(series, text)| LegendEntry {
                colour: series.colour(),
                text: text.clone(),
            })
            .collect();
        if self.is_dense() {
            legend.push(LegendEntry {
                colour: theme::MUTED,
                text: "density: the darker the more; dots are the slowest around".to_owned(),
            });
        }
        if zeros > 0 {
            legend.push(LegendEntry {
                colour: theme::MUTED,
                text: format!("{zeros} took no time at all (at the lower edge)"),
            });
        }
        Frame {
            heading: &self.heading,
            x: Axis {
                ticks: x.ticks(10),
                scale: x,
                name: self.x_name.clone(),
            },
            y: Axis {
                ticks: y.time_ticks(8),
                scale: y,
                name: self.y_name.clone(),
            },
            legend,
        }
    }

    fn draw_points(&self, raster: &mut Raster, frame: &Frame<'_>) {
        let (radius, opacity) = match self.count() {
            0..3_000 => (2.2, 0.75),
            3_000..12_000 => (1.6, 0.55),
            _ => (1.25, 0.5),
        };
        // Whatever comes later lies on top: take the rarer kind last, so that it stays visible.
        let mut order = Series::ALL;
        order.sort_by_key(|&s| std::cmp::Reverse(self.clouds[s as usize].points.len()));
        let (width, height) = (raster.width() as f64, raster.height() as f64);
        for series in order {
            for &(time, value) in &self.clouds[series as usize].points {
                let x = frame.x.scale.share(time) * width;
                let y = if value > 0.0 {
                    (1.0 - frame.y.scale.share(value)) * height
                } else {
                    height - ZERO_BAND as f64 / 2.0
                };
                raster.disc(x, y, radius, series.colour(), opacity);
            }
        }
    }

    fn draw_density(&self, raster: &mut Raster, frame: &Frame<'_>) {
        let (width, height) = (raster.width() as f64, raster.height() as f64);
        let x = |time: f64| frame.x.scale.share(time) * width;
        let y = |value: f64| (1.0 - frame.y.scale.share(value)) * height;
        // Counts by rectangle of pixels (left, right, top, bottom), reads and writes.
        let mut rectangles: BTreeMap<[i64; 4], [u32; 2]> = BTreeMap::new();
        let mut slowest: [BTreeMap<i64, (f64, f64)>; 2] = Default::default();
        for series in Series::ALL {
            let Some(density) = &self.clouds[series as usize].density else {
                continue;
            };
            let (bin, factor) = density.resolution();
            let pixels = (x(self.time.0 + bin) - x(self.time.0), y(1.0) - y(factor));
            let merge = (bins_per_cell(pixels.0), bins_per_cell(pixels.1));
            for cell in density.cells(merge) {
                let edges = [
                    x(cell.time.0),
                    x(cell.time.1),
                    y(cell.value.1),
                    y(cell.value.0),
                ];
                let rectangle = edges.map(|edge| edge.round() as i64);
                let count = &mut rectangles.entry(rectangle).or_default()[series as usize];
                *count = count.saturating_add(cell.count);
                let centre = (
                    f64::midpoint(edges[0], edges[1]),
                    f64::midpoint(edges[2], edges[3]),
                );
                let highest = slowest[series as usize]
                    .entry(centre.0 as i64 / NEEDLE_COLUMN)
                    .or_insert(centre);
                if centre.1 < highest.1 {
                    *highest = centre;
                }
            }
        }
        let most = rectangles.values().flatten().copied().max().unwrap_or(1);
        for (&[left, right, top, bottom], &counts) in &rectangles {
            let colour = cell_colour(counts, most);
            for row in top..bottom.max(top + 1) {
                for column in left..right.max(left + 1) {
                    raster.mix(column, row, colour, 1.0);
                }
            }
        }
        for series in Series::ALL {
            for &(x, y) in slowest[series as usize].values() {
                raster.disc(x, y, 1.8, series.colour(), 0.95);
            }
        }
    }
}

/// How many bins of this size in pixels make a cell.
fn bins_per_cell(pixels: f64) -> usize {
    (CELL / pixels).ceil().clamp(1.0, 64.0) as usize
}

/// The colour of a cell with these counts by series: each series' own ramp, mixed where both are.
/// Logarithmic in the count, as the eye is.
fn cell_colour(counts: [u32; 2], most: u32) -> [u8; 3] {
    let counts = counts.map(f64::from);
    let colours = Series::ALL.map(|series| {
        let share = (1.0 + counts[series as usize]).ln() / (1.0 + f64::from(most)).ln();
        on_ramp(series.ramp(), share)
    });
    let weights = counts.map(f64::ln_1p);
    let total = weights[0] + weights[1];
    std::array::from_fn(|i| {
        let mixed = f64::from(colours[0][i]) * weights[0] + f64::from(colours[1][i]) * weights[1];
        (mixed / total).round() as u8
    })
}

impl Chart for Sonar {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let frame = self.frame();
        let plot: PlotArea = frame.plot_area(area.dim_in_pixel())?;
        let mut raster = frame.raster(&plot);
        if self.is_dense() {
            self.draw_density(&mut raster, &frame);
        } else {
            self.draw_points(&mut raster, &frame);
        }
        let size = (plot.width() as u32, plot.height() as u32);
        let bitmap: BitMapElement<'_, _> =
            BitMapElement::with_ref((plot.left, plot.top), size, raster.bytes())
                .ok_or_else(|| PlotError("the raster has not the size of the plot".to_owned()))?;
        area.draw(&bitmap).map_err(PlotError::new)?;
        frame.draw(area, &plot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Size, render};

    fn pixels(sonar: &Sonar) -> image::RgbImage {
        let png = render(sonar, Kind::Png, Size::default()).unwrap();
        image::load_from_memory(&png).unwrap().to_rgb8()
    }

    fn is_red(p: image::Rgb<u8>) -> bool {
        p.0[0] > 150 && p.0[1] < 140 && p.0[2] < 130
    }

    fn is_blue(p: image::Rgb<u8>) -> bool {
        p.0[2] > 110 && p.0[0] < 130
    }

    #[test]
    fn a_needle_stays_visible_over_a_million_reads() {
        let mut sonar = Sonar::new("needle", "time [s]", "latency");
        for i in 0..1_000_000 {
            sonar.push(
                Series::Read,
                f64::from(i) * 1e-4,
                1e-4 * (1.0 + f64::from(i % 97) / 97.0),
            );
        }
        assert!(!pixels(&sonar).pixels().any(|p| is_red(*p)));
        sonar.push(Series::Write, 50.0, 1.5e-4);
        sonar.push(Series::Write, 60.0, 2.0);
        let picture = pixels(&sonar);
        let red = picture.enumerate_pixels().filter(|(_, _, p)| is_red(**p));
        assert!(
            red.filter(|(_, y, _)| *y < 300).count() >= 4,
            "the slow one, high up"
        );
        assert!(picture.pixels().filter(|p| is_blue(**p)).count() > 1000);
    }

    #[test]
    fn few_points_many_points_and_no_points_can_be_drawn_as_png_and_svg() {
        for n in [0, 1, 1000, 40_000] {
            let mut sonar = Sonar::new("any", "time [s]", "latency");
            for i in 0..n {
                sonar.push(Series::Read, f64::from(i), f64::from(i % 10) * 1e-3);
            }
            for kind in [Kind::Png, Kind::Svg] {
                let picture = render(&sonar, kind, Size::default()).unwrap();
                assert!(picture.len() > 1000);
            }
        }
    }

    #[test]
    fn what_has_no_place_is_ignored() {
        let mut sonar = Sonar::new("odd", "time [s]", "latency");
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            sonar.push(Series::Read, 0.0, value);
        }
        assert_eq!(sonar.count(), 0);
    }

    #[test]
    fn an_svg_does_not_grow_with_the_number_of_points() {
        let size = |n| {
            let mut sonar = Sonar::new("size", "time [s]", "latency");
            for i in 0..n {
                sonar.push(
                    Series::Write,
                    f64::from(i),
                    1e-3 + f64::from(i % 1000) * 1e-5,
                );
            }
            render(&sonar, Kind::Svg, Size::default()).unwrap().len()
        };
        assert!(size(2_000_000) < 400_000);
    }
}
