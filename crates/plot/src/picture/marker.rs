//! Markers on curves: readers who cannot distinguish colours can distinguish shapes.

use plotters::prelude::{Circle, DrawingBackend, Polygon};
use plotters::style::Color;

use super::clip::Pixel;
use super::frame::Frame;
use super::{Area, PlotError, rgb};
use crate::chart::Marker;
use crate::theme::Rgb;

/// From a marker to the next one on the same curve, in pixels of a picture of the usual size.
const APART: f64 = 170.0;
/// Half the width of a marker on a curve.
const RADIUS: f64 = 4.5;

/// A marker of this colour with a border, so that it is seen on other curves.
pub(super) fn draw<B: DrawingBackend>(
    area: &Area<B>,
    marker: Marker,
    (x, y): Pixel,
    radius: f64,
    (colour, border): (Rgb, Rgb),
) -> Result<(), PlotError> {
    for (radius, colour) in [(radius + (radius / 4.0).max(1.0), border), (radius, colour)] {
        let r = radius.round() as i32;
        let corners = |of: &[(f64, f64)]| -> Vec<Pixel> {
            let place = |(dx, dy): &(f64, f64)| {
                (
                    x + (dx * radius).round() as i32,
                    y + (dy * radius).round() as i32,
                )
            };
            of.iter().map(place).collect()
        };
        let shape: &[(f64, f64)] = match marker {
            Marker::Disc => {
                area.draw(&Circle::new((x, y), r, rgb(colour).filled()))
                    .map_err(PlotError::new)?;
                continue;
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Up => &[(-1.0, 0.9), (0.0, -1.0), (1.0, 0.9)],
            Marker::Down => &[(-1.0, -0.9), (0.0, 1.0), (1.0, -0.9)],
            Marker::Diamond => &[(-1.0, 0.0), (0.0, -1.0), (1.0, 0.0), (0.0, 1.0)],
            Marker::Plus => &[
                (-1.0, -0.35),
                (-0.35, -0.35),
                (-0.35, -1.0),
                (0.35, -1.0),
                (0.35, -0.35),
                (1.0, -0.35),
                (1.0, 0.35),
                (0.35, 0.35),
                (0.35, 1.0),
                (-0.35, 1.0),
                (-0.35, 0.35),
                (-1.0, 0.35),
            ],
        };
        area.draw(&Polygon::new(corners(shape), rgb(colour).filled()))
            .map_err(PlotError::new)?;
    }
    Ok(())
}

/// Markers along a curve, at places of its own.
pub(super) fn along<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    paths: &[Vec<Pixel>],
    (marker, turn): (Marker, usize),
    colour: Rgb,
) -> Result<(), PlotError> {
    let apart = APART * frame.zoom;
    // Those of the curves begin at different places: the golden ratio spreads any number of them.
    let phase = (0.5 + turn as f64 * 0.618_034).fract() * apart;
    let clip = frame
        .plot
        .clip()
        .inset((RADIUS * frame.zoom * 1.5).ceil() as i32);
    let mut next = f64::from(frame.plot.left) + phase;
    while next < f64::from(frame.plot.right) {
        let x = next.round() as i32;
        next += apart;
        let crosses = |ends: &&[Pixel]| ends[0].0 <= x && x <= ends[1].0;
        let Some(ends) = paths.iter().find_map(|path| path.windows(2).find(crosses)) else {
            continue;
        };
        let (a, b) = (ends[0], ends[1]);
        let share = f64::from(x - a.0) / f64::from((b.0 - a.0).max(1));
        let at = (x, a.1 + (f64::from(b.1 - a.1) * share).round() as i32);
        if clip.contains(at) {
            on_curve(area, frame, marker, at, colour)?;
        }
    }
    Ok(())
}

/// A marker of the size that it has on curves.
pub(super) fn on_curve<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    marker: Marker,
    at: Pixel,
    colour: Rgb,
) -> Result<(), PlotError> {
    let colours = (colour, frame.palette().background);
    draw(area, marker, at, RADIUS * frame.zoom, colours)
}
