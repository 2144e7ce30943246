//! Curves, bands and bars.

use plotters::prelude::{DrawingBackend, PathElement, Polygon, Rectangle};
use plotters::style::Color;

use super::frame::Frame;
use super::{Area, PlotError, rgb};
use crate::chart::{Band, Bars, Heat, Limit, Line, Shape};
use crate::theme::{Rgb, on_ramp};

/// Pixels of a vertex, limited to where a picture can be: far outside, numbers would not fit.
fn pixel(frame: &Frame<'_>, x: f64, y: f64) -> (i32, i32) {
    let plot = &frame.plot;
    let (px, py) = frame.at(x, y);
    let limit = |v: f64, from: i32, to: i32| {
        (v.round()).clamp(f64::from(from) - 1.0, f64::from(to) + 1.0) as i32
    };
    (
        limit(px, plot.left, plot.right),
        limit(py, plot.top, plot.bottom),
    )
}

/// What is not on a logarithmic axis, zero most of all, lies at its lower end.
fn on_axis(value: f64, is_log: bool, least: f64) -> f64 {
    if is_log && value <= 0.0 { least } else { value }
}

fn vertex(frame: &Frame<'_>, (x, y): (f64, f64)) -> (i32, i32) {
    let x = on_axis(x, frame.chart.x.is_log, frame.x.scale.ends().0);
    let y = on_axis(y, frame.chart.y.is_log, frame.y.scale.ends().0);
    pixel(frame, x, y)
}

/// The vertices of a curve in pixels, in pieces without gaps; of many in one column of pixels, those that
/// matter: the first, the lowest, the highest, the last.
fn pieces(frame: &Frame<'_>, points: &[(f64, f64)], shape: Shape) -> Vec<Vec<(i32, i32)>> {
    let mut pieces: Vec<Vec<(i32, i32)>> = vec![Vec::new()];
    let mut column: Vec<(i32, i32)> = Vec::new();
    let close = |column: &mut Vec<(i32, i32)>, piece: &mut Vec<(i32, i32)>| {
        if column.len() > 4 {
            let (first, last) = (column[0], column[column.len() - 1]);
            let low = column.iter().map(|p| p.1).max().unwrap_or(first.1);
            let high = column.iter().map(|p| p.1).min().unwrap_or(first.1);
            column.clear();
            column.extend([first, (first.0, low), (first.0, high), last]);
        }
        piece.append(column);
    };
    let mut before: Option<(i32, i32)> = None;
    for &point in points {
        if !point.0.is_finite() || !point.1.is_finite() {
            let piece = pieces.last_mut().expect("there is always one");
            // The last window before a gap is as wide as the others.
            if let (Shape::Steps, Some(b), true) = (shape, before, point.0.is_finite()) {
                column.push((vertex(frame, (point.0, 1.0)).0, b.1));
            }
            close(&mut column, piece);
            if !piece.is_empty() {
                pieces.push(Vec::new());
            }
            before = None;
            continue;
        }
        let at = vertex(frame, point);
        let piece = pieces.last_mut().expect("there is always one");
        for next in [
            before
                .filter(|_| shape == Shape::Steps)
                .map(|b| (at.0, b.1)),
            Some(at),
        ]
        .into_iter()
        .flatten()
        {
            if column.first().is_some_and(|first| first.0 != next.0) {
                close(&mut column, piece);
            }
            column.push(next);
        }
        before = Some(at);
    }
    if let Some(piece) = pieces.last_mut() {
        close(&mut column, piece);
        piece.dedup();
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

pub(super) fn draw_line<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    line: &Line,
) -> Result<(), PlotError> {
    let colour = rgb(frame.palette().rgb(line.colour()));
    let width = frame.px(2.0).max(1) as u32;
    for piece in pieces(frame, &line.points, line.shape) {
        if let [only] = piece[..] {
            // One point is no line, and still must be seen.
            let r = frame.px(2.5);
            let corners = [(only.0 - r, only.1 - r), (only.0 + r, only.1 + r)];
            area.draw(&Rectangle::new(corners, colour.filled()))
                .map_err(PlotError::new)?;
            continue;
        }
        let parts = if line.is_dashed {
            dashes(&piece, f64::from(frame.px(9.0)), f64::from(frame.px(6.0)))
        } else {
            vec![piece]
        };
        for part in parts {
            area.draw(&PathElement::new(part, colour.stroke_width(width)))
                .map_err(PlotError::new)?;
        }
    }
    Ok(())
}

/// Cuts a path into dashes.
fn dashes(path: &[(i32, i32)], dash: f64, gap: f64) -> Vec<Vec<(i32, i32)>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let (mut drawn, mut left) = (true, dash);
    for ends in path.windows(2) {
        let (a, b) = (ends[0], ends[1]);
        let (dx, dy) = (f64::from(b.0 - a.0), f64::from(b.1 - a.1));
        let length = dx.hypot(dy);
        let at = |way: f64| {
            let share = if length > 0.0 { way / length } else { 0.0 };
            (
                a.0 + (dx * share).round() as i32,
                a.1 + (dy * share).round() as i32,
            )
        };
        let mut way = 0.0;
        if drawn {
            part.push(a);
        }
        while length - way > left {
            way += left;
            if drawn {
                part.push(at(way));
                parts.push(std::mem::take(&mut part));
            } else {
                part.push(at(way));
            }
            drawn = !drawn;
            left = if drawn { dash } else { gap };
        }
        left -= length - way;
        if drawn {
            part.push(b);
        }
    }
    parts.push(part);
    parts.retain(|part| part.len() > 1);
    parts
}

pub(super) fn draw_band<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    band: &Band,
) -> Result<(), PlotError> {
    let edge = |of: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        band.points.iter().map(|p| (p.0, of(p))).collect()
    };
    let upper = pieces(frame, &edge(|p| p.2), band.shape);
    let lower = pieces(frame, &edge(|p| p.1), band.shape);
    let colour = rgb(frame.palette().rgb(band.colour));
    for (upper, lower) in upper.into_iter().zip(lower) {
        let outline: Vec<_> = upper.into_iter().chain(lower.into_iter().rev()).collect();
        area.draw(&Polygon::new(outline, colour.mix(0.22).filled()))
            .map_err(PlotError::new)?;
    }
    Ok(())
}

pub(super) fn draw_bars<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    bars: &Bars,
) -> Result<(), PlotError> {
    let colour = rgb(frame.palette().rgb(bars.colour));
    // Of bars in the same columns of pixels, the highest is seen.
    let mut before: Option<[(i32, i32); 2]> = None;
    let draw = |bar: [(i32, i32); 2]| {
        area.draw(&Rectangle::new(bar, colour.filled()))
            .map_err(PlotError::new)
    };
    for &(from, to, low, high) in &bars.bins {
        if high <= low {
            continue;
        }
        let (left, top) = vertex(frame, (from, high));
        let (right, bottom) = vertex(frame, (to, low));
        let gap = i32::from(right - left > 4);
        // What is there must be seen.
        let bar = [
            (left, top.min(bottom - 1)),
            ((right - gap).max(left + 1), bottom),
        ];
        match &mut before {
            Some(last) if last[0].0 == bar[0].0 && last[1].0 == bar[1].0 => {
                last[0].1 = last[0].1.min(bar[0].1);
                last[1].1 = last[1].1.max(bar[1].1);
            }
            _ => {
                if let Some(last) = before.replace(bar) {
                    draw(last)?;
                }
            }
        }
    }
    before.map_or(Ok(()), draw)
}

pub(super) fn draw_heat<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    heat: &Heat,
) -> Result<(), PlotError> {
    let most = heat.cells.iter().map(|c| c.count).max().unwrap_or(1);
    let scale = 1.0 / (1.0 + f64::from(most)).ln();
    for cell in &heat.cells {
        let (left, top) = vertex(frame, (cell.x.0, cell.y.1));
        let (right, bottom) = vertex(frame, (cell.x.1, cell.y.0));
        let share = (1.0 + f64::from(cell.count)).ln() * scale;
        let colour: Rgb = on_ramp(&frame.palette().heat, share);
        let corners = [(left, top), (right.max(left + 1), bottom.max(top + 1))];
        area.draw(&Rectangle::new(corners, rgb(colour).filled()))
            .map_err(PlotError::new)?;
    }
    Ok(())
}

/// A line across, if the limit is on the axis.
pub(super) fn draw_limit<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    limit: &Limit,
) -> Result<(), PlotError> {
    let (from, to) = frame.y.scale.ends();
    if !(from..=to).contains(&limit.at) {
        return Ok(());
    }
    let palette = frame.palette();
    let colour = if limit.is_kept {
        palette.good
    } else {
        palette.warning
    };
    let y = frame.plot.y(frame.y.scale.share(limit.at)).round() as i32;
    let path = [(frame.plot.left, y), (frame.plot.right, y)];
    for part in dashes(&path, f64::from(frame.px(14.0)), f64::from(frame.px(6.0))) {
        area.draw(&PathElement::new(part, rgb(colour).stroke_width(2)))
            .map_err(PlotError::new)?;
    }
    Ok(())
}
